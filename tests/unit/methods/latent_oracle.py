"""The latent variable model with dense matrices, straight from the paper's equations (Saul 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Dense:
    """Weights S and D and squared length scales of all ordered pairs; 0 and 1 where a pair is not used."""

    S: np.ndarray
    delta2: np.ndarray
    D: np.ndarray
    Delta2: np.ndarray

    def _parts(self, scale2, Y, variance):
        both = variance[:, None] + variance[None, :]
        s = scale2 + both
        r2 = ((Y[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
        d = Y.shape[1]
        log_p = -0.5 * d * np.log1p(both / scale2) - 0.5 * r2 / s  # eq 5
        return s, r2, log_p

    def log_likelihood(self, Y, variance):
        _, _, near = self._parts(self.delta2, Y, variance)
        _, _, far = self._parts(self.Delta2, Y, variance)
        np.fill_diagonal(far, -1.0)
        return (self.S * near).sum() + (self.D * np.log(-np.expm1(far))).sum()  # eq 6

    def odds(self, Y, variance):
        s, r2, log_p = self._parts(self.Delta2, Y, variance)
        np.fill_diagonal(log_p, -1.0)
        with np.errstate(over="ignore"):
            return s, r2, 1 / np.expm1(-log_p)  # eq 9

    def new_means(self, Y, variance):
        s, _, nu = self.odds(Y, variance)
        n = len(Y)
        W = self.S / (self.delta2 + variance[:, None] + variance[None, :])
        W = W + W.T  # eq 18
        both = (self.D + self.D.T).sum(axis=1)
        L = np.diag(W.sum(axis=1) + both / variance) - W  # eq 19
        right = np.zeros_like(Y)
        for i in range(n):
            for j in range(n):
                if self.D[i, j] > 0:  # eq 11 and its counterpart for the second point
                    push = nu[i, j] / s[i, j] * (Y[i] - Y[j])
                    right[i] += self.D[i, j] * (Y[i] + variance[i] * push) / variance[i]
                    right[j] += self.D[i, j] * (Y[j] - variance[j] * push) / variance[j]
        return np.linalg.solve(L, right)  # eq 20

    def new_variances(self, Y, variance):
        d = Y.shape[1]
        own = variance[:, None]
        s, r2, _ = self._parts(self.delta2, Y, variance)
        phi = own * (d + own / s * (r2 / s - d))  # eq 16
        phi_other = variance[None, :] * (d + variance[None, :] / s * (r2 / s - d))
        s, r2, nu = self.odds(Y, variance)
        psi = own * (d - nu * own / s * (r2 / s - d))  # eq 17
        psi_other = variance[None, :] * (d - nu * variance[None, :] / s * (r2 / s - d))
        top = (self.S * phi + self.D * psi).sum(axis=1) + (self.S * phi_other + self.D * psi_other).sum(
            axis=0
        )
        below = (self.S + self.D).sum(axis=1) + (self.S + self.D).sum(axis=0)
        return top / below / d  # eq 21


def dense(near, coarse):
    """The dense form of a neighbourhood and its families, with the weights balanced as the supplement says."""
    n = near.n
    S, E = np.zeros((n, n)), np.zeros((n, n))
    delta2, D, Delta2 = np.ones((n, n)), np.zeros((n, n)), np.ones((n, n))
    E[near.source, near.target] = 1
    S += E
    delta2[near.source, near.target] = near.squares
    ties = np.zeros((n, n))
    for landmark, item, weight, length in zip(
        coarse.ties.landmark, coarse.ties.item, coarse.ties.weight, coarse.ties.length
    ):
        ties[landmark, item] += weight
        delta2[landmark, item] = max(length, 1e-3) ** 2 / (2 * np.log(2))
    if ties.sum() > 0:
        S += ties * n / ties.sum()
    for family in coarse.families:
        for begin, end in zip(family.bounds[:-1], family.bounds[1:]):
            for p in range(begin, end):
                for q in range(begin, end):
                    i, j = family.items[p], family.items[q]
                    base = family is coarse.families[-1]
                    if i != j and not (base and E[i, j]):
                        assert D[i, j] == 0  # no pair twice
                        D[i, j] = family.mass[p] * family.mass[q]
                        Delta2[i, j] = (family.reach[p] + family.slack[q]) ** 2
    return Dense(S, delta2, D * S.sum() / D.sum(), Delta2)
