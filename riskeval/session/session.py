"""A protection session: roles once, every verb a method, history as a list of steps."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from riskeval import protect
from riskeval.measurement import Measurement
from riskeval.protection.result import Protected, changed_cells, check_seed, own_frame
from riskeval.session.history import Step, arguments, from_json, plain, source, to_json
from synthpop._version import __version__
from synthpop.microdata.checks import check_choice, check_columns, check_numeric, check_weights
from synthpop.microdata.errors import Faults, GuaranteeError, InputError, OutputError
from synthpop.microdata.results import Result
from synthpop.microdata.streams import resolve_seed
from synthpop.microdata.text import plural

CURRENT = "current"
FILES = ("session.json", "original.parquet")

FROM_ROLES: dict[str, dict[str, str]] = {
    "local_suppression": {"keys": "keys", "strata": "strata", "linked": "linked"},
    "mondrian": {"keys": "keys"},
    "pram": {"columns": "pram", "strata": "strata"},
    "record_swap": {"household": "household", "risk_keys": "keys"},
    "microaggregate": {"variables": "numeric", "strata": "strata"},
    "add_noise": {"variables": "numeric"},
    "rank_swap": {"variables": "numeric"},
    "mv_top_code": {"variables": "numeric"},
}
"""Arguments of verbs that a role fills when they are not given."""


@dataclass(frozen=True)
class SessionRoles:
    """Which column plays which part in a session."""

    keys: tuple[str, ...]
    numeric: tuple[str, ...] = ()
    weights: str | None = None
    household: str | None = None
    strata: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    linked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pram: tuple[str, ...] = ()

    def argument(self, role: str) -> Any:
        """Return a role as the argument of a verb; None where it is empty."""
        value = getattr(self, role)
        if role == "linked":
            return {key: list(columns) for key, columns in value} or None
        return (list(value) or None) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Comparison(Result):
    """Numbers of the original file beside those of the current one.

    Attributes
    ----------
    table : DataFrame
        One row a number, with columns ``original`` and ``current``.
    text : str
    measurements : mapping of "original" and "current" to a mapping of row to Measurement
        What each number means; empty for utility.
    """

    table: pd.DataFrame
    text: str
    measurements: Mapping[str, Mapping[str, Measurement]] = field(default_factory=dict)

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table

    def summary(self) -> str:
        """Return what the numbers mean."""
        return self.text


class ProtectionSession:
    """Protect a file step by step, with a history that can be replayed.

    Parameters
    ----------
    data : DataFrame or Arrow table, n records
        Kept as it is; every state of the file is computed from it by replaying steps.
    keys : sequence of str
        Categorical key variables.
    numeric : sequence of str
        Continuous key variables.
    weights : str, optional
        Column of sampling weights, positive.
    household : str, optional
        Column of household ids.
    strata : str or sequence of str, optional
        Columns within which local suppression, PRAM and microaggregation work.
    sensitive : sequence of str
        Variables whose diversity is watched.
    linked : mapping, optional
        Key -> columns that are suppressed with it.
    pram : sequence of str
        Columns to post-randomise.

    Attributes
    ----------
    roles : SessionRoles
    data : DataFrame
        The file after the current steps.
    original : DataFrame
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
    Each verb of ``riskeval.protect`` is a method with the same arguments, less the data; arguments
    that a role answers may be left out. A verb that draws without a seed gets one, which is
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

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Protected]: ...

    def __init__(
        self,
        data: Any,
        *,
        keys: Sequence[str],
        numeric: Sequence[str] = (),
        weights: str | None = None,
        household: str | None = None,
        strata: str | Sequence[str] | None = None,
        sensitive: str | Sequence[str] = (),
        linked: Mapping[str, str | Sequence[str]] | None = None,
        pram: str | Sequence[str] = (),
    ) -> None:
        self.roles = SessionRoles(
            _names(keys),
            _names(numeric),
            weights,
            household,
            _names(strata or ()),
            _names(sensitive),
            tuple((key, _names(columns)) for key, columns in (linked or {}).items()),
            _names(pram),
        )
        self._original = own_frame(data)
        _check_roles(self._original, self.roles)
        self._steps: list[Step] = []
        self._position = 0
        self._at = 0
        self._frame = self._original
        self._changes: dict[int, tuple[int, int]] = {}
        self._cache: dict[str, tuple[int, Comparison]] = {}

    @property
    def original(self) -> pd.DataFrame:
        """The file before any step."""
        return self._original.copy(deep=False)

    @property
    def data(self) -> pd.DataFrame:
        """The file after the current steps; replayed when it was undone or loaded."""
        if self._at > self._position:
            self._at, self._frame = 0, self._original
        while self._at < self._position:
            result = self._run(self._steps[self._at], self._frame)
            self._at, self._frame = self._at + 1, result.data
            self._changes[self._at] = (result.cells_changed, result.records_changed)
        return self._frame.copy(deep=False)

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
        step = self._step(verb, values, parameters)
        result = self._run(step, self.data)
        del self._steps[self._position :]
        self._steps.append(step)
        self._position += 1
        self._at, self._frame = self._position, result.data
        self._changes[self._position] = (result.cells_changed, result.records_changed)
        return result

    def _step(self, verb: str, values: tuple[Any, ...], parameters: dict[str, Any]) -> Step:
        faults = Faults("ProtectionSession")
        check_choice(faults, "verb", verb, protect.VERBS)
        faults.raise_if_any()
        signature = inspect.signature(getattr(protect, verb))
        allowed = list(signature.parameters)[1:]
        given = dict(zip([n for n in allowed if _positional(signature, n)], values, strict=False))
        if len(given) < len(values):
            faults.add(verb, f"takes {len(given)} arguments without a name, {len(values)} given")
        for name in parameters:
            if name in given:
                faults.add(verb, f"{name!r} is given twice")
            check_choice(faults, f"{verb}: argument", name, allowed)
        given.update(parameters)
        for name, role in FROM_ROLES.get(verb, {}).items():
            value = self.roles.argument(role)
            if name not in given and name in allowed and value is not None:
                given[name] = value
        if verb == "suppress_risky":
            given.setdefault("risk", CURRENT)
        if "seed" in allowed:
            check_seed(faults, given.get("seed"))
            faults.raise_if_any()
            given["seed"] = resolve_seed(given.get("seed"))
        for name in allowed:
            if name not in given and signature.parameters[name].default is inspect.Parameter.empty:
                faults.add(verb, f"needs {name!r}", remedy="Give it, or declare its role.")
        faults.raise_if_any()
        ordered = {name: plain(name, given[name]) for name in allowed if name in given}
        return Step(verb, ordered)

    def _run(self, step: Step, frame: pd.DataFrame) -> Protected:
        parameters = dict(step.parameters)
        if step.verb == "suppress_risky" and isinstance(parameters["risk"], str):
            parameters["risk"] = self._individual_risk(frame)
        result: Protected = getattr(protect, step.verb)(frame, **parameters)
        return result

    def _individual_risk(self, frame: pd.DataFrame) -> Any:
        from riskeval.measures.individual import individual_risk

        roles = self.roles
        return individual_risk(
            frame, list(roles.keys), weights=roles.weights, household=roles.household
        )

    def go_to(self, position: int) -> ProtectionSession:
        """Go to the state after `position` steps (0: the original); later steps can be redone."""
        if not isinstance(position, int) or not 0 <= position <= len(self._steps):
            faults = Faults("ProtectionSession")
            faults.add("position", f"is {position!r}", remedy=f"Give 0 to {len(self._steps)}.")
            faults.raise_if_any()
        self._position = position
        return self

    def undo(self, steps: int = 1) -> ProtectionSession:
        """Go back some steps."""
        return self.go_to(self._position - steps)

    def redo(self, steps: int = 1) -> ProtectionSession:
        """Repeat steps that were undone."""
        return self.go_to(self._position + steps)

    def history(self) -> pd.DataFrame:
        """One row a step in effect: `verb`, `arguments`, `seed`, and what it changed if it ran."""
        rows = []
        for number, step in enumerate(self.steps, start=1):
            cells, records = self._changes.get(number, (None, None))
            shown = {name: value for name, value in step.parameters.items() if name != "seed"}
            rows.append((number, step.verb, arguments(shown), step.seed, cells, records))
        names = ["step", "verb", "arguments", "seed", "cells", "records"]
        frame = pd.DataFrame(rows, columns=names, dtype=object)  # no seed passes through a float
        return frame.astype(
            {"step": "int64", "seed": "Int64", "cells": "Int64", "records": "Int64"}
        )

    @property
    def cells_changed(self) -> int:
        """Cells of the current file that differ from the original."""
        current = self.data
        return sum(int(changed_cells(self._original[n], current[n]).sum()) for n in current)

    def risk(self) -> Comparison:
        """Disclosure risk of the original and of the current file, measured when asked for.

        The numbers that the registry of measures gives for every file (``below_3``,
        ``global_risk``, ``expected_reidentifications``, those of households and of sensitive
        variables ...), and the share of records whose numeric keys lie within 0.01 standard
        deviations of the true ones (``interval_disclosure``).
        """
        return self._lazy("risk", self._measured)

    def utility(self) -> Comparison:
        """What the columns in a role have lost: filled cells, categories, mean, deviation.

        For the numeric keys together also the information loss (``riskeval.utility``): IL1s, IL1,
        eigenvalues and correlations, 0 for the original.
        """
        return self._lazy("utility", self._described)

    def _lazy(self, name: str, compute: Callable[[], Comparison]) -> Comparison:
        stamp = hash(tuple(map(str, self.steps)))
        if self._cache.get(name, (None,))[0] != stamp:
            self._cache[name] = (stamp, compute())
        return self._cache[name][1]

    def _measured(self) -> Comparison:
        files = {"original": self._original, "current": self.data}
        columns = {
            name: {one.key: one for one in risk_measurements(self._original, file, self.roles)}
            for name, file in files.items()
        }
        table = pd.DataFrame(
            {name: {key: one.value for key, one in both.items()} for name, both in columns.items()}
        )
        first, now = (table[name]["expected_reidentifications"] for name in files)
        below = int(table["current"]["below_3"])
        text = (
            f"{first:.2f} re-identifications were expected in the original file, {now:.2f} now; "
            f"{plural(below, 'record matches', 'records match')} fewer than 3 on "
            f"{', '.join(self.roles.keys)} (3 and 5 are the customary limits)."
        )
        touched = [s.parameters for s in self.steps if s.verb == "pram"]
        if any(set(p["columns"]) & set(self.roles.keys) for p in touched):
            text += " Keys were post-randomised: their true risk is lower than the number says."
        return Comparison(table, text, columns)

    def _described(self) -> Comparison:
        roles, current = self.roles, self.data
        names = [*roles.keys, *roles.numeric, *roles.sensitive, *roles.pram]
        rows = {}
        for name in dict.fromkeys(names):
            before, after = _described(self._original[name]), _described(current[name])
            for what in [*before, *(key for key in after if key not in before)]:
                rows[name, what] = (before.get(what, np.nan), after.get(what, np.nan))
        loss = _loss(self._original, current, roles.numeric)
        rows.update({("numeric keys", str(key)): (0.0, float(x)) for key, x in loss.items()})
        table = pd.DataFrame(rows, index=["original", "current"]).T
        table.index.names = ["column", "number"]
        text = (
            f"{self.cells_changed:,} of {current.size:,} cells differ from the original file after "
            f"{self._position} {'step' if self._position == 1 else 'steps'}."
        )
        if not loss.empty:
            text += (
                f" Values of {', '.join(loss.attrs['columns'])} moved by {loss['IL1s']:.4g} "
                "sqrt(2) standard deviations on average (IL1s; 0 is none, there is no threshold)."
            )
        return Comparison(table, text)

    def to_script(
        self, *, source_path: str = FILES[1], target_path: str = "protected.parquet"
    ) -> str:
        """Return Python that reads the original, repeats the steps and writes the result.

        The file it writes is byte for byte that of ``session.data.to_parquet``.
        """
        lines = [
            '"""Repeat a protection session."""',
            "",
            "import pandas as pd",
            "",
            "from riskeval import protect",
        ]
        if any(_uses_current_risk(step) for step in self.steps):
            lines.append("from riskeval.measures.individual import individual_risk")
        lines += ["", f"data = pd.read_parquet({source_path!r})"]
        for step in self.steps:
            given = arguments(step.parameters)
            if _uses_current_risk(step):
                roles = self.roles
                lines.append(
                    f"risk = individual_risk(data, {source(list(roles.keys))}, "
                    f"weights={roles.weights!r}, household={roles.household!r})"
                )
                given = given.replace(f"risk={CURRENT!r}", "risk=risk")
            lines.append(f"data = protect.{step.verb}(data, {given}).data")
        lines.append(f"data.to_parquet({target_path!r})")
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the session into a folder: ``session.json`` and ``original.parquet``.

        Raises
        ------
        OutputError
            The folder holds something else, or a column cannot be written to Parquet.
        """
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder} is a file; give a folder")
        folder.mkdir(parents=True, exist_ok=True)
        other = [item.name for item in folder.iterdir() if item.name not in FILES]
        if other:
            raise OutputError(f"{folder} holds other files ({other[0]}, ...); give a new folder")
        draft = folder / f".{FILES[1]}"
        try:
            self._original.to_parquet(draft)
        except (ValueError, TypeError, OverflowError) as error:  # pyarrow errors are ValueErrors
            draft.unlink(missing_ok=True)
            raise OutputError(f"the original cannot be written to Parquet: {error}") from error
        roles = asdict(self.roles)
        roles["linked"] = self.roles.argument("linked") or {}
        record = {
            "format": 1,
            "version": __version__,
            "roles": roles,
            "steps": [{"verb": s.verb, "parameters": to_json(s.parameters)} for s in self._steps],
            "position": self._position,
            "original": hashlib.sha256(draft.read_bytes()).hexdigest(),
            "result": _digest(self.data),
        }
        text = folder / f".{FILES[0]}"
        text.write_text(json.dumps(record, indent=1), encoding="utf-8")
        os.replace(draft, folder / FILES[1])
        os.replace(text, folder / FILES[0])
        return folder

    @classmethod
    def load(cls, path: str | Path) -> ProtectionSession:
        """Read a session that `save` wrote, replay it and compare with what was saved.

        Raises
        ------
        InputError
            The folder holds no session, or the original was changed since.
        GuaranteeError
            The replay does not give the result that was saved.
        """
        folder = Path(path)
        faults = Faults("ProtectionSession")
        for name in FILES:
            if not (folder / name).is_file():
                faults.add(str(folder), f"has no {name}", remedy="Give the folder of `save`.")
        faults.raise_if_any()
        try:
            record = json.loads((folder / FILES[0]).read_text(encoding="utf-8"))
            roles = record["roles"]
            steps = [Step(s["verb"], from_json(s["parameters"])) for s in record["steps"]]
            position, original, result = (record[n] for n in ("position", "original", "result"))
        except (ValueError, KeyError, TypeError) as error:
            faults.add(FILES[0], f"is not a saved session ({error})")
            raise InputError(faults.subject, faults.found) from error
        if hashlib.sha256((folder / FILES[1]).read_bytes()).hexdigest() != original:
            faults.add(FILES[1], "is not the file that was saved", remedy="Restore it.")
        for step in steps:
            check_choice(faults, "verb", step.verb, protect.VERBS)
        faults.raise_if_any()
        session = cls(pd.read_parquet(folder / FILES[1]), **roles)
        session._steps, session._position = steps, position
        if _digest(session.data) != result:
            raise GuaranteeError(
                f"{folder}: the steps give another result than the one saved with version "
                f"{record['version']}; this is version {__version__}"
            )
        return session

    def report(self, path: str | Path, audience: str = "internal") -> Path:
        """Write an HTML page: roles, steps, risk and utility, original beside current.

        Parameters
        ----------
        path : str or Path
        audience : {"internal", "external"}
            "external" leaves out arguments and seeds (with which draws could be repeated), the
            pictures and the largest risk of a record, and shows counts from 1 to 4 as "< 5".

        Returns
        -------
        Path
            One file that is complete in itself.

        Raises
        ------
        InputError
            Another audience.
        OutputError
            The file cannot be written.
        """
        faults = Faults("ProtectionSession")
        check_choice(faults, "audience", audience, ["internal", "external"])
        faults.raise_if_any()
        from riskeval.report.protection import write_protection

        return write_protection(path, self, audience)

    def __repr__(self) -> str:
        return (
            f"ProtectionSession({plural(len(self._original), 'record')}, keys "
            f"{list(self.roles.keys)}, {plural(self._position, 'step')}, {len(self.undone)} undone)"
        )


def _method(verb: str) -> Callable[..., Protected]:
    def method(self: ProtectionSession, *values: Any, **parameters: Any) -> Protected:
        return self.apply(verb, *values, **parameters)

    method.__name__ = verb
    method.__qualname__ = f"ProtectionSession.{verb}"
    method.__doc__ = f"Run ``riskeval.protect.{verb}`` on the current file; see there."
    return method


for _verb in protect.VERBS:
    setattr(ProtectionSession, _verb, _method(_verb))


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _positional(signature: inspect.Signature, name: str) -> bool:
    return signature.parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY


def _uses_current_risk(step: Step) -> bool:
    return step.verb == "suppress_risky" and isinstance(step.parameters["risk"], str)


def _check_roles(frame: pd.DataFrame, roles: SessionRoles) -> None:
    faults = Faults("ProtectionSession")
    if not roles.keys:
        faults.add("keys", "no key is given", remedy="Name at least one column.")
    check_columns(faults, frame, dict.fromkeys(roles.keys), "key")
    check_numeric(faults, frame, roles.numeric, "numeric")
    for role in ("strata", "sensitive", "pram"):
        check_columns(faults, frame, dict.fromkeys(getattr(roles, role)), role)
    if roles.household is not None:
        check_columns(faults, frame, [roles.household], "household")
    if roles.weights is not None and check_columns(faults, frame, [roles.weights], "weights"):
        check_weights(faults, frame[roles.weights], roles.weights)
    for key, columns in roles.linked:
        if key not in roles.keys:
            faults.add("linked", f"{key!r} is not a key")
        check_columns(faults, frame, columns, "linked")
    for name in set(roles.keys) & set(roles.sensitive):
        faults.add(name, "is a key and sensitive", remedy="Choose one of the two.")
    faults.raise_if_any()


def risk_measurements(
    original: pd.DataFrame, file: pd.DataFrame, roles: SessionRoles
) -> list[Measurement]:
    """Numbers of the risk of a file, by the registry, and interval disclosure of numeric keys."""
    from riskeval.measures.assess import file_measurements
    from riskeval.measures.numeric_disclosure import INTERVAL, interval_disclosure

    measured = file_measurements(
        file,
        roles.keys,
        weights=roles.weights,
        household=roles.household,
        sensitive=roles.sensitive,
    )
    numeric = [n for n in roles.numeric if pd.api.types.is_numeric_dtype(file[n].dtype)]
    if numeric:
        interval = interval_disclosure(original, file, numeric)
        measured.append(Measurement(INTERVAL, interval.rate, records=len(file)))
    return measured


def _described(values: pd.Series) -> dict[str, float]:
    number = pd.api.types.is_numeric_dtype(values.dtype)
    found = {"filled": float(values.notna().sum()), "distinct": float(values.nunique())}
    if number and not pd.api.types.is_bool_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if not np.isnan(numbers).all():
            found["mean"] = float(np.nanmean(numbers))
            found["standard deviation"] = float(np.nanstd(numbers))
    return found


def _loss(original: pd.DataFrame, current: pd.DataFrame, numeric: Sequence[str]) -> pd.Series:
    """Information loss of the numeric keys that still are numbers; empty where there is none."""
    from riskeval.utility.information import information_loss

    names = [n for n in numeric if pd.api.types.is_numeric_dtype(current[n].dtype)]
    if not names:
        return pd.Series(dtype=float)
    try:
        found = information_loss(original, current, names, rows="paired")
    except InputError:  # values that are not finite
        return pd.Series(dtype=float)
    values = {
        "IL1s": found.il1s,
        "IL1": found.il1,
        "eigenvalues": found.eigenvalues,
        "correlations": found.correlations,
    }
    loss = pd.Series({what: value for what, value in values.items() if np.isfinite(value)})
    loss.attrs["columns"] = names
    return loss if "IL1s" in loss else pd.Series(dtype=float)


def _digest(frame: pd.DataFrame) -> str:
    """Hash of names, values and types, the same after a way through Parquet."""
    digest = hashlib.sha256()
    for values in [frame.index.to_series(), *(frame[name] for name in frame.columns)]:
        text = pd.api.types.is_string_dtype(values.dtype) or values.dtype == object
        digest.update(repr((values.name, "text" if text else str(values.dtype))).encode())
        if text:  # None and NaN are one thing
            values = values.astype(object).where(values.notna(), "\0")
        digest.update(pd.util.hash_pandas_object(values, index=False).to_numpy().tobytes())
    return digest.hexdigest()
