"""The page of a protection session: what was done, and risk and utility before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from synthpop.microdata.page import render_page, write_page
from synthpop.microdata.pictures import POPULATION, RC, SAMPLE, WIDE, new_figure, to_svg
from synthpop.microdata.suppression import SMALLEST_COUNT, is_small, shown, shown_mean
from synthpop.microdata.text import change, count, number, tick

if TYPE_CHECKING:
    from riskeval.session.session import ProtectionSession

ROLES = {
    "keys": "Keys",
    "numeric": "Numeric keys",
    "weights": "Weights",
    "household": "Household",
    "strata": "Strata",
    "sensitive": "Sensitive",
    "linked": "Suppressed with a key",
    "pram": "Post-randomised",
}
GROUPS = ((1, "1"), (2, "2"), (3, "3 or 4"), (5, "5 to 9"), (10, "10 or more"))
RISK_BINS = (0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
RISK_LABELS = ("below 0.0001", "0.0001 to 0.001", "0.001 to 0.01", "0.01 to 0.1", "0.1 or more")
CAPTIONS = {
    "key_sizes": (
        "Records by the number of records that they share their keys with, themselves included. A "
        "missing value agrees with every value. Records below 3 stand out; the scale is "
        "logarithmic above 1."
    ),
    "risks": (
        "Records by the probability that an intruder who knows the keys links them to the right "
        "person. At 0.09 or more a record is above the limit of the European Medicines Agency "
        "(Policy 0070); the scale is logarithmic above 1."
    ),
}
MEANINGS = {
    "records below 2": "records whose keys nobody else in the file has",
    "records below 3": "records that violate 3-anonymity",
    "records below 5": "records that violate 5-anonymity",
    "mean individual risk": "mean probability of a correct link",
    "expected re-identifications": "sum of these probabilities over the records",
    "largest individual risk": "that of the record with the highest probability",
    "mean household risk": "mean probability that somebody of the household is found",
    "interval disclosure": (
        "share of records whose numeric keys are all within 0.01 standard deviations of the truth"
    ),
}
UTILITY = {
    "filled": "cells with a value",
    "distinct": "distinct values",
    "mean": "mean, unweighted",
    "standard deviation": "standard deviation, unweighted",
    "IL1s": "mean change of a value in sqrt(2) standard deviations; 0 is none",
    "IL1": "mean change of a value as a share of it; 0 is none",
    "eigenvalues": "summed relative change of the eigenvalues of the correlations; 0 is none",
    "correlations": "mean absolute change of the correlations; 0 is none",
}


def write_protection(path: Path | str, session: ProtectionSession, audience: str) -> Path:
    """Write the page of a session; `audience` is "internal" or "external"."""
    external = audience == "external"
    risk, utility = session.risk(), session.utility()
    pictures = {} if external else _pictures(session)
    facts = {
        "title": f"Protection of a file of {count(len(session.original))} records",
        "external": external,
        "cards": _cards(session, external),
        "first": _first(session, external),
        "risk_text": "" if external else risk.summary(),
        "utility_text": utility.summary() if not external else "",
        "roles": [
            (title, _names(getattr(session.roles, role)))
            for role, title in ROLES.items()
            if getattr(session.roles, role)
        ],
        "steps": _steps(session, external),
        "risk": _risk(risk.table, len(session.original), external),
        "utility": _utility(utility.table, external),
        "caveats": _caveats(session),
        "captions": CAPTIONS,
        "pictures": pictures,
    }
    return write_page(path, render_page("riskeval", "protect.html.j2", facts))


def _names(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = [f"{v[0]} -> {', '.join(v[1])}" if isinstance(v, tuple) else str(v) for v in value]
    return ", ".join(parts)


def _cards(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    table, history = session.risk().table, session.history()

    def change(name: str, show: Any) -> str:
        return " to ".join(show(table.loc[name, side]) for side in ("original", "current"))

    return [
        {"title": "Steps", "value": f"{len(history)}", "note": "in effect"},
        {
            "title": "Cells changed",
            "value": shown(session.cells_changed, external),
            "note": f"of {count(session.original.size)} in the file",
        },
        {
            "title": "Records below 3",
            "value": change("records below 3", lambda x: shown(x, external)),
            "note": "violations of 3-anonymity, before to after",
        },
        {
            "title": "Re-identifications",
            "value": change(
                "expected re-identifications", lambda x: shown(x, external, text=number)
            ),
            "note": "expected among all records, before to after",
        },
    ]


def _first(session: ProtectionSession, external: bool) -> str:
    n = len(session.steps)
    if not n:
        return "No step is in effect: the file is the original."
    values = session.risk().table.loc[["mean individual risk"]].iloc[0]
    before, after = float(values["original"]), float(values["current"])
    texts = [shown_mean(x, len(session.original), external) for x in (before, after)]
    went = f"went from {texts[0]} to {texts[1]}"
    if before and "<" not in "".join(texts):
        went += f" ({change(after / before - 1, 0)})"
    word = "step" if n == 1 else "steps"
    return f"{n} {word} in effect. The mean probability of a correct link over the keys {went}."


def _steps(session: ProtectionSession, external: bool) -> dict[str, Any]:
    head = ["Step", "Method", "Arguments", "Seed", "Cells", "Records"]
    rows = []
    for row in session.history().to_dict("records"):
        seed = "–" if pd.isna(row["seed"]) else str(row["seed"])
        inside = () if external else (row["arguments"], seed)
        counts = (shown(row[name], external) for name in ("cells", "records"))
        rows.append((row["step"], row["verb"], *inside, *counts))
    if external:
        head = [name for name in head if name not in ("Arguments", "Seed")]
    return {"caption": "", "head": head, "text_columns": 2 if external else 3, "rows": rows}


def _risk(table: pd.DataFrame, n: int, external: bool) -> dict[str, Any]:
    rows = []
    for name, values in table.iterrows():
        if external and name == "largest individual risk":
            continue
        meaning = MEANINGS.get(str(name), "fewest different values among records of one key")
        sides = (float(values["original"]), float(values["current"]))
        if str(name).startswith("records below"):
            texts = [shown(x, external) for x in sides]
        elif name == "expected re-identifications":
            texts = [shown(x, external, text=number) for x in sides]
        elif name == "mean individual risk":
            texts = [shown_mean(x, n, external) for x in sides]
        else:
            texts = [number(x) for x in sides]
        rows.append((name, meaning, *texts))
    return {
        "caption": "",
        "head": ("Number", "What it means", "Original", "Current"),
        "text_columns": 2,
        "rows": rows,
    }


def _utility(table: pd.DataFrame, external: bool) -> dict[str, Any]:
    rows = []
    for place, values in table.iterrows():
        column, what = (str(part) for part in cast("tuple[str, str]", place))
        before, after = float(values["original"]), float(values["current"])
        texts = ["–" if np.isnan(x) else number(x, 4) for x in (before, after)]
        if external and what == "filled" and is_small(abs(before - after)):
            texts[1] = f"less than {SMALLEST_COUNT} fewer"
        rows.append((column, UTILITY.get(what, what), *texts))
    return {
        "caption": "",
        "head": ("Column", "What it means", "Original", "Current"),
        "text_columns": 2,
        "rows": rows,
    }


def _caveats(session: ProtectionSession) -> list[str]:
    roles, verbs = session.roles, {step.verb for step in session.steps}
    found = [
        "Every number of the risk depends on the keys: they stand for what an intruder is thought "
        "to know. Nothing is said about an intruder who knows more.",
        "A missing value agrees with every value when records are counted. Where suppression "
        "depends on other columns, these may give away what was suppressed.",
    ]
    if roles.weights is None:
        found.append(
            "No weights were given: the file counts as the whole population, and a record that is "
            "unique in it has the risk 1."
        )
    if roles.household is None:
        found.append("No household was declared: risk through other members is not counted.")
    if verbs & {"pram", "record_swap"}:
        found.append(
            "Values were exchanged at random. Counts on the keys do not know that a match may be "
            "wrong: where keys were exchanged, the true risk is lower than the numbers say."
        )
    if roles.numeric:
        found.append(
            "Interval disclosure assumes that the intruder's values are exact and that records "
            "are compared one by one; it is no probability of a correct link."
        )
    found.append(
        "Means and deviations are those of the records, not estimates of the population. Judge "
        "the use of the file by the estimates that matter to its users."
    )
    return found


def _pictures(session: ProtectionSession) -> dict[str, str]:
    from riskeval.measures.individual import individual_risk

    roles = session.roles
    files = {"original": session.original, "current": session.data}
    found = {
        name: individual_risk(
            file, list(roles.keys), weights=roles.weights, household=roles.household
        )
        for name, file in files.items()
    }
    edges = np.array([least for least, _ in GROUPS] + [np.inf])
    sizes = {name: np.histogram(risk.f, edges)[0] for name, risk in found.items()}
    risks = {name: np.histogram(risk.risk, RISK_BINS)[0] for name, risk in found.items()}
    figures = {
        "key_sizes": pairs_of_bars(
            sizes, [label for _, label in GROUPS], "Records that share the keys"
        ),
        "risks": pairs_of_bars(risks, list(RISK_LABELS), "Probability of a correct link"),
    }
    return {key: to_svg(figure, key, CAPTIONS[key]) for key, figure in figures.items()}


def pairs_of_bars(counts: dict[str, np.ndarray], labels: list[str], title: str) -> Figure:
    """Draw counts of records in classes, original beside current.

    Examples
    --------
    >>> figure = pairs_of_bars({"original": np.array([3]), "current": np.array([0])}, ["1"], "f")
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['3', '0']
    """
    with rc_context(RC):
        figure = new_figure(WIDE, 0.9 + 0.48 * len(labels))
        axes = figure.subplots()
        places = np.arange(len(labels))
        for shift, (name, colour) in enumerate(zip(counts, (SAMPLE, POPULATION), strict=True)):
            bars = axes.barh(
                places + (shift - 0.5) * 0.38, counts[name], 0.36, color=colour, label=name
            )
            axes.bar_label(bars, [count(value) for value in counts[name]], padding=3, fontsize=8)
        axes.set_yticks(places, labels)
        axes.invert_yaxis()
        axes.set_xscale("symlog", linthresh=1)
        top = max(1, *(int(value.max()) for value in counts.values()))
        axes.set_xlim(0, 3 * top)
        axes.set_xticks([0, *(10**j for j in range(int(np.log10(top)) + 1))])
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.minorticks_off()
        axes.set_xlabel("Records")
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
