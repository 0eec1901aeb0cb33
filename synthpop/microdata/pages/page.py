"""Self-contained HTML pages: one shell and one style for the reports of both packages."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from synthpop.microdata.formats.atomic import write_text
from synthpop.microdata.formats.places import Place, place
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.language import (
    LANGUAGES,
    current_language,
    gettext,
    translated_template,
    use_language,
)
from synthpop.microdata.messages.message import Message
from synthpop.microdata.messages.parameters import check_choice
from synthpop.microdata.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

PAGES = "synthpop.microdata"
AUDIENCES = ("internal", "external")
PERCENT = re.compile(r"(?<=\d) (?=%)")
"""The space of "5 %", at which no line ends."""


def check_page(audience: str, language: str, task: str = "report") -> None:
    """Refuse an unknown audience or language of a page."""
    faults = Faults(task)
    check_choice(faults, "audience", audience, AUDIENCES)
    check_choice(faults, "language", language, LANGUAGES)
    faults.raise_if_any()


def render_page(package: str, template: str, facts: Mapping[str, Any]) -> str:
    """Return the HTML of a template of `package` that extends the shell.

    facts: ``title``, ``cards`` (title, value, note), ``pictures`` (key -> SVG text) and whatever
        else the template shows. Everything but the pictures is escaped.

    The page has a content security policy: nothing is loaded, and of scripts only the one of the
    shell runs (known by its hash). Templates are written in the current language.
    """
    from markupsafe import Markup

    style = files(PAGES).joinpath("pages/style.css").read_text(encoding="utf-8")
    script = files(PAGES).joinpath("pages/page.js").read_text(encoding="utf-8").strip()
    # a content security policy allows the inline script by its hash
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    known = {
        **facts,
        "generator": f"{package} {__version__}",
        "language": current_language(),
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": f"sha256-{base64.b64encode(digest).decode('ascii')}",
        "pictures": {key: Markup(svg) for key, svg in facts.get("pictures", {}).items()},
    }
    page: str = _templates(package, current_language()).get_template(template).render(known)
    return PERCENT.sub("\N{NO-BREAK SPACE}", page)


@cache
def _templates(package: str, language: str) -> Environment:
    """Templates of a package in the language, which is the current one; each is read once."""
    from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined

    files_of = ChoiceLoader([PackageLoader(package), PackageLoader(PAGES, "pages")])

    class Translated(BaseLoader):
        def get_source(self, environment: Environment, template: str) -> Any:
            source, name, fresh = files_of.get_source(environment, template)
            return translated_template(source), name, fresh

    environment = Environment(
        loader=Translated(),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["_"] = gettext
    environment.finalize = lambda value: str(value) if isinstance(value, Message) else value
    return environment


def write_for(
    path: Place | str, package: str, template: str, facts: Callable[[bool], dict[str, object]], *,
    title: str | None, audience: str, language: str,
) -> Place:  # fmt: skip
    """Write a page for an audience: `facts` says what external readers may see."""
    check_page(audience, language)
    external = audience == "external"
    with use_language(language):
        values = facts(external)
        page = render_page(package, template, values | ({"title": title} if title else {}))
    return write_page(path, page, private=not external)


def write_page(path: Place | str, text: str, *, private: bool = False) -> Place:
    """Write a page whole or not at all; only the user may read a `private` one (mode 0600)."""
    target = place(path)
    write_text(target, text, private=private)
    return target
