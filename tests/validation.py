"""The validation page: what the tests compare with the reference cases, and what came out.

    python -m tests.validation            # runs these tests, writes docs/validation.md
    python -m tests.validation --check    # says whether the page on disk is still true

The tests that read a reference case are run; every comparison of numbers that they make (arrays,
approximate values, tables) is recorded with its values and its tolerance. Nothing is entered by
hand but the titles.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthpop.microdata.messages.text import percent
from tests import reference_data

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "validation.md"
START, END = "<!-- cases: begin -->", "<!-- cases: end -->"
TITLES = {
    ("sdc", "a"): "Frequency counts of keys",
    ("sdc", "b"): "Individual, household and global risk",
    ("sdc", "c"): "l-diversity",
    ("sdc", "d"): "SUDA",
    ("sdc", "e"): "Log-linear models",
    ("sdc", "f"): "Continuous keys: risk and information loss",
    ("sdc", "g"): "Microaggregation",
    ("sdc", "h"): "Local suppression",
    ("sdc", "i"): "Random methods and recoding",
    ("sdc", "j"): "Linkage, risky cells, other measures",
    ("sdc", "k"): "Indicators and utility of the book",
    ("pop", "a"): "Calibration of weights",
    ("pop", "b"): "Proportional fitting of households and persons",
    ("pop", "c"): "Weighted statistics and classes",
    ("pop", "d"): "Pareto tails",
    ("pop", "e"): "Age heaping",
    ("pop", "f"): "Indicators of income and poverty",
    ("pop", "g"): "Simulated populations",
    ("pop", "i"): "Utility of populations",
}
NO_CASES = ("data_", "z_", "h_timings", "k_defect_probes")
"""Files beside the cases: their data, and timings."""
NOT_COMPARED = {
    "b_ipu_eusilcS_input": "input of `b_ipu_eusilcS_weights`",
    "b_ipu_eusilcS_input2": "input of `b_ipu_eusilcS_weights`",
    "e_heap_age": "input of `e_age`",
    "g1_testdata_simple": "groups in file order: we have no such method",
    "g2_testdata300_clustmcdpca": "random: the ranges of `g9_random_methods_ranges` are compared",
    "g2_testdata300_clustpca": "random: the ranges of `g9_random_methods_ranges` are compared",
    "g2_testdata300_clustpppca": "random: the ranges of `g9_random_methods_ranges` are compared",
    "g2_testdata300_influence": "random clusters",
    "g2_testdata300_mcdpca": "random: the ranges of `g9_random_methods_ranges` are compared",
    "g2_testdata300_pppca": "another robust estimator than ours",
    "g2_testdata300_rmd": "random: the ranges of `g9_random_methods_ranges` are compared",
    "g2_testdata300_simple": "groups in file order: we have no such method",
    "g3_testdata300_onedims5_onestep": "we have no such mean",
    "g5_casc1_simple": "groups in file order: we have no such method",
    "g5_microData_simple": "groups in file order: we have no such method",
    "g6_table43_simple2": "groups in file order: we have no such method",
    "g_bar": "a summary of `g_simulation_per_seed`",
    "g_districts": "the names of the areas of `g_tabHH` and `g_tabP`",
    "g_pop_ghana_rel_seed1": "one random population: its distances are in `g_simulation_per_seed`",
    "g_simulation_summary": "a summary of `g_simulation_per_seed`",
    "h1_testdata5_k3_suppressed": "one of many patterns that reach k = 3; ours has fewer cells",
    "j4_valtable": "one draw of random methods, without a range",
    "j6_datagen": "one random draw of a method that we do not have",
}
"""Reference files that cannot be compared number by number, and why."""


@dataclass
class Comparison:
    """Numbers of one case: how many, the largest deviation, the widest tolerance, an example."""

    values: int = 0
    statements: int = 0
    deviation: float = 0.0
    tolerance: float = 0.0
    used: float = 0.0
    ours: float = math.nan
    reference: float = math.nan
    tests: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def add(self, ours: Any, reference: Any, relative: float, absolute: float) -> None:
        """Record one comparison; anything that is not a number counts as a statement."""
        try:
            first = np.asarray(ours, dtype=np.float64).ravel()
            second = np.asarray(reference, dtype=np.float64).ravel()
            first, second = (np.array(x) for x in np.broadcast_arrays(first, second))
        except (TypeError, ValueError):
            self.statements += 1
            return
        both = np.isfinite(first) & np.isfinite(second)
        self.values += len(first)
        if not both.any():
            return
        scale = np.abs(second[both])
        away = np.abs(first[both] - second[both])
        self.deviation = max(self.deviation, float(np.max(away / np.where(scale > 0, scale, 1.0))))
        typical = float(np.median(scale[scale > 0])) if (scale > 0).any() else 1.0
        self.tolerance = max(self.tolerance, relative, absolute / typical if absolute else 0.0)
        allowed = relative * scale + absolute
        share = np.divide(away, allowed, out=np.zeros_like(away), where=allowed > 0)
        self.used = max(self.used, float(np.max(share)))
        if math.isnan(self.ours):
            fractional = first[both] != np.round(first[both])
            place = int(np.argmax(np.where(fractional, scale, 0) if fractional.any() else scale))
            self.ours, self.reference = float(first[both][place]), float(second[both][place])


class Recorder:
    """Plugin of pytest: knows which test reads which case and what it compares."""

    def __init__(self) -> None:
        self.cases: dict[tuple[str, str], Comparison] = {}
        self.current: set[tuple[str, str]] = set()
        self.of_fixture: dict[str, set[tuple[str, str]]] = {}
        self.pending: list[tuple[Any, Any, float, float]] = []
        self.statements = 0
        self.numbers = 0

    def read(self, package: str, name: str) -> None:
        """Note that the running test or fixture reads a case."""
        if not name.startswith(NO_CASES):
            self.current.add((package, re.sub(r"[.]\w+$", "", name)))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        before, self.current = self.current, set()
        yield
        self.of_fixture.setdefault(fixturedef.argname, set()).update(self.current)
        self.current = before | self.current

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Iterator[None]:
        self.current, self.pending, self.statements = set(), [], 0
        yield

    def pytest_assertion_pass(self, item: Any, lineno: int, orig: str, expl: str) -> None:
        self.statements += 1

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        outcome = yield
        used = set(self.current)
        for name in item.fixturenames:
            used |= self.of_fixture.get(name, set())
        if used:
            once = Comparison()
            for compared in self.pending:
                once.add(*compared)
            self.numbers += once.values
        for case in used:
            entry = self.cases.setdefault(case, Comparison())
            test = item.nodeid.split("[")[0]
            entry.tests.add(test)
            if outcome.excinfo is not None:
                entry.failed.add(test)
            for compared in self.pending:
                entry.add(*compared)
            entry.statements += self.statements


def _watch(recorder: Recorder) -> Callable[[], None]:
    """Let the functions that compare tell the recorder; return what restores them."""
    path, close = reference_data._path, np.testing.assert_allclose
    equal = np.testing.assert_array_equal
    tables = {
        name: getattr(pd.testing, name) for name in ("assert_frame_equal", "assert_series_equal")
    }

    def watched_path(*parts: str) -> Path:
        if parts[0] == "golden":
            recorder.read(parts[1], parts[2])
        return path(*parts)

    def watched_close(
        actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 0, **more: Any
    ) -> None:
        recorder.pending.append((actual, desired, rtol, atol))
        close(actual, desired, rtol=rtol, atol=atol, **more)

    def watched_equal(actual: Any, desired: Any, *rest: Any, **more: Any) -> None:
        recorder.pending.append((actual, desired, 0.0, 0.0))
        equal(actual, desired, *rest, **more)

    def watched_table(name: str) -> Callable[..., None]:
        def compare(left: Any, right: Any, *rest: Any, **more: Any) -> None:
            pairs = (
                ((left[c], right[c]) for c in left if c in right)
                if left.ndim == 2
                else ((left, right),)
            )
            for one, other in pairs:
                recorder.pending.append((one, other, more.get("rtol", 1e-5), more.get("atol", 0.0)))
            tables[name](left, right, *rest, **more)

        return compare

    originals = {}
    for kind in ("ApproxScalar", "ApproxNumpy", "ApproxMapping", "ApproxSequenceLike"):
        cls = getattr(sys.modules[type(pytest.approx(1)).__module__], kind, None)
        if cls is None:
            continue
        originals[cls] = cls.__eq__

        def approximately(self: Any, actual: Any, _equal: Any = cls.__eq__) -> bool:
            expected = self.expected
            if isinstance(expected, dict):
                shared = [key for key in expected if key in actual]
                pair: tuple[Any, Any] = ([actual[k] for k in shared], [expected[k] for k in shared])
            else:
                pair = (actual, expected)
            relative = 1e-6 if self.rel is None and self.abs is None else float(self.rel or 0.0)
            recorder.pending.append((*pair, relative, float(self.abs or 0.0)))
            return bool(_equal(self, actual))

        cls.__eq__ = approximately
    reference_data._path = watched_path
    np.testing.assert_allclose, np.testing.assert_array_equal = watched_close, watched_equal
    for name in tables:
        setattr(pd.testing, name, watched_table(name))

    def restore() -> None:
        reference_data._path = path
        np.testing.assert_allclose, np.testing.assert_array_equal = close, equal
        for name, function in tables.items():
            setattr(pd.testing, name, function)
        for cls, function in originals.items():
            cls.__eq__ = function

    return restore


def record(files: list[str]) -> Recorder:
    """Run test files and return what they compared."""
    recorder = Recorder()
    restore = _watch(recorder)
    before, sys.pycache_prefix = sys.pycache_prefix, tempfile.mkdtemp()
    try:  # files compiled before would not tell which statements held
        pytest.main(
            [*files, "-q", "-p", "no:xdist", "-p", "no:cacheprovider",
             "-o", "enable_assertion_pass_hook=true"],
            plugins=[recorder],
        )  # fmt: skip
    finally:
        restore()
        shutil.rmtree(sys.pycache_prefix, ignore_errors=True)
        sys.pycache_prefix = before
    return recorder


def test_files() -> list[str]:
    """Return the test files that read reference cases."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(f) for f in files if re.search(r"\bgolden\(", f.read_text(encoding="utf-8"))]


def known_cases() -> set[tuple[str, str]]:
    """Return the cases that lie beside the repository."""
    folder = reference_data.SHARED / "golden"
    return {
        (package, file.stem)
        for package in ("sdc", "pop")
        for file in (folder / package).glob("*.*")
        if file.suffix in (".json", ".parquet", ".csv") and not file.name.startswith(NO_CASES)
    }


def cases_text(cases: dict[tuple[str, str], Comparison]) -> str:
    """Return the tables of the page."""
    lines = []
    for (package, letter), title in TITLES.items():
        names = sorted(
            (name for p, name in cases if p == package and name.startswith(letter)), key=_natural
        )
        if not names:
            continue
        lines += [
            f"### {title}", "",
            "| case | numbers | largest deviation | tolerance | used "
            "| ours, e.g. | reference | verdict |",
            "| --- | --: | --: | --: | --: | --: | --: | --- |",
        ]  # fmt: skip
        lines += [_row(name, cases[package, name]) for name in names]
        lines.append("")
    return "\n".join(lines)


def _row(name: str, one: Comparison) -> str:
    cells = [f"`{name}`"]
    if one.values:
        exact = one.tolerance == 0
        cells += [
            f"{one.values:,}",
            "0" if one.deviation == 0 else f"{one.deviation:.1e}",
            "exact" if exact else f"{one.tolerance:.1e}",
            "" if exact else percent(one.used, 1),
            f"{one.ours:.10g}",
            f"{one.reference:.10g}",
        ]
    else:
        cells += ["0", "", "", "", "", ""]
    if one.failed:
        verdict = f"**differs** ({', '.join(sorted(one.failed))})"
    elif one.values:
        verdict = "agrees"
    else:
        verdict = (
            "1 statement holds" if one.statements == 1 else f"{one.statements} statements hold"
        )
    return f"| {' | '.join([*cells, verdict])} |"


def _natural(name: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _others(recorder: Recorder) -> str:
    """Return the table of cases that were not compared, with the reasons."""
    names = sorted((name for _, name in known_cases() - set(recorder.cases)), key=_natural)
    lines = ["### Not compared number by number", "", "| case | why |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | {NOT_COMPARED[name]} |" for name in names), ""])


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    recorder = record(arguments.files or test_files())
    if not recorder.cases:
        print("no reference case is beside the repository: the page stays as it is")
        return 0
    if arguments.files:
        print(cases_text(recorder.cases))
        return 0
    failed = sum(bool(one.failed) for one in recorder.cases.values())
    head = (
        f"{len(recorder.cases)} cases, {recorder.numbers:,} numbers, "
        f"{failed or 'none'} {'differs' if failed < 2 else 'differ'} beyond the tolerance."
    )
    text = f"{START}\n\n{head}\n\n{cases_text(recorder.cases)}\n{_others(recorder)}\n{END}"
    page = PAGE.read_text(encoding="utf-8")
    new = page[: page.index(START)] + text + page[page.index(END) + len(END) :]
    if arguments.check:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
