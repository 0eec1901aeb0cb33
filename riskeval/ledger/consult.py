"""How a command that makes a release asks a ledger before, and records the release after."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from riskeval.ledger.judgement import LedgerCheck
from riskeval.ledger.ledger import Ledger, ReleaseFacts
from synthpop.microdata.messages.errors import Faults, GuaranteeError, InputError
from synthpop.microdata.roles.microdata import Microdata


@dataclass(frozen=True, slots=True)
class LedgerRequest:
    """Which ledger is asked, and what it keeps of the release.

    Attributes
    ----------
    folder : Path
    facts : ReleaseFacts
        With `despite` given the release goes out whatever the ledger says.
    """

    folder: Path
    facts: ReleaseFacts

    def consult(self, release: Microdata, *, synthetic: bool = False) -> LedgerCheck:
        """Check a release as it would leave.

        Raises GuaranteeError: it must not be published beside the earlier ones.
        """
        ledger = Ledger(self.folder)
        check = ledger.check(release, wave=self.facts.wave, synthetic=synthetic)
        if check.verdict.fatal and not self.facts.despite:
            hint = (
                f"Make it agree with them (riskeval ledger check {self.folder} FILE --consistent), "
                "or give --fact despite=REASON, which the ledger keeps. Nothing was written."
            )
            raise GuaranteeError(f"ledger: {check.summary()} {hint}")
        return check

    def record(
        self, release: Microdata, target: Path, verdict: str, *, name: str = "",
        synthetic: bool = False,
    ) -> int:  # fmt: skip
        """Record what went out in a folder, with the hash of each of its files.

        name: default, that of the folder; with a number where the ledger has it already
        """
        files = {}
        for path in sorted(target.iterdir()):
            with path.open("rb") as file:
                files[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
        facts = replace(self.facts, files=files)
        ledger = Ledger(self.folder)
        name = name or target.name
        names = set(ledger.releases["name"])
        number = next(n for n in range(1, len(names) + 2) if _named(name, n) not in names)
        return ledger.add(
            release, _named(name, number), facts=facts, verdict=verdict, synthetic=synthetic
        )


def _named(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def ledger_request(folder: Path | None, texts: Sequence[str]) -> LedgerRequest | None:
    """Return what the options of a command ask for; None without a ledger.

    Raises InputError: facts without a ledger, or that `read_facts` cannot read.
    """
    if folder is None:
        if texts:
            what = "has no meaning without a ledger"
            raise InputError.of("release", "--fact", what, "Give --ledger.")
        return None
    return LedgerRequest(folder, read_facts(texts))


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
