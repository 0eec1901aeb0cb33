"""Roles, age and sex of the columns of a file: by what they hold, their labels and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthpop.microdata.frame.dictionary import Dictionary, dictionary_of
from synthpop.microdata.frame.names import words_of
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.reading.households import (
    HouseholdIndex,
    household_column,
    household_index,
    is_size,
)
from synthpop.microdata.reading.kinds import (
    ENOUGH_FOR_YEARS,
    FEW_NUMBERS,
    MOST_CODES,
    ROWS_A_CODE,
    are_whole,
    are_years,
    look_like_codes,
    look_like_ids,
    may_be_ages,
    number_column,
    run_as_ages,
)
from synthpop.microdata.reading.lexicon import (
    AGE,
    AGE_NAME,
    BIRTH_NAME,
    CONCEPTS,
    HOUSEHOLD_NAME,
    ID_NAME,
    OF_HOUSEHOLDS,
    ROLES,
    SEX,
    WEIGHT_NAME,
    Concept,
    columns_named_for,
    concept_of,
    levels_say,
    named_or_containing,
)
from synthpop.microdata.reading.partitions import codes_of, mapping_of, same_partition
from synthpop.microdata.reading.presets import preset_of

MOST_QUESTIONS = 5
MOST_SEXES = 4
MOST_WEIGHT, MOST_SCALES = 200, 20  # times the smallest one; distinct values
MOST_LEVELS_READ = 60
ADULT, MOST_APART, FEWEST_COUPLES = 25, 15, 20
UNLIKE_COUPLES, LEAST_OF_A_SEX = 0.8, 0.25
YEARS_OF_BIRTH, MOST_YEARS_LATER = (1870, 2040), 5
ROLE_WORDS = {
    "weight": "weight",
    "household": "household",
    "household_weight": "household weight",
    "household_size": "household size",
    "person": "person",
    "strata": "stratum",
    "psu": "primary sampling unit",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What only somebody who knows the file can say."""

    role: str  # a role, or "age" or "sex"
    candidates: tuple[str, ...]  # columns that it may be, the likeliest first
    why: str


