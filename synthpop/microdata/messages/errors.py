"""Errors and warnings of both packages.

The tree::

    MicrodataError
    ├── InputError (also a ValueError)      faults in data or arguments, all of them at once
    │   └── RunFileError                    faults in a run file
    ├── OutputError                         a result could not be written, or the folder is taken
    ├── WorkerError                         a worker or a cluster failed; finished blocks are kept
    └── GuaranteeError                      an asked-for guarantee could not be met

    MicrodataWarning (a UserWarning)
    ├── ConvergenceWarning                  an iteration stopped short; the numbers are in the text
    ├── ModelWarning                        results hang on an assumption that the data do not bear
    └── SparseDataWarning                   a declared fallback was used
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

from synthpop.microdata.messages.language import gettext, ngettext
from synthpop.microdata.messages.message import message, written

if TYPE_CHECKING:
    import numpy as np

SHOWN_ROWS = 5


class MicrodataError(Exception):
    """Base of every error that this distribution raises on purpose."""


class OutputError(MicrodataError):
    """A result could not be written, or the place it should go to holds something else."""


class WorkerError(MicrodataError):
    """A worker process or a cluster failed; what was finished before is kept."""


class GuaranteeError(MicrodataError):
    """A guarantee that was asked for (margins, k-anonymity) could not be met."""


class MicrodataWarning(UserWarning):
    """Base of every warning of this distribution."""


class ConvergenceWarning(MicrodataWarning):
    """An iteration stopped before it met its tolerance; the message has the numbers."""


class ModelWarning(MicrodataWarning):
    """Results hang on an assumption of a model that the data can hardly support."""


class SparseDataWarning(MicrodataWarning):
    """Data too sparse for what was asked: a declared fallback was used instead."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the input."""

    where: str  # the column, argument or key of the run file
    what: str  # what is wrong, with numbers
    # row positions (0-based), the first few; empty when the fault is not about rows
    rows: tuple[int, ...] = ()
    n_rows: int = 0  # how many rows are affected in all
    hint: str = ""  # what to do about it
    line: int = 0  # line of the run file; 0 where it is not known

    def __str__(self) -> str:
        text = f"line {self.line}: " if self.line else ""
        text += f"{self.where}: {gettext(self.what)}"
        if self.rows:
            ellipsis = ", ..." if self.n_rows > len(self.rows) else ""
            noun = "row" if self.n_rows == 1 else "rows"
            text += f" ({self.n_rows} {noun}: {', '.join(map(str, self.rows))}{ellipsis})"
        return f"{text}. {gettext(self.hint)}" if self.hint else text


@written
def _listed(subject: str, faults: Sequence[Fault]) -> str:
    """Return the faults as the lines of an error."""
    head = f"{subject}: {len(faults)} {ngettext('fault', 'faults', len(faults))}"
    return "\n".join([head, *(f"  - {fault}" for fault in faults)])


class InputError(MicrodataError, ValueError):
    """Faults in data or arguments; the message lists every one.

    Attributes
    ----------
    faults : tuple of Fault
    """

    def __init__(self, subject: str, faults: Sequence[Fault]) -> None:
        self.subject = subject
        self.faults = tuple(faults)
        super().__init__(_listed(subject, self.faults))

    @classmethod
    def of(cls, subject: str, where: str, what: str, hint: str = "", *, rows: Any = ()) -> Self:
        """Return the error of a single fault."""
        faults = Faults(subject)
        faults.add(where, what, rows=rows, hint=hint)
        return cls(subject, faults.found)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, tuple[Fault, ...]]]:
        return type(self), (self.subject, self.faults)


class RunFileError(InputError):
    """Faults in a run file."""


class Faults:
    """Collects faults while checking, then raises them together."""

    def __init__(
        self,
        subject: str,
        error: type[InputError] = InputError,
        line_of: Callable[[str], int] | None = None,
    ) -> None:
        self.subject = subject
        self.error = error
        self.line_of = line_of
        self.found: list[Fault] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def add(
        self,
        where: str,
        what: str,
        *,
        rows: Sequence[int] | np.ndarray | Iterable[int] = (),
        hint: str = "",
    ) -> None:
        """Note one fault; `rows` are positions, of which the first few are shown."""
        positions: Any = rows if hasattr(rows, "__getitem__") else list(rows)
        shown = tuple(int(row) for row in positions[:SHOWN_ROWS])
        self.found.append(Fault(where, what, shown, len(positions), hint))

    def add_where(self, rows: np.ndarray, where: str, what: str, *, hint: str = "") -> bool:
        """Note one fault of the rows, bool, shape (n,), if there are any; return whether."""
        positions = rows.nonzero()[0]
        if len(positions):
            self.add(where, what, rows=positions, hint=hint)
        return len(positions) > 0

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Add the faults of an `InputError` that is raised inside to these, and go on behind it."""
        try:
            yield
        except InputError as problem:
            self.found.extend(problem.faults)

    def raise_if_any(self) -> None:
        """Raise the error with every fault, or return when there is none.

        Faults of a file that knows its lines come in their order.
        """
        if not self.found:
            return
        faults = self.found
        if self.line_of is not None:
            faults = [replace(f, line=f.line or self.line_of(f.where)) for f in faults]
            faults = sorted(faults, key=lambda fault: (fault.line == 0, fault.line))
        raise self.error(self.subject, faults)


def did_you_mean(name: object, allowed: Iterable[object]) -> str:
    """Return a hint that lists the allowed names, the nearest first."""
    names = [str(item) for item in allowed]
    close = get_close_matches(str(name), names, n=1)
    listed = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
    there_are = message("There are: {names}.", names=listed or message("none"))
    if not close:
        return there_are
    return message("Did you mean {name}?", name=repr(close[0])) + " " + there_are


def reason_of(problem: Exception, otherwise: str = "") -> str:
    """Say what the operating system says of a problem, or the problem itself."""
    said = problem.strerror if isinstance(problem, OSError) else None
    return said or otherwise or str(problem)
