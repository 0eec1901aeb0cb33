"""Worked examples of the functions below the verbs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval.protection.grouping import gower_groups
from riskeval.protection.household.groups import households_of
from riskeval.protection.household.tables import make_up_of
from riskeval.protection.numeric import put_numbers, strata_of, with_signs
from riskeval.protection.rank_swap import taken
from riskeval.protection.release import released_dictionary
from riskeval.protection.result import suppress_cells, without_lost_categories
from riskeval.protection.sums import magnitude_note
from riskeval.protection.suppression.plan import read_subsets
from riskeval.protection.univariate import consecutive, optimal_groups
from synthpop.microdata.frame.dictionary import Dictionary, Variable

LATE = np.array([False, True])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (consecutive(np.array([2, 0, 1, 3, 4]), 2), [0, 1, 0, 1, 1]),
        (optimal_groups(np.array([1.0, 2.0, 3.0, 50.0, 51.0, 9.0]), 2), [0, 0, 1, 2, 2, 1]),
        (optimal_groups(np.array([1.0, 2.0, 3.0, 50.0, 51.0]), 2), [0, 0, 0, 1, 1]),
        (households_of(np.array([0, 0, 1, 1]), np.array([7, 7, 7, 8]))[1], [1, 2]),
        (make_up_of(np.array([0, 0, 1, 1, 2]), np.array([5, 7, 7, 5, 5])), [1, 1, 0]),
        (put_numbers(pd.Series([1, 2]), np.array([0.0, 2.6]), LATE), [1.0, 2.6]),
        (put_numbers(pd.Series([1, 2]), np.array([0.0, 2.6]), LATE, integers="round"), [1, 3]),
        (suppress_cells(pd.Series([1, 2]), LATE).isna(), [False, True]),
    ],
)
def test_worked_examples(values, expected):
    assert values.tolist() == expected


def test_gower_groups_join_near_numbers():
    numbers = np.array([[1.0], [2.0], [9.0], [8.0]])
    groups = gower_groups(numbers, numbers < 0, np.zeros((4, 1), dtype=int), 2)
    assert groups.tolist() == [0, 0, 1, 1]


def test_strata_are_named_by_their_levels_and_by_signs():
    assert strata_of(pd.DataFrame({"sex": ["m", "f", "m"]}), "sex")[1] == ["sex=f", "sex=m"]
    numbers, labels = with_signs(np.zeros(3, dtype=int), ["all"], np.array([[0.0], [5.0], [0.0]]))
    assert (numbers.tolist(), labels) == ([0, 1, 0], ["all, 0", "all, +"])


def test_values_of_other_rows_stand_under_the_old_index():
    assert taken(pd.Series([1, 2], index=[8, 9]), np.array([1, 0])).to_dict() == {8: 2, 9: 1}


def test_a_note_says_by_how_much_values_moved():
    people = pd.DataFrame({"x": [1.0, 2.0]})
    assert magnitude_note(people, people * 1.1, ["x"]) == [
        "Half of the changed values moved by at most 10 %, one in twenty by more than 10 %."
    ]


def test_a_release_says_nothing_of_codes_without_a_record():
    job = Variable("job", "Occupation", values=((1, "clerk"), (2, "minister")), missing_code=-9)
    file = pd.DataFrame({"job": ["clerk", None]})
    assert released_dictionary(file, Dictionary([job]))["job"].values == ((1, "clerk"),)
    jobs = pd.Series(["clerk", "minister"], dtype="category")
    released = without_lost_categories(jobs, jobs.where([True, False]))
    assert released.cat.categories.tolist() == ["clerk"]


def test_subsets_may_be_text_of_a_run_file():
    wanted = {2: 5, ("age", "sex"): 3, ("age", "region"): 3}
    assert read_subsets({"2": 5, ("age", "sex"): 3, "age, region": 3}) == wanted
