"""A population, or a part of it, as one file of any format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from synthpop.microdata.formats.files import write_table
from synthpop.microdata.formats.labelled import KIND
from synthpop.microdata.formats.losses import losses
from synthpop.microdata.frame.dictionary import dictionary_of, with_dictionary
from synthpop.microdata.messages.errors import InputError
from synthpop.microdata.runs.chunks import open_chunks
from synthpop.pipeline.fingerprint import chosen_strata
from synthpop.population.population import Population
from synthpop.population.run_key import warn_of_open_file
from synthpop.sampling.designs import SimpleRandom
from synthpop.sampling.draw import draw_sample
from synthpop.sampling.stage_designs import Cluster


def export_population(
    population: Population,
    path: Path | str,
    *,
    strata: Sequence[Any] | None = None,
    sample: int | None = None,
    households: bool = False,
    seed: int | None = None,
    on_losses: Callable[[list[str]], None] | None = None,
    **options: Any,
) -> int:
    """Write a population, or a part of it, to one file with its labels and codes; return its rows.

    path: its ending says the format; see `write_table`
    sample: draw so many households (persons where there are none) at random, with design weights
    households: one row per household: its id, stratum, size, and the columns that are the same for
        all members of every household
    seed: of the sample
    on_losses: receives what the format cannot hold, before anything is written
    **options: ``safe_csv``, ``csv`` and ``dta_version`` of `write_table`
    """
    if seed is not None and sample is None:
        raise InputError.of(
            "export", "seed", "is given without a sample", "Leave it out, or give sample."
        )
    target = Path(path)
    is_csv = target.suffix.lower() == ".csv"
    stream = strata is None and sample is None and not households
    stream = stream and not any(options.get(name) for name in ("csv", "dta_version"))
    kinds = any(item.name.endswith(KIND) for item in population.fields)  # are codes in a text
    if stream and (target.suffix.lower() == ".parquet" or (is_csv and not kinds)):
        tell = losses(population.frame().head(0), target)
        if tell and on_losses is not None:
            on_losses(tell)
        if target.suffix.lower() == ".parquet":
            population.to_parquet(target)
        else:
            population.to_csv(target, safe=options.get("safe_csv", False))
        return population.n_persons
    warn_of_open_file(population, target)
    frame = _part(population, strata, households)
    if sample is not None:
        home = population.roles.household
        unit = Cluster(home, SimpleRandom(sample)) if home else SimpleRandom(sample)
        dictionary = dictionary_of(frame)
        frame = with_dictionary(draw_sample(frame, unit, seed=seed).frame, dictionary)
    tell = losses(frame, target)
    if tell and on_losses is not None:
        on_losses(tell)
    write_table(frame, target, **options)
    return len(frame)


def _part(population: Population, strata: Sequence[Any] | None, households: bool) -> pd.DataFrame:
    """Return the persons or households of some strata; only their rows are in memory."""
    if strata is None:
        return population.households("shared") if households else population.frame()
    column = population.roles.strata
    field = next((item for item in population.fields if item.name == column), None)
    levels = () if field is None else field.levels
    names = [levels[position] for position in chosen_strata(strata, levels, column)]
    if households:
        frame = population.households("shared")
        rows = frame[frame[str(column)].isin(names)]
    else:
        parts = [block[block[str(column)].isin(names)] for block in open_chunks(population)]
        rows = pd.concat([part for part in parts if len(part)])
    return with_dictionary(rows.reset_index(drop=True), population.dictionary)
