"""Demo data: `python -m benchmarks.bench_demo`."""

from __future__ import annotations

from benchmarks._measure import measure


def main() -> None:
    from synthpop.datasets import load_demo_population, load_demo_survey

    measure("load the demo survey", "11,993 persons", load_demo_survey)
    measure("generate the demo population", "435,024 persons", load_demo_population)
    measure(
        "generate a larger population",
        "2,000,000 households",
        lambda: load_demo_population(2_000_000),
    )


if __name__ == "__main__":
    main()
