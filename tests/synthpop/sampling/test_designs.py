from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop.indicators import design_variance
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.roles.survey import Survey
from synthpop.sampling import (
    Balanced,
    Cluster,
    Fixed,
    Neyman,
    Power,
    ProbabilityProportionalToSize,
    Proportional,
    SimpleRandom,
    Stratified,
    Systematic,
    TwoStage,
    draw_sample,
    inclusion_probabilities_of,
    joint_probabilities_of,
    simulate_study,
)
from synthpop.sampling.draw import prepare


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    sizes = np.array([1, 2, 3, 4, 2, 1, 5, 2, 3, 1])
    n = sizes.sum()
    region = np.repeat(["n", "n", "n", "n", "s", "s", "s", "s", "s", "s"], sizes)
    return pd.DataFrame(
        {
            "hid": np.repeat(np.arange(101, 111), sizes),
            "region": pd.Categorical(region),
            "sex": np.array(["m", "f"])[rng.integers(0, 2, n)],
            "income": rng.lognormal(3, 1, n).round(2),
            "staff": rng.integers(1, 9, n),
        }
    )


HOUSEHOLDS = Cluster("hid", SimpleRandom(4))
DESIGNS = {
    "simple": SimpleRandom(6),
    "systematic": Systematic(5),
    "systematic ordered": Systematic(5, "income"),
    "unequal": ProbabilityProportionalToSize(5, "staff"),
    "unequal tille": ProbabilityProportionalToSize(5, "staff", "tille"),
    "unequal poisson": ProbabilityProportionalToSize(5, "staff", "poisson"),
    "balanced": Balanced(8, ["income"]),
    "balanced unequal": Balanced(8, ["region"], size="staff"),
    "stratified": Stratified({"n": 3, "s": SimpleRandom(4)}, by="region"),
    "stratified number": Stratified(3, by=["region", "sex"]),
    "stratified one design": Stratified(Systematic(3), by="region"),
    "proportional": Stratified(Proportional(8), by="region"),
    "neyman": Stratified(Neyman(8, "income"), by="region"),
    "power": Stratified(Power(8), by="region"),
    "fixed": Stratified(Fixed(4), by="region"),
    "households": HOUSEHOLDS,
    "households by size": Cluster("hid", ProbabilityProportionalToSize(4)),
    "households in strata": Stratified(
        Proportional(5), by="region", within=Cluster("hid", SimpleRandom(1))
    ),
    "strata of households": Cluster("hid", Stratified(Proportional(5), by="region")),
    "two stages": TwoStage(Cluster("hid", ProbabilityProportionalToSize(4)), SimpleRandom(2)),
    "two stages in strata": Stratified(
        2, by="region", within=TwoStage(Cluster("hid", SimpleRandom(1)), SimpleRandom(1))
    ),
    "regions then households": TwoStage(
        Cluster("region", SimpleRandom(1)), Cluster("hid", SimpleRandom(2))
    ),
}


def frequencies(frame: pd.DataFrame, design: object, draws: int) -> tuple[np.ndarray, np.ndarray]:
    sampler = prepare(frame.assign(row=np.arange(len(frame))), design)
    rng = np.random.default_rng(5)
    counts, totals = np.zeros(len(frame)), []
    for _ in range(draws):
        rows, p = sampler.plan.draw(rng)
        assert (np.diff(rows) > 0).all()
        counts[rows] += 1
        totals.append(np.dot(1 / p, frame["income"].to_numpy()[rows]))
    return counts / draws, np.array(totals)


def agree(frame: pd.DataFrame, name: str, draws: int) -> None:
    design = DESIGNS[name]
    share, totals = frequencies(frame, design, draws)
    p = inclusion_probabilities_of(frame, design)
    error = np.sqrt(p * (1 - p) / draws) + 1e-9
    assert np.abs((share - p) / error).max() < 4.5
    spread = totals.std() / np.sqrt(draws)
    assert abs(totals.mean() - frame["income"].sum()) < 4.5 * spread + 1e-6


@pytest.mark.parametrize("name", list(DESIGNS))
def test_inclusion_probabilities_and_totals(name: str, people: pd.DataFrame) -> None:
    agree(people, name, 250)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(DESIGNS))
