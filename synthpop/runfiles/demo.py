"""The recipe of the demo: what ``synthpop demo`` runs on the embedded survey."""

from __future__ import annotations

from math import inf

from synthpop.runfiles.plan import RunFile
from synthpop.runfiles.runfile import parse_runfile

AGE_BREAKS = [0, 15, 19, 24, 29, 34, 39, 44, 49, 54, 59, 64, 69, 74, 79, 120]
INTERVALS = ["netIncome_low", "netIncome_high"]
PARTS = ["py010n", "py050n", "py090n", "py100n", "py110n", "py120n", "py130n", "py140n"]
PREDICTORS = {
    "pb220a": "age_class rb090 hsize relation",
    "pb190": "age_class rb090 hsize relation",
    "pl030": "age_class rb090 hsize pb190 pb220a",
    "pe040": "age_class rb090 pl030 pb190 pb220a",
    "netIncome": "age_class rb090 hsize pl030 pb190 pe040 pb220a relation",
}
# What cross-validation chooses for this survey: strata have their own class totals, all else is
# from the model of all strata, with pairs of predictors shrunk with the weight of 300 persons.
# Without `pooling` a step chooses again each time it is fitted.
POOLING = {"amount": inf, "pairs": 300.0}
WITHOUT_PAIRS = ("pb190",)
RULES = [
    "exactly one head",
    "at most one partner",
    "partner married if and only if head married",
    "partner: age >= 16",
    "married: age >= 18",
    "tertiary: age >= 22",
    'pe040 in {"primary", "lower secondary"} if age >= 16 and age <= 17',
    'pb190 = "widowed" if py110n > 0',
    'pl030 = "retired" if py100n > 0',
    "child at least 14 years younger than head",
    "parent at least 14 years older than head",
    "age < 16: pb190 is missing",
    "age < 16: pl030 is missing",
    "age < 16: netIncome is missing",
    " + ".join(PARTS) + " = netIncome",
]


def demo_runfile(*, seed: int = 1, scale: float = 1.0) -> RunFile:
    """Return the run file of the demo."""
    return parse_runfile(
        {
            "survey": {"demo": True},
            "rules": RULES,
            "run": {"seed": seed, "scale": scale},
            "report": {"title": "Synthetic population of the demo country"},
            "risk": {
                "keys": ["db040", "hsize", "age_class", "rb090", "pl030", "pb220a"],
                "target": "netIncome",
                "intervals": INTERVALS,
            },
            "stage": _stages(),
        }
    )


def _stages() -> list[dict[str, object]]:
    classes = {"source": "age", "breaks": AGE_BREAKS, "labels": _age_labels()}
    tail = {"type": "binned", "tail": "gpd", "upper": 1_000_000.0, "intervals": INTERVALS}
    return [
        {"type": "structure", "variables": ["age", "rb090", "relation"], "jitter": {"age": 2}},
        {"type": "derive", "name": "age_class", **classes},
        *(_drawn("categorical", name) for name in ("pb220a", "pb190", "pl030", "pe040")),
        _drawn("continuous", "netIncome") | {"method": tail, "means_by": "pl030"},
        {
            "type": "components",
            "total": "netIncome",
            "parts": PARTS,
            "by": ["pl030", "pb190", "netIncome"],
        },
    ]


def _drawn(kind: str, name: str) -> dict[str, object]:
    """Return a step that draws a variable of members given those before them."""
    return {
        "type": kind,
        "name": name,
        "predictors": PREDICTORS[name].split(),
        "by_household": "sequential",
        "pooling": inf if name in WITHOUT_PAIRS else POOLING,
    }


def _age_labels() -> list[str]:
    lower = [0, *(limit + 1 for limit in AGE_BREAKS[1:-1])]
    spans = [f"{a}-{b}" for a, b in zip(lower[:-1], AGE_BREAKS[1:-1], strict=True)]
    return [*spans, f"{lower[-1]}+"]
