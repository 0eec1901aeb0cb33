"""Run examples at the size of the documentation and store the tables that its pages show.

    PYTHONPATH=.:examples python -m benchmarks.store_examples simulation [REPETITIONS]   # minutes
    PYTHONPATH=.:examples python -m benchmarks.store_examples intruders [SEEDS]          # minutes

The second needs eusilc.parquet in ../shared/data (see `examples/replay_intruders.py`).
"""

from __future__ import annotations

import sys

import pandas as pd

from benchmarks.results import store


def simulation(repetitions: int = 1000) -> pd.DataFrame:
    """Strategies of the simulation study beside the truth (`docs/methods/simulation-study.md`)."""
    import simulation_study as example

    table = example.results(example.run(example.make_population(), repetitions))
    rows = []
    for name, title in {"gini": "Gini coefficient", "poverty": "Poverty rate, %"}.items():
        part = table[(table["estimator"] == name) & (table["domain"] == "all")]
        for row in part.itertuples():
            rows.append(
                {
                    "indicator": f"{title}, truth {row.truth:.2f}",
                    "strategy": row.strategy,
                    "bias": f"{row.bias:.2f} ({row.bias_mc:.2f})",
                    "root mean squared error": f"{row.rmse:.2f} ({row.rmse_mc:.2f})",
                    "coverage of 95 % intervals": (
                        f"{100 * row.coverage:.1f} % ({100 * row.coverage_mc:.1f})"
                    ),
                    "mean length": f"{row.length:.2f}",
                }
            )
    return pd.DataFrame(rows)


def intruders(seeds: int = 10) -> pd.DataFrame:
    """Table 6.1 of the book beside ours (`docs/methods/intruder-scenarios.md`)."""
    import replay_intruders as example

    sample = example.read_sample(example.DATA)
    fitted = example.fit(sample)
    risk = example.scenario_replicates(
        sample,
        (fitted.simulate(seed=seed, scale=1.0) for seed in range(1, seeds + 1)),
        example.INTRUDER,
        intervals=("low", "high"),
        weights="rb050",
    )
    table = example.beside_the_book(risk.table)
    rows = []
    for scenario, part in table.groupby("scenario"):
        cells = [
            f"{row.tau:.3g} ({row.smallest:.0f}-{row.largest:.0f})" for row in part.itertuples()
        ]
        rows.append(
            [f"tau_{scenario}", *cells, ", ".join(f"{value:.2g}" for value in part["printed"])]
        )
        if scenario in (3, 4):
            without = [f"{abs(value):.2f}" for value in part["without_zeros"]]
            rows.append([f"tau_{scenario} without true zeros", *without, ""])
    no_match = table.loc[table["scenario"] == 4, "no_match"].iloc[0]
    rows.append(["records without a match", f"{no_match:.1f}", "", "", ""])
    return pd.DataFrame(rows, columns=["", "p = 0.01", "0.02", "0.05", "printed"])


STUDIES = {"simulation": (simulation, "strategies"), "intruders": (intruders, "table 6.1")}


def main() -> None:
    """Run the study that is named."""
    study, *size = sys.argv[1:]
    function, name = STUDIES[study]
    table = function(*map(int, size))
    print(table.to_string(index=False))
    store(study, name, table)


if __name__ == "__main__":
    main()
