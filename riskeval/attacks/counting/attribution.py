"""Attribution probabilities: what drawing among synthetic persons with somebody's keys tells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.compared import (
    N_GROUPS,
    ComparedAttack,
    ComparedFiles,
    beyond_strangers,
    shown,
)
from riskeval.attacks.counting.attribution_result import Attribution
from riskeval.attacks.counting.key_tables import CrossTable, FileClasses
from riskeval.attacks.counting.request import CountingRequest, read_counting
from riskeval.attacks.entry import COUNTED, AttackEntry, run_counting
from riskeval.attacks.intervals import Intervals, Ratio
from riskeval.attacks.intervals import share as share_of
from riskeval.attacks.numbers import OUTSIDE, RAAB, AttackNumber, beside
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.shares import Excess, excess
from riskeval.attacks.targets import clusters_among, combine_members, combine_probabilities
from riskeval.shared.measurement import Measurement, attribution
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Between, check

MEANINGS = {
    "CAP_original": "draw among originals of the same keys",
    "DCAP": "draw among synthetics, 0 where there are none",
    "DCAP_matched": "draw among synthetics, where there are any",
    "WEAP": "share of a synthetic record's own level in its class",
    "WEAP_original": "share of the frequent level, originals with a class",
    "TCAP_original": "targeted originals whose own level is the frequent one",
    "TCAP_synthetic": "targeted synthetics with an original of their keys, share of originals",
    "TCAP_synthetic_all": "the same, 0 for those without an original of their keys",
    "baseline": "draw from the distribution of the target, no keys",
}


@same_library
def tcap(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str | None = None,
    target: str | None = None,
    *,
    tau: float = 1.0,
    holdout: Any = None,
    missing: str = "wildcard",
    household: str | None = None,
    members: str = "any",
    n_groups: int | None = None,
    replicates: Iterable[Any] = (),
    draws: int = 200,
    confidence: float = 0.95,
    seed: int | None = None,
) -> Attribution:
    """Attribution probabilities CAP, DCAP, TCAP and WEAP, each variant under its own name.

    Parameters
    ----------
    original, synthetic, keys, target, holdout, missing, household, n_groups
        As in `disco`.
    replicates, draws, confidence, seed
        As in `disco`; with replicates every measure is the mean over all files.
        Probabilities are of an attack on somebody who is looked for: the coverage of
        a Scenario multiplies CAP_original and DCAP only, which are means over all.
    members : {"any", "every"}
        The intruder draws for each member of a household apart, among synthetic persons of the
        same keys in households of the same multiset of keys. A household's probability is that of
        being right for any or for every member; it is targeted when any or every member is, and
        right when any or every targeted member is.
    tau : float in (0, 1]
        WEAP from which a class is targeted: the share of its most frequent target level.

    Returns
    -------
    Attribution
        Measures of `table`, d and s being counts of both files by keys q and target t:

        CAP_original
            Mean over original records of d_tq / d_q: the intruder holds the original.
        DCAP
            Mean over all original records of s_tq / s_q, 0 where s_q is 0 (Raab et al.).
        DCAP_matched
            The same over original records with s_q above 0 (Taub et al.: others undefined).
        WEAP
            Mean over synthetic records of s_tq / s_q for their own t (Taub et al.).
        WEAP_original
            Mean over original records with s_q above 0 of max_t s_tq / s_q.
        TCAP_original
            Share of original records in targeted classes whose own level is the most frequent one
            of the class (Raab et al.).
        TCAP_synthetic
            Mean over synthetic records with s_tq / s_q of at least tau of d_tq / d_q, those without
            any original of the same keys left out (Taub et al.).
        TCAP_synthetic_all
            The same with 0 for those.
        baseline
            Mean over original records of the share of their level in the original.

    Raises
    ------
    InputError
        As `disco`; `tau` not in (0, 1].

    Notes
    -----
    A mean over no record is NaN. Source: Elliot (2014); Taub, Elliot, Pampaka and
    Smith (2018), doi:10.1007/978-3-319-99771-1_9; Little, Allmendinger and Elliot (2025),
    doi:10.1177/0282423X241266523; Raab, Nowok and Dibben (2024), arXiv:2406.16826. The household
    as unit is ours.

    Examples
    --------
    >>> original = pd.DataFrame({"age": [1, 1, 2, 2], "ill": ["n", "n", "y", "n"]})
    >>> synthetic = pd.DataFrame({"age": [1, 1, 2], "ill": ["n", "y", "y"]})
    >>> risk = tcap(original, synthetic, ["age"], "ill", seed=1)
    >>> risk.value("CAP_original"), risk.value("DCAP"), risk.value("TCAP_original")
    (0.75, 0.5, 0.5)
    """
    faults = Faults("tcap")
    check(faults, {"tau": Between(0, 1, open="low")}, {"tau": tau})
    faults.raise_if_any()
    counting = read_counting(
        "tcap", original, synthetic, keys, target, n_targets=1, holdout=holdout, missing=missing,
        household=household, members=members, n_groups=n_groups, replicates=replicates,
        draws=draws, confidence=confidence, seed=seed,
    )  # fmt: skip
    tables = list(counting.counts())
    request, people = counting.request, tables[0].people
    records = [_records(table, table.people, tau) for table in tables]
    ratios = [
        _over_originals(table, table.people, record, counting)
        for table, record in zip(tables, records, strict=True)
    ]
    released = [_over_released(table, tau) for table in tables]
    others = [{name: ratio.value for name, ratio in more.items()} for more in released]
    intervals = counting.intervals(ratios, others)
    per_record = records[0]
    if request.household is not None:
        per_record["household"] = people.unit
    return Attribution(
        table=_as_frame(ratios[0] | released[0], intervals),
        per_record=per_record,
        baseline=intervals.means["baseline"],
        intervals=intervals,
        excess={} if holdout is None else _excess(tables[0], tau, counting),
        tau=float(tau),
        members=request.members,
        target=request.targets[0],
        **counting.about(tables[0]),
    )


def _records(table: CrossTable, people: FileClasses, tau: float) -> pd.DataFrame:
    """What drawing among the released persons of somebody's class tells, one row per person."""
    largest, level = table.matched.most()
    in_class = table.matched.in_class(people.believed_class)
    weap = _share(np.where(in_class > 0, largest[people.believed_class], 0), in_class)
    return pd.DataFrame(
        {
            "cap": _share(table.matched.in_cell(people.believed_class, people.level), in_class),
            "weap": weap,
            "targeted": weap >= tau - 1e-12,
            "right": (level[people.believed_class] == people.level) & (in_class > 0),
        }
    )


