"""Random streams named by what is drawn.

A stream depends on the seed and on the names it is asked for, never on positions, workers or the
order of calls, so adding a step does not change the draws of the others.

Draws that protect respondents depend on a secret key too. Their streams are apart from each other:
each one begins where a keyed hash of the seed and its names says (BLAKE2b), so that what is found
out about one tells nothing about another, and its numbers are those of Philox (Salmon et al. 2011,
doi:10.1145/2063384.2063405), a cipher of few rounds, from whose numbers no way back to its key is
known. A seed of more than 64 bits, as `fresh_secret` draws, counts as a secret itself.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b
from struct import unpack

import numpy as np

from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.statistics.secret_key import SecretKey

WORDS = 4
SECRET_BITS, GUESSABLE_BITS = 128, 64
USUAL = (1234, 12345, 123456, 1234567, 12345678, 123456789, 987654321, 31415, 271828, 2**31 - 1)


def resolve_seed(seed: int | None) -> int:
    """Return `seed`, or a fresh one from the operating system to be recorded with the result.

    Raises InputError: the seed is negative or no whole number.
    """
    if seed is None:
        return secrets.randbits(63)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        what = f"must be a whole number or None, not {seed!r}"
    elif seed < 0:
        what = f"must not be negative, got {seed}"
    else:
        return int(seed)
    raise InputError.of("random numbers", "seed", what, "Give 0 or more, or none.")


def fresh_secret() -> int:
    """Return a seed of 128 bits from the operating system, the highest of them set."""
    return secrets.randbits(SECRET_BITS) | 1 << (SECRET_BITS - 1)


def guessable_numbers() -> list[int]:
    """Return what people take for a seed: 0 to 1,000, years, dates, usual sequences of digits."""
    days = np.arange("2020-01-01", "2031-01-01", dtype="datetime64[D]").astype(str)
    dates = [int(day.replace("-", "")) for day in days]
    return [*range(1001), *range(1900, 2101), *USUAL, *dates]


def is_secret(seed: int) -> bool:
    """Whether a seed is too long to be guessed.

    Examples
    --------
    >>> is_secret(1), is_secret(fresh_secret())
    (False, True)
    """
    return seed.bit_length() > GUESSABLE_BITS


@dataclass(frozen=True, slots=True)
class Streams:
    """Family of independent random generators under one seed, and under a key if there is one."""

    seed: int
    key: SecretKey | None = None

    @property
    def secret(self) -> bool:
        """Whether nobody can guess what the draws come from."""
        return self.key is not None or is_secret(self.seed)

    def at(self, *names: object) -> np.random.Generator:
        """Return the generator of these names (stage, variable, stratum, block ...).

        Names are compared by type and text, so ``1`` and ``"1"`` are different names.
        """
        if self.secret:
            start = np.random.SeedSequence(int.from_bytes(self._keyed(names, 32), "little"))
            return np.random.Generator(np.random.Philox(start))
        digest = blake2b(_text(names), digest_size=4 * WORDS).digest()
        words = unpack(f"<{WORDS}I", digest)
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=words))
        )

    def number(self, *names: object) -> int:
        """Return a seed for another family of streams: as secret as this one, else of 62 bits."""
        if not self.secret:
            return int(self.at(*names).integers(1 << 62))
        found = int.from_bytes(self._keyed(("number", *names), SECRET_BITS // 8), "little")
        return found | 1 << (SECRET_BITS - 1)

    def _keyed(self, names: tuple[object, ...], size: int) -> bytes:
        key = self.key or SecretKey(b"")
        return key.digest(_text((int(self.seed),)) + _text(names), size)


def _text(names: tuple[object, ...]) -> bytes:
    """Return names as bytes, each with its type and behind its length."""
    texts = []
    for name in names:
        item = name.item() if isinstance(name, np.generic) else name
        text = f"{type(item).__name__}:{item}".encode()
        texts.append(len(text).to_bytes(8, "little") + text)
    return b"".join(texts)
