"""Every page in a browser: axe-core finds nothing, nothing is loaded, nothing is cut off.

Needs Chromium, Playwright and axe-core (``npm install axe-core``; AXE_CORE names its axe.min.js).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS = (1200, 700, 400)


def axe_source() -> str | None:
    """Text of axe.min.js, from AXE_CORE or a folder node_modules above the tests."""
    places = [Path(os.environ["AXE_CORE"])] if "AXE_CORE" in os.environ else []
    places += [parent / "node_modules/axe-core/axe.min.js" for parent in (Path.cwd(), ROOT)]
    return next((place.read_text("utf-8") for place in places if place.is_file()), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as session:
        yield session.chromium.launch(executable_path=program, args=FLAGS)


def people(seed: int, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 6, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "ill": np.where(rng.random(n) < 0.1 + 0.1 * (age > 4), "yes", "no"),
            "income": np.round(rng.lognormal(9, 0.5, n), 2),
            "w": rng.uniform(20, 60, n).round(1),
        }
    )


@lru_cache
def assessed() -> Any:
    from riskeval import assess

    return assess(people(1), keys=["age", "sex"], weights="w", sensitive=["ill"],
                  limits={"k": 3, "record_risk": 1e-9})  # fmt: skip


def assessment(path: Path, audience: str, language: str = "en") -> None:
    from riskeval import write_assessment

    write_assessment(path, assessed(), audience=audience, language=language)


@lru_cache
def judged() -> Any:
    from riskeval import assess_synthetic

    release = pd.concat([people(1, 60), people(2, 140)], ignore_index=True)
    return assess_synthetic(
        people(1), release, ["age", "sex"], ["ill"], holdout=people(3), categorical=["age"],
        attacks=["disco", "replicated_uniques", "distance_screen"], seed=1,
    )  # fmt: skip


def judgement(path: Path, audience: str, language: str = "en") -> None:
    from riskeval import write_judgement

    write_judgement(path, judged(), audience=audience, language=language)


@lru_cache
def protected() -> Any:
    from riskeval import ProtectionSession

    session = ProtectionSession(
        people(1), keys=["age", "sex"], numeric=["income"], sensitive=["ill"], weights="w"
    )
    session.global_recode("age", breaks=[0, 3, 6])
    session.add_noise(level=0.2, seed=1)
    return session


def protection(path: Path, audience: str, language: str = "en") -> None:
    protected().report(path, audience, language)


@lru_cache
def compared() -> Any:
    from riskeval import Indicators, Release, compare

    original = people(1)
    noisy = original.assign(income=original["income"] * 1.1)
    return compare(
        original, {"noisy": noisy, "synthetic": Release(people(2), kind="synthetic")},
        keys=["age", "sex"], numeric=["income"], sensitive=["ill"], weights="w",
        indicators=Indicators("income", ["mean"], by=["sex"]), seed=1,
        sample_sizes={"linkage": 100, "outliers": 100, "prediction": 100, "screen": 100,
                      "propensity": 100},
    )  # fmt: skip


def comparison(path: Path, audience: str, language: str = "en") -> None:
    compared().report(path, audience=audience, language=language)


@lru_cache
def simulated() -> tuple[Any, Any]:
    from synthpop import Categorical, Derive, Pipeline, Structure, Survey
    from tests.small import ROLES, small_frame

    survey = Survey(small_frame(150).assign(w=2.0), **ROLES)
    recipe = [
        Structure(["age", "sex"]),
        Derive("ages", source="age", breaks=[0, 16, 65, 120]),
        Categorical("status", predictors=["ages", "sex"]),
    ]
    fitted = Pipeline(recipe).fit(survey, seed=1)
    return fitted.derived_survey(), fitted.simulate()


def population(path: Path, audience: str, language: str = "en") -> None:
    from synthpop import write_report

    write_report(path, *simulated(), audience=audience, language=language)


@lru_cache
def studied() -> Any:
    from synthpop import simulate_study
    from synthpop.microdata.statistics.indicators.measures import gini
    from synthpop.sampling import MissingUnits, SimpleRandom, levels_of_rate

    def inequality(survey: Any) -> Any:
        return gini(survey.frame["income"], survey.weights).with_variance()

    return simulate_study(
        people(1, 500), SimpleRandom(80), {"gini": inequality}, repetitions=20, seed=1,
        missing=levels_of_rate(MissingUnits(0.1), [0.0, 0.3]),
    )  # fmt: skip


def study(path: Path, audience: str, language: str = "en") -> None:
    from synthpop import write_study

    write_study(path, studied(), language=language)


def profile(path: Path, audience: str, language: str = "en") -> None:
    from synthpop import write_profile
    from tests.small import small_frame

    frame = small_frame(80).assign(code=lambda f: np.where(f.index % 9, f["age"], -9))
    write_profile(path, frame, language=language)


@lru_cache
def audited() -> Any:
    from riskeval import audit
    from tests.riskeval.auditing.generators import copies_incomes, survey

    stages = {"pl030": ["pl030"], "income": ["income"]}
    return audit(copies_incomes, survey(n=120), stages=stages, n_refits=20, seed=1)


def audit_of_a_generator(path: Path, audience: str, language: str = "en") -> None:
    from riskeval import write_audit

    write_audit(path, audited(), language=language)


PAGES: dict[str, tuple[Callable[[Path, str], None], str]] = {
    f"{write.__name__} {audience}": (write, audience)
    for write in (population, assessment, comparison, protection, judgement)
    for audience in ("internal", "external")
} | {
    "study": (study, "internal"),
    "profile": (profile, "internal"),
    "audit": (audit_of_a_generator, "internal"),
}

CUT_OFF = """() => [...document.querySelectorAll('svg text')].filter((text) => {
    const inner = text.getBoundingClientRect();
    const outer = text.closest('svg').getBoundingClientRect();
    return outer.width && (inner.left < outer.left - 2 || inner.right > outer.right + 2
        || inner.bottom > outer.bottom + 2);
}).map((text) => text.textContent)"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_complete_and_loads_nothing(
    name: str, browser: Any, tmp_path: Path
) -> None:
    axe = axe_source()
    if axe is None:
        pytest.skip("axe-core is not installed: npm install axe-core")
    write, audience = PAGES[name]
    file = tmp_path / "page.html"
    write(file, audience)
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, bypass_csp=True)
        page = context.new_page()
        requests: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request, seen=requests: seen.append(request.url))
        page.on("pageerror", lambda error, seen=problems: seen.append(str(error)))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT_OFF) == []
        page.evaluate(axe)
        found = page.evaluate("axe.run().then((result) => result.violations)")
        told = [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"][:3]]
        assert told == []
        assert requests == [file.as_uri()]
        assert problems == []
        context.close()


def test_search_sort_and_filter_work(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    assessment(file, "internal")
    page = browser.new_page()
    page.goto(file.as_uri())
    titles = "[...document.querySelectorAll('details.var:not([hidden]) .title')]"
    every = page.evaluate(f"{titles}.map((t) => t.textContent)")
    page.fill("#search", "unique")
    assert {
        "unique" in t.lower() for t in page.evaluate(f"{titles}.map((t) => t.textContent)")
    } == {True}
    page.fill("#search", "")
    page.check("#beyond")
    shown = page.evaluate(f"{titles}.map((t) => t.textContent)")
    assert 0 < len(shown) < len(every)
    page.uncheck("#beyond")
    page.select_option("#sort", "name")
    assert page.evaluate(f"{titles}.map((t) => t.textContent)") == sorted(every, key=str.lower)
    page.click("#open")
    assert page.evaluate("document.querySelectorAll('details.var:not([open])').length") == 0
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.querySelectorAll('details:not([open])').length") == 0
    page.close()
