"""What was done: the steps of the recipe in their order, the run, the fallbacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from synthpop.figures.names import FigureNames
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.language import gettext, localised
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import count, join, number, percent, plural
from synthpop.microdata.pages.page_facts import table
from synthpop.population.population import Population
from synthpop.stages.registry import STAGES

MODELS = ("categorical", "relation", "gibbs_pass", "continuous")
MOST_FALLBACKS = 60
FALLBACKS = (
    "{n} needed. Where the survey is too sparse for a model of a stratum (of a level, where a step "
    "has models by level), the next coarser one is used."
)
NO_FALLBACK = message("No fallback was needed: every model was fitted as asked, in every stratum.")


def steps(
    recipe: Any, names: FigureNames, pooling: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, object]:
    """Return the table of steps, in the order in which they ran.

    `pooling` is that of the manifest: label of a model -> how its strata were pooled.
    """
    rows = []
    for place, stage in enumerate(recipe, 1):
        kind = stage["type"]
        what, how = _described(kind, stage, names)
        how += _pooled(kind, stage, pooling or {})
        title = STAGES[kind].entry.title if kind in STAGES else kind  # of another version
        rows.append([str(place), gettext(title), what, how])
    return table(["Step", "What", "Variables", "How"], rows, text_columns=4)


def _pooled(kind: str, stage: Mapping[str, Any], pooling: Mapping[str, Mapping[str, Any]]) -> str:
    """Say how far the strata of a step were shrunk towards each other."""
    if kind == "structure":
        return _donors(pooling.get(kind, {"kind": "none"}))
    label = f"{kind} {stage.get('name')}"
    if kind == "gibbs_pass":
        pass_label = f"gibbs_pass {', '.join(stage['variables'])}"
        parts = [f"{pass_label}: {name}" for name in stage["variables"]]
    else:
        parts = [label, f"{label} (heads)", f"{label} (others)"]
    poolings = [pooling[name] for name in parts if name in pooling]
    values = [pooling[name] for name in (f"{label} (values)",) if name in pooling]
    text = _shrunk(message("model"), poolings) + _shrunk(message("regression"), values)
    return text


def _shrunk(what: str, fallbacks: Sequence[Mapping[str, Any]]) -> str:
    """Say how the strata's models, or regressions, are shrunk towards those of all."""
    parts = []
    for item in fallbacks:
        if item["kind"] == "complete" or item["amount"] == "infinite":
            parts.append(message("one {what} for all strata (complete pooling)", what=what))
        elif item["kind"] == "partial":
            parts.append(
                message(
                    "{what} of each stratum shrunk towards the pooled one (prior size {n} persons)",
                    what=what,
                    n=number(item["amount"]),
                )
            )
    return "; " + join(dict.fromkeys(parts)) if parts else ""


def _donors(item: Mapping[str, Any]) -> str:
    """Say how far households of other strata were donors."""
    if item["kind"] == "none":
        return ""
    totals = message("totals of each stratum preserved")
    if item["amount"] == "infinite":
        return "; " + message("donors from all strata alike, {totals}", totals=totals)
    households = number(item["amount"])
    return "; " + message(
        "donors borrowed from other strata (prior size {households} households), {totals}",
        households=households,
        totals=totals,
    )


def _described(kind: str, stage: Mapping[str, Any], names: FigureNames) -> tuple[str, str]:
    if kind == "structure":
        how = message(
            "Whole households of the survey, resampled by their weights ({method})",
            method=stage["method"],
        )
        return ", ".join(names.title(name) for name in stage["variables"]), how
    if kind == "derive":
        return names.title(stage["name"]), _derived(stage, names)
    if kind == "components":
        how = message(
            "{total} split by donors within {by}",
            total=names.title(stage["total"]),
            by=", ".join(stage["by"]),
        )
        return ", ".join(names.short(part) for part in stage["parts"]), how
    if kind == "correct_heaping":
        heaps = stage["heaps"] if isinstance(stage["heaps"], str) else "given ages"
        how = message(
            "Ages of the survey corrected before the fit ({method} draws, {heaps})",
            method=stage["method"],
            heaps=heaps,
        )
        return names.title(stage["name"]), how
    if kind in ("distribute", "anneal"):
        return _population_stage(kind, stage, names)
    if kind == "impute":
        how = "Taken from similar rows of the survey before the fit"
        return ", ".join(names.title(name) for name in stage["variables"]), how
    if kind == "table_pass":
        how = message("Values exchanged until tables of all pairs of variables are as expected")
        return ", ".join(names.title(name) for name in stage["variables"]), how
    if kind not in MODELS:  # of a new stage: its options as they are
        columns = ", ".join(names.title(name) for name in listed_names(stage.get("name", ())))
        settings = {key: value for key, value in stage.items() if key not in ("type", "name")}
        return columns, joined_by("; ", (f"{key} {value}" for key, value in settings.items()))
    method = stage.get("method") or ""
    options = method if isinstance(method, Mapping) else {"type": method}
    model = stage.get("model") or options["type"]
    predictors = stage.get("predictors", "all")
    text = predictors if isinstance(predictors, str) else ", ".join(predictors)
    how = message("{model} on {predictors}", model=str(model).partition("(")[0], predictors=text)
    if stage.get("by"):
        how += "; " + message("a model for each level of {name}", name=names.title(stage["by"]))
    tail = options.get("tail") or ""
    tail = tail if isinstance(tail, Mapping) else {"type": tail}
    if tail["type"]:
        words = {"gpd": "generalised Pareto", "pareto": "Pareto"}[tail["type"]]
        how += "; " + message("{words} tail in the top class", words=words)
    if stage.get("by_household") == "first":
        how += "; " + message("members conditional on the first member")
    elif stage.get("by_household") == "sequential":
        how += "; " + message("members conditional on those before them")
    elif stage.get("by_household"):
        how += "; " + message(
            "one value per household ({by_household})", by_household=stage["by_household"]
        )
    upper = tail.get("upper", options.get("upper"))
    if upper is not None:
        how += "; " + message("at most {upper}", upper=number(float(upper)))
    if stage.get("impossible"):
        how += "; " + message(
            "{n} for impossible values", n=plural(len(stage["impossible"]), "rule")
        )
    if kind == "gibbs_pass":
        how = message(
            "Drawn again given all others ({how}), {n}",
            how=how,
            n=plural(stage["passes"], "pass", "passes"),
        )
        return ", ".join(names.title(name) for name in stage["variables"]), how
    return names.title(stage.get("name", "")), how


