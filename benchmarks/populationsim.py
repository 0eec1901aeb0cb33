"""PopulationSim and `synthpop zones` on the same folder: fit by control, seconds, memory.

    python -m benchmarks.populationsim FOLDER --python VENV/bin/python
    python -m benchmarks.populationsim FOLDER --python VENV/bin/python --invent 100

PopulationSim lies in an environment of its own. With `--invent` a folder of the shape of its CALM
example is written first: so many zones in tracts and one region, 31 controls, whole households.
The fit is that which its validation publishes (mean and standard deviation of the percentage
difference, percentage root mean squared error) and sums of absolute gaps.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from synthpop.runfiles.populationsim import ZoneFolder, read_zone_folder

SETTINGS = {
    "INTEGERIZE_WITH_BACKSTOPPED_CONTROLS": True, "SUB_BALANCE_WITH_FLOAT_SEED_WEIGHTS": False,
    "GROUP_BY_INCIDENCE_SIGNATURE": True, "USE_SIMUL_INTEGERIZER": True, "USE_CVXPY": False,
    "max_expansion_factor": 30, "geographies": ["REGION", "PUMA", "TRACT", "TAZ"],
    "seed_geography": "PUMA", "data_dir": "data",
    "input_table_list": [
        {"tablename": "households", "filename": "seed_households.csv", "index_col": "hh_id"},
        {"tablename": "persons", "filename": "seed_persons.csv"},
        {"tablename": "geo_cross_walk", "filename": "geo_cross_walk.csv"},
        *({"tablename": f"{name}_control_data", "filename": f"{name}.csv"}
          for name in ("TAZ", "TRACT", "REGION")),
    ],
    "household_weight_col": "WGTP", "household_id_col": "hh_id", "total_hh_control": "num_hh",
    "control_file_name": "controls.csv",
    "output_tables": {"action": "include", "tables": ["expanded_household_ids"]},
    "models": [
        "input_pre_processor", "setup_data_structures", "initial_seed_balancing",
        "meta_control_factoring", "final_seed_balancing", "integerize_final_seed_weights",
        "sub_balancing.geography=TRACT", "sub_balancing.geography=TAZ", "expand_households",
        "write_tables",
    ],
}  # fmt: skip
# column, values, table, geography, importance: of each value one control
CONTROLS = [
    ("NP", range(1, 5), "households", "TAZ", 5000), ("AGEHOH", range(4), "households", "TAZ", 500),
    ("INC", range(4), "households", "TAZ", 500), ("OSUTAG", (1, 2), "persons", "TAZ", 500),
    ("NWESR", range(4), "households", "TRACT", 1000),
    ("HTYPE", range(1, 5), "households", "TRACT", 1000),
    ("OCCP", range(1, 9), "persons", "REGION", 1000),
]  # fmt: skip


def invent(folder: Path, zones: int) -> None:
    """Write settings, controls, seed and totals: 60 households a zone, a seed of one in twenty."""
    rng = np.random.default_rng(1)
    n, zone = 60 * zones, np.repeat(np.arange(zones), 60)
    rich, young = rng.normal(0, 0.7, zones)[zone], rng.normal(0, 0.7, zones)[zone]
    homes = pd.DataFrame({"hh_id": np.arange(n) + 1, "TAZ": zone + 1, "TRACT": zone // 8 + 1,
                          "PUMA": 1, "REGION": 1, "WGTP": 20})  # fmt: skip
    homes["NP"] = np.clip(rng.poisson(np.exp(0.3 + 0.2 * young)) + 1, 1, 4)
    homes["AGEHOH"] = np.clip(np.round(1.5 - young + rng.normal(0, 1, n)), 0, 3).astype(int)
    homes["INC"] = np.clip(np.round(1.5 + rich + rng.normal(0, 1, n)), 0, 3).astype(int)
    homes["NWESR"] = np.minimum(rng.binomial(3, 0.45, n), homes["NP"])
    homes["HTYPE"] = np.clip(np.round(2 - 0.5 * rich + rng.normal(0, 1, n)), 1, 4).astype(int)
    row = np.repeat(np.arange(n), homes["NP"])
    persons = homes.loc[row, ["hh_id", "TAZ", "TRACT", "REGION"]].reset_index(drop=True)
    persons["OSUTAG"] = rng.choice([0, 1, 2], len(row), p=[0.85, 0.05, 0.1])
    persons["OCCP"] = rng.integers(0, 9, len(row))
    drawn = np.sort(rng.choice(n, n // 20, replace=False))
    tables = {name: homes.groupby(name).size().rename("HH").to_frame()
              for name in ("TAZ", "TRACT", "REGION")}  # fmt: skip
    rows = ["num_hh,TAZ,households,1000000000,HH,households.WGTP > 0"]
    for column, values, table, area, importance in CONTROLS:
        source = homes if table == "households" else persons
        counts = source.groupby([area, column]).size().unstack(fill_value=0)
        for value in values:
            name = f"{column}_{value}"
            tables[area][name] = counts[value]
            rows.append(f"{name},{area},{table},{importance},{name},{table}.{column} == {value}")
    (folder / "configs").mkdir(parents=True)
    (folder / "data").mkdir()
    head = "target,geography,seed_table,importance,control_field,expression"
    (folder / "configs/controls.csv").write_text("\n".join([head, *rows]) + "\n")
    (folder / "configs/settings.yaml").write_text(yaml.safe_dump(SETTINGS, sort_keys=False))
    for name, table in tables.items():
        table.fillna(0).astype(int).reset_index().to_csv(folder / f"data/{name}.csv", index=False)
    places = homes[["REGION", "PUMA", "TRACT", "TAZ"]].drop_duplicates()
    places.to_csv(folder / "data/geo_cross_walk.csv", index=False)
    seed = homes.iloc[drawn].drop(columns=["TAZ", "TRACT", "REGION"])
    seed.to_csv(folder / "data/seed_households.csv", index=False)
    members = persons[persons["hh_id"].isin(seed["hh_id"])].drop(columns=["TAZ", "TRACT", "REGION"])
    members.to_csv(folder / "data/seed_persons.csv", index=False)


def timed(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Run a command; processor seconds, clock seconds and peak megabytes of it and its children."""
    clock = time.perf_counter()
    with (folder / "log.txt").open("w") as log:
        child = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed: {(folder / 'log.txt').read_text()[-2000:]}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - clock, used.ru_maxrss / 1024


