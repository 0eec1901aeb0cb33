"""The page of `benchmarks.quality`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from benchmarks import puf

INTRO = """# Quality, method by method

`python -m benchmarks.quality {seeds}` writes this page; means over {seeds} seeds. S is the
weighted sample, P the population; distances are those of the reference's figures (simPop
2.1.4), for persons of 16 years and older but for the structure. **Within the bar**: at most the
larger of the reference's mean and the floor of independent draws, plus two standard deviations
of the reference over its seeds. Signed distances count by their absolute value; shares and
associations by their distance to the sample's own.

Predictors here have the household size among them, and citizenship is given the economic
status; the reference can use neither. Draws are spread evenly within cells, so that distances can
be smaller than the floor of independent draws. Scenarios without a name in the first column are
methods that the reference does not have.

"""
NEAR = 1.06
# start of the scenario, part of the metric, why; the first that fits
NORMAL = "one normal curve a stratum, as in the book, misses the shape of the log of income"
REASONS: tuple[tuple[str, str, str], ...] = (
    (
        "con_multinom_age",
        "",
        "age is cut at deciles, and where income begins: ten classes, coarser than the groups that "
        "are compared",
    ),
    (
        "cat_distribution",
        "",
        "combinations that the table of a stratum lacks are drawn from that of all strata",
    ),
    ("con_lm_normal", "", NORMAL),
    ("conf_lm_normal", "", NORMAL),
    ("ghana_rel_direct", "", "`direct` has an effect here; members are less like their head"),
)


def reason(scenario: str, metric: str, ratio: float) -> str:
    """Why a distance is beyond its bar."""
    for start, part, text in REASONS:
        if scenario.startswith(start) and part in metric:
            return text
    return f"by {ratio - 1:.1%} of the bar, which rests on a few seeds" if ratio < NEAR else "open"


def beyond(table: pd.DataFrame) -> str:
    """Every distance beyond its bar, with the reason."""
    wrong = table[~table["within"]]
    lines = ["| reference | distance | here | bar | why |", "| --- | --- | --: | --: | --- |"]
    for row in wrong.itertuples():
        why = reason(row.scenario, row.metric, row.ours / max(row.limit, 1e-300))
        lines.append(
            f"| {row.scenario} | {row.metric} | {row.ours:.3g} | {row.limit:.3g} | {why} |"
        )
    return "\n".join(lines)


def write_page(
    path: Path,
    seeds: int,
    rows: Sequence[str],
    table: pd.DataFrame,
    others: Sequence[str],
    of_puf: Sequence[str],
) -> None:
    """Write the page from the rows of the scenarios and the table of all distances."""
    known = table.dropna(subset="limit")
    jobs = known.groupby("scenario")["within"]
    text = INTRO.format(seeds=seeds)
    text += (
        f"{int(known['within'].sum()):,} of {len(known):,} distances are within their bar; "
        f"{int(jobs.all().sum())} of {jobs.ngroups} scenarios in all distances.\n\n"
    )
    if others:
        text += f"Not measured in this run: {', '.join(others)}.\n\n"
    text += "## eusilcS and ghanaS\n\n" + "\n".join(rows) + "\n\n"
    text += "## Beyond the bar\n\n" + beyond(known) + "\n"
    if of_puf:
        text += "\n" + PUF.format(seeds=seeds) + "\n".join([puf.head(), *of_puf]) + "\n"
    path.write_text(text, encoding="utf-8")


PUF = """## eusilc13puf

The reference has no figures for this file, so the yardsticks are chance and the survey's own
sampling error (`assess_fit`). Populations of 167,000 persons; {seeds} seeds. The total is the sum
of its parts, a missing part counts as zero where another is there.

"""
