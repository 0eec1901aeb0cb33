"""A mock file: the columns, labels and codes of a survey with values that say nothing of anybody.

It lets others write their programs before they see the data. Every column is drawn by itself,
evenly from what is known without the respondents: labels of the dictionary, ranges and shares that
the user gives, else round numbers. The four checks are those of Raab, McCall and Cavin
(arXiv 2503.14211): labelling, disclosure, structure, documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.codes import level_text
from synthpop.microdata.frame.dictionary import Dictionary, Variable, dictionary_of, with_dictionary
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import OneOf, Whole, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.profile.profile import profile_survey

FEWEST = 20  # records behind anything that is taken from the data
MOST_LEVELS = 50
MISSING_SHARE = 0.05  # of the cells of a column that can be missing, for each kind
MADE_UP = ("level 1", "level 2", "level 3")
MOST = 0.95  # of the values whose number of digits is taken
LARGEST = 2.0**53  # whole numbers beyond it are not exact
MOST_ROWS = 10_000_000
LEVELS = ("dictionary", "common")
CHECKS = ("labelling", "disclosure", "structure", "documentation")


@dataclass(frozen=True, slots=True, eq=False)
class MockFile(TableResult):
    """A mock file with what was used for it.

    Attributes
    ----------
    data : DataFrame
        With the dictionary of the survey.
    table : DataFrame
        One row a column: `column`, `values` (how they are drawn), `used` (what of the data).
    checks : DataFrame
        `check` (labelling, disclosure, structure, documentation), `passed`, `what`.
    seed : int
    rows : int
    """

    data: pd.DataFrame
    table: pd.DataFrame
    checks: pd.DataFrame
    seed: int
    rows: int

    def summary(self) -> str:
        """Say what the file is, and which checks it passes."""
        failed = self.checks.loc[~self.checks["passed"].astype(bool), "check"].tolist()
        from_data = int((self.table["used"] != "").sum())
        return message(
            "NOT REAL DATA: a mock file of {rows} and {columns}, each drawn by itself; no relation "
            "between columns is kept, no estimate from it means anything. Of {n} something was "
            "taken from the data (see the table), of the others nothing but name and type. "
            "{verdict}",
            rows=plural(self.rows, "row"),
            columns=plural(len(self.table), "column"),
            n=plural(from_data, "column"),
            verdict=message("Checks that failed: {checks}.", checks=", ".join(failed))
            if failed
            else message("The checks of labels, disclosure, structure and documentation found "
                         "nothing."),
        )  # fmt: skip


@same_library
def mock(
    data: Any,
    *,
    rows: int = 1000,
    household: str | None = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    shares: Mapping[str, Mapping[Any, float]] | None = None,
    levels: str = "dictionary",
    seed: int | None = None,
) -> MockFile:
    """Make a mock file: the same columns, labels, codes and kinds of missing, and no relations.

    Parameters
    ----------
    data : DataFrame or another table
        One row a person, with its dictionary where it has one (`read_table` of a labelled file).
    rows : int
        Persons, about: whole households.
    household : str, optional
        Column of household ids; default: what `profile_survey` takes for one.
    ranges : dict of name to (low, high), optional
        Of numbers, from the questionnaire or the dictionary.
    shares : dict of name to dict of level to share, optional
        Published margins of columns.
    levels : {"dictionary", "common"}
        Where text or codes without labels get their levels: "dictionary", from the dictionary and
        `shares` only, else made up; "common": levels that 20 records or more have, of columns with
        at most 50 of them.
    seed : int, optional

    Returns
    -------
    MockFile

    Raises
    ------
    InputError
        Lists every argument that makes no sense.

    Notes
    -----
    Of the data are used: names, order and types of columns; whether 20 rows or more are missing,
    and 5 % negative; the power of ten below which 95 % of the absolute values of a number lie,
    never the extremes; which columns are equal within households; the largest household size that
    20 households have. All in `table`. Missing codes of the dictionary are drawn for 5 % of the
    cells each. Random: every value; one stream a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"sex": ["f", "m"] * 50, "income": [1234.5, 70_411.0] * 50})
    >>> made = mock(frame, shares={"sex": {"f": 0.5, "m": 0.5}}, seed=1)
    >>> sorted(made.data["sex"].unique()), float(made.data["income"].max()) <= 100_000
    (['f', 'm'], True)
    """
    frame = as_unique_frame(data, "survey")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    known = {} if ranges is None else ranges
    margins = {} if shares is None else shares
    _check(frame, rows, household, known, margins, levels)
    seed = resolve_seed(seed)
    roles = dict(profile_survey(frame).roles)
    if household is not None:
        roles["household"] = household
    maker = _Maker(frame, dictionary_of(frame), roles, known, margins, levels)
    made, table = maker.made(rows, Streams(seed))
    if len(maker.dictionary):
        made = with_dictionary(made, maker.dictionary)
    return MockFile(made, table, _checks(frame, made, table, maker), seed, len(made))


def _numbers(given: Any) -> np.ndarray:
    """Return a list of numbers as an array; an empty one where they are none."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        return np.empty(0)
    try:
        return np.asarray(given, dtype=float).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)


