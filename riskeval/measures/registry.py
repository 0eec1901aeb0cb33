"""The measures of one file: how each is run, and which numbers it gives.

A new measure is one module and one more entry of `MEASURES`: assessments, comparisons, the risks
of a session and all pages read its numbers from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from riskeval.measures import numbers
from riskeval.measures.alpha_k import alpha_k_anonymity
from riskeval.measures.attacker_numbers import of_attackers, run_attackers
from riskeval.measures.beta_likeness import beta_likeness
from riskeval.measures.delta_disclosure import delta_disclosure
from riskeval.measures.group_members import AmountGroups, amount_groups, household_groups
from riskeval.measures.individual import FORMULAS, read_factors, risk_of_counts
from riskeval.measures.individual_result import IndividualRisk
from riskeval.measures.k_anonymity import anonymity_of_counts
from riskeval.measures.l_diversity import l_diversity
from riskeval.measures.loglinear.numbers import of_loglinear
from riskeval.measures.outlier_risk import outlier_risk
from riskeval.measures.request import AssessRequest, ByVariable, Limits, Measure
from riskeval.measures.risky_cells import risky_cells
from riskeval.measures.t_closeness import t_closeness
from riskeval.measures.uniqueness import population_uniqueness
from riskeval.measures.worst_model import WorstModel, worst_model
from riskeval.recovery.result import Recovery
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.messages.results import Result

__all__ = ["MEASURES", "AssessRequest", "ByVariable", "Limits", "Measure"]

FEW_VALUES = 30
"""Distinct numbers from which on a sensitive variable is an amount."""
SUDA_RULES = {"wildcard": "wildcard", "own-category": "category"}
"""Treatment of missing keys in SUDA beside that of the counts; "exclude" for the others."""


def _run_risk(request: AssessRequest) -> IndividualRisk:
    arguments = request.arguments("individual_risk")
    faults = Faults("individual risk")
    formula = arguments.pop("formula", "exact")
    check_choice(faults, "formula", formula, FORMULAS)
    factor = read_factors(faults, request.frame, **arguments)
    faults.raise_if_any()
    household = None if request.household is None else request.frame[request.household]
    return risk_of_counts(request.counts, household=household, factor=factor, formula=formula)


def _run_worst_model(request: AssessRequest) -> WorstModel:
    uniqueness = population_uniqueness(
        request.file, request.keys, population_size=request.population_size
    )
    return worst_model(_run_risk(request), uniqueness)


def _run_amounts(request: AssessRequest) -> AmountGroups:
    amounts = {
        name: request.frame[name] for name in request.sensitive
        if is_number(request.frame[name]) and request.frame[name].nunique() > FEW_VALUES
    }  # fmt: skip
    return amount_groups(request.counts.keys, amounts, request.limits.k or 2)


def _run_recovery(request: AssessRequest) -> Recovery:
    from riskeval.recovery.recover import recover

    frame = request.frame
    weights = request.weights if isinstance(request.weights, str) else None
    is_key = np.broadcast_to(frame.columns.isin(request.keys), frame.shape)
    return recover(
        request.file,
        household=request.household,
        weights=weights,
        keys=request.keys,
        k=request.limits.k or 3,
        suppressed=pd.DataFrame(is_key, columns=frame.columns),
        **request.arguments("recovery"),
    )


def _run(
    name: str, measure: Callable[..., Result], *roles: str
) -> Callable[[AssessRequest], Result]:
    """Run a measure on the columns of some roles, with the options of the user."""

    def run(request: AssessRequest) -> Result:
        columns = (getattr(request, role) for role in roles)
        return measure(request.file, *columns, **request.arguments(name))

    return run


def _by_variable(
    request: AssessRequest, measure: Callable[..., Result], **arguments: Any
) -> ByVariable:
    file, keys = request.file, request.keys
    return ByVariable({one: measure(file, keys, one, **arguments) for one in request.sensitive})


def _run_dominance(request: AssessRequest) -> ByVariable:
    arguments = request.arguments(
        "alpha_k_anonymity", alpha=request.limits.alpha, k=request.limits.k or 1
    )
    return _by_variable(request, alpha_k_anonymity, **arguments)


def _run_suda(request: AssessRequest) -> Any:
    from riskeval.measures.suda import suda

    n, size = len(request.frame), request.population_size
    defaults: dict[str, Any] = {
        "missing": SUDA_RULES.get(request.counts.missing, "exclude"),
        "dis_fraction": 1.0 if size is None or n == 0 else min(1.0, n / size),
    }
    return suda(request.file, request.keys, **request.arguments("suda", **defaults))


def _run_loglinear(request: AssessRequest) -> Any:
    from riskeval.measures.loglinear.model import loglinear_risk

    return loglinear_risk(
        request.frame, request.keys,
        **request.arguments("loglinear", weights=request.weights, household=request.household),
    )  # fmt: skip


MEASURES: dict[str, Measure] = {
    "frequencies": Measure(
        "Frequency counts", "How many records are alone with their key?",
        (), lambda request: request.counts, numbers.of_counts, "Templ 2017, section 3.2",
        infos=(numbers.UNIQUE, numbers.DISTINCT),
    ),
    "k_anonymity": Measure(
        "k-anonymity", "How many records are too rare in the file?",
        (), lambda request: anonymity_of_counts(request.counts, request.k), numbers.of_anonymity,
        "Samarati and Sweeney 1998", infos=(numbers.below(3), numbers.below(5)),
    ),
    "recovery": Measure(
        "Recovery of missing keys",
        "Which missing key values can be read back from the rest of the file?",
        (), _run_recovery, numbers.of_recovery, "de Waal and Willenborg 1997",
        ("strata", "components", "household_variables", "household_size", "rules", "certainty"),
        infos=(numbers.RECOVERED, numbers.below_recovered(3)),
    ),
    "individual_risk": Measure(
        "Individual risk", "How likely is it that an intruder links a record to its person?",
        (), _run_risk, numbers.of_individual_risk,
        "Benedetti and Franconi 1998; Franconi and Polettini 2004",
        ("quality", "coverage", "attempt", "formula"),
        infos=(numbers.GLOBAL_RISK, numbers.EXPECTED, numbers.RECORD_RISK, numbers.BENCHMARK),
    ),
    "worst_model": Measure(
        "Worst of the models",
        "What does an intruder find if the most pessimistic model of the population is right?",
        ("population",), _run_worst_model, numbers.of_worst_model,
        "Franconi and Polettini 2004; Dankar et al. 2012",
        infos=(numbers.WORST_EXPECTED, numbers.WORST_GLOBAL, numbers.WORST_RECORD),
    ),
    "household_groups": Measure(
        "Households behind a key", "Does a group of k records stand for one household?",
        ("household",),
        lambda request: household_groups(
            request.counts.keys, request.frame[request.household], request.limits.k or 3
        ),
        numbers.of_households, "Templ 2017, section 3.6",
        infos=(numbers.ONE_HOUSEHOLD, numbers.FEW_HOUSEHOLDS),
    ),
    "attacker_risk": Measure(
        "Prosecutor, journalist, marketer",
        "What does each of the three intruders of the literature on health data reach?",
        (), run_attackers, of_attackers, "El Emam and Dankar 2008", ("population", "threshold"),
        compared=False,
    ),
    "population_uniqueness": Measure(
        "Population uniqueness", "How many unique records are alone in the population too?",
        ("population",),
        lambda request: population_uniqueness(
            request.file, request.keys, population_size=request.population_size
        ),
        numbers.of_uniqueness,
        "Hoshino 2001; Zayatz 1991; Dankar et al. 2012", compared=False,
    ),
    "loglinear": Measure(
        "Log-linear model", "How many unique records does a model of the table expect to be found?",
        ("weights",), _run_loglinear, of_loglinear, "Skinner and Shlomo 2008",
        ("formula", "method", "bound", "inclusion", "fit"), compared=False,
    ),
    "suda": Measure(
        "SUDA2", "Which records are unique on a few keys already?",
        (), _run_suda, numbers.of_suda, "Manning, Haglin and Keane 2008; Elliot et al. 2005",
        ("max_size", "dis_fraction", "normalise", "missing"), infos=(numbers.SPECIAL, numbers.DIS),
    ),
    "risky_cells": Measure(
        "Risky cells", "Which tables made from the file would show single persons?",
        (), _run("risky_cells", risky_cells, "keys"), numbers.of_cells, "mu-Argus",
        ("threshold", "max_dimension", "missing", "alpha"), compared=False,
    ),
    "l_diversity": Measure(
        "l-diversity", "Does the key alone disclose a sensitive value?",
        ("sensitive",), _run("l_diversity", l_diversity, "keys", "sensitive"), numbers.of_diversity,
        "Machanavajjhala et al. 2007", ("recursive_c", "missing", "missing_sensitive"),
        infos=(numbers.NOT_DIVERSE, numbers.SMALLEST_L),
    ),
    "amount_groups": Measure(
        "Amounts within a group", "Does the key alone tell an amount within a few percent?",
        ("sensitive",), _run_amounts, numbers.of_amounts,
        "Machanavajjhala et al. 2007, for amounts", infos=(numbers.AMOUNT_TOLD,),
    ),
    "t_closeness": Measure(
        "t-closeness", "How much does the key tell about a sensitive value?",
        ("sensitive",), _run("t_closeness", t_closeness, "keys", "sensitive"), numbers.of_closeness,
        "Li, Li and Venkatasubramanian 2007", ("distance", "missing"), infos=(numbers.T,),
    ),
    "beta_likeness": Measure(
        "beta-likeness", "How much likelier can the key make a sensitive value?",
        ("sensitive",),
        lambda request: _by_variable(request, beta_likeness, **request.arguments("beta_likeness")),
        numbers.of_likeness, "Cao and Karras 2012", ("missing",), infos=(numbers.BETA,),
    ),
    "delta_disclosure": Measure(
        "delta-disclosure",
        "How far is a sensitive value in a group from its share in the file, up or down?",
        ("sensitive",), lambda request: _by_variable(request, delta_disclosure),
        numbers.of_log_ratios, "Brickell and Shmatikov 2008", compared=False,
    ),
    "alpha_k_anonymity": Measure(
        "(alpha, k)-anonymity", "Does one sensitive value dominate a group?",
        ("sensitive", "alpha"), _run_dominance, numbers.of_dominance, "Wong et al. 2006",
        ("values", "missing"),
    ),
    "outlier_risk": Measure(
        "Outliers", "Which amounts stand out whatever small change is made to them?",
        ("numeric",), _run("outlier_risk", outlier_risk, "numeric"), numbers.of_outliers,
        "SDC practice guide of the World Bank", ("percentile", "reach", "by"), compared=False,
    ),
}  # fmt: skip
