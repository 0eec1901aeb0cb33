"""Values exchanged between persons until all tables of two variables are what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from synthpop.conditional.coded_tables import TableColumn, determines, joined_groups, pair_layout
from synthpop.conditional.schema import Schema, check_available
from synthpop.microdata.frame.block import Block, Fallback, Sample
from synthpop.microdata.frame.dataset import Field
from synthpop.microdata.messages.errors import Faults
from synthpop.microdata.messages.parameters import Between, OneOf, Whole, check
from synthpop.models.smoothed_tables import best_amount, smoothed
from synthpop.stages.base import BlockStage, StageModel
from synthpop.stages.entry import StageEntry

CROSS_VALIDATED = "cross-validated"
FEWEST = 30  # persons of an area; of fewer each keeps its values
CHUNK = 200_000  # exchanges tried at a time
MOST_EXCHANGES = 100_000


@dataclass(frozen=True, slots=True)
class TablePass(BlockStage):
    """Exchange values between persons until all tables of two variables are as expected.

    Each table of two variables by area is expected to be what the sample tells about its
    population: shrunk towards a table without three-way interaction, by an amount that
    cross-validation chooses for each (`synthpop.models.smoothed_tables`). A population that was
    drawn person by person differs from that by chance, and by what the models before did not
    look at. This step exchanges values of two persons of the same area where that brings the
    tables nearer. Every variable keeps its distribution in every area. It is for files of persons
    (variables of the household, and those drawn given other members, cannot be named), above all
    for synthetic files as large as the sample, whose tables chance alters most.

    Parameters
    ----------
    variables : list of str
        Variables that `Categorical` or `Continuous` made, whose values may be exchanged. One that
        determines another (as an industry its sector, or an income the decile of its area) is
        exchanged together with it too.
        What an earlier `Derive` used cannot be among them.
    by : str, optional
        Category whose levels are the areas. Default: the strata.
    given : "all" or list of str
        Further variables whose tables with `variables` count; they keep their values. Default: all
        that the population has at this step, but those that follow from another one.
    smoothing : "cross-validated" or number
        How many persons the table without interaction counts for in each row of each table; 0: the
        tables of the sample itself, which a small file would repeat with all their chance.
    exchanges : int
        How many exchanges are tried for each person.

    Notes
    -----
    In tables a number has 20 classes of about equal weight, a category its 24 most frequent levels
    and the others together; missing is a level. A category of more levels that determines another
    of the variables counts by that other only. An exchange is made where it lowers the sum of
    (n - e)^2 / (e + 1) over all cells, n persons where e are expected, and gives nobody a
    combination of two values that nobody in the sample has (of numbers with more than 100 values:
    of classes, zero and negative values apart). A block with fewer than 30 persons of an area
    leaves these as they are. The uniform numbers are from the stream (table_pass, variables,
    stratum, block), three for each exchange that is tried. Source: the gradual update method of
    Zhang et al. (2021), PrivSyn, USENIX Security, with expected tables instead of noisy ones and
    exchanges instead of copies.

    Examples
    --------
    >>> TablePass(["pl030", "pb220a"], by="db040").revises
    ('pl030', 'pb220a')
    """

    variables: Sequence[str]
    by: str | None = None
    given: str | Sequence[str] = "all"
    smoothing: str | float = CROSS_VALIDATED
    exchanges: int = 200

    entry: ClassVar[StageEntry] = StageEntry(
        name="table_pass",
        rank=75,
        title="Pass over tables",
        question="How do all tables of two variables come near what the sample tells of them?",
        blind_spots=(
            "members of households, and combinations of three variables or more within an area: "
            "these are what the steps before have made of them"
        ),
        example={"variables": ["pl030"], "exchanges": 20},
        after=("structure", "categorical"),
    )
    NAMES: ClassVar[tuple[str, ...]] = ("variables",)
    provides: ClassVar[tuple[str, ...]] = ()

    @property
    def revises(self) -> tuple[str, ...]:
        """Names of the columns whose values are exchanged."""
        return tuple(self.variables)

    def can_revise(self, maker: BlockStage) -> bool:
        """Whether values that a step made can be exchanged: numbers too."""
        return maker.is_revisable or maker.kind == "continuous"

    def uses(self) -> tuple[str, ...]:
        """Return the columns of the survey that the stage reads."""
        return tuple(self.variables)

    def check(self, faults: Faults, schema: Schema) -> None:
        """Note everything in the options that cannot work."""
        if not self.variables or len(set(self.variables)) < len(self.variables):
            faults.add(self.label, "needs distinct variables", hint="Name each once.")
        given = () if self.given == "all" else tuple(self.given)
        check_available(faults, self.label, self.variables, schema, "variable")
        check_available(faults, self.label, given, schema, "variable of given")
        if self.by is not None:
            check_available(faults, self.label, [self.by], schema, "area")
            field = schema.survey.get(self.by)
            if field is not None and field.kind != "categorical":
                faults.add(self.label, f"by = {self.by!r} is not categorical",
                           hint="Name a category.")  # fmt: skip
            if self.by in self.variables:
                what = f"{self.by!r} is among the variables and the area"
                faults.add(self.label, what, hint="Leave it out of the variables.")
        known = {
            "smoothing": Between(0, None) | OneOf(CROSS_VALIDATED),
            "exchanges": Whole(1, MOST_EXCHANGES),
        }
        check(faults, known, self, label=self.label)

    def fit(self, sample: Sample, rng: np.random.Generator) -> TablePassModel:
        """Learn what every table is expected to be; `rng` halves the sampling units."""
        areas, n_areas = self._areas(sample)
        columns = self._columns(sample)
        weights = sample.weights / sample.weights.mean()
        units = np.unique(sample.unit_of_persons, return_inverse=True)[1].reshape(-1)
        half = rng.permutation(int(units.max(initial=0)) + 1)[units] % 2
        coarse = [column.coarse(sample.columns[column.name]) for column in columns]
        fine = [column.fine(sample.columns[column.name]) for column in columns]
        sizes, n_fine = [c.size for c in columns], [c.n_fine for c in columns]
        start, width, _, n_cells = pair_layout(sizes, n_areas)
        first, _, stride, n_pairs = pair_layout(n_fine)
        expected, possible = np.zeros(n_cells), np.zeros(n_pairs, dtype=bool)
        amounts = []
        for f in range(len(columns)):
            for g in range(f + 1, len(columns)):
                cells = (areas * sizes[f] + coarse[f]) * sizes[g] + coarse[g]
                shape = n_areas, sizes[f], sizes[g]
                halves = tuple(
                    np.bincount(cells, weights * (half == h), n_areas * width[f, g]).reshape(shape)
                    for h in (0, 1)
                )
                amount = self.smoothing
                if isinstance(amount, str):
                    amount = best_amount((halves[0], halves[1]))
                amounts.append(amount)
                table = smoothed(halves[0] + halves[1], float(amount))
                expected[start[f, g] : start[f, g] + table.size] = table.reshape(-1)
                possible[first[f, g] + fine[f] * stride[f, g] + fine[g] * stride[g, f]] = True
        told_apart = dict(zip((column.name for column in columns), fine, strict=True))
        values = {name: told_apart[name] for name in self.variables}
        numbers = {
            name: sample.columns[name].astype(np.float64)
            for name in self.variables
            if sample.fields[name].kind == "numeric"
        }
        return TablePassModel(
            fields=(),
            revised=tuple(sample.fields[name] for name in self.variables),
            columns=columns,
            groups=joined_groups(values, numbers, areas),
            expected=expected,
            n_of_area=np.bincount(areas, weights, n_areas),
            possible=possible,
            amounts=np.array(amounts, dtype=np.float64),
            fallbacks=(),
        )

    def _areas(self, sample: Sample) -> tuple[np.ndarray, int]:
        """Return the area of each person of the sample, and how many there are."""
        if self.by is None:
            return sample.strata.astype(np.int64), len(sample.strata_levels)
        n_levels = len(sample.fields[self.by].levels)
        return sample.columns[self.by].astype(np.int64) + 1, n_levels + 1

    def _columns(self, sample: Sample) -> tuple[TableColumn, ...]:
        """Return the variables, and the others whose tables count; none that follows from one."""
        names = [*self.variables, *(sample.available if self.given == "all" else self.given)]
        names = [name for name in dict.fromkeys(names) if name not in (self.by, sample.strata_name)]
        columns = {
            name: TableColumn.of(sample.fields[name], sample.columns[name], sample.weights)
            for name in names
        }
        others = [name for name in names if name not in self.variables]
        values = {name: columns[name].fine(sample.columns[name]) for name in others}
        for name in others:
            sources = [other for other in others if other != name and other in columns]
            if any(determines(values[other], values[name]) for other in sources):
                del columns[name]
        for name in self.variables:  # codes of many levels whose groups are there too
            if columns[name].has_many_levels and any(
                determines(
                    columns[name].fine(sample.columns[name]),
                    columns[other].fine(sample.columns[other]),
                )
                for other in self.variables
                if other != name and sample.fields[other].kind == "categorical"
            ):
                columns[name] = columns[name].without_tables()
        return tuple(columns.values())

    def simulate(
        self, model: TablePassModel, block: Block, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Exchange values between the persons of each area of the block."""
        from synthpop.kernels.exchanging import exchange_values

        areas = np.full(block.n_persons, block.stratum)
        if self.by is not None:
            areas = block.columns[self.by].astype(np.int64) + 1
        n_areas = len(model.n_of_area)
        counts = np.bincount(areas, minlength=n_areas)
        taking_part = np.flatnonzero((counts >= FEWEST)[areas])
        new = {name: block.columns[name].copy() for name in self.variables}
        if not len(taking_part):
            return new
        persons = model.persons({n: block.columns[n][taking_part] for n in model.names},
                                areas[taking_part])  # fmt: skip
        for size in chunks(self.exchanges * len(taking_part)):
            exchange_values(rng.random((size, 3)), *persons)
        source = persons[-1]
        for name in self.variables:
            position = model.names.index(name)
            new[name][taking_part] = new[name][taking_part][source[:, position]]
        return new


