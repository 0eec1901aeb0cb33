"""Audit a generator: learn it again and again, with and without some households."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from riskeval.auditing.generator import Generator, Refits, Release, function_refits, parts_of
from riskeval.auditing.measure import measured
from riskeval.auditing.plant import TargetGroup, make_groups
from riskeval.auditing.refit import Refit
from riskeval.auditing.result import Audit
from riskeval.auditing.space import AuditSpace, CodedPersons
from synthpop.microdata.frame.checks import check_columns
from synthpop.microdata.frame.frames import listed_names
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.parameters import Between, Whole, check
from synthpop.microdata.messages.text import plural
from synthpop.microdata.roles.survey import Survey
from synthpop.microdata.runs.engines import Workers, check_workers, map_blocks
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.streams import Streams, resolve_seed

FEWEST_REFITS, FEWEST_HOUSEHOLDS = 20, 50
PARAMETERS = {
    "n_refits": Whole(FEWEST_REFITS, 100_000),
    "n_targets": Whole(2, 100_000),
    "share": Between(0, 1, open="low"),
    "persons": Whole(100),
    "limit": Between(0, 1, open="high"),
    "confidence": Between(0.5, 1, open="both"),
}


def audit(
    pipeline: Generator | Release,
    survey: Survey,
    *,
    stages: Mapping[str, Sequence[str]] | None = None,
    n_refits: int = 200,
    n_targets: int = 20,
    share: float = 0.5,
    persons: int = 25_000,
    limit: float = 0.1,
    confidence: float = 0.95,
    workers: Workers = 1,
    on_event: Listener | None = None,
    seed: int | None = None,
) -> Audit:
    """Audit a generator: whether its releases tell who was in the survey, and by which stage.

    The recipe is learned many times from the survey, each time with about half of the households
    that are looked for. Attacks on the releases then guess in which refits each of them was.

    Parameters
    ----------
    pipeline : Pipeline, or a function
        A recipe with ``fit``, as `synthpop.Pipeline`; or any function of a survey, as a DataFrame,
        and a seed (below 2**32), that returns a release: a frame with the same columns.
    survey : Survey
    stages : mapping of name to columns, optional
        Of a function: what each of its steps makes, in their order; each is attacked given the
        columns before it. Default: each column, given all others. A recipe knows its own stages.
    n_refits : int, at least 20
        Every second one is training: attacks that learn, learn from it. The others measure.
    n_targets : int
        Households looked for in each way, fewer in small surveys: all together are about a fifth
        of the households at most.
    share : float in (0, 1]
        Of the other households, drawn anew for each refit. 1: an intruder who knows the answers of
        everybody else, on the survey as large as it is.
    persons : int
        Size of the populations that are attacked, about; at most that of the country. Of a function
        the releases are as large as it makes them.
    limit : float in [0, 1)
        A stage is named where the share recognised at one false alarm in a hundred is above it.
        There is no published threshold; a tenth is ten times what guessing reaches.
    confidence : float
        Of all intervals and bounds together, corrected for the choice among attacks and groups.
    workers : int or str
        Threads, ``"processes:2"`` or ``"dask://host:port"``; results do not depend on it. A
        function goes to processes only where it can be imported.
    on_event : callable, optional
        Receives an `Event` for each refit.
    seed : int, optional
        Of who is looked for, who is in, of every refit and its release. Releases are drawn from it
        without a secret key: intruders do not know it, and each refit has draws of its own, so that
        a key changes nothing of what is measured.

    Returns
    -------
    Audit
        Its lower bounds of epsilon hold for these attacks on these households: nothing in it says
        that a generator is private.

    Raises
    ------
    InputError
        Lists every argument that makes no sense; the survey has too few households; ten draws of
        households in a row cannot be learned from; a release without the columns of the survey.

    Notes
    -----
    Persons with a planted value differ in the columns of one stage only, so that what recognises
    them is that stage: a number that nobody has, or a level that persons like them seldom have.
    Missing values are compared as a value of their own; nobody is planted where one is missing.
    Methods: docs/methods/audit.md. Steinke, Nasr and Jagielski (2023, arXiv 2305.08846); Carlini et
    al. (2022, arXiv 2112.03570).

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from synthpop import Survey
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"w": 1.0, "income": rng.lognormal(10, 1, 300).round(2)})
    >>> def copy(frame, seed):
    ...     return frame.sample(frac=1.0, random_state=seed)
    >>> audit(copy, Survey(data, weight="w"), n_refits=20, seed=1).leaking
    ('income', 'release')
    """
    faults = Faults("audit")
    asked = {
        "n_refits": n_refits, "n_targets": n_targets, "share": share, "persons": persons,
        "limit": limit, "confidence": confidence,
    }  # fmt: skip
    check(faults, PARAMETERS, asked)
    with faults.gathering():
        check_workers(workers)
    if not isinstance(survey, Survey):
        faults.add("survey", f"is a {type(survey).__name__}", hint="Give a Survey.")
    elif survey.n_households < FEWEST_HOUSEHOLDS:
        what = f"has {plural(survey.n_households, 'household')}"
        faults.add("survey", what, hint=f"An audit needs {FEWEST_HOUSEHOLDS} or more.")
    is_recipe = isinstance(pipeline, Generator)
    if not is_recipe and not callable(pipeline):
        what, hint = f"is a {type(pipeline).__name__}", "Give a Pipeline, or a function."
        faults.add("pipeline", what, hint=hint)
    if stages is not None:
        if is_recipe:
            faults.add("stages", "a recipe knows its own", hint="Leave it out.")
        elif isinstance(survey, Survey):
            for own in stages.values():
                check_columns(faults, survey.frame, listed_names(own), "stages")
    faults.raise_if_any()
    seed, listener = resolve_seed(seed), listener_of(on_event)
    streams = Streams(seed)
    refits: Refits
    if isinstance(pipeline, Generator):
        refits = pipeline.fit(survey, seed=streams.number("audit", "fit")).refits()
    else:
        refits = function_refits(pipeline, survey, stages)
    parts = parts_of(refits, is_recipe)
    base = refits.survey
    names = list(dict.fromkeys(x for p in parts for x in (*p.own, *p.context)))
    space = AuditSpace.of(base.frame, names)
    coded = space.coded(base.frame)
    groups = make_groups(base, parts, space, coded, n_targets, streams.at("audit", "targets"))
    targets = tuple(_target(one, base, space, coded) for one in groups)
    scale = min(1.0, persons / float(base.weights.sum())) if is_recipe else 1.0
    task = Refit(refits, groups, targets, space, float(share), scale, seed)
    observed = []
    for number, one in enumerate(map_blocks(task, range(n_refits), workers, in_order=True), 1):
        observed.append(one)
        listener(Event("progress", "audit", number, n_refits))
    return Audit(
        groups=measured(groups, observed, confidence, streams),
        limit=limit,
        n_refits=n_refits,
        n_failed=sum(one.n_failed for one in observed),
        share=float(share),
        scale=scale,
        confidence=confidence,
        seed=seed,
        recipe=refits.recipe,
        survey=refits.fingerprint,
    )


def _target(
    group: TargetGroup, survey: Survey, space: AuditSpace, coded: CodedPersons
) -> CodedPersons:
    """Return the persons that a group looks for: planted ones with what is planted."""
    if group.planted is not None:
        frame = survey.frame.iloc[group.rows].reset_index(drop=True)
        return space.coded(frame.assign(**{str(x): group.planted[x] for x in group.planted}))
    order, offsets = survey.household_order, survey.household_offsets
    rows = [order[offsets[h] : offsets[h + 1]] for h in group.households]
    return coded.rows(np.concatenate(rows))
