"""`Ledger`: the private register of the releases of a survey."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from riskeval.ledger.chains import linked_through
from riskeval.ledger.columns import Readable, read_columns
from riskeval.ledger.compositions import composition_findings
from riskeval.ledger.judgement import LedgerCheck, LedgerQuestion, judged
from riskeval.ledger.knowledge import EarlierRelease, linked_to
from riskeval.ledger.traces import lasting, same_order, trace_findings
from riskeval.verdict.verdict import Finding
from synthpop.microdata.formats.files import to_parquet
from synthpop.microdata.formats.folder import Folder, current
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.formats.places import file_hash
from synthpop.microdata.messages.errors import Faults, InputError, OutputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Whole, check
from synthpop.microdata.messages.results import Shown
from synthpop.microdata.messages.text import plural
from synthpop.microdata.reading.lexicon import ROLES
from synthpop.microdata.roles.microdata import Microdata, as_file
from synthpop.microdata.version import __version__

LABEL, FORMAT = "ledger.json", 1
FEW_NUMBERS = 0.1
"""Share of distinct values from which on a column named for them numbers households or persons."""
MOST_ROUNDS = 3
"""Times that a consistent release is looked at again for records that are still rare."""
MEMBERS = r"release-\d{4}[.]parquet"


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What a ledger keeps of a release beside its roles.

    Attributes
    ----------
    recodings : sequence of str
        How columns were coarsened or suppressed, one sentence each.
    recipients : str
        Who got it.
    randomness : sequence of str
        What was drawn, and from what: "noise in income, drawn once and kept".
    wave : str
        The time to which the data refer; values of other times are no noise.
    date : str
        Day of the release, as 2026-11-24; default: today.
    despite : str
        Why it went out although the ledger spoke against it.
    files : mapping of str to str
        Files that went out -> SHA-256.

    Examples
    --------
    >>> ReleaseFacts(recipients="University of Northport", recodings=["ages in tens"]).recipients
    'University of Northport'
    """

    recodings: Sequence[str] = ()
    recipients: str = ""
    randomness: Sequence[str] = ()
    wave: str = ""
    date: str = ""
    despite: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


