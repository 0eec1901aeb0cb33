"""Chapters 3 to 5 and section 8.7 of Templ (2017) on public files: the printed number beside ours.

Each function returns the rows of one table. Small examples stand here with their data; the others
read ``eusilc.parquet`` and ``testdata.parquet`` (the public data sets of the R packages laeken and
sdcMicro) from a folder, which is no part of this repository.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from replay import section87
from riskeval import (
    frequency_counts,
    individual_risk,
    l_diversity,
    loglinear_risk,
    protect,
    suda,
    utility,
)
from riskeval.measures.individual import household_risks
from synthpop.weighted import table as weighted_table

EUSILC_KEYS = ["db040", "hsize", "rb090", "age", "pb220a", "pl030"]
TEST_KEYS = ["urbrur", "water", "sex", "age"]
APPROXIMATE = {"formula": "approximation"}


@dataclass(frozen=True)
class Row:
    """A printed number, ours, and why they differ (empty: they agree to the printed digits).

    Random methods have the numbers of several seeds; they agree where the printed number lies
    within three standard deviations of their mean.
    """

    quantity: str
    printed: str
    ours: str
    reason: str = ""
    draws: tuple[float, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether every number agrees to the digits that are printed."""
        if self.draws:
            digits = len(self.printed.partition(".")[2])
            away = abs(float(self.printed) - np.mean(self.draws))
            return bool(away <= 3 * np.std(self.draws, ddof=1) + 0.5 * 10.0**-digits)
        pairs = zip(self.printed.split(), self.ours.split(), strict=True)
        return all(_same(printed, ours) for printed, ours in pairs)


def _same(printed: str, ours: str) -> bool:
    digits = len(printed.split("e")[0].partition(".")[2])
    power = int(printed.partition("e")[2] or 0)
    return bool(abs(float(printed) - float(ours)) <= 0.5000001 * 10.0 ** (power - digits))


def _text(values: object) -> str:
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    return " ".join(f"{number:.8g}" for number in numbers)


def row(quantity: str, printed: str, ours: object, reason: str = "") -> Row:
    """A row from printed text and our numbers."""
    return Row(quantity, printed, _text(ours), reason)


def drawn(quantity: str, printed: str, draws: list[float], reason: str = "") -> Row:
    """A row of a random method: mean, lowest and highest of the seeds."""
    low, mean, high = (
        f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"
        for value in (min(draws), np.mean(draws), max(draws))
    )
    return Row(quantity, printed, f"{mean} ({low} to {high})", reason, tuple(draws))


# 1. Small examples, whose data are printed --------------------------------------------------

TOY_4 = pd.DataFrame(
    {"key1": [1, 1, 2, None], "key2": [1.0] * 4, "key3": [3, None, 3, None], "w": [10, 20, 30, 40]}
)
TABLE_33 = pd.DataFrame(
    {
        "age": ["20s"] * 7 + ["60s"],
        "gender": ["m"] * 4 + ["f"] * 3 + ["m"],
        "income": ["50k+"] * 2 + ["50k-"] * 6,
        "education": ["high"] * 4 + ["university", "high", "middle", "university"],
    }
)
TABLE_41 = pd.DataFrame({"status": ["single", "married", "married", "single", "widow"]})
TABLE_43 = pd.DataFrame(
    {
        "Num1": [0.3, 0.12, 0.18, 1.9, 1.0, 1.0, 0.1, 0.15],
        "Num2": [0.4, 0.22, 0.8, 9.0, 1.3, 1.4, 0.01, 0.5],
        "Num3": [4.0, 22.0, 8.0, 91.0, 13.0, 14.0, 1.0, 5.0],
    }
)


def small_examples_of_risk() -> list[Row]:
    """Section 3.2.3 (missing values), Table 3.3 (special uniques) and the rule for households."""
    keys = ["key1", "key2", "key3"]
    counts = frequency_counts(TOY_4, keys, weights="w")
    strict = frequency_counts(TOY_4, keys, weights="w", alpha=0)
    tenth = frequency_counts(TOY_4, keys, weights="w", alpha=0.1)
    special = suda(TABLE_33, list(TABLE_33), normalise="book")
    shares = special.attribute_contribution["contribution"]
    together = household_risks(np.array([0.1, 0.05, 0.01]), np.array([1, 1, 1]))
    note = "the printed counts are of another rule than alpha = 0"
    return [
        row("3.2.3: f, missing values match", "3 3 2 4", counts.f),
        row("3.2.3: f, conservative", "1 3 1 4", strict.f, note),
        row("3.2.3: f, alpha = 0.1", "1.2 2.1 1.1 3.1", tenth.f),
        row("Table 3.3: SUDA scores", "1.00 0.50 1.75 2.25", special.score[4:]),
        row("Table 3.3: contributions, percent", "40.909 27.273 0 68.182", shares),
        row("3.6: risk of a household", "0.15355", together[0]),
    ]


