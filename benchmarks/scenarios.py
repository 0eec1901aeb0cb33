"""The jobs of the quality page: what the reference ran, with the counterpart here.

A scenario simulates with a seed and returns distances named as those of the reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import distances as d
from benchmarks.eusilc import AGE_BREAKS
from synthpop import (
    Binned,
    Categorical,
    Components,
    Continuous,
    Counted,
    Derive,
    Margin,
    Matched,
    Pipeline,
    Regressed,
    Relation,
    Structure,
    Survey,
    anneal,
)
from synthpop.pipeline.fitted import FittedPipeline
from synthpop.stages.distribute import distribute

SHARED = Path(__file__).resolve().parents[2] / "shared"
GOLDEN = SHARED / "golden" / "pop"
GROUPS = {"region": "db040", "rb090": "rb090", "pl030": "pl030", "agec": "agec"}
INCOME = ["rb090", "hsize", "pl030", "pb220a"]
UPPER = 200_000
GPD: dict[str, Any] = {"method": Binned(tail="gpd", upper=UPPER)}
LOG: dict[str, Any] = {"method": Regressed(log=True)}
Measured = dict[str, float]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One job.

    Attributes
    ----------
    name : str
        Of the reference's scenario; "" where it has none.
    here : str
        What is run here.
    run : partial
        Seed -> distances; its arguments name the job.
    """

    name: str
    here: str
    run: partial[Measured]


@lru_cache
def sample(filled: bool) -> pd.DataFrame:
    """eusilcS; filled: children have a status and a citizenship of their own, and income 0."""
    frame = pd.read_parquet(SHARED / "data" / "eusilcS.parquet")
    if not filled:
        return frame
    child = frame["age"] < 16
    for name, level in (("pl030", "0"), ("pb220a", "child")):
        frame[name] = frame[name].astype(object).where(~child, level).astype("category")
    for name in ("netIncome", *d.PARTS):
        frame[name] = frame[name].where(~child, 0.0)
    return frame


def survey_of(frame: pd.DataFrame) -> Survey:
    """EusilcS with its roles."""
    return Survey(
        frame,
        weight="rb050",
        household="db030",
        household_weight="db090",
        household_size="hsize",
        strata="db040",
    )


def adults(frame: pd.DataFrame, weight: str | None) -> pd.DataFrame:
    """Persons of 16 years and older; no income counts as zero."""
    data = d.prepare(frame, weight)
    data = data[data["age"] >= 16]
    for name in ("netIncome", *d.PARTS):
        if name in data:
            data[name] = data[name].fillna(0.0)
    return data


def with_prefix(prefix: str, found: Measured) -> Measured:
    """Put the name of the group before each name."""
    return {f"{prefix}.{key}": float(value) for key, value in found.items()}


_LATEST: dict[str, FittedPipeline] = {}


def fitted(recipe: list[Any], survey: Survey, key: str) -> FittedPipeline:
    """The fit of a recipe; the seeds of a scenario share it."""
    name = f"{key} {recipe!r}"
    if name not in _LATEST:
        _LATEST.clear()
        _LATEST[name] = Pipeline(recipe).fit(survey, seed=1)
    return _LATEST[name]


def simulated(recipe: list[Any], filled: bool, change: str, seed: int) -> pd.DataFrame:
    """A population of eusilcS."""
    survey = survey_of(changed(filled, change)[0])
    return fitted(recipe, survey, f"{filled} {change}").simulate(seed=seed).frame()


# household structure


def structure(method: str, seed: int) -> Measured:
    """Households alone."""
    recipe: list[Any] = [Structure(["age", "rb090"], method=method)]
    s = d.prepare(sample(False), "rb050")
    p = d.prepare(simulated(recipe, False, "", seed), None)
    names = ["db040", "agec", "rb090", "hs5"]
    return with_prefix("structure", d.structure(s, p)) | {
        "pMSE_structure.S_pMSE": d.pmse_ratio(s, p, names)
    }


# categories


def basic(age: str) -> list[str]:
    """Predictors of the basic step."""
    return [age, "rb090", "hsize"]


