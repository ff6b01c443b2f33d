"""What goes into a page, and what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.maps import Map, write_map
from winkel.measures.faithfulness import measure
from winkel.measures.registry import Score
from winkel.view.html import judged
from winkel.view.html.columns import category_codes
from winkel.view.html.parts import build_parts

from .test_container import from_text, read

N = 40


def points(n=N, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def main_of(*args, **kwargs):
    return read(build_parts(*args, **kwargs)["main"])


def by_row(array, arrays):
    """An array in the order of storage (rows last) as one in that of the rows."""
    back = np.empty_like(array)
    back[..., arrays["order"]] = array
    return back


def rows_of(lists, order):
    """Lists of neighbours as row numbers, from differences of places in storage; −1 where there is none."""
    folded = lists.astype(np.int64)
    difference = np.where(folded % 2, -(folded + 1) // 2, folded // 2)
    places = np.arange(len(order))[:, None] + difference
    found = np.where(folded == 0, -1, order[places].astype(np.int64))
    back = np.empty_like(found)
    back[order] = found
    return back


@pytest.mark.parametrize("d", [2, 3])
def test_coordinates_are_kept_to_a_65535th_of_the_extent(d):
    Y = points(d=d)
    meta, arrays = main_of(Y)
    box = meta["maps"][0]
    back = np.array(box["low"])[:, None] + by_row(arrays["map0"], arrays) / 65535 * box["side"]
    assert np.abs(back.T - Y).max() <= 0.5001 * box["side"] / 65535
    assert box["side"] == pytest.approx(np.ptp(Y, axis=0).max())


def test_the_first_view_leaves_out_points_far_away():
    Y = points(2000)
    assert main_of(Y)[0]["maps"][0]["view"] == {"low": [0.0, 0.0], "side": 1.0}
    Y[7] = 500.0
    meta = main_of(Y)[0]["maps"][0]
    low, side = (
        np.array(meta["low"]) + np.array(meta["view"]["low"]) * meta["side"],
        meta["view"]["side"] * meta["side"],
    )
    inside = (np.abs(Y - low - side / 2) <= side / 2).all(axis=1)
    assert inside.mean() > 0.99
    assert not inside[7]
    assert side < 10


def test_further_maps_are_turned_onto_the_first():
    Y = points()
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    meta, arrays = main_of({"first": Y, "turned": 3 * Y @ turn + 7})
    assert [m["name"] for m in meta["maps"]] == ["first", "turned"]
    assert np.abs(arrays["map0"].astype(int) - arrays["map1"].astype(int)).max() <= 1


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_map_file_is_a_map(tmp_path, suffix):
    path = tmp_path / f"mine{suffix}"
    write_map(path, Map(points()))
    meta, arrays = main_of(path)
    assert meta["maps"][0]["name"] == f"mine{suffix}"
    np.testing.assert_array_equal(arrays["map0"], main_of(points())[1]["map0"])
    assert [m["name"] for m in main_of({"one": str(path), "two": points(seed=1)})[0]["maps"]] == [
        "one",
        "two",
    ]


def test_results_with_a_Y_are_maps():
    X = points(d=4)
    found = wk.quadratic.pca(X, 2)
    np.testing.assert_array_equal(main_of(found)[1]["map0"], main_of(found.Y)[1]["map0"])


def test_a_flat_and_a_solid_map_go_together():
    meta, arrays = main_of({"flat": points(), "solid": points(d=3)})
    assert arrays["map0"].shape == (2, N)
    assert arrays["map1"].shape == (3, N)
    assert len(meta["maps"]) == 2


def test_an_estimator_brings_its_name_its_neighbours_and_its_frames():
    X = np.random.default_rng(0).normal(size=(N, 5))
    mde = wk.MDE(n_neighbors=5, random_state=0, max_iter=20, keep_frames=4).fit(X)
    parts = build_parts(mde)
    meta, arrays = read(parts["main"])
    assert meta["maps"][0]["name"] == "MDE"
    assert meta["parts"] == ["neighbors", "frames"]
    _, lists = read(parts["neighbors"])
    np.testing.assert_array_equal(rows_of(lists["neighbors"], arrays["order"]), mde.graph_.knn_indices)
    frames = read(parts["frames"])[0]["frames"][0]
    assert frames["iterations"] == mde.result_.frames.iteration.tolist()
    assert "neighbors" not in build_parts(mde, neighbors=False)


def test_missing_neighbours_stay_missing():
    lists = np.array([[1, 2], [0, -1], [-1, -1]])
    parts = build_parts(points(3), neighbors=lists)
    order = read(parts["main"])[1]["order"]
    np.testing.assert_array_equal(rows_of(read(parts["neighbors"])[1]["neighbors"], order), lists)


def test_a_graph_of_edges_gives_its_nearest_first():
    graph = wk.Graph.from_edges([[0, 1], [0, 2], [2, 3]], distances=[3.0, 1.0, 2.0])
    parts = build_parts(points(4), neighbors=graph)
    order = read(parts["main"])[1]["order"]
    lists = rows_of(read(parts["neighbors"])[1]["neighbors"], order)
    assert [row[row >= 0].tolist() for row in lists] == [[2, 1], [0], [0, 3], [2]]


def test_labels_are_named_in_their_order():
    assert category_codes(np.array([10, 9, 10]))[0] == ["9", "10"]
    assert category_codes(np.array(["b", "a", None], dtype=object))[0] == ["(none)", "a", "b"]
    assert category_codes(np.array([0.5, 1.0, np.nan]))[0] == ["0.5", "1", "(none)"]
    labels = np.arange(N) % 3
    meta, arrays = main_of(points(), labels=labels)
    np.testing.assert_array_equal(by_row(arrays["labels"], arrays), labels)
    assert meta["labels"]["names"] == ["0", "1", "2"]


def test_fields_become_numbers_categories_or_text():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "count": np.arange(N),
            "big": np.arange(N) + 2**40,
            "share": np.linspace(0, 1, N),
            "kind": ["x", "y"] * (N // 2),
            "note": [f"note {i}" for i in range(N)],
            "flag": np.arange(N) % 2 == 0,
        }
    )
    parts = build_parts(points(), fields=frame, ids=[f"ü{i}" for i in range(N)])
    meta, arrays = read(parts["rows"])
    kinds = {field["name"]: field["kind"] for field in meta["fields"]}
    assert kinds == {
        "count": "number", "big": "number", "share": "number", "kind": "category", "note": "text", "flag": "category",
    }  # fmt: skip
    assert arrays["field0"].dtype == np.int32
    assert arrays["field1"].dtype == np.float64
    assert arrays["field2"].dtype == np.float32
    assert arrays["ids"].tobytes().decode() == "".join(f"ü{i}" for i in range(N))
    assert arrays["ids.lengths"].tolist() == [len(f"ü{i}".encode()) for i in range(N)]


@pytest.mark.parametrize("module", ["polars", "pyarrow"])
def test_frames_of_other_packages_are_read(module):
    package = pytest.importorskip(module)
    make = package.DataFrame if module == "polars" else package.table
    columns = {"a": list(range(N)), "b": ["x"] * N}
    meta, _ = read(build_parts(points(), fields=make(columns))["rows"])
    assert [(field["name"], field["kind"]) for field in meta["fields"]] == [
        ("a", "number"),
        ("b", "category"),
    ]


def test_images_are_stretched_to_bytes():
    images = np.linspace(-1, 1, N * 6).reshape(N, 2, 3)
    meta, arrays = read(build_parts(points(), images=images)["images"])
    assert (meta["height"], meta["width"], meta["channels"]) == (2, 3, 1)
    assert arrays["images"].shape == (N, 2, 3, 1)
    assert (arrays["images"].min(), arrays["images"].max()) == (0, 255)
    colored = np.full((N, 2, 2, 3), 7, dtype=np.uint8)
    np.testing.assert_array_equal(read(build_parts(points(), images=colored)["images"])[1]["images"], colored)


def test_reliability_is_for_all_maps_or_by_map():
    trust = np.linspace(0, 1, N)
    maps = {"a": points(), "b": points(seed=1)}
    meta, arrays = main_of(maps, reliability=trust)
    assert meta["reliability"] == ["reliability0", "reliability0"]
    np.testing.assert_array_equal(by_row(arrays["reliability0"], arrays), np.rint(trust * 255))
    assert main_of(maps, reliability={"b": trust})[0]["reliability"] == [None, "reliability1"]


def test_an_indicatrix_brings_reliability_and_lists():
    lists = [np.array([(i + 1) % N]) for i in range(N)]
    found = SimpleNamespace(
        reliability=np.full(N, 0.5), false_neighbors=lists, missing_neighbors=np.full((N, 2), -1)
    )
    parts = build_parts(points(), indicatrix=found)
    main, arrays = read(parts["main"])
    assert main["reliability"] == ["reliability0"]
    meta, stored = read(parts["neighbors"])
    assert meta["given"] == {"0": True}
    assert stored["missing0"].size == 0
    np.testing.assert_array_equal(
        rows_of(stored["false0"][:, None], arrays["order"])[:, 0], np.concatenate(lists)
    )


def test_scores_of_a_map_or_of_several():
    score = Score("stress", 0.25, (0.0, 1.0), False, "smaller is better")
    maps = {"a": points(), "b": points(seed=1)}
    rows = main_of(maps, scores={"a": SimpleNamespace(scores={"stress": score}), "b": {"stress": 0.5}})[0][
        "scores"
    ]
    assert rows == [
        {
            "name": "stress",
            "meaning": "smaller is better",
            "higher": False,
            "values": [0.25, 0.5],
            "baseline": None,
        }
    ]
    rows = main_of(maps, scores={"neighbor_recall": np.nan})[0]["scores"]
    assert rows == [
        {"name": "neighbor recall", "meaning": "", "higher": None, "values": [None, None], "baseline": None}
    ]


def test_frames_are_turned_onto_the_result():
    Y = points()
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    parts = build_parts(Y, frames=np.stack([0.5 * Y @ turn, Y @ turn]))
    order = read(parts["main"])[1]["order"]
    meta, arrays = read(parts["frames"])
    frame = meta["frames"][0]
    steps = arrays["frames0"] / frame["steps"] * frame["scale"] + np.array(frame["shift"])[:, None]
    low, side = Y.min(axis=0) / 2 + Y.max(axis=0) / 2 - np.ptp(Y, axis=0).max() / 2, np.ptp(Y, axis=0).max()
    assert np.abs(steps[1] * side + low[:, None] - Y[order].T).max() < side / 2000


def test_one_row_and_equal_rows_can_be_shown(tmp_path):
    for Y in (np.zeros((1, 2)), np.ones((5, 3))):
        assert wk.write_html(tmp_path / "map.html", Y).stat().st_size > 1000


def test_the_page_escapes_its_title_and_keeps_no_part_file(tmp_path):
    path = wk.write_html(
        tmp_path / "map.html", points(), title='<script>alert("1")</script>', labels=["</script>"] * N
    )
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert text.count("<script") == 2  # the data and the program
    assert [p.name for p in path.parent.iterdir()] == ["map.html"]
    block = text.split('data-part="main">')[1].split("</script>")[0]
    assert read(from_text(block))[0]["labels"]["names"] == ["</script>"]


def test_the_same_input_gives_the_same_bytes(tmp_path):
    first, second = (
        wk.write_html(tmp_path / name, points(), labels=np.arange(N) % 2).read_bytes() for name in "ab"
    )
    assert first == second


@pytest.mark.parametrize(
    ("maps", "content", "message"),
    [
        (points(d=4), {}, r"\(n, 2\) or \(n, 3\); 'map' has \(40, 4\)"),
        ({}, {}, "at least one map"),
        ({"a": points(), "b": points(5)}, {}, "the same rows; 'a' has 40, 'b' has 5"),
        (np.full((3, 2), np.nan), {}, "must be finite; row 0"),
        (wk.TSM(), {}, "not fitted"),
        (points(), {"labels": [1, 2]}, "labels must hold one value per row, 40"),
        (points(), {"values": ["x"] * N}, r"values\['value'\] must hold numbers"),
        (points(), {"reliability": np.full(N, 2.0)}, "between 0 and 1; got 2 to 2"),
        (points(), {"reliability": {"other": np.zeros(N)}}, "names the map 'other'; the maps are map"),
        (points(), {"fields": 3}, "data frame or a dict of columns; got a int"),
        (points(), {"images": np.zeros((3, 2, 2))}, r"images must have shape \(40, height, width\)"),
        (points(), {"images": np.full((N, 2, 2), np.nan)}, "images must be finite"),
        (points(), {"neighbors": np.zeros((3, 2), dtype=int)}, "neighbors must be a Graph of the 40 rows"),
        (points(), {"neighbors": np.full((N, 2), N)}, "row numbers from 0 to 39"),
        (points(), {"frames": np.zeros((2, 3, 2))}, r"must have shape \(frames, 40, 2\); got \(2, 3, 2\)"),
        (points(), {"scores": 0.5}, "scores must be a Faithfulness"),
        (points(), {"scores": {"other": {"stress": 1.0}}}, "scores names the map 'other'; the maps are map"),
        (points(), {"frames": {"other": np.zeros((2, N, 2))}}, "frames names the map 'other'; the maps are map"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused(maps, content, message):
    with pytest.raises(InvalidInputError, match=message):
        build_parts(maps, **content)


def test_a_folder_is_no_page(tmp_path):
    with pytest.raises(InvalidParameterError, match="is a folder"):
        wk.write_html(tmp_path, points())


def test_explore_opens_a_page_outside_a_notebook(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    path = wk.explore(points(), title="Here")
    assert opened == [path.as_uri()]
    assert "<title>Here</title>" in path.read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------- trust, unasked


@pytest.fixture(scope="module")
def torn():
    """A square whose halves a map pulls apart, and that map as an estimator that keeps its rows."""
    X = np.random.default_rng(0).uniform(size=(200, 2))
    model = wk.MDE(max_iter=1, focus="shape", random_state=0).fit(X)
    model.result_ = replace(model.result_, Y=X + 5 * (X[:, :1] > 0.5))
    return X, model


def test_a_page_of_a_fitted_map_says_how_far_to_trust_it(torn):
    X, model = torn
    meta, arrays = main_of(model)
    report = wk.measure(X, model, scores=["tearing", "continuity"])
    rows = {row["name"]: row for row in meta["scores"]}
    for name in ("tearing", "continuity"):
        assert rows[name]["values"] == [pytest.approx(report[name].value)]
        assert rows[name]["baseline"] == pytest.approx(report[name].baseline)
    found = by_row(arrays["reliability0"], arrays) / 255
    exact = wk.indicatrix(X, model, n_neighbors=5, tolerance=3).reliability
    np.testing.assert_allclose(found, exact, atol=0.01)
    seams = report["tearing"].detail.seams(model.embedding_)
    bands = np.array(meta["maps"][0]["seams"])
    assert bands.shape == (len(seams), 7)
    box = meta["maps"][0]
    np.testing.assert_allclose(bands[:, :2] * box["side"] + np.array(box["low"]), seams.ends[:, 0], atol=1e-3)
    assert bands[:, 6].max() == 1


def test_seams_of_a_map_that_is_turned_onto_another_are_turned_with_it(torn):
    _, model = torn
    alone = main_of(model, trust=False)[0]["maps"][0]["seams"]
    turn = np.array([[0, -0.1], [0.1, 0]])
    beside = main_of({"first": model.embedding_ @ turn, "model": model}, trust=False)[0]["maps"]
    bands = np.array(beside[1]["seams"])
    assert len(bands) == len(alone) > 0
    assert bands[:, :4].min() > -0.01
    assert bands[:, :4].max() < 1.01


def test_trust_by_data_that_is_passed_or_left_out(torn):
    X, model = torn
    Y = model.embedding_
    assert main_of(Y)[0]["scores"] == []  # nothing is known of its data
    assert len(main_of({"a": Y, "b": X}, data=X)[0]["scores"][0]["values"]) == 2
    meta = main_of(model, trust=False)[0]
    assert meta["scores"] == []
    assert meta["reliability"] == [None]
    own = main_of(model, scores={"mine": 0.5}, reliability=np.full(200, 0.25))
    assert [row["name"] for row in own[0]["scores"]] == ["mine"]
    assert set(own[1]["reliability0"]) == {64}
    with pytest.raises(InvalidInputError, match="trust=True needs the data"):
        build_parts(Y, trust=True)


def test_large_data_is_judged_by_a_sample(torn, monkeypatch):
    _, model = torn
    monkeypatch.setattr(judged, "_ALL_ROWS", 100)
    monkeypatch.setattr(judged, "_LEAST_SAMPLE", 60)
    monkeypatch.setattr(judged, "_DISTANCES", 1)
    seen = []
    monkeypatch.setattr(judged, "measure", lambda *a, **k: seen.append(k["sample"]) or measure(*a, **k))
    main_of(model)
    assert seen == [60]


def test_rows_that_an_estimator_keeps_are_those_of_its_map():
    X = wk.datasets.load_digits().X[:60]
    twice = np.concatenate([X, X[:3]])
    model = wk.MDE(max_iter=2, random_state=0).fit(twice)
    np.testing.assert_array_equal(model.fitted_rows().values, twice)
    weighted = wk.MDE(max_iter=2, random_state=0).fit(X, sample_weight=np.arange(60) > 3)
    assert weighted.fitted_rows() is None  # the others are placed, but not kept
    assert wk.MDE(max_iter=2).fit(wk.graph.knn(X, 5)).fitted_rows() is None


def test_columns_bring_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"species": ["a", "b"] * 20, "mass": np.arange(40.0)})
    meta = main_of(points(), labels=frame["species"], values=frame["mass"])[0]
    assert meta["labels"]["name"] == "species"
    assert meta["values"][0]["name"] == "mass"


def test_as_many_neighbours_as_the_card_shows():
    X = points(n=80, d=5)
    _, arrays = read(build_parts(X[:, :2], neighbors=wk.graph.knn(X, 30))["neighbors"])
    assert arrays["neighbors"].shape == (80, 15)
