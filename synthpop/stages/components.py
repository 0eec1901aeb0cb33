"""Splitting a total into components by resampling fractions (book section 6.2.4)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synthpop.conditional.draw import systematic_uniforms
from synthpop.conditional.encodings import Encodings, make_encodings
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.codes import DENSE_CELLS
from synthpop.microdata.frame.dataset import Field, numbers
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.parameters import Flag, check, check_choice
from synthpop.microdata.messages.text import count as count_text
from synthpop.models.decimals import NEARLY, decimals_of
from synthpop.models.encoding import DECILES_AND_TAILS, split_cells, strides
from synthpop.models.share_kernel import concentrations, split_near
from synthpop.stages.base import (
    DECIMALS,
    BlockStage,
    StageModel,
    check_in_survey,
    check_numeric_field,
)
from synthpop.stages.entry import StageEntry

EMPTY = ("nearest", "sequential")
SHARES = ("near the donor", "of the donor")
SUM_TOLERANCE = 1e-6
SMALLEST_SHARE = 0.01
FEWEST_DONORS = 30


@dataclass(frozen=True, slots=True)
class Components(BlockStage):
    """Split a simulated total into its parts.

    A donor is drawn from the sample persons of the same cell, with probability proportional to its
    weight, and its fractions are applied to the total (book eq. 6.15 and 6.16). Negative totals
    have donors of their own, with negative totals. The donors of a cell are grouped by their total,
    30 or more to a group where there are so many, and the donor comes from the group that the
    person's total lies in: fractions depend on the total inside a cell too.

    Parameters
    ----------
    total : str
        A numeric variable that the population has at this step and the survey too.
    parts : list of str
        Numeric columns of the survey that add up to the total; a missing part counts as zero
        where the total is there.
    by : list of str
        Variables that make the cells; the population has them at this step. The total itself is a
        good one: fractions depend on it. A number with many values is cut at its weighted deciles
        and at 1, 5, 95, 97.5 and 99 %.
    empty : "nearest" or "sequential"
        What to do in a cell without donors. "nearest": take the nearest cell that has some, by
        Manhattan distance over the variables of `by` (difference of positions of an ordered
        variable or a number in classes, 0 or 1 otherwise). "sequential": the nearest of those
        that agree in the first variable of `by`; where there is none, in the second, and so on.
        Of several cells at the same distance the one with most donors. The distance is recorded.
    decimals : "survey", int or None
        Decimals of the parts: as many as the survey's parts have (up to six), so many, or all that
        the division gives. The largest part takes up what rounding leaves.
    shares : "near the donor" or "of the donor"
        "near the donor": shares are drawn from a Dirichlet distribution around those of the donor,
        so that the population does not carry the exact vector of shares of a respondent; means of
        shares stay, the variance among donors with the same parts grows by 1 %, a part of zero
        stays zero (`synthpop.models.share_kernel`). "of the donor": the very shares of the donor.
    unsplit : bool
        Whether the total may be there where all parts are zero or all are missing, as of persons
        who were asked for the total only. They are donors like others: who gets one of them has
        parts of zero, or missing ones. Default: such rows are refused.

    Notes
    -----
    Sample persons whose total is below 1 % of the sum of their absolute parts are not donors: their
    fractions would blow up other totals. The parts of a person add up to the total up to
    rounding. A total of zero has parts of zero, a missing total missing parts. One uniform number
    per person from the stream (stage, total, parts, stratum, block), spread evenly within groups of
    donors (`synthpop.conditional.draw`), then a gamma number for each part of a person that is not
    zero.

    Examples
    --------
    >>> Components("netIncome", parts=["py010n", "py050n"], by=["pl030"]).provides
    ('py010n', 'py050n')
    """

    total: str
    parts: Sequence[str]
    by: Sequence[str]
    empty: str = "nearest"
    decimals: int | str | None = "survey"
    shares: str = "near the donor"
    unsplit: bool = False

    entry: ClassVar[StageEntry] = StageEntry(
        name="components",
        rank=90,
        title="Components",
        question="How does a total divide into its parts?",
        blind_spots=("divisions that no person of the sample has: shares are copied from donors"),
        example={
            "total": "netIncome",
            "parts": [f"py{n:03}n" for n in (10, 50, *range(90, 150, 10))],
            "by": ["rb090"],
        },
        after=("structure", "continuous"),
    )
    NAMES: ClassVar[tuple[str, ...]] = ("parts", "by")

    @property
    def label(self) -> str:
        """Name for messages, progress and random streams."""
        return f"components {self.total}"

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return (self.total, *self.parts)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        check_available(faults, self.label, [self.total], schema, "total")
        check_available(faults, self.label, self.by, schema, "by")
        check_in_survey(faults, self.label, [self.total, *self.parts], schema)
        for name in (self.total, *self.parts):
            check_numeric_field(faults, self.label, name, schema)
        check_choice(faults, f"{self.label}: empty", self.empty, EMPTY)
        check_choice(faults, f"{self.label}: shares", self.shares, SHARES)
        check(faults, {"decimals": DECIMALS, "unsplit": Flag()}, self, label=self.label)
        if len(self.parts) < 2 or len(set(self.parts)) != len(self.parts):
            faults.add(self.label, "needs two or more distinct parts", hint="See parts.")

    def makes(self, name: str, schema: Schema) -> Field | None:
        """Return the field of a new column as far as it is known before the fit."""
        return Field.number(name)

    def fit(self, sample: Sample, rng: np.random.Generator) -> ComponentsModel:
        """Collect donors by cell; nothing is drawn."""
        field = sample.fields[self.total]
        totals = numbers(field, sample.columns[self.total]).astype(np.float64)
        parts = np.column_stack([sample.columns[p].astype(np.float64) for p in self.parts])
        all_missing = np.isnan(parts).all(axis=1)
        parts = np.nan_to_num(parts)
        unsplit = ~parts.any(axis=1) & (totals != 0) & self.unsplit
        self._check_sums(totals[~unsplit], parts[~unsplit], sample.rows[~unsplit])
        near_zero = np.abs(totals) < SMALLEST_SHARE * np.abs(parts).sum(axis=1)
        has_total = (totals != 0) & ~np.isnan(totals)
        if not np.any(has_total & ~near_zero):
            why = (
                message("parts nearly cancel")
                if has_total.any()
                else f"{self.total!r} is zero or missing"
            )
            what = message("{why} for everybody: there are no fractions", why=why)
            raise InputError.of("recipe", self.label, what, "Leave the step out.")
        terms = [(name,) for name in self.by]
        encodings = make_encodings(sample, terms, probs=DECILES_AND_TAILS)
        if strides(encodings.variables)[1] > DENSE_CELLS:
            what = (
                f"by has {count_text(strides(encodings.variables)[1])} cells, more than "
                f"{count_text(DENSE_CELLS)}"
            )
            hint = "Condition on fewer variables or classes."
            raise InputError.of("recipe", self.label, what, hint)
        cells = encodings.cells(sample.columns, sample.n_persons)
        ordered = tuple(
            sample.fields[n].kind == "numeric" or sample.fields[n].ordered for n in self.by
        )
        fields = tuple(Field.number(name) for name in self.parts)
        donors = _collect(cells, np.where(near_zero, 0.0, totals), parts, sample.weights)
        near_donor = self.shares == message("near the donor")
        concentration = concentrations(donors[-1]) if near_donor else np.zeros(len(donors[-1]))
        if self.unsplit:
            gaps = np.where(all_missing & unsplit, np.nan, 0.0)[:, None] + np.zeros_like(parts)
            fractions = _collect(cells, np.where(near_zero, 0.0, totals), gaps, sample.weights)[-1]
            concentration[~donors[-1].any(axis=1)] = 0.0
            donors = (*donors[:-1], donors[-1] + fractions)
        left_out = int((near_zero & has_total).sum())
        notes: tuple[Fallback, ...] = ()
        if left_out:
            what = message(
                "{left_out} sample persons whose parts nearly cancel are not donors",
                left_out=left_out,
            )
            notes = (Fallback(self.label, "all", what),)
        decimals = decimals_of(parts.ravel()) if self.decimals == "survey" else self.decimals
        places = None if decimals is None else int(decimals)
        return ComponentsModel(
            fields, encodings, ordered, *donors, concentration, sample.strata_levels, field, notes,
            places,
        )  # fmt: skip

    def _check_sums(self, totals: np.ndarray, parts: np.ndarray, where: np.ndarray) -> None:
        gap = np.abs(parts.sum(axis=1) - totals)
        scale = np.maximum(np.abs(parts).sum(axis=1), 1.0)
        rows_off = np.flatnonzero(gap > SUM_TOLERANCE * scale)
        if len(rows_off):
            largest = f"largest difference {gap[rows_off].max():g}"
            what = f"parts do not add up to {self.total!r} ({largest})"
            hint = "Correct the total or name all its parts."
            raise InputError.of("recipe", self.label, what, hint, rows=np.sort(where[rows_off]))

    def observed(self, model: ComponentsModel, sample: Sample) -> dict[str, np.ndarray]:
        """Return the sample's own values of the new columns."""
        return {name: sample.columns[name].astype(np.float64) for name in self.parts}

    def simulate(
        self, model: ComponentsModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draw a donor for each person of the block and split its total."""
        from synthpop.kernels.components import find_groups, round_parts, split_totals

        n = block.n_persons
        totals = numbers(model.total, block.columns[self.total]).astype(np.float64)
        out = np.empty((len(self.parts), n))
        cells = model.encodings.cells(block.columns, n)
        of_cell = _donors_of_block(model, cells, totals, block, self.label, self.empty)
        groups = np.empty(n, dtype=np.int64)
        find_groups(totals, cells, of_cell, model.first, model.limits, groups)
        uniforms = systematic_uniforms(groups, len(model.limits) + 1, rng)
        donors = np.empty(n, dtype=np.int64)
        split_totals(
            totals, groups, model.starts, model.cumulative, model.fractions, uniforms, donors, out
        )
        rows = np.flatnonzero(donors >= 0)
        rows = rows[model.concentration[donors[rows]] > 0]
        chosen = donors[rows]
        out[:, rows] = split_near(
            totals[rows], model.fractions[chosen], model.concentration[chosen], rng
        )
        if self.unsplit:
            of_donors = np.flatnonzero(donors >= 0)
            without = of_donors[~np.nan_to_num(model.fractions[donors[of_donors]]).any(axis=1)]
            out[:, without] = model.fractions[donors[without]].T
            donors[without] = -1
        if model.decimals is not None:
            round_parts(out, totals, donors, 10.0**model.decimals, NEARLY)
        return dict(zip(self.parts, out, strict=True))


@dataclass(frozen=True, slots=True)
class ComponentsModel(StageModel):
    """Donors, those of a cell, and of a group within it, side by side."""

    fields: tuple[Field, ...]
    encodings: Encodings
    ordered: tuple[bool, ...]
    group_cells: np.ndarray  # int array, shape (c,): code of each cell with donors of one sign
    # int array, shape (c,): 0 for donors with a negative total, 1 for a positive one
    group_signs: np.ndarray
    first: np.ndarray  # int array, shape (c + 1,): first group of each cell
    # float array, shape (g,): largest total of a person that takes a donor of the group; infinite
    # for the last of a cell
    limits: np.ndarray
    starts: np.ndarray  # int array, shape (g + 1,): first donor of each group
    cumulative: np.ndarray  # float array, shape (d,): cumulated share of weight within the group
    fractions: np.ndarray  # float array, shape (d, p)
    # float array, shape (d,): of the draw of shares near the donor's; 0 where they are taken as
    # they are
    concentration: np.ndarray
    strata_levels: tuple[Any, ...]
    total: Field
    fallbacks: tuple[Fallback, ...] = ()
    decimals: int | None = None

    @property
    def n_donors(self) -> np.ndarray:
        """Number of donors of each cell, shape (c,)."""
        return np.diff(self.starts[self.first])


def _collect(
    cells: np.ndarray, totals: np.ndarray, parts: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return cells, signs, first groups, limits, starts, cumulative shares and fractions."""
    donors = np.flatnonzero((totals != 0) & ~np.isnan(totals))
    signs = (totals[donors] > 0).astype(np.int64)
    key = cells[donors].astype(np.int64) * 2 + signs
    order = np.lexsort((totals[donors], key))
    donors, key = donors[order], key[order]
    keys, begins = np.unique(key, return_index=True)
    grouped = [
        (a, *group_by_total(totals[donors[a:b]]))
        for a, b in itertools.pairwise([*begins.tolist(), len(donors)])
    ]
    first = np.cumsum([0, *(len(ends) for _, ends, _ in grouped)])
    starts = np.concatenate([[0], *(a + ends for a, ends, _ in grouped)]).astype(np.int64)
    limits = np.concatenate([np.append(between, np.inf) for *_, between in grouped])
    cumulative = np.empty(len(donors))
    for a, b in itertools.pairwise(starts):
        share = np.cumsum(weights[donors[a:b]])
        cumulative[a:b] = share / share[-1]
        cumulative[b - 1] = 1.0
    fractions = parts[donors] / totals[donors, None]
    return keys // 2, keys % 2, first, limits, starts, cumulative, fractions


def group_by_total(
    totals: np.ndarray, fewest: int = FEWEST_DONORS
) -> tuple[np.ndarray, np.ndarray]:
    """Cut donors, sorted by total, into groups of `fewest` or more; equal totals stay together.

    Returns ends: int array, shape (g,); position behind the last donor of each group; limits: float
        array, shape (g - 1,); halfway between the totals on both sides of a cut.

    Examples
    --------
    >>> group_by_total(np.array([1.0, 2, 2, 2, 3, 5]), 2)
    (array([4, 6]), array([2.5]))
    """
    n = len(totals)
    changes = np.flatnonzero(np.diff(totals)) + 1
    ends, at = [], 0
    while True:
        place = np.searchsorted(changes, at + fewest)
        if place == len(changes) or n - changes[place] < fewest:
            break
        at = int(changes[place])
        ends.append(at)
    cuts = np.array(ends, dtype=np.int64)
    return np.append(cuts, n), (totals[cuts - 1] + totals[cuts]) / 2


def _donors_of_block(
    model: ComponentsModel,
    cells: np.ndarray,
    totals: np.ndarray,
    block: Block,
    label: str,
    rule: str,
) -> np.ndarray:
    """Cell with donors for each cell code and sign of the total, shape (2, codes)."""
    n_codes = strides(model.encodings.variables)[1]
    groups = np.full((2, n_codes), -1, dtype=np.int64)
    groups[model.group_signs, model.group_cells] = np.arange(len(model.group_cells))
    stratum = str(model.strata_levels[block.stratum])
    for sign in (0, 1):
        wanted = totals > 0 if sign else totals < 0
        persons = np.bincount(cells[wanted], minlength=n_codes)
        empty = np.flatnonzero((persons > 0) & (groups[sign] < 0))
        if len(empty) == 0:
            continue
        nearest, distance = _nearest(model, empty, sign, rule)
        groups[sign, empty] = nearest
        for step in np.unique(distance):
            at_distance = distance == step
            what = "cell without donors: nearest cell, distance " + (
                f"{step:g}" if np.isfinite(step) else "infinite (no donor of this sign)"
            )
            count = int(persons[empty[at_distance]].sum())
            block.fallbacks.append(Fallback(label, stratum, what, count))
    return groups


def _nearest(
    model: ComponentsModel, empty: np.ndarray, sign: int, rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest cell with donors for each empty cell; among equals the one with most donors.

    With the rule "sequential", cells that agree in an earlier variable come first.
    """
    candidates = np.flatnonzero(model.group_signs == sign)
    reach = 0.0
    if len(candidates) == 0:  # no donor of this sign at all: donors of the other sign
        candidates, reach = np.arange(len(model.group_cells)), np.inf
    empty_digits = split_cells(empty, model.encodings.variables)
    candidate_digits = split_cells(model.group_cells[candidates], model.encodings.variables)
    size = model.n_donors[candidates]
    distance = np.zeros((len(empty), len(candidates)))
    first_agreeing = np.full(distance.shape, len(model.ordered))
    for j, ordered in reversed(list(enumerate(model.ordered))):
        gap = np.abs(empty_digits[:, j, None] - candidate_digits[None, :, j])
        distance += gap if ordered else gap > 0
        first_agreeing[gap == 0] = j
    keys = [np.broadcast_to(-size, distance.shape), distance]
    if rule == "sequential":
        keys.append(first_agreeing)
    best = np.lexsort(tuple(keys), axis=1)[:, 0]
    return candidates[best], distance[np.arange(len(empty)), best] + reach
