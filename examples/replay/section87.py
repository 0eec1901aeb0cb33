"""Section 8.7 of Templ (2017): a population from the four files of EU-SILC.

``eusilc13puf`` (a public data set of the R package simPop) is the sample that the book draws from
its population in section 8.7.3. It is taken apart into the files D, H, R and P, and the section is
replayed from them: the numbers of the confidential survey that the book starts from differ.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from synthpop import Categorical, Components, Continuous, Derive, Pipeline, Structure, Survey
from synthpop.runfiles.eu_silc import read_eu_silc
from synthpop.sampling import Cluster, SimpleRandom, Stratified, draw_sample
from synthpop.weighted import table as weighted_table

FIRST_INTERVIEW = 16
OF_PERSONS = ("pl031", "pb190", "pb220a", "pe040", "pl111")
SCALE = 0.1
SEEDS = range(1, 11)
AGE_BREAKS = [-1, 15, 30, 45, 60, 120]


def raw_files(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Take a joined file apart: registers D and R, interviews H and P."""
    first = frame.drop_duplicates("db030")
    age = pd.to_numeric(frame["age"].astype(str)).astype(int)
    pid = frame["db030"].astype(int) * 100 + frame.groupby("db030").cumcount() + 1
    person = [name for name in frame if name in (*OF_PERSONS, "pl030") or name.startswith("py")]
    household = [name for name in frame if name.startswith("hy") and name.endswith("g")]
    register = frame[["rb050", "rb090"]].assign(rb030=pid, rx030=frame["db030"], rx020=age)
    return {
        "D": first[["db030", "db040"]].assign(db090=first["rb050"]),
        "H": first[["db030", *household]].rename(columns={"db030": "hb030"}),
        "R": register,
        "P": frame.loc[age >= FIRST_INTERVIEW, person].assign(pb030=pid[age >= FIRST_INTERVIEW]),
    }


def joined(frame: pd.DataFrame) -> pd.DataFrame:
    """Write the four files, and read them as ``synthpop init --eu-silc D H R P`` does."""
    with TemporaryDirectory() as folder:
        paths = []
        for name, table in raw_files(frame).items():
            paths.append(Path(folder) / f"{name}.csv")
            table.to_csv(paths[-1], index=False)
        return read_eu_silc(paths)


def survey_of(frame: pd.DataFrame) -> Survey:
    """Give the joined file its roles; education 0 and 1 are one category, as in the book."""
    frame = frame.assign(**{name: frame[name].astype("string") for name in OF_PERSONS})
    frame["pe040"] = frame["pe040"].replace({"0": "0-1", "1": "0-1"})
    return Survey(frame, weight="rb050", household="db030", strata="db040", person="pid")


def recipe(survey: Survey) -> Pipeline:
    """Return the steps of section 8.7.2 for the variables that the public file has."""
    given = ["age_class", "rb090", "hsize"]
    stages = [Structure(["age", "rb090"]), Derive("age_class", source="age", breaks=AGE_BREAKS)]
    for k, name in enumerate(OF_PERSONS):
        stages.append(Categorical(name, predictors=[*given, *OF_PERSONS[:k]]))
    parts = [name for name in survey.frame if name.startswith("py")]
    stages.append(Continuous("income", predictors=["age_class", "rb090", "pl031", "pb220a"]))
    stages.append(Components("income", parts, by=["pl031", "age_class"]))
    for name in ("hgrossIncome", "hgrossminus"):
        stages.append(Continuous(name, predictors=given, by_household="shared"))
    return Pipeline(stages)


def numbers(frame: pd.DataFrame) -> dict[str, object]:
    """Return what section 8.7 prints, computed from a joined file."""
    survey = survey_of(joined(frame))
    structure = Pipeline([Structure(["age", "rb090"])]).fit(survey, seed=1)
    people = structure.simulate(seed=1).frame(["db030", "db040"])
    first = survey.frame.drop_duplicates("db030")
    households = people.groupby("db040", observed=True)["db030"].nunique()
    sizes = first.groupby("db040", observed=True).size()
    design = Stratified(sizes.to_dict(), by="db040", within=Cluster("db030", SimpleRandom(1)))
    drawn = [draw_sample(people, design, seed=seed).frame for seed in SEEDS]
    drawn_sizes = drawn[0].drop_duplicates("db030").groupby("db040", observed=True).size()
    made = recipe(survey).fit(survey, seed=1).simulate(seed=1, scale=SCALE).frame()
    wanted = weighted_table(survey.frame["pe040"], weights=survey.weights)
    education = made["pe040"].value_counts() / SCALE
    return {
        "sizes": sizes.to_numpy(),
        "households": int(households.sum()) - round(float(first["rb050"].sum())),
        "persons": len(people) - round(float(survey.weights.sum())),
        "drawn sizes": drawn_sizes.to_numpy(),
        "drawn persons": [float(len(sample)) for sample in drawn],
        "education": {level: 100 * (n / wanted[level] - 1) for level, n in education.items()},
    }
