"""What a release has lost of the original, on what both share, by the registry of utility."""

from __future__ import annotations

from riskeval.comparison.alignment import Aligned
from riskeval.comparison.request import CompareRequest
from riskeval.shared.measurement import Measurement
from riskeval.utility.entry import UtilityInput
from riskeval.utility.registry import utility_measurements


def loss(request: CompareRequest, aligned: Aligned) -> list[Measurement]:
    """Measure detail, suppression, numbers, tables and the propensity score."""
    categories = {*request.keys, *request.sensitive} - set(request.numeric)
    before, after = request.original, aligned.release.frame
    return utility_measurements(
        UtilityInput(
            aligned.x, aligned.y, request.keys, request.numeric, request.sensitive,
            rows=aligned.release.rows, weights=request.weights,
            released_weights=aligned.release.weights, not_compared=aligned.not_compared,
            levels={
                row["variable"]: (
                    row["levels_original"], row["levels_shared"] if row["compared"] else 0
                )
                for row in aligned.shared
                if row["variable"] in categories
            },
            suppressed={
                name: max(0.0, float(after[name].isna().mean() - before[name].isna().mean()))
                if name in after
                else 1.0
                for name in dict.fromkeys([*request.keys, *request.sensitive, *request.numeric])
            },
            most_records=request.sample_sizes.propensity, seed=request.seed,
        )
    )  # fmt: skip
