"""Any arrays come back byte for byte, and no damaged file is ever read."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from winkel.data.archive import read_archive, write_archive
from winkel.errors import ModelFileError

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="<"),
    hnp.unsigned_integer_dtypes(endianness="<"),
    hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="<", sizes=(64, 128)),
    hnp.unicode_string_dtypes(endianness="<", max_len=5),
    hnp.byte_string_dtypes(min_len=1, max_len=5),
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None, max_examples=100)
@given(
    arrays=st.dictionaries(st.text(min_size=1), ARRAYS, max_size=4),
    meta=st.dictionaries(st.text(), VALUES, max_size=3),
    compress=st.booleans(),
)
def test_everything_comes_back_byte_for_byte(tmp_path_factory, arrays, meta, compress):
    path = tmp_path_factory.getbasetemp() / "any.wk"
    write_archive(path, "any", meta, arrays, compress=compress)
    found = read_archive(path)
    assert found.meta == meta
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a file with every part: values, raw and compressed arrays, padding."""
    path = tmp_path_factory.mktemp("whole") / "model.wk"
    arrays = {"raw": np.linspace(0, 1, 20), "packed": np.zeros(2000), "names": np.array(["a", "bc"])}
    write_archive(path, "model", {"a": [1, "b"]}, arrays)
    assert read_archive(path).arrays["raw"][1] == np.linspace(0, 1, 20)[1]
    return path.read_bytes()


def test_a_file_that_ends_anywhere_is_refused(tmp_path, whole):
    path = tmp_path / "model.wk"
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            read_archive(path)


def test_a_file_with_any_one_byte_changed_is_refused(tmp_path, whole):
    path = tmp_path / "model.wk"
    for position in range(len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(whole)
            damaged[position] ^= flip
            path.write_bytes(damaged)
            with pytest.raises(ModelFileError):
                read_archive(path)


@settings(deadline=None, max_examples=200)
@given(noise=st.binary(max_size=300), keep=st.integers(0, 200))
def test_noise_is_refused(tmp_path_factory, whole, noise, keep):
    path = tmp_path_factory.getbasetemp() / "noise.wk"
    content = whole[:keep] + noise
    if content == whole:
        return
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        read_archive(path)


def test_a_file_changed_on_purpose_is_read_or_refused_and_nothing_else_happens(tmp_path, whole):
    path = tmp_path / "model.wk"
    refused = 0
    header_size = int.from_bytes(whole[16:24], "little")
    for position in range(32, 32 + header_size):
        for byte in b'"[0-9':
            content = bytearray(whole[:-32])
            content[position] = byte
            path.write_bytes(content + hashlib.blake2b(content, digest_size=32).digest())
            try:
                read_archive(path)
            except ModelFileError:
                refused += 1
    assert refused > header_size
