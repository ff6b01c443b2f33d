"""Every table and figure of the five papers again, into benchmarks/paper/results.

    python -m benchmarks.paper                  # all in minutes, into results/quick
    python -m benchmarks.paper --size medium    # larger, an hour or two, into results/medium
    python -m benchmarks.paper --size full      # the papers' sizes, many hours, into results/full
    python -m benchmarks.paper lvm tsm-folds    # only those whose name begins so
    python -m benchmarks.paper --index          # only results/README.md, from what is there

Each script runs in a process of its own; what it prints becomes one text with date, versions, machine and command, and its pictures
stand beside. results/README.md lists what is worse than the papers first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .record import GOOD, OTHER, WORSE, setting

RESULTS = Path(__file__).parent / "results"


# Quick sizes take seconds, full ones are the papers'. Medium ones are between, where full ones are out of reach of two cores in an hour or
# two; where there is no medium one, it is the full one.
@dataclass(frozen=True)
class Task:
    """What is made again, the module that does so, and its arguments by size."""

    title: str
    module: str
    quick: str
    full: str
    medium: str = ""

    def arguments(self, size: str) -> list[str]:
        """Those of a size, with the module first."""
        given = {"quick": self.quick, "medium": self.medium or self.full, "full": self.full}[size]
        return [f"benchmarks.paper.{self.module}", *given.split()]


WORDS = "landmarks --data words100k --rows"
TASKS = {
    "mde-fig2.5": Task("MDE, figs 2.5 and 2.6", "mde_chapters", "simple", "simple"),
    "mde-fig4.6": Task("MDE, fig 4.6: graph layouts", "mde", "layouts", "layouts"),
    "mde-table7.1": Task("MDE, table 7.1", "mde", "table --items 1000", "table --items 100000", "table --items 10000"),
    "mde-fig7.1": Task("MDE, figs 7.1 and 7.3: residuals, medium problems", "mde", "residuals --items 2000", "residuals --items 100000"),
    "mde-fig7.1-large": Task("MDE, figs 7.1 and 7.3: the large problems", "mde", "residuals --large --items 20000", "residuals --large --items 1000000"),
    "mde-fig7.2": Task("MDE, fig 7.2: gradient methods", "mde", "methods --items 2000", "methods --items 100000"),
    "mde-fig7.4": Task("MDE, fig 7.4: the stochastic method", "mde", "stochastic --starts 3", "stochastic --starts 100", "stochastic --starts 5"),
    "mde-inner": Task("MDE, how far a round of the stochastic method is solved", "mde", "inner --starts 1", "inner --starts 4"),
    "mde-fig7.5": Task("MDE, fig 7.5: a very large problem", "mde", "large --items 10000 --components 5 --starts 1", "large --items 100000 --components 100 --starts 10", "large --items 100000 --components 100 --starts 1"),
    "mde-chapter8": Task("MDE, chapter 8: images", "mde_images", "--rows 2000", "--rows 70000", "--rows 10000"),
    "mde-chapter9": Task("MDE, chapter 9: networks", "mde_chapters", "networks --names GrQc", "networks", "networks --most 1000000"),
    "mde-chapter10": Task("MDE, chapter 10: counties", "mde_chapters", "counties", "counties"),
    "mde-chapter11": Task("MDE, chapter 11: genetics", "mde_chapters", "genetics --quick --neighbors 30", "genetics", "genetics --quick --neighbors 30 60"),
    "mde-seeds": Task("MDE, chapter 11: maps of clean genes by seed", "mde_chapters", "seeds --seeds 3", "seeds --seeds 8"),
    "mde-chapter12": Task("MDE, chapter 12: cells", "mde_chapters", "cells", "cells"),
    "forces-fig2": Task("Attraction and repulsion, fig 2", "forces", "figure2 --rows 600", "figure2 --rows 1000"),
    "forces-fig3": Task("Attraction and repulsion, fig 3", "forces", "figure3 --rows 1000", "figure3 --rows 5000", "figure3 --rows 3000"),
    "forces-conjecture": Task("Attraction and repulsion, conjecture 1", "forces", "conjecture --rows 300", "conjecture --rows 600"),
    "forces-steps": Task("Attraction and repulsion, two-kernel PCA by steps and Lemma 3", "forces", "steps --rows 600", "steps --rows 1797"),
    "tsm-fig2": Task("TSM, figs 2 to 4, 8 and 9", "tsm", "figures --data digits --rows 1797 --dimensions 4 8 16 32 --updates 150 --isomap", "figures --data mnist --rows 14000 --dimensions 4 8 16 32 64 --updates 250 --sample 2000", "figures --data mnist --rows 3500 --dimensions 4 8 16 32 64 --updates 150 --isomap"),
    "tsm-fig3": Task("TSM, figs 3 and 4 over five folds", "tsm", "folds --rows 1000 --folds 5 --dimensions 4 8 16 32 --updates 100", "folds --rows 14000 --folds 5 --dimensions 4 8 16 32 64 --updates 250", "folds --rows 5000 --folds 5 --dimensions 4 8 16 32 64 --updates 100"),
    "tsm-fig5": Task("TSM, figs 3, 4 and 5: words and analogies, by GloVe", "tsm", "words --vectors glove --rows 3000 --dimensions 16 32 --updates 40", "words --vectors glove --rows 25000 --dimensions 8 16 32 64 --updates 250", "words --vectors glove --rows 8000 --dimensions 8 16 32 64 --updates 60"),
    "tsm-fig5-word2vec": Task("TSM, figs 3, 4 and 5: words and analogies, by word2vec", "tsm", "words --vectors word2vec --rows 3000 --dimensions 16 32 --updates 40", "words --vectors word2vec --rows 25000 --dimensions 8 16 32 64 --updates 250", "words --vectors word2vec --rows 8000 --dimensions 8 16 32 64 --updates 60"),
    "tsm-table1": Task("TSM, table 1", "tsm", "table1 --vectors glove --rows 3000 --dimensions 32 --updates 40 --sparsity 0.98", "table1 --vectors glove --rows 25000 --dimensions 32 --updates 250", "table1 --vectors glove --rows 8000 --dimensions 32 --updates 60"),
    "tsm-fig6-images": Task("TSM, figs 6 and 7: images from landmarks", "tsm", "landmarks --data mnist --rows 5000 --landmarks 1000 --dimensions 8 16 --updates 60 --sample 1000", "landmarks --data mnist --rows 70000 --landmarks 14000 --dimensions 4 8 16 32 64 --updates 250 --sample 2000", "landmarks --data mnist --rows 70000 --landmarks 14000 --dimensions 8 16 32 --updates 250 --sample 2000"),
    "tsm-fig6-words": Task("TSM, figs 6 and 7: GloVe's words from landmarks", "tsm", f"{WORDS} 10000 --landmarks 2000 --dimensions 8 16 --updates 60 --sample 1000", f"{WORDS} 100000 --landmarks 20000 --dimensions 8 16 32 64 --updates 250 --sample 2000", f"{WORDS} 100000 --landmarks 20000 --dimensions 8 16 32 --updates 60 --sample 1000"),
    "tsm-fig6-word2vec": Task("TSM, figs 6 and 7: word2vec's words from landmarks", "tsm", "landmarks --data word2vec --rows 5000 --landmarks 1000 --dimensions 8 16 --updates 60 --sample 1000", "landmarks --data word2vec --rows 26423 --landmarks 5285 --dimensions 8 16 32 64 --updates 250 --sample 2000"),
    "tsm-fig8": Task("TSM, figs 8, 9 and 11: images", "tsm_appendix", "--data mnist --rows 1000", "--data mnist --rows 14000 --updates 250", "--data mnist --rows 5000 --updates 250"),
    "tsm-fig8-word2vec": Task("TSM, figs 8, 9 and 11: word2vec's words", "tsm_appendix", "--data word2vec --rows 1000", "--data word2vec --rows 25000 --updates 250", "--data word2vec --rows 5000 --updates 250"),
    "tsm-room": Task("TSM, why few pairs of words are kept in common", "tsm_room", "--rows 1500", "--rows 3000"),
    "tsm-extension": Task("TSM, time of the extension", "tsm", "extension --rows 7000 --dimensions 32", "extension --rows 70000 --dimensions 64"),
    "lvm-map": Task("LVM, figs 2 and S1 to S3", "lvm", "map --rows 3500 --iterations 80", "map --rows 70000 --iterations 400", "map --rows 20000 --iterations 200"),
    "lvm-fig3": Task("LVM, fig 3: errors by dimension", "lvm", "errors --rows 3500 --iterations 60 --dimensions 2 5 10", "errors --rows 70000 --iterations 400", "errors --rows 7000 --iterations 100"),
    "lvm-fig4": Task("LVM, fig 4: recall on words", "lvm", "recall --rows 3000 --iterations 40 --dimensions 10", "recall --rows 26423 --iterations 400", "recall --rows 26423 --iterations 60 --dimensions 10"),
    "lvm-fig4-all": Task("LVM, fig 4 without coarse-graining", "lvm", "recall --rows 3000 --iterations 40 --dimensions 10 --levels 0", "recall --rows 26423 --iterations 60 --dimensions 10 --levels 0", "recall --rows 26423 --iterations 20 --dimensions 10 --levels 0"),
    "lvm-why": Task("LVM, what coarse-graining costs", "lvm", "why --rows 1500 --iterations 40", "why --rows 4000 --iterations 60"),
    "lvm-figS4": Task("LVM, fig S4: tied variances", "lvm_supplement", "tied --rows 3500 --iterations 80", "tied --rows 70000 --iterations 400", "tied --rows 14000 --iterations 200"),
    "lvm-figS5": Task("LVM, fig S5: k and s", "lvm_supplement", "grid --rows 1750 --iterations 60", "grid --rows 70000 --iterations 400", "grid --rows 7000 --iterations 100"),
    "lvm-figS6": Task("LVM, figs S6 and S7: one and two levels", "lvm_supplement", "levels --rows 3500 --iterations 60", "levels --rows 70000 --iterations 400", "levels --rows 20000 --iterations 200"),
    "lvm-figS8": Task("LVM, fig S8: no level and one", "lvm_supplement", "levels --levels 0 1 --rows 1750 --iterations 60", "levels --levels 0 1 --rows 7000 --iterations 400", "levels --levels 0 1 --rows 4000 --iterations 100"),
    "lvm-figS9": Task("LVM, fig S9: Swiss roll", "lvm_supplement", "roll --rows 1500 --iterations 60", "roll --rows 5000 --iterations 400"),
    "lvm-tables": Task("LVM, tables 1 and S2", "lvm_supplement", "words --rows 5000 --iterations 40", "words --rows 26423 --iterations 400", "words --rows 26423 --iterations 60"),
    "lvm-jobs": Task("LVM, one thread against two", "lvm", "jobs --sizes 300 1000 --rounds 3", "jobs --sizes 100 300 1000 3000 10000 30000 70000 --rounds 5", "jobs --sizes 300 1000 3000 10000 --rounds 3"),
    "kds-table2": Task("KDS, table 2", "kds", "table2 --quick --seeds 2", "table2 --seeds 5", "table2 --seeds 3"),
    "kds-why": Task("KDS, what the paper's graph needs", "kds", "why --quick --seeds 1", "why --seeds 3", "why --data mnist5 yaleb --seeds 1"),
    "kds-preparations": Task("KDS, table 2 by preparation of the rows", "kds", "preparations --quick --seeds 1", "preparations --seeds 3"),
    "kds-fig5": Task("KDS, fig 5: circles", "kds", "circles", "circles"),
    "kds-fig7": Task("KDS, fig 7: codes of MNIST", "kds", "figure7 --rows 2000", "figure7 --rows 70000", "figure7 --rows 10000"),
    "kds-fig8": Task("KDS, fig 8: Salinas-A", "kds", "figure8 --seeds 2", "figure8 --seeds 5"),
}  # fmt: skip
SIZES = ("quick", "medium", "full")
# Of peers, whose threads wait busily and so spend processor time; winkel's are its own.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run(name: str, size: str, limit: float | None) -> bool:
    """One task into its text; whether it succeeded."""
    folder = RESULTS / size
    folder.mkdir(parents=True, exist_ok=True)
    arguments = TASKS[name].arguments(size)
    shown = f"python -m {' '.join(arguments)}"
    arguments += ["--out", str(folder)]
    begun, cpu = time.perf_counter(), os.times()
    try:
        made = subprocess.run(
            [sys.executable, "-m", *arguments],
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env={**os.environ, **ONE_THREAD},
        )
        output, failed = made.stdout, made.returncode != 0
        if failed:
            print(made.stderr[-2000:], file=sys.stderr)
    except subprocess.TimeoutExpired:
        output, failed = "", True
        print(f"{name}: not ready after {limit:.0f} s", file=sys.stderr)
    now = os.times()
    seconds = now.children_user + now.children_system - cpu.children_user - cpu.children_system
    print(
        f"{name}: {'failed' if failed else 'done'}, {time.perf_counter() - begun:.0f} s, {seconds:.0f} s of processor time",
        flush=True,
    )
    if failed:
        return False
    shrink(folder)
    text = f"# {TASKS[name].title}\n\n`{shown}`\n\n{setting()}; {seconds:.0f} s of processor time in all.\n\n{ordered(output)}\n"
    write(folder / f"{name}.md", text)
    return True


def shrink(folder: Path, most: int = 120_000) -> None:
    """Pictures of a folder that are larger, in fewer points and colours."""
    from PIL import Image

    for path in folder.glob("*.png"):
        if path.stat().st_size > most:
            picture = Image.open(path).convert("RGB")
            picture.thumbnail((900, 900))
            picture.quantize(32).save(path, optimize=True)


def ordered(output: str) -> str:
    """What was printed: comparisons first, worse ones before others; plain tables as they are."""
    lines = output.rstrip().splitlines()
    verdicts = [line for kind in (WORSE, OTHER, GOOD) for line in lines if line.startswith(kind)]
    rest = [line for line in lines if not line.startswith((WORSE, OTHER, GOOD))]
    if not any(line.startswith("|") for line in rest) and any(line.startswith(" ") for line in rest):
        rest = ["```", *rest, "```"]
    return "\n".join([*verdicts, *([""] if verdicts else []), *rest])


def index() -> str:
    """Text of results/README.md: what is worse, what stands on other data, what is as good, and where everything is."""
    found: dict[str, list[str]] = {WORSE: [], OTHER: [], GOOD: []}
    rows, missing = [], []
    for name, task in TASKS.items():
        files = [RESULTS / size / f"{name}.md" for size in reversed(SIZES)]
        there = [file for file in files if file.exists()]
        if not there:
            missing.append(task.title)
            continue
        rows.append(
            f"| {task.title} | "
            + " | ".join(f"[{f.parent.name}]({f.parent.name}/{f.name})" if f in there else "" for f in files)
            + " |"
        )
        for line in there[0].read_text().splitlines():
            for kind, lines in found.items():
                if line.startswith(kind):
                    lines.append(
                        f"{line[len(kind) + 2 :]} ([{there[0].parent.name}]({there[0].parent.name}/{name}.md))"
                    )
    text = [
        "# The papers' tables and figures",
        "",
        "Made by `make papers` (`SIZE=medium` or `full` for more; full is the papers' size). Of each the largest size that was run counts; the text says which.",
    ]
    for kind, heading in (
        (WORSE, "Worse than the paper"),
        (OTHER, "On other data than the paper's"),
        (GOOD, "No worse than the paper"),
    ):
        text += ["", f"## {heading}", "", *([f"- {line}" for line in found[kind]] or ["Nothing."])]
    text += ["", "## All results", "", "| what | full | medium | quick |", "|---|---|---|---|", *rows]
    text += [
        "",
        "Runs with notes of their own: "
        + ", ".join(f"[{f.stem}]({f.name})" for f in sorted(RESULTS.glob("*.md")) if f.stem != "README")
        + ".",
    ]
    if missing:
        text += ["", f"Not run yet: {'; '.join(missing)}."]
    return "\n".join(text) + "\n"


def write(target: Path, text: str) -> None:
    """A text, whole or not at all."""
    target.with_suffix(".tmp").write_text(text)
    target.with_suffix(".tmp").rename(target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="beginnings of names; all if none is given")
    parser.add_argument(
        "--size", choices=SIZES, default="quick", help="full: the papers' (default: %(default)s)"
    )
    parser.add_argument("--index", action="store_true", help="only the index")
    parser.add_argument(
        "--limit", type=float, default=None, help="seconds for each (default: 600 for quick ones, else none)"
    )
    given = parser.parse_args()
    limit = given.limit or (600.0 if given.size == "quick" else None)
    names = (
        []
        if given.index
        else [name for name in TASKS if not given.names or name.startswith(tuple(given.names))]
    )
    failed = [name for name in names if not run(name, given.size, limit)]
    write(RESULTS / "README.md", index())
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
