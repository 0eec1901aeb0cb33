"""An attack on a protected file: repeat its draws with every seed that can be guessed.

Noise goes with what it was added to, the uniform numbers of PRAM with the categories that they have
drawn, and a file whose random order is undone is sorted as its source was. A wrong guess shows
nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.frame.checks import as_unique_frame
from synthpop.microdata.frame.codes import encode
from synthpop.microdata.frame.frames import as_numbers, is_number
from synthpop.microdata.messages.results import Result
from synthpop.microdata.messages.text import plural
from synthpop.microdata.statistics.streams import Streams, guessable_numbers

BEYOND_CHANCE = 0.001
MANY_RECORDS = 50_000  # beyond which dates are not tried
NUMBERS = 1211  # of the guessable ones that are no dates
Steps = Sequence[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class GuessedSeeds(Result):
    """Whether the draws of a protected file follow from a number that can be guessed.

    Attributes
    ----------
    found : str
        What was found with which seed; empty where nothing is beyond chance.
    n_guesses : int
    p_value : float
        Of the best test, times the number of tests.
    tried : tuple of str
        Draws that were attacked.
    """

    found: str
    n_guesses: int
    p_value: float
    tried: tuple[str, ...]

    def summary(self) -> str:
        """Say what was tried and what was found."""
        of = f"{plural(self.n_guesses, 'guess', 'guesses')} of the seed ({', '.join(self.tried)})"
        if self.found:
            return f"One of {of} is right: {self.found}. Whoever tries finds it too."
        return (
            f"None of {of} finds more than chance (p = {min(self.p_value, 1.0):.2g} for all "
            "together). Draws of other methods were not attacked."
        )


def guessed_seeds(
    released: Any,
    steps: Steps = (),
    *,
    household: str | None = None,
    guesses: Iterable[int] | None = None,
) -> GuessedSeeds:
    """Attack a protected file with every seed that can be guessed.

    Parameters
    ----------
    released : DataFrame, n records, or a frame of another library
        As it leaves.
    steps : sequence of (verb, arguments)
        What was done to it, which an intruder is taken to know: ``add_noise`` and ``pram`` are
        attacked, and the order of the records always.
    household : str, optional
        Column of the household ids by which `release_file` has ordered the file.
    guesses : iterable of int, optional
        Default: 0 to 1,000, years, usual sequences of digits and, up to 50,000 records, dates.

    Returns
    -------
    GuessedSeeds

    Notes
    -----
    A missing value takes part in no test of its column. The order: neighbours that agree in all
    columns of categories (first members of households), beside what chance gives (Poisson tail).
    Noise: the correlation of the column with the normal numbers of the seed (Fisher). PRAM: the
    uniform numbers by category (Kruskal and Wallis). No randomness.

    Examples
    --------
    >>> from riskeval import protect
    >>> people = pd.DataFrame({"income": np.arange(400.0)})
    >>> noisy = protect.add_noise(people, ["income"], level=0.5, seed=7).data
    >>> guessed_seeds(noisy, [("add_noise", {"variables": ["income"]})], guesses=range(20)).found
    'the noise of income with seed 7'
    """
    frame = as_unique_frame(released)
    numbers = guessable_numbers() if guesses is None else [int(one) for one in guesses]
    if guesses is None and len(frame) > MANY_RECORDS:
        numbers = numbers[:NUMBERS]
    attack = _Attack.of(frame, steps, household)
    best, text, n_tests = 1.0, "", 0
    for number in numbers:
        for p_value, what in attack.tests(number):
            n_tests += 1
            if p_value < best:
                best, text = p_value, f"{what} with seed {number}"
    p_value = best * max(n_tests, 1)
    found = text if p_value < BEYOND_CHANCE else ""
    return GuessedSeeds(found, len(numbers), p_value, attack.tried)


@dataclass(frozen=True, slots=True)
class _Attack:
    frame: pd.DataFrame
    # equal for records, or first members of households, that agree in all categories
    codes: np.ndarray
    noise: list[tuple[int, str, str, np.ndarray]]  # step, method, column, standardised values
    pram: list[tuple[int, str, np.ndarray]]  # step, column, codes
    sizes: np.ndarray | None  # of the households, in the order of the file
    expected: float  # neighbours with equal codes, by chance

    @classmethod
    def of(cls, frame: pd.DataFrame, steps: Steps, household: str | None) -> _Attack:
        coded = [
            encode(frame[name])[0]
            for name in frame
            if name != household and (not is_number(frame[name]) or frame[name].nunique() <= 50)
        ]
        codes = np.zeros(len(frame), dtype=np.int64)
        if coded:
            codes = np.unique(np.column_stack(coded), axis=0, return_inverse=True)[1].reshape(-1)
        noise, pram = [], []
        for number, (verb, arguments) in enumerate(steps, 1):
            if verb == "add_noise":
                method = arguments.get("method", "additive")
                kind = method if isinstance(method, str) else dict(method).get("type", "additive")
                for name in arguments.get("variables", ()):
                    values = np.array(as_numbers(frame[name]), dtype=np.float64)
                    known = ~np.isnan(values)
                    values[known] = _ranks(values[known])  # no single value decides
                    noise.append((number, str(kind), name, values))
            elif verb == "pram" and not arguments.get("strata"):
                columns = arguments.get("columns", ())
                for name in [columns] if isinstance(columns, str) else columns:
                    pram.append((number, name, encode(frame[name])[0]))
        sizes = None
        if household is not None:
            sizes = frame.groupby(household, sort=False, observed=True).size().to_numpy()
            codes = codes[np.cumsum(sizes) - sizes]  # members of a household are alike anyway
        counts = np.bincount(codes).astype(np.float64)
        expected = float((counts * (counts - 1)).sum() / max(len(codes), 1))
        return cls(frame, codes, noise, pram, sizes, expected)

    @property
    def tried(self) -> tuple[str, ...]:
        """What is attacked."""
        names = ["order of records"]
        names += ["noise"] if self.noise else []
        return (*names, "PRAM") if self.pram else tuple(names)

    def tests(self, seed: int) -> Iterator[tuple[float, str]]:
        """Yield the p-value of each test of a guess and what it would mean."""
        n = len(self.frame)
        place, undone = self._order(seed)
        yield self._sorted(place), "the order of the records"
        for order, where in ((np.arange(n), ""), (undone, ", in the order undone")):
            for step, method, name, values in self.noise:
                for streams in _seeds_of_step(seed, step, "add_noise"):
                    normals = streams.at("add_noise", method, name).standard_normal(n)
                    yield _correlated(values[order], normals), f"the noise of {name}{where}"
            for step, name, codes in self.pram:
                for streams in _seeds_of_step(seed, step, "pram"):
                    present = codes[order] >= 0
                    uniforms = streams.at("pram", name, "all", "draws").random(int(present.sum()))
                    p_value = _differs(uniforms, codes[order][present])
                    yield p_value, f"the PRAM of {name}{where}"

    def _order(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return units and rows in the order of the source, were they shuffled with a seed."""
        n, rng = len(self.frame), Streams(seed).at("release", "order")
        if self.sizes is None:
            rows = np.argsort(rng.permutation(n))
            return rows, rows
        sizes = self.sizes
        place = rng.permutation(len(sizes))  # household of the source -> place in the file
        starts = np.cumsum(sizes) - sizes
        of_source = sizes[place]
        shift = np.repeat(starts[place] - (np.cumsum(of_source) - of_source), of_source)
        return place, np.arange(n) + shift

    def _sorted(self, order: np.ndarray) -> float:
        from scipy.special import pdtrc

        codes = self.codes[order]
        alike = int((codes[1:] == codes[:-1]).sum())
        return float(pdtrc(alike - 1, max(self.expected, 1.0))) if alike else 1.0


