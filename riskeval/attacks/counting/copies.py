"""What of single respondents a release carries to the letter: amounts, shares, households.

Three things are looked for, each only where nobody else of the original has the same:

- an amount of a person (income to the cent);
- the vector of shares of a person's amounts, whatever their total is: who knows two incomes of a
  neighbour knows their ratio, and with it the whole vector;
- the composition of a household: its members on all columns that are not amounts. Without
  households a person is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.clusters import clusters_of
from riskeval.attacks.entry import AttackEntry, AttackInput
from riskeval.attacks.levels import LevelCoder, check_common_levels, occurring_levels
from riskeval.attacks.numbers import OUTSIDE, AttackNumber, beside
from riskeval.attacks.shares import Excess, caution_of, excess
from riskeval.attacks.strangers import overlap_of
from riskeval.attacks.targets import units_of
from riskeval.attacks.values import is_amount
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.frames import as_names, as_numbers, is_number, listed_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, percent
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.microdata.statistics.intervals import wilson

KINDS = ("amounts", "shares", "compositions")
WORDS = {
    "amounts": "an amount that nobody else has",
    "shares": "shares of their amounts that nobody else has",
    "compositions": "characteristics that no other one has",
}
DIGITS = 6
MOST_DECIMALS = 6
TINY = 1e-300
NEAR = 0.001  # relative distance of values that stand for chance, where amounts are not rounded
MOST_ZEROS, LARGEST_WHOLE = 6, 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class CopiedValues(TableResult):
    """What of the respondents a release repeats exactly.

    Attributes
    ----------
    table : DataFrame
        One row per kind ("amounts", "shares", "compositions"): `n`, units of the original that have
        something of the kind which no other has; `copied`, those of them whose own stands in the
        release; `rate`, `lower`, `upper`; `by_chance`, the same rate for values close by that are
        nobody's (missing for compositions); `holdout`, the rate of persons outside the original.
    excess : dict of kind to Excess
        With a hold-out: the rate beyond that of strangers.
    unit : str
        "records" or "households".
    digits : int
    notes : tuple of str
        Of a population of this package: whether the draws by which it copied households follow from
        a number that can be guessed (`synthpop.guessed_draws`, a few hundred guesses).
    """

    table: pd.DataFrame
    excess: dict[str, Excess]
    unit: str
    digits: int
    notes: tuple[str, ...] = field(default=())

    def summary(self) -> str:
        """Say how much of the respondents stands in the release."""
        lines = []
        for row in self.table.to_dict("records"):
            text = message(
                "Of {n} {unit} with {what}, {copied} ({rate}) occur in the release with "
                "exactly the same",
                n=count(row["n"]),
                unit=message(self.unit),
                what=WORDS[row["kind"]],
                copied=count(row["copied"]),
                rate=percent(row["rate"], 1),
            )
            if not np.isnan(row["by_chance"]):
                text += "; " + message(
                    "{by_chance} would by chance", by_chance=percent(row["by_chance"], 1)
                )
            if not np.isnan(row["holdout"]):
                text += "; " + message(
                    "of persons outside the original {holdout}", holdout=percent(row["holdout"], 1)
                )
            lines.append(text + ".")
        if caution := caution_of(self.excess.values()):
            lines.append(caution.lstrip())
        lines += self.notes
        return "\n".join(lines) or message("Nothing could be copied.")


@same_library
def copied_values(
    original: Any,
    synthetic: Any,
    variables: Sequence[str] | str,
    *,
    household: str | None = None,
    amounts: Sequence[str] | str | None = None,
    holdout: Any = None,
    digits: int = DIGITS,
) -> CopiedValues:
    """Count the respondents of whom a release carries an exact value.

    Parameters
    ----------
    original : DataFrame, n rows
    synthetic : DataFrame, object with ``iter_blocks()``, or iterable of frames
        Read once, in blocks that hold whole households.
    variables : names of columns
    household : str, optional
        Column of all files with the number of the household: the unit is then the household.
    amounts : names of columns, optional
        Those of the variables that are amounts; default: numbers with values that are not whole.
        Shares are those of all amounts of a person.
    holdout : DataFrame, optional
        Real persons who were not in the original.
    digits : int
        Decimals in which shares must agree.

    Returns
    -------
    CopiedValues

    Raises
    ------
    InputError
        Columns that are not there, amounts that are not numbers, a column without a common level.

    Notes
    -----
    Amounts of zero and missing ones are nobody's mark. Chance is measured with other values close
    to those of the original that are as round (1,260 for 1,250), or 0.1 % beside amounts that are
    not rounded. No randomness.

    Examples
    --------
    >>> people = pd.DataFrame({"wage": [100.5, 80.25, 9.75], "rent": [50.25, 20.5, 0.0]})
    >>> doubled = 2 * people
    >>> copied_values(people, doubled, ["wage", "rent"]).table[["kind", "n", "copied"]].values.tolist()
    [['amounts', 3, 0], ['shares', 2, 2]]
    """  # noqa: E501
    faults = Faults("copied values")
    people = as_frame(original, "original")
    names = as_names(faults, variables, "variables")
    check_columns(faults, people, (*names, *([household] if household else [])), "column")
    check(faults, {"digits": Whole(1, 12)}, {"digits": digits})
    faults.raise_if_any()
    if amounts is None:
        numeric = [name for name in names if is_amount(people[name])]
    else:
        numeric = list(listed_names(amounts))
        for name in numeric:
            if name not in names or not is_number(people[name]):
                faults.add("amounts", f"{name!r} is not a number among the variables")
    faults.raise_if_any()
    others = [name for name in names if name not in numeric and name != household]
    coders = {name: LevelCoder(occurring_levels(people[name])) for name in others}
    marks = Marks(tuple(numeric), coders, household, digits)
    files = {"original": people}
    if holdout is not None:
        files["holdout"] = as_frame(holdout, "holdout")
        check_columns(faults, files["holdout"], marks.columns, "column of the holdout")
        _check_amounts(faults, files["holdout"], marks, "holdout")
        faults.raise_if_any()
    result = _counted(marks, files, synthetic)
    if household is None or not hasattr(synthetic, "guessed_draws"):
        return result
    return replace(result, notes=synthetic.guessed_draws())


@dataclass(frozen=True, slots=True)
class Marks:
    """What marks a person: hashes of amounts, of shares, of the household."""

    amounts: tuple[str, ...]
    coders: dict[str, LevelCoder]  # of the columns that are not amounts
    household: str | None
    digits: int

    @property
    def kinds(self) -> list[str]:
        """What can be compared."""
        chosen = ["amounts"] if self.amounts else []
        chosen += ["shares"] if len(self.amounts) > 1 else []
        return chosen + (["compositions"] if self.coders else [])

    @property
    def columns(self) -> list[str]:
        """Columns that are read."""
        return [*self.amounts, *self.coders, *([self.household] if self.household else [])]

    def of(self, frame: pd.DataFrame, factor: float = 1.0) -> dict[str, list[pd.Series]]:
        """Hashes of the marks of each kind, by row; with a factor amounts are values close by."""
        values = {name: as_numbers(frame[name]) for name in self.amounts}
        values = {name: np.where(np.isfinite(x), x, np.nan) for name, x in values.items()}
        if factor != 1.0:
            with np.errstate(over="ignore"):
                values = {name: _close_by(x, factor) for name, x in values.items()}
        result: dict[str, list[pd.Series]] = {kind: [] for kind in self.kinds}
        for x in values.values():
            rows = np.flatnonzero(~np.isnan(x) & (x != 0))
            result["amounts"].append(pd.Series(x[rows], index=rows))
        if "shares" in result:
            result["shares"] = [self._shares(np.column_stack(list(values.values())))]
        if "compositions" in result and factor == 1.0:
            result["compositions"] = [self._compositions(frame)]
        return result

    def _shares(self, table: np.ndarray) -> pd.Series:
        table = np.nan_to_num(table)
        table /= np.maximum(np.abs(table).max(axis=1, keepdims=True, initial=0.0), TINY)
        rows = np.flatnonzero((table != 0).sum(axis=1) > 1)
        shares = table[rows] / np.abs(table[rows]).sum(axis=1, keepdims=True)
        codes = pd.DataFrame(np.rint(shares * 10.0**self.digits).astype(np.int64))
        return pd.Series(pd.util.hash_pandas_object(codes, index=False).to_numpy(), index=rows)

    def _compositions(self, frame: pd.DataFrame) -> pd.Series:
        """A hash of the household of each member, whatever their order."""
        codes = pd.DataFrame({name: coder.code(frame[name]) for name, coder in self.coders.items()})
        member = pd.util.hash_pandas_object(codes, index=False).to_numpy()
        unit = units_of(frame, self.household)
        size = np.bincount(unit)
        total = np.zeros(len(size), dtype=np.uint64)
        np.add.at(total, unit, member * np.uint64(0x9E3779B97F4A7C15))
        return pd.Series(total[unit])


def _close_by(values: np.ndarray, factor: float) -> np.ndarray:
    """Return other values near those given that are as round: 1,250 gives 1,260.

    Values that are not rounded at all are multiplied by the factor.
    """
    decimals = _decimals(values)
    if decimals > MOST_DECIMALS:
        return values * factor
    units = np.abs(np.rint(values * 10.0**decimals))
    units = np.where(units < LARGEST_WHOLE, units, np.nan)
    step = np.ones_like(units)
    for _ in range(MOST_ZEROS):
        rounder = (units % (10 * step) == 0) & (units > 0)
        step = np.where(rounder, 10 * step, step)
    moved = units + step
    moved = np.where(moved % (10 * step) == 0, units + 2 * step, moved)
    moved = np.where(np.isnan(moved), np.abs(values * factor) * 10.0**decimals, moved)
    return np.round(np.sign(values) * moved / 10.0**decimals, decimals)


def _decimals(values: np.ndarray) -> int:
    known = values[~np.isnan(values)]
    for places in range(MOST_DECIMALS):
        if np.array_equal(np.round(known, places), known):
            return places
    return MOST_DECIMALS + 6


def _counted(marks: Marks, files: dict[str, pd.DataFrame], synthetic: Any) -> CopiedValues:
    """Find the marks of all files in the release, block by block."""
    real = {role: marks.of(frame) for role, frame in files.items()}
    real["chance"] = marks.of(files["original"], 1 + NEAR)
    hits = {role: {kind: [np.zeros(len(one), dtype=bool) for one in of]
                   for kind, of in kinds.items()} for role, kinds in real.items()}  # fmt: skip
    for coder in marks.coders.values():
        coder.start()
    for block in _blocks(synthetic, marks):
        for kind, released in marks.of(block).items():
            for place, one in enumerate(released):
                values = pd.unique(one.to_numpy())
                for role, kinds in real.items():
                    if place < len(kinds[kind]):
                        hits[role][kind][place] |= kinds[kind][place].isin(values).to_numpy()
    check_common_levels("copied values", marks.coders, "original", "synthetic file")
    units = {role: units_of(frame, marks.household) for role, frame in files.items()}
    units["chance"] = units["original"]
    homes = {role: None if marks.household else clusters_of(frame)
             for role, frame in files.items()}  # fmt: skip
    found = {
        (role, kind): _of_units(of, hits[role][kind], units[role])
        for role, kinds in real.items()
        for kind, of in kinds.items()
    }
    success = {job: matched[has] for job, (matched, has) in found.items()}
    names = (*marks.amounts, *marks.coders)
    overlap = overlap_of(files["original"], files.get("holdout"), names, list(marks.coders))
    rows, beyond = [], {}
    for kind in marks.kinds:
        originals, n = success["original", kind], len(success["original", kind])
        low, high = wilson(float(originals.sum()), n) if n else (np.nan, np.nan)
        strangers = success.get(("holdout", kind), np.zeros(0, dtype=bool))
        rows.append({
            "kind": kind, "n": n, "copied": int(originals.sum()), "rate": _mean(originals),
            "lower": low, "upper": high, "by_chance": _mean(success["chance", kind]),
            "holdout": _mean(strangers),
        })  # fmt: skip
        first, second = (
            (
                None if codes is None else codes[found[role, kind][1]]
                for role, codes in homes.items()
            )
            if len(homes) > 1
            else (None, None)
        )
        difference = excess(
            originals, strangers, 0.95, n_tests=len(marks.kinds), overlap=overlap,
            clusters=(first, second),
        )  # fmt: skip
        if difference is not None:
            beyond[kind] = difference
    unit = "households" if marks.household else "records"
    return CopiedValues(pd.DataFrame(rows), beyond, unit, marks.digits)


def _blocks(synthetic: Any, marks: Marks) -> Iterator[pd.DataFrame]:
    for block in open_chunks(synthetic, "synthetic", marks.columns):
        faults = Faults("copied values")
        check_columns(faults, block, marks.columns, "column of the synthetic file")
        _check_amounts(faults, block, marks, "synthetic file")
        faults.raise_if_any()
        yield block


def _check_amounts(faults: Faults, frame: pd.DataFrame, marks: Marks, role: str) -> None:
    for name in marks.amounts:
        if name in frame and not is_number(frame[name]):
            faults.add(name, f"is not a number in the {role}", hint="Make it one, as elsewhere.")


def _of_units(
    marks: list[pd.Series], hits: list[np.ndarray], unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether a mark that no other unit has was met, and which units have such a mark."""
    n_units = int(unit.max(initial=-1)) + 1
    has, matched = np.zeros(n_units, dtype=bool), np.zeros(n_units, dtype=bool)
    for one, hit in zip(marks, hits, strict=True):
        pairs = pd.DataFrame({"mark": one.to_numpy(), "unit": unit[one.index], "hit": hit})
        pairs = pairs.drop_duplicates(["mark", "unit"])
        alone = pairs[~pairs.duplicated("mark", keep=False)]
        has[alone["unit"]] = True
        matched[alone["unit"][alone["hit"]]] = True
    return matched, has


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


