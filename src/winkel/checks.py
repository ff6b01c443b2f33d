"""Checks of parameters, all with the same wording: "name must be <what is allowed>; got <what was received>."

Every check returns the value as a plain type (int, float, str, ...) or raises InvalidParameterError.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidParameterError, MissingFileError

LARGEST = 2**31 - 1  # of integers without another bound: counts and sizes, which the core holds in 32 bits

_T = TypeVar("_T")
_P = ParamSpec("_P")
_S = TypeVar("_S", bound=np.generic)


def refuse(name: str, allowed: str, received: object, advice: str = "") -> NoReturn:
    """Raise the error of a check; `received` is shown as its repr."""
    text = repr(received)
    _refuse(name, allowed, text if len(text) <= 80 else f"{text[:77]}...", advice)


def _refuse(name: str, allowed: str, received: str, advice: str = "") -> NoReturn:
    """Raise the error; `received` is already in words."""
    raise InvalidParameterError(f"{name} must be {allowed}; got {received}.{f' {advice}' if advice else ''}")


def integer(name: str, value: Any, low: int | None = None, high: int | None = None, *, also: str = "") -> int:
    """`value` as an int in [low, high]; True and False do not count as numbers.

    `also` says what else the parameter takes, for the message.
    """
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if good and high is None and value > LARGEST:
        high = LARGEST
    if not good or (low is not None and value < low) or (high is not None and value > high):
        allowed = "a positive integer" if (low, high) == (1, None) else f"an integer{_range(low, high)}"
        refuse(name, _or(allowed, also), value)
    return int(value)


def number(
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    low_open: bool = False,
    high_open: bool = False,
    also: str = "",
) -> float:
    """`value` as a finite float between `low` and `high`, including the ends unless `low_open` or `high_open`.

    `also` says what else the parameter takes, for the message.
    """
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    finite = real and math.isfinite(value)
    above = finite and (low is None or (value > low if low_open else value >= low))
    below = finite and (high is None or (value < high if high_open else value <= high))
    if not (above and below):
        kind = "finite number" if real and not finite else "number"
        if low == 0 and low_open and high is None:
            allowed = f"a positive {kind}"
        else:
            allowed = f"a {kind}{_range(low, high, low_open, high_open)}"
        refuse(name, _or(allowed, also), value)
    return float(value)


def positive(name: str, value: Any) -> float:
    """`value` as a finite float above zero."""
    return number(name, value, 0.0, low_open=True)


def choice(name: str, value: Any, allowed: Iterable[str], *, also: str = "") -> str:
    """`value`, one of the names in `allowed`; `also` says what else the parameter takes, for the message."""
    names = tuple(allowed)
    if isinstance(value, str) and value in names:
        return value
    alike = difflib.get_close_matches(value, names, n=1) if isinstance(value, str) else []
    listed = ("one of " if len(names) > 1 else "") + ", ".join(map(repr, names))
    refuse(name, _or(listed, also), value, f"Did you mean {alike[0]!r}?" if alike else "")


def optional(
    check: Callable[Concatenate[str, Any, _P], _T], name: str, value: Any, *args: _P.args, **kwargs: _P.kwargs
) -> _T | None:
    """None if `value` is None, otherwise the result of `check`."""
    if value is None:
        return None
    try:
        return check(name, value, *args, **kwargs)
    except InvalidParameterError as error:
        # Every message here begins "name must be ...".
        raise InvalidParameterError(str(error).replace(" must be ", " must be None or ", 1)) from None


def flag(name: str, value: Any) -> bool:
    """`value` as True or False."""
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)
    return bool(value)


def instance(name: str, value: Any, kind: type[_T], allowed: str) -> _T:
    """`value`, an object of class `kind`; `allowed` describes that in words."""
    if not isinstance(value, kind):
        refuse(name, allowed, value)
    return value


def array(
    name: str,
    value: ArrayLike,
    shape: tuple[int | None, ...],
    *,
    dtype: Any = np.float64,
    low: float | None = None,
    low_open: bool = False,
) -> NDArray[Any]:
    """`value` as an array of finite numbers with this `shape`, in which None stands for any length."""
    allowed = _array_of(shape)
    try:
        numbers = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        refuse(name, allowed, value)
    fits = numbers.ndim == len(shape) and all(s is None or s == n for s, n in zip(shape, numbers.shape))
    if not fits:
        _refuse(name, allowed, f"shape {numbers.shape}")
    bad = ~np.isfinite(numbers)
    if low is not None:
        bad |= numbers <= low if low_open else numbers < low
        allowed += f", all {'above' if low_open else 'at least'} {_plain(low)}"
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        _refuse(name, allowed, f"{numbers[place]} at entry {place[0] if len(place) == 1 else place}")
    return numbers


def positions(
    name: str, value: ArrayLike, shape: tuple[int | None, ...], *, dtype: Any = np.float64
) -> NDArray[Any]:
    """`value` as the starting places of a map: an array of finite numbers whose rows are not all equal."""
    places = array(name, value, shape, dtype=dtype)
    if len(places) > 1 and (places == places[0]).all():
        _refuse(
            name,
            "an array whose rows are not all in one place",
            f"{len(places)} equal rows",
            "No force could tell them apart; use a random start.",
        )
    return places


def text(name: str, value: Any) -> str:
    """`value`, a text that can be written to a file, without unpaired UTF-16 surrogates."""
    if not isinstance(value, str):
        refuse(name, "text", value)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        refuse(
            name,
            "text that UTF-8 can hold",
            value,
            "It contains an unpaired surrogate, probably from a wrong decoding.",
        )
    return value


def path(name: str, value: Any) -> Path:
    """`value` as a path."""
    good = isinstance(value, str | os.PathLike) and "\0" not in str(value) and str(value) != ""
    if not good:
        refuse(name, "the path of a file", value)
    return Path(value)


def existing_file(name: str, value: Any) -> Path:
    """`value` as the path of a file that exists."""
    file = path(name, value)
    if not file.is_file():
        trouble = "is a folder" if file.is_dir() else "does not exist"
        raise MissingFileError(f"The file {str(file)!r} {trouble} (working folder: {str(Path.cwd())!r}).")
    return file


def new_file(name: str, value: Any) -> Path:
    """`value` as the path of a file that can be written: its folder exists, and it is not a folder itself."""
    file = path(name, value)
    if file.is_dir():
        refuse(name, "the name of a file", str(file), "It is a folder.")
    if not file.parent.is_dir():
        raise MissingFileError(
            f"The folder {str(file.parent)!r} does not exist, so {file.name!r} cannot be written there. Create it first."
        )
    return file


def plain_json(value: Any, where: str) -> Any:
    """`value` in the types of JSON: NumPy numbers become Python numbers, tuples become lists; everything else is refused."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain_json(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidParameterError(f"Keys of {where} must be text to be saved; got {key!r}.")
        return {key: plain_json(item, f"{where}.{key}") for key, item in value.items()}
    raise InvalidParameterError(
        f"{where} must be None, a bool, a number, text, or a list or dict of those to be saved; "
        f"got {type(value).__name__}."
    )


