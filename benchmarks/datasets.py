"""The data of the benchmarks, prepared once and cached as .npy in build/bench (or WINKEL_BENCH_CACHE)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from .environment import ROOT


def cache_folder() -> Path:
    """Where prepared data and true neighbours are kept."""
    return Path(os.environ.get("WINKEL_BENCH_CACHE") or ROOT / "build" / "bench").resolve()


def cached(name: str, build: Callable[[], np.ndarray]) -> Path:
    """The file that holds `build()`, called only if the file is not there."""
    path = cache_folder() / f"{name}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.stem}.{os.getpid()}.npy")
        np.save(temporary, build())
        os.replace(temporary, path)
    return path


@dataclass(frozen=True)
class Dataset:
    """A named matrix: `build` makes all of it, and `limit` keeps only its first rows."""

    name: str
    description: str
    rows: int
    build: Callable[[], np.ndarray]
    build_labels: Callable[[], np.ndarray] | None = None
    limit: int | None = None
    metric: str = "euclidean"  # or "precomputed": the matrix holds distances

    def head(self, limit: int | None) -> Dataset:
        """The first `limit` rows; itself when it has no more."""
        if limit is None or limit >= self.rows:
            return self
        return replace(self, rows=limit, limit=limit)

    @property
    def key(self) -> str:
        return self.name if self.limit is None else f"{self.name}-{self.limit}"

    def path(self) -> Path:
        """The file of the matrix."""
        whole = cached(self.name, self.build)
        if self.limit is None:
            return whole
        columns = slice(self.limit if self.metric == "precomputed" else None)
        return cached(self.key, lambda: np.load(whole, mmap_mode="r")[: self.limit, columns])

    def load(self) -> np.ndarray:
        """The matrix, left on disk and read where it is needed."""
        return np.load(self.path(), mmap_mode="r")

    def labels(self) -> np.ndarray | None:
        """A label for every row, or None."""
        return None if self.build_labels is None else self.build_labels()[: self.rows]

    def facts(self) -> dict[str, object]:
        """Shape, type and hash, for the record."""
        X = self.load()
        with self.path().open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "key": self.key,
            "description": self.description,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "dtype": str(X.dtype),
            "sha256": digest,
        }


@cache
def mnist() -> tuple[np.ndarray, np.ndarray]:
    """MNIST's 70 000 digits (60 000 of training first) as float32 pixels, and their labels."""
    try:
        from winkel.datasets import load_mnist
    except ImportError:  # peers can be compared before winkel is built
        return read_mnist()
    data = load_mnist()
    return data.X.astype(np.float32), data.y


def read_mnist() -> tuple[np.ndarray, np.ndarray]:
    """MNIST from mnist70k.npz (X, y) in the folder WINKEL_DATA."""
    folder = os.environ.get("WINKEL_DATA")
    if not folder:
        raise SystemExit(
            "MNIST is read from the folder WINKEL_DATA, which is not set; set it or take other data."
        )
    with np.load(Path(folder) / "mnist70k.npz", allow_pickle=False) as file:
        return file["X"].reshape(len(file["X"]), -1).astype(np.float32), file["y"]


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's 1 797 digits of 8 × 8 pixels and their labels."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


def mnist_pixels() -> np.ndarray:
    return mnist()[0]


def mnist_labels() -> np.ndarray:
    return mnist()[1]


def mnist_components(n_components: int = 50) -> np.ndarray:
    """MNIST on its leading principal components, the sign of each set by its largest loading."""
    X = mnist_pixels().astype(np.float64)
    X -= X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X)
    basis = vectors[:, : -n_components - 1 : -1]
    basis *= np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(n_components)])
    return (X @ basis).astype(np.float32)


def clusters(n: int, n_features: int = 50, rows_per_cluster: int = 1000, seed: int = 1921) -> np.ndarray:
    """n rows from anisotropic Gaussian clusters of varied weight, scale and intrinsic dimension (10 to 15).

    The number of clusters grows with n: every n then has the same local geometry, and the growth of time with
    n shows the algorithm and not a change of the data. Rows of all clusters are mixed.
    """
    random = np.random.Generator(np.random.Philox(key=seed))
    n_clusters = max(10, n // rows_per_cluster)
    weights = random.lognormal(sigma=0.5, size=n_clusters)
    member = random.choice(n_clusters, size=n, p=weights / weights.sum())
    X = np.empty((n, n_features), dtype=np.float32)
    for cluster in range(n_clusters):
        rows = np.flatnonzero(member == cluster)
        dimension = int(random.integers(10, 16))
        center = 0.5 * random.normal(size=n_features)
        scales = random.lognormal(sigma=0.5) * np.geomspace(1, 0.3, dimension)
        basis = random.normal(size=(dimension, n_features)) / np.sqrt(n_features)
        points = (random.normal(size=(len(rows), dimension)) * scales) @ basis
        X[rows] = center + points + 0.01 * random.normal(size=points.shape)
    return X


MNIST_784 = Dataset("mnist784", "MNIST, raw pixels", 70_000, mnist_pixels, mnist_labels)
DIGITS = Dataset(
    "digits", "scikit-learn's digits, 8 × 8 pixels", 1797, lambda: digits()[0], lambda: digits()[1]
)
MNIST_50 = Dataset("mnist50", "MNIST, 50 principal components", 70_000, mnist_components, mnist_labels)
CLUSTERS = tuple(
    Dataset(f"clusters{name}", "synthetic anisotropic clusters", n, lambda n=n: clusters(n))
    for name, n in (("10k", 10_000), ("30k", 30_000), ("100k", 100_000), ("300k", 300_000), ("1m", 1_000_000))
)
