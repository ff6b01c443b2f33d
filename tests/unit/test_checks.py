"""Parameter checks: what each returns, and the one wording in which each refuses."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import checks
from winkel.errors import InvalidParameterError


def message(check, *args, **kwargs) -> str:
    with pytest.raises(InvalidParameterError) as caught:
        check(*args, **kwargs)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("bounds", "value", "words"),
    [
        ((), 2.5, "k must be an integer; got 2.5."),
        ((), True, "k must be an integer; got True."),
        ((), np.True_, f"k must be an integer; got {np.True_!r}."),
        ((), "3", "k must be an integer; got '3'."),
        ((), None, "k must be an integer; got None."),
        ((1,), 0, "k must be a positive integer; got 0."),
        ((2,), 1, "k must be an integer of at least 2; got 1."),
        ((None, 5), 6, "k must be an integer of at most 5; got 6."),
        ((1, 5), 6, "k must be an integer in [1, 5]; got 6."),
        ((1, 2**31 - 1), 0, "k must be an integer in [1, 2147483647]; got 0."),
    ],
)
def test_integer_refuses(bounds, value, words):
    assert message(checks.integer, "k", value, *bounds) == words


def test_integer_returns_an_int():
    for value in (3, np.int8(3), np.uint64(3)):
        k = checks.integer("k", value, 3, 3)
        assert (k, type(k)) == (3, int)


def test_integer_says_what_else_is_allowed():
    assert message(checks.integer, "k", "aut", 1, also='"auto"') == (
        "k must be a positive integer or \"auto\"; got 'aut'."
    )


@pytest.mark.parametrize(
    ("bounds", "options", "value", "words"),
    [
        ((), {}, "1", "a must be a number; got '1'."),
        ((), {}, True, "a must be a number; got True."),
        ((), {}, 1j, "a must be a number; got 1j."),
        ((), {}, np.complex128(1), f"a must be a number; got {np.complex128(1)!r}."),
        ((), {}, np.ones(1), "a must be a number; got array([1.])."),
        ((), {}, float("nan"), "a must be a finite number; got nan."),
        ((0.0,), {}, float("inf"), "a must be a finite number of at least 0; got inf."),
        ((0.0,), {}, -1, "a must be a number of at least 0; got -1."),
        ((0.0,), {"low_open": True}, 0, "a must be a positive number; got 0."),
        ((0.5,), {"low_open": True}, 0.5, "a must be a number above 0.5; got 0.5."),
        ((None, 2.0), {}, 3.0, "a must be a number of at most 2; got 3.0."),
        ((None, 2.0), {"high_open": True}, 2.0, "a must be a number below 2; got 2.0."),
        ((0.0, 1.0), {}, 2, "a must be a number in [0, 1]; got 2."),
        ((0.0, 1.0), {"low_open": True}, 0.0, "a must be a number in (0, 1]; got 0.0."),
        ((0.0, 1.0), {"high_open": True}, 1.0, "a must be a number in [0, 1); got 1.0."),
        ((1e-20, 1e20), {}, 0.0, "a must be a number in [1e-20, 1e+20]; got 0.0."),
        ((0.0, 1.0), {"also": '"auto"'}, "x", "a must be a number in [0, 1] or \"auto\"; got 'x'."),
    ],
)
def test_number_refuses(bounds, options, value, words):
    assert message(checks.number, "a", value, *bounds, **options) == words


def test_number_returns_a_float_and_takes_the_ends():
    for value in (0, 1, np.float32(1), np.int64(0)):
        a = checks.number("a", value, 0.0, 1.0)
        assert (a, type(a)) == (value, float)
    assert checks.positive("a", 2) == 2.0
    assert message(checks.positive, "a", 0) == "a must be a positive number; got 0."
    assert message(checks.positive, "a", np.inf) == "a must be a positive finite number; got inf."


def test_choice():
    assert checks.choice("how", "exact", ("exact", "auto")) == "exact"
    assert message(checks.choice, "how", 3, ("exact", "auto")) == (
        "how must be one of 'exact', 'auto'; got 3."
    )
    assert message(checks.choice, "how", "exat", ("exact", "auto")) == (
        "how must be one of 'exact', 'auto'; got 'exat'. Did you mean 'exact'?"
    )
    assert message(checks.choice, "how", None, ["exact"], also="a function") == (
        "how must be 'exact' or a function; got None."
    )
    # Something that compares equal to a name, or that cannot be hashed, is still not a name.
    assert message(checks.choice, "how", ["exact"], {"exact": 1}) == "how must be 'exact'; got ['exact']."


def test_optional():
    assert checks.optional(checks.integer, "k", None, 1) is None
    assert checks.optional(checks.integer, "k", 4, 1) == 4
    assert (
        message(checks.optional, checks.integer, "k", 0, 1) == "k must be None or a positive integer; got 0."
    )
    assert message(checks.optional, checks.number, "a", -1, 0.0, 1.0, low_open=True) == (
        "a must be None or a number in (0, 1]; got -1."
    )


def test_flag():
    for value in (True, np.True_):
        assert checks.flag("copy", value) is True
    assert message(checks.flag, "copy", 1) == "copy must be True or False; got 1."


def test_instance():
    assert checks.instance("stage", 3, int, "a Stage") == 3
    assert message(checks.instance, "stage", "x", int, "a Stage") == "stage must be a Stage; got 'x'."


def test_array_returns_numbers_of_the_shape():
    got = checks.array("w", [1, 2, 3], (3,))
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, [1.0, 2.0, 3.0])
    assert checks.array("w", [[1, 2]], (None, 2), dtype=np.float32).dtype == np.float32
    assert checks.array("w", [], (None,), low=0.0).shape == (0,)


@pytest.mark.parametrize(
    ("value", "shape", "options", "words"),
    [
        ("abc", (3,), {}, "w must be a vector of 3 finite numbers; got 'abc'."),
        ([1, [2]], (None,), {}, "w must be a vector of finite numbers; got [1, [2]]."),
        ([1, 2], (3,), {}, "w must be a vector of 3 finite numbers; got shape (2,)."),
        ([1, 2], (2, 2), {}, "w must be an array of finite numbers of shape (2, 2); got shape (2,)."),
        ([[1]], (None, 2), {}, "w must be an array of finite numbers of shape (any, 2); got shape (1, 1)."),
        ([1, np.nan], (2,), {}, "w must be a vector of 2 finite numbers; got nan at entry 1."),
        (
            [1, -1],
            (2,),
            {"low": 0},
            "w must be a vector of 2 finite numbers, all at least 0; got -1.0 at entry 1.",
        ),
        (
            [[1, 0]],
            (1, 2),
            {"low": 0, "low_open": True},
            "w must be an array of finite numbers of shape (1, 2), all above 0; got 0.0 at entry (0, 1).",
        ),
    ],
)
def test_array_refuses(value, shape, options, words):
    assert message(checks.array, "w", value, shape, **options) == words


def test_refuse_shortens_what_was_received_and_adds_advice():
    words = message(checks.refuse, "a", "a number", "x" * 100, "Use 1.")
    assert words == f"a must be a number; got '{'x' * 76}.... Use 1."
    # Text is shown as text, whatever it says.
    assert message(checks.refuse, "a", "a number", "shape (3,)") == "a must be a number; got 'shape (3,)'."
