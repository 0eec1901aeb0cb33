"""Measure the disclosure risk of a survey file and write the page an office would read.

Run it anywhere: the survey comes with the package, the page is written to the current folder.

    python examples/assess_a_file.py
"""

from __future__ import annotations

from pathlib import Path

from riskeval import assess, individual_risk, write_assessment
from synthpop import load_demo_survey

# What an intruder is thought to know of a person, and what he would like to learn.
KEYS = ["db040", "hsize", "age", "rb090", "pb220a"]  # region, household size, age, sex, citizenship
SENSITIVE = ["pl030"]  # economic status
WEIGHT, HOUSEHOLD = "rb050", "db030"


def main(folder: Path) -> Path:
    """Assess the file as it is and with broader ages; write the page of the second."""
    survey = load_demo_survey().frame
    broad = survey.assign(age=survey["age"] // 10 * 10)  # ten-year groups

    for label, file in (("single years of age", survey), ("ten-year groups of age", broad)):
        risk = individual_risk(file, KEYS, weights=WEIGHT, household=HOUSEHOLD)
        print(f"With {label}: {risk.summary()}\n")

    result = assess(
        broad,
        keys=KEYS,
        weights=WEIGHT,
        household=HOUSEHOLD,
        sensitive=SENSITIVE,
        limits={"k": 3, "l": 2, "record_risk": 0.09},
        # region and citizenship are tied, and so are household size and age
        options={"loglinear": {"formula": "~ (db040 + C(hsize) + C(age) + rb090 + pb220a)**2"}},
    )
    print(result.summary())

    # Which keys make records special? The ones to make broader first.
    print(result.results["suda"].attribute_contribution)

    page = write_assessment(folder / "risk.html", result, title="Risk of the demo survey")
    print(f"\nThe page is {page}.")
    return page


if __name__ == "__main__":
    main(Path.cwd())
