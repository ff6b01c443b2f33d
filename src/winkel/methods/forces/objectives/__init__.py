"""`winkel.objectives`: the objectives of `winkel.AttractRepel(objective=...)`, one file per class.

    LLE  TSNE  UMAP  TwoKernelPCA      sums over pairs with a kernel on the data and one on the map
    PCA                                the linear case, with exact steps
    PairLoss                           the base of a user's own formulas: any F of two kernels

An objective contains everything specific to it: weights from the data, value and gradient, attraction and repulsion
of pairs, placement of new rows, default start and schedule. A subclass of `Objective` is registered under its name when it
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
