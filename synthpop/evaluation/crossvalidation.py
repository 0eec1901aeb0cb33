"""Which model, which predictors: candidates for one variable ranked on households left out."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from synthpop.conditional.class_models import coded_field, codes_of
from synthpop.conditional.members_before import GIVEN_MEMBERS
from synthpop.conditional.predictors import resolve_terms
from synthpop.evaluation.holdout import Judge, deal, part_of
from synthpop.microdata.block import Sample
from synthpop.microdata.errors import Faults, InputError
from synthpop.microdata.results import Result
from synthpop.microdata.streams import Streams, resolve_seed
from synthpop.microdata.survey import Survey
from synthpop.microdata.text import percent, plural
from synthpop.stages.categorical import Categorical
from synthpop.stages.continuous.stage import Continuous
from synthpop.stages.id_columns import SIZE_NAME
from synthpop.stages.recipe import check_recipe, make_layout, make_sample, storable, take_apart
from synthpop.stages.relation import Relation
from synthpop.stages.structure import Structure

Candidate = Categorical | Relation | Continuous
KIND = "kind of step"


@dataclass(frozen=True, slots=True, eq=False)
class CrossValidation(Result):
    """Candidates for one variable, ranked on households that they have not seen.

    Attributes
    ----------
    table : DataFrame
        One row a candidate, the best first: `variable`, `candidate`, the scores (lower is better;
        see `cross_validate`), `difference` of the first score to the best candidate and its
        `standard_error` over the folds, `zero` (weighted share of persons whose own value was
        announced as impossible; numbers: who got no draws with a value) and `fallbacks` (answers
        from a lower level of the fallback of models, per person).
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

    def to_frame(self) -> pd.DataFrame:
        """Return the ranked table."""
        return self.table

    def summary(self) -> str:
        """Say which candidate is best and which others cannot be told from it."""
        first = self.table.iloc[0]
        name = {"log_score": "log score", "crps": "continuous ranked probability score"}
        lines = [
            f"{first['variable']}: {plural(len(self.table), 'candidate')} judged on "
            f"{plural(self.folds, 'fold')} of whole households "
            f"({plural(self.n_persons, 'person')}), seed {self.seed}.",
            f"Lowest {name[self.score]}: {self.best} ({first[self.score]:.4g}).",
            *others_told(self.table),
        ]
        second = "brier" if self.score == "log_score" else "pinball_50"
        other = self.table["candidate"].iloc[int(self.table[second].to_numpy().argmin())]
        if other != self.best:
            what = "Brier score" if second == "brier" else "pinball score of the median"
            lines.append(f"By the {what} the best is {other}.")
        surprised = self.table[self.table["zero"] > 0].sort_values("zero", ascending=False)
        if len(surprised):
            pairs = zip(surprised["candidate"], surprised["zero"], strict=True)
            told = "; ".join(f"{label} ({percent(share)})" for label, share in pairs)
            lines.append(
                f"Announced as impossible what persons have, in brackets how many: {told}. Each "
                f"such value counts as probability {self.smallest_probability:.2g}."
                if self.score == "log_score"
                else f"Announced no value for persons who have one, in brackets how many: {told}. "
                f"They are scored by the values of all."
            )
        return "\n".join(lines)


def others_told(table: pd.DataFrame) -> list[str]:
    """Say which candidates cannot be told from the best one, the first row."""
    rest = table.iloc[1:]
    if rest.empty:
        return []
    same = rest["difference"] == 0
    near = ~same & (rest["difference"] <= 2 * rest["standard_error"])
    lines = []
    if same.any():
        lines.append(f"The same score: {'; '.join(rest['candidate'][same])}.")
    if near.any():
        told = "; ".join(rest["candidate"][near])
        lines.append(f"Not told from it by this survey (within two standard errors): {told}.")
    worse = int((~same & ~near).sum())
    if worse:
        others = plural(worse, "other candidate is", "other candidates are")
        lines.append(f"{others} worse by more than two standard errors of the difference.")
    lines.append(
        "Folds share most of what they learn from, so standard errors are rather too small."
    )
    return lines


