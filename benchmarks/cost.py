"""What a map by shards costs: operations, bytes and rounds of each stage, checked against runs, and told for more rows and machines.

    python -m benchmarks.cost RUN.json … [--keep benchmarks/results/scale.json]     add runs of benchmarks.scale to the kept ones
    python -m benchmarks.cost > docs/cost.md                                        the page, from the kept runs

The model counts; what a processor does of each kind in a second is taken from the runs (the median over them), stage by stage, so
that each run is predicted by rates of all. Seconds are processor seconds: the runs may have shared their machine.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

# The parts of the optimisation, and what benchmarks.scale calls what it times of each; what is left of the stage is the solver's.
OPTIMISE = {
    "attraction": ("pairs",),
    "spreading": ("spread", "read", "checks"),
    "transforms": ("transforms",),
    "trees": ("trees",),
    "solver": (),
}
KEPT = Path(__file__).parent / "results" / "scale.json"
BLOCK, GROUP, PROBES, CELL, BALANCE, SAMPLED = 2**18, 8, 12, 512, 40, 512
REACH, NODES = 16, 36  # neighbours whose neighbours a round looks at; nodes of the grid that a point touches
TREE = 2000  # operations for each row where a tree sums the repulsion
INSERT = (
    6000  # operations that a place in a list of nearest rows costs: comparing is by vectors, keeping is not
)
FRESH, REUSED = (
    1.0e-9,
    2**25,
)  # processor seconds for each byte of an array so large that the system hands it out anew each time
READ, MAPPED = (
    0.2e-9,
    4e6,
)  # processor seconds for each byte of pairs read from the disk, which those of more rows are each time
START = 2.0  # processor seconds in which a program starts, before it copies anything
MOST_NODES = 16  # of the grid for each row
_A_WHILE = 0.2  # processor seconds that can be told from none
VECTORS = 7  # of coordinates that an iteration makes and lets go
PASSES = 24  # over vectors of coordinates for each evaluation: what L-BFGS remembers, twice ten, and the rest


@dataclass(frozen=True)
class Size:
    """A map: rows, columns, listed neighbours, pairs of each row, nodes of the grid for each row and evaluation, rounds of joins, evaluations,
    and the part of them that a tree sums.

    The defaults are those of 100 000 rows.
    """

    n: float
    m: int = 50
    k: int = 30
    pairs: float = 43.5
    nodes: float = 2.7
    joins: int = 1
    evaluations: int = 157
    trees: float = 0.46

    @property
    def cell(self) -> float:
        """Rows of a cell."""
        return max(CELL, math.sqrt(self.n / BALANCE))

    @property
    def tasks(self) -> float:
        """Blocks, each of which is a task of every stage but the optimisation."""
        return math.ceil(self.n / BLOCK)

    @property
    def groups(self) -> float:
        """Groups of blocks, which are the tasks of an evaluation."""
        return math.ceil(self.tasks / GROUP)


@dataclass(frozen=True)
class Stage:
    """Operations by workers and by the client, bytes read and written on the shared disk, and rounds: how often all wait for all."""

    operations: float
    disk: float
    rounds: int = 1
    alone: float = 0.0  # operations of the client, which wait for nobody and which nobody shares
    fixed: float = 0.0  # processor seconds beside operations


def nearest(candidates: float, k: int, m: int) -> float:
    """Operations that find the k nearest of so many candidates of m columns.

    All are compared; if they come in no order, k (1 + log(candidates / k)) of them are among the nearest so far, and are put into the list.
    """
    return candidates * 2 * m + INSERT * k * (1 + math.log(max(1.0, candidates / k)))


def stages(size: Size, workers: int = 1) -> dict[str, Stage]:
    """The cost of every stage."""
    n, m, k, cells = size.n, size.m, size.k, size.n / size.cell
    row = 4.0 * m
    grid = 4.0 * size.nodes * n
    each, on_grid = size.evaluations, (1 - size.trees) * size.evaluations
    transforms = 10 * size.nodes * n * math.log2(max(2.0, size.nodes * n))
    return {
        "copy": Stage(n * m, 2 * n * row, fixed=START),
        "cells": Stage(0.0, 0.0, 1, 4 * 16 * cells * nearest(cells, 1, m)),
        "assign": Stage(n * nearest(cells, PROBES, m), n * (row + 4 * PROBES)),
        "order": Stage(0.0, 8 * n, 1, n * math.log2(n)),
        "sort": Stage(n * m, 2 * n * row),
        "probe": Stage(SAMPLED * n * 2 * m, n * row),
        "search": Stage(n * nearest(PROBES * size.cell, k, m), n * (row + 4 * k)),
        "join": Stage(
            size.joins * n * (REACH * REACH + k) * 3 * m, size.joins * n * (row + 12 * k), size.joins
        ),
        "gifts": Stage(n * k * 300, n * 24 * k),
        "pairs": Stage(n * k * 100, n * (12 * k + 8 * size.pairs)),
        # Coordinates to every worker, and gradients back; then the grid of every group, the potential, and what is read off it.
        "attraction": Stage(
            each * n * 12 * size.pairs, each * (workers + 1) * 8 * n, round(each), fixed=each * _again(size)
        ),
        "spreading": Stage(
            on_grid * n * 8 * NODES,
            each * (8 * n + (workers + size.groups) * grid),
            round(on_grid),
            fixed=each * _fresh(grid),
        ),
        "transforms": Stage(0.0, 0.0, 0, each * transforms, each * _fresh(9 * size.nodes * n)),
        "trees": Stage(0.0, 0.0, 0, each * size.trees * TREE * n),
        "solver": Stage(0.0, 0.0, 0, each * PASSES * 4 * n, each * _fresh(8 * n) * VECTORS),
    }


def _again(size: Size) -> float:
    """Processor seconds in which pairs that do not stay mapped are read from the disk."""
    return READ * 8 * size.pairs * size.n if size.n > MAPPED else 0.0


def _fresh(size: float) -> float:
    """Processor seconds in which the system hands out an array of so many bytes."""
    return FRESH * size if size > REUSED else 0.0


def memory(size: Size) -> tuple[float, float]:
    """Bytes that the client needs, and each worker."""
    client = 8.0 * size.n * 34 + 5 * 4 * MOST_NODES * size.n + 2**28
    task = BLOCK * (4 * size.m + 1800) + 2 * 4 * MOST_NODES * size.n + 8 * size.n
    return client, task + 2**28


def disk(size: Size) -> float:
    """Bytes of the folder at most."""
    return size.n * (8 * size.m + 24 * size.k + 8 * size.pairs + 4 * PROBES)


# ------------------------------------------------------------------------------------------ runs


def of_run(run: dict[str, Any]) -> Size:
    """The size of a run of benchmarks.scale."""
    told = {name: run[name] for name in ("k", "pairs", "joins") if name in run}
    if "evaluations" in run:
        count = run["evaluations"]
        told |= {"evaluations": count, "nodes": run["nodes"] / count, "trees": run["trees"] / count}
    return Size(run["rows"], run.get("columns", 50), **told)


def spent(run: dict[str, Any]) -> dict[str, float]:
    """Processor seconds of each stage, and of the parts of the optimisation where the run tells them."""
    found = {name: stage["cpu"] for name, stage in run["stages"].items() if name not in ("optimise", "write")}
    if "parts" in run:
        told = {name: used for name, (used, _) in run["parts"].items()}
        found |= {name: sum(told.get(part, 0.0) for part in parts) for name, parts in OPTIMISE.items()}
        found["solver"] = run["stages"]["optimise"]["cpu"] - sum(found[name] for name in OPTIMISE)
    return found


def rates(runs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Operations in a processor second, by stage: the median over runs without workers in which it took a while."""
    found: dict[str, list[float]] = {}
    for run in runs:
        if run["workers"]:
            continue
        for name, stage in stages(of_run(run)).items():
            used = spent(run).get(name, 0.0) - stage.fixed
            if used >= _A_WHILE:
                found.setdefault(name, []).append((stage.operations + stage.alone) / used)
    rate = {name: statistics.median(values) for name, values in found.items()}
    if "assign" in rate:
        rate.setdefault("cells", rate["assign"])  # the same kernel
    return rate


