"""Methods of `Continuous` by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypedDict

from synthpop.microdata.messages.errors import Faults
from synthpop.stages.continuous.binned_method import TAILS, Binned, Gpd, Pareto
from synthpop.stages.continuous.method_base import ValueMethod
from synthpop.stages.continuous.regression_methods import (
    BinnedRegressed,
    Counted,
    Matched,
    Regressed,
)

METHODS: dict[str, Callable[..., ValueMethod]] = {
    "binned": Binned,
    "regression": Regressed,
    "binned+regression": BinnedRegressed,
    "poisson": partial(Counted, "poisson"),
    "negative-binomial": partial(Counted, "negative-binomial"),
    "pmm": Matched,
    "tree": partial(Regressed, "tree"),
    "forest": partial(Regressed, "forest"),
}
"""Methods by the name that stands for one with default options."""


class MethodOptions(TypedDict, total=False):
    """Options that may stand beside the name of a method; each method has some of them."""

    zeros: bool | None
    breaks: Sequence[float] | None
    tail: str | Gpd | Pareto | None
    threshold: float | None
    estimator: str | None
    upper: float | None
    intervals: tuple[str, str] | None
    within_class: str
    log: bool
    constant: float | None
    trim: tuple[float, float]
    residuals: str | None


def with_options(label: str, method: Any, options: MethodOptions) -> ValueMethod:
    """Return a named method, or a regressor, with options of its own; those it lacks are faults.

    Options that are None or False where the method has none of that name ask for nothing.

    Examples
    --------
    >>> with_options("income", "binned", {"tail": "gpd", "threshold": 9e4, "residuals": None})
    Binned(zeros=None, breaks=None, tail=Gpd(threshold=90000.0, estimator='mle', upper=None), \
upper=None, intervals=None, within_class='steps')
    """
    faults = Faults("recipe")
    wanted: dict[str, object] = dict(options)
    of_tail = {key: wanted.pop(key) for key in ("threshold", "estimator") if key in wanted}
    of_tail = {key: value for key, value in of_tail.items() if value is not None}
    tail = wanted.get("tail")
    if of_tail and isinstance(tail, str) and tail in TAILS:
        wanted["tail"] = TAILS[tail](**of_tail)
    elif of_tail:
        faults.add(f"{label}: {min(of_tail)}", "needs a tail", hint='Give tail = "gpd".')
    value_rule = value_method(method)
    if value_rule is None or isinstance(method, ValueMethod):
        what = "stands beside an object of options" if value_rule is not None else "has no method"
        faults.add(f"{label}: {min(options)}", what, hint="Give it to the method itself.")
    faults.raise_if_any()
    assert value_rule is not None
    names = {option.name for option in fields(value_rule)}
    for name, value in wanted.items():
        if name not in names and value is not None and value is not False:
            hint = f"It has {', '.join(sorted(names))}."
            faults.add(f"{label}: {name}", f"is not an option of {value_rule.type!r}", hint=hint)
    faults.raise_if_any()
    return replace(value_rule, **{name: value for name, value in wanted.items() if name in names})


def value_method(method: Any) -> ValueMethod | None:
    """Return the options that a name or a regressor stands for; None for what is unknown."""
    if isinstance(method, ValueMethod):
        return method
    if isinstance(method, str):
        return METHODS[method]() if method in METHODS else None
    return Regressed(method) if hasattr(method, "fit") else None
