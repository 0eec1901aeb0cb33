"""Suppression of values in records whose risk is above a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.entry import ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.result import Protected, protected, suppress_cells
from riskeval.protection.suppression.plan import read_ranks
from riskeval.recovery.recover import recover
from riskeval.recovery.result import Recovery, read_back_text
from synthpop.microdata.frame.checks import check_columns, check_weights
from synthpop.microdata.frame.frames import as_names
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Between, check
from synthpop.microdata.messages.text import count, join, number, plural
from synthpop.microdata.roles.microdata import as_file


@same_library
def suppress_risky(
    data: Any,
    column: str | Sequence[str],
    *,
    risk: Any = None,
    threshold: float,
    importance: Sequence[int] | Mapping[str, int] | None = None,
    weights: str | None = None,
    household: str | None = None,
) -> Protected:
    """Make values missing in the records whose risk is above a threshold.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    column : str, or sequence of str
        The column to suppress, usually a key variable; of several, the least important one is
        suppressed first, the risk re-estimated, and the next one suppressed where it still is
        too high.
    risk : array of shape (n,), or a result with such an array as ``risk``; optional
        Risk of each record in the order of the file, for one column. Default: the individual risk
        on the columns, which several columns need.
    threshold : float
        Records with a risk strictly above it lose their value.
    importance : sequence or mapping of numbers from 1, optional
        Rank of each column: 1 is the most important, the largest is suppressed first. Default:
        the order in which they are named, the first the most important.
    weights : str, optional
        Column of sampling weights for the individual risk.
    household : str, optional
        Column of household ids: a column that is the same for all members is suppressed for all
        of them, so that no member tells it.

    Returns
    -------
    Protected
        ``details`` has ``above`` (records above the threshold at first; more than changed cells
        where values were missing before), ``recovery`` (what ``riskeval.recover`` reads back) and,
        where the risk was estimated here, ``still_above`` (records above it in the end, with what
        can be read back filled in). Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, risk of another length or with missing values, ranks that are none, a
        risk beside several columns.

    Notes
    -----
    Templ (2017), section 4.2.2.2. Records can stay above the threshold when all their columns are
    missing, or in a file that is small: the summary says how many.

    Examples
    --------
    >>> people = pd.DataFrame({"region": ["A", "A", "B"]})
    >>> result = suppress_risky(people, "region", risk=[0.01, 0.01, 0.5], threshold=0.1)
    >>> result.data["region"].isna().tolist()
    [False, False, True]
    """
    # 1. Check what was asked
    faults = Faults("suppress_risky")
    file = as_file(data, faults, household=household)
    frame, household = file.indexed, file.roles.household
    weights = weights or file.roles.weight
    names = list(as_names(faults, column, "column"))
    check_columns(faults, frame, dict.fromkeys(names), "column to suppress")
    numbers = None if risk is None else _read_risk(faults, risk, len(frame))
    if risk is not None and len(names) > 1:
        faults.add("risk", "is for one column", hint="Leave it out: it is re-estimated.")
    ranks = np.arange(len(names)) if importance is None else read_ranks(faults, names, importance)
    check(faults, {"threshold": Between(None, None)}, {"threshold": threshold})
    if weights is not None and check_columns(faults, frame, [weights], "weights"):
        check_weights(faults, frame[weights], weights)
    homes = read_households(faults, file, names)
    faults.raise_if_any()
    # 2. Suppress, attack, and suppress what is at risk after the attack
    intruder = _Intruder(frame, names, weights, homes)
    order = [names[j] for j in np.argsort(-ranks, kind="stable")]
    released, details, notes = _suppressed(intruder, order, numbers, threshold)
    # 3. Say what holds
    if homes.variables:
        notes.append(
            message(
                "{column}: for all members of a household or for none.",
                column=join(homes.variables),
            )
        )
    notes += homes.notes()
    recovery = details["recovery"]
    if recovery.n_right:
        notes.append(
            message("But {recovery}.", recovery=read_back_text(recovery, "suppressed value"))
        )
    ranked = dict(zip(names, map(int, ranks), strict=True))
    return protected(
        frame,
        released,
        names,
        method="suppress_risky",
        parameters={
            "column": column if isinstance(column, str) else names,
            "risk": None if numbers is None else numbers.tolist(), "threshold": float(threshold),
            "importance": None if importance is None else ranked,
            "weights": weights, "household": household,
        },
        notes=notes,
        details=details,
    )  # fmt: skip


def _suppressed(
    intruder: _Intruder, order: Sequence[str], numbers: np.ndarray | None, threshold: float
) -> tuple[pd.DataFrame, dict[str, Any], list[str]]:
    """Return the file with what is risky suppressed, the least important column first."""
    hidden = {name: np.zeros(len(intruder.frame), dtype=bool) for name in order}
    released = intruder.frame.copy(deep=False)
    if numbers is not None:
        first = intruder.hide(released, hidden, order[0], numbers > threshold)
    else:
        first = int((intruder.risk(released) > threshold).sum())
        for name in order:
            intruder.hide(released, hidden, name, intruder.risk(released) > threshold)
    details: dict[str, Any] = {"above": first}
    notes = [
        message(
            "{n} had a risk above {threshold}.",
            n=plural(first, "record"),
            threshold=number(threshold),
        )
    ]
    # what the other members, rows, weights and columns tell is no protection: hide more
    recovery = intruder.attack(released, hidden)
    at_first = recovery.n_right
    if numbers is None:
        for name in order if at_first else []:
            above = intruder.risk(intruder.believed(released, recovery)) > threshold
            if not above.any():
                break
            intruder.hide(released, hidden, name, above)
            recovery = intruder.attack(released, hidden)
        known = intruder.believed(released, recovery)
        details["still_above"] = still = int((intruder.risk(known) > threshold).sum())
        after = (" " + message("after recoverable values are filled in")) if at_first else ""
        columns = join(intruder.names)
        notes.append(
            message(
                "Re-estimated on {columns}{after}, {still} still have.",
                columns=columns,
                after=after,
                still=count(still),
            )
        )
    return released, details | {"recovery": recovery}, notes


def _read_risk(faults: Faults, risk: Any, n: int) -> np.ndarray:
    values = np.asarray(getattr(risk, "risk", risk), dtype=object).reshape(-1)
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    if len(numbers) != n:
        faults.add("risk", f"has {plural(len(numbers), 'value')} for {plural(n, 'record')}")
    elif np.isnan(numbers).any():
        faults.add("risk", "is missing or no number", rows=np.flatnonzero(np.isnan(numbers)))
    return np.asarray(numbers)


@dataclass(frozen=True, eq=False)
class _Intruder:
    """What an intruder has beside the release, and what they make of it."""

    frame: pd.DataFrame
    names: Sequence[str]
    weights: str | None
    homes: Households

    def risk(self, released: pd.DataFrame) -> np.ndarray:
        """Individual risk of each record on the columns, float64, shape (n,)."""
        from riskeval.measures.individual import individual_risk

        names, weights = list(self.names), self.weights
        return individual_risk(released, names, weights=weights, household=self.homes.column).risk

    def hide(
        self, released: pd.DataFrame, hidden: dict[str, np.ndarray], name: str, above: np.ndarray
    ) -> int:
        """Suppress a column in `released`; return the number of records above the threshold."""
        rows = self.homes.with_members(above) if name in self.homes.variables else above
        hidden[name] = (hidden[name] | rows) & self.frame[name].notna().to_numpy()
        released[name] = suppress_cells(self.frame[name], hidden[name])
        return int(above.sum())

    def attack(self, released: pd.DataFrame, hidden: dict[str, np.ndarray]) -> Recovery:
        """Read back what the rest of the file tells."""
        return recover(
            released, household=self.homes.column, weights=self.weights, original=self.frame,
            suppressed=pd.DataFrame(hidden),
        )  # fmt: skip

    def believed(self, released: pd.DataFrame, recovery: Recovery) -> pd.DataFrame:
        """The release with what is read back rightly."""
        believed_file = released.copy(deep=False)
        right = recovery.cells[recovery.cells["right"]]
        for name, part in right.groupby("column", sort=False):
            missing = released[str(name)].isna().to_numpy(copy=True)
            missing[part["row"].to_numpy()] = False
            believed_file[str(name)] = suppress_cells(self.frame[str(name)], missing)
        return believed_file


METHOD = ProtectionMethod(
    run=suppress_risky,
    rank=50,
    title="Suppression above a risk",
    question="Which values are hidden in the records whose risk is above a threshold?",
    blind_spots="records below the threshold, whose risk the model may understate",
    example={"column": ["age", "pl030"], "threshold": 0.4},
    roles=roles_named("household", "weights"),
)
