"""The single-file container: what goes in comes out, and what cannot be trusted does not come in."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import zlib

import numpy as np
import pytest

from winkel.checks import plain_json
from winkel.data import archive
from winkel.data.archive import FORMAT, atomic_file, read_archive, write_archive
from winkel.errors import InvalidParameterError, ModelFileError

PROLOGUE = struct.Struct("<8sIIQQ")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.wk"


def forge(path, header, body=b"", *, magic=b"\x89winkel\n", version=FORMAT, header_size=None, total=None):
    """A file with a right checksum over whatever content: what someone who means ill could write."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = PROLOGUE.size + len(text) + len(body) + 32
    start = PROLOGUE.pack(
        magic,
        version,
        0,
        len(text) if header_size is None else header_size,
        size if total is None else total,
    )
    content = start + text + body
    path.write_bytes(content + hashlib.blake2b(content, digest_size=32).digest())


def header_with(entry, **changes):
    """A header that is right but for one array, whose entry is changed; and the body that belongs to it."""
    base = {
        "name": "a",
        "dtype": "<f8",
        "shape": [2],
        "offset": 0,
        "nbytes": 16,
        "stored": 16,
        "codec": "raw",
    }
    content = {"kind": "model", "winkel": "0", "meta": {}, "arrays": [base | entry]} | changes
    # The offset does not change the padded length, so that it can be filled in afterwards.
    offset = -(-(PROLOGUE.size + 1024) // 64) * 64
    for item in content["arrays"]:
        if isinstance(item, dict) and item.get("offset") == 0:
            item["offset"] = offset
    text = json.dumps(content).encode().ljust(1024)
    return text, bytes(offset - PROLOGUE.size - 1024) + bytes(16)


def test_the_forged_file_that_changes_nothing_is_read(path):
    text, body = header_with({})
    forge(path, text, body)
    assert np.array_equal(read_archive(path).arrays["a"], np.zeros(2))


def test_values_and_arrays_come_back(path):
    arrays = {
        "floats": np.arange(6.0).reshape(2, 3),
        "names": np.array(["Ångström", "日本", ""]),
        "bytes": np.array([b"ab", b"c"]),
        "flags": np.array([True, False]),
        "scalar": np.array(2.5, dtype=np.float32),
        "empty": np.empty((0, 4), dtype=np.int32),
        "zeros": np.zeros(100_000),
    }
    meta = {"text": "ü", "list": [1, 2.5, None, True], "deep": {"nan": float("nan"), "inf": float("-inf")}}
    write_archive(path, "model", meta, arrays)
    found = read_archive(path, kind="model")
    assert found.kind == "model"
    assert found.meta["text"] == "ü"
    assert found.meta["list"] == [1, 2.5, None, True]
    assert np.isnan(found.meta["deep"]["nan"])
    assert found.meta["deep"]["inf"] == float("-inf")
    assert list(found.arrays) == list(arrays)
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].shape == array.shape
        assert found.arrays[name].tobytes() == array.tobytes()
        assert not found.arrays[name].flags.writeable


def test_other_memory_orders_are_stored_by_value(path):
    array = np.arange(12.0).reshape(3, 4)
    write_archive(
        path,
        "model",
        {},
        {"F": np.asfortranarray(array), "strided": array[::2, ::-1], ">": array.astype(">f8")},
    )
    found = read_archive(path).arrays
    assert np.array_equal(found["F"], array)
    assert np.array_equal(found["strided"], array[::2, ::-1])
    assert np.array_equal(found[">"], array)
    assert found[">"].dtype == np.dtype("=f8")


def test_same_content_gives_the_same_bytes(path, tmp_path):
    other = tmp_path / "other.wk"
    for target in (path, other):
        write_archive(target, "model", {"a": 1}, {"x": np.arange(10_000)})
    assert path.read_bytes() == other.read_bytes()


def test_compression_is_used_where_it_helps(path):
    counting, noise = (
        np.arange(50_000),
        np.frombuffer(hashlib.shake_256(b"").digest(40_000), dtype=np.float64),
    )
    write_archive(path, "model", {}, {"counting": counting})
    assert path.stat().st_size < counting.nbytes / 2
    write_archive(path, "model", {}, {"counting": counting}, compress=False)
    assert path.stat().st_size > counting.nbytes
    write_archive(path, "model", {}, {"noise": noise})
    assert path.stat().st_size > noise.nbytes


def test_arrays_lie_at_multiples_of_64(path):
    write_archive(path, "model", {}, {"a": np.ones(3), "b": np.ones(5), "c": np.ones(1)})
    data = path.read_bytes()
    size = PROLOGUE.unpack(data[:32])[3]
    for entry in json.loads(data[32 : 32 + size])["arrays"]:
        assert entry["offset"] % 64 == 0
        stored = data[entry["offset"] : entry["offset"] + entry["nbytes"]]
        assert stored == np.ones(entry["shape"]).tobytes()


