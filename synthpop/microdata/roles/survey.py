"""A survey sample: a frame and the roles of its columns, checked once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import check_weights
from synthpop.microdata.frame.dataset import with_storable_levels
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.roles.microdata import NOT_ASKED, SEVERAL, Microdata, Roles, some_names
from synthpop.microdata.statistics.design_variance import SampledUnits, sampled_units

MEAN_OF_MEMBERS = "mean of members"
"""In place of a column of household weights: the mean of the members' weights."""


@dataclass(frozen=True, slots=True)
class SurveyRoles(Roles):
    """The roles of a survey, which has a weight."""

    weight: str = ""


class Survey(Microdata):
    """A survey sample of persons, in households or not, with weights: a kind of `Microdata`.

    Parameters
    ----------
    data : DataFrame, Arrow table or Population, one row per person
        See `Population.survey` for one with the roles that it has.
    weight : str or None
        Column of person weights: positive, finite, never missing. None, to be said explicitly:
        every row counts 1, as in a population or in a sample where all weights are equal. The
        frame of the survey gets a column of ones then, named ``weight`` (or ``weight_1`` ... where
        there is such a column).
    household : str, optional
        Column of household ids; without it every person stands alone.
    household_weight : str, optional
        Column of household weights, equal for all members; or "mean of members", which adds a
        column of the mean person weight of each household. Default: the person weight, where it is
        equal for all members.
    household_size : str, optional
        Column of household sizes; must agree with the rows. Default: counted.
    person : str, optional
        Column of person ids, unique in the file or within the household.
    strata : str, optional
        Column of strata (regions), the same for all members of a household.
    psu : str, optional
        Column of primary sampling units, for variance estimation and the folds of all
        cross-validations. Default: households, or persons where there are none.
    design_strata : str, optional
        Column of the strata in which the sample was drawn, for variance estimation; equal for all
        rows of a primary sampling unit. Default: `strata`.
    fpc : str, optional
        Column of the finite population correction: the sampling fraction of the design stratum
        (up to 1), or the number of primary sampling units that it has in the population.

    Raises
    ------
    InputError
        Lists every fault: absent columns, faulty weights, households that lie in two strata,
        household weights or sizes that differ between members, duplicated persons.

    Notes
    -----
    The data are not changed; values of other columns may be missing.

    Examples
    --------
    >>> survey = Survey(
    ...     pd.DataFrame({"hid": [1, 1, 2], "w": [10.0, 10.0, 25.0], "age": [40, 9, 71]}),
    ...     weight="w",
    ...     household="hid",
    ... )
    >>> survey.n_persons, survey.n_households, survey.household_sizes.tolist()
    (3, 2, [2, 1])
    >>> Survey(pd.DataFrame({"age": [40, 9]}), weight=None).weights.tolist()
    [1.0, 1.0]
    """

    subject: ClassVar[str] = "survey"
    roles: SurveyRoles
    weights: np.ndarray

    def __init__(
        self,
        data: Any,
        *,
        weight: str | None,
        household: str | None = None,
        household_weight: str | None = None,
        household_size: str | None = None,
        person: str | None = None,
        strata: str | None = None,
        psu: str | None = None,
        design_strata: str | None = None,
        fpc: str | None = None,
        keys: str | Sequence[str] | None = (),
        sensitive: str | Sequence[str] | None = (),
        numeric: str | Sequence[str] | None = (),
    ) -> None:
        self._read(data, self.subject)
        self._set(index=self.frame.index)
        if weight is None:
            weight = free_name(self.frame.columns)
            self._set(_frame=self.frame.assign(**{weight: 1.0}))
        if household_weight == MEAN_OF_MEMBERS:
            household_weight = self._add_mean_weight(weight, household)
        roles = SurveyRoles(
            weight, household, household_weight, household_size, person, strata, psu,
            design_strata, fpc, some_names(keys), some_names(sensitive), some_names(numeric),
        )  # fmt: skip
        faults = Faults(self.subject)
        self._take(faults, roles, weight, "weight", roles.given())
        faults.raise_if_any()

    def _take(
        self, faults: Faults, roles: Roles, weight: Any, said: str, asked: Iterable[str]
    ) -> None:
        """Take roles over, and check those that are asked for; the weight is a column."""
        if weight is not NOT_ASKED and not isinstance(weight, str):
            faults.add("weight", f"is {weight!r}", hint="Give the name of a column.")
            weight = NOT_ASKED
        super()._take(faults, roles, weight, said, asked)

    def _add_mean_weight(self, weight: str, household: str | None) -> str | None:
        """Add the mean weight of the members of each household as a column; return its name."""
        columns = self.frame.columns
        if MEAN_OF_MEMBERS in columns or household not in columns or weight not in columns:
            return MEAN_OF_MEMBERS  # a column, or a fault that the checks name
        name = free_name(columns, "household_weight")
        weights = pd.to_numeric(self.frame[weight], errors="coerce").astype(float)
        means = weights.groupby(self.frame[household], observed=True).transform("mean")
        self._set(_frame=self.frame.assign(**{name: means.fillna(1.0)}))
        return name

    def _check_single(self, faults: Faults, asked: Collection[str]) -> dict[str, str]:
        """Check what can be checked with the columns that are there, and note all of it."""
        if len(self.frame) == 0:
            faults.add("data", "there are no rows", hint="Give at least one person.")
        if SEVERAL.keys() >= set(asked):
            return {}
        roles = super()._check_single(faults, self.roles.named())
        name = roles.get("household_weight")
        if name is not None and name != self.roles.weight:
            check_weights(faults, self.frame[name], name)
        for role in ("household", "strata", "person", "psu", "design_strata", "fpc"):
            if role in roles:
                missing = self.frame[roles[role]].isna().to_numpy()
                what, hint = f"{role} is missing", "Every row needs one."
                faults.add_where(missing, roles[role], what, hint=hint)
        if "household" in roles:
            self._check_households(faults, roles)
        if "person" in roles and (self.roles.household is None or "household" in roles):
            self._check_persons(faults, roles)
        return roles

    def _check_households(self, faults: Faults, roles: dict[str, str]) -> None:
        """Check what must be equal within a household; rows without an id are left out."""
        household = self.household_index
        for role, hint in (
            ("strata", "All members of a household must lie in one stratum."),
            ("household_weight", "All members must carry the same household weight."),
        ):
            name = roles.get(role)
            if name is None:
                continue
            rows = rows_that_differ(household, self.codes(name)[0])
            if len(rows):
                n_households = len(np.unique(household[rows]))
                what = f"changes within {plural(n_households, 'household')}"
                faults.add(name, what, rows=rows, hint=hint)
        size = roles.get("household_size")
        if size is not None:
            stated = pd.to_numeric(self.frame[size].astype(object), errors="coerce").to_numpy(float)
            counted = np.bincount(household[household >= 0], minlength=1)
            differs = (household >= 0) & ~(stated == counted[household])
            what = "does not equal the number of rows of the household"
            hint = "Complete the households, or leave household_size out to count rows."
            faults.add_where(differs, size, what, hint=hint)

    def _differs_within_household(self, name: str) -> np.ndarray:
        codes = self.codes(name)[0]
        first = self.household_order[self.household_offsets[:-1]]
        return codes != codes[first][self.household_index]

    def _check_persons(self, faults: Faults, roles: dict[str, str]) -> None:
        names = [roles[role] for role in ("household", "person") if role in roles]
        is_repeated = self.frame.duplicated(subset=names, keep="first").to_numpy()
        is_repeated = is_repeated & self.frame[names].notna().all(axis=1).to_numpy()
        what = "persons are in the file more than once"
        hint = "Drop the repeated rows or correct the ids."
        faults.add_where(is_repeated, str(self.roles.person), what, hint=hint)

    @property
    def n_persons(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def n_households(self) -> int:
        """Number of households; of persons where the survey has none."""
        return len(self.household_offsets) - 1

    @cached_property
    def household_order(self) -> np.ndarray:
        """Row positions with the members of a household side by side, shape (n_persons,)."""
        return np.argsort(self.household_index, kind="stable")

    @cached_property
    def household_offsets(self) -> np.ndarray:
        """Where each household starts in `household_order`, shape (n_households + 1,)."""
        sizes = np.bincount(self.household_index)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def household_sizes(self) -> np.ndarray:
        """Number of members, shape (n_households,)."""
        return np.diff(self.household_offsets)

    @cached_property
    def household_weights(self) -> np.ndarray:
        """Weight of each household, shape (n_households,).

        Raises
        ------
        InputError
            Where no household weight is given and person weights differ between members.
        """
        name = self.roles.household_weight or self.roles.weight
        differs = self._differs_within_household(name)
        if differs.any():
            what = "weights differ between the members of a household"
            hint = "Name the column of household weights with household_weight, or set it to "
            hint += f"{MEAN_OF_MEMBERS!r}."
            raise InputError.of("survey", name, what, hint, rows=np.flatnonzero(differs))
        first = self.household_order[self.household_offsets[:-1]]
        return self.frame[name].to_numpy(dtype=np.float64)[first]

    @cached_property
    def sampled_units(self) -> SampledUnits:
        """Primary sampling units within design strata, with sampling fractions, coded.

        Raises
        ------
        InputError
            A unit or household lies in two strata, the correction differs within a stratum or is
            no number, or there are fewer than two units.
        """
        roles, frame = self.roles, self.frame
        strata = roles.design_strata or roles.strata
        unit = roles.psu or roles.household
        return sampled_units(
            self.n_persons,
            strata=None if strata is None else frame[strata],
            cluster=None if unit is None else frame[unit],
            fpc=None if roles.fpc is None else frame[roles.fpc],
            single="it adds nothing to the variance",
        )

    def with_weights(self, weights: np.ndarray) -> Self:
        """Return the survey with other person weights, shape (n_persons,).

        The column of household weights is replaced too where the new weights are equal within
        each household; otherwise it keeps its values.
        """
        survey = self.with_column(self.roles.weight, np.asarray(weights, dtype=np.float64))
        name = self.roles.household_weight
        if name is None or name == self.roles.weight:
            return survey
        if survey._differs_within_household(self.roles.weight).any():
            return survey
        return survey.with_column(name, survey.weights)

    def storable(self) -> Self:
        """Return the survey with levels that a population can hold, so that both have the same."""
        passing = (self.roles.household, self.roles.person, self.roles.psu)
        frame = self.frame
        new = with_storable_levels(frame, passing)
        return self if new is frame else self.with_frame(new)

    def summary(self) -> str:
        """Return what the survey holds, in a sentence."""
        total = float(self.weights.sum())
        return message(
            "Survey of {persons} in {households}, standing for {n} persons.",
            persons=plural(self.n_persons, "person"),
            households=plural(self.n_households, "household"),
            n=count(total),
        )


def as_survey(data: Any) -> Any:
    """Return a file with its roles as a survey, checked as one; anything else as it is."""
    if not isinstance(data, Microdata) or isinstance(data, Survey):
        return data
    frame, roles = data.indexed, data.roles.given()
    if data.weights is None:
        hint = "Name the weight, or make it a Survey with weight=None where every row counts 1."
        raise InputError.of("survey", "weight", "is not given", hint)
    if data.roles.weight is None:
        roles["weight"] = free_name(frame.columns)
        frame = frame.assign(**{roles["weight"]: data.weights})
    return Survey(frame, **roles)


def unit_of_households(survey: Survey) -> np.ndarray | None:
    """Return the primary sampling unit of each household, None where the survey names none."""
    if survey.roles.psu is None:
        return None
    first = survey.household_order[survey.household_offsets[:-1]]
    return pd.factorize(survey.frame[survey.roles.psu])[0][first].astype(np.int64)


def free_name(names_in_use: Iterable[Any], name: str = "weight") -> str:
    """Return `name`, with a number where it is taken."""
    names = set(map(str, names_in_use))
    candidates = (name if k == 0 else f"{name}_{k}" for k in range(len(names) + 1))
    return next(candidate for candidate in candidates if candidate not in names)


def rows_that_differ(household: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the rows with another code than the first of their household; -1 is none."""
    rows = np.flatnonzero((household >= 0) & (codes >= 0))
    _, first, member = np.unique(household[rows], return_index=True, return_inverse=True)
    differs = codes[rows] != codes[rows][first][member.reshape(-1)]
    return rows[differs]
