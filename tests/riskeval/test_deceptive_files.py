"""Files of which a naive measure says that they are safe: suppressed cells, copies, small strata.

Each test asserts that the reassuring number is impossible.
"""

from __future__ import annotations

import re
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import (
    Scenario,
    alpha_k_anonymity,
    assess,
    beta_likeness,
    compare,
    disco,
    intruder_scenarios,
    mahalanobis_disclosure,
    membership,
    population_uniqueness,
    protect,
    rapid,
    record_linkage,
    replicated_uniques,
    scenario_replicates,
    suda,
    t_closeness,
    tcap,
)
from riskeval.attacks.shares import excess
from riskeval.cli import main
from tests import console

call = partial(console.call, main)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riskeval.attacks.prediction.model.TREES", 10)


def test_a_suppressed_level_is_not_in_the_bytes_of_the_file(tmp_path: Path) -> None:
    jobs = pd.DataFrame({"job": pd.Categorical(["clerk"] * 5 + ["nurse"] * 5 + ["astronaut"])})
    jobs.to_parquet(tmp_path / "jobs.parquet")
    assert b"astronaut" in (tmp_path / "jobs.parquet").read_bytes()
    (tmp_path / "plan.toml").write_text(
        '[data]\nfile = "jobs.parquet"\n[roles]\nkeys = ["job"]\n'
        '[[step]]\nverb = "local_suppression"\nk = 2\n'
    )
    done = call("protect", "plan.toml", "--out", "out.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"astronaut" not in (tmp_path / "out.parquet").read_bytes()
    released = pd.read_parquet(tmp_path / "out.parquet")["job"]
    assert released.cat.categories.tolist() == ["clerk", "nurse"]


def test_a_tenth_of_missing_cells_hides_nobody() -> None:
    rng = np.random.default_rng(1)
    original = pd.DataFrame(rng.lognormal(10, 1, (100, 5)), columns=list("abcde"))
    release = original.mask(rng.random((100, 5)) < 0.1)
    assert release.isna().any(axis=1).mean() > 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for method in ("distance", "mahalanobis", "gower"):
            assert record_linkage(original, release, list("abcde"), method=method).rate > 0.99
        assert mahalanobis_disclosure(original, release, list("abcde")).rate1 > 0.99


def test_half_a_copy_gives_members_away() -> None:
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {"a": rng.choice([*"xyz"], 900), "b": rng.choice([*"xyz"], 900),
         "c": rng.normal(size=900), "d": rng.normal(size=900)}
    )  # fmt: skip
    original, fresh, strangers = (people[i : i + 300] for i in (0, 300, 600))
    half = pd.concat([original[:150], fresh[150:]])
    risk = membership(original, half, list("abcd"), holdout=strangers, seed=1)
    assert risk.excess.is_above
    assert risk.auc > 0.65


def test_a_copied_illness_is_found_for_those_who_have_it() -> None:
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(18, 90, 800), "post": rng.permutation(800) + 1000})
    people["hiv"] = rng.choice(["yes", "no"], 800, p=[0.04, 0.96])
    original, strangers = people[:400], people[400:]
    risk = rapid(
        original, original, ["age", "post"], "hiv", holdout=strangers, permutations=0, seed=1
    )
    positive = (original["hiv"] == "yes").to_numpy()
    assert 5 < positive.sum() < 40
    assert risk.per_record["at_risk"].to_numpy()[positive].all()


def test_two_blank_records_do_not_void_any_measure_of_groups() -> None:
    """Groups of three with one illness each, and a blank record with each illness."""
    groups = np.repeat(np.arange(40), 3)
    data = pd.DataFrame(
        {"group": groups.astype(float), "ill": np.where(groups % 2 == 0, "cancer", "flu")}
    )
    blank = pd.DataFrame({"group": [np.nan] * 2, "ill": ["cancer", "flu"]})
    both = pd.concat([data, blank], ignore_index=True)
    known = slice(0, len(data))
    assert (t_closeness(both, ["group"], "ill").per_record["ill"][known] > 0.49).all()
    dominated = alpha_k_anonymity(both, ["group"], "ill", alpha=0.6, k=2)
    assert dominated.largest_share == 1
    assert beta_likeness(both, ["group"], "ill").beta == pytest.approx(1, abs=0.05)
    page = assess(both, keys=["group"], sensitive="ill", measures=["l_diversity"], limits={"l": 2})
    row = page.table.set_index("number").loc["Records that violate l-diversity of ill"]
    assert row["value"] >= len(data)
    assert bool(row["within"]) is False