class ColumnReader:
    """A file while its columns are being recognised.

    frame: columns have texts as names
    known: dict; role, "age" or "sex" -> its column, or None where there is none
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        dictionary: Dictionary | None = None,
        known: Mapping[str, str | None] | None = None,
    ) -> None:
        self.frame = frame
        self.known = dict(known or {})
        self.dictionary = dictionary_of(frame) if dictionary is None else dictionary
        self.codes = {name: codes_of(frame[name]) for name in frame.columns}
        self.n_codes = {name: int(codes.max(initial=-1)) + 1 for name, codes in self.codes.items()}
        self.numbers = {name: number_column(frame[name]) for name in frame.columns}
        self.why: dict[str, str] = {}  # column -> why it has its role
        self.by_values: dict[str, str] = {}  # "age" or "sex" that no name or label tells -> why
        self.roles: dict[str, str] = {}
        self.index: HouseholdIndex | None = None
        said = {role: name for role, name in self.known.items() if name in self.numbers}
        self.roles |= {role: str(name) for role, name in said.items() if role in ROLES}
        self.why |= {str(name): message("as was said") for name in said.values()}
        self.preset = self._columns_of_preset()
        for role in ("person", "psu", "strata"):
            if role not in self.roles:
                self._give(role, self._named_for(role))
        self.survey_year: float | None = None  # the age is this less the year of birth
        self.age = self.known["age"] if "age" in self.known else self._age(self._free())
        self._household()
        self._year_of_birth()
        self._weights_of_the_sample()
        self.roles = {role: self.roles[role] for role in ROLES if role in self.roles}
        self.sex = self.known["sex"] if "sex" in self.known else self._sex(self._free())

    def _columns_of_preset(self) -> dict[str, str]:
        """Give the roles that the format of the file tells, as far as the values suit them.

        Returns the column of the age and of the sex.
        """
        found = preset_of(self.frame.columns)
        if found is None:
            return {}
        preset, columns = found
        why = message("as in {format}", format=preset.title)
        for role in ("household", "person", "psu", "strata"):
            if role in columns and self._suits(role, columns[role]):
                self._give(role, columns[role], why)
        for role in ("weight", "household_weight"):
            if role in columns and _all_positive(self.numbers[columns[role]]):
                note = [preset.note] if preset.note else []
                self._give(role, columns[role], joined_by(": ", [why, *note]))
        taken = self.roles.values()
        told = {r: n for r, n in columns.items() if r in ("age", "sex") and n not in taken}
        return {**told, "why": why}

    def _free(self) -> list[str]:
        return [name for name in self.frame.columns if name not in self.roles.values()]

    def _give(self, role: str, column: str | None, why: str | None = None) -> None:
        if column is not None and role not in self.known:
            self.roles[role] = column
            self.why[column] = self.named_why(role) if why is None else why

    def _label(self, name: str) -> str:
        return words_of(self.dictionary[name].label)

    def levels(self, name: str) -> list[str]:
        """Return the texts of the levels of a column with few: labels where it has some."""
        variable = self.dictionary[name]
        if variable.values:
            return [text for code, text in variable.values if not variable.is_missing(code)]
        if self.numbers[name] is not None or int(self.codes[name].max()) >= MOST_LEVELS_READ:
            return []
        return [str(level) for level in self.frame[name].dropna().unique()]

    def concept(self, name: str) -> tuple[Concept, str] | None:
        """Return what a column measures, and whether "values", "label" or "name" say so."""
        found = concept_of(name, self.dictionary[name].label, self.levels(name))
        for column, concept in ((self.age, "age"), (self.sex, "sex")):
            if name == column and (found is None or found[0].name != concept):
                return next(one for one in CONCEPTS if one.name == concept), "values"
        return found

    def are_codes(self, name: str) -> bool:
        """Whether whole numbers with many values are codes of a classification, not amounts."""
        values = self.numbers[name]
        if values is None or name == self.age or not are_whole(values):
            return False
        found = self.concept(name)
        if found is not None and found[0].role == "numeric":
            return False
        if self._tells_texts(name):
            return True
        is_classification = found is not None and found[0].is_codes
        return (is_classification and bool(np.nanmin(values) >= 0)) or look_like_codes(values)

    def _tells_texts(self, name: str) -> bool:
        """Whether each number stands for a text of another column, as the number of a firm."""
        n_codes = int(self.codes[name].max()) + 1
        if not FEW_NUMBERS < n_codes <= min(MOST_CODES, len(self.frame) / ROWS_A_CODE):
            return False
        return any(
            self.numbers[other] is None
            and n_codes >= codes.max() + 1 > n_codes / 2
            and (same_partition(codes, self.codes[name]) or mapping_of(codes, self.codes[name]))
            for other, codes in self.codes.items()
        )

    def are_ids(self, name: str) -> bool:
        """Whether whole numbers that occur once each are ids, not amounts."""
        values, found = self.numbers[name], self.concept(name)
        if values is None or (found is not None and found[0].role == "numeric"):
            return False
        return ID_NAME.search(words_of(name)) is not None or look_like_ids(values)

    def is_further_id(self, name: str) -> bool:
        """Whether a column without a role is named like the ids of households or persons."""
        if name in self.roles.values() or int(self.codes[name].max()) < MOST_LEVELS_READ:
            return False
        named = (columns_named_for(role, [name]) for role in ("household", "person"))
        values = self.numbers[name]
        return any(named) and (values is None or are_whole(values))

    # households

    def _named_for(self, role: str) -> str | None:
        """Return the first column with a name of a role whose values suit it."""
        names = columns_named_for(role, self._free())
        if role == "household":
            names += [n for n in self._free() if HOUSEHOLD_NAME.search(self._label(n))]
        return next((name for name in names if self._suits(role, name)), None)

    def _suits(self, role: str, column: str) -> bool:
        codes = self.codes[column]
        unique = int(codes.max()) + 1 == len(codes)
        return not self.frame[column].isna().any() and unique == (role == "person")

    def _household(self) -> None:
        told = "household" in self.roles and "household" not in self.known  # by the format
        named = [] if told else columns_named_for("household", self._free())
        if "household" in self.known and "household" not in self.roles:
            return
        if "household" not in self.known and any(self._suits("person", name) for name in named):
            return  # each row is a household
        if not told:
            self._give("household", self._named_for("household"))
        if "household" not in self.roles and self.age is not None:
            free = {n: self.codes[n] for n in self._free() if n != self.age}
            weight = self.codes.get(self.roles.get("weight", ""))
            self._give("household", *(household_column(self.frame, free, weight) or (None,)))
        if "household" not in self.roles:
            return
        self.index = household_index(self.frame[self.roles["household"]])
        usual = columns_named_for("household_size", self._free())
        sizes = [n for n in usual if is_size(self.frame[n], self.index)]
        self._give("household_size", next(iter(sizes), None))
        if not sizes and self.index.sizes.max() > self.index.sizes.min():  # else any constant is
            sizes = [n for n in self._free() if is_size(self.frame[n], self.index)]
            why = message("the number of rows of the household")
            self._give("household_size", next(iter(sizes), None), why)

    @property
    def has_members(self) -> bool:
        """Whether some households have two members or more."""
        return self.index is not None and bool((self.index.sizes > 1).any())

    def shared(self, name: str) -> bool:
        """Whether members of a household have one value of a column."""
        return self.index is not None and self.index.constant(self.codes[name])

    # weights

    def _weights_of_the_sample(self) -> None:
        """Give the roles of weights: of persons and, where there are two kinds, of households."""
        if "weight" in self.roles and "weight" not in self.known:
            return  # by the format
        free = self._free()
        usual = columns_named_for("weight", free)
        of_households = columns_named_for("household_weight", free)
        labelled = [n for n in free if n not in usual and self._labelled_weight(n)]
        named = dict.fromkeys([*usual, *of_households, *labelled])
        found = [name for name in named if _all_positive(self.numbers[name])]
        varying = [name for name in found if int(self.codes[name].max()) > 0]
        found = varying or found
        shared = [name for name in found if self.has_members and self.shared(name)]
        said = [n for n in shared if n in of_households or OF_HOUSEHOLDS.search(words_of(n))]
        persons = [n for n in found if n not in (said or of_households)] or found
        weight = next(iter(persons), None)
        self._give("weight", weight)
        if weight is None or self.index is None or weight in of_households:
            return
        if not self.has_members:
            said = [name for name in of_households if name in found]
        self._give("household_weight", next((n for n in said if n != weight), None))

    def _labelled_weight(self, name: str) -> bool:
        """Whether a label speaks of weights and the values are no weights of bodies."""
        values = self.numbers[name]
        if values is None or not WEIGHT_NAME.search(self._label(name).replace(" ", "_")):
            return False
        return _all_positive(values) and (not are_whole(values) or self.shared(name))

    def is_weight(self, name: str) -> bool:
        """Whether a column is named like weights; some may be zero."""
        values = self.numbers[name]
        if WEIGHT_NAME.search(name) is None or values is None:
            return False
        return bool(np.all(values >= 0)) and bool(np.mean(values > 0) > 0.5)

    def may_be_weight(self, name: str) -> bool:
        """Whether a number may be the weight, where none is known by its name."""
        values = self.numbers[name]
        if "weight" in self.roles or values is None or name == self.age:
            return False
        fractions = bool(np.all(values > 0)) and not are_whole(values)
        few = int(self.codes[name].max()) < MOST_SCALES  # an equivalence scale is none
        in_range = fractions and not few and values.max() <= MOST_WEIGHT * values.min()
        return bool(in_range) and self.shared(name)

    # age

    def _age(self, names: list[str]) -> str | None:
        """Return the column of ages, one with numbers before one with texts."""
        told = self.preset.get("age")
        if told is not None and may_be_ages(self.numbers[told]):
            return told
        columns = named_or_containing(AGE, names)
        exact = [column for column in columns if column.lower() in AGE]
        alike = [n for n in names if AGE_NAME.fullmatch(words_of(n).replace(" ", ""))]
        alike += [n for n in names if n not in alike and self._labelled_age(n)]
        numeric = [c for c in (*columns, *alike) if self.numbers[c] is not None]
        ages = [c for c in numeric if c in exact or may_be_ages(self.numbers[c])]
        complete = [name for name in alike if not self.frame[name].isna().any()]
        found = next(iter([*ages, *exact]), None) or self._age_of_birth(names)
        found = found or next(iter(complete), None)
        if found is None and (found := self._age_by_values(names)) is not None:
            self.by_values["age"] = message("its values run from the young to the old as ages do")
        return found

    def _labelled_age(self, name: str) -> bool:
        found = concept_of("", self.dictionary[name].label)
        return found is not None and found[0].name == "age" and may_be_ages(self.numbers[name])

    def _ages_by_values(self, names: list[str]) -> list[str]:
        enough = len(self.frame) >= ENOUGH_FOR_YEARS
        usual = [n for n in names if enough and may_be_ages(self.numbers[n])]
        return [n for n in usual if (v := self.numbers[n]) is not None and run_as_ages(v)]

    def _age_by_values(self, names: list[str]) -> str | None:
        """Return the one column of whole numbers that everybody has and that run as ages do."""
        found = self._ages_by_values(names)
        return found[0] if len(found) == 1 else None

    def _age_of_birth(self, names: list[str]) -> str | None:
        """Return the column that a year of birth beside it shows to be the age."""
        low, high = YEARS_OF_BIRTH
        for name in (n for n in names if may_be_ages(self.numbers[n])):
            age = self.numbers[name]
            for other in names:
                born = self.numbers[other]
                if born is None or age is None or not np.all((born > low) & (born < high)):
                    continue
                if np.ptp(born) > 0 and np.ptp(age + born) <= 1:
                    return name
        return None

    def _year_of_birth(self) -> None:
        """Take the year of birth for the age where no column has the age itself."""
        if "age" not in self.known and self.age is None:
            free = self._free()
            born = [n for n in free if self._survey_year(n) is not None and not self.shared(n)]
            named = [n for n in born if BIRTH_NAME.search(f"{words_of(n)}|{self._label(n)}")]
            self.age = next(iter(named), born[0] if len(born) == 1 else None)
            if self.age is not None and not named:
                self.by_values["age"] = message("its values run as years of birth do")
        if self.age is not None:
            self.survey_year = self._survey_year(self.age)

    def _survey_year(self, name: str) -> float | None:
        """Return the year of the survey where a column has years of birth of people of all ages.

        That is a year which is the same in all rows, at most five after the last birth, else the
        year of the last birth.
        """
        born, (low, high) = self.numbers[name], YEARS_OF_BIRTH
        if born is None or not np.all((born > low) & (born < high)) or not are_whole(born):
            return None
        last = float(born.max())
        constant = [
            v for v in self.numbers.values() if v is not None and len(v) and np.all(v == v[0])
        ]
        years = [float(v[0]) for v in constant if last <= v[0] <= last + MOST_YEARS_LATER]
        year = min(years, default=last)
        ages = year - born
        return year if may_be_ages(ages) and run_as_ages(ages) else None

    @property
    def years(self) -> np.ndarray | None:
        """Ages in years; None where they are not known or given in classes."""
        values = None if self.age is None else self.numbers[self.age]
        if values is not None and self.survey_year is not None:
            return self.survey_year - values
        return values if are_years(values) else None

    # sex

    def _sex(self, names: list[str]) -> str | None:
        """Return the column of the sex: most evidence of levels, couples, label and name."""
        named = [
            name
            for name in named_or_containing(SEX, names)
            if name.lower() in SEX or int(self.codes[name].max()) < MOST_SEXES
        ]
        points, said = {}, {}
        for name in names:
            few = 0 < int(self.codes[name].max()) < MOST_SEXES
            said[name] = (
                5 * (few and name == self.preset.get("sex"))
                + 4 * (name in named and name.lower() in SEX)
                + (name in named)
                + 3 * (few and levels_say(self.levels(name)) == "sex")
                + 2 * (few and self._labelled_sex(name))
            )
            points[name] = said[name] + 3 * (few and self._tells_couples_apart(name))
        best = max(points, key=points.__getitem__, default=None)  # the first of several
        if best is None or points[best] == 0:
            return None
        if not said[best]:
            self.by_values["sex"] = message("two adults who live together mostly differ in it")
        return best

    def _labelled_sex(self, name: str) -> bool:
        found = concept_of("", self.dictionary[name].label)
        return found is not None and found[0].name == "sex"

    def _tells_couples_apart(self, name: str) -> bool:
        """Whether two adults of like age who live alone together mostly differ, and singles do."""
        age = self.years
        if self.index is None or age is None or self.frame[name].isna().any():
            return False
        if int(self.codes[name].max()) != 1:
            return False
        first, other = self.index.pairs()
        two = self.index.sizes[self.index.index[first]] == 2
        first, other = first[two], other[two]
        adult = (np.minimum(age[first], age[other]) >= ADULT) & (
            np.abs(age[first] - age[other]) < MOST_APART
        )
        codes = self.codes[name]
        alone = codes[self.index.order[self.index.starts[self.index.sizes == 1]]]
        if adult.sum() < FEWEST_COUPLES or len(alone) < FEWEST_COUPLES:
            return False
        unlike = float(np.mean(codes[first[adult]] != codes[other[adult]]))
        shares = (float(codes.mean()), float(alone.mean()))
        return unlike >= UNLIKE_COUPLES and all(
            LEAST_OF_A_SEX <= share <= 1 - LEAST_OF_A_SEX for share in shares
        )

    # what is uncertain

    def questions(self) -> Iterator[Question]:
        """Yield what matters and neither names nor values tell for sure, at most five of them."""
        free = self._free()
        if "household" not in self.roles and "household" not in self.known:
            persons = self.age is not None
            repeated = [n for n in free if persons and self._may_be_household(n)]
            if repeated:
                yield Question(
                    "household", tuple(repeated), message("ids that repeat, without other evidence")
                )
        elif "household" not in self.known and not self._is_named("household"):
            name = self.roles["household"]
            yield Question("household", (name,), self.why[name])
        if "weight" not in self.roles and "weight" not in self.known:
            weights = tuple(name for name in free if self.may_be_weight(name))
            if weights:
                yield Question(
                    "weight", weights,
                    message("above 0, with fractions, one value in each household"),
                )  # fmt: skip
        if self.age is None and "age" not in self.known:
            ages = self._ages_by_values(free)
            ages = ages or [n for n in free if may_be_ages(self.numbers[n])]
            if ages:
                yield Question("age", tuple(ages), message("whole numbers in the range of ages"))
        if self.sex is None and self.age is not None and "sex" not in self.known:
            halves = tuple(name for name in free if self._may_be_sex(name))
            if halves:
                yield Question("sex", halves, message("two levels, each of many"))
        for role, found in (("age", self.age), ("sex", self.sex)):
            if role in self.by_values and found is not None:
                yield Question(role, (found,), self.by_values[role])

    def _is_named(self, role: str) -> bool:
        why = self.why[self.roles[role]]
        return why == self.named_why(role) or self.preset.get("why") == why

    @staticmethod
    def named_why(role: str) -> str:
        """Return the reason of a role that a name tells."""
        return message("named like a {role}", role=message(ROLE_WORDS[role]))

    def _may_be_household(self, name: str) -> bool:
        n_values = int(self.codes[name].max()) + 1
        values = self.numbers[name]
        ids = values is None or (are_whole(values) and not look_like_codes(values))
        complete = not self.frame[name].isna().any() and name != self.age
        if not (complete and ids and len(self.frame) / 5 < n_values < len(self.frame) / 1.2):
            return False
        found, index = self.concept(name), household_index(self.frame[name])
        is_amount = found is not None and found[0].role == "numeric"
        others = [n for n in self.frame.columns if n != name and int(self.codes[n].max()) > 0]
        return not is_amount and any(index.constant(self.codes[other]) for other in others)

    def _may_be_sex(self, name: str) -> bool:
        codes = self.codes[name]
        if int(codes.max()) != 1 or self.frame[name].isna().any() or self.shared(name):
            return False
        return 0.4 <= float(codes.mean()) <= 0.6


def _all_positive(values: np.ndarray | None) -> bool:
    return values is not None and bool(np.all(values > 0))
