"""The README as its reader follows it: its code word for word, then the calls that it names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import riskeval
import riskeval.cli
import synthpop
import synthpop.cli
from riskeval import utility
from synthpop import Categorical, Margin, SimpleRandom, Survey, calibration, indicators
from tests.console import call
from tests.journeys.journey import (
    BLOCK,
    KEYS,
    README,
    SCALE,
    SOURCES,
    Journey,
    JourneyOf,
    assert_an_answer,
    minimal,
    slow_unless,
)

TEXT = README.read_text(encoding="utf-8")


def test_the_blocks_run_and_print_what_they_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "readme"}
    for number, block in enumerate(BLOCK.findall(TEXT), 1):
        exec(compile(block, f"README block {number}", "exec"), names)
    (said,) = re.findall(r"^print\(population\)  # (.*), \.\.\.$", TEXT, re.MULTILINE)
    assert str(names["population"]).startswith(said)


def sexes(it: Journey) -> Margin:
    """Known totals of men and women."""
    sums = pd.Series(it.survey.weights).groupby(it.survey.frame["rb090"].astype(str)).sum()
    return Margin(sums.rename("total").reset_index())


def zones(it: Journey) -> pd.DataFrame:
    """Two zones in one country."""
    return pd.DataFrame({"country": ["all", "all"], "zone": ["one", "two"]})


def persons_of_zones(it: Journey) -> Margin:
    """Known totals of the zones."""
    return Margin(zones(it)[["zone"]].assign(total=it.survey.weights.sum() // 2))


def mean_age(survey: Survey) -> float:
    """An estimator of a study."""
    return float(np.average(survey.frame["age"], weights=survey.weights))


def searched(it: Journey) -> Any:
    """Search for plans with each number of the risk of a session as a limit."""
    limits = dict.fromkeys(it.session.risk().table.index, 1.0)
    return [
        riskeval.search_plans(it.session, limits=limits, plans=1),
        riskeval.search_plans(it.session, plans=2),
    ]


def exported(it: Journey) -> str:
    """Write a population to every format."""
    folder = it.folder / "exported"
    it.fitted.simulate(scale=SCALE, out=folder)
    for suffix in FORMATS:
        written(synthpop.cli.main, it, "export", folder, "--to", f"people{suffix}")
        assert len(synthpop.read_table(it.folder / f"people{suffix}")) == it.population.n_persons
    return written(synthpop.cli.main, it, "sample", folder, "-n", 20, "--out", "sample.sav")


PLAN = """
[data]
file = "{file}"

[roles]
keys = ["db040", "rb090"]
household = "db030"

[[step]]
verb = "local_suppression"

