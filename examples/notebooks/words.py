# %% [markdown]
# # Words: neighbours in meaning, in many dimensions and in two
#
# GloVe vectors of the 4 000 most frequent English words (100 dimensions). Such vectors are compared by their cosines, so the metric is "cosine".
#
# Data: `wk.datasets.load_words("glove")` reads `words_glove6b_100d_30k.npz` from the folder named by `WINKEL_DATA`, or from the cache.

# %%
import numpy as np

import winkel as wk

words = wk.datasets.load_words("glove")
X, names = words.X[:4000].astype(np.float32), np.asarray(words.ids)[:4000]
print(X.shape, names[:10].tolist())

# %% [markdown]
# ## In two dimensions

# %%
flat = wk.MDE(metric="cosine", random_state=0).fit(X)
print(wk.measure(X, flat, metric="cosine"))

# %% [markdown]
# ## In sixteen
#
# Two dimensions are for the eye. If you need the neighbours themselves, for example for search, thresholded similarity matching keeps small angles and norms
# in a few more dimensions.

# %%
search = wk.TSM(16, random_state=0, max_iter=100).fit(X)


def kept(Y, metric):
    """Share of the ten nearest words that are among the ten nearest on the map."""
    truth = wk.graph.knn(X, 10, metric="cosine").knn_indices
    found = wk.graph.knn(Y, 10, metric=metric).knn_indices
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(truth, found)])


print(f"share of the ten nearest words kept: {kept(flat.embedding_, 'euclidean'):.2f} in the plane, ", end="")
print(f"{kept(search.embedding_, 'cosine'):.2f} in sixteen dimensions")

# %% [markdown]
# ## Single words
#
# The neighbours of a word in the data and on the map.

# %%
truth = wk.graph.knn(X, 5, metric="cosine").knn_indices
drawn = wk.graph.knn(flat.embedding_, 5).knn_indices
rows = [int(np.flatnonzero(names == word)[0]) for word in ("money", "king", "may") if word in names]
for row in rows or [0, 1]:
    print(f"{names[row]}: {', '.join(names[truth[row]])}")
    print(f"{'':<{len(names[row])}}  on the map: {', '.join(names[drawn[row]])}")

# %% [markdown]
# ## What can and cannot be trusted
#
# - Trust: that words next to each other are related. Trustworthiness is 0.94; two principal components have 0.70.
# - Do not assume that the map shows all neighbours of a word. It keeps four of the ten nearest (0.43); the others are elsewhere because there
#   is no room. Sixteen dimensions keep more (0.59), but cannot be looked at.
# - Do not trust: how far apart words are. The rank correlation of distances is only 0.36, and the norms of the vectors are lost.
# - Do not look for clusters. The neighbour graph of the data is in one piece, and so is the map; kinds of words merge into each other.
# - A word with several meanings has one place. "may" is among the verbs, and nothing on the map says that it is also a month.
