"""The output of the command line: one result on standard output, notes and warnings on standard error."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..errors import DataWarning, NotConvergedWarning


@dataclass(frozen=True)
class Outcome:
    """The outcome of a command: values for scripts (none if the command printed them itself), text for people, and the exit code."""

    values: Mapping[str, Any]
    text: str = ""
    code: int = 0


@dataclass
class Console:
    """Where results, notes and warnings go."""

    json: bool = False
    quiet: bool = False
    debug: bool = False
    warnings: list[str] = field(default_factory=list)

    @property
    def progress(self) -> bool:
        """Whether to show progress bars: only on a terminal."""
        return not self.quiet and not self.json and sys.stderr is not None and sys.stderr.isatty()

    @property
    def speaks(self) -> bool:
        """Whether to print or return anything except errors."""
        return not self.quiet or self.json

    def note(self, text: str) -> None:
        """Print something that is not the result."""
        if not self.quiet and not self.json:
            print(printable(text), file=sys.stderr, flush=True)

    def result(self, outcome: Outcome) -> None:
        """Print the result: one JSON object, or text."""
        if self.json and outcome.values:
            values = {**outcome.values, "warnings": self.warnings}
            print(json.dumps(_plain(values), ensure_ascii=False, allow_nan=False))
        elif outcome.text:
            print(printable(outcome.text))

    def failure(self, kind: str, text: str) -> None:
        """Print, in one sentence, what went wrong."""
        print(f"winkel: {printable(' '.join(text.splitlines()))}", file=sys.stderr, flush=True)
        if self.json:
            print(json.dumps({"error": {"kind": kind, "message": text}}, ensure_ascii=False))

    @contextmanager
    def warnings_shown(self) -> Iterator[None]:
        """A block whose warnings for users are shown as lines, and kept for the JSON result."""
        with warnings.catch_warnings():
            if not self.debug:
                warnings.simplefilter("ignore")
            for category in (NotConvergedWarning, DataWarning, RuntimeWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = self._show  # type: ignore[assignment]
            yield

    def _show(self, message: Warning | str, *_: Any) -> None:
        self.warnings.append(str(message))
        if not self.quiet:
            print(f"winkel: note: {printable(str(message))}", file=sys.stderr, flush=True)


def printable(text: str) -> str:
    """`text` with control characters escaped, so that names from files cannot control a terminal."""
    return "".join(c if c.isprintable() or c in "\n " else c.encode("unicode_escape").decode() for c in text)


def _plain(value: Any) -> Any:
    """`value` in JSON's own types; a number that is not finite is null, which JSON has."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
