"""Search for ways to protect a file: a front of risk and loss, every plan of which was tried."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.protection.registry import VERBS
from riskeval.session.candidates import (
    ENFORCING,
    Arguments,
    key_endings,
    key_recodings,
    number_treatments,
    targets_of,
)
from riskeval.session.loss import cells_lost, role_losses
from riskeval.session.measure import records_below, risk_measurements
from riskeval.session.plans import PlanSearch, PlanTrial, front_of, short_text
from riskeval.session.running import prepare_step, run_step
from riskeval.session.steps import Step
from synthpop.microdata.messages.errors import Faults, InputError, MicrodataError
from synthpop.microdata.messages.parameters import NONE, Between, Whole, check, check_choice
from synthpop.microdata.statistics.streams import Streams, fresh_secret, resolve_seed

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession

PARAMETERS = {"seconds": Between(0, None, open="low") | NONE, "plans": Whole(1) | NONE}
OF_NUMBERS = ("interval_disclosure", "record_linkage")
SCORED = ("below_k", "expected_reidentifications", "expected_households", *OF_NUMBERS)
"""Risks that make up the one number of the front, each as a part of that of the original."""
LIMITS = ("k", "cells_lost", "loss")
"""Limits beside the names of the measures of a session's risk."""
REMEMBERED = 24
"""Files that are kept; others are made again when they are needed."""
FULL_PLANS = 4
"""Whole plans that are tried after the recodings of the keys went one step on."""

Node = tuple[int, ...]


