"""Files written whole or not at all. Light: the fresh processes import it before anything is timed."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_json(path: Path, content: object) -> None:
    """Write `content` so that a reader never sees half of it."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write `text` so that a reader never sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    os.replace(temporary, path)
