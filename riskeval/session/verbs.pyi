"""Verbs of a session, written by ``python -m tests.derived``."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from riskeval.protection.methods import (
    Aggregate,
    GroupingMethod,
    InvariantMatrix,
    NoiseMethod,
    WeightMethod,
)
from riskeval.protection.pram_matrix import Pairs
from riskeval.protection.result import Protected

class SessionVerbs(ABC):
    @abstractmethod
    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected: ...
    def global_recode(
        self,
        column: str,
        *,
        breaks: int | Sequence[Any],
        labels: Sequence[Any] | None = ...,
        spacing: str = ...,
    ) -> Protected: ...
    def recode_values(self, column: str, table: Any) -> Protected: ...
    def group_categories(self, column: str, *, groups: Mapping[Any, Any]) -> Protected: ...
    def top_bottom_code(
        self,
        column: str,
        *,
        upper: Any = ...,
        lower: Any = ...,
        replacement: Any = ...,
        weights: str | None = ...,
        household: str | None = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
    ) -> Protected: ...
    def local_suppression(
        self,
        keys: Sequence[str] | None = ...,
        *,
        k: int = ...,
        importance: Sequence[int] | Mapping[str, int] | None = ...,
        subsets: Mapping[int, int] | None = ...,
        strata: str | Sequence[str] | None = ...,
        linked: Mapping[str, str | Sequence[str]] | None = ...,
        missing: str = ...,
        alpha: float = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        household_keys: Sequence[str] = ...,
        weights: str | Sequence[str] | None = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        targets: Mapping[str, float] | None = ...,
    ) -> Protected: ...
    def suppress_risky(
        self,
        column: str | Sequence[str],
        *,
        risk: Any = ...,
        threshold: float,
        importance: Sequence[int] | Mapping[str, int] | None = ...,
        weights: str | None = ...,
        household: str | None = ...,
    ) -> Protected: ...
    def minimal_generalization(
        self,
        hierarchies: Mapping[str, Any],
        *,
        k: int,
        suppression_limit: int = ...,
        node: Mapping[str, int] | None = ...,
        household: str | None = ...,
        household_keys: Sequence[str] = ...,
        targets: Mapping[str, float] | None = ...,
    ) -> Protected: ...
    def round_to(
        self,
        columns: str | Sequence[str],
        base: float,
        *,
        least: float | None = ...,
        most: float | None = ...,
    ) -> Protected: ...
    def mondrian(
        self,
        keys: Sequence[str] | None = ...,
        *,
        k: int,
        household: str | None = ...,
        targets: Mapping[str, float] | None = ...,
    ) -> Protected: ...
    def local_recoding(
        self,
        keys: Sequence[str] | None = ...,
        *,
        k: int = ...,
        hierarchies: Mapping[str, Any] | None = ...,
        importance: Sequence[int] | Mapping[str, int] | None = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        household_keys: Sequence[str] = ...,
        targets: Mapping[str, float] | None = ...,
    ) -> Protected: ...
    def pram(
        self,
        columns: str | Sequence[str] = ...,
        *,
        matrix: Literal["invariant", "random"] | InvariantMatrix | Any = ...,
        min_diagonal: float | None = ...,
        alpha: float | None = ...,
        strata: str | Sequence[str] | None = ...,
        forbidden: Mapping[str, Pairs] | Pairs = ...,
        weights: str | None = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def record_swap(
        self,
        *,
        household: str | None = ...,
        hierarchy: Sequence[str],
        similar: Sequence[str] | Sequence[Sequence[str]],
        risk_keys: Sequence[str] = ...,
        k: int = ...,
        rate: float = ...,
        carry_along: Sequence[str] = ...,
        household_keys: Sequence[str] = ...,
        risk: Any = ...,
        risk_threshold: float | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def create_new_id(
        self,
        column: str,
        *,
        within: str | Sequence[str] | None = ...,
        also: Sequence[str] = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def microaggregate(
        self,
        variables: Sequence[str] | None = ...,
        *,
        k: int = ...,
        method: Literal[
            "mdav",
            "single",
            "individual",
            "univariate-optimal",
            "pca",
            "robust-pca",
            "mahalanobis",
            "cluster",
            "gower",
        ]
        | GroupingMethod
        | Mapping[str, Any] = ...,
        strata: str | Sequence[str] | None = ...,
        aggregate: Literal["mean", "median", "trimmed"] | Aggregate | Mapping[str, Any] = ...,
        weights: str | None = ...,
        integers: Literal["real", "round"] = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        household_keys: Sequence[str] = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        keep_signs: Sequence[str] = ...,
        targets: Mapping[str, float] | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def add_noise(
        self,
        variables: Sequence[str] | None = ...,
        *,
        method: Literal["additive", "correlated", "correlated2", "restricted", "romm", "outlier"]
        | NoiseMethod
        | Mapping[str, Any] = ...,
        level: float | None = ...,
        keep_zeros: Sequence[str] = ...,
        integers: Literal["real", "round"] = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        keep_signs: Sequence[str] = ...,
        targets: Mapping[str, float] | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def rank_swap(
        self,
        variables: Sequence[str] | None = ...,
        *,
        p: float | None = ...,
        strata: str | Sequence[str] | None = ...,
        top: float = ...,
        bottom: float = ...,
        keep_correlation: float | None = ...,
        keep_means: float | None = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        keep_signs: Sequence[str] = ...,
        targets: Mapping[str, float] | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def shuffle(
        self,
        *,
        formula: str,
        method: str = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        keep_signs: Sequence[str] = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def mv_top_code(
        self,
        variables: Sequence[str] | None = ...,
        *,
        alpha: float = ...,
        covariance: str = ...,
        integers: str = ...,
        household: str | None = ...,
        household_variables: Sequence[str] = ...,
        components: Mapping[str, Sequence[str]] | None = ...,
        keep_signs: Sequence[str] = ...,
    ) -> Protected: ...
    def merge_household_file(self, households: Any, household: str = ...) -> Protected: ...
    def weights(
        self,
        column: str = ...,
        *,
        strata: str | Sequence[str] = ...,
        method: Literal["smooth", "round", "noise"] | WeightMethod | Mapping[str, Any] = ...,
        estimates: str | Sequence[str] = ...,
        household: str | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def drop(self, where: Mapping[str, Any], *, household: str | None = ...) -> Protected: ...
    def sample(
        self,
        share: float,
        *,
        household: str | None = ...,
        strata: str | Sequence[str] | None = ...,
        weights: str | None = ...,
        seed: int | None = ...,
    ) -> Protected: ...
    def set_missing(
        self, columns: str | Sequence[str], *, where: Mapping[str, Any] | None = ...
    ) -> Protected: ...
