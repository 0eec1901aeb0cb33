"""Peak memory and time of every command at a million persons: `python -m benchmarks.peak_memory`.

Each command is a process of its own; the peak is its resident memory (MB), children not included.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCALE = 2.3  # the demo country has 435,000 persons
KEYS = '["db040", "hsize", "age_class", "rb090", "pl030", "pb220a"]'
DATA = """
[data]
file = "people.parquet"
"""
ROLES = f"""
[roles]
keys = {KEYS}
numeric = ["netIncome"]
"""
PLANS = {
    "assess.toml": f"{DATA}\n[assess]\nkeys = {KEYS}\n",
    "protect.toml": f'{DATA}{ROLES}\n[[step]]\nverb = "local_suppression"\nk = 3\n',
    "compare.toml": f'{DATA}{ROLES}\n[[release]]\nname = "same"\nfile = "people.parquet"\n',
    "calibrate.toml": """
[survey]
file = "people.parquet"
unweighted = true
household = "db030"

[calibrate]

[[calibrate.margin]]
file = "sexes.csv"
""",
}


def run(name: str, package: str, *arguments: str, cwd: Path) -> None:
    """Run one command and print its row."""
    started = time.perf_counter()
    command = [sys.executable, "-m", package, *arguments]
    child = subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert child.stdout is not None
    text = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    processor = usage.ru_utime + usage.ru_stime
    what = "" if status == 0 else f" failed: {text.strip().splitlines()[-1][:90]}"
    peak = usage.ru_maxrss / 1024
    print(f"| {name}{what} | {seconds:.0f} | {processor:.0f} | {peak:,.0f} |", flush=True)


def main() -> None:
    """Print one row a command."""
    os.environ["PYTHONPATH"] = os.getcwd()
    print("| command | seconds | processor seconds | peak MB |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in PLANS.items():
            (folder / file).write_text(text, encoding="utf-8")
        demo = ["demo", "--scale", str(SCALE), "--out", "p"]
        run("synthpop demo", "synthpop", *demo, cwd=folder)
        run("synthpop verify", "synthpop", "verify", "p", cwd=folder)
        run("synthpop report", "synthpop", "report", "p", "--out", "page.html", cwd=folder)
        export = ["export", "p", "--to", "people.parquet"]
        run("synthpop export (Parquet)", "synthpop", *export, cwd=folder)
        run("synthpop export (CSV)", "synthpop", "export", "p", "--to", "people.csv", cwd=folder)
        sample = ["sample", "p", "-n", "5000", "--seed", "1", "--out", "sample.csv"]
        run("synthpop sample", "synthpop", *sample, cwd=folder)
        run("synthpop init (CSV)", "synthpop", "init", "people.csv", "--out", "i.toml", cwd=folder)
        run("synthpop profile", "synthpop", "profile", "people.parquet", cwd=folder)
        import pandas as pd

        sexes = pd.read_parquet(folder / "people.parquet", columns=["rb090"])["rb090"]
        counts = sexes.value_counts().rename_axis("rb090").reset_index(name="total")
        counts.to_csv(folder / "sexes.csv", index=False)
        run("synthpop calibrate", "synthpop", "calibrate", "calibrate.toml", cwd=folder)
        for command in ("assess", "protect", "compare"):
            run(f"riskeval {command}", "riskeval", command, f"{command}.toml", cwd=folder)


if __name__ == "__main__":
    main()
