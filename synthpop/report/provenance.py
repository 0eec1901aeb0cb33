"""Where a population comes from: software, platform, survey file, command."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from synthpop.microdata.messages.language import gettext
from synthpop.microdata.messages.message import message
from synthpop.microdata.version import __version__
from synthpop.population.population import Population

LIBRARIES = ("numpy", "pandas", "scipy", "scikit-learn", "numba")


def provenance_facts(
    population: Population | None, more: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return what an auditor needs, as (name, value).

    more: survey file, its hash, command, date: as far as the caller knows them
    """
    facts = [(gettext(name), str(value)) for name, value in more.items()]
    survey = "" if population is None else population.manifest.identity.survey
    if survey:
        facts.append((gettext("Hash of the columns that were read"), survey))
    return [
        *facts,
        ("synthpop", __version__),
        ("Python", platform.python_version()),
        *((name, _version(name)) for name in LIBRARIES),
        (gettext("Platform"), f"{platform.system()} {platform.machine()}"),
    ]


def survey_file_facts(path: Path) -> dict[str, str]:
    """Return name and SHA-256 of a survey file.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "survey.csv"
    >>> _ = file.write_text("a")
    >>> survey_file_facts(file)["SHA-256 of the survey file"][:8]
    'ca978112'
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {message("Survey file"): path.name, message("SHA-256 of the survey file"): digest}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return message("not installed")
