"""Pieces of a map and of its data: parts that are connected in the data but shown in pieces (torn), or the reverse (merged).

Two rows of a map are linked if they are closer than three times the larger of their distances to the fifth neighbour in
the map; a piece is a set of rows connected by such links. The links of the data are those of its neighbour lists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..typing import FloatArray
from .sources import Indices, Rows

TORN_FROM = (
    0.05  # share of a piece's neighbour links that lead out of it, beyond which it is torn and no cluster
)
_NEIGHBOR, _REACH = 5, 3.0
_CELLS = 14  # cells along each side of a grid over the map; a band joins the cut links that begin in one cell and end in one cell
_LEAST_SHARE = 0.01  # of a piece's links: a seam with fewer is not drawn
_MOST_BANDS = 400
_HALF_WIDTH = 1.5  # in standard deviations of where the links end
_THINNEST = 0.002  # of the map's extent


@dataclass(frozen=True, eq=False)
class Seams:
    """Bands that join what a map has torn apart: one for each place where links of the data were cut.

    Attributes
    ----------
    ends : ndarray of shape (n_bands, 2, n_components)
        Where a band begins and ends: the mean of the ends of its cut links.
    widths : ndarray of shape (n_bands, 2)
        The width of the band there: the spread of the ends of its links.
    links : ndarray of shape (n_bands,)
        Number of links in the band.
    """

    ends: NDArray[np.float64]
    widths: NDArray[np.float64]
    links: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.links)


@dataclass(frozen=True, eq=False)
class Tearing:
    """The pieces of a map, and the neighbour links of the data that run between them. It prints as a sentence.

    Attributes
    ----------
    piece : ndarray of shape (n,)
        The piece of each row, 0 for the largest.
    sizes : ndarray of shape (n_pieces,)
        Number of rows of each piece.
    outgoing : ndarray of shape (n_pieces,)
        Share of the neighbour links of a piece's rows that lead out of it; NaN if none of its rows was examined.
    torn : ndarray of shape (n_pieces,)
        Whether that share is more than 5 %, so that the piece was torn from its surroundings. Other pieces are clusters of the data.
    cut_share : float
        Share of all links that lead from one piece to another.
    cut_links : ndarray of shape (n_cut, 2)
        The two rows of each of these links.

    Examples
    --------
    >>> import numpy as np, winkel as wk
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))  # one square
    >>> Y = X + 5 * (X[:, :1] > 0.5)  # its halves pulled apart
    >>> found = wk.measure(X, Y)["tearing"].detail
    >>> found.sizes, found.torn
    (array([113,  87]), array([ True,  True]))
    """

    piece: NDArray[np.int32]
    sizes: NDArray[np.int64]
    outgoing: NDArray[np.float64]
    torn: NDArray[np.bool_]
    cut_share: float
    cut_links: Indices

    def __str__(self) -> str:
        count, torn = len(self.sizes), int(self.torn.sum())
        if count == 1:
            return "The map is in one piece."
        cut = f"{100 * self.cut_share:.2g} % of the data's neighbour links run between them"
        if torn == 0:
            return f"The map is in {count} pieces, none of them torn: {cut}."
        rows = int(self.sizes[self.torn].sum())
        return (
            f"The map is in {count} pieces, of which {torn} with {rows} of {len(self.piece)} rows were torn from their "
            f"surroundings (more than {100 * TORN_FROM:g} % of their links lead out): {cut}."
        )

    __repr__ = __str__

    def seams(self, Y: FloatArray) -> Seams:
        """Bands on the map Y between pieces that were torn apart; none if nothing is torn."""
        links = self._shown_links()
        places: NDArray[np.float64] = np.asarray(Y, dtype=np.float64)
        if len(links) == 0:
            return Seams(np.empty((0, 2, Y.shape[1])), np.empty((0, 2)), np.empty(0, dtype=np.int64))
        extent = float(np.ptp(places, axis=0).max()) or 1.0
        cell = np.floor((places - places.min(axis=0)) / extent * _CELLS).astype(np.int64)
        place = np.concatenate([cell, self.piece[:, None]], axis=1)
        _, band, count = np.unique(
            np.concatenate([place[links[:, 0]], place[links[:, 1]]], axis=1),
            axis=0, return_inverse=True, return_counts=True,
        )  # fmt: skip
        ends, widths = _bands(places, links, band.ravel(), count)
        # A single link may be chance where its seam has many.
        seam = _pair_numbers(self.piece[links], len(self.sizes))
        several = np.zeros(len(count), dtype=bool)
        several[band.ravel()] = np.bincount(seam)[seam] < 10
        kept = np.flatnonzero((count > 1) | several)
        kept = kept[np.argsort(-count[kept], kind="stable")[:_MOST_BANDS]]
        return Seams(ends[kept], np.maximum(widths[kept], _THINNEST * extent), count[kept])

    def _shown_links(self) -> Indices:
        """The cut links of torn pieces, each once and beginning in the piece with the smaller number, without those of faint seams."""
        ends = self.piece[self.cut_links]
        links = np.where((ends[:, 0] < ends[:, 1])[:, None], self.cut_links, self.cut_links[:, ::-1])
        links = np.unique(links, axis=0)
        ends = self.piece[links]
        if len(links) == 0:
            return links
        seam = _pair_numbers(ends, len(self.sizes))
        count = np.bincount(seam)[seam]
        # Each row has as many links; the mean number is that of all over all rows.
        per_row = len(self.cut_links) / max(self.cut_share, 1e-300) / len(self.piece)
        share = count[:, None] / (self.sizes[ends] * per_row)
        return links[(self.torn[ends] & (share >= _LEAST_SHARE)).any(axis=1)]


@dataclass(frozen=True, eq=False)
class Merging:
    """Pieces of the data's neighbour graph, and those that the map shows as one. It prints as a sentence.

    Attributes
    ----------
    data_piece : ndarray of shape (n,)
        The piece of the data of each row, 0 for the largest.
    merged : ndarray of shape (n,)
        Whether a row is in the same piece of the map as more rows of another piece of the data.
    """

    data_piece: NDArray[np.int32]
    merged: NDArray[np.bool_]

    def __str__(self) -> str:
        count, hidden = int(self.data_piece.max()) + 1, len(np.unique(self.data_piece[self.merged]))
        if count == 1:
            return "The data's neighbour graph is in one piece."
        shown = (
            f"the map shows {hidden} of them in one piece with a larger one" if hidden else "none is merged"
        )
        return f"The data's neighbour graph is in {count} pieces; {shown}."

    __repr__ = __str__


def map_pieces(Y: FloatArray, n_jobs: int) -> NDArray[np.int32]:
    """The piece of the map of each row; 0 is the largest, and ties are ordered by their first row."""
    n = len(Y)
    if n == 1:
        return np.zeros(1, dtype=np.int32)
    places = np.ascontiguousarray(Y, dtype=np.float64)
    return by_size(_core.map_pieces(places, min(_NEIGHBOR, n - 1), _REACH, n_jobs))


def data_pieces(lists: Indices) -> NDArray[np.int32]:
    """The connected component of the neighbour lists that each row belongs to, 0 for the largest."""
    n, k = lists.shape
    ends = np.stack([np.repeat(np.arange(n, dtype=np.int32), k), lists.ravel()], axis=1)
    return by_size(_core.component_roots(np.ascontiguousarray(ends[ends[:, 1] >= 0]), n))


def by_size(roots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Sets numbered by size; the largest is 0, and ties are ordered by their first row."""
    _, label, sizes = np.unique(roots, return_inverse=True, return_counts=True)
    rank = np.empty(len(sizes), np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.int32)
    return rank[label]


