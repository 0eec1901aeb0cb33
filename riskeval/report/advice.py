"""What to do about a number that is too high, in one sentence."""

from __future__ import annotations

from riskeval.shared.measurement import Measurement

RARE_KEYS = "Recode the key that contributes most, then suppress locally."
ADVICE = {
    "global_risk": RARE_KEYS,
    "expected_reidentifications": RARE_KEYS,
    "record_risk": "Suppress a key value of the riskiest records, or recode the key.",
    "household_risk": "Coarsen the household size and the keys that members share.",
    "largest_household_risk": "Coarsen or suppress keys of the largest households.",
    "l_diversity": "Coarsen the keys, or group the levels of the sensitive variable.",
    "smallest_l": "Coarsen the keys until every key has several sensitive values.",
    "t_closeness": "Coarsen the keys of the groups that differ most.",
    "beta_likeness": "Coarsen the keys of the groups in which one value is frequent.",
    "delta_disclosure": "Coarsen the keys of the groups that differ most.",
    "alpha_k_anonymity": "Coarsen the keys of the groups that one value dominates.",
    "special_uniques": "Recode the keys that single records out alone or in pairs.",
    "risky_cells": "Recode the keys of the small cells.",
    "recovered": "Suppress the columns from which the values follow as well.",
    "below_3_after_recovery": "Suppress the columns from which the values follow as well.",
    "record_linkage": "Perturb the numeric keys more, or microaggregate them.",
    "interval_disclosure": "Perturb the numeric keys more, or microaggregate them.",
    "mahalanobis_disclosure": "Perturb the numeric keys together, not one by one.",
    "outlier_risk": "Top-code the amounts in the tail.",
    "disco": "Group the target, or generate it with fewer of these keys.",
    "rapid": "Generate the target with fewer or coarser predictors.",
    "tcap": "Group the target, or generate it with fewer of these keys.",
    "replicated_uniques": "Coarsen the keys before the file is generated.",
    "membership": "Fit a simpler model: this one remembers its records.",
    "identical": "Remove copies of original records, or fit a simpler model.",
}


def advice(one: Measurement) -> str:
    """Return what lowers a number; empty where nothing general can be said."""
    return advice_on(one.info.name)


def advice_on(name: str) -> str:
    """Return what lowers the measure of this name."""
    return ADVICE.get(name, RARE_KEYS if name.startswith("below_") else "")
