"""Every release of the corpus of deceptions is objected to, and the finding is named."""

from __future__ import annotations

from typing import Any

import pytest

from riskeval import assess, assess_synthetic, compare
from riskeval.verdict.verdict import CLEAR, ReleaseVerdict
from tests.riskeval.verdict.corpus import AMOUNTS, COARSE, KEYS, SENSITIVE, original, strangers
from tests.riskeval.verdict.deceptions import FILES, RELEASES, SYNTHETIC

MEASURES = ["k_anonymity", "recovery", "individual_risk", "population_risk",
            "l_diversity", "amount_groups"]  # fmt: skip
QUICK = ["disco", "fewer_keys", "copies", "distance_screen", "membership", "tcap"]
FIRST = ("the original, shuffled", "regions relabelled", "labels permuted", "amounts in cents")


def file_roles(name: str) -> dict[str, Any]:
    """Roles of the columns of a deceptive file."""
    many = name.startswith("thousands")
    return {
        "keys": [*COARSE, "educ"] if many else COARSE, "weights": "w",
        "sensitive": [] if many else ["ill"],
        "household": "hid" if name.startswith("one household") else None,
    }  # fmt: skip


def assessed(name: str) -> ReleaseVerdict:
    return assess(FILES[name][0](), measures=MEASURES, **file_roles(name)).verdict


def attacked(name: str, **options: object) -> ReleaseVerdict:
    return assess_synthetic(
        original(), SYNTHETIC[name][0](), KEYS, [*SENSITIVE, *AMOUNTS], holdout=strangers(), seed=1,
        categorical=["educ"], **options,
    ).verdict  # fmt: skip


def compared(name: str) -> ReleaseVerdict:
    return compare(
        original(), {"release": RELEASES[name][0]()}, keys=KEYS, numeric=AMOUNTS,
        sensitive=SENSITIVE, seed=1, sample_sizes={"model": "nearest"},
    ).verdicts["release"]  # fmt: skip


def check(verdict: ReleaseVerdict, finding: str) -> None:
    assert verdict.level != CLEAR
    assert verdict.evidence
    names = [one.name for one in verdict.evidence]
    assert not finding or finding in names, names


@pytest.mark.parametrize("name", FILES)
def test_a_deceptive_file_is_named(name: str) -> None:
    check(assessed(name), FILES[name][1])


@pytest.mark.parametrize("name", FIRST)
def test_the_first_deceptive_synthetic_files_are_named(name: str) -> None:
    check(attacked(name, attacks=QUICK), SYNTHETIC[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", SYNTHETIC)
def test_a_deceptive_synthetic_file_is_named(name: str) -> None:
    check(attacked(name), SYNTHETIC[name][1])


@pytest.mark.parametrize("name", ["the original, shuffled", "exact amounts on fresh keys"])
def test_the_first_deceptive_releases_are_named(name: str) -> None:
    check(compared(name), RELEASES[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_a_deceptive_release_is_named(name: str) -> None:
    check(compared(name), RELEASES[name][1])


def test_the_corpus_has_eighty_deceptions() -> None:
    assert len(FILES) + len(SYNTHETIC) + len(RELEASES) >= 80
