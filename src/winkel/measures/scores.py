"""winkel's own scores, each a function of a `Context`; `score` adds one more."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..algebra import dot, log, norm
from .angles import nearest_by_angle, norm_difference, ratio, shared_lists
from .classes import kmeans_accuracy, voting_accuracy
from .context import Context
from .ranks import penalised
from .ranks import stress as best_scale_stress
from .registry import Curve, Value, score
from .sampling import sampled_rows
from .tearing import find_merging, find_tearing

__all__ = ["score"]

_CURVE_POINTS = 200


@score(
    "trustworthiness",
    range=(0, 1),
    meaning="Rows shown near a point are near it in the data too; a false neighbour costs more the farther away it really is.",
    needs=["ranks_in_data"],
)
def trustworthiness(context: Context) -> NDArray[np.float64]:
    """Venna and Kaski (2001): the same number as `sklearn.manifold.trustworthiness`, without its n × n matrix.

    The two agree if no two distances from one row are equal. For equal distances, scikit-learn takes any order; here the order is that
    of `winkel.graph.knn`.
    """
    return penalised(context.ranks_in_data, context.n_neighbors, context.n)


@score(
    "continuity",
    range=(0, 1),
    meaning="Rows near a point in the data are shown near it; a lost neighbour costs more the farther away it is put.",
    needs=["ranks_in_map"],
)
def continuity(context: Context) -> NDArray[np.float64]:
    """Trustworthiness with data and map exchanged (Venna and Kaski 2001)."""
    return penalised(context.ranks_in_map, context.n_neighbors, context.n)


@score(
    "neighbor_recall",
    range=(0, 1),
    meaning="Share of a row's nearest in the data that are also among its nearest in the map.",
    needs=["ranks_in_map"],
)
def neighbor_recall(context: Context) -> NDArray[np.float64]:
    return (context.ranks_in_map <= context.n_neighbors).mean(axis=1)


@score(
    "rnx_auc",
    range=(-1, 1),
    meaning="Shared neighbours at all neighbourhood sizes, small ones counting most: 1 is perfect, 0 is chance.",
    needs=["co_ranks"],
)
def rnx_auc(context: Context) -> Value:
    """Area under R_NX(K) over log K (Lee et al. 2015), and the curve."""
    found = context.co_ranks
    K = np.unique(np.geomspace(1, context.n - 2, _CURVE_POINTS).astype(np.int64))
    curve = Curve("K", K.astype(np.float64), "rnx", found.curve()[K - 1])
    return Value(found.rnx_auc, curves=(curve,))


@score(
    "distance_correlation",
    range=(-1, 1),
    meaning="Rows that are far apart in the data are far apart in the map: rank correlation of all distances.",
    needs=["distances"],
)
def distance_correlation(context: Context) -> Value:
    """Spearman's correlation of the distances of pairs."""
    value, interval = context.distances.rank_correlation()
    n_sampled = None if context.distances.exact else len(context.distances.pairs)
    return Value(value, interval=interval, n_sampled=n_sampled)


@score(
    "stress",
    range=(0, 1),
    better="lower",
    meaning="Distances in the map differ from those in the data by this share, at the map's best scale.",
    needs=["distance_sums"],
)
def stress(context: Context) -> Value:
    value, interval = best_scale_stress(context.distance_sums, context.n)
    return Value(value, interval=interval, n_sampled=context.n_sampled)


@score(
    "tearing",
    range=(0, 1),
    better="lower",
    meaning="Share of the data's links between neighbours that run between separate pieces of the map.",
    needs=["data_neighbors", "pieces", "links"],
)
def tearing(context: Context) -> Value:
    """The share of cut links of each measured row; the detail contains the pieces, found from the links of all rows."""
    piece = context.pieces
    cut = (piece[context.data_neighbors] != piece[context.rows][:, None]).mean(axis=1)
    return Value(cut, detail=find_tearing(piece, np.arange(context.n), context.links))


@score(
    "merging",
    range=(0, 1),
    better="lower",
    meaning="Share of rows shown in one piece with a larger part of the data to which no neighbours link them.",
    needs=["pieces", "data_pieces"],
)
def merging(context: Context) -> Value:
    found = find_merging(context.pieces, context.data_pieces)
    return Value(found.merged.astype(np.float64), detail=found)


