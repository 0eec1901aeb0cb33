"""Do the tests catch mistakes? Seeded one-token mutations of the packages, run against their tests.

    python -m tests.mutation --mutants 60 --seed 1

A mutant exchanges one operator or changes one constant in a copy of the tree. It is killed when a
doctest of its file or a test of the mirrored folders fails: first those run that run the mutated
line (one run of all tests beforehand records the lines; for a line that runs on import those that
run another line of its file), the quick ones in front, then all others of the folders. Survivors
are printed with their line: either a test is missing, or the mutation changes nothing that matters
(a tolerance, a bracket of a search).

Two kinds of constants are left out, since no test can notice them: the `stacklevel` of a warning,
and the -1 of `reshape`, where numpy takes every negative number for "the rest".
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "synthpop/models": ["tests/synthpop/models", "tests/synthpop/stages"],
    "synthpop/conditional": [
        "tests/synthpop/conditional",
        "tests/synthpop/models",
        "tests/synthpop/stages",
    ],
    "synthpop/stages": [
        "tests/synthpop/stages",
        "tests/synthpop/pipeline",
        "tests/synthpop/annealing",
    ],
    "riskeval/measures": ["tests/riskeval/measures"],
    "riskeval/attacks": ["tests/riskeval/attacks"],
}
"""Rooms that are mutated, with the tests that should notice."""

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
PASSED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


@dataclass(frozen=True)
class Mutation:
    """One exchange of text in a file: line (from 1), columns, old and new text."""

    file: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old.strip()} -> {self.new.strip()}"


def _operator(
    lines: list[str], left: ast.expr, right: ast.expr
) -> tuple[int, int, int, str] | None:
    """Find the text between two operands of one line."""
    if left.end_lineno != right.lineno or left.end_col_offset is None:
        return None
    start, end = left.end_col_offset, right.col_offset
    return right.lineno, start, end, lines[right.lineno - 1][start:end]


def _without_effect(tree: ast.AST) -> set[ast.expr]:
    """Constants that no test can notice: see the head of the file."""
    constants: set[ast.expr] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            constants |= {word.value for word in node.keywords if word.arg == "stacklevel"}
            if isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
                constants |= {size.operand for size in node.args if isinstance(size, ast.UnaryOp)}
    return constants


def mutations(file: Path) -> list[Mutation]:
    """List every mutation of a file, without checks of arguments and texts."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if not text.isascii():  # columns of the parser are bytes
        return []
    lines = text.splitlines()
    result: list[Mutation] = []

    def add(place: tuple[int, int, int, str] | None, symbols: tuple[str, str]) -> None:
        if (
            place is not None
            and place[3].count(symbols[0]) == 1
            and "faults" not in lines[place[0] - 1]
        ):
            line, start, end, old = place
            result.append(Mutation(file, line, start, end, old, old.replace(*symbols)))

    names = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
    signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
    tree = ast.parse(text)
    skipped = _without_effect(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and type(node.ops[0]) in COMPARISONS
        ):
            kind = type(node.ops[0])
            place = _operator(lines, node.left, node.comparators[0])
            add(place, (names[kind], COMPARISONS[kind]))
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            kind = type(node.op)
            add(_operator(lines, node.left, node.right), (signs[kind], ARITHMETIC[kind]))
        elif (
            isinstance(node, ast.Constant)
            and type(node.value) is int
            and node.value in (0, 1, 2)
            and node not in skipped
        ):
            old = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            place = (node.lineno, node.col_offset, node.end_col_offset or 0, old)
            add(place, (old, str(node.value + 1)))
    return result


def apply(mutation: Mutation, tree: Path) -> str:
    """Write the mutant into a copy of the tree; returns the text that was there."""
    path = tree / mutation.file
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    line = lines[mutation.line - 1]
    lines[mutation.line - 1] = line[: mutation.start] + mutation.new + line[mutation.end :]
    path.write_text("".join(lines), encoding="utf-8")
    return text