def grid(stage: Candidate, options: Mapping[str, Sequence[Any]]) -> dict[str, Candidate]:
    """Return the stage with every combination of the options, by label.

    Examples
    --------
    >>> found = grid(Categorical("status"), {"model": ["tree", "forest"], "predictors": [["age"]]})
    >>> list(found)
    ["model='tree', predictors=['age']", "model='forest', predictors=['age']"]
    """
    faults = Faults("candidates")
    known = {item.name for item in fields(stage)}
    for option, values in options.items():
        if option not in known:
            what = f"{type(stage).__name__} has no option {option!r}"
            faults.add(option, what, remedy=f"Options are {', '.join(sorted(known))}.")
        if isinstance(values, str) or not isinstance(values, Sequence) or not len(values):
            faults.add(option, f"is {values!r}", remedy="Give a list of values to try.")
    faults.raise_if_any()
    found = {}
    for chosen in itertools.product(*options.values()):
        pairs = dict(zip(options, chosen, strict=True))
        label = ", ".join(f"{option}={_told(value)}" for option, value in pairs.items())
        found[label] = replace(stage, **pairs)
    return found


def _told(value: Any) -> str:
    """Return an option as it is written in Python, a tuple as a list, in one line."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_told, value))}]"
    return " ".join(repr(value).split())


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
    announces the distribution of the variable for each person of the fold left out, given that
    person's own predictors. The announcement is compared with the value that the person has. Means
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
        announced for what happened) and `brier` (squared distance of the distribution to what
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
    >>> from synthpop import Survey
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
    named = _labelled(candidates)
    _check_options(named, name, folds, draws, smallest_probability)
    if isinstance(survey, Survey):
        survey = storable(survey)
    steps = _steps_before(survey, named.values()) if before is None else list(before)
    sample = _prepared(survey, name, named, steps, seed)
    n_households = len(sample.offsets) - 1
    n_units = len(np.unique(sample.unit_of_persons))
    if folds > n_units:
        faults = Faults("cross-validation")
        unit = "household" if sample.units is None else "primary sampling unit"
        what = f"{plural(folds, 'fold')} of {plural(n_units, unit)}"
        faults.add("folds", what, remedy=f"Give at most one fold a {unit}.")
        faults.raise_if_any()
    streams = Streams(seed)
    fold = deal(sample, folds, streams.at("cross-validation", "folds", folds))
    rows = []
    for number in range(folds):
        trained, held_out = part_of(sample, fold != number), part_of(sample, fold == number)
        smallest = smallest_probability or 1 / (2 * trained.n_persons)
        judge = Judge(name, trained, held_out, draws, smallest, streams, number)
        rows += [{"candidate": label, "fold": number, **judge.scores(stage)}
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


# checks and survey_stage


def _labelled(candidates: Any) -> dict[str, Any]:
    """Candidates by label; those of a list are called by the options that tell them apart."""
    faults = Faults("cross-validation")
    if isinstance(candidates, Mapping):
        found = {str(label): _of_one_name(stage) for label, stage in candidates.items()}
    elif isinstance(candidates, Sequence) and not isinstance(candidates, str):
        stages = [_of_one_name(stage) for stage in candidates]
        labels = _labels(stages)
        again = {label for label in labels if labels.count(label) > 1}
        for label in sorted(again):
            faults.add("candidates", f"{label} is there twice", remedy="Leave one of them.")
        found = dict(zip(labels, stages, strict=True))
    else:
        found = {}
    if not found:
        faults.add("candidates", "there are none", remedy="Give a dict or a list of stages.")
    faults.raise_if_any()
    return found


def _of_one_name(stage: Any) -> Any:
    """Return a step for a list of one name as a step for that name."""
    if isinstance(stage, Categorical) and len(stage.provides) == 1 and stage.name != stage.variable:
        return replace(stage, name=stage.variable)
    return stage


def _labels(stages: Sequence[Any]) -> list[str]:
    """Return the options in which candidates differ; where they do not, those that were given."""
    told = [_options(stage) for stage in stages]
    names = dict.fromkeys(option for item in told for option in item)
    apart = [name for name in names if len(_settings(name, stages, told)) > 1]
    labels = [_label(item, [name for name in apart if name in item]) for item in told]
    if "" not in labels and len(set(labels)) == len(labels):
        return labels
    return [_label(item, _given(stage)) for stage, item in zip(stages, told, strict=True)]


def _settings(name: str, stages: Sequence[Any], told: Sequence[dict[str, str]]) -> set[str | None]:
    """Return the values of an option; None: the default of the candidate's kind."""
    values: set[str | None] = set()
    for stage, item in zip(stages, told, strict=True):
        if name in item:
            known = type(stage).__dataclass_fields__.get(name) if name != KIND else None
            plain = known is not None and item[name] == _told(known.default)
            values.add(None if plain else item[name])
    return values


