"""Every attack on one synthetic file, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.intervals import check_intervals
from riskeval.attacks.matching.blocks import iter_frames
from riskeval.attacks.prediction.features import is_number
from riskeval.attacks.registry import INTRUDERS, Case
from riskeval.attacks.scenario import Scenario
from riskeval.attacks.unit_of_attack import check_ask, check_households, read_ask
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults, InputError
from synthpop.microdata.events import Event, Listener, silent
from synthpop.microdata.results import Result
from synthpop.microdata.streams import resolve_seed


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRisk(Result):
    """What several intruders learn from a synthetic file.

    Attributes
    ----------
    table : DataFrame
        One row a number: `attack`, `target` (empty for attacks on the file), `measure`, `value`,
        `baseline`, `against` (what the baseline is), `lower`, `upper` (interval of the value),
        `reading` (how the value stands to its baseline; empty where nothing can be said).
    results : dict
        Result of each attack, by (attack, target).
    skipped : dict
        Why an attack was left out, by (attack, target).
    notes : dict
        What an attack leaves aside of the scenario or of the replicates, by (attack, target).
    story : str
        The scenario in sentences; empty for plain keys.
    seed : int
    """

    table: pd.DataFrame
    results: dict[tuple[str, str], Any]
    skipped: dict[tuple[str, str], str]
    notes: dict[tuple[str, str], str]
    story: str
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def summary(self) -> str:
        """Say what each attack found, one line a number, and what was left out."""
        lines = [f"{len(self.results)} attacks on the synthetic file, each against its baseline."]
        if self.story:
            lines.append(self.story)
        rows = self.table.to_dict("records")
        above = [
            _title(row["attack"], row["target"])
            for row in rows
            if row["reading"] == "above the baseline"
        ]
        if above:
            lines.append(f"Above the baseline: {'; '.join(dict.fromkeys(above))}.")
        for row in rows:
            text = f"{_title(row['attack'], row['target'])}: {row['measure']} {row['value']:.3g}"
            if not np.isnan(row["lower"]):
                text += f" ({row['lower']:.3g} to {row['upper']:.3g})"
            if row["against"]:
                text += f"; {row['against']}: {row['baseline']:.3g}"
            if row["reading"]:
                text += f"; {row['reading']}"
            lines.append(text + ".")
        for (attack, target), why in self.notes.items():
            lines.append(f"{_title(attack, target)}: {why}.")
        for (attack, target), why in self.skipped.items():
            lines.append(f"{_title(attack, target)} was left out: {why}.")
        lines.append(
            "No number proves the file safe: each tells one story of an intruder, and none of "
            "these measures has a published threshold. Compare with the baselines, with the "
            "original, and with other ways to make the file."
        )
        return "\n".join(lines)


def _title(attack: str, target: str) -> str:
    return INTRUDERS[attack].title + (f" on {target}" if target else "")


def judge_synthetic(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    targets: Sequence[str] | str | None = None,
    *,
    holdout: Any = None,
    household: str | None = None,
    members: str = "any",
    replicates: Iterable[Any] = (),
    attacks: Sequence[str] | str = "all",
    workers: int = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> SyntheticRisk:
    """Run the attacks of the registry on a synthetic file, whichever generator made it.

    Parameters
    ----------
    original : DataFrame, n rows
        The real file that the synthetic one was made from.
    synthetic : DataFrame, object with ``iter_blocks()``, or list of frames
        Read once an attack, so not a generator.
    keys : names of columns that the intruder knows, or a Scenario
        A Scenario holds the targets and more. What an attack leaves aside of it is in `notes`.
    targets : names of columns that the intruder wants to know
        Each attack on a target is run on those it can take: categories for DiSCO and attribution,
        any for the scenarios and RAPID.
    holdout : DataFrame, optional
        Real persons who were not in the original; membership inference needs it, RAPID and the
        scenarios compare with it.
    household : str, optional
        Column of all files with the number of the household: the unit of every attack is then the
        household.
    members : {"any", "every"}
        Whose target must be found for a household to count.
    replicates : list of synthetic files
        Further files of the same fit: the counting measures give the interval of their mean. The
        other attacks are made on the first file alone.
    attacks : "all" or names in `riskeval.attacks.registry.INTRUDERS`
    workers : int
        Threads of models and distances; results do not depend on it.
    on_event : callable, optional
        Listener of progress: one step an attack, and the steps of the single attacks.
    seed : int, optional
        Of the attacks that draw.

    Returns
    -------
    SyntheticRisk

    Raises
    ------
    InputError
        Missing columns, unknown attacks, a synthetic file that can be read only once.

    Notes
    -----
    Each attack runs with its defaults; call it by itself for its options. An attack that these
    files do not allow (a target of another type in both files, too few records) is left out; the
    reason is in `skipped`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def draw(n):
    ...     age = rng.integers(20, 25, n)
    ...     return pd.DataFrame({"age": age, "ill": np.where(rng.random(n) < 0.3, "y", "n")})
    >>> risk = judge_synthetic(draw(80), draw(90), "age", "ill", attacks=["disco", "membership"])
    >>> risk.table["measure"].tolist(), risk.skipped
    (['DiSCO'], {('membership', ''): 'it needs a hold-out'})
    """
    case, chosen = _read_case(
        original, synthetic, keys, targets, holdout, household, members, replicates, attacks,
        workers, on_event, seed,
    )  # fmt: skip
    jobs = [
        (name, target)
        for name in chosen
        for target in ([""] if INTRUDERS[name].target == "none" else case.targets)
    ]
    results: dict[tuple[str, str], Any] = {}
    skipped: dict[tuple[str, str], str] = {}
    notes: dict[tuple[str, str], str] = {}
    rows: list[dict[str, Any]] = []
    case.on_event(Event("start", "judge_synthetic", 0, len(jobs)))
    for done, (name, target) in enumerate(jobs):
        case.on_event(Event("progress", "judge_synthetic", done, len(jobs), _title(name, target)))
        why = _why_not(name, case, target)
        if not why:
            try:
                result = INTRUDERS[name].run(case, target)
            except InputError as error:
                why = "; ".join(str(fault).rstrip(".") for fault in error.faults)
        if why:
            skipped[name, target] = why
            continue
        results[name, target] = result
        note = _left_aside(name, case)
        if note:
            notes[name, target] = note
        for finding in INTRUDERS[name].findings(result):
            row = {"attack": name, "target": target, **asdict(finding)}
            rows.append(row | {"reading": finding.reading()})
    case.on_event(Event("end", "judge_synthetic", len(jobs), len(jobs)))
    columns = [
        "attack", "target", "measure", "value", "baseline", "against", "lower", "upper", "reading",
    ]  # fmt: skip
    story = "" if case.scenario is None else case.scenario.story()
    table = pd.DataFrame(rows, columns=columns)
    return SyntheticRisk(table, results, skipped, notes, story, case.seed)


def _read_case(
    original: Any,
    synthetic: Any,
    keys: Scenario | Sequence[str] | str,
    targets: Sequence[str] | str | None,
    holdout: Any,
    household: str | None,
    members: str,
    replicates: Any,
    attacks: Sequence[str] | str,
    workers: int,
    on_event: Listener | None,
    seed: int | None,
) -> tuple[Case, list[str]]:
    """Check what was asked, every fault together, and put it into one record."""
    faults = Faults("judge_synthetic")
    frame = as_frame(original, "original")
    others = None if holdout is None else as_frame(holdout, "holdout")
    chosen = list(INTRUDERS) if attacks == "all" else _listed(attacks)
    for name in chosen:
        check_choice(faults, "attacks", name, INTRUDERS)
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        faults.add("workers", f"{workers!r} is not a whole number of at least 1")
    further = check_intervals(faults, 0, 0.5, replicates)
    ask = read_ask("judge_synthetic", keys, targets, household=household, members=members)
    check_ask(faults, ask, frame)
    files = [("synthetic", synthetic), *(("replicates", file) for file in further)]
    for role, file in files:
        if isinstance(file, Iterator):
            remedy = "Give a list of frames, or an object with iter_blocks()."
            faults.add(role, "can be read only once, every attack reads it", remedy=remedy)
    if others is not None:
        columns = (*ask.keys, *ask.targets)
        check_columns(faults, others, columns, "key or target of the holdout")
        if ask.household is not None:
            check_households(faults, others, ask.household, "holdout")
    if not any(isinstance(file, Iterator) for _, file in files):
        for role, file in files:
            first = next(iter_frames(file, role, ask.needed))
            check_columns(faults, first, ask.needed, f"key or target of the {role} file")
    faults.raise_if_any()
    scenario = keys if isinstance(keys, Scenario) else None
    if household is not None:
        scenario = Scenario(
            ask.keys, ask.targets, unit="household", household=household, members=members,
            who="everyone",
        )  # fmt: skip
    case = Case(
        frame, synthetic, ask.keys, ask.targets, others, resolve_seed(seed), scenario, further,
        workers, on_event or silent,
    )  # fmt: skip
    return case, chosen


def _listed(attacks: Sequence[str] | str) -> list[str]:
    return [attacks] if isinstance(attacks, str) else list(attacks)


def _left_aside(name: str, case: Case) -> str:
    """What of the scenario and of the replicates has no part in an attack; empty for nothing."""
    fields = case.left_out(INTRUDERS[name].honours)
    parts = [f"{', '.join(fields)} of the scenario left aside"] if fields else []
    if case.replicates and not INTRUDERS[name].replicates:
        parts.append("the first synthetic file alone")
    return "; ".join(parts)


def _why_not(name: str, case: Case, target: str) -> str:
    """Why an attack cannot be run on a target; empty when it can."""
    intruder = INTRUDERS[name]
    if intruder.needs_holdout and case.holdout is None:
        return "it needs a hold-out"
    if intruder.target in ("none", "any"):
        return ""
    coded = case.scenario is not None and target in case.scenario.categorical
    if is_number(case.original[target]) and not coded:
        return "it needs a categorical target: group the values first"
    return ""
