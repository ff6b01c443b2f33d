// Exact nearest neighbours of sparse rows (CSR). A few query rows at a time are laid out densely; the matrix
// as a whole never is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bounded_lists.hpp"
#include "parallel.hpp"
#include "refine.hpp"

namespace winkel {

template <class T>
struct SparseRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* values;
  int64_t n;
  int64_t n_features;
};

constexpr int kSparseLanes = 16;

// Dot products of one sparse row with 16 query rows that stand side by side in `dense`.
WINKEL_CLONES inline void sparse_dot16(const int32_t* indices, const float* values, int64_t count,
                                       const float* dense, float* out) {
  float acc[kSparseLanes] = {};
  for (int64_t k = 0; k < count; ++k) {
    const float* column = dense + static_cast<int64_t>(indices[k]) * kSparseLanes;
    const float v = values[k];
    for (int l = 0; l < kSparseLanes; ++l) acc[l] += v * column[l];
  }
  for (int l = 0; l < kSparseLanes; ++l) out[l] = acc[l];
}

// Offers to the lists of queries [first, last) every point of x. `own`: queries are the points themselves.
inline void search_sparse(const SparseRows<float>& q, const float* q_norm, const SparseRows<float>& x,
                          const float* x_norm, bool own, int64_t first, int64_t last, BoundedLists& lists,
                          int threads) {
  parallel_blocks(last - first, kSparseLanes, threads, [&](int64_t lo, int64_t hi) {
    const int64_t q0 = first + lo, count = hi - lo;
    std::vector<float> dense(static_cast<size_t>(x.n_features * kSparseLanes), 0.0f);
    for (int64_t l = 0; l < count; ++l)
      for (int64_t k = q.indptr[q0 + l]; k < q.indptr[q0 + l + 1]; ++k)
        dense[static_cast<size_t>(int64_t{q.indices[k]} * kSparseLanes + l)] += q.values[k];
    float dot[kSparseLanes];
    for (int64_t j = 0; j < x.n; ++j) {
      const int64_t begin = x.indptr[j];
      sparse_dot16(x.indices + begin, x.values + begin, x.indptr[j + 1] - begin, dense.data(), dot);
      for (int64_t l = 0; l < count; ++l) {
        const int64_t i = q0 + l;
        if (own && i == j) continue;
        const float d = (q_norm[i] + x_norm[j]) - 2.0f * dot[l];
        lists.offer(i, NeighborKey::make(d, own ? i : -1, j, x.n));
      }
    }
  });
}

// True distance of two sparse rows with sorted columns: euclidean, or cosine as half the squared distance of
// the directions.
template <class T>
double sparse_distance(DistanceKind kind, const SparseRows<T>& q, int64_t i, const SparseRows<T>& x,
                       int64_t j) {
  int64_t a = q.indptr[i], b = x.indptr[j];
  const int64_t a_end = q.indptr[i + 1], b_end = x.indptr[j + 1];
  double sa = 1.0, sb = 1.0;
  if (kind == DistanceKind::cosine) {
    double qq = 0.0, xx = 0.0;
    for (int64_t k = a; k < a_end; ++k)
      qq += static_cast<double>(q.values[k]) * static_cast<double>(q.values[k]);
    for (int64_t k = b; k < b_end; ++k)
      xx += static_cast<double>(x.values[k]) * static_cast<double>(x.values[k]);
    if (qq == 0.0 || xx == 0.0) return qq == xx ? 0.0 : 1.0;
    sa = 1.0 / std::sqrt(qq);
    sb = 1.0 / std::sqrt(xx);
  }
  double sum = 0.0;
  while (a < a_end || b < b_end) {
    double d;
    if (b == b_end || (a < a_end && q.indices[a] < x.indices[b])) {
      d = sa * static_cast<double>(q.values[a++]);
    } else if (a == a_end || x.indices[b] < q.indices[a]) {
      d = sb * static_cast<double>(x.values[b++]);
    } else {
      d = sa * static_cast<double>(q.values[a++]) - sb * static_cast<double>(x.values[b++]);
    }
    sum += d * d;
  }
  return kind == DistanceKind::cosine ? 0.5 * sum : std::sqrt(sum);
}

}  // namespace winkel
