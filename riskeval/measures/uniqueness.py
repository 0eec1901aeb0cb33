"""Population uniqueness from the sample alone: Pitman, Zayatz, slide negative binomial, Dankar.

These models look only at how many keys occur once, twice ... in the sample and at the sampling
fraction; they give the risk of the file, not of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from riskeval.keys.table import ALONE, read_keys, table_of
from riskeval.shared.files import read_weights
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import count, number, percent, plural

METHODS = ("pitman", "zayatz", "snb")
SMALL_FRACTION = 0.1
CLEARLY = 1.92  # gain in log-likelihood that one more parameter needs at the 5 % level
LARGEST_SHAPE = 10.0  # above it all keys are about equally frequent, which no keys of persons are


@dataclass(frozen=True, slots=True, eq=False)
class PopulationUniqueness(TableResult):
    """Estimated number of persons who are alone in the population with their key.

    Attributes
    ----------
    table : DataFrame
        One row a method ("pitman", "zayatz", "snb"): ``population_uniques`` (persons of the
        population alone with their key), ``share`` of the population, ``sample_uniques`` (how
        many of the sample uniques are population uniques: tau_1), ``probability`` (that a sample
        unique is a population unique) and ``note``. NaN where a method has no solution.
    chosen : str
        Method that the rule of Dankar et al. takes.
    n_records, population_size : int, float
    fraction : float
        Sampling fraction.
    n_keys, n_sample_uniques : int
        Distinct keys and keys that occur once in the sample.
    keys : tuple of str
    """

    table: pd.DataFrame
    chosen: str
    n_records: int
    population_size: float
    fraction: float
    n_keys: int
    n_sample_uniques: int
    keys: tuple[str, ...]

    @property
    def population_uniques(self) -> float:
        """Estimate of the chosen method."""
        return float(self.table.loc[self.chosen, "population_uniques"])  # type: ignore[arg-type]

    @property
    def tau1(self) -> float:
        """Sample uniques that are population uniques, by the chosen method."""
        return float(self.table.loc[self.chosen, "sample_uniques"])  # type: ignore[arg-type]

    @property
    def tau1_range(self) -> tuple[float, float]:
        """Smallest and largest estimate of `tau1` over the methods that have one."""
        estimates = self.table["sample_uniques"].dropna()
        if estimates.empty:
            return float("nan"), float("nan")
        return float(estimates.min()), float(estimates.max())

    def summary(self) -> str:
        """Return the estimate of the chosen method and why it was chosen."""
        why = (
            message("the sampling fraction is at most 0.1")
            if self.fraction <= SMALL_FRACTION
            else message(
                "the sampling fraction is above 0.1 and it is the smaller of two estimates"
            )
        )
        return (
            message(
                "About {population_uniques} of {population_size} persons ({share}) are unique "
                "in the population on {keys}. Of the {n_sample_uniques} of the file about "
                "{tau1} are such population uniques, for which a match is certain. Method: "
                "{chosen}, since {why} (rule of Dankar et al. 2012); the three methods range "
                "from {low} to {high} such records, so take the number as an order of "
                "magnitude.",
                population_uniques=count(self.population_uniques),
                population_size=count(self.population_size),
                share=percent(self.population_uniques / self.population_size, 3),
                keys=", ".join(self.keys),
                n_sample_uniques=plural(self.n_sample_uniques, *ALONE),
                tau1=number(self.tau1),
                chosen=self.chosen,
                why=why,
                low=number(self.tau1_range[0]),
                high=number(self.tau1_range[1]),
            )
            if self.n_records
            else message("The file is empty: nobody is unique.")
        )


@same_library
def population_uniqueness(
    data: Any,
    keys: Sequence[str],
    *,
    weights: Any = None,
    population_size: float | None = None,
) -> PopulationUniqueness:
    """Estimate how many persons are unique in the population, and in the sample at once.

    Parameters
    ----------
    data : table of n records
    keys : sequence of str
        Categorical key variables. A missing value is a category of its own here: the models are
        for tables whose cells do not overlap.
    weights : str or array of shape (n,), optional
        Their sum is the size of the population, where that is not given.
    population_size : float, optional
        Persons of the population, at least n.

    Returns
    -------
    PopulationUniqueness
        The models assume simple random sampling of persons. Nothing is drawn at random.

    Raises
    ------
    InputError
        Neither weights nor population size, or a population smaller than the file.

    Notes
    -----
    Pitman: maximum likelihood in the Pitman sampling formula (Hoshino 2001), over both of its
    domains (alpha from 0 to 1; alpha below 0, with a finite number of keys, where that is clearly
    more likely), then the expected number of classes of size one,

        N Gamma(theta + alpha + N - 1) Gamma(theta + 1) / (Gamma(theta + alpha) Gamma(theta + N)).

    Zayatz (1991): Bayes' rule with hypergeometric sampling and the class sizes of the sample as
    prior. Slide negative binomial (Chen and Keller-McNulty 1998): class sizes are one plus a
    negative binomial; three moments (persons, non-empty classes, unique classes) under Bernoulli
    sampling. Rule of Dankar et al. (2012), doi:10.1186/1472-6947-12-66: Pitman up to a sampling
    fraction of 0.1 (Zayatz where it has no solution), else the smaller of Zayatz and the slide
    negative binomial.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"key": [1, 1, 1, 2, 2, 3, 4, 5]})
    >>> result = population_uniqueness(data, ["key"], population_size=20)
    >>> result.n_sample_uniques, round(float(result.table.loc["zayatz", "probability"]), 3)
    (3, 0.553)
    """
    frame = as_frame(data, columns=(keys, weights))
    faults = Faults("population uniqueness")
    names = read_keys(faults, frame, keys, "own-category", 1.0)
    values = read_weights(faults, frame, weights)
    n = len(frame)
    size = float("nan")
    if population_size is not None:
        size = float(population_size)
    elif values is not None:
        size = float(np.sum(values))
    elif weights is None:
        faults.add("population_size", "is not given", hint="Give it, or weights to add up.")
    if size < n * (1 - 1e-12):
        faults.add(
            "population_size", f"{size:g} persons, fewer than the {plural(n, 'record')} of the file"
        )
    faults.raise_if_any()
    counts = table_of(data, frame, names).counts.astype(np.int64)
    return _estimate(counts, n, max(size, n), names)


def _estimate(
    counts: np.ndarray, n: int, population: float, names: tuple[str, ...]
) -> PopulationUniqueness:
    uniques = int(np.count_nonzero(counts == 1))
    fraction = n / population if population else 1.0
    notes = dict.fromkeys(METHODS, "")
    if uniques == 0:
        estimates = dict.fromkeys(METHODS, 0.0)
        notes = dict.fromkeys(METHODS, message("no record is unique"))
    elif fraction >= 1:
        estimates = dict.fromkeys(METHODS, float(uniques))
        notes = dict.fromkeys(METHODS, message("the file is the population"))
    else:
        estimates = {
            "pitman": pitman_uniques(counts, population),
            "zayatz": zayatz_uniques(counts, population),
            "snb": snb_uniques(counts, population),
        }
        for method, value in estimates.items():
            if not np.isfinite(value):
                notes[method] = message("the likelihood or the moments have no solution")
    # the rule of Dankar et al. (2012)
    chosen = "snb" if estimates["snb"] <= estimates["zayatz"] else "zayatz"
    if fraction <= SMALL_FRACTION:
        chosen = "pitman" if np.isfinite(estimates["pitman"]) else "zayatz"
    estimate = np.array([estimates[method] for method in METHODS])
    in_both = np.minimum(estimate * fraction, uniques)
    table = pd.DataFrame(
        {
            "population_uniques": estimate,
            "share": estimate / max(population, 1),
            "sample_uniques": in_both,
            "probability": in_both / max(uniques, 1),
            "note": [notes[method] for method in METHODS],
        },
        index=pd.Index(METHODS, name="method"),
    )
    return PopulationUniqueness(
        table=table,
        chosen=chosen,
        n_records=n,
        population_size=population,
        fraction=fraction,
        n_keys=len(counts),
        n_sample_uniques=uniques,
        keys=names,
    )


def zayatz_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques after Zayatz (1991), from the records of each distinct key."""
    from scipy.special import gammaln

    n, big = float(counts.sum()), float(population)
    sizes, classes = np.unique(counts, return_counts=True)
    j = sizes.astype(np.float64)
    possible = big - n - (j - 1) > -0.5  # a class of size j can leave one person in the sample
    j, share = j[possible], classes[possible] / len(counts)

    def log_choose(top: np.ndarray | float, bottom: float) -> Any:
        return gammaln(top + 1) - gammaln(bottom + 1) - gammaln(top - bottom + 1)

    one = np.exp(np.log(j) + log_choose(big - j, n - 1) - log_choose(big, n))
    alone = float(share[j == 1][0] * one[j == 1][0])
    probability = alone / float((share * one).sum())
    return float(np.count_nonzero(counts == 1)) * probability * big / n