def _check(
    frame: pd.DataFrame, rows: Any, household: Any, ranges: Any, shares: Any, levels: Any
) -> None:
    faults = Faults("mock")
    check(
        faults,
        {"rows": Whole(1, MOST_ROWS), "levels": OneOf(*LEVELS)},
        {"rows": rows, "levels": levels},
    )
    told = []
    for what, given in {"ranges": ranges, "shares": shares}.items():
        if not isinstance(given, Mapping):
            faults.add(what, "is not a dictionary", hint="Give column names and what is known.")
        told.append(given if isinstance(given, Mapping) else {})
    ranges, shares = told
    for name in [*ranges, *shares, *([] if household is None else [household])]:
        if not isinstance(name, str) or name not in frame:
            hint = did_you_mean(name, list(frame.columns))
            faults.add(str(name), "is not a column of the file", hint=hint)
    for name, limits in ranges.items():
        numbers = _numbers(limits)
        if len(numbers) != 2 or not (abs(numbers) < LARGEST).all() or numbers[0] > numbers[1]:
            faults.add(f"ranges of {name}", f"is {limits!r}", hint="Give (low, high).")
    for name, parts in shares.items():
        values = _numbers(list(parts.values())) if isinstance(parts, Mapping) else np.empty(0)
        if not len(values) or not (values >= 0).all() or not 0 < values.sum() < np.inf:
            faults.add(f"shares of {name}", f"is {parts!r}", hint="Give shares above zero.")
    faults.raise_if_any()


