# %% [markdown]
# # Network: who wrote with whom
#
# Co-authors of papers in general relativity (SNAP, ca-GrQc). There are no rows, only a graph. Its largest component is drawn twice: by the lengths of paths, and
# by the ties alone.
#
# Data: `wk.datasets.load_coauthorship("GrQc")` reads `coauthorship_snap.npz` from the folder named by `WINKEL_DATA`, or from the cache.

# %%
import numpy as np

import winkel as wk

graph = wk.Graph.from_adjacency(wk.datasets.load_coauthorship("GrQc").X)
count, component = graph.components()
graph = graph.subgraph(component == 0)
print(f"largest of {count} components: {graph.n} authors, {graph.n_edges} pairs")

# %% [markdown]
# ## By the lengths of paths

# %%
paths = wk.MDE(preserve="distances", max_distances=500_000, max_iter=150, random_state=0).fit(graph)
loss = paths.problem_.distortion
assert isinstance(loss, wk.losses.Absolute)
print(
    f"paths of {np.asarray(loss.deviations).mean():.1f} steps on average are drawn with an error of {paths.objective_:.2f}"
)
wk.plot(paths, values=np.log10(graph.degree), title="By paths; colour: log₁₀ of co-authors")

# %% [markdown]
# ## By ties alone

# %%
ties = wk.MDE(random_state=0).fit(graph)
wk.plot(ties, values=np.log10(graph.degree), title="By ties")


# %%
def near(Y):
    """Share of ties whose ends are among each other's 50 nearest on the map."""
    index = wk.graph.knn(np.asarray(Y, dtype=np.float32), 50).knn_indices
    i, j = graph.edges.T
    return np.mean([(a == b).any() for a, b in zip(index[i], j)])


print(
    f"co-authors among the 50 nearest: {near(paths.embedding_):.2f} by paths, {near(ties.embedding_):.2f} by ties"
)

# %% [markdown]
# ## What can and cannot be trusted
#
# - The first map: trust which authors are at the rim and which are in the middle, and that long distances on it are long paths. Do not trust which authors are next to
#   each other: thousands of authors are equally far from each other, and a plane has no room for that.
# - The second map: trust who wrote with whom. Do not trust how far groups are from each other.
# - Neither map shows what the graph leaves out: authors outside the largest component, and how often two authors wrote together.
