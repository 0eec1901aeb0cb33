"""Attack the attacks: every one of the registry on files that give persons away, and on fair ones.

A new attack that is registered is in all of these tests. Files that it is blind to by its nature
are named in its entry (`blind_to`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from riskeval.attacks.assess_synthetic import assess_synthetic
from riskeval.attacks.distance.closest_record import IDENTICAL
from riskeval.attacks.entry import AttackEntry
from riskeval.attacks.numbers import AttackNumber
from riskeval.attacks.registry import ATTACKS
from riskeval.attacks.shares import Excess
from riskeval.attacks.synthetic_risk import SyntheticRisk
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.frames import is_number

CLOSE = 0.01
"""Gower distance at which the naive intruder takes two records for the same person's."""
NEAR = 0.6
"""Share of the naive intruder's success that every attack must reach."""
SEARCHED = ("singling_out", "linkability")
"""Attacks whose success is a share of conditions, or by half of the columns: it must be clear."""
SMALL = 0.15
"""Success beyond strangers that a file of this size need not show clearly."""


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riskeval.attacks.prediction.model.TREES", 10)


def draw(kind: str, unit: str, n: int, seed: int) -> pd.DataFrame:
    """Draw persons of one country; households are pairs who share nothing but their number."""
    rng = np.random.default_rng(seed)
    if kind == "continuous":
        frame = pd.DataFrame(rng.normal(5, 1, (n, 3)), columns=["k1", "k2", "k3"])
        frame["target"] = np.exp(rng.normal(7, 1, n))
    elif kind == "mixed":
        frame = pd.DataFrame(
            {
                "k1": rng.integers(18, 90, n),
                "k2": rng.choice(["f", "m"], n),
                "k3": rng.choice([f"r{i}" for i in range(9)], n),
                "target": np.exp(rng.normal(7, 1, n)),
            }
        )
    else:
        frame = pd.DataFrame(
            {
                "k1": rng.choice([f"a{i}" for i in range(12)], n),
                "k2": rng.choice([f"b{i}" for i in range(12)], n),
                "k3": rng.choice([f"c{i}" for i in range(12)], n),
                "target": rng.choice([f"t{i}" for i in range(8)], n),
            }
        )
    if unit == "household":
        frame["h"] = np.arange(n) // 2
    return frame


KEYS = ["k1", "k2", "k3"]
ALL = [*KEYS, "target"]


