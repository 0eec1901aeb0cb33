"""How a comparison of releases runs each attack: on samples, with its own baselines and notes.

The registry of attacks names these; an attack without one is run by a comparison as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from riskeval.attacks.counting.attribution import disco, replicated_uniques, tcap
from riskeval.attacks.distance.membership import distance_screen, membership
from riskeval.attacks.matching.strongest import beyond_strangers, scenario_risk
from riskeval.attacks.numbers import (
    INFOS,
    OUTSIDE,
    AttackNumber,
    disco_numbers,
    membership_numbers,
    rapid_numbers,
    screen_numbers,
    tcap_numbers,
    unique_numbers,
)
from riskeval.attacks.prediction.rapid import rapid
from riskeval.shared.files import drawn_rows
from riskeval.shared.measurement import MeasureInfo, Measurement, joined
from synthpop.microdata.frame.codes import cell_ids, encode, recode_to
from synthpop.microdata.frame.frames import is_number
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, plural
from synthpop.microdata.statistics.streams import Streams

N_GROUPS = 10
"""Groups in which measures that count compare a numeric target."""
PERMUTATIONS = 1
TRAINED = 5
"""Records to learn from, for each record that is predicted: a copy is seen only if it is drawn."""
BASE = 4
"""Nearness is judged for some records, against so many times as many of the other file."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedFiles:
    """Original and release on the levels that both have."""

    original: pd.DataFrame
    release: pd.DataFrame
    holdout: pd.DataFrame | None  # persons outside the original, on the same levels
    keys: list[str]  # keys that both files have
    variables: list[str]  # keys, sensitive and numeric variables that both files have
    n_predicted: int  # original records that the intruder's model predicts, at most
    n_screened: int  # records that are judged by nearness, at most
    model: str  # the intruder's model
    seed: int
    note: str = ""  # which keys are left out
    amounts: tuple[str, ...] = ()  # variables that are numbers; all others are categories

    @property
    def by_keys(self) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
        """First arguments of the attacks that count by keys."""
        return self.original, self.release, self.keys

    def drawn_records(self, most: int, what: str) -> pd.DataFrame:
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


def _shown(number: AttackNumber, records: int, *notes: str) -> Measurement:
    """A number under its title by itself, with its records and how it was obtained."""
    one = number.measurement
    return replace(one, info=INFOS[one.info.name], records=records, note=joined(*notes))


def _uniques(files: ComparedFiles, target: str) -> list[Measurement]:
    result = replicated_uniques(*files.by_keys, holdout=files.holdout, draws=0)
    return _counted(files, unique_numbers(result)[0], result)


def _disco(files: ComparedFiles, target: str) -> list[Measurement]:
    result = disco(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    return _counted(files, disco_numbers(result)[0], result)


def _counted(files: ComparedFiles, number: AttackNumber, result: Any) -> list[Measurement]:
    n, beyond = len(files.original), beyond_strangers(number.excess)
    return [_shown(number, n, files.note, beyond, *result.notes)]


def _tcap(files: ComparedFiles, target: str) -> list[Measurement]:
    result = tcap(*files.by_keys, target, holdout=files.holdout, n_groups=N_GROUPS, draws=0)
    number = tcap_numbers(result)[1]
    targeted = result.table.loc[result.table["measure"] == "TCAP_original", "n"]
    none = message("no released group has one value") if np.isnan(number.measurement.value) else ""
    beyond = beyond_strangers(number.excess)
    return [_shown(number, int(targeted.iloc[0]), files.note, none, beyond, *result.notes)]


def _rapid(files: ComparedFiles, target: str) -> list[Measurement]:
    predicted = files.drawn_records(files.n_predicted, "prediction")
    result = rapid(
        predicted, files.release, files.keys, target, holdout=files.holdout, model=files.model,
        permutations=PERMUTATIONS, train_rows=TRAINED * files.n_predicted,
        seed=files.drawn_seed("prediction", target),
    )  # fmt: skip
    number, cut = rapid_numbers(result)[0], len(predicted) < len(files.original)
    sampled = message("{n} drawn at random", n=plural(len(predicted), "record")) if cut else ""
    strongest, beyond = (
        message("strongest: {text}", text=result.model),
        beyond_strangers(result.excess),
    )
    return [_shown(number, len(predicted), files.note, sampled, strongest, beyond)]


def _screen(files: ComparedFiles, target: str) -> list[Measurement]:
    """Compare all shared variables of records, and count equal ones."""
    most, y, names = files.n_screened, files.release, files.variables
    x = files.drawn_records(BASE * most, "screen")
    result = distance_screen(
        x, y, names, holdout=files.holdout, most_records=most, seed=files.drawn_seed("screen")
    )
    close = next(one for one in screen_numbers(result) if one.measurement.info.name == "close")
    cut = max(len(files.original), len(y)) > most
    sampled = (
        message("{most} against {n}, drawn at random", most=plural(most, "record"), n=count(len(x)))
        if cut
        else ""
    )
    twins, against = (
        float(files.original.duplicated(names, keep=False).mean()),
        message("the original"),
    )
    if files.holdout is not None:
        twins, against = identical(files.original, files.holdout, names), OUTSIDE
    return [
        Measurement(
            INFOS["identical"], identical(files.original, y, names), records=len(y),
            baseline=twins, against=against,
        ),
        _shown(close, min(most, len(y)), sampled, beyond_strangers(close.excess)),
    ]  # fmt: skip


def _membership(files: ComparedFiles, target: str) -> list[Measurement]:
    most = BASE * files.n_screened
    x = files.drawn_records(most, "screen")
    rows = drawn(len(x), files.n_screened, Streams(files.seed), "members")
    result = membership(
        x.iloc[rows], files.release, files.variables, holdout=files.holdout, most_records=most,
        seed=files.drawn_seed("screen"),
    )  # fmt: skip
    cut = len(rows) < len(files.original)
    sampled = message("{n} members drawn at random", n=count(len(rows))) if cut else ""
    number = membership_numbers(result)[0]
    return [_shown(number, len(rows), sampled, message("strongest: {text}", text=result.method))]


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
    return [
        scenario_risk(
            *files.by_keys, target, categorical=is_category, holdout=files.holdout, seed=seed,
            note=files.note,
        )
    ]  # fmt: skip


IN_COMPARISONS = {
    "replicated_uniques": ComparedAttack((INFOS["replicated_uniques"],), _uniques),
    "disco": ComparedAttack((INFOS["disco"],), _disco),
    "tcap": ComparedAttack((INFOS["tcap"],), _tcap),
    "scenarios": ComparedAttack((INFOS["scenarios"],), _scenarios),
    "rapid": ComparedAttack((INFOS["rapid"],), _rapid),
    "membership": ComparedAttack((INFOS["membership"],), _membership),
    "distance_screen": ComparedAttack((INFOS["identical"], INFOS["close"]), _screen),
}
"""Attacks with sample sizes, baselines or notes of their own in comparisons."""
