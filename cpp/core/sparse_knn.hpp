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
#include "simd.hpp"

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
WINKEL_CLONES void sparse_dot16(const int32_t* indices, const float* values, int64_t count,
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
      if (j % 1024 == 0) poll();
      const int64_t begin = x.indptr[j];
      kernel<sparse_dot16>()(x.indices + begin, x.values + begin, x.indptr[j + 1] - begin, dense.data(), dot);
      for (int64_t l = 0; l < count; ++l) {
        const int64_t i = q0 + l;
        if (own && i == j) continue;
        const float d = (q_norm[i] + x_norm[j]) - 2.0f * dot[l];
        lists.offer(i, NeighborKey::make(d, own ? i : -1, j, x.n));
      }
    }
  });
}

// Calls visit(a, b) for every column where one of two rows with sorted columns has an entry.
template <class T, class Visit>
void visit_columns(const SparseRows<T>& q, int64_t i, const SparseRows<T>& x, int64_t j, const Visit& visit) {
  int64_t a = q.indptr[i], b = x.indptr[j];
  const int64_t a_end = q.indptr[i + 1], b_end = x.indptr[j + 1];
  while (a < a_end || b < b_end) {
    if (b == b_end || (a < a_end && q.indices[a] < x.indices[b])) {
      visit(static_cast<double>(q.values[a++]), 0.0);
    } else if (a == a_end || x.indices[b] < q.indices[a]) {
      visit(0.0, static_cast<double>(x.values[b++]));
    } else {
      visit(static_cast<double>(q.values[a++]), static_cast<double>(x.values[b++]));
    }
  }
}

template <class T>
double sparse_euclidean(const SparseRows<T>& q, int64_t i, const SparseRows<T>& x, int64_t j) {
  const auto sum = [&](double stretch) {
    double total = 0.0;
    visit_columns(q, i, x, j, [&](double a, double b) {
      const double d = (a - b) * stretch;
      total += d * d;
    });
    return total;
  };
  const double plain = sum(1.0);
  return plain < kTinySum ? std::sqrt(sum(kStretch)) / kStretch : std::sqrt(plain);
}

// Half the squared distance of the directions, as in cosine_distance.
template <class T>
double sparse_cosine(const SparseRows<T>& q, int64_t i, const SparseRows<T>& x, int64_t j) {
  const T *q_row = q.values + q.indptr[i], *x_row = x.values + x.indptr[j];
  const Direction<T> u(q_row, q.indptr[i + 1] - q.indptr[i], false),
      v(x_row, x.indptr[j + 1] - x.indptr[j], false);
  if (u.length == 0.0 || v.length == 0.0) return u.length == v.length ? 0.0 : 1.0;
  const double longer = std::max(u.length, v.length);
  const double su = longer / u.length * u.stretch, sv = longer / v.length * v.stretch;
  double sum = 0.0;
  visit_columns(q, i, x, j, [&](double a, double b) {
    const double d = a * su - b * sv;
    sum += d * d;
  });
  return 0.5 * (sum / (longer * longer));
}

template <class T>
double sparse_distance(DistanceKind kind, const SparseRows<T>& q, int64_t i, const SparseRows<T>& x,
                       int64_t j) {
  return kind == DistanceKind::cosine ? sparse_cosine(q, i, x, j) : sparse_euclidean(q, i, x, j);
}

}  // namespace winkel
