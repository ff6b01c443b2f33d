"""Python values converted to JSON and arrays, which an archive can hold, and back with the same bytes and types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..checks import plain_json
from ..errors import InvalidParameterError, ModelFileError


class Packer:
    """Collects the arrays of all values given to `pack` in `arrays`; an array that appears twice is stored once."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._seen: dict[int, tuple[Any, dict[str, Any]]] = {}

    def pack(self, value: Any, name: str) -> Any:
        """The JSON form of `value`; its arrays are stored under names that begin with `name`."""
        if value is None or isinstance(value, str | bool) or type(value) in (int, float):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if isinstance(value, np.generic):
            self._store(name, np.asarray(value))
            return {"scalar": name}
        if isinstance(value, list | tuple):
            word = "list" if isinstance(value, list) else "tuple"
            return {word: [self.pack(item, f"{name}.{i}") for i, item in enumerate(value)]}
        if isinstance(value, Mapping):
            plain_json(dict.fromkeys(value), name)  # keys must be text
            return {"dict": {key: self.pack(item, f"{name}.{key}") for key, item in value.items()}}
        if getattr(value, "format", None) == "csr":
            for part, array in pack_csr(name, value).items():
                self._store(part, array)
            return {"csr": name, "matrix": type(value).__name__ == "csr_matrix"}
        raise InvalidParameterError(
            f"{name} has type {type(value).__name__}, which cannot be saved; allowed are arrays, CSR "
            "matrices, numbers, text, None, and lists, tuples and dicts of those."
        )

    def _array(self, array: NDArray[Any], name: str) -> dict[str, Any]:
        if id(array) in self._seen:
            return self._seen[id(array)][1]
        # Column-major arrays come back column-major: products and sums over them keep their last bits.
        columns = array.flags.f_contiguous and not array.flags.c_contiguous
        self._store(name, array.T if columns else array)
        node = {"array": name, "order": "F" if columns else "C"}
        self._seen[id(array)] = (array, node)  # the array is held so that its id stays its own
        return node

    def _store(self, name: str, array: NDArray[Any]) -> None:
        if name in self.arrays:
            raise InvalidParameterError(
                f"Two values would be saved under the name {name!r}; rename one of them."
            )
        self.arrays[name] = array


def unpack(node: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value that `Packer.pack` was given, from its JSON form and the arrays of the archive."""
    if not isinstance(node, dict):
        return node
    try:
        if "array" in node:
            array = arrays[node["array"]]
            return array.T if node["order"] == "F" else array
        if "scalar" in node:
            return arrays[node["scalar"]][()]
        if "list" in node:
            return [unpack(item, arrays) for item in node["list"]]
        if "tuple" in node:
            return tuple(unpack(item, arrays) for item in node["tuple"])
        if "dict" in node:
            return {key: unpack(item, arrays) for key, item in node["dict"].items()}
        return unpack_csr(node["csr"], arrays, matrix=bool(node["matrix"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"The file names a part that it does not hold ({error}).") from None


def pack_csr(name: str, matrix: Any) -> dict[str, NDArray[Any]]:
    """The unchanged arrays of a CSR matrix: `name.data`, `name.indices`, `name.indptr`, `name.shape`."""
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices,
        f"{name}.indptr": matrix.indptr,
        f"{name}.shape": np.array(matrix.shape, dtype=np.int64),
    }


def unpack_csr(name: str, arrays: Mapping[str, NDArray[Any]], *, matrix: bool = False) -> Any:
    """The CSR array (or `csr_matrix`) stored under `name`, with its indices checked to lie within its shape."""
    import scipy.sparse

    try:
        parts = [arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr")]
        rows, columns = (int(length) for length in arrays[f"{name}.shape"])
        kind = scipy.sparse.csr_matrix if matrix else scipy.sparse.csr_array
        result = kind(tuple(parts), shape=(rows, columns), copy=False)
        result.check_format(full_check=True)
    except KeyError as error:
        raise ModelFileError(f"The file lacks the part {error} of the sparse matrix {name!r}.") from None
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"The sparse matrix {name!r} of the file is inconsistent: {error}.") from None
    return result
