"""Every attack on one synthetic file, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.intruders.registry import INTRUDERS, Case
from synthpop.microdata.checks import as_frame, check_choice, check_columns
from synthpop.microdata.errors import Faults
from synthpop.microdata.results import Result
from synthpop.microdata.streams import resolve_seed


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRisk(Result):
    """What several intruders learn from a synthetic file.

    Attributes
    ----------
    table : DataFrame
        One row a number: `attack`, `target` (empty for attacks on the file), `measure`, `value`,
        `baseline`, `against` (what the baseline is), `lower`, `upper` (interval of the value).
    results : dict
        Result of each attack, by (attack, target).
    skipped : dict
        Why an attack was left out, by (attack, target).
    seed : int
    """

    table: pd.DataFrame
    results: dict[tuple[str, str], Any]
    skipped: dict[tuple[str, str], str]
    seed: int

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def summary(self) -> str:
        """Say what each attack found, one line a number, and what was left out."""
        lines = [f"{len(self.results)} attacks on the synthetic file, each against its baseline."]
        for row in self.table.to_dict("records"):
            on = f" on {row['target']}" if row["target"] else ""
            title = INTRUDERS[row["attack"]].title
            text = f"{title}{on}: {row['measure']} {row['value']:.3g}"
            if not np.isnan(row["lower"]):
                text += f" ({row['lower']:.3g} to {row['upper']:.3g})"
            if row["against"]:
                text += f"; {row['against']}: {row['baseline']:.3g}"
            lines.append(text + ".")
        for (attack, target), why in self.skipped.items():
            on = f" on {target}" if target else ""
            lines.append(f"{INTRUDERS[attack].title}{on} was left out: {why}.")
        lines.append(
            "No number proves the file safe: each tells one story of an intruder, and none of "
            "these measures has a published threshold. Compare with the baselines, with the "
            "original, and with other ways to make the file."
        )
        return "\n".join(lines)


def judge_synthetic(
    original: Any,
    synthetic: Any,
    keys: Sequence[str] | str,
    targets: Sequence[str] | str,
    *,
    holdout: Any = None,
    attacks: Sequence[str] | str = "all",
    seed: int | None = None,
) -> SyntheticRisk:
    """Run the attacks of the registry on a synthetic file, whichever generator made it.

    Parameters
    ----------
    original : DataFrame, n rows
        The real file that the synthetic one was made from.
    synthetic : DataFrame, object with ``iter_blocks()``, or list of frames
        Read once an attack, so not a generator.
    keys : names of columns that the intruder knows
    targets : names of columns that the intruder wants to know
        Each attack on a target is run on those it can take: numeric ones for the scenarios,
        others for DiSCO and attribution, any for RAPID.
    holdout : DataFrame, optional
        Real persons who were not in the original; membership inference needs it, RAPID and the
        scenarios compare with it.
    attacks : "all" or names in `riskeval.intruders.registry.INTRUDERS`
    seed : int, optional
        Of the attacks that draw.

    Returns
    -------
    SyntheticRisk

    Raises
    ------
    InputError
        Missing columns, unknown attacks, a synthetic file that can be read only once, and what the
        single attacks raise.

    Notes
    -----
    Each attack runs with its defaults; call it by itself for its options.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def draw(n):
    ...     age = rng.integers(20, 25, n)
    ...     return pd.DataFrame({"age": age, "ill": np.where(rng.random(n) < 0.3, "y", "n")})
    >>> risk = judge_synthetic(draw(80), draw(90), "age", "ill", attacks=["disco", "scenarios"])
    >>> risk.table["measure"].tolist(), risk.skipped
    (['DiSCO'], {('scenarios', 'ill'): 'it needs a numeric target'})
    """
    faults = Faults("judge_synthetic")
    frame = as_frame(original, "original")
    others = None if holdout is None else as_frame(holdout, "holdout")
    names = (keys,) if isinstance(keys, str) else tuple(keys)
    wanted = (targets,) if isinstance(targets, str) else tuple(targets)
    chosen = list(INTRUDERS) if attacks == "all" else _listed(attacks)
    for name in chosen:
        check_choice(faults, "attacks", name, INTRUDERS)
    if isinstance(synthetic, Iterator):
        remedy = "Give a list of frames, or an object with iter_blocks()."
        faults.add("synthetic", "can be read only once, every attack reads it", remedy=remedy)
    for side, role in ((frame, "original"), (others, "holdout")):
        if side is not None:
            check_columns(faults, side, names, f"key of the {role}")
            check_columns(faults, side, wanted, f"target of the {role}")
    faults.raise_if_any()
    seed = resolve_seed(seed)
    case = Case(frame, synthetic, names, wanted, others, seed)
    results: dict[tuple[str, str], Any] = {}
    skipped: dict[tuple[str, str], str] = {}
    rows: list[dict[str, Any]] = []
    for name in chosen:
        for target in [""] if INTRUDERS[name].target == "none" else wanted:
            why = _why_not(name, case, target)
            if why:
                skipped[name, target] = why
                continue
            result = results[name, target] = INTRUDERS[name].run(case, target)
            for finding in INTRUDERS[name].findings(result):
                rows.append({"attack": name, "target": target, **asdict(finding)})
    columns = [
        "attack", "target", "measure", "value", "baseline", "against", "lower", "upper",
    ]  # fmt: skip
    return SyntheticRisk(pd.DataFrame(rows, columns=columns), results, skipped, seed)


def _listed(attacks: Sequence[str] | str) -> list[str]:
    return [attacks] if isinstance(attacks, str) else list(attacks)


def _why_not(name: str, case: Case, target: str) -> str:
    """Why an attack cannot be run on a target; empty when it can."""
    intruder = INTRUDERS[name]
    if intruder.needs_holdout and case.holdout is None:
        return "it needs a hold-out"
    if intruder.target in ("none", "any"):
        return ""
    dtype = case.original[target].dtype
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    if intruder.target == "numeric" and not numeric:
        return "it needs a numeric target"
    if intruder.target == "categorical" and numeric:
        return "it needs a categorical target: group the values first"
    return ""
