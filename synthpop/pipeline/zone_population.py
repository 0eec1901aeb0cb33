"""The population of many zones in a folder: blocks of areas, one after the other or side by side.

Areas of the largest geography that has known totals do not depend on each other, so that each of
them is a block: its households are balanced, put into its zones and written before the next one
begins. What a block gave is written beside it, so that a run that was stopped goes on there.

::

    out/population/Tyrol/part-0000.parquet    persons of the zones of a block
    out/zones/0/part-0003.parquet             known totals of a block, and what is achieved
    out/zones/0/part-0003.json                its parts, and how it went
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from synthpop.calibration.margins import Margin, margin_list
from synthpop.calibration.zone_allotment import ZoneCopies, allot, persons_of
from synthpop.calibration.zone_solver import WeightLimits
from synthpop.calibration.zones import (
    check_geography,
    copies_by_zone,
    names_of_regions,
    table_of_gaps,
    weight_limits,
)
from synthpop.microdata.formats.lock import check_holder
from synthpop.microdata.formats.places import Place, arrow_input, file_hash, name_below, place
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.checks import as_frame
from synthpop.microdata.frame.dataset import Field, encode_column
from synthpop.microdata.messages.errors import ConvergenceWarning, Faults, InputError
from synthpop.microdata.messages.events import Event, Listener
from synthpop.microdata.messages.message import message
from synthpop.microdata.messages.text import count, number, plural
from synthpop.microdata.roles.survey import Survey, free_name
from synthpop.microdata.runs.engines import Workers, map_blocks
from synthpop.microdata.runs.environment import environment
from synthpop.microdata.runs.output import listener_of
from synthpop.microdata.statistics.secret_key import Key, secret_key
from synthpop.microdata.statistics.streams import Streams
from synthpop.microdata.version import __version__
from synthpop.pipeline.fingerprint import check_run, margin_to_dict
from synthpop.pipeline.fitted import ROWS_PER_BLOCK, FittedPipeline
from synthpop.pipeline.identity import identity_of
from synthpop.pipeline.part_by_part import PartStore
from synthpop.population.folders import part_file, stratum_folders
from synthpop.population.manifest import BlockRecord, FinishRecord, Manifest, SampleRecord
from synthpop.population.plain_values import json_values
from synthpop.population.population import Population
from synthpop.population.run_identity import RunIdentity, StoredRoles
from synthpop.population.storage import (
    claim,
    read_manifest,
    read_record,
    remove_other_parts,
    run_seed,
    write_block,
    write_manifest,
)
from synthpop.stages.id_columns import PERSON_NAME

ZONES = "zones"
STRIDE = 10_000_000  # household ids of a zone begin at its number times this
HOUSEHOLD_NAME = "hid"
TOLERANCE, MAX_ITERATIONS = 1e-4, 1000
SHOWN = 5


def populate_zones(
    source: Survey | FittedPipeline,
    geography: Any,
    margins: Margin | Sequence[Margin],
    out: Place | str,
    *,
    within: str | None = None,
    bounds: tuple[float, float] | WeightLimits | None = None,
    seed: int | None = None,
    key: Key | None = None,
    workers: Workers = 1,
    rows_per_block: int = ROWS_PER_BLOCK,
    on_event: Listener | None = None,
) -> Population:
    """Write the population of many zones that meets known totals to a folder.

    Parameters
    ----------
    source : Survey or FittedPipeline
        Whose households are put into the zones: those of a survey, copied; or those that a recipe
        generates (structure, rules, incomes), as many as the weights of its survey stand for, so
        that small zones are not copies of few households.
    geography, margins, within, bounds
        As in `balance_zones`.
    out : path
        Folder to write to; a run that was stopped resumes there.
    seed, key
        As in `FittedPipeline.simulate`: draws come from the secret key that lies in the folder.
    workers : int or str
        Threads, ``"processes:4"`` or ``"dask://host:port"``; each has one block in memory. The
        bytes do not depend on it.
    rows_per_block : int
        Most persons in a file.
    on_event : callable, optional
        Receives an `Event` for each block.

    Returns
    -------
    Population
        Its strata are the areas of the largest geography that has totals of its own, which is a
        column, as the other geographies are. Households are numbered by zone; ids, weights and
        sampling units of the survey are left out. `zone_controls` reads the known totals.

    Raises
    ------
    InputError
        As `balance_zones`.
    OutputError
        The folder holds another run, or cannot be written.

    Warns
    -----
    ConvergenceWarning
        Totals that had to be met cannot be met together.

    Notes
    -----
    Areas without totals above them do not depend on each other: the result is that of
    `balance_zones` on all of them, computed area by area, so that memory depends on the largest of
    them. A total of everybody makes one block of all.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> frame = pd.DataFrame({"hid": [1, 2, 2, 3, 3, 3], "w": 10.0, "sex": list("fmfmfm")})
    >>> survey = Survey(frame, weight="w", household="hid")
    >>> zones = pd.DataFrame({"region": ["n", "s"], "zone": ["n1", "s1"]})
    >>> persons = Margin(pd.DataFrame({"zone": ["n1", "s1"], "total": [30.0, 45.0]}))
    >>> homes = Margin(pd.DataFrame({"region": ["n", "s"], "total": [15, 20]}), level="household")
    >>> population = populate_zones(survey, zones, [persons, homes], mkdtemp() + "/out", seed=1)
    >>> population.n_households, population.n_persons
    (35, 75)
    >>> zone_controls(population)["gap"].tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    check_run(workers, out, on_event)
    listener, root = listener_of(on_event), place(out)
    seed = run_seed(seed, root)
    given = secret_key(key)
    items = margin_list(list(margins) if not isinstance(margins, Margin) else margins)
    table = as_frame(geography, "geography").reset_index(drop=True)
    survey = source if isinstance(source, Survey) else source.survey
    check_geography(Faults("populate zones"), survey, table, within)
    limits = None if bounds is None else weight_limits(bounds)
    recipe = {
        "type": ZONES, "within": within, "bounds": None if limits is None else str(limits),
        "margins": json_values([margin_to_dict(item) for item in items]),
    }  # fmt: skip
    identity = RunIdentity(
        __version__, seed, seed, 1.0, rows_per_block, (recipe,), survey=_hash_of(survey.frame),
        models=_hash_of(table), environment=environment(),
    )  # fmt: skip
    if not isinstance(source, Survey):
        of_pool = identity_of(source, seed, 1.0, rows_per_block)
        identity = replace(
            identity, recipe=(*of_pool.recipe, recipe), rules=of_pool.rules,
            models=f"{of_pool.models} {identity.models}",
        )  # fmt: skip
    plan = _Plan.of(survey, table, items, within)
    with claim(root, identity, given) as held:
        if not isinstance(source, Survey):
            survey = source.simulate(seed=seed, key=held.key).survey()
            plan = _Plan.of(survey, table, items, within)
        streams, owner = Streams(seed, held.key), held.identity.hash
        write = _WriteZones(
            root.absolute(), owner, held.token, survey, plan.fields, plan.columns, plan.places,
            plan.folders, within, limits, streams, rows_per_block,
        )  # fmt: skip
        records: dict[int, dict[str, Any]] = {}
        for done, record in enumerate(map_blocks(write, plan.blocks, workers), 1):
            records[record["block"]] = record
            listener(
                Event("progress", ZONES, done, len(plan.blocks), plan.folders[record["block"]])
            )
        ordered = [records[block.number] for block in plan.blocks]
        manifest = _manifest(root, held.identity, survey, plan, ordered)
        remove_other_parts(root, {block.file for block in manifest.blocks})
        if read_manifest(root).to_text() != manifest.to_text():
            check_holder(root, held.token)
            write_manifest(root, manifest)
    if not all(record["converged"] for record in ordered):
        assert manifest.finished is not None
        warnings.warn(str(manifest.finished.summary), ConvergenceWarning, stacklevel=2)
    return Population(manifest, path=root)


