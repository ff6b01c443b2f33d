// True distances of sparse rows (CSR).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "compressed.hpp"
#include "refine.hpp"

namespace winkel {

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