def search_plans(
    session: ProtectionSession,
    *,
    limits: Mapping[str, float] | None = None,
    seconds: float | None = None,
    plans: int | None = None,
    recodings: Mapping[str, Sequence[Any]] | None = None,
    seed: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> PlanSearch:
    """Look for recodings, suppressions, noise, microaggregation and swapping that meet limits.

    Parameters
    ----------
    session : ProtectionSession
        Its current file is where every plan starts; the session itself is not changed.
    limits : mapping of str to float, optional
        Largest accepted values. ``"k"``: no record may match fewer on the keys, after an attack
        that fills in what the file gives back; any name of ``session.risk().table`` (without a
        sensitive variable, for every one of them; of ``"smallest_l"`` the least accepted value);
        ``"cells_lost"``: share of the key cells that become missing; ``"loss"``. The plans enforce
        ``"smallest_l"``, ``"t_closeness"``, ``"beta_likeness"``, ``"record_linkage"`` and
        ``"interval_disclosure"`` as targets. Default:
        ``{"k": 3}``; without keys twice the limit of one record for ``"record_linkage"``.
    seconds : float, optional
        Time after which no further plan is begun. Default: 60, or no limit where `plans` is given.
    plans : int, optional
        Number of plans after which the search ends. The order of the search does not depend on
        time: without `seconds` the same number gives the same result on any machine.
    recodings : mapping of key to sequence, optional
        What may be done with a key instead of what the search proposes: lists of breaks, or
        mappings of a new category to old ones, from fine to coarse. An empty list: the key stays.
    seed : int, optional
        For noise and swapping; every plan draws from it in the same way. Leave it out for a file
        that is to be released: the draws of the plan that is taken can else be guessed.
    progress : callable, optional
        Called with the number of plans and the seconds so far.

    Returns
    -------
    PlanSearch

    Raises
    ------
    InputError
        Unknown limits or keys, limits that are not numbers, a session without a file to measure.

    Notes
    -----
    The keys are searched best first through the lattice of their recodings and the sizes that
    local suppression asks for; from each plan on the front its coarser neighbours follow. Numeric
    keys are masked in every proposed way. Plans that join both on the expected front are carried
    out, attacked and measured as a whole: only these are results. A plan on the front is as good
    as what was tried, not the best that exists. The loss of a category is H(X | Y) / H(X), the
    share of its entropy that the release no longer tells (Domingo-Ferrer and Torra 2001; missing
    is a category of Y); that of a number its mean absolute change as a part of what replacing all
    values by their median costs.

    Examples
    --------
    >>> people = pd.DataFrame({"region": [*"AAAAAABBBB"], "age": [31, 35, 31, 35] * 2 + [31, 77]})
    >>> from riskeval import ProtectionSession
    >>> session = ProtectionSession(people, keys=["region", "age"])
    >>> result = search_plans(session, limits={"k": 2}, plans=10, seed=1)
    >>> [step.verb for step in result.apply(session).steps]
    ['local_suppression']
    >>> float(session.risk().table.loc["below_2", "current"])
    0.0
    """
    started = time.monotonic()
    accepted = _read_limits(session, _default_limits(session) if limits is None else limits)
    _check(session, accepted, seconds, plans, recodings)
    longest = seconds or (60.0 if plans is None else np.inf)
    used = fresh_secret() if seed is None else resolve_seed(seed)
    search = _Search(session, accepted, dict(recodings or {}), used)
    finished = True
    for _ in search.run():
        elapsed = time.monotonic() - started
        if progress is not None:
            progress(search.tried, elapsed)
        if search.tried >= (plans or np.inf) or elapsed >= longest:
            finished = False
            break
    return search.result(finished)


def _default_limits(session: ProtectionSession) -> dict[str, float]:
    """Return k = 3, or the limits that a session without keys is judged by."""
    if session.roles.keys:
        return {"k": 3}
    measured = session.risk().measurements["original"].values()
    return {one.key: one.limit for one in measured if one.limit is not None}


def _read_limits(session: ProtectionSession, limits: Mapping[str, float]) -> dict[str, float]:
    """Return the limits by the names of the numbers: one for each sensitive variable."""
    measured = session.risk().measurements["original"]
    read: dict[str, float] = {}
    for name, limit in limits.items():
        keys = [key for key, one in measured.items() if name == one.info.name]
        read |= dict.fromkeys(keys or [name], limit)
    return read


def _check(
    session: ProtectionSession,
    limits: Mapping[str, float],
    seconds: float | None,
    plans: int | None,
    recodings: Mapping[str, Sequence[Any]] | None,
) -> None:
    faults = Faults("search_plans")
    check(faults, PARAMETERS, {"seconds": seconds, "plans": plans})
    known = [name for name in LIMITS if name == "loss" or session.roles.keys]
    known += [*session.risk().table.index]
    for name, limit in limits.items():
        check_choice(faults, "limits", name, known)
        check(faults, {name: Whole(2) if name == "k" else Between(0, None)}, {name: limit})
    for name in recodings or {}:
        check_choice(faults, "recodings", name, session.roles.keys)
    faults.raise_if_any()


class _Search:
    """State of a search: which recodings were tried, which whole plans, and what they gave."""

    def __init__(
        self,
        session: ProtectionSession,
        limits: Mapping[str, float],
        recodings: Mapping[str, Sequence[Any]],
        seed: int,
    ) -> None:
        self.session, self.limits, self.seed = session, limits, seed
        self.start, self.truth = session.current_frame(), session.original_of_current()
        keys = session.roles.keys
        wanted = targets_of(limits)
        self.endings = key_endings(int(limits.get("k", 2)), wanted)
        self.n_enforcing = len(ENFORCING) if wanted else 1
        self.recodings = [key_recodings(self.start[n], recodings.get(n)) for n in keys]
        self.treatments = number_treatments(session.roles.numeric, limits)
        self.frames: dict[tuple[str, ...], pd.DataFrame] = {}
        self.nodes: dict[Node, PlanTrial] = {}
        self.masked: dict[int, PlanTrial] = {}
        self.whole: dict[tuple[Node, int], PlanTrial] = {}
        self.tried = 0
        self.wanted = {*SCORED, "below_3_after_recovery", *limits}
        self.rising: set[str] = set()  # numbers of which more is better
        self.original = self._measure(self.truth, ())

    def run(self) -> Iterator[None]:
        """Try one file after the other, in an order that depends on results only."""
        # 1. local suppression alone, then each treatment of the numeric keys alone
        start: Node = (0,) * (len(self.recodings) + 1)
        self.nodes[start] = self._try_node(start)
        yield
        for ending in range(1, self.n_enforcing if self.recodings else 1):
            self.nodes[ending, *start[1:]] = self._try_node((ending, *start[1:]))
            yield
        for position, treatment in enumerate(self.treatments):
            self.masked[position] = self._try(self.start, treatment)
            yield
        # 2. recodings, best first; after each step some whole plans of the expected front
        open_nodes = sorted((self._loss(trial), node) for node, trial in self.nodes.items())
        while open_nodes:
            _, node = heapq.heappop(open_nodes)
            if node not in front_of(self.nodes, {n: self._point(t) for n, t in self.nodes.items()}):
                continue
            for neighbour in self._neighbours(node):
                trial = self.nodes[neighbour] = self._try_node(neighbour)
                heapq.heappush(open_nodes, (self._loss(trial), neighbour))
                yield
            yield from self._whole_plans(FULL_PLANS)
        # 3. what is left of the expected front
        yield from self._whole_plans(None)

    def _try_node(self, node: Node) -> PlanTrial:
        if not self.recodings:  # a file without keys: amounts are all that can be treated
            return self._try(self.start, [])
        chosen = [options[i - 1] for options, i in zip(self.recodings, node[1:], strict=True) if i]
        return self._try(self.start, [*chosen, self.endings[node[0]]])

    def _neighbours(self, node: Node) -> list[Node]:
        if not self.recodings:
            return []
        limits = [len(self.endings) - 1, *(len(options) for options in self.recodings)]
        coarser = [
            (*node[:i], level + 1, *node[i + 1 :]) for i, level in enumerate(node)
            if level < limits[i]
        ]  # fmt: skip
        return [one for one in coarser if one not in self.nodes]

    def _whole_plans(self, most: int | None) -> Iterator[None]:
        """Carry out plans of keys and numbers together, of least loss first."""
        points = {
            (node, position): self._joined(first, second)
            for node, first in self.nodes.items()
            if not first.problem
            for position, second in self.masked.items()
            if not second.problem
        }
        waiting = [pair for pair in front_of(points, points) if pair[1] and pair not in self.whole]
        for node, position in waiting[:most]:
            self.whole[node, position] = self._try(
                self.start, self.treatments[position], before=self.nodes[node].steps
            )
            yield

    def _try(
        self, frame: pd.DataFrame, verbs: Sequence[Arguments], before: tuple[Step, ...] = ()
    ) -> PlanTrial:
        """Carry out steps on a file and measure what comes out."""
        self.tried += 1
        roles = self.session.roles
        steps = list(before)
        try:
            released = self._frame_after(frame, before)
            for verb, arguments in verbs:
                step = prepare_step(roles, verb, parameters=self._with_seed(verb, arguments))
                released = run_step(step, released, roles).data
                steps.append(step)
        except MicrodataError as problem:
            return PlanTrial((*steps,), problem=f"{verbs[-1][0]}: {problem}")
        self.frames[tuple(map(str, steps))] = released
        while len(self.frames) > REMEMBERED:
            self.frames.pop(next(iter(self.frames)))
        return self._measure(released, (*steps,))

    def _frame_after(self, frame: pd.DataFrame, steps: tuple[Step, ...]) -> pd.DataFrame:
        """Return a file that was made before, or make it again."""
        name = tuple(map(str, steps))
        if name in self.frames:
            return self.frames[name]
        for step in steps:
            frame = run_step(step, frame, self.session.roles).data
        return frame

    def _with_seed(self, verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if not VERBS[verb].draws:
            return arguments
        streams, names = Streams(self.seed), ("plans", verb)
        secret = streams.number(*names) if streams.secret else None
        return {**arguments, "seed": secret or int(streams.at(*names).integers(2**31))}

    def _measure(self, released: pd.DataFrame, steps: tuple[Step, ...]) -> PlanTrial:
        session = self.session
        k = int(self.limits.get("k", 3))
        measured = risk_measurements(self.truth, released, session.roles, self.wanted)
        self.rising |= {one.key for one in measured if one.info.direction == "high"}
        values = {one.key: one.value for one in measured}
        if session.roles.keys:
            values["below_k"] = (
                values["below_3_after_recovery"]
                if k == 3
                else records_below(self.truth, released, session.roles, k)
            )
        values["cells_lost"] = cells_lost(self.truth, released, session.roles.keys)
        return PlanTrial(steps, values, role_losses(self.truth, released, session.roles))

    def _risks(self, trial: PlanTrial) -> dict[str, float]:
        """Return the risks as parts of those of the original."""
        scored = {*SCORED, *(name for name in self.limits if name not in LIMITS)}
        pairs = {
            name: (trial.values[name], risk)
            for name, risk in self.original.values.items()
            if name in scored and risk > 0 and name in trial.values
        }
        return {
            name: risk / max(value, 1.0) if name in self.rising else value / risk
            for name, (value, risk) in pairs.items()
        }

    def _loss(self, trial: PlanTrial) -> float:
        return float(np.mean([*trial.losses.values()])) if trial.losses else 1.0

    def _point(self, trial: PlanTrial) -> tuple[float, float]:
        """Return risk without the numeric keys and loss of a plan of the keys; NaN if it failed."""
        if trial.problem:
            return np.nan, np.nan
        risks = self._risks(trial)
        of_keys = [value for name, value in risks.items() if name not in OF_NUMBERS]
        return max(of_keys, default=0.0), self._loss(trial)

    def _joined(self, keys: PlanTrial, numbers: PlanTrial) -> tuple[float, float]:
        """Return the expected risk and loss of both parts together."""
        risks = self._risks(numbers)
        of_numbers = [risks.get(name, 0.0) for name in OF_NUMBERS]
        numeric = self.session.roles.numeric
        losses = {**keys.losses, **{name: numbers.losses[name] for name in numeric}}
        return max(self._point(keys)[0], *of_numbers), float(np.mean([*losses.values()]))

    def _within(self, trial: PlanTrial, loss: float) -> bool:
        values = {**trial.values, "loss": loss}
        return all(
            values["below_k"] == 0
            if name == "k"
            else values[name] >= limit
            if name in self.rising
            else values[name] <= limit
            for name, limit in self.limits.items()
        )

    def result(self, finished: bool) -> PlanSearch:
        """Collect the plans that were carried out as a whole."""
        trials = [*self.nodes.values(), *self.masked.values(), *self.whole.values()]
        rows: list[dict[str, Any]] = []
        steps, failed = {}, {}
        for trial in trials:
            if trial.problem:
                failed["; ".join(map(short_text, trial.steps)) or "first step"] = trial.problem
        plans = [trial for trial in trials if not trial.problem]
        for plan, trial in enumerate(plans):
            steps[plan] = trial.steps
            loss = self._loss(trial)
            rows.append(
                {
                    "plan": plan,
                    "steps": "; ".join(short_text(step) for step in trial.steps) or "nothing",
                    "risk": max(self._risks(trial).values(), default=0.0),
                    "loss": loss,
                    **{k: v for k, v in trial.values.items() if k != "cells_lost"},
                    "cells_lost": trial.values["cells_lost"],
                    "within": self._within(trial, loss),
                }
            )
        if not rows:
            what = f"no plan can be measured ({'; '.join(failed.values()) or 'none was tried'})"
            raise InputError.of("search_plans", "session", what, "Look at its risks first.")
        table = pd.DataFrame(rows)
        points = {row["plan"]: (row["risk"], row["loss"]) for row in rows}
        front = front_of(points, points)
        table["front"] = [row["plan"] in front for row in rows]
        return PlanSearch(table, steps, self.limits, self.seed, self.tried, finished, failed)
