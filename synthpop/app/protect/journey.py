"""What the journey consists of: pages, jobs and actions."""

from __future__ import annotations

from synthpop.app.jobs import Journey, Page
from synthpop.app.protect import (
    data,
    details_page,
    methods,
    needs,
    recode,
    release,
    roles,
    search,
    side,
)
from synthpop.app.protect.jobs import JOBS
from synthpop.app.protect.needs import has_file, has_keys, standing
from synthpop.app.role_table import take_suggestions

JOURNEY = Journey(
    title="Protect a file",
    text="Make a file safe enough to release: see its risk, change it step by step, and compare "
    "risk and utility with the original at any time.",
    pages={
        "data": Page("Data", data.render, needs.data),
        "roles": Page("Roles", roles.render, needs.roles, has_file),
        "methods": Page("Protect", methods.render, methods.needs, has_keys),
        "search": Page("Make this file pass", search.render, ready=has_keys),
        "details": Page("Risk and utility", details_page.render, details_page.needs, has_keys),
        "release": Page("Release", release.render, needs.release, has_keys),
    },
    jobs=JOBS | search.JOBS,
    needs=standing,
    bar=side.render_bar,
    side=side.render_side,
    actions={
        "apply": methods.apply,
        "try": methods.attempt,
        "new_group": recode.new_group,
        "move_level": recode.move_level,
        "recode": recode.recode,
        "search": search.search,
        "take_plan": search.take_plan,
        "options": details_page.set_options,
        "roles": take_suggestions,
        "meaning": data.set_meaning,
        "subset": data.set_subset,
        "override": release.override,
    },
)
