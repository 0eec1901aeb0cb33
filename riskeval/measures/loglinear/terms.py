"""Terms of log-linear models: sets of keys, from formulas and back."""

from __future__ import annotations

from collections.abc import Sequence

from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.text import join
from synthpop.microdata.statistics.formula import Allowed, Formula, FormulaFactor, read_formula

Term = frozenset[int]


def read_terms(
    faults: Faults, text: object, keys: Sequence[str]
) -> tuple[list[Term], set[int]] | None:
    """Read a formula such as ``"~ a + b + a:b"``, or note what is wrong with it.

    ``.`` stands for all keys. Returns the terms (positions in `keys`, lower orders first) and the
    keys written with ``C()``, as categories.
    """
    formula = read_formula(faults, text, Allowed(functions=("C",), dot=keys))
    if formula is None:
        return None
    unknown = [name for name in formula.columns if name not in keys]
    for name in unknown:
        faults.add("formula", f"{name!r} is not a key (there are {join(keys)})")
    if unknown:
        return None
    position = {name: j for j, name in enumerate(keys)}
    terms = {frozenset(position[name] for name in names) for names in formula.names}
    categorical = {position[f.column] for f in formula.factors if f.function == "C"}
    return sorted(terms, key=lambda term: (len(term), sorted(term))), categorical


def format_formula(
    terms: Sequence[Term], names: Sequence[str], categories: Sequence[int] | set[int] = ()
) -> str:
    """Write terms as a formula for `read_terms`; `categories` are written with ``C()``."""
    factors = [
        FormulaFactor(name, "C" if j in set(categories) else "") for j, name in enumerate(names)
    ]
    return str(Formula((), tuple(tuple(factors[j] for j in sorted(term)) for term in terms)))
