"""Rebuild the stored survey: ``python -m synthpop.datasets.build [FILE]``."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from synthpop.datasets.truth import DEMO_TRUTH
from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.messages.text import count
from synthpop.microdata.roles import demo_survey


def build_survey() -> pd.DataFrame:
    """Generate the population and draw the survey from it, shape (n_persons, 24)."""
    from synthpop.datasets.population import make_population
    from synthpop.datasets.sampling import make_survey

    population = make_population(DEMO_TRUTH.households, DEMO_TRUTH.seed)
    return make_survey(population, DEMO_TRUTH.seed)


def write_survey(survey: pd.DataFrame, path: Path) -> None:
    """Write the survey as compressed Parquet; the file is whole or not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(survey, preserve_index=False)
    with replacing(path) as draft:
        pq.write_table(table, draft, compression="zstd", compression_level=19, use_dictionary=True)


def main(arguments: list[str] | None = None) -> None:
    """Write the survey into the package, or to the file that is given."""
    options = sys.argv[1:] if arguments is None else arguments
    path = Path(options[0]) if options else Path(demo_survey.__file__).with_name(demo_survey.STORED)
    survey = build_survey()
    write_survey(survey, path)
    sys.stdout.write(
        f"{path}: {count(len(survey))} persons, {count(survey['db030'].nunique())} households, "
        f"{count(path.stat().st_size / 1024)} KB\n"
    )


if __name__ == "__main__":
    main()
