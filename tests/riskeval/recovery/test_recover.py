"""The attacker who fills holes: every rule on a file made for it, and the survey of the finding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from riskeval import recover
from riskeval.protection.recode import global_recode
from riskeval.protection.suppression.suppress import local_suppression
from synthpop.microdata.messages.errors import InputError
from tests.reference_data import survey_data

KEYS = ["db040", "hsize", "age", "rb090", "pl030", "pb220a"]
AGES = [-1, 15, 29, 44, 64, 120]


def households(n: int = 120, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    region = np.array(list("abcd"))[rng.integers(0, 4, n)][home]
    wages, rent = rng.integers(0, 900, (2, len(home))) * 10.0
    age = rng.integers(0, 90, len(home))
    return pd.DataFrame(
        {
            "home": home,
            "region": region,
            "size": size[home],
            "age": age,
            "class": pd.cut(age, [-1, 17, 64, 120], labels=["young", "middle", "old"]),
            "sex": rng.choice(["f", "m"], len(home)),
            "wages": wages,
            "rent": rent,
            "income": wages + rent,
            "weight": np.array([10.0, 20.0, 30.0, 45.0])[np.searchsorted(list("abcd"), region)],
        }
    )


def without(frame: pd.DataFrame, column: str, rows: object) -> pd.DataFrame:
    holes = np.zeros(len(frame), dtype=bool)
    holes[rows] = True
    return frame.assign(**{column: frame[column].mask(holes)})


@pytest.fixture(scope="module")
def suppressed() -> tuple[pd.DataFrame, pd.DataFrame]:
    people = global_recode(survey_data("eusilc"), "age", breaks=AGES).data
    return people, local_suppression(people, KEYS, k=3).data


def test_siblings_and_rows_of_the_household_give_back_what_was_suppressed_of_one_member(suppressed):
    people, released = suppressed
    result = recover(released, household="db030", original=people, keys=KEYS, columns=KEYS)
    table = result.by_column().set_index("column")
    assert table.loc["db040"].tolist() == [176, 153, 153]
    assert table.loc["hsize"].tolist() == [108, 108, 108]
    assert table.loc[["age", "rb090", "pl030", "pb220a"], "filled"].sum() == 0
    assert result.below == (0, 832)
    assert "832 after" in result.summary()


def test_the_weight_alone_tells_every_suppressed_region(suppressed):
    people, released = suppressed
    columns = [*KEYS, "rb050"]
    result = recover(released, weights="rb050", original=people, columns=columns)
    assert result.by_column().set_index("column").loc["db040"].tolist() == [176, 176, 176]
    assert set(result.cells["rule"]) == {"weights"}


def test_without_any_declaration_dependencies_between_columns_are_found(suppressed):
    people, released = suppressed
    result = recover(released, original=people)
    assert result.n_right == 284
    assert result.n_filled == 284
    assert set(result.cells["rule"]) == {"dependency"}


def test_a_copy_has_no_holes_and_an_independent_column_is_not_guessed():
    people = households()
    assert recover(people).n_holes == 0
    holes = without(people, "sex", np.arange(0, len(people), 7))
    result = recover(
        holes, household="home", weights="weight", components={"income": ["wages", "rent"]}
    )
    assert result.n_holes > 0
    assert result.n_filled == 0


def test_total_and_parts_give_each_other_back():
    people = households()
    holes = without(without(people, "rent", [3, 5]), "income", [5, 9])
    result = recover(holes, components={"income": ["wages", "rent"]}, original=people)
    assert result.cells[["row", "column"]].values.tolist() == [[3, "rent"], [9, "income"]]
    assert result.n_right == 2
    assert set(result.cells["rule"]) == {"sums"}
    broken = holes.assign(income=holes["income"] * 1.5)
    assert recover(broken, components={"income": ["wages", "rent"]}, rules=["sums"]).n_filled == 0


def test_classes_follow_from_numbers_in_any_order_of_the_records():
    people = households(400)
    shuffled = people.sample(frac=1, random_state=1, ignore_index=True)
    filled = []
    for frame in (people, shuffled, people.sort_values("class", ignore_index=True)):
        at = np.flatnonzero(frame["age"].isin([40, 41])).tolist()
        at = [row for row in at if (frame["age"] == frame["age"][row]).sum() > 1]
        result = recover(without(frame, "class", at), rules=["classes"], original=frame)
        assert result.n_filled == result.n_right
        filled.append(result.n_filled)
    assert filled[0] > 0
    assert len(set(filled)) == 1


def test_numbers_that_are_missing_with_every_hole_tell_nothing():
    people = households(200)
    at = list(range(0, len(people), 7))
    holes = without(people, "region", at)
    income = pd.Series(np.arange(len(people)) // 3 * 1.0).mask(holes["region"].isna())
    original = people.assign(income=income)  # which has no income for them either
    alone = recover(holes, household="home", original=people)
    beside = recover(holes.assign(income=income), household="home", original=original)
    assert alone.n_filled > 0
    pd.testing.assert_frame_equal(alone.cells, beside.cells)
    assert alone.holes == beside.holes


def test_shares_of_holes_that_are_filled_rightly_and_wrongly():
    """Two of five holes are filled rightly, one wrongly, two not at all."""
    people = pd.DataFrame({"home": [1, 1, 2, 2, 3, 3, 4, 4], "region": list("nnsnssnn")})
    holes = without(people, "region", [1, 3, 5, 6, 7])
    ways = {"household": "home", "household_variables": "region"}
    result = recover(holes, **ways, original=people)
    assert (result.share, result.share_right) == (0.6, 0.4)
    assert result.share_wrong == pytest.approx(0.2)
    assert "2 of them are right and 1 wrong" in result.summary()
    assert np.isnan(recover(holes, **ways).share_wrong)


def test_a_number_beside_its_class_tells_the_class():
    people = households(400)
    row = int(np.flatnonzero(people["age"] == 40)[0])
    others = people.drop(index=np.flatnonzero((people["age"] == 40) & (people.index != row)))
    others = others.reset_index(drop=True)
    at = int(np.flatnonzero(others["age"] == 40)[0])
    result = recover(without(others, "class", [at]), rules=["classes"], original=others)
    assert result.cells[["value", "rule"]].values.tolist() == [["middle", "classes"]]
    assert result.n_right == 1


def test_a_file_sorted_by_region_tells_the_region_by_its_place():
    people = households().sort_values("region", kind="stable", ignore_index=True)
    holes = without(people, "region", np.arange(20, 60, 10)).drop(columns=["home", "weight"])
    result = recover(holes, original=people, rules=["order"])
    assert result.n_filled == result.n_right == 4
    shuffled = holes.sample(frac=1, random_state=1).reset_index(drop=True)
    assert recover(shuffled, rules=["order"]).n_filled == 0


def test_an_earlier_state_of_the_file_tells_what_was_suppressed_later():
    people = households()
    holes = without(people, "sex", [1, 4])
    result = recover(holes, earlier=people[["sex"]], original=people)
    assert result.n_right == 2
    assert set(result.cells["rule"]) == {"earlier"}
    rare = people.assign(sex=people["sex"].where(people.index != 4, "x"))
    last = recover(without(rare, "sex", [4]), earlier=rare[["sex"]], original=rare)
    assert last.cells["value"].tolist() == ["x"]
    assert last.n_right == 1


def test_values_that_the_original_lacks_are_no_holes():
    people = households()
    lacking = without(people, "region", [0])
    holes = without(lacking, "region", [5])
    asked = pd.DataFrame({"region": np.ones(len(people), dtype=bool)})
    result = recover(holes, original=lacking, suppressed=asked)
    assert result.n_holes == 1
    assert recover(holes, suppressed=asked).n_holes == 2


def test_rules_are_repeated_until_nothing_follows():
    """The part gives the total, the total the part of another record by the household."""
    people = households().assign(total=lambda x: x["income"].groupby(x["home"]).transform("sum"))
    people["other"] = people["total"] - people["income"]
    pair = np.flatnonzero(people["size"] == 2)[:2]
    holes = without(without(people, "total", pair), "other", pair[:1])
    result = recover(
        holes, household="home", household_variables="total",
        components={"total": ["income", "other"]}, original=people,
        rules=["household", "sums"],
    )  # fmt: skip
    assert result.n_right == 3
    assert result.cells["round"].max() == 3


def test_a_top_coded_household_size_follows_from_the_rows_too():
    people = households(seed=3)
    coded = people.assign(size=people["size"].clip(upper=3))
    rows = np.flatnonzero(people["home"] == people.loc[people["size"] == 4, "home"].iloc[0])
    result = recover(without(coded, "size", rows), household="home", original=coded)
    assert result.n_right == len(rows) == 4
    assert set(result.cells["rule"]) == {"household size"}


def test_recoded_originals_are_compared_through_the_visible_cells():
    people = households()
    coded = people.assign(region=people["region"].map({"a": "N", "b": "N", "c": "S", "d": "S"}))
    row = int(np.flatnonzero(people["size"] > 1)[0])
    result = recover(without(coded, "region", [row]), household="home", original=people)
    assert result.n_filled == result.n_right == 1


def test_values_that_were_missing_from_the_start_are_no_holes():
    people = without(households(), "region", [0, 1, 2])
    released = without(people, "region", [0, 1, 2, 5])
    assert recover(released, household="home", original=people).n_holes == 1
    marks = pd.DataFrame({"region": np.arange(len(people)) == 5})
    assert recover(released, household="home", suppressed=marks).n_holes == 1
    assert recover(released, household="home").n_holes == 4


def test_certainty_decides_whether_an_undeclared_rule_is_used():
    home = np.repeat(np.arange(200), 4)
    language = np.array(["x", "y"])[home % 2]
    language[::100] = "z"  # one member of four, in 8 of 200 households
    holes = without(pd.DataFrame({"home": home, "language": language}), "language", [7])
    ways = {"household": "home", "rules": ["household"]}
    assert recover(holes, **ways, certainty=0.999).n_filled == 0
    assert recover(holes, **ways, certainty=0.98).n_filled == 1
    assert recover(holes, **ways, certainty=0.999, household_variables="language").n_filled == 1


def test_faults_are_told_together():
    people = households()
    with pytest.raises(InputError) as caught:
        recover(
            people, household="hom", components={"income": ["wages", "sex"]}, rules=["guess"],
            certainty=2, original=people.iloc[:5], k=0,
        )  # fmt: skip
    text = str(caught.value)
    for part in ("'hom'", "components must be numeric", "'guess'", "certainty", "original", "k:"):
        assert part in text


def test_the_release_is_not_changed():
    people = without(households(), "region", [0, 3])
    before = people.copy()
    recover(people, household="home")
    pd.testing.assert_frame_equal(people, before)
