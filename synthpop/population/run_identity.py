"""What a run is of: survey, recipe, seeds and versions.

A run with a secret key is known by keyed hashes of its seeds and of what it has learned from: a
reader of the manifest can neither use the seeds nor confirm a guess of the survey.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from synthpop.microdata.formats.hashed import content_hash
from synthpop.microdata.statistics.secret_key import SecretKey
from synthpop.population.plain_values import Data, checked_values, json_values

SEALED = ("seed", "fit_seed", "survey", "models", "design")


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What tells one run from another: two runs with the same identity make the same bytes."""

    version: str  # of synthpop
    # seed, fit_seed: of the simulation and of the fit; keyed hashes of a run with a key
    seed: int | str
    fit_seed: int | str
    scale: float
    rows_per_block: int
    recipe: tuple[Data, ...] = ()  # steps with their options, as plain values
    survey: str = ""  # hash of all columns that the fit read
    models: str = ""  # hash of everything that was learned; empty where a model cannot be described
    # versions of the libraries and the core of BLAS, on which the last digits depend
    environment: Mapping[str, str] = field(default_factory=dict)
    strata: tuple[str, ...] | None = None  # the strata that were simulated, where not all were
    rules: tuple[str, ...] = ()  # edit rules of the recipe
    # number and origin of a replicate, with a note of what its spread shows
    replicate: Data | None = None
    # hash of the dictionary of variables, which the parts hold too; empty without one
    dictionary: str = ""
    key: str = ""  # tells one secret key from another; empty where the draws come from the seed

    @property
    def hash(self) -> str:
        """Hash of all of it, by which records name their run."""
        return content_hash(self.to_dict())

    @property
    def sealed(self) -> bool:
        """Whether the draws come from a secret key."""
        return bool(self.key)

    def sealed_with(self, key: SecretKey | None) -> RunIdentity:
        """Return the identity of a run with a key: seeds, survey and models as keyed hashes."""
        if key is None:
            return self
        hashes: dict[str, Any] = sealed_values(
            {name: getattr(self, name) for name in SEALED if hasattr(self, name)}, key
        )
        replicate = None if self.replicate is None else sealed_values(self.replicate, key)
        return replace(self, **hashes, replicate=replicate, key=key.seal("key", ""))

    def to_dict(self) -> Data:
        """Return plain values for JSON."""
        values = {
            **{item.name: getattr(self, item.name) for item in fields(self)},
            "recipe": list(self.recipe),
            "environment": dict(self.environment),
            "strata": None if self.strata is None else list(self.strata),
            "rules": list(self.rules),
        }
        return {n: x for n, x in values.items() if x or n not in ("dictionary", "key")}

    @classmethod
    def from_dict(cls, data: Any) -> RunIdentity:
        """Return the identity that `to_dict` described."""
        kinds: dict[str, Any] = {
            "version": str, "seed": (int, str), "fit_seed": (int, str), "scale": (int, float),
            "rows_per_block": int, "recipe": list, "survey": str, "models": str,
            "environment": dict,
        }  # fmt: skip
        values = checked_values("identity", data, kinds)
        strata = data.get("strata")
        return cls(
            **{**values, "recipe": tuple(values["recipe"])},
            strata=None if strata is None else tuple(strata),
            rules=tuple(data.get("rules", ())),
            replicate=data.get("replicate"),
            dictionary=str(data.get("dictionary", "")),
            key=str(data.get("key", "")),
        )

    def differences(self, other: RunIdentity) -> str:
        """Return in what another run differs, as words; empty where it is the same."""
        if self.key != other.key:
            return "the secret key" if self.key and other.key else "having a secret key"
        ours, theirs = json_values(self.to_dict()), json_values(other.to_dict())
        names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        return ", ".join(self._difference(name, other) for name in names)

    def _difference(self, name: str, other: RunIdentity) -> str:
        if name == "models":
            return "models (what was learned from the survey is not the same)"
        if name == "dictionary":
            return "dictionary (labels or codes of variables are not the same)"
        if name != "environment":
            return name
        pairs = {**self.environment, **other.environment}
        changed = [
            f"{key} {other.environment.get(key, 'absent')} there, "
            f"{self.environment.get(key, 'absent')} here"
            for key in pairs
            if self.environment.get(key) != other.environment.get(key)
        ]
        return f"environment ({'; '.join(changed)})"


def sealed_values(values: Mapping[str, Any], key: SecretKey) -> Data:
    """Return plain values with keyed hashes in place of seeds, survey, design and models."""
    return {n: key.seal(n, value) if n in SEALED else value for n, value in values.items()}


@dataclass(frozen=True, slots=True)
class StoredRoles:
    """Columns of ids, stratum and household size; None where the population has none."""

    household: str | None = None
    strata: str | None = None
    size: str | None = None
    person: str | None = None
