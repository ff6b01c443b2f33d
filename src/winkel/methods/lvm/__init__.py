"""The latent variable model of Saul (2020): a mean and a variance for every item.

Graph ── neighborhood ──> Neighborhood      which items are similar, and on what length scale
      ── coarsening ────> Coarsening        which are dissimilar: blocks of items and of their landmarks (landmarks)
      ── model ─────────> Model             weights and pairs in the compiled core; likelihood and EM steps
      ── fit ───────────> Embedding         spectral start, EM
new rows ── place ──────> means and variances, each row on its own
"""
