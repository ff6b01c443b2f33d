"""Every error and warning that winkel raises. Each is also of the built-in type that a caller would expect to catch."""

from __future__ import annotations

__all__ = [
    "DataWarning",
    "InvalidInputError",
    "InvalidParameterError",
    "InvalidTypeError",
    "MemoryLimitError",
    "MissingDependencyError",
    "MissingFileError",
    "ModelFileError",
    "NotConvergedWarning",
    "UnwritableFileError",
    "WinkelError",
    "WorkerError",
]


class WinkelError(Exception):
    """Base of all errors that winkel raises on purpose.

    Examples
    --------
    >>> import winkel as wk
    >>> try:
    ...     wk.graph.knn([[1.0], [2.0], [float("nan")]], 1)
    ... except wk.errors.WinkelError as error:
    ...     print(error)
    X has NaN (a missing value) at row 2, column 0 (counted from 0). Every value must be a finite number: drop these rows
    or columns, or fill the gaps first.
    """


class InvalidInputError(WinkelError, ValueError):
    """The data cannot be used as it is; the message says where the problem is, what is allowed and what to do."""


class InvalidTypeError(InvalidInputError, TypeError):
    """The data contains an object that is not a number at all."""


class InvalidParameterError(WinkelError, ValueError):
    """A parameter has a value that is not allowed."""


class MissingDependencyError(WinkelError, ImportError):
    """An optional package is needed; the message contains the command to install it."""


class MemoryLimitError(WinkelError, MemoryError):
    """The work was forecast to need more memory than `max_memory` allows, and was not started; or the system ran out of memory."""


class MissingFileError(WinkelError, FileNotFoundError):
    """A file or folder that was named does not exist."""


class ModelFileError(WinkelError, ValueError):
    """A model file is damaged, foreign, or written by a newer version."""


class UnwritableFileError(WinkelError, OSError):
    """A file could not be written: no space, no permission, or the folder disappeared. An older file of that name is intact."""


class WorkerError(WinkelError, RuntimeError):
    """The workers or the scheduler of a cluster were lost; finished work is kept."""


class NotConvergedWarning(UserWarning):
    """A solver stopped before its tolerance was reached."""


class DataWarning(UserWarning):
    """The data has a property that a user should know about; it was handled as documented."""


def missing_extra(package: str, extra: str, purpose: str) -> MissingDependencyError:
    """The error for an optional package that is not installed."""
    return MissingDependencyError(
        f"{purpose} needs the optional package {package!r}, which is not installed. "
        f'Install it with: pip install "winkel[{extra}]"'
    )
