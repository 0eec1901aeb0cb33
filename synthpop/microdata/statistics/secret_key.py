"""A secret from which draws that protect respondents come; never shown, never released."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from synthpop.microdata.messages.errors import InputError, reason_of

BYTES, FEWEST_BYTES, MOST_BYTES = 32, 16, 64
"""Of a fresh key, and of one that is given: BLAKE2b takes up to 64."""
NOTE = (
    "CONFIDENTIAL. Whoever has this file and the released data can undo the protection of the "
    "respondents. Keep it where the survey is kept; it belongs into no release."
)


@dataclass(frozen=True, slots=True)
class SecretKey:
    """16 to 64 secret bytes; its text does not show them."""

    content: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> SecretKey:
        """Return 256 bits from the operating system."""
        return cls(secrets.token_bytes(BYTES))

    def digest(self, content: bytes, size: int) -> bytes:
        """Return a keyed hash (BLAKE2b, RFC 7693): without the key it tells nothing of `content`.

        Examples
        --------
        >>> SecretKey(bytes(16)).digest(b"seed", 4) == SecretKey(bytes(17)).digest(b"seed", 4)
        False
        """
        return blake2b(content, key=self.content, digest_size=size).digest()

    def seal(self, name: str, value: Any) -> str:
        """Return a keyed hash of a named plain value, as text."""
        text = json.dumps([name, value], sort_keys=True, default=str)
        return "sealed:" + self.digest(text.encode("utf-8", "surrogatepass"), 20).hex()


Key = SecretKey | bytes | str | os.PathLike[str]
"""What functions take for a key: bytes, hexadecimal text, or the path of a ``run.key``."""


def secret_key(value: Key | None) -> SecretKey | None:
    """Return the key of an argument; a fault never repeats what was given.

    Raises InputError: too short, too long, no hexadecimal text, or a file that holds no key.

    Examples
    --------
    >>> secret_key("00" * 16) == secret_key(bytes(16)), secret_key(bytes(16))
    (True, SecretKey())
    """
    if value is None or isinstance(value, SecretKey):
        return value
    if isinstance(value, os.PathLike):
        return SecretKey(_checked(key_facts(_read(Path(value)))["key"]))
    return SecretKey(_checked(value))


def _checked(value: Any) -> bytes:
    if isinstance(value, str):
        try:
            value = bytes.fromhex(value)
        except ValueError:
            raise _fault("is text that is not hexadecimal") from None
    if not isinstance(value, bytes):
        raise _fault(f"is a {type(value).__name__}")
    if not FEWEST_BYTES <= len(value) <= MOST_BYTES:
        raise _fault(f"has {len(value)} bytes")
    return value


def _fault(what: str) -> InputError:
    hint = (
        f"Give {FEWEST_BYTES} to {MOST_BYTES} secret bytes (secrets.token_bytes(32)), the same as "
        "hexadecimal text, or the path of a run.key."
    )
    return InputError.of("random numbers", "key", what, hint)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        reason = reason_of(problem, "it is no text")
        raise _fault(f"cannot be read from {path}: {reason}") from None


def key_facts(text: str) -> dict[str, Any]:
    """Return what a key file holds: its key as text, and the seeds of its run.

    Raises InputError: it is no key file.
    """
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, Mapping) or not isinstance(facts.get("key"), str):
        raise _fault("is a file that holds no key")
    return dict(facts)


def key_text(key: SecretKey, **facts: Any) -> str:
    """Return the text of a key file; `facts` stand beside the key."""
    values = {"note": NOTE, "key": key.content.hex(), **facts}
    return json.dumps(values, indent=1) + "\n"