@dataclass(frozen=True, slots=True)
class _Maker:
    frame: pd.DataFrame
    dictionary: Dictionary
    roles: Mapping[str, str]
    ranges: Mapping[str, Sequence[float]]
    shares: Mapping[str, Mapping[Any, float]]
    levels: str

    def made(self, rows: int, streams: Streams) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the file and what was used for each column."""
        home = self.roles.get("household")
        largest = self._largest_size(home)
        rng = streams.at("mock", "household sizes")
        sizes = rng.integers(1, largest + 1, rows)
        sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), rows)) + 1]
        unit = np.repeat(np.arange(len(sizes)), sizes)
        position = np.arange(len(unit)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns, table = {}, []
        for name in self.frame.columns:
            rng = streams.at("mock", "column", name)
            if name == home:
                values, how = self._ids(name, unit + 1), message("numbered households")
                used = message("sizes 1 to {n}, which 20 households have", n=largest)
            elif name == self.roles.get("household_size"):
                values, how, used = self._typed(name, sizes[unit]), message("counted"), ""
            elif name == self.roles.get("person"):
                values, how, used = self._ids(name, position + 1), message("numbered"), ""
            else:
                shared = home is not None and self._is_shared(name, home)
                n = len(sizes) if shared else len(unit)
                values, how, used = self._drawn(name, n, rng)
                if shared:
                    values = values.iloc[unit].reset_index(drop=True)
                    used = "; ".join(filter(None, [used, message("equal within households")]))
            columns[name] = values
            table.append((name, how, used))
        made = pd.DataFrame(columns)
        return made, pd.DataFrame(table, columns=["column", "values", "used"]).astype(object)

    def _largest_size(self, home: str | None) -> int:
        if home is None:
            return 1
        households = np.bincount(self.frame[home].value_counts().to_numpy())
        return int(np.flatnonzero(households >= FEWEST).max(initial=1))

    def _is_shared(self, name: str, home: str) -> bool:
        counts = self.frame.groupby(home, observed=True)[name].nunique(dropna=False)
        return bool((counts <= 1).all())

    def _drawn(self, name: str, n: int, rng: np.random.Generator) -> tuple[pd.Series, Any, Any]:
        """Return values of a column, how they were drawn, and what of the data was used."""
        series = self.frame[name]
        variable = self.dictionary[name] if name in self.dictionary else Variable(name)
        values, how, used = self._values(name, series, variable, n, rng)
        kinds: list[Any] = [code for code, _ in variable.missing]
        labels: list[str | None] = [variable.label_of(code) or str(code) for code in kinds]
        if int(series.isna().sum()) >= FEWEST:
            used = "; ".join(filter(None, [used, message("has missing values")]))
            kinds, labels = [*kinds, None], [*labels, None]
        numeric = is_number(series) and not isinstance(series.dtype, pd.CategoricalDtype)
        chosen = rng.random(n)
        for k, (code, label) in enumerate(zip(kinds, labels, strict=True)):
            here = (chosen >= k * MISSING_SHARE) & (chosen < (k + 1) * MISSING_SHARE)
            values = values.mask(here, np.nan if code is None else code if numeric else label)
        return self._typed(name, values), how, used

    def _values(
        self, name: str, series: pd.Series, variable: Variable, n: int, rng: np.random.Generator
    ) -> tuple[pd.Series, Any, Any]:
        if name in self.shares:
            known = self.shares[name]
            p = np.array(list(known.values()), dtype=float)
            return _chosen(list(known), n, rng, p / p.sum()), message("by the shares given"), ""
        missing = {code for code, _ in variable.missing}
        labels = [label for code, label in variable.values if code not in missing]
        as_labels = isinstance(series.dtype, pd.CategoricalDtype) or not is_number(series)
        if labels and as_labels:
            return _chosen(labels, n, rng), message("labels of the dictionary, evenly"), ""
        if labels:
            codes = [code for code, _ in variable.values if code not in missing]
            return _chosen(codes, n, rng), message("codes of the dictionary, evenly"), ""
        if name in self.ranges:
            low, high = self.ranges[name]
            return self._numbers(series, low, high, n, rng), message("in the range given"), ""
        if pd.api.types.is_bool_dtype(series.dtype):
            return _chosen([True, False], n, rng), message("yes or no, evenly"), ""
        if self.levels == "common":
            counts = series.value_counts()
            common = [level for level, k in counts.items() if k >= FEWEST]
            if common and len(counts) <= MOST_LEVELS:
                used = message("{n} that 20 records have", n=plural(len(common), "level"))
                return _chosen(common, n, rng), message("common levels, evenly"), used
        if is_number(series):
            top, sign = _round_range(as_numbers(series))
            used = message("{share} of the values lie below {top}", share="95 %", top=count(top))
            values = self._numbers(series, -top if sign else 0, top, n, rng)
            return values, message("0 to a power of ten, evenly"), used
        if pd.api.types.is_datetime64_any_dtype(series.dtype):
            days = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), "D")
            return pd.Series(days), message("days from 2000 on"), ""
        return _chosen(list(MADE_UP), n, rng), message("made-up levels"), ""

    def _numbers(
        self, series: pd.Series, low: float, high: float, n: int, rng: np.random.Generator
    ) -> pd.Series:
        whole = pd.api.types.is_integer_dtype(series.dtype) or _are_whole(as_numbers(series))
        if whole and max(abs(low), abs(high)) < LARGEST:
            return pd.Series(rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, n))
        return pd.Series(np.round(rng.uniform(low, high, n), 2))

    def _ids(self, name: str, numbers: np.ndarray) -> pd.Series:
        if is_number(self.frame[name]):
            return self._typed(name, numbers)
        return pd.Series([f"{number:06d}" for number in numbers], dtype=object)

    def _typed(self, name: str, values: Any) -> pd.Series:
        """Return values with the type of the column, where they fit it."""
        values, dtype = pd.Series(values), self.frame[name].dtype
        if isinstance(dtype, pd.CategoricalDtype):
            known = self.dictionary[name].values if name in self.dictionary else ()
            order = [label for _, label in known]
            found = [level for level in dict.fromkeys(values.dropna()) if level not in order]
            return pd.Series(pd.Categorical(values, list(dict.fromkeys([*order, *found])),
                                            ordered=bool(dtype.ordered)))  # fmt: skip
        try:
            return values.astype(dtype)
        except (TypeError, ValueError):
            return values


def _chosen(levels: list[Any], n: int, rng: np.random.Generator, p: Any = None) -> pd.Series:
    picked = rng.choice(len(levels), n, p=p)
    return pd.Series([levels[k] for k in picked], dtype=object).infer_objects()


def _are_whole(numbers: np.ndarray) -> bool:
    known = numbers[np.isfinite(numbers)]
    return bool(len(known)) and bool((known == np.rint(known)).all())


def _round_range(numbers: np.ndarray) -> tuple[float, bool]:
    """Return the power of ten that most absolute values lie below; whether some are negative."""
    known = np.abs(numbers[np.isfinite(numbers)])
    if len(known) < FEWEST:
        return 100.0, False
    level = float(np.quantile(known, MOST, method="higher"))
    top = 10.0 ** max(0, int(np.ceil(np.log10(level)))) if level > 0 else 1.0
    return top, int((numbers < 0).sum()) >= max(FEWEST, (1 - MOST) * len(known))


def _checks(
    frame: pd.DataFrame, made: pd.DataFrame, table: pd.DataFrame, maker: _Maker
) -> pd.DataFrame:
    """Return the four checks of the file that was made, beside the data that it stands for."""
    rows: list[tuple[str, bool, Any]] = [
        ("labelling", True, message(
            "The page and the name of the written file say that it is not real data; its columns "
            "do not, so that programs run on both.")),
    ]  # fmt: skip
    ids = [maker.roles[r] for r in ("household", "person") if r in maker.roles]
    names = [name for name in frame.columns if name not in ids]
    texts = [
        {tuple(row) for row in one[names].astype(object).map(level_text).to_numpy().tolist()}
        for one in (frame, made)
    ]
    equal = len(texts[0] & texts[1])
    shown = [name for name in names if _shows_an_extreme(frame[name], made[name], maker, name)]
    what = message("{n} of the file equal a row of the data (ids aside)", n=plural(equal, "row"))
    if shown:
        what = message("{what}; extremes of the data occur in: {names}", what=what,
                       names=", ".join(shown))  # fmt: skip
    few = len(names) <= 3 or equal == 0  # rows of few columns agree by chance
    rows.append(("disclosure", few and not shown, what))
    unlike = [n for n in frame.columns if str(frame[n].dtype) != str(made[n].dtype)]
    same = list(frame.columns) == list(made.columns)
    what = message("{n} in the order of the file", n=plural(made.shape[1], "column"))
    if unlike:
        what = message("{what}; other types: {names}", what=what, names=", ".join(unlike))
    rows.append(("structure", same and not unlike, what))
    documented = set(table["column"]) == set(made.columns) and bool((table["values"] != "").all())
    what = message("The page says of every column how it was drawn and what of the data was used.")
    rows.append(("documentation", documented, what))
    return pd.DataFrame(rows, columns=["check", "passed", "what"]).astype({"what": object})


def _shows_an_extreme(real: pd.Series, drawn: pd.Series, maker: _Maker, name: str) -> bool:
    """Whether the largest value of the file is that of few records, and no round number."""
    if not is_number(real) or not is_number(drawn) or name in maker.ranges:
        return False
    known, others = (x[np.isfinite(x)] for x in (as_numbers(real), as_numbers(drawn)))
    if not len(known) or not len(others) or known.max() != others.max():
        return False
    top = float(known.max())
    is_round = top <= 1 or np.log10(top) == np.rint(np.log10(top))
    return int((known == top).sum()) < FEWEST and not is_round
