"""The population of many zones in a folder: blocks, workers, a stopped run."""

from __future__ import annotations

import os
import signal
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthpop import Margin, Pipeline, Structure, Survey, open_population, populate_zones
from synthpop import zone_controls as controls_of
from synthpop.calibration import balance_zones
from synthpop.microdata.messages.errors import ConvergenceWarning, InputError, OutputError
from synthpop.population.verify import verify
from tests.synthpop.calibration.test_zones import ZONES, controls, counts, sample, truth

KEY = bytes(range(16))


def by_region(frame: pd.DataFrame) -> list[Margin]:
    """Totals of zones and regions: regions do not depend on each other."""
    return controls(frame)[:3]


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_blocks_are_what_all_zones_together_are(tmp_path: Path) -> None:
    items = by_region(truth())
    made = populate_zones(sample(), ZONES, items, tmp_path / "out", seed=1, rows_per_block=300)
    assert verify(tmp_path / "out") == []
    assert made.roles.strata == "region"
    assert len(made.manifest.blocks) > 3
    whole = balance_zones(sample(), ZONES, items, seed=1).controls
    told = controls_of(open_population(tmp_path / "out"))
    columns = ["margin", "cell"]
    both = whole.merge(told, on=columns, suffixes=("", "_block"), validate="one_to_one")
    assert len(both) == len(whole) == len(told)
    np.testing.assert_allclose(both["balanced"], both["balanced_block"], rtol=1e-3)
    frame = made.frame()
    for item in items:
        rows = frame if item.level == "person" else frame.drop_duplicates("hid")
        by = list(item.columns)
        recounted = rows.groupby(by, observed=True).size()
        table = told[told["margin"] == item.label]
        keys = [np.atleast_1d(np.array(key, dtype=object)) for key in recounted.index]
        index = [", ".join(f"{n} {v}" for n, v in zip(by, key, strict=True)) for key in keys]
        recounted = pd.Series(recounted.to_numpy(), index=index).reindex(table["cell"])
        assert recounted.fillna(0).tolist() == table["achieved"].tolist()
    sizes = frame.groupby("hid")["size"]
    assert (sizes.size() == sizes.first()).all()
    assert (frame.groupby("hid")[made.roles.person].max() == sizes.size()).all()
    assert not {"w", "zone_household"} & set(frame)
    assert "known totals" in made.summary()


def test_workers_give_the_same_bytes_and_a_stopped_run_goes_on(tmp_path: Path) -> None:
    items = by_region(truth())

    def run(name: str, **options) -> dict[str, bytes]:
        populate_zones(sample(), ZONES, items, tmp_path / name, seed=1, key=KEY, **options)
        return bytes_of(tmp_path / name)

    one = run("one")
    assert one == run("two", workers=2) == run("processes", workers="processes:2")

    def stop(event) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("stopped", on_event=stop)
    first = tmp_path / "stopped" / "zones" / "0" / "part-0000.parquet"
    written = first.stat().st_mtime_ns
    assert one == run("stopped")
    assert first.stat().st_mtime_ns == written
    with pytest.raises(OutputError, match="another run"):
        populate_zones(sample(), ZONES, items[:2], tmp_path / "one", seed=1, key=KEY)
    other = tmp_path / "other"
    populate_zones(sample(), ZONES, items, other, seed=2, key=KEY)
    assert one.keys() == bytes_of(other).keys()
    assert one != bytes_of(other)


