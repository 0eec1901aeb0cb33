"""The page a director reads: key figures and plain sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from synthpop.evaluation.assess_fit import FitReport
from synthpop.figures.gallery import main_numbers, overall_distances
from synthpop.figures.style import Names
from synthpop.microdata.suppression import SMALLEST_COUNT, is_small
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import change, count, number, percent, plural
from synthpop.population.population import Population
from synthpop.report.risk import highest

MOST_NOTED = 6


def key_figures(
    fit: FitReport, population: Any, risk: Any, names: Names, external: bool
) -> list[dict[str, str]]:
    """Return the numbers at the head of the report."""
    cards = [_card("Persons", count(fit.n_population), f"from {count(fit.n_sample)} in the survey")]
    if isinstance(population, Population) and fit.size is not None:
        per_household = fit.n_population / max(population.n_households, 1)
        cards.append(
            _card("Households", count(population.n_households),
                  f"{per_household:.2f} persons on average")
        )  # fmt: skip
    overall = overall_distances(fit)
    for measure, title, note in (
        ("tvd", "Largest distance of shares", "persons in the wrong category, {name}"),
        ("ks", "Largest distance of curves", "Kolmogorov-Smirnov, {name}"),
    ):
        mine = overall[overall["measure"] == measure]
        if len(mine):
            worst = mine.iloc[int(mine["value"].to_numpy().argmax())]
            cards.append(
                _card(
                    title, percent(worst["value"]), note.format(name=names.short(worst["variable"]))
                )
            )
    if risk is not None:
        scenario, accuracy, rate = highest(risk)
        if scenario:
            note = f"of survey persons found within {percent(accuracy, 0)}, scenario {scenario}"
            hidden = external and is_small(rate * fit.n_sample)
            cards.append(
                _card(
                    "Highest intruder rate",
                    f"< {SMALLEST_COUNT} persons" if hidden else percent(rate),
                    note,
                )
            )
    return cards


def _card(title: str, value: str, note: str) -> dict[str, str]:
    return {"title": title, "value": value, "note": note}


def sentences(
    fit: FitReport, survey: Survey, population: Any, risk: Any, names: Names, external: bool
) -> list[str]:
    """Return what the report says, in the order of its sections."""
    told = [_what_it_is(fit, survey, population)]
    households = fit.distances[fit.distances["scope"] == "households"]
    if len(households):
        row = households.iloc[0]
        told.append(_households(row, fit.strata is not None))
    told += _shares(fit, names) + _pairs(fit, names) + _numbers(fit, names) + _parts(fit, names)
    if risk is not None:
        told += _risk(risk, fit, external)
    return told


def _households(row: Any, strata: bool) -> str:
    cells = "stratum and size" if strata else "size"
    text = (
        f"Households: {percent(row['value'])} of them would have to change {cells} to meet the "
        "numbers estimated from the survey weights"
    )
    draws = percent(row["expected_simulation_error"])
    if row["value"] < row["expected_simulation_error"]:
        return f"{text}; independent draws would leave {draws}."
    return f"{text}, no less than independent draws would leave ({draws})."


def _what_it_is(fit: FitReport, survey: Survey, population: Any) -> str:
    stands = count(float(survey.weights.sum()))
    made, source = f"{count(fit.n_population)} synthetic persons", f"{count(fit.n_sample)} persons"
    if fit.size is not None and isinstance(population, Population):
        made += f" in {count(population.n_households)} households"
        source += f" in {count(survey.n_households)} households"
    text = (
        f"The population has {made}. It was made from a survey of {source} that stands for "
        f"{stands} persons."
    )
    if isinstance(population, Population) and population.manifest.identity.replicate is not None:
        replicate = population.manifest.identity.replicate
        text += f" It is replicate {replicate['number']}: {replicate['note']}."
    return text


def _worst(fit: FitReport, measure: str) -> Any:
    table = overall_distances(fit)
    mine = table[table["measure"] == measure]
    return None if mine.empty else mine.iloc[int(mine["value"].to_numpy().argmax())]


def _shares(fit: FitReport, names: Names) -> list[str]:
    worst = _worst(fit, "tvd")
    if worst is None:
        return []
    overall = overall_distances(fit)
    n_variables = int((overall["measure"] == "tvd").sum())
    return [
        f"Categories: of {plural(n_variables, 'variable')}, {names.short(worst['variable'])} "
        f"differs most: {percent(worst['value'])} of the persons would have to change category for "
        f"the shares to be those of the survey. {_against(worst)}"
    ]


def _against(row: Any) -> str:
    noise = percent(row["expected_sampling_error"])
    floor = percent(row["expected_simulation_error"])
    if row["value"] <= row["expected_simulation_error"]:
        return f"That is no more than independent draws differ by chance ({floor})."
    if row["value"] <= row["expected_sampling_error"]:
        return (
            f"Independent draws differ by {floor} by chance; the survey itself is about {noise} "
            "away from its country by sampling error, which is more than this difference."
        )
    return (
        f"This is more than independent draws differ by chance ({floor}) and more than the "
        f"survey's own sampling error (about {noise}): look at it below."
    )


def _pairs(fit: FitReport, names: Names) -> list[str]:
    table = fit.distances
    pairs = table[(table["crossed"] != "") & (table["scope"] == "all")]
    if pairs.empty:
        return []
    within = int((pairs["value"] <= pairs["expected_sampling_error"]).sum())
    worst = pairs.iloc[int((pairs["value"] / pairs["expected_sampling_error"]).to_numpy().argmax())]
    return [
        f"Combinations: {within} of {plural(len(pairs), 'two-way table')} are closer to the survey "
        f"than its own sampling error. Farthest for its size is {names.short(worst['variable'])} "
        f"by {names.short(worst['crossed'])}, with {percent(worst['value'])} of the persons in "
        f"the wrong cell (sampling error {percent(worst['expected_sampling_error'])})."
    ]


def _numbers(fit: FitReport, names: Names) -> list[str]:
    table = fit.tables["statistics"]
    quantiles = fit.quantile_errors
    told = []
    for name in main_numbers(fit):
        mean = table[(table["variable"] == name) & (table["statistic"] == "mean")]["relative"]
        medians = quantiles[0.5].to_dict() if len(quantiles) else {}
        median = float(medians.get(name, float("nan")))
        told.append(
            f"{names.short(name)}: mean {change(float(mean.iloc[0]))}, median {change(median)} "
            f"against the survey; the share of persons below any value differs by at most "
            f"{percent(fit.ks[name])}."
        )
    return told


def _parts(fit: FitReport, names: Names) -> list[str]:
    told = []
    table = fit.tables["components"]
    for total in fit.components:
        rows = table[(table["total"] == total) & (table["part"] != total)]
        gap = (rows["population_share"] - rows["sample_share"]).abs()
        if gap.isna().all():
            continue
        row = rows.iloc[int(np.nanargmax(gap.to_numpy(dtype=float)))]
        sums = fit.tables["sums"].set_index("total")["population"]
        told.append(
            f"Components: the parts of every person add up to {names.short(total)} "
            f"(largest difference {_gap(sums[total])}). {names.short(row['part'])} differs most: "
            f"{percent(row['sample_share'])} of the total in the survey, "
            f"{percent(row['population_share'])} in the population."
        )
    return told


def _gap(value: float) -> str:
    return "less than 0.01" if value < 0.01 else number(value)


def _risk(risk: Any, fit: FitReport, external: bool) -> list[str]:
    scenario, accuracy, rate = highest(risk)
    if not scenario:
        return []
    many = f"{percent(rate)} of the survey persons"
    if external and is_small(rate * fit.n_sample):
        many = f"fewer than {SMALLEST_COUNT} survey persons"
    return [
        f"Disclosure: the most successful of five intruders who know the keys of everybody in the "
        f"survey (scenario {scenario}) comes within {percent(accuracy, 0)} of the true value for "
        f"{many}, and cannot know for which."
    ]


def stands_out(fit: FitReport, names: Names) -> list[str]:
    """Return the comparisons beyond the survey's own sampling error, the farthest first."""
    table = fit.distances[fit.distances["scope"].isin(["all"])].dropna(subset="value")
    limit = table[["expected_sampling_error", "expected_simulation_error"]].max(axis=1)
    table = table.assign(ratio=table["value"] / limit)
    rows = table[table["ratio"] > 1].sort_values("ratio", ascending=False, kind="stable")
    told = []
    for row in rows.head(MOST_NOTED).to_dict("records"):
        what = names.title(row["variable"])
        if row["crossed"]:
            what += f" by {names.title(row['crossed'])}"
        kind = "of the persons in the wrong cell" if row["measure"] == "tvd" else "KS distance"
        told.append(
            f"{what}: {percent(row['value'])} {kind}, {row['ratio']:.1f} times the "
            f"sampling error of the survey ({percent(row['expected_sampling_error'])})."
        )
    if len(rows) > MOST_NOTED:
        told.append(f"And {len(rows) - MOST_NOTED} more in the table of distances.")
    return told