def find_tearing(piece: NDArray[np.int32], rows: Rows, lists: Indices) -> Tearing:
    """The Tearing of a map in these pieces, from the links of `rows` to the rows in their `lists` (−1 is no link)."""
    sizes = np.bincount(piece)
    there = lists >= 0
    cut = there & (piece[lists] != piece[rows][:, None])
    links = np.bincount(piece[rows], weights=there.sum(axis=1), minlength=len(sizes))
    out = np.bincount(piece[rows], weights=cut.sum(axis=1), minlength=len(sizes))
    outgoing = np.divide(out, links, out=np.full(len(sizes), np.nan), where=links > 0)
    row, rank = np.nonzero(cut)
    ends = np.stack([rows[row], lists[row, rank]], axis=1).astype(np.int32)
    with np.errstate(invalid="ignore"):
        torn = outgoing > TORN_FROM
    return Tearing(piece, sizes, outgoing, torn, float(out.sum() / max(links.sum(), 1)), ends)


def find_merging(piece: NDArray[np.int32], data_piece: NDArray[np.int32]) -> Merging:
    """The Merging of a map: which rows are in a piece of the map whose rows are mostly of another piece of the data."""
    pairs, count = np.unique(np.stack([piece, data_piece], axis=1), axis=0, return_counts=True)
    order = np.lexsort((pairs[:, 1], -count, pairs[:, 0]))
    first = np.append(True, np.diff(pairs[order, 0]) > 0)
    main = pairs[order[first], 1]
    return Merging(data_piece, data_piece != main[piece])


def _pair_numbers(ends: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """A number for each pair of pieces, the same for the same pair."""
    return np.unique(ends[:, 0].astype(np.int64) * count + ends[:, 1], return_inverse=True)[1]


def _bands(
    Y: NDArray[np.float64], links: Indices, band: NDArray[np.intp], count: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends and widths of the bands: means and spreads of their links' ends."""

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([np.bincount(band, weights=v) / count for v in values.T], axis=1)

    ends = np.stack([mean(Y[links[:, side]]) for side in (0, 1)], axis=1)
    along = ends[:, 1] - ends[:, 0]
    along /= np.maximum(np.sqrt((along * along).sum(axis=1, keepdims=True)), 1e-300)
    widths = np.empty(ends.shape[:2])
    for side in (0, 1):
        off = Y[links[:, side]] - ends[band, side]
        off -= (off * along[band]).sum(axis=1, keepdims=True) * along[band]
        # Over the directions across the band, of which a plane has one.
        spread = mean((off * off).sum(axis=1, keepdims=True))[:, 0] / max(1, Y.shape[1] - 1)
        widths[:, side] = 2 * _HALF_WIDTH * np.sqrt(spread)
    return ends, widths