def test_inclusion_probabilities_over_many_draws(name: str, people: pd.DataFrame) -> None:
    agree(people, name, 4_000 if name.startswith("balanced") else 20_000)


@pytest.mark.parametrize("name", [n for n in DESIGNS if not n.startswith("balanced")])
def test_joint_probabilities(name: str, people: pd.DataFrame) -> None:
    design = DESIGNS[name]
    joint = joint_probabilities_of(people, design)
    p = inclusion_probabilities_of(people, design)
    np.testing.assert_allclose(np.diag(joint), p, atol=1e-12)
    np.testing.assert_allclose(joint, joint.T, atol=1e-12)
    sampler = prepare(people, design)
    rng = np.random.default_rng(5)
    pairs = np.zeros_like(joint)
    for _ in range(600):
        rows, _ = sampler.plan.draw(rng)
        pairs[np.ix_(rows, rows)] += 1
    error = np.sqrt(np.maximum(joint * (1 - joint), 0) / 600) + 1e-5
    assert np.abs((pairs / 600 - joint) / error).max() < 5


def test_variance_from_joint_probabilities(people: pd.DataFrame) -> None:
    """The variance of the Horvitz-Thompson total follows from the joint probabilities."""
    for name in ("simple", "households", "stratified"):
        joint = joint_probabilities_of(people, DESIGNS[name])
        p = np.diag(joint)
        y = people["income"].to_numpy() / p
        exact = y @ (joint - np.outer(p, p)) @ y
        _, totals = frequencies(people, DESIGNS[name], 4000)
        assert totals.var() == pytest.approx(exact, rel=0.12)


def test_unknown_joint_probabilities(people: pd.DataFrame) -> None:
    for design in (Balanced(4, ["income"]), ProbabilityProportionalToSize(4, "staff", "brewer")):
        with pytest.raises(InputError, match="no known joint"):
            joint_probabilities_of(people, design)
    large = pd.DataFrame({"x": np.zeros(5001)})
    with pytest.raises(InputError, match="5,001 rows"):
        joint_probabilities_of(large, SimpleRandom(3))


def test_survey_of_whole_households(people: pd.DataFrame) -> None:
    survey = draw_sample(people, DESIGNS["households in strata"], seed=3)
    assert survey.n_households == 5
    assert survey.roles.household == "hid"
    assert survey.roles.strata == "region"
    assert survey.roles.psu == "hid"
    sizes = people.groupby("hid").size()
    drawn = survey.frame.groupby("hid").size()
    assert (drawn == sizes[drawn.index]).all()
    assert (survey.frame["design_weight"] * survey.frame["inclusion_probability"] == 1).all()
    assert survey.frame.attrs["seed"] == 3
    per_region = survey.frame.groupby("region", observed=True)["hid"].nunique()
    assert per_region.to_dict() == {"n": 2, "s": 3}


def test_roles_of_persons_and_stages(people: pd.DataFrame) -> None:
    persons = draw_sample(people, DESIGNS["stratified number"], seed=3)
    assert persons.roles.household is None
    assert persons.roles.strata == "design_stratum"
    assert set(persons.frame["design_stratum"]) == {"n / f", "n / m", "s / f", "s / m"}
    stages = draw_sample(people, DESIGNS["two stages"], seed=3)
    assert stages.roles.psu == "hid"
    assert stages.roles.household is None
    nested = draw_sample(people, DESIGNS["regions then households"], seed=3)
    assert (nested.roles.psu, nested.roles.household) == ("region", "hid")
    named = draw_sample(people, SimpleRandom(4), seed=3, household="hid")
    assert named.roles.household == "hid"


def test_arguments_are_honoured(people: pd.DataFrame) -> None:
    a = draw_sample(people, SimpleRandom(6), seed=1).frame
    assert a.equals(draw_sample(people, SimpleRandom(6), seed=1).frame)
    assert not a["income"].equals(draw_sample(people, SimpleRandom(6), seed=2).frame["income"])
    few = draw_sample(people, SimpleRandom(6), seed=1, columns=["income"])
    assert list(few.frame.columns) == ["income", "inclusion_probability", "design_weight"]
    assert few.frame["income"].tolist() == a["income"].tolist()
    fresh = draw_sample(people, SimpleRandom(6))
    again = draw_sample(people, SimpleRandom(6), seed=fresh.frame.attrs["seed"])
    assert fresh.frame.equals(again.frame)
    ordered = draw_sample(people, Systematic(8, "income"), seed=1).frame["income"]
    ranks = people["income"].rank()[people["income"].isin(ordered)].sort_values()
    assert set(np.diff(ranks)) <= {2.0, 3.0, 4.0}


