"""Whether a map keeps the shape of the whole or the neighbours of each row: one number, and how it is chosen.

The places on this line are shares of the repulsion. Much of it spreads rows out until each sees its neighbours, as t-SNE does;
little of it keeps what hangs together in one piece, as UMAP does and, at its end, the quadratic methods (Böhm, Berens and Kobak 2022).
Beside the line stands "flat", without repulsion: the lengths of paths along a surface are kept, which unrolls it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...algebra import log, power
from ...checks import choice, number
from ...graph import Graph, path_matrix
from ...run import Run
from ..starts import pivot_start

NAMED = {"shape": 0.0, "neighbors": 1.0}
FLAT = "flat"
# The share of the repulsion at "shape"; between, its logarithm is proportional.
SHAPE_SHARE = 0.01
# "auto" is "shape" where the data are a line or a surface, up to this dimension, and at least this part of the rows hangs together:
# a map in the plane can show such data whole, and more repulsion would only tear it.
SURFACE, WHOLE = 2.5, 0.9
# It is "flat" where, moreover, all rows hang together and lengths of paths have this correlation with distances in the plane at
# rows that path lengths are measured from.
FLATNESS, _WITNESSES = 0.98, 20
FOCUS_SETTINGS = ("focus", "focus_reason")


@dataclass(frozen=True)
class Focus:
    """A place between shape (0) and neighbours (1), or "flat", and a sentence that says why it was taken."""

    value: float | str
    reason: str

    @property
    def flat(self) -> bool:
        """Whether lengths of paths are kept."""
        return self.value == FLAT

    @property
    def settings(self) -> dict[str, float | str]:
        """What the settings of a result say of it."""
        return dict(zip(FOCUS_SETTINGS, (self.value, self.reason), strict=True))

    @property
    def share(self) -> float:
        """What the repulsion is multiplied by."""
        return 0.0 if isinstance(self.value, str) else float(power(SHAPE_SHARE, 1 - self.value))


def check_focus(focus: object) -> str | float:
    """ "auto", "flat", "shape", "neighbors" or a number in [0, 1]."""
    if isinstance(focus, str):
        return choice("focus", focus, ("auto", FLAT, *NAMED), also="a number from 0 (shape) to 1 (neighbors)")
    return number("focus", focus, 0.0, 1.0)


def choose_focus(focus: str | float, graph: Graph, run: Run, *, may_lie_flat: bool = True) -> Focus:
    """The place that was asked for; "auto" looks at the neighbour graph, and takes "flat" only where it may."""
    if not isinstance(focus, str):
        return Focus(focus, f"focus {focus:g} was asked for.")
    if focus != "auto":
        return Focus(NAMED.get(focus, focus), f'focus "{focus}" was asked for.')
    dimension = intrinsic_dimension(graph)
    if dimension is None:
        return Focus(
            1.0, 'focus "neighbors": the graph has no distances that would tell the dimension of the data.'
        )
    if dimension > SURFACE:
        return Focus(
            1.0,
            f'focus "neighbors": the data have about {dimension:.1f} dimensions, more than a map can show whole.',
        )
    _, component = graph.components()
    whole = float(np.mean(component == 0))
    if whole < WHOLE:
        return Focus(
            1.0,
            f'focus "neighbors": the data have about {dimension:.1f} dimensions but are in pieces, the largest with '
            f"{whole:.0%} of the rows.",
        )
    if may_lie_flat and whole == 1 and flatness(graph, run) > FLATNESS:
        return Focus(
            FLAT,
            f'focus "flat": the data are a surface of about {dimension:.1f} dimensions that lies flat in the plane when the '
            "lengths of paths along it are kept.",
        )
    return Focus(
        0.0,
        f'focus "shape": the data are connected and have about {dimension:.1f} dimensions, which a map can show whole.',
    )


def flatness(graph: Graph, run: Run) -> float:
    """The correlation of path lengths with distances in the plane when those lengths are scaled to it; 1 for a sheet of paper, however bent."""
    Y = pivot_start(graph, 2, run)
    rows = np.sort(run.stream("witnesses").permutation(graph.n)[:_WITNESSES])
    lengths = path_matrix(graph, run, rows).astype(np.float64).ravel()
    offsets = Y[rows][:, None] - Y[None]
    distances = np.sqrt((offsets * offsets).sum(axis=2)).ravel()
    a, b = lengths - lengths.mean(), distances - distances.mean()
    spread = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / spread if spread > 0 else 0.0


def intrinsic_dimension(graph: Graph) -> float | None:
    """The dimension of the data by the maximum likelihood estimate of Levina and Bickel (2005) over neighbour lists; None without.

    The estimates of the rows are averaged by their inverses, as MacKay and Ghahramani advise.
    """
    distance = graph.knn_distances
    if distance is None or distance.shape[1] < 3:
        return None
    usable = np.isfinite(distance).all(axis=1) & (distance[:, 0] > 0)
    if not usable.any():
        return None
    logs = log(distance[usable].astype(np.float64))
    inverse = float(np.mean(logs[:, -1:] - logs[:, :-1])) * (distance.shape[1] - 1) / (distance.shape[1] - 2)
    return 1 / inverse if inverse > 0 else None
