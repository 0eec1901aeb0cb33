"""Prosecutor, journalist and marketer: three intruders, and the k-map of a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.matching import match_counts
from riskeval.keys.table import check_treatment, key_table
from riskeval.measures.counts import counts_of
from riskeval.measures.entry import Measure, person_risk
from riskeval.measures.individual import risk_of_counts
from riskeval.measures.request import AssessRequest
from riskeval.shared.measurement import Measurement
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.codes import cell_ids, observed_patterns, recode_to
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Between, check
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted, number, percent, plural
from synthpop.microdata.roles.microdata import Microdata, as_file

THRESHOLD = 0.2
"""Risk of a record that is usually accepted for a public file: at least five alike."""


@dataclass(frozen=True, slots=True, eq=False)
class AttackerRisk(TableResult):
    """Risk of a file against the three intruders of the literature.

    Attributes
    ----------
    table : DataFrame
        One row per intruder: `attacker`, `highest` (of a record), `mean` (over records), `above`
        (records with a risk above the threshold), `share_above`. The risk of the marketer, who
        matches everybody, is the mean; the other columns are missing there.
    prosecutor, journalist : float64, shape (n,)
        Risk of each record: 1 / f, f the records with its keys; and 1 / F, or its expectation
        given f, F the persons of the population with its keys.
    k_map : float
        The smallest F of a record; from weights it is an estimate.
    f, F : float64, shape (n,)
    keys : tuple of str
    threshold : float
    source : str
        Where F is from: "population", "weights" or "file".
    n_unmatched : int
        Records whose keys nobody of the population has; their F counts as f.
    """

    table: pd.DataFrame
    prosecutor: np.ndarray
    journalist: np.ndarray
    k_map: float
    f: np.ndarray
    F: np.ndarray
    keys: tuple[str, ...]
    threshold: float
    source: str
    n_unmatched: int

    def violations(self, k: float) -> int:
        """Return the records whose keys fewer than k persons of the population have (k-map)."""
        return int((k * (1 - 1e-12) > self.F).sum())

    def summary(self) -> str:
        """Say what each intruder reaches."""
        highest, mean, above = (
            self.table[name].to_numpy(dtype=np.float64) for name in ("highest", "mean", "above")
        )
        text = message(
            "An intruder who knows that somebody is in the file (prosecutor) links the "
            "most exposed of {n} with probability {highest}; {n_2} are above {threshold}. "
            "One who looks for anybody (journalist) reaches {highest_2}, with {n_3} above. "
            "One who matches the whole file (marketer) is right for {mean} of the records.",
            n=plural(len(self.f), "record"),
            highest=number(highest[0]),
            n_2=count(int(above[0])),
            threshold=formatted(self.threshold, "g"),
            highest_2=number(highest[1]),
            n_3=count(int(above[1])),
            mean=percent(mean[2]),
        )
        if self.source == "file":
            return text + (
                " "
                + message(
                    "Without a population or weights the file counts as the population, so that "
                    "journalist and prosecutor are the same."
                )
            )
        how = message("estimated from the weights") if self.source == "weights" else "counted"
        text += " " + message(
            "Persons of the population are {how}: the rarest key of the file belongs to "
            "{k_map} of them (k-map).",
            how=how,
            k_map=number(self.k_map),
        )
        if self.n_unmatched:
            text += " " + message(
                "{n_unmatched} match nobody in the population.",
                n_unmatched=plural(self.n_unmatched, "record"),
            )
        return text


@same_library
def attacker_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    population: Any = None,
    weights: Any = None,
    threshold: float = THRESHOLD,
    missing: str = "wildcard",
) -> AttackerRisk:
    """Measure the risk of a file against the prosecutor, the journalist and the marketer.

    Parameters
    ----------
    data, keys, weights
        The file and its roles: see `Microdata`. With weights, F given f is negative binomial, as in
        `individual_risk`, and the risk of the journalist its expectation.
    population : table of N records, optional
        Everybody, with the same keys, missing ones a value of their own: F is counted there, and a
        record with missing keys may be anybody who has the others. Not beside `weights`.
    threshold : float, 0 to 1
        Records with a risk above it are counted.
    missing : str
        Treatment of missing keys in f: see `frequency_counts`.

    Returns
    -------
    AttackerRisk
        Nothing is drawn at random.

    Raises
    ------
    InputError
        Unknown columns, population and weights together, a threshold outside 0 to 1.

    Notes
    -----
    El Emam and Dankar (2008), doi:10.1197/jamia.M2716; Dankar and El Emam (2010),
    doi:10.1145/1754239.1754271 (marketer); k-map: Sweeney (2002),
    doi:10.1142/S0218488502001648.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 30, 40]})
    >>> everybody = pd.DataFrame({"age": [30] * 4 + [40] * 2})
    >>> risk = attacker_risk(people, ["age"], population=everybody)
    >>> risk.table["highest"].tolist()[:2], risk.k_map
    ([1.0, 0.5], 2.0)
    """
    faults = Faults("attacker risk")
    file = as_file(data, faults, keys=keys, weights=weights, columns=())
    check_treatment(faults, missing)
    names = file.roles.keys
    everybody = None if population is None else as_frame(population, "population", (names,))
    if everybody is not None:
        check_columns(faults, everybody, dict.fromkeys(names), "key of the population")
        if weights is not None:
            faults.add("weights", "are given beside a population", hint="Give one of the two.")
    check(faults, {"threshold": Between(0, 1)}, {"threshold": threshold})
    if len(file) == 0:
        faults.add("data", "have no records")
    faults.raise_if_any()
    table = key_table(file)
    f = match_counts(table, missing)[0][table.cell]
    unmatched = 0
    if everybody is not None:
        persons = _persons(file, everybody)
        unmatched = int((persons == 0).sum())
        larger = np.where(persons > 0, persons, f)
        journalist, source = 1 / larger, "population"
    elif file.weights is not None:
        estimate = risk_of_counts(counts_of(file, missing, 1.0), file)
        larger, journalist, source = estimate.F, estimate.risk, "weights"
    else:
        larger, journalist, source = f, 1 / f, "file"
    rows = [_row("prosecutor", 1 / f, threshold), _row("journalist", journalist, threshold)]
    rows.append({"attacker": "marketer", "mean": float(journalist.mean())})
    return AttackerRisk(
        table=pd.DataFrame(rows), prosecutor=1 / f, journalist=journalist,
        k_map=float(larger.min()), f=f, F=larger, keys=names, threshold=float(threshold),
        source=source, n_unmatched=unmatched,
    )  # fmt: skip


def _row(attacker: str, risk: np.ndarray, threshold: float) -> dict[str, Any]:
    above = int((risk > threshold * (1 + 1e-12)).sum())
    return {
        "attacker": attacker, "highest": float(risk.max()), "mean": float(risk.mean()),
        "above": above, "share_above": above / len(risk),
    }  # fmt: skip


def _persons(file: Microdata, everybody: pd.DataFrame) -> np.ndarray:
    """Persons of the population who agree with each record wherever it has a key, (n,)."""
    names = file.roles.keys
    coded = file.coded(names)
    others = np.empty((len(everybody), len(names)), dtype=np.int64)
    for j, name in enumerate(names):
        codes, unknown = recode_to(everybody[name], coded.levels[j])
        others[:, j] = np.where(unknown, len(coded.levels[j]), codes)
    n_persons = np.zeros(len(file))
    patterns, of_pattern = observed_patterns(coded.codes >= 0)
    for p, observed in enumerate(patterns):
        rows = np.flatnonzero(of_pattern == p)
        both = np.vstack([coded.codes[rows][:, observed], others[:, observed]])
        ids, n_ids = cell_ids(both)
        persons = np.bincount(ids[len(rows) :], minlength=n_ids)
        n_persons[rows] = persons[ids[: len(rows)]]
    return n_persons


SOURCE = "El Emam and Dankar 2008"
PROSECUTOR = person_risk(
    "prosecutor_risk", "Highest risk against the prosecutor", "probability",
    "probability that an intruder who knows that somebody is in the file links the most exposed "
    "record", SOURCE, single=True,
)  # fmt: skip
JOURNALIST = person_risk(
    "journalist_above", "Records at risk from the journalist", "records",
    "records that an intruder who looks for anybody of the population links with a probability "
    "above the threshold", SOURCE,
)  # fmt: skip
MARKETER = person_risk(
    "marketer_risk", "Risk from the marketer", "probability",
    "share of the records that an intruder who matches the whole file with the population links "
    "correctly", "Dankar and El Emam 2010",
)  # fmt: skip
K_MAP = person_risk(
    "k_map", "k-map", "value", "persons of the population who share the rarest key", "Sweeney 2002",
    better="high", single=True,
)  # fmt: skip


def run_attackers(request: AssessRequest) -> AttackerRisk:
    """Run the three intruders on a population table where there is one, else on the weights."""
    arguments = request.arguments("attacker_risk", missing=request.counts.missing)
    return attacker_risk(request.file, **arguments)


def of_attackers(result: AttackerRisk, request: AssessRequest) -> list[Measurement]:
    """Highest risk, and what is known of the population: records above the threshold and k-map.

    Without a population table the marketer's risk is the mean individual risk.
    """
    measured = [request.measured(PROSECUTOR, result.prosecutor.max())]
    if result.source == "file":
        return measured
    how = (
        message("counted in the population")
        if result.source == "population"
        else message("from the weights")
    )
    above = result.table.set_index("attacker")["above"]["journalist"]
    measured += [
        request.measured(
            JOURNALIST,
            above,
            note=message(
                "threshold {threshold}; {how}", threshold=formatted(result.threshold, "g"), how=how
            ),
        ),
        request.measured(K_MAP, result.k_map, note=how),
    ]
    if result.source == "population":
        measured.append(request.measured(MARKETER, result.journalist.mean(), note=how))
    return measured


MEASURE = Measure(
    name="attacker_risk",
    rank=50,
    title="Prosecutor, journalist, marketer",
    question="What does each of the three intruders of the literature on health data reach?",
    blind_spots=(
        "intruders with wrong keys; without a population the journalist rests on the weights"
    ),
    source="El Emam and Dankar 2008",
    function=attacker_risk,
    run=run_attackers,
    measurements=of_attackers,
    options=("population", "threshold"),
    compared=False,
)
