"""Counter-based random numbers: known answers, moments, and the same numbers whoever draws them."""

from __future__ import annotations

import numpy as np
import pytest

from winkel import _core
from winkel.run import Stream

# Known answers of Philox4x32-10 from the Random123 distribution (kat_vectors).
KNOWN_ANSWERS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_published_words(counter, key, expected):
    assert _core.philox4x32(counter, key) == expected


def test_a_draw_is_philox_of_its_number_and_stream_keyed_by_the_seed():
    number, stream, seed = 0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822
    # The counter holds (number, stream) and the key the seed, low words first: the third known answer.
    assert _core.random_bits(seed, stream, number, 1)[0] == 0x94FDCCEBD16CFE09


@pytest.mark.parametrize("draw", ["bits", "uniform", "normal"])
def test_windows_put_together_equal_one_long_draw(draw):
    one = getattr(Stream(7, 3), draw)(1000, start=50)
    parts = [
        getattr(Stream(7, 3), draw)(stop - start, start=start)
        for start, stop in [(50, 51), (51, 400), (400, 1050)]
    ]
    assert np.array_equal(one, np.concatenate(parts))


def test_integer_windows_put_together_equal_one_long_draw():
    stream = Stream(7, 3)
    parts = [stream.integers(10, 30, start=5), stream.integers(10, 70, start=35)]
    assert np.array_equal(stream.integers(10, 100, start=5), np.concatenate(parts))


def test_numbers_wrap_around_at_the_end_of_the_counter():
    last = 2**64 - 1
    wrapped = _core.random_bits(1, 2, last, 2)
    assert wrapped[0] == _core.random_bits(1, 2, last, 1)[0]
    assert wrapped[1] == _core.random_bits(1, 2, 0, 1)[0]


def test_uniform_draws_have_the_moments_of_the_uniform_distribution():
    u = Stream(1).uniform(200_000)
    assert u.min() >= 0
    assert u.max() < 1
    # Standard errors: mean sqrt(1/12/n) = 6.5e-4, variance sqrt(1/180/n) = 1.7e-4; five of them are allowed.
    assert abs(u.mean() - 1 / 2) < 5 * 6.5e-4
    assert abs(u.var() - 1 / 12) < 5 * 1.7e-4
    lag = np.corrcoef(u[:-1], u[1:])[0, 1]
    assert abs(lag) < 5 / np.sqrt(200_000)


def test_normal_draws_have_the_moments_of_the_normal_distribution():
    z = Stream(2).normal(200_000)
    assert np.isfinite(z).all()
    # Standard errors of the first four moments: sqrt(1, 2, 15, 96 / n).
    for power, expected, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
        assert abs((z**power).mean() - expected) < 5 * np.sqrt(variance / 200_000)


@pytest.mark.parametrize("bound", [1, 2, 7, 10, 2**53])
def test_integers_stay_below_their_bound_and_spread_evenly(bound):
    draws = Stream(3).integers(bound, 50_000)
    assert draws.min() >= 0
    assert draws.max() < bound
    expected = (bound - 1) / 2
    assert abs(draws.mean() - expected) <= 5 * bound / np.sqrt(12 * 50_000)


@pytest.mark.parametrize("bound", [0, 2**53 + 1])
def test_a_bound_that_cannot_be_served_is_refused(bound):
    with pytest.raises(ValueError, match="bound must lie in"):
        _core.random_integers(0, 0, 0, 1, bound)


def test_streams_and_seeds_are_unrelated():
    draws = [Stream(seed, stream).bits(100) for seed in (0, 1, 2**63) for stream in (0, 1, 2**63)]
    assert len(np.unique(np.concatenate(draws))) == 900


def test_named_streams_depend_on_the_name_and_the_seed_only():
    assert Stream.named(5, "init") == Stream.named(5, "init")
    assert Stream.named(5, "init").stream != Stream.named(5, "pairs").stream
    # The little-endian number of `printf init | b2sum -l 64`: seeded results depend on it.
    assert Stream.named(5, "init").stream == 9012581901755855035


def test_draws_take_shapes_row_by_row():
    stream = Stream(11)
    assert np.array_equal(stream.normal((3, 4)).ravel(), stream.normal(12))
    assert stream.uniform((2, 0)).shape == (2, 0)


def test_a_permutation_holds_every_number_once():
    order = Stream(4).permutation(500)
    assert order.dtype == np.int64
    assert np.array_equal(np.sort(order), np.arange(500))
    assert not np.array_equal(order, np.arange(500))
