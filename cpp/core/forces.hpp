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

// Differences and squared distances of the pairs `begin` to `end` (at most kBatch), which are those of the
// rows `first` to `last`, from the positions as they are given: lists are short, and each pair is met once.
template <class T>
WINKEL_CLONES void measure_rows(const T* __restrict Y, int64_t m, const ListedPairs<T>* pairs, int64_t first,
                                int64_t last, int64_t begin, int64_t end, T* __restrict apart,
                                T* __restrict squares) {
  for (int64_t i = first; i < last; ++i) {
    const T* __restrict own = Y + i * m;
    const int64_t from = std::max(begin, pairs->indptr[i]), to = std::min(end, pairs->indptr[i + 1]);
    if (m == 2) {
      for (int64_t e = from; e < to; ++e) {
        const T* __restrict other = Y + 2 * static_cast<int64_t>(pairs->indices[e]);
        apart[e - begin] = own[0] - other[0];
        apart[kBatch + e - begin] = own[1] - other[1];
      }
    } else {
      for (int64_t k = 0; k < m; ++k) {
        const T here = own[k];
        for (int64_t e = from; e < to; ++e)
          apart[k * kBatch + e - begin] = here - Y[m * static_cast<int64_t>(pairs->indices[e]) + k];
      }
    }
  }
  const int64_t count = end - begin;
  for (int64_t e = 0; e < count; ++e) squares[e] = apart[e] * apart[e];
  for (int64_t k = 1; k < m; ++k) {
    const T* __restrict difference = apart + k * kBatch;
    for (int64_t e = 0; e < count; ++e) squares[e] += difference[e] * difference[e];
  }
}

// The sum of a_e b_e in kWide lanes that are added in order, as `collect` has it.
template <class T>
WINKEL_INLINE double sum_in_lanes(const T* __restrict a, const T* __restrict b, int64_t count) {
  if (count <= kWide) {
    double sum = 0.0;
    for (int64_t e = 0; e < count; ++e) sum += static_cast<double>(a[e] * b[e]);
    return sum;
  }
  T lanes[kWide] = {};
  int64_t e = 0;
  for (; e + kWide <= count; e += kWide)
    for (int64_t l = 0; l < kWide; ++l) lanes[l] += a[e + l] * b[e + l];
  for (int64_t l = 0; e + l < count; ++l) lanes[l] += a[e + l] * b[e + l];
  return fold(lanes);
}

// The forces on the rows `first` to `last`, whose pairs begin at `begin`, and the sum of their potentials,
// row by row, added to `total` (values may be null).
template <class T>
WINKEL_CLONES double collect_rows(const ListedPairs<T>* pairs, int64_t first, int64_t last, int64_t begin,
                                  int64_t m, const T* __restrict apart, T* __restrict slopes,
                                  const T* __restrict values, double total, T* __restrict forces) {
  const T* __restrict weights = pairs->weights + begin;
  const int64_t count = pairs->indptr[last] - begin;
  for (int64_t e = 0; e < count; ++e) slopes[e] *= weights[e];
  for (int64_t i = first; i < last; ++i) {
    const int64_t from = pairs->indptr[i] - begin, own = pairs->indptr[i + 1] - begin - from;
    for (int64_t k = 0; k < m; ++k)
      forces[i * m + k] = static_cast<T>(sum_in_lanes(slopes + from, apart + k * kBatch + from, own));
    if (values != nullptr) total += sum_in_lanes(weights + from, values + from, own);
  }
  return total;
}

// force_i = sum_j w_ij f'(s_ij) (y_i - y_j) over the pairs listed for row i; returns sum_ij w_ij f(s_ij), or
// 0. Rows with few pairs are traced together.
template <class T>
double listed_forces(Trace<T> trace, const CurveParams& params, const T* Y, int64_t n, int64_t m,
                     const ListedPairs<T>& pairs, bool with_value, int threads, T* forces) {
  return parallel_sum(n, 256, threads, [&](int64_t lo, int64_t hi) {
    RowForces<T> row(m);
    T* values = with_value ? row.values.data() : nullptr;
    double total = 0.0;
    for (int64_t i = lo, last; i < hi; i = last) {
      const int64_t begin = pairs.indptr[i];
      for (last = i; last < hi && pairs.indptr[last + 1] - begin <= kBatch;) ++last;
      if (last > i) {
        const int64_t end = pairs.indptr[last], padded = (end - begin + kWide - 1) / kWide * kWide;
        kernel<measure_rows<T>>()(Y, m, &pairs, i, last, begin, end, row.apart.data(), row.squares.data());
        for (int64_t e = end - begin; e < padded; ++e) row.squares[static_cast<size_t>(e)] = T(1);
        trace(row.squares.data(), padded, &params, row.slopes.data(), values);
        total = kernel<collect_rows<T>>()(&pairs, i, last, begin, m, row.apart.data(), row.slopes.data(),
                                          values, total, forces);
        continue;
      }
      row.clear();
      last = i + 1;
      for (int64_t e = begin; e < pairs.indptr[last]; e += kBatch) {
        const int64_t count = std::min(kBatch, pairs.indptr[last] - e);
        kernel<measure_rows<T>>()(Y, m, &pairs, i, last, e, e + count, row.apart.data(), row.squares.data());
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
