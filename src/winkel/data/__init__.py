"""Stage one: whatever a user holds comes in, one validated matrix goes out.

    array, list, CSR ───────────────┐
    pandas, polars, Arrow ─ frames ─┼─> arrays ──> Table(values, ids, columns, labels)
    AnnData ──────────── annotated ─┤   one dtype  finite?
    npy npz csv parquet ─── files ──┘   one layout too large?

`as_table` and `as_matrix` are the only doors: data is validated there, once, and later stages trust it.
`arrays` turns every numeric kind into C-contiguous float32 or float64, or canonical CSR, finds the
first bad cell and says where it is. Nothing is copied when nothing must change, and a user's data is never
written to. `frames` and `annotated` know pandas, polars, Arrow and AnnData objects by the names of their types, so none of
those packages is imported here; `encoding` makes numbers of categories, `scaled` one scale of all columns. `profile` counts what is legal but worth knowing: constant columns,
duplicate rows, zero rows. `datasets` (with `fetch` and `parsers`) brings well-known data from a local
folder, a cache or the network; `archive` is the project's own file format, `serialize` what goes into it.
"""

from .files import read
from .scaling import scaled
from .table import Table, as_matrix, as_table

__all__ = ["Table", "as_matrix", "as_table", "read", "scaled"]
