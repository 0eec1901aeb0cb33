"""Build of the documentation: ``python -m sphinx -W -b html docs docs/_build/html``."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(HERE.parent), str(HERE.parent / "examples"), os.environ.get("PYTHONPATH", "")]
)
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
"""Executed pages find the packages and the code of the examples, and show what they draw."""

from synthpop.microdata.version import __version__  # noqa: E402

project = "synthpop and riskeval"
copyright = "the maintainers; Apache-2.0"
release = version = __version__
extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
]
exclude_patterns = ["_build"]
source_suffix = {".rst": "restructuredtext", ".md": "myst-nb"}
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True
numpydoc_show_class_members = False
autosummary_generate = True
autodoc_typehints = "none"
nitpicky = False
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure", "myst.header"]
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_sidebars = {
    page: []
    for page in (
        "index", "gallery", "exercises", "validation", "reliability", "design", "glossary",
    )
}  # fmt: skip
"""Pages without pages below them have no navigation at their side."""
html_title = "synthpop and riskeval"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        # wide tables have the room
        "methods/which-risk-measure": [],
        "methods/closer-to-the-truth": [],
        "methods/uncertainty": [],
    },
}

MODULES = {
    "synthpop": ("synthpop", "Populations"),
    "indicators": ("synthpop.indicators", "Indicators"),
    "weighted": ("synthpop.weighted", "Weighted statistics"),
    "sampling": ("synthpop.sampling", "Sampling"),
    "calibration": ("synthpop.calibration", "Calibration"),
    "heaping": ("synthpop.heaping", "Age heaping"),
    "riskeval": ("riskeval", "Disclosure risk"),
    "protect": ("riskeval.protect", "Protection"),
    "utility": ("riskeval.utility", "Utility"),
}
"""Pages of the reference: module and title. Every public name stands on one of them."""


def write_reference() -> None:
    """Write a page a module that lists every public name, from the modules themselves."""
    described: dict[int, str] = {}
    for page, (module, title) in MODULES.items():
        content = importlib.import_module(module)
        public = [name for name in sorted(content.__all__) if callable(getattr(content, name))]
        names = [name for name in public if id(getattr(content, name)) not in described]
        elsewhere = [f"`{described[id(getattr(content, n))]}`" for n in public if n not in names]
        described.update({id(getattr(content, name)): f"{module}.{name}" for name in names})
        lines = [title, "=" * len(title), "", f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in names]
        if elsewhere:
            lines += ["", f"Also public here: {', '.join(elsewhere)}."]
        text = "\n".join([*lines, ""])
        file = HERE / "reference" / f"{page}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


write_reference()


def escape_bars(app, what, name, obj, options, lines) -> None:
    """Show |x| in docstrings as it stands; reStructuredText takes it for a substitution."""
    for k, line in enumerate(lines):
        if "|" in line and "``" not in line:
            lines[k] = line.replace("|", r"\|")


EXAMPLES = dict(
    re.findall(
        r"^\[([\w.]+)\]\n(.*?)(?=^\[[\w.]+\]$|\Z)",
        (HERE / "reference" / "examples.txt").read_text(encoding="utf-8"),
        re.M | re.S,
    )
)


def add_example(app, what, name, obj, options, lines) -> None:
    """Append the example of a name whose docstring has none."""
    if name in EXAMPLES:
        lines += ["", ".. rubric:: Examples", "", *EXAMPLES[name].strip().splitlines(), ""]


def write_formula(self, node) -> None:
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    block = isinstance(node, nodes.math_block)
    text = tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=block)
    self.body.append(
        f'<div style="overflow-x: auto; margin: 1em 0">{text}</div>' if block else text
    )
    raise nodes.SkipNode


def wrap_sentences(app, doctree, page) -> None:
    """Let printed sentences wrap; tables as text, which have gaps in their lines, do not."""
    for node in doctree.findall(nodes.literal_block):
        long = [line for line in node.astext().splitlines() if len(line) > 84]
        if "output" in node["classes"] and long and not any("  " in line.strip() for line in long):
            node["classes"].append("sentences")


def setup(app) -> None:
    """Register the hooks."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("doctree-resolved", wrap_sentences)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("autodoc-process-docstring", add_example, priority=900)
