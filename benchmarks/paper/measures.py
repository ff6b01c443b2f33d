"""Scores of a map against other implementations: the same numbers, and how long each takes.

    python -m benchmarks.paper.measures [--n 10000] [--full] [--map umap|mde]

Trustworthiness is compared with scikit-learn on n rows of MNIST (50 principal components) and, where zadu is installed,
trustworthiness, continuity and Spearman's correlation with zadu on at most 2 000 rows, which it needs as n × n matrices.
`--full` maps all 70 000 rows, by winkel or with `--map umap` by umap-learn, and times the whole report of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import winkel as wk
from winkel.methods.starts import principal_start

K = 15


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """What the work gives, and the least of its times."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return result, best


def score(name: str, X: np.ndarray, Y: np.ndarray, sample: str | None = "auto") -> float:
    """One score alone, without that of principal components."""
    return wk.measure(X, Y, scores=[name], n_neighbors=K, sample=sample, baseline=False)[name].value


def against_sklearn(X: np.ndarray, Y: np.ndarray) -> None:
    from sklearn.manifold import trustworthiness as theirs

    ours, seconds = timed(lambda: score("trustworthiness", X, Y, None), 3)
    expected, slow = timed(lambda: theirs(X, Y, n_neighbors=K))
    print(f"trustworthiness, {len(X)} rows, all counted: winkel {ours:.9f} in {seconds:.3f} s")
    print(
        f"  scikit-learn {expected:.9f} in {slow:.2f} s: difference {abs(ours - expected):.1e}, {slow / seconds:.0f}×"
    )


def against_zadu(X: np.ndarray, Y: np.ndarray) -> None:
    try:
        from zadu.measures import spearman_rho
        from zadu.measures import trustworthiness_continuity as pair
    except ImportError:
        print("zadu is not installed here; left out")
        return
    found, slow = timed(lambda: pair.measure(X, Y, K))
    t, quick = timed(lambda: score("trustworthiness", X, Y))
    c = score("continuity", X, Y)
    print(f"{len(X)} rows: trustworthiness winkel {t:.6f}, zadu {found['trustworthiness']:.6f};", end=" ")
    print(
        f"continuity winkel {c:.6f}, zadu {found['continuity']:.6f}; {slow:.2f} s for zadu's two, {quick:.3f} s for ours"
    )
    rho, slow = timed(lambda: spearman_rho.measure(X, Y))
    ours, quick = timed(lambda: score("distance_correlation", X, Y, None))
    print(
        f"  Spearman of distances winkel {ours:.6f} ({quick:.2f} s), zadu {rho['spearman_rho']:.6f} ({slow:.2f} s)"
    )


def whole_report(X: np.ndarray, Y: np.ndarray, labels: np.ndarray) -> None:
    report, seconds = timed(lambda: wk.measure(X, Y, labels=labels), 2)
    print(report)
    print(f"the whole report of {len(X)} rows, with its baseline: {seconds:.2f} s")


def the_map(X: np.ndarray, kind: str) -> np.ndarray:
    if kind == "umap":
        import umap

        maker: Any = umap.UMAP(n_neighbors=K)
    else:
        maker = wk.MDE(random_state=0)
    Y, seconds = timed(lambda: maker.fit_transform(X))
    print(f"map of {len(X)} rows by {kind}: {seconds:.1f} s")
    return np.ascontiguousarray(Y)


def main() -> None:
    """The comparison on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--map", choices=["mde", "umap"], default="mde")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    mnist = wk.datasets.load_mnist()
    X = principal_start(mnist.X.astype(np.float32), 50)
    size = len(X) if options.full else options.n
    Y = the_map(X[:size], options.map)
    against_sklearn(X[: options.n], Y[: options.n])
    few = min(2000, options.n)
    against_zadu(X[:few].astype(np.float64), Y[:few].astype(np.float64))
    whole_report(X[:size], Y, mnist.y[:size])


if __name__ == "__main__":
    main()
