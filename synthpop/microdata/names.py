"""Names that surveys give to the columns of a role, of age, of sex and of the relation."""

from __future__ import annotations

import re
from collections.abc import Iterable

ROLES: dict[str, tuple[str, ...]] = {
    "weight": ("rb050", "weight", "design_weight", "weights", "w", "pw", "person_weight", "pb040"),
    "household": ("db030", "rx030", "hb030", "hid", "hhid", "household", "household_id", "hh_id"),
    "household_weight": ("db090", "hweight", "household_weight", "hw"),
    "household_size": ("hsize", "hhsize", "household_size", "size", "hx040"),
    "person": ("pid", "rb030", "person", "person_id"),
    "strata": ("db040", "strata", "stratum", "region"),
    "psu": ("psu", "cluster", "clust", "ea", "db060", "psu_id"),
}
WEIGHT_NAME = re.compile(
    r"weight|gewicht|wgt|^inclusion_prob|^w$|^pw$|^hw$|[a-z]b0[59]0|pb040|pb060", re.IGNORECASE
)
AGE = ("age", "rx020", "alter")
SEX = ("rb090", "sex", "gender", "geschlecht")
RELATION = ("relation", "relate", "relat", "kinship", "relationship", "rel", "relation_to_head")


def first_named(names: Iterable[str], columns: Iterable[str]) -> str | None:
    """Return the column with the first of the names that one has, whatever its case.

    Examples
    --------
    >>> first_named(AGE, ["ID", "Age"])
    'Age'
    """
    lower = {str(column).lower(): str(column) for column in columns}
    return next((lower[name] for name in names if name in lower), None)
