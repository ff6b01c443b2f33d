"""Checks of parameters: one wording for all, "name must be <what is allowed>; got <what was received>."

Every check returns the value in its plain form (int, float, str, ...) or raises InvalidParameterError.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidParameterError

_T = TypeVar("_T")


def refuse(name: str, allowed: str, received: object, advice: str = "") -> NoReturn:
    """Raise the error that every check raises."""
    more = f" {advice}" if advice else ""
    raise InvalidParameterError(f"{name} must be {allowed}; got {_short(received)}.{more}")


def integer(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """`value` as an int in [low, high]; True and False are no numbers here."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    if not good or (low is not None and value < low) or (high is not None and value > high):
        refuse(name, _range("an integer", low, high, "[", "]"), value)
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
    """`value` as a finite float between `low` and `high`, the ends included unless said otherwise.

    `also` says what else the parameter takes, for the message.
    """
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)
    good = good and math.isfinite(value)
    if good and low is not None:
        good = value > low if low_open else value >= low
    if good and high is not None:
        good = value < high if high_open else value <= high
    if not good:
        refuse(
            name, _range("a number", low, high, "(" if low_open else "[", ")" if high_open else "]"), value
        )
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
    listed = ", ".join(map(repr, names))
    what = f"{'one of ' if len(names) > 1 else ''}{listed}{f' or {also}' if also else ''}"
    refuse(name, what, value, f"Did you mean {alike[0]!r}?" if alike else "")


def optional(check: Any, name: str, value: Any, *args: Any, **kwargs: Any) -> Any:
    """None, or what `check` makes of `value`."""
    if value is None:
        return None
    try:
        return check(name, value, *args, **kwargs)
    except InvalidParameterError as error:
        raise InvalidParameterError(str(error).replace(" must be ", " must be None or ", 1)) from None


def flag(name: str, value: Any) -> bool:
    """`value` as True or False."""
    if not isinstance(value, bool | np.bool_):
        refuse(name, "True or False", value)
    return bool(value)


def instance(name: str, value: Any, kind: type[_T], allowed: str) -> _T:
    """`value`, an object of class `kind`; `allowed` says in words what that is."""
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
    """`value` as an array of finite numbers of a `shape`, in which None stands for any length."""
    size = " × ".join("any" if length is None else str(length) for length in shape)
    what = (
        f"an array of finite numbers of shape ({size})"
        if len(shape) > 1
        else f"a vector of {size} finite numbers"
    )
    try:
        numbers = np.asarray(value, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        refuse(name, what, value)
    fits = numbers.ndim == len(shape) and all(s is None or s == n for s, n in zip(shape, numbers.shape))
    if not fits:
        refuse(name, what, f"shape {numbers.shape}")
    bad = ~np.isfinite(numbers)
    if low is not None:
        bad |= numbers <= low if low_open else numbers < low
        what += f", all {'above' if low_open else 'at least'} {low:g}"
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        entry = place[0] if len(place) == 1 else place
        refuse(name, what, f"{numbers[place]} at entry {entry}")
    return numbers


def _range(what: str, low: float | None, high: float | None, left: str, right: str) -> str:
    if low is None and high is None:
        return what
    if high is None:
        if left == "(" and low == 0:
            return what.replace("a number", "a positive number")
        if low == 1 and what == "an integer":
            return "a positive integer"
        return f"{what} {'above' if left == '(' else 'of at least'} {low:g}"
    if low is None:
        return f"{what} {'below' if right == ')' else 'of at most'} {high:g}"
    return f"{what} in {left}{low:g}, {high:g}{right}"


def _short(value: object) -> str:
    """`value` for a message; text that already is a description stays as it is."""
    if (isinstance(value, str) and value.startswith("shape (")) or (
        isinstance(value, str) and " at entry " in value
    ):
        return value
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
