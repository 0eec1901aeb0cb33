"""Names that surveys give to the columns of a role, of age, of sex and of the relation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

ROLES: dict[str, tuple[str, ...]] = {
    "weight": ("rb050", "weight", "design_weight", "weights", "w", "pw", "person_weight", "pb040"),
    "household": ("db030", "rx030", "hb030", "hid", "hhid", "household", "household_id", "hh_id"),
    "household_weight": ("db090", "hweight", "household_weight", "hw"),
    "household_size": ("hsize", "hhsize", "household_size", "size", "hx040"),
    "person": ("pid", "rb030", "person", "person_id"),
    "strata": ("db040", "strata", "stratum", "region", "estrato", "strate", "bundesland", "nuts2"),
    "psu": ("psu", "cluster", "clust", "ea", "db060", "psu_id"),
}
WEIGHT_NAME = re.compile(
    # not the weight of a body
    r"^(?!.*(body|birth|corpor|k(ö|oe|o)rper|geburt|naissance|over_?weight|under_?weight|height"
    r"|weight_?(loss|gain|change|class|status|group|cat)|(weight|gewicht|poids)[ _]?(in[ _]?)?"
    r"(kg|kilo|lb|pound|gram|actuel)|(^|_)(kg|lbs?)(_|$)))"
    r".*(weight|gewicht|poids|ponderation|wgt|^inclusion_prob|^w$|^pw$|^hw$"
    r"|(^|_)(db0[89]0|rb05\d|rb06\d|pb0[4-8]0|rl070)|^pond(era)?(_|$)"
    r"|^factor(_?(exp|pond|per|hog).*)?$|^f_?exp|^peso_(per|ind|hog|fam)|^pesofit)",
    re.IGNORECASE,
)
HOUSEHOLD_NAME = re.compile(
    r"^(household|haushalt|menage|hogar|foyer|husholdning|hushall|kotitalous)$"
    r"|\b(h?hid|h?h id|household (id|no|number)|haushalts? ?(nr|nummer|id)|id ?(menage|hogar)"
    r"|num(ero)? ?(du |del |de |da )?(men(age)?|hogar|foyer)|n menage|numero (della )?famiglia"
    r"|huishoud(en)? ?(nr|nummer|id)|nr gospodarstwa|hus(holdnings|halls) ?(nr|nummer|id))$"
)
AGE = ("age", "rx020", "alter", "edad", "idade", "eta", "leeftijd", "alder", "wiek")
AGE_NAME = re.compile(
    rf"({'|'.join(AGE)})s?(p|y(ea)?rs|years?|gro?u?p|class|cat(egory)?|band|range|gruppe|klasse|code)?"
)
SEX = ("rb090", "sex", "gender", "geschlecht", "sexe", "sexo", "sesso", "geslacht", "kjonn", "plec")
RELATION = ("relation", "relate", "relat", "kinship", "relationship", "rel", "relation_to_head",
            "parentesco", "lien", "parentela")  # fmt: skip


def first_named(names: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return the column with the first of the names that one has, whatever its case."""
    lower = {str(column).lower(): str(column) for column in columns}
    return next((lower[name] for name in names if name in lower), None)


def named_or_containing(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Return the columns with one of the names, then those that have one as a word."""
    columns, names = list(columns), list(names)
    exact = [column for name in names if (column := first_named([name], columns)) is not None]
    containing = [column for column in columns if set(words_of(column).split()) & set(names)]
    return list(dict.fromkeys([*exact, *containing]))


def folded(text: str) -> str:
    """Return a text without accents: "Numéro du ménage" as "Numero du menage"."""
    text = text.translate(_LETTERS)
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


_LETTERS = str.maketrans({"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "Ae"})


def words_of(name: str) -> str:
    """Return a column's name as words without accents: "highestDegree_2" as "highest degree"."""
    name = folded(name)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    text = re.sub(r"[\W_]+", " ", text)
    return re.sub(r"(?<=[a-z]) \d+$", "", text.lower().strip())


def columns_named_for(role: str, columns: Iterable[str]) -> list[str]:
    """Return the columns named like one of a role, the likeliest first.

    The usual names of the role come in their order; then, for weights and households, names that
    contain a word for them.
    """
    names = [str(column) for column in columns]
    usual = [name for known in ROLES[role] if (name := first_named([known], names))]
    other_names: list[str] = []
    if role == "weight":
        of_households = ROLES["household_weight"]
        other_names = [n for n in names if WEIGHT_NAME.search(n) and n.lower() not in of_households]
    elif role == "household":
        other_names = [n for n in names if HOUSEHOLD_NAME.search(words_of(n))]
    return list(dict.fromkeys([*usual, *other_names]))


# Words of edit rules and expressions: columns of these names stand in back-quotes there.
RESERVED = frozenset(
    ("and", "or", "not", "if", "in", "is", "only", "at", "exactly", "than", "years", "missing")
)
