"""DiSCO: a target that follows, rightly, from somebody's keys in the synthetic file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import N_GROUPS, ComparedAttack, ComparedFiles, shown_beyond
from riskeval.attacks.counting.cells import Cells
from riskeval.attacks.counting.disco_result import Disco
from riskeval.attacks.counting.key_tables import CrossTable, FileClasses
from riskeval.attacks.counting.request import CountingRequest, read_counting
from riskeval.attacks.entry import COUNTED, AttackEntry, run_counting
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.levels import comparable_text
from riskeval.attacks.numbers import RAAB, AttackNumber
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, excess
from riskeval.attacks.targets import clusters_among, combine_members
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Whole, check

ONE_WAY = (50, 0.9)
TWO_WAY = (5, 0.8)
"""Records, and share of them with one level, from which a level is reported as common knowledge."""


@same_library
def disco(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None = None,
    target: str | None = None,
    *,
    holdout: Any = None,
    missing: str = "wildcard",
    household: str | None = None,
    members: str = "any",
    n_groups: int | None = None,
    exclude_levels: Sequence[Any] = (),
    exclude_pairs: Sequence[tuple[str, Any, Any]] = (),
    denominator_limit: int | None = None,
    replicates: Iterable[Any] = (),
    draws: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Disco:
    """Disclosive in synthetic, correct in original (DiSCO), with its companions.

    Parameters
    ----------
    original, synthetic, holdout, replicates, draws, confidence
        As in `replicated_uniques`.
    missing : {"wildcard", "category", "unmatched"}
        As in `replicated_uniques`. A record whose target is missing tells nothing where others of
        the same keys have a value (with "wildcard").
    keys : names of columns of both, or a Scenario with one target
        With wrong keys the intruder looks up what they believe, in the original (Dorig) too.
    target : str
        Column of both files that the intruder wants to know; every distinct value is a level, and
        missing is one. None with a Scenario.
    n_groups : int, optional
        Groups of about equal size (by quantiles of the original) in which a numeric target is
        compared. Without it every distinct number is a level of its own.
    exclude_levels : levels of the target
        Levels that are no secret ("healthy", "not applicable"): they never count as disclosed.
    exclude_pairs : sequence of (key, level of the key, level of the target)
        Targets that follow from a key by common knowledge ("sex", "m", "not pregnant").
    denominator_limit : int, optional
        Classes with more records than this are facts about a group and do not count.
    household : str, optional
        Column of both files with the number of the household. A member is then looked up among
        the synthetic persons who have the same keys and live in a household with the same
        multiset of keys; members without a true value are left out.
    members : {"any", "every"}
        A household is disclosed when this is so for any or for every member.
    seed : int, optional
        Of the bootstrap and of wrong keys.

    Returns
    -------
    Disco

    Raises
    ------
    InputError
        As `replicated_uniques`; the target is also a key.

    Notes
    -----
    With d and s the counts of the original and the synthetic file by keys q and target t: DiSCO
    sums d_tq over the classes in which s_tq equals s_q, Dorig over those in which
    d_tq equals d_q; both are divided by the number of original records. Source: Raab, Nowok and
    Dibben (2024), arXiv:2406.16826. The household as unit is ours.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = disco(original, synthetic, ["age"], "ill", seed=1)
    >>> risk.disclosive_original, risk.disclosive_synthetic, risk.rate
    (0.5, 0.5, 0.25)
    """
    counting = read_counting(
        "disco", original, synthetic, keys, target, n_targets=1, holdout=holdout, missing=missing,
        household=household, members=members, n_groups=n_groups, replicates=replicates,
        draws=draws, confidence=confidence, seed=seed,
    )  # fmt: skip
    rule = _read_exclusions(counting, exclude_levels, exclude_pairs, denominator_limit)
    tables = list(counting.counts())
    flags = [_flags(table, table.people, rule, counting) for table in tables]
    coverage, looked_for = counting.request.coverage, tables[0].people.looked_for
    ratios = [
        {name: share_of(flag, looked_for, coverage) for name, flag in one.items()} for one in flags
    ]
    others = [{"Dsyn": _disclosive_released(table, rule)} for table in tables]
    intervals = counting.intervals(ratios, others)
    means, disclosed = intervals.means, flags[0]["DiSCO"]
    beyond = None
    if holdout is not None:
        beyond = _beyond_strangers(counting, tables[0], rule, disclosed)
    return Disco(
        rate=means["DiSCO"],
        disclosive_original=means["Dorig"],
        in_synthetic=means["iS"],
        disclosive_in_synthetic=means["Dsyn"],
        disclosive_synthetic=means["DiS"],
        disclosive_both=means["DiSDiO"],
        rate_judged=means["DiSCO"] / means["iS"] if means["iS"] > 0 else float("nan"),
        intervals=intervals,
        excess=beyond,
        common=_common(counting, tables[0], disclosed),
        per_record=disclosed & looked_for,
        n_original=int(looked_for.sum()),
        members=counting.request.members,
        target=counting.request.targets[0],
        **counting.about(tables[0]),
    )


def _beyond_strangers(
    counting: CountingRequest, table: CrossTable, rule: Exclusions, disclosed: np.ndarray
) -> Excess | None:
    files = [one.targets for one in table.files.values()]
    others = _flags(table, table.files["hold-out"], rule, counting)["DiSCO"]
    members, strangers = (
        flags[one.comparable] for one, flags in zip(files, (disclosed, others), strict=True)
    )
    return excess(
        members, strangers, counting.confidence, coverage=counting.request.coverage,
        overlap=counting.overlap, clusters=clusters_among(files),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Exclusions:
    """Levels and classes that are no secret."""

    levels: frozenset[str]
    pairs: tuple[tuple[str, str, str], ...]
    denominator_limit: int | None

    def disclosive(self, largest: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Whether classes have records of one level only, and not too many of them."""
        limit = np.inf if self.denominator_limit is None else self.denominator_limit
        return np.asarray((total > 0) & (largest == total) & (total <= limit))

    def single(self, cells: Cells, people: FileClasses) -> tuple[np.ndarray, np.ndarray]:
        """Whether the class that is looked up has one single level, and whether it is theirs."""
        largest, level = cells.most()
        of_class = people.believed_class
        single = self.disclosive(largest[of_class], cells.in_class(of_class))
        return single, level[of_class] == people.level