def test_population_kinds(people: pd.DataFrame) -> None:
    survey = Survey(people.assign(w=3.0), weight="w")
    from_survey = draw_sample(survey, SimpleRandom(6), seed=1)
    assert from_survey.weights.sum() == pytest.approx(len(people))
    import pyarrow as pa

    table = pa.Table.from_pandas(people)
    from_arrow = draw_sample(table, SimpleRandom(6), seed=1)
    assert from_arrow.frame["income"].tolist() == from_survey.frame["income"].tolist()


class Blocks:
    """What a population on disk offers."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.whole, self.read = frame, []
        self.n_persons, self.columns = len(frame), tuple(frame.columns)

    def frame(self, columns: list[str] | None = None) -> pd.DataFrame:
        self.read.append(columns)
        return self.whole if columns is None else self.whole[columns]

    def iter_blocks(self, columns: list[str] | None = None):  # type: ignore[no-untyped-def]
        self.read.append(columns)
        whole = self.whole if columns is None else self.whole[columns]
        for start in range(0, len(whole), 10):
            yield whole.iloc[start : start + 10].reset_index(drop=True)


def test_population_on_disk_reads_what_is_needed(people: pd.DataFrame) -> None:
    blocks = Blocks(people)
    design = DESIGNS["households in strata"]
    survey = draw_sample(blocks, design, seed=3)
    pd.testing.assert_frame_equal(
        survey.frame.astype(object), draw_sample(people, design, seed=3).frame.astype(object)
    )
    assert blocks.read == [["region"], ["hid"], list(people.columns)]
    blocks = Blocks(people)
    few = draw_sample(blocks, design, seed=3, columns=["hid", "region", "income"])
    assert "sex" not in few.frame
    assert blocks.read == [["region"], ["hid"], ["hid", "region", "income"]]
    with pytest.raises(InputError, match="Did you mean 'income'"):
        draw_sample(blocks, design, columns=["incom"])


def test_study_holds_the_population(people: pd.DataFrame) -> None:
    blocks = Blocks(people)
    study = simulate_study(
        blocks,
        SimpleRandom(5),
        {"n": lambda survey: float(survey.n_persons)},
        repetitions=3,
        columns=["income"],
    )
    assert blocks.read == [["income"]]
    assert study.table["mean"].iloc[0] == 5


def test_synthetic_population_in_memory_and_on_disk(tmp_path: Path) -> None:
    import synthpop

    data = pd.DataFrame({"hid": [1, 1, 2], "w": [20.0, 20.0, 30.0], "age": [40, 9, 71]})
    fitted = synthpop.Pipeline([synthpop.Structure(["age"])]).fit(
        Survey(data, weight="w", household="hid"), seed=1
    )
    population = fitted.simulate(seed=5, key=bytes(16))
    survey = draw_sample(population, Cluster("hid", SimpleRandom(10)), seed=1)
    assert survey.n_households == 10
    assert survey.weights.sum() == pytest.approx(5 * survey.n_persons)
    written = fitted.simulate(out=tmp_path / "population", seed=5, key=bytes(16))
    again = draw_sample(written, Cluster("hid", SimpleRandom(10)), seed=1)
    assert again.frame["age"].tolist() == survey.frame["age"].tolist()


def test_unsorted_households(people: pd.DataFrame) -> None:
    mixed = people.sample(frac=1, random_state=3).reset_index(drop=True)
    survey = draw_sample(mixed, HOUSEHOLDS, seed=1)
    drawn = survey.frame.groupby("hid").size()
    assert (drawn == people.groupby("hid").size()[drawn.index]).all()


def test_neyman_takes_sums_of_households(people: pd.DataFrame) -> None:
    design = Stratified(Neyman(5, "income"), by="region", within=Cluster("hid", SimpleRandom(1)))
    totals = people.groupby(["region", "hid"], observed=True)["income"].sum()
    sd = totals.groupby("region", observed=True).std()
    units = totals.groupby("region", observed=True).size()
    p = inclusion_probabilities_of(people, design)
    share = pd.Series(p).groupby(people["region"].to_numpy()).first() * units
    wanted = 5 * units * sd / (units * sd).sum()
    assert (share - wanted).abs().max() < 1


def test_small_clusters_are_taken_whole(people: pd.DataFrame) -> None:
    survey = draw_sample(people, TwoStage(Cluster("hid", SimpleRandom(10)), SimpleRandom(3)))
    assert survey.n_persons == np.minimum(people.groupby("hid").size(), 3).sum()


def test_leaving_out_a_stratum(people: pd.DataFrame) -> None:
    survey = draw_sample(people, Stratified({"n": 0, "s": 3}, by="region"), seed=1)
    assert set(survey.frame["region"]) == {"s"}


def test_design_weights_give_valid_variances(people: pd.DataFrame) -> None:
    survey = draw_sample(people, DESIGNS["stratified"], seed=1)
    variance = design_variance(
        survey.frame["income"], survey.weights, strata=survey.frame["region"]
    )
    assert variance > 0


def test_faults(people: pd.DataFrame) -> None:
    cases = [
        (SimpleRandom(99), "there are 24 units"),
        (Systematic(99), "there are 24 units"),
        (Balanced(99, ["income"]), "there are 24 units"),
        (ProbabilityProportionalToSize(99, "staff"), "there are 24 units"),
        (ProbabilityProportionalToSize(3), "is needed"),
        (ProbabilityProportionalToSize(3, "sex"), "must be numeric"),
        (Balanced(3, ["incom"]), "Did you mean 'income'"),
        (Cluster("hidd", SimpleRandom(1)), "Did you mean 'hid'"),
        (Stratified({"n": 3}, by="region"), "'s': has no design"),
        (Stratified({"n": 3, "s": 3, "w": 1}, by="region"), "'w': is not in"),
        (Stratified({"n": 30, "s": 30}, by="region"), "30 are wanted"),
        (Stratified(3, by="regio"), "Did you mean 'region'"),
        (Cluster("hid", Stratified(1, by="sex")), "differs between the members"),
        ("simple", "is a str"),
        (Stratified(0, by="region"), "drew no unit"),
    ]
    for design, message in cases:
        with pytest.raises(InputError, match=message):
            draw_sample(people, design)
    with pytest.raises(InputError, match="is not a column"):
        draw_sample(people, SimpleRandom(1), columns=["agee"])
    holes = people.assign(region=people["region"].where(people["sex"] == "m"))
    with pytest.raises(InputError, match="stratum is missing"):
        draw_sample(holes, Stratified(1, by="region"))
    holes = people.assign(hid=people["hid"].where(people["sex"] == "m"))
    with pytest.raises(InputError, match="unit is missing"):
        draw_sample(holes, HOUSEHOLDS)
    holes = people.assign(staff=people["staff"].where(people["sex"] == "m"))
    with pytest.raises(InputError, match="size is missing"):
        draw_sample(holes, ProbabilityProportionalToSize(1, "staff"))


def test_faulty_designs() -> None:
    for make in (SimpleRandom, Systematic, lambda n: Balanced(n, ["x"])):
        with pytest.raises(InputError, match="whole number"):
            make(-1)
        with pytest.raises(InputError, match="whole number"):
            make(2.5)
    with pytest.raises(InputError, match="method"):
        ProbabilityProportionalToSize(3, "x", "best")
    with pytest.raises(InputError, match="Name the column"):
        Stratified(3)
    with pytest.raises(InputError, match="Give Cluster"):
        TwoStage(SimpleRandom(3), SimpleRandom(2))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no number n"):
        draw_sample(
            pd.DataFrame({"a": [1, 2]}), Stratified(1, by="a", within=Stratified(1, by="a"))
        )


def test_a_sample_tells_its_seed(people: pd.DataFrame) -> None:
    survey = draw_sample(people, SimpleRandom(3))
    again = draw_sample(people, SimpleRandom(3), seed=survey.frame.attrs["seed"])
    pd.testing.assert_frame_equal(survey.frame, again.frame)
    assert draw_sample(people, SimpleRandom(3), seed=7).frame.attrs["seed"] == 7
