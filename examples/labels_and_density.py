"""Labels in the fit, some of them unknown, and how much of the separation they cause; maps that keep densities."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
rng = np.random.default_rng(0)
known = np.where(rng.random(len(digits.y)) < 0.7, digits.y, -1)  # -1: unknown
drawn_lots = rng.integers(0, 3, len(digits.y))  # labels that mean nothing
for name, y, weight in (("none", None, 0.0), ("true", known, 0.9), ("drawn by lot", drawn_lots, 1.0)):
    model = wk.MDE(label_weight=weight, random_state=0).fit(digits.X, y)
    judged = digits.y if y is None or y is known else y
    excess = wk.measure(digits.X, model, labels=judged, scores=["label_excess"])["label_excess"].value
    print(f"labels {name}: {excess:.2f} of the separation comes from the labels")
maps = {f"density={d}": wk.MDE(density=d, random_state=0).fit(digits.X) for d in (0.0, 1.0)}
for name, model in maps.items():
    found = wk.measure(digits.X, model, scores=["density_correlation"])["density_correlation"].value
    print(f"{name}: correlation of local radii {found:.2f}")
wk.write_html(folder / "labels_and_density.html", maps, labels=digits.y)
