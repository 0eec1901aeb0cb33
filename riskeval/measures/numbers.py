"""The numbers that the measures of one file give: what each means, and its limit."""

from __future__ import annotations

from functools import cache
from typing import Any

from riskeval.keys.table import ALONE
from riskeval.measures.frequencies import FrequencyCounts
from riskeval.measures.individual_result import IndividualRisk
from riskeval.measures.k_anonymity import KAnonymity, n_blank
from riskeval.measures.l_diversity import LDiversity
from riskeval.measures.outlier_risk import OutlierRisk
from riskeval.measures.request import AssessRequest, ByVariable
from riskeval.measures.risky_cells import RiskyCells
from riskeval.measures.t_closeness import TCloseness
from riskeval.measures.uniqueness import PopulationUniqueness
from riskeval.recovery.result import Recovery
from riskeval.shared.measurement import Direction, MeasureInfo, Measurement, Unit
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.text import count as count_text
from synthpop.microdata.messages.text import formatted, number, percent, plural

PERSONS = ("original", "perturbed")
"""Kinds of file in which a record stands for a person: rarity means nothing for synthetic ones."""


def person_risk(
    name: str, title: str, unit: Unit, meaning: str, source: str, *, better: Direction = "low",
    single: bool = False,
) -> MeasureInfo:  # fmt: skip
    """Return what a risk of a file is in which a record stands for a person."""
    return MeasureInfo(
        name,
        message("file risk"),
        better,
        unit,
        meaning,
        source,
        title,
        kinds=PERSONS,
        single=single,
    )


UNIQUE = person_risk(
    "below_2", "Unique records", "records",
    "records that are the only one of the file with their key", "Templ 2017, section 3.2",
)  # fmt: skip
DISTINCT = person_risk(
    "distinct_keys", "Distinct keys", "records", "different combinations of the keys",
    "Templ 2017, section 3.2",
)  # fmt: skip
GLOBAL_RISK = person_risk(
    "global_risk", "Mean individual risk", "probability",
    "mean probability that an intruder who knows the keys of everybody links a record correctly; "
    "a low mean can hide single high risks", "Franconi and Polettini 2004",
)  # fmt: skip
EXPECTED = person_risk(
    "expected_reidentifications", "Expected re-identifications", "persons",
    "records that an intruder who knows the keys of everybody links correctly on average",
    "Templ 2017, section 3.5",
)  # fmt: skip
RECORD_RISK = person_risk(
    "record_risk", "Highest risk of a record", "probability",
    "probability that the most exposed record is linked correctly", "Franconi and Polettini 2004",
    single=True,
)  # fmt: skip
BENCHMARK = person_risk(
    "above_benchmark", "Records above the benchmark", "records",
    "records whose risk is far above the main part of the file; the rule marks outliers of the "
    "distribution and says nothing about whether the risks are acceptable",
    "Templ 2017, equation 3.5",
)  # fmt: skip
EXPECTED_HOUSEHOLDS = person_risk(
    "expected_households", "Expected re-identified households", "persons",
    "households in which at least one member is linked correctly on average",
    "Templ 2017, section 3.6",
)  # fmt: skip
HOUSEHOLD_RISK = person_risk(
    "household_risk", "Mean household risk", "probability",
    "mean over persons of the probability that somebody of their household is linked",
    "Templ 2017, section 3.6",
)  # fmt: skip
LARGEST_HOUSEHOLD = person_risk(
    "largest_household_risk", "Highest household risk", "probability",
    "probability that at least one member of the most exposed household is linked",
    "Templ 2017, section 3.6", single=True,
)  # fmt: skip
POPULATION_UNIQUES = person_risk(
    "population_uniques", "Population uniques in the file", "persons",
    "unique records that are alone in the population as well: a match with them is certain",
    "Dankar et al. 2012",
)  # fmt: skip
NOT_DIVERSE = person_risk(
    "l_diversity", "Records that violate l-diversity", "records",
    "records in groups with the same key in which the sensitive values are too much alike",
    "Machanavajjhala et al. 2007",
)  # fmt: skip
SMALLEST_L = person_risk(
    "smallest_l", "Smallest distinct l", "value", "different values in the least diverse group",
    "Machanavajjhala et al. 2007", better="high", single=True,
)  # fmt: skip
T = person_risk(
    "t_closeness", "t", "value",
    "distance of the group that differs most from the file, from 0 to 1",
    "Li, Li and Venkatasubramanian 2007", single=True,
)  # fmt: skip
BETA = person_risk(
    "beta_likeness", "beta", "value",
    "largest relative gain in the probability of a value when the keys are known",
    "Cao and Karras 2012", single=True,
)  # fmt: skip
DELTA = person_risk(
    "delta_disclosure", "delta", "value",
    "largest difference between the logarithms of a value's shares in a group and in the file",
    "Brickell and Shmatikov 2008", single=True,
)  # fmt: skip
DOMINANCE = person_risk(
    "alpha_k_anonymity", "Largest share of a value", "share",
    "largest share of one value in a group", "Wong et al. 2006", single=True,
)  # fmt: skip
RISKY_CELLS = person_risk(
    "risky_cells", "Records in a risky cell", "records",
    "records in a small cell of at least one table of the keys", "mu-Argus",
)  # fmt: skip
SPECIAL = person_risk(
    "special_uniques", "Special uniques", "records",
    "records that fewer than all keys single out: the riskiest kind of uniques",
    "Elliot et al. 2005",
)  # fmt: skip
DIS = person_risk(
    "dis_suda", "Highest DIS-SUDA score", "probability",
    "probability that an intruder's unique match with the most special record is right, on a "
    "scale that ranks records; there is no published threshold", "Elliot and Manning 2003",
    single=True,
)  # fmt: skip
OUTLIERS = person_risk(
    "outlier_risk", "Isolated outliers", "records",
    "records with an amount in the tail that no other value is near to",
    "SDC practice guide of the World Bank",
)  # fmt: skip
PRACTICE = message("k = 3 and 5 are common (SDC practice guide of the World Bank)")


