"""Small calls of `errors` and what they return."""

from __future__ import annotations

from synthpop.microdata.messages.errors import Fault, Faults, InputError, did_you_mean


def test_example_of_faults_gathering() -> None:
    faults = Faults("simulate")
    with faults.gathering():
        raise InputError("random numbers", [Fault("seed", "must not be negative")])
    assert [fault.where for fault in faults.found] == ["seed"]


def test_example_of_faults() -> None:
    faults = Faults("survey")
    faults.add("rb050", "weight is not positive", rows=[3, 8], hint="Drop these rows.")
    assert bool(faults)


def test_example_of_did_you_mean() -> None:
    assert did_you_mean("agee", ["age", "sex"]) == "Did you mean 'age'? There are: age, sex."
