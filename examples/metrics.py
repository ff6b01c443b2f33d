"""Metrics for different data: places on the globe, shares of a whole, dense and sparse sets, and a function of your own."""

import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
globe = np.column_stack([np.arcsin(rng.uniform(-1, 1, 200)), rng.uniform(-np.pi, np.pi, 200)])
topics = rng.dirichlet(np.full(12, 0.1), size=200)
baskets = sp.csr_array(rng.random((200, 60)) * (rng.random((200, 60)) < 0.15))
rows = {
    "haversine": globe,
    "hellinger": topics,
    "dice": baskets,
    "minkowski(3)": topics,
    "by a function": topics[:60],
}
for metric, X in rows.items():
    how = (lambda a, b: float(np.abs(a - b).max())) if metric == "by a function" else metric
    model = wk.MDE(metric=how, n_neighbors=10, random_state=0).fit(X)
    report = model.faithfulness(X, n_neighbors=10, scores=["trustworthiness"])
    print(f"{metric}: trustworthiness {report['trustworthiness'].value:.3f}")
    if metric == "haversine":
        wk.plot(
            model, values=globe[:, 0], title="Places on the globe, by latitude", path=folder / "metrics.png"
        )