def _read_exclusions(
    counting: CountingRequest, levels: Any, pairs: Any, denominator_limit: Any
) -> Exclusions:
    faults = Faults("disco")
    if isinstance(levels, (str, int, float)):
        levels = [levels]
    good = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 3:
            hint = "Give (key, level of the key, level of the target)."
            faults.add("exclude_pairs", f"{pair!r} is not three values", hint=hint)
        elif pair[0] not in counting.request.keys:
            faults.add("exclude_pairs", f"{pair[0]!r} is not a key")
        else:
            good.append((pair[0], comparable_text(pair[1]), comparable_text(pair[2])))
    table = {"denominator_limit": Whole(1) | NONE}
    check(faults, table, {"denominator_limit": denominator_limit})
    faults.raise_if_any()
    return Exclusions(frozenset(map(comparable_text, levels)), tuple(good), denominator_limit)


def _flags(
    table: CrossTable, people: FileClasses, rule: Exclusions, counting: CountingRequest
) -> dict[str, np.ndarray]:
    """What is so for each unit: measures by their name, bool, shape (n_units,)."""
    secret = _secret(table, people, rule, counting)
    single, right = rule.single(table.matched, people)
    own_single, own_right = rule.single(table.original, people)
    by_record = {
        "Dorig": own_single & own_right & secret,
        "iS": table.matched.in_class(people.believed_class) > 0,
        "DiS": single,
        "DiSCO": single & right & secret,
        "DiSDiO": single & right & own_single & own_right & secret,
    }
    known, n_units, members = people.judged, len(people.looked_for), counting.request.members
    return {
        name: combine_members(flag[known], people.unit[known], n_units, members)
        for name, flag in by_record.items()
    }


