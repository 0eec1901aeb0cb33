"""The notebooks of the examples run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

FOLDER = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


@pytest.fixture(scope="module")
def shell():
    """One interactive shell for all notebooks: the cells run as in a notebook, in this process."""
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    yield shell
    interactive.InteractiveShell.clear_instance()


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_stored_without_outputs(name: str) -> None:
    content = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    nbformat.validate(content)
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.pages
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_its_cells_run_and_show_what_they_return(name: str, shell) -> None:
    content = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    shown = 0
    shell.reset()
    for cell in content["cells"]:
        if cell["cell_type"] != "code":
            continue
        done = shell.run_cell("".join(cell["source"]))
        done.raise_error()
        if done.result is not None:
            formats, _ = shell.display_formatter.format(done.result)
            shown += bool({"text/html", "image/svg+xml"} & set(formats))
    assert shown >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_kernel_executes_it(name: str, tmp_path: Path, monkeypatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    root = str(FOLDER.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([root, os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    kinds = {
        kind
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        for kind in output.get("data", {})
    }
    assert kinds & {"text/html", "image/svg+xml"}
