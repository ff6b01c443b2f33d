"""Every table and figure of the five papers again, into benchmarks/paper/results.

    python -m benchmarks.paper                  # sizes of minutes, into results/quick
    python -m benchmarks.paper --full           # the papers' sizes, hours, into results/full
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
from pathlib import Path

from .record import GOOD, OTHER, WORSE, setting

RESULTS = Path(__file__).parent / "results"

# Name: what it is, the module with its arguments at quick sizes, and the arguments at full size.
TASKS: dict[str, tuple[str, str, str, str]] = {
    "mde-table7.1": ("MDE, table 7.1", "mde", "table --items 1000", "table --items 100000"),
    "mde-fig7.2": ("MDE, fig 7.2: gradient methods", "mde", "methods --items 2000", "methods --items 20000"),
    "mde-fig4.6": ("MDE, fig 4.6: graph layouts", "mde", "layouts", "layouts"),
    "mde-fig2.5": ("MDE, figs 2.5 and 2.6", "mde_chapters", "simple", "simple"),
    "mde-chapter8": ("MDE, chapter 8: images", "mde", "dissimilar --quick", "dissimilar"),
    "mde-chapter9": ("MDE, chapter 9: networks", "mde_chapters", "networks --quick", "networks"),
    "mde-chapter10": ("MDE, chapter 10: counties", "mde_chapters", "counties", "counties"),
    "mde-chapter11": ("MDE, chapter 11: genetics", "mde_chapters", "genetics --quick --neighbors 30 60", "genetics"),
    "mde-chapter12": ("MDE, chapter 12: cells", "mde_chapters", "cells", "cells"),
    "forces-fig2": ("Attraction and repulsion, fig 2", "forces", "figure2 --rows 600", "figure2 --rows 5000"),
    "forces-fig3": ("Attraction and repulsion, fig 3", "forces", "figure3 --rows 1000", "figure3 --rows 5000"),
    "forces-conjecture": ("Attraction and repulsion, conjecture 1", "forces", "conjecture --rows 300", "conjecture --rows 600"),
    "tsm-fig3": ("TSM, figs 3 and 4 over five folds", "tsm", "folds --rows 1000 --folds 5 --dimensions 4 8 16 32 --updates 100", "folds --rows 14000 --folds 5 --dimensions 4 8 16 32 64 --updates 250"),
    "tsm-fig5": ("TSM, fig 5: analogies", "tsm", "words --vectors glove --rows 3000 --dimensions 16 32 --updates 40", "words --vectors glove --rows 25000 --dimensions 8 16 32 64 --updates 250"),
    "tsm-table1": ("TSM, table 1", "tsm", "table1 --vectors glove --rows 3000 --dimensions 32 --updates 40 --sparsity 0.98", "table1 --vectors glove --rows 25000 --dimensions 32 --updates 250"),
    "tsm-fig6-images": ("TSM, figs 6 and 7: images from landmarks", "tsm", "landmarks --data mnist --rows 5000 --landmarks 1000 --dimensions 8 16 --updates 60 --sample 1000", "landmarks --data mnist --rows 70000 --landmarks 14000 --dimensions 4 8 16 32 64 --updates 250 --sample 5000"),
    "tsm-fig6-words": ("TSM, figs 6 and 7: words from landmarks", "tsm", "landmarks --data words100k --rows 10000 --landmarks 2000 --dimensions 16 --updates 60 --sample 1000", "landmarks --data words100k --rows 100000 --landmarks 10000 --dimensions 8 16 32 --updates 100 --sample 2000"),
    "tsm-fig8": ("TSM, figs 8, 9 and 11", "tsm_appendix", "--data mnist --rows 1000", "--data mnist --rows 14000 --updates 250"),
    "tsm-extension": ("TSM, time of the extension", "tsm", "extension --rows 7000 --dimensions 32", "extension --rows 70000 --dimensions 64"),
    "lvm-map": ("LVM, figs 2 and S1 to S3", "lvm", "map --rows 3500 --iterations 80", "map --rows 70000 --iterations 400"),
    "lvm-fig3": ("LVM, fig 3: errors by dimension", "lvm", "errors --rows 3500 --iterations 60 --dimensions 2 5 10", "errors --rows 70000 --iterations 400"),
    "lvm-fig4": ("LVM, fig 4: recall on words", "lvm", "recall --rows 3000 --iterations 40 --dimensions 10", "recall --rows 26423 --iterations 400"),
    "lvm-why": ("LVM, what coarse-graining costs", "lvm", "why --rows 1500 --iterations 40", "why --rows 4000 --iterations 60"),
    "lvm-figS4": ("LVM, fig S4: tied variances", "lvm_supplement", "tied --rows 3500 --iterations 80", "tied --rows 70000 --iterations 400"),
    "lvm-figS5": ("LVM, fig S5: k and s", "lvm_supplement", "grid --rows 1750 --iterations 60", "grid --rows 70000 --iterations 400"),
    "lvm-figS6": ("LVM, figs S6 to S8: levels", "lvm_supplement", "levels --rows 1750 --iterations 60", "levels --rows 7000 --iterations 400"),
    "lvm-figS9": ("LVM, fig S9: Swiss roll", "lvm_supplement", "roll --rows 1500 --iterations 60", "roll --rows 5000 --iterations 400"),
    "lvm-tables": ("LVM, tables 1 and S2", "lvm_supplement", "words --rows 5000 --iterations 40", "words --rows 26423 --iterations 400"),
    "lvm-jobs": ("LVM, one thread against two", "lvm", "jobs --rows 2000", "jobs --rows 20000"),
    "kds-table2": ("KDS, table 2", "kds", "table2 --quick --seeds 2", "table2 --seeds 5"),
    "kds-fig5": ("KDS, fig 5: circles", "kds", "circles", "circles"),
    "kds-fig7": ("KDS, fig 7: codes of MNIST", "kds", "figure7 --rows 2000", "figure7 --rows 70000"),
    "kds-fig8": ("KDS, fig 8: Salinas-A", "kds", "figure8", "figure8"),
}  # fmt: skip
PICTURES = ("mde_chapters", "tsm_appendix", "tsm", "lvm_supplement", "lvm", "kds", "forces")


def run(name: str, full: bool, limit: float | None) -> bool:
    """One task into its text; whether it succeeded."""
    title, module, quick, whole = TASKS[name]
    folder = RESULTS / ("full" if full else "quick")
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [f"benchmarks.paper.{module}", *(whole if full else quick).split()]
    shown = f"python -m {' '.join(arguments)}"
    if module in PICTURES:
        arguments += ["--out", str(folder)]
    begun, cpu = time.perf_counter(), os.times()
    try:
        made = subprocess.run(
            [sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=limit, check=False
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
    text = f"# {title}\n\n`{shown}`\n\n{setting()}; {seconds:.0f} s of processor time in all.\n\n{ordered(output)}\n"
    target = folder / f"{name}.md"
    target.with_suffix(".tmp").write_text(text)
    target.with_suffix(".tmp").rename(target)
    return True


def shrink(folder: Path, most: int = 60_000) -> None:
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


def index() -> None:
    """results/README.md: what is worse, what stands on other data, what is as good, and where everything is."""
    found: dict[str, list[str]] = {WORSE: [], OTHER: [], GOOD: []}
    rows, missing = [], []
    for name, (title, *_) in TASKS.items():
        files = [RESULTS / size / f"{name}.md" for size in ("full", "quick")]
        there = [file for file in files if file.exists()]
        if not there:
            missing.append(title)
            continue
        rows.append(
            f"| {title} | "
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
        "Made by `make papers` (`FULL=1` for the papers' sizes). Full results count where there are any, else quick ones.",
    ]
    for kind, heading in (
        (WORSE, "Worse than the paper"),
        (OTHER, "On other data than the paper's"),
        (GOOD, "No worse than the paper"),
    ):
        text += ["", f"## {heading}", "", *([f"- {line}" for line in found[kind]] or ["Nothing."])]
    text += ["", "## All results", "", "| what | full | quick |", "|---|---|---|", *rows]
    text += [
        "",
        "Runs with notes of their own: "
        + ", ".join(f"[{f.stem}]({f.name})" for f in sorted(RESULTS.glob("*.md")) if f.stem != "README")
        + ".",
    ]
    if missing:
        text += ["", f"Not run yet: {'; '.join(missing)}."]
    target = RESULTS / "README.md"
    target.with_suffix(".tmp").write_text("\n".join(text) + "\n")
    target.with_suffix(".tmp").rename(target)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="beginnings of names; all if none is given")
    parser.add_argument("--full", action="store_true", help="the papers' sizes")
    parser.add_argument("--index", action="store_true", help="only the index")
    parser.add_argument(
        "--limit", type=float, default=None, help="seconds for each (default: 600, without limit when full)"
    )
    given = parser.parse_args()
    limit = given.limit or (None if given.full else 600.0)
    names = (
        []
        if given.index
        else [name for name in TASKS if not given.names or name.startswith(tuple(given.names))]
    )
    failed = [name for name in names if not run(name, given.full, limit)]
    index()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
