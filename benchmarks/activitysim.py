"""ActivitySim simulates the days of a population that `travel_tables` wrote.

    python -m benchmarks.activitysim --python VENV/bin/python [--households 500]

ActivitySim lies in an environment of its own; its package has the example `prototype_mtc` (25 zones
of San Francisco, 5,000 households). These households are put into its zones so that its numbers of
households and persons by age in each zone are met at a smaller scale; its own columns are taken
away where they follow from others. All models of the example then run on the two tables.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from synthpop import Margin, Survey, travel_tables
from synthpop.calibration import balance_zones, long_table

AGES = {"AGE0004": 0, "AGE0519": 5, "AGE2044": 20, "AGE4564": 45, "AGE65P": 65}
WHERE = "import activitysim, pathlib; print(pathlib.Path(activitysim.__file__).parent)"


def main() -> None:
    """Balance, write, run ActivitySim, and print what it read and made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter that has activitysim")
    parser.add_argument("--households", type=int, default=500)
    arguments = parser.parse_args()
    package = subprocess.run([arguments.python, "-c", WHERE], capture_output=True, text=True)
    example = Path(package.stdout.strip()) / "examples/prototype_mtc"
    homes, persons, land = (
        pd.read_csv(example / f"data/{name}.csv") for name in ("households", "persons", "land_use")
    )
    known = {"HHID", "TAZ", "income", "HHT", "VEHICL"}
    people = persons.merge(homes[list(known)], left_on="household_id", right_on="HHID")
    people = people.drop(columns=["ptype", "PNUM", "PERID", "TAZ"])
    starts = list(AGES.values())
    people["from"] = people["age"].map(lambda age: max(s for s in starts if s <= age))
    scale = arguments.households / land["TOTHH"].sum()
    margins = [
        Margin(land[["TAZ", "TOTHH"]], total="TOTHH", level="household", name="homes"),
        Margin(long_table(land[["TAZ", *AGES]], {name: {"from": s} for name, s in AGES.items()}),
               importance=100.0, name="ages"),
    ]  # fmt: skip
    scaled = [item.scaled(scale) for item in margins]
    survey = Survey(people.assign(w=1.0), weight="w", household="household_id")
    result = balance_zones(survey, land[["TAZ"]], scaled, seed=1)
    print(result.summary())
    tables = travel_tables(
        result.persons(), household="zone_household", zone="TAZ",
        columns={"auto_ownership": "VEHICL"},
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as scratch:
        data, configs, output = (Path(scratch) / name for name in ("data", "configs", "output"))
        for folder in (data, configs, output):
            folder.mkdir()
        tables.write(data)
        (configs / "settings.yaml").write_text(
            "inherit_settings: True\nhouseholds_sample_size: 0\nuse_shadow_pricing: False\n"
        )
        command = [arguments.python, "-m", "activitysim", "run", "-c", str(configs), "-c",
                   str(example / "configs"), "-d", str(data), "-d", str(example / "data"), "-o",
                   str(output)]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            sys.exit((ran.stdout + ran.stderr)[-3000:])
        read, made, trips = (
            pd.read_csv(output / f"final_{name}.csv") for name in ("households", "persons", "trips")
        )
        same = read.set_index("household_id")["home_zone_id"].sort_index()
        given = tables.households.set_index("household_id")["home_zone_id"]
        print(
            f"ActivitySim read {len(read):,} households and {len(made):,} persons, in their "
            f"zones: {bool((same == given).all())}, and made {len(trips):,} trips"
        )


if __name__ == "__main__":
    main()