def small_examples_of_protection() -> list[Row]:
    """Tables 4.1 and 4.2 (suppression) and 4.3 (microaggregation)."""
    rows = []
    for k, printed in ((2, "3 3 3 3 5"), (3, "3 3 3 3 5")):
        result = protect.local_suppression(TABLE_41, ["status"], k=k)
        counts = frequency_counts(result.data, ["status"])
        rows.append(row(f"Table 4.{k - 1}: f after suppression, k = {k}", printed, counts.f))
        rows.append(row(f"Table 4.{k - 1}: cells suppressed", "1", result.cells_suppressed))
    masked = protect.microaggregate(TABLE_43, list(TABLE_43), k=2).data
    rows += [
        row("Table 4.3: Mic1", "0.65 0.15 0.15 1.45 0.65 1.45 0.12 0.12", masked["Num1"].round(3)),
        row("Table 4.3: Mic2", "0.85 0.51 0.51 5.20 0.85 5.20 0.26 0.26", masked["Num2"].round(3)),
        row("Table 4.3: Mic3", "8.5 15.0 15.0 52.5 8.5 52.5 3.0 3.0", masked["Num3"]),
    ]
    return rows


# 2. The survey files ------------------------------------------------------------------------


def counts_and_risk(folder: Path) -> list[Row]:
    """Sections 3.2, 3.5 and 3.6: counts, individual and household risk."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    people = pd.read_parquet(folder / "testdata.parquet")
    three = ["db040", "hsize", "pb220a"]
    counts = frequency_counts(silc, three, weights="rb050")
    cells = counts.table
    complete = cells.dropna(subset=three)
    unique = int((complete["f"] == 1).sum())
    risk = individual_risk(
        people, TEST_KEYS, weights="sampling_weight", household="ori_hid", **APPROXIMATE
    )
    six = individual_risk(silc, EUSILC_KEYS, weights="rb050", household="db030", **APPROXIMATE)
    exact = individual_risk(silc, EUSILC_KEYS, weights="rb050", household="db030")
    violating = [(risk.f < k).sum() for k in (2, 3, 5)]
    diverse = l_diversity(people, TEST_KEYS, sensitive=["income"]).to_frame()
    levels = diverse["income_distinct"]
    summary = [levels.min(), *levels.quantile([0.25, 0.5]), levels.mean()]
    summary += [levels.quantile(0.75), levels.max()]
    totals = [risk.expected_reidentifications, risk.expected_household_reidentifications]
    totals_six = [six.expected_reidentifications, six.expected_household_reidentifications]
    head = risk.to_frame()
    return [
        row("3.2: keys, a missing value as a category", "225", len(cells)),
        row("3.2: complete keys, unique ones", "164 2", [len(complete), unique]),
        row("3.2: f of the first six persons", "222 47 237 387 387 408", counts.f[:6]),
        row("3.3: l-diversity, quartiles and mean", "1 4 8 10.85 17 35", summary),
        row("3.5: records below 2, 3, 5 (testdata)", "330 674 1288", violating),
        row("3.5: risk of the first record", "1.663894e-03", head["risk"].iloc[0]),
        row("3.6: risk of its household", "4.330996e-03", head["household_risk"].iloc[0]),
        row("3.6: expected persons, with households", "24.78 117.20", totals),
        row("3.9: records below 2, 3 (EU-SILC)", "4109 6947", [(six.f < k).sum() for k in (2, 3)]),
        row("3.9: expected persons, with households", "57.49 199.16", totals_six),
        row("3.9: expected persons, exact series", "57.49", exact.expected_reidentifications),
    ]


def special_uniques(folder: Path) -> list[Row]:
    """Section 3.4: SUDA on EU-SILC."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    four = suda(silc, ["age", "pb220a", "rb090", "db040"], normalise="book")
    six = suda(silc, EUSILC_KEYS, normalise="book")
    return [
        row("3.4: four keys, DIS 0 and above", "14482 345", four.dis_table()["records"][:2]),
        row(
            "3.4: contributions, percent",
            "100 64.37055 26.60333 80.99762",
            four.attribute_contribution["contribution"],
        ),
        row("3.9: six keys, DIS classes", "10745 4058 22 2", six.dis_table()["records"][:4]),
        row(
            "3.9: contributions, percent",
            "66.98 64.66 29.93 95.67 31.54 57.13",
            six.attribute_contribution["contribution"],
        ),
    ]


