"""Steps on a population that is too large for the memory: a few strata at a time, from disk.

Steps that work apart in the strata run one after the other on a part. A step whose regions may take
households of other strata begins another round. Before it, the parts are written to the folder, and
it is counted which cells their regions cannot fill; then the households that count for one of these
are collected from all parts; then the step runs on each part with these households beside it. What
a step gave in a part is written beside it, so that a run that was stopped goes on there.

::

    out/steps/0/part-0003.parquet    persons of a part, behind the first round
    out/steps/0/part-0003.json       what the steps of the round gave there
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.formats.places import Place, arrow_input, file_hash, files_below
from synthpop.microdata.frame.block import Fallback
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.messages.events import Event
from synthpop.pipeline.postprocess import PartCounts, PopulationSteps, rounds_of
from synthpop.pipeline.whole_strata import WholeStrata
from synthpop.population.manifest import BlockRecord, Manifest
from synthpop.population.plain_values import json_values
from synthpop.population.storage import folder_of, read_record, write_part
from synthpop.stages.blocks import BlockPlan
from synthpop.stages.id_columns import IdColumns
from synthpop.stages.population_stages import OutsideDonors, as_lists, from_lists

STEPS = "steps"

Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class PartStore:
    """Parts of a population between rounds of steps, in its folder."""

    root: Place
    run: str  # hash of the identity of the run
    folder: str = STEPS

    def write_state(self, number: int, part: int, state: WholeStrata) -> str:
        """Write the persons of a part; returns the hash of the file."""
        import pyarrow as pa

        table = pa.table({name: pa.array(values) for name, values in state.columns.items()})
        return write_part(table, self._file(number, part, "parquet"))[0]

    def write_table(self, number: int, part: int, frame: pd.DataFrame) -> str:
        """Write a table that a part gave, in place of persons; returns the hash of the file."""
        import pyarrow as pa

        table = pa.Table.from_pandas(frame, preserve_index=False)
        return write_part(table, self.table_file(number, part))[0]

    def table_file(self, number: int, part: int) -> Place:
        """Return where the table of a part is."""
        return self._file(number, part, "parquet")

    def state(self, number: int, part: int, layout: IdColumns) -> WholeStrata:
        """Return the persons of a part."""
        import pyarrow.parquet as pq

        file, record = self._file(number, part, "parquet"), self.record(number, part)
        if record is None:
            raise OutputError(f"{file} is damaged: it was changed. Run again into this folder.")
        table = pq.read_table(arrow_input(file), partitioning=None, page_checksum_verification=True)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        fields = {item["name"]: Field.from_dict(item) for item in record["fields"]}
        return WholeStrata(layout, fields, columns)

    def write_record(self, number: int, part: int, data: Mapping[str, Any]) -> dict[str, Any]:
        """Write what a round gave in a part; returns it as it is read again."""
        record = with_hash(json_values({**data, "run": self.run}, float))
        file = self._file(number, part, "json")
        folder_of(file.parent).put(file.name, json.dumps(record))
        return record

    def record(self, number: int, part: int, persons: bool = True) -> dict[str, Any] | None:
        """Return what a round gave in a part; None where it has to be made (again).

        persons: whether the persons that the round left have to be there too
        """
        try:
            text = self._file(number, part, "json").read_text(encoding="utf-8")
            data = without_hash(json.loads(text))
            if data["run"] != self.run:
                return None
            if persons and file_hash(self._file(number, part, "parquet")) != data["state"]:
                return None
            return data
        except (OSError, ValueError, TypeError, KeyError):  # no file, or a damaged one
            return None

    def remove_round(self, number: int) -> None:
        """Remove the persons of a round that all parts have left behind."""
        for path in files_below(self.root / STEPS / str(number), "part-*.parquet"):
            path.unlink(missing_ok=True)

    def _file(self, number: int, part: int, kind: str) -> Place:
        return self.root / self.folder / str(number) / f"part-{part:04d}.{kind}"


def remove_steps(root: Place) -> None:
    """Remove what a finished run does not need any more."""
    for path in files_below(root / STEPS):
        path.unlink(missing_ok=True)
    if isinstance(root, Path) and (root / STEPS).is_dir():
        for folder in (*(root / STEPS).iterdir(), root / STEPS):
            with suppress(OSError):
                folder.rmdir()


@dataclass(slots=True)
class PartByPart:
    """The steps of a recipe on several parts of a population, to a folder."""

    steps: PopulationSteps
    parts: Sequence[Sequence[BlockPlan]]
    root: Place
    manifest: Manifest  # of the run, without its blocks
    # simulates blocks that follow each other: plans, notes of fallbacks, blocks before them
    simulate: Callable[[Sequence[BlockPlan], list[Fallback], int], dict[str, np.ndarray]]
    notes: list[Fallback]
    blocks: list[BlockRecord] = field(default_factory=list)
    fields: tuple[Field, ...] = ()  # of the finished population

    def run(self) -> None:
        """Run all rounds, on those parts that are not there yet."""
        store = PartStore(self.root, self.manifest.identity.hash)
        rounds = rounds_of(self.steps.stages, self.steps.recipe.layout)
        records = self._records(store, len(rounds))
        scarce: list[int] = []
        for number, stages in enumerate(rounds):
            outside = None
            if scarce and None in records[number]:
                outside = self._outside(store, number - 1, stages.start, scarce)
            scarce = []
            for part, record in enumerate(records[number]):
                if record is None:
                    record = self._made(store, (number, part), stages, outside)
                self._add(stages, record)
                scarce += record["scarce"]
            if number:
                store.remove_round(number - 1)

    def _records(self, store: PartStore, n_rounds: int) -> list[list[dict[str, Any] | None]]:
        """Return what the rounds gave in the parts; None where it has to be made (again).

        The persons that a round left are needed only where the next one is not complete.
        """
        numbers = range(len(self.parts))
        rounds = [[self._record(store, n_rounds - 1, part, False) for part in numbers]]
        for number in reversed(range(n_rounds - 1)):
            persons = None in rounds[0]
            rounds.insert(0, [self._record(store, number, part, persons) for part in numbers])
        return rounds

    def _record(
        self, store: PartStore, number: int, part: int, persons: bool
    ) -> dict[str, Any] | None:
        record = store.record(number, part, persons)
        if record is None or record["strata"] != self._strata(part):
            return None
        for block in record["blocks"]:
            on_disk = read_record(self.root / block["file"], store.run)
            if on_disk is None or on_disk.to_dict() != block:
                return None
        return record

    def _strata(self, part: int) -> list[int]:
        return sorted({plan.stratum for plan in self.parts[part]})

    def _outside(
        self, store: PartStore, number: int, stage: int, scarce: Sequence[int]
    ) -> list[Columns]:
        """Return the households of each part that could fill cells of other regions."""
        outside: list[Columns] = []
        for part in range(len(self.parts)):
            state = store.state(number, part, self.steps.recipe.layout)
            rows = self.steps.stages[stage].donors(state.frame(), state.household, scarce)
            outside.append({name: values[rows] for name, values in state.columns.items()})
        return outside

    def _made(
        self, store: PartStore, place: tuple[int, int], stages: range, outside: list[Columns] | None
    ) -> dict[str, Any]:
        """Run the steps of a round on a part, and store what they gave."""
        steps, (number, part) = self.steps, place
        is_last = stages.stop == len(steps.stages)
        notes: list[Fallback] = []
        if number == 0:
            n_before = sum(map(len, self.parts[:part]))
            state = steps.begun(self.simulate(self.parts[part], notes, n_before))
        else:
            state = store.state(number - 1, part, steps.recipe.layout)
        step_counts = []
        for stage in stages:
            donors = None
            if stage > stages.start:
                state = steps.before(stage, state, notes)
            elif outside is not None:
                state, donors = with_donors(state, outside, part)
            state, counts = steps.step(stage, state, part=True, outside=donors)
            step_counts.append(counts.to_plain())
        final = steps.final_counts(state, part=True) if is_last else {}
        state = steps.before(stages.stop, state, notes)
        scarce: list[int] = []
        if not is_last:
            scarce = steps.stages[stages.stop].scarce(state.frame(), state.household)
        return store.write_record(number, part, {
            "strata": self._strata(part),
            "steps": step_counts,
            "final": [[stage, as_lists(cells)] for stage, cells in final.items()],
            "scarce": scarce,
            "notes": [asdict(note) for note in notes],
            "fields": [item.to_dict() for item in state.fields.values()],
            "state": "" if is_last else store.write_state(number, part, state),
            "blocks": self._written(state) if is_last else [],
        })  # fmt: skip

    def _written(self, state: WholeStrata) -> list[dict[str, Any]]:
        """Write the blocks of a part; returns their entries of the manifest."""
        entries = []
        for block in state.write(self.root, self.manifest, self.steps.rows_per_block):
            entries.append(block.to_dict())
            n_done = len(self.blocks) + len(entries)
            total = max(sum(map(len, self.parts)), n_done)
            self.steps.listener(Event("progress", "write", n_done, total, block.file))
        return entries

    def _add(self, stages: range, record: dict[str, Any]) -> None:
        """Add what a round gave in a part to what it gave in those before."""
        for stage, data in zip(stages, record["steps"], strict=True):
            self.steps.add(stage, PartCounts.from_plain(self.steps.stages[stage], data))
        self.steps.add_final({stage: from_lists(cells) for stage, cells in record["final"]})
        self.notes += [Fallback(**note) for note in record["notes"]]
        self.blocks += [BlockRecord.from_dict(entry) for entry in record["blocks"]]
        self.fields = tuple(Field.from_dict(item) for item in record["fields"])


def with_donors(
    state: WholeStrata, outside: Sequence[Columns], part: int
) -> tuple[WholeStrata, OutsideDonors]:
    """Return a part with the donors of the other parts, all in the order of the population.

    outside: donors of each part, those of this part among them
    """
    name = state.layout.person.name if state.household is None else state.household
    parts = [*outside[:part], state.columns, *outside[part + 1 :]]
    columns = {key: np.concatenate([one[key] for one in parts]) for key in state.columns}
    home = np.repeat(np.arange(len(parts)) == part, [len(one[name]) for one in parts])
    candidates = home & np.isin(columns[name], outside[part][name])
    return replace(state, columns=columns), OutsideDonors(home, columns[name], candidates)
