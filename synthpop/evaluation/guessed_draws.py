"""An attack on a release: compute its random draws again from the code and whatever can be guessed.

The household structure copies households of the survey. Who knows the uniform number by which each
household has drawn its donor sorts the households by it, and copies of one donor stand side by
side; the stretches from which their ages were drawn again all hold the donor's age, so that a few
copies give it exactly. The code is public: what remains is to know what the numbers came from.

1. Households are cut into blocks as the generator cuts them: by stratum, size and rows per block.
2. For each guess the numbers of some blocks are computed, and neighbours that are alike are
   counted. What a wrong guess gives is known from orders at random.
3. With a right guess, runs of copies are read off and put together to claims about the survey.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from synthpop.conditional.draw import systematic_uniforms
from synthpop.microdata.frame.checks import as_frame, check_columns
from synthpop.microdata.frame.codes import encode, run_starts
from synthpop.microdata.frame.frames import as_numbers
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message, sentences
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, formatted, percent, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.secret_key import FEWEST_BYTES, MOST_BYTES, SecretKey
from synthpop.microdata.statistics.streams import Streams, guessable_numbers
from synthpop.population.population import Population
from synthpop.stages.blocks import cut_rows
from synthpop.stages.recipe import ALL
from synthpop.stages.structure import Structure

ROWS_PER_BLOCK = 250_000
SCREENED = 4_000  # households by which a guess is tried
CLAIMED = 200_000  # households from which claims are made once a guess is right
ORDERS = 12  # at random, for what chance gives
FINALISTS = 20  # guesses that are tried on more households
BEYOND_CHANCE = 0.001
FEWEST_TIMES = 1.0  # copies of a donor in a stratum, on average, from which on a right guess shows
SMALLEST_SHARE = 0.05  # of the neighbours that are copies of one donor then
NORMAL_95 = 1.645  # 95 % point of the normal distribution
FEWEST_COPIES = 5  # for a claim
QUICK = (*range(101), *range(2000, 2031))  # seeds that are typed most often
REPLICATES, MOST_SERIES = 5, 100  # of a series, and seeds of series that are tried
HEXADECIMAL = re.compile(r"[0-9a-f]{16,128}")
UNKNOWN, MISSING_NUMBER = -2, -(10**9)


@dataclass(frozen=True, slots=True, eq=False)
class GuessedDraws(TableResult):
    """What a reader of a release finds out who computes its draws again.

    Attributes
    ----------
    table : DataFrame
        One row a claim about a household of the survey, all of whose numbers follow exactly:
        `copies`, `size` and, with the survey, `right`. Empty where no guess was right.
    found : str
        The guess that was right; empty where none is beyond chance.
    n_guesses : int
    p_value : float
        Of the best guess, times the number of guesses (Poisson tail of the neighbours alike).
    alike, expected : int, float
        Neighbours that are alike under the best guess, and by chance.
    n_households : int
        By which the guesses were tried.
    unique, recovered : int or None
        With the survey: its households of three or more persons that no other equals, and those of
        them that a claim shows.
    times : float or None
        How often each household of the survey was copied in each stratum where it may be, on
        average: households of the file by those of the survey (of a `Population`: of its record)
        and, unless `Structure` has ``pooling="none"``, by the number of strata. None: not known.
    needed : int
        Neighbours alike beyond `expected` by which a right guess would have been found (95 %).
    """

    table: pd.DataFrame
    found: str
    n_guesses: int
    p_value: float
    alike: int
    expected: float
    n_households: int
    unique: int | None = None
    recovered: int | None = None
    times: float | None = None
    needed: int = 0

    @property
    def conclusive(self) -> bool | None:
        """Whether a right guess would have shown itself; None where `times` is not known."""
        if self.times is None and self.needed <= SMALLEST_SHARE * self.n_households:
            return None
        return (self.times or 0) >= FEWEST_TIMES and (
            self.needed <= SMALLEST_SHARE * self.n_households
        )

    def _power(self) -> str:
        """Say what finding nothing proves."""
        if self.conclusive:
            return message(
                "With {times} copies of each household of the survey in each stratum where it may "
                "be copied a right guess would have shown itself.",
                times=formatted(self.times, ".2g"),
            )
        if self.conclusive is None:
            return message(
                "How often households of the survey were copied is not known without the survey: "
                "where it was less than once a stratum this proves nothing."
            )
        return message(
            "The file is too small for this to prove anything: a right guess shows itself where "
            "households of the survey were copied once or more in each stratum where they may be "
            "(here {times} times) and makes {needed} neighbours more alike than chance does. Who "
            "knows the seed still knows the draws.",
            times=message("an unknown number of")
            if self.times is None
            else formatted(self.times, ".2g"),
            needed=count(self.needed),
        )

    def summary(self) -> str:
        """Say whether the draws were found, and what follows from them."""
        tried = message(
            "{n_guesses} of what the draws came from",
            n_guesses=plural(self.n_guesses, "guess", "guesses"),
        )
        if not self.found:
            units = plural(self.n_households, "household")
            found_nothing = message(
                "None of {tried} sorts {units} better than chance (best: {alike} neighbours "
                "alike, {expected} expected, p = {p_value} for all guesses together). Tried "
                "are the draws of donors and of stretches of numbers; other draws are not.",
                tried=tried,
                units=units,
                alike=count(self.alike),
                expected=formatted(self.expected, ".0f"),
                p_value=formatted(min(self.p_value, 1.0), ".2g"),
            )
            return sentences(found_nothing, self._power())
        text = message(
            "One of {tried} is right ({found}): {alike} neighbours are alike, {expected} "
            "expected by chance. {n} about households of the survey follow",
            tried=tried,
            found=self.found,
            alike=count(self.alike),
            expected=formatted(self.expected, ".0f"),
            n=plural(len(self.table), "claim"),
        )
        if self.recovered is None or "right" not in self.table:
            return text + "."
        share = percent(float(self.table["right"].mean()), 1) if len(self.table) else "none"
        return text + (
            ", "
            + message(
                "{share} of them right; {recovered} of {n} households of three or more persons "
                "that are unique in the survey are recovered.",
                share=share,
                recovered=count(self.recovered),
                n=count(self.unique or 0),
            )
        )


def guessed_draws(
    population: Any,
    *,
    structure: Structure | None = None,
    household: str | None = None,
    strata: str | None = None,
    survey: Survey | None = None,
    guesses: Iterable[int] | None = None,
    rows_per_block: int = ROWS_PER_BLOCK,
) -> GuessedDraws:
    """Attack a population: compute the draws of its households from whatever can be guessed.

    Parameters
    ----------
    population : Population, or DataFrame with one row a person
        As it is released, households in its order, members side by side.
    structure : Structure, optional
        The step that copied the households, which an intruder is taken to know; of a `Population`
        that of its manifest.
    household, strata : str, optional
        Columns; of a `Population` those of its roles.
    survey : Survey, optional
        To say which claims are right.
    guesses : iterable of int, optional
        Numbers to try as seeds, as seeds of replicates and as keys; default `guessable_numbers`.
        Numbers and hashes that stand in the manifest of a `Population` are tried too.
    rows_per_block : int
        Of a table; of a `Population` that of its manifest.

    Returns
    -------
    GuessedDraws

    Raises
    ------
    InputError
        Columns that are not there, or no step that copies households.

    Notes
    -----
    No randomness but that of the orders which stand for chance (a fixed seed).

    Examples
    --------
    >>> import synthpop
    >>> steps = [Structure(["age", "rb090"])]
    >>> fitted = synthpop.Pipeline(steps).fit(synthpop.load_demo_survey(), seed=12)
    >>> guessed_draws(fitted.simulate(scale=0.1), guesses=range(20)).found
    'seed 12'
    >>> guessed_draws(fitted.simulate(scale=0.1, key=bytes(range(32))), guesses=range(20)).found
    ''
    """
    known: list[Any] = []
    n_survey = None if survey is None else survey.n_households
    if isinstance(population, Population):
        roles, identity = population.roles, population.manifest.identity
        household, strata = household or roles.household, strata or roles.strata
        structure = structure or _structure_of(identity.recipe)
        rows_per_block = identity.rows_per_block
        known = [population.manifest.to_dict()]
        n_survey = n_survey or population.manifest.sample.n_households
    if structure is None:
        what = "is not known: no step of the recipe copies households"
        raise InputError.of("guessed draws", "structure", what, "Give Structure(...).")
    blocks, levels = _blocks(population, structure, household, strata, rows_per_block)
    tried = [*_guesses(guessable_numbers() if guesses is None else guesses, known)]
    compositions = None if survey is None else _compositions(survey, structure, levels)
    result = _attacked(blocks, structure, tried, compositions)
    n = sum(len(block.offsets) - 1 for block in blocks)
    pooled = structure.pooling not in ("none", 0)
    n_donors = (n_survey or 0) * (len({block.level for block in blocks}) if pooled else 1)
    return replace(result, times=n / n_donors if n_donors else None)


def quickly_guessed(population: Population) -> tuple[str, ...]:
    """Return what a few hundred guesses give; nothing where no step copied households."""
    if _structure_of(population.manifest.identity.recipe) is None:
        return ()
    return (guessed_draws(population, guesses=QUICK).summary(),)


def _structure_of(recipe: Sequence[Mapping[str, Any]]) -> Structure | None:
    for step in recipe:
        if step.get("type") == "structure":
            options = {n: step[n] for n in ("pooling", "jitter") if n in step}
            return Structure(list(step["variables"]), **options)
    return None


def _guesses(numbers: Iterable[int], known: Iterable[Any]) -> Iterator[tuple[str, Streams]]:
    """Yield what the draws may have come from, each with its name."""
    found = [int(number) for number in numbers]
    texts: list[str] = []
    for item in known:
        _collect(item, found, texts)
    for seed in dict.fromkeys(number for number in found if number >= 0):
        yield f"seed {seed}", Streams(seed)
        if seed <= MOST_SERIES:
            for k in range(1, REPLICATES + 1):
                yield (
                    message("replicate {k} of seed {seed}", k=k, seed=seed),
                    Streams(Streams(seed).number("replicate", k)),
                )
        if seed <= 1000:
            yield f"key {seed}", Streams(seed, SecretKey(seed.to_bytes(MOST_BYTES, "big")))
    seeds = [number for number in dict.fromkeys(found) if 0 <= number <= 100]
    for text in dict.fromkeys(texts):
        content = bytes.fromhex(text[: 2 * (len(text) // 2)])
        yield message("seed from hash {text}", text=text), Streams(int(text, 16))
        if FEWEST_BYTES <= len(content) <= MOST_BYTES:
            for seed in seeds:
                yield (
                    message("key from hash {text}, seed {seed}", text=text, seed=seed),
                    Streams(seed, SecretKey(content)),
                )


def _collect(value: Any, numbers: list[int], texts: list[str]) -> None:
    """Collect whole numbers and hexadecimal texts of a manifest, but of its blocks and columns."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if name not in ("blocks", "columns", "files", "finished"):
                _collect(item, numbers, texts)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _collect(item, numbers, texts)
    elif isinstance(value, int) and not isinstance(value, bool):
        numbers.append(value)
    elif isinstance(value, str):
        texts += HEXADECIMAL.findall(value)


