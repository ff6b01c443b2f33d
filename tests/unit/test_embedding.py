"""The frozen result, its file, and load."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import winkel
from winkel.data.archive import read_archive, write_archive
from winkel.embedding import Embedding, load
from winkel.errors import InvalidInputError, InvalidParameterError, ModelFileError
from winkel.run import Run
from winkel.solvers import Frames, GradientDescent, iterate

from .solvers.walk import START, Bowl


class Edges:
    """What an Embedding needs of a graph."""

    def __init__(self, n, edges):
        self.n = n
        self.edges = edges

    def to_arrays(self):
        return {"n": self.n, "origin": {"metric": "cosine"}}, {"edges": self.edges}

    @classmethod
    def from_arrays(cls, meta, arrays):
        if meta["origin"] != {"metric": "cosine"}:
            raise ModelFileError("not this graph")
        return cls(meta["n"], arrays["edges"])


@pytest.fixture
def embedding():
    result = iterate(GradientDescent(0.1), Bowl(), START, Run(keep_frames=5), max_iter=500)
    return Embedding(
        Y=result.state.Y,
        objective=result.state.objective,
        residual=result.state.residual,
        history=result.history,
        status=result.status,
        seed=2**63,
        settings={"n_neighbors": 15, "metric": "cosine", "tol": float("inf"), "levels": (1, None)},
        blocks={"variance": np.arange(6, dtype=np.float32)},
        frames=result.frames,
    )


def assert_equal(one, other):
    assert one.Y.dtype == other.Y.dtype
    assert one.Y.tobytes() == other.Y.tobytes()
    assert (one.objective, one.residual, one.seed, one.version) == (
        other.objective,
        other.residual,
        other.seed,
        other.version,
    )
    assert one.history == other.history
    assert one.status == other.status
    assert dict(one.settings) == dict(other.settings)
    assert one.blocks.keys() == other.blocks.keys()
    for name in one.blocks:
        assert one.blocks[name].dtype == other.blocks[name].dtype
        assert np.array_equal(one.blocks[name], other.blocks[name])
    assert (one.frames is None) == (other.frames is None)
    if one.frames is not None:
        assert np.array_equal(one.frames.iteration, other.frames.iteration)
        assert np.array_equal(one.frames.Y, other.frames.Y)


def test_what_is_saved_is_loaded(embedding, tmp_path):
    embedding.save(tmp_path / "map.wk")
    found = winkel.load(tmp_path / "map.wk")
    assert type(found) is winkel.Embedding
    assert_equal(found, embedding)
    assert found.settings["levels"] == [1, None]
    assert found.version == winkel.__version__


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_are_equal_and_read_only(embedding, make):
    again = make(embedding)
    assert_equal(again, embedding)
    assert not again.Y.flags.writeable
    assert not again.blocks["variance"].flags.writeable


def test_an_embedding_cannot_be_changed(embedding):
    with pytest.raises(dataclasses.FrozenInstanceError):
        embedding.Y = START
    for array in (embedding.Y, embedding.blocks["variance"], embedding.history.objective, embedding.frames.Y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        embedding.blocks["more"] = START
    with pytest.raises(TypeError):
        embedding.settings["more"] = 1


def test_arrays_that_can_still_be_written_are_copied(embedding):
    Y = START.copy()
    again = dataclasses.replace(embedding, Y=Y)
    Y[0] = 99
    assert np.array_equal(again.Y, START)
    assert Y.flags.writeable


def test_it_is_shown_in_one_short_line(embedding):
    text = repr(embedding)
    assert text.startswith("<Embedding 6 × 2; objective ")
    assert text.endswith("; converged; blocks variance>")
    assert "\n" not in text


def test_it_is_an_array_of_its_map(embedding):
    assert len(embedding) == 6
    assert np.asarray(embedding) is embedding.Y
    assert np.array(embedding).flags.writeable
    assert np.asarray(embedding, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.array(embedding, copy=True), embedding.Y)
    assert np.linalg.norm(embedding) == np.linalg.norm(embedding.Y)


def test_a_notebook_shows_a_table_in_which_nothing_is_html(embedding):
    shown = dataclasses.replace(embedding, settings={"metric": "<script>"})._repr_html_()
    assert "6 × 2" in shown
    assert "converged" in shown
    assert "variance (6,)" in shown
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown


def test_a_graph_is_saved_with_its_embedding(embedding, tmp_path, monkeypatch):
    monkeypatch.setattr("winkel.graph.Graph", Edges, raising=False)
    with_graph = dataclasses.replace(embedding, graph=Edges(6, np.array([[0, 1], [2, 3]])))
    with_graph.save(tmp_path / "map.wk")
    found = load(tmp_path / "map.wk").graph
    assert found.n == 6
    assert np.array_equal(found.edges, [[0, 1], [2, 3]])


def test_no_frames_stay_no_frames(embedding, tmp_path):
    dataclasses.replace(embedding, frames=None).save(tmp_path / "map.wk")
    assert load(tmp_path / "map.wk").frames is None


@pytest.mark.parametrize("Y", [np.ones(3), np.ones((2, 2), dtype=int), np.array([["a"]])])
def test_a_map_that_is_none_is_refused(embedding, Y):
    with pytest.raises(InvalidInputError, match="Y must be"):
        dataclasses.replace(embedding, Y=Y)


def test_settings_that_cannot_be_saved_are_refused_at_once(embedding):
    with pytest.raises(InvalidParameterError, match=r"settings\.metric"):
        dataclasses.replace(embedding, settings={"metric": print})


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture
def path(embedding, tmp_path):
    embedding.save(tmp_path / "map.wk")
    return tmp_path / "map.wk"


def test_a_checkpoint_is_not_opened_but_explained(tmp_path):
    iterate(GradientDescent(0.1), Bowl(), START, Run(checkpoint=tmp_path / "run.wk"), max_iter=500)
    with pytest.raises(ModelFileError, match="Pass it as `checkpoint`"):
        load(tmp_path / "run.wk")


def test_an_unknown_kind_is_refused(tmp_path):
    write_archive(tmp_path / "x.wk", "surprise", {}, {})
    with pytest.raises(ModelFileError, match="'surprise', which load does not open"):
        load(tmp_path / "x.wk")


@pytest.mark.parametrize("part", [field.name for field in dataclasses.fields(Embedding)])
def test_a_file_that_lacks_a_part_is_refused(path, part):
    archive = read_archive(path)
    meta = {name: value for name, value in archive.meta.items() if name != part}
    write_archive(path, "embedding", meta, archive.arrays)
    with pytest.raises(ModelFileError, match=part):
        load(path)


FALSE_PARTS = {
    "Y": [1, 2],
    "objective": "low",
    "history": {"dict": {"iteration": 3}},
    "status": ["fine", "x"],
    "settings": 5,
    "blocks": {"dict": {"v": {"array": "missing", "order": "C"}}},
    "graph": {"meta": {"n": 1}, "arrays": {"dict": {}}},
    "frames": {"tuple": []},
}


@pytest.mark.parametrize("part", FALSE_PARTS)
def test_a_file_with_a_false_part_is_refused(path, part):
    archive = read_archive(path)
    write_archive(path, "embedding", archive.meta | {part: FALSE_PARTS[part]}, archive.arrays)
    with pytest.raises(ModelFileError):
        load(path)


def test_a_pickle_is_not_opened(tmp_path):
    opened = []

    class Trap:
        def __reduce__(self):
            return opened.append, ("executed",)

    for content in (pickle.dumps(Trap()), b"\x89winkel\n" + pickle.dumps(Trap())):
        (tmp_path / "trap.wk").write_bytes(content)
        with pytest.raises(ModelFileError):
            load(tmp_path / "trap.wk")
    assert opened == []


def test_frames_know_their_number():
    assert len(Frames(np.arange(3), np.zeros((3, 2, 2), dtype=np.float32))) == 3