@cache
def below(k: int) -> MeasureInfo:
    """Return what violations of k-anonymity are; k = 2 is the number of unique records."""
    if k == 2:
        return UNIQUE
    return person_risk(
        f"below_{k}", message("Violations of {k}-anonymity", k=k), "records",
        message("records whose key fewer than {k} records share", k=k), "Samarati and Sweeney 1998",
    )  # fmt: skip


@cache
def visible(k: int) -> MeasureInfo:
    """Return what violations of k-anonymity beside blank records are."""
    return person_risk(
        f"below_{k}_visible",
        message("Violations of {k}-anonymity among records with keys", k=k),
        "records",
        message(
            "records with a key that fewer than {k} records share, where records without "
            "any key match nobody",
            k=k,
        ),
        "Samarati and Sweeney 1998",
    )


def _missing_note(request: AssessRequest, treatment: str) -> str:
    """Say how missing keys were treated, where there are any."""
    if not (request.counts.keys.codes < 0).any():
        return ""
    return message("missing keys: {treatment}", treatment=message(treatment))


TREATMENTS = {
    "wildcard": "match every value",
    "conservative": "match every value, without protecting complete records",
    "category-size": "match every value by its share",
    "conservative-2": "match only the same pattern",
    "own-category": "are a category of their own",
    "category": "are a category of their own",
    "exclude": "are left out",
}


RECOVERED = MeasureInfo(
    "recovered", "file risk", "low", "records",
    "missing key values that follow from the rest of the file: household members, number of rows, "
    "weights, other columns, order of the records",
    "de Waal and Willenborg 1997", "Key values that can be read back", kinds=("perturbed",),
)  # fmt: skip
BELOW_RECOVERED = MeasureInfo(
    "below_3_after_recovery", "file risk", "low", "records",
    "records whose keys fewer than 3 records share once these values are filled in",
    "de Waal and Willenborg 1997", "Violations of 3-anonymity after recovery", kinds=("perturbed",),
)  # fmt: skip


def of_counts(counts: FrequencyCounts, request: AssessRequest) -> list[Measurement]:
    """Unique records and distinct keys."""
    note = _missing_note(request, TREATMENTS[counts.missing])
    unique = int((counts.f < 2 * (1 - 1e-12)).sum())
    return [
        request.measured(UNIQUE, unique, note=note, **_k_limit(2, request)),
        request.measured(DISTINCT, len(counts.cell_f)),
    ]