def predicted(size: Size, rate: dict[str, float]) -> dict[str, float]:
    """Processor seconds of every stage whose rate is known."""
    return {
        name: stage.fixed + (stage.operations + stage.alone) / rate[name]
        for name, stage in stages(size).items()
        if name in rate
    }


@dataclass(frozen=True)
class Overhead:
    """Processor seconds beside the work itself: of each worker (its start), each task (sent, taken, answered), and each byte on the shared disk."""

    worker: float
    task: float
    byte: float

    def seconds(self, size: Size, workers: int) -> float:
        """Those of a run."""
        return float(np.dot((self.worker, self.task, self.byte), _moved(size, workers)))


def _moved(size: Size, workers: int) -> tuple[float, float, float]:
    """Workers, tasks, and bytes of coordinates and grids that go through the shared disk."""
    found = stages(size, workers)
    tasks = sum(
        stage.rounds * (size.groups if name in OPTIMISE else size.tasks)
        for name, stage in found.items()
        if stage.operations
    )
    return workers, tasks, sum(found[name].disk for name in OPTIMISE)


def overhead(runs: Sequence[dict[str, Any]], rate: dict[str, float]) -> Overhead:
    """What runs with workers took beyond the prediction without, by least squares of the relative error; nothing is below zero."""
    with_workers = [run for run in runs if run["workers"]]
    if len(with_workers) < 3:
        return Overhead(0.0, 0.0, 0.0)
    used = np.array([run["cpu_seconds"] for run in with_workers])
    alone = np.array([sum(predicted(of_run(run), rate).values()) for run in with_workers])
    counts = np.array([_moved(of_run(run), run["workers"]) for run in with_workers])
    unit = counts.max(axis=0)
    found, _ = nnls(counts / unit / used[:, None], (used - alone) / used)
    return Overhead(*(found / unit))


