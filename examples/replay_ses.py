"""Replay a published case study: the structure of earnings survey, protected in five ways.

Templ (2017) protects a survey of earnings in section 8.3 and compares four releases of it in
Tables 5.1 to 5.5: by confidence intervals of the gender pay gap and of the Gini coefficient, and
by a regression. The same is done here, with our numbers beside the printed ones, and with a fifth
release: a sample of a synthetic population that was made from the file.

    python examples/replay_ses.py [--data FILE] [--folder FOLDER] [--seed NUMBER] [--facts FILE]

`FILE` is the public synthetic survey of 15,691 employees (data set ``ses`` of the R package
laeken, as Parquet). Where it is absent, the invented file of ``protect_earnings.py`` takes its
place: then there is nothing printed to compare with, and the numbers say nothing about a country.
Tables, maps of risk and utility and a report are written to the folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from replay import facts, paths, printed, section83, side_by_side, tables5
from replay.earnings import load, recoded
from replay.releases import IMPORTANCE, declare, perturbed, read_back, synthetic

SEED = 83
SURVEY = Path(__file__).resolve().parents[2] / "shared" / "data" / "ses.parquet"


def show(title: str, table: pd.DataFrame, digits: int, folder: Path) -> None:
    """Print a table, without columns that are empty throughout, and write it as CSV."""
    table = table.dropna(axis="columns", how="all")
    print(f"\n{title}\n{table.round(digits).to_string(na_rep='')}")
    name = title.split(":")[0].lower().replace(" ", "-").replace(",", "")
    table.to_csv(folder / f"{name}.csv")


def replay_section(file: pd.DataFrame, public: bool, folder: Path, seed: int) -> None:
    """Section 8.3: one release, step by step."""
    steps = section83.steps_of(file, seed)
    table = section83.numbers(steps)
    if not public:
        table = table[["ours"]]
    show("Section 8.3, risk and loss: printed, its program today, ours", table, 4, folder)
    table = section83.indicator_table(steps)
    if not public:
        table = table[[name for name in table if not name.startswith("printed")]]
    show("Section 8.3, indicators: by education", table, 4, folder)
    intervals = section83.gini_intervals(file, seed)
    if not public:
        intervals = intervals.dropna()
    show("Section 8.3, intervals: of the weighted Gini coefficient", intervals, 3, folder)
    model = section83.regression(steps)
    table = model.table.set_index("term")
    table = table[["original", "se_original", "released", "se_released", "overlap"]]
    if public:
        table = table.join(printed.REGRESSION.add_prefix("printed "))
    show("Section 8.3, regression: of log hourly earnings, unweighted", table, 4, folder)
    print(model.summary())


def replay_tables(original: pd.DataFrame, releases: dict[str, pd.DataFrame], folder: Path) -> None:
    """Tables 5.1 to 5.5: the same of each release."""
    intervals = tables5.gap_intervals(original, releases)
    show("Table 5.1: limits of the gender pay gap by education", intervals, 3, folder)
    for title, indicator, by in (
        ("Table 5.2: gender pay gap by education, % of agreement of the intervals",
         "gender_pay_gap", ["education"]),
        ("Table 5.3: gender pay gap by age, % of agreement of the intervals",
         "gender_pay_gap", ["age"]),
        ("Table 5.4: Gini by age and sex, % of agreement of the intervals",
         "gini", ["age", "sex"]),
    ):  # fmt: skip
        covered = tables5.coverages(original, releases, indicator, by)
        covered["mean"] = covered.mean(axis="columns")
        show(title, covered, 1, folder)
    found = tables5.regressions(original, releases)
    show("Table 5.5: coefficients, weighted", tables5.coefficients(found), 4, folder)
    errors = tables5.errors(original, releases)
    show("Errors: of Gini and pay gap overall and by location, points", errors, 3, folder)


def compare_all(
    original: pd.DataFrame, releases: dict[str, pd.DataFrame], folder: Path, seed: int
) -> None:
    """Every measure of risk and utility of the releases, side by side."""
    found = side_by_side.comparison(original, releases, seed)
    show("Side by side: risk and utility", side_by_side.chosen(found), 4, folder)
    print(found.summary())
    placed = found.risk_utility_map(risk="close", utility="overlap")
    placed.figure().savefig(folder / "comparison.png", dpi=120)
    found.report(folder / "comparison.html", title="Five releases of a survey of earnings")


def draw_map(
    original: pd.DataFrame, releases: dict[str, pd.DataFrame], public: bool, folder: Path, seed: int
) -> None:
    """Draw risk against utility along two parameters, with the releases."""
    session = declare(original)
    session.local_suppression(k=3, importance=IMPORTANCE)
    walked = paths.walked(session, seed)
    points = paths.placed(original, releases, seed)
    chance = paths.matched_risk(original, original, seed)
    show("Paths: group size and noise level", walked, 4, folder)
    show("Places: of the releases", points, 4, folder)
    what = "the public structure of earnings file" if public else "an invented file of earnings"
    title = f"Risk and utility of releases of {what}"
    figure = paths.draw(walked, points, chance, title)
    figure.savefig(folder / "risk-utility.png", dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description="Replay section 8.3 and Tables 5.1 to 5.5.")
    parser.add_argument("--data", type=Path, default=SURVEY, help="Parquet file of the survey")
    parser.add_argument("--folder", type=Path, default=Path("replay-ses"))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--facts", type=Path, help="write the numbers of the page, and nothing else"
    )
    given = parser.parse_args()
    if given.facts:
        file, _ = load(given.data)
        facts.store(given.facts, {**facts.risk_and_loss(file), **facts.five_releases(file)})
        return
    given.folder.mkdir(parents=True, exist_ok=True)
    file, public = load(given.data)
    print(f"{'The public' if public else 'An invented'} file: {len(file):,} employees.")
    replay_section(file, public, given.folder, given.seed)

    original = recoded(file)
    show("Suppression: what follows from weights and order", read_back(original), 0, given.folder)
    sessions = perturbed(original, given.seed)
    releases = {name: session.data for name, session in sessions.items()}
    releases["synthetic"] = synthetic(original, given.seed)
    replay_tables(original, releases, given.folder)
    draw_map(original, releases, public, given.folder, given.seed)
    compare_all(original, releases, given.folder, given.seed)
    print(f"\nWrote the tables, two maps and a report to {given.folder}.")


if __name__ == "__main__":
    main()
