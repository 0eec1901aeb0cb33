"""One look for all pictures: colours, fonts, sizes, and the way to inline SVG.

The colours are those of Okabe and Ito, which people with a colour vision deficiency can tell apart.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from html import escape
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

SAMPLE, POPULATION = "#E69F00", "#0072B2"
INK, SOFT, LINE = "#1f2933", "#52606d", "#d5dae0"
OKABE_ITO = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442",
)  # fmt: skip
GREY = "#b4bcc6"
DIVERGING = ("#B35806", "#F1A340", "#FEE0B6", "#F7F7F7", "#D1E5F0", "#67A9CF", "#2166AC")
WIDE, HALF = 9.6, 5.4
WRAP = 26
FONTS = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"

RC: dict[str, object] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": "#e8ebef",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def styled(function: Any) -> Any:
    """Decorate a drawing function so that it draws in our look and leaves no setting behind."""

    @wraps(function)
    def draw(*args: Any, **options: Any) -> Any:
        with mpl.rc_context(RC):
            return function(*args, **options)

    return draw


class Picture(Figure):
    """A figure that shows itself in a notebook, without pyplot and without a magic command."""

    def _repr_svg_(self) -> str:
        axes = self.get_axes()
        title = axes[0].get_title(loc="left") or axes[0].get_title() if axes else ""
        return to_svg(self, "notebook", title or "figure")


class Gallery(dict[str, Figure]):
    """Figures by name; in a notebook all are shown below each other."""

    def _repr_html_(self) -> str:
        return "".join(
            f"<figure><figcaption>{escape(name)}</figcaption>{to_svg(figure, name, name)}</figure>"
            for name, figure in self.items()
        )


def new_figure(width: float, height: float, *, constrained: bool = True) -> Picture:
    """Return an empty figure of this size in inches, without touching pyplot."""
    return Picture(figsize=(width, height), layout="constrained" if constrained else None)


@styled
def bars(labels: Sequence[str], values: Sequence[float], title: str, axis: str) -> Picture:
    """Draw horizontal bars, the first label on top."""
    figure = new_figure(HALF, 0.9 + 0.24 * len(labels))
    axes = figure.subplots()
    axes.barh(range(len(labels)), values, color=POPULATION, height=0.7)
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(axis)
    axes.set_title(title)
    return figure


@contextmanager
def any_letters() -> Iterator[None]:
    """Measure and write text in any script: the browser has its own fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def to_svg(figure: Figure, key: str, describe: str) -> str:
    """Return a figure as inline SVG with a text for readers that cannot see it.

    The same figure gives the same text: no date, no random ids. `key` keeps the ids of several
    pictures on one page apart. Sentences are in the language of the page.
    """
    buffer = io.StringIO()
    with mpl.rc_context({**RC, "svg.hashsalt": key}), any_letters():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z.]+_\d+"', "", text)
    text = text.replace("'DejaVu Sans'", FONTS).replace("DejaVu Sans", FONTS)
    head, content = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    width = round(figure.get_figwidth() * 100)
    label = escape(str(describe))
    return f'{head} role="img" aria-label="{label}" style="max-width:{width}px">{content}'
