"""How a command that makes a release asks a ledger before, and records the release after."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

from riskeval.ledger.judgement import LedgerCheck
from riskeval.ledger.ledger import Ledger, ReleaseFacts
from riskeval.verdict.verdict import ReleaseVerdict
from synthpop.microdata.messages.errors import Faults, GuaranteeError, InputError
from synthpop.microdata.roles.microdata import Microdata


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """Which ledger is asked, if any, and what is kept of the release.

    Attributes
    ----------
    folder : Path or None
    facts : ReleaseFacts
        With `despite` given the release goes out whatever its verdict and the ledger say.
    """

    folder: Path | None = None
    facts: ReleaseFacts = field(default_factory=ReleaseFacts)

    def consult(self, release: Microdata, *, synthetic: bool = False) -> list[LedgerCheck]:
        """Check a release as it would leave; nothing without a ledger."""
        if self.folder is None:
            return []
        return [Ledger(self.folder).check(release, wave=self.facts.wave, synthetic=synthetic)]

    def allow(self, verdict: ReleaseVerdict, checks: Sequence[LedgerCheck]) -> ReleaseVerdict:
        """Return the verdict on a release by itself and beside the earlier ones.

        Raises GuaranteeError: one of them says that it must not be published, and no reason is
        given to do it all the same.
        """
        said = [f"release: {verdict.summary()}"] if verdict.fatal else []
        said += [f"ledger: {check.summary()}" for check in checks if check.verdict.fatal]
        if said and not self.facts.despite:
            what = "Change what is named"
            if not verdict.fatal:
                what = (f"Make it agree with them (riskeval ledger check {self.folder} FILE "
                        "--consistent)")  # fmt: skip
            hint = f"{what}, or give --fact despite=REASON, which the release and the ledger keep."
            raise GuaranteeError(" ".join([*said, hint, "Nothing was written."]))
        return reduce(ReleaseVerdict.beside, (check.verdict for check in checks), verdict)

    def told(self, verdict: ReleaseVerdict) -> dict[str, object]:
        """Return what leaves with the release: the verdict, and why it goes out in spite of it."""
        reason = {"despite": self.facts.despite} if verdict.fatal else {}
        return {**verdict.for_others(), **reason}

    def record(
        self, release: Microdata, target: Path, verdict: str, *, name: str = "",
        synthetic: bool = False,
    ) -> None:  # fmt: skip
        """Record what went out in a folder, with the hash of each of its files.

        name: default, that of the folder; with a number where the ledger has it already
        """
        if self.folder is None:
            return
        files = {}
        for path in sorted(target.iterdir()):
            with path.open("rb") as file:
                files[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        facts = replace(self.facts, files=files)
        ledger = Ledger(self.folder)
        name = name or target.name
        names = set(ledger.releases["name"])
        number = next(n for n in range(1, len(names) + 2) if _named(name, n) not in names)
        ledger.add(release, _named(name, number), facts=facts, verdict=verdict, synthetic=synthetic)


NO_LEDGER = LedgerRequest()


def _named(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def ledger_request(folder: Path | None, texts: Sequence[str]) -> LedgerRequest:
    """Return what the options of a command ask for.

    Raises InputError: facts that only a ledger keeps without one, or that `read_facts` cannot read.
    """
    facts = read_facts(texts)
    if folder is None and facts != ReleaseFacts(despite=facts.despite):
        what = "but for despite has no meaning without a ledger"
        raise InputError.of("release", "--fact", what, "Give --ledger.")
    return LedgerRequest(folder, facts)


def read_facts(texts: Sequence[str]) -> ReleaseFacts:
    """Read facts such as "recipients=everybody"; recodings and randomness may come again.

    Examples
    --------
    >>> read_facts(["wave=2026", "recodings=ages in tens", "recodings=no villages"]).recodings
    ('ages in tens', 'no villages')
    """
    faults = Faults("release")
    values: dict[str, Any] = {"recodings": (), "randomness": ()}
    names = ("recipients", "recodings", "randomness", "wave", "date", "despite")
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name not in names:
            faults.add("--fact", f"{text!r} is no fact", hint=f"Give {', '.join(names)}=TEXT.")
        value = value.strip()
        if name == "despite" and not value:
            faults.add("--fact", "despite gives no reason", hint="Say why: --fact despite=REASON.")
        values[name] = (*values[name], value) if name in ("recodings", "randomness") else value
    faults.raise_if_any()
    return ReleaseFacts(**values)


def read_roles(texts: Sequence[str]) -> dict[str, Any]:
    """Read roles such as "key=age" as arguments of `Ledger.check`.

    Examples
    --------
    >>> read_roles(["key=age", "key=sex", "household=hid"])
    {'keys': ['age', 'sex'], 'sensitive': [], 'household': 'hid'}
    """
    faults = Faults("ledger")
    roles: dict[str, Any] = {"keys": [], "sensitive": [], "household": None}
    for text in texts:
        role, sign, name = text.partition("=")
        if not sign or role not in ("key", "sensitive", "household"):
            hint = "Give key=COLUMN, sensitive=COLUMN or household=COLUMN."
            faults.add("--role", f"{text!r} is no role", hint=hint)
        elif role == "household":
            roles[role] = name
        else:
            roles["keys" if role == "key" else role].append(name)
    faults.raise_if_any()
    return roles