def loglinear(folder: Path) -> list[Row]:
    """Sections 3.8 and 3.9: log-linear models on EU-SILC."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    formula = "~ db040 + hsize + rb090 + age + pb220a + age:rb090 + age:hsize + hsize:rb090"
    keys = ["db040", "hsize", "rb090", "age", "pb220a"]
    risk = loglinear_risk(silc, keys, weights="rb050", formula=formula, method="poisson", bound=5)
    program = [risk.program_gr1, risk.program_gr2]
    note = "the printed numbers are shares of cells; tau of equations 3.22 and 3.23 are counts"
    return [
        row("3.9: what the program prints", "0.2964092 0.3604305", program),
        row("3.9: tau1, tau2 as defined", "0.2964092 0.3604305", [risk.tau1, risk.tau2], note),
    ]


def recoding_and_suppression(folder: Path) -> list[Row]:
    """Section 4.2: recoding of age, and local suppression for k = 3."""
    people = pd.read_parquet(folder / "testdata.parquet")
    keys = [*TEST_KEYS, "relat"]
    people["age"] = people["age"].where(people["age"] > 0)  # the printed classes lose age 0
    labels = ["1", "10", "20", "30", "40", "50", "60", "70", "80"]
    limits = [0, 9, 19, 29, 39, 49, 59, 69, 79, 130]
    nine = protect.global_recode(people, "age", breaks=limits, labels=labels).data
    seven = protect.group_categories(nine, "age", groups={"60-": ["60", "70", "80"]}).data
    suppressed = protect.local_suppression(seven, keys, k=3)

    def below(frame: pd.DataFrame) -> list[int]:
        f = frequency_counts(frame, keys).f
        return [int((f < k).sum()) for k in (2, 3, 5)]

    fewer = "counted again after each cell, the same protection needs no more cells than printed"
    return [
        row("4.2.1: persons by class of age", "1128 1110 635 629 447 250 200 70 13",
            nine["age"].value_counts().reindex(labels)),
        row("4.2.1: records below 2, 3, 5", "111 184 345", below(nine)),
        row("4.2.1: last three classes joined", "85 162 294", below(seven)),
        row("4.2.2: cells suppressed for k = 3", "118", suppressed.cells_suppressed, fewer),
        row("4.2.2: records below 2, 3 afterwards", "0 0", below(suppressed.data)[:2]),
    ]  # fmt: skip


def microaggregation(folder: Path) -> list[Row]:
    """Section 4.3: groups of three of expenditure, income and savings."""
    people = pd.read_parquet(folder / "testdata.parquet")
    names = ["expend", "income", "savings"]
    masked = protect.microaggregate(people, names, k=3).data
    loss = utility.information_loss(people, masked, names)
    older = "an older program, whose IL1 is twice equation 5.9; today's gives 0.0388, as ours"
    return [
        row("4.3.1: IL1", "0.11", loss.il1s, older),
        row("4.3.1: difference of eigenvalues, percent", "0.06", 100 * loss.eigenvalues,
            "an older program; today's gives 0.0186, as ours"),
    ]  # fmt: skip


SEEDS = range(1, 11)
OLDER = "the older program's IL1 is twice equation 5.9"
TIES = "members of a household have one income: among equal values we form other groups"
CORRELATED = 0.1**2 / (1 - 0.1**2)
"""Variance of the noise that the program's default of correlated noise means."""


def random_protection(folder: Path) -> list[Row]:
    """Sections 4.2.4, 4.3.2 and 4.3.3: post-randomisation, noise and shuffling of testdata."""
    people = pd.read_parquet(folder / "testdata.parquet")
    names = ["expend", "income", "savings"]
    model = "expend + income + savings ~ age + urbrur + water + electcon + sex"
    walls = people.assign(walls=people["walls"].astype("category"))
    changed, noisy, shuffled = [], [], []
    for seed in SEEDS:
        masked = protect.pram(
            walls, "walls", strata="hhcivil", min_diagonal=0.8, alpha=0.5, seed=seed
        ).data
        changed.append(100 * float((masked["walls"] != walls["walls"]).mean()))
        noise = protect.add_noise(
            people, names, method="correlated2", level=CORRELATED, seed=seed
        ).data
        noisy.append(utility.information_loss(people, noise, names))
        moved = protect.shuffle(people, formula=model, seed=seed).data
        shuffled.append(utility.information_loss(people, moved, names))
    return [
        drawn("4.2.4: percent of walls changed", "8.69", changed),
        drawn("4.3.2: IL1 of correlated noise", "0.11", [one.il1s for one in noisy], OLDER),
        drawn("4.3.2: the same, twice", "0.11", [2 * one.il1s for one in noisy]),
        drawn("4.3.2: eigenvalues, percent", "0.060", [100 * one.eigenvalues for one in noisy]),
        drawn("4.3.3: IL1 of shuffling", "1.63", [one.il1s for one in shuffled], OLDER),
        drawn("4.3.3: the same, twice", "1.63", [2 * one.il1s for one in shuffled]),
        drawn("4.3.3: eigenvalues, percent", "2.090", [100 * one.eigenvalues for one in shuffled]),
    ]


