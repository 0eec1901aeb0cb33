"""An assessment as a folder: a page in Markdown, its table and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import rc_context

from riskeval.measures.assessment import Assessment
from riskeval.measures.registry import MEASURES
from riskeval.report.assessment_figures import draw_assessment
from synthpop.microdata.formats.folder import new_folder
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.messages.pictures import RC
from synthpop.microdata.messages.text import number


def write_folder(assessment: Assessment, folder: Path | str) -> Path:
    """Write page, table and figures into a new or empty folder."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"{target} holds something already: name a new or an empty folder.")
    drawn = draw_assessment(assessment)
    page = markdown_of(assessment) + "".join(f"\n![{name}]({name}.png)\n" for name in drawn)
    with new_folder(target) as workfolder, rc_context(RC):
        (workfolder / "risk.md").write_text(page, encoding="utf-8")
        assessment.table.to_csv(workfolder / "risk.csv", index=False)
        for name, figure in drawn.items():
            figure.savefig(workfolder / f"{name}.png", dpi=150)
    return target


def markdown_of(assessment: Assessment) -> str:
    """Return each measure with its question, numbers and sentence."""
    parts = ["# Disclosure risk of the categorical keys", "", assessment.summary().splitlines()[0]]
    table = assessment.table
    for name, result in assessment.results.items():
        measure = MEASURES[name]
        parts += ["", f"## {measure.title}", "", f"*{measure.question}*", ""]
        parts += ["| number | value | limit | met | meaning |", "| --- | ---: | ---: | --- | --- |"]
        parts += [_row(row) for row in table[table["measure"] == name].to_dict("records")]
        parts += ["", result.summary(), "", f"Source: {measure.source}."]
    if assessment.skipped:
        parts += ["", "## Left out", ""]
        parts += [f"* {MEASURES[name].title}: {why}" for name, why in assessment.skipped.items()]
    return "\n".join(parts) + "\n"


def _row(row: Mapping[Any, Any]) -> str:
    limit = "" if pd.isna(row["limit"]) else number(row["limit"])
    answer = {True: "yes", False: "**no**"}.get(row["within"], "")
    meaning = f"{row['meaning']} ({row['note']})" if row["note"] else row["meaning"]
    return f"| {row['number']} | {number(row['value'], 4)} | {limit} | {answer} | {meaning} |"
