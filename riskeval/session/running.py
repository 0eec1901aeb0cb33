"""A verb and its arguments become a step of a session, and a step becomes a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from riskeval.protection.registry import VERBS
from riskeval.protection.result import Protected
from riskeval.session.edited import EDITED, run_edited
from riskeval.session.measure import individual_risk_of
from riskeval.session.roles import SessionRoles, fill_from_roles
from riskeval.session.script import CURRENT, uses_current_risk
from riskeval.session.steps import Step, plain
from riskeval.shared.files import read_secret
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.statistics.streams import Streams, resolve_seed


def prepare_step(
    roles: SessionRoles, verb: str, values: Sequence[Any] = (), parameters: Mapping[str, Any] = {}
) -> Step:
    """Return a step with everything that is needed to repeat it: roles filled in, seed resolved."""
    faults = Faults("ProtectionSession")
    check_choice(faults, "verb", verb, VERBS)
    faults.raise_if_any()
    known = VERBS[verb].parameters
    allowed = list(known)
    in_order = [name for name in allowed if known[name].kind is not known[name].KEYWORD_ONLY]
    arguments = dict(zip(in_order, values, strict=False))
    if len(arguments) < len(values):
        faults.add(verb, f"takes {len(arguments)} arguments without a name, {len(values)} given")
    for name in parameters:
        if name in arguments:
            faults.add(verb, f"{name!r} is given twice")
        check_choice(faults, f"{verb}: argument", name, allowed)
    arguments.update(parameters)
    arguments = fill_from_roles(verb, arguments, allowed, roles)
    if verb == "suppress_risky" and isinstance(arguments.get("column"), str):
        arguments.setdefault("risk", CURRENT)  # several columns: re-estimated between them
    if "seed" in allowed:
        arguments["seed"] = read_secret(faults, arguments.get("seed")).seed
    for name in allowed:
        if name not in arguments and known[name].default is known[name].empty:
            faults.add(verb, f"needs {name!r}", hint="Give it, or declare its role.")
    faults.raise_if_any()
    return Step(verb, {name: plain(name, arguments[name]) for name in allowed if name in arguments})


def with_secret_seed(
    verb: str, arguments: dict[str, Any], streams: Streams, number: int
) -> dict[str, Any]:
    """Return the arguments of a step, its seed (or that of the streams) made secret by the key."""
    if not VERBS[verb].draws:
        return arguments
    own = Streams(resolve_seed(arguments.get("seed", streams.seed)), streams.key)
    return {**arguments, "seed": own.number("protect", number, verb)}


def with_seed(verb: str, arguments: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments of a verb, with a seed drawn where it needs one and has none."""
    if "seed" in arguments or not VERBS[verb].draws:
        return arguments
    return {**arguments, "seed": int(rng.integers(2**62))}


def run_step(step: Step, frame: pd.DataFrame, roles: SessionRoles) -> Protected:
    """Carry out a step on a file."""
    if step.verb == EDITED:
        return run_edited(step, frame)
    parameters = dict(step.parameters)
    if uses_current_risk(step):
        parameters["risk"] = individual_risk_of(frame, roles)
    return VERBS[step.verb].run(frame, **parameters)