@dataclass(frozen=True)
class Machine:
    """A machine of a cluster: processors of the speed of those that ran, and bytes a second from the shared disk."""

    cores: int = 16
    disk: float = 1e9
    wait: float = 0.01  # seconds that a round takes beside its work


def forecast(size: Size, rate: dict[str, float], beside: Overhead, machines: int, machine: Machine) -> float:
    """Seconds on several machines; what the client does alone is done by one of them, by all its processors, and tasks are handed out one by one."""
    total = beside.worker + beside.task * _moved(size, machines)[1]
    for name, stage in stages(size, machines).items():
        if name not in rate:
            continue
        busy = min(machines * machine.cores, size.groups * machine.cores if name in OPTIMISE else size.tasks)
        total += stage.operations / rate[name] / busy + stage.alone / rate[name] / machine.cores
        total += stage.fixed / machine.cores if name in OPTIMISE else 0.0
        total += beside.byte * stage.disk / (machines * machine.cores)
        total += stage.disk / (machine.disk * machines) + stage.rounds * machine.wait
    return total


# ------------------------------------------------------------------------------------------ the page


def page(runs: Sequence[dict[str, Any]]) -> str:
    """The whole page, in Markdown."""
    rate = rates(runs)
    beside = overhead(runs, rate)
    return "\n".join(
        [
            *_introduction(),
            *_counts(),
            *_checked(runs, rate),
            *_workers(runs, rate, beside),
            *_forecasts(rate, beside),
            "",
        ]
    )


def _paragraph(text: str, indent: str = "") -> list[str]:
    """Lines of prose."""
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _introduction() -> list[str]:
    return [
        "# What a map by shards costs",
        "",
        *_paragraph(
            "This page says what each stage of [a map beyond memory](howto/large.md) costs, and predicts what larger maps and more "
            "machines would take. `python -m benchmarks.cost` makes it from the runs in `benchmarks/results/scale.json`, which "
            "`benchmarks.scale` measured."
        ),
        "",
        *_paragraph(
            "The model counts the operations of every stage. How many of them a processor does in a second is taken from the runs."
        ),
        "",
    ]


