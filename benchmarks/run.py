"""Run one entry of the benchmarks and write its table.

python benchmarks/run.py neighbors --quick
python benchmarks/run.py neighbors --full --dataset mnist50 --threads 2 --repeats 3
python benchmarks/run.py neighbors --only pynndescent,winkel --rows 5000
python benchmarks/run.py maps --full
python benchmarks/run.py imports
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

# As a script, this folder would stand first on the path, and its modules hide installed namesakes.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import environment, imports, iterations, maps, neighbors, panel, report  # noqa: E402
from benchmarks.contestants import Task  # noqa: E402
from benchmarks.datasets import Dataset  # noqa: E402
from benchmarks.harness import WARM_UP_ROWS, Entry, Plan, default_interpreter, run_section  # noqa: E402

ENTRIES = {module.ENTRY.name: module.ENTRY for module in (neighbors, maps, panel, iterations, imports)}
QUICK_ROWS = 10_000


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("entry", choices=sorted(ENTRIES))
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick", action="store_true", help=f"at most {QUICK_ROWS} rows a data set (the default)"
    )
    size.add_argument(
        "--full", action="store_true", help="all data sets, whole; the table is meant to be kept"
    )
    parser.add_argument("--rows", type=int, help="at most so many rows a data set")
    parser.add_argument("--dataset", default="", help="names of data sets, separated by commas")
    parser.add_argument("--only", default="", help="names, or beginnings of names, of contestants")
    parser.add_argument(
        "--keep",
        nargs="?",
        const="",
        metavar="NAME",
        help="with --full and --only: keep the rows of those contestants and leave the others of results/ENTRY (of ENTRY-NAME if a name is given) as they are",
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="run nothing: write results/ENTRY.md again from its .json"
    )
    parser.add_argument(
        "--threads", type=int, default=cores, help="threads of every contestant (default: all cores)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="rounds")
    parser.add_argument("--calls", type=int, default=2, choices=(1, 2), help="calls within a process")
    parser.add_argument(
        "--warm-rounds",
        type=int,
        help="in how many rounds --calls counts; the others call once (default: all)",
    )
    parser.add_argument("--warm-up", type=int, default=WARM_UP_ROWS, help="rows of the unrecorded run before")
    parser.add_argument("--neighbors", type=int, default=15, help="k")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--timeout", type=float, default=3600, help="seconds after which a process is stopped"
    )
    parser.add_argument("--python", default=default_interpreter(), help="interpreter that runs winkel")
    return parser.parse_args(arguments)


def choose_datasets(entry: Entry, options: argparse.Namespace) -> list[Dataset | None]:
    """The data sets asked for, cut to the rows asked for; one None for an entry without data."""
    if not entry.datasets:
        return [None]
    known = {dataset.name: dataset for dataset in entry.datasets}
    names = split(options.dataset) or (tuple(known) if options.full else entry.quick)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"Unknown data set {', '.join(unknown)}; entry {entry.name} has {', '.join(known)}.")
    rows = options.rows or (None if options.full else QUICK_ROWS)
    return [known[name].head(rows) for name in names]


def split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def main() -> None:
    options = parse()
    entry = ENTRIES[options.entry]
    if options.rewrite:
        report.write(entry, entry.name, {}, keep=True)
        return
    absent = environment.ensure()
    for name, reason in absent.items():
        print(f"peer {name} is absent: {reason}")
    task = Task(threads=options.threads, seed=options.seed, n_neighbors=options.neighbors)
    only = split(options.only)
    plan = Plan(
        task,
        options.repeats,
        options.calls,
        options.timeout,
        options.python,
        only,
        options.warm_up,
        options.warm_rounds,
    )
    if not any(plan.takes(contestant) for contestant in entry.contestants):
        raise SystemExit(
            f"--only {options.only} names none of {', '.join(c.name for c in entry.contestants)}."
        )
    # A kept table has all rows, and every contestant unless --keep says that the choice is meant.
    chosen = options.keep is not None or not options.only
    whole = (options.full or not entry.datasets) and not options.rows and chosen
    name = (
        (f"{entry.name}-{options.keep}" if options.keep else entry.name) if whole else f"{entry.name}-trial"
    )
    sections: dict[str, dict[str, object]] = {}
    for dataset in choose_datasets(entry, options):
        sections[dataset.key if dataset else "fresh processes"] = run_section(entry, dataset, plan)
        text = report.write(entry, name, sections, keep=whole, only=bool(only))
    print(f"\n{text}\nwritten to {report.FOLDER / name}.md and .json")


if __name__ == "__main__":
    main()
