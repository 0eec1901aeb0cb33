"""One look for all pictures: colours, fonts, sizes, numbers, and the way to inline SVG.

The colours are those of Okabe and Ito, which people with a colour vision deficiency can tell apart.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from synthpop.comparison.factors import MISSING_LABEL

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

RC: dict[str, Any] = {
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


@dataclass(frozen=True, slots=True)
class Names:
    """What variables are called in pictures and tables.

    Attributes
    ----------
    labels : dict
        Variable -> text, for instance ``{"pl030": "Economic status"}``.
    units : dict
        Variable -> unit, for instance ``{"netIncome": "euros a year"}``.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    def title(self, name: str) -> str:
        """Return the text and the name of a variable.

        Examples
        --------
        >>> Names({"pl030": "Economic status"}).title("pl030")
        'Economic status (pl030)'
        """
        text = self.short(name)
        return text if text == name else f"{text} ({name})"

    def short(self, name: str) -> str:
        """Return the text of a variable, or its name."""
        base = name.removesuffix(" in classes")
        text = self.labels.get(base, base).split(": ")[0].split(" (")[0]
        return text if base == name else f"{text} in classes"

    def axis(self, name: str) -> str:
        """Return the title with the unit."""
        unit = self.units.get(name, "")
        return f"{self.title(name)}, {unit}" if unit else self.title(name)


def styled(function: Any) -> Any:
    """Decorate a drawing function so that it draws in our look and leaves no setting behind."""
    from functools import wraps

    @wraps(function)
    def draw(*args: Any, **options: Any) -> Any:
        with mpl.rc_context(RC):
            return function(*args, **options)

    return draw


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, without touching pyplot."""
    return Figure(figsize=(width, height), layout="constrained")


def to_svg(figure: Figure, key: str, describe: str) -> str:
    """Return a figure as inline SVG with a text for readers that cannot see it.

    The same figure gives the same text: no date, no random ids. `key` keeps the ids of several
    pictures on one page apart.
    """
    buffer = io.StringIO()
    with mpl.rc_context({**RC, "svg.hashsalt": key}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the browser has its own fonts
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' id="[a-zA-Z.]+_\d+"', "", text)
    text = text.replace("'DejaVu Sans'", FONTS).replace("DejaVu Sans", FONTS)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    width = round(figure.get_figwidth() * 100)
    label = describe.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'{head} role="img" aria-label="{label}" style="max-width:{width}px">{rest}'


def percent_axis(axis: Any) -> None:
    """Write the ticks of an axis of shares as percent."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value * 100:.3g} %"))


def number_axis(axis: Any, most: int = 6) -> None:
    """Write the ticks of an axis of numbers with thousands separators."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))


def plain_number(value: float) -> str:
    """Return a number with thousands separators, without needless decimals.

    Examples
    --------
    >>> plain_number(12500.0), plain_number(0.25)
    ('12,500', '0.25')
    """
    return f"{value:,.0f}" if abs(value) >= 10 or float(value).is_integer() else f"{value:.3g}"


def wrapped(text: object, width: int = WRAP) -> str:
    """Return a label on at most two lines."""
    lines = textwrap.wrap(str(text), width) or [""]
    return "\n".join(lines if len(lines) <= 2 else [lines[0], lines[1][: width - 1] + "…"])


def level_colours(levels: Sequence[str]) -> list[Any]:
    """Return colours for levels: distinct ones, or a sequence where there are many.

    Missing values are grey.
    """
    known = [level for level in levels if level != MISSING_LABEL]
    if len(known) <= len(OKABE_ITO):
        colours: list[Any] = list(OKABE_ITO[: len(known)])
    else:
        colours = list(mpl.colormaps["cividis"](np.linspace(0.0, 1.0, len(known))))
    return [GREY if level == MISSING_LABEL else colours.pop(0) for level in levels]


def side_legend(figure: Figure, sides: Sequence[str] = ("Survey, weighted", "Population")) -> None:
    """Put the legend of the two sides above the picture."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=SAMPLE, label=sides[0]), Patch(facecolor=POPULATION, label=sides[1])]
    figure.legend(handles=handles, loc="outside upper left", ncols=2, handlelength=1.2)
