"""The public names and their parameters are those of tests/reference/api.txt: a change of one is a decision."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_public_names_are_the_committed_ones():
    found = list(runpy.run_path(str(ROOT / "tools" / "api.py"))["lines"]())
    committed = (ROOT / "tests" / "reference" / "api.txt").read_text(encoding="utf-8").splitlines()
    gone, new = sorted(set(committed) - set(found)), sorted(set(found) - set(committed))
    assert not gone + new, (
        "The public surface has changed. If that is meant, run `python tools/api.py > tests/reference/api.txt` and say so in "
        "CHANGELOG.md.\ngone:\n  " + "\n  ".join(gone) + "\nnew:\n  " + "\n  ".join(new)
    )
