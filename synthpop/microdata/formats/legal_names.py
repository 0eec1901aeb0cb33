"""Names that SPSS, Stata and SAS allow, made from those that they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from synthpop.microdata.frame.names import folded

# suffix -> longest name in bytes, first sign and other signs that a name may have
_RULES: dict[str, tuple[int, str, str]] = {
    ".sav": (64, r"[^\W\d_]", r"[\w.@#$]"),
    ".zsav": (64, r"[^\W\d_]", r"[\w.@#$]"),
    # Stata allows 32, of which the name of a set of labels takes one
    ".dta": (31, r"[^\W\d]", r"\w"),
    ".xpt": (32, r"[A-Za-z_]", r"[A-Za-z0-9_]"),
}
_STATA = (
    "_all _b _coef _cons _n _pi _pred _rc _skip byte double float if in int long using with strl"
)
_WORDS = {".sav": "all and by eq ge gt le lt ne not or to with", ".dta": _STATA}
_WORDS[".zsav"] = _WORDS[".sav"]
RESERVED = {suffix: _WORDS.get(suffix, "").split() for suffix in _RULES}


def legal_names(names: Iterable[str], suffix: str) -> dict[str, str]:
    """Return the names that a file of a format has in place of those that it does not allow.

    Signs that are not allowed become one underscore (letters with accents plain ones in SAS),
    long names are cut, and names that are alike but for capitals get a number. Names that are
    allowed stay, whatever the others are.

    Examples
    --------
    >>> legal_names(["age", "Income in €", "2nd job"], ".sav")
    {'Income in €': 'Income_in', '2nd job': 'v2nd_job'}
    >>> legal_names(["größe", "GROSSE"], ".xpt")
    {'größe': 'grosse_2'}
    """
    names = list(names)
    longest, first, other = _RULES[suffix]
    taken: set[str] = set()
    made: dict[str, str] = {}

    def allowed(name: str) -> bool:
        fits = len(name.encode()) <= longest and name.lower() not in RESERVED[suffix]
        return fits and re.fullmatch(f"{first}{other}*", name) is not None

    for name in names:
        if allowed(name) and (suffix == ".dta" or name.lower() not in taken):
            taken.add(name if suffix == ".dta" else name.lower())
        else:
            made[name] = ""
    for name in made:
        text = folded(name) if suffix == ".xpt" else name
        signs = "".join(sign if re.fullmatch(other, sign) else " " for sign in text)
        stem = "_".join(signs.split()).strip("_.") or "v"
        stem = stem if re.match(first, stem) else f"v{stem}"
        stem = f"{stem}_" if stem.lower() in RESERVED[suffix] else stem
        candidate, n = _cut(stem, longest), 1
        while (candidate if suffix == ".dta" else candidate.lower()) in taken:
            n += 1
            candidate = f"{_cut(stem, longest - len(str(n)) - 1)}_{n}"
        made[name] = candidate
        taken.add(candidate if suffix == ".dta" else candidate.lower())
    return made


def _cut(text: str, longest: int) -> str:
    return text.encode()[:longest].decode(errors="ignore")
