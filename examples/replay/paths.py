"""Risk and utility along the parameters: group size of microaggregation, level of noise."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replay.earnings import NUMERIC
from replay.section83 import WIDE
from replay.tables5 import compared, regressions
from riskeval.measures.interval_disclosure import interval_disclosure
from riskeval.session.session import ProtectionSession
from synthpop.microdata.messages.pictures import INK, OKABE_ITO, RC, SOFT, new_figure

SIZES = (3, 5, 10, 20, 50, 100)
LEVELS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SAME = ["sex", "age", "education", "location", "size", "NACE1"]
DOMAINS = (
    ("gini", ["age", "sex"]),
    ("gender_pay_gap", ["education"]),
    ("gender_pay_gap", ["age"]),
)


def utility_of(original: pd.DataFrame, release: pd.DataFrame) -> float:
    """Mean overlap of the intervals of Tables 5.2 to 5.5, each table counting the same."""
    means = [
        float(compared(original, release, indicator, by)["overlap"].iloc[1:].mean())
        for indicator, by in DOMAINS
    ]
    return float(np.mean([*means, regressions(original, {"r": release})["r"].overlap]))


def linked_risk(original: pd.DataFrame, release: pd.DataFrame) -> float:
    """Share of employees whose two earnings lie near those of their own released record."""
    return interval_disclosure(original, release, list(NUMERIC), k=WIDE).rate


def matched_risk(original: pd.DataFrame, release: pd.DataFrame, seed: int) -> float:
    """Share whose two earnings lie near those of a random released record with the same keys.

    Nobody of a synthetic file is anybody of the original; an intruder can only take a record that
    agrees with what is known. With the original itself as the release another employee is taken:
    this is what the keys tell without any release of earnings.
    """
    rng = np.random.default_rng(seed)
    places = release.groupby(SAME, observed=True).indices
    own, values = original[list(NUMERIC)].to_numpy(), release[list(NUMERIC)].to_numpy()
    half = WIDE * release[list(NUMERIC)].std().to_numpy()
    hits = 0
    for cell, rows in original.groupby(SAME, observed=True).indices.items():
        there = places.get(cell, rows[:0])
        if release is original:
            if len(rows) == 1:
                continue
            ahead = rng.integers(1, len(rows), len(rows))
            taken = rows[(np.arange(len(rows)) + ahead) % len(rows)]
        elif len(there):
            taken = rng.choice(there, len(rows))
        else:
            continue
        hits += int((np.abs(own[rows] - values[taken]) <= half).all(axis=1).sum())
    return hits / len(original)


def walked(session: ProtectionSession, seed: int) -> pd.DataFrame:
    """Return risk and utility along both parameters: `path`, `parameter`, `risk`, `utility`.

    The session holds the suppressed file; it is left as it was.
    """
    original = session.original
    rows = []
    for path, values in (("group size", SIZES), ("noise level", LEVELS)):
        for value in values:
            if path == "group size":
                release = session.microaggregate(k=int(value), seed=seed).data
            else:
                release = session.add_noise(method="correlated2", level=value, seed=seed).data
            session.undo()
            rows.append(
                (path, value, linked_risk(original, release), utility_of(original, release))
            )
    return pd.DataFrame(rows, columns=["path", "parameter", "risk", "utility"])


def placed(original: pd.DataFrame, releases: Mapping[str, pd.DataFrame], seed: int) -> pd.DataFrame:
    """Return risk and utility of the releases, one row each."""
    rows = {}
    for name, release in releases.items():
        nobody = name == "synthetic"
        risk = matched_risk(original, release, seed) if nobody else linked_risk(original, release)
        rows[name] = (risk, utility_of(original, release))
    return pd.DataFrame.from_dict(rows, orient="index", columns=["risk", "utility"])


def draw(paths: pd.DataFrame, points: pd.DataFrame, chance: float, title: str) -> Figure:
    """Draw the map: risk to the right, utility upwards."""
    with mpl.rc_context(RC):
        figure = new_figure(8.4, 5.2)
        axes = figure.add_subplot()
        for (path, part), colour, marker in zip(
            paths.groupby("path", sort=False), OKABE_ITO, "os", strict=False
        ):
            x, y = 100 * part["risk"], 100 * part["utility"]
            axes.plot(x, y, marker=marker, color=colour, markersize=5, label=f"by {path}")
            for value, a, b in zip(part["parameter"], x, y, strict=True):
                if value in (5, 10):  # no room beside the releases that have these groups
                    continue
                axes.annotate(
                    f"{value:g}", (a, b), (0, 6 if marker == "s" or value == 3 else -13),
                    textcoords="offset points", ha="center", fontsize=8, color=colour,
                )  # fmt: skip
        for name, row in points.iterrows():
            at = (100 * row["risk"], 100 * row["utility"])
            axes.plot(*at, marker="D", color=INK, markersize=5, linestyle="none")
            below = 0 if name in ("rec+ls+ma", "synthetic") else -12
            axes.annotate(
                str(name), at, (8, below), textcoords="offset points", color=INK, fontsize=8.5
            )
        axes.axvline(100 * chance, color=SOFT, linestyle=":", linewidth=1)
        axes.annotate(
            "what keys alone tell", (100 * chance, 0.98), (4, 0), rotation=90, color=SOFT, va="top",
            xycoords=("data", "axes fraction"), textcoords="offset points", fontsize=8,
        )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(right=300)
        axes.set_xticks([0.3, 1, 3, 10, 30, 100])
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_ylim(axes.get_ylim()[0] - 2, 101)
        axes.set_xlabel("employees whose two earnings can be read to 0.05 standard deviations, %")
        axes.set_ylabel("overlap of confidence intervals, mean of Tables 5.2 to 5.5, %")
        axes.set_title(title)
        axes.grid(visible=True)
        axes.legend(loc="lower right", title="suppressed file, earnings changed")
    return figure
