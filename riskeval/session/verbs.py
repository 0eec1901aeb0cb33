"""Verbs of a session: each is the function of ``riskeval.protect`` with the same name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from riskeval.protection.result import Protected


class SessionVerbs(ABC):
    """One method a verb; arguments default to the declared roles."""

    @abstractmethod
    def apply(self, verb: str, *values: Any, **parameters: Any) -> Protected:
        """Run a verb and record it."""

    def global_recode(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.global_recode`` on the current file; see there."""
        return self.apply("global_recode", *values, **parameters)

    def group_categories(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.group_categories`` on the current file; see there."""
        return self.apply("group_categories", *values, **parameters)

    def top_bottom_code(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.top_bottom_code`` on the current file; see there."""
        return self.apply("top_bottom_code", *values, **parameters)

    def local_suppression(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.local_suppression`` on the current file; see there."""
        return self.apply("local_suppression", *values, **parameters)

    def suppress_risky(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.suppress_risky`` on the current file; see there."""
        return self.apply("suppress_risky", *values, **parameters)

    def minimal_generalization(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.minimal_generalization`` on the current file; see there."""
        return self.apply("minimal_generalization", *values, **parameters)

    def mondrian(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.mondrian`` on the current file; see there."""
        return self.apply("mondrian", *values, **parameters)

    def local_recoding(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.local_recoding`` on the current file; see there."""
        return self.apply("local_recoding", *values, **parameters)

    def pram(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.pram`` on the current file; see there."""
        return self.apply("pram", *values, **parameters)

    def record_swap(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.record_swap`` on the current file; see there."""
        return self.apply("record_swap", *values, **parameters)

    def create_new_id(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.create_new_id`` on the current file; see there."""
        return self.apply("create_new_id", *values, **parameters)

    def microaggregate(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.microaggregate`` on the current file; see there."""
        return self.apply("microaggregate", *values, **parameters)

    def add_noise(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.add_noise`` on the current file; see there."""
        return self.apply("add_noise", *values, **parameters)

    def rank_swap(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.rank_swap`` on the current file; see there."""
        return self.apply("rank_swap", *values, **parameters)

    def shuffle(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.shuffle`` on the current file; see there."""
        return self.apply("shuffle", *values, **parameters)

    def mv_top_code(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.mv_top_code`` on the current file; see there."""
        return self.apply("mv_top_code", *values, **parameters)

    def merge_household_file(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.merge_household_file`` on the current file; see there."""
        return self.apply("merge_household_file", *values, **parameters)

    def weights(self, *values: Any, **parameters: Any) -> Protected:
        """Run ``riskeval.protect.weights`` on the current file; see there."""
        return self.apply("weights", *values, **parameters)
