"""The search for plans: honest results, the same for the same number, every argument honoured."""

import time

import numpy as np
import pandas as pd
import pytest

from riskeval import InputError, ProtectionSession, search_plans
from riskeval.session.candidates import key_recodings
from riskeval.session.loss import category_loss, number_loss, role_losses
from riskeval.session.measure import records_below
from riskeval.session.roles import SessionRoles
from tests.reference_data import survey_data


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    return pd.DataFrame(
        {
            "region": rng.choice([*"ABCDE"], n, p=[0.5, 0.3, 0.15, 0.03, 0.02]),
            "age": rng.integers(0, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "income": rng.lognormal(9, 1, n).round(),
        }
    )


def started(people: pd.DataFrame, **roles) -> ProtectionSession:
    return ProtectionSession(people, keys=["region", "age", "sex"], **roles)


@pytest.fixture(scope="module")
def result(people):
    return search_plans(started(people, numeric=["income"]), limits={"k": 3}, plans=36, seed=1)


def test_the_same_number_of_plans_gives_the_same_result_whatever_the_time(people, result):
    again = search_plans(
        started(people, numeric=["income"]), limits={"k": 3}, plans=36, seconds=1e6, seed=1
    )
    hurried = search_plans(
        started(people, numeric=["income"]), limits={"k": 3}, plans=36, seconds=1e-9, seed=1
    )
    assert hurried.tried == 1
    pd.testing.assert_frame_equal(again.plans, result.plans)
    assert again.steps == result.steps
    assert result.tried == 36
    assert not result.finished


def test_a_plan_taken_by_a_session_is_what_the_search_measured(people, result):
    session = result.apply(started(people, numeric=["income"]))
    row = result.plans.set_index("plan").loc[result.best]
    assert [step.verb for step in session.steps] == [s.verb for s in result.steps[result.best]]
    risk = session.risk().table["current"]
    assert risk["expected_reidentifications"] == row["expected_reidentifications"]
    assert risk["interval_disclosure"] == row["interval_disclosure"]
    assert records_below(people, session.data, session.roles, 3) == 0
    losses = role_losses(people, session.data, session.roles)
    assert np.mean([*losses.values()]) == pytest.approx(row["loss"])


def test_no_plan_of_the_front_is_beaten_by_another(result):
    front = result.to_frame()
    assert len(front) > 3
    for row in front.itertuples():
        beats = (result.plans["risk"] <= row.risk) & (result.plans["loss"] <= row.loss)
        strictly = (result.plans["risk"] < row.risk) | (result.plans["loss"] < row.loss)
        assert not (beats & strictly).any()


def test_within_means_that_every_limit_holds(people):
    limits = {"k": 3, "cells_lost": 0.2, "expected_reidentifications": 40, "loss": 0.6}
    found = search_plans(started(people), limits=limits, plans=36, seed=1).plans
    expected = (
        (found["below_k"] == 0)
        & (found["cells_lost"] <= 0.2)
        & (found["expected_reidentifications"] <= 40)
        & (found["loss"] <= 0.6)
    )
    assert found["within"].tolist() == expected.tolist()
    assert found["within"].any()
    assert not found["within"].all()


@pytest.mark.parametrize(
    ("name", "limit"),
    [("smallest_l", 2), ("beta_likeness", 9), ("dis_suda", 0.001), ("t_closeness: ill", 0.4)],
)  # fmt: skip
def test_every_number_of_the_risks_of_a_session_can_be_a_limit(people, name, limit):
    ill = np.where(people["income"] > people["income"].median(), "yes", "no")
    session = started(people.assign(ill=ill), sensitive=["ill"])
    result = search_plans(session, limits={name: limit}, plans=4, seed=1)
    (number,) = result.limits
    values = result.plans[number]
    expected = values >= limit if name == "smallest_l" else values <= limit
    assert result.plans["within"].tolist() == expected.tolist()
    assert number in session.risk().table.index


def test_the_search_ends_by_itself_and_says_so(people):
    small = people.assign(age=people["age"] // 45)
    keys = ["region", "sex"]
    done = search_plans(ProtectionSession(small, keys=keys), limits={"k": 2}, seconds=600)
    assert done.finished
    assert done.best is not None


def test_time_ends_the_search(people):
    short = search_plans(started(people, numeric=["income"]), seconds=1e-9, seed=1)
    assert short.tried == 1
    assert not short.finished
    assert len(short.plans) == 1  # the file as it is


def test_recodings_of_the_user_are_the_only_ones_of_their_key(people):
    chosen = {"age": [[0, 17, 64, np.inf]], "region": [{"other": ["D", "E"]}], "sex": []}
    found = search_plans(started(people), plans=36, recodings=chosen, seed=1)
    texts = " ".join(found.plans["steps"])
    assert "[0, 17, 64, float('inf')]" in texts
    assert "{'other': ['D', 'E']}" in texts
    assert texts.count("breaks=") == texts.count("[0, 17, 64, float('inf')]")
    assert texts.count("groups=") == texts.count("{'other': ['D', 'E']}")


def test_the_seed_decides_what_noise_is_drawn(people, result):
    other = search_plans(started(people, numeric=["income"]), plans=36, seed=2)
    drawn = {
        seed: {step.seed for steps in one.steps.values() for step in steps if step.seed}
        for seed, one in ((1, result), (2, other))
    }
    assert drawn[1]
    assert not drawn[1] & drawn[2]


def test_progress_is_told_after_each_plan(people):
    told = []
    search_plans(started(people), plans=5, progress=lambda n, seconds: told.append((n, seconds)))
    assert [n for n, _ in told] == [1, 2, 3, 4, 5]
    assert all(seconds >= 0 for _, seconds in told)


def test_plans_go_on_from_the_current_file_and_leave_the_session_alone(people):
    session = started(people)
    session.global_recode("age", breaks=[0, 29, 59, np.inf])
    before = session.data
    found = search_plans(session, plans=20, seed=1)
    pd.testing.assert_frame_equal(session.data, before)
    assert len(session.steps) == 1
    taken = found.apply(session)
    assert taken.steps[0].verb == "global_recode"
    assert len(taken.steps) == 1 + len(found.steps[found.best])


def test_all_faults_of_a_call_are_named_at_once(people):
    with pytest.raises(InputError) as caught:
        search_plans(
            started(people), limits={"k": 1, "loss": -1, "bellow_3": 0}, seconds=0, plans=0,
            recodings={"income": []},
        )  # fmt: skip
    text = str(caught.value)
    for part in ("seconds", "plans", "k", "loss", "bellow_3", "income"):
        assert part in text


def test_a_plan_that_does_not_exist_is_refused(people, result):
    with pytest.raises(InputError, match="was not tried"):
        result.apply(started(people), plan=10_000)


def test_the_picture_shows_the_front(result):
    axes = result.figure().get_axes()[0]
    numbers = {text.get_text() for text in axes.texts}
    assert numbers == {str(plan) for plan in result.to_frame()["plan"]}


def test_recodings_go_from_fine_to_coarse(people):
    for name in ("region", "age"):
        losses = []
        for verb, arguments in key_recodings(people[name]):
            session = ProtectionSession(people, keys=["region", "age"])
            session.apply(verb, **arguments)
            losses.append(category_loss(people[name], session.data[name]))
        assert losses
        assert losses == sorted(losses)


def test_losses_lie_between_nothing_and_everything(people):
    roles = SessionRoles(("region", "age"), ("income",))
    assert set(role_losses(people, people, roles).values()) == {0.0}
    gone = people.assign(region=None, age=None, income=np.nan)
    assert role_losses(people, gone, roles) == {"region": 1.0, "age": 1.0, "income": 1.0}
    assert number_loss(people["income"], people["income"].sample(frac=1, random_state=1)) > 0.5


def test_testdata_is_safe_with_less_than_one_percent_of_the_cells_lost():
    data = survey_data("testdata")
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    session = ProtectionSession(
        data, keys=keys, numeric=["expend", "income", "savings"], household="ori_hid",
        weights="sampling_weight",
    )  # fmt: skip
    found = search_plans(session, limits={"k": 3, "cells_lost": 0.01}, plans=12, seed=1)
    best = found.plans.set_index("plan").loc[found.best]
    assert best["below_k"] == 0
    assert best["cells_lost"] < 0.01
    protected = found.apply(session)
    assert records_below(data, protected.data, protected.roles, 3) == 0


@pytest.mark.slow
def test_the_survey_of_testdata_passes_within_two_minutes():
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    session = ProtectionSession(
        survey_data("testdata"), keys=keys, numeric=["expend", "income", "savings"],
        weights="sampling_weight", household="ori_hid",
    )  # fmt: skip
    started_at = time.process_time()
    found = search_plans(session, limits={"k": 3, "cells_lost": 0.01}, seconds=600, seed=1)
    assert time.process_time() - started_at < 2 * 120  # two minutes of two cores, busy or not
    best = found.plans[found.plans["plan"] == found.best].iloc[0]
    assert best["within"]
    assert best["cells_lost"] < 0.01
    assert found.plans["front"].sum() >= 20
    for step in found.steps[found.best]:
        session.apply(step.verb, **dict(step.parameters))
    changed = session.current_frame()
    assert records_below(session.original_frame, changed, session.roles, 3) == 0


def test_limits_on_sensitive_variables_are_enforced_by_several_verbs(people):
    rng = np.random.default_rng(2)
    ill = rng.choice(["no", "flu", "rare"], len(people), p=[0.7, 0.2, 0.1])
    session = started(people.assign(age=people["age"] // 10, ill=ill), sensitive=["ill"])
    assert session.risk().table.loc["smallest_l: ill", "original"] < 2
    limits = {"k": 3, "smallest_l": 2, "t_closeness": 0.5}
    result = search_plans(session, limits=limits, plans=3, seed=1)
    verbs = {steps[-1].verb: steps[-1].parameters["targets"] for steps in result.steps.values()}
    assert verbs["mondrian"] == {"distinct_l: ill": 2, "t: ill": 0.5} == verbs["local_recoding"]
    assert verbs["local_suppression"]["visible t: ill"] == 0.5
    current = result.apply(session).risk().table["current"]
    assert current["smallest_l: ill"] >= 2
    assert current["t_closeness: ill"] <= 0.5
