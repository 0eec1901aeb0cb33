"""The page of a comparison: the decision first, then maps, tables, and what was compared."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from riskeval.report import comparison_tables as tables
from riskeval.report.comparison_map import map_chart
from riskeval.report.comparison_verdicts import (
    clean_releases,
    judged,
    left_out,
    reason_rows,
    verdict_rows,
)
from riskeval.report.external import external_view
from riskeval.report.intruders import intruders_of_releases
from riskeval.report.values import ROUNDING
from riskeval.shared.show import lower
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import count, formatted, plural, yes_or_no
from synthpop.microdata.pages.page import write_for
from synthpop.microdata.pages.page_facts import Svg, card, table

if TYPE_CHECKING:
    from riskeval.comparison.map import RiskUtilityMap
    from riskeval.comparison.result import Comparison

FILE, LINK, ATTRIBUTION, UTILITY = (
    message("file risk"),
    message("link risk"),
    message("attribution risk"),
    "utility",
)
MAPS = (
    (("worst_risk",), ("overlap", "pmse", "tables", "il1s"), message("The worst of all intruders")),
    (
        ("disco", "rapid"),
        ("overlap", "pmse"),
        message("What an intruder learns about sensitive variables"),
    ),
    (("replicated_uniques",), ("tables", "pmse"), message("What an intruder finds by the keys")),
    (
        ("record_linkage",),
        ("il1s", "correlations"),
        message("What an intruder finds by the numbers"),
    ),
)
LEADS = {
    FILE: (
        message("The file by itself"),
        message(
            "What the keys of a file single out, on its own levels. In a synthetic file nobody "
            "stands behind a record: these numbers do not apply to it, are grey and never judged."
        ),
    ),
    ATTRIBUTION: (
        message("What an intruder learns about persons of the original"),
        message(
            "The intruder knows the keys of a person and looks them up in the release. Made for "
            "synthetic files, and read in the same way for perturbed ones."
        ),
    ),
    LINK: (
        message("Records that can be linked by their numbers"),
        message("Only where the records of a release are those of the original."),
    ),
}
NOT_SHOWN = message(
    "Estimates are rounded to three digits and shown where no single value can be computed from "
    "them; utility is not shown for a release that changed a variable in fewer than ten records."
)
CAPTIONS = {
    "overlaps": message(
        "Overlap of the 95 % confidence intervals of original and release (Karr et al. "
        "2006): 1 is the same interval, 0 means that they do not meet."
    )
}


def write_comparison(
    path: Place | str,
    comparison: Comparison,
    *,
    title: str | None = None,
    audience: str = "internal",
    language: str = "en",
) -> Place:
    """Write a comparison as one self-contained HTML file; see `Comparison.report`."""
    facts = partial(comparison_facts, comparison)
    return write_for(
        path, "riskeval", "compare.html.j2", facts, title=title, audience=audience,
        language=language,
    )  # fmt: skip


def comparison_facts(comparison: Comparison, external: bool) -> dict[str, Any]:
    """Return everything that the page says, as text ready to be set."""
    if external:
        comparison = external_view(comparison)
    maps = _maps(comparison)
    first = maps[0][1]
    level = f"{100 * comparison.level:g} %"
    return {
        "title": message("{n} compared", n=plural(len(comparison.table) - 1, 'release')),
        "external": external,
        "cards": _cards(comparison, first),
        "first": _first(comparison),
        "verdicts": verdict_rows(comparison, first, external),
        "judged": judged(comparison),
        "reasons": reason_rows(comparison, external),
        "left_out": left_out(comparison),
        "rounding": f"{ROUNDING} {NOT_SHOWN}" if external else "",
        "decision": _decision(comparison, [item for _, item in maps[:2]]),
        "decision_note": _decision_note(comparison, [item for _, item in maps[:2]]),
        "scenario": _scenario(comparison),
        "roles": _roles(comparison),
        "limits": tables.limits_table(comparison),
        "caveats": _caveats(comparison),
        "maps": [
            {"title": text, "chart": Svg(map_chart(item, item.summary())),
             "caption": _caption(comparison, item, text)}
            for text, item in maps
        ],
        "risks": [
            {"title": LEADS[group][0], "lead": LEADS[group][1],
             "table": tables.number_table(comparison, group)}
            for group in (FILE, ATTRIBUTION, LINK)
        ],
        "utility": tables.number_table(comparison, UTILITY),
        "overlaps": tables.overlap_table(comparison),
        "overlap_cells": tables.overlap_cells(comparison),
        "overlaps_lead": _overlaps_lead(comparison),
        "regressions": tables.regression_tables(comparison),
        "files": tables.files_table(comparison, external),
        "intruders": None if external else intruders_of_releases(comparison),
        "shared": tables.shared_table(comparison),
        "notes": tables.notes_table(comparison),
        "made": _made(comparison, external),
        "meanings": tables.meanings_table(comparison),
        "overlap_caption": str(CAPTIONS["overlaps"]).replace("95 %", level),
    }  # fmt: skip


def _maps(comparison: Comparison) -> list[tuple[str, RiskUtilityMap]]:
    """The maps that have at least one release on them; one in any case."""
    maps = []
    for risks, utilities, text in MAPS:
        known = set(comparison.measures["measure"])
        risk = [name for name in risks if name in known and comparison.has(name)]
        utility = [name for name in utilities if comparison.has(name)]
        if risk and utility:
            maps.append((text, comparison.risk_utility_map(risk=risk[0], utility=utility[0])))
    return maps or [(message("Risk and utility"), comparison.risk_utility_map())]


def _caption(comparison: Comparison, item: RiskUtilityMap, text: str) -> str:
    risk, utility = (comparison.described(name) for name in (item.risk, item.utility))
    unmeasured = item.frame.loc[item.frame[["risk", "utility"]].isna().any(axis=1), "release"]
    caption = message(
        "{text}. Risk: {risk_title}, {meaning} ({source}). Utility: {utility_title}, "
        "{meaning_2} ({source_2})."
        if item.better == "high"
        else "{text}. Risk: {risk_title}, {meaning} ({source}). Loss: {utility_title}, "
        "{meaning_2} ({source_2}).",
        text=text,
        risk_title=lower(item.risk_title),
        meaning=risk["meaning"],
        source=risk["source"],
        utility_title=lower(item.utility_title),
        meaning_2=utility["meaning"],
        source_2=utility["source"],
    )
    if (item.frame["parameter"].notna()).any():
        caption += " " + message("Lines join releases of one method in the order of its parameter.")
    if len(unmeasured):
        caption += " " + message(
            "Without a number, so not drawn: {names}.", names=", ".join(unmeasured)
        )
    return caption


def _cards(comparison: Comparison, first: RiskUtilityMap) -> list[dict[str, str]]:
    table = comparison.table
    n_within = len(clean_releases(comparison))
    front = int(first.frame["pareto"].sum())
    n_synthetic, n_perturbed = (
        (table["kind"] == kind).sum() for kind in ("synthetic", "perturbed")
    )
    kinds = message("{n} synthetic, {m} perturbed", n=n_synthetic, m=n_perturbed)
    return [
        card("Original", count(table["records"].iloc[0]), "records"),
        card("Releases", str(len(table) - 1), kinds),
        card("No objection found", str(n_within), "of the releases, by what was tried"),
        card(
            "On the Pareto front", str(front), "no other release has less risk without less utility"
        ),
    ]


def _first(comparison: Comparison) -> str:
    numbers = comparison.measures["name"].nunique()
    return message(
        "{n} of one original evaluated by the same {numbers} measures of risk "
        "and utility. None of them proves a file safe: each covers one intruder, and "
        "the decision weighs the remaining risk against the remaining utility.",
        n=plural(len(comparison.table) - 1, "release"),
        numbers=numbers,
    )


def _decision(comparison: Comparison, maps: list[RiskUtilityMap]) -> dict[str, Any]:
    """One row a release: verdict, risk before and after by two intruders, utility, Pareto front."""
    first = maps[0]
    rows = []
    row: Any
    for row in first.frame[first.frame["kind"] != "original"].itertuples():
        judged = gettext(comparison.verdicts[row.release].level)
        risks = [
            joined_by(
                " → ",
                [
                    tables.values_text(comparison, item.risk, name)
                    for name in ("original", row.release)
                ],
            )
            for item in maps
        ]
        use = tables.values_text(comparison, first.utility, row.release)
        rows.append((row.release, gettext(row.kind), judged, *risks, use, yes_or_no(row.pareto)))
    word = "Utility" if first.better == "high" else "Loss"
    heads = [message("Risk: {title}", title=lower(item.risk_title)) for item in maps]
    use_title = message("{word}: {title}", word=message(word), title=lower(first.utility_title))
    head = ("Release", "Kind", "Verdict", *heads, use_title, "Pareto front")
    return table(head, rows, text_columns=3)


def _decision_note(comparison: Comparison, maps: list[RiskUtilityMap]) -> str:
    parts = [f"{item.risk_title}: {comparison.described(item.risk)['meaning']}." for item in maps]
    first = maps[0]
    meaning = comparison.described(first.utility)["meaning"]
    return message(
        "Risk is that of the original, then that of the release. {parts} "
        "{utility_title}: {meaning}. The front is that of the first risk.",
        parts=joined_by(" ", parts),
        utility_title=first.utility_title,
        meaning=meaning,
    )


def _scenario(comparison: Comparison) -> str:
    roles = comparison.roles
    keys, sensitive, numeric = (
        ", ".join(roles[role])  # type: ignore[arg-type]
        for role in ("keys", "sensitive", "numeric")
    )
    if not keys:
        return message(
            "An intruder knows {numeric} of a unit and looks for this unit in the release. In the "
            "worst case, measured where records can be linked, the amounts are the true ones of "
            "everybody. An intruder who knows more, as region or industry, is not covered.",
            numeric=numeric,
        )
    text = message(
        "An intruder knows {keys} of a person, looks for this person in the release", keys=keys
    )
    if sensitive:
        text += ", " + message("and wants to learn {sensitive}", sensitive=sensitive)
    if numeric:
        text += message(
            ". In the worst case, measured where records can be linked, the intruder holds "
            "the true values of {numeric} of everybody",
            numeric=numeric,
        )
    return text + (". " + message("An intruder who knows more is not covered."))


def _roles(comparison: Comparison) -> list[tuple[str, str]]:
    titles = {
        "keys": "Keys", "numeric": "Numbers", "sensitive": "Sensitive", "weights": "Weights",
        "household": "Household", "strata": "Strata",
    }  # fmt: skip
    rows = []
    for role, title in titles.items():
        value: Any = comparison.roles[role]
        if value:
            rows.append((title, value if isinstance(value, str) else ", ".join(value)))
    return rows


def _caveats(comparison: Comparison) -> list[str]:
    table, roles = comparison.table, comparison.roles
    sentences = [
        message(
            "Every number depends on the variables that were named as keys, numbers and sensitive."
        ),
        message(
            "A number that a release does not allow is missing, with the reason below; "
            "releases are then compared on fewer numbers, not on better ones."
        ),
    ]
    coarse = comparison.shared[comparison.shared["how"].str.contains("count as")]
    if len(coarse):
        sentences.append(
            message(
                "Recoded variables are compared on the coarser levels: what was lost by the "
                "recoding shows in “detail kept”, not in the distances of tables."
            )
        )
    if (table["kind"] == "synthetic").any():
        sentences.append(
            message(
                "No person stands behind a record of a synthetic file: k-anonymity and "
                "individual risk do not apply to it. Attribution, prediction and nearness do."
            )
        )
    if (table["kind"] == "perturbed").any():
        sentences.append(
            message(
                "Attribution counts values that are right, also those that everybody with "
                "these keys has or that follow from common knowledge. Where keys were "
                "exchanged at random, counts on the keys do not know that a match may be wrong."
            )
        )
    if not comparison.holdout:
        sentences.append(
            message(
                "Without persons outside the original, what keys tell about anybody is counted "
                "as risk too, and membership was not measured."
            )
        )
    if roles["weights"] is None:
        sentences.append(
            message("No weights were given: the original counts as the whole population.")
        )
    sentences.append(
        message(
            "Intervals overlap little for two reasons, bias and other precision; a release "
            "drawn with error of its own cannot overlap fully."
        )
    )
    return sentences


def _overlaps_lead(comparison: Comparison) -> str:
    design: Any = comparison.roles["design"]
    parts = [f"{role} {name}" for role, name in design.items() if name]
    text = message(
        "Normal intervals at {level} %, variances by linearisation",
        level=formatted(100 * comparison.level, "g"),
    )
    asked = [role for role in ("strata", "household") if comparison.roles[role]]
    if parts:
        text += f" with {' and '.join(parts)}"
    elif asked:
        text += ", " + message("as if records had been drawn independently")
    if len(parts) < len(asked):
        text += " " + message("(a design column that a file lacks, or has gaps in, was not used)")
    return text + "."


def _made(comparison: Comparison, external: bool) -> list[str]:
    sizes = comparison.sample_sizes
    sentences = [
        message(
            "Slow measures take a random part of larger files: {linkage} records to link, "
            "{outliers} for the Mahalanobis distance, {prediction} to predict (model: "
            "{model}), {screen} for nearness, each against {n} of the other file, "
            "{propensity} of each file for the propensity score. The part of the original "
            "is the same for every release.",
            linkage=count(sizes.linkage),
            outliers=count(sizes.outliers),
            prediction=count(sizes.prediction),
            model=sizes.model,
            screen=count(sizes.screen),
            n=count(4 * sizes.screen),
            propensity=count(sizes.propensity),
        ),
        message("The propensity score gives both files the weight 0.5, whatever their length."),
    ]
    if not external:
        sentences.append(message("Seed {n} repeats every number.", n=comparison.seed))
    return sentences