class Ledger(Shown):
    """A private register of what went out of a survey, in a folder that only its user can read.

    Before the next release goes out, `check` links it to all earlier ones by the columns that they
    share, exact and near and never by the order of the records, lays together what they tell, and
    measures k, linkage and attribution on that. `add` records it. The released records themselves
    are kept, since they are needed to link later ones; the survey is not.

    Parameters
    ----------
    folder : str or Path
        Made with mode 0700 where it is not there yet.

    Raises
    ------
    InputError
        The folder holds a damaged ledger.
    OutputError
        It holds other files.

    Examples
    --------
    >>> import tempfile
    >>> people = pd.DataFrame({"region": ["n", "n", "n", "s", "s", "s"], "pay": range(10, 16)})
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger")
    >>> ledger.add(people.assign(region=None), "without regions")
    1
    >>> check = ledger.check(people, keys=["region"], k=3)
    >>> check.links["release"].tolist(), int(check.below.sum())
    (['without regions'], 0)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._files = Folder(self.folder, LABEL, (MEMBERS,), private=True)
        if (self.folder / LABEL).exists():
            self._read()
        elif self.folder.exists() and (
            not self.folder.is_dir() or (others := self._files.strangers())
        ):
            what = others[0] if self.folder.is_dir() else "a file"
            raise OutputError(f"{self.folder} is no ledger (it holds {what}). Choose a new folder.")

    @property
    def releases(self) -> pd.DataFrame:
        """One row a release: number, name, date, recipients, records, keys, verdict and others."""
        columns = ["number", "name", "date", "wave", "recipients", "records", "keys", "sensitive",
                   "household", "synthetic", "recodings", "randomness", "verdict", "despite",
                   "hash"]  # fmt: skip
        return pd.DataFrame(self._read(), columns=columns)

    def to_frame(self) -> pd.DataFrame:
        """Return `releases`."""
        return self.releases

    def summary(self) -> str:
        """Say how many releases there are, and of when the last one is."""
        entries = self._read()
        text = message("Ledger of {n}", n=plural(len(entries), "release"))
        if not entries:
            return text + "."
        return text + message("; the last one is {name} of {day}.", name=entries[-1]["name"],
                              day=entries[-1]["date"])  # fmt: skip

    def check(
        self, release: Any, *, keys: Sequence[str] = (), sensitive: Sequence[str] = (),
        household: str | None = None, k: int = 3, wave: str = "", synthetic: bool = False,
    ) -> LedgerCheck:  # fmt: skip
        """Return what a release would tell together with all earlier ones; nothing is recorded.

        Parameters
        ----------
        release : DataFrame, or a frame of another library, or `Microdata`; n records
            As it would leave. Missing values can be any value.
        keys, sensitive : sequence of str
            What an intruder is thought to know of persons, and should not learn. Those of earlier
            releases are added.
        household : str, optional
            Column of household ids: members of linked households are linked next.
        k : int
            From 2.
        wave : str
            As in `ReleaseFacts`.
        synthetic : bool
            Whether records stand for no persons.

        Returns
        -------
        LedgerCheck

        Raises
        ------
        InputError
            Absent columns, or k below 2.

        Notes
        -----
        Nothing is drawn at random. A record of an earlier release is a candidate where the two
        have the same values, or ranges that meet, in all columns that were not changed at random.
        A record with fewer than k candidates counts as linked. Values that all candidates share
        are known.
        """
        file = _file("Ledger.check", release, keys, sensitive, household)
        faults = Faults("Ledger.check")
        check(faults, {"k": Whole(2)}, {"k": k})
        faults.raise_if_any()
        new, earlier, found = self._beside(file, wave, synthetic, k)
        return judged(new, self._question(file, k, wave, synthetic), earlier, found)

    def _question(self, file: Microdata, k: int, wave: str, synthetic: bool) -> LedgerQuestion:
        """Return what is asked: the keys and sensitive columns of all releases."""
        entries = self._read()
        earlier_keys = [one["keys"] for one in entries if not one["synthetic"]]
        names = _of_all([file.roles.keys, *earlier_keys])
        wanted = _of_all([file.roles.sensitive, *(one["sensitive"] for one in entries)])
        sensitive = [name for name in wanted if name not in names]
        return LedgerQuestion(names, file.roles.keys, sensitive, k, wave, synthetic)

    def add(
        self, release: Any, name: str, *, keys: Sequence[str] = (), sensitive: Sequence[str] = (),
        household: str | None = None, synthetic: bool = False, facts: ReleaseFacts | None = None,
        verdict: str = "",
    ) -> int:  # fmt: skip
        """Record a release that goes out, and return its number.

        Parameters
        ----------
        release, keys, sensitive, household, synthetic : as in `check`
        name : str
            By which findings name it; no other release has it.
        facts : ReleaseFacts, optional
        verdict : str
            Level of the verdict with which it went out.

        Raises
        ------
        InputError
            Absent columns, a name that is taken.
        OutputError
            Another process writes, or the folder cannot be written; then nothing is recorded.
        """
        file = _file("Ledger.add", release, keys, sensitive, household)
        facts = facts or ReleaseFacts()
        with self._files.writing():
            entries = self._read() if (self.folder / LABEL).exists() else []
            if not name or name in [one["name"] for one in entries]:
                what = f"{name!r} is taken" if name else "is empty"
                raise InputError.of("Ledger.add", "name", what, "Give another name.")
            number = len(entries) + 1
            stored = self._files.put(f"release-{number:04d}.parquet", partial(_store, file.frame))
            record = {
                "number": number, "name": name, "records": len(file), "file": stored.name,
                "hash": stored.hash, "synthetic": synthetic, "verdict": verdict,
                "keys": list(file.roles.keys), "sensitive": list(file.roles.sensitive),
                "household": file.roles.household, "version": __version__, **asdict(facts),
                "date": facts.date or date.today().isoformat(),
            }  # fmt: skip
            content = with_hash({"format": FORMAT, "releases": [*entries, record]})
            self._files.commit(json.dumps(content, indent=1))
            self._files.keep_only({LABEL, *(one["file"] for one in entries), stored.name})
        return number

    def consistent(
        self, release: Any, *, keys: Sequence[str] = (), household: str | None = None, k: int = 3,
        wave: str = "",
    ) -> tuple[pd.DataFrame, pd.DataFrame]:  # fmt: skip
        """Return a release that tells nothing more than the earlier ones, and what was done.

        Cells that an earlier release hides are hidden here too; classes that cross become those of
        the earlier release; noise, and values changed at random, become those that went out
        already. A record that was not linked keeps what it has, but for classes: they are missing.
        Of records that all releases together still leave below k, as of twins whom nobody tells
        apart, all keys are hidden. Nothing takes back what earlier releases tell by themselves.

        Returns
        -------
        release : DataFrame
        plan : DataFrame
            column, release, what ("hide the same cells", "use its classes", "use its values",
            "hide what is left") and n (cells).

        Raises
        ------
        InputError
            As in `check`.
        """
        from riskeval.ledger.plans import hide_rest, make_consistent, not_linked

        file = _file("Ledger.consistent", release, keys, (), household)
        new, earlier, _ = self._beside(file, wave, False, k)
        result, plan = make_consistent(file.frame, new, earlier, file.roles.keys, wave)
        for again in range(MOST_ROUNDS):
            file = _file("Ledger.consistent", result, file.roles.keys, (), file.roles.household)
            new, earlier, found = self._beside(file, wave, False, k)
            check = judged(new, self._question(file, k, wave, False), earlier, found)
            rare = check.below & ~check.below_alone
            if not rare.any():
                break
            if again:  # others, who were not linked, show what sets the rare ones apart
                rare |= not_linked(earlier, len(rare))
            result, more = hide_rest(result, file.roles.keys, rare)
            plan = pd.concat([plan, more], ignore_index=True)
        return result, plan

    def _beside(
        self, file: Microdata, wave: str, synthetic: bool, k: int
    ) -> tuple[dict[str, Readable], list[EarlierRelease], list[Finding]]:
        """Link a file to each earlier release."""
        columns = read_columns(file.frame)
        numbers = _numbers(file.frame, file.roles.household)
        new = {name: one for name, one in columns.items() if name not in numbers}
        earlier, found = [], []
        for entry in self._read():
            frame = self._frame(entry)
            all_numbers = {*numbers, *_numbers(frame, entry["household"])}
            other = read_columns(frame)
            last = lasting(other, columns, all_numbers)
            found += trace_findings(entry["name"], last, same_order(other, columns, all_numbers))
            drop = all_numbers - {*last}
            sides = [
                {name: one for name, one in side.items() if name not in drop}
                for side in (columns, other)
            ]
            homes = _homes(columns, file.roles.household, other, entry["household"])
            if synthetic and entry["synthetic"]:
                found += composition_findings(entry["name"], sides[1], sides[0], homes)
            one = linked_to(
                sides[0], entry["name"], sides[1], homes, wave=entry["wave"],
                synthetic=entry["synthetic"], k=k,
                numbers={name: other[name] for name in other if name in drop},
            )  # fmt: skip
            earlier.append(one)
        return new, linked_through(new, earlier, k), found

    def _frame(self, entry: Mapping[str, Any]) -> pd.DataFrame:
        path = self.folder / entry["file"]
        if not path.is_file() or file_hash(path) != entry["hash"]:
            what = "was changed or is missing: nobody knows what went out"
            raise InputError.of("Ledger", str(path), what, "Put back a copy of the ledger.")
        return pd.read_parquet(path)

    def _read(self) -> list[dict[str, Any]]:
        if not (self.folder / LABEL).exists():
            return []
        try:
            content = current(without_hash(json.loads(self._files.read())), FORMAT, {})
            return list(content["releases"])
        except (ValueError, KeyError, TypeError) as problem:
            what = f"cannot be read: {problem}"
            hint = "Put back a copy of the ledger."
            raise InputError.of("Ledger", str(self.folder / LABEL), what, hint) from None


def _file(
    subject: str, release: Any, keys: Sequence[str], sensitive: Sequence[str], household: str | None
) -> Microdata:
    faults = Faults(subject)
    file = as_file(release, faults, keys=keys, sensitive=sensitive, household=household,
                   needs="nothing")  # fmt: skip
    if not len(file):
        faults.add("release", "has no record")
    faults.raise_if_any()
    return file


def _of_all(names: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for some in names for name in some))


def _numbers(frame: pd.DataFrame, household: str | None) -> set[str]:
    """Return the columns that number households, persons or records."""
    numbers = {household} if household else set()
    for role in ("household", "person"):
        numbers |= {
            str(name) for name in frame if str(name).lower() in ROLES[role]
            and frame[name].nunique() > FEW_NUMBERS * len(frame)
        }  # fmt: skip
    for name in frame:
        values = frame[name]
        if pd.api.types.is_integer_dtype(values.dtype) and len(values) and not values.isna().any():
            low, high = int(values.min()), int(values.max())
            if high - low + 1 == len(values) and values.is_unique:
                numbers.add(str(name))
    return numbers


def _homes(
    new: Mapping[str, Readable], home: str | None, other: Mapping[str, Readable], its: str | None
) -> tuple[np.ndarray, np.ndarray] | None:
    if home is None or its is None or home not in new or its not in other:
        return None
    a, b = (
        np.asarray(pd.factorize(one.hash)[0], dtype=np.int64) for one in (other[its], new[home])
    )
    return a, b


def _store(frame: pd.DataFrame, path: Path) -> None:
    """Write records as Parquet; classes as intervals, which it does not hold, as text."""
    plain = frame.copy(deep=False)
    plain.attrs = {}
    for name in plain:
        values = plain[name]
        levels = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else values
        if isinstance(levels.dtype, pd.IntervalDtype):
            plain[name] = values.astype(object).where(values.isna(), values.astype(str))
    to_parquet(plain, path, "the release", index=False)
