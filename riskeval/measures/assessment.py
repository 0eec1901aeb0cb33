"""The result of an assessment: every number with its meaning and limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from riskeval.measures.registry import MEASURES
from riskeval.measures.request import Limits
from riskeval.shared.measurement import Measurement
from riskeval.verdict.verdict import ReleaseVerdict
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import plural

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Assessment(TableResult):
    """Everything that was measured, number by number.

    Attributes
    ----------
    table : DataFrame
        One row per number: ``measure`` (name in the registry), ``number`` (its title), ``name``,
        ``target``, ``value``, ``unit``, ``records``, ``lower`` and ``upper`` (where the number has
        a range), ``limit``, ``within`` (True, False, or None where nothing is asked), ``meaning``,
        ``note``, ``limit_source`` and ``source``.
    results : mapping of str to result
        Result of each measure, under its name in the registry.
    skipped : mapping of str to str
        Measures that were left out, with the reason.
    measurements : tuple of Measurement
        The rows of `table` as records.
    verdict : ReleaseVerdict
        What speaks against publishing the file, from limits and from all of its columns.
    keys, sensitive, numeric : tuple of str
    n_records : int
    population_size : float or None
    limits : Limits
    """

    table: pd.DataFrame
    results: Mapping[str, Any]
    skipped: Mapping[str, str]
    measurements: tuple[Measurement, ...]
    verdict: ReleaseVerdict
    keys: tuple[str, ...]
    sensitive: tuple[str, ...]
    numeric: tuple[str, ...]
    n_records: int
    population_size: float | None
    limits: Limits

    @property
    def exceeded(self) -> pd.DataFrame:
        """Rows of `table` whose limit is exceeded."""
        return self.table[[within is False for within in self.table["within"]]]

    def summary(self) -> str:
        """Return the verdict, then the sentence of each measure."""
        lines = [
            self.verdict.summary(),
            message(
                "{n_records}, for intruders who know {keys} and no more.",
                n_records=plural(self.n_records, "record"),
                keys=", ".join(self.keys or self.numeric),
            ),
        ]
        for name, result in self.results.items():
            lines.append(f"{MEASURES[name].title}: {result.summary()}")
        lines += [f"{text.rstrip('.')}." for text in self.verdict.not_tried]
        return joined_by("\n", lines)

    def to_markdown(self) -> str:
        """Return a summary page: each measure with its question, numbers and sentence.

        The page holds counts and means only, nothing of single records.
        """
        return presenter("Assessment.to_markdown")(self)

    def figures(self) -> dict[str, Figure]:
        """Return the figures that the results allow, as matplotlib figures by name.

        ``risk_distribution``, ``sample_against_population`` (with weights), ``cell_sizes`` and
        ``suda_by_record``.
        """
        return presenter("Assessment.figures")(self)

    def save(self, folder: Path | str) -> Path:
        """Write the page, the table and the figures into a new or empty folder.

        Returns
        -------
        Path
            The folder, with ``risk.md``, ``risk.csv`` and one PNG a figure. Page and table hold
            totals only; the figures show distinct keys and records as points, without names.

        Raises
        ------
        OutputError
            The folder holds something already, or cannot be written. Nothing is written then.
        """
        return presenter("Assessment.save")(self, folder)