def zone_controls(population: Population) -> pd.DataFrame:
    """Return the known totals of a population of zones, as `ZoneHouseholds.controls` has them.

    Raises
    ------
    InputError
        The population was not made by `populate_zones`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> frame = pd.DataFrame({"hid": [1, 2, 2], "w": 10.0})
    >>> zones = pd.DataFrame({"zone": ["a", "b"]})
    >>> homes = Margin(zones.assign(total=[8, 9]), level="household", name="homes")
    >>> survey = Survey(frame, weight="w", household="hid")
    >>> made = populate_zones(survey, zones, homes, mkdtemp() + "/out", seed=1)
    >>> zone_controls(made)["achieved"].tolist()
    [8.0, 9.0]
    """
    return _read_tables(population, 0)


def zone_copies(population: Population) -> pd.DataFrame:
    """Return one row a zone: its households, and how many different ones it was made from.

    Columns: zone, households, different and most (copies of the most frequent one), of the
    households of the survey, or of those that the recipe generated.

    Raises
    ------
    InputError
        The population was not made by `populate_zones`.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> frame = pd.DataFrame({"hid": [1, 2, 2], "w": 10.0})
    >>> zones = pd.DataFrame({"zone": ["a", "b"]})
    >>> homes = Margin(zones.assign(total=[8, 9]), level="household", name="homes")
    >>> survey = Survey(frame, weight="w", household="hid")
    >>> made = populate_zones(survey, zones, homes, mkdtemp() + "/out", seed=1)
    >>> zone_copies(made)["different"].tolist()
    [2, 2]
    """
    return _read_tables(population, 1)


