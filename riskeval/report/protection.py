"""The page of a protection session: what was done, and risk and utility before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from riskeval.report.values import ROUNDING, shown, visible
from synthpop.microdata.page import render_page, write_page
from synthpop.microdata.pictures import POPULATION, RC, SAMPLE, WIDE, new_figure, to_svg
from synthpop.microdata.suppression import is_safe_change, is_safe_statistic, rounded
from synthpop.microdata.text import BLANK, change, count, number, tick

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
        "missing value agrees with every value. Records below 3 stand out."
    ),
    "risks": (
        "Records by the probability that an intruder who knows the keys links them to the right "
        "person. At 0.09 or more a record is above the limit of the European Medicines Agency "
        "(Policy 0070)."
    ),
}
NOT_SHOWN = (
    "Means and deviations are not shown where a single value could be computed from them: fewer "
    "than ten values changed, or one of them dominates."
)
UTILITY = {
    "IL1s": "mean change of a value in sqrt(2) standard deviations; 0 is none",
    "IL1": "mean change of a value as a share of it; 0 is none",
    "eigenvalues": "summed relative change of the eigenvalues of the correlations; 0 is none",
    "correlations": "mean absolute change of the correlations; 0 is none",
}


def write_protection(path: Path | str, session: ProtectionSession, audience: str) -> Path:
    """Write the page of a session; `audience` is "internal" or "external".

    External pages show rounded counts, and a mean or deviation of the original only where no
    single value can be computed from it: see `safe_columns`.
    """
    external = audience == "external"
    risk, utility = session.risk(), session.utility()
    facts = {
        "title": f"Protection of a file of {count(len(session.original))} records",
        "external": external,
        "rounding": f"{ROUNDING} {NOT_SHOWN}" if external else "",
        "cards": _cards(session, external),
        "first": _first(session, external),
        "risk_text": "" if external else risk.summary(),
        "utility_text": "" if external else utility.summary(),
        "roles": [
            (title, _names(getattr(session.roles, role)))
            for role, title in ROLES.items()
            if getattr(session.roles, role)
        ],
        "steps": _steps(session, external),
        "risk": _risk(session, external),
        "utility": _utility(session, external),
        "losses": _losses(session, external),
        "caveats": _caveats(session),
        "captions": CAPTIONS,
        "pictures": {} if external else _pictures(session),
    }
    page = render_page("riskeval", "protect.html.j2", facts)
    return write_page(path, page, private=not external)


def safe_columns(session: ProtectionSession) -> set[str]:
    """Numeric columns whose mean and deviation may be shown before and after.

    The original must hold enough values without a dominant one, and the difference must come from
    enough changed values without a dominant one. Otherwise the number of records times the
    difference of the means gives a changed value away.
    """
    original, current = session.original, session.data
    return {
        str(name)
        for name in original
        if pd.api.types.is_numeric_dtype(original[name].dtype)
        and pd.api.types.is_numeric_dtype(current[name].dtype)
        and is_safe_statistic(_values(original[name]))
        and is_safe_change(_values(original[name]), _values(current[name]))
    }


def _values(column: pd.Series) -> np.ndarray:
    return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _names(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = [f"{v[0]} -> {', '.join(v[1])}" if isinstance(v, tuple) else str(v) for v in value]
    return ", ".join(parts)


def _sides(session: ProtectionSession, name: str, external: bool) -> list[str]:
    """A number of the risk before and after; a dash where a file does not have it."""
    both = session.risk().measurements
    return [
        shown(both[side][name], external) if name in both[side] else BLANK
        for side in ("original", "current")
    ]


def _cards(session: ProtectionSession, external: bool) -> list[dict[str, str]]:
    cells = session.cells_changed
    return [
        {"title": "Steps", "value": f"{len(session.history())}", "note": "in effect"},
        {
            "title": "Cells changed",
            "value": rounded(cells) if external else count(cells),
            "note": f"of {count(session.original.size)} in the file",
        },
        {
            "title": "Violations of 3-anonymity",
            "value": " → ".join(_sides(session, "below_3", external)),
            "note": "records, before and after",
        },
        {
            "title": "Expected re-identifications",
            "value": " → ".join(_sides(session, "expected_reidentifications", external)),
            "note": "among all records, before and after",
        },
    ]


def _first(session: ProtectionSession, external: bool) -> str:
    n = len(session.steps)
    if not n:
        return "No step is in effect: the file is the original."
    texts = _sides(session, "global_risk", external)
    went = f"went from {texts[0]} to {texts[1]}"
    table = session.risk().table
    before, after = (float(table[side]["global_risk"]) for side in ("original", "current"))
    if before and not external:
        went += f" ({change(after / before - 1, 0)})"
    word = "step" if n == 1 else "steps"
    return f"{n} {word} in effect. The mean probability of a correct link over the keys {went}."


def _table(head: list[str], text_columns: int, rows: list[Any]) -> dict[str, Any]:
    return {"caption": "", "head": head, "text_columns": text_columns, "rows": rows}


def _steps(session: ProtectionSession, external: bool) -> dict[str, Any]:
    head = ["Step", "Method", "Arguments", "Seed", "Cells", "Records"]
    rows = []
    for row in session.history().to_dict("records"):
        seed = "–" if pd.isna(row["seed"]) else str(row["seed"])
        inside = () if external else (row["arguments"], seed)
        changed = [None if pd.isna(row[name]) else row[name] for name in ("cells", "records")]
        counts = (rounded(x) if external else count(x) for x in changed)
        rows.append((row["step"], row["verb"], *inside, *counts))
    if external:
        head = [name for name in head if name not in ("Arguments", "Seed")]
    return _table(head, 2 if external else 3, rows)


def _risk(session: ProtectionSession, external: bool) -> dict[str, Any]:
    both = session.risk().measurements
    known = {**both["original"], **both["current"]}
    rows = [
        (one.title, one.info.meaning, *_sides(session, key, external))
        for key, one in known.items()
        if one in visible([one], external)
    ]
    return _table(["Number", "What it means", "Original", "Current"], 2, rows)


def _utility(session: ProtectionSession, external: bool) -> dict[str, Any]:
    """One row a variable; of categories no means, of unsafe numbers nothing of the original."""
    table, roles = session.utility().table, session.roles
    safe = safe_columns(session) if external else None
    categories = {*roles.keys, *roles.sensitive, *roles.pram} - set(roles.numeric)
    rows = []
    for column in dict.fromkeys(table.index.get_level_values(0)):
        if column == "numeric keys":
            continue
        part = table.loc[column]
        cells = []
        for what in ("filled", "distinct", "mean", "standard deviation"):
            counts = what in ("filled", "distinct")
            if what not in part.index or (not counts and column in categories):
                cells.append(BLANK)
                continue
            before, after = (float(part.loc[what, side]) for side in ("original", "current"))
            if counts:
                write = rounded if external else count
                cells.append(_arrow(write(before), write(after)))
            elif safe is not None and column not in safe:
                cells.append("not shown")
            else:
                cells.append(_arrow(number(before, 4), number(after, 4)))
        rows.append((column, *cells))
    return _table(["Variable", "Values", "Distinct", "Mean", "Standard deviation"], 1, rows)


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _losses(session: ProtectionSession, external: bool) -> dict[str, Any]:
    """Information loss of the numeric keys; for external readers only where all are safe."""
    table = session.utility().table
    if "numeric keys" not in table.index.get_level_values(0):
        return _table([], 0, [])
    if external and not set(session.roles.numeric) <= safe_columns(session):
        return _table([], 0, [])
    rows = [
        (what, UTILITY.get(str(what), str(what)), number(float(values["current"]), 4))
        for what, values in table.loc["numeric keys"].iterrows()
    ]
    return _table(["Number", "What it means", "Value"], 2, rows)


def _caveats(session: ProtectionSession) -> list[str]:
    roles, verbs = session.roles, {step.verb for step in session.steps}
    found = [
        "Every number of the risk depends on the keys: they stand for what an intruder is thought "
        "to know. Nothing is said about an intruder who knows more.",
        "A missing value agrees with every value when records are counted. Key values that can be "
        "read back from household members, weights or other columns are counted apart.",
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
    both = {
        "original": session.individual_risk(original=True),
        "current": session.individual_risk(),
    }
    edges = np.array([least for least, _ in GROUPS] + [np.inf])
    sizes = {name: np.histogram(risk.f, edges)[0] for name, risk in both.items()}
    risks = {name: np.histogram(risk.risk, RISK_BINS)[0] for name, risk in both.items()}
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
        top = max(1, *(int(value.max()) for value in counts.values()))
        axes.set_xlim(0, 1.15 * top)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.xaxis.set_major_formatter(FuncFormatter(tick))
        axes.set_xlabel("Records")
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
