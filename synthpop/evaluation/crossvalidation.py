"""Which model, which predictors: candidates for one variable ranked on households left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.conditional.class_models import coded_field, codes_of
from synthpop.evaluation.candidates import Candidate, check_options, labelled, steps_before
from synthpop.evaluation.holdout import FoldScores, assign_households, subsample
from synthpop.microdata.frame.block import Sample
from synthpop.microdata.frame.native import same_library
from synthpop.microdata.messages.errors import Faults, InputError
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.results import TableResult
from synthpop.microdata.messages.text import percent, plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.statistics.streams import Streams, resolve_seed
from synthpop.stages.continuous.stage import Continuous
from synthpop.stages.recipe import check_recipe, make_layout, make_sample, split_recipe, storable


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation(TableResult):
    """Candidates for one variable, ranked on households that they have not seen.

    Attributes
    ----------
    table : DataFrame
        One row per candidate, the best first: `variable`, `candidate`, the scores (lower is better;
        see `cross_validate`), `difference` of the first score to the best candidate and its
        `standard_error` over the folds, `zero` (weighted share of persons whose own value was
        predicted with probability zero; numbers: who got no draws with a value) and `fallbacks`
        (answers from a lower level of the fallback of models, per person).
    by_fold : DataFrame
        The scores of each candidate and fold.
    score : str
        The score that ranks: "log_score" or "crps".
    candidates : dict
        Label -> stage.
    folds, draws : int
    smallest_probability : float
        Probabilities below it count as this one in the log score.
    n_persons, n_households : int
        Of the survey.
    seed : int
    """

    table: pd.DataFrame
    by_fold: pd.DataFrame
    score: str
    candidates: Mapping[str, Candidate]
    folds: int
    draws: int
    smallest_probability: float
    n_persons: int
    n_households: int
    seed: int

    @property
    def best(self) -> str:
        """Label of the candidate with the lowest score."""
        return str(self.table["candidate"].iloc[0])

    @property
    def best_stage(self) -> Candidate:
        """The candidate with the lowest score."""
        return self.candidates[self.best]

    def summary(self) -> str:
        """Say which candidate is best and which others do not differ significantly."""
        first = self.table.iloc[0]
        name = {"log_score": "log score", "crps": "continuous ranked probability score"}
        lines = [
            f"{first['variable']}: {plural(len(self.table), 'candidate')} judged on "
            f"{plural(self.folds, 'fold')} of whole households "
            f"({plural(self.n_persons, 'person')}), seed {self.seed}.",
            f"Lowest {name[self.score]}: {self.best} ({first[self.score]:.4g}).",
            *beside_the_best(self.table),
        ]
        second = "brier" if self.score == "log_score" else "pinball_50"
        best_by_second = self.table["candidate"].iloc[int(self.table[second].to_numpy().argmin())]
        if best_by_second != self.best:
            what = "Brier score" if second == "brier" else "pinball score of the median"
            lines.append(f"By the {what} the best is {best_by_second}.")
        surprised = self.table[self.table["zero"] > 0].sort_values("zero", ascending=False)
        if len(surprised):
            pairs = zip(surprised["candidate"], surprised["zero"], strict=True)
            text = "; ".join(f"{label} ({percent(share)})" for label, share in pairs)
            lines.append(
                f"Predicted zero probability for values that occur, in brackets how many: {text}. "
                f"Each such value counts as probability {self.smallest_probability:.2g}."
                if self.score == "log_score"
                else f"Predicted no value for persons who have one, in brackets how many: {text}. "
                f"They are scored by the values of all."
            )
        return "\n".join(lines)


def beside_the_best(table: pd.DataFrame) -> list[str]:
    """Say how the other candidates differ from the best one, the first row."""
    following = table.iloc[1:]
    if following.empty:
        return []
    is_equal = following["difference"] == 0
    is_near = ~is_equal & (following["difference"] <= 2 * following["standard_error"])
    lines = []
    if is_equal.any():
        lines.append(f"The same score: {'; '.join(following['candidate'][is_equal])}.")
    if is_near.any():
        labels = "; ".join(following["candidate"][is_near])
        lines.append(f"Not significantly different (within two standard errors): {labels}.")
    worse = int((~is_equal & ~is_near).sum())
    if worse:
        others = plural(worse, "other candidate is", "other candidates are")
        lines.append(f"{others} worse by more than two standard errors of the difference.")
    lines.append(
        "Folds share most of what they learn from, so standard errors are rather too small."
    )
    return lines


@same_library
def cross_validate(
    survey: Survey,
    name: str,
    candidates: Mapping[str, Candidate] | Sequence[Candidate],
    *,
    before: Sequence[Any] | None = None,
    folds: int = 5,
    draws: int = 100,
    smallest_probability: float | None = None,
    seed: int | None = None,
) -> CrossValidation:
    """Rank models and predictors of one variable by proper scores on households left out.

    The households are dealt to folds, stratum by stratum; members stay together. Where the survey
    names primary sampling units, these are dealt, since households of one unit are alike. Each
    candidate is fitted to all folds but one, by the same code that fits it in a recipe, and
    predicts the distribution of the variable for each person of the fold left out, given that
    person's own predictors. The prediction is compared with the value that the person has. Means
    are weighted with the survey weights.

    Parameters
    ----------
    survey : Survey
    name : str
        The variable.
    candidates : dict or list of stages
        `Categorical` and `Relation`, or `Continuous`, all for `name`; a dict gives labels. See
        `grid` for all combinations of options.
    before : list of stages, optional
        The steps that come before in the recipe, `Structure` first. Their variables are there as
        the survey has them. Default: a structure of all predictors that the candidates name.
    folds : int
    draws : int
        Draws a person, for `Continuous` and `Relation`.
    smallest_probability : float, optional
        Probabilities below it count as this one in the log score. Default: half a person of the
        training sample, 1 / (2 n).
    seed : int, optional
        Names the folds and the draws; candidates share both.

    Returns
    -------
    CrossValidation
        Scores of categorical variables: `log_score` (ranks; minus the log of the probability
        predicted for what happened) and `brier` (squared distance of the distribution to what
        happened, 0 to 2). Of numbers: `crps` (ranks; unit of the variable), `pinball_10`,
        `pinball_50`, `pinball_90` (quantile scores; that of 50 is half the absolute error of the
        median) and `brier_missing` (squared error of the probability of being missing).

    Raises
    ------
    InputError
        Lists everything that does not fit.

    Notes
    -----
    A missing category is a level. A missing number is judged by `brier_missing`; the other scores
    are of persons with a value and of their draws with a value. Who has a value but fewer than two
    draws with one is scored by draws from the training sample's weighted values and counts in
    `zero`. `Categorical` is scored by its probabilities, `Relation` and `by_household="first"` by
    shares of draws of whole households, ``(count + 1 / levels) / (draws + 1)``. With
    `by_household="shared"` the predictors are those of the first member. Numbers of another
    `by_household` than "first": the true value is the household's, and the same for all candidates.
    The cut of small probabilities makes the log score proper but for these; the Brier score has no
    cut.

    Sources: Gneiting and Raftery (2007), doi:10.1198/016214506000001437; on standard errors over
    folds Bengio and Grandvalet (2004), Journal of Machine Learning Research 5.

    Examples
    --------
    >>> from synthpop import Categorical, Survey
    >>> rng = np.random.default_rng(1)
    >>> age = rng.choice(["young", "old"], 300)
    >>> job = np.where((age == "old") == (rng.random(300) < 0.9), "retired", "works")
    >>> survey = Survey(pd.DataFrame({"age": age, "job": job, "w": 1.0}), weight="w")
    >>> with_age = Categorical("job", predictors=["age"])
    >>> without = Categorical("job", predictors=[])
    >>> found = cross_validate(survey, "job", {"age": with_age, "nothing": without}, seed=1)
    >>> found.best
    'age'
    """
    seed = resolve_seed(seed)
    named = labelled(candidates)
    check_options(named, name, folds, draws, smallest_probability)
    survey = storable(survey)
    steps = steps_before(survey, named.values()) if before is None else list(before)
    sample = _prepared(survey, name, named, steps, seed)
    n_households = len(sample.offsets) - 1
    n_units = len(np.unique(sample.unit_of_persons))
    if folds > n_units:
        unit = "household" if sample.units is None else message("primary sampling unit")
        what = f"{plural(folds, 'fold')} of {plural(n_units, unit)}"
        raise InputError.of("cross-validation", "folds", what, f"Give at most one fold a {unit}.")
    streams = Streams(seed)
    fold = assign_households(sample, folds, streams.at("cross-validation", "folds", folds))
    rows = []
    for number in range(folds):
        trained, held_out = subsample(sample, fold != number), subsample(sample, fold == number)
        smallest = smallest_probability or 1 / (2 * trained.n_persons)
        fold_scores = FoldScores(name, trained, held_out, draws, smallest, streams, number)
        rows += [{"candidate": label, "fold": number, **fold_scores.scores(stage)}
                 for label, stage in named.items()]  # fmt: skip
    by_fold = pd.DataFrame(rows)
    score = "crps" if isinstance(next(iter(named.values())), Continuous) else "log_score"
    return CrossValidation(
        table=_ranked(by_fold, name, score),
        by_fold=by_fold,
        score=score,
        candidates=named,
        folds=folds,
        draws=draws,
        smallest_probability=smallest_probability or folds / (2 * (folds - 1) * sample.n_persons),
        n_persons=sample.n_persons,
        n_households=n_households,
        seed=seed,
    )


def _prepared(
    survey: Any, name: str, named: Mapping[str, Any], before: list[Any], seed: int
) -> Sample:
    """Return the sample as a stage sees it behind these steps; everything is checked first."""
    faults = Faults("cross-validation")
    steps = split_recipe(before)
    other_steps: list[Any] = [*steps.survey_stages, *steps.population_stages]
    for other in other_steps:
        what = "works on the survey or on the finished population"
        faults.add(other.label, what, hint="Leave it out, or prepare the survey first.")
    faults.raise_if_any()
    columns = None
    for label, stage in named.items():
        try:
            columns = check_recipe([*before, stage], survey)
        except InputError as problem:
            texts = {str(fault) for fault in faults.found}
            for fault in problem.faults:
                where = fault.where if fault.where != stage.label else label
                relabelled = replace(fault, where=where)
                faults.found += [] if str(relabelled) in texts else [relabelled]
    faults.raise_if_any()
    assert columns is not None
    sample = make_sample(survey, columns, make_layout(survey, columns))
    streams = Streams(seed)
    for number, step in enumerate(steps.stages):
        model = step.fit(sample, streams.at("fit", step.label))
        observed = step.observed(model, sample)
        fields = {item.name: item for item in model.fields if item.name in observed}
        sample = sample.with_columns(fields, observed)
        sample = replace(sample, basic=sample.available) if number == 0 else sample
    if isinstance(next(iter(named.values())), Continuous):
        return sample
    field = coded_field(sample, name)  # numbers get the levels of all folds
    codes = codes_of(sample, name, field).astype(field.dtype)
    return replace(
        sample, fields={**sample.fields, name: field}, columns={**sample.columns, name: codes}
    )


def _ranked(by_fold: pd.DataFrame, name: str, score: str) -> pd.DataFrame:
    """One row per candidate: weighted means over the folds, the best first."""
    aside = ("candidate", "fold", "n", "weight", "weight_values")
    columns = [str(column) for column in by_fold if column not in aside]
    of_values = [column for column in columns if column.startswith(("crps", "pinball"))]
    rows = []
    for label, folds in by_fold.groupby("candidate", sort=False):
        row: dict[str, Any] = {"variable": name, "candidate": str(label)}
        for column in columns:
            has_value = folds[column].notna()
            weight = folds["weight_values" if column in of_values else "weight"][has_value]
            values = folds[column][has_value]
            row[column] = float(np.average(values, weights=weight)) if len(values) else np.nan
        rows.append(row)
    table = pd.DataFrame(rows).sort_values(score, kind="stable", ignore_index=True)
    score_by_fold = by_fold.pivot(index="fold", columns="candidate", values=score)
    apart = score_by_fold.sub(score_by_fold[table["candidate"].iloc[0]], axis=0)
    table["difference"] = table[score] - table[score].iloc[0]
    error = apart.std(ddof=1) / np.sqrt(len(score_by_fold))
    table["standard_error"] = error.reindex(table["candidate"]).to_numpy()
    scores = [column for column in columns if column not in ("zero", "fallbacks")]
    order = ["variable", "candidate", *scores, "difference", "standard_error", "zero", "fallbacks"]
    return table[order]