def test_swapped_ranks_are_not_restored_from_the_release_alone() -> None:
    """Ranks once were paired (1, 2), (3, 4), ... in each small stratum, whatever the seed."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"x": rng.lognormal(9, 1, 620), "s": np.repeat(np.arange(20), 31)})
    release = protect.rank_swap(data, ["x"], strata="s", seed=1).data
    for start in (0, 1):
        right = []
        for _, part in release.groupby("s"):
            order = part["x"].sort_values().index.to_numpy()
            guess = order.copy()
            for i in range(start, 30, 2):
                guess[[i, i + 1]] = order[[i + 1, i]]
            restored = part["x"].loc[guess].to_numpy()
            right.append((restored == data["x"].loc[order].to_numpy()).mean())
        assert np.mean(right) < 0.8


@pytest.mark.parametrize("n", [59, 101, 1001])
def test_the_largest_value_moves_or_the_note_says_so(n: int) -> None:
    data = pd.DataFrame({"x": np.random.default_rng(2).lognormal(9, 1, n)})
    stays = []
    for seed in range(20):
        result = protect.rank_swap(data, ["x"], seed=seed)
        stays.append(result.data["x"].max() == result.data["x"][data["x"].idxmax()])
        if stays[-1]:
            assert "still on its own record" in result.summary()
    assert np.mean(stays) < 0.35


def test_records_that_are_unique_on_all_keys_only_have_a_score() -> None:
    one = suda(pd.DataFrame({"id": range(50)}), ["id"])
    assert (one.score > 0).all()
    pairs = pd.DataFrame({"a": np.arange(36) // 6, "b": np.arange(36) % 6})
    both = suda(pairs, ["a", "b"])
    assert (both.smallest_msu == 2).all()
    assert (both.dis_score > 0).all()


def test_a_small_group_of_strangers_does_not_raise_alarms() -> None:
    """2,000 members and 200 strangers of whom as many are found: once 29 % false alarms."""
    rng = np.random.default_rng(3)
    alarms = [
        excess(rng.random(2000) < 0.07, rng.random(200) < 0.07, 0.95).is_above for _ in range(400)
    ]
    assert np.mean(alarms) < 0.055


def test_wrong_keys_of_a_household_cost_as_much_in_every_attack() -> None:
    """Region wrong for a tenth of households of four: 0.9 remain, and not 0.9 to the fourth."""
    home = np.repeat(np.arange(150), 4)
    people = pd.DataFrame(
        {"h": home, "region": [f"r{i}" for i in home], "ill": [f"t{i}" for i in range(600)],
         "age": np.arange(600) % 4}
    )  # fmt: skip
    people.loc[599, "region"] = "r0"  # one household is inconsistent
    asked = {"key_errors": {"region": 0.1}, "unit": "household", "household": "h"}
    keys = ["region", "age"]
    both = Scenario(keys, "ill", who="everyone", members="every", **asked)
    alone = Scenario(keys, who="everyone", **asked)
    rates = [
        replicated_uniques(people, people, alone, seed=1, draws=0).rate,
        disco(people, people, both, seed=1, draws=0).rate,
        tcap(people, people, both, seed=1, draws=0).value("DCAP"),
    ]
    found = intruder_scenarios(people, people, both, scenarios=(2,), seed=1).table
    rates.append(found.loc[found["scenario"] == 2, "rate"].iloc[0])
    assert min(rates) > 0.8
    assert max(rates) - min(rates) < 0.02


def test_all_lines_of_a_page_count_the_same_uniques() -> None:
    rng = np.random.default_rng(8)
    data = pd.DataFrame(
        {"region": rng.integers(0, 40, 400), "sex": rng.integers(0, 2, 400),
         "age": rng.integers(0, 60, 400).astype(float), "w": 50.0}
    )  # fmt: skip
    data.loc[rng.choice(400, 20, replace=False), "age"] = np.nan
    page = assess(data, keys=["region", "age", "sex"], weights="w")
    uniques = int(page.table.set_index("number").loc["Unique records", "value"])
    assert uniques > 10
    assert (page.results["suda"].n_msu > 0).sum() == uniques
    texts = [page.summary(), *page.table["note"]]
    told = {int(n) for text in texts for n in re.findall(r"(\d+) unique record", text)}
    assert told == {uniques}
    alone = {int(n) for text in texts for n in re.findall(r"(\d+) records alone in their", text)}
    assert len(alone) == 2  # of the two models, which see missing keys in their own way
    assert uniques not in alone


def test_no_page_speaks_of_tiny_numbers_or_of_nan() -> None:
    rng = np.random.default_rng(1)
    everybody = pd.DataFrame({"a": np.repeat(np.arange(4), 50), "w": 1000.0})
    text = population_uniqueness(everybody, ["a"], weights="w").summary()
    flat = pd.DataFrame({"k": [1, 1, 2, 2, 3], "y": [5.0] * 5})
    told = scenario_replicates(flat, [flat], "k", "y", seed=1).summary()
    tiny = compare(
        flat, {"same": flat.copy()}, keys=["k"], numeric=["y"], seed=1,
        sample_sizes={"model": "nearest"},
    ).summary()  # fmt: skip
    noisy = protect.add_noise(flat.assign(y=rng.normal(size=5)), ["y"], seed=1).summary()
    for words in (text, told, tiny, noisy):
        assert not re.search(r"\bnan\b|\de-\d", words)