def _read_tables(population: Population, number: int) -> pd.DataFrame:
    files, start = [], f"{ZONES}/{number}/"
    if isinstance(population, Population) and population.path is not None:
        files = [name for name in population.manifest.files if name.startswith(start)]
    if not files:
        hint = "Give one that populate_zones made."
        raise InputError.of("zones", "population", "has no zones", hint)
    assert population.path is not None
    return pd.concat(_tables(population.path, files), ignore_index=True)


def _copies(geography: pd.DataFrame, made: ZoneCopies) -> pd.DataFrame:
    """Return the copies in the zones of a block (`copies_by_zone`)."""
    n = int(made.household.max(initial=0)) + 1
    pairs, times = np.unique(made.zone * n + made.household, return_counts=True)
    zone = geography[geography.columns[-1]].iloc[pairs // n].reset_index(drop=True)
    return copies_by_zone(zone, pd.Series(times))


@dataclass(frozen=True, slots=True)
class _Block:
    """One area whose zones are populated together."""

    number: int
    first_zone: int
    geography: pd.DataFrame
    margins: tuple[Margin, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Blocks, and columns of the population as they are coded."""

    blocks: list[_Block]
    split: str | None  # column of the blocks; None: one block of all
    fields: tuple[Field, ...]  # of all columns, in their order
    columns: Mapping[str, np.ndarray]  # of the survey, by its rows
    places: Mapping[str, np.ndarray]  # of the geography, by zones in the order of the blocks
    folders: tuple[str, ...]
    roles: StoredRoles

    @classmethod
    def of(
        cls, survey: Survey, table: pd.DataFrame, margins: Sequence[Margin], within: str | None
    ) -> _Plan:
        """Cut the geography at the largest level that any total, or `within`, is of."""
        levels = list(table.columns)
        finest = [max((levels.index(n) for n in m.columns if n in levels), default=-1)
                  for m in margins]  # fmt: skip
        top = min([*finest, *([] if within is None else [levels.index(within)])])
        split = None if top < 0 else str(levels[top])
        area = np.zeros(len(table), dtype=np.int64)
        names: tuple[Any, ...] = ("all",)
        if split is not None:
            field, area = encode_column(table[split].astype("category"))
            names = field.levels
        order = np.argsort(area, kind="stable")
        table, area = table.iloc[order].reset_index(drop=True), area[order]
        ends = np.searchsorted(area, np.arange(len(names) + 1))
        parts = [_by_area(item, table, area, level, len(names))
                 for item, level in zip(margins, finest, strict=True)]  # fmt: skip
        blocks = [
            _Block(k, int(ends[k]), table.iloc[ends[k] : ends[k + 1]].reset_index(drop=True),
                   tuple(item for part in parts if (item := part[k]) is not None))
            for k in range(len(names))
        ]  # fmt: skip
        bare = [str(names[block.number]) for block in blocks if not block.margins]
        if bare:
            what = f"nothing is known of {', '.join(bare[:SHOWN])}"
            hint = "Give their totals, or leave their zones out of the geography."
            raise InputError.of("populate zones", str(split), what, hint)
        roles = survey.roles
        out = {roles.household, roles.weight, roles.household_weight, roles.person, roles.psu,
               roles.fpc, *levels}  # fmt: skip
        coded = {name: encode_column(survey.frame[name])
                 for name in survey.frame.columns if name not in out}  # fmt: skip
        there = {
            str(name): encode_column(
                table[name].astype("category") if name == split else table[name]
            )
            for name in levels
        }
        used = [*survey.frame.columns, *levels]
        household = roles.household or free_name(used, HOUSEHOLD_NAME)
        person = roles.person or free_name(used, PERSON_NAME)
        ids = (
            Field(household, "numeric", np.dtype(np.int64), original="int64"),
            Field(person, "numeric", np.dtype(np.int32), original="int32"),
        )
        fields = [field for field, _ in [*there.values(), *coded.values()]]
        return cls(
            blocks, split, (*ids, *fields), {name: values for name, (_, values) in coded.items()},
            {name: values for name, (_, values) in there.items()}, stratum_folders(names),
            StoredRoles(household, split, roles.household_size, person),
        )  # fmt: skip


def _by_area(
    margin: Margin, table: pd.DataFrame, area: np.ndarray, level: int, n: int
) -> list[Margin | None]:
    """Return the part of a margin that is of each block; None where it has no rows there."""
    if level < 0:
        return [margin]
    name = table.columns[level]
    known = pd.Series(area, index=table[name]).groupby(level=0).first()
    block = known.reindex(margin.frame[name]).to_numpy(dtype=np.float64)
    if np.isnan(block).any():
        rows = np.flatnonzero(np.isnan(block))
        hint = "Add its zones to the geography, or leave its totals out."
        what = "no zone of the geography lies there"
        raise InputError.of("populate zones", margin.label, what, hint, rows=rows)
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(n + 1))
    return [
        replace(margin, table=margin.frame.iloc[order[a:b]].reset_index(drop=True))
        if b > a
        else None
        for a, b in itertools.pairwise(ends.tolist())
    ]


@dataclass(frozen=True, slots=True)
class _WriteZones:
    """Populate the zones of a block and write it, unless it is there; callable in any worker."""

    root: Place
    run: str  # hash of the identity of the run
    token: str  # of the lock of the folder
    survey: Survey
    fields: tuple[Field, ...]
    columns: Mapping[str, np.ndarray]
    places: Mapping[str, np.ndarray]
    folders: tuple[str, ...]
    within: str | None
    limits: WeightLimits | None
    streams: Streams
    rows_per_block: int

    def __call__(self, block: _Block) -> dict[str, Any]:
        """Return the record of the block."""
        check_holder(self.root, self.token)
        store = PartStore(self.root, self.run, ZONES)
        record = store.record(0, block.number)
        if record is not None and all(
            read_record(self.root / part["file"], self.run) is not None for part in record["blocks"]
        ):
            return record
        rows, survey, within = np.arange(self.survey.n_persons), self.survey, self.within
        if within is not None:
            here = survey.frame[within].isin(set(block.geography[within])).to_numpy()
            if here.any():
                rows, survey = np.flatnonzero(here), survey.with_frame(survey.frame[here])
            else:  # no region of the block has a sample: all of them borrow from everywhere
                within = None
        made = allot(
            survey, block.geography, block.margins, within, self.streams,
            first_zone=block.first_zone, limits=self.limits,
            stop=(TOLERANCE, MAX_ITERATIONS),
        )  # fmt: skip
        parts = [part.to_dict() for part in self._parts(block, survey, rows, made)]
        controls = table_of_gaps(
            block.margins, made.balanced, made.achieved, list(block.geography.columns)
        )
        store.write_table(1, block.number, _copies(block.geography, made))
        borrowed = names_of_regions(block.geography, within, made.borrowed)
        if within != self.within:
            borrowed = dict.fromkeys(block.geography[self.within].unique(), ("all regions",))
        return store.write_record(0, block.number, {
            "block": block.number,
            "state": store.write_table(0, block.number, controls),
            "blocks": parts,
            "converged": made.converged,
            "borrowed": {str(name): list(map(str, others)) for name, others in borrowed.items()},
        })  # fmt: skip

    def _parts(
        self, block: _Block, survey: Survey, rows: np.ndarray, made: ZoneCopies
    ) -> Iterator[BlockRecord]:
        """Write the households of a block, a file at a time."""
        sizes = survey.household_sizes[made.household]
        ends = np.cumsum(sizes)
        starts = np.searchsorted(made.zone, np.arange(len(block.geography)))
        ids = (block.first_zone + made.zone + 1) * STRIDE + np.arange(len(sizes))
        ids -= starts[made.zone]
        total, first = int(ends[-1]) if len(ends) else 0, 0
        cuts = np.searchsorted(ends, np.arange(self.rows_per_block, total, self.rows_per_block))
        for n, last in enumerate([*np.unique(cuts[cuts > 0]).tolist(), len(sizes)]):
            there = slice(first, last)
            persons, of_each = persons_of(survey, made.household[there])
            persons = rows[persons]
            zones = np.repeat(block.first_zone + made.zone[there], of_each)
            within = np.arange(len(persons)) - np.repeat(np.cumsum(of_each) - of_each, of_each)
            columns = {
                self.fields[0].name: np.repeat(ids[there], of_each),
                self.fields[1].name: (within + 1).astype(np.int32),
                **{name: values[zones] for name, values in self.places.items()},
                **{name: values[persons] for name, values in self.columns.items()},
            }
            file = part_file(self.folders[block.number], n)
            record = BlockRecord(last - first, len(persons), file)
            yield write_block(self.root, record, self.fields, columns, self.run)
            first = last


def _manifest(
    root: Place, identity: RunIdentity, survey: Survey, plan: _Plan, records: list[dict[str, Any]]
) -> Manifest:
    """Return the manifest of the finished population."""
    store = PartStore(root, identity.hash, ZONES)
    files, copies = (
        [name_below(store.table_file(number, block.number), root) for block in plan.blocks]
        for number in (0, 1)
    )
    controls = pd.concat(
        _tables(root, files, ["margin", "cell", "target", "balanced", "gap"]), ignore_index=True
    )
    blocks = tuple(BlockRecord.from_dict(part) for record in records for part in record["blocks"])
    notes = [
        Fallback(ZONES, region, message("has no household in the sample: those of {others}",
                                        others=", ".join(others)), 0)
        for record in records
        for region, others in record["borrowed"].items()
    ]  # fmt: skip
    converged = all(record["converged"] for record in records)
    gaps = controls["gap"].abs()
    summary = message(
        "Zones: of {totals} {exact} are met exactly, {near} within one; the largest gap is "
        "{largest}.",
        totals=plural(len(gaps), "known total"), exact=count(int((gaps < 0.5).sum())),
        near=count(int((gaps < 1.5).sum())), largest=number(float(gaps.max())),
    )  # fmt: skip
    if not converged:
        missed = (controls["balanced"] - controls["target"]).abs() / controls["target"].clip(1.0)
        worst = controls.iloc[int(missed.to_numpy().argmax())]
        summary += " " + message(
            "Totals that had to be met contradict each other; missed most: {margin}, {cell}.",
            margin=worst["margin"], cell=worst["cell"],
        )  # fmt: skip
    n_households = sum(block.n_households for block in blocks)
    n_persons = sum(block.n_persons for block in blocks)
    return Manifest(
        identity, roles=plan.roles,
        sample=SampleRecord(survey.n_persons, survey.n_households, survey.roles.weight),
        columns=plan.fields, blocks=blocks, fallbacks=tuple(notes),
        finished=FinishRecord(summary, n_persons, n_households),
        files={name: file_hash(root / name) for name in [*files, *copies]},
    )  # fmt: skip


def _tables(
    root: Place, files: Sequence[str], columns: list[str] | None = None
) -> Iterator[pd.DataFrame]:
    import pyarrow.parquet as pq

    for name in files:
        yield pq.read_table(
            arrow_input(root / name), columns=columns, partitioning=None
        ).to_pandas()


def _hash_of(frame: pd.DataFrame) -> str:
    """Hash of the columns and values of a frame."""
    digest = blake2b(repr(list(map(str, frame.columns))).encode(), digest_size=20)
    digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return digest.hexdigest()
