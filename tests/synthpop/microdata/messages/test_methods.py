"""Methods as objects: three forms of one method, and every fault of their options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import pytest

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.methods import Method, method_type, own_copy, read_method
from synthpop.microdata.messages.parameters import NONE, Names, Whole


@dataclass(frozen=True)
class Ranks(Method):
    type: ClassVar[str] = "ranks"


@dataclass(frozen=True)
class Boxes(Method):
    type: ClassVar[str] = "boxes"
    PARAMETERS: ClassVar = {"size": Whole(2), "columns": Names() | NONE}

    size: int = 10
    columns: str | Sequence[str] | None = None


@dataclass(frozen=True)
class Needy(Method):
    type: ClassVar[str] = "needy"
    PARAMETERS: ClassVar = {"axis": Names()}

    axis: str


METHODS: dict[str, type[Method]] = {method.type: method for method in (Ranks, Boxes, Needy)}


def read(value: object) -> tuple[Method | None, str]:
    faults = Faults("grouping")
    method = read_method(faults, "method", value, METHODS)
    return method, "; ".join(str(fault) for fault in faults.found)


@pytest.mark.parametrize(
    ("value", "method"),
    [
        ("boxes", Boxes()),
        (Boxes(size=3), Boxes(3)),
        ({"type": "boxes", "columns": ["a", "b"]}, Boxes(columns=("a", "b"))),
        ({"type": "ranks"}, Ranks()),
        ({"type": "needy", "axis": "age"}, Needy("age")),
    ],
)
def test_a_method_has_three_forms_that_lead_to_one_object(value: object, method: Method) -> None:
    assert read(value) == (method, "")
    assert read(method.plain()) == (method, "")
    assert method_type(value) == method.type


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("boxse", "Did you mean 'boxes'"),
        (3, "3 is not allowed"),
        ({"size": 3}, "None is not allowed"),
        ({"type": "ranks", "size": 3}, "'size' is not an option of 'ranks'"),
        ({"type": "boxes", "size": 1}, "method: size: is 1. Give a whole number of at least 2."),
        ("needy", "'needy' needs 'axis'"),
    ],
)
def test_a_fault_names_the_option_and_the_remedy(value: object, text: str) -> None:
    method, faults = read(value)
    assert method is None
    assert text in faults


def test_an_object_is_checked_with_the_arguments_beside_it() -> None:
    faults = Faults("grouping")
    faults.add("k", "is 0")
    assert read_method(faults, "method", Boxes(size=0, columns=3), METHODS) is None  # type: ignore[arg-type]
    with pytest.raises(InputError, match="3 faults"):
        faults.raise_if_any()


def test_an_object_never_changes() -> None:
    columns = ["a"]
    boxes = Boxes(columns=columns)
    columns.append("b")
    assert boxes.plain() == {"type": "boxes", "columns": ["a"]}
    with pytest.raises(FrozenInstanceError):
        boxes.size = 3  # type: ignore[misc]


def test_a_method_of_another_function_is_refused() -> None:
    @dataclass(frozen=True)
    class Other(Method):
        type: ClassVar[str] = "boxes"

    assert "Other is not allowed" in read(Other())[1]


def test_example_of_method() -> None:
    @dataclass(frozen=True)
    class Clusters(Method):
        type: ClassVar[str] = "cluster"
        PARAMETERS: ClassVar = {"clusters": Whole(1)}
        clusters: int = 8

    assert (Clusters(4).plain(), Clusters().plain()) == (
        {"type": "cluster", "clusters": 4},
        "cluster",
    )


def test_example_of_method_type() -> None:
    assert (method_type("mdav"), method_type({"type": "cluster", "clusters": 4})) == (
        "mdav",
        "cluster",
    )


def test_example_of_own_copy() -> None:
    assert own_copy([{"levels": ["a"]}]) == ({"levels": ("a",)},)
