"""A protection session: roles once, every verb a method, history as a list of steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval.measures.request import Limits, read_limits
from riskeval.protection.result import Protected, changed_cells
from riskeval.session.edited import edited_step
from riskeval.session.measure import (
    BeforeAfter,
    compare_columns,
    compare_risks,
    individual_risk_of,
    risk_measurements,
)
from riskeval.session.roles import SessionRoles, check_roles, pairs
from riskeval.session.running import prepare_step, run_step
from riskeval.session.script import write_script
from riskeval.session.session_verdict import session_verdict
from riskeval.session.shown_frame import shown_frame
from riskeval.session.steps import Step, history_of
from riskeval.session.store import ORIGINAL, digest_of, read_session, write_session
from riskeval.session.verbs import SessionVerbs
from riskeval.verdict.verdict import ReleaseVerdict
from synthpop.microdata.formats.places import Place
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.frame.native import in_library
from synthpop.microdata.messages.errors import Faults, GuaranteeError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import Shown
from synthpop.microdata.messages.show import view
from synthpop.microdata.messages.text import join, plural
from synthpop.microdata.pages.page import check_page
from synthpop.microdata.roles.microdata import as_file
from synthpop.microdata.version import __version__

if TYPE_CHECKING:
    from riskeval.measures.individual_result import IndividualRisk

REMEMBERED = 32


class ProtectionSession(SessionVerbs, Shown):
    """Protect a file step by step, with a history that can be replayed.

    Parameters
    ----------
    data : DataFrame, or a frame of another library, n records
        Kept as it is; every state of the file is computed from it by replaying steps.
    keys : sequence of str
        Categorical key variables; none for a file of amounts alone, as of enterprises.
    numeric : sequence of str
        Continuous key variables.
    weights : str, optional
        Column of sampling weights, positive.
    household : str, optional
        Column of household ids: every verb treats household variables once a household, and local
        suppression is checked after an attack from other members.
    strata : str or sequence of str, optional
        Columns within which local suppression, PRAM and microaggregation work.
    sensitive : sequence of str
        Variables whose diversity is watched.
    linked : mapping, optional
        Key -> columns that are suppressed with it.
    pram : sequence of str
        Columns to post-randomise.
    household_variables : sequence of str
        Columns that must have one value in each household; others are found from the data.
    household_keys : sequence of str
        Keys by which an intruder knows whole households (see ``local_suppression``).
    components : mapping, optional
        Total -> its parts, which add up after every verb on numbers.
    drop : str or sequence of str
        Columns that never leave, as names and telephone numbers (see ``release_file``): the
        verdict is on the file without them.

    Attributes
    ----------
    roles : SessionRoles
    data : frame of the library of the input
        The file after the current steps.
    original : frame of the library of the input
    original_frame : DataFrame
        The original as pandas; `current_frame` is the current file as pandas.
    steps : tuple of Step
        Steps that are in effect.
    undone : tuple of Step
        Steps that `redo` would repeat.

    Raises
    ------
    InputError
        Unknown columns, weights that are not positive, numeric keys that are not numbers.

    Notes
    -----
    Each verb of ``riskeval.protect`` is a method with the same arguments, less the data, which
    default to the declared roles. A verb that draws without a seed gets one, which is
    recorded. Only the original, the current file and the list of steps are held.

    Examples
    --------
    >>> people = pd.DataFrame({"region": [*"AAB"], "age": [31, 35, 78]})
    >>> session = ProtectionSession(people, keys=["region", "age"])
    >>> _ = session.global_recode("age", breaks=[0, 64, 120])
    >>> _ = session.local_suppression(k=2)
    >>> [step.verb for step in session.steps], int(session.data.isna().sum().sum())
    (['global_recode', 'local_suppression'], 2)
    >>> session.undo(2).data["age"].tolist()
    [31, 35, 78]
    """

    def __init__(
        self,
        data: Any,
        *,
        keys: Sequence[str] | None = None,
        numeric: Sequence[str] = (),
        weights: str | None = None,
        household: str | None = None,
        strata: str | Sequence[str] | None = None,
        sensitive: str | Sequence[str] = (),
        linked: Mapping[str, str | Sequence[str]] | None = None,
        pram: str | Sequence[str] = (),
        household_variables: str | Sequence[str] = (),
        household_keys: str | Sequence[str] = (),
        components: Mapping[str, Sequence[str]] | None = None,
        drop: str | Sequence[str] = (),
    ) -> None:
        faults = Faults("ProtectionSession")
        file = as_file(
            data, faults, keys=keys, numeric=numeric, weights=weights, household=household,
            sensitive=sensitive, needs="keys or numbers",
        )  # fmt: skip
        self.roles = SessionRoles(
            file.roles.keys,
            file.roles.numeric,
            file.roles.weight,
            file.roles.household,
            listed_names(() if strata is None else strata),
            file.roles.sensitive,
            pairs(linked),
            listed_names(pram),
            listed_names(household_variables),
            listed_names(household_keys),
            pairs(components),
            listed_names(drop),
        )
        check_roles(faults, file, self.roles)
        self._library, self.original_frame = file.library, file.indexed
        self._steps: list[Step] = []
        self._position = 0
        self._at = 0
        self._frame = self.original_frame
        self._rows = np.arange(len(self._frame))  # of the original, in the current file
        self._changes: dict[int, tuple[int, int]] = {}
        self._cache: dict[tuple[str, tuple[str, ...]], Any] = {}

    @property
    def original(self) -> Any:
        """The file before any step."""
        return self._out(self.original_frame)

    @property
    def data(self) -> Any:
        """The file after the current steps, to be read: `replace` takes a changed copy back."""
        out = self._out(self.current_frame())
        return shown_frame(out) if self._library is None else out

    def _out(self, table: Any) -> Any:
        """Return a frame or a result with frames of the library of the input."""
        frame = table.copy(deep=False) if isinstance(table, pd.DataFrame) else table
        if self._library is None:
            return frame
        if isinstance(frame, pd.DataFrame):  # other libraries know no labels of records
            frame = frame.reset_index(drop=True)
        elif isinstance(frame, Protected):
            frame = replace(frame, data=frame.data.reset_index(drop=True))
        return in_library(self._library, frame)

    def current_frame(self) -> pd.DataFrame:
        """Return the file after the current steps as pandas, not to be changed."""
        if self._at > self._position:
            self._at, self._frame = 0, self.original_frame
            self._rows = np.arange(len(self._frame))
        while self._at < self._position:
            self._take(run_step(self._steps[self._at], self._frame, self.roles))
        return self._frame

    def original_of_current(self) -> pd.DataFrame:
        """Return the original of the records that the current file still has, row by row."""
        current = self.current_frame()
        whole = len(current) == len(self.original_frame)
        return self.original_frame if whole else self.original_frame.iloc[self._rows]

    def _take(self, result: Protected) -> None:
        """Go on to the file after a step."""
        self._at, self._frame = self._at + 1, result.data
        n_records = result.records_changed + result.records_dropped
        self._changes[self._at] = (result.cells_changed, n_records)
        if result.records_dropped:
            self._rows = self._rows[result.details["rows"]]

    @property
    def steps(self) -> tuple[Step, ...]:
        """Steps that are in effect, first to last."""
        return tuple(self._steps[: self._position])

    @property
    def undone(self) -> tuple[Step, ...]:
        """Steps that were undone and can be repeated."""
        return tuple(self._steps[self._position :])

    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected:
        """Run a verb of ``riskeval.protect`` on the current file and record it.

        Parameters
        ----------
        verb : str
        values, parameters : arguments of the verb after the data

        Returns
        -------
        Protected
            What the step changed. Steps that had been undone are forgotten.

        Raises
        ------
        InputError
            Unknown verb, arguments that it does not have, or faults that the verb finds; the
            history stays as it was.
        """
        return self._record(prepare_step(self.roles, verb, values, parameters))

    def replace(self, frame: Any, note: str) -> Protected:
        """Take a file that was edited elsewhere as the next step.

        Parameters
        ----------
        frame : DataFrame or frame of another library
            ``session.data``, copied and changed: its index tells which records are left, and
            columns in a role must be there. It is kept whole, in the folder of `save` too, in the
            order of the current file.
        note : str
            What was done and why, for history, report and script: the step cannot be repeated by
            itself.

        Returns
        -------
        Protected

        Raises
        ------
        InputError
            Records that the current file does not have, columns of roles that are absent, no note.

        Examples
        --------
        >>> people = pd.DataFrame({"region": [*"AAB"], "age": [31, 35, 78]})
        >>> session = ProtectionSession(people, keys=["region", "age"])
        >>> edited = session.data.copy()
        >>> edited.loc[2, "age"] = 65
        >>> session.replace(edited, "Age of a known person set to 65").cells_changed
        1
        """
        return self._record(edited_step(self.current_frame(), self.roles, frame, note))

    def _record(self, step: Step) -> Protected:
        result = run_step(step, self.current_frame(), self.roles)
        del self._steps[self._position :]
        self._steps.append(step)
        self._position += 1
        self._take(result)
        return self._out(result)

    def go_to(self, position: int) -> ProtectionSession:
        """Go to the state after `position` steps (0: the original); later steps can be redone."""
        self._position = _allowed("position", position, len(self._steps))
        return self

    def undo(self, steps: int = 1) -> ProtectionSession:
        """Go back some steps."""
        return self.go_to(self._position - _allowed("steps", steps, self._position))

    def redo(self, steps: int = 1) -> ProtectionSession:
        """Repeat steps that were undone."""
        return self.go_to(self._position + _allowed("steps", steps, len(self.undone)))

    def history(self) -> pd.DataFrame:
        """One row per step in effect: `verb`, `arguments`, `seed`, and what it changed."""
        return history_of(self.steps, self._changes)

    @property
    def cells_changed(self) -> int:
        """Cells of the current file that differ from the original."""
        return sum(self.cells_by_column().values())

    def cells_by_column(self) -> dict[str, int]:
        """Return how many values of each column differ from the original."""
        current, original = self.current_frame(), self.original_of_current()
        shared = [name for name in current if name in original]  # a step may add columns
        return {str(n): int(changed_cells(original[n], current[n]).sum()) for n in shared}

    def risk(self) -> BeforeAfter:
        """Disclosure risk of the original and of the current file, measured when asked for.

        Records below 2, 3 and 5 on the keys, and below 3 once readable values are filled in; mean
        individual risk and expected re-identifications, the same of households; smallest diversity
        of each sensitive variable; the share of records whose numeric keys lie within 0.01
        standard deviations of the true ones, and of those that they link to their original. What
        was measured once for a state of the file is kept: going back and forth costs nothing.
        """
        touched = [step.parameters for step in self.steps if step.verb == "pram"]
        uncertain = any(set(p["columns"]) & set(self.roles.keys) for p in touched)
        original, current, roles = self.original_frame, self.current_frame(), self.roles
        pairs_of_files = ((original, original), (self.original_of_current(), current))
        measured = [partial(risk_measurements, *files, roles) for files in pairs_of_files]
        before = self._once("measurements", (), measured[0])
        after = self._once("measurements", self._stamp(), measured[1])
        compared = partial(compare_risks, before, after, roles, uncertain)
        return self._out(self._once("risk", self._stamp(), compared))

    def verdict(self, limits: Limits | Mapping[str, Any] | None = None) -> ReleaseVerdict:
        """Say what speaks against publishing the current file, all columns but `drop` looked at.

        Judged are limits, amounts of numeric keys that are unchanged, identifiers, texts and dates
        of birth, columns that tell more than a key, and repeated records.

        Parameters
        ----------
        limits : Limits or mapping, optional
            What the office accepts, as of ``riskeval.assess``; the defaults of `Limits` when not
            given.
        """
        faults = Faults("verdict")
        accepted = read_limits(faults, limits)
        faults.raise_if_any()
        files = self.original_of_current(), self.current_frame()

        def judged() -> ReleaseVerdict:
            measured = [*self.risk().measurements["current"].values()]
            if accepted != Limits():
                measured = risk_measurements(*files, self.roles, limits=accepted)
            return session_verdict(*files, self.roles, measured, accepted.k or 3)

        verdict: ReleaseVerdict = self._once(f"verdict {accepted}", self._stamp(), judged)
        return verdict

    def utility(self) -> BeforeAfter:
        """What the columns in a role have lost: filled cells, categories, mean, deviation.

        For the numeric keys together also the information loss (``riskeval.utility``): IL1s, IL1,
        eigenvalues and correlations, 0 for the original.
        """

        def described() -> BeforeAfter:
            files = self.original_of_current(), self.current_frame()
            return compare_columns(*files, self.roles, self.cells_changed, self._position)

        return self._out(self._once("utility", self._stamp(), described))

    def individual_risk(self, *, original: bool = False) -> IndividualRisk:
        """Individual risk of each record of the current file, or of the original.

        Parameters
        ----------
        original : bool
        """
        file = self.original_frame if original else self.current_frame()
        measured = partial(individual_risk_of, file, self.roles)
        return self._out(self._once("individual risk", () if original else self._stamp(), measured))

    def _stamp(self) -> tuple[str, ...]:
        return tuple(map(str, self.steps))

    def _once(self, what: str, stamp: tuple[str, ...], compute: Callable[[], Any]) -> Any:
        """Compute a number of one state of the file, or return it from before."""
        key = (what, stamp)
        if key not in self._cache:
            self._cache[key] = compute()
            while len(self._cache) > REMEMBERED:
                self._cache.pop(next(iter(self._cache)))
        return self._cache[key]

    def to_script(
        self, *, source_path: str = ORIGINAL, target_path: str = "protected.parquet"
    ) -> str:
        """Return Python that reads the original, repeats the steps and writes the result.

        The file it writes is byte for byte that of ``session.data.to_parquet``.
        """
        return write_script(self.steps, self.roles, source_path, target_path)

    def save(self, path: str | Path) -> Path:
        """Write the session into a folder: ``session.json`` and ``original.parquet``.

        The folder holds the unprotected file: only the user may read what is written (mode 0600).

        Raises
        ------
        OutputError
            The folder holds something else, or a column cannot be written to Parquet; what was
            saved before is then still there.
        """
        place, current = self._position, self.current_frame()
        return write_session(
            path, self.original_frame, self.roles, self._steps, place, current, self._library
        )

    @classmethod
    def load(cls, path: str | Path) -> ProtectionSession:
        """Read a session that `save` wrote, replay it and compare with what was saved.

        Raises
        ------
        InputError
            The folder holds no session, the original was changed since, or a step names a verb or
            an argument that does not exist.
        GuaranteeError
            The replay does not give the result that was saved.
        """
        saved = read_session(path)
        session = cls(saved.original, **saved.roles)
        session._steps, session._position = saved.steps, saved.position
        session._library = saved.library
        if digest_of(session.current_frame()) != saved.result:
            raise GuaranteeError(
                f"{path}: the steps give another result than the one saved with version "
                f"{saved.version}; this is version {__version__}"
            )
        return session

    def report(self, path: Place | str, audience: str = "internal", language: str = "en") -> Place:
        """Write an HTML page: roles, steps, risk and utility, original beside current.

        Parameters
        ----------
        path : str or Path
        audience : {"internal", "external"}
            "external" leaves out arguments and seeds (with which draws could be repeated), the
            pictures and the largest risk of a record, and shows counts from 1 to 4 as "< 5".
        language : {"en", "de"}

        Returns
        -------
        Path
            One file that is complete in itself.

        Raises
        ------
        InputError
            Another audience or language.
        OutputError
            The file cannot be written.
        """
        check_page(audience, language, "ProtectionSession")
        return presenter("ProtectionSession.report")(path, self, audience, language)

    def summary(self) -> str:
        """Return the file, its roles and the steps in effect, in sentences."""
        verbs = ", ".join(step.verb for step in self.steps)
        steps = (
            f"{plural(self._position, 'step')}: {verbs}." if verbs else message("No step so far.")
        )
        return message(
            "Protection of {records} with the key variables {keys}. {steps}"
            if self.roles.keys
            else "Protection of {records} with the amounts {keys}. {steps}",
            records=plural(len(self.original_frame), "record"),
            keys=join(self.roles.keys or self.roles.numeric),
            steps=steps,
        )

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self._position else view(self.summary())

    def _table(self) -> pd.DataFrame:
        return self.history()

    def __repr__(self) -> str:
        return (
            f"ProtectionSession({plural(len(self.original_frame), 'record')}, keys "
            f"{list(self.roles.keys)}, {plural(self._position, 'step')}, {len(self.undone)} undone)"
        )


def _allowed(argument: str, value: int, most: int) -> int:
    faults = Faults("ProtectionSession")
    check(faults, {argument: Whole(0, most)}, {argument: value})
    faults.raise_if_any()
    return value