def _seeds_of_step(seed: int, step: int, verb: str) -> Iterator[Streams]:
    """Yield the streams of a step with a seed of its own, or with one of the seed of the plan."""
    yield Streams(seed)
    yield Streams(int(Streams(seed).at("protect", step, verb).integers(2**62)))


def _correlated(values: np.ndarray, normals: np.ndarray) -> float:
    from scipy.special import ndtr

    known = ~np.isnan(values)
    x, y = values[known], normals[known]
    if len(x) < 10 or x.min() == x.max():
        return 1.0
    r = float(np.corrcoef(x, y)[0, 1])
    z = np.arctanh(min(abs(r), 1 - 1e-12)) * np.sqrt(len(x) - 3)
    return float(2 * ndtr(-z))


def _differs(uniforms: np.ndarray, codes: np.ndarray) -> float:
    from scipy.special import chdtrc

    counts, n = np.bincount(codes), len(codes)
    present = counts > 0
    if n < 10 or present.sum() < 2:
        return 1.0
    sums = np.bincount(codes, _ranks(uniforms) + 1.0)[present]
    statistic = 12.0 / (n * (n + 1)) * (sums**2 / counts[present]).sum() - 3 * (n + 1)
    return float(chdtrc(present.sum() - 1, statistic))


def _ranks(values: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(values))
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks
