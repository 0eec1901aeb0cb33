"""Columns of a population as pandas and Arrow have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from synthpop.microdata.formats.places import Place, arrow_input, file_hash
from synthpop.microdata.frame.codes import recode_to
from synthpop.microdata.frame.dataset import DATES, Field, restore_column
from synthpop.microdata.frame.frames import since_1970
from synthpop.microdata.messages.errors import OutputError
from synthpop.microdata.messages.text import count
from synthpop.population.manifest import BlockRecord

REPAIR = "Check it with synthpop verify; run it again to repair it."


def damaged(path: Place, what: str) -> OutputError:
    """Return the error of a part that cannot be read as it was written."""
    return OutputError(f"{path} is damaged: {what}. {REPAIR}")


def read_part(
    folder: Place, block: BlockRecord, fields: Sequence[Field], *, is_new: bool
) -> dict[str, Any]:
    """Return columns of a part as pandas has them; see `read_arrays`."""
    arrays = read_arrays(folder, block, fields, is_new=is_new)
    return {field.name: column_values(field, arrays[field.name]) for field in fields}


def read_arrays(
    folder: Place, block: BlockRecord, fields: Sequence[Field], *, is_new: bool
) -> dict[str, np.ndarray]:
    """Return coded columns of a part: its pages are checked, and the hash of a new one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, names = folder / block.file, [field.name for field in fields]
    try:
        if is_new and file_hash(path) != block.hash:
            raise damaged(path, "its hash is not that of the manifest")
        with pq.ParquetFile(arrow_input(path), page_checksum_verification=True) as file:
            table = file.read(columns=names)
        if table.num_rows != block.n_persons:
            what = f"it has {count(table.num_rows)} rows, not {count(block.n_persons)}"
            raise damaged(path, what)
        return {field.name: from_arrow(field, table[field.name], path) for field in fields}
    except FileNotFoundError:
        what = "is not there, or a worker that reads it does not see the folder at this path"
        raise OutputError(f"{path} {what}. {REPAIR}") from None
    except (OSError, KeyError, pa.ArrowException) as problem:
        raise damaged(path, str(problem).splitlines()[0]) from None


def column_values(field: Field, values: np.ndarray) -> Any:
    """Return a column that its reader may change: nothing of it is memory of the population."""
    column = restore_column(field, values)
    memory = column.codes if isinstance(column, pd.Categorical) else column
    if isinstance(memory, np.ndarray) and np.may_share_memory(memory, values):
        return column.copy()
    return column


def from_arrow(field: Field, column: Any, path: Place) -> np.ndarray:
    """Return a column as it is coded in the population; an array may be memory of Arrow."""
    if field.original in DATES:
        return since_1970(column.to_pandas(date_as_object=False), DATES[field.original])
    values = _codes(field, column, path) if field.kind == "categorical" else column.to_numpy()
    return values.astype(field.dtype, copy=False)


def _codes(field: Field, column: Any, path: Place) -> np.ndarray:
    """Return the codes of a column; its own dictionary must agree with the levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        array = column.combine_chunks()
        if isinstance(array, pa.ChunkedArray):  # no rows, or more than one array holds
            array = pa.concat_arrays(array.unify_dictionaries().chunks)
        if array.dictionary.equals(pa.array(list(field.levels))):
            return pc.fill_null(array.indices, -1).to_numpy(zero_copy_only=False)
        column = column.cast(column.type.value_type)
    codes, unknown = recode_to(column.to_pandas(), field.levels)  # Parquet codes text only
    if unknown.any():
        raise damaged(path, f"{field.name} has levels that the manifest does not have")
    return codes
