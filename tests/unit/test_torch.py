"""The unrolled encoder, with PyTorch where it is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_moons

import winkel as wk
from winkel import _core
from winkel.data.fetch import find
from winkel.errors import InvalidInputError, InvalidParameterError
from winkel.methods.kds import Coder, encode
from winkel.methods.kds.dictionary import start_atoms
from winkel.methods.kds.training import Training, train
from winkel.run import Run


def test_without_pytorch_the_install_command_is_told():
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("PyTorch is installed")
    with pytest.raises(ImportError, match=r'pip install "winkel\[torch\]"'):
        importlib.import_module("winkel.torch")


def test_winkel_alone_does_not_import_pytorch():
    code = "import sys; from winkel.estimators import *; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # small layers: more threads would only wait for each other
    yield torch
    torch.set_num_threads(before)


@pytest.fixture
def encoder_of(torch):
    from winkel.torch import KDSEncoder

    return KDSEncoder


def rng(seed=0):
    return np.random.Generator(np.random.Philox(key=seed))


def test_projection_is_that_of_the_core(torch):
    from winkel.torch import project_simplex

    points = 3 * rng().normal(size=(50, 9))
    np.testing.assert_allclose(
        project_simplex(torch.tensor(points)).numpy(), _core.project_simplex(points), atol=1e-12
    )


def test_many_layers_give_the_exact_codes(torch, encoder_of):
    draw = rng()
    rows, atoms = draw.normal(size=(40, 5)) + 4, draw.normal(size=(15, 5)) + 4
    encoder = encoder_of(atoms, locality=0.2, n_layers=2000)
    with torch.no_grad():
        codes = encoder(torch.tensor(rows, dtype=torch.float32)).numpy()
        loss = float(encoder.loss(torch.tensor(rows, dtype=torch.float32)))
    exact = encode(rows, atoms, Coder(0.2))
    np.testing.assert_allclose(codes, exact.matrix.toarray(), atol=2e-3)
    assert loss == pytest.approx(exact.objective.mean(), rel=1e-4)
    decoded = encoder.decode(torch.tensor(codes)).detach().numpy()
    np.testing.assert_allclose(decoded, codes @ atoms, rtol=1e-4)


def test_gradients_reach_atoms_and_step(torch, encoder_of):
    encoder = encoder_of(rng().normal(size=(6, 3)), locality=0.5, n_layers=4)
    rows = torch.tensor(rng(1).normal(size=(20, 3)), dtype=torch.float32)
    encoder.loss(rows).backward()
    for parameter in encoder.parameters():
        assert float(parameter.grad.abs().sum()) > 0
    assert set(dict(encoder.named_parameters())) == {"atoms", "log_step"}


def agreement(encoder_of, rows, m, locality, **training):
    """The unrolled encoder's objective over that of alternating training, both from the same atoms."""
    start = start_atoms(rows, m, "kmeans++", Run())
    exact = Training(m, Coder(locality), "alternating", start, batch_size=1, max_iter=200, tol=1e-4)
    turns = train(rows, exact, Run())
    layers = training.pop("n_layers")
    encoder = encoder_of(start, locality=locality, n_layers=layers)
    history = encoder.fit(rows, **training)
    assert history[-1] < history[0]
    torch = sys.modules["torch"]
    with torch.no_grad():
        reached = float(encoder.loss(torch.tensor(rows, dtype=torch.float32)))
    return reached / turns.objective


def test_moons_agree_with_alternating(encoder_of):
    rows, _ = make_moons(1000, noise=0.05, random_state=0)
    ratio = agreement(encoder_of, rows, 24, 1.0, n_layers=40, n_epochs=40, batch_size=100, learning_rate=1e-2)
    assert abs(ratio - 1) < 0.05


def test_mnist_agrees_with_alternating(encoder_of):
    if find("mnist70k.npz") is None:
        pytest.skip("the MNIST file is not here")
    mnist = wk.datasets.load_mnist()
    rows = mnist.X[np.isin(mnist.y, (0, 3, 4, 6, 7))][:800].astype(np.float32) / 255
    ratio = agreement(encoder_of, rows, 40, 0.5, n_layers=40, n_epochs=15, batch_size=80, learning_rate=1e-2)
    assert abs(ratio - 1) < 0.05


def test_misuse(encoder_of):
    with pytest.raises(InvalidInputError, match="finite matrix"):
        encoder_of(np.ones(3))
    with pytest.raises(InvalidParameterError, match="locality"):
        encoder_of(np.eye(3), locality=0.0)
    with pytest.raises(InvalidParameterError, match="n_layers"):
        encoder_of(np.eye(3), n_layers=0)


def test_the_relu_map_learns_its_prototypes(torch):
    from winkel.methods.tsm import ReLUMap as Exact
    from winkel.torch import ReLUMap

    X = wk.datasets.load_digits().X
    rows, places = X[:150], X[:150, :40]  # any places do for the equation
    layer, exact = ReLUMap(rows, places, 0.8), Exact(rows, places, 0.8, n_steps=40)
    new = torch.as_tensor(X[150:170], dtype=torch.float32)
    placed = layer(new).detach().numpy()
    np.testing.assert_allclose(np.linalg.norm(placed, axis=1), np.linalg.norm(X[150:170], axis=1), rtol=1e-4)

    def error(Y):
        return np.linalg.norm(Exact(places, rows, 0.8).similarities(Y) - exact.similarities(X[150:170]))

    assert error(placed) < 1.3 * error(exact(X[150:170]))
    adam = torch.optim.Adam(layer.parameters(), lr=0.01)
    losses = []
    for _ in range(6):
        adam.zero_grad()
        loss = layer.loss(new)
        loss.backward()
        adam.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert not layer(torch.zeros((1, 64))).any()
    with pytest.raises(InvalidInputError, match="one row for each prototype"):
        ReLUMap(rows, places[1:], 0.8)
