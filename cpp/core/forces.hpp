// Sums of pair forces f'(s_ij) (y_i - y_j), s the squared distance: over listed pairs, over all pairs, and
// over sampled pairs. A row belongs to one thread, which meets its pairs in a fixed order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "curves.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace winkel::forces {

constexpr int64_t kWide = 16;    // pairs worked on side by side
constexpr int64_t kBatch = 512;  // pairs of a row that are traced at once, a multiple of kWide

// Positions coordinate by coordinate, n apart.
template <class T>
struct Points {
  const T* x;
  int64_t n, m;
};

template <class T>
std::vector<T> by_coordinate(const T* Y, int64_t n, int64_t m, int threads) {
  std::vector<T> x(static_cast<size_t>(n * m));
  parallel_blocks(n, 8192, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i)
      for (int64_t k = 0; k < m; ++k) x[static_cast<size_t>(k * n + i)] = Y[i * m + k];
  });
  return x;
}

// Differences y_i - y_j (coordinate by coordinate, kBatch apart) and squared distances to listed points.
template <class T>
WINKEL_CLONES void measure_listed(const Points<T>* p, int64_t i, const int32_t* __restrict listed,
                                  int64_t count, T* __restrict apart, T* __restrict squares) {
  for (int64_t k = 0; k < p->m; ++k) {
    const T* __restrict x = p->x + k * p->n;
    T* __restrict difference = apart + k * kBatch;
    const T own = x[i];
    for (int64_t e = 0; e < count; ++e) difference[e] = own - x[listed[e]];
    if (k == 0)
      for (int64_t e = 0; e < count; ++e) squares[e] = difference[e] * difference[e];
    else
      for (int64_t e = 0; e < count; ++e) squares[e] += difference[e] * difference[e];
  }
}

// The same to the points first, first + 1, ...
template <class T>
WINKEL_CLONES void measure_run(const Points<T>* p, int64_t i, int64_t first, int64_t count,
                               T* __restrict apart, T* __restrict squares) {
  for (int64_t k = 0; k < p->m; ++k) {
    const T* __restrict x = p->x + k * p->n + first;
    T* __restrict difference = apart + k * kBatch;
    const T own = p->x[k * p->n + i];
    for (int64_t e = 0; e < count; ++e) difference[e] = own - x[e];
    if (k == 0)
      for (int64_t e = 0; e < count; ++e) squares[e] = difference[e] * difference[e];
    else
      for (int64_t e = 0; e < count; ++e) squares[e] += difference[e] * difference[e];
  }
}

template <class T>
WINKEL_INLINE double fold(const T* lanes) {
  double sum = 0.0;
  for (int64_t l = 0; l < kWide; ++l) sum += static_cast<double>(lanes[l]);
  return sum;
}

// Adds the sums of weight * slope * difference to force[m], and of weight * value to *potential unless values
// is null. count is a multiple of kWide.
template <class T>
WINKEL_CLONES void collect(const T* __restrict apart, const T* __restrict weights, T* __restrict slopes,
                           const T* __restrict values, int64_t count, int64_t m, double* force,
                           double* potential) {
  for (int64_t e = 0; e < count; ++e) slopes[e] *= weights[e];
  for (int64_t k = 0; k < m; ++k) {
    const T* __restrict difference = apart + k * kBatch;
    T sum[kWide] = {};
    for (int64_t e = 0; e < count; e += kWide)
      for (int64_t l = 0; l < kWide; ++l) sum[l] += slopes[e + l] * difference[e + l];
    force[k] += fold(sum);
  }
  if (values == nullptr) return;
  T sum[kWide] = {};
  for (int64_t e = 0; e < count; e += kWide)
    for (int64_t l = 0; l < kWide; ++l) sum[l] += weights[e + l] * values[e + l];
  *potential += fold(sum);
}

// The scratch of one thread, and what it finds for a row.
template <class T>
struct RowForces {
  explicit RowForces(int64_t m)
      : apart(static_cast<size_t>(m * kBatch)),
        squares(kBatch),
        slopes(kBatch),
        values(kBatch),
        weights(kBatch),
        listed(kBatch),
        force(static_cast<size_t>(m)) {}

  void clear() {
    std::fill(force.begin(), force.end(), 0.0);
    potential = 0.0;
  }

  // Adds `count` measured and weighted pairs.
  void add(Trace<T> trace, const CurveParams& params, int64_t count, int64_t m, bool with_value) {
    const int64_t padded = (count + kWide - 1) / kWide * kWide;
    for (int64_t e = count; e < padded; ++e) {
      squares[static_cast<size_t>(e)] = T(1);
      weights[static_cast<size_t>(e)] = T(0);
      for (int64_t k = 0; k < m; ++k) apart[static_cast<size_t>(k * kBatch + e)] = T(0);
    }
    T* value = with_value ? values.data() : nullptr;
    trace(squares.data(), padded, &params, slopes.data(), value);
    kernel<collect<T>>()(apart.data(), weights.data(), slopes.data(), value, padded, m, force.data(),
                         &potential);
  }