_DOES = {
    "copy": "copies the rows to the folder", "cells": "chooses cells by k-means of a sample", "assign": "finds the nearest cells of each row",
    "order": "orders the rows by cell", "sort": "writes the rows in that order", "probe": "finds the neighbours of 512 rows among all, to measure recall",
    "search": "compares each row with the rows of the cells nearest to it", "join": "compares it with its neighbours' neighbours",
    "gifts": "weighs what each row gives to its neighbours", "pairs": "adds up what both rows of a pair give", "attraction": "sums the attraction of pairs",
    "spreading": "spreads the rows on the grid of the repulsion, and reads them off it", "transforms": "transforms the grid",
    "trees": "sums the repulsion by a tree, where the map has spread out", "solver": "makes the steps of L-BFGS",
}  # fmt: skip


def _counts() -> list[str]:
    size = Size(1e7)
    lines = [
        "## Operations, bytes and rounds",
        "",
        *_paragraph(
            "The table is for 10 000 000 rows of 50 columns. *Bytes* are read and written on the disk that all workers share, which is "
            "also how coordinates and grids reach them. A *round* is a point at which all tasks must have ended before the next one can "
            "begin. From attraction on, the stages are parts of the optimisation."
        ),
        "",
        "| stage | what it does | grows as | operations | by the client alone | bytes | rounds |",
        "|---|---|---|---|---|---|---|",
    ]
    growth = {
        "copy": "n m", "cells": "m (n/c)²", "assign": "n (m n/c + log(n/c))", "order": "n log n", "sort": "n m", "probe": "512 n m", "search": "n (12 m c + k log c)",
        "join": "n m (16² + k)", "gifts": "n k", "pairs": "n k", "attraction": "evaluations × n pairs", "spreading": "evaluations × n",
        "transforms": "evaluations × g log g", "trees": "evaluations × n", "solver": "evaluations × n",
    }  # fmt: skip
    for name, stage in stages(size).items():
        lines.append(
            f"| {name} | {_DOES[name]} | {growth[name]} | {_number(stage.operations)} | {_number(stage.alone)} | {_bytes(stage.disk)} | {stage.rounds} |"
        )
    return [
        *lines,
        "",
        "- n is the number of rows, m of columns, k of listed neighbours, and g of nodes of the grid.",
        *_paragraph(
            f"- c = max({CELL}, √(n/{BALANCE})) is the number of rows in a cell. With it, choosing cells and searching in them together "
            "grow as n^1.5.",
            "  ",
        ),
        *_paragraph(
            f"- In the optimisation the system hands out arrays of more than {REUSED >> 20} MiB anew each time. This costs "
            f"{FRESH * 1e9:.1f} s of a processor for each GB, which the model adds to the operations.",
            "  ",
        ),
        "",
    ]


