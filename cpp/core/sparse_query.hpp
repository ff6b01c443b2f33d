// Exact nearest neighbours of new sparse rows, by true distances to all points.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "sparse_knn.hpp"

namespace winkel {

// Writes the k nearest rows of x for each row of q, nearest first, of equally near ones the first; k ≤ x.n.
template <class T>
void query_sparse(DistanceKind kind, const SparseRows<T>& q, const SparseRows<T>& x, int64_t k,
                  int32_t* index, T* distance, int threads) {
  parallel_blocks(q.n, 1, threads, [&](int64_t lo, int64_t hi) {
    std::vector<std::pair<double, int64_t>> found(static_cast<size_t>(x.n));
    for (int64_t i = lo; i < hi; ++i) {
      for (int64_t j = 0; j < x.n; ++j)
        found[static_cast<size_t>(j)] = {sparse_distance(kind, q, i, x, j), j};
      std::partial_sort(found.begin(), found.begin() + k, found.end());
      for (int64_t s = 0; s < k; ++s) {
        index[i * k + s] = static_cast<int32_t>(found[static_cast<size_t>(s)].second);
        distance[i * k + s] = static_cast<T>(found[static_cast<size_t>(s)].first);
      }
    }
  });
}

}  // namespace winkel
