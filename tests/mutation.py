"""Do the tests catch mistakes? Seeded one-token mutations of the packages, run against their tests.

    python -m tests.mutation --mutants 60 --seed 1

A mutant exchanges one operator or changes one constant in a copy of the tree. It is killed when a
test of the mirrored folder fails. Survivors are printed with their line: either a test is missing,
or the mutation changes nothing that matters (a tolerance, a bracket of a search).
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {
    "synthpop/models": ["tests/synthpop/models", "tests/synthpop/stages"],
    "synthpop/conditional": ["tests/synthpop/models", "tests/synthpop/stages"],
    "synthpop/stages": ["tests/synthpop/stages", "tests/synthpop/pipeline"],
    "riskeval/measures": ["tests/riskeval/measures"],
    "riskeval/attacks": ["tests/riskeval/attacks"],
}
"""Rooms that are mutated, with the tests that should notice."""

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
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
    for node in ast.walk(ast.parse(text)):
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
        elif isinstance(node, ast.Constant) and type(node.value) is int and node.value in (0, 1, 2):
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


def outcome(tree: Path, tests: list[str], seconds: float) -> str:
    """Run tests until one fails: "killed", "SURVIVED", or "timed out", which is told apart."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(command, cwd=tree, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "timed out"
    return "killed" if done.returncode else "SURVIVED"


def main() -> None:
    """Mutate, test, count."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--mutants", type=int, default=60)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=600.0)
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
        tree = Path(folder) / "tree"
        ignore = shutil.ignore_patterns(".git", ".mypy_cache", ".ruff_cache")
        shutil.copytree(ROOT, tree, ignore=ignore)
        for room in {tuple(tests) for _, tests in every}:
            if outcome(tree, list(room), arguments.seconds) != "SURVIVED":
                raise SystemExit(f"tests fail, or take too long, without a mutation: {room}")
        chosen = rng.sample(every, min(arguments.mutants, len(every)))
        for number, (mutation, tests) in enumerate(chosen, 1):
            before = apply(mutation, tree)
            result = outcome(tree, tests, arguments.seconds)
            (tree / mutation.file).write_text(before, encoding="utf-8")
            counts[result] += 1
            print(f"{number:3d} {result:9} {mutation}", flush=True)
    print(f"{counts['killed']} of {len(chosen)} mutants killed, {counts['timed out']} timed out")


if __name__ == "__main__":
    main()
