"""How good neighbour lists and maps are: plain NumPy in float64, without winkel, so as to judge it.

All of it runs on a sample of rows against every other row, in blocks, so that no n×n matrix is ever held.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

BLOCK_BYTES = 2**28  # of one block of distances
SLACK = 16  # candidates beyond k that are measured again without the cancellation of |x|² - 2xy + |y|²


def sample_rows(n: int, size: int, seed: int = 0) -> np.ndarray:
    """`size` distinct rows out of n, sorted; all of them when n is smaller."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.Generator(np.random.Philox(key=seed)).choice(n, size, replace=False))


def squared_distance_blocks(queries: np.ndarray, X: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Slices of the queries with their squared distances to every row of X, in float64."""
    X = np.asarray(X, dtype=np.float64)
    norms = np.einsum("ij,ij->i", X, X)
    step = max(1, BLOCK_BYTES // (8 * len(X)))
    for start in range(0, len(queries), step):
        part = slice(start, min(start + step, len(queries)))
        block = np.asarray(queries[part], dtype=np.float64)
        squares = norms - 2 * (block @ X.T)
        squares += np.einsum("ij,ij->i", block, block)[:, None]
        yield part, np.maximum(squares, 0, out=squares)


def distances_to(X: np.ndarray, rows: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Distances from X[rows[r]] to each X[indices[r]], by differences in float64."""
    found = np.empty(indices.shape)
    for r, row in enumerate(rows):
        difference = X[indices[r]].astype(np.float64) - X[row].astype(np.float64)
        found[r] = np.sqrt(np.einsum("ij,ij->i", difference, difference))
    return found


def exact_neighbors(X: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices and distances of the k nearest other rows of each sampled row, nearest first."""
    width = min(k + SLACK, len(X) - 1)
    candidates = np.empty((len(rows), width), dtype=np.int64)
    for part, squares in squared_distance_blocks(X[rows], X):
        squares[np.arange(len(squares)), rows[part]] = np.inf
        candidates[part] = np.argpartition(squares, width - 1, axis=1)[:, :width]
    candidates.sort(axis=1)  # so that the stable sort below breaks ties by index
    distances = distances_to(X, rows, candidates)
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(distances, order, axis=1)


def listed_neighbors(D: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """As `exact_neighbors`, of a matrix of distances."""
    part = np.array(D[rows], dtype=np.float64)
    part[np.arange(len(rows)), rows] = np.inf
    order = np.argsort(part, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(part, order, axis=1)


def neighbor_recall(
    X: np.ndarray, rows: np.ndarray, true_distances: np.ndarray, indices: np.ndarray, tolerance: float = 1e-6
) -> float:
    """Share of the k nearest that the lists `indices` (of the sampled rows) hold.

    An entry counts when it is no farther than the k-th true neighbour, so that among ties any will do; the
    row itself, repeated entries and the -1 of an unfilled list never count.
    """
    k = true_distances.shape[1]
    indices = np.sort(indices[:, :k].astype(np.int64), axis=1)
    valid = (indices >= 0) & (indices < len(X)) & (indices != rows[:, None])
    valid[:, 1:] &= indices[:, 1:] != indices[:, :-1]
    distances = distances_to(X, rows, np.where(valid, indices, rows[:, None]))
    return float(
        (valid & (distances <= true_distances[:, -1:] * (1 + tolerance))).sum() / true_distances.size
    )


def distance_error(X: np.ndarray, rows: np.ndarray, indices: np.ndarray, distances: np.ndarray) -> float:
    """Largest error of the reported distances, relative to the mean true distance in the lists."""
    true = distances_to(X, rows, indices)
    return float(np.abs(distances - true).max() / true.mean())


def map_recall(data_indices: np.ndarray, Y: np.ndarray, rows: np.ndarray) -> float:
    """Share of each sampled row's k neighbours in the data that are among its k neighbours in the map."""
    k = data_indices.shape[1]
    map_indices, _ = exact_neighbors(Y, rows, k)
    shared = (data_indices[:, :, None] == map_indices[:, None, :]).any(axis=2)
    return float(shared.mean())


def trustworthiness(X: np.ndarray, Y: np.ndarray, rows: np.ndarray, k: int) -> float:
    """Trustworthiness of the map Y (Venna and Kaski 2001), over sampled rows, each against all others.

    A map neighbour whose rank in the data is r costs max(0, r - k); the sum is scaled as scikit-learn scales
    it, with the number of sampled rows in the place of n. A rank counts the rows that are strictly nearer.
    """
    n = len(X)
    if not 0 < k < n / 2:
        raise ValueError(f"k must lie between 0 and n / 2 = {n / 2}; got {k}.")
    map_indices, _ = exact_neighbors(Y, rows, k)
    cost = 0.0
    for part, squares in squared_distance_blocks(X[rows], X):
        local = np.arange(len(squares))
        squares[local, rows[part]] = np.inf
        for column in map_indices[part].T:
            ranks = 1 + (squares < squares[local, column][:, None]).sum(axis=1)
            cost += float(np.maximum(ranks - k, 0).sum())
    return 1 - 2 * cost / (len(rows) * k * (2 * n - 3 * k - 1))


def label_accuracy(Y: np.ndarray, labels: np.ndarray, n_train: int, k: int = 10) -> float:
    """Share of the rows from n_train on whose label leads among their k nearest rows before n_train.

    Among equally frequent labels the smallest wins.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    train, right = Y[:n_train], 0
    for part, squares in squared_distance_blocks(Y[n_train:], train):
        nearest = codes[np.argpartition(squares, k - 1, axis=1)[:, :k]]
        votes = (nearest[:, :, None] == np.arange(len(classes))).sum(axis=1)
        right += int((votes.argmax(axis=1) == codes[n_train:][part]).sum())
    return right / (len(Y) - n_train)


def label_agreement(Y: np.ndarray, labels: np.ndarray, k: int = 10) -> float:
    """Share of all rows whose label leads among their k nearest other rows; of equally frequent labels the smallest."""
    classes, codes = np.unique(labels, return_inverse=True)
    right = 0
    for part, squares in squared_distance_blocks(Y, Y):
        own = np.arange(len(Y))[part]
        squares[np.arange(len(own)), own] = np.inf
        nearest = codes[np.argpartition(squares, k - 1, axis=1)[:, :k]]
        votes = (nearest[:, :, None] == np.arange(len(classes))).sum(axis=1)
        right += int((votes.argmax(axis=1) == codes[part]).sum())
    return right / len(Y)


def n_train(n: int) -> int:
    """Rows that train: the first six sevenths, which of MNIST's 70 000 are its 60 000 training rows."""
    return n * 6 // 7


# ------------------------------------------------------------------------------------------------ all scales


def rank_block(squares: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Ranks 1, 2, ... of all other rows by distance, ties by index; 0 for the row itself."""
    squares[np.arange(len(squares)), own] = -1.0
    order = np.argsort(squares, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(squares.shape[1])[None, :], axis=1)
    return ranks


def all_scales(
    X: np.ndarray,
    Y: np.ndarray,
    rows: np.ndarray,
    sizes: tuple[int, ...] = (15, 50, 150),
    metric: str = "euclidean",
) -> dict[str, float]:
    """Recall at some sizes, area under R_NX(K) over log K, trustworthiness and continuity at the first size, and the rank
    correlation of distances, over sampled rows, each against all others. X holds rows, or distances if the metric is "precomputed"."""
    n, k = len(X), sizes[0]
    largest = np.zeros(n, dtype=np.int64)  # how many pairs have their larger rank at K
    trust = continuity = 0.0
    correlations = []
    step = max(1, BLOCK_BYTES // (8 * n))
    starts = range(0, len(rows), step)
    distances = (
        (slice(s, min(s + step, len(rows))), np.square(X[rows[s : s + step]], dtype=np.float64))
        for s in starts
    )
    in_data_blocks = distances if metric == "precomputed" else squared_distance_blocks(X[rows], X)
    blocks = zip(in_data_blocks, squared_distance_blocks(Y[rows], Y), strict=False)
    for (part, in_data), (other, in_map) in blocks:
        if part != other:
            raise AssertionError("data and map have as many rows, so their blocks are the same")
        far = np.sqrt(in_data), np.sqrt(in_map)
        data_ranks, map_ranks = rank_block(in_data, rows[part]), rank_block(in_map, rows[part])
        np.add.at(largest, np.maximum(data_ranks, map_ranks).ravel(), 1)
        trust += float(np.maximum(np.where((map_ranks > 0) & (map_ranks <= k), data_ranks, 0) - k, 0).sum())
        continuity += float(
            np.maximum(np.where((data_ranks > 0) & (data_ranks <= k), map_ranks, 0) - k, 0).sum()
        )
        correlations.append(np.stack([d[:, :: max(1, n // 500)].ravel() for d in far]))
    shared = np.cumsum(largest[1:]) / len(
        rows
    )  # shared[K - 1]: neighbours that both have among their K nearest
    K = np.arange(1, n - 1)
    rnx = ((n - 1) * shared[: n - 2] / K - K) / (n - 1 - K)
    scale = 2 / (len(rows) * k * (2 * n - 3 * k - 1))
    ranks = [
        np.argsort(np.argsort(d, kind="stable"), kind="stable") for d in np.concatenate(correlations, axis=1)
    ]
    return {
        **{f"recall {size}": float(shared[size - 1] / size) for size in sizes if size < n - 1},
        "R_NX AUC": float((rnx / K).sum() / (1 / K).sum()),
        "trustworthiness": 1 - scale * trust,
        "continuity": 1 - scale * continuity,
        "distance correlation": float(np.corrcoef(*ranks)[0, 1]),
    }


def tearing(lists: np.ndarray, rows: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Number of pieces of the map, share of the data's neighbour links (of sampled rows) that run between pieces, and
    number of torn pieces, as `winkel.measure` counts them."""
    from winkel.measures.tearing import find_tearing, map_pieces

    found = find_tearing(map_pieces(Y, 1), rows, lists)
    return {
        "pieces": float(len(found.sizes)),
        "links cut": found.cut_share,
        "torn pieces": float(found.torn.sum()),
    }


def strays(Y: np.ndarray) -> float:
    """The extent of the map over that of its middle 99 %, in the direction where it is largest."""
    whole = np.ptp(Y, axis=0)
    middle = np.quantile(Y, 0.995, axis=0) - np.quantile(Y, 0.005, axis=0)
    return float((whole / np.maximum(middle, 1e-300)).max())
