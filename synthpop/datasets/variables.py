"""What each column of the demo data holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pandas as pd

from synthpop.datasets import levels

CHILDREN = "under 16"
EUROS = "euros a year"


@dataclass(frozen=True, slots=True)
class DemoVariable:
    """One column of the demo data.

    Attributes
    ----------
    name, label : str
    kind : str
        "id", "category", "ordered", "number" or "weight".
    levels : tuple of str
        In the order of the codes 1, 2, ... of EU-SILC; empty for numbers.
    unit : str
    missing : str
        For whom it is missing; empty for nobody.
    """

    name: str
    label: str
    kind: str
    levels: tuple[str, ...] = ()
    unit: str = ""
    missing: str = ""


_COMPONENT_LABELS = {
    "py010n": "Employee cash or near cash income",
    "py050n": "Cash benefits or losses from self-employment (negative: loss)",
    "py090n": "Unemployment benefits",
    "py100n": "Old-age benefits",
    "py110n": "Survivor's benefits",
    "py120n": "Sickness benefits",
    "py130n": "Disability benefits",
    "py140n": "Education-related allowances",
}

DEMO_VARIABLES: tuple[DemoVariable, ...] = (
    DemoVariable("db030", "Household id", "id"),
    DemoVariable("hsize", "Household size", "number", unit="persons"),
    DemoVariable("db040", "Region", "category", levels.REGION),
    DemoVariable("pid", "Person id: household id and two digits", "id"),
    DemoVariable("relation", "Relation to the head of the household", "category", levels.RELATION),
    DemoVariable("age", "Age", "number", unit="completed years"),
    DemoVariable("rb090", "Sex", "category", levels.SEX),
    DemoVariable("pb220a", "Citizenship", "category", levels.CITIZENSHIP, missing=CHILDREN),
    DemoVariable(
        "pl030", "Self-defined economic status", "category", levels.STATUS, missing=CHILDREN
    ),
    DemoVariable(
        "pe040",
        "Highest level of education",
        "ordered",
        levels.EDUCATION,
        missing=f"{CHILDREN}; about 3 % of the others in the survey",
    ),
    DemoVariable("pb190", "Marital status", "category", levels.MARITAL, missing=CHILDREN),
    DemoVariable(
        "netIncome", "Personal net income: sum of py010n to py140n", "number", (), EUROS, CHILDREN
    ),
    *(
        DemoVariable(name, _COMPONENT_LABELS[name], "number", (), EUROS, CHILDREN)
        for name in levels.COMPONENTS
    ),
    DemoVariable(
        "hincome", "Household income: sum of netIncome of the members", "number", unit=EUROS
    ),
    DemoVariable(
        "eqIncome",
        "Equivalised income: hincome by the modified OECD scale (1; 0.5; 0.3 under 14)",
        "number",
        unit=EUROS,
    ),
    DemoVariable("db090", "Household weight (survey only)", "weight", unit="households"),
    DemoVariable("rb050", "Person weight, equal to db090 (survey only)", "weight", unit="persons"),
)


def variables_frame() -> pd.DataFrame:
    """Return `DEMO_VARIABLES` as a table, one row per variable.

    Examples
    --------
    >>> table = variables_frame()
    >>> table.loc[table["name"] == "rb090", "levels"].item()
    'male, female'
    """
    rows = [asdict(variable) for variable in DEMO_VARIABLES]
    return pd.DataFrame(rows).assign(levels=[", ".join(row["levels"]) for row in rows])
