"""l-diversity: how many sensitive values a group of records with the same key has.

Also the groups themselves (`sensitive_groups`), which the closeness measures share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import matching_patterns, shared_ids, shares_of
from riskeval.keys.table import KeyTable, number_rows, read_keys, tabulate
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.codes import MISSING, encode
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.text import count as count_text
from synthpop.microdata.text import percent

MISSING_SENSITIVE = ("category", "ignore")
KINDS = ("distinct", "entropy", "recursive")
MOST_CODES = 20
"""Distinct numbers up to which a numeric column may well hold codes of categories."""


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Sensitive values of some groups, in stretches that `riskeval.kernels.diversity` merges.

    Attributes
    ----------
    cells : int64 array, shape (T,)
        Distinct keys that the groups belong to.
    first : int64 array, shape (T + 1,)
    begin, end : int64 arrays, shape (S,)
    factor : float64 array, shape (S,)
    value : int64 array, shape (E,)
    count : float64 array, shape (E,)
    """

    cells: np.ndarray
    first: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    factor: np.ndarray
    value: np.ndarray
    count: np.ndarray

    @property
    def arrays(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Arguments of the kernels, in their order."""
        return self.first, self.begin, self.end, self.factor, self.value, self.count


def sensitive_groups(
    table: KeyTable, values: np.ndarray, n_values: int, missing: str
) -> Iterator[Segments]:
    """Groups of records that match each distinct key, by pattern of missing keys.

    Parameters
    ----------
    table : KeyTable, n records in K distinct keys
    values : integer array, shape (n,)
        Sensitive value of each record, 0 ... n_values - 1; -1 is left out.
    n_values : int
    missing : str
        Treatment of missing keys. Whatever it is, records that have no known key in common (a
        record whose keys are all missing, for instance) do not make each other's group diverse.
    """
    rows = np.flatnonzero(values >= 0)
    pair, n_pairs = number_rows([table.cell[rows], values[rows]], [len(table.codes), n_values])
    row_of_pair = np.zeros(n_pairs, dtype=np.int64)
    row_of_pair[pair] = rows
    of_pair = table.cell[row_of_pair].astype(np.int64)
    value = values[row_of_pair].astype(np.int64)
    count = np.bincount(pair, minlength=n_pairs).astype(np.float64)
    treatment = missing if (table.codes < 0).any() else "own-category"
    if treatment == "own-category":
        bounds = np.searchsorted(of_pair, np.arange(len(table.codes) + 1))
        cells = np.arange(len(table.codes))
        yield Segments(
            cells,
            np.arange(len(cells) + 1),
            bounds[:-1],
            bounds[1:],
            np.ones(len(cells)),
            value,
            count,
        )
        return
    starts = np.searchsorted(of_pair, np.arange(len(table.codes) + 1))
    shares = shares_of(table) if treatment == "category-size" else None
    for targets, matches in matching_patterns(table, treatment):
        blank = bool((table.codes[targets[0]] < 0).all())
        meetings = [item for item in matches if blank or len(item[0])]
        yield _merged(table, targets, meetings, starts, value, count, n_values, shares)


def _merged(
    table: KeyTable,
    targets: np.ndarray,
    meetings: list[tuple[np.ndarray, np.ndarray]],
    starts: np.ndarray,
    value: np.ndarray,
    count: np.ndarray,
    n_values: int,
    shares: list[np.ndarray] | None,
) -> Segments:
    begins, ends, factors, all_values, all_counts = [], [], [], [], []
    offset = 0
    for shared, sources in meetings:
        ids, n_ids = shared_ids(table, shared, targets, sources)
        entries = _entries(starts, sources)
        group = np.repeat(ids[len(targets) :], starts[sources + 1] - starts[sources])
        merged, n_merged = number_rows([group, value[entries]], [n_ids, n_values])
        at = np.zeros(n_merged, dtype=np.int64)
        at[merged] = np.arange(len(entries))
        bounds = np.searchsorted(group[at], np.arange(n_ids + 1))
        all_values.append(value[entries][at])
        all_counts.append(np.bincount(merged, weights=count[entries], minlength=n_merged))
        begins.append(bounds[ids[: len(targets)]] + offset)
        ends.append(bounds[ids[: len(targets)] + 1] + offset)
        factors.append(_factor(table, targets, shared, shares))
        offset += n_merged
    return Segments(
        cells=targets,
        first=np.arange(len(targets) + 1) * len(meetings),
        begin=np.column_stack(begins).ravel(),
        end=np.column_stack(ends).ravel(),
        factor=np.column_stack(factors).ravel(),
        value=np.concatenate(all_values),
        count=np.concatenate(all_counts),
    )


def _entries(starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Positions starts[r] ... starts[r + 1] - 1 of several rows, one after the other."""
    lengths = starts[rows + 1] - starts[rows]
    shift = np.repeat(starts[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return np.arange(int(lengths.sum())) + shift


def _factor(
    table: KeyTable, targets: np.ndarray, shared: np.ndarray, shares: list[np.ndarray] | None
) -> np.ndarray:
    factor = np.ones(len(targets))
    if shares is not None:
        for j in range(len(table.names)):
            if j not in shared:
                factor *= np.append(shares[j], 1.0)[table.codes[targets, j]]
    return factor


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
        """Smallest value over all records: one row a sensitive variable, one column a kind."""
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
        parts = []
        keys = ", ".join(self.keys)
        none = " (or none)" if self.missing_sensitive == "ignore" else ""
        for name in self.sensitive:
            same = self.violations(2)[name]
            smallest = float(self.per_record[f"{name}_distinct"].min()) if n else 0.0
            parts.append(
                f"{name}: for {count_text(same)} of {count_text(n)} records "
                f"({percent(same / max(n, 1))}) all "
                "records with "
                f"the same {keys} have the same value{none}, so the key alone "
                f"discloses it; the smallest distinct l of the file is {smallest:g}."
            )
        text = " ".join(parts) + (
            " Distinct l = 2 is the least that protects anything (Machanavajjhala et al. 2007); "
            "how much more is needed is a decision of the office."
        )
        return " ".join([text, *self.notes])


def l_diversity(
    data: Any,
    keys: Sequence[str],
    sensitive: str | Sequence[str],
    *,
    recursive_c: float = 2.0,
    missing: str = "own-category",
    missing_sensitive: str = "ignore",
) -> LDiversity:
    """Measure how diverse the sensitive values are among records that share a key.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables.
    sensitive : str or sequence of str
        Sensitive variables; every distinct value is a category.
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
    frame = as_frame(data)
    faults = Faults("l-diversity")
    names = read_keys(faults, frame, keys, missing, 1.0)
    variables = read_sensitive(faults, frame, names, sensitive)
    check_choice(faults, "missing_sensitive", missing_sensitive, MISSING_SENSITIVE)
    number = isinstance(recursive_c, (int, float)) and not isinstance(recursive_c, bool)
    if not number or not recursive_c > 0:
        faults.add("recursive_c", f"is {recursive_c!r}", remedy="Give a number above 0.")
    faults.raise_if_any()
    table = tabulate(frame, names)
    coded = {name: encode(frame[name]) for name in variables}
    columns: dict[str, np.ndarray] = {}
    multi = np.full((len(frame), 2), np.inf)
    for name in variables:
        measures = _diversity_of(table, coded[name], missing, missing_sensitive, recursive_c)
        columns[f"{name}_distinct"] = measures[:, 0].astype(np.int64)
        columns[f"{name}_entropy"] = measures[:, 1]
        columns[f"{name}_recursive"] = measures[:, 2].astype(np.int64)
        others = [coded[other] for other in variables if other != name]
        if others:
            finer = _with_columns(table, others)
            measures = _diversity_of(finer, coded[name], missing, missing_sensitive, recursive_c)
        multi = np.minimum(multi, measures[:, 1:])
    least = np.full((len(table.codes), 2), np.inf)
    np.minimum.at(least, table.cell, multi)
    columns["multi_entropy"] = least[table.cell, 0]
    columns["multi_recursive"] = least[table.cell, 1].astype(np.int64)
    return LDiversity(
        per_record=pd.DataFrame(columns),
        keys=names,
        sensitive=variables,
        recursive_c=float(recursive_c),
        missing=missing,
        missing_sensitive=missing_sensitive,
        notes=category_notes(frame, variables),
    )


def category_notes(frame: pd.DataFrame, variables: Sequence[str]) -> tuple[str, ...]:
    """Say which variables are numbers of so many values that counting them as categories misleads.

    Examples
    --------
    >>> category_notes(pd.DataFrame({"income": range(99), "sex": [1, 2, 2] * 33}),
    ...                ["income", "sex"])[0][:62]
    'income has 99 distinct numbers, each counted as a category of '
    """
    notes = []
    for name in variables:
        dtype = frame[name].dtype
        if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
            continue
        distinct = int(frame[name].nunique())
        if distinct > MOST_CODES:
            notes.append(
                f"{name} has {count_text(distinct)} distinct numbers, each counted as a "
                "category of its own: "
                "near values count as different. Group an amount into classes first "
                "(pandas.cut)."
            )
    return tuple(notes)


def read_sensitive(
    faults: Faults, frame: pd.DataFrame, keys: Sequence[str], sensitive: str | Sequence[str]
) -> tuple[str, ...]:
    """Check the sensitive variables; shared by the measures of diversity and closeness."""
    one = isinstance(sensitive, str) or not isinstance(sensitive, Iterable)
    variables: tuple[Any, ...] = (sensitive,) if one else tuple(sensitive)
    if not variables:
        faults.add("sensitive", "no variable is given", remedy="Name at least one column.")
    check_columns(faults, frame, dict.fromkeys(variables), "sensitive variable")
    if len(set(variables)) < len(variables):
        faults.add("sensitive", "a column is named twice", remedy="Name each variable once.")
    for name in sorted(set(variables) & set(keys)):
        faults.add(name, "is a key and sensitive", remedy="It can be only one of them.")
    return variables


def _diversity_of(
    table: KeyTable,
    coded: tuple[np.ndarray, tuple[Any, ...]],
    missing: str,
    missing_sensitive: str,
    recursive_c: float,
) -> np.ndarray:
    from riskeval.kernels.diversity import group_diversity

    codes, levels = coded
    gap = len(levels) if missing_sensitive == "category" else -1
    values = np.where(codes == MISSING, gap, codes).astype(np.int64)
    n_values = len(levels) + 1

    def measure(segments: Segments) -> np.ndarray:
        out = np.empty((len(segments.cells), 3))
        group_diversity(*segments.arrays, n_values, gap, float(recursive_c), out)
        return out

    return per_cell(table, values, n_values, missing, measure, 3)[table.cell]


def per_cell(
    table: KeyTable,
    values: np.ndarray,
    n_values: int,
    missing: str,
    measure: Callable[[Segments], np.ndarray],
    width: int,
) -> np.ndarray:
    """Run `measure` on all groups; its rows in the order of the table, shape (K, width)."""
    out = np.zeros((len(table.codes), width))
    if table.n_records:
        for segments in sensitive_groups(table, values, n_values, missing):
            out[segments.cells] = measure(segments).reshape(-1, width)
    return out


def _with_columns(
    table: KeyTable, others: Sequence[tuple[np.ndarray, tuple[Any, ...]]]
) -> KeyTable:
    """The table with more columns, in which a missing value is a level and matches only itself."""
    extra = [np.where(codes == MISSING, len(levels), codes) for codes, levels in others]
    sizes = [len(levels) + 1 for _, levels in others]
    cell, n_cells = number_rows([table.cell, *extra], [len(table.codes), *sizes])
    at = np.zeros(n_cells, dtype=np.int64)
    at[cell] = np.arange(len(cell))
    codes = np.column_stack([table.codes[table.cell[at]], *(column[at] for column in extra)])
    counts = np.bincount(cell, minlength=n_cells).astype(np.float64)
    return KeyTable(
        names=(*table.names, *(f"other {j}" for j in range(len(extra)))),
        levels=(*table.levels, *(tuple(range(size)) for size in sizes)),
        codes=codes.astype(np.int32),
        cell=cell,
        counts=counts,
        weights=counts,
    )