def pitman_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques by maximum likelihood in Pitman's formula (Hoshino 2001); NaN if none."""
    from scipy.special import gammaln

    fitted = pitman_fit(counts)
    if fitted is None:
        return float("nan")
    theta, alpha = fitted
    big = float(population)
    log_uniques = (
        np.log(big)
        + gammaln(theta + alpha + big - 1)
        + gammaln(theta + 1)
        - gammaln(theta + alpha)
        - gammaln(theta + big)
    )
    value = float(np.exp(min(float(log_uniques), 700.0)))
    return value if np.isfinite(value) and value <= big else float("nan")


def pitman_fit(counts: np.ndarray) -> tuple[float, float] | None:
    """Maximum likelihood estimates (theta, alpha) of Pitman's formula; None where there are none.

    Either 0 <= alpha < 1 and theta > -alpha, or alpha < 0 and theta = -m alpha: a population of m
    keys in all (the symmetric Dirichlet-multinomial model), which fits when the sample has seen
    most keys. The second is taken only when it is clearly more likely, as it is the riskier one to
    be wrong with (it finds few uniques). There is no maximum when all keys occur once, or when
    there is one key.
    """
    n, u = int(counts.sum()), len(counts)
    if u <= 1 or u == n:
        return None
    starts = [(0.0, np.log(u)), (1.5, 1.0), (-6.0, np.log(10.0 * u))]
    open_ended = _best(_loss(counts, _pitman), starts)
    finite = _best(_loss(counts, _dirichlet), [(0.0, 0.0), (-3.0, 2.0), (2.0, -2.0)])
    if not np.isfinite(open_ended.fun) or open_ended.x[1] > 39 or open_ended.x[0] > 25:
        return None
    b, m = _finite_of(finite.x, u)
    if n * (open_ended.fun - finite.fun) > CLEARLY and b < LARGEST_SHAPE:
        return m * b, -b
    alpha = _alpha_of(open_ended.x[0])
    return float(np.exp(open_ended.x[1])) - alpha, alpha