def _k_limit(k: int, request: AssessRequest) -> dict[str, Any]:
    if k != request.limits.k:
        return {}
    return {
        "limit": 0.0,
        "limit_source": message("k = {k}, as asked; {practice}", k=k, practice=message(PRACTICE)),
    }


def of_anonymity(result: KAnonymity, request: AssessRequest) -> list[Measurement]:
    """Violations for each k, and those beside blank records."""
    blank = n_blank(result.counts)
    note = _missing_note(request, TREATMENTS[result.counts.missing])
    measured = []
    for k, count in result.violations.items():
        limit = _k_limit(k, request)
        measured.append(request.measured(below(k), count, note=note, **limit))
        if 0 < blank < len(result.f):
            text = message(
                "{blank} every key missing", blank=plural(blank, "record has", "records have")
            )
            others = result.visible_violations[k]
            records = len(result.f) - blank
            measured.append(
                request.measured(visible(k), others, note=text, records=records, **limit)
            )
        elif blank:
            text = message(
                "every key of every record is missing: nothing is disclosed through these keys"
            )
            measured[-1] = measured[-1].noted(text)
    return measured


def of_individual_risk(result: IndividualRisk, request: AssessRequest) -> list[Measurement]:
    """Individual and household risk; persons and households are judged by the same limits."""
    limits = request.limits
    note = "" if result.weighted else message("no weights: the file counts as the whole population")
    mean: dict[str, Any] = {
        "limit": limits.global_risk,
        "limit_source": message("0.01 is sdcMicro's default")
        if limits.global_risk == 0.01
        else message("as asked"),
        "note": note,
    }
    largest: dict[str, Any] = {
        "limit": limits.record_risk,
        "limit_source": message("0.09: European Medicines Agency, Policy 0070")
        if limits.record_risk == 0.09
        else message("as asked"),
        "note": note,
    }
    benchmark = result.benchmark
    reach = (", " + message("which no risk can reach")) if benchmark > 1 else ""
    text = message("benchmark {benchmark}{reach}", benchmark=number(benchmark), reach=reach)
    measured = [
        request.measured(EXPECTED, result.expected_reidentifications, note=note),
        request.measured(GLOBAL_RISK, result.global_risk, **mean),
        request.measured(RECORD_RISK, result.risk.max(initial=0.0), **largest),
        request.measured(BENCHMARK, (result.risk >= benchmark).sum(), note=text),
    ]
    if result.household_risk is not None:
        measured += [
            request.measured(EXPECTED_HOUSEHOLDS, result.expected_households or 0.0, note=note),
            request.measured(HOUSEHOLD_RISK, result.household_global_risk or 0.0, **mean),
            request.measured(LARGEST_HOUSEHOLD, result.household_risk.max(initial=0.0), **largest),
        ]
    return measured


def of_uniqueness(result: PopulationUniqueness, request: AssessRequest) -> list[Measurement]:
    """Population uniques by the chosen method, with the range of the others."""
    if not result.n_records:
        return []
    low, high = result.tau1_range
    note = message(
        "method {chosen}; the three methods give {low} to {high}; {n_sample_uniques}",
        chosen=result.chosen,
        low=number(low),
        high=number(high),
        n_sample_uniques=plural(result.n_sample_uniques, *ALONE),
    )
    missing = _missing_note(request, TREATMENTS["own-category"])
    measured = request.measured(POPULATION_UNIQUES, result.tau1, lower=low, upper=high, note=note)
    return [measured.noted(missing)]


def of_diversity(result: LDiversity, request: AssessRequest) -> list[Measurement]:
    """Records below l, and the smallest l, of each sensitive variable."""
    least = request.limits.l or 2
    note = _missing_note(request, TREATMENTS[result.missing])
    measured = []
    for name in result.sensitive:
        values = result.per_record[f"{name}_distinct"]
        measured.append(
            request.measured(
                NOT_DIVERSE,
                result.violations(least)[name],
                target=name,
                limit=None if request.limits.l is None else 0.0,
                limit_source=message(
                    "l = {least}; 2 is the least that protects (Machanavajjhala et al. 2007)",
                    least=formatted(least, "g"),
                ),
                note=message("fewer than {n} values", n=formatted(least, "g")),
            ).noted(note)
        )
        smallest = float(values.min()) if len(values) else 0.0
        measured.append(request.measured(SMALLEST_L, smallest, target=name))
    return [one.noted(*result.notes) for one in measured]


