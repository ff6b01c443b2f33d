"""Maps of AnnData objects, written back into them: `wk.scverse.mde(adata)`, then `scanpy.pl.embedding(adata, basis="mde")`.

adata.obsm[use_rep], .layers[layer] or .X ──> estimator ──> obsm["X_mde"]  the map
adata.obsp[...], when neighbors_key is given ─┘             obs["mde_reliability"], ...  one number per cell
                                                            uns["mde"]  parameters, seed, status, scores

contents.py   the contents of AnnData objects; `table`: their rows for every other call
fitting.py    `embed`, `place`, and a function for every estimator by its name on the command line: mde, lvm, tsne, umap, …
judging.py    `measure`, `indicatrix`, `plot`, `write_html`
"""

from __future__ import annotations

from typing import Any

from .contents import neighbors as neighbors
from .contents import table as table
from .fitting import embed as embed
from .fitting import function_of, methods
from .fitting import place as place
from .judging import indicatrix as indicatrix
from .judging import measure as measure
from .judging import plot as plot
from .judging import write_html as write_html

_OWN = ("embed", "indicatrix", "measure", "neighbors", "place", "plot", "table", "write_html")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted([*_OWN, *methods()])
    if name.startswith("_") or name not in methods():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = function_of(name, methods()[name])
    globals()[name] = made
    return made


def __dir__() -> list[str]:
    return sorted([*_OWN, *methods()])
