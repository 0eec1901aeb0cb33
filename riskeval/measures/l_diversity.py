"""l-diversity: how many sensitive values a group of records with the same key has.

Also the groups themselves (`sensitive_groups`), which the closeness measures share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import KeyTable, check_treatment, key_table, number_rows
from riskeval.measures.entry import Measure, missing_note, person_risk, run_on
from riskeval.measures.request import AssessRequest
from riskeval.measures.sensitive_groups import (
    Segments,
    category_notes,
    check_sensitive,
    household_note,
    households_of_cells,
    once_a_household,
    per_cell,
)
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.codes import MISSING, first_rows
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.parameters import POSITIVE, check, check_choice
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, percent
from synthpop.microdata.roles.microdata import as_file

MISSING_SENSITIVE = ("category", "ignore")
KINDS = ("distinct", "entropy", "recursive")


@dataclass(frozen=True, slots=True, eq=False)
class LDiversity(Result):
    """Diversity of the sensitive values among the records that share a key.

    Attributes
    ----------
    per_record : DataFrame, n rows
        For each sensitive variable ``<var>_distinct`` (number of values), ``<var>_entropy``
        (exp of the entropy: effective number of values) and ``<var>_recursive`` (largest l of
        recursive (c, l)-diversity), then ``multi_entropy`` and ``multi_recursive``: the smallest
        value of any sensitive variable when the others count as keys too, over all records that
        have the same key (with one sensitive variable: its own measure).
    keys, sensitive : tuple of str
    recursive_c : float
    missing, missing_sensitive : str
    notes : tuple of str
        What to check before the numbers are used.
    """

    per_record: pd.DataFrame
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    recursive_c: float
    missing: str
    missing_sensitive: str
    notes: tuple[str, ...] = ()

    @property
    def l(self) -> pd.DataFrame:  # noqa: E743 - the letter of the literature
        """Smallest value over all records: one row per sensitive variable, one column per kind."""
        table = {
            name: [self.per_record[f"{name}_{kind}"].min() for kind in KINDS]
            for name in self.sensitive
        }
        return pd.DataFrame.from_dict(table, orient="index", columns=list(KINDS))

    def violations(self, l: float, kind: str = "distinct") -> dict[str, int]:  # noqa: E741
        """Number of records below l, for each sensitive variable."""
        return {
            name: int((self.per_record[f"{name}_{kind}"] < l * (1 - 1e-12)).sum())
            for name in self.sensitive
        }

    def to_frame(self) -> pd.DataFrame:
        """`per_record`."""
        return self.per_record

    def summary(self) -> str:
        """Return how many records have one sensitive value in common with their whole group."""
        n = len(self.per_record)
        sentences = []
        keys = ", ".join(self.keys)
        none = (" " + message("(or none)")) if self.missing_sensitive == "ignore" else ""
        for name in self.sensitive:
            same = self.violations(2)[name]
            smallest = float(self.per_record[f"{name}_distinct"].min()) if n else 0.0
            sentences.append(
                message(
                    "{name}: for {same} of {n} records ({share}) all records with the same {keys} "
                    "have the same value{none}, so the key alone discloses it; the smallest "
                    "distinct l of the file is {smallest}.",
                    name=name,
                    same=count_text(same),
                    n=count_text(n),
                    share=percent(same / max(n, 1)),
                    keys=keys,
                    none=none,
                    smallest=formatted(smallest, "g"),
                )
            )
        text = joined_by(" ", sentences) + (
            " "
            + message(
                "Distinct l = 2 is the least that protects anything (Machanavajjhala et al. "
                "2007); how much more is needed is a decision of the office."
            )
        )
        return joined_by(" ", [text, *self.notes])


@same_library
def l_diversity(
    data: Any,
    keys: Sequence[str] | None = None,
    sensitive: str | Sequence[str] | None = None,
    *,
    recursive_c: float = 2.0,
    missing: str = "own-category",
    missing_sensitive: str = "ignore",
    household: str | None = None,
) -> LDiversity:
    """Measure how diverse the sensitive values are among records that share a key.

    Parameters
    ----------
    data, keys, sensitive
        The file and its roles (see `Microdata`); every sensitive value is a category.
    recursive_c : float, default 2
        Constant c of recursive (c, l)-diversity, above 0.
    missing : str, default "own-category"
        Treatment of missing keys: see `frequency_counts`. By default a group are the records with
        the same key pattern, where missing is a category, as in sdcMicro. Under "wildcard" the
        group of a record are the records that count for its f and share a known key with it: a
        record that is blank on the keys says nothing about the group of others.
    missing_sensitive : {"ignore", "category"}
        "ignore": missing values are left out, so that two persons with the same illness and one
        without an answer are not diverse. "category": the missing values of a group are together
        one more value, as long as the group has others. A group without any value has distinct
        0, entropy 1 and recursive 1 under both.
    household : str, optional
        Column of household ids: a household counts once with each value, and a group has no more
        distinct values than households, since those of one household hide nobody.

    Returns
    -------
    LDiversity
        Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, a sensitive variable that is a key, recursive_c not above 0.

    Notes
    -----
    Machanavajjhala et al. (2007), doi:10.1145/1217299.1217302. With counts r_1 >= ... >= r_m of
    the values of a group: entropy is exp(-sum p log p); recursive is the largest l with
    r_1 < c (r_l + ... + r_m), or 1.

    Examples
    --------
    Table 3.1 of Templ (2017):

    >>> import pandas as pd
    >>> patients = pd.DataFrame({
    ...     "gender": ["m"] * 3 + ["f"] * 3, "age": ["30s"] * 3 + ["20s"] * 3,
    ...     "condition": ["cancer", "heart", "heart", "cancer", "cancer", "cancer"]})
    >>> result = l_diversity(patients, ["gender", "age"], "condition")
    >>> result.per_record["condition_distinct"].tolist()
    [2, 2, 2, 1, 1, 1]
    >>> result.violations(2)
    {'condition': 3}
    """
    faults = Faults("l-diversity")
    file = as_file(data, faults, keys=keys, sensitive=sensitive, household=household, columns=())
    check_treatment(faults, missing)
    variables = check_sensitive(faults, file)
    check_choice(faults, "missing_sensitive", missing_sensitive, MISSING_SENSITIVE)
    check(faults, {"recursive_c": POSITIVE}, {"recursive_c": recursive_c})
    faults.raise_if_any()
    table = key_table(file)
    homes = None if file.roles.household is None else file.household_index
    coded = {name: file.codes(name) for name in variables}
    columns: dict[str, np.ndarray] = {}
    multi = np.full((len(file), 2), np.inf)
    for name in variables:
        measures = diversity_of(table, coded[name], missing, missing_sensitive, recursive_c, homes)
        columns[f"{name}_distinct"] = measures[:, 0].astype(np.int64)
        columns[f"{name}_entropy"] = measures[:, 1]
        columns[f"{name}_recursive"] = measures[:, 2].astype(np.int64)
        others = [coded[other] for other in variables if other != name]
        if others:
            finer = _with_columns(table, others)
            measures = diversity_of(
                finer, coded[name], missing, missing_sensitive, recursive_c, homes
            )
        multi = np.minimum(multi, measures[:, 1:])
    least = np.full((len(table.codes), 2), np.inf)
    np.minimum.at(least, table.cell, multi)
    columns["multi_entropy"] = least[table.cell, 0]
    columns["multi_recursive"] = least[table.cell, 1].astype(np.int64)
    return LDiversity(
        per_record=pd.DataFrame(columns),
        keys=file.roles.keys,
        sensitive=variables,
        recursive_c=float(recursive_c),
        missing=missing,
        missing_sensitive=missing_sensitive,
        notes=(*category_notes(file.frame, variables), *household_note(homes)),
    )


def diversity_of(
    table: KeyTable,
    coded: tuple[np.ndarray, tuple[Any, ...]],
    missing: str,
    missing_sensitive: str,
    recursive_c: float,
    homes: np.ndarray | None = None,
) -> np.ndarray:
    """Distinct, entropy and recursive l of each record's group, float64, shape (n, 3).

    homes: household of each record, int64, shape (n,): a household counts once, and no group has
        more distinct values than households
    """
    from riskeval.kernels.diversity import group_diversity

    codes, levels = coded
    gap = len(levels) if missing_sensitive == "category" else -1
    values = np.where(codes == MISSING, gap, codes).astype(np.int64)
    values = once_a_household(table, values, homes)
    n_values = len(levels) + 1

    def measure(segments: Segments) -> np.ndarray:
        diversity = np.empty((len(segments.cells), 3))
        group_diversity(*segments.arrays, n_values, gap, float(recursive_c), diversity)
        return diversity

    diversity = per_cell(table, values, n_values, missing, measure, 3)
    if homes is not None:
        diversity[:, 0] = np.minimum(diversity[:, 0], households_of_cells(table, homes, missing))
    return diversity[table.cell]


def _with_columns(
    table: KeyTable, others: Sequence[tuple[np.ndarray, tuple[Any, ...]]]
) -> KeyTable:
    """The table with more columns, in which a missing value is a level and matches only itself."""
    extra = [np.where(codes == MISSING, len(levels), codes) for codes, levels in others]
    sizes = [len(levels) + 1 for _, levels in others]
    cell, n_cells = number_rows([table.cell, *extra], [len(table.codes), *sizes])
    rows = first_rows(cell, n_cells)
    codes = np.column_stack([table.codes[table.cell[rows]], *(column[rows] for column in extra)])
    counts = np.bincount(cell, minlength=n_cells).astype(np.float64)
    return KeyTable(
        names=(*table.names, *(f"other {j}" for j in range(len(extra)))),
        levels=(*table.levels, *(tuple(range(size)) for size in sizes)),
        codes=codes.astype(np.int32),
        cell=cell,
        counts=counts,
        weights=counts,
    )


NOT_DIVERSE = person_risk(
    "l_diversity", "Records that violate l-diversity", "records",
    "records in groups with the same key in which the sensitive values are too much alike",
    "Machanavajjhala et al. 2007",
)  # fmt: skip
SMALLEST_L = person_risk(
    "smallest_l", "Smallest distinct l", "value", "different values in the least diverse group",
    "Machanavajjhala et al. 2007", better="high", single=True,
)  # fmt: skip


def of_diversity(result: LDiversity, request: AssessRequest) -> list[Measurement]:
    """Records below l, and the smallest l, of each sensitive variable."""
    least = request.limits.l or 2
    note = missing_note(request, result.missing)
    measured = []
    for name in result.sensitive:
        values = result.per_record[f"{name}_distinct"]
        measured.append(
            request.measured(
                NOT_DIVERSE,
                result.violations(least)[name],
                target=name,
                limit=None if request.limits.l is None else 0.0,
                limit_source=message(
                    "l = {least}; 2 is the least that protects (Machanavajjhala et al. 2007)",
                    least=formatted(least, "g"),
                ),
                note=message("fewer than {n} values", n=formatted(least, "g")),
            ).noted(note)
        )
        smallest = float(values.min()) if len(values) else 0.0
        measured.append(request.measured(SMALLEST_L, smallest, target=name))
    return [one.noted(*result.notes) for one in measured]


MEASURE = Measure(
    name="l_diversity",
    rank=100,
    title="l-diversity",
    question="Does the key alone disclose a sensitive value?",
    blind_spots=(
        "values that differ and mean the same (two kinds of cancer); values that are likely "
        "and not certain"
    ),
    source="Machanavajjhala et al. 2007",
    function=l_diversity,
    run=run_on("l_diversity", l_diversity),
    measurements=of_diversity,
    needs=("sensitive",),
    options=("recursive_c", "missing", "missing_sensitive"),
    infos=(NOT_DIVERSE, SMALLEST_L),
)
