"""Can I trust this map? Handwritten digits: scores of the whole map and of each point, repeated maps, and a comparison with other maps.

python examples/trust.py [folder for pictures]
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

import winkel as wk
from winkel.view.trust import plot_comparison, plot_faithfulness, plot_indicatrix

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
folder.mkdir(parents=True, exist_ok=True)
digits = wk.datasets.load_digits()
X, y = digits.X.astype(np.float32), digits.y
mde = wk.MDE(random_state=0).fit(X)

report = mde.faithfulness(X, labels=y)
print(report)
plot_faithfulness(report, path=folder / "trust-scores.png")

points = wk.indicatrix(X, mde)
print(points)
worst = np.argsort(points.reliability)[:5]
for i in worst:
    shown, real = y[points.false_neighbors[i]].tolist(), y[points.missing_neighbors[i]].tolist()
    print(f"  row {i}, a {y[i]}: false neighbours {shown}, missing neighbours {real}")
plot_indicatrix(mde, points, path=folder / "trust-points.png")

print(wk.stability(wk.MDE(), X, n_runs=2))
quarter = X[::4]
print(wk.null_test(wk.MDE(max_iter=100), quarter))

maps = {"MDE": mde.embedding_, "PCA": PCA(2), "t-SNE": TSNE(random_state=0)}
comparison = wk.compare(X, maps, labels=y)
print(comparison)
plot_comparison(comparison, path=folder / "trust-maps.png")


@wk.score(
    "same_digit",
    range=(0, 1),
    meaning="Share of neighbours in the map that show the same digit.",
    needs=["map_neighbors", "labels"],
)
def same_digit(context):
    """A custom score, which then appears in every report."""
    return (context.labels[context.map_neighbors] == context.labels[context.rows][:, None]).mean(axis=1)


print(wk.measure(X, mde, labels=y, scores=["same_digit", "label_accuracy"]))
print(wk.tune(wk.MDE(max_iter=100), quarter, {"n_neighbors": [5, 15, 45]}))
