"""Parsers of published formats, on small files of the same form."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from winkel.data import parsers
from winkel.errors import InvalidInputError


def idx(values):
    """`values` in gzipped IDX form."""
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    return gzip.compress(header + values.astype(np.uint8).tobytes())


def put(path, content):
    path.write_bytes(content)
    return path


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_idx(tmp_path):
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.testing.assert_array_equal(parsers.parse_idx(put(tmp_path / "a.gz", idx(values))), values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not gzip at all", "IDX"),
        (idx(np.zeros((2, 3)))[:-9], "IDX"),
        (gzip.compress(b"\x00\x00\x0d\x01" + bytes(8)), "begins with"),
        (gzip.compress(b"\x00\x00\x08\x01\x00\x00\x00\x05abc"), r"3 values for the shape \(5,\)"),
        (gzip.compress(b"\x00\x00\x08\x03\x00\x00"), "IDX"),
        (gzip.compress(b""), "begins with"),
    ],
    # gzip writes the time into the content: a test's name must not
    ids=["not-gzip", "cut", "wrong-type", "too-few-values", "cut-header", "empty"],
)
def test_broken_idx(tmp_path, content, message):
    with pytest.raises(InvalidInputError, match=message):
        parsers.parse_idx(put(tmp_path / "a.gz", content))


def test_idx_images_put_training_rows_first(tmp_path):
    images = [np.full((n, 2, 2), v) for n, v in ((3, 7), (2, 9))]
    labels = [np.array([0, 1, 2]), np.array([3, 4])]
    names = ("a", "b", "c", "d")
    contents = (idx(images[0]), idx(labels[0]), idx(images[1]), idx(labels[1]))
    paths = [put(tmp_path / name, content) for name, content in zip(names, contents, strict=True)]
    built = parsers.build_idx_images(paths)
    np.testing.assert_array_equal(built["X"][:, 0], [7, 7, 7, 9, 9])
    assert built["X"].shape == (5, 4)
    np.testing.assert_array_equal(built["y"], [0, 1, 2, 3, 4])
    with pytest.raises(InvalidInputError, match="no pair"):
        parsers.build_idx_images([paths[0], paths[3], paths[2], paths[3]])


def test_edges_are_unique_sorted_and_without_loops(tmp_path):
    text = "# Undirected graph\n# FromNodeId\tToNodeId\n30\t10\n10\t30\n10\t20\n20\t20\n99\t99\n30\t20\n"
    edges, ids = parsers.parse_edges(put(tmp_path / "ca-GrQc.txt.gz", gzip.compress(text.encode())))
    np.testing.assert_array_equal(ids, [10, 20, 30])  # 99 has a loop only
    np.testing.assert_array_equal(edges, [[0, 1], [0, 2], [1, 2]])
    built = parsers.build_coauthorship([tmp_path / "ca-GrQc.txt.gz"])
    assert sorted(built) == ["ca_GrQc", "ca_GrQc_ids"]
    with pytest.raises(InvalidInputError, match="edge list"):
        parsers.parse_edges(put(tmp_path / "x.txt", b"1 2 3\n4 5 6\n"))
    with pytest.raises(InvalidInputError, match="edge list"):
        parsers.parse_edges(put(tmp_path / "x.txt", b"<html>not found</html>\n"))


@pytest.mark.parametrize("compress", [gzip.compress, bytes])
def test_analogies(tmp_path, compress):
    text = b": capitals\nAthens Greece Oslo Norway\n\n: plural\ncat cats dog dogs\nbox boxes ox oxen\n"
    built = parsers.parse_analogies(put(tmp_path / "q", compress(text)))
    assert built["words"].tolist()[0] == ["Athens", "Greece", "Oslo", "Norway"]
    np.testing.assert_array_equal(built["section"], [0, 1, 1])
    assert built["sections"].tolist() == ["capitals", "plural"]


@pytest.mark.parametrize("text", [b"", b"a b c d\n", b": head\na b c\n", b"\xff\xfe"])
def test_broken_analogies(tmp_path, text):
    with pytest.raises(InvalidInputError, match="analogy questions"):
        parsers.parse_analogies(put(tmp_path / "q", text))


def test_glove_keeps_the_first_words_and_those_asked_for(tmp_path):
    lines = "".join(f"w{k} " + " ".join(f"{k}.5" for _ in range(100)) + "\n" for k in range(6))
    path = put(tmp_path / "g.zip", zipped({parsers.GLOVE_MEMBER: lines, "glove.6B.50d.txt": "other"}))
    first = parsers.parse_glove(path, 2)
    assert first["words"].tolist() == ["w0", "w1"]
    assert first["X"].dtype == np.float16
    more = parsers.parse_glove(path, 2, frozenset({"w4", "w0", "absent"}))
    assert more["words"].tolist() == ["w0", "w1", "w4"]
    np.testing.assert_array_equal(more["rank"], [0, 1, 4])
    np.testing.assert_array_equal(more["X"][2], np.full(100, 4.5))
    for content in (zipped({"other.txt": ""}), zipped({parsers.GLOVE_MEMBER: ""}), b"PK broken"):
        with pytest.raises(InvalidInputError, match="GloVe 6B"):
            parsers.parse_glove(put(tmp_path / "bad.zip", content), 2)


def test_salinas(tmp_path):
    savemat = pytest.importorskip("scipy.io").savemat
    cube = np.arange(2 * 3 * 224).reshape(2, 3, 224)
    savemat(tmp_path / "c.mat", {"salinasA": cube})
    savemat(tmp_path / "g.mat", {"salinasA_gt": np.array([[0, 1, 10], [11, 12, 13]])})
    built = parsers.build_salinas_a([tmp_path / "c.mat", tmp_path / "g.mat"])
    np.testing.assert_array_equal(built["X"], cube)
    np.testing.assert_array_equal(built["gt"], [[0, 1, 10], [11, 12, 13]])
    assert built["corrected_bands"].shape == (204,)
    with pytest.raises(InvalidInputError, match="0 arrays of 3 dimensions"):
        parsers.build_salinas_a([tmp_path / "g.mat", tmp_path / "g.mat"])
    savemat(tmp_path / "c.mat", {"salinasA_corrected": cube[..., :204]})
    with pytest.raises(InvalidInputError, match="224 bands are expected"):
        parsers.build_salinas_a([tmp_path / "c.mat", tmp_path / "g.mat"])
    with pytest.raises(InvalidInputError, match="MATLAB"):
        parsers.build_salinas_a([put(tmp_path / "c.mat", b"MATLAB 5.0, cut"), tmp_path / "g.mat"])


def test_coil20(tmp_path):
    image = pytest.importorskip("matplotlib.image")

    def png(level):
        pixels = np.zeros((128, 128), dtype=np.uint8)
        pixels[:4, :2] = level  # the left half of the first square of 4 × 4 pixels
        buffer = io.BytesIO()
        image.imsave(buffer, pixels, cmap="gray", vmin=0, vmax=255, format="png")
        return buffer.getvalue()

    members = {f"coil-20-proc/obj{o}__{a}.png": png(20 * o + 2 * a) for o in (2, 1) for a in (10, 9)}
    path = put(tmp_path / "c.zip", zipped(members | {"coil-20-proc/readme.txt": "x"}))
    built = parsers.build_coil20([path])
    assert built["X"].shape == (4, 1024)
    np.testing.assert_array_equal(built["X"][:, 0], [19, 20, 29, 30])  # half of 20 · object + 2 · angle
    assert built["X"][:, 1:].max() == 0
    np.testing.assert_array_equal(built["y"], [0, 0, 1, 1])
    np.testing.assert_array_equal(built["angle_index"], [9, 10, 9, 10])
    with pytest.raises(InvalidInputError, match="no image called"):
        parsers.build_coil20([put(tmp_path / "c.zip", zipped({"a.txt": "x"}))])


def test_mammoth(tmp_path):
    points = [[1.0, 2.0, 3.5], [4.0, 5.0, 6.0]]
    built = parsers.build_mammoth([put(tmp_path / "m.json", json.dumps(points).encode())])
    np.testing.assert_array_equal(built["X"], points)
    for content in (b"[[1, 2], [3, 4]]", b"[[1, 2, 3], [4", b"[]"):
        with pytest.raises(InvalidInputError, match="JSON list of points"):
            parsers.build_mammoth([put(tmp_path / "m.json", content)])
