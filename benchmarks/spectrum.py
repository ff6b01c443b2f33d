"""What `winkel.spectrum` costs beside one map, in processor time, and how good its maps are beside maps by themselves.

    python -m benchmarks.spectrum [--rows 10000] [--repeats 3]

One map, five maps and five with their scores in turn; ratios are medians over the rounds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import winkel as wk
from winkel.estimators.mde import fit_along
from winkel.methods.mde.spectrum import PLACES

from .datasets import cached, digits, mnist_components


def processor(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and the processor seconds of all threads."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def report(name: str, X: np.ndarray, repeats: int) -> None:
    """Print the ratios of one data set, medians over rounds of one map, five maps, and five maps with scores."""
    maps, scored = [], []
    for _ in range(repeats):
        one, alone = processor(lambda: wk.MDE(focus=1.0, random_state=0, n_jobs=2).fit(X))
        maps.append(processor(lambda: fit_along(wk.MDE(random_state=0, n_jobs=2), X, PLACES))[1] / alone)
        found, seconds = processor(lambda: wk.spectrum(X, n_jobs=2))
        scored.append(seconds / alone)
    ratio = found.models[-1].result_.objective / one.result_.objective
    print(
        f"{name} ({len(X)} rows): one map {alone:.2f} s, five {median(maps):.2f} times as long, with scores {median(scored):.2f} times; "
        f"objective at focus 1 {ratio:.4f} times that of the map by itself\n{found}\n",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000, help="rows of MNIST")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    wk.MDE(max_iter=5, n_jobs=2).fit(digits()[0][:300])  # imports are not part of it
    report("digits", digits()[0], options.repeats)
    report("MNIST", np.load(cached("mnist50", mnist_components))[: options.rows], options.repeats)


if __name__ == "__main__":
    main()
