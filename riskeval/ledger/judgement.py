"""What a new release tells together with all earlier ones, and the verdict on that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.ledger.columns import Readable
from riskeval.ledger.knowledge import (
    EarlierRelease,
    Knowledge,
    Told,
    below,
    certain,
    code,
    together,
)
from riskeval.verdict.file import FEW_CELLS, READ_BACK
from riskeval.verdict.neighbours import NOTABLE
from riskeval.verdict.verdict import EXCEEDED, STOP, Finding, ReleaseVerdict, verdict_of
from synthpop.microdata.messages.message import Message, message
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import count, join, number, percent, plural

ASSUMED = "whoever holds both files joins them by the columns that they share"
FEW_COPIES = 0.05
MOST_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False)
class LedgerCheck(Result):
    """A new release beside all earlier ones of the survey.

    Attributes
    ----------
    verdict : ReleaseVerdict
        On all releases together; what the release says by itself is not judged here.
    k : int
    links : DataFrame
        One row an earlier release: linked (records), right (share of links that are no chance),
        by (columns that group the records).
    below_alone, below : bool arrays, shape (n,)
        Records that fewer than k share on the keys: of this release, and of all together.
    certain_alone, certain : bool arrays, shape (n,)
        Records that share their keys with k or more who all have one sensitive value.
    told : DataFrame
        What each earlier release adds to a column: column, release, kind, n (cells), value.

    Examples
    --------
    >>> import tempfile
    >>> from riskeval import Ledger
    >>> people = pd.DataFrame({"age": [30, 30, 30, 41], "pay": [900, 950, 990, 1010]})
    >>> check = Ledger(tempfile.mkdtemp()).check(people, keys="age")
    >>> check.below_alone.tolist(), check.verdict.not_tried
    ([False, False, False, True], ('the ledger has no earlier release',))
    """

    verdict: ReleaseVerdict
    k: int
    links: pd.DataFrame
    below_alone: np.ndarray
    below: np.ndarray
    certain_alone: np.ndarray
    certain: np.ndarray
    told: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return one row a record: rare by itself, rare and certain with all releases."""
        return pd.DataFrame(
            {"record": np.arange(len(self.below)), "below_alone": self.below_alone,
             "below": self.below, "certain_alone": self.certain_alone, "certain": self.certain}
        )  # fmt: skip

    def summary(self) -> str:
        """Say how many records all releases together leave below k, and the verdict."""
        return message(
            "With {earlier} {together} of {all} records match fewer than {k} ({alone} "
            "by this release alone). {verdict}", earlier=plural(len(self.links), "earlier release"),
            together=count(int(self.below.sum())), all=count(len(self.below)), k=self.k,
            alone=count(int(self.below_alone.sum())), verdict=self.verdict.summary(),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LedgerQuestion:
    """What is asked of all releases together."""

    keys: Sequence[str]  # of all releases
    own_keys: Sequence[str]  # of the new one
    sensitive: Sequence[str]
    k: int
    wave: str  # the time to which the new release refers
    synthetic: bool  # whether its records stand for no persons


def judged(
    new: Mapping[str, Readable], question: LedgerQuestion, earlier: Sequence[EarlierRelease],
    found: Sequence[Finding] = (),
) -> LedgerCheck:  # fmt: skip
    """Measure k, linkage and attribution on all releases together, and judge them.

    found: what was seen before linking
    """
    k, wave, synthetic = question.k, question.wave, question.synthetic
    n = len(next(iter(new.values())).hash) if new else 0
    alone_codes = {name: code(new[name].hash) for name in question.own_keys if name in new}
    knowledge = together(new, question.keys, earlier, n, wave)
    alone = np.zeros(n, dtype=bool) if synthetic else below(alone_codes, k, n)
    both = np.zeros(n, dtype=bool) if synthetic else below(knowledge.codes, k, n)
    for one in earlier:  # k candidates or more: nobody knows which
        both &= ~one.links.guessed if one.links.guessed is not None else True
    both |= alone  # what one file tells by itself no other takes back
    certain_alone, certain_both = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    for name in () if synthetic else question.sensitive:
        if name in new:
            certain_alone |= certain(alone_codes, code(new[name].hash), k)
        values = together(new, [name], earlier, n, wave).codes.get(name)
        if values is not None:
            certain_both |= certain(knowledge.codes, values, k)
    for one in earlier:
        certain_both &= ~one.links.guessed if one.links.guessed is not None else True
    certain_both |= certain_alone
    rare = _rare(alone, both, certain_alone, certain_both, k, earlier)
    findings = [*found, *rare, *_told(knowledge, n, bool(rare))]
    findings += _noise(new, earlier, wave)
    findings += _copies(new, earlier, synthetic)
    met, not_tried = _open(earlier, alone, both, synthetic)
    links = pd.DataFrame(
        [{"release": one.name, "linked": one.links.n_linked, "right": one.links.right,
          "by": ", ".join(one.links.by), "through": ", ".join(one.through)} for one in earlier],
        columns=["release", "linked", "right", "by", "through"],
    )  # fmt: skip
    return LedgerCheck(
        verdict_of(findings, [], met=met, not_tried=not_tried), k, links, alone, both,
        certain_alone, certain_both, pd.DataFrame(knowledge.told, columns=Told._fields),
    )  # fmt: skip


def _rare(
    alone: np.ndarray, both: np.ndarray, certain_alone: np.ndarray, certain_both: np.ndarray,
    k: int, earlier: Sequence[EarlierRelease],
) -> list[Finding]:  # fmt: skip
    names = join([one.name for one in earlier if one.links.n_linked][:MOST_NAMED])
    found = []
    texts = (
        "together with {names} {n} of {all} records match fewer than {k}, {alone} by this file "
        "alone",
        "together with {names} {n} of {all} records share their keys with {k} or more who all have "
        "one sensitive value, {alone} by this file alone",
    )
    pairs = ((alone, both), (certain_alone, certain_both))
    titles = ("rare with earlier releases", "certain with earlier releases")
    for (before, after), text, title in zip(pairs, texts, titles, strict=True):
        added = int(after.sum()) - int(before.sum())
        if added > 0:
            told = message(text, names=names, n=count(int(after.sum())), all=count(len(after)),
                           k=k, alone=count(int(before.sum())))  # fmt: skip
            level = STOP if added > NOTABLE * len(after) else EXCEEDED
            found.append(Finding(title, told, level, float(added), 0.0, "no record more than alone",
                                 int(after.sum()), assumed=ASSUMED))  # fmt: skip
    return found


def _told(knowledge: Knowledge, n: int, rare: bool) -> list[Finding]:
    """Return crossing classes, votes, and the suppressed cells that make records rare."""
    found = []
    for one in knowledge.told:
        share = one.n / max(n, 1)
        values = {"column": one.column, "release": one.release, "n": count(one.n)}
        enough = rare and one.n >= max(FEW_CELLS, READ_BACK * READ_BACK * n)
        if one.kind in ("shown there", "hidden there") and enough:
            text = (
                "{n} missing values of {column} stand in {release}" if one.kind == "shown there"
                else "{n} values of {column} that are missing in {release} stand in this file"
            )  # fmt: skip
            title = "suppressed in one release only"
            found.append(Finding(title, message(text, **values), EXCEEDED, share,
                                 READ_BACK * READ_BACK, "chance and harmless exceptions", one.n,
                                 (one.column,), ASSUMED))  # fmt: skip
        elif one.kind == "classes" and one.n:
            text = message(
                "the classes of {column} cross those of {release}: {n} values lie in a narrower "
                "range together", **values,
            )  # fmt: skip
            found.append(Finding("crossing classes", text, EXCEEDED, share, 0.0,
                                 "nested classes tell nothing more", one.n, (one.column,),
                                 ASSUMED))  # fmt: skip
        elif one.kind == "history" and enough:
            text = message(
                "{n} values of {column} are others than in {release}: who knows both recognises "
                "more persons", **values,
            )  # fmt: skip
            found.append(Finding("changes between waves", text, EXCEEDED, share, None, "", one.n,
                                 (one.column,), ASSUMED))  # fmt: skip
        elif one.kind == "votes" and one.n:
            text = message(
                "each release changed other values of {column} at random: {n} true values follow "
                "from what the releases agree on, on average with probability {p}",
                p=percent(one.value, 0), **values,
            )  # fmt: skip
            found.append(Finding("changes that wear off", text, EXCEEDED, one.value, None, "",
                                 one.n, (one.column,),
                                 "changes were drawn for each release anew"))  # fmt: skip
    return found


def _noise(
    new: Mapping[str, Readable], earlier: Sequence[EarlierRelease], wave: str
) -> list[Finding]:
    """Return amounts whose noise was drawn anew: m releases cut its error by the root of m."""
    found = []
    for name, column in new.items():
        spreads, names = [], []
        for one in earlier:
            way = one.links.ways.get(name)
            rows = np.flatnonzero(one.links.record >= 0)
            if one.synthetic or way is None or way.kind != "near" or one.wave != wave:
                continue
            if not len(rows):
                continue
            other = one.columns[name]
            assert column.low is not None
            assert other.low is not None
            x, y = column.low[rows], other.low[one.links.record[rows]]
            known = np.isfinite(x) & np.isfinite(y)
            gaps = x[known] - y[known]
            spreads.append(1.4826 * float(np.median(np.abs(gaps - np.median(gaps)))) / np.sqrt(2))
            names.append(one.name)
        if spreads:
            m = len(spreads) + 1
            size = float(np.mean(spreads))
            text = message(
                "the noise of {column} (about {size}) is another one in {names}: the average of "
                "{m} releases is wrong by {left} only", column=name, size=number(size),
                names=join(names[:MOST_NAMED]), m=count(m), left=number(size / np.sqrt(m)),
            )  # fmt: skip
            found.append(Finding("noise that averages out", text, EXCEEDED, 1 / np.sqrt(m), 1.0,
                                 "noise drawn once a survey", columns=(name,),
                                 assumed=ASSUMED))  # fmt: skip
    return found


def _copies(
    new: Mapping[str, Readable], earlier: Sequence[EarlierRelease], synthetic: bool
) -> list[Finding]:
    """Return amounts of a synthetic file that an earlier one has to the last digit.

    Values a step of the column's own precision beside them, which no file holds for a reason, say
    how many meet by chance; round values are left out.
    """
    found = []
    for one in earlier if synthetic else ():
        if not one.synthetic:
            continue
        for name, column in new.items():
            other = one.columns.get(name)
            if other is None or column.kind != "numbers" or other.kind != "numbers":
                continue
            if np.array_equal(np.sort(column.hash), np.sort(other.hash)):
                continue  # the same file again tells nothing more
            excess, n = same_amounts(column, other)
            if excess > FEW_COPIES:
                text = message(
                    "{share} of the amounts of {column} stand in {release} to the last digit "
                    "beyond chance: both copied them from the survey", share=percent(excess, 0),
                    column=name, release=one.name,
                )  # fmt: skip
                found.append(Finding("amounts that recur", text, STOP, excess, FEW_COPIES,
                                     "chance", n, (name,)))  # fmt: skip
    return found


def same_amounts(column: Readable, other: Readable) -> tuple[float, int]:
    """Return the share of precise amounts that another file has, beyond chance, and their number.

    Precise amounts are those of more than three digits that are not round.
    """
    assert column.low is not None
    assert other.low is not None
    values = np.unique(column.low[np.isfinite(column.low)])
    step = next(
        (s for s in (1.0, 0.1, 0.01, 0.001) if np.allclose(values / s, np.rint(values / s))), 0.0
    )
    if not step:
        step = float(np.median(np.abs(values)) * 1e-9) if len(values) else 0.0
        scaled = np.rint(values / step) if step else values
    else:
        scaled = np.rint(values / step)
    precise = scaled[(np.abs(scaled) >= 1000) & (scaled % 10 != 0)]
    if len(precise) < 100 or not step:
        return 0.0, 0
    there = np.unique(np.rint(other.low[np.isfinite(other.low)] / step))
    held = np.isin(precise, there)
    beside = np.concatenate([precise + side for side in (-2, 2)])
    chance = np.isin(beside[beside % 10 != 0], there).mean()
    return float(held.mean() - chance), int(held.sum())


def _open(
    earlier: Sequence[EarlierRelease], alone: np.ndarray, both: np.ndarray, synthetic: bool
) -> tuple[list[Message | str], list[Message | str]]:
    """Return what was asked and answered well, and what was not tried."""
    met: list[Message | str] = []
    left: list[Message | str] = []
    if not earlier:
        left.append(message("the ledger has no earlier release"))
    linked = [one for one in earlier if one.links.n_linked]
    if linked and both.sum() <= alone.sum():
        met.append(message("No record is rarer together with earlier releases than alone"))
    apart = [one.name for one in earlier if not one.links.n_linked]
    if apart:
        met.append(message("No record was linked to {names} beyond chance", names=join(apart)))
    large = {one.name: one.links.n_not_compared for one in earlier if one.links.n_not_compared}
    for name, n in large.items():
        left.append(
            message("{n} records were too alike to be compared with {name}", n=count(n), name=name)
        )
    if synthetic and earlier:
        left.append(
            message("whether several synthetic files of one fit tell who was in the survey")
        )
    return met, left