def of_closeness(result: TCloseness, request: AssessRequest) -> list[Measurement]:
    """Largest distance of each sensitive variable."""
    note = _missing_note(request, TREATMENTS[result.missing])
    return [
        request.measured(
            T,
            float(result.per_record[name].max()) if len(result.per_record) else 0.0,
            target=name,
            limit=request.limits.t,
            limit_source=message("as asked"),
            note=message("{kind} distance", kind=message(kind)),
        ).noted(note, *result.notes)
        for name, kind in result.distance.items()
    ]


def of_likeness(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest gain of each sensitive variable."""
    return [
        request.measured(BETA, one.beta, target=name).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]


def of_log_ratios(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest log ratio of each sensitive variable, and the records whose group lacks a value."""
    return [
        request.measured(
            DELTA, one.delta, target=name,
            note=message("{n} in groups that lack a value", n=plural(one.n_absent, 'record')),
        ).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]  # fmt: skip


def of_dominance(result: ByVariable, request: AssessRequest) -> list[Measurement]:
    """Largest share of each sensitive variable."""
    return [
        request.measured(
            DOMINANCE,
            one.largest_share,
            target=name,
            limit=one.alpha,
            limit_source=message("as asked"),
            note=message(
                "{n_violating} ({alpha}, {k})-anonymity",
                n_violating=plural(one.n_violating, "record violates", "records violate"),
                alpha=formatted(one.alpha, "g"),
                k=one.k,
            ),
        ).noted(*one.notes)
        for name, one in result.by_variable.items()
    ]


def of_cells(result: RiskyCells, request: AssessRequest) -> list[Measurement]:
    """Records in a small cell."""
    text = message(
        "{tables} tables of up to {n}",
        tables=len(result.table),
        n=plural(result.table["dimension"].max(), "key"),
    )
    return [request.measured(RISKY_CELLS, int((result.per_record > 0).sum()), note=text)]


def of_suda(result: Any, request: AssessRequest) -> list[Measurement]:
    """Special uniques and the highest score."""
    note = _missing_note(request, TREATMENTS[result.missing])
    fraction = (
        message("a census")
        if result.dis_fraction == 1
        else message("sampling fraction {p}", p=percent(result.dis_fraction))
    )
    return [
        request.measured(
            SPECIAL,
            int(result.special.sum()),
            note=message("of {n}", n=plural(int((result.n_msu > 0).sum()), "unique record")),
        ).noted(note),
        request.measured(DIS, result.dis_score.max(initial=0.0), note=fraction),
    ]


def of_outliers(result: OutlierRisk, request: AssessRequest) -> list[Measurement]:
    """Isolated values in the tails of the numeric keys."""
    note = message(
        "{n} at or above the {percentile} % percentile; near is within {reach} %",
        n=plural(int(result.above.sum()), "record"),
        percentile=formatted(100 * result.percentile, "g"),
        reach=formatted(100 * result.reach, "g"),
    )
    return [request.measured(OUTLIERS, int(result.isolated.sum()), note=note)]


def of_recovery(result: Recovery, request: AssessRequest) -> list[Measurement]:
    """Key values that follow from the rest of the file, and records that are rare with them.

    With an original beside the file only values that are right count.
    """
    assert result.below is not None
    cells = result.cells if result.n_right is None else result.cells[result.cells["right"]]
    sources = [
        message(str(rule)) + " " + count_text(n) for rule, n in cells["rule"].value_counts().items()
    ]
    note = message("from {rules}", rules=joined_by(", ", sources)) if sources else ""
    if not result.n_holes:
        note = message("no key value is missing")
    holes = max(result.n_holes, 1)
    limit = 0 if request.limits.k == 3 else None
    return [
        request.measured(RECOVERED, len(cells), records=holes, note=note),
        request.measured(
            BELOW_RECOVERED, result.below[1], limit=limit,
            limit_source=message("as for 3-anonymity") if limit == 0 else "",
        ),
    ]  # fmt: skip
