"""Peak memory and time of every command at a million persons: `python -m benchmarks.peak_memory`.

Names behind it choose commands (`judge run`); `demo` and `export` run in any case, as the others
need what they write.

Each command is a process of its own; the peak is its resident memory (MB), children not included.
The app opens the million records in Chromium, takes the roles that it suggests and counts the risk;
its row is that of the app and of the largest process that it started.
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
    "judge.toml": """
[data]
demo = true

[synthetic]
file = "people.parquet"

[intruder]
keys = ["db040", "hsize", "age", "rb090", "pl030"]
targets = ["netIncome"]
""",
    "intruders.toml": """
[data]
demo = true

[population]
file = "people.parquet"

[intruder]
keys = ["db040", "hsize", "age", "rb090", "pl030"]
targets = ["netIncome"]
""",
    "run.toml": """
[survey]
file = "people.parquet"
unweighted = true
household = "db030"
household_size = "hsize"
person = "pid"
strata = "db040"

[run]
out = "q"

[[stage]]
type = "structure"
variables = ["age", "rb090"]

[[stage]]
type = "categorical"
name = "pl030"
predictors = ["age", "rb090", "hsize"]

[[stage]]
type = "continuous"
name = "netIncome"
predictors = ["age", "rb090", "pl030"]
""",
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


def memory_of(process: int) -> tuple[float, float]:
    """Return the largest resident memory (MB) and the processor seconds of a process so far."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
    times = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()
    return int(peak) / 1024, (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def children_of(process: int) -> list[int]:
    """Return the processes that a process started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text(encoding="utf-8").split()]


def run_app(folder: Path) -> None:
    """Open a file in the app, take the roles that it suggests, and print a row."""
    from playwright.sync_api import sync_playwright

    from tests.synthpop.app.browsing import CHROMIUM, FLAGS, Server, new_page, take_roles

    started = time.perf_counter()
    server = Server()
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = new_page(browser.new_context(), server)
            page.set_default_timeout(600_000)
            page.click("#begin-protect")
            page.set_input_files("#data-file", folder / "people.parquet")
            page.wait_for_selector("text=/[0-9] records, /")
            take_roles(page)
            own, seconds = memory_of(server.process.pid)
            others = [memory_of(child) for child in children_of(server.process.pid)]
            browser.close()
    finally:
        server.process.kill()
    seconds += sum(one[1] for one in others)
    peaks = f"{own:,.0f}, {max((one[0] for one in others), default=0):,.0f}"
    print(f"| synthpop app | {time.perf_counter() - started:.0f} | {seconds:.0f} | {peaks} |")


def main() -> None:
    """Print one row per command."""
    os.environ["PYTHONPATH"] = os.getcwd()
    wanted = sys.argv[1:]
    print("| command | seconds | processor seconds | peak MB |\n| --- | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in PLANS.items():
            (folder / file).write_text(text, encoding="utf-8")

        def measure(title: str, package: str, *arguments: str, always: bool = False) -> None:
            if always or not wanted or arguments[0] in wanted:
                run(f"{package} {title}", package, *arguments, cwd=folder)

        measure("demo", "synthpop", "demo", "--scale", str(SCALE), "--out", "p", always=True)
        export = ["export", "p", "--to", "people.parquet"]
        measure("export (Parquet)", "synthpop", *export, always=True)
        measure("verify", "synthpop", "verify", "p")
        measure("report", "synthpop", "report", "p", "--out", "page.html")
        measure("export (CSV)", "synthpop", "export", "p", "--to", "people.csv", always=True)
        sample = ["sample", "p", "-n", "5000", "--seed", "1", "--out", "sample.csv"]
        measure("sample", "synthpop", *sample)
        measure("init (CSV)", "synthpop", "init", "people.csv", "--out", "i.toml")
        measure("profile", "synthpop", "profile", "people.parquet")
        measure("dictionary", "synthpop", "dictionary", "people.parquet", "--to", "d.toml")
        measure("run (survey of a million)", "synthpop", "run", "run.toml")
        import pandas as pd

        sexes = pd.read_parquet(folder / "people.parquet", columns=["rb090"])["rb090"]
        counts = sexes.value_counts().rename_axis("rb090").reset_index(name="total")
        counts.to_csv(folder / "sexes.csv", index=False)
        measure("calibrate", "synthpop", "calibrate", "calibrate.toml")
        measure("init", "riskeval", "init", "people.parquet", "--plan", "assess", "--out", "a.toml")
        measure("export (SPSS)", "riskeval", "export", "people.parquet", "--to", "people.sav")
        measure("schema", "synthpop", "schema")
        measure("schema", "riskeval", "schema", "compare")
        if not wanted or "app" in wanted:
            run_app(folder)
        for command in ("assess", "protect", "compare", "judge", "intruders"):
            measure(command, "riskeval", command, f"{command}.toml")


if __name__ == "__main__":
    main()