[release]
drop = ["pid"]
"""


def released(it: Journey) -> list[Any]:
    """Release a population and a protected file, and ask the ledger of a third one."""
    role = [part for key in ("db040", "rb090") for part in ("--role", f"key={key}")]
    with pytest.MonkeyPatch.context() as patch:  # a few of the numbers that can be guessed
        for place in ("synthpop.evaluation.guessed_draws", "riskeval.attacks.guessed_seeds"):
            patch.setattr(f"{place}.guessable_numbers", lambda: list(range(20)))
        it.fitted.simulate(scale=SCALE, out=it.folder / "leaving")
        facts = ("--fact", "licence=CC BY 4.0", "--fact", "recipients=everybody")
        command = ("release", "leaving", "--ledger", "ledger", "--format", "sav", *facts)
        written(synthpop.cli.main, it, *command)
        (it.folder / "leaving.toml").write_text(PLAN.format(file=it.file.as_posix()))
        command = ("release", "leaving.toml", "--ledger", "ledger", "--to", "first")
        written(riskeval.cli.main, it, *command)
    command = ("ledger", "check", "ledger", "first/protected.parquet", *role)
    said = written(riskeval.cli.main, it, *command, "--consistent", "agreed.sav")
    ledger = riskeval.Ledger(it.folder / "ledger")
    assert ledger.releases["name"].tolist() == ["leaving-release: population", "first"]
    assert ledger.releases["recipients"].tolist() == ["everybody", ""]
    files = [it.folder / name for name in ("leaving-release/README.md", "first/croissant.json")]
    return [said, written(riskeval.cli.main, it, "ledger", "show", "ledger"), *files]


def written(main: Callable[[], object], it: Journey, *arguments: object) -> str:
    """Run a command in the folder of the journey, and return what it says."""
    done = call(main, *arguments, cwd=it.folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def mocked(it: Journey) -> list[Any]:
    """Make a file for writing programs, in Python and by the command."""
    mock = synthpop.mock(it.survey.frame, seed=1)
    assert list(mock.data) == list(it.survey.frame)
    return [mock, written(synthpop.cli.main, it, "mock", it.file)]


def moved(it: Journey) -> list[Any]:
    """Keep what the fit discloses, save the fit and simulate from it elsewhere."""
    folder = it.folder / "fit"
    it.fitted.save(folder, accept="nobody else reads the folder")
    there = synthpop.load_fitted(folder).simulate(seed=1, scale=SCALE)
    assert there.frame().equals(it.fitted.simulate(seed=1, scale=SCALE).frame())
    return [it.fitted.disclosed(), there]


def in_other_libraries(it: Journey) -> list[Any]:
    """Hand in a table of polars, Arrow and DuckDB."""
    arrow = pa.Table.from_pandas(it.survey.frame)
    tables = (pl.from_arrow(arrow), arrow, duckdb.from_arrow(arrow))
    return [riskeval.assess(table, keys=KEYS, weights="rb050") for table in tables]


FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".xlsx", ".sav", ".zsav", ".dta", ".xpt", ".rds")
CALLS: dict[str, Callable[[Journey], Any]] = {
    'fitted.replicates(n, refit="bootstrap")': lambda it: synthpop.estimate_over_replicates(
        lambda frame, weights: np.average(frame["age"], weights=weights),
        it.fitted.replicates(2, refit="bootstrap", scale=SCALE),
    ),
    "cross_validate": lambda it: synthpop.cross_validate(
        it.learned_from,
        "pl030",
        {
            "age": Categorical("pl030", predictors=["age_class"]),
            "sex": Categorical("pl030", predictors=["rb090"]),
        },
    ),
    'household="enterprise"': lambda it: Survey(
        it.survey.frame.rename(columns={"db030": "enterprise"}),
        **{**it.survey.roles.named(), "household": "enterprise"},
    ),
    'fitted.simulate(strata=["Capital"])': lambda it: it.fitted.simulate(strata=["Capital"]),
    "fitted.replicates(5)": lambda it: list(it.fitted.replicates(5, scale=SCALE)),
    "Survey(frame, weight=None)": lambda it: Survey(it.survey.frame, weight=None),
    "calibrate(survey, [Margin(table), ...])": lambda it: synthpop.calibrate(
        it.survey, [sexes(it)]
    ),
    "calibration.balance_zones": lambda it: calibration.balance_zones(
        it.survey, zones(it), [persons_of_zones(it)]
    ),
    "populate_zones": lambda it: synthpop.populate_zones(
        it.survey, zones(it), [persons_of_zones(it)], it.folder / "zones", seed=1
    ),
    "learned_rules(survey, columns)": lambda it: tuple(  # a file with holes may keep none
        synthpop.learned_rules(it.survey, ["age", "pl030", "netIncome"])
    ),
    "assess_fit(survey, population)": lambda it: it.fit,
    "write_report": lambda it: synthpop.write_report(
        it.folder / "page.html", it.survey, it.population, fit=it.fit
    ),
    "draw_sample": lambda it: synthpop.draw_sample(it.population, SimpleRandom(20)),
    "simulate_study": lambda it: synthpop.simulate_study(
        it.population, SimpleRandom(20), [mean_age], repetitions=2
    ),
    "indicators.gini": lambda it: indicators.gini(it.survey.frame["eqIncome"], it.survey.weights),
    "indicators.at_risk_of_poverty": lambda it: indicators.at_risk_of_poverty(
        it.survey.frame["eqIncome"], it.survey.weights, by=it.survey.frame["rb090"]
    ),
    "indicators.bootstrap": lambda it: indicators.bootstrap(
        lambda frame, weights: indicators.gini(frame["eqIncome"], weights),
        it.survey,
        replicates=20,
    ),
    "riskeval.assess(data, keys=..., weights=...)": lambda it: riskeval.assess(
        it.survey.frame, keys=KEYS, weights="rb050"
    ),
    "riskeval.assess_synthetic": lambda it: riskeval.assess_synthetic(
        it.survey, it.population, KEYS, ["netIncome"]
    ),
    "riskeval.audit(pipeline, survey)": lambda it: riskeval.audit(
        minimal(), it.survey, n_refits=20, n_targets=5, seed=1
    ),
    "riskeval.Scenario": lambda it: riskeval.intruder_scenarios(
        it.survey, it.population, riskeval.Scenario(KEYS, "netIncome")
    ),
    "riskeval.utility.information_loss": lambda it: utility.information_loss(
        it.survey.frame, it.session.data, ["netIncome", "py010n"]
    ),
    "utility.propensity": lambda it: utility.propensity(it.survey, it.population, KEYS),
    "riskeval.compare": lambda it: riskeval.compare(
        it.survey, {"synthetic": it.population}, keys=KEYS
    ),
    "riskeval.ProtectionSession": lambda it: it.session.risk(),
    "riskeval.search_plans": searched,
    "riskeval.recover": lambda it: riskeval.recover(
        it.session.local_suppression().data, household="db030"
    ),
    "riskeval.copied_values": lambda it: riskeval.copied_values(
        it.survey, it.population, [*KEYS, "netIncome"]
    ),
    "synthpop.mock(frame)": mocked,
    "load_fitted(folder)": moved,
    "read_survey": lambda it: it.survey,
    "synthpop export": exported,
    "riskeval.Ledger": released,
    "In another library": in_other_libraries,
}
"""What the table of the README names -> how a reader calls it."""
ELSEWHERE = {
    **dict.fromkeys(
        ("synthpop calibrate", "riskeval assess", "riskeval compare", "riskeval protect"),
        "commands with a run file: `test_run_files.py` and `test_risk_files.py`",
    ),
    "synthpop zones FOLDER --for activitysim": "a folder of PopulationSim: `test_populationsim.py`",
    "synthpop sample": "is run with synthpop export",
    "riskeval audit RUNFILE": "`tests/riskeval/auditing/test_command.py`",
    "synthpop mock FILE": "is run with synthpop.mock",
    **dict.fromkeys(
        ('fitted.save(folder, accept="why")', "fitted.disclosed()"), "are run with load_fitted"
    ),
    **dict.fromkeys(
        ("synthpop release", "riskeval release", "riskeval ledger"), "are run with riskeval.Ledger"
    ),
    "Anneal": "a stage of `test_run_files.py`",
    "Distribute": "a stage of `test_run_files.py`",
    **dict.fromkeys(
        ('out="s3://bucket/folder"', "gs://", "abfs://"),
        "needs a server: `tests/synthpop/population/test_object_storage.py`",
    ),
}
"""What it names and this file does not run -> where it is."""


WITH_LABELS = ("synthpop export", "riskeval.Ledger", "synthpop.mock(frame)")


def is_quick(name: str, source: str) -> bool:
    """Return whether a call on a source is in the quick tests: the sources take turns."""
    turn = SOURCES[list(CALLS).index(name) % len(SOURCES)]
    return source == ("spss" if name in WITH_LABELS else turn)


def test_everything_that_the_table_names_is_called() -> None:
    table = TEXT[TEXT.index("| you want to | use |") : TEXT.index("## Documentation and help")]
    named = set(re.findall(r"`([^`]+)`", table))
    assert named - {*CALLS, *ELSEWHERE} == set()
    assert not ELSEWHERE.keys() & CALLS.keys()
    assert 'fitted.replicates(n, refit="bootstrap")' in TEXT


@pytest.mark.filterwarnings("ignore:.*heavy tail:synthpop.ModelWarning")
@pytest.mark.parametrize(
    ("name", "source"),
    [
        pytest.param(name, source, marks=slow_unless(is_quick(name, source)))
        for name in CALLS
        for source in SOURCES
    ],
)
def test_a_call_of_the_readme_answers(name: str, source: str, journey_of: JourneyOf) -> None:
    assert_an_answer(CALLS[name](journey_of("readme", source)))
    plt.close("all")
