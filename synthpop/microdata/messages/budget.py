"""How much one call may take: declared limits with a clear error, and a way to raise them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.text import number

VARIABLE = "SYNTHPOP_BUDGET"
NO_MEMORY_KNOWN = 16e9
LOOKS = (1.0, 4.0)  # seconds after which it is estimated how long repetitions will take


def _half_of_memory() -> float:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2
    except (AttributeError, ValueError, OSError):
        return NO_MEMORY_KNOWN / 2


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one call; ``float("inf")`` means none.

    Attributes
    ----------
    memory : float
        Bytes that a file may need once it is read, by an estimate made before. Default: half of
        the memory of the machine.
    unpacked : float
        Bytes to which a packed file (``.xlsx``, ``.rds``, ``.RData``) may unpack.
    expansion : float
        How many times its size a packed file may unpack to, beyond 50 MB.
    cells : float
        Rows times columns of a file.
    columns : float
        Columns of a file.
    text : float
        Bytes of a run file, or of another text that people write.
    depth : float
        Brackets, or words "not", inside one another in a rule.
    operators : float
        Operators in a rule.
    seconds : float
        Time that repetitions (permutations, bootstrap samples, drawn samples) may take, estimated
        once some of them are done.
    """

    memory: float = _half_of_memory()
    unpacked: float = 8e9
    expansion: float = 200
    cells: float = 2e9
    columns: float = 50_000
    text: float = 16e6
    depth: float = 50
    operators: float = 250
    seconds: float = 3600


def _of_environment() -> Budget:
    values, names = {}, {item.name for item in fields(Budget)}
    for part in os.environ.get(VARIABLE, "").replace(",", " ").split():
        name, _, text = part.partition("=")
        try:
            values[name] = float(text)
        except ValueError:
            values[""] = 0.0
    if not set(values) <= names:
        what = f"is {os.environ[VARIABLE]!r}"
        hint = f"Write it like seconds=7200,cells=1e10; there are: {', '.join(sorted(names))}."
        raise InputError.of("budget", VARIABLE, what, hint)
    return replace(Budget(), **values)


_held: list[Budget] = []


def current_budget() -> Budget:
    """Return the limits that hold: those of `budget`, else of the environment, else the usual."""
    return _held[-1] if _held else _of_environment()


@contextmanager
def budget(**values: float) -> Iterator[Budget]:
    """Raise or lower limits for the calls inside; see `Budget` for their names.

    Raises
    ------
    InputError
        An unknown limit, or one that is no positive number.

    Examples
    --------
    >>> with budget(cells=1e10, seconds=7200) as held:
    ...     held.seconds
    7200
    """
    faults, names = Faults("budget"), [item.name for item in fields(Budget)]
    for name, value in values.items():
        if name not in names:
            faults.add(name, "is unknown", hint=f"There are: {', '.join(names)}.")
        elif not isinstance(value, (int, float)) or isinstance(value, bool) or not value > 0:
            faults.add(name, f"is {value!r}", hint="Give a positive number.")
    faults.raise_if_any()
    _held.append(replace(current_budget(), **values))
    try:
        yield _held[-1]
    finally:
        _held.pop()


def check_budget(name: str, amount: float, subject: str, what: str) -> None:
    """Raise an InputError where an amount is above the limit of this name.

    what: the sentence of the fault, such as "has 3,000 brackets inside one another"
    """
    most = getattr(current_budget(), name)
    if amount > most:
        raise InputError.of(
            "limits", subject, f"{what}, at most {number(most)} are allowed", how(name)
        )


def how(name: str) -> str:
    """Return how a limit is raised, as a hint."""
    return (
        f"If that is what you want, raise the limit: with budget({name}=...) in Python, or "
        f"{VARIABLE}={name}=... before a command."
    )


def repeated(n: int, what: str) -> Iterator[int]:
    """Yield 0 to n - 1; stop early, with an error, where all of them would take too long.

    what: noun of the repetitions, such as "permutations"
    Raises InputError: an estimate from those of the first seconds is above the limit `seconds`.
    """
    begin, looks = time.monotonic(), list(LOOKS)
    for done in range(n):
        spent = time.monotonic() - begin
        if looks and done and spent > looks[0]:
            looks.pop(0)
            most = current_budget().seconds
            if spent / done * n > most:
                fitting = max(1, int(done * most / spent))
                text = (
                    f"{number(n)} would take about {number(spent / done * n, 2)} seconds, at most "
                    f"{number(most)} are allowed"
                )
                hint = f"Give about {number(fitting, 2)}. {how('seconds')}"
                raise InputError.of("budget", what, text, hint)
        yield done
