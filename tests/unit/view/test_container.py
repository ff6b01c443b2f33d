"""Arrays through the container and back: an oracle in Python of what the page does in TypeScript."""

import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from winkel.view.html.container import ALPHABET, MAGIC, Part, to_text

TYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}


def from_text(text):
    length, digits = text.split(" ", 1)
    words = np.array([ALPHABET.index(c) for c in digits], dtype=object).reshape(-1, 5)
    values = [int(sum(d * 85 ** (4 - k) for k, d in enumerate(word))) for word in words]
    return b"".join(value.to_bytes(4, "big") for value in values)[: int(length)]


def read(packed):
    """Header and arrays of a part, filters undone one entry after the other."""
    data = zlib.decompress(packed)
    assert data[:4] == MAGIC
    length = int.from_bytes(data[4:8], "little")
    header = json.loads(data[8 : 8 + length])
    assert (8 + length) % 8 == 0
    arrays = {info["name"]: read_array(data[8 + length :], info) for info in header["arrays"]}
    return header["meta"], arrays


def read_array(data, info):
    dtype = np.dtype(TYPES[info["type"]])
    size = int(np.prod(info["shape"]))
    assert info["offset"] % 8 == 0
    stored = np.frombuffer(data, np.uint8, size * dtype.itemsize, info["offset"])
    if info["filter"] != "plain":
        stored = stored.reshape(dtype.itemsize, size).T.copy()
    array = stored.reshape(-1).view(dtype).reshape(info["shape"]).copy()
    if info["filter"] in ("delta", "time"):
        folded = array.astype(np.int64)
        step = (folded >> 1) ^ -(folded & 1)
        if info["filter"] == "time":
            step[0] = np.cumsum(step[0], axis=-1)
            array = np.cumsum(step, axis=0).astype(dtype)
        else:
            array = np.cumsum(step, axis=-1).astype(dtype)
    return array


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 1000])
def test_text_comes_back_as_bytes(length):
    data = np.random.default_rng(length).bytes(length)
    text = to_text(data)
    assert from_text(text) == data
    assert not set(text) & set("<>&\"'\\`")


def test_the_alphabet_has_85_different_characters():
    assert len(set(ALPHABET)) == len(ALPHABET) == 85


@given(
    npst.arrays(np.uint16, npst.array_shapes(min_dims=2, max_dims=2, max_side=9)),
    st.sampled_from(["plain", "planes", "delta"]),
)
def test_filtered_arrays_come_back(array, filter):
    part = Part({"a": [1, None, "ä"]})
    part.add("numbers", array, filter)
    meta, arrays = read(part.pack())
    assert meta == {"a": [1, None, "ä"]}
    np.testing.assert_array_equal(arrays["numbers"], array)


@given(npst.arrays(np.uint16, npst.array_shapes(min_dims=3, max_dims=3, max_side=6)))
def test_frames_come_back(array):
    part = Part()
    part.add("frames", array, "time")
    np.testing.assert_array_equal(read(part.pack())[1]["frames"], array)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "i4", "f4", "f8"])
def test_arrays_of_every_type_lie_side_by_side(dtype):
    part = Part()
    first, second = np.arange(5).astype(dtype), np.arange(3).astype(dtype)
    part.add("first", first, "planes")
    part.add("second", second)
    arrays = read(part.pack())[1]
    np.testing.assert_array_equal(arrays["first"], first)
    np.testing.assert_array_equal(arrays["second"], second)
