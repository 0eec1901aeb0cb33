"""Small calls of the product that between them run every kernel.

Run as a script it stores what each case returns, and which kernels ran. With
``NUMBA_DISABLE_JIT=1`` that is the plain Python form, which `test_cases` compares with the
compiled one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

Case = Callable[[], "list[np.ndarray]"]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Register a case under its name."""
    CASES[function.__name__] = function
    return function


def keys_with_holes(n: int = 60) -> pd.DataFrame:
    """Three categorical keys, a tenth of the cells missing, weights and two sensitive variables."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 4, n).astype(float) for name in "abcde"})
    for name in "abc":
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    frame["w"] = rng.uniform(1, 30, n)
    frame["ill"] = rng.choice(["flu", "cold", "none"], n)
    frame["wage"] = rng.lognormal(8, 1, n).round()
    frame["rent"] = rng.lognormal(6, 1, n).round()
    frame["hid"] = np.arange(n) // 3
    frame["region"] = (frame["hid"] % 4).astype(float)
    return frame


@case
def candidates_of_releases() -> list[np.ndarray]:
    """Records with the same values, ranges that meet, and such that take their first candidate."""
    from riskeval.kernels.candidates import candidates

    rng = np.random.default_rng(4)
    group_a, group_b = np.sort(rng.integers(0, 6, 40)), rng.integers(-1, 6, 30)
    order, starts = np.arange(40), np.searchsorted(group_a, np.arange(7))
    low_a, low_b = rng.integers(0, 4, (40, 2)) * 1.0, rng.integers(0, 4, (30, 2)) * 1.0
    codes = rng.integers(0, 3, (40, 2))
    wanted = rng.random(30) < 0.9
    sides = (low_a, low_a + 1, low_b, low_b + 0.5)
    return [
        part
        for take in (False, True)
        for taken in [np.arange(40) % 9 == 0]
        for part in (
            *candidates(order, starts, group_b, *sides, codes, taken, wanted, take), taken
        )
    ]  # fmt: skip


@case
def exchanged_values() -> list[np.ndarray]:
    """Values of persons of two areas, exchanged until two-way tables are even."""
    from synthpop.conditional.coded_tables import pair_layout
    from synthpop.kernels.exchanging import exchange_values

    rng = np.random.default_rng(6)
    sizes, areas = [2, 3, 4], rng.integers(0, 2, 40)
    coarse = np.column_stack([rng.integers(0, size, 40) for size in sizes])
    start, width, stride, n_cells = pair_layout(sizes, 2)
    first, _, fine_stride, n_pairs = pair_layout(sizes)
    cells = np.column_stack([rng.normal(0, 1, n_cells), np.ones(n_cells)]).astype(np.float32)
    order = np.argsort(areas, kind="stable")
    starts, source = np.searchsorted(areas[order], [0, 1, 2]), np.zeros((40, 3), dtype=np.int64)
    made = exchange_values(
        rng.random((300, 3)), areas, starts, order, np.array([0, 1, 2]), np.array([0, 1, 3]),
        coarse, start, width, stride, cells, coarse.copy(), first, fine_stride,
        rng.random(n_pairs) < 0.9, source,
    )  # fmt: skip
    return [np.array([made]), coarse, cells]


@case
def frequencies() -> list[np.ndarray]:
    """Counts with missing keys that match everything, wholly and partly."""
    from riskeval import frequency_counts

    frame = keys_with_holes()
    rng = np.random.default_rng(9)
    wide = pd.DataFrame({f"k{j}": rng.integers(0, 40, 80).astype(float) for j in range(5)})
    wide = wide.mask(rng.random(wide.shape) < 0.5)  # too many cells for a dense table
    sparse = frequency_counts(wide, list(wide.columns))
    return [
        sparse.f,
        *(
            part
            for alpha in (1.0, 0.5)
            for result in [frequency_counts(frame, list("abc"), weights="w", alpha=alpha)]
            for part in (result.f, result.F)
        ),
    ]


@case
def individual() -> list[np.ndarray]:
    """Individual risk: series, integral and closed form."""
    from riskeval import individual_risk

    frame = keys_with_holes()
    return [
        individual_risk(frame, list(keys), weights=frame["w"] * scale, alpha=alpha).risk
        for keys in ("ab", "abc", "abcde")
        for scale in (1.0, 0.2, 50.0)
        for alpha in (1.0, 0.5)
    ]


@case
def diversity() -> list[np.ndarray]:
    """Sensitive values inside groups of keys."""
    from riskeval import beta_likeness, l_diversity, t_closeness

    frame = keys_with_holes().dropna()
    tree = {"flu": ["sick"], "cold": ["sick"], "none": ["well"]}
    diverse = l_diversity(frame, ["a", "b"], ["ill", "d"])
    wild = l_diversity(keys_with_holes(), ["a", "b"], ["ill", "d"], missing="wildcard")
    return [
        *(
            diverse.per_record[name].to_numpy()
            for name in diverse.per_record.select_dtypes("number")
        ),
        *(wild.per_record[name].to_numpy() for name in wild.per_record.select_dtypes("number")),
        t_closeness(frame, ["a"], "ill", distance=tree)
        .per_record.select_dtypes("number")
        .to_numpy(),
        t_closeness(frame, ["a"], "wage").per_record.select_dtypes("number").to_numpy(),
        np.array([beta_likeness(frame, ["a"], "ill").beta]),
    ]


@case
def special_uniques() -> list[np.ndarray]:
    """Minimal sample uniques."""
    from riskeval import suda

    result = suda(keys_with_holes().dropna().astype({"a": int}), list("abcde"))
    return [np.asarray(result.score), np.asarray(result.n_msu)]


@case
def latent_classes() -> list[np.ndarray]:
    """Draws of the shares of cells, with holes and weights."""
    from riskeval import population_risk

    risk = population_risk(keys_with_holes(30), list("abc"), weights="w", seed=1)
    return [np.array([*risk.unique, *risk.links]), risk.risk, risk.upper]


@case
def loglinear() -> list[np.ndarray]:
    """Every method of the log-linear models."""
    from riskeval import choose_model, loglinear_risk

    frame = keys_with_holes().dropna()
    choice = choose_model(frame, ["a", "d", "e"], weights="w")
    risks = [
        loglinear_risk(frame, ["a", "d", "e"], weights="w", method=method)
        for method in ("poisson", "clogg-eliason", "pseudo-ml", "weighted", "ipf")
    ]
    return [
        choice.path.select_dtypes("number").to_numpy(dtype=float),
        *(np.array([risk.tau1, risk.tau2]) for risk in risks),
    ]


@case
def linkage() -> list[np.ndarray]:
    """Nearest records under every method, with names that nearly agree."""
    from riskeval import record_linkage

    original = keys_with_holes().dropna()
    released = original.assign(wage=original["wage"] * 1.02, rent=original["rent"].round(-1))
    names = [f"person {k * 37 % 101}" for k in range(len(original))]
    original, released = original.assign(who=names), released.assign(who=[n + "a" for n in names])
    numbers = ["wage", "rent"]
    results = [
        record_linkage(original, released, numbers),
        record_linkage(original, released, numbers, assign="one-to-one"),
        record_linkage(original, released, [*numbers, "ill"], method="gower"),
        record_linkage(original, released, ["a", "b", "ill"], method="probabilistic"),
        record_linkage(
            original, released, ["a", "ill"], method="probabilistic", assign="one-to-one"
        ),
        record_linkage(
            original, released, ["ill", "who"], method="probabilistic", agreement={"who": 0.8}
        ),
    ]
    return [np.array([float(result.rate)]) for result in results]


@case
def microaggregation() -> list[np.ndarray]:
    """Groups of near records."""
    from riskeval import protect

    frame = keys_with_holes(150).dropna()
    many = pd.DataFrame(np.random.default_rng(1).normal(size=(700, 3)), columns=list("xyz"))
    calls = [
        (many, list("xyz"), {"method": "mdav"}),
        (frame, ["wage"], {"method": "univariate-optimal"}),
        (frame, ["wage", "rent", "ill"], {"method": "gower", "seed": 1}),
        (frame, ["wage", "rent"], {"method": "individual"}),
    ]
    return [
        protect.microaggregate(data, names, **options)
        .data[names]
        .select_dtypes("number")
        .to_numpy()
        for data, names, options in calls
    ]


@case
def gower() -> list[np.ndarray]:
    """Distance between two files."""
    from riskeval import utility

    frame = keys_with_holes().dropna()
    other = frame.assign(wage=frame["wage"] * 1.1, ill=frame["ill"].to_numpy()[::-1])
    return [np.array([utility.gower(frame, other, ["wage", "rent", "ill"]).distance])]


@case
def nearest_records() -> list[np.ndarray]:
    """Distance to the closest record."""
    from riskeval import distance_screen

    one, two = keys_with_holes(50).dropna(), keys_with_holes(70).dropna()
    result = distance_screen(one, two.assign(wage=two["wage"] * 1.01), ["wage", "ill"], seed=1)
    return [np.array([result.identical, result.close])]


@case
def predicates_and_links() -> list[np.ndarray]:
    """Singling out and linkability, with missing values."""
    from riskeval import linkability, singling_out

    one, two = keys_with_holes(50), keys_with_holes(60)
    options = {"holdout": two.iloc[10:].assign(wage=two["wage"] * 1.1), "seed": 1}
    names = ["a", "b", "wage", "ill"]
    single = singling_out(one, two, names, n_predicates=30, **options)
    linked = linkability(one, two, names, **options)
    return [found.table[["rate", "naive", "holdout"]].to_numpy() for found in (single, linked)]


@case
def protection() -> list[np.ndarray]:
    """Local suppression, rank swapping, record swapping."""
    from riskeval import protect

    frame = keys_with_holes(150)
    many = keys_with_holes(60)[list("abcde")]
    suppressed = protect.local_suppression(many, list("abcde"), k=5).data
    shown = protect.local_suppression(many, list("abcde"), targets={"visible k": 2}).data
    odd = frame.iloc[:149]  # one record is left without a partner
    swapped = protect.rank_swap(odd, ["wage", "rent"], p=0.2, seed=1).data[["wage", "rent"]]
    moved = protect.record_swap(
        frame.assign(size=3, a=1.0),
        household="hid",
        hierarchy=["region"],
        similar=["size"],
        risk_keys=["d"],
        k=2,
        rate=0.2,
        seed=1,
    ).data["region"]
    return [table.to_numpy() for table in (suppressed, shown, swapped, moved)]


@case
def scenarios() -> list[np.ndarray]:
    """Five intruders, persons and households, numeric and categorical targets."""
    from riskeval import Scenario, intruder_scenarios

    sample, population = keys_with_holes(60), keys_with_holes(240)
    population["low"], population["high"] = population["wage"] * 0.9, population["wage"] * 1.1
    people = intruder_scenarios(
        sample, population, ["a", "d"], ["wage", "ill"], intervals={"wage": ("low", "high")}, seed=1
    )
    household = Scenario(["region", "d"], "wage", unit="household", household="hid")
    families = intruder_scenarios(
        sample, population.drop(columns=["low", "high"]), household, scenarios=(2, 4, 5), seed=1
    )
    return [
        result.table.select_dtypes("number").to_numpy(dtype=float) for result in (people, families)
    ]


@case
def counting() -> list[np.ndarray]:
    """Counting attacks on a synthetic file."""
    from riskeval import disco, replicated_uniques

    one, two = keys_with_holes(80), keys_with_holes(90)
    return [
        np.array([replicated_uniques(one, two, ["d", "e"]).rate]),
        np.array([disco(one, two, ["d", "e"], "ill").rate]),
    ]


@case
def population() -> list[np.ndarray]:
    """Every kind of stage, pooled and not, with households in order."""
    from synthpop import Categorical, Components, Continuous, Derive, Pipeline, Structure
    from tests.small import small_survey

    stages = [
        Structure(["age", "sex"]),
        Derive("age_class", source="age", breaks=[0, 15, 39, 64, 120]),
        Categorical("status", predictors=["age_class", "sex", "size"]),
        Continuous("income", method="regression", predictors=["age_class", "status"]),
        Components("income", parts=["wage", "other"], by=["status", "income"]),
    ]
    binned = [
        Structure(["age", "sex"], jitter={"age": 2}), *stages[1:3],
        Continuous("income", predictors=["age_class", "status"]),
    ]  # fmt: skip
    frames = [
        Pipeline(steps).fit(small_survey(25), seed=1).simulate(scale=0.3).frame()
        for steps in (stages, binned)
    ]
    return [
        frame[name].cat.codes.to_numpy()
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        else frame[name].to_numpy(dtype=float)
        for frame in frames
        for name in frame
    ]


@case
def few_cells() -> list[np.ndarray]:
    """Effects of so many levels that a table of all codes does not pay for the cells."""
    from synthpop.conditional.pooling.ridge_effects import RidgeEffects, shifted

    table = np.array([[0.5, -0.5], [1.0, 0.0]])
    effects = RidgeEffects(((0,),), (999,), np.array([1, 900]), np.array([0, 2]), table)
    return list(shifted(effects, np.full((2, 2), 0.5), np.array([[900], [7]])))


@case
def known_totals() -> list[np.ndarray]:
    """Exchange of households, and their allocation to small areas."""
    from synthpop import Margin, anneal
    from synthpop.stages.distribute import distribute
    from tests.small import small_frame

    frame = small_frame(200).drop(columns=["w"])
    sex = frame["sex"].value_counts()
    moved = pd.DataFrame({"sex": ["f", "m"], "total": [sex["f"] + 12, sex["m"] - 10]})
    annealed = anneal(frame, [Margin(moved)], household="hid", person="pid", seed=1)
    people = frame.groupby(["region", "sex"], observed=True).size().rename("total").reset_index()
    areas = pd.concat([people.assign(area=people["region"].astype(str) + n) for n in "12"])
    areas = areas.assign(total=areas["total"] // 2)
    allocated = distribute(
        frame, "area", within="region", margins=Margin(areas), household="hid", seed=1
    )
    return [
        annealed.data["hid"].to_numpy(dtype=float),
        pd.Categorical(allocated.data["area"]).codes,
    ]


@case
def calibration() -> list[np.ndarray]:
    """Weights by every method, and whole ones."""
    from synthpop import Margin, calibrate
    from synthpop.calibration import integerise
    from tests.small import small_survey

    survey = small_survey(30)
    total = float(survey.weights.sum())
    sex = pd.DataFrame({"sex": ["f", "m"], "total": [0.52 * total, 0.48 * total]})
    homes = survey.frame.groupby("region", observed=True)["w"].sum()
    region = pd.DataFrame({"region": homes.index, "total": homes.to_numpy() / 2.5})
    margins = [Margin(sex), Margin(region, level="household")]
    person = [Margin(sex), Margin(pd.DataFrame({"region": homes.index, "total": homes.to_numpy()}))]
    weights = [calibrate(survey, person, method=m).weights for m in ("raking", "linear", "logit")]
    free = calibrate(survey, person, household_equal=False).weights
    return [
        *weights,
        free,
        calibrate(survey, margins, method="ipu").weights,
        np.asarray(integerise(survey, person, seed=1).weights, dtype=float),
    ]


@case
def zones() -> list[np.ndarray]:
    """Households in zones, with totals of zones and of all of them together."""
    from synthpop import Margin, Survey
    from synthpop.calibration import WeightLimits, balance_zones

    survey = Survey(keys_with_holes().assign(w=2.0), weight="w", household="hid")
    places = pd.DataFrame({"zone": ["x", "y", "z"]})
    homes = Margin(places.assign(total=[9.0, 12.0, 0.0]), level="household")
    ill = Margin(pd.DataFrame({"ill": ["flu"], "total": [24.0]}), importance=50.0)
    limits = WeightLimits(ratio=(0.1, 9.0), weight=(0.01, 8.0))
    result = balance_zones(survey, places, [homes, ill], bounds=limits, seed=1)
    return [result.controls["balanced"].to_numpy(), result.controls["achieved"].to_numpy()]


@case
def samples() -> list[np.ndarray]:
    """Draws with unequal probabilities, and balanced ones."""
    from synthpop.sampling import draw_balanced, draw_unequal, joint_probabilities
    from synthpop.sampling.pps import METHODS

    size = np.random.default_rng(5).uniform(1, 4, 30)
    probabilities = 8 * size / size.sum()
    draws = [
        draw_unequal(probabilities, np.random.default_rng(7), method=method) for method in METHODS
    ]
    joint = [joint_probabilities(probabilities, method=m) for m in ("sampford", "tille")]
    auxiliary = np.column_stack([probabilities, np.arange(30.0)])
    return [*draws, *joint, draw_balanced(probabilities, auxiliary, np.random.default_rng(7))]


@case
def nearest_despite_holes() -> list[np.ndarray]:
    """Nearest keys and households, some of them suppressed."""
    from riskeval.attacks.counting.compatible import compatible_households, household_holes
    from riskeval.attacks.prediction.nearest import NearestKeys

    rng = np.random.default_rng(8)
    real = [rng.integers(0, 3, (size, 2)).astype(np.int32) for size in (1, 2, 3, 2)]
    released = [np.where(rng.random(rows.shape) < 0.4, 9, rows)[::-1] for rows in real]
    pairs = compatible_households(real, released, np.array([9, 9], dtype=np.int32))
    holes = household_holes(real, released, np.array([9, 9], dtype=np.int32))
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(["x", "y", None], 40)})
    nearest = NearestKeys(frame.where(rng.random((40, 2)) < 0.8), ["a", "b"], ["a"])
    return [*pairs, *holes, nearest.values(nearest.of(frame), np.arange(40.0))]


@case
def pairs_that_exchange_partners() -> list[np.ndarray]:
    """Local recoding by matching."""
    from riskeval import protect

    result = protect.local_recoding(keys_with_holes(), list("abd"))
    return [result.details["group"], np.array([result.details["cost"]])]


def results() -> dict[str, list[np.ndarray]]:
    """Run all cases."""
    return {name: [np.asarray(part) for part in run()] for name, run in CASES.items()}


def store(file: Path) -> None:
    """Run all cases in this process, and store results and the names of the kernels that ran."""
    import synthpop.microdata.runs.kernel as home

    ran: set[str] = set()

    def recording(function: Callable) -> Callable:
        name = f"{function.__module__}.{function.__name__}"

        def run(*arguments: object) -> object:
            ran.add(name)
            return function(*arguments)

        run.py_func = function
        return run

    home.kernel = recording
    flat = {
        f"{name}/{k}": part for name, parts in results().items() for k, part in enumerate(parts)
    }
    np.savez(file, **flat, kernels=np.array(sorted(ran)))


@case
def shares_of_levels() -> list[np.ndarray]:
    from synthpop.conditional.calibrated_shares import factors_of

    rng = np.random.default_rng(8)
    probabilities = rng.dirichlet(np.ones(4), 30)
    return [factors_of(rng.uniform(1, 9, 30), probabilities, np.array([0.1, 0.4, 0.3, 0.2]))]


@case
def members_who_follow_others() -> list[np.ndarray]:
    from synthpop.conditional.likeness import Likeness

    rng = np.random.default_rng(9)
    digits = rng.integers(0, 4, (30, 4))
    likeness = Likeness((0, 1), 2, rng.uniform(1, 3, (2, 4)), 3, np.zeros(4, int), np.ones((2, 1)))
    by_kind = likeness.applied(rng.dirichlet(np.ones(4), 30), digits)
    all_alike = Likeness((0,), None, np.full((1, 1), 2.0), 3, np.zeros(1, int), np.ones((1, 1)))
    return [by_kind, all_alike.applied(by_kind, digits)]


@case
def hashes() -> list[np.ndarray]:
    from riskeval.ledger.columns import row_hash

    return [row_hash([np.arange(9, dtype=np.uint64), np.full(9, 2**63, dtype=np.uint64)], 9)]


if __name__ == "__main__":
    store(Path(sys.argv[1]))
