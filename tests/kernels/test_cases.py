"""Every kernel has a case, and its compiled form gives what its plain Python form gives."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernels import cases

ROOT = Path(__file__).parents[2]


def all_kernels() -> set[str]:
    """Read the names of all compiled functions in the source of both packages."""
    names = set()
    for package in ("synthpop", "riskeval"):
        for file in (ROOT / package).rglob("*.py"):
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            text = file.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(text)) if "@kernel" in text else ():
                if isinstance(node, ast.FunctionDef) and any(
                    isinstance(d, ast.Name) and d.id == "kernel" for d in node.decorator_list
                ):
                    names.add(f"{module}.{node.name}")
    return names


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """What the cases return without compilation, in a process of its own."""
    file = tmp_path_factory.mktemp("kernels") / "plain.npz"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.kernels.cases", str(file)],
        check=True,
        env=environment,
        timeout=300,
    )
    with np.load(file, allow_pickle=False) as stored:
        return dict(stored)


def test_every_kernel_has_a_case(plain: dict[str, np.ndarray]) -> None:
    ran = {str(name) for name in plain["kernels"]}
    assert all_kernels() - ran == set()


# those first whose kernels other tests wait for: they would compile them once more
FIRST = ("population", "protection", "calibration")


@pytest.mark.parametrize("name", sorted(cases.CASES, key=lambda name: (name not in FIRST, name)))
def test_compiled_and_plain_agree(plain: dict[str, np.ndarray], name: str) -> None:
    parts = [np.asarray(part) for part in cases.CASES[name]()]
    assert parts
    for k, part in enumerate(parts):
        other = plain[f"{name}/{k}"]
        if part.dtype.kind in "fc":
            np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(part, other)
