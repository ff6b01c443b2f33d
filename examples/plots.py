"""The layers of `wk.plot` and the charts of `winkel.view` on one sheet, for handwritten digits.

python examples/plots.py [folder for pictures]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import winkel as wk
from winkel.view import plot_distortions, plot_history

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out/examples")
digits = wk.datasets.load_digits()
X, y = digits.X.astype(np.float32), digits.y
mde = wk.MDE(random_state=0).fit(X)
lvm = wk.LVM(random_state=0).fit(X)
points = wk.indicatrix(X, mde.embedding_)
problem, Y = mde.problem_, mde.embedding_

figure, axes = plt.subplots(3, 3, figsize=(16.5, 14), layout="constrained")
wk.plot(mde, labels=y, title="classes", ax=axes[0, 0])
wk.plot(mde, values=X.mean(axis=1), title="a number: ink", ax=axes[0, 1])
wk.plot(mde, reliability=points.reliability, title="reliability", ax=axes[0, 2])
wk.plot(lvm, labels=y, variance=lvm.variance_, title="variance of the LVM", ax=axes[1, 0])
wk.plot(mde, labels=y, edges=True, title="edges of the neighbour graph", ax=axes[1, 1])
wk.plot(
    mde,
    labels=y,
    pairs=problem.high_distortion_pairs(Y, 40)[0],
    title="pairs of high distortion",
    ax=axes[1, 2],
)
wk.plot(mde, indicatrix=points, title="indicatrix: what became of small circles", ax=axes[2, 0])
plot_distortions(problem.distortions(Y), ax=axes[2, 1]).set_title("distortions")
plot_history({"MDE": mde}, ax=axes[2, 2]).set_title("objective")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "plots.png", dpi=60)
