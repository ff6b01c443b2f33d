"""Write the source that pages of docs/extending include: `PYTHONPATH=src python tools/page_sources.py`.

A page names what it shows by a comment, <!-- source: winkel.module.name -->, before a block of Python.
"""

from __future__ import annotations

import inspect
import pydoc
import re
import textwrap
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "docs" / "extending"
INCLUDED = re.compile(r"(<!-- source: (\S+) -->\n```python\n)(.*?)(```)", re.DOTALL)


def main() -> None:
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        new = INCLUDED.sub(
            lambda m: m[1] + textwrap.dedent(inspect.getsource(pydoc.locate(m[2]))) + m[4], text
        )
        if new != text:
            page.write_text(new)
            print(f"{page.name} brought up to date")


if __name__ == "__main__":
    main()