def _checked(runs: Sequence[dict[str, Any]], rate: dict[str, float]) -> list[str]:
    lines = [
        "## Predictions and measurements",
        "",
        *_paragraph(
            "Processor seconds, measured / predicted, without workers, on two cores of a shared machine. Rates are medians over these "
            f"same runs. The prediction of copying includes {START:g} s for the start of the program, the measurement only in runs whose "
            "optimisation was not timed by parts."
        ),
        "",
        *_paragraph(
            "In choosing cells and searching in them, comparing candidates is cheap, since it goes by vectors. Putting them into a list "
            "is not, since it goes one by one: k (1 + log(candidates / k)) of them are put in. A single cost for each of them, "
            f"{INSERT} operations, was found from these runs and suits both stages at all sizes."
        ),
        *(
            line
            for run in runs
            if "joins_from" in run
            for line in (
                "",
                *_paragraph(
                    "The largest run was made before rounds of joins were counted. That there were two is inferred from what they cost, "
                    "so its join does not check the model."
                ),
            )
        ),
        *(
            ["", "Only one size was run: its rates are its own, so this is no check yet."]
            if len(_sizes(runs)) < 2
            else []
        ),
        "",
    ]
    # The last of each size, which are those told by parts.
    alone = list({run["rows"]: run for run in sorted(runs, key=_key) if not run["workers"]}.values())
    lines += ["| stage | " + " | ".join(f"{run['rows']:,} rows" for run in alone).replace(",", " ") + " |"]
    lines += ["|---" * (len(alone) + 1) + "|"]
    for name in (*stages(Size(1e6)), "optimise", "sum"):
        cells = []
        for run in alone:
            used, told = _totals(run, rate)
            cells.append(f"{used[name]:.1f} / {told[name]:.1f}" if name in used else "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    peaks = (f"{run['peak_gb']:.2f}" if "peak_gb" in run else "–" for run in alone)
    return [*lines, "| peak, GB | " + " | ".join(peaks) + " |", "", *_furthest_off(alone, rate), ""]


def _totals(run: dict[str, Any], rate: dict[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Processor seconds of a run by stage, of the optimisation and of all, as measured and as predicted."""
    used, told = spent(run), predicted(of_run(run), rate)
    before = [name for name in told if name not in OPTIMISE]
    used["optimise"] = run["stages"]["optimise"]["cpu"]
    told["optimise"] = sum(told[name] for name in OPTIMISE)
    for each in (used, told):
        each["sum"] = each["optimise"] + sum(each[name] for name in before)
    return used, told


def _furthest_off(alone: Sequence[dict[str, Any]], rate: dict[str, float]) -> list[str]:
    """A sentence on the stage of each size whose prediction is the worst."""
    lines = ["Of the stages that take a twentieth of the time or more, the worst predicted ones are:", ""]
    for run in alone:
        used, told = _totals(run, rate)
        skipped = {"sum", "optimise"} if "parts" in run else {"sum"}
        ratios = {
            name: told[name] / seconds
            for name, seconds in used.items()
            if name not in skipped and seconds > 0.05 * run["cpu_seconds"]
        }
        name = max(ratios, key=lambda each: abs(math.log(ratios[each])))
        rows = f"{run['rows']:,}".replace(",", " ")
        lines.append(
            f"- {rows} rows: {name} is furthest off, predicted at {ratios[name]:.1f} times its cost."
        )
    lines += [
        "",
        *_paragraph(
            "The optimisation of the largest run was not timed by parts. Its prediction assumes as many evaluations, trees and nodes as "
            "those of 100 000 rows. Two things make a row more expensive there, as `benchmarks.evaluation` found on copies of pairs and map "
            "up to 10 000 000 rows (`benchmarks/results/shards.md`):"
        ),
        "",
        *_paragraph(
            "- *Large arrays.* Arrays of more than 32 MiB go back to the system, which hands them out anew: "
            f"{FRESH * 1e9:.1f} s for each GB, in all parts. In that run, transforms of grids did most of this: 0.02 microseconds a node more "
            "than now, when a few rows are transformed at a time.",
            "  ",
        ),
        *_paragraph(
            "- *Pairs on disk.* Pairs of more than four million rows do not stay mapped. Where the system has kept none of them, they are read "
            f"from the disk, {READ * 1e9:.1f} s for each GB; the model counts this.",
            "  ",
        ),
        "",
        *_paragraph(
            "The rest of the difference is unexplained. That run may have made more evaluations, which `benchmarks.scale` counts since."
        ),
    ]
    return lines


def _sizes(runs: Sequence[dict[str, Any]]) -> set[int]:
    return {run["rows"] for run in runs if not run["workers"]}


def _workers(runs: Sequence[dict[str, Any]], rate: dict[str, float], beside: Overhead) -> list[str]:
    lines = [
        "## With workers",
        "",
        *_paragraph(
            "Processor seconds of all processes, measured / predicted, and the bytes that by the model must go through the shared disk. "
            "Equal digests are maps of the same bytes. Runs that were timed by parts are of later code and not listed."
        ),
        "",
        *_paragraph(
            f"The overhead is fitted to these runs: {beside.worker:.1f} s for each worker (which starts and loads what it needs), "
            f"{1000 * beside.task:.0f} ms for each task, and {1e9 * beside.byte:.1f} s for each GB on the shared disk."
        ),
        "",
        "| rows | workers | processor seconds | bytes of the optimisation | peak, GB | digest |",
        "|---|---|---|---|---|---|",
    ]
    for run in sorted(runs, key=lambda run: (run["rows"], run["workers"])):
        if "parts" in run:  # of later code, whose maps have other bytes
            continue
        moved = _moved(of_run(run), run["workers"])[2] if run["workers"] else 0.0
        rows = f"{run['rows']:,}".replace(",", " ")
        told = sum(predicted(of_run(run), rate).values()) + beside.seconds(
            of_run(run), run["workers"]
        ) * bool(run["workers"])
        lines.append(
            f"| {rows} | {run['workers'] or 'none'} | {run['cpu_seconds']:.0f} / {told:.0f} | {_bytes(moved)} | {run['peak_gb']:.2f} | {run['digest']} |"
        )
    return [*lines, ""]


def _forecasts(rate: dict[str, float], beside: Overhead) -> list[str]:
    machine = Machine()
    lines = [
        "## More rows, more machines",
        "",
        *_paragraph(
            "These are predictions; none of this was run. Rows have 50 columns. Machines have "
            f"{machine.cores} processors as fast as those that ran, and each gets {_bytes(machine.disk)}/s of the shared disk."
        ),
        "",
        "| rows | folder | client's memory | a worker's | 1 machine | 4 | 16 | 64 | 256 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n in (1e7, 1e8, 1e9, 1e10):
        size = Size(n)
        client, worker = memory(size)
        times = (forecast(size, rate, beside, count, machine) for count in (1, 4, 16, 64, 256))
        lines.append(
            f"| {n:.0e} | {_bytes(disk(size))} | {_bytes(client)} | {_bytes(worker)} | "
            + " | ".join(_time(seconds) for seconds in times)
            + " |"
        )
    return [
        *lines,
        "",
        "What limits the growth, in the order in which it is met:",
        "",
        *_paragraph(
            "- **2³¹ rows**: rows are numbered in 32 bits on disk. 10¹⁰ rows would need 64 bits, and about 1.6 times the folder.",
            "  ",
        ),
        *_paragraph(
            "- **The client's memory**: coordinates, L-BFGS's history of them, and the grid are in one process. To go beyond, the vectors of "
            "L-BFGS would have to be sharded too. Its inner products are sums over shards, so the bytes could stay the same.",
            "  ",
        ),
        *_paragraph(
            "- **What the client does alone**: it transforms the grid, to which every group of eight blocks adds its own. Where a map has "
            "spread out, in a quarter to a half of the evaluations, it also sums the repulsion by a tree, which is not divided into shards. "
            "Beyond a few machines this is most of the time.",
            "  ",
        ),
        *_paragraph(
            "- **The choice of cells** grows as n^1.5. A tree of cells would make it n log n. It was tried on two levels, and its recall on "
            "overlapping clusters was too low.",
            "  ",
        ),
        "",
    ]


def _number(value: float) -> str:
    return f"{value:.1e}" if value else "–"


def _bytes(value: float) -> str:
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if value < 1000:
            return f"{value:.3g} {unit}" if value else "–"
        value /= 1000
    return f"{value:.3g} PB"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86400:.0f} days"


def _key(run: dict[str, Any]) -> tuple[int, int, bool]:
    return run["rows"], run["workers"], "parts" in run


def main() -> None:
    """Keep runs, or print the page of those that are kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--kept", type=Path, default=KEPT)
    options = parser.parse_args()
    kept = json.loads(options.kept.read_text()) if options.kept.exists() else []
    if not options.runs:
        print(page(kept), end="")
        return
    for path in options.runs:
        run = json.loads(path.read_text())
        kept = [each for each in kept if _key(each) != _key(run)] + [run]
    kept.sort(key=_key)
    options.kept.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