def _secret(
    table: CrossTable, people: FileClasses, rule: Exclusions, counting: CountingRequest
) -> np.ndarray:
    """Records whose level of the target is not excluded."""
    if not rule.levels and not rule.pairs:
        return np.ones(len(people.level), dtype=np.bool_)
    texts = np.array([comparable_text(level) for level in table.levels], dtype=object)
    level = texts[people.level]
    excluded = np.isin(level, list(rule.levels))
    for key, key_level, target_level in rule.pairs:
        values = next(
            frame[key] for role, frame in counting.files.items() if table.files[role] is people
        )
        texts_of_key = values.map(comparable_text, na_action="ignore").to_numpy(dtype=object)
        excluded |= (texts_of_key == key_level) & (level == target_level)
    return ~excluded


def _disclosive_released(table: CrossTable, rule: Exclusions) -> float:
    total = table.released.total
    single = rule.disclosive(table.released.most()[0][:-1], total)
    return float(total[single].sum() / max(table.n_released, 1))


def _common(counting: CountingRequest, table: CrossTable, by_unit: np.ndarray) -> pd.DataFrame:
    """Levels of the target, alone or with a key, that most disclosed records and others share."""
    people, frame = table.people, counting.files["original"]
    names = np.array([str(level) for level in table.levels], dtype=object)
    level, disclosed = people.level, by_unit[people.unit]
    frequent_levels = []
    for key in ("", *counting.request.keys):
        fewest, share = TWO_WAY if key else ONE_WAY
        if disclosed.sum() <= fewest:
            continue
        # 1. Combinations of so many disclosed records, and how many have them in all
        codes = encode(frame[key])[0].astype(np.int64) + 1 if key else np.zeros_like(level)
        cells = codes * len(names) + level
        frequent, counts = np.unique(cells[disclosed], return_counts=True)
        frequent, counts = frequent[counts > fewest], counts[counts > fewest]
        rows = np.flatnonzero(np.isin(cells, frequent))
        _, first, sizes = np.unique(cells[rows], return_index=True, return_counts=True)
        shares, rows = sizes / np.bincount(codes)[frequent // len(names)], rows[first]
        # 2. Those of a large share of the records with the key, by their names
        of_key = pd.DataFrame({
            "key": key, "key_level": frame[key].iloc[rows].astype(str).to_numpy() if key else "",
            "level": names[level[rows]], "disclosed": counts, "share": shares,
        })  # fmt: skip
        of_key = of_key[(shares >= share) & of_key["key_level"].notna()]
        frequent_levels.append(of_key.sort_values(["key_level", "level"]))
    if not frequent_levels:
        return pd.DataFrame(columns=["key", "key_level", "level", "disclosed", "share"])
    together = pd.concat(frequent_levels)
    return together.sort_values("disclosed", ascending=False, ignore_index=True)


DISCO = attribution(
    "disco",
    "DiSCO",
    "share of the original records whose keys lead to their own value, and no other, in "
    "the release",
    RAAB,
)


def disco_numbers(result: Any) -> list[AttackNumber]:
    """DiSCO beside what the keys determine in the original."""
    one = Measurement(
        DISCO, result.rate, result.target, records=result.n_original,
        lower=result.interval[0], upper=result.interval[1],
        baseline=result.disclosive_original, against=message("the original (Dorig)"),
    )  # fmt: skip
    return [AttackNumber(one, "original", result.excess)]


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    result = disco(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    return shown_beyond(files, DISCO, disco_numbers(result)[0], result)


ATTACK = AttackEntry(
    name="disco",
    rank=20,
    title="DiSCO",
    question=(
        "Whose value follows from the keys, because all released records with these keys have it?"
    ),
    story="believes what all synthetic persons with somebody's keys agree on",
    blind_spots=(
        "keys that are changed; beliefs that are likely but not certain; near values of an "
        "amount in another group"
    ),
    function=disco,
    target="categorical",
    honours=COUNTED,
    run=run_counting(disco),
    numbers=disco_numbers,
    replicates=True,
    exact_keys=True,
    compared=ComparedAttack((DISCO,), _compared),
)
