"""K-Deep Simplex (Tasissa, Tankala, Murphy and Ba 2023): rows as convex combinations of a few near atoms.

    rows ──> coding ──> codes (CSR) ──> spectral ──> positions of atoms, and of rows as means of their atoms'
                ↑ ↓                          └────> clusters
            dictionary (training: by turns, by mini-batches, by the gradient)

coding.py      codes on the simplex, each row by itself, optimal over all atoms
dictionary.py  starts, the best atoms for given codes (Theorem 3), atoms that nobody uses
training.py    atoms and codes together, through the loop of `solvers`
batches.py     rows that do not fit into memory
spectral.py    the embedding by the Schur complement of the code graph
clustering.py  clusters of that embedding
atoms.py       how many atoms are enough
"""

from .atoms import AtomErrors, error_by_atoms
from .clustering import Clusters, assign, spectral_clusters
from .coding import CODERS, LOCALITY, Coder, Codes, decode, encode
from .spectral import Spectrum, code_spectrum
from .training import BATCH_SIZE, TRAININGS, Plan, Trained, train

__all__ = [
    "BATCH_SIZE",
    "CODERS",
    "LOCALITY",
    "TRAININGS",
    "AtomErrors",
    "Clusters",
    "Coder",
    "Codes",
    "Plan",
    "Spectrum",
    "Trained",
    "assign",
    "code_spectrum",
    "decode",
    "encode",
    "error_by_atoms",
    "spectral_clusters",
    "train",
]
