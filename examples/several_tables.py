"""Several tables of the same items: a map of the two halves of digits, which shows more than a map of either half."""

import sys
from pathlib import Path

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
halves = {"upper half": digits.X[:, :32], "lower half": digits.X[:, 32:]}
graphs = {name: wk.graph.knn(X, 10) for name, X in halves.items()}
graphs["both"] = wk.graph.combine(list(graphs.values()), how="union")
maps = {name: wk.MDE(random_state=0).fit(graph) for name, graph in graphs.items()}
for name, model in maps.items():
    score = wk.measure(digits.X, model, labels=digits.y, scores=["label_accuracy"])["label_accuracy"].value
    print(f"{name}: label accuracy {score:.3f}")
wk.write_html(folder / "several_tables.html", maps, labels=digits.y)