def _has(lines: list[str], start: str) -> bool:
    """Whether a line ("file:number"), or any line of a file ("file:"), is among those."""
    return any(line.startswith(start) for line in lines) if start.endswith(":") else start in lines


@dataclass(frozen=True)
class Copy:
    """A copy of the tree, in which mutants are tested, and what each test runs there."""

    tree: Path
    seconds: float
    record: Path

    def run(self, tests: list[str], *options: str, limited: bool = True) -> int | None:
        """Run tests until one fails; returns pytest's exit status, None past the time limit."""
        arguments = self.tree.parent / "tests.txt"
        arguments.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        environment = {
            **os.environ, "PYTHONPATH": str(self.tree), "EXECUTED_LINES": str(self.record)
        }  # fmt: skip
        try:
            done = subprocess.run(
                [*command, *options, f"@{arguments}"], cwd=self.tree, env=environment,
                capture_output=True, timeout=self.seconds if limited else None,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        return done.returncode

    def tests_of(self, line: str) -> list[str]:
        """Tests that run a line ("file:number") or else its file, the quick ones first."""
        record = json.loads(self.record.read_text(encoding="utf-8"))
        tests: list[tuple[float, str]] = []
        for start in (line, line[: line.index(":") + 1]):
            if not tests:
                files = {file for file, lines in record["files"].items() if _has(lines, start)}
                tests = [
                    (test["seconds"], name)
                    for name, test in record["tests"].items()
                    if test["file"] in files or _has(test["lines"], start)
                ]
        return [name for _, name in sorted(tests)]


def outcome(mutation: Mutation, tests: list[str], copy: Copy) -> str:
    """Test one mutant by its doctests and the tests that run its line, then by all its folders.

    Returns "killed", "SURVIVED", or "timed out", which is told apart.
    """
    before = apply(mutation, copy.tree)
    file = mutation.file.as_posix()
    first = copy.tests_of(f"{file}:{mutation.line}")
    status = copy.run([file, *first], "--doctest-modules")
    if status in PASSED:
        status = copy.run([*tests, *(f"--deselect={name}" for name in first)])
    (copy.tree / mutation.file).write_text(before, encoding="utf-8")
    if status is None:
        return "timed out"
    return "SURVIVED" if status in PASSED else "killed"


def main() -> None:
    """Mutate, test, count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutants", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=300.0, help="limit of one run of tests")
    arguments = options.parse_args()
    rng = random.Random(arguments.seed)
    every = [
        (mutation, tests)
        for room, tests in ROOMS.items()
        for file in sorted((ROOT / room).rglob("*.py"))
        for mutation in mutations(file.relative_to(ROOT))
    ]
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "tree", arguments.seconds, Path(folder) / "lines.json")
        ignore = shutil.ignore_patterns(".git", ".mypy_cache", ".ruff_cache")
        shutil.copytree(ROOT, copy.tree, ignore=ignore)
        if (ROOT.parent / "shared").exists():  # reference values, where they are beside the tree
            (copy.tree.parent / "shared").symlink_to((ROOT.parent / "shared").resolve())
        folders = sorted({test for tests in ROOMS.values() for test in tests})
        if copy.run(folders, "-p", "tests.executed_lines", limited=False) != 0:
            raise SystemExit("tests fail without a mutation")
        chosen = rng.sample(every, min(arguments.mutants, len(every)))
        for number, (mutation, tests) in enumerate(chosen, 1):
            start = time.monotonic()
            result = outcome(mutation, tests, copy)
            counts[result] += 1
            seconds = time.monotonic() - start
            print(f"{number:3d} {result:9} {seconds:4.0f} s  {mutation}", flush=True)
    print(f"{counts['killed']} of {len(chosen)} mutants killed, {counts['timed out']} timed out")


if __name__ == "__main__":
    main()