def weights_of(source: ZoneFolder, output: Path) -> pd.DataFrame:
    """Return weights of households in zones: how often each is there, or fractional ones."""
    zone, key = str(source.geography.columns[-1]), str(source.settings["household_id_col"])
    expanded = output / "final_expanded_household_ids.csv"
    if expanded.exists():
        return pd.read_csv(expanded).groupby([key, zone]).size().rename("weight").reset_index()
    weights = pd.read_csv(output / f"final_{zone}_weights.csv")
    return weights.rename(columns={"balanced_weight": "weight"})[[key, zone, "weight"]]


def of_weights(source: ZoneFolder, weights: pd.DataFrame) -> pd.DataFrame:
    """Return each control and area with its total and what the weights of zones achieve."""
    zone = str(source.geography.columns[-1])
    key = str(source.settings["household_id_col"])
    homes = source.survey.frame.drop_duplicates(key).set_index(key)
    rows = weights.merge(source.geography, on=zone, suffixes=("_", ""))
    parts = []
    for margin in source.margins:
        area = margin.columns[0]
        value = homes[margin.label].reindex(rows[key]).to_numpy() * rows["weight"].to_numpy()
        achieved = pd.Series(value).groupby(rows[area].to_numpy()).sum()
        table = margin.frame.set_index(area)["total"]
        parts.append(pd.DataFrame({
            "control": margin.label, "total": table, "achieved": achieved.reindex(table.index),
        }).fillna({"achieved": 0.0}))  # fmt: skip
    return pd.concat(parts)


def of_summaries(folder: Path) -> pd.DataFrame:
    """The same from the summaries that `synthpop zones` writes."""
    parts = []
    for file in sorted(folder.glob("final_summary_*.csv")):
        table = pd.read_csv(file)
        for name in table.columns[table.columns.str.endswith("_control")]:
            label = name.removesuffix("_control")
            part = {"control": label, "total": table[name], "achieved": table[f"{label}_result"]}
            parts.append(pd.DataFrame(part).dropna())
    return pd.concat(parts)


def fit(controls: pd.DataFrame) -> pd.DataFrame:
    """Return the measures of the validation of PopulationSim, of areas whose total is not zero."""
    gap = controls["achieved"] - controls["total"]
    percent = (100 * gap / controls["total"]).where(controls["total"] > 0)
    table = controls.assign(gap=gap.abs(), percent=percent, square=(gap**2))
    by = table.groupby("control", sort=False)
    rmse = 100 * np.sqrt(by["square"].mean()) / by["total"].mean()
    return pd.DataFrame({"N": by["percent"].count(), "total": by["total"].sum(),
                         "gaps": by["gap"].sum(), "mean %": by["percent"].mean(),
                         "sd %": by["percent"].std(), "RMSE %": rmse})  # fmt: skip


def main() -> None:
    """Run both on copies of the folder; print a table by control and a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", required=True, help="interpreter that has populationsim")
    parser.add_argument("--invent", type=int, default=0, help="zones of a folder to be written")
    arguments = parser.parse_args()
    if arguments.invent:
        invent(arguments.folder, arguments.invent)
    commands = {
        "PopulationSim": [arguments.python, "-m", "populationsim", "-c", "configs", "-d", "data",
                          "-o", "output"],
        "synthpop": [sys.executable, "-m", "synthpop", "zones", ".", "--seed", "1"],
    }  # fmt: skip
    source, fits = read_zone_folder(arguments.folder), {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, command in commands.items():
            run = Path(shutil.copytree(arguments.folder, Path(scratch) / name))
            shutil.rmtree(run / "output", ignore_errors=True)
            if name == "PopulationSim":
                (run / "output").mkdir()
            processor, clock, peak = timed(command, run)
            print(f"{name}: {processor:.1f} processor s, {clock:.1f} s, peak {peak:,.0f} MB")
            if name == "PopulationSim":
                fits[name] = fit(of_weights(source, weights_of(source, run / "output")))
            else:
                fits[name] = fit(of_summaries(run / "output"))
    both = pd.concat(fits, axis=1)
    both = both.drop(columns=[("synthpop", "N"), ("synthpop", "total")])
    print(both.round(2).to_string())
    for name in commands:
        print(f"{name}: sum of absolute gaps {both[name, 'gaps'].sum():,.1f}")


if __name__ == "__main__":
    main()
