"""How a comparison of releases runs each attack: on samples, with its own baselines and notes.

The registry of attacks names these; an attack without one is run by a comparison as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.matching.strongest import SCENARIOS, beyond_strangers, scenario_risk
from riskeval.attacks.prediction.rapid import rapid
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import MeasureInfo, Measurement, attribution, joined
from synthpop.microdata.codes import cell_ids, encode, recode_to
from synthpop.microdata.frames import is_number
from synthpop.microdata.streams import Streams
from synthpop.microdata.text import count, plural

UNIQUES = attribution(
    "replicated_uniques", "Replicated uniques",
    "share of the original records that are unique on the keys in both files (repU)",
    "Raab, Nowok and Dibben 2024",
)  # fmt: skip
DISCO = attribution(
    "disco", "DiSCO",
    "share of the original records whose keys lead to their own value, and no other, in the "
    "release", "Raab, Nowok and Dibben 2024",
)  # fmt: skip
TCAP = attribution(
    "tcap", "Correct attribution (TCAP)",
    "share of right values among the original records whose keys lead to one released value",
    "Taub et al. 2018",
)  # fmt: skip
RAPID = attribution(
    "rapid", "Prediction (RAPID)",
    "share of the original records whose value a model trained on the release predicts",
    "Templ, Thees and Müller 2026",
)  # fmt: skip
IDENTICAL = attribution(
    "identical", "Identical records",
    "share of the released records equal to an original one in all variables",
    "a screen, never proof of safety (arXiv:2505.01524)",
)  # fmt: skip
CLOSE = attribution(
    "close", "Nearer than chance",
    "share of the released records nearer to an original one than the nearest 5 % of other "
    "persons are (of the hold-out, else of the original itself)",
    "a screen, never proof of safety (arXiv:2505.01524)",
)  # fmt: skip
MEMBERSHIP = attribution(
    "membership", "Membership",
    "probability that an intruder tells a member of the original from another person; 0.5 is "
    "guessing", "van Breugel et al. 2023", "probability",
)  # fmt: skip
N_GROUPS = 10
"""Groups in which measures that count compare a numeric target."""
PERMUTATIONS = 1
TRAINED = 5
"""Records to learn from, for each record that is predicted: a copy is seen only if it is drawn."""
BASE = 4
"""Nearness is judged for some records, against so many times as many of the other file."""


class AttackSizes(Protocol):
    """Records that the slow attacks take at most, and the model that predicts."""

    @property
    def prediction(self) -> int:
        """Original records that the intruder's model predicts."""

    @property
    def screen(self) -> int:
        """Records that are judged by nearness."""

    @property
    def model(self) -> str:
        """The intruder's model."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFiles:
    """Original and release on the levels that both have."""

    original: pd.DataFrame
    release: pd.DataFrame
    holdout: pd.DataFrame | None  # persons outside the original, on the same levels
    keys: list[str]  # keys that both files have
    variables: list[str]  # keys, sensitive and numeric variables that both files have
    sizes: AttackSizes
    seed: int
    note: str = ""  # which keys are left out
    amounts: tuple[str, ...] = ()  # variables that are numbers; all others are categories

    @property
    def by_keys(self) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
        """First arguments of the attacks that count by keys."""
        return self.original, self.release, self.keys

    def part(self, most: int, what: str) -> pd.DataFrame:
        """At most so many records of the original, drawn at random."""
        rows = drawn(len(self.original), most, Streams(self.seed), what)
        return self.original.iloc[rows].reset_index(drop=True)

    def drawn_seed(self, *names: str) -> int:
        """Seed of an attack."""
        return int(Streams(self.seed).at("compare", *names).integers(2**62))


@dataclass(frozen=True, slots=True)
class ComparedAttack:
    """How a comparison runs an attack."""

    infos: tuple[MeasureInfo, ...]  # numbers that it gives
    # function of ComparedFiles and a target to a list of Measurement
    run: Callable[[ComparedFiles, str], list[Measurement]]


def drawn(n: int, most: int, streams: Streams, what: str) -> np.ndarray:
    """Positions of at most `most` of n records, in order; the same for every release of n."""
    return drawn_rows(n, most, streams.at("compare", what, n))


def _uniques(files: ComparedFiles, target: str) -> list[Measurement]:
    result = replicated_uniques(*files.by_keys, holdout=files.holdout, draws=0)
    note = joined(files.note, beyond_strangers(result.excess), *result.notes)
    return [
        Measurement(
            UNIQUES, result.rate, records=len(files.original), baseline=result.unique_original,
            against="uniques of the original", note=note,
        )
    ]  # fmt: skip


def _disco(files: ComparedFiles, target: str) -> list[Measurement]:
    result = disco(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    note = joined(files.note, beyond_strangers(result.excess), *result.notes)
    return [
        Measurement(
            DISCO, result.rate, target, records=len(files.original),
            baseline=result.disclosive_original, against="the original", note=note,
        )
    ]  # fmt: skip


def _tcap(files: ComparedFiles, target: str) -> list[Measurement]:
    result = tcap(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    value = result.value("TCAP_original")
    targeted = result.table.loc[result.table["measure"] == "TCAP_original", "n"]
    none = "no released group has one value" if np.isnan(value) else ""
    beyond = beyond_strangers(result.excess.get("TCAP_original"))
    return [
        Measurement(
            TCAP, value, target, records=int(targeted.iloc[0]), baseline=result.baseline,
            against="drawing without keys", note=joined(files.note, none, beyond, *result.notes),
        )
    ]  # fmt: skip


def _rapid(files: ComparedFiles, target: str) -> list[Measurement]:
    sizes = files.sizes
    predicted = files.part(sizes.prediction, "prediction")
    result = rapid(
        predicted, files.release, files.keys, target, holdout=files.holdout, model=sizes.model,
        permutations=PERMUTATIONS, train_rows=TRAINED * sizes.prediction,
        seed=files.drawn_seed("prediction", target),
    )  # fmt: skip
    cut = len(predicted) < len(files.original)
    sampled = f"{plural(len(predicted), 'record')} drawn at random" if cut else ""
    outside = not np.isnan(result.holdout_rate)
    return [
        Measurement(
            RAPID, result.rate, target, records=len(predicted),
            baseline=result.holdout_rate if outside else result.permuted_rate,
            against="persons outside the original" if outside else "shuffled target",
            lower=result.interval[0], upper=result.interval[1],
            note=joined(
                files.note, sampled, f"strongest: {result.model}", beyond_strangers(result.excess)
            ),
        )
    ]  # fmt: skip


def _screen(files: ComparedFiles, target: str) -> list[Measurement]:
    """Compare all shared variables of records, and count equal ones."""
    most, y, names = files.sizes.screen, files.release, files.variables
    x = files.part(BASE * most, "screen")
    result = distance_screen(
        x, y, names, holdout=files.holdout, most_records=most, seed=files.drawn_seed("screen")
    )
    cut = max(len(files.original), len(y)) > most
    sampled = f"{plural(most, 'record')} against {count(len(x))}, drawn at random" if cut else ""
    outside = files.holdout is not None
    twins = float(files.original.duplicated(names, keep=False).mean())
    if files.holdout is not None:
        twins = identical(files.original, files.holdout, names)
    return [
        Measurement(
            IDENTICAL, identical(files.original, y, names), records=len(y),
            baseline=twins, against="persons outside the original" if outside else "the original",
        ),
        Measurement(
            CLOSE, result.close, records=min(most, len(y)), baseline=result.close_baseline,
            against=f"records of the {result.baseline}", lower=result.close_interval[0],
            upper=result.close_interval[1],
            note=joined(sampled, beyond_strangers(result.excess.get("close"))),
        ),
    ]  # fmt: skip


def _membership(files: ComparedFiles, target: str) -> list[Measurement]:
    most = BASE * files.sizes.screen
    x = files.part(most, "screen")
    rows = drawn(len(x), files.sizes.screen, Streams(files.seed), "members")
    result = membership(
        x.iloc[rows], files.release, files.variables, holdout=files.holdout, most_records=most,
        seed=files.drawn_seed("screen"),
    )  # fmt: skip
    cut = len(rows) < len(files.original)
    sampled = f"{count(len(rows))} members drawn at random" if cut else ""
    return [
        Measurement(
            MEMBERSHIP, result.auc, records=len(rows), baseline=0.5, against="guessing",
            lower=result.interval[0], upper=result.interval[1],
            note=joined(sampled, f"strongest: {result.method}"),
        )
    ]  # fmt: skip


def identical(x: pd.DataFrame, y: pd.DataFrame, names: list[str]) -> float:
    """Share of the records of `y` that equal one of `x` in all columns; missing equals missing.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [30, 41, 41], "sex": list("fmf")})
    >>> identical(table, pd.DataFrame({"age": [41.0, 30.0], "sex": ["m", "m"]}), ["age", "sex"])
    0.5
    """
    ids, n_cells = cell_ids(np.column_stack([_encoded_together(x[n], y[n]) for n in names]))
    occupied = np.zeros(n_cells, dtype=bool)
    occupied[ids[: len(x)]] = True
    return float(occupied[ids[len(x) :]].mean())


def _encoded_together(x: pd.Series, y: pd.Series) -> np.ndarray:
    """Code one column of two files, the second below the first."""
    if is_number(x) and is_number(y):
        return encode(pd.concat([x, y]))[0]
    codes, levels = encode(x)
    others, unknown = recode_to(y, levels)
    return np.concatenate([codes, np.where(unknown, len(levels), others)])


def _scenarios(files: ComparedFiles, target: str) -> list[Measurement]:
    seed = files.drawn_seed("scenarios", target)
    is_category = target not in files.amounts
    risk = scenario_risk(
        *files.by_keys, target, categorical=is_category, holdout=files.holdout, seed=seed,
        note=files.note,
    )  # fmt: skip
    return [risk]


IN_COMPARISONS = {
    "replicated_uniques": ComparedAttack((UNIQUES,), _uniques),
    "disco": ComparedAttack((DISCO,), _disco),
    "tcap": ComparedAttack((TCAP,), _tcap),
    "scenarios": ComparedAttack((SCENARIOS,), _scenarios),
    "rapid": ComparedAttack((RAPID,), _rapid),
    "membership": ComparedAttack((MEMBERSHIP,), _membership),
    "distance_screen": ComparedAttack((IDENTICAL, CLOSE), _screen),
}
"""Attacks with sample sizes, baselines or notes of their own in comparisons."""
