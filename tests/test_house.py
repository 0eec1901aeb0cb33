"""The form of the code: files and functions that can be read at once, short signatures."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import riskeval
import riskeval.protect
import riskeval.utility
import synthpop
import synthpop.calibration
import synthpop.heaping
import synthpop.sampling
from synthpop.microdata.messages.presenters import PRESENTERS
from tests.riskeval.protection.test_methods import ROLES

ROOT = Path(synthpop.__file__).parent
RISKEVAL = ROOT.parent / "riskeval"

LARGEST_FILE, LONGEST_FUNCTION, MOST_OPTIONS = 600, 80, 8
FACADES = {
    "balance_zones": "geographies and the options of `calibrate`",
    "bootstrap": "the design of the survey and the replicates",
    "calibrate": "roles, method and the limits of the weights",
    "cli/__init__.py: export": "the folder and eight options of the command",
    "cli/release.py: release": "the folder and eight options of the command",
    "correct_heaps": "columns, heaps, method and their groups",
    "microdata.py: __init__": "`Microdata`: its columns by their roles",
    "populate_zones": "those of `balance_zones` and of `simulate`",
    "quantile_interval": "the design of the sample, like `with_variance`",
    "replicates": "each option of `simulate` and of `bootstrap`",
    "simulate_study": "population, design, stages and what is estimated",
    "stage.py: __init__": "`Continuous`: its variable and eight options",
    "survey.py: __init__": "`Survey`: its columns by their roles",
    "write_report": "each part of the report",
}
"""Public names with more than eight parameters, and what these are."""

SURVEY_ROLES = {"survey", "margins", "name", "path", "out", "rows_per_block", "fpc", "years"}


def code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    """Count the lines of a function without docstring, comments and blank lines."""
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    after = (first.end_lineno or 0) if documented else function.lineno - 1
    head = lines[function.lineno - 1 : first.lineno - 1] if documented else []
    body = lines[after : function.end_lineno]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in [*head, *body])


@cache
def nodes_of(file: Path) -> dict[type[ast.AST], list[Any]]:
    """Return the nodes of a file by their kind, from one walk through its tree."""
    nodes: dict[type[ast.AST], list[Any]] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        nodes.setdefault(type(node), []).append(node)
    return nodes


@pytest.fixture(autouse=True, scope="module")
def _forget() -> Iterator[None]:
    """Leave no trees to the collector of the tests that follow."""
    yield
    nodes_of.cache_clear()


def files_of_both_packages() -> list[Path]:
    return [
        file for room in ("synthpop", "riskeval") for file in (ROOT.parent / room).rglob("*.py")
    ]


def functions(*folders: Path) -> Iterator[tuple[str, ast.FunctionDef, list[str]]]:
    for file in sorted(file for folder in folders or [ROOT] for file in folder.rglob("*.py")):
        if file.parent.name == "kernels":  # compiled as a whole
            continue
        lines = file.read_text(encoding="utf-8").splitlines()
        for node in nodes_of(file).get(ast.FunctionDef, []):
            yield f"{file.relative_to(ROOT.parent)}: {node.name}", node, lines


def test_functions_can_be_read_at_once() -> None:
    lines = {name: code_lines(node, text) for name, node, text in functions(ROOT, RISKEVAL)}
    assert {name: n for name, n in lines.items() if n > LONGEST_FUNCTION} == {}


def test_only_facades_have_more_than_eight_parameters() -> None:
    large = {}
    for name, node, _ in functions():
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        n = len([one for one in arguments if one.arg not in ("self", "cls")])
        if n > MOST_OPTIONS:
            large[name] = n
    unnamed = [name for name in large if not name.endswith(tuple(FACADES))]
    assert unnamed == []
    assert len(large) == len(FACADES)  # no facade is named in vain


def test_only_public_functions_of_riskeval_have_more_than_eight_parameters() -> None:
    public = {*riskeval.__all__, *riskeval.utility.__all__, *riskeval.protect.__all__, "__init__"}
    large = set()
    for name, node, _ in functions(RISKEVAL):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if len([one for one in arguments if one.arg not in ("self", "cls")]) > MOST_OPTIONS:
            large.add(name.rpartition(": ")[2])
    assert large - public == set()


def test_files_can_be_read_at_once() -> None:
    sizes = {file: len(file.read_text("utf-8").splitlines()) for folder in (ROOT, RISKEVAL)
             for file in folder.rglob("*.py")}  # fmt: skip
    assert {str(file): n for file, n in sizes.items() if n > LARGEST_FILE} == {}


TESTED_ELSEWHERE = {
    "synthpop/cli": "synthpop/test_cli.py",
    "riskeval/kernels": "kernels",  # of both packages
}


def test_the_tests_of_a_room_are_where_its_name_says() -> None:
    tests = Path(__file__).parent
    rooms = [
        file.parent.relative_to(ROOT.parent).as_posix()
        for package in (ROOT, RISKEVAL)
        for pattern in ("*/__init__.py", "microdata/*/__init__.py")
        for file in package.glob(pattern)
    ]
    places = {room: tests / TESTED_ELSEWHERE.get(room, room) for room in rooms}
    without = {
        room for room, place in places.items()
        if not (place.is_file() or any(place.glob("test_*.py")))
    }  # fmt: skip
    assert without == set()
    assert TESTED_ELSEWHERE.keys() <= set(rooms)


def imported(file: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, inside functions and for annotations too."""
    names = {one.name for node in nodes_of(file).get(ast.Import, []) for one in node.names}
    for node in nodes_of(file).get(ast.ImportFrom, []):
        whole = [f"{node.module}.{one.name}" for one in node.names]
        names |= {name if name in modules else str(node.module) for name in whole}
    return names & modules.keys()