@score(
    "angular_deviation",
    range=(0, 180),
    better="lower",
    meaning="Mean change, in degrees, of the angle between rows that are near by angle.",
    needs=["angles"],
)
def angular_deviation(context: Context) -> Value:
    """Saul (2023), eq 11."""
    found = context.angles
    change = np.where(found.defined, np.abs(found.data - found.map), 0.0).sum(axis=1)
    count = found.defined.sum(axis=1).astype(np.float64)
    return ratio(np.degrees(change), count, context.rows, context.n, (0.0, 180.0), empty=0.0)


@score(
    "jaccard",
    range=(0, 1),
    meaning="Pairs that are near by angle in both data and map, as a share of those in either.",
    needs=["angles"],
)
def jaccard(context: Context) -> Value:
    """Saul (2023), eq 12."""
    shown = nearest_by_angle(context.Y, context.rows, context.n_neighbors, context.run)
    both, either = shared_lists(context.angles.neighbors, shown)
    return ratio(both, either, context.rows, context.n, (0.0, 1.0), empty=1.0)


@score(
    "norm_error",
    range=(0, math.inf),
    better="lower",
    meaning="Median relative difference between the norms of a row in map and data.",
    needs=["norms"],
)
def norm_error(context: Context) -> Value:
    return norm_difference(*context.norms)


@score(
    "label_accuracy",
    range=(0, 1),
    meaning="Share of held-out rows whose label is that of most of their nearest rows in the map.",
    needs=["labels"],
)
def label_accuracy(context: Context) -> Value:
    return voting_accuracy(context.Y, context.labels, context.n_neighbors, context.run)


@score(
    "clustering_accuracy",
    range=(0, 1),
    meaning="Share of rows whose label matches their cluster, by k-means of the map with as many clusters as labels.",
    needs=["labels"],
)
def clustering_accuracy(context: Context) -> Value:
    rows = sampled_rows(context.n, context.sample, context.run.seed)
    return kmeans_accuracy(context.Y, context.labels, rows, context.run)


@score(
    "label_excess",
    range=(0, 1),
    better="lower",
    meaning="How much more often a point's neighbours have its label in the map than in the data: separation that only the map has, as labels in the fit make it.",
    needs=["labels", "data_neighbors", "map_neighbors"],
)
def label_excess(context: Context) -> Value:
    """The share of neighbours of a row's own class in the map, minus that in the data, or 0 if that is negative. Unknown classes are left out."""
    own = context.labels[context.rows]
    beside = [context.labels[lists] for lists in (context.map_neighbors, context.data_neighbors)]
    known = (own >= 0) & (beside[0] >= 0).any(axis=1) & (beside[1] >= 0).any(axis=1)
    if not known.any():
        return Value(0.0, n_sampled=context.n_sampled)
    shown, there = (
        (labels == own[:, None])[known].sum(axis=1) / (labels >= 0)[known].sum(axis=1) for labels in beside
    )
    return Value(max(0.0, float(np.mean(shown - there))), n_sampled=context.n_sampled)


@score(
    "density_correlation",
    range=(-1, 1),
    meaning="Sparse regions of the data are shown sparse: correlation of the logarithms of local radii.",
    needs=["data_neighbors", "map_neighbors"],
)
def density_correlation(context: Context) -> Value:
    """The score of densMAP (Narayan, Berger and Cho 2021); radii are mean distances to the nearest rows in data and map."""
    data = _log_radii(context.pair_distances(context.data_neighbors))
    places = context.Y.astype(np.float64)
    apart = places[context.map_neighbors] - places[context.rows][:, None]
    shown = _log_radii(np.sqrt(np.sum(apart * apart, axis=2)))
    if np.ptp(data) == 0 or np.ptp(shown) == 0:
        return Value(0.0, n_sampled=context.n_sampled)
    return Value(_correlation(data, shown), n_sampled=context.n_sampled)


def _correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Pearson's coefficient, from -1 to 1."""
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(dot(a, b) / (norm(a) * norm(b)), -1.0, 1.0))


@score(
    "average_distortion",
    better="lower",
    meaning="Mean distortion of the problem's pairs, which the problem minimizes.",
    needs=["problem"],
    baseline=False,
)
def average_distortion(context: Context) -> Value:
    levels, share = context.problem.distortion_cdf(context.Y)
    points = np.unique(np.linspace(0, len(levels) - 1, _CURVE_POINTS).astype(np.int64))
    curve = Curve("distortion", np.asarray(levels)[points], "distortion_cdf", np.asarray(share)[points])
    return Value(float(context.problem.average_distortion(context.Y)), curves=(curve,))


def _log_radii(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    radius = distances.astype(np.float64).mean(axis=1)
    positive = radius[radius > 0]
    return np.asarray(log(np.maximum(radius, positive.min() if len(positive) else 1.0)))
