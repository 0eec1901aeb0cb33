"""Settings of all tests: timings never decide one, and workers share the work of a fresh clone."""

from __future__ import annotations

import gc
import importlib
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import settings

for library in ("OMP", "OPENBLAS"):  # threads that wait for each other cost more than small sums
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile("untimed", deadline=None, max_examples=40)
settings.load_profile("untimed")


FIRST = (
    "kernels/test_cases.py",  # compiles the kernels; meanwhile the other worker needs none
    "test_house.py",
    "journeys/test_run_files.py",
    "journeys/test_objects.py",
    "journeys/test_readme.py",
    "journeys/test_risk_files.py",
    "riskeval/protection/test_noise.py",
    "riskeval/utility/test_information.py",
    "synthpop/microdata/statistics/test_robust.py",
    "synthpop/microdata/formats/test_round_trips.py",
    "synthpop/microdata/messages/test_text.py",
    "test_coming_from_r.py",
    "synthpop/figures/test_figures.py",
    "test_demo_population.py",
    "synthpop/test_cli.py",
    # few tests that take long: the last file that a worker gets should be a short one
    "synthpop/pipeline/test_engines.py",
    "riskeval/replay/test_ses.py",
    "riskeval/comparison/test_plan.py",
    "riskeval/comparison/test_numbers.py",
    "riskeval/session/test_search.py",
    "riskeval/protection/test_suppress_household.py",
    "synthpop/runfiles/test_template.py",
    "synthpop/pipeline/test_replicates.py",
    "test_long_service.py",
)
"""Files that workers begin with; then those of many tests."""


def pytest_configure(config: pytest.Config) -> None:
    """Give workers whole files, so that fixtures are made once, in the order of the tests."""
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order files for workers: one compiles kernels for both, and none has to wait at the end."""
    if not hasattr(config, "workerinput"):
        return
    tests, rank = config.rootpath / "tests", {name: k for k, name in enumerate(FIRST)}
    size = Counter(item.path for item in items)
    names = {path: path.relative_to(tests).as_posix() for path in size}
    items.sort(key=lambda item: (rank.get(names[item.path], len(rank)), -size[item.path]))


def _import_a_part(config: pytest.Config) -> None:
    """Import the tests of this worker's part, so that only one worker has to compile them."""
    worker = getattr(config, "workerinput", None)
    whole = [str(part) for part in config.args] == config.getini("testpaths")
    if worker is None or not whole:
        return
    files = sorted((config.rootpath / "tests").rglob("test_*.py"))
    number, workers = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for file in files[number * len(files) // workers : (number + 1) * len(files) // workers]:
        name = ".".join(file.relative_to(config.rootpath).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # the collection tells them
            importlib.import_module(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Read all tests before cycles are looked for: what is read stays for the whole run.

    Afterwards the collector looks less often: tests make many objects and few cycles.
    """
    gc.disable()
    gc.set_threshold(50_000, 20, 20)
    try:
        _import_a_part(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


COST = "processor seconds"
COSTS: list[float] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect what journeys cost, from all workers."""
    COSTS.extend(cost for name, cost in report.user_properties if name == COST)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the journeys cost together: no test fails on it."""
    if COSTS:
        terminalreporter.write_line(f"Journeys: {sum(COSTS):.0f} processor seconds")


def pytest_unconfigure() -> None:
    """Let the collector have what was kept out of its way, so that libraries can close at the end.

    DuckDB prints "nanobind: leaked ..." for each of its objects that is still there.
    """
    gc.unfreeze()


@pytest.fixture(scope="module")
def few_trees() -> Iterator[None]:
    """Make forests and boosted trees small, where what is tested does not rest on their size."""
    from synthpop.evaluation.classifier import auc_of_groups

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("synthpop.models.learners.N_TREES", 20)
        patch.setattr("riskeval.attacks.prediction.model.TREES", 10)
        patch.setitem(auc_of_groups.__kwdefaults__, "iterations", 15)
        yield


ONE_KEY = bytes(range(32))


@pytest.fixture(scope="module")
def one_key() -> Iterator[None]:
    """Every population of a module is drawn from the same key, in memory and in folders."""
    from synthpop.microdata.statistics.secret_key import SecretKey
    from synthpop.pipeline import fitted

    given = fitted.secret_key

    def key_or_this(value: object) -> SecretKey | None:
        return SecretKey(ONE_KEY) if value is None else given(value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "secret_key", key_or_this)
        yield