def test_a_class_name_stands_for_one_thing() -> None:
    rooms: dict[str, list[str]] = {}
    for file in files_of_both_packages():
        for node in nodes_of(file)[ast.Module][0].body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                rooms.setdefault(node.name, []).append(str(file.relative_to(ROOT.parent)))
    assert {name: files for name, files in rooms.items() if len(files) > 1} == {}


def test_no_module_imports_itself_over_others() -> None:
    modules = {
        ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): file
        for package in (ROOT, ROOT.parent / "riskeval")
        for file in package.rglob("*.py")
    }
    left = {name: imported(file, modules) - {name} for name, file in modules.items()}
    while ground := [name for name, others in left.items() if not others & left.keys()]:
        for name in ground:
            del left[name]
    assert sorted(left) == []


def test_what_serves_a_method_is_registered_and_exists() -> None:
    assert riskeval  # its front registers as well
    asked, methods = {method for method in PRESENTERS if method.endswith(".plot")}, set()
    for file in files_of_both_packages():
        for call in nodes_of(file).get(ast.Call, []):
            if isinstance(call.func, ast.Name) and call.func.id == "presenter":
                asked |= {one.value for one in call.args if isinstance(one, ast.Constant)}
        for kind in nodes_of(file).get(ast.ClassDef, []):
            methods |= {f"{kind.name}.{one.name}" for one in kind.body if hasattr(one, "name")}
            methods.add(f"{kind.name}.plot")  # which results inherit
    assert asked == PRESENTERS.keys()
    # the app and the recipe of an audit are asked for by commands, the attack on draws by
    # `copied_values`
    assert asked - {"app", "load_runfile", "Population.guessed_draws"} <= methods
    for place in PRESENTERS.values():
        module, _, function = place.partition(":")
        body = nodes_of(ROOT.parent / f"{module.replace('.', '/')}.py")[ast.Module][0].body
        assert function in {getattr(one, "name", "") for one in body}


def test_results_neither_draw_nor_write_themselves() -> None:
    """A module of results imports nothing that draws or writes, but for annotations."""
    tools = {"matplotlib", "tempfile"} | {
        f"synthpop.microdata.{name}"
        for name in ("formats.atomic", "pages.charts", "messages.pictures", "pages.plane")
    }
    bases, drawing = {"Result", "TableResult", "Shown"}, set()
    for file in files_of_both_packages():
        nodes = nodes_of(file)
        kinds = {ast.unparse(base) for kind in nodes.get(ast.ClassDef, []) for base in kind.bases}
        blocks = [one for one in nodes.get(ast.If, []) if "TYPE_CHECKING" in ast.unparse(one.test)]
        annotations = {one for block in blocks for one in ast.walk(block)}
        for node in nodes.get(ast.ImportFrom, []) if kinds & bases else ():
            module = str(node.module)
            if node not in annotations and {module, module.split(".")[0]} & tools:
                drawing.add(f"{file.relative_to(ROOT.parent)}: {module}")
    assert drawing == set()


@pytest.mark.parametrize(
    "package", [synthpop, synthpop.calibration, synthpop.heaping, synthpop.sampling]
)
def test_public_functions_have_at_most_eight_options_of_their_own(package) -> None:
    shared = ROLES | SURVEY_ROLES
    for name in package.__all__:
        function = getattr(package, name)
        if inspect.isfunction(function) and name != "write_report":
            options = [n for n in inspect.signature(function).parameters if n not in shared]
            assert len(options) <= MOST_OPTIONS, (name, options)
