"""Random streams named by what is drawn.

A stream depends on the seed and on the names it is asked for, never on positions, workers or the
order of calls, so adding a step does not change the draws of the others.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from synthpop.microdata.messages.errors import InputError

WORDS = 4


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


@dataclass(frozen=True, slots=True)
class Streams:
    """Family of independent random generators under one seed."""

    seed: int

    def at(self, *names: object) -> np.random.Generator:
        """Return the generator of these names (stage, variable, stratum, block ...).

        Names are compared by type and text, so ``1`` and ``"1"`` are different names.
        """
        digest = blake2b(digest_size=4 * WORDS)
        for name in names:
            item = name.item() if isinstance(name, np.generic) else name
            text = f"{type(item).__name__}:{item}".encode()
            digest.update(len(text).to_bytes(8, "little") + text)
        words = tuple(int(word) for word in np.frombuffer(digest.digest(), dtype="<u4"))
        return np.random.Generator(
            np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=words))
        )
