"""What is recognised in a survey, column by column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthpop import load_demo_survey, profile_survey
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.reading.households import household_index
from synthpop.microdata.statistics.indicators.equivalised import equivalised_size
from synthpop.profile.association import CodedColumns
from synthpop.profile.dependence import (
    class_limits,
    linear_expression,
    may_be_classes,
    parts_of_total,
    shortest_between,
)
from synthpop.profile.household_sums import household_sum
from synthpop.runfiles.template import starter_runfile, template_text
from tests.reference_data import survey_data
from tests.small import small_frame


def households(n: int = 300, seed: int = 1) -> pd.DataFrame:
    """Households of one to four with everything that a profile should find."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, n)
    hid = np.repeat(np.arange(n), sizes)
    number = np.arange(len(hid)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    age = np.where(number < 2, rng.integers(20, 85, len(hid)), rng.integers(0, 25, len(hid)))
    adult = age >= 16
    wage = np.where(
        adult, np.round(rng.gamma(2, 9_000, len(hid)), 2) * (rng.random(len(hid)) < 0.7), 0
    )
    pension = np.where(age > 60, np.round(rng.gamma(4, 4_000, len(hid)), 2), 0)
    rest = np.where(adult, np.round(rng.gamma(1, 900, len(hid)), 2), 0)
    faith = rng.choice(["a", "b", "c"], n)[hid]
    own = rng.random(len(hid)) < 0.1
    frame = pd.DataFrame(
        {
            "hid": hid + 100,
            "pid": [f"p{k}" for k in range(len(hid))],
            "weight": np.round(rng.uniform(50, 90, n), 1)[hid],
            "old_weight": np.round(rng.uniform(50, 90, n), 1)[hid],
            "region": rng.choice(["north", "south"], n)[hid],
            "hsize": sizes[hid],
            "age": age,
            "sex": rng.choice(["f", "m"], len(hid)),
            "relation": np.where(number == 0, "head", np.where(number == 1, "partner", "child")),
            "faith": np.where(own, rng.choice(["a", "b", "c"], len(hid)), faith),
            "tenure": rng.choice(["owner", "tenant"], n)[hid],
            "rent": np.round(rng.gamma(5, 100, n), 2)[hid],
            "job": pd.Series(np.where(age > 64, "retired", rng.choice(["works", "not"], len(hid))))
            .where(adult),
            "months": rng.integers(0, 13, len(hid)),
            "wage": wage,
            "pension": pension,
            "rest": rest,
            "income": wage + pension + rest,
            "country": "X",
        }
    )  # fmt: skip
    frame["income_class"] = pd.cut(frame["income"], [-1, 0, 5_000, 20_000, 1e9]).astype(str)
    frame["job_kind"] = frame["months"].map(lambda m: "none" if m == 0 else "some")
    frame["sex_code"] = frame["sex"].map({"f": 2, "m": 1})
    frame["household_income"] = frame.groupby("hid")["income"].transform("sum")
    return frame


@pytest.fixture(scope="module")
def profile():
    return profile_survey(households())


@pytest.mark.parametrize(
    ("column", "use", "why"),
    [
        ("hid", "role", "household"),
        ("pid", "role", "person"),
        ("weight", "role", "weight"),
        ("old_weight", "left out", "a further weight"),
        ("country", "derive", "one value only: X"),
        ("sex_code", "derive", "carries the same information as sex"),
        ("household_income", "derive", "the household sum of income"),
        ("relation", "structure", "one level occurs once in each household"),
        ("tenure", "structure", "one value in each household"),
        ("rent", "continuous", "one value in each household"),
        ("faith", "categorical", "3 levels"),
        ("months", "categorical", "13 levels"),
        ("job_kind", "derive", "classes of months"),
        ("income_class", "derive", "classes of income"),
        ("income", "continuous", "a number with"),
        ("wage", "components", "a part of income"),
        ("pension", "components", "a part of income"),
    ],
)
def test_each_column_has_its_use(profile, column: str, use: str, why: str) -> None:
    item = profile.column(column)
    assert item.use == use
    assert why in item.why


def test_members_that_go_together_are_marked(profile) -> None:
    together = {item.name: item.together for item in profile.columns if item.together}
    assert together == {"faith": "first", "tenure": "shared", "rent": "shared"}


def test_ages_have_classes_that_begin_where_variables_begin(profile) -> None:
    assert profile.column("job").first_age == 16
    assert {4.0, 9.0, 14.0, 15.0, 64.0} <= set(profile.age_breaks)


def test_totals_and_the_predictors_of_income(profile) -> None:
    assert dict(profile.totals) == {"income": ("wage", "pension", "rest")}
    assert "job" in profile.predictors["income"]
    assert "income" not in profile.predictors["job"]


def test_a_file_without_rows_is_an_error() -> None:
    with pytest.raises(InputError, match="there are none"):
        profile_survey(pd.DataFrame({"weight": [], "age": []}))


def test_small_strata_and_codes_for_missing_are_told() -> None:
    frame = households(60)
    frame.loc[:9, "region"] = "isle"
    frame["debt"] = np.where(np.arange(len(frame)) % 7 == 0, -9, frame["wage"] + 1)
    profile = profile_survey(frame)
    assert profile.small_strata == {"isle": 10}
    assert "−9 may be a code for missing" in profile.column("debt").note
    assert "Stratum isle has only 10 sample persons." in profile.summary()


def test_the_order_of_the_rows_changes_nothing() -> None:
    frame = households(120)
    mixed = frame.sample(frac=1, random_state=3)
    a, b = profile_survey(frame), profile_survey(mixed)
    uses = [[(item.name, item.use, item.why) for item in p.columns] for p in (a, b)]
    assert uses[0] == uses[1]
    assert a.totals == b.totals


def test_shuffled_parts_are_no_parts() -> None:
    frame = households()
    frame["wage"] = frame["wage"].sample(frac=1, random_state=1).to_numpy()
    assert not profile_survey(frame).totals


def test_classes_that_overlap_are_no_classes() -> None:
    classes = pd.Series(["a", "b", "a"])
    assert class_limits(classes, np.array([1.0, 2.0, 3.0])) is None


def test_a_total_of_one_column_is_none() -> None:
    x = np.arange(50.0)
    assert parts_of_total("t", ["a", "b"], {"t": x, "a": x, "b": np.zeros(50)}) == ()


def test_many_columns_tell_what_each_tells_alone() -> None:
    rng = np.random.default_rng(1)
    weights, target = rng.gamma(2.0, size=500), rng.integers(0, 4, 500)
    columns = CodedColumns(weights)
    for j, levels in enumerate((2, 7, 1)):
        columns.add(str(j), (target + rng.integers(0, 2, 500)) % levels)

    def naive(b: np.ndarray) -> float:
        p = pd.crosstab(target, b, weights, aggfunc="sum", normalize=True).to_numpy()
        product = p.sum(axis=1, keepdims=True) * p.sum(axis=0)
        chance = (p.shape[0] - 1) * (p.shape[1] - 1) * ((weights / weights.sum()) ** 2).sum() / 2
        return max(0.0, float((p * np.log(np.where(p > 0, p / product, 1))).sum()) - 3 * chance)

    told = columns.tell(target, [0, 1, 2], slice(None))
    assert told == pytest.approx([naive(codes) for codes in columns.codes])
    assert columns.most_informative(target, 1) == ["1"]


def test_classes_come_in_one_block_each() -> None:
    codes = np.array([[0, 0, 0], [-1, 1, 0], [0, 0, -1], [1, 1, 1], [-1, 1, 1]])
    order = np.arange(5)
    assert may_be_classes(codes, order, np.ones(3, dtype=bool)).tolist() == [True, False, True]
    assert may_be_classes(codes, order, np.arange(3) > 0).tolist() == [False, False, True]


def test_codes_that_exceed_a_total_are_no_parts() -> None:
    rng = np.random.default_rng(1)
    parts = {name: np.where(rng.random(300) < 0.3, rng.gamma(2, 1e4, 300), 0) for name in "ab"}
    columns = {"total": parts["a"] + parts["b"] - 500.0, **parts, "loss": np.full(300, -500.0)}
    codes = {f"c{j}": rng.integers(1, 9, 300) * 1e4 for j in range(40)}
    names = [*parts, "loss", *codes]
    assert parts_of_total("total", names, columns | codes) == ("a", "b", "loss")


@pytest.mark.parametrize(("low", "high"), [(0.1, 0.2), (99.99, 100.01), (-7.3, -7.1), (3.0, 3.5)])
def test_the_shortest_number_lies_between(low: float, high: float) -> None:
    assert low <= shortest_between(low, high) < high


def test_an_equivalised_sum_is_one_of_the_household() -> None:
    frame = households()
    index = household_index(frame["hid"])
    scale = 1 + 0.5 * (frame["hsize"] - 1)
    values = (frame["household_income"] / scale).to_numpy()
    assert household_sum(values, frame["income"].to_numpy(), index) == "scale"
    oecd = equivalised_size(np.full(len(frame), 30.0), frame["hid"])
    assert household_sum(values, frame["income"].to_numpy(), index, oecd) == "modified"
    assert household_sum(frame["rent"].to_numpy(), frame["income"].to_numpy(), index) == ""


def test_the_demo_survey() -> None:
    profile = profile_survey(load_demo_survey().frame)
    assert profile.relation == "relation"
    assert len(profile.totals["netIncome"]) == 8
    assert profile.derived["hincome"] == {"expression": "sum(netIncome)"}
    assert profile.derived["eqIncome"] == {"expression": "sum(netIncome) / equivalised_size(age)"}
    assert profile.column("pb190").together == "first"


def test_a_survey_with_many_columns() -> None:
    profile = profile_survey(survey_data("eusilc13puf"))
    ids = ("hb030", "px030", "rx030", "pb030", "rb030", "weight", "pb040")
    assert {name: profile.column(name).use for name in ids} == dict.fromkeys(ids, "left out")
    copies = ("hx040", "px020")  # of the household size and of the age
    assert {name: profile.column(name).use for name in copies} == dict.fromkeys(copies, "derive")
    assert profile.column("hgrossIncome").together == "shared"
    assert profile.column("pgrossIncomeCat").detail == "pgrossIncome"
    assert profile.column("aktivi").use == "categorical"
    assert profile.roles["weight"] == "rb050"


def test_weights_and_households_with_names_in_german() -> None:
    frame = households()[["hid", "weight", "region", "age"]]
    german = frame.set_axis(["HaushaltsNr", "Gewicht", "region", "Alter"], axis=1)
    profile = profile_survey(german)
    assert profile.roles["weight"] == "Gewicht"
    assert profile.roles["household"] == "HaushaltsNr"
    why = {item.name: item.why for item in profile.columns}
    assert why["region"] == "named like a stratum"


def test_weights_of_persons_without_weights_of_households_are_noted() -> None:
    frame = households()
    assert next(c for c in profile_survey(frame).columns if c.name == "weight").note == ""
    frame["weight"] = np.linspace(40, 90, len(frame))
    column = next(c for c in profile_survey(frame).columns if c.name == "weight")
    assert "differs between members of a household" in column.note
    text = template_text(frame, profile_survey(frame), "survey.csv")
    assert 'household_weight = "mean of members"' in text


def test_a_code_for_no_answer_among_few_levels_is_noted() -> None:
    frame = households().assign(
        work=lambda rows: np.where(rows["age"] > 60, -9, 1 + rows["hid"] % 4)
    )
    notes = {item.name: item.note for item in profile_survey(frame).columns}
    assert "−9 may be a code for missing" in notes["work"]
    assert "code for missing" not in notes["region"]


def test_levels_that_complement_each_other_go_together() -> None:
    from synthpop.profile.association import members_depend

    rng = np.random.default_rng(4)
    first = rng.integers(0, 3, 600)
    other = np.where(rng.random(600) < 0.3, (first + 1) % 3, rng.integers(0, 3, 600))
    codes = np.column_stack([first, other]).reshape(-1)
    cells, rows = np.zeros(1200, dtype=np.int64), np.arange(0, 1200, 2)
    assert members_depend(codes, cells, (rows, rows + 1), 3)
    assert not members_depend(rng.permutation(codes), cells, (rows, rows + 1), 3)


def in_spanish() -> pd.DataFrame:
    """The made-up households under Spanish names, levels as numbers, no name for the household."""
    frame = households()
    names = {
        "hid": "v001",
        "weight": "factor",
        "age": "edad",
        "sex": "sexo",
        "relation": "parentesco",
    }
    frame = frame.rename(columns=names)
    for name in ("sexo", "parentesco"):
        frame[name] = pd.factorize(frame[name])[0] + 1
    frame["factor"] = np.linspace(40, 90, len(frame))
    return frame.drop(columns=["pid", "old_weight"])


def test_other_languages_and_codes_are_recognised() -> None:
    profile = profile_survey(in_spanish())
    assert (profile.age, profile.sex, profile.relation) == ("edad", "sexo", "parentesco")
    assert profile.roles["household"] == "v001"
    assert profile.roles["weight"] == "factor"
    assert profile.column("v001").why == "its rows follow each other, as those of a household"


def test_rows_in_any_order_show_their_household_and_other_numbers_none() -> None:
    frame = in_spanish().sample(frac=1, random_state=1)
    assert profile_survey(frame).roles["household"] == "v001"
    frame["v001"] = frame["v001"].sample(frac=1, random_state=2).to_numpy()
    assert "household" not in profile_survey(frame).roles


def test_classes_of_ages_are_no_ages() -> None:
    frame = households().rename(columns={"age": "tranche"})
    frame["age_premier_emploi"] = np.where(frame["tranche"] >= 16, 19.0, np.nan)
    assert profile_survey(frame.assign(tranche=frame["tranche"] // 10)).age is None
    assert profile_survey(frame).age == "tranche"  # by its values


def test_ages_are_found_by_their_values_and_hours_are_none() -> None:
    rng = np.random.default_rng(4)
    frame = households().rename(columns={"age": "AGEP"})
    frame["hours"] = np.where(frame["AGEP"] > 16, rng.choice([0, 20, 38, 40, 75], len(frame)), 0)
    plain = profile_survey(frame.rename(columns={"AGEP": "age"}))
    for name in ("AGEP", "x7"):
        profile = profile_survey(frame.rename(columns={"AGEP": name}))
        assert profile.age == name
        assert profile.column(name).use == "structure"
        assert profile.age_breaks == plain.age_breaks


def test_ages_in_classes_stand_in_the_structure_and_are_not_moved() -> None:
    frame = households()
    codes = frame["age"] // 10
    for name, column in (("age", codes), ("age_group", codes), ("agegrp", codes.map("{} x".format)),
                         ("age", 5 * (frame["age"] // 5))):  # fmt: skip
        data = frame.drop(columns="age").assign(**{name: column})
        profile = profile_survey(data)
        assert (profile.age, profile.column(name).use) == (name, "structure")
        assert profile.age_breaks == ()
        assert not any(item.first_age for item in profile.columns)
        text = template_text(data, profile, "survey.csv")
        assert "jitter" not in text
        assert f'predictors = ["{name}", "sex"' in text


@pytest.mark.parametrize("whole", [True, False])
def test_numbers_that_whole_households_lack_are_drawn_together(whole: bool) -> None:
    rng = np.random.default_rng(1)
    household = np.repeat(np.arange(200), 2)
    missing = np.repeat(rng.random(200) < 0.4, 2) if whole else rng.random(400) < 0.4
    frame = pd.DataFrame({"hid": household, "w": 10.0, "age": rng.integers(0, 90, 400)})
    frame["amount"] = np.where(missing, np.nan, rng.lognormal(8, 1, 400).round(2))
    profile = profile_survey(frame)
    assert profile.roles["household"] == "hid"
    assert profile.column("amount").together == ("first" if whole else None)


def villages(n: int = 120) -> pd.DataFrame:
    """Households of another language, rows in any order, codes for all, a year of birth."""
    rng = np.random.default_rng(9)
    no = np.repeat(np.arange(n), 1 + rng.poisson(3, n))
    first = np.r_[True, np.diff(no) > 0]
    age = np.where(first, rng.integers(20, 90, len(no)), rng.integers(0, 70, len(no)))
    return pd.DataFrame(
        {
            "intara": rng.integers(1, 6, n)[no],
            "no_urugo": no + 1,
            "isano": np.where(first, 1, rng.integers(2, 6, len(no))),
            "imyaka": age,
            "yavutse": 2024 - age - rng.integers(0, 2, len(no)),
            "igisenge": rng.integers(1, 4, n)[no],
            "uburemere": rng.lognormal(4, 0.4, n).round(3)[no],
            "abantu": np.bincount(no)[no],
        }
    ).sample(frac=1, random_state=1)


def test_households_ages_and_sizes_that_no_name_tells() -> None:
    profile = profile_survey(villages())
    assert profile.roles == {"household": "no_urugo", "household_size": "abantu"}
    assert profile.column("no_urugo").why.startswith("rows with the same value share others")
    assert (profile.age, profile.relation) == ("imyaka", "isano")
    assert profile.column("abantu").why == "the number of rows of the household"


def test_the_year_of_birth_stands_for_the_age() -> None:
    demo = load_demo_survey().frame[["db030", "rb050", "age", "rb090", "pl030"]]
    frame = demo.assign(age=2024 - demo["age"], year=2026).rename(
        columns={"age": "annee_naissance"}
    )
    profile = profile_survey(frame)
    assert (profile.age, profile.survey_year) == ("annee_naissance", 2026)
    assert profile.column("pl030").first_age == 18  # of 2026
    assert profile.age_breaks[0] < frame["annee_naissance"].min()
    assert profile.age_breaks[-1] == 2024
    assert profile_survey(demo).survey_year is None
    years_built = demo.drop(columns="age").assign(built=1900 + demo["db030"] % 100)
    assert profile_survey(years_built).age is None  # one value in each household


def test_a_box_that_some_have_ticked_is_a_variable() -> None:
    frame = small_frame(60)
    frame["ticked"] = np.where(np.arange(len(frame)) % 3, 1.0, np.nan)
    item = profile_survey(frame).column("ticked")
    assert (item.use, item.why) == ("categorical", "1 level")


@pytest.mark.parametrize(
    ("slope", "start", "text"),
    [(-1, 2024, "2024 - age"), (12, 0, "12 * age"), (1, -5, "age - 5"), (-2, -3, "-3 - 2 * age"),
     (0.1, 1, "0.1 * age + 1"), (1, 0, "age")],
)  # fmt: skip
def test_a_number_that_follows_from_another(slope: float, start: float, text: str) -> None:
    age = np.array([3.0, 40.0, np.nan, 81.0])
    assert linear_expression(age, slope * age + start, "age") == text
    assert linear_expression(age, age**2, "age") is None


def test_codes_within_codes_are_no_households() -> None:
    rng = np.random.default_rng(1)
    job = rng.integers(1000, 1300, 900)
    frame = pd.DataFrame({"isco4": job, "isco3": job // 10, "isco2": job // 100})
    assert "household" not in profile_survey(frame).roles


@pytest.mark.parametrize("whole", [False, True])
def test_a_number_that_may_be_the_weight_is_named(whole: bool, tmp_path) -> None:
    frame = villages()
    if whole:
        frame["uburemere"] = frame["uburemere"].round()
    frame.to_csv(tmp_path / "v.csv", index=False)
    text = starter_runfile(tmp_path / "v.csv", tmp_path)
    assert ("# It may be uburemere: name it above then, not below." in text) is not whole


def test_sex_of_eu_silc_and_the_weight_of_a_body_are_variables() -> None:
    frame = households().drop(columns="sex").rename(columns={"sex_code": "rb090"})
    rng = np.random.default_rng(2)
    for name in ("body_weight", "weight_kg"):
        frame[name] = rng.normal(70, 10, len(frame)).round(1)
    profile = profile_survey(frame)
    assert (profile.column("rb090").use, profile.sex) == ("structure", "rb090")
    assert [profile.column(x).use for x in ("body_weight", "weight_kg")] == ["continuous"] * 2
    assert profile.column("old_weight").why == "a further weight"


def test_households_are_found_where_a_file_stores_whole_numbers_as_floats() -> None:
    survey = in_spanish()
    survey["v001"] = survey["v001"].astype(float)
    assert profile_survey(survey).roles["household"] == "v001"


def test_a_column_with_the_name_of_the_household_size_that_is_none_is_left_out() -> None:
    frame = households()
    item = profile_survey(frame.assign(hsize=frame["hsize"] + 1)).column("hsize")
    assert item.use == "left out"
    assert "rename it" in item.why


def test_amounts_firms_and_small_files_are_simulated() -> None:
    rng = np.random.default_rng(3)
    firm = rng.integers(0, 60, 900)
    number = np.sort(rng.choice(40_000, 60, replace=False))
    sales = rng.permutation(np.unique(rng.lognormal(9, 1, 4000).round())[:900])
    frame = pd.DataFrame({
        "FIRM": number[firm], "firm name": pd.Series(firm).map("firm {}".format),
        "sales": sales, "cost": sales[::-1], "no": rng.permutation(900) + 1,
    })  # fmt: skip
    profile = profile_survey(frame)
    uses = [profile.column(name).use for name in frame]
    assert uses == ["structure", "derive", "continuous", "continuous", "left out"]
    few = pd.DataFrame({"a": [1, 2, 2, 3, 4, 1], "b": list("uvwwvu"), "c": [1.5, 2, 3, 4, 5, 6]})
    uses = [item.use for item in profile_survey(few).columns]
    assert uses == ["structure", "categorical", "continuous"]