def _options(stage: Any) -> dict[str, str]:
    """Return the kind of a candidate and its options, the model first."""
    if not isinstance(stage, Candidate):
        return {KIND: repr(stage)}
    names = sorted((item.name for item in fields(stage) if item.name != "name"), key=_is_no_model)
    return {KIND: type(stage).__name__, **{name: _told(getattr(stage, name)) for name in names}}


def _given(stage: Any) -> list[str]:
    """Return the model of a candidate and the options that are not their default."""
    if not isinstance(stage, Candidate):
        return [KIND]
    names = [
        item.name
        for item in fields(stage)
        if item.name not in ("name", "relationship", "head")
        and (not _is_no_model(item.name) or getattr(stage, item.name) != item.default)
    ]
    return sorted(names, key=_is_no_model)


def _is_no_model(option: str) -> bool:
    return option not in ("model", "method")


def _label(told: Mapping[str, str], options: Sequence[str]) -> str:
    return ", ".join(told[name] if name == KIND else f"{name}={told[name]}" for name in options)


def _check_options(
    named: Mapping[str, Any], name: str, folds: Any, draws: Any, smallest: Any
) -> None:
    faults = Faults("cross-validation")
    if not isinstance(name, str):
        faults.add("name", f"is {name!r}", remedy="Give the name of one variable.")
    for label, stage in named.items():
        if not isinstance(stage, Candidate):
            remedy = "Give Categorical, Relation or Continuous stages."
            faults.add(label, f"{stage!r} is no candidate", remedy=remedy)
        elif isinstance(name, str) and stage.name != name:
            made = ", ".join(map(repr, stage.provides))
            remedy = "Compare candidates for one variable."
            faults.add(label, f"makes {made}, not {name!r}", remedy=remedy)
    there = [stage for stage in named.values() if isinstance(stage, Candidate)]
    if len({isinstance(stage, Continuous) for stage in there}) > 1:
        what = "are Continuous and others: their scores cannot be compared"
        faults.add("candidates", what, remedy="Compare them in two calls.")
    forms = {stage.by_household for stage in there if isinstance(stage, Continuous)}
    if len({None if form in GIVEN_MEMBERS else form for form in forms}) > 1:
        what = "differ in by_household: they announce different values"
        faults.add("candidates", what, remedy="Compare them in two calls.")
    for option, value, least in (("folds", folds, 2), ("draws", draws, 2)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < least:
            faults.add(option, f"is {value!r}", remedy=f"Give a whole number, {least} or more.")
    if smallest is not None:
        number = isinstance(smallest, (int, float)) and not isinstance(smallest, bool)
        if not number or not 0 < smallest < 1:
            what = f"is {smallest!r}"
            faults.add("smallest_probability", what, remedy="Give a number between 0 and 1.")
    faults.raise_if_any()


def _steps_before(survey: Any, stages: Any) -> list[Any]:
    """A structure of all predictors that are named."""
    faults = Faults("cross-validation")
    names: list[str] = []
    for stage in stages:
        if isinstance(stage.predictors, str) and stage.predictors in ("all", "basic"):
            what = f"predictors are {stage.predictors!r}, but no steps come before"
            remedy = "Name the predictors, or give before: the steps of the recipe up to here."
            faults.add(stage.label, what, remedy=remedy)
            continue
        names += [name for term in resolve_terms(stage.predictors, (), ()) for name in term]
        if isinstance(stage, Relation):
            names.append(stage.relationship)
        if stage.by is not None:
            names.append(stage.by)
        for rule in stage.structural_zeros:
            names += list(rule["when"])
    faults.raise_if_any()
    roles = getattr(survey, "roles", None)
    fixed = (getattr(roles, "strata", None), getattr(roles, "household_size", None) or SIZE_NAME)
    return [Structure([name for name in dict.fromkeys(names) if name not in fixed])]


def _prepared(
    survey: Any, name: str, named: Mapping[str, Any], before: list[Any], seed: int
) -> Sample:
    """Return the sample as a stage sees it behind these steps; everything is checked first."""
    faults = Faults("cross-validation")
    steps = take_apart(before)
    others: list[Any] = [*steps.survey_stages, *steps.population_stages]
    for other in others:
        what = "works on the survey or on the finished population"
        faults.add(other.label, what, remedy="Leave it out, or prepare the survey first.")
    faults.raise_if_any()
    columns = None
    for label, stage in named.items():
        try:
            columns = check_recipe([*before, stage], survey)
        except InputError as problem:
            known = {str(fault) for fault in faults.found}
            for fault in problem.faults:
                where = fault.where if fault.where != stage.label else label
                told = replace(fault, where=where)
                faults.found += [] if str(told) in known else [told]
    faults.raise_if_any()
    assert columns is not None
    sample = make_sample(survey, columns, make_layout(survey, columns))
    streams = Streams(seed)
    for number, step in enumerate(steps.stages):
        model = step.fit(sample, streams.at("fit", step.label))
        observed = step.observed(model, sample)
        made = {item.name: item for item in model.fields if item.name in observed}
        sample = sample.with_columns(made, observed)
        sample = replace(sample, basic=sample.available) if number == 0 else sample
    if isinstance(next(iter(named.values())), Continuous):
        return sample
    field = coded_field(sample, name)  # numbers get the levels of all folds
    codes = codes_of(sample, name, field).astype(field.dtype)
    return replace(
        sample,
        fields={**sample.fields, name: field},
        columns={**sample.columns, name: codes},
    )


def _ranked(by_fold: pd.DataFrame, name: str, score: str) -> pd.DataFrame:
    """One row a candidate: weighted means over the folds, the best first."""
    aside = ("candidate", "fold", "n", "weight", "weight_values")
    told = [str(column) for column in by_fold if column not in aside]
    of_values = [column for column in told if column.startswith(("crps", "pinball"))]
    rows = []
    for label, part in by_fold.groupby("candidate", sort=False):
        row: dict[str, Any] = {"variable": name, "candidate": str(label)}
        for column in told:
            there = part[column].notna()
            weight = part["weight_values" if column in of_values else "weight"][there]
            mean = np.average(part[column][there], weights=weight) if there.any() else np.nan
            row[column] = float(mean)
        rows.append(row)
    table = pd.DataFrame(rows).sort_values(score, kind="stable", ignore_index=True)
    wide = by_fold.pivot(index="fold", columns="candidate", values=score)
    apart = wide.sub(wide[table["candidate"].iloc[0]], axis=0)
    table["difference"] = table[score] - table[score].iloc[0]
    error = apart.std(ddof=1) / np.sqrt(len(wide))
    table["standard_error"] = error.reindex(table["candidate"]).to_numpy()
    scores = [column for column in told if column not in ("zero", "fallbacks")]
    order = ["variable", "candidate", *scores, "difference", "standard_error", "zero", "fallbacks"]
    return table[order]
