"""Make the notebooks of examples/notebooks from the plain scripts beside them.

python tools/notebooks.py [--run] [name ...]

A script is split at lines that begin with "# %%": "# %% [markdown]" begins text, written as comments, and "# %%" code. With --run
the code is run, and what it prints is kept in the notebook; pictures are not kept, so that notebooks stay small. Without it,
outputs of cells that did not change stay.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
Cells = list[tuple[str, str]]


def cells_of(script: Path) -> Cells:
    """Kind ("markdown" or "code") and text of each cell."""
    found: Cells = []
    for part in re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            found.append(("markdown", re.sub(r"^# ?", "", body, flags=re.M).strip()))
        else:
            found.append(("code", body.strip()))
    return found


def run(cells: Cells) -> list[str]:
    """What each cell prints; code runs in one module, one cell after the other."""
    os.environ.setdefault("MPLBACKEND", "agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for kind, text in cells:
        out = io.StringIO()
        if kind == "code":
            with contextlib.redirect_stdout(out):
                exec(compile(text, "<cell>", "exec"), names)
        printed.append(out.getvalue())
    return printed


def notebook(cells: Cells, printed: list[str]) -> str:
    """The notebook as JSON (nbformat 4.5)."""
    made: list[dict[str, Any]] = []
    for number, ((kind, text), out) in enumerate(zip(cells, printed, strict=True)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        if kind == "code":
            stream = {"name": "stdout", "output_type": "stream", "text": out.splitlines(keepends=True)}
            cell |= {"execution_count": None, "outputs": [stream] if out else []}
        made.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def kept_outputs(file: Path, cells: Cells) -> list[str]:
    """What the notebook that is there already says for each cell; nothing for cells that changed."""
    known = {}
    if file.is_file():
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            known["".join(cell["source"])] = "".join(
                line for out in cell.get("outputs", ()) for line in out["text"]
            )
    return [known.get(text, "") for _, text in cells]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="stories to make; all by default")
    parser.add_argument("--run", action="store_true", help="run the code and keep what it prints")
    asked = parser.parse_args()
    for script in sorted(FOLDER.glob("*.py")):
        if asked.names and script.stem not in asked.names:
            continue
        cells, file = cells_of(script), script.with_suffix(".ipynb")
        printed = run(cells) if asked.run else kept_outputs(file, cells)
        file.write_text(notebook(cells, printed), encoding="utf-8")
        print(f"{file.name}: {len(cells)} cells", file=sys.stderr)


if __name__ == "__main__":
    main()