def _array_of(shape: tuple[int | None, ...]) -> str:
    """The arrays that `array` allows, in words."""
    if len(shape) == 1:
        return "a vector of finite numbers" if shape[0] is None else f"a vector of {shape[0]} finite numbers"
    lengths = ", ".join("any" if length is None else str(length) for length in shape)
    return f"an array of finite numbers of shape ({lengths})"


def _range(low: float | None, high: float | None, low_open: bool = False, high_open: bool = False) -> str:
    """The bounds of a number as text: " of at least 2", " in [0, 1)"."""
    if low is not None and high is not None:
        return f" in {'(' if low_open else '['}{_plain(low)}, {_plain(high)}{')' if high_open else ']'}"
    if low is not None:
        return f" {'above' if low_open else 'of at least'} {_plain(low)}"
    if high is not None:
        return f" {'below' if high_open else 'of at most'} {_plain(high)}"
    return ""


def _or(allowed: str, also: str) -> str:
    return f"{allowed} or {also}" if also else allowed


def _plain(bound: float) -> str:
    """A bound as text; whole numbers are written in full, so that large bounds can be read."""
    return str(int(bound)) if float(bound).is_integer() and abs(bound) < 1e15 else f"{bound:g}"


def frozen(array: NDArray[_S]) -> NDArray[_S]:
    """`array` itself if nobody can write to it, otherwise a read-only copy."""
    if not _unchanging(array):
        array = array.copy()
        array.flags.writeable = False
    return array


def _unchanging(array: object) -> bool:
    if isinstance(array, np.ndarray):
        return not array.flags.writeable and (array.base is None or _unchanging(array.base))
    # An array of the core, which no longer writes to it.
    return isinstance(array, memoryview) and type(array.obj).__name__ == "nb_ndarray"
