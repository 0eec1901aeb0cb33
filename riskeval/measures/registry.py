"""The measures that an assessment runs: how each is called, and which of its numbers to show.

A new measure is one more entry of `MEASURES`; nothing else has to know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures.anonymity import KAnonymity, anonymity_of_counts
from riskeval.measures.closeness import TCloseness, t_closeness
from riskeval.measures.diversity import LDiversity, l_diversity
from riskeval.measures.frequencies import FrequencyCounts
from riskeval.measures.individual import FORMULAS, IndividualRisk, read_factors, risk_of_counts
from riskeval.measures.risky_cells import RiskyCells, risky_cells
from riskeval.measures.uniqueness import PopulationUniqueness, population_uniqueness
from synthpop.microdata.checks import check_choice
from synthpop.microdata.errors import Faults

PRACTICE = "common choices are 3 and 5 (SDC practice guide of the World Bank)"
BENCHMARK = "benchmark rule, Templ 2017, equation 3.5"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an office accepts; each can be None, which means no limit.

    Attributes
    ----------
    k : int or None, default 3
        Records that must at least share a key. Offices commonly ask for 3 or 5.
    global_risk : float or None, default 0.01
        Mean of the individual risks. The default is sdcMicro's.
    record_risk : float or None, default 0.09
        Risk of one record. The default is that of the European Medicines Agency (Policy 0070) and
        of Health Canada for published clinical data: one in eleven.
    l : float or None, default 2
        Distinct sensitive values of a group; 2 is the least that protects anything.
    t : float or None
        Distance of a group from the file; there is no agreed value.

    Examples
    --------
    >>> Limits(k=5).k
    5
    """

    k: int | None = 3
    global_risk: float | None = 0.01
    record_risk: float | None = 0.09
    l: float | None = 2  # noqa: E741 - the letter of the literature
    t: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What is assessed, checked and counted once.

    Attributes
    ----------
    frame : DataFrame
    keys, sensitive : tuple of str
    weights : str, array or None
        As given.
    household : str or None
    counts : FrequencyCounts
    population_size : float or None
        Sum of the weights, or as given; None for neither.
    k : tuple of int
    limits : Limits
    options : mapping
        More arguments of single measures, by their name.
    """

    frame: pd.DataFrame
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    weights: Any
    household: str | None
    counts: FrequencyCounts
    population_size: float | None
    k: tuple[int, ...]
    limits: Limits
    options: Mapping[str, Mapping[str, Any]]

    def more(self, measure: str, **given: Any) -> dict[str, Any]:
        """Arguments of a measure: `given`, over which the options of the user win."""
        return {**given, **self.options.get(measure, {})}


@dataclass(frozen=True, slots=True)
class Headline:
    """One number of an assessment.

    Attributes
    ----------
    name : str
    value : float
    meaning : str
        What the number says, in plain words.
    limit : float or None
        What is accepted; None where nothing is asked.
    source : str
        Where the limit comes from.
    at_least : bool
        Whether the value must reach the limit (True) or must not exceed it.
    """

    name: str
    value: float
    meaning: str
    limit: float | None = None
    source: str = ""
    at_least: bool = False

    @property
    def within(self) -> bool | None:
        """Whether the value keeps the limit; None without a limit."""
        if self.limit is None:
            return None
        slack = 1e-12 * max(abs(self.limit), 1.0)
        if self.at_least:
            return bool(self.value >= self.limit - slack)
        return bool(self.value <= self.limit + slack)


@dataclass(frozen=True, slots=True)
class Measure:
    """One entry of the registry.

    Attributes
    ----------
    title : str
    question : str
        The question that it answers, in plain words.
    needs : tuple of str
        Parts of the request without which it is left out: "weights", "sensitive".
    run : function of a Request to a result
    headlines : function of the result and the Request to a list of Headline
    source : str
    options : tuple of str
        Arguments that the user may give besides those of the assessment.
    """

    title: str
    question: str
    needs: tuple[str, ...]
    run: Callable[[Request], Any]
    headlines: Callable[[Any, Request], Sequence[Headline]]
    source: str
    options: tuple[str, ...] = ()


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
                f"values of {name} in the least diverse group; {count:,} records are in groups "
                f"with fewer than {limit or 2:g}",
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


def _cells_headlines(result: RiskyCells, request: Request) -> list[Headline]:
    touched = int((result.per_record > 0).sum())
    n = max(len(result.per_record), 1)
    return [
        Headline(
            "records in a risky cell",
            touched,
            f"records ({touched / n:.2%}) in a small cell of at least one of {len(result.table)} "
            f"tables of up to {result.table['dimension'].max()} keys",
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
    from riskeval.measures.loglinear import loglinear_risk

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
        ("formula", "method", "bound"),
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
}
