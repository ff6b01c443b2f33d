# %% [markdown]
# # Words: neighbours in meaning, in many dimensions and in two
#
# GloVe vectors of the 4 000 most frequent English words (100 dimensions). Who is near whom is read off cosines, so the metric is "cosine".
#
# Data: `wk.datasets.load_words("glove")` reads `words_glove6b_100d_30k.npz` from the folder that `WINKEL_DATA` names, or from the cache.

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
# Two dimensions are for the eye. Where the neighbours themselves are wanted, as for search, thresholded similarity matching keeps small angles and norms
# in a few more.

# %%
search = wk.TSM(16, random_state=0, max_iter=100).fit(X)


def kept(Y, metric):
    """Share of the ten nearest words that are among the ten nearest on the map."""
    truth = wk.graph.knn(X, 10, metric="cosine").knn_indices
    found = wk.graph.knn(Y, 10, metric=metric).knn_indices
    return np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(truth, found)])


print(f"of ten nearest words are kept: {kept(flat.embedding_, 'euclidean'):.2f} in the plane, ", end="")
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
# - Trust: that words which stand together are related. Trustworthiness is 0.94, where two principal components have 0.70.
# - Do not take a word's neighbours on the map for all of its neighbours. Four of the ten nearest are kept (0.43), and the others are elsewhere because there
#   is no room. Sixteen dimensions keep more (0.59), and cannot be looked at.
# - Do not trust: how far apart words lie. The rank correlation of distances is 0.41, which is little, and the norms of the vectors are lost.
# - Do not look for clusters. The data's neighbour graph is in one piece, and so is the map; kinds of words pass into each other.
# - A word of several meanings has one place. "may" stands with the verbs, and nothing on the map says that it is a month, too.
