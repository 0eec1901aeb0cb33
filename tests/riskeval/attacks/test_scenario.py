from __future__ import annotations

import math
import tomllib

import pytest

from riskeval.attacks.scenario import ACCURACY, Scenario, to_scenario
from synthpop.microdata.messages.errors import InputError


def full() -> Scenario:
    return Scenario(
        ["region", "age"], ["income", "status"], key_errors={"age": 0.1}, coverage=0.5,
        unit="household", household="id", who="everyone", rows="rich", accuracy=0.05,
        categorical="status", members="every",
    )  # fmt: skip


def fault(*args: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        Scenario(*args, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_single_names_and_numbers_become_tuples() -> None:
    plain = Scenario("region", "income", accuracy=0.1)
    assert (plain.keys, plain.targets, plain.accuracy) == (("region",), ("income",), (0.1,))
    assert Scenario(["a"]).accuracy == ACCURACY
    assert Scenario(["a", "b"], key_errors={"b": 0.2}).errors == {"a": 0.0, "b": 0.2}


def test_equal_records_are_equal_and_can_be_keys() -> None:
    assert full() == full()
    assert len({full(), full(), Scenario("region")}) == 2
    with pytest.raises(AttributeError):
        full().coverage = 1.0  # type: ignore[misc]


def test_tables_of_toml_and_back() -> None:
    text = """
    keys = ["region", "age"]
    targets = ["income", "status"]
    key_errors = {age = 0.1}
    coverage = 0.5
    unit = "household"
    household = "id"
    who = "everyone"
    rows = "rich"
    accuracy = [0.05]
    categorical = ["status"]
    members = "every"
    """
    table = tomllib.loads(text)
    assert Scenario.from_dict(table) == full()
    assert full().to_dict() == table
    assert Scenario("a").to_dict() == {"keys": ["a"]}
    with pytest.raises(InputError, match="Did you mean 'coverage'"):
        Scenario.from_dict({"keys": ["a"], "covrage": 0.5})
    with pytest.raises(InputError, match="no key is given"):
        Scenario.from_dict({})


def test_story_tells_every_field() -> None:
    text = full().story()
    for part in (
        "knows region and age of every person in a register of 50 % of the population",
        "age is wrong for 10 %",
        "all households of the sample with a member for whom rich is true",
        "want income and status",
        "within 5 % of the true value",
        "a category when it is the true one",
        "a household counts when this is so for every member",
    ):
        assert part in text
    plain = Scenario("region", "status", categorical="status").summary()
    assert plain == (
        "The intruder knows region of every person of the sample. They look for persons of the "
        "sample with whom nobody else in it shares these keys. They want status; a category "
        "counts as found when it is the true one."
    )
    assert "They want" not in Scenario("region").story()
    only = Scenario("a", unit="household", household="id", rows="r").story()
    assert "with whom no other household in it shares these keys" in only


def test_all_faults_at_once() -> None:
    text = fault(
        ["a", "a"], ["a", "y"], key_errors={"b": 0.1, "a": 1.0}, coverage=0.0, unit="house",
        who="nobody", rows="", accuracy=(2, True, "x"), categorical="z", members="most",
    )  # fmt: skip
    for part in (
        "'a' is given 2 times", "'a' is also a key", "'b' is not a key", "1.0 of 'a'",
        "0.0 is not a share", "'house' is not allowed", "'nobody' is not allowed",
        "rows: '' is not the name", "2 is not a number between 0 and 1",
        "True is not a number", "'x' is not a number", "'z' is not a target",
        "'most' is not allowed",
    ):  # fmt: skip
        assert part in text


@pytest.mark.parametrize("coverage", [0, -0.1, 1.1, "all", True, math.nan])
def test_coverage_outside_its_range(coverage: object) -> None:
    assert "is not a share" in fault("a", coverage=coverage)


def test_single_faults() -> None:
    assert "no key is given" in fault([])
    assert "is not the name of a column" in fault([3])
    assert "no accuracy" in fault("a", accuracy=())
    assert "given twice" in fault("a", accuracy=(0.1, 0.1))
    assert "not keys with probabilities" in fault("a", key_errors=0.1)
    assert "is needed for attacks on households" in fault("a", unit="household")
    assert "no effect on attacks on persons" in fault("a", household="id")
    assert "no effect on attacks on persons" in fault("a", members="every")
    assert "is also a key or a target" in fault("a", unit="household", household="a")


def test_errors_of_zero_are_no_errors() -> None:
    assert Scenario("a", key_errors={"a": 0}) == Scenario("a")


class TestToScenario:
    def test_keys_and_target_or_a_scenario(self) -> None:
        made = to_scenario("tcap", ["a"], "y", accuracy=0.1)
        assert made == Scenario("a", "y", accuracy=0.1)
        assert to_scenario("tcap", made) is made
        assert to_scenario("repU", "a").targets == ()

    def test_nothing_is_given_twice(self) -> None:
        with pytest.raises(InputError, match="2 faults") as caught:
            to_scenario("tcap", Scenario("a", "y"), "y", accuracy=0.1)
        assert "accuracy: is given beside a Scenario" in str(caught.value)

    def test_fields_that_a_measure_does_not_honour(self) -> None:
        with pytest.raises(InputError, match=r"coverage: 0\.5 of the Scenario has no part"):
            to_scenario("tcap", Scenario("a", "y", coverage=0.5), honoured=("who",))
        assert to_scenario("tcap", full(), honoured=tuple(full().to_dict())) == full()

    def test_number_of_targets(self) -> None:
        with pytest.raises(InputError, match="2 targets are given, 1 wanted"):
            to_scenario("tcap", ["a"], ["x", "y"], n_targets=1)
        assert to_scenario("tcap", ["a"], ["x", "y"], n_targets=2).targets == ("x", "y")

    def test_faults_are_told_in_the_name_of_the_measure(self) -> None:
        with pytest.raises(InputError, match=r"^tcap: 1 fault"):
            to_scenario("tcap", [], "y")
