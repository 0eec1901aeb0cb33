"""DiSCO: a target that follows, rightly, from somebody's keys in the synthetic file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.cells import Cells
from riskeval.attacks.counting.key_tables import CrossTable, FileClasses
from riskeval.attacks.counting.replicated_uniques import excess_sentence, with_intervals
from riskeval.attacks.counting.request import CountingRequest, CountingResult, read_counting
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.levels import comparable_text
from riskeval.attacks.request import as_sentences
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, excess
from riskeval.attacks.targets import combine_members
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import NONE, Whole, check
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import percent

ONE_WAY = (50, 0.9)
TWO_WAY = (5, 0.8)
"""Records, and share of them with one level, from which a level is reported as common knowledge."""


@dataclass(frozen=True, slots=True, eq=False)
class Disco(CountingResult):
    """Original persons or households whose target follows, rightly, from the synthetic file.

    Attributes
    ----------
    rate : float
        DiSCO, disclosive in synthetic, correct in original: share of original records whose keys
        lead to one single target level in the synthetic file, and it is their own. With replicates
        the mean over all files, as the other shares.
    disclosive_original : float
        Dorig, the baseline: share whose keys lead to one single level in the original.
    in_synthetic : float
        iS: share whose keys occur in the synthetic file.
    disclosive_in_synthetic : float
        Dsyn: share of synthetic records whose keys lead to one single level there.
    disclosive_synthetic : float
        DiS: share of original records whose keys lead to one single level there, right or wrong.
    disclosive_both : float
        DiSDiO: DiSCO records that are disclosive in the original as well.
    rate_judged : float
        DiSCO among those whose keys occur in the synthetic file.
    intervals : Intervals
        Of the measures over original units.
    excess : Excess or None
        DiSCO of those looked for against that of the hold-out; None without one.
    common : DataFrame
        Levels that may be common knowledge: ``key``, ``key_level`` (empty for the level by
        itself), ``level`` of the target, ``disclosed`` (original records that are DiSCO),
        ``share`` of the original records of this key level that have the target level.
    per_record : bool, shape (n_units,)
        Which original records (households, in order of appearance) are DiSCO; of several files,
        in the first.
    looked_for : bool, shape (n_units,)
        Whom the intruder looks for; shares of original units are of these, times the coverage.
    n_original, n_synthetic : int
        Units looked for, and records (members of households) of the synthetic file.
    unit : {"records", "households"}
    members : {"any", "every"}
    keys : tuple of str
    target : str
    seed : int
    notes : tuple of str
        What the numbers leave out, or rest on.
    """

    rate: float
    disclosive_original: float
    in_synthetic: float
    disclosive_in_synthetic: float
    disclosive_synthetic: float
    disclosive_both: float
    rate_judged: float
    excess: Excess | None
    common: pd.DataFrame
    per_record: np.ndarray
    n_original: int
    members: str
    target: str

    @property
    def interval(self) -> tuple[float, float]:
        """Interval of DiSCO."""
        return self.intervals.of("DiSCO")

    def to_frame(self) -> pd.DataFrame:
        """Return the six shares with their intervals."""
        shares = {
            "Dorig": self.disclosive_original,
            "Dsyn": self.disclosive_in_synthetic,
            "iS": self.in_synthetic,
            "DiS": self.disclosive_synthetic,
            "DiSCO": self.rate,
            "DiSDiO": self.disclosive_both,
        }
        return with_intervals(shares, self.intervals)

    def summary(self) -> str:
        """Say what the share means and what to compare it with."""
        whom = message(
            "persons with the same {keys} agree in {target}",
            keys=", ".join(self.keys),
            target=self.target,
        )
        if self.unit == "households":
            whom = message(
                "households with the same {keys} of all members agree in the {target} of "
                "{members} member",
                keys=", ".join(self.keys),
                target=self.target,
                members=message(self.members),
            )
        return message(
            "DiSCO: for {rate}{interval} of {n_original} original {unit} all synthetic "
            "{whom}, and correctly so. In the original itself the keys determine {target} "
            "for {disclosive_original}; the synthetic file appears to determine it for "
            "{disclosive_synthetic}, correctly or not. {common_sentence}{excess}There is "
            "no published threshold.{notes}{footnote}",
            rate=percent(self.rate),
            interval=self.intervals.sentence("DiSCO"),
            n_original=count_text(self.n_original),
            unit=message(self.unit),
            whom=whom,
            target=self.target,
            disclosive_original=percent(self.disclosive_original),
            disclosive_synthetic=percent(self.disclosive_synthetic),
            common_sentence=self._common_sentence(),
            excess=excess_sentence(self.excess, self.unit),
            notes=as_sentences(self.notes),
            footnote=self.footnote,
        )

    def _common_sentence(self) -> str:
        if self.common.empty:
            return (
                message(
                    "A level that nearly everybody has, or that follows from the keys by common "
                    "knowledge, counts too."
                )
                + " "
            )
        first = self.common.iloc[0]
        where = (
            (
                " "
                + message(
                    "of those with {key} {key_level}",
                    key=first["key"],
                    key_level=first["key_level"],
                )
            )
            if first["key"]
            else ""
        )
        return (
            message(
                "{n} of these have {target} {level}, as {share}{where} in the original: that "
                "may be common knowledge (see common; exclude_levels and exclude_pairs leave "
                "such levels out).",
                n=count_text(first["disclosed"]),
                target=self.target,
                level=first["level"],
                share=percent(first["share"], 0),
                where=where,
            )
            + " "
        )


@same_library
def disco(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
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
    strangers = table.files["hold-out"]
    others = _flags(table, strangers, rule, counting)["DiSCO"]
    return excess(
        disclosed[table.people.targets.comparable], others[strangers.targets.comparable],
        counting.confidence, coverage=counting.request.coverage, overlap=counting.overlap,
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
