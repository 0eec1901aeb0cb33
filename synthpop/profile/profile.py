"""Read a survey: what each column is, how it follows from others, and what to simulate it from."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.frames import has_time_of_day, is_date
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError, did_you_mean
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import number
from synthpop.microdata.reading.households import relation_column
from synthpop.microdata.reading.kinds import are_whole
from synthpop.microdata.reading.lexicon import ROLES
from synthpop.microdata.reading.partitions import mapping_of
from synthpop.profile import ages, association, dependence
from synthpop.profile.columns import ColumnProfile, SurveyProfile
from synthpop.profile.dates import offset_of_date
from synthpop.profile.household_sums import household_sums, word
from synthpop.profile.reader import MOST_LEVELS, SurveyReader, joined_notes

SMALL_STRATUM = 30
MOST_PREDICTORS = 10
MOST_SPLIT_BY = 2
MOST_WITHIN_GROUPS = 3  # predictors of codes within their groups
ENOUGH_FOR_TWO = 2_000
MOST_KINDS = 1_000_000  # combinations of what is copied with a household
NUMBER_CLASSES = 21  # of a number in the structure, missing ones among them


@same_library
def profile_survey(data: Any, *, known: Mapping[str, str | None] | None = None) -> SurveyProfile:
    """Recognise the columns of a survey.

    Parameters
    ----------
    data : DataFrame or another table
        One row per person.
    known : dict, optional
        Role, "age" or "sex" -> its column, or None where the survey has none: what would be a
        question (`SurveyProfile.questions`) otherwise. With ``{"weight": None}`` every row counts
        1, and columns named like weights are numbers like others.

    Returns
    -------
    SurveyProfile

    Raises
    ------
    InputError
        The table has no rows, or a column that is known is not there.

    Notes
    -----
    Roles, age, sex and relation are recognised by their values, labels and names
    (`synthpop.microdata.reading`). Everything else comes from the
    values: constants; ids (unique, or one to one with the household); further weights; copies (one
    to one with another column, or linear in it); classes and functions of others; variables that
    are constant within households; totals that other columns add up to; whole numbers with at most
    30 values, which become categories. No randomness.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"hid": [1, 1, 2, 2], "weight": 2.0, "sex": list("fmfm"), "c": 1})
    >>> profile_survey(frame).to_frame()["use"].tolist()
    ['role: household', 'role: weight', 'structure', 'derive']
    """
    frame = as_unique_frame(data, "survey")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if frame.empty:
        raise InputError.of(
            "survey", "rows", "there are none", "Give a file with one row per person."
        )
    _check_known(known or {}, list(frame.columns))
    return _Profiler(frame, known).profile()


def _check_known(known: Mapping[str, str | None], columns: list[str]) -> None:
    """Refuse roles and columns that there are not."""
    faults = Faults("survey")
    roles = [*ROLES, "age", "sex"]
    for role, name in known.items():
        if role not in roles:
            faults.add(f"known.{role}", "is no role", hint=did_you_mean(role, roles))
        elif name is not None and name not in columns:
            what = message("{name} is not a column", name=repr(name))
            faults.add(f"known.{role}", what, hint=did_you_mean(name, columns))
    faults.raise_if_any()


class _Profiler(SurveyReader):
    """What columns are beside each other: copies, functions, totals, households, predictors."""

    def profile(self) -> SurveyProfile:
        """Return what was recognised."""
        columns = {name: self._plain(name) for name in self.frame.columns}
        self.age, self.sex = (
            None if name is None or columns[name].use != "structure" else name
            for name in (self.age, self.sex)
        )
        self._mark_copies(columns)
        self._mark_aggregates(columns)
        self._mark_functions(columns)
        self._mark_household(columns)
        totals = self._totals(columns)
        self._leave_out_orphans(columns)
        _fill_structure(columns)
        starts = self._mark_starts(columns)
        breaks = self._breaks(starts)
        self._mark_together(columns)
        predictors = self._predictors(columns, breaks)
        return SurveyProfile(
            columns=tuple(columns.values()),
            roles=self.roles,
            age=self.age,
            sex=self.sex,
            relation=self.relation,
            survey_year=None if self.age is None else self.survey_year,
            age_breaks=breaks,
            totals=totals,
            further_totals=tuple(self.further),
            derived=self.derived,
            predictors=predictors,
            split_by={total: self._split_by(columns, parts) for total, parts in totals.items()},
            small_strata=self._small_strata(),
            questions=tuple(self.questions()),
            offsets=self._offsets(columns),
        )

    # columns that follow from others

    def _mark_copies(self, columns: dict[str, ColumnProfile]) -> None:
        keyed = [column for role, column in self.roles.items() if role != "weight"]
        first = [c for c in (*keyed, self.age, self.sex) if c is not None]
        ends = {n: (int(codes[0]), int(codes[-1])) for n, codes in self.codes.items()}
        for name, item in columns.items():
            if item.use in ("role", "left out") or name in first:
                continue
            others = [*first, *(o for o in columns if o not in first)]
            for other in others:
                if other == name:
                    break
                if columns[other].use == "left out" or ends[name] != ends[other]:
                    continue
                if dependence.is_copy(name, other, self.frame, self.codes):
                    why = message("carries the same information as {column}", column=other)
                    rule = self._rule_of_copy(name, other)
                    use = "left out" if rule is None else "derive"
                    columns[name] = replace(item, use=use, why=why, detail=other)
                    self.derived |= {} if rule is None else {name: rule}
                    break

    def _rule_of_copy(self, name: str, other: str) -> dict[str, Any] | None:
        """Return how a copy follows from the other column; None where no rule can say it."""
        known = {self.roles.get(role) for role in ("strata", "household_size")}
        if other in self.roles.values() and other not in known:
            return None
        x, y = self.numbers[other], self.numbers[name]
        if x is not None:
            if y is None and self.frame[name].notna().all():  # the text of a code
                limits = dependence.class_limits(self.frame[name], x)
                return None if limits is None else {"breaks": limits[0], "labels": limits[1]}
            text = None if y is None else dependence.linear_expression(x, y, word(other))
            return None if text is None else {"expression": text}
        pairs = self.frame[[other, name]].drop_duplicates().dropna()
        return {"mapping": dict(zip(pairs[other], pairs[name], strict=True))}

    def _leave_out_orphans(self, columns: dict[str, ColumnProfile]) -> None:
        """Leave out what follows from a column that is left out itself."""
        for _ in range(len(self.derived)):
            for name in list(self.derived):
                source = columns.get(columns[name].detail)
                if source is not None and source.use == "left out":
                    del self.derived[name]
                    columns[name] = replace(columns[name], use="left out")

    def _mark_aggregates(self, columns: dict[str, ColumnProfile]) -> None:
        """Mark numbers that are sums over the household."""
        if self.index is None:
            return
        values = {n: v for n, v in self.numbers.items() if v is not None}
        age = None if self.years is None or self.survey_year is not None else self.age
        for item, rule in household_sums(columns, values, self.index, age):
            columns[item.name] = item
            if rule is not None:
                self.derived[item.name] = {"expression": rule}

    def _mark_functions(self, columns: dict[str, ColumnProfile]) -> None:
        """Mark classes of numbers, and functions of categories."""
        coded = [n for n, item in columns.items() if item.use == "categorical"]
        gaps = {n for n in coded if self.frame[n].isna().any()}
        numbers = [
            n
            for n, item in columns.items()
            if item.use == "continuous" or n == self.age or (n in coded and self._is_number(n))
        ]
        classes = self._classes(coded, numbers)
        for name in coded:
            self._mark_classes(columns, name, classes)
        for name in [n for n in coded if columns[n].use == "derive"]:
            if columns[columns[name].detail].use in ("derive", "left out"):  # found out after it
                del self.derived[name]
                columns[name] = self._plain(name)
                self._mark_classes(columns, name, classes)
        for name in [n for n in coded if columns[n].use == "categorical"]:
            for other in coded:
                if columns[other].use != "categorical" or self.n_codes[name] >= self.n_codes[other]:
                    continue
                is_function = mapping_of(self.codes[name], self.codes[other])
                if is_function and columns[other].nested:  # the groups come first, and rows agree
                    why = message("{n} codes, drawn within {column}", column=name,
                                  n=number(int(self.frame[other].nunique())))  # fmt: skip
                    columns[other] = replace(columns[other], why=why, within=name)
                    continue
                if self._is_number(other) or name in gaps or other in gaps:
                    continue
                if is_function:
                    pairs = self.frame[[other, name]].drop_duplicates()
                    self.derived[name] = {
                        "mapping": dict(zip(pairs[other], pairs[name], strict=True))
                    }
                    why = message("a function of {column}", column=other)
                    columns[name] = replace(columns[name], use="derive", why=why, detail=other)
                    break

    def _classes(self, coded: Sequence[str], numbers: Sequence[str]) -> dict[str, list[str]]:
        """Return, of each category, the numbers of which it may be classes."""
        if not coded:
            return {}
        missing = self.frame[list(coded)].isna().to_numpy()
        codes = np.where(missing, -1, np.column_stack([self.codes[name] for name in coded]))
        found: dict[str, list[str]] = {name: [] for name in coded}
        for other in numbers:
            values = self.numbers[other]
            fewer = np.array([self.n_codes[name] < self.n_codes[other] for name in coded])
            if values is None or not fewer.any():
                continue
            order = np.argsort(values, kind="stable")
            is_class = dependence.may_be_classes(codes, order, fewer)
            for name in itertools.compress(coded, is_class):
                found[name].append(other)
        return found

    def _mark_classes(
        self, columns: dict[str, ColumnProfile], name: str, classes: Mapping[str, Sequence[str]]
    ) -> None:
        """Mark a category that is classes of a number."""
        for other in classes[name]:
            values = self.numbers[other]
            if values is None or columns[other].use in ("derive", "left out"):
                continue
            limits = dependence.class_limits(self.frame[name], values)
            if limits is None:
                continue
            use, why = "derive", message("classes of {column}", column=other)
            if not np.array_equal(self.frame[name].isna().to_numpy(), np.isnan(values)):
                use, why = (
                    message("left out"),
                    message("{why}, missing for some persons who have one", why=why),
                )
            else:
                self.derived[name] = {"breaks": limits[0], "labels": limits[1]}
            columns[name] = replace(columns[name], use=use, why=why, detail=other)
            return

    def _is_number(self, name: str) -> bool:
        return self.numbers[name] is not None

    def _mark_household(self, columns: dict[str, ColumnProfile]) -> None:
        if self.index is None:
            return
        coded = [n for n, item in columns.items() if item.use == "categorical"]
        self.relation = relation_column(self.frame, coded, self.index)
        if self.relation is not None:
            why = message("one level occurs once in each household: a relation")
            columns[self.relation] = replace(columns[self.relation], use="structure", why=why)
        n_kinds = 1
        for name in (n for n, item in columns.items() if item.use == "structure"):
            n_kinds *= self._n_classes(name)
        for name, item in columns.items():
            if item.use not in ("categorical", "continuous"):
                continue
            if self.index.constant(self.codes[name]):
                use, with_it = item.use, n_kinds * self._n_classes(name)
                if int(self.frame[name].nunique()) <= MOST_LEVELS and with_it <= MOST_KINDS:
                    use, n_kinds = "structure", with_it
                why = message("one value in each household, {why}", why=item.why)
                columns[name] = replace(item, use=use, why=why, together="shared")

    def _n_classes(self, name: str) -> int:
        """Return in how many classes the structure tells the values of a column."""
        n_codes = int(self.codes[name].max()) + 1
        return n_codes if self.numbers[name] is None else min(n_codes, NUMBER_CLASSES)

    def _totals(self, columns: dict[str, ColumnProfile]) -> dict[str, tuple[str, ...]]:
        """Find totals, small ones first; a part belongs to one total."""
        totals: dict[str, tuple[str, ...]] = {}
        values = {n: v for n, v in self.numbers.items() if v is not None}
        numeric = [
            n
            for n, item in columns.items()
            if n in values and n != self.age and item.use in ("continuous", "categorical")
        ]
        for shared in (None, "shared"):
            names = [n for n in numeric if columns[n].together == shared]
            size = {n: float(np.nansum(np.abs(values[n]) * self.weights)) for n in names}
            part_names: set[str] = set()
            for total in sorted(names, key=lambda n: (size[n], names.index(n))):
                smaller = [
                    n for n in names if n != total and n not in part_names and n not in totals
                ]
                inner = [n for n in totals if n in names]
                candidates = [n for n in [*smaller, *inner] if size[n] <= size[total] * (1 + 1e-9)]
                parts = dependence.parts_of_total(total, candidates, values)
                if not parts or columns[total].use != "continuous":
                    continue
                totals[total] = parts
                while parts:  # a total may be divided in more than one way
                    part_names |= set(parts)
                    for part in parts:
                        self._mark_part(columns, part, total, shared)
                    candidates = [n for n in candidates if n not in part_names]
                    parts = dependence.parts_of_total(total, candidates, values)
                    self.further += [(total, parts)] if parts and shared is None else []
        return {t: p for t, p in totals.items() if columns[t].together is None}

    @staticmethod
    def _mark_part(
        columns: dict[str, ColumnProfile], part: str, total: str, shared: str | None
    ) -> None:
        use, why = "components", message("a part of {total}", total=total)
        if shared is not None:
            use = message("left out")
            why += ", " + message(
                "which members of a household share: only person-level totals can be split"
            )
        note = columns[part].note
        note = joined_notes(*(text for text in note.split("; ") if not text.startswith("rare")))
        columns[part] = replace(columns[part], use=use, why=why, detail=total, note=note)

    # ages

    def _mark_starts(self, columns: dict[str, ColumnProfile]) -> list[float]:
        """Mark the age at which variables begin; return all starts, of levels too."""
        age = self.years
        if age is None:
            return []
        starts: dict[float, int] = {}
        for name, item in columns.items():
            if item.use not in ("categorical", "continuous"):
                continue
            values, codes = self.numbers[name], self.codes[name]
            special = self.frame[name].isna().to_numpy()
            if item.use == "continuous" and values is not None:
                special = special | (values == 0)
            else:
                base = ages.level_of_children(codes, age)
                special = special | (codes == base) if base is not None else special
                self._add_level_starts(starts, codes, special, age)
            start = ages.first_age(age, special)
            if start is not None:
                columns[name] = replace(item, first_age=start, note=joined_notes(
                    item.note, message("begins at age {n}", n=number(start))))  # fmt: skip
                starts[start] = starts.get(start, 0) + 100
        ranked = sorted(starts, key=lambda a: (-starts[a], a))
        return sorted(ranked[: ages.MOST_STARTS])

    @staticmethod
    def _add_level_starts(
        starts: dict[float, int], codes: np.ndarray, special: np.ndarray, age: np.ndarray
    ) -> None:
        for code in np.unique(codes[~special]):
            start = ages.first_age(age, codes != code)
            if start is not None and start >= 10:
                starts[start] = starts.get(start, 0) + 1

    def _breaks(self, starts: list[float]) -> tuple[float, ...]:
        age = self.years
        if age is None or not np.isfinite(age).all() or not are_whole(age):
            return ()
        limits = ages.age_breaks(age, starts)
        if self.survey_year is None:
            return limits
        return tuple(self.survey_year - limit - 1 for limit in reversed(limits))

    # households and predictors

    def _mark_together(self, columns: dict[str, ColumnProfile]) -> None:
        """Mark variables that go together in a household beyond what age and sex explain."""
        if self.index is None or not (self.index.sizes > 1).any():
            return
        pairs = self.index.pairs()
        cells = self._cells()
        for name, item in columns.items():
            if item.together is not None or item.nested:
                continue
            values, codes = self.numbers[name], self.codes[name]
            agree = False
            if item.use == "categorical":
                agree = association.members_depend(codes, cells, pairs, int(codes.max()) + 1)
            elif item.use == "continuous" and values is not None:
                agree = association.members_correlate(values, cells, pairs)
                agree = agree or self.index.missing_together(np.isnan(values))
            if agree:
                columns[name] = replace(item, together="first")

    def _cells(self) -> np.ndarray:
        """Return the cell of age and sex of each person."""
        cells = np.zeros(len(self.frame), dtype=np.int64)
        if self.sex is not None:
            cells = self.codes[self.sex]
        if self.age is not None:
            age = self.years
            codes = self.codes[self.age] if age is None else np.digitize(age, np.arange(5, 90, 5))
            cells = cells * (int(codes.max()) + 1) + codes
        return np.unique(cells, return_inverse=True)[1]

    def _predictors(
        self, columns: dict[str, ColumnProfile], breaks: tuple[float, ...]
    ) -> dict[str, tuple[str, ...]]:
        """Return for each variable the earlier ones that tell most of it."""
        order = simulation_order(list(columns.values()))
        coded = {name: self._coded(name, columns[name]) for name in order}
        basic = (self.age, self.sex, self.relation)
        shared = [n for n, item in columns.items() if item.use == "structure" and n not in basic]
        earlier = association.CodedColumns(self.weights)
        for name in shared:
            earlier.add(name, self.codes[name])
        predictors = {}
        codes: list[str] = []  # that are told too finely to predict anything but other codes
        for name in order:
            chosen = earlier.most_informative(coded[name], MOST_PREDICTORS)
            if columns[name].within:
                near = [c for c in chosen if c != columns[name].within]
                predictors[name] = tuple(near[:MOST_WITHIN_GROUPS])
            elif columns[name].nested:
                alike = [other for other in codes if self._are_asked_together(name, other)]
                predictors[name] = (*chosen, *alike[-1:])
                codes.append(name)
            else:
                predictors[name] = tuple(chosen)
                earlier.add(name, coded[name])
        return predictors

    def _offsets(self, columns: dict[str, ColumnProfile]) -> dict[str, str]:
        """Return what each date lies near; see `dates.offset_of_date`."""
        age = self.years if self.survey_year is None else None
        earlier: dict[str, np.ndarray] = {}
        found: dict[str, str] = {}
        for name in simulation_order(list(columns.values())):
            values = self.numbers[name]
            if values is None or not is_date(self.frame[name]):
                continue
            if not has_time_of_day(self.frame[name]):
                offset = offset_of_date(values, earlier, age, word(str(self.age)))
                found |= {} if offset is None else {name: offset}
                earlier[name] = values
        return found

    def _are_asked_together(self, name: str, other: str) -> bool:
        """Whether two columns are missing for the same persons, or of households alike."""
        missing = self.frame[name].isna()
        same = bool((missing == self.frame[other].isna()).all())
        return same and (bool(missing.any()) or self.shared(name) == self.shared(other))

    def _coded(self, name: str, item: ColumnProfile) -> np.ndarray:
        values = self.numbers[name]
        if item.use == "continuous" and values is not None:
            return association.classes_of_number(values)
        return self.codes[name]

    def _split_by(
        self, columns: dict[str, ColumnProfile], parts: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the categories that tell most of which part is the largest."""
        values = [v for part in parts if (v := self.numbers[part]) is not None]
        absolute = np.abs(np.nan_to_num(np.column_stack(values)))
        largest = np.where(absolute.sum(axis=1) > 0, absolute.argmax(axis=1) + 1, 0)
        items = columns.items()
        coded = [n for n, item in items if item.use == "categorical" and not item.nested]
        explained = {
            n: association.information(largest, self.codes[n], self.weights) for n in coded
        }
        ranked = sorted((n for n in explained if explained[n] > 0), key=lambda n: -explained[n])
        most = MOST_SPLIT_BY if len(self.frame) >= ENOUGH_FOR_TWO else 1
        return tuple(ranked[:most])

    def _small_strata(self) -> dict[str, int]:
        column = self.roles.get("strata")
        if column is None:
            return {}
        counts = self.frame[column].value_counts()
        return {str(k): int(n) for k, n in counts.items() if 0 < n < SMALL_STRATUM}


def _fill_structure(columns: dict[str, ColumnProfile]) -> None:
    """Let the first category stand in the structure where neither age nor sex is known."""
    if any(item.use == "structure" for item in columns.values()):
        return
    coded = [item for item in columns.values() if item.use == "categorical"]
    for item in sorted(coded, key=lambda item: item.nested)[:1]:
        why = message("neither age nor sex was recognised")
        columns[item.name] = replace(item, use="structure", why=why)


def simulation_order(columns: list[ColumnProfile]) -> list[str]:
    """Return the variables in the order of their simulation.

    Variables of households first, then categories that members share, other categories, and
    numbers; each in the order of the file, codes after the groups within which they are drawn.
    """

    def rank(item: ColumnProfile) -> int:
        if item.together == "shared":
            return 0
        return (1 if item.together else 2) if item.use == "categorical" else 3

    simulated = [item for item in columns if item.use in ("categorical", "continuous")]
    order = [item.name for item in sorted(simulated, key=rank)]
    for item in simulated:  # codes come right after their groups, where these come later
        if item.within in order and order.index(item.within) > order.index(item.name):
            order.remove(item.name)
            order.insert(order.index(item.within) + 1, item.name)
    return order