@pytest.mark.parametrize(
    "array",
    [
        np.array([object()]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.ones(2, dtype=np.longdouble),
    ],
    ids=["object", "structured", "datetime", "longdouble"],
)
def test_arrays_of_other_types_are_refused_at_writing(path, array):
    with pytest.raises(InvalidParameterError, match=r"'bad'.*cannot hold"):
        write_archive(path, "model", {}, {"bad": array})
    assert not path.exists()


def deep(levels):
    value = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({"f": print}, r"meta\.f must be"),
        ({"a": [1, {2}]}, r"meta\.a\[1\]"),
        ({1: 2}, "Keys of meta"),
        ({"a": deep(80)}, "deep"),
    ],
)
def test_values_that_json_cannot_hold_are_refused_at_writing(path, meta, message):
    with pytest.raises(InvalidParameterError, match=message):
        write_archive(path, "model", meta, {})
    assert not path.exists()


@pytest.mark.parametrize("kind", ["", "Model", "a b", "../x", "x" * 65])
def test_a_kind_is_a_plain_word(path, kind):
    with pytest.raises(InvalidParameterError, match="kind"):
        write_archive(path, kind, {}, {})


def test_numpy_numbers_become_plain_ones():
    value = plain_json({"a": np.float32(0.5), "b": (np.int64(3), np.bool_(True))}, "meta")
    assert value == {"a": 0.5, "b": [3, True]}
    assert type(value["b"][1]) is bool


def test_writing_replaces_the_file_only_when_it_is_whole(path, monkeypatch):
    write_archive(path, "model", {"version": "old"}, {})

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_archive(path, "model", {"version": "new"}, {})
    assert read_archive(path).meta == {"version": "old"}
    assert os.listdir(path.parent) == [path.name]


def test_an_interruption_leaves_no_temporary_file(path):
    def interrupted():
        with atomic_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(path.parent) == []


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX idea")
def test_the_file_has_the_mode_that_the_umask_gives(path):
    old = os.umask(0o027)
    try:
        write_archive(path, "model", {}, {})
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640


# --------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello, world, this is not a model",
        pickle.dumps({"a": 1}),
        b"PK\x03\x04" + bytes(100),
        bytes(200),
    ],
)
def test_a_foreign_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="not a winkel file"):
        read_archive(path)


def test_a_newer_format_is_refused_with_both_versions_and_the_way_out(path):
    forge(path, {}, version=FORMAT + 1)
    with pytest.raises(
        ModelFileError, match=rf"version {FORMAT + 1};.*up to version {FORMAT}\..*--upgrade winkel"
    ):
        read_archive(path)


def test_a_truncated_file_is_refused_as_such(path):
    write_archive(path, "model", {}, {"a": np.ones(100)})
    data = path.read_bytes()
    for size in (9, 31, 32, 500, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ModelFileError, match="is truncated"):
            read_archive(path)


def test_a_flipped_byte_is_refused_as_damage(path):
    write_archive(path, "model", {}, {"a": np.ones(100)})
    data = bytearray(path.read_bytes())
    data[-200] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged: its checksum"):
        read_archive(path)


def test_bytes_beyond_the_end_are_refused(path):
    write_archive(path, "model", {}, {})
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(ModelFileError, match="damaged"):
        read_archive(path)


def test_another_kind_is_refused_by_name(path):
    write_archive(path, "graph", {}, {})
    with pytest.raises(ModelFileError, match="'graph', where a 'model'"):
        read_archive(path, kind="model")


def test_a_missing_file_is_the_usual_error(path):
    with pytest.raises(FileNotFoundError):
        read_archive(path)


HUGE = 2**50
HOSTILE_ENTRIES = {
    "huge_shape": {"shape": [HUGE], "nbytes": 8 * HUGE, "stored": 8 * HUGE},
    "shape_beyond_memory_of_zero_size": {"shape": [0, 2**63], "nbytes": 0, "stored": 0},
    "size_that_wraps": {"shape": [2**61 + 2], "nbytes": 16, "stored": 16},
    "negative_length": {"shape": [-2], "nbytes": -16, "stored": -16},
    "two_negative_lengths": {"shape": [-1, -2], "nbytes": 16},
    "shape_of_text": {"shape": ["2"]},
    "shape_of_bools": {"shape": [True, True], "nbytes": 8, "stored": 8},
    "too_many_dimensions": {"shape": [1] * 40 + [2]},
    "size_against_shape": {"shape": [3]},
    "size_as_float": {"nbytes": 16.0},
    "offset_in_the_header": {"offset": 64},
    "offset_beyond_the_end": {"offset": HUGE},
    "offset_negative": {"offset": -64},
    "object_dtype": {"dtype": "|O"},
    "structured_dtype": {"dtype": "f8,f8"},
    "big_endian_dtype": {"dtype": ">f8"},
    "dtype_that_is_code": {"dtype": "__import__('os')"},
    "void_dtype": {"dtype": "|V8"},
    "text_of_no_width": {"dtype": "<U0", "shape": [2], "nbytes": 0, "stored": 0},
    "unknown_codec": {"codec": "pickle"},
    "bomb": {"codec": "zlib", "shape": [HUGE], "nbytes": 8 * HUGE},
    "not_compressed_after_all": {"codec": "zlib"},
    "extra_key": {"eval": "1"},
    "name_of_another_type": {"name": 3},
}


