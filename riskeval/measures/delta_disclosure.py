"""delta-disclosure privacy: how far groups of equal keys are from the file, up and down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskeval.keys.table import key_table
from riskeval.measures.entry import Measure, by_variable, person_risk
from riskeval.measures.request import AssessRequest, ByVariable
from riskeval.measures.sensitive_groups import category_notes, check_sensitive
from riskeval.shared.measurement import Measurement
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import number, plural
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class DeltaDisclosure(Result):
    """Largest difference between a group and the file, on the scale of logarithms.

    Attributes
    ----------
    delta : float
        Largest |log(p / q)| of a value that occurs in a group: its share p there, q in the file.
    distance : float64, shape (n,)
        The same for the group of each record; 0 where no record of it has a sensitive value.
    n_absent : int
        Records in groups in which some value of the file does not occur: its share is 0 there,
        and no delta holds.
    keys : tuple of str
    sensitive : str
    notes : tuple of str
    """

    delta: float
    distance: np.ndarray
    n_absent: int
    keys: tuple[str, ...]
    sensitive: str
    notes: tuple[str, ...]

    def summary(self) -> str:
        """Return delta and what it means."""
        text = message(
            "Within groups of equal keys the share of a value of {name} that occurs there "
            "is at most {x} times its share in the file, or that part of it (delta = {d}).",
            name=self.sensitive,
            x=number(np.exp(self.delta)),
            d=number(self.delta),
        )
        if self.n_absent:
            text += " " + message(
                "{n_absent} are in groups in which some value does not occur: whoever knows "
                "the keys can exclude it, and delta-disclosure privacy in the strict sense "
                "does not hold for any delta.",
                n_absent=plural(self.n_absent, "record"),
            )
        return joined_by(" ", [text, *self.notes])


def delta_disclosure(
    data: Any, keys: Sequence[str] | None = None, sensitive: str | None = None
) -> DeltaDisclosure:
    """Measure delta-disclosure privacy.

    Parameters
    ----------
    data, keys, sensitive
        The file and its roles (see `Microdata`). A missing key is a value of its own, missing
        sensitive values are left out.

    Returns
    -------
    DeltaDisclosure
        Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Brickell and Shmatikov (2008), doi:10.1145/1401890.1401904, definition 3: |log(p / q)| < delta
    for every value in every group; they ask for all values in every group.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"zip": [1, 1, 2, 2], "ill": ["flu", "HIV", "flu", "flu"]})
    >>> result = delta_disclosure(people, ["zip"], "ill")
    >>> round(result.delta, 3), result.n_absent
    (0.693, 2)
    """
    faults = Faults("delta-disclosure")
    file = as_file(data, faults, keys=keys, sensitive=sensitive, columns=())
    (variable,) = check_sensitive(faults, file, most=1)[:1] or ("",)
    faults.raise_if_any()
    codes, levels = file.codes(variable)
    table = key_table(file)
    filled = codes >= 0
    n_levels, n_cells = max(len(levels), 1), len(table.codes)
    # 1. records of each group by value, and their shares; 2. |log| of the ratio to the file
    position = table.cell[filled].astype(np.int64) * n_levels + codes[filled]
    pairs, counts = np.unique(position, return_counts=True)
    cell, level = pairs // n_levels, pairs % n_levels
    totals = np.bincount(table.cell[filled], minlength=n_cells)
    share = np.bincount(codes[filled], minlength=n_levels) / max(filled.sum(), 1)
    distances = np.abs(np.log(counts / totals[cell]) - np.log(share[level]))
    largest = np.zeros(n_cells)
    np.maximum.at(largest, cell, distances)
    present = np.bincount(cell, minlength=n_cells)
    lacks = (present < (share > 0).sum()) & (totals > 0)
    return DeltaDisclosure(
        delta=float(largest.max(initial=0.0)),
        distance=largest[table.cell],
        n_absent=int(lacks[table.cell].sum()),
        keys=file.roles.keys,
        sensitive=variable,
        notes=category_notes(file.frame, [variable]),
    )


DELTA = person_risk(
    "delta_disclosure", "delta", "value",
    "largest difference between the logarithms of a value's shares in a group and in the file",
    "Brickell and Shmatikov 2008", single=True,
)  # fmt: skip


def of_log_ratios(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest log ratio of each sensitive variable, and the records whose group lacks a value."""
    return [
        request.measured(
            DELTA, one.delta, target=name,
            note=message("{n} in groups that lack a value", n=plural(one.n_absent, 'record')),
        ).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]  # fmt: skip


MEASURE = Measure(
    name="delta_disclosure",
    rank=130,
    title="delta-disclosure",
    question="How far is a sensitive value in a group from its share in the file, up or down?",
    blind_spots=(
        "values that do not occur in a group, which it counts apart; how secret a value is"
    ),
    source="Brickell and Shmatikov 2008",
    function=delta_disclosure,
    run=lambda request: by_variable(request, delta_disclosure),
    measurements=of_log_ratios,
    needs=("sensitive",),
    compared=False,
)
