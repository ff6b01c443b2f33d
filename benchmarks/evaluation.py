"""One evaluation of the problem of a map by shards, part by part, at the size of a run and on many copies of it.

    python -m benchmarks.scale 1000000 --folder FOLDER --keep-work
    python -m benchmarks.evaluation FOLDER/1000000x50 --copies 1 10

The copies are those of the run's pairs: cell by cell beside each other, so that there are as many times more cells of the same size, and neighbours
in other cells lie as many times further away; and of its map, as wide as keeps its density. Processor seconds, and those of the system among
them, are told for a row and evaluation in microseconds. What the solver does beside evaluations is timed on a bowl. "pairs from disk" is the
attraction when their files were dropped from the system's cache before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .scale import Counted, used
from .shards import apart

CELL = 512
ROUNDS, STEPS = 2, 15


def copied(work: Path, n: int, copies: int, target: Any, layout: Any) -> int:
    """Write the pairs of copies of the first n rows, and give their number."""
    from winkel.scale.folder import Folder

    source = Folder(work)
    block = json.loads((work / "run.json").read_text())["block"]
    parts = [
        [source.map(f"{what}-{b}") for what in ("indptr", "indices", "weights")]
        for b in range(-(-n // block))
    ]
    count = 0
    for b in range(layout.n_blocks):
        first, last = layout.span(b)
        rows, indices, weights = [np.zeros(1, np.int64)], [], []
        for old, copy in _pieces(first, last, copies):
            starts, to, weight = parts[old // block]
            ends = np.array(starts[old % block : old % block + CELL + 1])
            near = np.minimum(to[ends[0] : ends[-1]], n - 1)
            indices.append((near // CELL * copies + copy) * CELL + near % CELL)
            weights.append(weight[ends[0] : ends[-1]])
            rows.append(rows[-1][-1] + ends[1:] - ends[0])
        target.save(f"indptr-{b}", np.concatenate(rows))
        target.save(f"indices-{b}", np.concatenate(indices).astype(np.int32))
        target.save(f"weights-{b}", np.concatenate(weights))
        count += int(rows[-1][-1])
    return count


def _pieces(first: int, last: int, copies: int) -> Iterator[tuple[int, int]]:
    """Of each cell from first to last, the row of the run where the cell begins that it is a copy of, and which copy."""
    for cell in range(first // CELL, last // CELL):
        yield cell // copies * CELL, cell % copies


def evaluated(folder: Path, copies: int, jobs: int, width: float, place: Path) -> dict[str, Any]:
    """What an evaluation costs on so many copies."""
    import winkel as wk
    from winkel.methods.mde.neighbors import cauchy_repulsion
    from winkel.methods.mde.plan import Settings
    from winkel.scale.cells import Layout
    from winkel.scale.edges import Pairs
    from winkel.scale.engine import LocalEngine
    from winkel.scale.folder import Folder
    from winkel.scale.problem import ShardedProblem
    from winkel.solvers.lbfgs import LBFGS

    work = folder / "work"
    order = np.array(Folder(work).map("order"))
    n = len(order) // CELL * CELL
    layout, target = Layout(n * copies, 2**18), Folder(place)
    count = copied(work, n, copies, target, layout)
    Y = np.load(folder / "map-0.npy")[order[:n]]
    noise = np.random.default_rng(0)
    wide = np.empty((n * copies, 2), np.float32)
    for copy in range(copies):
        shown = wide.reshape(-1, copies, CELL, 2)[:, copy]
        shown[:] = (width * np.sqrt(copies) * Y + 0.5 * noise.normal(size=Y.shape)).reshape(-1, CELL, 2)
    settings = Settings.of(wk.MDE())
    background = cauchy_repulsion(
        settings.forces.repulsive, settings.repulsive_fraction, count / len(wide), len(wide)
    )
    problem = ShardedProblem(
        target, layout, Pairs(count // 2, count / 2), settings.forces.attractive, background, settings.constraint, 2, LocalEngine(jobs), jobs
    )  # fmt: skip
    problem.evaluate(wide)  # reads what is on disk, and transforms the kernel
    counted = Counted()
    for _ in range(ROUNDS):
        problem.evaluate(wide)
    told = counted.told()
    parts = {name: np.array(spent) / ROUNDS for name, spent in told["parts"].items()}
    begun = used()
    problem._field.evaluate(wide)
    parts |= {"a tree": used() - begun, "solver": _solver(LBFGS(), wide, problem)}
    parts["pairs from disk"] = _from_disk(problem, wide, place, counted)
    return {
        "rows": len(wide),
        "pairs": round(count / len(wide) / 2, 1),
        "nodes": round(told["nodes"] / ROUNDS, 2),
        "trees": told["trees"] / ROUNDS,
        "parts": {name: (1e6 * spent / len(wide)).round(3).tolist() for name, spent in parts.items()},
    }


def _from_disk(problem: Any, Y: Any, place: Path, counted: Counted) -> Any:
    """What the attraction costs when the system has kept nothing of the pairs."""
    from winkel.scale import problem as module

    module._MAPPED_ROWS = 0  # nothing stays mapped, so that it can be let go
    problem.evaluate(Y)
    for file in place.glob("*.npy"):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = counted.told()["parts"]["pairs"]
    problem.evaluate(Y)
    return np.array(counted.told()["parts"]["pairs"]) - before


def _solver(solver: Any, Y: Any, problem: Any) -> Any:
    """What an iteration costs beside its evaluation, once the memory of steps is full."""

    class Bowl:
        n_threads = problem.n_threads
        project, project_tangent = problem.project, problem.project_tangent
        spent = 0.0

        def evaluate(self, Y: Any) -> Any:
            begun = used()
            G = Y * np.linspace(0.5, 1.5, len(Y), dtype=np.float32)[:, None]  # which no step solves
            found = 0.5 * float(np.vdot(Y, G)), G
            self.spent = self.spent + used() - begun
            return found

    bowl = Bowl()
    state = solver.init(bowl, Y)
    for _ in range(solver.memory_size):
        state = solver.step(bowl, state)
    begun, bowl.spent = used(), 0.0
    for _ in range(STEPS):
        state = solver.step(bowl, state)
    return (used() - begun - bowl.spent) / STEPS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 10])
    parser.add_argument(
        "--width", type=float, default=1.0, help="of the map: narrower ones are summed on a grid"
    )
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    for copies in options.copies:
        place = Path(tempfile.mkdtemp(prefix="winkel-evaluation-", dir=options.folder))
        try:
            print(
                json.dumps(apart(evaluated, options.folder, copies, options.jobs, options.width, place)),
                flush=True,
            )
        finally:
            shutil.rmtree(place)


if __name__ == "__main__":
    main()