def _excess(table: CrossTable, tau: float, counting: CountingRequest) -> dict[str, Excess]:
    """DCAP and TCAP against those of the hold-out."""
    success: dict[str, list[np.ndarray]] = {"DCAP": [], "TCAP_original": []}
    for people in table.files.values():
        records = _records(table, people, tau)[people.judged]
        unit, n_units = people.unit[people.judged], len(people.looked_for)
        how, among = counting.request.members, people.targets.comparable
        cap = combine_probabilities(np.nan_to_num(records["cap"]), unit, n_units, how)
        wins = (records["targeted"] & records["right"]).to_numpy()
        success["DCAP"].append(cap[among])
        success["TCAP_original"].append(combine_members(wins, unit, n_units, how)[among])
    about: Any = {
        "coverage": counting.request.coverage, "overlap": counting.overlap,
        "clusters": clusters_among([people.targets for people in table.files.values()]),
    }  # fmt: skip
    compared = {
        name: excess(members, strangers, counting.confidence, n_tests=2, **about)
        for name, (members, strangers) in success.items()
    }
    return {name: one for name, one in compared.items() if one is not None}


def _over_originals(
    table: CrossTable, people: FileClasses, records: pd.DataFrame, counting: CountingRequest
) -> dict[str, Ratio]:
    """Measures over original units as ratios of sums over them."""
    known, n_units, among = people.judged, len(people.looked_for), people.looked_for
    unit, how = people.unit[known], counting.request.members
    cap = records["cap"].to_numpy()[known]
    classes, coverage = people.believed_class, counting.request.coverage
    in_original = _share(
        table.original.in_cell(classes, people.level), table.original.in_class(classes)
    )[known]
    shares = np.bincount(people.level[known]) / max(int(known.sum()), 1)
    targeted = records["targeted"].to_numpy()[known]
    right = records["right"].to_numpy()[known]
    matched = among & combine_members(~np.isnan(cap), unit, n_units, "any")
    aimed = among & combine_members(targeted, unit, n_units, how)
    by_person = {
        "CAP_original": (np.nan_to_num(in_original), among, coverage),
        "DCAP": (np.nan_to_num(cap), among, coverage),
        "DCAP_matched": (np.nan_to_num(cap), matched, 1.0),
        "baseline": (shares[people.level[known]], among, 1.0),
    }
    ratios = {}
    for name, (chance, whom, factor) in by_person.items():
        together = chance
        if counting.request.household is not None:
            together = combine_probabilities(chance, unit, n_units, how)
        ratios[name] = share_of(together, whom, factor)
    weap = np.nan_to_num(records["weap"].to_numpy()[known])
    mean_weap = np.bincount(unit, weights=weap, minlength=n_units)
    with_class = np.bincount(unit, weights=~np.isnan(cap), minlength=n_units)
    ratios["WEAP_original"] = Ratio(
        np.where(matched, mean_weap, 0), np.where(matched, with_class, 0)
    )
    wins = combine_members(targeted & right, unit, n_units, how) & aimed
    ratios["TCAP_original"] = Ratio(wins.astype(np.float64), aimed.astype(np.float64))
    return ratios


