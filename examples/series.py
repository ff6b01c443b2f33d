"""Maps of changing data: items stay comparable from map to map while new ones arrive; as animation and slider."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
rng = np.random.default_rng(0)
n = len(digits.X)
ids = [np.arange(n - 40), np.arange(n), np.arange(n)]  # some come in later
tables = [digits.X[rows] + 1.5 * t * rng.normal(size=(len(rows), 64)) for t, rows in enumerate(ids)]
found = wk.series(tables, ids, random_state=0)
print(f"movement from map to map: {np.round(found.movement, 2)}")
labels = digits.y[found.common]
found.write_html(folder / "series.html", labels=labels)
found.animate(folder / "series.gif", labels=labels, fps=5, seconds=2, size=3)
