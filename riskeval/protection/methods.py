"""Methods of the verbs that have several, each with the options that belong to it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

from synthpop.microdata.messages.methods import Method
from synthpop.microdata.messages.parameters import (
    NONE,
    POSITIVE,
    SHARE,
    Between,
    Instance,
    Names,
    OneOf,
    Whole,
)

_M = TypeVar("_M", bound=Method)
Covariance = Literal["classical", "robust"]
Moments = Literal["expected", "exact"]
WithinCluster = Literal["pca", "robust-pca", "mdav", "influence"]

_COVARIANCE = OneOf("classical", "robust")
_MOMENTS = OneOf("expected", "exact")
_PROBABILITY = Between(0, 1)


class NoiseMethod(Method):
    """A way to add noise; X are the data, S their covariance, m their mean, a the level."""


@dataclass(frozen=True)
class AdditiveNoise(NoiseMethod):
    """X + E, E with variances a diag(S), independent between variables.

    Attributes
    ----------
    moments : {"expected", "exact"}
        "exact": the noise is made to have mean 0, no covariance with X, and its stated covariance
        in the sample at hand, so that what is said about the result holds to rounding.
    """

    type: ClassVar[str] = "additive"
    PARAMETERS: ClassVar = {"moments": _MOMENTS}

    moments: Moments = "expected"


@dataclass(frozen=True)
class CorrelatedNoise(NoiseMethod):
    """X + E, E with covariance a S; the covariance becomes (1 + a) S.

    Attributes
    ----------
    covariance : {"classical", "robust"}
        S of the noise: of all records, or the MCD, which outliers do not inflate (Templ and Meindl
        2008); the released covariance is then c^2 (S + a MCD), as stated in the result.
    moments : {"expected", "exact"}
        As in `AdditiveNoise`.
    """

    type: ClassVar[str] = "correlated"
    PARAMETERS: ClassVar = {"covariance": _COVARIANCE, "moments": _MOMENTS}

    covariance: Covariance = "classical"
    moments: Moments = "expected"


@dataclass(frozen=True)
class Correlated2Noise(CorrelatedNoise):
    """c (X + E) + (1 - c) m, c = 1 / sqrt(1 + a): mean and covariance stay those of X.

    Attributes
    ----------
    covariance, moments : as in `CorrelatedNoise`
    """

    type: ClassVar[str] = "correlated2"


@dataclass(frozen=True)
class RestrictedNoise(CorrelatedNoise):
    """As `Correlated2Noise` with c = sqrt((n - 1) / (n (1 + a) - 1)).

    This counts that m is estimated: the variance of each released value about the true mean is
    that of the original.

    Attributes
    ----------
    covariance, moments : as in `CorrelatedNoise`
    """

    type: ClassVar[str] = "restricted"


@dataclass(frozen=True)
class RommNoise(NoiseMethod):
    """Random orthogonal matrices mix the records; sample mean and covariance are kept exactly.

    Attributes
    ----------
    rows_together : int, at least 3
        Records are mixed in random sets of about so many.
    """

    type: ClassVar[str] = "romm"
    PARAMETERS: ClassVar = {"rows_together": Whole(3)}

    rows_together: int = 100


@dataclass(frozen=True)
class OutlierNoise(NoiseMethod):
    """Correlated noise for records with a large robust distance only.

    Attributes
    ----------
    covariance : {"classical", "robust"}
        S of the noise.
    cutoff : float in (0, 1)
        Records beyond this quantile of the chi-squared distribution get noise.
    """

    type: ClassVar[str] = "outlier"
    PARAMETERS: ClassVar = {"covariance": _COVARIANCE, "cutoff": SHARE}

    covariance: Covariance = "classical"
    cutoff: float = 0.975


class GroupingMethod(Method):
    """A way to put records into groups of at least k."""


@dataclass(frozen=True)
class MdavGroups(GroupingMethod):
    """Maximum distance to average vector, on standardised values.

    Attributes
    ----------
    block : int, at least 2 k, optional
        For millions of records: cut them into boxes of at most so many and make groups inside
        them, in almost linear time.
    """

    type: ClassVar[str] = "mdav"
    PARAMETERS: ClassVar = {"block": Whole(2) | NONE}

    block: int | None = None


@dataclass(frozen=True)
class MahalanobisGroups(MdavGroups):
    """MDAV with robust Mahalanobis distances.

    Attributes
    ----------
    block : as in `MdavGroups`
    """

    type: ClassVar[str] = "mahalanobis"


@dataclass(frozen=True)
class SingleAxisGroups(GroupingMethod):
    """Neighbours in the order of one column.

    Attributes
    ----------
    axis : column, optional
        Numeric column to sort by. Default: the first variable.
    """

    type: ClassVar[str] = "single"
    PARAMETERS: ClassVar = {"axis": Instance(str, "the name of a column") | NONE}

    axis: str | None = None


@dataclass(frozen=True)
class PcaGroups(GroupingMethod):
    """Neighbours along the first principal component."""

    type: ClassVar[str] = "pca"


@dataclass(frozen=True)
class RobustPcaGroups(GroupingMethod):
    """Neighbours along the first robust principal component."""

    type: ClassVar[str] = "robust-pca"


@dataclass(frozen=True)
class ClusterGroups(GroupingMethod):
    """Clusters of k-means, then groups inside the clusters.

    Attributes
    ----------
    clusters : int
        Number of clusters; fewer if there are not so many groups.
    within : {"pca", "robust-pca", "mdav", "influence"}
        How groups are made in a cluster; "influence" sorts by the variable that varies most in
        the cluster.
    """

    type: ClassVar[str] = "cluster"
    PARAMETERS: ClassVar = {
        "clusters": Whole(1),
        "within": OneOf("pca", "robust-pca", "mdav", "influence"),
    }

    clusters: int = 8
    within: WithinCluster = "pca"


@dataclass(frozen=True)
class GowerGroups(GroupingMethod):
    """MDAV for numbers and levels side by side, with distances as Gower's.

    Attributes
    ----------
    distance : columns, optional
        Columns that decide which records are similar. Default: the variables.
    zeros : columns
        Semi-continuous columns: 0 is 0 away from 0 and 1 away from any other value.
    """

    type: ClassVar[str] = "gower"
    PARAMETERS: ClassVar = {"distance": Names() | NONE, "zeros": Names()}

    distance: str | Sequence[str] | None = None
    zeros: str | Sequence[str] = ()


@dataclass(frozen=True)
class IndividualRanking(GroupingMethod):
    """Each variable for itself: neighbours in its order."""

    type: ClassVar[str] = "individual"


@dataclass(frozen=True)
class UnivariateOptimal(GroupingMethod):
    """Each variable for itself: the groups with the least information loss, exactly."""

    type: ClassVar[str] = "univariate-optimal"


class Aggregate(Method):
    """What a group of numbers gets."""


@dataclass(frozen=True)
class MeanValue(Aggregate):
    """The mean, weighted where weights are named."""

    type: ClassVar[str] = "mean"


@dataclass(frozen=True)
class MedianValue(Aggregate):
    """The median."""

    type: ClassVar[str] = "median"


@dataclass(frozen=True)
class TrimmedMean(Aggregate):
    """The mean without the extremes.

    Attributes
    ----------
    share : float in (0, 0.5)
        Share dropped at each end.
    """

    type: ClassVar[str] = "trimmed"
    PARAMETERS: ClassVar = {"share": Between(0, 0.5, open="both")}

    share: float = 0.2


@dataclass(frozen=True)
class InvariantMatrix(Method):
    """A matrix that keeps the frequencies of the file in expectation.

    Attributes
    ----------
    min_diagonal : float, 0 to 1
        The diagonal of the first stage is uniform between this and 1.
    alpha : float, 0 to 1
        Share of the drawn matrix; 1 - alpha goes to the identity.
    """

    type: ClassVar[str] = "invariant"
    PARAMETERS: ClassVar = {"min_diagonal": _PROBABILITY, "alpha": _PROBABILITY}

    min_diagonal: float = 0.8
    alpha: float = 0.5


@dataclass(frozen=True)
class RandomMatrix(InvariantMatrix):
    """The first stage of `InvariantMatrix` alone; frequencies are not kept.

    Attributes
    ----------
    min_diagonal, alpha : as in `InvariantMatrix`
    """

    type: ClassVar[str] = "random"


class WeightMethod(Method):
    """A way to change sampling weights."""


@dataclass(frozen=True)
class SmoothWeights(WeightMethod):
    """Mean of the logarithm of the weights given predictors, scaled to the total (Beaumont 2008).

    Attributes
    ----------
    predictors : str or sequence of str
        Columns that may explain the weights; not the strata. Default none: one weight.
    """

    type: ClassVar[str] = "smooth"
    PARAMETERS: ClassVar = {"predictors": Names()}

    predictors: str | Sequence[str] = ()


@dataclass(frozen=True)
class RoundedWeights(WeightMethod):
    """Multiples of a base.

    Attributes
    ----------
    base : float, optional
        Default: the smallest of a geometric grid with which no weight occurs in one stratum only.
    """

    type: ClassVar[str] = "round"
    PARAMETERS: ClassVar = {"base": POSITIVE | NONE}

    base: float | None = None


@dataclass(frozen=True)
class NoisyWeights(WeightMethod):
    """Weights times lognormal noise, then raked so that every stratum keeps its total.

    Attributes
    ----------
    level : float, above 0 and at most 4
        Standard deviation of the logarithm of the factor.
    """

    type: ClassVar[str] = "noise"
    PARAMETERS: ClassVar = {"level": Between(0, 4, open="low")}

    level: float = 0.5


def _by_name(*methods: type[_M]) -> dict[str, type[_M]]:
    return {method.type: method for method in methods}


NOISE: dict[str, type[NoiseMethod]] = _by_name(
    AdditiveNoise, CorrelatedNoise, Correlated2Noise, RestrictedNoise, RommNoise, OutlierNoise
)
GROUPINGS: dict[str, type[GroupingMethod]] = _by_name(
    MdavGroups, SingleAxisGroups, IndividualRanking, UnivariateOptimal, PcaGroups, RobustPcaGroups,
    MahalanobisGroups, ClusterGroups, GowerGroups,
)  # fmt: skip
AGGREGATES: dict[str, type[Aggregate]] = _by_name(MeanValue, MedianValue, TrimmedMean)
MATRICES: dict[str, type[InvariantMatrix]] = _by_name(InvariantMatrix, RandomMatrix)
WEIGHTINGS: dict[str, type[WeightMethod]] = _by_name(SmoothWeights, RoundedWeights, NoisyWeights)

METHODS: dict[str, dict[str, Mapping[str, type[Method]]]] = {
    "add_noise": {"method": NOISE},
    "microaggregate": {"method": GROUPINGS, "aggregate": AGGREGATES},
    "pram": {"matrix": MATRICES},
    "weights": {"method": WEIGHTINGS},
}
"""Verb -> argument -> short name -> class with the options of the method."""