def random_utility(folder: Path) -> list[Row]:
    """Sections 5.1 and 5.3: tables after post-randomisation, losses after noise, on EU-SILC."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    both = ["rb090", "db040"]
    tables, small, large = [], [], []
    for seed in SEEDS:
        masked = protect.pram(silc, "db040", min_diagonal=0.8, alpha=0.5, seed=seed).data
        tables.append(utility.table_distance(silc[both], masked[both], both, total="as-is"))
        for method, level, losses in (
            ("correlated2", CORRELATED, small),
            ("additive", 2.25, large),
        ):
            noise = protect.add_noise(silc, ["eqIncome"], method=method, level=level, seed=seed)
            losses.append(utility.information_loss(silc, noise.data, ["eqIncome"]).il1s)
    grouped = protect.microaggregate(silc, ["eqIncome"], k=3).data
    loss = utility.information_loss(silc, grouped, ["eqIncome"]).il1s
    return [
        drawn("5.1: mean difference of cells (UT)", "7.333333", [one.ut for one in tables]),
        drawn("5.1: the same, percent (UT2)", "1.163519", [one.ut2 for one in tables]),
        drawn("5.1: Aitchison distance", "0.09068296", [one.aitchison_total for one in tables]),
        row("5.3: IL1 of groups of three, twice", "0.001442564", 2 * loss, TIES),
        drawn("5.3: IL1 of correlated noise", "0.1138542", small, OLDER),
        drawn("5.3: the same, twice", "0.1138542", [2 * one for one in small]),
        drawn("5.3: IL1 of additive noise", "1.687381", large, OLDER),
        drawn("5.3: the same, twice", "1.687381", [2 * one for one in large]),
    ]


def utility_of_tables(folder: Path) -> list[Row]:
    """Chapter 5: tables, entropies and weighted counts on EU-SILC."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    merged = silc.assign(hsize=silc["hsize"].where(silc["hsize"] < 6, 6))
    both = ["rb090", "hsize"]
    shared = {"levels": "shared", "total": "as-is"}
    distance = utility.table_distance(silc[both], merged[both], both, **shared)
    crossed = pd.crosstab(silc["rb090"], silc["db040"])
    weighted = weighted_table(silc[["hsize", "pl030"]], silc["rb050"]).to_numpy()
    n = len(silc)

    def entropy(name: str) -> float:
        counts = silc[name].value_counts().to_numpy()
        return float((counts * np.log(counts / n)).sum() / n)

    return [
        row("5.1: men by region, first five", "261 517 1417 440 1128", crossed.loc["male"][:5]),
        row("5.2: Aitchison distance, sizes 6 to 9 joined", "0.8215698", distance.aitchison_total),
        row("5.3: entropy of hsize, age, pb220a", "-1.765339 -4.440551 -0.4446661",
            [entropy("hsize"), entropy("age"), entropy("pb220a")]),
        row("5: weighted hsize by pl030, first row",
            "426561 76187 63050 28343 568613 22262 30646", np.ravel(weighted)[:7]),
    ]  # fmt: skip


