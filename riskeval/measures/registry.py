"""The measures that an assessment runs: how each is called, and which of its numbers to show.

A new measure is one more entry of `MEASURES`; nothing else has to know it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.frequencies import FrequencyCounts
from riskeval.measures.individual import FORMULAS, IndividualRisk, read_factors, risk_of_counts
from riskeval.measures.k_anonymity import KAnonymity, anonymity_of_counts
from riskeval.measures.l_diversity import LDiversity, l_diversity
from riskeval.measures.request import Headline, Limits, Measure, Request, Several
from riskeval.measures.risky_cells import RiskyCells, risky_cells
from riskeval.measures.t_closeness import TCloseness, t_closeness
from riskeval.measures.uniqueness import PopulationUniqueness, population_uniqueness
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults
from synthpop.microdata.text import plural

__all__ = ["MEASURES", "Headline", "Limits", "Measure", "Request", "Several"]

PRACTICE = "common choices are 3 and 5 (SDC practice guide of the World Bank)"
BENCHMARK = "benchmark rule, Templ 2017, equation 3.5"


def _counts_headlines(counts: FrequencyCounts, request: Request) -> list[Headline]:
    n = max(len(counts.f), 1)
    return [
        Headline(
            "unique records",
            counts.n_unique,
            f"records ({counts.n_unique / n:.2%}) that are the only one of the file with their key",
        ),
        Headline("distinct keys", len(counts.cell_f), "different combinations of the keys"),
    ]


def _anonymity_headlines(result: KAnonymity, request: Request) -> list[Headline]:
    n = max(len(result.f), 1)
    return [
        Headline(
            f"violations of {k}-anonymity",
            count,
            f"records ({count / n:.2%}) whose key fewer than {k} records share",
            limit=0 if k == request.limits.k else None,
            source=f"k = {k}: {PRACTICE}" if k == request.limits.k else "",
        )
        for k, count in result.violations.items()
    ]


def _run_risk(request: Request) -> IndividualRisk:
    given = request.more("individual_risk")
    faults = Faults("individual risk")
    formula = given.pop("formula", "exact")
    check_choice(faults, "formula", formula, FORMULAS)
    factor = read_factors(faults, request.frame, **given)
    faults.raise_if_any()
    household = None if request.household is None else request.frame[request.household]
    return risk_of_counts(request.counts, household=household, factor=factor, formula=formula)


def _risk_headlines(result: IndividualRisk, request: Request) -> list[Headline]:
    limits = request.limits
    found = [
        Headline(
            "expected re-identifications",
            result.expected_reidentifications,
            "records that an intruder who knows the keys of everybody links correctly on average",
        ),
        Headline(
            "global risk",
            result.global_risk,
            "the same as a share of the records; a low mean can hide single high risks",
            limit=limits.global_risk,
            source="0.01 is sdcMicro's default" if limits.global_risk == 0.01 else "as asked",
        ),
        Headline(
            "highest risk of a record",
            float(result.risk.max()) if len(result.risk) else 0.0,
            "probability that the most exposed record is linked correctly",
            limit=limits.record_risk,
            source="0.09: European Medicines Agency, Policy 0070"
            if limits.record_risk == 0.09
            else "as asked",
        ),
        Headline(
            "records above the benchmark",
            result.above_benchmark,
            f"records with a risk of at least {result.benchmark:.3f}, far above the main part",
            limit=0,
            source=BENCHMARK,
        ),
    ]
    if result.expected_households is not None:
        found.append(
            Headline(
                "expected re-identified households",
                result.expected_households,
                "households in which at least one member is linked correctly on average",
            )
        )
        found.append(
            Headline(
                "household risk",
                float(result.household_global_risk or 0.0),
                "mean over persons of the probability that somebody of their household is linked",
            )
        )
    return found


def _uniqueness_headlines(result: PopulationUniqueness, request: Request) -> list[Headline]:
    if not result.n_records:
        return []
    return [
        Headline(
            "population uniques in the file",
            result.tau1,
            "unique records that are also alone in the population: a match with them is certain "
            f"(method: {result.chosen})",
        )
    ]


def _diversity_headlines(result: LDiversity, request: Request) -> list[Headline]:
    limit = request.limits.l
    found = []
    for name in result.sensitive:
        smallest = float(result.per_record[f"{name}_distinct"].min()) if len(request.frame) else 0.0
        count = result.violations(limit or 2)[name]
        found.append(
            Headline(
                f"smallest distinct l of {name}",
                smallest,
                f"values of {name} in the least diverse group; "
                f"{plural(count, 'record is', 'records are')} in groups with fewer than "
                f"{limit or 2:g}",
                limit=limit,
                source="2 is the least that protects (Machanavajjhala et al. 2007)",
                at_least=True,
            )
        )
    return found


def _closeness_headlines(result: TCloseness, request: Request) -> list[Headline]:
    return [
        Headline(
            f"t of {name}",
            float(result.per_record[name].max()) if len(result.per_record) else 0.0,
            f"distance ({kind}) of the group that differs most from the file, from 0 to 1",
            limit=request.limits.t,
            source="as asked" if request.limits.t is not None else "",
        )
        for name, kind in result.distance.items()
    ]


def _run_likeness(request: Request) -> Several:
    given = request.more("beta_likeness", missing=request.counts.missing)
    return Several(
        {
            name: beta_likeness(request.frame, request.keys, name, **given)
            for name in request.sensitive
        }
    )


def _likeness_headlines(result: Several, request: Request) -> list[Headline]:
    return [
        Headline(
            f"beta of {name}",
            one.beta,
            "largest relative gain in the probability of a value when the keys are known",
        )
        for name, one in result.by_variable.items()
    ]


def _run_dominance(request: Request) -> Several:
    given = request.more(
        "alpha_k_anonymity",
        missing=request.counts.missing,
        alpha=request.limits.alpha,
        k=request.limits.k or 1,
    )
    return Several(
        {
            name: alpha_k_anonymity(request.frame, request.keys, name, **given)
            for name in request.sensitive
        }
    )


def _dominance_headlines(result: Several, request: Request) -> list[Headline]:
    return [
        Headline(
            f"largest share of a value of {name}",
            one.largest_share,
            f"in one group; {plural(one.n_violating, 'record violates', 'records violate')} "
            f"({one.alpha:g}, {one.k})-anonymity",
            limit=one.alpha,
            source="as asked",
        )
        for name, one in result.by_variable.items()
    ]


def _cells_headlines(result: RiskyCells, request: Request) -> list[Headline]:
    touched = int((result.per_record > 0).sum())
    n = max(len(result.per_record), 1)
    return [
        Headline(
            "records in a risky cell",
            touched,
            f"records ({touched / n:.2%}) in a small cell of at least one of {len(result.table)} "
            f"tables of up to {plural(result.table['dimension'].max(), 'key')}",
        )
    ]


def _run_suda(request: Request) -> Any:
    from riskeval.measures.suda import suda

    given: dict[str, Any] = {}
    n = len(request.frame)
    if request.population_size is not None and 0 < n < request.population_size:
        given["dis_fraction"] = n / request.population_size
    return suda(request.frame, request.keys, **request.more("suda", **given))


def _suda_headlines(result: Any, request: Request) -> list[Headline]:
    singled = int(np.count_nonzero(result.n_msu))
    return [
        Headline(
            "special uniques",
            singled,
            "records that a few of the keys single out already: the riskiest kind of uniques",
        ),
        Headline(
            "highest DIS-SUDA score",
            float(result.dis_score.max()) if len(result.dis_score) else 0.0,
            "probability that an intruder's unique match with the most special record is right, "
            "on a scale that ranks records; there is no published threshold",
        ),
    ]


def _run_loglinear(request: Request) -> Any:
    from riskeval.measures.loglinear.model import loglinear_risk

    return loglinear_risk(
        request.frame, request.keys, **request.more("loglinear", weights=request.weights)
    )


def _loglinear_headlines(result: Any, request: Request) -> list[Headline]:
    return [
        Headline(
            "tau_1 of the log-linear model",
            float(result.tau1),
            "sample uniques expected to be alone in the population",
        ),
        Headline(
            "tau_2 of the log-linear model",
            float(result.tau2),
            "sample uniques that an intruder is expected to link correctly",
        ),
    ]


MEASURES: dict[str, Measure] = {
    "frequencies": Measure(
        "Frequency counts",
        "How many records are alone with their key?",
        (),
        lambda request: request.counts,
        _counts_headlines,
        "Templ 2017, section 3.2",
    ),
    "k_anonymity": Measure(
        "k-anonymity",
        "How many records are too rare in the file?",
        (),
        lambda request: anonymity_of_counts(request.counts, request.k),
        _anonymity_headlines,
        "Samarati and Sweeney 1998",
    ),
    "individual_risk": Measure(
        "Individual risk",
        "How likely is it that an intruder links a record to its person?",
        (),
        _run_risk,
        _risk_headlines,
        "Benedetti and Franconi 1998; Franconi and Polettini 2004",
        ("quality", "coverage", "attempt", "formula"),
    ),
    "population_uniqueness": Measure(
        "Population uniqueness",
        "How many unique records are alone in the population too?",
        ("population",),
        lambda request: population_uniqueness(
            request.frame, request.keys, population_size=request.population_size
        ),
        _uniqueness_headlines,
        "Hoshino 2001; Zayatz 1991; Dankar et al. 2012",
    ),
    "loglinear": Measure(
        "Log-linear model",
        "How many unique records does a model of the table expect to be found?",
        ("weights",),
        _run_loglinear,
        _loglinear_headlines,
        "Skinner and Shlomo 2008",
        ("formula", "method", "bound", "inclusion", "fit"),
    ),
    "suda": Measure(
        "SUDA2",
        "Which records are unique on a few keys already?",
        (),
        _run_suda,
        _suda_headlines,
        "Manning, Haglin and Keane 2008; Elliot et al. 2005",
        ("max_size", "dis_fraction", "normalise", "missing"),
    ),
    "risky_cells": Measure(
        "Risky cells",
        "Which tables made from the file would show single persons?",
        (),
        lambda request: risky_cells(request.frame, request.keys, **request.more("risky_cells")),
        _cells_headlines,
        "mu-Argus",
        ("threshold", "max_dimension", "missing", "alpha"),
    ),
    "l_diversity": Measure(
        "l-diversity",
        "Does the key alone disclose a sensitive value?",
        ("sensitive",),
        lambda request: l_diversity(
            request.frame,
            request.keys,
            request.sensitive,
            **request.more("l_diversity", missing=request.counts.missing),
        ),
        _diversity_headlines,
        "Machanavajjhala et al. 2007",
        ("recursive_c", "missing", "missing_sensitive"),
    ),
    "t_closeness": Measure(
        "t-closeness",
        "How much does the key tell about a sensitive value?",
        ("sensitive",),
        lambda request: t_closeness(
            request.frame,
            request.keys,
            request.sensitive,
            **request.more("t_closeness", missing=request.counts.missing),
        ),
        _closeness_headlines,
        "Li, Li and Venkatasubramanian 2007",
        ("distance", "missing"),
    ),
    "beta_likeness": Measure(
        "beta-likeness",
        "How much likelier can the key make a sensitive value?",
        ("sensitive",),
        _run_likeness,
        _likeness_headlines,
        "Cao and Karras 2012",
        ("missing",),
    ),
    "alpha_k_anonymity": Measure(
        "(alpha, k)-anonymity",
        "Does one sensitive value dominate a group?",
        ("sensitive", "alpha"),
        _run_dominance,
        _dominance_headlines,
        "Wong et al. 2006",
        ("values", "missing"),
    ),
}
