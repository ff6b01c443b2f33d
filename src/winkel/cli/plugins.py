"""`--plugin`: a user's own files, whose estimators, scores and distortions are then available in every command."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

from ..errors import WinkelError
from .methods import UsageError

VARIABLE = "WINKEL_PLUGINS"  # files in the environment, separated as in PATH


class PluginError(WinkelError):
    """A plugin raised an error while it was imported."""


def load_plugins(paths: Iterable[str]) -> None:
    """Import the files named in the environment, then `paths`, each of them once."""
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    for path in (*filter(None, named), *paths):
        _load(path)


def _load(path: str) -> None:
    file = Path(path).expanduser().resolve()
    if not file.is_file():
        trouble = "is a folder" if file.is_dir() else "does not exist"
        raise UsageError(f"the plugin {path!r} {trouble} (looked for at {str(file)!r}).")
    # A name of its own: plugins in different folders may be called alike.
    name = f"winkel_plugin_{file.stem}_{hashlib.sha256(os.fsencode(file)).hexdigest()[:8]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UsageError(f"a plugin must be a Python file, NAME.py; got {path!r}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception):
            raise
        raise PluginError(
            f"the plugin {path!r} failed{_line(error, file)}: {type(error).__name__}: {error}"
        ) from error


def _line(error: Exception, file: Path) -> str:
    """The line of the plugin in which the error occurred."""
    if isinstance(error, SyntaxError):
        return f" in line {error.lineno}" if error.filename == str(file) else ""
    lines = [step.lineno for step in traceback.extract_tb(error.__traceback__) if step.filename == str(file)]
    return f" in line {lines[-1]}" if lines else ""
