"""The rules of a survey, for a recipe that is written in Python."""

from __future__ import annotations

from collections.abc import Sequence

from synthpop.logic.learn import learn_rules
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.roles.survey import Survey
from synthpop.profile.household_sums import word
from synthpop.profile.profile import profile_survey


def learned_rules(survey: Survey, columns: Sequence[str]) -> list[str]:
    """Return the rules that a survey keeps although nobody wrote them down.

    They are those that ``synthpop init`` writes into a run file: implications between levels,
    missing values, signs and ages, orders of numbers, values of the reference person, and parts
    that add up to a total.

    Parameters
    ----------
    survey : Survey
        At least 100 persons; fewer have no rules but sums.
    columns : list of str
        What the recipe simulates: rules name no other columns.

    Returns
    -------
    list of str
        For ``Pipeline(stages, rules=...)`` or `check_rules`. The survey keeps each of them without
        an exception, and if columns had nothing to do with each other many persons would break it;
        the probability that chance gives one is 1 % for all together. A missing value is a state of
        its own. Nothing is random.

    Raises
    ------
    InputError
        Lists the columns that the survey does not have.

    Examples
    --------
    >>> from synthpop import load_demo_survey
    >>> rules = learned_rules(load_demo_survey(), ["age", "pl030", "netIncome"])
    >>> [rule for rule in rules if rule.startswith("age <= 15")]
    ['age <= 15 if and only if netIncome is missing', 'age <= 15 if and only if pl030 is missing']
    """
    names, faults = list(dict.fromkeys(map(str, columns))), Faults("rules")
    check_columns(faults, survey.frame, names, "survey")
    faults.raise_if_any()
    profile = profile_survey(survey.frame, known=survey.roles.named())
    totals = [
        (total, parts)
        for total, parts in (*profile.totals.items(), *profile.further_totals)
        if {total, *parts} <= set(names)
    ]
    age = profile.age if profile.survey_year is None else None
    rules = learn_rules(
        survey.frame, names, household=survey.roles.named().get("household"), age=age,
        relation=profile.relation, totals=dict(totals),
    )  # fmt: skip
    sums = [f"{' + '.join(map(word, parts))} = {word(total)}" for total, parts in totals]
    return sums + [rule.text for rule in rules if not rule.exceptions]
