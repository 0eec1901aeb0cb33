"""Whether a hold-out holds strangers: persons who are not in the original."""

from __future__ import annotations

from riskeval.attacks.distance.files import shared_records
from riskeval.attacks.entry import AttackInput
from riskeval.attacks.request import read_request
from riskeval.attacks.shares import excess
from synthpop.microdata.errors import InputError
from synthpop.microdata.text import count, percent

CONFIDENCE = 0.99


def overlap_of(inputs: AttackInput) -> str:
    """Say that the hold-out holds records of the original, where chance does not explain it.

    The comparison is the share of original records that equal another original one.
    """
    assert inputs.holdout is not None
    names = (*inputs.keys, *inputs.targets)
    request = read_request("hold-out", names, categorical=inputs.categorical)
    try:
        shared, twins = shared_records(inputs.original, inputs.holdout, request)
    except InputError:  # columns of other types: each attack says so
        return ""
    beyond = excess(shared, twins, CONFIDENCE)
    if beyond is None or not beyond.is_above:
        return ""
    return (
        f"{count(int(shared.sum()))} of {count(len(shared))} records of the hold-out equal a "
        f"record of the original in every key and target, where {percent(twins.mean(), 1)} do by "
        "chance, so that they are no strangers"
    )