  std::vector<T> apart, squares, slopes, values, weights;
  std::vector<int32_t> listed;
  std::vector<double> force;
  double potential = 0.0;
};

template <class T>
struct ListedPairs {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;
};

// force_i = sum_j w_ij f'(s_ij) (y_i - y_j) over the pairs listed for row i; returns sum_ij w_ij f(s_ij), or
// 0.
template <class T>
double listed_forces(Trace<T> trace, const CurveParams& params, const T* Y, int64_t n, int64_t m,
                     const ListedPairs<T>& pairs, bool with_value, int threads, T* forces) {
  const std::vector<T> x = by_coordinate(Y, n, m, threads);
  const Points<T> points{x.data(), n, m};
  return parallel_sum(n, 256, threads, [&](int64_t lo, int64_t hi) {
    RowForces<T> row(m);
    double total = 0.0;
    for (int64_t i = lo; i < hi; ++i) {
      row.clear();
      for (int64_t e = pairs.indptr[i]; e < pairs.indptr[i + 1]; e += kBatch) {
        const int64_t count = std::min(kBatch, pairs.indptr[i + 1] - e);
        kernel<measure_listed<T>>()(&points, i, pairs.indices + e, count, row.apart.data(),
                                    row.squares.data());
        std::copy_n(pairs.weights + e, count, row.weights.data());
        row.add(trace, params, count, m, with_value);
      }
      for (int64_t k = 0; k < m; ++k) forces[i * m + k] = static_cast<T>(row.force[static_cast<size_t>(k)]);
      total += row.potential;
    }
    return total;
  });
}

// potential_i = sum_{j != i} q_j f(s_ij) and force_i = sum_{j != i} q_j f'(s_ij) (y_i - y_j), exactly, at the
// rows named (all when null).
template <class T>
void all_forces(Trace<T> trace, const CurveParams& params, const T* Y, const T* charges, int64_t n, int64_t m,
                const int64_t* rows, int64_t n_rows, int threads, T* potentials, T* forces) {
  const std::vector<T> x = by_coordinate(Y, n, m, threads);
  const Points<T> points{x.data(), n, m};
  parallel_blocks(n_rows, 16, threads, [&](int64_t lo, int64_t hi) {
    RowForces<T> row(m);
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t i = rows == nullptr ? r : rows[r];
      row.clear();
      for (int64_t first = 0; first < n; first += kBatch) {
        const int64_t count = std::min(kBatch, n - first);
        kernel<measure_run<T>>()(&points, i, first, count, row.apart.data(), row.squares.data());
        std::copy_n(charges + first, count, row.weights.data());
        if (i >= first && i < first + count) {
          row.weights[static_cast<size_t>(i - first)] = T(0);
          row.squares[static_cast<size_t>(i - first)] = T(1);
        }
        row.add(trace, params, count, m, true);
      }
      potentials[r] = static_cast<T>(row.potential);
      for (int64_t k = 0; k < m; ++k) forces[r * m + k] = static_cast<T>(row.force[static_cast<size_t>(k)]);
    }
  });
}

// The same estimated from `draws` other points a row, drawn anew for every round.
template <class T>
void sampled_forces(Trace<T> trace, const CurveParams& params, const T* Y, const T* charges, int64_t n,
                    int64_t m, int64_t draws, uint64_t seed, uint64_t round, int threads, T* potentials,
                    T* forces) {
  const std::vector<T> x = by_coordinate(Y, n, m, threads);
  const Points<T> points{x.data(), n, m};
  const T share = static_cast<T>(static_cast<double>(n - 1) / static_cast<double>(draws));
  parallel_blocks(n, 256, threads, [&](int64_t lo, int64_t hi) {
    RowForces<T> row(m);
    for (int64_t i = lo; i < hi; ++i) {
      const uint64_t own = mix64(seed ^ mix64(round * static_cast<uint64_t>(n) + static_cast<uint64_t>(i)));
      row.clear();
      for (int64_t first = 0; first < draws; first += kBatch) {
        const int64_t count = std::min(kBatch, draws - first);
        for (int64_t e = 0; e < count; ++e) {
          // Any of the n - 1 others, by the high bits of a product.
          const uint64_t bits = mix64(own + static_cast<uint64_t>(first + e) * 0x9E3779B97F4A7C15ull) >> 32;
          const int64_t other = static_cast<int64_t>((bits * static_cast<uint64_t>(n - 1)) >> 32);
          const int64_t j = other + (other >= i ? 1 : 0);
          row.listed[static_cast<size_t>(e)] = static_cast<int32_t>(j);
          row.weights[static_cast<size_t>(e)] = share * charges[j];
        }
        kernel<measure_listed<T>>()(&points, i, row.listed.data(), count, row.apart.data(),
                                    row.squares.data());
        row.add(trace, params, count, m, true);
      }
      potentials[i] = static_cast<T>(row.potential);
      for (int64_t k = 0; k < m; ++k) forces[i * m + k] = static_cast<T>(row.force[static_cast<size_t>(k)]);
    }
  });
}

}  // namespace winkel::forces
