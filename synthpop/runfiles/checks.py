"""What a run file asks for against the survey and the folders it writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from synthpop.microdata.errors import Faults, RunFileError, did_you_mean
from synthpop.microdata.places import Place, lies_below
from synthpop.microdata.survey import Survey
from synthpop.stages.derive import Derive

if TYPE_CHECKING:
    pass
from synthpop.runfiles.runfile import RunFile


def check_risk(plan: RunFile, survey: Survey) -> None:
    """Check the variables of ``[risk]`` before anything is simulated.

    Raises
    ------
    RunFileError
        Lists every variable that survey or population will not have.
    """
    if plan.risk is None:
        return
    faults = Faults("run file", RunFileError)
    roles = survey.roles
    columns = [name for stage in plan.stages for name in stage.provides]
    derived = [stage.name for stage in plan.stages if isinstance(stage, Derive)]
    population = [*(name for name in (roles.strata, roles.household_size) if name), *columns]
    known = [name for name in population if name in survey.frame.columns or name in derived]
    for key, names in (("keys", plan.risk.keys), ("target", [plan.risk.target])):
        for name in names:
            if name not in known:
                what = f"{name!r} is not in survey and population alike"
                faults.add(f"[risk] {key}", what, remedy=did_you_mean(name, known))
    faults.raise_if_any()


def check_targets(plan: RunFile, out: Place, *, out_is_given: bool, anywhere: bool) -> None:
    """Refuse a run file that writes outside of its own folder, or over a page that is not ours.

    Parameters
    ----------
    out : path
        Folder of the population.
    out_is_given : bool
        The user named the folder, not the run file.
    anywhere : bool
        The user allows the run file to write anywhere.

    Raises
    ------
    RunFileError
    """
    faults = Faults("run file", RunFileError)
    report = out / plan.report.file
    remedy = "Give --anywhere if you trust the run file."
    if not anywhere:
        if not out_is_given and not lies_below(out, plan.folder):
            faults.add(
                "[run] out", f"{out} is outside of the folder of the run file", remedy=remedy
            )
        if not lies_below(report, out):
            what = f"{report} is outside of the folder of the population"
            faults.add("[report] file", what, remedy=remedy)
        elif report.exists() and not _is_our_page(report):
            what = f"{report} is there already and no report of synthpop"
            faults.add("[report] file", what, remedy="Choose another name.")
    faults.raise_if_any()


def _is_our_page(path: Place) -> bool:
    """Return whether a page names synthpop as what made it."""
    try:
        return 'name="generator" content="synthpop' in path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
