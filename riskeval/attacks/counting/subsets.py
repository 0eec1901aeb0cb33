"""Attacks by fewer keys than the intruder knows: who knows six things also knows three."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd

from riskeval.attacks.counting.attribution import tcap
from riskeval.attacks.counting.coded import CodedFiles, Found
from riskeval.attacks.counting.disco import disco
from riskeval.attacks.entry import COUNTED, AttackEntry, AttackInput
from riskeval.attacks.numbers import OUTSIDE, RAAB, AttackNumber, beside
from riskeval.attacks.shares import Excess
from riskeval.attacks.strangers import overlap_of
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.messages.message import message, sentences
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted, join, plural

MOST_SUBSETS, FEWER_SUBSETS = 60, 8
"""Subsets of the keys that are tried; the fewer of households, wrong keys or some persons."""
LEAST_KEYS = 1


@dataclass(frozen=True, slots=True, eq=False)
class FewerKeys(TableResult):
    """The attack on one target by subsets of the keys.

    Attributes
    ----------
    table : DataFrame
        One row an attack and subset: `attack`, `keys`, `rate`, `holdout`, `excess`, `lower`,
        `upper` (corrected for the number of attacks and subsets).
    attack : str
    keys : tuple of str
        The attack and the subset whose excess over strangers is the clearest.
    target : str
    rate : float
        Success of that attack: for DiSCO the share of the persons whose own value, and no other,
        these keys lead to; for DCAP the probability to draw it.
    excess : Excess
        Of that subset, corrected for the choice.
    n_original : int
    unit : {"records", "households"}
    """

    table: pd.DataFrame
    attack: str
    keys: tuple[str, ...]
    target: str
    rate: float
    excess: Excess
    n_original: int
    unit: str
    notes: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float, float]:
        """NaN: the interval is that of the excess."""
        return float("nan"), float("nan")

    def summary(self) -> str:
        """Say which keys lead furthest."""
        text = message(
            "Of {n} of the keys, {keys} tell most about {value} beyond strangers: {rate} "
            "against {holdout_rate} of strangers; {verdict}.",
            n=plural(self.table["keys"].nunique(), "subset"),
            keys=join(self.keys),
            value=self.target or "unique persons",
            rate=formatted(self.rate, ".3g"),
            holdout_rate=formatted(self.excess.holdout_rate, ".3g"),
            verdict=self.excess.verdict,
        )
        return sentences(text, self.excess.caution)


def subsets_of(keys: Sequence[str], most: int = MOST_SUBSETS) -> list[tuple[str, ...]]:
    """Return the subsets of the keys, without all of them, the largest first.

    At most 60, or so many: of many keys those that leave out few, and the small ones.

    Examples
    --------
    >>> subsets_of(["a", "b", "c"])
    [('a', 'b'), ('a', 'c'), ('b', 'c'), ('a',), ('b',), ('c',)]
    """
    sizes = range(len(keys) - 1, LEAST_KEYS - 1, -1)
    every = [subset for size in sizes for subset in combinations(keys, size)]
    if len(every) <= most:
        return every
    step = len(every) / most
    return [every[int(i * step)] for i in range(most)]


def fewer_keys(
    attacks: Mapping[str, Callable[[tuple[str, ...]], Any]], keys: Sequence[str], target: str,
    most: int = MOST_SUBSETS,
) -> FewerKeys | None:  # fmt: skip
    """Run attacks by each subset of the keys; None where none can be compared with strangers.

    Parameters
    ----------
    attacks : mapping of names to callables
        Functions of keys to a result with `rate`, `excess`, `n_original` and `unit`.
    keys : sequence of str
    target : str
    most : int
        At most so many subsets are tried.

    Returns
    -------
    FewerKeys or None

    Examples
    --------
    >>> people = pd.DataFrame({"age": range(30), "sex": [0, 1] * 15, "ill": [0, 0, 1] * 10})
    >>> others = people.assign(ill=0)
    >>> def by(keys):
    ...     return disco(people, people, list(keys), "ill", holdout=others, draws=0)
    >>> found = fewer_keys({"DiSCO": by}, ["age", "sex"], "ill")
    >>> found.attack, found.keys, found.rate
    ('DiSCO', ('age',), 1.0)
    """
    rows, results = [], {}
    subsets = subsets_of(keys, most)
    n_tried = len(subsets) * len(attacks)
    for subset in subsets:
        for name, of_keys in attacks.items():
            result = of_keys(subset)
            if result.excess is None:
                continue
            beyond = replace(
                result.excess, **_widened(result.excess, n_tried),
                n_tests=result.excess.n_tests * n_tried,
            )  # fmt: skip
            results[name, subset] = (result, beyond)
            rows.append({
                "attack": name, "keys": ", ".join(subset), "rate": result.rate,
                "holdout": beyond.holdout_rate, "excess": beyond.difference,
                "lower": beyond.lower, "upper": beyond.upper,
            })  # fmt: skip
    if not results:
        return None
    best = max(results, key=lambda one: results[one][1].lower)
    result, beyond = results[best]
    return FewerKeys(pd.DataFrame(rows), *best, target, float(result.rate), beyond,
                     int(result.n_original), result.unit)  # fmt: skip


def _widened(one: Excess, n_tried: int) -> dict[str, float]:
    """Both ends of an interval, corrected for the choice among attacks and subsets."""
    stretch = one.stretch(n_tried)
    return {"lower": one.difference - (one.difference - one.lower) * stretch,
            "upper": one.difference + (one.upper - one.difference) * stretch}  # fmt: skip


FEWER_KEYS = attribution(
    "fewer_keys",
    "Fewer keys",
    "share of the original records whose value an intruder finds (DiSCO) or draws (DCAP) by some "
    "of the keys; by the subset of the keys that tells most beyond strangers",
    RAAB,
)


def _run_fewer_keys(inputs: AttackInput, target: str) -> FewerKeys:
    if len(inputs.keys) <= LEAST_KEYS:
        raise InputError.of("fewer keys", "keys", f"are {len(inputs.keys)}: there are no fewer")

    n_groups = None if inputs.is_code(target) else inputs.n_groups

    def by(measure: Callable[..., Any], keys: tuple[str, ...]) -> Any:
        fewer = replace(inputs, keys=keys)
        return measure(
            inputs.original, inputs.synthetic, fewer.scenario_about(COUNTED, [target]),
            fewer.named(target), holdout=inputs.holdout, n_groups=n_groups, draws=0,
            seed=inputs.seed,
        )  # fmt: skip

    def drawn(keys: tuple[str, ...]) -> Found:
        result = by(tcap, keys)
        beyond = result.excess.get("DCAP")
        return Found(result.value("DCAP"), beyond, len(result.looked_for), result.unit)

    coded = CodedFiles.of(inputs, target, n_groups)

    def attack(name: str, keys: tuple[str, ...]) -> Any:
        quick = None if coded is None else coded.found(name, keys)
        return quick or (by(disco, keys) if name == "DiSCO" else drawn(keys))

    attacks = {name: partial(attack, name) for name in ("DiSCO", "DCAP")}
    most = FEWER_SUBSETS if coded is None else MOST_SUBSETS
    result = fewer_keys(attacks, inputs.keys, target, most)
    if result is None:
        raise InputError.of("fewer keys", "hold-out", "has nobody to compare with")
    names = [*inputs.keys, target]  # few columns do not show that strangers are none
    overlap = overlap_of(inputs.original, inputs.holdout, names, inputs.categorical)
    notes = () if coded is not None else (
        message("at most {n} subsets of the keys are tried", n=count(most)),
    )  # fmt: skip
    return replace(result, excess=replace(result.excess, overlap=overlap), notes=notes)


def fewer_key_numbers(result: FewerKeys) -> list[AttackNumber]:
    """The strongest attack by a subset of the keys beside strangers."""
    one = Measurement(
        beside(FEWER_KEYS, result.attack), result.rate, result.target,
        records=result.n_original,
        baseline=result.excess.holdout_rate, against=OUTSIDE,
        note=", ".join(result.keys),
    )  # fmt: skip
    return [AttackNumber(one, "strangers", result.excess)]


ATTACK = AttackEntry(
    name="fewer_keys",
    rank=45,
    title="Fewer keys",
    question="Which of the keys tell most about persons of the original, beyond strangers?",
    story="forgets some keys, and draws among the synthetic persons with the rest",
    blind_spots="keys that are changed; subsets of the keys beyond the sixty that are tried",
    function=fewer_keys,
    target="categorical",
    honours=COUNTED,
    run=_run_fewer_keys,
    numbers=fewer_key_numbers,
    needs_holdout=True,
    exact_keys=True,
    blind_to=("copy", "half", "holes", "noise"),  # what takes all keys
    compared=False,
)
