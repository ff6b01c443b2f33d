"""K-Deep Simplex (Tasissa, Tankala, Murphy and Ba 2023): rows as convex combinations of a few nearby atoms.

    rows ──> coding ──> codes (CSR) ──> code_graph ──> positions of atoms, and of rows as means of their atoms'
                ↑ ↓                          └───────> clusters
            dictionary (training: alternating, by mini-batches, by the gradient)

coding.py       codes on the simplex, each row on its own, optimal over all atoms
dictionary.py   starts, the best atoms for given codes (Theorem 3), unused atoms
training.py     atoms and codes together, through the loop of `solvers`; rows that do not fit into memory
code_graph.py   the map by the Schur complement of the code graph, and clusters on it
fit.py          all steps, one after the other
atom_errors.py  how many atoms are enough
"""

from .atom_errors import AtomErrors, error_by_atoms
from .code_graph import Clusters, Spectrum, code_spectrum, orthonormal_spectrum, spectral_clusters
from .coding import Coder, Codes, decode, encode

__all__ = [
    "AtomErrors",
    "Clusters",
    "Coder",
    "Codes",
    "Spectrum",
    "code_spectrum",
    "decode",
    "encode",
    "error_by_atoms",
    "orthonormal_spectrum",
    "spectral_clusters",
]
