"""The samples of a study as one Parquet file."""

from __future__ import annotations

import json
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd

from synthpop.microdata.formats.atomic import replacing
from synthpop.microdata.formats.hashed import with_hash, without_hash
from synthpop.microdata.messages.errors import InputError
from synthpop.sampling.setup import SampleSetup

RECORD = ("n_samples", "n_population", "seed", "roles", "strata_names", "replace")


def write_setup(setup: SampleSetup, path: Path | str) -> None:
    """Write the samples, what they are, and hashes of both; the file is whole or not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(setup.samples, preserve_index=False)
    record = {name: getattr(setup, name) for name in RECORD}
    text = json.dumps(with_hash({**record, "samples": _hash_of(setup.samples)}))
    with replacing(path) as draft:
        labelled = table.replace_schema_metadata({"setup": text})
        pq.write_table(labelled, draft, write_page_checksum=True)


def read_setup(path: Path | str) -> SampleSetup:
    """Return the set-up that was written to a file.

    Raises
    ------
    InputError
        The file is not a sample set-up, or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
        record = without_hash(json.loads((table.schema.metadata or {})[b"setup"]))
        samples = table.to_pandas()
        if record.pop("samples") != _hash_of(samples):
            raise ValueError("samples")
    except (OSError, KeyError, ValueError, AttributeError, pa.ArrowException) as problem:
        what, hint = "is not a sample set-up, or damaged", "Write one with SampleSetup.write."
        raise InputError.of("sample set-up", str(path), what, hint) from problem
    for name in ("strata_names", "replace"):
        record[name] = tuple(record[name])
    return SampleSetup(samples, **record)


def _hash_of(samples: pd.DataFrame) -> str:
    digest = blake2b(digest_size=20)
    for name in ("repetition", "row", "probability"):
        digest.update(np.ascontiguousarray(samples[name].to_numpy(np.float64)).tobytes())
    return digest.hexdigest()
