"""Targets of masked amounts: the weakest masking at which a file holds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from riskeval.protection.result import Protected
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Between, check
from synthpop.microdata.messages.text import join, number, percent

AMOUNT_TARGETS = ("record_linkage", "interval_disclosure")
STEPS = 10
"""Halvings of the range between a strength that fails and one that holds."""


@dataclass(frozen=True, slots=True)
class Strength:
    """An argument that says how much is masked, and its range."""

    name: str
    low: float
    high: float
    whole: bool = False

    def between(self, low: float, high: float) -> float | None:
        """Return a value in the middle, of equal ratio to both; None if there is none."""
        middle = (low * high) ** 0.5
        if self.whole:
            middle = round(middle)
        return middle if low < middle < high else None

    def upwards(self) -> Iterator[float]:
        """Yield values up to the largest: it alone, or of a whole number its doubles."""
        value = self.low
        while value < self.high:
            value = min(2 * value, self.high) if self.whole else self.high
            yield value


@dataclass(frozen=True, eq=False)
class AmountTargets:
    """What must hold of the amounts of a file beside its original."""

    original: pd.DataFrame
    names: Sequence[str]
    limits: Mapping[str, float]

    def __bool__(self) -> bool:
        return bool(self.limits)

    def measured(self, released: pd.DataFrame) -> dict[str, float]:
        """Return what a released file has, as sessions and comparisons measure it."""
        from riskeval.measures.interval_disclosure import interval_disclosure
        from riskeval.measures.linkage.linkage import record_linkage

        files, names = (self.original, released), list(self.names)
        values = {}
        if "record_linkage" in self.limits:
            values["record_linkage"] = record_linkage(*files, names).expected_rate_two
        if "interval_disclosure" in self.limits:
            values["interval_disclosure"] = interval_disclosure(*files, names).rate
        return values

    def missed(self, values: Mapping[str, float]) -> list[str]:
        """Return the targets that some values miss; what cannot be measured is missed."""
        return [name for name, limit in self.limits.items() if not values[name] <= limit]

    def weakest(self, run: Callable[[float], Protected], strength: Strength) -> Protected:
        """Return the result of the weakest masking that holds, by halving; else the strongest.

        Draws are the same at every strength. The risk need not fall evenly with it: what is
        returned was measured, and the next weaker one that was tried misses a target.
        """
        tried: dict[float, Protected] = {}
        values: dict[float, dict[str, float]] = {}

        def misses(value: float) -> bool:
            tried[value] = run(value)
            values[value] = self.measured(tried[value].data)
            return bool(self.missed(values[value]))

        # 1. a strength that fails, and one that holds: sizes are doubled while a file has them
        low, high = strength.low, strength.high
        if not misses(low):
            return self._chosen(tried[low], strength, low, values)
        for value in strength.upwards():
            try:
                fails = misses(value)
            except InputError:
                break
            if not fails:
                high = value
                break
            low = value
        if high not in tried:
            return self._chosen(tried[low], strength, low, values)
        # 2. halve the range between a value that fails and one that holds
        for _ in range(STEPS if not strength.whole else 60):
            middle = strength.between(low, high)
            if middle is None:
                break
            low, high = (middle, high) if misses(middle) else (low, middle)
        return self._chosen(tried[high], strength, high, values)

    def _chosen(
        self,
        result: Protected,
        strength: Strength,
        value: float,
        values: Mapping[float, Mapping[str, float]],
    ) -> Protected:
        """Return a result that says what was reached, and what a weaker masking gave."""
        reached, missed = values[value], self.missed(values[value])
        weaker = max((one for one in values if one < value), default=None)
        unmet = [
            message(
                "Target missed: {name} is {reached} at {strength} {value}, the strongest that was "
                "tried; asked was at most {limit}.",
                name=name,
                reached=percent(reached[name], 2),
                strength=strength.name,
                value=number(value),
                limit=percent(self.limits[name], 2),
            )
            for name in missed
        ]
        held = [name for name in self.limits if name not in missed]
        notes = [
            message(
                "Measured on the result: {names} at {strength} {value}.",
                names=join([_at_most(name, reached[name], self.limits[name]) for name in held]),
                strength=strength.name,
                value=number(value),
            )
            for _ in held[:1]
        ]
        if weaker is not None and not missed:
            notes.append(
                message(
                    "At {weaker} {names}, which is too much.",
                    weaker=number(weaker),
                    names=join(
                        [
                            message("{name} is {value}", name=name, value=percent(risk, 2))
                            for name, risk in values[weaker].items()
                            if name in self.missed(values[weaker])
                        ]
                    ),
                )
            )
        return replace(
            result,
            notes=(*result.notes, *notes),
            unmet=(*result.unmet, *unmet),
            parameters={
                **result.parameters,
                "targets": {**result.parameters.get("targets", {}), **self.limits},
            },
            details={
                **result.details,
                "targets": {**result.details.get("targets", {}), **reached},
                strength.name: value,
            },
        )


def _at_most(name: str, reached: float, limit: float) -> str:
    return message(
        "{name} {reached} (asked: at most {limit})",
        name=name,
        reached=percent(reached, 2),
        limit=percent(limit, 2),
    )


def read_amount_targets(
    faults: Faults,
    frame: pd.DataFrame,
    names: Sequence[str],
    targets: Mapping[str, float] | None,
) -> AmountTargets:
    """Return targets of amounts from a mapping of their names to the largest accepted share."""
    n = len(frame)
    for name, limit in (targets or {}).items():
        if name not in AMOUNT_TARGETS:
            hint = did_you_mean(name, AMOUNT_TARGETS)
            faults.add("targets", f"{name!r} is none of amounts", hint=hint)
            continue
        check(faults, {name: Between(0, 1)}, {name: limit})
        if name == "record_linkage" and Between(0, 1).allows(limit) and limit * n < 2:
            what = f"record_linkage at most {limit:g}: below linking {n} records at random"
            faults.add("targets", what, hint=f"Give at least {2 / max(n, 1):.2g}.")
    return AmountTargets(frame, names, dict(targets or {}))
