"""Reference cases of the risk of categorical keys: those not tested elsewhere, and a roll call.

The roll call fails when a case is neither tested in some file nor excused with a reason.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from riskeval import frequency_counts, individual_risk
from riskeval.measures.individual import household_risks
from tests.reference_data import SHARED, golden, survey_data

NAMES = r"[\"']([a-k][0-9]+[bc]?_[\w.]+)"
TESTS = Path(__file__).parents[2]
EXCUSED = {
    "j3_il_mlodak": "information loss of Mlodak is a measure of utility, not of risk",
    "j4_valtable": "a table of summaries that depend on the sign of a principal component",
    "j6_datagen": "random; data generation of another package than the two here",
    "j7_localrecprog_testdata2": "local recoding by matching of pairs is not offered",
}


def test_all_cases_are_tested_or_excused() -> None:
    folder = SHARED / "golden" / "sdc"
    if not folder.exists():
        pytest.skip("the reference cases are not beside the repository")
    cases = {file.stem for file in folder.glob("[a-ejk][0-9]*.json")}
    assert len(cases) > 45
    words = " ".join(file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py"))
    named = {re.sub(r"[.](json|parquet)$", "", name) for name in re.findall(NAMES, words)}
    assert cases - named - set(EXCUSED) == set()
    assert set(EXCUSED) <= cases


def test_toy_file_for_every_alpha() -> None:
    case = golden("sdc", "a1_freqcalc_toy4.json")
    data = golden("sdc", "data_toy4.parquet")
    for result in case["results"]:
        counts = frequency_counts(
            data, ["key1", "key2", "key3"], weights="w", alpha=result["alpha"]
        )
        np.testing.assert_allclose(counts.f, result["fk"])
        np.testing.assert_allclose(counts.F, result["Fk"])


def test_eight_records_without_weights() -> None:
    case = golden("sdc", "b11_risk_suda8_noweights.json")
    risk = individual_risk(golden("sdc", case["data"]), case["keyVars"], weights=None)
    found = np.column_stack([risk.risk, risk.f, risk.F])
    np.testing.assert_allclose(found, case["Res"])
    assert risk.global_risk == pytest.approx(case["global_risk"])
    assert risk.expected_reidentifications == pytest.approx(case["global_risk_ER"])


def test_rule_of_the_household() -> None:
    case = golden("sdc", "b12_household_rule.json")
    together = household_risks(np.array([0.1, 0.05, 0.01]), np.array([4, 4, 4]))
    np.testing.assert_allclose(together, case["value"], rtol=1e-12)


def column(table: pd.DataFrame, name: str) -> np.ndarray:
    """Column of the design that R calls by this name: "hsize:rb090female", "(Intercept)"."""
    product = np.ones(len(table))
    for part in () if name == "(Intercept)" else name.split(":"):
        if part in table:
            product = product * table[part].to_numpy(dtype=float)
        else:
            variable = next(key for key in ("rb090", "db040", "pb220a") if part.startswith(key))
            product = product * (table[variable] == part.removeprefix(variable)).to_numpy()
    return product


def book_glm(
    design: np.ndarray, response: np.ndarray, offset: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Poisson regression by iteratively reweighted least squares: coefficients and means."""
    mean = response + 0.5
    for _ in range(15):
        eta = np.log(mean)
        answer = eta - offset + (response - mean) / mean
        beta = np.linalg.solve(design.T @ (design * mean[:, None]), design.T @ (mean * answer))
        mean = np.exp(design @ beta + offset)
    return beta, mean


def test_models_of_section_3_8_see_the_observed_cells_only() -> None:
    # wildcard counts of the complete observed cells are all that enters the book's tables 3.4 to
    # 3.7: no empty cell, so that its lambda is not a population mean
    case, cells = golden("sdc", "e4_book_glm.json"), golden("sdc", "e4_book_cells.parquet")
    keys = ["hsize", "rb090", "age", "db040", "pb220a", "pl030"]
    table = frequency_counts(survey_data("eusilc"), keys, weights="rb050").table.dropna(subset=keys)
    plain = {key: str for key in ("rb090", "db040", "pb220a", "pl030")}
    both = cells.astype(plain).merge(table.astype(plain), on=keys)
    assert len(both) == len(cells) == len(table)
    np.testing.assert_allclose(both["f"], both["fk"])
    np.testing.assert_allclose(both["F"], both["Fk"])
    scaled = np.round(both["F"] * both["f"].sum() / both["F"].sum())
    names = list(case["results"]["standard"]["coef"])
    design = np.column_stack([column(both, name) for name in names])
    f, big_f = both["f"].to_numpy(), both["F"].to_numpy()
    fits = {
        "standard": book_glm(design, f),
        "CE": book_glm(design, f, np.log(f / big_f + 0.1)),
        "PML": book_glm(design, scaled.to_numpy()),
    }
    for method, (beta, mean) in fits.items():
        expected = case["results"][method]
        np.testing.assert_allclose(beta, list(expected["coef"].values()), rtol=1e-5, atol=1e-9)
        assert mean.min() == pytest.approx(expected["fitted"]["min"], rel=1e-6)
