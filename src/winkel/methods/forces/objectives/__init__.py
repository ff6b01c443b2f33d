"""`winkel.objectives`: what `winkel.AttractRepel(objective=...)` takes, one class a file.

    LLE  TSNE  UMAP  TwoKernelPCA      sums over pairs with a kernel on the data and one on the map
    PCA                                the linear case, with exact steps
    PairLoss                           the base of formulas of the user's own: any F of two kernels

An objective holds everything that is particular to it: weights from the data, value and gradient, attraction and repulsion
of pairs, placement of new rows, usual start and schedule. A subclass of `Objective` is known by its name from the moment it
is defined (`winkel.problem.distortions.base`).
"""

from .base import Objective as Objective
from .general import PairLoss
from .lle import LLE
from .pca import PCA
from .tsne import TSNE
from .two_kernel_pca import TwoKernelPCA
from .umap import UMAP

__all__ = ["LLE", "PCA", "TSNE", "UMAP", "PairLoss", "TwoKernelPCA"]