def chain(
    model: str, age: str, method: str = "direct", given: Sequence[str] = ("pl030",)
) -> list[Any]:
    """Structure, economic status, citizenship."""
    steps: list[Any] = [Structure(["age", "rb090"], method=method)]
    if age == "age_class":
        steps.append(Derive("age_class", source="age", breaks=tuple(AGE_BREAKS)))
    options = {"model": model, "numeric": "values" if age == "age" else "classes"}
    return [
        *steps,
        Categorical("pl030", predictors=basic(age), **options),
        Categorical("pb220a", predictors=[*basic(age), *given], **options),
    ]


def categories(model: str, age: str, method: str, filled: bool, seed: int) -> Measured:
    """Economic status and citizenship."""
    recipe = chain(model, age, method)
    everybody = simulated(recipe, filled, "", seed)
    s, p = adults(sample(filled), "rb050"), adults(everybody, None)
    return of_categories(s, p, everybody, filled)


def of_categories(
    s: pd.DataFrame, p: pd.DataFrame, everybody: pd.DataFrame, filled: bool
) -> Measured:
    """Distances of both categorical variables."""
    out: Measured = {}
    for name in ("pl030", "pb220a"):
        out |= with_prefix("categorical", d.categorical(s, p, name, "db040"))
    child = everybody["age"] < 16
    status = everybody["pl030"][child]
    adult = status.notna() & (status.astype(object) != "0")
    out["categorical.pl030.share_under16_with_adult_value"] = float(adult.mean())
    names = ["db040", "agec", "rb090", "hs5", "pl030", "pb220a"]
    out["pMSE_categorical.S_pMSE"] = d.pmse_ratio(s, p, names)
    return out


# income