@pytest.mark.parametrize("entry", HOSTILE_ENTRIES.values(), ids=HOSTILE_ENTRIES.keys())
def test_a_table_that_lies_is_refused_though_its_checksum_is_right(path, entry):
    text, body = header_with(entry)
    forge(path, text, body)
    with pytest.raises(ModelFileError, match="damaged"):
        read_archive(path)


HOSTILE_HEADERS = {
    "no_json": b"{",
    "other_bytes": b"\xff\xfe",
    "no_object": b"[]",
    "lacks_parts": b"{}",
    "deep_nesting": b"[" * 100_000,
    "deep_meta": json.dumps(
        {"kind": "model", "winkel": "0", "meta": {"a": deep(200)}, "arrays": []}
    ).encode(),
    "key_twice": b'{"kind":"model","kind":"model","winkel":"0","meta":{},"arrays":[]}',
    "endless_number": b'{"kind":"model","winkel":"0","meta":{"a":' + b"9" * 5000 + b'},"arrays":[]}',
    "kind_is_a_path": b'{"kind":"../x","winkel":"0","meta":{},"arrays":[]}',
    "entry_is_no_object": b'{"kind":"model","winkel":"0","meta":{},"arrays":[1]}',
    "bytes_of_no_array": b'{"kind":"model","winkel":"0","meta":{},"arrays":[]}',
}


@pytest.mark.parametrize("name", HOSTILE_HEADERS)
def test_a_header_that_makes_no_sense_is_refused(path, name):
    forge(path, HOSTILE_HEADERS[name], b"hidden" if name == "bytes_of_no_array" else b"")
    with pytest.raises(ModelFileError, match="damaged"):
        read_archive(path)


def test_two_arrays_of_one_name_are_refused(path):
    entry = {"name": "a", "dtype": "<f8", "shape": [0], "offset": 0, "nbytes": 0, "stored": 0, "codec": "raw"}
    text, body = header_with({}, arrays=[entry, dict(entry)])
    forge(path, text, body[:-16])
    with pytest.raises(ModelFileError, match="repeated"):
        read_archive(path)


def test_overlapping_arrays_are_refused(path):
    one = {"name": "a", "dtype": "<f8", "shape": [2], "offset": 0, "nbytes": 16, "stored": 16, "codec": "raw"}
    text, body = header_with({}, arrays=[one, one | {"name": "b"}])
    forge(path, text, body)
    with pytest.raises(ModelFileError, match="'b' is not at its correct position"):
        read_archive(path)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [({"header_size": 2**60}, "header"), ({"total": 2**60}, "truncated"), ({"total": 5}, "bytes")],
)
def test_sizes_that_do_not_fit_the_file_are_refused(path, sizes, message):
    forge(path, {"kind": "model"}, **sizes)
    with pytest.raises(ModelFileError, match=message):
        read_archive(path)


@pytest.mark.parametrize(
    ("dtype", "shape", "values"),
    [("|b1", [16], b"\x02" * 16), ("<U2", [2], b"\xff" * 16)],
    ids=["bool", "text"],
)
def test_values_that_a_type_does_not_have_are_refused(path, dtype, shape, values):
    text, body = header_with({"dtype": dtype, "shape": shape})
    forge(path, text, body[:-16] + values)
    with pytest.raises(ModelFileError, match="values that its type does not have"):
        read_archive(path)


@pytest.mark.parametrize("spoil", ["cut", "more", "short"])
def test_compressed_bytes_that_do_not_fit_are_refused(path, spoil):
    packed = zlib.compress(bytes(8000))
    packed = {"cut": packed[:-3], "more": packed + b"xyz", "short": zlib.compress(bytes(7992))}[spoil]
    text, body = header_with({"codec": "zlib", "shape": [1000], "nbytes": 8000, "stored": len(packed)})
    forge(path, text, body[:-16] + packed)
    with pytest.raises(ModelFileError, match="decompress"):
        read_archive(path)