@dataclass(frozen=True, eq=False)
class _Block:
    """Households of one block: numbers, codes of the other variables, members side by side."""

    level: Any
    number: int
    offsets: np.ndarray  # (n + 1,)
    codes: np.ndarray  # (persons, c)
    numbers: np.ndarray  # (persons, j) of jittered variables; NaN for missing

    @cached_property
    def cells(self) -> list[tuple[int, slice]]:
        """Each household size with the households that have it, in the order of the draws."""
        sizes = np.diff(self.offsets)
        starts = np.append(np.flatnonzero(run_starts(sizes)), len(sizes))
        return [(int(sizes[a]), slice(a, b)) for a, b in pairwise(starts.tolist())]

    def uniforms(self, streams: Streams, widths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return what draws the donor of each household (n,), and its shifts (j, n)."""
        rng = streams.at("structure", "", self.level, self.number)
        n = len(self.offsets) - 1
        uniforms, zeros = np.empty(n), np.zeros(n, dtype=np.int32)
        for _, rows in self.cells:
            uniforms[rows] = systematic_uniforms(zeros[rows], 1, rng)
        shifts = np.zeros((len(widths), n), dtype=np.int64)
        for k, width in enumerate(widths):
            shifts[k] = rng.integers(0, 2 * width + 1, n)
            rng.random(int(self.offsets[-1]))
        return uniforms, shifts

    def members(self, size: int, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return codes (n, size * c) and numbers (n, size, j) of the households of one size."""
        persons = slice(int(self.offsets[rows.start]), int(self.offsets[rows.stop]))
        n = rows.stop - rows.start
        return (
            self.codes[persons].reshape(n, -1),
            self.numbers[persons].reshape(n, size, self.numbers.shape[1]),
        )


def _blocks(
    population: Any, structure: Structure, household: str | None, strata: str | None, rows: int
) -> tuple[list[_Block], dict[str, Sequence[Any]]]:
    """Cut a file into the blocks of the generator; return the levels of the coded variables too."""
    names = list(structure.variables)
    needed = [*names, *(name for name in (household, strata) if name)]
    if isinstance(population, Population):
        frame = population.frame(list(dict.fromkeys(needed)))
    else:
        frame = as_frame(population, "population")
    faults = Faults("guessed draws")
    check_columns(faults, frame, dict.fromkeys(needed), "column")
    faults.raise_if_any()
    if household is None:
        unit = np.arange(len(frame))
    else:
        values = encode(frame[household])[0]
        unit = np.cumsum(run_starts(values)) - 1
    size = np.bincount(unit)[unit] if len(unit) else unit
    codes_of_strata = np.zeros(len(frame), dtype=np.int64)
    levels: Sequence[Any] = (ALL,)
    if strata is not None:
        codes, levels = encode(frame[strata])
        codes_of_strata = codes.astype(np.int64)
    order = np.lexsort((np.arange(len(frame)), size, codes_of_strata))
    frame, unit, codes_of_strata = frame.iloc[order], unit[order], codes_of_strata[order]
    again = [name for name in names if name in (structure.jitter or {})]
    coded: list[np.ndarray] = []
    levels_of: dict[str, Sequence[Any]] = {}
    for name in names:
        if name not in again:
            codes, levels_of[name] = encode(frame[name])
            coded.append(codes)
    numbers = [as_numbers(frame[name]) for name in again]
    n = len(frame)
    table = np.column_stack(coded) if coded else np.zeros((n, 0), dtype=np.int64)
    amounts = np.column_stack(numbers) if numbers else np.zeros((n, 0))
    blocks = []
    for block in cut_rows(unit, codes_of_strata, rows):
        part = slice(block.start, block.stop)
        starts = np.flatnonzero(run_starts(unit[part]))
        offsets = np.append(starts, block.n_persons)
        level = levels[block.stratum]
        blocks.append(_Block(level, block.number, offsets, table[part], amounts[part]))
    return blocks, levels_of


def _compositions(
    survey: Survey, structure: Structure, levels: Mapping[str, Sequence[Any]]
) -> Counter[Any]:
    """Return how many households of the survey have each composition, coded as the population."""
    frame = survey.frame.iloc[survey.household_order]
    columns = []
    for name, known in levels.items():
        position = {str(level): code for code, level in enumerate(known)}
        values = frame[name]
        codes = values.astype(str).map(position).fillna(UNKNOWN).where(values.notna(), -1)
        columns.append(codes.to_numpy(dtype=np.int64))
    for name in structure.variables:
        if name in (structure.jitter or {}):
            columns.append(_whole(as_numbers(frame[name])))
    persons = np.column_stack(columns).tolist()
    ends = survey.household_offsets.tolist()
    return Counter(tuple(sorted(map(tuple, persons[a:b]))) for a, b in pairwise(ends))


def _whole(numbers: np.ndarray) -> np.ndarray:
    return np.nan_to_num(numbers, nan=MISSING_NUMBER).astype(np.int64)


def _attacked(
    blocks: list[_Block],
    structure: Structure,
    guesses: Sequence[tuple[str, Streams]],
    known: Mapping[Any, int] | None,
) -> GuessedDraws:
    jitter = structure.jitter or {}
    widths = [int(jitter[name]) for name in structure.variables if name in jitter]
    screens = [_Screen.of(one, widths) for one in sorted(blocks, key=_screened_at)]
    # 1. all guesses on some blocks, the best of them on many
    few = _first(screens, SCREENED)
    scores = [_alike(few, streams) for _, streams in guesses]
    many = _first(screens, CLAIMED)
    best, alike = ("", Streams(0)), 0
    for number in np.argsort(scores)[::-1][:FINALISTS].tolist():
        found = _alike(many, guesses[number][1])
        if found > alike:
            best, alike = guesses[number], found
    # 2. what chance gives
    rng = np.random.default_rng(1)
    chance = [sum(one.alike(rng.random(len(one.cells))) for one in many) for _ in range(ORDERS)]
    expected = float(np.mean(chance) + 3 * np.std(chance) / np.sqrt(ORDERS))
    from scipy.special import pdtrc, pdtrik

    mean, tries = max(expected, 1.0), max(len(guesses), 1)
    critical = float(pdtrik(1 - BEYOND_CHANCE / tries, mean)) + 1
    needed = int(np.ceil(critical + NORMAL_95 * np.sqrt(critical) - expected))
    p_value = float(pdtrc(alike - 1, mean)) * tries if alike else float(tries)
    n = sum(len(one.cells) for one in many)
    result = GuessedDraws(_table([], None), "", len(guesses), p_value, alike, expected, n,
                          needed=needed)  # fmt: skip
    if p_value >= BEYOND_CHANCE:
        return result
    claims: list[_Claim] = []
    n_read = 0
    for block in blocks:
        claims += _claims(block, *block.uniforms(best[1], widths), widths)
        n_read += len(block.offsets) - 1
        if n_read > CLAIMED:
            break
    result = replace(result, table=_table(claims, known), found=best[0])
    if known is None:
        return result
    alone = {one for one, n_equal in known.items() if n_equal == 1 and len(one) >= 3}
    shown = {claim.composition for claim in claims}
    return replace(result, unique=len(alone), recovered=len(alone & shown))


def _screened_at(block: _Block) -> tuple[bool, int]:
    """Large blocks first, the smallest of them ahead: small strata may hold hardly any copies."""
    n = len(block.offsets) - 1
    return n < SCREENED, abs(n - SCREENED)


def _first(screens: Sequence[_Screen], most: int) -> list[_Screen]:
    """Return the first blocks, until they have so many households."""
    sizes = np.cumsum([len(one.cells) for one in screens])
    return list(screens[: int(np.searchsorted(sizes, most)) + 1])


def _alike(screens: Sequence[_Screen], streams: Streams) -> int:
    return sum(one.alike(one.block.uniforms(streams, ())[0]) for one in screens)


@dataclass(frozen=True, slots=True, eq=False)
class _Screen:
    """One block as it is looked at for each guess; arrays of its n households."""

    block: _Block
    cells: np.ndarray  # number of the size
    codes: np.ndarray  # equal for households whose members agree on all that is copied
    numbers: np.ndarray  # (n, largest size * j), 0 where there is no member
    near: np.ndarray  # (largest size * j,): how far numbers of two copies are apart at most

    @classmethod
    def of(cls, block: _Block, widths: Sequence[int]) -> _Screen:
        """Prepare a block."""
        sizes = np.diff(block.offsets)
        n, largest, j = len(sizes), int(sizes.max(initial=1)), len(widths)
        cells, codes = np.zeros(n), np.zeros(n, dtype=np.int64)
        numbers = np.zeros((n, largest, j))
        for k, (size, rows) in enumerate(block.cells):
            of_cell, of_numbers = block.members(size, rows)
            cells[rows] = k
            codes[rows] = np.unique(of_cell, axis=0, return_inverse=True)[1].reshape(-1)
            numbers[rows, :size] = np.nan_to_num(of_numbers, nan=MISSING_NUMBER)
        near = np.tile(2.0 * np.array(widths), largest)
        return cls(block, cells, codes, numbers.reshape(n, -1), near)

    def alike(self, uniforms: np.ndarray) -> int:
        """Count neighbours, sorted by what draws the donor, that may be copies of one."""
        order = np.argsort(self.cells + uniforms)
        one, two = order[:-1], order[1:]
        same = (self.codes[one] == self.codes[two]) & (self.cells[one] == self.cells[two])
        one, two = one[same], two[same]
        gaps = np.abs(self.numbers[one] - self.numbers[two])
        return int((gaps <= self.near).all(axis=1).sum())


@dataclass(frozen=True, slots=True)
class _Claim:
    """What some copies say of their donor."""

    composition: tuple[Any, ...]  # members, sorted
    copies: int


def _claims(
    block: _Block, uniforms: np.ndarray, shifts: np.ndarray, widths: Sequence[int]
) -> Iterator[_Claim]:
    """Yield what runs of copies say: stretches that overlap all hold the donor's numbers."""
    spans = 2 * np.array(widths, dtype=np.int64) + 1
    for size, rows in block.cells:
        codes, numbers = block.members(size, rows)
        moved = shifts[:, rows].T[:, None, :]  # (n, 1, j)
        whole, missing = _whole(numbers), np.isnan(numbers)
        low = np.where(missing, whole, (whole + moved) // spans * spans - moved)
        high = np.where(missing, whole, low + spans - 1)
        order = np.argsort(uniforms[rows], kind="stable")
        run: list[int] = []
        bounds = (low[:0], high[:0])
        for k in [*order.tolist(), -1]:
            if run and k >= 0 and (codes[run[0]] == codes[k]).all():
                least, most = np.maximum(bounds[0], low[k]), np.minimum(bounds[1], high[k])
                if (least <= most).all():
                    run.append(k)
                    bounds = (least, most)
                    continue
            if len(run) >= FEWEST_COPIES and (bounds[0] == bounds[1]).all():
                yield _claim(codes[run[0]], size, bounds[0], len(run))
            if k >= 0:
                run, bounds = [k], (low[k], high[k])


def _claim(codes: np.ndarray, size: int, numbers: np.ndarray, copies: int) -> _Claim:
    members = np.column_stack([codes.reshape(size, -1), numbers])
    return _Claim(tuple(sorted(map(tuple, members.tolist()))), copies)


def _table(claims: Sequence[_Claim], known: Mapping[Any, int] | None) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "copies": [claim.copies for claim in claims],
            "size": [len(claim.composition) for claim in claims],
        }
    )
    if known is None:
        return table
    return table.assign(right=[claim.composition in known for claim in claims])
