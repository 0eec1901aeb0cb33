"""delta-presence: how sure an intruder can be that a person is in the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.near import near_note
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.codes import cell_ids, encode, observed_patterns
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, formatted, plural
from synthpop.microdata.roles.microdata import as_file


@dataclass(frozen=True, slots=True, eq=False)
class DeltaPresence(Result):
    """How sure an intruder can be that a person of the population is in the release.

    Attributes
    ----------
    delta_min, delta_max : float
        Smallest and largest probability over the persons of the population: the release is
        (delta_min, delta_max)-present.
    probability : float64 array, shape (N,)
        Probability that each person of the population is in the release.
    n_unmatched : int
        Records of the release whose key nobody in the population has.
    keys : tuple of str
    notes : tuple of str
        Levels that nearly agree with one of the population, and so match nobody.
    """

    delta_min: float
    delta_max: float
    probability: np.ndarray
    n_unmatched: int
    keys: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per person of the population: `probability`."""
        return pd.DataFrame({"probability": self.probability})

    def summary(self) -> str:
        """Return the range of the probabilities and who is certain to be in."""
        sure = int((self.probability >= 1 - 1e-12).sum())
        text = message(
            "For a person of the population the probability of being in the release is "
            "between {delta_min} and {delta_max}; {sure} of {n} persons are certainly in "
            "it. This matters where taking part is itself sensitive; the limits are a "
            "decision of the office (Nergiz et al. 2007).",
            delta_min=formatted(self.delta_min, ".3f"),
            delta_max=formatted(self.delta_max, ".3f"),
            sure=count(sure),
            n=count(len(self.probability)),
        )
        if self.n_unmatched:
            verb = "matches" if self.n_unmatched == 1 else "match"
            records = plural(self.n_unmatched, "record")
            text += " " + message(
                "{records} of the release {verb} nobody in the population.",
                records=records,
                verb=verb,
            )
        return joined_by(" ", [text, *(note + "." for note in self.notes)])


@same_library
def delta_presence(data: Any, population: Any, keys: Sequence[str] | None = None) -> DeltaPresence:
    """Measure the probability that a person of the population is in the release.

    Parameters
    ----------
    data : table of n records
        The release. A missing key is a suppressed one: the record may be anybody who agrees with
        it on the others, and counts for each of them with equal probability.
    population : table of N records
        Everybody, with the same keys; a missing key is a value of its own here.
    keys : sequence of str

    Returns
    -------
    DeltaPresence
        Nothing is drawn at random.

    Raises
    ------
    InputError

    Notes
    -----
    Nergiz, Atzori and Clifton (2007), doi:10.1145/1247480.1247554: released records with a key
    divided by persons with that key, at most 1.

    Examples
    --------
    >>> import pandas as pd
    >>> everybody = pd.DataFrame({"age": [30, 30, 30, 40, 50]})
    >>> result = delta_presence(pd.DataFrame({"age": [30, 40]}), everybody, ["age"])
    >>> round(result.delta_min, 3), result.delta_max
    (0.0, 1.0)
    """
    faults = Faults("delta-presence")
    file, everybody = as_file(data, faults, keys=keys), as_frame(population, "population")
    release, names = file.frame, file.roles.keys
    check_columns(faults, everybody, dict.fromkeys(names), "key of the population")
    faults.raise_if_any()
    n = len(release)
    codes = np.empty((n + len(everybody), len(names)), dtype=np.int64)
    sizes = []
    for j, name in enumerate(names):
        both = pd.concat([release[name].astype(object), everybody[name].astype(object)])
        codes[:, j], levels = encode(both.reset_index(drop=True))
        sizes.append(len(levels))
    expected = np.zeros(len(everybody))
    unmatched = 0
    patterns, pattern_of = observed_patterns(codes[:n] >= 0)
    for p, observed in enumerate(patterns):
        rows = np.flatnonzero(pattern_of == p)
        both_rows = np.concatenate([rows, np.arange(n, len(codes))])
        shared = np.flatnonzero(observed)
        ids, n_ids = cell_ids(codes[np.ix_(both_rows, shared)], [sizes[j] for j in shared])
        released = np.bincount(ids[: len(rows)], minlength=n_ids)
        persons = np.bincount(ids[len(rows) :], minlength=n_ids)
        unmatched += int(released[persons == 0].sum())
        expected += (released / np.maximum(persons, 1))[ids[len(rows) :]]
    probability = np.minimum(expected, 1.0)
    notes = [
        near_note(name, release[name].dropna().unique(), everybody[name].dropna().unique())
        for name in names
    ]
    return DeltaPresence(
        delta_min=float(probability.min()) if len(probability) else 0.0,
        delta_max=float(probability.max()) if len(probability) else 0.0,
        probability=probability,
        n_unmatched=unmatched,
        keys=names,
        notes=tuple(note for note in notes if note),
    )
