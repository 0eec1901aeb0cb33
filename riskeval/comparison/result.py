"""Releases side by side: tables, sentences, the risk-utility map and the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from riskeval.comparison.map import RiskUtilityMap, pareto_front
from riskeval.comparison.request import SampleSizes
from riskeval.measures.request import Limits
from riskeval.shared.show import ORIGINAL, shown
from riskeval.verdict.verdict import ReleaseVerdict
from synthpop.microdata.formats.places import Place
from synthpop.microdata.messages.errors import Faults, did_you_mean
from synthpop.microdata.messages.message import joined_by, message
from synthpop.microdata.messages.presenters import presenter
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import percent, plural

EMPTY = "every key of every record is missing"
RISKS = ("worst_risk", "global_risk")
UTILITIES = ("overlap", "pmse", "tables", "il1s")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(TableResult):
    """The same measures of risk and utility on every release.

    Attributes
    ----------
    table : DataFrame
        One row per release, the original first: `kind`, `family`, `parameter`, `records`,
        `linkable`, and one column per number, named as in `measures` (sensitive variables after a
        colon: ``disco: health``).
    measures : DataFrame
        One row per release and number: `release`, `group` ("risk" or "utility"), `part` ("file
        risk", "link risk", "attribution risk" or "utility"), `measure`, `target`, `name`, `title`,
        `value`, `unit`, `records` (that a share refers to), `baseline`, `against`, `lower`,
        `upper`, `better` ("low" or "high"), `limit`, `within` (None where nothing is asked or the
        number does not apply), `applies` (whether it means what it says for this kind of file),
        `single` (whether it is that of one record), `limit_source`, `meaning`, `source`, `note`
        (why there is no value, or how it was obtained).
    overlaps : DataFrame
        One row per release, estimate and domain ("all" first): `records` (of the original in the
        domain, with a value), `safe` (whether external readers may see it), `original`,
        `released`, `relative` (percent), the four bounds, `overlap`, `note`.
    regressions : DataFrame
        One row per release and coefficient, with bounds, `overlap`, `same_conclusion`, `note`.
    shared : DataFrame
        One row per release and variable: `role`, `compared`, `how`, `levels_original`,
        `levels_release`, `levels_shared`.
    releases : DataFrame
        One row per release: `release`, `kind`, `family`, `parameter`, `records`, `linkable`,
        `weighted`, `notes`, `few_changes` (variables that changed in so few records that utility
        numbers would tell a value; external pages leave the numbers of this release out).
    roles : dict
        `keys`, `numeric`, `sensitive`, `weights`, `household`, `strata`, as given.
    verdicts : mapping of str to ReleaseVerdict
        What speaks against publishing each release.
    limits : Limits
    sample_sizes : SampleSizes
        How many records the slow measures took.
    level : float
        Of the confidence intervals.
    holdout : bool
        Whether persons outside the original were given.
    no_strangers : str
        That records of the original are in the hold-out; empty where nothing shows it.
    seed : int
    """

    table: pd.DataFrame
    measures: pd.DataFrame
    overlaps: pd.DataFrame
    regressions: pd.DataFrame
    shared: pd.DataFrame
    releases: pd.DataFrame
    roles: dict[str, object]
    verdicts: Mapping[str, ReleaseVerdict]
    limits: Limits
    sample_sizes: SampleSizes
    level: float
    holdout: bool
    seed: int
    no_strangers: str = ""

    @property
    def notes(self) -> pd.DataFrame:
        """Numbers with a note: those that could not be measured, and those under a condition."""
        columns = ["release", "name", "title", "value", "note"]
        return self.measures.loc[self.measures["note"] != "", columns].reset_index(drop=True)

    def has(self, measure: str) -> bool:
        """Whether a measure has a value for the original and for at least one release."""
        values = self.values(measure)
        return bool(values.drop(ORIGINAL).notna().any() and np.isfinite(values[ORIGINAL]))

    def values(self, measure: str) -> pd.Series:
        """Value of a measure by release; the mean over targets where it has several.

        Examples
        --------
        >>> from riskeval.comparison.compare import compare
        >>> x = pd.DataFrame({"age": [1, 1, 2, 3]})
        >>> compare(x, {"same": x}, keys=["age"], seed=1).values("below_2").tolist()
        [0.5, 0.5]
        """
        by_release = self.rows_of(measure).groupby("release", sort=False)["value"]
        means = by_release.agg(lambda values: values.mean(skipna=False))
        return means.reindex(self.table.index)

    def rows_of(self, name: str) -> pd.DataFrame:
        """Return the rows of `measures` of one number, or of every number of a measure."""
        measures = self.measures
        return measures[(measures["name"] == name) | (measures["measure"] == name)]

    def described(self, name: str) -> pd.Series:
        """Return what a number is: a row of `measures` with its title, unit and meaning."""
        rows = self.rows_of(name)
        limited = rows[rows["limit"].notna()]
        return (limited if len(limited) else rows).iloc[0]

    def title_of(self, name: str) -> str:
        """Return the title of a number, without a target where `name` has none."""
        row = self.described(name)
        if ":" in name or not row["target"]:
            return str(row["title"])
        return str(row["title"]).removesuffix(f" of {row['target']}")

    def risk_utility_map(
        self, *, risk: str | None = None, utility: str | None = None
    ) -> RiskUtilityMap:
        """Return the place of every release between risk and utility.

        Parameters
        ----------
        risk, utility : str, optional
            Names of measures (``disco``, or ``disco: health`` for one sensitive variable).
            Defaults: the worst risk of all intruders (``worst_risk``), and the first of interval
            overlap, pMSE, two-way tables and IL1s that most releases on the map have.

        Returns
        -------
        RiskUtilityMap

        Raises
        ------
        InputError
            An unknown measure.
        """
        risk = risk or next((name for name in RISKS if self.has(name)), RISKS[0])
        utility = utility or self.best(UTILITIES)
        faults = Faults("risk-utility map")
        for group, name in (("risk", risk), ("utility", utility)):
            rows = self.measures[self.measures["group"] == group]
            known = [*dict.fromkeys([*rows["measure"], *rows["name"]])]
            if name not in known:
                faults.add(group, f"{name!r} is unknown", hint=did_you_mean(name, known))
        faults.raise_if_any()
        one, two = self.described(risk), self.described(utility)
        frame = self.table[["kind", "family", "parameter"]].reset_index()
        frame["risk"] = self.values(risk).to_numpy()
        frame["utility"] = self.values(utility).to_numpy()
        frame["stopped"] = [
            name in self.verdicts and self.verdicts[name].fatal for name in frame["release"]
        ]
        gain = frame["utility"] if two["better"] == "high" else -frame["utility"]
        released = ((frame["kind"] != "original") & ~frame["stopped"]).to_numpy()
        frame["pareto"] = False
        frame.loc[released, "pareto"] = pareto_front(
            frame.loc[released, "risk"].to_numpy(float), gain[released].to_numpy(float)
        )
        return RiskUtilityMap(
            frame, risk, utility, self.title_of(risk), self.title_of(utility),
            str(one["unit"]), str(two["unit"]), str(two["better"]), float(one["limit"]),
        )  # fmt: skip

    def best(self, names: tuple[str, ...]) -> str:
        """Return the first of the measures that as many releases have as any other of them.

        Releases without a risk are not on the map, and do not count.
        """
        mapped = next((self.values(name).notna() for name in RISKS if self.has(name)), slice(None))
        counts = [int(self.values(name)[mapped].notna().sum()) for name in names]
        return names[int(np.argmax(counts))]

    def report(
        self,
        path: Place | str,
        *,
        title: str | None = None,
        audience: str = "internal",
        language: str = "en",
    ) -> Place:
        """Write the comparison as one self-contained HTML file.

        Parameters
        ----------
        path : path
        title : str, optional
        audience : {"internal", "external"}
            "external": nothing of single records, no seed, counts below 5 hidden.
        language : {"en", "de"}
            Language of the page and of its numbers.

        Raises
        ------
        InputError
            An unknown audience or language.
        OutputError
            The file cannot be written.
        """
        write = presenter("Comparison.report")
        return write(path, self, title=title, audience=audience, language=language)

    def summary(self) -> str:
        """Say what was compared, which limits are met, and what is on the Pareto front."""
        n = len(self.table) - 1
        lines = [
            message(
                "{n} compared with an original of {records} on the keys {keys}."
                if self.roles["keys"]
                else "{n} compared with an original of {records} on the amounts {keys}.",
                n=plural(n, "release was", "releases were"),
                records=plural(self.table["records"].iloc[0], "record"),
                keys=", ".join(self.roles["keys"] or self.roles["numeric"]),  # type: ignore[arg-type]
            )
        ]
        if self.no_strangers:
            lines.append(
                message(
                    "Risks compared with strangers give no verdict: {no_strangers}.",
                    no_strangers=self.no_strangers,
                )
            )
        lines += [self._sentence(str(name)) for name in self.table.index]
        lines.append(self.risk_utility_map().summary())
        unmeasured = self.measures[self.measures["value"].isna()]
        if len(unmeasured):
            lines.append(
                message(
                    "{unmeasured} numbers could not be measured; the reasons are in notes. No "
                    "number proves a file safe: each describes one intruder.",
                    unmeasured=len(unmeasured),
                )
            )
        return joined_by("\n", lines)

    def _sentence(self, name: str) -> str:
        rows = self.measures[self.measures["release"] == name]
        if name == ORIGINAL:
            asked = rows[rows["within"].notna()]
            exceeded = asked[~asked["within"].astype(bool)]
            text = message(
                "{name}: {asked} of {n} met",
                name=name,
                asked=len(asked) - len(exceeded),
                n=plural(len(asked), "limit"),
            )
            texts = [f"{row.title} {shown(row)}" for row in exceeded.itertuples()]
            return text + (
                (" " + message("(exceeded: {texts}).", texts=joined_by("; ", texts)))
                if texts
                else "."
            )
        worst = rows[rows["measure"] == "worst_risk"].iloc[0]
        text = f"{name}: {self.verdicts[name].summary().rstrip('.')}"
        if worst["value"] == worst["value"]:
            text += "; " + message(
                "the worst intruder finds {value} of what the original tells ({note})",
                value=percent(worst["value"], 1),
                note=worst["note"],
            )
        if self.table.loc[name, "kind"] == "synthetic" and not rows["applies"].all():
            text += "; " + message(
                "k-anonymity and individual risk do not apply to synthetic records"
            )
        if rows["note"].str.contains(EMPTY, regex=False).any():
            text += f"; {EMPTY}"
        not_compared = self.shared[
            (self.shared["release"] == name) & ~self.shared["compared"].astype(bool)
        ]
        if len(not_compared):
            reasons = [f"{row.variable} {row.how}" for row in not_compared.itertuples()]
            text += "; " + message("not compared: {reasons}", reasons=joined_by("; ", reasons))
        return text + "."