def kill(event) -> None:
    """Die as by a power cut, when the first block is written."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_run(out: Path) -> None:
    populate_zones(sample(), ZONES, by_region(truth()), out, seed=1, key=KEY, on_event=kill)


def test_a_run_that_was_killed_goes_on_with_the_same_bytes(tmp_path: Path) -> None:
    process = get_context("fork").Process(target=killed_run, args=(tmp_path / "killed",))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    first = tmp_path / "killed" / "zones" / "0" / "part-0000.parquet"
    written = first.stat().st_mtime_ns
    for name in ("killed", "whole"):
        populate_zones(sample(), ZONES, by_region(truth()), tmp_path / name, seed=1, key=KEY)
    assert first.stat().st_mtime_ns == written
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("n", [2, 4])
def test_dask_gives_the_same_bytes(tmp_path: Path, n: int) -> None:
    distributed = pytest.importorskip("distributed")
    items = by_region(truth())
    with distributed.LocalCluster(
        n_workers=n, threads_per_worker=1, processes=False, protocol="tcp://",
        dashboard_address=":0",
    ) as cluster:  # fmt: skip
        workers = "dask:" + cluster.scheduler_address.removeprefix("tcp:")
        populate_zones(sample(), ZONES, items, tmp_path / "dask", seed=1, key=KEY, workers=workers)
    populate_zones(sample(), ZONES, items, tmp_path / "here", seed=1, key=KEY)
    assert bytes_of(tmp_path / "dask") == bytes_of(tmp_path / "here")


def test_a_total_of_everybody_makes_one_block(tmp_path: Path) -> None:
    everybody = Margin(pd.DataFrame({"old": [True], "total": [300.0]}), importance=1000.0)
    items = [*by_region(truth()), everybody]
    made = populate_zones(sample(), ZONES, items, tmp_path / "out", seed=1)
    assert made.roles.strata is None
    assert controls_of(made)["gap"].abs().max() <= 2


def test_households_stay_in_their_region_and_within_bounds(tmp_path: Path) -> None:
    items = [Margin(item.frame, level=item.level, importance=1000.0) for item in by_region(truth())]
    near = populate_zones(sample(), ZONES, items, tmp_path / "near", within="region", seed=1,
                          bounds=(0.999, 1.001))  # fmt: skip
    free = populate_zones(sample(), ZONES, items, tmp_path / "free", within="region", seed=1)
    gaps = [controls_of(made)["gap"].abs().sum() for made in (near, free)]
    assert gaps[0] > 5 * gaps[1]


def test_generated_households_are_not_copies(tmp_path: Path) -> None:
    frame = sample(120).frame.drop(columns=["old"])
    survey = Survey(frame, weight="w", household="hid", strata="region")
    people = truth()
    homes = people.drop_duplicates("hid")
    items = [
        Margin(counts(homes, "zone"), level="household"),
        Margin(counts(people, "zone", "sex"), importance=1000.0),
    ]
    fitted = Pipeline([Structure(["age", "sex"])], rules=["age >= 0"]).fit(survey, seed=1)
    made = populate_zones(fitted, ZONES, items, tmp_path / "out", within="region", seed=1)
    told = controls_of(made)
    assert (told.loc[told["level"] == "household", "gap"] == 0).all()
    assert told["gap"].abs().max() <= 1
    assert verify(tmp_path / "out") == []
    assert set(made.columns) >= {"hid", "pid", "country", "region", "zone", "age", "sex"}
    again = populate_zones(fitted, ZONES, items, tmp_path / "out", within="region", seed=1)
    assert again.manifest.to_text() == made.manifest.to_text()


def test_what_cannot_be_met_is_told_in_words(tmp_path: Path) -> None:
    items = by_region(truth())
    with pytest.warns(ConvergenceWarning, match="missed most: [a-z ]+ by"):
        made = populate_zones(
            sample(), ZONES, [items[0].scaled(3.0), items[1]], tmp_path / "out", seed=1
        )
    assert "contradict" in made.summary()
    few = ZONES[ZONES["region"] != "west"]
    with pytest.raises(InputError, match="no zone of the geography lies there"):
        populate_zones(sample(), few, items, tmp_path / "few", seed=1)
    more = pd.concat([ZONES, pd.DataFrame({"country": "land", "region": ["east"], "zone": "e1"})])
    with pytest.raises(InputError, match="nothing is known of east"):
        populate_zones(sample(), more, items, tmp_path / "more", seed=1)
    assert not (tmp_path / "more").exists()
    with pytest.raises(InputError, match="are none"):
        balance_zones(sample(), ZONES, [], seed=1)
    with pytest.raises(InputError, match="workers"):
        populate_zones(sample(), ZONES, items, tmp_path / "no", workers="many")
    plain = Pipeline([Structure(["sex"])]).fit(sample(), seed=1).simulate()
    with pytest.raises(InputError, match="has no zones"):
        controls_of(plain)


def test_areas_without_a_sample_borrow_and_the_record_says_from_whom(tmp_path: Path) -> None:
    """A region borrows inside of its area; an area without any sample from everywhere."""
    frame = sample().frame.query("region != 'west'").assign(part=lambda t: t["region"].astype(str))
    survey = Survey(frame, weight="w", household="hid")
    zones = pd.DataFrame({
        "area": ["east", "east", "east", "far", "far"], "part": ["north", "south", "new", "x", "y"],
        "zone": ["n", "s", "e", "x1", "y1"],
    })  # fmt: skip
    homes = Margin(zones[["zone"]].assign(total=[40, 30, 25, 20, 10]), level="household")
    area = Margin(pd.DataFrame({"area": ["east", "far"], "total": [230, 70]}), importance=1000.0)
    made = populate_zones(survey, zones, [homes, area], tmp_path / "out", within="part", seed=1)
    assert (controls_of(made)["gap"] == 0).all()
    notes = {note.stratum: note.what for note in made.manifest.fallbacks}
    assert set(notes) == {"new", "x", "y"}
    assert "north" in notes["new"] or "south" in notes["new"]
    assert "all regions" in notes["x"]
