"""AnnData in, AnnData out: a map that scanpy can draw, how far it can be trusted, and new cells placed on it."""

import sys
from pathlib import Path

import anndata
import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()  # in place of cells: any AnnData object will do
adata = anndata.AnnData(digits.X)
adata.obs["cell_type"] = np.array([f"type {k}" for k in digits.y])
adata.obsm["X_pca"] = wk.quadratic.pca(digits.X, 20).to_textbook()
first, later = adata[:-40].copy(), adata[-40:].copy()

model = wk.scverse.mde(first, use_rep="X_pca")
scores = first.uns["mde"]["scores"]
print(
    f"trustworthiness {scores['trustworthiness']:.3f}, reliability {first.obs['mde_reliability'].median():.2f}"
)
wk.scverse.place(later, model)
print(f"{later.n_obs} later cells placed at {later.obsm['X_mde'].shape}")
wk.scverse.mde(first, labels="cell_type", label_weight=0.3, key_added="X_by_type")
wk.scverse.plot(first, "mde", color="cell_type", title="Cells", path=folder / "scanpy_cells.png")
wk.scverse.write_html(
    folder / "scanpy_cells.html", first, ["mde", "by_type"], labels="cell_type", features=True, title="Cells"
)
cells = wk.scverse.table(first, use_rep="X_pca")  # what every other call takes, with the columns of obs
report = wk.measure(cells, first.obsm["X_by_type"], labels="cell_type")
print(f"separation that comes only from the labels: {report['label_excess'].value:.2f}")