def _best(loss: Callable[[np.ndarray], float], starts: list[tuple[float, float]]) -> Any:
    from scipy.optimize import minimize

    options = {"xatol": 1e-7, "fatol": 1e-13, "maxiter": 2000}
    fits = [minimize(loss, start, method="Nelder-Mead", options=options) for start in starts]
    return min(fits, key=lambda fit: fit.fun)


def _alpha_of(x: float) -> float:
    return float(np.clip(1 / (1 + np.exp(-np.clip(x, -30, 30))), 1e-9, 1 - 1e-9))


def _finite_of(x: np.ndarray, u: int) -> tuple[float, float]:
    """Shape b and number of keys m, kept where differences of log-gammas are exact enough."""
    b = float(np.exp(np.clip(x[0], -12, 6)))
    return b, u - 1 + float(np.exp(np.clip(x[1], -12, np.log(1e4 * u))))


def _loss(
    counts: np.ndarray, model: Callable[[np.ndarray, int], tuple[float, float, Any]]
) -> Callable[[np.ndarray], float]:
    """Minus the mean log-likelihood of Pitman's formula, by the parameters of a model."""
    from scipy.special import gammaln

    n, u = int(counts.sum()), len(counts)
    sizes, classes = np.unique(counts, return_counts=True)

    def loss(x: np.ndarray) -> float:
        theta, alpha, steps = model(x, u)
        draws = gammaln(theta + n) - gammaln(theta + 1)
        inside = (classes * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        return float(-(steps - draws + inside) / n)

    return loss


def _pitman(x: np.ndarray, u: int) -> tuple[float, float, Any]:
    """Parameters theta and alpha >= 0 of (logit alpha, log(theta + alpha)), and the steps."""
    from scipy.special import gammaln

    alpha = _alpha_of(x[0])
    theta = float(np.exp(np.clip(x[1], -30, 40))) - alpha
    steps = (u - 1) * np.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    return theta, alpha, steps


def _dirichlet(x: np.ndarray, u: int) -> tuple[float, float, Any]:
    """The same for alpha = -b < 0 of (log b, log(m - u + 1))."""
    from scipy.special import gammaln

    b, m = _finite_of(x, u)
    return m * b, -b, (u - 1) * np.log(b) + gammaln(m) - gammaln(m - u + 1)


def snb_uniques(counts: np.ndarray, population: float) -> float:
    """Population uniques of the slide negative binomial model; NaN where it has no solution.

    Class sizes F = 1 + G with G negative binomial (shape a, mean a m). Thinned with fraction pi, a
    class is empty with probability (1 - pi) A and a sample unique with A (pi + (1 - pi) a pi m / (1
    + pi m)), A = (1 + pi m)^-a. With K = N / (1 + a m) classes both expected numbers are set to the
    observed ones; uniques are K (1 + m)^-a.
    """
    from scipy.optimize import least_squares

    n, big = float(counts.sum()), float(population)
    pi = n / big
    filled, alone = float(len(counts)), float(np.count_nonzero(counts == 1))

    def gap(x: np.ndarray) -> np.ndarray:
        a, m = np.exp(np.clip(x, -40, 40))
        classes = big / (1 + a * m)
        none = np.exp(-a * np.log1p(pi * m))
        expected_filled = classes * (1 - (1 - pi) * none)
        expected_alone = classes * none * (pi + (1 - pi) * a * pi * m / (1 + pi * m))
        return np.log([max(expected_filled, 1e-300) / filled, max(expected_alone, 1e-300) / alone])

    best = None
    for start in ((-1.0, 3.0), (0.0, 0.0), (-4.0, 6.0), (2.0, -2.0), (-2.0, 9.0)):
        fit = least_squares(gap, start, xtol=1e-14, ftol=1e-14, gtol=1e-14)
        if best is None or fit.cost < best.cost:
            best = fit
    if best is None or np.abs(best.fun).max() > 1e-6:
        return float("nan")
    a, m = np.exp(np.clip(best.x, -40, 40))
    return float(big / (1 + a * m) * np.exp(-a * np.log1p(m)))
