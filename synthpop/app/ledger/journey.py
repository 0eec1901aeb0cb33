"""What the journey consists of: pages, jobs and actions."""

from __future__ import annotations

from synthpop.app.jobs import Journey, Page
from synthpop.app.ledger import files, needs, roles, verdict
from synthpop.app.ledger.jobs import JOBS
from synthpop.app.role_table import take_suggestions

JOURNEY = Journey(
    title="Keep a ledger",
    text="Remember what went out of a survey, and see what the next release would tell together "
    "with all earlier ones.",
    pages={
        "files": Page("Files", files.render, needs.files),
        "roles": Page("Roles", roles.render, needs.roles, needs.has_file),
        "verdict": Page("Verdict", verdict.render, needs.verdict, needs.has_both),
    },
    jobs=JOBS,
    actions={"roles": take_suggestions, "record": verdict.record},
)
