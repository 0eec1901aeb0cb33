"""The key of a run, in a file of its folder that is confidential and leaves it never."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

from synthpop.microdata.formats.key_file import read_key_file, write_key_file
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import MicrodataWarning, OutputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.population.run_identity import RunIdentity

KEY_FILE = "run.key"


def read_key(root: Place) -> tuple[SecretKey, dict[str, Any]] | None:
    """Return the key of a folder and what stands beside it, the seeds; None without a key file.

    Raises OutputError: the file cannot be read, or holds no key.
    """
    return read_key_file(root / KEY_FILE)


def seed_of_key(path: Place) -> int | None:
    """Return the seed of the models that stands beside a key; None where none does.

    So a key file alone repeats a run whose run file names no seed.
    """
    found = read_key_file(path)
    seed = None if found is None else found[1].get("fit_seed")
    return seed if isinstance(seed, int) else None


def write_key(root: Place, key: SecretKey, identity: RunIdentity) -> None:
    """Write the key file: only its user may read it (mode 0600)."""
    facts = {"seed": identity.seed, "fit_seed": identity.fit_seed}
    if identity.replicate is not None and "seed" in identity.replicate:
        facts["seed_of_replicates"] = identity.replicate["seed"]
    write_key_file(root / KEY_FILE, key, **facts)


def key_of_run(
    root: Place, given: SecretKey | None, stored: RunIdentity | None
) -> SecretKey | None:
    """Return the key with which a folder is written: its own, the one given, or a fresh one.

    stored: identity that the manifest of the folder has; None where there is no run yet
    Returns None: the run of the folder began without a key.
    Raises OutputError: another key than that of the folder, or its key file is gone.
    """
    found = read_key(root)
    if found is not None:
        if given is not None and given != found[0]:
            hint = "Leave the key out, or choose another folder."
            raise OutputError(f"{root} holds a run with another key. {hint}")
        return found[0]
    if stored is None:
        return given or SecretKey.fresh()
    if given is None and stored.sealed:
        raise OutputError(
            f"the key file {root / KEY_FILE} is not there: a run goes on with the secret key that "
            "it began with. Restore the file, give its key, or choose another folder."
        )
    return given


def key_problems(root: Place, identity: RunIdentity) -> list[str]:
    """Return whether the key file of a folder is not that of its run; none at all is no fault."""
    try:
        found = read_key(root)
    except OutputError as problem:
        return [str(problem)]
    if found is None:
        return []
    key, facts = found
    seeds = {name: key.seal(name, facts.get(name)) for name in ("seed", "fit_seed")}
    fits = seeds == {name: getattr(identity, name) for name in seeds}
    return (
        []
        if fits
        else [message("{key_file} was changed: it is not the key of this run", key_file=KEY_FILE)]
    )


def warn_of_open_seed(root: Place) -> None:
    """Warn that the draws of a folder follow from the seed that stands in its manifest."""
    warnings.warn(
        MicrodataWarning(
            message(
                "{root} was made without a secret key: whoever has its manifest, or guesses "
                "the seed, finds out which households of the survey were copied. Do not "
                "release it; make it again in another folder.",
                root=root,
            )
        ),
        stacklevel=3,
    )


def warn_of_open_file(population: Any, target: Place) -> None:
    """Warn that a file is written of a population that was drawn from its seed alone."""
    identity = population.manifest.identity
    if identity.sealed or not identity.recipe:
        return
    warnings.warn(
        MicrodataWarning(
            message(
                "{target}: the population was drawn from its seed alone, without a secret key: "
                "whoever guesses the seed finds out which households of the survey were copied. "
                "Do not release it. Give simulate a key, or a folder (out=), which gets one.",
                target=target,
            )
        ),
        stacklevel=4,
    )


def seed_of_run(root: Place, stored: RunIdentity | None) -> int | None:
    """Return the seed of the fit of the run that a folder holds; None where it is not known."""
    found = read_key(root)
    if found is not None:
        with suppress(KeyError, TypeError, ValueError):
            return int(found[1]["fit_seed"])
    if stored is None or isinstance(stored.fit_seed, str):
        return None
    return stored.fit_seed
