"""A user's own distortion, in a few lines and in either form, goes wherever a built-in one goes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import winkel as wk
from winkel import _core
from winkel.errors import InvalidParameterError, ModelFileError
from winkel.estimators.portable import from_portable, to_portable
from winkel.problem.distortions import as_distortion
from winkel.problem.distortions import base as names
from winkel.problem.field import Field, Kernel
from winkel.problem.tabulation import decay, tabulated

RNG = np.random.default_rng(0)
N = 60
EDGES = np.unique(np.sort(RNG.integers(0, N, (400, 2)), axis=1), axis=0)
EDGES = EDGES[EDGES[:, 0] < EDGES[:, 1]]
WEIGHTS = RNG.uniform(0.5, 2.0, len(EDGES))
EVERY = np.stack(np.triu_indices(N, 1), axis=1)


class SoftBarrier(wk.penalties.Penalty):
    """p(d) = log(d² / (scale + d²))"""

    role = "repulsive"
    scale: float = 1.0

    def value(self, d):
        return np.log(d**2 / (self.scale + d**2))

    def derivative(self, d):
        return 2 * self.scale / (d * (self.scale + d**2))


class RelativeError(wk.losses.Loss):
    """ℓ(δ, d) = ((d − δ)/δ)²"""

    def value(self, d):
        return ((d - self.deviations) / self.deviations) ** 2

    def derivative(self, d):
        return 2 * (d - self.deviations) / self.deviations**2


class PlainBarrier:
    """The same as SoftBarrier(), as an object that knows nothing of winkel."""

    def value(self, d):
        return np.log(d**2 / (1 + d**2))

    def derivative(self, d):
        return 2 / (d * (1 + d**2))


class OfPairs:
    """w·d³, with data of its own for every pair."""

    def __init__(self, w):
        self.w = np.asarray(w)

    def value(self, d):
        return self.w * d**3

    def derivative(self, d):
        return 3 * self.w * d**2


OWN = {
    "penalty": SoftBarrier(WEIGHTS, scale=0.5),
    "loss": RelativeError(WEIGHTS),
    "object": PlainBarrier(),
    "object of pairs": OfPairs(WEIGHTS),
    "both": wk.penalties.PushAndPull(WEIGHTS - 1.0, wk.penalties.Huber, SoftBarrier),
}


def start(m, n=N, seed=1):
    return np.random.default_rng(seed).normal(size=(n, m))


def assert_gradient(problem, Y, rtol=1e-5):
    """The gradient along a random direction, against a difference of values."""
    direction = np.random.default_rng(2).normal(size=Y.shape)
    h = 1e-6
    ahead, behind = (problem.average_distortion(Y + step * direction) for step in (h, -h))
    assert np.sum(problem.gradient(Y)[1] * direction) == pytest.approx((ahead - behind) / (2 * h), rel=rtol)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", OWN)
def test_gradients(name, m):
    problem = wk.Problem(EDGES, OWN[name], n_items=N, n_components=m)
    assert_gradient(problem, start(m))
    assert np.isfinite(problem.gradient(np.zeros((N, m)))[1]).all()  # coincident points


@pytest.mark.parametrize("name", OWN)
def test_parts_add_up(name):
    problem = wk.Problem(EDGES, OWN[name], n_items=N)
    Y, p = start(2), problem.n_pairs
    chosen = np.sort(RNG.permutation(p)[: p // 3])
    parts = [problem.restricted(chosen), problem.restricted(np.setdiff1d(np.arange(p), chosen))]
    total = sum(part.average_distortion(Y) * part.n_pairs for part in parts)
    assert total / p == pytest.approx(problem.average_distortion(Y))
    np.testing.assert_allclose(parts[0].distortions(Y), problem.distortions(Y)[chosen])
    again = parts[0].restricted([0, 5, 7])
    np.testing.assert_allclose(again.distortions(Y), problem.distortions(Y)[chosen[[0, 5, 7]]])
    assert_gradient(parts[0], Y)


@pytest.mark.filterwarnings("ignore::winkel.errors.NotConvergedWarning")
@pytest.mark.parametrize("name", ["penalty", "loss", "object of pairs", "both"])
def test_lbfgs_finds_a_stationary_map(name):
    distortion = OWN[name].scaled(-1.0) if name == "penalty" else OWN[name]  # a barrier repels
    problem = wk.Problem(EDGES, distortion, n_items=N, constraint=wk.Standardized())
    Y = problem.project(start(2))
    found = problem.solve(Y, max_iter=60, random_state=0)
    assert found.objective < problem.average_distortion(Y)
    assert found.residual < 0.1 * problem.residual(Y)


def test_batches_of_pairs_are_as_those_of_a_built_in_distortion():
    own, built_in = (
        wk.Problem(EDGES, f, n_items=N, constraint=wk.Standardized()).solve(
            start(2), solver="stochastic", max_iter=30, random_state=0
        )
        for f in (OfPairs(WEIGHTS), wk.penalties.Cubic(WEIGHTS))
    )
    assert own.objective == pytest.approx(built_in.objective, rel=1e-3)


@pytest.mark.parametrize(
    "push", [SoftBarrier(-0.3), SoftBarrier(-0.3, scale=2.0), PlainBarrier()], ids=lambda f: type(f).__name__
)
@pytest.mark.parametrize("m", [2, 3, 5])
def test_a_background_is_the_sum_over_all_pairs(push, m):
    Y = start(m)
    whole = wk.Problem(EDGES, wk.penalties.Quadratic(), n_items=N, n_components=m, background=push)
    near = wk.Problem(EDGES, wk.penalties.Quadratic(), n_items=N, n_components=m)
    rest = wk.Problem(EVERY, push, n_items=N, n_components=m)
    scale = len(EVERY) / len(EDGES)
    assert whole.average_distortion(Y) == pytest.approx(
        near.average_distortion(Y) + scale * rest.average_distortion(Y), rel=1e-8
    )
    expected = near.gradient(Y)[1] + scale * rest.gradient(Y)[1]
    np.testing.assert_allclose(whole.gradient(Y)[1], expected, rtol=1e-7, atol=1e-8)
    assert_gradient(whole, Y)
    faint = whole.with_background(0.1)
    assert faint.average_distortion(Y) == pytest.approx(
        near.average_distortion(Y) + 0.1 * scale * rest.average_distortion(Y), rel=1e-8
    )
    copied = pickle.loads(pickle.dumps(whole))
    assert copied.average_distortion(Y) == whole.average_distortion(Y)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "push", [SoftBarrier(), wk.penalties.Huber(), PlainBarrier()], ids=lambda f: type(f).__name__
)
def test_the_tree_sums_what_is_tabulated(push, dtype, m):
    Y = start(m, 3000).astype(dtype)
    Y[:300] = Y[:1]  # coincident points, too
    field = Field(Kernel.of(as_distortion(push)), m, exact_below=0)
    found = field.evaluate(Y)
    assert 0 < found.error < field.tolerance
    assert field.error(Y).forces < field.tolerance
    assert field.error(Y).potentials < field.tolerance


class Wiggle:
    """cos 9d: no box of the tree can stand for its points."""

    def value(self, d):
        return np.cos(9 * d)

    def derivative(self, d):
        return -9 * np.sin(9 * d)


def test_what_no_box_can_stand_for_is_summed_pair_by_pair():
    Y = start(2, 1500) * 4
    field = Field(Kernel.of(as_distortion(Wiggle())), 2, exact_below=0)
    found = field.evaluate(Y)
    assert found.error == 0.0
    np.testing.assert_array_equal(found.forces, field.exact(Y).forces)


@pytest.mark.parametrize(
    "distortion",
    [
        *(
            getattr(wk.penalties, name)()
            for name in ("Log", "Log1p", "Cauchy", "InvPower", "Huber", "Logistic")
        ),
        SoftBarrier(-2.0),
    ],
    ids=lambda f: type(f).__name__,
)
def test_tables_agree_with_their_formula(distortion):
    d = np.concatenate([[0.0], np.geomspace(1e-7, 1e3, 5001)])
    value, pull = tabulated(distortion)(d * d)
    expected, slope = distortion.value_and_derivative(d)
    np.testing.assert_allclose(value, expected, rtol=1e-6, atol=1e-9 * np.abs(expected[d < 10]).max())
    # A force that fades exponentially is tabulated on cells of its distance; what is left of it there does not matter.
    np.testing.assert_allclose(pull * d, slope, rtol=1e-6, atol=1e-7)


def test_what_fades_is_known_to_fade():
    length, reach = decay(wk.penalties.Log(), 2, 1e-3)
    assert 1 < length < 3
    assert 12 < reach < 25
    assert decay(wk.penalties.Cauchy(), 2, 1e-3) == (np.inf, np.inf)

    class Saturating:
        def value(self, d):
            return 1 - np.exp(-d)

        def derivative(self, d):
            return np.exp(-d)

    assert decay(as_distortion(Saturating()), 2, 1e-3)[1] == np.inf  # its values reach everywhere


def test_new_points_are_placed_by_a_table_as_by_a_kernel():
    Y, begin = start(2), start(2, 7, seed=5)
    anchors, weights = np.arange(N, dtype=np.int32)[None, :], np.full((1, N), 1.0)
    penalty = wk.penalties.Log1p(exponent=1.7)
    (part,) = penalty.fused()
    by_kernel = _core.AnchorGroup(part.kernel, part.first, part.second, part.floor, anchors, weights, None)
    by_table = _core.AnchorGroup("", 0.0, 0.0, penalty.floor, anchors, weights, None, tabulated(penalty))
    one, other = (_core.place_rows(Y, begin, [group], 200, 1e-6, 1) for group in (by_kernel, by_table))
    np.testing.assert_allclose(one, other, atol=1e-4)


# ------------------------------------------------------------------------------------------------ formulas


def test_weights_and_floor_are_added_to_a_formula():
    own, d = SoftBarrier([2.0, 3.0, 4.0]), np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(own.value(d), own.weights * np.log(d**2 / (1 + d**2)))
    np.testing.assert_allclose(own.derivative(d), own.weights * 2 / (d * (1 + d**2)))
    assert np.isfinite(SoftBarrier().value(np.zeros(3))).all()
    assert SoftBarrier(scale=3.0).scale == 3.0
    assert SoftBarrier(weights=-1.0).scaled(3.0).weights == -3.0
    assert own.fused() == ()


def test_a_formula_of_its_own_does_not_take_the_kernel_above_it():
    class Steeper(wk.penalties.Quadratic):
        def value(self, d):
            return 5 * d**2

        def derivative(self, d):
            return 10 * d

    problem = wk.Problem([[0, 1]], Steeper(), n_components=1)
    assert problem.average_distortion([[0.0], [2.0]]) == 20.0


def test_half_a_formula_is_refused():
    with pytest.raises(InvalidParameterError, match=r"Half must define both value\(d\) and derivative\(d\)"):

        class Half(wk.penalties.Penalty):
            def value(self, d):
                return d


def test_a_formula_must_give_one_number_a_pair():
    class Total(wk.penalties.Penalty):
        def value(self, d):
            return d.sum()

        def derivative(self, d):
            return np.ones_like(d)

    with pytest.raises(InvalidParameterError, match=r"Total\.value\(d\) must give one number per pair"):
        wk.Problem(EDGES, Total(), n_items=N).average_distortion(start(2))


def test_an_object_may_say_itself_which_part_it_is():
    class Taken(OfPairs):
        def take(self, pairs):
            return Taken(self.w[pairs])

    problem = wk.Problem(EDGES, Taken(WEIGHTS), n_items=N).restricted([3, 4])
    assert len(problem.distortion.functions.w) == 2
    np.testing.assert_allclose(
        problem.distortions(start(2)), OfPairs(WEIGHTS[3:5]).value(problem.distances(start(2)))
    )


# ------------------------------------------------------------------------------------------------ names


def test_names_register_themselves():
    assert names.registered("penalties")["soft_barrier"] is SoftBarrier
    assert names.registered("losses")["relative_error"] is RelativeError
    assert isinstance(names.as_penalty("repulsive", "soft_barrier"), SoftBarrier)
    assert isinstance(names.as_penalty("attractive", "log1p"), wk.penalties.Log1p)
    assert names.as_penalty("attractive", SoftBarrier(scale=2.0)).scale == 2.0
    assert isinstance(names.as_loss("relative_error")(WEIGHTS), RelativeError)
    assert names.as_loss(OfPairs)(WEIGHTS).n_pairs is None
    with pytest.raises(
        InvalidParameterError, match=r"attractive must be one of 'linear'.* or a penalty; got 'soft_barrier'"
    ):
        names.as_penalty("attractive", "soft_barrier")
    with pytest.raises(InvalidParameterError, match="loss must be"):
        names.as_loss(3)


def test_roles():
    roles = {
        name: cls.role
        for name, cls in names.registered("penalties").items()
        if cls.__module__ == wk.penalties.__name__
    }
    assert {name for name, role in roles.items() if role == "repulsive"} == {
        "cauchy",
        "inv_power",
        "log",
        "log_ratio",
    }
    assert set(roles) >= {"linear", "quadratic", "cubic", "power", "huber", "logistic", "log1p"}


def test_names_of_built_in_classes_are_not_taken():
    with pytest.raises(InvalidParameterError, match="'log' already stands for winkel's Log"):

        class Log(wk.penalties.Penalty):
            def value(self, d):
                return d

            def derivative(self, d):
                return np.ones_like(d)

    assert names.registered("penalties")["log"] is wk.penalties.Log


class Box(wk.Constraint):
    def __init__(self, side=1.0):
        self.side = side

    def initialize(self, n, m, seed):
        return np.random.default_rng(seed).uniform(-self.side, self.side, (n, m))

    def project(self, Y):
        return np.clip(Y, -self.side, self.side)

    def project_tangent(self, Y, G):
        return G


@pytest.mark.parametrize(
    "thing",
    [
        SoftBarrier(scale=2.0),
        SoftBarrier,
        wk.penalties.Log1p(exponent=1.2),
        wk.Standardized(),
        Box(3.0),
        RelativeError,
    ],
)
def test_registered_things_go_into_files(thing):
    plain = to_portable(thing)
    assert isinstance(plain, dict)
    back = from_portable(plain)
    if isinstance(thing, type):
        assert back is thing
    else:
        assert type(back) is type(thing)
        assert names.parameters_of(back) == names.parameters_of(thing)


def test_anchors_go_into_files():
    anchors = from_portable(to_portable(wk.Anchored([1, 2], [[0.0, 1.0], [2.0, 3.0]])))
    np.testing.assert_array_equal(anchors.indices, [1, 2])
    np.testing.assert_array_equal(anchors.values, [[0.0, 1.0], [2.0, 3.0]])


def test_what_is_not_registered_stays_as_it_is_and_unknown_names_are_refused():
    own = PlainBarrier()
    assert to_portable(own) is own
    plain = to_portable(SoftBarrier())
    with pytest.raises(ModelFileError, match="import the file that defines it"):
        from_portable({**plain, "winkel object": "penalties.forgotten"})


def test_a_constraint_of_ones_own_by_name():
    problem = wk.Problem(EDGES, wk.losses.Quadratic(WEIGHTS), n_items=N, constraint="box")
    found = problem.solve(random_state=0, tol=1e-3)
    assert np.abs(found.Y).max() <= 1.0