def _derived(stage: Mapping[str, Any], names: FigureNames) -> str:
    """Say what a variable is derived from: one other, or an expression."""
    classes = stage.get("breaks") is not None
    if stage.get("expression") is None:
        rule = message("in classes") if classes else message("by mapping")
        return message("from {source}, {rule}", source=names.title(stage["source"]), rule=rule)
    how = message("calculated: {expression}", expression=stage["expression"])
    if stage.get("within"):
        how += " " + message("({aggregate} over the household)", aggregate=stage["aggregate"])
    return message("{how}, in classes", how=how) if classes else how


def _population_stage(kind: str, stage: Mapping[str, Any], names: FigureNames) -> tuple[str, str]:
    tables = stage["margins"]
    cells = plural(sum(item["n_cells"] for item in tables), "known total")
    if kind == "distribute":
        how = message(
            "Households allocated within {within} by {cells}",
            within=names.title(stage["within"]),
            cells=cells,
        )
        return names.title(stage["name"]), how
    column_names = [
        name for item in tables for name in (*item["columns"], item.get("variable")) if name
    ]
    what = ", ".join(names.title(name) for name in dict.fromkeys(column_names))
    where = ""
    if stage.get("split"):
        where = " " + message("within {region}", region=names.title(stage["split"]))
    tolerance = (
        (", " + message("within {tolerance}", tolerance=percent(stage["tolerance"])))
        if stage["tolerance"]
        else ""
    )
    return what, message(
        "Whole households exchanged{where} until {cells} are met{tolerance}",
        where=where,
        cells=cells,
        tolerance=tolerance,
    )


def run_facts(population: Population, external: bool) -> list[tuple[str, str]]:
    """Return how the run can be repeated, as pairs of a name and a value."""
    identity, sample = population.manifest.identity, population.manifest.sample
    seed = gettext("kept in the internal report") if external else str(identity.seed)
    if identity.sealed:
        seed = gettext("kept with the secret key of the run")
    survey = message(
        "{persons} persons in {households} households, weight {weight}",
        persons=count(sample.n_persons),
        households=count(sample.n_households),
        weight=sample.weight,
    )
    scale = message("{scale} (persons of the population for one unit of weight)",
                 scale=localised(f"{identity.scale:g}"))  # fmt: skip
    blocks = message(
        "{blocks} of at most {n} persons",
        blocks=plural(len(population.manifest.blocks), "block"),
        n=count(identity.rows_per_block),
    )
    facts = [
        (gettext("Survey"), survey),
        (gettext("Scale"), scale),
        (gettext("Seed"), seed),
        (gettext("Software"), f"synthpop {identity.version}"),
        (gettext("Blocks"), blocks),
    ]
    if population.path is not None and not external:
        facts.append((gettext("Folder"), str(population.path)))
    return facts


def fallbacks(population: Population, external: bool) -> dict[str, object]:
    """Return a sentence and a table on what was too sparse for the stratum's own model."""
    fallbacks_of_run = population.fallbacks
    if not fallbacks_of_run:
        return {"sentence": gettext(NO_FALLBACK), "table": None}
    sentence = message(FALLBACKS, n=plural(len(fallbacks_of_run), "fallback was", "fallbacks were"))
    if external:
        by_stage: dict[str, set[str]] = defaultdict(set)
        for item in fallbacks_of_run:
            by_stage[item.stage].add(item.stratum)
        rows = [[stage, str(len(where))] for stage, where in by_stage.items()]
        return {"sentence": sentence, "table": table(["Step", "Strata or levels"], rows)}
    rows = [
        [gettext(item.stage), gettext(item.stratum), item.what,
         count(item.n_persons) if item.n_persons else gettext("fit")]
        for item in fallbacks_of_run[:MOST_FALLBACKS]
    ]  # fmt: skip
    if len(fallbacks_of_run) > MOST_FALLBACKS:
        left = len(fallbacks_of_run) - MOST_FALLBACKS
        rows.append(
            [message("and {left} more, listed in the manifest", left=count(left)), "", "", ""]
        )
    head = [
        "Step",
        message("Stratum or level"),
        message("What was missing, what was used instead"),
        "Persons",
    ]
    return {"sentence": sentence, "table": table(head, rows, text_columns=3)}
