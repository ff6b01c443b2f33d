"""Stage one: any form of data comes in, one validated matrix goes out.

    array, list, CSR ───────────────┐
    pandas, polars, Arrow ─ frames ─┼─> arrays ──> Table(values, ids, columns, labels)
    AnnData ──────────── annotated ─┤   one dtype  finite?
    npy npz csv parquet ─── files ──┘   one layout too large?

Data only enters through `as_table` and `as_matrix`: it is validated there, once, and later stages trust it.
`arrays` turns every numeric type into C-contiguous float32 or float64, or canonical CSR, finds the
first bad cell and says where it is. Data is only copied if something has to change, and a user's data is never
modified. `frames` and `annotated` recognise pandas, polars, Arrow and AnnData objects by the names of their types, so none of
those packages is imported here. `encoding` turns categories into numbers, and `scaled` brings all columns to one scale. `profile` counts
legal but unusual contents: constant columns, duplicate rows, zero rows. `datasets` (with `fetch` and `parsers`) loads well-known data
from a local folder, a cache or the network. `archive` is the project's own file format, and `serialize` converts values for it.
"""

from .files import read
from .scaling import scaled
from .table import Table, as_matrix, as_table

__all__ = ["Table", "as_matrix", "as_table", "read", "scaled"]
