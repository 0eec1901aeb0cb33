"""What `synthpop init` writes, unedited, for five surveys and for two that are made up here.

    python -m benchmarks.first_recipes [NAME ...]

For each survey `synthpop init` and `synthpop run` are called in a shell (eusilc13puf, which stands
for eight million persons, at a tenth of its size), and the population is held against the survey:

* the largest error of mean income by status, groups of 100 persons and more;
* persons whose parts do not add up to their total;
* households without exactly one reference person;
* households that differ in what all households of the survey share;
* persons of a kind that the survey does not have, per 10,000: with a value before the youngest age
  that has one; with a pattern of missing values that no person of the survey has; in a cell of two
  variables (numbers in classes of negative, zero, positive; ages of five years) that is empty in
  the survey where `EXPECTED` persons or more would be by chance.

The made-up surveys: `hogares`, households in Spanish with codes for levels, weights that differ
within households, no household size, negative incomes with a long tail; `menages`, persons without
a household, in French, with classes, debts and codes for no answer.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.eusilc import DATA
from synthpop import load_demo_survey, open_population, profile_survey
from synthpop.profile.columns import SurveyProfile
from synthpop.runfiles.runfile import load_runfile

GROUP = 100
EXPECTED = 30
MOST_GROUPS = 30
STATUS = {
    "eusilcS": ("netIncome", "pl030"),
    "eusilc13puf": ("pgrossIncome", "pl031"),
    "ghanaS": ("income", "occupation"),
    "ses": ("earningsMonth", "education"),
    "demo": ("netIncome", "pl030"),
    "hogares": ("ingreso", "cond_act"),
    "menages": ("revenu", "csp"),
}
SCALE = {"eusilc13puf": 0.1}


def hogares(seed: int = 1) -> pd.DataFrame:
    """A survey of households in Spanish, its levels in numbers."""
    rng = np.random.default_rng(seed)
    demo = load_demo_survey().frame
    n = len(demo)
    code = {name: demo[name].cat.codes.to_numpy() for name in ("rb090", "relation", "pl030")}
    household = pd.factorize(demo["db030"])[0]
    adult = demo["age"].to_numpy() >= 16
    tail = np.exp(rng.normal(0, 0.8, n))
    wage = np.round(demo["py010n"].fillna(0).to_numpy() * tail, 0)
    business = np.round(
        demo["py050n"].fillna(0).to_numpy() * tail**2 - 4_000 * (rng.random(n) < 0.3), 0
    )
    business = np.where(demo["py050n"].fillna(0).to_numpy() > 0, business, 0.0)
    rest = np.round(
        demo["netIncome"].fillna(0).to_numpy() - demo[["py010n", "py050n"]].sum(axis=1).to_numpy()
    )
    tenure = rng.choice([1, 2, 3], size=household.max() + 1, p=[0.6, 0.3, 0.1])
    rent = np.where(tenure == 2, np.round(rng.lognormal(6, 0.4, len(tenure)), -1), 0)

    def of_adults(values: np.ndarray) -> np.ndarray:
        return np.where(adult, values, np.nan)

    return pd.DataFrame(
        {
            "folio": [f"V{k:06d}" for k in household],
            "orden": demo.groupby("db030").cumcount() + 1,
            "comunidad": demo["db040"].cat.codes.to_numpy() + 1,
            "parentesco": code["relation"] + 1,
            "sexo": code["rb090"] + 1,
            "edad": demo["age"].to_numpy(),
            "cond_act": of_adults(code["pl030"] + 1),
            "est_civil": of_adults(demo["pb190"].cat.codes.to_numpy() + 1),
            "nivel_edu": of_adults(demo["pe040"].cat.codes.to_numpy() + 1),
            "tenencia": tenure[household],
            "alquiler": rent[household],
            "ing_trabajo": of_adults(wage),
            "ing_negocio": of_adults(business),
            "ing_otros": of_adults(rest),
            "ingreso": of_adults(wage + business + rest),
            "factor": np.round(demo["rb050"].to_numpy() * rng.lognormal(0, 0.2, n), 3),
        }
    )


def menages(seed: int = 2) -> pd.DataFrame:
    """A survey of persons in French, without households, with codes for no answer."""
    rng = np.random.default_rng(seed)
    n = 6_000
    age = rng.integers(18, 95, n)
    level = rng.choice(["aucun", "bac", "licence", "master"], n, p=[0.3, 0.35, 0.2, 0.15])
    retired = age >= 62 + rng.integers(-2, 6, n)
    group = np.where(retired, 7, np.where(level == "master", 3, rng.choice([1, 2, 4, 5, 6, 8], n)))
    pay = {1: 9.3, 2: 10.2, 3: 10.7, 4: 10.1, 5: 9.8, 6: 9.7, 7: 9.6, 8: 7.5}
    wage = np.round(rng.lognormal(np.vectorize(pay.get)(group), 0.5))
    wage = np.where(np.isin(group, [7, 8]), 0.0, wage)
    pension = np.where(retired, np.round(rng.lognormal(9.6, 0.4, n)), 0.0)
    property_income = np.round((rng.random(n) < 0.3) * rng.pareto(1.6, n) * 500)
    loss = np.round((group == 2) * (rng.random(n) < 0.2) * rng.lognormal(9, 0.7, n))
    wealth = np.round(rng.lognormal(10, 1.6, n) - rng.lognormal(9, 1.2, n), -2)
    height = np.round(rng.normal(168, 9, n))
    smoker = np.where(rng.random(n) < 0.05, 9, (rng.random(n) < 0.28).astype(int))
    return pd.DataFrame(
        {
            "ident": rng.permutation(n) + 100_000,
            "dep": rng.choice([f"{k:02d}" for k in range(1, 21)], n),
            "sexe": rng.choice(["H", "F"], n),
            "age_rev": age,
            "csp": group,
            "diplome": level,
            "fume": smoker,
            "taille_cm": height,
            "salaire": wage - loss,
            "retraite": pension,
            "patrim_rev": property_income,
            "revenu": wage - loss + pension + property_income,
            "patrimoine": wealth,
            "patr_cl": np.array(list("ABCDE"))[np.searchsorted([-1, 0, 50_000, 200_000], wealth)],
            "pond_ind": np.round(rng.lognormal(5, 0.5, n), 2),
        }
    )  # fmt: skip


def survey_frame(name: str) -> pd.DataFrame:
    """Return a survey by its name."""
    made_up = {"hogares": hogares, "menages": menages, "demo": lambda: load_demo_survey().frame}
    if name in made_up:
        return made_up[name]()
    return pd.read_parquet(DATA.with_name(f"{name}.parquet"))


def from_the_shell(frame: pd.DataFrame, name: str, folder: Path) -> tuple[pd.DataFrame, float]:
    """Call init and run; return the population and the processor seconds."""
    suffix = "csv" if name in ("hogares", "menages") else "parquet"
    path = folder / f"{name}.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    started = time.perf_counter()
    for command in (["init", path.name], ["run", f"{name}.toml", "--quiet"]):
        if command[0] == "run" and name in SCALE:
            recipe = folder / f"{name}.toml"
            text = recipe.read_text(encoding="utf-8")
            recipe.write_text(
                re.sub(r"(?m)^scale = \S+", f"scale = {SCALE[name]}", text), encoding="utf-8"
            )
        subprocess.run(
            [sys.executable, "-m", "synthpop", *command],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    seconds = time.perf_counter() - started
    return open_population(folder / name).frame(), seconds


def classes(frame: pd.DataFrame, profile: SurveyProfile) -> dict[str, pd.Series]:
    """Return categories as text, numbers as negative, zero, positive; "" is missing."""
    out = {}
    for item in profile.with_use("structure", "categorical", "continuous", "components", "derive"):
        column = frame[item.name]
        if item.name == profile.age and pd.api.types.is_numeric_dtype(column.dtype):
            out[item.name] = (pd.to_numeric(column) // 5).astype(str)
        elif profile_is_number(column):
            sign = np.sign(pd.to_numeric(column))
            out[item.name] = sign.map({-1.0: "below 0", 0.0: "0", 1.0: "above 0"}).fillna("")
        else:
            out[item.name] = (
                column.astype(object).where(column.notna(), "").astype(str).str.removesuffix(".0")
            )
    return out


def profile_is_number(column: pd.Series) -> bool:
    """Whether a column is a number with many values."""
    return pd.api.types.is_numeric_dtype(column.dtype) and column.nunique() > MOST_GROUPS


def means_of_groups(
    survey: pd.DataFrame, made: pd.DataFrame, weight: np.ndarray, number: str, status: str
) -> pd.DataFrame:
    """Return persons and mean of the survey, and the error of the population in percent."""

    def key(frame: pd.DataFrame) -> pd.Series:
        return (
            frame[status]
            .astype(object)
            .where(frame[status].notna(), "")
            .astype(str)
            .str.removesuffix(".0")
        )

    some = survey[number].notna().to_numpy()
    x, w = survey[number][some].astype(float), pd.Series(weight, survey.index)[some]
    groups = key(survey)[some]
    table = pd.DataFrame(
        {
            "persons": groups.value_counts(),
            "mean": (x * w).groupby(groups).sum() / w.groupby(groups).sum(),
        }
    )
    table["error"] = 100 * (
        made[number].astype(float).groupby(key(made)).mean() / table["mean"] - 1
    )
    return table[table["persons"] >= GROUP]


def impossible(
    survey: pd.DataFrame, made: pd.DataFrame, profile: SurveyProfile
) -> dict[str, float]:
    """Return persons per 10,000 of a kind that the survey does not have, and the worst of each."""
    of_survey, of_made = classes(survey, profile), classes(made, profile)
    out, n = {}, len(made)
    if profile.age and pd.api.types.is_numeric_dtype(survey[profile.age].dtype):
        early = {}
        for item in profile.columns:
            if item.first_age is not None and item.name in made:
                early[item.name] = (
                    float(
                        (
                            (made[profile.age] < item.first_age)
                            & (of_made[item.name] != "")
                            & (of_made[item.name] != "0")
                        ).mean()
                    )
                    if item.use == "continuous"
                    else 0.0
                )
        out["before the first age"] = 1e4 * max(early.values(), default=0.0)

    def pattern(frame: pd.DataFrame) -> pd.Series:
        return pd.util.hash_pandas_object(frame[list(of_made)].isna(), index=False)

    out["pattern of missing values"] = 1e4 * float(
        (~pattern(made).isin(set(pattern(survey)))).mean()
    )
    worst = (0.0, "")
    anywhere = np.zeros(n, dtype=bool)
    for a, b in combinations(of_made, 2):
        if max(of_survey[a].nunique(), of_survey[b].nunique()) > MOST_GROUPS:
            continue
        table = pd.crosstab(of_survey[a], of_survey[b])
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(survey)
        empty = pd.DataFrame(
            (table.to_numpy() == 0) & (expected >= EXPECTED), table.index, table.columns
        ).stack()
        cells = set(empty[empty].index)
        if cells:
            inside = np.fromiter(
                (pair in cells for pair in zip(of_made[a], of_made[b], strict=True)), bool, n
            )
            anywhere |= inside
            worst = max(worst, (float(inside.mean()), f"{a} by {b}"))
    out["empty cells"] = 1e4 * float(anywhere.mean())
    out[f"worst: {worst[1]}"] = 1e4 * worst[0]
    return out


def households(
    survey: pd.DataFrame, made: pd.DataFrame, profile: SurveyProfile
) -> dict[str, float]:
    """Return percent of households without one reference person, and with members that differ."""
    name = profile.roles.get("household")
    if name is None:
        return {}
    out = {}
    if profile.relation:
        share = (pd.crosstab(survey[name], survey[profile.relation]) == 1).mean()
        head = share.idxmax()
        heads = (
            (made[profile.relation].astype(str) == str(head))
            .groupby(made[name], observed=True)
            .sum()
        )
        out["households without one head, %"] = 100 * float((heads != 1).mean())
    shared = [c.name for c in profile.columns if c.together == "shared" and c.name in made]
    differ = [
        100 * float((made.groupby(name, observed=True)[c].nunique(dropna=False) > 1).mean())
        for c in shared
    ]
    out["households that differ in a shared value, %"] = max(differ, default=0.0)
    return out


def figures(name: str, folder: Path) -> dict[str, float]:
    """Return the figures of one survey, and print the means of its groups."""
    frame = survey_frame(name)
    made, seconds = from_the_shell(frame, name, folder)
    plan = load_runfile(folder / f"{name}.toml")
    survey = plan.read_survey()
    profile = profile_survey(survey.frame)
    number, status = STATUS[name]
    table = means_of_groups(survey.frame, made, survey.weights, number, status)
    print(f"{name}: {number} by {status}", table.round(2).to_string(), sep="\n", flush=True)
    out = {"persons": float(len(made)), "seconds": seconds}
    out["mean by status, largest error, %"] = float(table["error"].abs().max())
    for total, parts in profile.totals.items():
        gap = (made[list(parts)].sum(axis=1) - made[total]).abs()
        out[f"{total}: parts do not add up, %"] = 100 * float((gap > 0.02).mean())
    out |= households(survey.frame, made, profile)
    return out | impossible(survey.frame, made, profile)


def main() -> None:
    """Print the figures of each survey."""
    for name in sys.argv[1:] or list(STATUS):
        with tempfile.TemporaryDirectory() as folder:
            for key, value in figures(name, Path(folder)).items():
                print(f"| {name} | {key} | {value:,.3g} |", flush=True)


if __name__ == "__main__":
    main()
