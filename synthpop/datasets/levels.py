"""Levels of the categorical variables of the demo data, in the order of their codes."""

from __future__ import annotations

from synthpop.datasets.truth import REGIONS

REGION = tuple(region.name for region in REGIONS)
SEX = ("male", "female")
RELATION = ("head", "partner", "child", "parent", "other")
CITIZENSHIP = ("national", "EU", "other")
STATUS = ("full-time", "part-time", "unemployed", "education", "retired", "disabled", "domestic")
EDUCATION = ("primary", "lower secondary", "upper secondary", "post-secondary", "tertiary")
MARITAL = ("never married", "married", "separated", "widowed", "divorced")
COMPONENTS = ("py010n", "py050n", "py090n", "py100n", "py110n", "py120n", "py130n", "py140n")

# codes by name, for the generator
MALE, FEMALE = range(2)
HEAD, PARTNER, CHILD, PARENT, OTHER = range(5)
FULL_TIME, PART_TIME, UNEMPLOYED, IN_EDUCATION, RETIRED, DISABLED, DOMESTIC = range(7)
NEVER_MARRIED, MARRIED, SEPARATED, WIDOWED, DIVORCED = range(5)

ADULT_AGE = 16  # younger persons are not interviewed
SCALE_AGE = 14  # from this age on a member weighs 0.5 in the modified OECD scale, before 0.3
