"""Names of columns: as words, by their case, and words that expressions keep for themselves."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Words of edit rules and expressions: columns of these names stand in back-quotes there.
RESERVED = frozenset(
    ("and", "or", "not", "if", "in", "is", "only", "at", "exactly", "than", "years", "missing")
)
_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "Ae"})


def first_named(names: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return the column with the first of the names that one has, whatever its case."""
    lower = {str(column).lower(): str(column) for column in columns}
    return next((lower[name] for name in names if name in lower), None)


def folded(text: str) -> str:
    """Return a text without accents: "Numéro du ménage" as "Numero du menage"."""
    text = text.translate(_LETTERS)
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def words_of(name: str) -> str:
    """Return a column's name as words without accents: "highestDegree_2" as "highest degree"."""
    name = folded(name)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    text = re.sub(r"[\W_]+", " ", text)
    return re.sub(r"(?<=[a-z]) \d+$", "", text.lower().strip())
