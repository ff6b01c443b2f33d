"""Pictures: what is drawn is what was given."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection, PolyCollection

import winkel as wk
from winkel.errors import InvalidInputError, InvalidParameterError, MissingDependencyError
from winkel.maps import Map, write_map
from winkel.view import plot, plot_angles, plot_distortions, plot_history, plot_maps
from winkel.view.layers import MOST_CLASSES, PALETTE, classes, short_names, spread

N = 60


@pytest.fixture
def Y():
    return np.random.default_rng(0).normal(size=(N, 2))


def dots(ax):
    return [item for item in ax.collections if isinstance(item, PathCollection) and len(item.get_offsets())]


def only(ax, kind):
    (item,) = [item for item in ax.collections if isinstance(item, kind)]
    return item


def test_points_lie_where_the_map_says(Y):
    ax = plot(Y, title="a $title$")
    np.testing.assert_array_equal(dots(ax)[0].get_offsets(), Y)
    assert ax.get_title() == r"a \$title\$"
    assert ax.get_legend() is None
    assert ax.get_xlim()[0] < Y[:, 0].min()
    assert ax.get_xlim()[1] > Y[:, 0].max()


def test_a_map_is_drawn_in_every_form(Y, tmp_path):
    write_map(tmp_path / "map.csv", Map(Y))
    for form in (Y.tolist(), Map(Y), tmp_path / "map.csv", str(tmp_path / "map.csv")):
        np.testing.assert_array_equal(dots(plot(form))[0].get_offsets(), Y)


def test_labels_get_colours_that_the_legend_names(Y):
    labels = np.array(["b", "a", "_hidden"])[np.arange(N) % 3]
    ax = plot(Y, labels=labels)
    colors = dots(ax)[0].get_facecolors()
    assert len(np.unique(colors[:, :3], axis=0)) == 3
    texts = [text.get_text().removeprefix("\u200b") for text in ax.get_legend().get_texts()]
    assert texts == ["_hidden", "a", "b"]
    first = mpl.colors.to_rgb(PALETTE[texts.index(labels[0])])
    np.testing.assert_allclose(colors[0, :3], first)


def test_a_legend_covers_no_point(Y):
    ax = plot(Y, labels=np.arange(N) % 10)
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1 - 1


def test_classes_come_in_their_natural_order():
    names, which = classes(np.array(["c10", "c9", "c1", "c10"]))
    assert names == ["c1", "c9", "c10"]
    assert which.tolist() == [2, 1, 0, 2]
    assert classes(np.array([10, 9, 9]))[0] == ["9", "10"]


@pytest.mark.parametrize(("n_classes", "n_groups"), [(12, 1), (13, 2), (30, 3), (36, 3), (37, 1)])
def test_many_classes_come_in_several_shapes(Y, n_classes, n_groups):
    ax = plot(Y, labels=np.arange(N) % n_classes)
    assert len(dots(ax)) == n_groups
    assert sum(len(group.get_offsets()) for group in dots(ax)) == N
    assert (ax.get_legend() is not None) == (n_classes <= MOST_CLASSES)


def test_hostile_labels_are_drawn(Y, tmp_path):
    labels = np.array(["$\\frac{", "<script>", "x" * 500, "שלום", ""])[np.arange(N) % 5]
    plot(Y, labels=labels, path=tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


@pytest.mark.filterwarnings("ignore:Glyph")
def test_values_leave_extremes_beyond_the_scale(Y):
    values = np.linspace(0, 1, N)
    values[7], values[8] = 1e9, np.nan
    ax = plot(Y, values=values)
    assert sorted(len(group.get_offsets()) for group in dots(ax)) == [1, N - 1]
    low, high = max(dots(ax), key=lambda group: len(group.get_offsets())).get_clim()
    assert low >= 0
    assert high < 1e9


def test_reliability_is_a_colour_from_0_to_1_or_with_labels_how_solid_a_point_is(Y):
    trust = np.linspace(0.2, 0.6, N)
    alone = dots(plot(Y, reliability=trust))[0]
    assert alone.get_clim() == (0, 1)
    np.testing.assert_allclose(alone.get_array(), trust)
    beside = dots(plot(Y, labels=np.zeros(N), reliability=trust))[0].get_alpha()
    assert (np.diff(beside) > 0).all()
    assert beside[0] > 0.1


def test_variance_is_a_disc_of_one_standard_deviation(Y):
    discs = only(plot(Y, variance=np.full(N, 0.25)), EllipseCollection)
    np.testing.assert_allclose(discs.get_widths(), 1.0)
    np.testing.assert_array_equal(discs.get_offsets(), Y)


def test_edges_and_pairs(Y):
    graph = wk.graph.knn(Y, 3)
    lines = only(plot(Y, edges=graph), LineCollection).get_segments()
    assert len(lines) == graph.n_edges
    np.testing.assert_allclose(lines[0], Y[graph.edges[0]])
    marked = only(plot(Y, pairs=[[0, 5], [2, 3]]), LineCollection).get_segments()
    np.testing.assert_allclose(marked, Y[[[0, 5], [2, 3]]])


def test_an_embedding_draws_its_own_graph():
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = wk.MDE(n_neighbors=5, random_state=0).fit(X)
    ax = plot(model, edges=True, pairs=model.problem_.high_distortion_pairs(model.embedding_, 5)[0])
    counts = [len(item.get_segments()) for item in ax.collections if isinstance(item, LineCollection)]
    assert counts == [model.graph_.n_edges, 5]
    with pytest.raises(InvalidInputError, match="this map has none"):
        plot(model.embedding_, edges=True)


def test_density_is_smooth_at_any_number_of_points(Y):
    """Few points are spread as wide as they lie apart: the picture has no holes between near ones, and all is in it."""
    (image,) = plot(Y, density=True).images
    shown = image.get_array()[..., 3]
    assert (shown > 0).mean() > 0.3
    left, right, bottom, top = image.get_extent()
    assert left < Y[:, 0].min() < Y[:, 0].max() < right
    assert bottom < Y[:, 1].min() < Y[:, 1].max() < top
    many = np.random.default_rng(0).normal(size=(40_000, 2))
    (sharp,) = plot(many, density=True).images
    peak = np.unravel_index(np.argmax(sharp.get_array()[..., 3]), sharp.get_array().shape[:2])
    x0, x1, y0, y1 = sharp.get_extent()
    height, width = sharp.get_array().shape[:2]
    assert np.hypot(x0 + (peak[1] + 0.5) / width * (x1 - x0), y0 + (peak[0] + 0.5) / height * (y1 - y0)) < 0.6
    (mixed,) = plot(Y, labels=np.arange(N) % 3, density=True).images
    np.testing.assert_array_equal(mixed.get_array()[..., 3] > 0, shown > 0)


def test_long_names_leave_the_map_its_room(Y):
    names = np.array([f"a rather long name of class {k:02d}" for k in range(36)])
    ax = plot(Y, labels=names[np.arange(N) % 36])
    ax.figure.canvas.draw()
    box = ax.get_window_extent()
    assert box.width > 0.85 * box.height
    assert box.height > 0.85 * ax.figure.bbox.height
    entries = ax.get_legend().legend_handles
    looks = {(tuple(h.get_facecolor()[0]), h.get_paths()[0].vertices.tobytes()) for h in entries}
    assert len(looks) == 36
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.width + 1


def test_long_names_of_many_classes_become_numbers_that_the_legend_explains():
    stream = np.random.default_rng(0)
    which = np.arange(3600) % 36
    Y = 5.0 * np.stack([which // 6, which % 6], axis=1) + stream.normal(size=(3600, 2))
    names = np.array([f"a rather long name of class {k:02d}" for k in range(36)])

    def covered(ax):
        """The share of points under what is written on the map."""
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts if text.get_visible()]
        pixels = ax.transData.transform(Y)
        return np.mean([any(box.contains(*pixel) for box in boxes) for pixel in pixels])

    ax = plot(Y, labels=names[which])
    assert covered(ax) < 0.1
    assert covered(plot(Y, labels=names[which], names=True)) > 0.2  # as asked for
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [entry.split("  ")[0] for entry in entries] == [str(k + 1) for k in range(36)]
    assert all(entry.endswith(f"{k:02d}") for k, entry in enumerate(entries))
    assert {text.get_text() for text in ax.texts} == {str(k + 1) for k in range(36)}
    for text in ax.texts:  # each number stands where its class is dense
        near = np.argsort(((Y - text.xy) ** 2).sum(axis=1))[:15]
        assert np.mean(which[near] == int(text.get_text()) - 1) > 0.9
    few = plot(Y, labels=names[which % 5])
    assert {text.get_text() for text in few.texts} == set(short_names(names[:5], 28))
    assert {text.get_text() for text in few.get_legend().get_texts()} == set(short_names(names[:5], 30))


def test_names_that_begin_alike_stay_apart(Y):
    kinds = ["Central memory CD4+ T cells, activated", "Naive CD8+ T cells of the thymic lineage"]
    names = [f"{kind} {k}" for kind in kinds for k in range(6)] + [
        "x" * 40 + "a" + "y" * 40,
        "x" * 40 + "b" + "y" * 40,
    ]
    names += ["short", "Plasmacytoid dendritic cells (IRF8 high)"]
    cut = short_names(names, 30)
    assert len(set(cut)) == len(names)
    assert max(map(len, cut)) <= 30
    assert cut[3] == "Central memory CD4+ T cells,…3"
    assert cut[-2:] == ["short", "Plasmacytoid dendritic cells …"]
    ax = plot(Y, labels=np.array(names)[np.arange(N) % len(names)])
    assert len({text.get_text() for text in ax.get_legend().get_texts()}) == len(names)
    assert len({text.get_text() for text in ax.texts}) == len(names)


def test_unknown_values_are_drawn_as_large_as_others(Y):
    values = np.where(np.arange(N) % 7 == 0, np.nan, Y[:, 0])
    unknown, known = (c for c in plot(Y, values=values).collections if len(c.get_offsets()))
    assert unknown.get_sizes().tolist() == known.get_sizes().tolist()


def test_looks_that_can_be_chosen(Y, tmp_path):
    pd = pytest.importorskip("pandas")
    ax = plot(
        Y,
        values=pd.Series(Y[:, 0], name="age"),
        cmap="magma",
        size=7,
        figsize=(3, 2),
        dpi=50,
        path=tmp_path / "a.png",
    )
    assert ax.figure.axes[1].get_ylabel() == "age"
    assert ax.collections[0].get_cmap().name == "magma"
    assert ax.collections[0].get_sizes().tolist() == [7]
    assert tuple(ax.figure.get_size_inches()) == (3, 2)
    assert plt.imread(tmp_path / "a.png").shape[:2] == (100, 150)
    assert plot(Y, values=Y[:, 0], values_name="height").figure.axes[1].get_ylabel() == "height"
    with pytest.raises(InvalidParameterError, match="figsize is for a new figure"):
        plot(Y, ax=ax, figsize=(2, 2))


def test_a_pdf_for_a_paper(tmp_path):
    many = np.random.default_rng(0).normal(size=(25_000, 2))
    plot(many, title="Cells", path=tmp_path / "map.pdf")
    content = (tmp_path / "map.pdf").read_bytes()
    assert b"/Type3" not in content  # letters are TrueType, as journals ask for
    assert len(content) < 1_000_000  # the points are one picture


def test_many_points_become_a_heat_map_by_themselves(Y, monkeypatch):
    monkeypatch.setattr("winkel.view.plots.DENSE_FROM", N)
    assert len(plot(Y).images) == 1
    assert len(plot(Y, values=np.ones(N)).images) == 0
    assert len(plot(Y, density=False).images) == 0


def test_ellipses_have_the_axes_that_were_given(Y):
    turned = np.array([[0.0, -1.0], [2.0, 0.0]])  # the unit circle becomes two high and one wide
    shapes = np.tile(turned, (N, 1, 1))
    shapes[0] = np.nan
    ellipses = only(plot(Y, indicatrix=shapes, n_ellipses=50), EllipseCollection)
    np.testing.assert_allclose(ellipses.get_widths() / ellipses.get_heights(), 2)
    np.testing.assert_allclose(np.abs(np.asarray(ellipses.get_angles()) % 180), 90)
    assert 5 < len(ellipses.get_offsets()) <= 50


def test_places_are_spread_over_the_map(Y):
    some = spread(Y, 25)
    assert len(some) <= 25
    assert len(set(some.tolist())) == len(some)


def test_several_maps_share_one_legend(Y, tmp_path):
    figure = plot_maps(
        {"a": Y, "b": -Y, "c": Y * 2, "d": Y}, labels=np.arange(N) % 3, path=tmp_path / "x.svg"
    )
    visible = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title() for ax in visible] == ["a", "b", "c", "d"]
    assert sum(ax.get_legend() is not None for ax in visible) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.svg"]


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (np.zeros((5, 3)), {}, r"shape \(n, 2\); got \(5, 3\)"),
        (np.zeros((0, 2)), {}, "must have points"),
        (np.array([[0, np.nan]]), {}, "finite"),
        (
            np.zeros((5, 2)),
            {"labels": [1, 2]},
            r"labels must hold one value per row, 5 in all; got shape \(2,\)",
        ),
        (np.zeros((5, 2)), {"reliability": [1, 2]}, "reliability must hold"),
        (np.zeros((5, 2)), {"edges": [[0, 5]]}, "row numbers from 0 to 4; got 5"),
        (np.zeros((5, 2)), {"pairs": [[0.5, 1]]}, r"pairs must be pairs of row numbers"),
        (np.zeros(5), {}, r"Y must be an array \(n, d\).*; got shape \(5,\)"),
        (wk.TSM(2), {}, "Y is a TSM that is not fitted"),
        (np.zeros((5, 2)), {"indicatrix": np.zeros((5, 3))}, r"shape \(5, 2, 2\); got \(5, 3\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, options, message):
    with pytest.raises(InvalidInputError, match=message):
        plot(given, **options)


@pytest.mark.parametrize("Y", [np.ones((1, 2)), np.ones((7, 2)), np.array([[0.0, 0.0], [1.0, 0.0]])])
def test_maps_without_extent_are_drawn(Y, tmp_path):
    for k, options in enumerate(({}, {"density": True}, {"indicatrix": np.tile(np.eye(2), (len(Y), 1, 1))})):
        plot(Y, path=tmp_path / f"{k}.png", **options)
    assert len(list(tmp_path.iterdir())) == 3


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"winkel\[plot\]"):
        plot(np.eye(2))


def test_the_history_of_runs(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 4))
    model = wk.MDE(n_neighbors=5, random_state=0).fit(X)
    (line,) = plot_history(model).lines
    np.testing.assert_array_equal(line.get_ydata(), model.history_.objective)
    ax = plot_history(
        {"a": model, "b": model.result_}, columns=("objective", "residual"), path=tmp_path / "h.png"
    )
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "a objective",
        "a residual",
        "b objective",
        "b residual",
    ]
    with pytest.raises(InvalidInputError, match="no 'loss'; it has iteration, objective"):
        plot_history(model, columns=("loss",))


def test_distortions_as_shares_of_pairs():
    ax = plot_distortions({"a": [3.0, 1.0, 2.0, 2.0], "b": [1.0]})
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [1, 2, 2, 3])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.25, 0.5, 0.75, 1])
    with pytest.raises(InvalidInputError, match="distortions must hold numbers"):
        plot_distortions([])


def test_angles_as_a_histogram_with_its_threshold():
    ax = plot_angles(np.linspace(0.5, 179.5, 180), threshold=40, bins=18)
    (outline,) = ax.patches
    assert outline.get_xy()[:, 1].max() == pytest.approx(1 / 180)
    assert ax.lines[0].get_xdata()[0] == 40
    assert ax.get_legend().get_texts()[0].get_text() == "threshold 40°"


def test_seams_join_what_is_torn_and_can_be_left_out():
    def bands(ax):
        return sum(len(c.get_paths()) for c in ax.collections if isinstance(c, PolyCollection))

    X = np.random.default_rng(0).uniform(size=(400, 2))
    Y = X + 5 * (X[:, :1] > 0.5)
    report = wk.measure(X, Y, scores=["tearing"])
    expected = len(report["tearing"].detail.seams(Y))
    assert (
        bands(wk.plot(Y, seams=report)) == bands(wk.plot(Y, seams=report["tearing"].detail)) == expected > 0
    )
    assert bands(wk.plot(Y)) == 0  # nothing is known of its data
    result = replace(wk.MDE(max_iter=1, focus="shape").fit(X).result_, Y=Y)
    assert bands(wk.plot(result)) == expected
    assert bands(wk.plot(result, seams=False)) == 0
    with pytest.raises(InvalidInputError, match="this map has none"):
        wk.plot(Y, seams=True)
    with pytest.raises(InvalidInputError, match="those of 400 rows"):
        wk.plot(Y[:10], seams=report)
    with pytest.raises(InvalidInputError, match='does not contain the score "tearing"'):
        wk.plot(Y, seams=wk.measure(X, Y, scores=["stress"]))
    with pytest.raises(InvalidInputError, match="got a str"):
        wk.plot(Y, seams="yes")
