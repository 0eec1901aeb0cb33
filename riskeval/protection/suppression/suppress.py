"""Local suppression: k-anonymity by missing values in as few cells as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import code_table
from riskeval.protection.entry import OF_HOUSEHOLDS, ProtectionMethod, roles_named
from riskeval.protection.household.layer import Households, read_households
from riskeval.protection.result import Protected, protected
from riskeval.protection.suppression.attack_back import (
    Attack,
    Outcome,
    outcome_of,
    suppress_under_attack,
)
from riskeval.protection.suppression.cells import (
    SLACK,
    SuppressRequest,
    count_matches,
    suppress_codes,
)
from riskeval.protection.suppression.households import hide_rare_households, rare_households
from riskeval.protection.suppression.meet import meet_targets
from riskeval.protection.suppression.plan import (
    SuppressionPlan,
    asked,
    check_sizes,
    read_ranks,
    read_subsets,
    stratum_codes,
)
from riskeval.protection.suppression.visible import hide_until_shown
from riskeval.protection.targets import Constraints, read_targets
from riskeval.recovery.columns import names_of
from riskeval.recovery.result import read_back_text
from synthpop.microdata.frame.codes import encode_keys
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, join, plural
from synthpop.microdata.roles.microdata import as_file


@same_library
def local_suppression(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    k: int = 3,
    importance: Sequence[int] | Mapping[str, int] | None = None,
    subsets: Mapping[int, int] | None = None,
    strata: str | Sequence[str] | None = None,
    linked: Mapping[str, str | Sequence[str]] | None = None,
    missing: str = "wildcard",
    alpha: float = 1.0,
    household: str | None = None,
    household_variables: Sequence[str] = (),
    household_keys: Sequence[str] = (),
    weights: str | Sequence[str] | None = None,
    components: Mapping[str, Sequence[str]] | None = None,
    targets: Mapping[str, float] | None = None,
) -> Protected:
    """Make values missing until every record matches at least k records on its keys.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
    keys : sequence of str
        Categorical key variables; every distinct value is a category.
    k : int
        Records that each record must match, itself included. Not used when `subsets` is given.
    importance : sequence or mapping of numbers from 1, optional
        Rank of each key: 1 is the most important, the largest is suppressed first. A record then
        loses the least important key that brings it nearer to k. Default: keys count alike and
        the number of suppressed cells is kept small.
    subsets : mapping, optional
        {size: k} or {(key, key): k}, mixed as needed (as in a run file the size, or the keys with
        commas between them, may be text): every combination of so many keys, or the combination
        that is named, must reach its own k (the all-M approach of mu-Argus); all keys together
        are asked for only if they are among the subsets.
    strata : str or sequence of str, optional
        Columns whose combinations are protected each on its own; a missing stratum is a stratum.
    linked : mapping, optional
        Key -> columns with the same content (codes and labels, coarser versions), suppressed in
        the same records.
    missing : {"wildcard", "conservative", "category-size", "conservative-2", "own-category"}
        What a missing key matches, as in ``frequency_counts``.
    alpha : float
        What a match through a missing key of the other record counts, 0 to 1; for "wildcard".
    household : str, optional
        Column of household ids. Keys that are the same for all members are suppressed for all of
        them or not at all, and the result is checked after an attack (see Notes).
    household_variables : sequence of str
        Keys that must have one value in each household. Others are found.
    household_keys : sequence of str
        What an intruder knows of a whole household, among `keys`: household variables, and the
        keys of all members (as a set in which equal members count). First every household is made
        to match at least k households of its size on them, then persons are protected.
    weights : str or sequence of str, optional
        Columns of sampling weights: a value that they tell is not suppressed, others are.
    components : mapping, optional
        Total -> its parts, all released, for the attack.
    targets : mapping, optional
        What must hold beside k, name -> limit: ``"distinct_l: column"`` and ``"entropy_l: column"``
        (at least so many values of a sensitive variable, in number or as the exponential of the
        entropy, among the records that match), ``"t: column"`` (at most this distance from the
        file), ``"beta: column"`` (at most this relative gain in the probability of a value),
        ``"individual_risk"`` (at most, with the first of `weights`), ``"k"`` (at least).
        With "visible " before it a target counts only records that show every value that the
        record shows: ``"visible k": 2`` leaves nobody alone with the visible values.

    Returns
    -------
    Protected
        Types, order of categories and all other columns stay; whole numbers become the nullable
        type of the same size in columns that lose a value. Missing values of the input count by
        `missing` and are never filled. Nothing is drawn at random: among equal records the first
        in the file is suppressed. ``details`` holds ``risky_before`` (records below k),
        ``smallest_count`` afterwards, the bool table ``suppressed`` (n, keys), ``recovery`` (what
        ``riskeval.recover`` reads back from the result), ``below_after_recovery`` (records below
        k once this is filled in; 0 with a household or weights unless `notes` say why not), and
        ``told`` (keys that could not be hidden everywhere, and what tells them), ``targets`` (the
        records that fail each after what can be read back is filled in; ``unmet`` and the summary
        begin with those that are missed) and ``cells_for_targets`` (missing cells that the targets
        took).

    Raises
    ------
    InputError
        Unknown columns, ranks that are not numbers from 1, a stratum with fewer than k records, a
        missing household id, a household in two strata, a declared household variable that
        differs within a household, a target that fails even when no key is released.
    GuaranteeError
        The independent count at the end found a record below k (this is never expected).

    Notes
    -----
    The first call after an installation compiles for about ten seconds, and a line on the error
    stream says so (logger ``synthpop.compile``).

    Only records below k lose a value (under "own-category", where nothing else helps, a few safe
    records may have to join them). One cell at a time is suppressed: the one that closes most of
    the gap to k, of the record itself and of the other risky records that it newly matches, per
    cell; this is the greedy rule of Wolsey (1982, doi:10.1007/BF02579435) for covering problems.
    Under "wildcard" with alpha = 1 values that later suppressions have made needless to hide are
    given back at the end, so that no single suppression can be undone (of each subset).
    Counting follows Templ (2017), sections 3.2.2 and 4.2.2.

    With `household`, `weights` or `components` an intruder fills holes from the other members,
    the number of rows of a household, weights, sums and any other column of the file
    (``riskeval.recover``). What is read back is shown again, other cells are suppressed instead,
    and this is repeated until nothing is read back. Household variables are hidden, for all
    members, only where nothing else helps. Without these arguments the attack is run once and its
    outcome is stated. That weights tell strata: de Waal and Willenborg (1997), Journal of
    Official Statistics 13, 417-434; household first, then persons: Templ (2017), 8.5.1.1.

    Under "wildcard" a record may end up safe with all its values visible because others are
    suppressed. Where that is not wanted, take the target "visible k", "conservative" or a smaller
    `alpha`. Targets other than k hide, of the sets of keys from small to large, the one that helps
    most of the failing records per cell; "visible k" before all else, as its holes serve k too.
    Other targets show values again that need not be hidden (so many trials are made that small
    files end without a needless cell).

    Examples
    --------
    The toy file of Templ (2017), table 4.1:

    >>> people = pd.DataFrame({"region": ["A"] * 5,
    ...     "status": ["single", "married", "married", "single", "widowed"]})
    >>> result = local_suppression(people, ["region", "status"], k=2)
    >>> result.cells_suppressed, result.data["status"].isna().tolist()
    (1, [False, False, False, False, True])
    """
    # 1. Check what was asked
    faults = Faults("local_suppression")
    file = as_file(data, faults, keys=keys, household=household)
    frame, names, household = file.indexed, list(file.roles.keys), file.roles.household
    weights = weights or file.roles.weight
    plan = SuppressionPlan(
        names, k, names_of(strata), None if subsets is None else read_subsets(subsets), importance,
        missing, alpha, {key: names_of(columns) for key, columns in (linked or {}).items()},
        {total: names_of(columns) for total, columns in (components or {}).items()},
        household, names_of(household_variables), names_of(household_keys), names_of(weights),
        read_targets(faults, file, names, targets),
    )  # fmt: skip
    plan.check(faults, frame)
    ranks = read_ranks(faults, names, importance)
    faults.raise_if_any()
    homes = read_households(
        faults, file, names, declared=plan.household_variables, strata=plan.strata
    )
    codes, strata_codes = file.coded(names).codes, stratum_codes(frame, plan.strata)
    check_sizes(faults, strata_codes, max(plan.wanted.values()))
    faults.raise_if_any()
    constraints = Constraints(
        file, plan.targets, missing, float(alpha), next(iter(plan.weights), None), strata_codes
    )
    constraints.check_reachable(faults)
    faults.raise_if_any()
    # 2. Households first, then persons, until the attack brings nothing back
    attack = Attack(frame, homes, plan)
    start, rare = _households_first(codes, names, homes, plan.household_keys, k)
    jobs = [SuppressionJob(plan, ranks, strata_codes, constraints)]
    if plan.targets:  # without them, for their price
        jobs.append(SuppressionJob(plan, ranks, strata_codes))
    outcomes = [
        suppress_under_attack(codes, start, attack, job.suppress, job.short)
        if plan.withstands
        else outcome_of(codes, job.suppress(codes, None), attack, {})
        for job in jobs
    ]
    outcome, job = outcomes[0], jobs[-1]
    hidden = (outcome.codes < 0) & (codes >= 0)
    # 3. Count again, and say what holds
    smallest = job.verified(outcome.released, strict=not plan.withstands)
    below, risky = int(job.short(outcome.believed).sum()), int(job.short(codes).sum())
    failed = constraints.counts(outcome.believed)
    price = int(hidden.sum()) - int(((outcomes[-1].codes < 0) & (codes >= 0)).sum())
    result = protected(
        frame, outcome.released,
        [*names, *(column for key in names for column in plan.linked.get(key, []))],
        method="local_suppression",
        parameters=plan.parameters(),
        notes=_attack_notes(plan, outcome, risky, below, strata_codes)
        + constraints.notes(constraints.counts(codes), failed)
        + _price_notes(plan, price)
        + _household_notes(outcome, codes, homes, plan, rare),
        details={
            "risky_before": risky, "smallest_count": smallest,
            "suppressed": pd.DataFrame(hidden, columns=names, index=frame.index),
            "recovery": outcome.recovery, "below_after_recovery": below,
            "told": {key: sorted(sources) for key, sources in outcome.tellers.items()},
            "targets": failed, "cells_for_targets": price,
        },
    )  # fmt: skip
    return replace(result, unmet=(*_below_k(below, plan), *constraints.unmet(failed)))


class SuppressionJob:
    """What is asked of every combination of keys."""

    def __init__(
        self,
        plan: SuppressionPlan,
        ranks: np.ndarray,
        strata: np.ndarray,
        constraints: Constraints | None = None,
    ) -> None:
        cost = np.array([1.0 + len(plan.linked.get(name, ())) for name in plan.keys])
        self.request = SuppressRequest(0, plan.missing, float(plan.alpha), ranks, cost)
        self.plan, self.strata = plan, strata
        self.subsets, self.constraints = asked(plan.keys, plan.wanted), constraints

    def suppress(self, codes: np.ndarray, locked: np.ndarray | None) -> np.ndarray:
        """Reach what visible values must hold, then k, then what else must hold."""
        if self.constraints is None or not self.constraints.targets:
            return self._to_k(codes, locked)
        # visible values first: holes made for them serve k as well, which is seldom so in reverse
        result = self._shown(self._to_k(self._shown(codes, locked), locked), locked)
        request = self.request
        monotone = request.missing == "wildcard" and request.alpha == 1
        fails = self.constraints.any_failing if monotone else self.short
        if not fails(result).any():
            return result
        return meet_targets(result, fails, request.rank, request.cost, locked, self.short)

    def _shown(self, codes: np.ndarray, locked: np.ndarray | None) -> np.ndarray:
        """Hide what too few records show, where that is a target."""
        assert self.constraints is not None
        rank, cost = self.request.rank, self.request.cost
        limits = [one.value for one in self.constraints.targets if one.is_visible_k]
        if not limits:
            return codes
        return hide_until_shown(codes, self.strata, max(limits) - SLACK, rank, cost, locked)

    def _to_k(self, codes: np.ndarray, locked: np.ndarray | None) -> np.ndarray:
        """Visit every subset of keys until none asks for another suppression."""
        result = codes.copy()
        request, calm = self.request, 0
        while calm < len(self.subsets):
            for subset, k in self.subsets:
                rank, cost = request.rank[subset], request.cost[subset]
                of_subset = replace(request, k=k, rank=rank, cost=cost)
                stay = None if locked is None else locked[:, subset]
                new = suppress_codes(result[:, subset], self.strata, of_subset, stay)
                calm = calm + 1 if np.array_equal(new, result[:, subset]) else 1
                result[:, subset] = new
                if calm >= len(self.subsets):
                    break
        return result

    def short(self, codes: np.ndarray) -> np.ndarray:
        """Records that match too few on some subset or fail a target, bool, shape (n,)."""
        short = np.zeros(len(codes), dtype=bool)
        if self.constraints is not None:
            short |= self.constraints.any_failing(codes)
        for subset, k in self.subsets:
            short |= count_matches(codes[:, subset], self.strata, self.request) < k - SLACK
        return short

    def verified(self, released: pd.DataFrame, *, strict: bool) -> float:
        """Count the released file anew; return the smallest count over what was asked for."""
        names = self.plan.keys
        codes = encode_keys(released, names).codes
        strata = stratum_codes(released, self.plan.strata)
        smallest = np.inf
        for subset, k in self.subsets:
            f = count_matches(codes[:, subset], strata, self.request)
            smallest = min(smallest, float(f.min(initial=np.inf)))
            if strict and (f < k - SLACK).any():
                records = plural((f < k - SLACK).sum(), "record matches", "records match")
                raise GuaranteeError(
                    f"local_suppression: {records} fewer than {k} records on "
                    f"{[names[j] for j in subset]}"
                )
        return smallest


def _households_first(
    codes: np.ndarray, names: list[str], homes: Households, household_keys: list[str], k: int
) -> tuple[np.ndarray, int]:
    """Codes with rare households hidden, and how many were rare before."""
    if not household_keys:
        return codes, 0
    columns = [names.index(name) for name in household_keys]
    shared = np.flatnonzero(homes.are_shared(household_keys)).tolist()
    rare = rare_households(codes[:, columns], homes, shared, k, codes[:, columns])
    hidden = hide_rare_households(codes[:, columns], homes, shared, k)
    start = codes.copy()
    start[:, columns] = np.where(hidden, -1, start[:, columns])
    return start, rare


def _below_k(below: int, plan: SuppressionPlan) -> list[str]:
    if not plan.withstands or not below:
        return []
    return [
        message(
            "Target missed: {n} of the records match fewer than {k}.",
            n=count(below),
            k=max(plan.wanted.values()),
        )
    ]


def _price_notes(plan: SuppressionPlan, price: int) -> list[str]:
    if not plan.targets:
        return []
    return [
        message("Beside k these targets took {cells} more.", cells=plural(price, "missing cell"))
    ]


def _promise(plan: SuppressionPlan, below: int) -> str:
    """Say how many records each combination of keys matches."""
    wanted = []
    for subset, k in plan.wanted.items():
        keys = (
            message("all keys")
            if subset == len(plan.keys)
            else message("every {subset} of the keys", subset=subset)
        )
        wanted.append(
            message(
                "{k} records on {subset}",
                k=k,
                subset=" and ".join(subset) if isinstance(subset, tuple) else keys,
            )
        )
    within = f" within {', '.join(plan.strata)}" if plan.strata else ""
    who = (
        message("all records but {below} match", below=count(below))
        if below
        else message("every record matches")
    )
    text = message(
        "Recounted, {who} at least {wanted}{within}",
        who=who,
        wanted=" and ".join(wanted),
        within=within,
    )
    return message("{text} (missing values: {missing}).", text=text, missing=plan.missing)


def _visible_notes(plan: SuppressionPlan, codes: np.ndarray, strata: np.ndarray) -> list[str]:
    """Say how many records are rare on the values that they show, as holes hide nobody there."""
    table = code_table(np.column_stack([codes, strata]))
    f = match_counts(table, "visible")[0]
    alone, few = (int(table.counts[f < limit].sum()) for limit in (2, max(plan.wanted.values())))
    return [
        message(
            "On the values that they show, {alone} alone and {few} fewer than {k}.",
            alone=plural(alone, "record is", "records are"),
            few=plural(few, "record matches", "records match"),
            k=max(plan.wanted.values()),
        )
    ]


def _attack_notes(
    plan: SuppressionPlan, outcome: Outcome, risky: int, below: int, strata: np.ndarray
) -> list[str]:
    """Sentences about what holds, and what an intruder reads back."""
    recovery = outcome.recovery
    known = outcome.believed if plan.withstands else outcome.codes
    first = [
        _promise(plan, below if plan.withstands else 0),
        f"{plural(risky, 'record was', 'records were')} below.",
        *_visible_notes(plan, known, strata),
    ]
    if not plan.withstands:
        if not recovery.n_right:
            return first
        return [
            *first,
            message(
                "But {recovery}, and {below} below again then: give household and weights, or "
                "drop these columns.",
                recovery=read_back_text(recovery, "suppressed value"),
                below=plural(below, "record is", "records are"),
            ),
        ]
    return [*first, *withstanding_notes(outcome, below)]


def withstanding_notes(outcome: Outcome, below: int) -> list[str]:
    """Say whether a result holds after the attack, for how many records not and why."""
    notes = [
        message(
            "This holds after an attack that fills holes from members, rows, weights, "
            "columns and the order of the file."
        )
    ]
    if below:
        notes = [
            message(
                "For {below} no suppression helps: every remaining key follows from other "
                "parts of the file. Drop or coarsen the columns that reveal them, or declare "
                "them as linked.",
                below=plural(below, "record"),
            )
        ]
    for key, tellers in outcome.tellers.items():
        notes.append(
            message(
                "Where {key} follows from {tellers}, other keys were suppressed instead.",
                key=key,
                tellers=join(sorted(tellers)),
            )
        )
    return notes


def _household_notes(
    outcome: Outcome, codes: np.ndarray, homes: Households, plan: SuppressionPlan, rare: int
) -> list[str]:
    if not plan.household_keys:
        return homes.notes()
    columns = [plan.keys.index(name) for name in plan.household_keys]
    shared = np.flatnonzero(homes.are_shared(plan.household_keys)).tolist()
    still_rare = rare_households(
        outcome.believed[:, columns], homes, shared, plan.k, codes[:, columns]
    )
    text = message(
        "{rare} matched fewer than {k} households on {household_keys}",
        rare=plural(rare, "household"),
        k=plan.k,
        household_keys=join(plan.household_keys),
    )
    exception = " (too few have their size)" if still_rare else ""
    return [
        message(
            "{text}; {still_rare} still do{exception}.",
            text=text,
            still_rare=count(still_rare),
            exception=exception,
        ),
        *homes.notes(),
    ]


METHOD = ProtectionMethod(
    run=local_suppression,
    rank=40,
    title="Local suppression",
    question="Which cells go missing so that every record shares its keys with k others?",
    blind_spots=(
        "sensitive values that all records of a group share; intruders who know more than the"
        " keys; values that follow from columns that are not named"
    ),
    example={"keys": ["db040", "rb090", "pb190"], "k": 4},
    proposed={"k": 3, "targets": {"visible k": 2}},
    roles=roles_named("keys", "strata", "linked", "weights", "household_keys") | OF_HOUSEHOLDS,
)
