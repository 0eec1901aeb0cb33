"""Every deception on every front that accepts it: the finding is named, or nothing is praised.

The quick test takes one deception a front, another one for each; the whole product is slow.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.riskeval.verdict.deceptions import FILES
from tests.riskeval.verdict.fronts import ACCEPT, EVERY, app, wanted

NAMES = {front: list(files) for front, (files, _) in ACCEPT.items()}
SAMPLE = [(front, NAMES[front][11 * i % len(NAMES[front])]) for i, front in enumerate(ACCEPT)]
SAMPLE += [
    ("compare of a file", "every record twice"),
    ("compare beside strangers", "amounts in cents"),
    ("assess_synthetic of a file", "a key that is 99 throughout"),
]
IN_THE_APP = ("first and last names", "villages beside the region", "every record twice",
              "regions that villages tell", "rare persons")  # fmt: skip


def check(front: str, name: str, folder: Path) -> None:
    said = ACCEPT[front][1](name, folder)
    assert said.is_named(wanted(front, name)), said


@pytest.mark.parametrize(("front", "name"), SAMPLE)
def test_a_deception_is_named_on_each_front(front: str, name: str, tmp_path: Path) -> None:
    check(front, name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("front", "name"), EVERY)
def test_every_deception_is_named_on_every_front(front: str, name: str, tmp_path: Path) -> None:
    check(front, name, tmp_path)


@pytest.mark.parametrize(
    "name",
    [IN_THE_APP[0], *(pytest.param(one, marks=pytest.mark.slow) for one in IN_THE_APP[1:])],
)
def test_the_page_of_the_app_says_what_a_session_says(name: str, tmp_path: Path) -> None:
    pytest.importorskip("shiny")
    assert app(name, tmp_path).is_named(FILES[name][1])