def solutions(folder: Path) -> list[Row]:
    """Solutions of the exercises that have numbers and need no random draw."""
    silc = pd.read_parquet(folder / "eusilc.parquet")
    second = pd.read_parquet(folder / "testdata2.parquet")
    seven = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    risk = individual_risk(second, seven, weights="sampling_weight", **APPROXIMATE)
    counts = frequency_counts(silc, ["db040", "age", "rb090", "pl030"], weights="rb050")
    small = silc.iloc[:500].assign(rb050=silc["rb050"].iloc[:500] * len(silc) / 500)
    few = individual_risk(small, EUSILC_KEYS, weights="rb050", household="db030", **APPROXIMATE)
    formula = "~ db040 + hsize + rb090 + age + pb220a + age:rb090 + age:hsize + hsize:rb090"
    five = ["db040", "hsize", "rb090", "age", "pb220a"]
    model = loglinear_risk(small, five, weights="rb050", formula=formula, method="poisson", bound=5)
    keys = ["age", "pb220a", "pl030", "rb090", "hsize"]
    all_five = individual_risk(silc, keys, weights="rb050", household="db030", **APPROXIMATE)
    shares = [100 * few.global_risk, 100 * few.household_global_risk]
    totals = [all_five.expected_reidentifications, all_five.expected_household_reidentifications]
    sizes = silc["hsize"].value_counts().sort_index()
    return [
        row("1.3: expected persons of testdata2", "4.33", risk.expected_reidentifications),
        row("2.3: f of records 8 and 3", "1 15", [counts.f[7], counts.f[2]]),
        row("2.3: weight of record 8", "868.2204", silc["rb050"].iloc[7]),
        row("3.4: log-linear model of 500 records", "0.9110378 0.934479",
            [model.program_gr1, model.program_gr2]),
        row("3.5: expected persons of 500 records", "0.29 0.93",
            [few.expected_reidentifications, few.expected_household_reidentifications]),
        row("3.5: the same, percent", "0.06 0.19", shares),
        row("4.1: expected persons, with households", "20.94 78.59", totals),
        row("4.1: persons by household size", "1745 3624 3147 3508 1815 630 252 88 18", sizes),
    ]  # fmt: skip


def population(folder: Path) -> list[Row]:
    """Section 8.7: a population from the files of EU-SILC, and a sample drawn from it."""
    ours = section87.numbers(pd.read_parquet(folder / "eusilc13puf.parquet"))
    education = ours["education"]
    sizes = "200 1140 1278 376 828 1034 386 492 243"
    return [
        row("8.7.3: households of the survey by region", sizes, ours["sizes"]),
        row("8.7.4: households of the population less those expected", "0", ours["households"]),
        row(
            "8.7.4: persons of the population less those expected", "-7", ours["persons"],
            "controlled rounding: households of each size are met in every region",
        ),
        row(
            "8.7.4: education 0-1, percent too many", "79.8146953", education["0-1"],
            "87 persons of the sample: regions are shrunk towards each other",
        ),
        row(
            "8.7.4: education 6, percent too many", "23.0331147", education["6"],
            "380 persons of the sample: the same",
        ),
        row(
            "8.7.4: education 2, 3, 4, 5, percent too many",
            "-1.6823460 -1.1892084 -1.5743513 -0.8418830",
            [education[level] for level in "2345"], "the same; the book starts from another file",
        ),
        row("8.7.3: households drawn by region", sizes, ours["drawn sizes"]),
        drawn("8.7.3: persons drawn", "13515", ours["drawn persons"]),
    ]  # fmt: skip


TABLES: dict[str, Callable[[], list[Row]]] = {
    "small-risk": small_examples_of_risk,
    "small-protection": small_examples_of_protection,
}
FILE_TABLES: dict[str, Callable[[Path], list[Row]]] = {
    "counts": counts_and_risk,
    "suda": special_uniques,
    "log-linear": loglinear,
    "recoding": recoding_and_suppression,
    "microaggregation": microaggregation,
    "random-protection": random_protection,
    "random-utility": random_utility,
    "utility": utility_of_tables,
    "solutions": solutions,
    "population": population,
}
"""Name of a table on the pages: the function that computes its rows."""


# 3. The pages -------------------------------------------------------------------------------


def markdown(rows: list[Row]) -> str:
    """A table of printed numbers, ours, and the reason of a difference."""
    lines = ["| | printed | ours | difference |", "| --- | ---: | ---: | --- |"]
    for one in rows:
        verdict = one.reason or "none in the printed digits"
        printed, ours = (text.replace(" ", ", ") for text in (one.printed, one.ours))
        if one.draws:
            ours, verdict = one.ours, one.reason or "within the spread of our draws"
        lines.append(f"| {one.quantity} | {printed} | {ours} | {verdict} |")
    return "\n".join(lines)


def pages(folder: Path) -> list[Path]:
    """The pages that hold the tables: the chapters, and the exercises beside their folder."""
    return [*sorted(folder.glob("chapter-*.md")), folder.parent / "exercises.md"]


def filled(page: str, tables: dict[str, str]) -> str:
    """The text of a page with its tables in the place of the old ones."""
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n", "\n<!-- end -->"
        if start in page:
            before, _, rest = page.partition(start)
            page = before + start + table + end + rest.partition(end)[2]
    return page
