"""What the journey consists of: pages, jobs and actions."""

from __future__ import annotations

from synthpop.app.guide import GUIDE, guided
from synthpop.app.jobs import Journey, Page
from synthpop.app.judge import files, guide, judgement, needs, roles
from synthpop.app.judge.jobs import JOBS
from synthpop.app.role_table import take_suggestions

PAGES: dict[str, Page] = {
    "files": Page("Files", files.render, needs.columns),
    "roles": Page("Roles", roles.render, needs.roles, needs.has_files),
    "judgement": Page("Judgement", judgement.render, needs.judgement, needs.has_keys),
}
JOURNEY = Journey(
    title="Judge a release",
    text="Any synthetic or protected file against its original: what would intruders learn, and "
    "what do users lose?",
    pages=PAGES | {GUIDE: guided("Is this release safe?", guide.QUESTIONS, PAGES)},
    jobs=JOBS,
    actions={"roles": take_suggestions, "judge": judgement.judge},
)