def half(original: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    n = len(original) // 4 * 2  # whole households
    both = pd.concat([original.iloc[:n], fresh.iloc[n:]], ignore_index=True)
    return both.assign(h=np.arange(len(both)) // 2) if "h" in both else both


def holes(original: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    release = original.copy()
    for i in range(len(release)):
        column = ALL[i % 4]
        if release[column].dtype.kind == "i":
            release[column] = release[column].astype(float)
        release.loc[i, column] = np.nan if is_number(release[column]) else None
    return release


def noise(original: pd.DataFrame, fresh: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(99)
    release = original.copy()
    for column in ALL:
        if release[column].dtype == float:
            release[column] *= 1 + rng.normal(0, 0.001, len(release))
    return release


RELEASES = {"copy": lambda original, fresh: original, "half": half, "holes": holes, "noise": noise}


def files(kind: str, unit: str, n: int, seed: int) -> tuple[pd.DataFrame, ...]:
    return tuple(draw(kind, unit, n, 10 * seed + part) for part in (1, 2, 3))


def attack_all(
    kind: str, unit: str, release: pd.DataFrame, original: pd.DataFrame, strangers: pd.DataFrame,
    seed: int = 1,
) -> SyntheticRisk:  # fmt: skip
    household = "h" if unit == "household" else None
    return assess_synthetic(
        original, release, KEYS, "target", holdout=strangers, household=household, seed=seed
    )


# --- the naive intruder -----------------------------------------------------------------------


def distances(people: pd.DataFrame, release: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Gower distances over the variables that both have, holes of the release last of equals."""
    total, compared = np.zeros((len(people), len(release))), np.zeros((1, len(release)))
    for name in names:
        known = release[name].notna().to_numpy()
        if not is_number(people[name]):
            gap = people[name].to_numpy()[:, None] != release[name].to_numpy()[None]
        else:
            values = release[name].to_numpy(float)
            gap = np.abs(people[name].to_numpy(float)[:, None] - values[None])
            gap = gap / np.ptp(people[name].to_numpy(float))
        total += np.where(known, gap, 0.0)
        compared += known
    return total / np.maximum(compared, 1) + 1e-6 * (len(names) - compared)


def naive_success(people: pd.DataFrame, release: pd.DataFrame, certain: bool = False) -> np.ndarray:
    """Whether the nearest released record that has a target has the right one (within 5 %).

    Of several equally near ones the share that has; if `certain`, whether all have.
    """
    known = release[release["target"].notna()].reset_index(drop=True)
    if len(known) == 0:
        return np.zeros(len(people))
    gap = distances(people, known, KEYS)
    nearest = gap <= gap.min(axis=1, keepdims=True) + 1e-9
    truth, answer = people["target"].to_numpy(), known["target"].to_numpy()
    if not is_number(people["target"]):
        right = truth[:, None] == answer[None]
    else:
        right = np.abs(truth[:, None] - answer[None]) <= 0.05 * np.abs(truth[:, None])
    share = (right & nearest).sum(axis=1) / nearest.sum(axis=1)
    return (share == 1).astype(float) if certain else share


def in_groups(frame: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Amounts among the keys in tenths of the original, as attacks that match keys see them."""
    frame = frame.copy()
    for key in KEYS:
        if like[key].dtype == float:
            cuts = np.quantile(like[key], np.arange(1, 10) / 10)
            group = pd.Series(np.searchsorted(cuts, frame[key]).astype(str), index=frame.index)
            frame[key] = group.where(frame[key].notna())
    return frame


def naive_alone(people: pd.DataFrame, release: pd.DataFrame) -> np.ndarray:
    """Whether exactly one released record matches the keys of somebody unique, the own one."""
    gap = distances(people, release, KEYS)
    nearest = gap <= gap.min(axis=1, keepdims=True) + 1e-9
    unique = ~people.duplicated(KEYS, keep=False).to_numpy()
    return (unique & (nearest.sum(axis=1) == 1) & (gap.min(axis=1) < CLOSE)).astype(float)


def naive_match(people: pd.DataFrame, release: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Whether some released record is the person's own as far as it tells."""
    return (distances(people, release, names).min(axis=1) < CLOSE).astype(float)


def naive_auc(members: np.ndarray, others: np.ndarray) -> float:
    more = (members[:, None] < others[None]).mean() + (members[:, None] == others[None]).mean() / 2
    return float(more)


def naive_excess(
    entry: AttackEntry, release: pd.DataFrame, original: pd.DataFrame, strangers: pd.DataFrame
) -> dict[str, float]:
    """What the naive intruder gets beyond strangers: as a share, and as an area minus one half."""
    if entry.exact_keys:
        like = original
        release, original, strangers = (
            in_groups(it, like) for it in (release, original, strangers)
        )
    people = original, strangers
    if entry.target != "none":
        # an amount is believed by the scenarios where all matches agree
        amounts = entry is ATTACKS["scenarios"] and is_number(original["target"])
        certain = entry is ATTACKS["disco"] or amounts
        success = [naive_success(it, release, certain).mean() for it in people]
        return {"share": success[0] - success[1], "area": (success[0] - success[1]) / 2}
    if entry.name in SEARCHED:
        return {"share": 0.0, "area": 0.0}
    if entry is ATTACKS["replicated_uniques"]:
        alone = [naive_alone(it, release).mean() for it in people]
        return {"share": alone[0] - alone[1], "area": (alone[0] - alone[1]) / 2}
    match = [naive_match(it, release, ALL) for it in people]
    near = [distances(it, release, ALL).min(axis=1) for it in people]
    area = naive_auc(near[0].round(9), near[1].round(9)) - 0.5
    return {"share": match[0].mean() - match[1].mean(), "area": area}


# --- files that give persons away -------------------------------------------------------------


def blind_attacks(kind: str, unit: str, release_name: str) -> list[str]:
    """Attacks that miss what the naive intruder finds."""
    n = 240 if unit == "person" else 320
    original, fresh, strangers = files(kind, unit, n, 1)
    release = RELEASES[release_name](original, fresh)
    risk = attack_all(kind, unit, release, original, strangers)
    missed = []
    for name, entry in ATTACKS.items():
        if release_name in entry.blind_to:
            continue
        rows = risk.table[(risk.table["attack"] == name) & risk.table["excess"].notna()]
        expected = naive_excess(entry, release, original, strangers)
        wanted = NEAR * expected["area" if (rows["against"] == "guessing").any() else "share"]
        reached = rows["excess"].max() if len(rows) else -1.0
        is_clear = (rows["excess_lower"] > 0).any() or (
            wanted < NEAR * SMALL and name not in SEARCHED
        )
        if not is_clear or reached < wanted:
            missed.append(f"{name}: {reached:.3f} of {wanted / NEAR:.3f}")
    return missed


@pytest.mark.parametrize(
    ("kind", "unit", "release"),
    [  # each release and each kind, of persons or households; the rest is slow
        pytest.param(kind, unit, release, marks=[pytest.mark.slow] * ((k + 2 * r + 3 * u) % 6 > 0))
        for k, kind in enumerate(["continuous", "mixed", "categorical"])
        for u, unit in enumerate(["person", "household"])
        for r, release in enumerate(RELEASES)
    ],
)
def test_every_attack_sees_what_a_naive_intruder_sees(kind: str, unit: str, release: str) -> None:
    assert blind_attacks(kind, unit, release) == []


def test_the_first_line_of_a_copy_is_an_alarm() -> None:
    original, _, strangers = files("mixed", "person", 200, 1)
    risk = attack_all("mixed", "person", original, original, strangers)
    first = risk.summary().splitlines()[0]
    assert first.startswith("Do not publish this file: 100.0 % of the synthetic records equal")
    assert "it tells more about persons of the original than about strangers" in first
    assert len(risk.above_together) >= 6


# --- a new attack is in the test without anybody remembering -----------------------------------


def dummy(difference: float, lower: float) -> AttackEntry:
    """An attack that finds the same in every file."""
    beyond = Excess(difference, 0.0, difference, lower, 1.0, 100, 100, 0.95)
    number = AttackNumber(Measurement(IDENTICAL, 0.5), "strangers", beyond)
    return replace(
        ATTACKS["distance_screen"], title="Dummy", run=lambda given, target: "result",
        numbers=lambda result: [number],
    )  # fmt: skip


def test_a_registered_attack_that_sees_nothing_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTACKS, "dummy", dummy(0.0, -0.1))
    assert [text.split(":")[0] for text in blind_attacks("mixed", "person", "copy")] == ["dummy"]


def test_a_registered_attack_that_always_cries_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTACKS, "dummy", dummy(0.9, 0.8))
    assert too_many_alarms("categorical", "person", range(3)) == {"dummy": 3}


# --- fair files ---------------------------------------------------------------------------------

QUICK = range(4)
SLOW = range(200)


def alarms(kind: str, unit: str, seeds: range) -> dict[str, int]:
    """In how many of the seeds each attack finds more about the original than about strangers."""
    count = dict.fromkeys(ATTACKS, 0)
    for seed in seeds:
        original, fresh, strangers = files(kind, unit, 120, 5000 + seed)
        table = attack_all(kind, unit, fresh, original, strangers, seed).table
        for name in count:
            count[name] += bool((table.loc[table["attack"] == name, "excess_lower"] > 0).any())
    return count


def too_many_alarms(kind: str, unit: str, seeds: range) -> dict[str, int]:
    """Attacks with more false alarms than 2.5 % and four standard errors of it (or two) allow."""
    n = len(seeds)
    allowed = max(2.0, 0.025 * n + 4 * np.sqrt(n * 0.025 * 0.975))
    return {name: count for name, count in alarms(kind, unit, seeds).items() if count > allowed}


@pytest.mark.parametrize(("kind", "unit"), [("mixed", "household"), ("categorical", "person")])
def test_fair_files_raise_few_alarms(kind: str, unit: str) -> None:
    assert too_many_alarms(kind, unit, QUICK) == {}


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["person", "household"])
@pytest.mark.parametrize("kind", ["continuous", "mixed", "categorical"])
def test_false_alarms_at_the_stated_level(kind: str, unit: str) -> None:
    assert too_many_alarms(kind, unit, SLOW) == {}


def test_the_naive_intruder_finds_everybody_in_a_copy() -> None:
    for kind in ("continuous", "mixed", "categorical"):
        original, _, strangers = files(kind, "person", 200, 1)
        assert naive_success(original, original).mean() > 0.8
        assert naive_success(strangers, original).mean() < 0.35
        assert naive_match(original, holes(original, original), ALL).mean() == 1
