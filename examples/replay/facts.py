"""The numbers of the page on section 8.3 and Tables 5.1 to 5.5, computed and stored.

    python examples/replay_ses.py --facts docs/methods/replay-ses.json

writes them from the public file. The page shows the stored numbers, and computes those of section
8.3 again where the file is present: a number that has moved stops the build.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from replay import paths, printed, section83, side_by_side, tables5
from replay.earnings import NUMERIC, recoded
from replay.releases import NOISE, perturbed, synthetic
from riskeval import protect

SEED = 83
SEEDS = range(1, 9)
TABLES = {
    "5.2: pay gap by education": (printed.TABLE_52, "gender_pay_gap", ["education"]),
    "5.3: pay gap by age": (printed.TABLE_53, "gender_pay_gap", ["age"]),
    "5.4: Gini by age and sex": (printed.TABLE_54, "gini", ["age", "sex"]),
}
GROUPS = {
    "economic activity": "NACE1=", "location": "location=",
    "education": "education=", "age": "age=",
}  # fmt: skip
Facts = dict[str, pd.DataFrame]


def risk_and_loss(file: pd.DataFrame, seeds: Iterable[int] = SEEDS) -> Facts:
    """Section 8.3: risks, losses, indicators, intervals, regression."""
    steps = section83.steps_of(file, SEED)
    table = section83.numbers(steps)
    noisy = [_noise(steps.grouped, seed) for seed in seeds]
    losses = pd.DataFrame([section83.losses(file, item, "noise") for item in noisy])
    estimates = section83.indicator_table(steps)
    over_seeds = [section83.indicators(item, weighted=False).T.stack() for item in noisy]
    if noisy:
        table["lowest"], table["highest"] = losses.min(), losses.max()
        columns = pd.concat(over_seeds, axis=1)
        estimates["lowest"], estimates["highest"] = columns.min(axis=1), columns.max(axis=1)
    estimates.index = estimates.index.map(": ".join)
    found = section83.regression(steps)
    model = found.table.set_index("term")[["original", "se_original", "released", "se_released"]]
    whole = {
        "R squared": [printed.R_SQUARED[0], found.r_squared[0]],
        "R squared, protected": [printed.R_SQUARED[1], found.r_squared[1]],
        "overlap of the coefficients": [float("nan"), found.overlap],
    }
    return {
        "risk and loss": table,
        "indicators": estimates,
        "intervals": section83.gini_intervals(file, SEED),
        "regression": model.join(printed.REGRESSION.add_prefix("printed ")),
        "fit": pd.DataFrame.from_dict(whole, orient="index", columns=["printed", "ours"]),
    }


def five_releases(file: pd.DataFrame, seeds: Iterable[int] = SEEDS) -> Facts:
    """Tables 5.1 to 5.5 and the releases side by side."""
    original = recoded(file)
    means = {name: [] for name in TABLES}
    overlaps, kept = [], []
    for seed in seeds:
        made = _releases(original, seed)
        for name, (_, indicator, by) in TABLES.items():
            ours = tables5.coverages(original, made, indicator, by)
            means[name].append(ours.mean(axis=1))
        models = tables5.regressions(original, made)
        overlaps.append(pd.Series({name: 100 * item.overlap for name, item in models.items()}))
        kept.append({name: paths.utility_of(original, item) for name, item in made.items()})
    agreement = {}
    for name, (table, _, _) in TABLES.items():
        agreement[f"{name}, printed"] = table.mean(axis=1)
        agreement[f"{name}, ours"] = pd.concat(means[name], axis=1).mean(axis=1)
    agreement["5.5: overlap of coefficients, ours"] = pd.concat(overlaps, axis=1).mean(axis=1)
    one = _releases(original, SEED)
    domains = tables5.coverages(original, one, "gender_pay_gap", ["education"])
    coefficients = tables5.coefficients(tables5.regressions(original, one))
    theirs = tables5.against_manufacturing(printed.TABLE_55)
    slopes = {
        f"{group}, {whose}": {
            name: tables5.slope(table, name, terms) for name in table if name != "original"
        }
        for group, terms in GROUPS.items()
        for whose, table in (("printed", theirs), ("ours", coefficients))
    }
    return {
        "agreement": pd.DataFrame(agreement).T,
        "overlap": pd.DataFrame(kept).agg(["mean", "min", "max"]).T,
        "table 5.2": pd.concat({"printed": printed.TABLE_52, "ours": domains}).pipe(_flat),
        "slopes": pd.DataFrame(slopes).T,
        "side by side": side_by_side.chosen(side_by_side.comparison(original, one, SEED)),
    }


def _noise(grouped: pd.DataFrame, seed: int) -> pd.DataFrame:
    return protect.add_noise(
        grouped, list(NUMERIC), method="correlated2", level=NOISE, seed=seed
    ).data


def _releases(original: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    made = {name: session.data for name, session in perturbed(original, seed).items()}
    return {**made, "synthetic": synthetic(original, seed)}


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_axis(table.index.map(": ".join))


def stored(path: Path) -> Facts:
    """Return the tables of a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return {name: pd.DataFrame(**table) for name, table in content.items()}


def store(path: Path, facts: Mapping[str, pd.DataFrame]) -> None:
    """Write tables, seven digits of each number."""
    content = {}
    for name, table in facts.items():
        digits = table.astype(float).map(lambda value: float(f"{value:.7g}")).astype(object)
        parts = digits.where(digits.notna(), None).to_dict("split")
        content[name] = {key: list(parts[key]) for key in ("index", "columns", "data")}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def shown(table: pd.DataFrame, digits: int = 4) -> pd.DataFrame:
    """Return a table as text for a page, with blanks where there is no number."""
    return table.map(lambda value: "" if pd.isna(value) else f"{float(value):.{digits}g}")


def moved(now: pd.DataFrame, before: pd.DataFrame, relative: float = 1e-4) -> list[str]:
    """Return the rows and columns in which two tables differ."""
    shared = [name for name in before if name in now]
    ours, theirs = now[shared].astype(float), before[shared].astype(float)
    ours = ours.reindex(theirs.index)
    same = (ours - theirs).abs() <= relative * theirs.abs() + 1e-9
    off = ~(same | (ours.isna() & theirs.isna()))
    return [f"{row}, {column}" for row, column in off.stack().loc[lambda flag: flag].index]
