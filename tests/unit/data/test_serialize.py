"""Values as JSON and arrays, and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from winkel.data.archive import read_archive, write_archive
from winkel.data.serialize import Packer, pack_csr, unpack, unpack_csr
from winkel.errors import InvalidParameterError, ModelFileError


def there_and_back(value, tmp_path):
    packer = Packer()
    node = packer.pack(value, "value")
    write_archive(tmp_path / "value.wk", "value", {"node": node}, packer.arrays)
    archive = read_archive(tmp_path / "value.wk")
    return unpack(archive.meta["node"], archive.arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        0.1,
        float("inf"),
        "",
        "text",
        [],
        (),
        {},
        [1, (2.5, "x"), {"a": None}],
        {"array": 1},
    ],
    ids=repr,
)
def test_plain_values_come_back_as_they_are(value, tmp_path):
    found = there_and_back(value, tmp_path)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("scalar", [np.float32(0.1), np.float64(-0.0), np.int8(-3), np.bool_(True)], ids=repr)
def test_numpy_numbers_keep_their_type(scalar, tmp_path):
    found = there_and_back(scalar, tmp_path)
    assert type(found) is type(scalar)
    assert found.tobytes() == scalar.tobytes()


def test_arrays_keep_their_order_in_memory(tmp_path):
    value = {
        "C": np.arange(6.0).reshape(2, 3),
        "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "0": np.array(3),
    }
    found = there_and_back(value, tmp_path)
    for name, array in value.items():
        assert np.array_equal(found[name], array)
        assert found[name].shape == array.shape
        assert found[name].flags.c_contiguous == array.flags.c_contiguous
        assert found[name].flags.f_contiguous == array.flags.f_contiguous


def test_an_array_met_twice_is_stored_once_and_stays_one(tmp_path):
    array = np.arange(5.0)
    packer = Packer()
    packer.pack([array, (array,)], "value")
    assert len(packer.arrays) == 1
    first, (second,) = there_and_back([array, (array,)], tmp_path)
    assert first is second


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_matrices_come_back_with_the_same_bytes(kind, tmp_path):
    matrix = kind(([1.0, 2.0, 3.0], ([0, 0, 2], [3, 1, 0])), shape=(4, 5), dtype=np.float32)
    found = there_and_back({"codes": matrix}, tmp_path)["codes"]
    assert type(found) is kind
    assert found.shape == (4, 5)
    for part in ("data", "indices", "indptr"):
        assert getattr(found, part).dtype == getattr(matrix, part).dtype
        assert np.array_equal(getattr(found, part), getattr(matrix, part))


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, print, [1, 1j]], ids=["object", "set", "function", "complex"]
)
def test_other_types_are_refused_by_name(value):
    with pytest.raises(InvalidParameterError, match=r"value.*cannot be saved"):
        Packer().pack(value, "value")


def test_keys_must_be_text():
    with pytest.raises(InvalidParameterError, match="Keys of value"):
        Packer().pack({1: 2}, "value")


def test_names_that_collide_are_refused():
    with pytest.raises(InvalidParameterError, match=r"the name 'value\.a\.b'"):
        Packer().pack({"a.b": np.ones(1), "a": {"b": np.zeros(1)}}, "value")


@pytest.mark.parametrize(
    "node",
    [
        {"array": "missing", "order": "C"},
        {"array": "a"},
        {"scalar": []},
        {"list": 3},
        {"dict": []},
        {"other": 1},
    ],
    ids=str,
)
def test_a_node_that_names_nothing_is_refused(node):
    with pytest.raises(ModelFileError, match="does not hold"):
        unpack(node, {"a": np.ones(2)})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indices", np.array([0, 7], dtype=np.int32)),
        ("indices", np.array([0, -1], dtype=np.int32)),
        ("indptr", np.array([0, 5, 2], dtype=np.int32)),
        ("indptr", np.array([0, 2], dtype=np.int32)),
        ("shape", np.array([2, -3])),
        ("shape", np.array([2])),
    ],
)
def test_a_sparse_matrix_that_points_outside_itself_is_refused(part, value):
    parts = pack_csr("m", scipy.sparse.csr_array(np.array([[1.0, 0, 0], [0, 2.0, 0]])))
    parts[f"m.{part}"] = value
    with pytest.raises(ModelFileError, match="'m' of the file is inconsistent"):
        unpack_csr("m", parts)


def test_a_sparse_matrix_without_a_part_is_refused():
    parts = pack_csr("m", scipy.sparse.csr_array(np.eye(2)))
    del parts["m.indptr"]
    with pytest.raises(ModelFileError, match="lacks the part"):
        unpack_csr("m", parts)