@dataclass(frozen=True, slots=True)
class TablePassModel(StageModel):
    """What `TablePass` learned: tables as they are expected, and values that go together."""

    fields: tuple[Field, ...]
    revised: tuple[Field, ...]  # of the variables
    columns: tuple[TableColumn, ...]
    groups: tuple[tuple[str, ...], ...]  # variables that are exchanged together
    expected: np.ndarray  # float array: persons of the sample in each cell, see `pair_layout`
    n_of_area: np.ndarray  # float array, shape (areas,)
    possible: np.ndarray  # bool array: which two values the sample has together
    amounts: np.ndarray  # float array: persons that each table was shrunk by
    fallbacks: tuple[Fallback, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns whose tables count."""
        return [column.name for column in self.columns]

    def drawn_again(self) -> tuple[Field, ...]:
        """Return the fields of the variables."""
        return self.revised

    def persons(self, values: dict[str, np.ndarray], areas: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the arguments of the kernel `exchange_values` but the first."""
        n_areas = len(self.n_of_area)
        coarse = np.column_stack([c.coarse(values[c.name]) for c in self.columns])
        fine = np.column_stack([c.fine(values[c.name]) for c in self.columns])
        start, width, stride, n_cells = pair_layout([c.size for c in self.columns], n_areas)
        first, _, fine_stride, _ = pair_layout([c.n_fine for c in self.columns])
        counts = np.bincount(areas, minlength=n_areas)
        growth = counts / np.where(self.n_of_area > 0, self.n_of_area, np.inf)
        table = np.zeros((n_cells, 2), dtype=np.float32)
        for f in range(len(self.columns)):
            for g in range(f + 1, len(self.columns)):
                cells = areas * width[f, g] + coarse[:, f] * stride[f, g] + coarse[:, g]
                part = slice(start[f, g], start[f, g] + n_areas * width[f, g])
                wanted = self.expected[part] * np.repeat(growth, width[f, g])
                table[part, 0] = np.bincount(cells, minlength=len(wanted)) - wanted
                table[part, 1] = 1.0 / (wanted + 1.0)
        order = np.argsort(areas, kind="stable")
        starts = np.searchsorted(areas[order], np.arange(n_areas + 1))
        members = np.array([self.names.index(name) for group in self.groups for name in group])
        ends = np.cumsum([0, *map(len, self.groups)])
        source = np.repeat(np.arange(len(areas))[:, None], len(self.columns), axis=1)
        return (
            areas, starts, order, members, ends, coarse, start, width, stride, table,
            fine, first, fine_stride, self.possible, source,
        )  # fmt: skip


def chunks(total: int) -> list[int]:
    """Return the sizes of the parts of a number of exchanges.

    Examples
    --------
    >>> chunks(450_000)
    [200000, 200000, 50000]
    """
    return [CHUNK] * (total // CHUNK) + [total % CHUNK] * (total % CHUNK > 0)