def _over_released(table: CrossTable, tau: float) -> dict[str, Ratio]:
    """Measures over released records as ratios of sums over cells."""
    cells = table.released
    own_share = _share(cells.count, cells.in_class(cells.of_class))
    total = table.original.in_class(cells.of_class)
    in_original = _share(table.original.in_cell(cells.of_class, cells.level), total)
    counts = cells.count.astype(np.float64)
    aimed = np.where(own_share >= tau - 1e-12, counts, 0.0)
    hits = aimed * np.nan_to_num(in_original)
    return {
        "WEAP": Ratio(counts * np.nan_to_num(own_share), counts),
        "TCAP_synthetic": Ratio(hits, np.where(total > 0, aimed, 0.0)),
        "TCAP_synthetic_all": Ratio(hits, aimed),
    }


def _as_frame(ratios: dict[str, Ratio], intervals: Intervals) -> pd.DataFrame:
    table = intervals.table.reindex(list(MEANINGS)).reset_index(names="measure")
    table.insert(1, "value", table["mean"])
    table.insert(2, "n", [int(ratios[name].bottom.sum()) for name in MEANINGS])
    table.insert(3, "meaning", list(MEANINGS.values()))
    return table


def _share(counts: np.ndarray, total: np.ndarray) -> np.ndarray:
    return np.divide(counts, total, out=np.full(len(counts), np.nan), where=total > 0)


TAUB = "Taub, Elliot, Pampaka and Smith 2018, doi:10.1007/978-3-319-99771-1_9"
DCAP = attribution(
    "dcap", "Correct attribution (DCAP)", "probability to draw the right level", RAAB, "probability"
)
TCAP = attribution(
    "tcap",
    "Correct attribution (TCAP)",
    "share of right values among the original records whose keys lead to one released value",
    TAUB,
)


def tcap_numbers(result: Any) -> list[AttackNumber]:
    """DCAP and TCAP beside drawing without keys, or strangers."""
    numbers = []
    for info, measure in ((DCAP, "DCAP"), (TCAP, "TCAP_original")):
        low, high = result.intervals.of(measure)
        beyond = result.excess.get(measure)
        baseline, against = result.baseline, message("drawing without keys")
        if beyond is not None and info is DCAP:
            baseline, against = beyond.holdout_rate, OUTSIDE
        one = Measurement(
            beside(info, info.name.upper()), result.value(measure), result.target,
            lower=low, upper=high, baseline=baseline, against=against,
        )  # fmt: skip
        numbers.append(AttackNumber(one, "strangers", beyond))
    return numbers


def _compared(files: ComparedFiles, target: str) -> list[Measurement]:
    result = tcap(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    number = tcap_numbers(result)[1]
    targeted = result.table.loc[result.table["measure"] == "TCAP_original", "n"]
    none = message("no released group has one value") if np.isnan(number.measurement.value) else ""
    beyond = beyond_strangers(number.excess)
    return [shown(TCAP, number, int(targeted.iloc[0]), files.note, none, beyond, *result.notes)]


ATTACK = AttackEntry(
    name="tcap",
    rank=30,
    title="Correct attribution",
    question="How often is the value of a released record with the same keys the right one?",
    story="draws one of the synthetic persons with somebody's keys",
    blind_spots="keys that are changed; relations between records with different keys",
    function=tcap,
    target="categorical",
    honours=COUNTED,
    run=run_counting(tcap),
    numbers=tcap_numbers,
    replicates=True,
    exact_keys=True,
    compared=ComparedAttack((TCAP,), _compared),
)
