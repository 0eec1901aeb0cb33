"""The supervisor: a child runs the inputs, and is ended and followed by another when one hangs."""

from __future__ import annotations

import argparse
import json
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.run import Finding, try_input
from tests.fuzz.targets import HOSTILE, targets

HALVES: dict[str, Callable[[], list[str]]] = {
    "both": lambda: list(targets()),
    "usual": lambda: [name for name in targets() if not name.endswith(HOSTILE)],
    "hostile": lambda: [name for name in targets() if name.endswith(HOSTILE)],
}
"""Targets by what their tables are like."""
PATIENCE = 60.0
"""Seconds that one input may take: of the processor, or ten times as many by the clock."""


def main() -> int:
    """Run inputs; the exit code is 1 where something foreign came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", default="", help="one target instead of all in turn")
    parser.add_argument("--half", choices=HALVES, default="both", help="of the targets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=1000, help="inputs over all targets")
    parser.add_argument("--start", type=int, default=0, help="go on from this input")
    parser.add_argument("--input", type=int, default=None, help="one input of a target, again")
    parser.add_argument("--odd", type=float, default=0.0, help="share of undocumented types")
    parser.add_argument("--child", nargs=2, type=int, default=None, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    names = [wanted.target] if wanted.target else HALVES[wanted.half]()
    if wanted.child is not None:
        return child(names, wanted.seed, *wanted.child, wanted.odd)
    if wanted.input is not None:
        finding = try_input(names[0], wanted.seed, wanted.input, wanted.odd)
        print(finding or "a result, or an error of ours")
        return int(finding is not None)
    start = time.monotonic()
    options = ["--target", wanted.target, "--half", wanted.half]
    findings = supervised(
        names, options, wanted.seed, wanted.number, wanted.odd, start=wanted.start
    )
    print(summary(findings))
    seconds = time.monotonic() - start
    print(
        f"{wanted.number - wanted.start:,} inputs, {len(names)} targets, {seconds:.0f} s: "
        f"{len(findings)} foreign"
    )
    return int(bool(findings))


def summary(findings: list[Finding]) -> str:
    """Return one entry for each place, the most frequent first, with the first input of each."""
    first: dict[tuple[str, str, str], Finding] = {}
    for one in findings:
        first.setdefault((one.target, one.what, one.place), one)
    places = Counter((one.target, one.what, one.place) for one in findings)
    return "\n".join(f"{n} x {key[0]}: {first[key]}" for key, n in places.most_common())


def supervised(
    names: list[str],
    options: list[str],
    seed: int,
    number: int,
    odd: float,
    patience: float = PATIENCE,
    start: int = 0,
) -> list[Finding]:
    """Run inputs in children, target by target in turn; go on behind one that hangs or kills."""
    findings: list[Finding] = []
    while start < number:
        command = [sys.executable, "-m", "tests.fuzz", *options, "--seed", str(seed)]
        command += ["--odd", str(odd), "--child", str(start), str(number)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            hangs = False
            with selectors.DefaultSelector() as waiting:
                waiting.register(process.stdout, selectors.EVENT_READ)
                while not hangs:
                    hangs = _hangs(waiting, process.pid, patience)
                    line = "" if hangs else process.stdout.readline()
                    if not line:
                        break
                    message = json.loads(line)
                    start = int(message["next"])
                    if "what" in message:
                        findings.append(_finding(names, seed, start - 1, **message))
            if hangs:
                process.kill()
        if start < number:
            what = f"hangs for {patience:.0f} s" if hangs else "ends the process"
            findings.append(_finding(names, seed, start, what, "unknown"))
            start += 1
    return findings


def _hangs(waiting: selectors.BaseSelector, pid: int, patience: float) -> bool:
    """Wait for a line of the child; on a busy machine longer, as long as it hardly computes."""
    before = _processor_seconds(pid)
    for _ in range(10):
        if waiting.select(timeout=patience):
            return False
        used = _processor_seconds(pid)
        if used is None or before is None or used - before > patience / 2:
            return True
    return True


def _processor_seconds(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _finding(
    names: list[str], seed: int, index: int, what: str, place: str, **_: object
) -> Finding:
    return Finding(names[index % len(names)], seed, index // len(names), what, place)


def child(names: list[str], seed: int, start: int, stop: int, odd: float) -> int:
    """Run inputs and tell one line about each."""
    for index in range(start, stop):
        finding = try_input(names[index % len(names)], seed, index // len(names), odd)
        message: dict[str, object] = {"next": index + 1}
        if finding is not None:
            message |= {"what": finding.what, "place": finding.place}
            print(f"{finding.target}: {finding}", file=sys.stderr, flush=True)
        print(json.dumps(message), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
