"""Access to reference values and survey files beside the repository; absent, the test skips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _path(*parts: str) -> Path:
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"reference file {'/'.join(parts)} is not beside the repository")
    return path


def golden(package: str, name: str) -> Any:
    """A golden file of `package` ("pop" or "sdc"): JSON as objects, Parquet and CSV as frames."""
    path = _path("golden", package, name)
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def survey_data(name: str) -> pd.DataFrame:
    """One of the survey files, for instance "eusilcS"."""
    return pd.read_parquet(_path("data", f"{name}.parquet"))


def zoo_file(name: str) -> Path:
    """The path of a file that nobody prepared, for instance "acs_pums.parquet"."""
    return _path("zoo", name)
