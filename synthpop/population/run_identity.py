"""What a run is of: survey, recipe, seeds and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from synthpop.microdata.formats.hashed import content_hash
from synthpop.population.plain_values import Data, checked_values, json_values


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """What tells one run from another: two runs with the same identity make the same bytes."""

    version: str  # of synthpop
    # seed, fit_seed: of the simulation and of the fit
    seed: int
    fit_seed: int
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

    @property
    def hash(self) -> str:
        """Hash of all of it, by which records name their run."""
        return content_hash(self.to_dict())

    def to_dict(self) -> Data:
        """Return plain values for JSON."""
        values = {
            **{item.name: getattr(self, item.name) for item in fields(self)},
            "recipe": list(self.recipe),
            "environment": dict(self.environment),
            "strata": None if self.strata is None else list(self.strata),
            "rules": list(self.rules),
        }
        if not self.dictionary:
            del values["dictionary"]
        return values

    @classmethod
    def from_dict(cls, data: Any) -> RunIdentity:
        """Return the identity that `to_dict` described."""
        kinds: dict[str, Any] = {
            "version": str, "seed": int, "fit_seed": int, "scale": (int, float),
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
        )

    def differences(self, other: RunIdentity) -> str:
        """Return in what another run differs, as words; empty where it is the same."""
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


@dataclass(frozen=True, slots=True)
class StoredRoles:
    """Columns of ids, stratum and household size; None where the population has none."""

    household: str | None = None
    strata: str | None = None
    size: str | None = None
    person: str | None = None
