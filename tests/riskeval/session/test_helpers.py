"""Small worked cases of the functions below a session."""

import math

import numpy as np
import pandas as pd

from riskeval.session.candidates import key_endings, key_recodings, number_treatments
from riskeval.session.loss import category_loss, number_loss, role_losses
from riskeval.session.measure import in_released_levels
from riskeval.session.roles import SessionRoles, fill_from_roles
from riskeval.session.running import prepare_step
from riskeval.session.steps import from_json, plain, source, to_json


def test_roles_fill_the_arguments_of_a_verb():
    roles = SessionRoles(("age",))
    assert fill_from_roles("mondrian", {"k": 3}, ["keys", "k"], roles) == {"k": 3, "keys": ["age"]}
    assert (
        str(prepare_step(roles, "mondrian", parameters={"k": 3})) == "mondrian(keys=['age'], k=3)"
    )


def test_a_recoded_column_of_the_original_has_the_levels_of_the_file():
    before = pd.DataFrame({"age": [31, 33, 50]})
    after = pd.DataFrame({"age": ["young", "young", None]})
    assert in_released_levels(before, after, ["age"])["age"].tolist() == ["young", "young", 50]


def test_what_a_search_tries():
    sizes = [arguments["k"] for _, arguments in key_endings(3, {})]
    assert sizes == [3, 4, 5, 6, 8, 10, 15, 20, 30]
    assert len(number_treatments([], {})) == 1
    assert number_treatments(["income"], {})[1] == [("add_noise", {"level": 0.0025})]
    verb, arguments = key_recodings(pd.Series(range(80), name="age"))[0]
    assert verb == "global_recode"
    assert arguments["breaks"][:3] + arguments["breaks"][-2:] == [0, 4, 9, 74, math.inf]


def test_losses_of_columns():
    before = pd.DataFrame({"sex": [*"mfmf"], "income": [1.0, 2.0, 3.0, 4.0]})
    after = pd.DataFrame({"sex": [*"mmmm"], "income": [1.5, 1.5, 3.5, 3.5]})
    roles = SessionRoles(("sex",), ("income",))
    assert role_losses(before, after, roles) == {"sex": 1.0, "income": 0.5}
    assert category_loss(pd.Series([1, 2, 3, 4]), pd.Series(["1-2", "1-2", "3-4", "3-4"])) == 0.5
    assert number_loss(pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0, None, 3.5])) == 0.25


def test_values_of_a_step_as_data_and_as_source():
    recorded = plain("x", {"a": np.array([1, 2]), "b": (None, np.float64(0.5))})
    assert recorded == {"a": [1, 2], "b": [None, 0.5]}
    assert from_json(to_json({1: [math.inf, "a"]})) == {1: [math.inf, "a"]}
    assert source({"breaks": [0, math.inf]}) == "{'breaks': [0, float('inf')]}"
