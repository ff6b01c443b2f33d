"""t-SNE and UMAP with the parameter names of scikit-learn, openTSNE and umap-learn: only the import line changes."""

import sys
from pathlib import Path
from typing import Any

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
maps = {
    "t-SNE": wk.TSNE(perplexity=20, n_iter=250, random_state=0).fit_transform(digits.X),
    "t-SNE, heavy tails": wk.TSNE(perplexity=20, dof=0.6, n_iter=250, random_state=0).fit_transform(digits.X),
    "UMAP": wk.UMAP(n_neighbors=10, min_dist=0.2, n_epochs=150, random_state=0).fit_transform(digits.X),
    "UMAP, with labels": wk.UMAP(n_neighbors=10, n_epochs=150, random_state=0).fit_transform(
        digits.X, digits.y
    ),
}
for name, Y in maps.items():
    report = wk.measure(
        digits.X, Y, labels=digits.y, scores=["trustworthiness", "label_accuracy", "label_excess"]
    )
    print(f"{name}: " + ", ".join(f"{score.name} {score.value:.3f}" for score in report.scores.values()))
wk.write_html(folder / "known_names.html", maps, labels=digits.y, images=digits.X.reshape(-1, 8, 8))
without_counterpart: dict[str, Any] = {"angle": 0.2}
try:
    wk.TSNE(**without_counterpart)
except wk.errors.InvalidParameterError as error:
    print(error)
