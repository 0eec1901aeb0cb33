"""Key files: a secret key and what stands beside it, readable by its user only."""

from __future__ import annotations

from typing import Any

from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import InputError, OutputError, reason_of
from synthpop.microdata.statistics.secret_key import SecretKey, key_facts, key_text, secret_key


def read_key_file(path: Place) -> tuple[SecretKey, dict[str, Any]] | None:
    """Return the key of a file and what stands beside it, as seeds; None without the file.

    Raises OutputError: the file cannot be read, or holds no key.
    """
    try:
        facts = key_facts(path.read_text(encoding="utf-8"))
        key = secret_key(facts["key"])
    except FileNotFoundError:
        return None
    except InputError:
        raise OutputError(f"{path} holds no key. Restore the file.") from None
    except (OSError, ValueError) as problem:
        reason = reason_of(problem, "it is no text")
        raise OutputError(f"{path} cannot be read: {reason}.") from None
    assert key is not None
    return key, facts


def write_key_file(path: Place, key: SecretKey, **facts: Any) -> None:
    """Write a key file with mode 0600; `facts` stand beside the key."""
    write_text(path, key_text(key, **facts), private=True)
