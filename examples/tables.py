"""Tables as they occur in practice: text and numbers, columns in different units, Gower's distance for categories; also from the shell."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk
from winkel.cli import main

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
kinds, towns = np.array(["cat", "dog", "owl"]), np.array(["Bern", "Graz", "Ulm"])
kind = rng.integers(3, size=150)
lines = ["name;kind;weight;wings;town"]
for i, k in enumerate(kind):
    weight = [4000, 20000, 1500][k] * rng.lognormal(0, 0.2)
    lines.append(f"animal {i};{kinds[k]};{weight:.0f};{2 * (k == 2)};{towns[rng.integers(3)]}")
path = folder / "animals.csv"
path.write_text("\n".join(lines) + "\n")

numbers = wk.data.scaled(wk.data.read(path, numeric=True), "robust")
print(f"numbers: {numbers.columns}, left out: {numbers.omitted}")
mixed = wk.data.read(path, id="name", keep=["town"], encode="gower")
print(f"with categories, for Gower's distance: {mixed.columns}")
by_gower = wk.MDE(metric="manhattan", random_state=0).fit(mixed)
wk.plot(by_gower, labels=mixed.kept["town"], title="Animals", path=folder / "animals.png")
main(["embed", str(path), "-o", str(folder / "animals-map.csv"), "--id", "name", "--label", "kind", "--keep", "town",
      "--encode", "gower", "--html", str(folder / "animals.html")])  # fmt: skip
