"""Modules for PyTorch (`pip install "winkel[torch]"`): the unrolled encoder of K-Deep Simplex, and TSM's ReLU map.

`import winkel` does not import this module; `import winkel.torch` does, and needs PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .checks import integer, number, positive
from .errors import InvalidInputError, missing_extra
from .methods.tsm.relu import DAMPING

try:
    import torch
except ImportError as error:
    raise missing_extra("torch", "torch", "winkel.torch") from error

_LEAST_DAMPING = 1e-12  # where no prototype is similar

__all__ = ["KDSEncoder", "ReLUMap", "project_simplex"]


def project_simplex(points: Any) -> Any:
    """The nearest point of the probability simplex to each row: ReLU(x + b(x)) with a piecewise linear b.

    Parameters
    ----------
    points : torch.Tensor of shape (..., m)
        Rows to project.

    Returns
    -------
    torch.Tensor of shape (..., m)
        Rows of nonnegative numbers that sum to one.

    Examples
    --------
    >>> import torch
    >>> from winkel.torch import project_simplex
    >>> project_simplex(torch.tensor([[2.0, 0.0], [0.3, 0.7]]))
    tensor([[1.0000, 0.0000],
            [0.3000, 0.7000]])
    """
    falling, _ = torch.sort(points, dim=-1, descending=True)
    count = torch.arange(1, points.shape[-1] + 1, device=points.device, dtype=points.dtype)
    excess = torch.cumsum(falling, dim=-1) - 1.0
    kept = (falling * count > excess).sum(dim=-1, keepdim=True).clamp(min=1)
    return torch.relu(points - excess.gather(-1, kept - 1) / kept)


class KDSEncoder(torch.nn.Module):  # type: ignore[misc]
    """Codes of rows by steps of accelerated projected gradient, one step per layer; atoms and step length are learned.

    `forward` returns codes (n × m) on the simplex, `decode` the rows that codes stand for, and `loss` the mean of objective
    (6). `fit` trains atoms and step length by Adam through all layers. The atoms (m × d) can be used elsewhere:
    `wk.KDS(init=encoder.atoms_, max_iter=0)` finds exact codes with them.

    Parameters
    ----------
    atoms : array of shape (n_atoms, n_features)
        The initial atoms.
    locality : float, default=1.0
        How much the distance of the atoms counts relative to the error of the code, as in `winkel.KDSClustering`.
    n_layers : int, default=15
        Number of steps.

    Examples
    --------
    >>> import torch
    >>> import winkel as wk
    >>> from winkel.torch import KDSEncoder
    >>> X = wk.datasets.load_digits().X[:100]
    >>> encoder = KDSEncoder(X[:10], locality=0.5)
    >>> losses = encoder.fit(X, n_epochs=3)
    >>> len(losses), tuple(encoder(torch.as_tensor(X[:5], dtype=torch.float32)).shape)
    (3, (5, 10))
    """

    def __init__(self, atoms: ArrayLike, *, locality: float = 1.0, n_layers: int = 15) -> None:
        super().__init__()
        start = torch.as_tensor(np.array(atoms, dtype=np.float32))
        if start.ndim != 2 or not bool(torch.isfinite(start).all()):
            raise InvalidInputError(f"atoms must be a finite matrix (m × d); got shape {tuple(start.shape)}.")
        self.locality = positive("locality", locality)
        self.n_layers = integer("n_layers", n_layers, 1)
        self.atoms = torch.nn.Parameter(start)
        # Only differences matter on the simplex; seen from here the numbers, and so the steps' limits, are small.
        self.register_buffer("center", start.mean(dim=0))
        largest = float(torch.linalg.matrix_norm(start - self.center, ord=2)) ** 2
        self.log_step = torch.nn.Parameter(torch.tensor(-math.log(largest) if largest > 0 else 0.0))

    @property
    def atoms_(self) -> Any:
        """The atoms as an array."""
        return self.atoms.detach().cpu().numpy().astype(np.float64)

    def forward(self, rows: Any) -> Any:
        """The codes of rows (section 5.1: x ← P(x̃ − α∇), x̃ ← x + γ(x − x before))."""
        atoms = self.atoms - self.center
        gram = atoms @ atoms.T
        linear = self.locality * gram.diagonal() - (1 + 2 * self.locality) * ((rows - self.center) @ atoms.T)
        step = torch.exp(self.log_step)
        before = ahead = torch.zeros_like(linear)
        eta = 0.0
        for _ in range(self.n_layers):
            codes = project_simplex(ahead - step * (ahead @ gram + linear))
            eta_next = (1 + math.sqrt(1 + 4 * eta**2)) / 2
            momentum = max(0.0, (eta - 1) / eta_next)
            ahead = codes + momentum * (codes - before)
            before, eta = codes, eta_next
        return before

    def decode(self, codes: Any) -> Any:
        """The rows that codes stand for."""
        return codes @ self.atoms

    def loss(self, rows: Any) -> Any:
        """The mean of ½‖y − Ax‖² + locality Σ xⱼ‖y − aⱼ‖² over rows."""
        codes = self(rows)
        atoms, seen = self.atoms - self.center, rows - self.center
        squares = (seen**2).sum(1, keepdim=True) - 2 * seen @ atoms.T + (atoms**2).sum(1)
        error = 0.5 * ((seen - codes @ atoms) ** 2).sum(1)
        return (error + self.locality * (codes * squares).sum(1)).mean()

    def fit(
        self,
        rows: ArrayLike,
        *,
        n_epochs: int = 15,
        batch_size: int = 256,
        learning_rate: float = 1e-3,
        random_state: int = 0,
    ) -> list[float]:
        """Train by Adam through all layers.

        Parameters
        ----------
        rows : array of shape (n_samples, n_features)
            The rows to code.
        n_epochs : int, default=15
            Number of passes over the rows.
        batch_size : int, default=256
            Number of rows in a batch.
        learning_rate : float, default=0.001
            The learning rate of Adam.
        random_state : int, default=0
            Seed of the order of the rows.

        Returns
        -------
        list of float
            The mean loss of each epoch.
        """
        data = torch.as_tensor(np.asarray(rows, dtype=np.float32), device=self.atoms.device)
        generator = torch.Generator().manual_seed(integer("random_state", random_state, 0))
        adam = torch.optim.Adam(self.parameters(), lr=positive("learning_rate", learning_rate))
        history = []
        for _ in range(integer("n_epochs", n_epochs, 1)):
            total = 0.0
            order = torch.randperm(len(data), generator=generator)
            for batch in order.split(integer("batch_size", batch_size, 1)):
                adam.zero_grad()
                loss = self.loss(data[batch])
                loss.backward()
                adam.step()
                total += float(loss.detach()) * len(batch)
            history.append(total / len(data))
        return history


class ReLUMap(torch.nn.Module):  # type: ignore[misc]
    """The map of thresholded similarities with prototypes (Saul 2023, eq 16) as a layer; prototypes are learned.

    `forward` returns the u, with the norm of x, that solves max(0, u·ν_j − τ‖u‖‖ν_j‖) = max(0, x·μ_j − τ‖x‖‖μ_j‖), by damped Gauss–Newton
    steps through which gradients flow. It equals `winkel.methods.tsm.ReLUMap`, except that it returns the last iterate and not the best. `loss`
    is the squared error of the equation.

    Parameters
    ----------
    inputs : array of shape (n_prototypes, n_features)
        Initial prototypes μ in the data.
    outputs : array of shape (n_prototypes, n_components)
        Initial places ν of the prototypes on the map.
    threshold : float
        τ, the cosine above which rows are similar.
    n_steps : int, default=10
        Number of steps.

    Examples
    --------
    >>> import torch
    >>> import winkel as wk
    >>> from winkel.torch import ReLUMap
    >>> X = wk.datasets.load_digits().X
    >>> tsm = wk.TSM(16, max_iter=5, random_state=0).fit(X)
    >>> layer = ReLUMap(X[:100], tsm.embedding_[:100], tsm.threshold_)
    >>> tuple(layer(torch.as_tensor(X[200:205], dtype=torch.float32)).shape)
    (5, 16)
    """

    def __init__(self, inputs: ArrayLike, outputs: ArrayLike, threshold: float, *, n_steps: int = 10) -> None:
        super().__init__()
        mu, nu = (torch.as_tensor(np.array(part, dtype=np.float32)) for part in (inputs, outputs))
        if mu.ndim != 2 or nu.ndim != 2 or len(mu) != len(nu):
            raise InvalidInputError(
                "inputs and outputs must be matrices with one row for each prototype; got shapes "
                f"{tuple(mu.shape)} and {tuple(nu.shape)}."
            )
        if not bool(torch.isfinite(mu).all() and torch.isfinite(nu).all()):
            raise InvalidInputError("inputs and outputs must be finite.")
        self.threshold = number("threshold", threshold, 0.0, 1.0, low_open=True, high_open=True)
        self.n_steps = integer("n_steps", n_steps, 1)
        self.inputs = torch.nn.Parameter(mu)
        self.outputs = torch.nn.Parameter(nu)

    def similarities(self, rows: Any, prototypes: Any) -> Any:
        """max(0, a·b − τ‖a‖‖b‖) of rows and prototypes, of the data or of the map."""
        return torch.relu(
            rows @ prototypes.T - self.threshold * rows.norm(dim=1)[:, None] * prototypes.norm(dim=1)
        )

    def forward(self, rows: Any) -> Any:
        """The places of rows; rows that are similar to no prototype are placed at the origin."""
        unit = torch.nn.functional.normalize(rows, dim=1)
        wanted = self.similarities(unit, self.inputs)
        u = torch.nn.functional.normalize(wanted @ self.outputs, dim=1)
        nu_norm = self.outputs.norm(dim=1)[None, :, None]
        eye = torch.eye(u.shape[1], dtype=u.dtype, device=u.device)
        for _ in range(self.n_steps):
            direction = torch.nn.functional.normalize(u, dim=1)
            slope = self.outputs[None] - self.threshold * nu_norm * direction[:, None, :]
            now = (slope @ u[:, :, None])[:, :, 0]
            slope = slope * ((wanted > 0) | (now > 0))[:, :, None]
            normal = slope.transpose(1, 2) @ slope
            damping = DAMPING * normal.diagonal(dim1=1, dim2=2).mean(dim=1) + _LEAST_DAMPING
            step = torch.linalg.solve(
                normal + damping[:, None, None] * eye, slope.transpose(1, 2) @ (wanted - now)[:, :, None]
            )
            u = u + step[:, :, 0]
        found = torch.nn.functional.normalize(u, dim=1) * rows.norm(dim=1, keepdim=True)
        return torch.where(wanted.any(dim=1, keepdim=True), found, torch.zeros_like(found))

    def loss(self, rows: Any) -> Any:
        """The mean squared error of eq 16 over rows and prototypes."""
        places = self(rows)
        return ((self.similarities(rows, self.inputs) - self.similarities(places, self.outputs)) ** 2).mean()
