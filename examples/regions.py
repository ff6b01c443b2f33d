"""Names on a map, and what sets a region apart: from the columns of a table, and from the words of texts."""

import sys
from pathlib import Path

import numpy as np

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
rng = np.random.default_rng(0)
kind = rng.integers(3, size=240)
columns = ["age", "income", "rooms", "garden", "distance"]
households = rng.normal(size=(240, 5))
households[kind == 1, 1] += 4  # rich ones,
households[kind == 2, 3] += 4  # and some with gardens
words = np.array([["tram", "market"], ["office", "lift"], ["garden", "hedge"]])
texts = [f"a home near the {words[k, rng.integers(2)]} and the {words[k, rng.integers(2)]}" for k in kind]

model = wk.MDE(random_state=0).fit(households)
found = wk.explain(households, kind == 1, names=columns)
print(found)
table = wk.data.Table(households, columns=tuple(columns))
wk.write_html(
    folder / "households.html", model, data=table, features=True, title="Households, named by columns"
)
wk.write_html(folder / "texts.html", model, text=texts, title="Households, named by words")
wk.plot(model, labels=np.array(["town", "rich", "garden"])[kind], path=folder / "households.png")