@lru_cache
def changed(filled: bool, how: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the sample that is learned from and the values that the population should have."""
    frame = sample(filled)
    x = frame["netIncome"]
    if how == "x >= 0":
        x = x.clip(lower=0)
    elif how == "thousands":
        x = (x.clip(lower=0) / 1000).round()
    truth = x
    if how in ("sum", "mean"):
        groups = x.groupby(frame["db030"])
        truth = groups.transform("sum", min_count=1) if how == "sum" else groups.transform("mean")
    return frame.assign(netIncome=x), truth


def of_income(s: pd.DataFrame, p: pd.DataFrame, given: Sequence[str]) -> Measured:
    """Distances of net income."""
    out = with_prefix("continuous", d.continuous(s, p, "netIncome", GROUPS))
    out["continuous.ks_floor"] = 0.8687 / np.sqrt(len(p))
    for label, group in GROUPS.items():
        size = p.groupby(group, observed=True).size()
        out[f"continuous.ks_floor_by_{label}_mean"] = float((0.8687 / np.sqrt(size)).mean())
    groups = ["pl030", "rb090"]
    gap = d.eta_squared(p, "netIncome", groups) - d.eta_squared(s, "netIncome", groups)
    out["continuous.pop_eta2_pl030_rb090"] = gap
    names = ["db040", "agec", "rb090", "hs5", "pl030", "pb220a", "netIncome"]
    out["pMSE_continuous.S_pMSE"] = d.pmse_ratio(s, p, names)
    return out


def income(
    options: dict[str, Any], filled: bool, how: str, given: Sequence[str], seed: int
) -> Measured:
    """Net income given variables that the structure copies."""
    recipe = [
        Structure(["age", "rb090", "pl030", "pb220a"]),
        Continuous("netIncome", predictors=list(given), **options),
    ]
    people = simulated(recipe, filled, how, seed)
    frame, truth = changed(filled, how)
    s, p = adults(frame.assign(netIncome=truth), "rb050"), adults(people, None)
    return of_income(s, p, given)


def split(by: Sequence[str], filled: bool, seed: int) -> Measured:
    """Components of net income."""
    recipe = [
        Structure(["age", "rb090", "pl030", "pb220a"]),
        Continuous("netIncome", predictors=INCOME, **GPD),
        Components("netIncome", parts=d.PARTS, by=list(by)),
    ]
    people = simulated(recipe, filled, "", seed)
    s, p = adults(sample(filled), "rb050"), adults(people, None)
    return of_income(s, p, INCOME) | with_prefix("components", d.components(s, p))


def whole(options: dict[str, Any], filled: bool, seed: int) -> Measured:
    """Structure, categories, income, components."""
    recipe = [
        *chain("multinomial", "age_class"),
        Continuous("netIncome", predictors=["age_class", *INCOME], **options),
        Components("netIncome", parts=d.PARTS, by=["pl030", "netIncome"]),
    ]
    people = simulated(recipe, filled, "", seed)
    s, p = adults(sample(filled), "rb050"), adults(people, None)
    return (
        of_categories(s, p, people, filled)
        | of_income(s, p, INCOME)
        | with_prefix("components", d.components(s, p))
    )


# Ghana


@lru_cache
def ghana() -> pd.DataFrame:
    """The file ghanaS with a two-level nation and age classes."""
    frame = pd.read_parquet(SHARED / "data" / "ghanaS.parquet")
    native = frame["nation"].astype(str) == "ghanaian birth"
    return frame.assign(nation2=pd.Categorical(np.where(native, "yes", "no"), ["no", "yes"]))


def ghana_population(recipe: list[Any], seed: int) -> pd.DataFrame:
    """A population of ghanaS."""
    roles = {"household": "hhid", "household_size": "hsize", "strata": "region"}
    survey = Survey(ghana(), weight="weight", **roles)
    return fitted(recipe, survey, "ghana").simulate(seed=seed).frame()


CLASSES = Derive(
    "age_class",
    source="age",
    breaks=[-1, 4, 9, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 75, 120],
)
GHANA = ["age_class", "sex", "relate", "hsize"]
CHILDREN = ["[-1, 4]", "(4, 9]"]
NO_DEGREE = ("bachelor", "masters", "doctorate", "teacher trng a", "hnd")


def ghana_steps(kind: str, model: str, direct: Sequence[str]) -> list[Any]:
    """The recipe of a scenario of Ghana."""
    start: list[Any] = [Structure(["age", "sex", "relate"]), CLASSES]
    if kind in ("relation", "binary"):
        names = ["nation", "ethnic", "religion"] if kind == "relation" else ["nation2"]
        return start + [
            Relation(
                name,
                relationship="relate",
                head="head",
                direct=tuple(direct),
                predictors=["age_class", "sex", "hsize"],
                model=model,
            )
            for name in names
        ]
    rule = [{"levels": list(NO_DEGREE), "when": {"age_class": CHILDREN}}]
    steps = [
        Categorical(
            "highest_degree", predictors=GHANA, impossible=rule if kind != "free" else None
        ),
        Categorical("occupation", predictors=[*GHANA, "highest_degree"]),
    ]
    if kind in ("binned", "regression"):
        options = {"method": Binned(tail="gpd")} if kind == "binned" else LOG
        given = ["age_class", "sex", "hsize", "occupation"]
        steps.append(Continuous("income", predictors=given, **options))
    return start + steps


def of_household(s: pd.DataFrame, p: pd.DataFrame, name: str) -> Measured:
    """How the values of a household hang together: population minus sample."""
    found = []
    for data in (s, p):
        value = data[name].cat.codes.to_numpy()
        first = ~data.duplicated("hhid").to_numpy()
        house = np.cumsum(first) - 1
        low = np.full(house[-1] + 1, 10_000)
        high = np.full(house[-1] + 1, -1)
        np.minimum.at(low, house, value)
        np.maximum.at(high, house, value)
        many = np.bincount(house) > 1
        w = data["w"].to_numpy()[first]
        one = np.average((low == high)[many], weights=w[many])
        is_head = (data["relate"] == "head").to_numpy()
        head = np.full(house[-1] + 1, -1)
        head[house[is_head]] = value[is_head]
        equal = (value == head[house])[~is_head]
        same = np.average(equal, weights=data["w"].to_numpy()[~is_head])
        found.append((one, same))
    return {
        "share_multi_person_households_with_one_value": found[1][0] - found[0][0],
        "share_equal_to_head.all": found[1][1] - found[0][1],
    }


def ghana_run(kind: str, model: str, direct: Sequence[str], seed: int) -> Measured:
    """Distances of the categorical variables, and of income."""
    steps = ghana_steps(kind, model, direct)
    names = [step.name for step in steps if isinstance(step, (Relation, Categorical))]
    people = ghana_population(steps, seed)
    s, p = d.prepare(ghana(), "weight"), d.prepare(people, None)
    for name in names:
        p[name] = p[name].cat.set_categories(s[name].cat.categories)
    s = s.sort_values("hhid", kind="stable")
    heads = [data[data["relate"] == "head"] for data in (s, p)]
    out: Measured = {}
    for name in names:
        found = d.categorical(s, p, name, "region") | {
            f"{name}.heads_tvd": d.tvd(*heads, [name]),
            f"{name}.heads_tvd_floor": d.floor(*heads, [name]),
        }
        out |= found | with_prefix(name, of_household(s, p, name))
    if kind == "limited":
        young = p["age_class"].isin(CHILDREN)
        wrong = p["highest_degree"].isin(NO_DEGREE) & young
        out["limit_violations_highest_degree"] = float(wrong.mean())
    if "income" in p:
        given = {"region": "region"}
        out |= with_prefix("income", d.continuous(s, p, "income", given))
        out["income.ks_floor"] = 0.8687 / np.sqrt(len(p))
    return out


# known totals


def spatial(of: str, levels: str, seed: int) -> Measured:
    """Districts of regions."""
    if of == "eusilcS":
        recipe = [Structure(["age", "rb090"])]
        frame, household = simulated(recipe, False, "", seed), "db030"
    else:
        frame, household = pd.read_parquet(SHARED / "data" / "eusilcP.parquet"), "hid"
        frame["db040"] = frame["region"].astype(str)
    tables = {"HH": ("g_tabHH", "household"), "P": ("g_tabP", "person")}
    margins = []
    for key, (file, level) in tables.items():
        table = pd.read_parquet(GOLDEN / f"{file}.parquet")
        margins.append((key, Margin(table, level=level, total="Freq")))
    used = [margin for key, margin in margins if levels in ("HHP", key)]
    result = distribute(
        frame, "district", within="db040", margins=used, household=household, seed=seed
    )
    out: Measured = {}
    heads = result.data.drop_duplicates(household)
    for (_, margin), data, word in zip(
        margins, (heads, result.data), ("households", "persons"), strict=True
    ):
        del margin
        file = "g_tabHH" if word == "households" else "g_tabP"
        table = pd.read_parquet(GOLDEN / f"{file}.parquet").astype({"db040": str, "district": str})
        target = table.groupby(["db040", "district"])["Freq"].sum()
        there = data.assign(a=data["db040"].astype(str), b=data["district"].astype(str))
        achieved = there.groupby(["a", "b"]).size()
        size = achieved.groupby(level=0).sum() / target.groupby(level=0).sum()
        target = target * size.reindex(target.index.get_level_values(0)).to_numpy()
        off = (achieved.reindex(target.index, fill_value=0) / target - 1).abs()
        out[f"{word}.max_rel_dev_to_scaled_target"] = float(off.max())
        out[f"{word}.mean_rel_dev"] = float(off.mean())
    districts = result.data.groupby(household)["district"].nunique()
    out["households_in_two_districts"] = float((districts > 1).sum())
    return out


def annealed(table: str, households: bool, tolerance: float, seed: int) -> Measured:
    """Exchange households of the finished population until known totals are met."""
    recipe = chain("multinomial", "age_class")
    frame = simulated(recipe, False, "", seed)
    frame["hsize4"] = np.minimum(frame["hsize"], 4)
    persons = pd.read_parquet(GOLDEN / f"{table}.parquet")
    margins = [Margin(persons, total="Freq")]
    if households:
        sizes = pd.read_parquet(GOLDEN / "g_margin_hh.parquet")
        sizes["hsize4"] = pd.to_numeric(sizes["hsize4"].astype(str).str[0])
        margins.append(Margin(sizes, total="Freq", level="household"))
    result = anneal(
        frame, margins, household="db030", split="db040", tolerance=tolerance, seed=seed
    )
    gaps = result.margins.assign(gap=result.margins["difference"].abs())
    sums = gaps.groupby("level", sort=False)[["gap", "target"]].sum()
    out = {
        "abs_dev_after": float(sums.loc["person", "gap"]),
        "rel_dev_after": float(sums.loc["person", "gap"] / sums.loc["person", "target"]),
    }
    if households:
        own = sums.loc["household"]
        out["household_rel_dev"] = float(own["gap"] / own["target"])
    return out


# all of them


def scenarios() -> Iterator[Scenario]:
    """Every job, in the order of the page."""
    for method, ours in (("direct", "direct"), ("multinom", "distribution"),
                         ("distribution", "distribution")):  # fmt: skip
        yield Scenario(f"str_{method}", f'Structure, "{ours}"', partial(structure, ours))
    yield from _categorical()
    yield from _continuous()
    for name, by in (("sequential", ["netIncome", "pl030"]), ("min", ["netIncome", "pl030"]),
                     ("nocond", ["netIncome"])):  # fmt: skip
        told = f"Components by {', '.join(by)}"
        yield Scenario(f"comp_{name}", told, partial(split, by, False))
    yield Scenario(
        "compf_sequential", "Components by netIncome, pl030; filled",
        partial(split, ["netIncome", "pl030"], True),
    )  # fmt: skip
    yield Scenario("full", "whole chain, binned with tail", partial(whole, GPD, False))
    yield Scenario("fullf", "whole chain, binned with tail; filled", partial(whole, GPD, True))
    for name, options, told in (
        ("simEUSILC_multinom", GPD, "whole chain, binned with tail"),
        ("simEUSILC_multinom_big", GPD, "whole chain, binned with tail"),
        ("simEUSILC_twostep", LOG, "whole chain, regression of the log"),
    ):
        yield Scenario(name, told, partial(whole, options, False))
    yield from _ghana()
    yield from _totals()


def _categorical() -> Iterator[Scenario]:
    models = {
        "multinom": "multinomial", "distribution": "empirical", "ctree": "tree",
        "cforest": "forest", "ranger": "forest",
    }  # fmt: skip
    runs = [
        ("cat_multinom", "age", "direct"), ("cat_multinom_ageCat", "age_class", "direct"),
        ("cat_multinom_available", "age_class", "direct"),
        ("cat_multinom_after_str_multinom", "age_class", "distribution"),
        ("cat_distribution", "age", "direct"), ("cat_distribution_ageCat", "age_class", "direct"),
        ("cat_distribution_after_str_multinom", "age_class", "distribution"),
        ("cat_ctree", "age", "direct"), ("cat_cforest", "age", "direct"),
        ("cat_ranger", "age", "direct"), ("cat_ranger_ageCat", "age_class", "direct"),
        ("catf_multinom", "age_class", "direct"), ("catf_distribution", "age_class", "direct"),
        ("catf_ctree", "age_class", "direct"), ("catf_ranger", "age_class", "direct"),
    ]  # fmt: skip
    for name, age, method in runs:
        filled, model = name.startswith("catf"), models[name.split("_")[1]]
        told = f"{model} given {age}, sex, size" + ("; filled" if filled else "")
        told += "; age by its value" if age == "age" else ""
        yield Scenario(name, told, partial(categories, model, age, method, filled))
    told = "boosting given age_class, sex, size"
    yield Scenario("", told, partial(categories, "boosting", "age_class", "direct", False))


def _continuous() -> Iterator[Scenario]:
    jobs: list[tuple[str, dict[str, Any], str, list[str]]] = [
        ("con_multinom_gpd", GPD, "", INCOME),
        ("con_multinom_default", {"method": Binned(tail="gpd")}, "", INCOME),
        ("con_multinom_pwmu", GPD, "", INCOME),
        ("con_multinom_nogpd", {}, "", INCOME),
        ("con_multinom_nogpd_noequi", {}, "", INCOME),
        ("con_multinom_age", GPD, "", [*INCOME, "age"]),
        ("con_lm", LOG, "", INCOME),
        ("con_lm_normal", {"method": Regressed(log=True, residuals="normal")}, "", INCOME),
        ("con_lm_basic", {**LOG, "numeric": "values"}, "", ["age", *INCOME]),
        ("con_hh_mean", {"by_household": "mean", "method": Binned(tail="gpd")}, "mean", INCOME),
        ("con_hh_sum", {"by_household": "sum", "method": Binned(tail="gpd")}, "sum", INCOME),
        ("conf_multinom_gpd", GPD, "", INCOME),
        ("conf_multinom_default", {"method": Binned(tail="gpd")}, "", INCOME),
        ("conf_lm", LOG, "", INCOME),
        ("conf_lm_normal", {"method": Regressed(log=True, residuals="normal")}, "", INCOME),
        ("conf_lm_nolog", {"method": "regression"}, "", INCOME),
        ("conf_lm_const", {"method": Regressed(log=True, constant=10_000.0)}, "", INCOME),
        ("conf_lm_nonneg", LOG, "x >= 0", INCOME),
        ("conf_poisson", {"method": Counted(zeros=True)}, "thousands", INCOME),
        ("conf_poisson_nozeros", {"method": "poisson"}, "thousands", INCOME),
        ("", {"by_household": "first", "method": Binned(tail="gpd")}, "", INCOME),
        ("", {"method": Binned(tail="pareto", upper=UPPER)}, "", INCOME),
        ("", {"method": "binned+regression"}, "", INCOME),
        ("", {"method": Matched(log=True)}, "", INCOME),
        ("", {"method": Counted("negative-binomial", zeros=True)}, "thousands", INCOME),
        ("", {"method": Regressed("forest", log=True)}, "", INCOME),
    ]
    for name, options, how, given in jobs:
        filled = name.startswith("conf")
        told = ", ".join(f"{key} {value}" for key, value in options.items()) or "binned"
        told += (f"; {how}" if how else "") + ("; filled" if filled else "")
        yield Scenario(name, told, partial(income, options, filled, how, given))


def _ghana() -> Iterator[Scenario]:
    both = ("child", "spouse")
    for name, kind, model, direct in (
        ("ghana_rel_multinom", "relation", "multinomial", ()),
        ("ghana_rel_formula", "relation", "multinomial", ()),
        ("ghana_rel_direct", "relation", "multinomial", both),
        ("ghana_rel_ranger", "relation", "forest", ()),
        ("ghana_rel_binary", "binary", "multinomial", ()),
    ):
        told = f"Relation, {model}" + (f", direct {' and '.join(direct)}" if direct else "")
        yield Scenario(name, told, partial(ghana_run, kind, model, direct))
    for name, kind, told in (
        ("ghana_cat_nolimit", "free", "Categorical, multinomial"),
        ("ghana_cat_limit", "limited", "Categorical, multinomial, structural zeros"),
        ("ghana_income", "binned", "and income: binned with tail"),
        ("ghana_income_lm", "regression", "and income: regression of the log"),
    ):
        yield Scenario(name, told, partial(ghana_run, kind, "multinomial", ()))


def _totals() -> Iterator[Scenario]:
    for levels in ("HH", "P", "HHP"):
        yield Scenario(f"spatial_{levels}", "Distribute", partial(spatial, "eusilcP", levels))
    yield Scenario("spatial_eusilcS_HHP", "Distribute", partial(spatial, "eusilcS", "HHP"))
    for eps in ("eps10", "eps05", "eps025", "eps01"):
        yield Scenario(
            f"calib_{eps}", "Anneal, tolerance 0.005",
            partial(annealed, "g_margin_eusilcP", False, 0.005),
        )  # fmt: skip
    for eps in ("eps05", "eps01", "eps001"):
        yield Scenario(
            f"calib_scaled_{eps}", "Anneal, tolerance 0.0005",
            partial(annealed, "g_margin_scaled", False, 0.0005),
        )  # fmt: skip
    for eps in ("pers_hh", "pers_hh_05"):
        yield Scenario(
            f"calib_{eps}", "Anneal, persons and households",
            partial(annealed, "g_margin_eusilcP", True, 0.005),
        )  # fmt: skip