COPIED = attribution(
    "copied",
    "Exact copies",
    "persons (or households) with something that nobody else has who have it in the "
    "release exactly",
    "",
)


def copied_numbers(result: Any) -> list[AttackNumber]:
    """Rates of exact copies, beside values close by or strangers."""
    numbers = []
    for row in result.table[result.table["n"] > 0].to_dict("records"):
        info = beside(COPIED, message("copied {what}", what=message(row["kind"])))
        beyond = result.excess.get(row["kind"])
        by_chance = (row["by_chance"], message("neighbouring values"))
        baseline, against = by_chance if beyond is None else (row["holdout"], OUTSIDE)
        one = Measurement(
            info, row["rate"], records=int(row["n"]), lower=row["lower"], upper=row["upper"],
            baseline=baseline, against="" if np.isnan(baseline) else against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _run(inputs: AttackInput, target: str) -> Any:
    variables = dict.fromkeys((*inputs.keys, *inputs.targets))
    codes = inputs.scenario.categorical if inputs.scenario else inputs.categorical
    amounts = [n for n in variables if n not in codes and is_amount(inputs.original[n])]
    return copied_values(
        inputs.original, inputs.synthetic, list(variables), amounts=amounts,
        household=inputs.scenario.household if inputs.scenario else None, holdout=inputs.holdout,
    )  # fmt: skip


ATTACK = AttackEntry(
    name="copies",
    rank=80,
    title="Exact copies",
    question="Which amounts and characteristics of persons are in the release to the letter?",
    story=(
        "looks for amounts, shares of amounts and the characteristics of somebody, to the letter"
    ),
    blind_spots=(
        "everything that is not repeated to the letter: amounts with a little noise, "
        "households with one member changed"
    ),
    function=copied_values,
    target="none",
    honours=("unit", "household", "categorical"),
    run=_run,
    numbers=copied_numbers,
    blind_to=("noise", "holes"),
    compared=False,
)
