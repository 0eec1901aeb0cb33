"""Model formulas as data: ``log(income) ~ sex + age + sex:age``, read here and never evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass

from synthpop.microdata.errors import Faults

LOG = re.compile(r"^log\((.*)\)$")
REMEDY = "Write `response ~ term + term`, a term being column, log(column) or column:column."


@dataclass(frozen=True, slots=True)
class Factor:
    """One column of the data, with or without its logarithm."""

    column: str
    log: bool

    @property
    def label(self) -> str:
        """The factor as it is written."""
        return f"log({self.column})" if self.log else self.column


@dataclass(frozen=True, slots=True)
class Formula:
    """A response and the terms that explain it, each a product of factors."""

    response: Factor
    terms: tuple[tuple[Factor, ...], ...]

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Distinct factors of the terms, in order."""
        return tuple(dict.fromkeys(factor for term in self.terms for factor in term))


def parse_formula(faults: Faults, text: object) -> Formula | None:
    """Return the parsed formula, or note what is wrong with it.

    Examples
    --------
    >>> parse_formula(Faults("example"), "log(pay) ~ sex + sex:age").terms[1][1].column
    'age'
    """
    if not isinstance(text, str) or text.count("~") != 1:
        faults.add("formula", f"{text!r} has no single ~", remedy=REMEDY)
        return None
    left, right = text.split("~")
    terms = []
    for part in right.split("+"):
        if part.strip() == "1" and len(right.split("+")) == 1:
            continue
        pieces = [_factor(piece) for piece in part.split(":")]
        known = tuple(piece for piece in pieces if piece is not None)
        if len(known) < len(pieces):
            faults.add("formula", f"{part.strip()!r} is not a term", remedy=REMEDY)
            continue
        if known not in terms:
            terms.append(known)
    response = _factor(left)
    if response is None:
        faults.add("formula", f"{left.strip()!r} is not a response", remedy=REMEDY)
        return None
    return Formula(response, tuple(terms))


def _factor(text: str) -> Factor | None:
    name = text.strip()
    found = LOG.match(name)
    column = found.group(1).strip() if found else name
    if not column or (found is None and any(sign in column for sign in "()*^")):
        return None
    return Factor(column, found is not None)
