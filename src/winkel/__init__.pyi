from . import data as data
from . import errors as errors
from . import graph as graph
from .data import datasets as datasets
from .embedding import Embedding as Embedding
from .embedding import load as load
from .estimators import MDE as MDE
from .graph import Graph as Graph
from .measures import align as align
from .measures.similarity import similarity as similarity
from .methods import quadratic as quadratic
from .methods.recipes import preserve_distances as preserve_distances
from .methods.recipes import preserve_neighbors as preserve_neighbors
from .problem import Anchored as Anchored
from .problem import Centered as Centered
from .problem import Constraint as Constraint
from .problem import Problem as Problem
from .problem import Pulls as Pulls
from .problem import Standardized as Standardized
from .problem import losses as losses
from .problem import penalties as penalties
from .view import plot as plot

__version__: str
