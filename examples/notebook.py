"""How a notebook shows the result at the end of a cell: tables, and scikit-learn's diagram of an estimator; here on one page.

A map to explore, whose selection comes back to Python, is `widget = wk.explore(mde)` and then `widget.selection`.
"""

import sys
from pathlib import Path
from typing import Any

import winkel as wk

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
mde = wk.MDE(random_state=0).fit(digits.X)
report = wk.measure(digits.X, mde, labels=digits.y)
shown: dict[str, Any] = {
    "the data": digits,
    "the estimator": mde,
    "its result": mde.result_,
    "how faithful it is": report,
    "at each point": wk.indicatrix(digits.X, mde),
    "beside principal components": wk.compare(
        digits.X, {"MDE": mde, "PCA": wk.quadratic.pca(digits.X).to_textbook()}
    ),
    "what sets the zeros apart": wk.explain(digits.X, digits.y == 0),
}
cells = [f"<h2>{name}</h2>{thing._repr_html_()}" for name, thing in shown.items()]
(folder / "notebook.html").write_text(
    f"<!doctype html><meta charset='utf-8'>{''.join(cells)}", encoding="utf-8"
)
print(f"{len(cells)} tables; trustworthiness {report['trustworthiness'].value:.3f}")
