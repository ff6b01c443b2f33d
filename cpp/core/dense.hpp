// Small dense work on tall arrays: sums in double over blocks of fixed size, added in order, so that the
// bytes do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

namespace dense {

constexpr int64_t kRows = 512;  // rows of a tall array worked on at a time, column by column
constexpr int64_t kApart =
    kRows + 8;  // columns lie this far apart: powers of two would share places in the cache
constexpr int64_t kEntries = 1024;   // entries of long vectors worked on at a time
constexpr int64_t kBlockTiles = 16;  // of those in a block of a parallel loop
constexpr int64_t kSumLanes = 32;    // independent partial sums, enough to hide the latency of additions

// Columns of `rows` rows, less a shift, side by side in double.
template <class T>
WINKEL_CLONES void to_columns(const T* __restrict a, const double* __restrict shift, int64_t rows, int64_t p,
                              double* __restrict columns) {
  if (p <= 4) {
    for (int64_t c = 0; c < p; ++c) {
      for (int64_t r = 0; r < rows; ++r)
        columns[c * kApart + r] = static_cast<double>(a[r * p + c]) - shift[c];
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < p; ++c) columns[c * kApart + r] = static_cast<double>(a[r * p + c]) - shift[c];
  }
}

// Adds the products of L vectors (kEntries apart, in double) with one to lanes of partial sums.
template <class T, int L>
WINKEL_CLONES void add_products(const double* __restrict a, const T* __restrict b, int64_t count,
                                double* __restrict lanes) {
  int64_t k = 0;
  for (; k + kSumLanes <= count; k += kSumLanes) {
    for (int64_t l = 0; l < kSumLanes; ++l) {
      for (int i = 0; i < L; ++i)
        lanes[i * kSumLanes + l] += a[i * kEntries + k + l] * static_cast<double>(b[k + l]);
    }
  }
  for (; k < count; ++k) {
    for (int i = 0; i < L; ++i) lanes[i * kSumLanes] += a[i * kEntries + k] * static_cast<double>(b[k]);
  }
}

inline double sum_lanes(const double* lanes) {
  double sum = 0.0;
  for (int64_t l = 0; l < kSumLanes; ++l) sum += lanes[l];
  return sum;
}

// out = columns^T w, or base - row - columns^T w, row by row.
template <class T>
WINKEL_CLONES void from_columns(const double* __restrict columns, const double* __restrict w,
                                const T* __restrict base, const double* __restrict row, int64_t rows,
                                int64_t p, T* __restrict out) {
  double column[kRows];
  for (int64_t j = 0; j < p; ++j) {
    for (int64_t r = 0; r < rows; ++r) column[r] = 0.0;
    for (int64_t i = 0; i < p; ++i) {
      const double x = w[i * p + j];
      for (int64_t r = 0; r < rows; ++r) column[r] += x * columns[i * kApart + r];
    }
    if (base == nullptr) {
      for (int64_t r = 0; r < rows; ++r) out[r * p + j] = static_cast<T>(column[r]);
    } else {
      const double offset = row[j];
      for (int64_t r = 0; r < rows; ++r) {
        out[r * p + j] = static_cast<T>(static_cast<double>(base[r * p + j]) - offset - column[r]);
      }
    }
  }
}

template <class T>
WINKEL_CLONES void subtract(const T* __restrict a, const T* __restrict pattern, int64_t period, int64_t count,
                            T* __restrict out) {
  for (int64_t k = 0; k < count; k += period) {
    const int64_t now = std::min(period, count - k);
    for (int64_t l = 0; l < now; ++l) out[k + l] = a[k + l] - pattern[l];
  }
}

template <class T>
WINKEL_CLONES void to_double(const T* __restrict a, int64_t count, double* __restrict out) {
  for (int64_t k = 0; k < count; ++k) out[k] = static_cast<double>(a[k]);
}

template <class T>
WINKEL_CLONES void add_scaled(const T* __restrict c, const T* __restrict a0, const T* __restrict a1,
                              const T* __restrict a2, const T* __restrict a3, int64_t count,
                              T* __restrict out) {
  for (int64_t k = 0; k < count; ++k) out[k] += (c[0] * a0[k] + c[1] * a1[k]) + (c[2] * a2[k] + c[3] * a3[k]);
}

// Smallest and largest entry of each of `period` lanes, and x - x summed: 0, or NaN where an x is not finite.
template <class T>
WINKEL_CLONES void range_of_lanes(const T* __restrict a, int64_t count, int64_t period, T* __restrict low,
                                  T* __restrict high, T* __restrict gap) {
  for (int64_t k = 0; k < count; k += period) {
    for (int64_t l = 0; l < period; ++l) {
      const T x = a[k + l];
      low[l] = x < low[l] ? x : low[l];
      high[l] = x > high[l] ? x : high[l];
      gap[l] += x - x;
    }
  }
}

// One thread for work that is done sooner than a second thread would be woken.
inline int worthwhile(int threads, int64_t operations) {
  return operations < 250000 ? 1 : threads;
}

}  // namespace dense

// Sums of `size` doubles that body(begin, end, sums) adds up for each block, added in block order.
template <class Body>
void block_sums(int64_t n, int64_t block, int64_t size, int threads, const Body& body, double* out) {
  const int64_t blocks = (n + block - 1) / block;
  std::vector<double> parts(static_cast<size_t>(blocks * size), 0.0);
  parallel_blocks(n, block, threads,
                  [&](int64_t lo, int64_t hi) { body(lo, hi, parts.data() + lo / block * size); });
  std::fill(out, out + size, 0.0);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < size; ++i) out[i] += parts[static_cast<size_t>(b * size + i)];
  }
}

// a^T b for a (n x p) and b (n x q). Of an array with itself, one half is made and serves both.
template <class T>
void gram(const T* a, const T* b, int64_t n, int64_t p, int64_t q, int threads, double* out) {
  using dense::kApart, dense::kRows, dense::kSumLanes;
  const bool same = a == b && p == q;
  const auto half = [&](int64_t k) { return same && k % q < k / q; };
  block_sums(
      n, dense::kBlockTiles * kRows, p * q, dense::worthwhile(threads, n * p * q),
      [&](int64_t lo, int64_t hi, double* sums) {
        const std::vector<double> zero(static_cast<size_t>(std::max(p, q)), 0.0);
        std::vector<double> left(static_cast<size_t>(p * kApart)),
            right(same ? 0 : static_cast<size_t>(q * kApart));
        std::vector<double> lanes(static_cast<size_t>(p * q * kSumLanes), 0.0);
        const double* const other = same ? left.data() : right.data();
        for (int64_t at = lo; at < hi; at += kRows) {
          const int64_t rows = std::min(kRows, hi - at);
          kernel<dense::to_columns<T>>()(a + at * p, zero.data(), rows, p, left.data());
          if (!same) kernel<dense::to_columns<T>>()(b + at * q, zero.data(), rows, q, right.data());
          for (int64_t k = 0; k < p * q; ++k) {
            if (half(k)) continue;
            kernel<dense::add_products<double, 1>>()(left.data() + k / q * kApart, other + k % q * kApart,
                                                     rows, lanes.data() + k * kSumLanes);
          }
        }
        for (int64_t k = 0; k < p * q; ++k)
          if (!half(k)) sums[k] = dense::sum_lanes(lanes.data() + k * kSumLanes);
      },
      out);
  for (int64_t k = 0; k < p * q; ++k)
    if (half(k)) out[k] = out[k % q * q + k / q];
}

// Smallest and largest entry of each column of a (n x p, n > 0): NaN for both where an entry is not finite.
template <class T>
void column_range(const T* a, int64_t n, int64_t p, T* low, T* high) {
  const int64_t rows = std::min(n, std::max<int64_t>(1, dense::kSumLanes / p)), whole = n / rows * rows;
  const size_t period = static_cast<size_t>(rows * p);
  std::vector<T> least(a, a + period), most(a, a + period), gap(period, T(0));
  kernel<dense::range_of_lanes<T>>()(a, whole * p, rows * p, least.data(), most.data(), gap.data());
  kernel<dense::range_of_lanes<T>>()(a + (n - rows) * p, rows * p, rows * p, least.data(), most.data(),
                                     gap.data());
  for (int64_t c = 0; c < p; ++c) {
    low[c] = least[static_cast<size_t>(c)], high[c] = most[static_cast<size_t>(c)];
    T gaps = T(0);
    for (size_t l = static_cast<size_t>(c); l < period; l += static_cast<size_t>(p)) {
      low[c] = std::min(low[c], least[l]), high[c] = std::max(high[c], most[l]);
      gaps += gap[l];
    }
    low[c] += gaps, high[c] += gaps;
  }
}

// Sum of each column of a (n x p).
template <class T>
void column_sums(const T* a, int64_t n, int64_t p, int threads, double* out) {
  using dense::kApart, dense::kRows;
  block_sums(
      n, dense::kBlockTiles * kRows, p, dense::worthwhile(threads, n * p),
      [&](int64_t lo, int64_t hi, double* sums) {
        const std::vector<double> zero(static_cast<size_t>(p), 0.0), one(static_cast<size_t>(kRows), 1.0);
        std::vector<double> columns(static_cast<size_t>(p * kApart));
        std::vector<double> lanes(static_cast<size_t>(p * dense::kSumLanes), 0.0);
        for (int64_t at = lo; at < hi; at += kRows) {
          const int64_t rows = std::min(kRows, hi - at);
          kernel<dense::to_columns<T>>()(a + at * p, zero.data(), rows, p, columns.data());
          for (int64_t c = 0; c < p; ++c) {
            kernel<dense::add_products<double, 1>>()(one.data(), columns.data() + c * kApart, rows,
                                                     lanes.data() + c * dense::kSumLanes);
          }
        }
        for (int64_t c = 0; c < p; ++c) sums[c] = dense::sum_lanes(lanes.data() + c * dense::kSumLanes);
      },
      out);
}

// (a - shift) w, or with `base` (n x p) and `row`: base - row - (a - shift) w. a is n x p, w is p x p.
template <class T>
void multiply(const T* a, const double* shift, const double* w, const T* base, const double* row, int64_t n,
              int64_t p, int threads, T* out) {
  parallel_blocks(n, dense::kBlockTiles * dense::kRows, dense::worthwhile(threads, n * p * p),
                  [&](int64_t lo, int64_t hi) {
                    std::vector<double> columns(static_cast<size_t>(p * dense::kApart));
                    for (int64_t at = lo; at < hi; at += dense::kRows) {
                      const int64_t rows = std::min(dense::kRows, hi - at);
                      kernel<dense::to_columns<T>>()(a + at * p, shift, rows, p, columns.data());
                      kernel<dense::from_columns<T>>()(columns.data(), w,
                                                       base == nullptr ? nullptr : base + at * p, row, rows,
                                                       p, out + at * p);
                    }
                  });
}

// a - row for a (n x p).
template <class T>
void subtract_row(const T* a, const double* row, int64_t n, int64_t p, int threads, T* out) {
  // The row repeated to at least a tile's length keeps the loop long where rows are short.
  const int64_t repeats = std::max<int64_t>(1, dense::kEntries / p);
  std::vector<T> pattern(static_cast<size_t>(repeats * p));
  for (size_t k = 0; k < pattern.size(); ++k) pattern[k] = static_cast<T>(row[k % static_cast<size_t>(p)]);
  parallel_blocks(
      n, dense::kBlockTiles * repeats, dense::worthwhile(threads, n * p), [&](int64_t lo, int64_t hi) {
        kernel<dense::subtract<T>>()(a + lo * p, pattern.data(), repeats * p, (hi - lo) * p, out + lo * p);
      });
}

// Dot products of every vector of `left` with every vector of `right`, as left x right.
template <class T>
void dots(const std::vector<const T*>& left, const std::vector<const T*>& right, int64_t count, int threads,
          double* out) {
  using dense::kEntries, dense::kSumLanes;
  const size_t l = left.size(), r = right.size();
  const auto block = [&](int64_t lo, int64_t hi, double* sums) {
    std::vector<double> wide(l * kEntries), lanes(r * l * kSumLanes, 0.0);
    for (int64_t at = lo; at < hi; at += kEntries) {
      const int64_t now = std::min(kEntries, hi - at);
      for (size_t i = 0; i < l; ++i)
        kernel<dense::to_double<T>>()(left[i] + at, now, wide.data() + i * kEntries);
      for (size_t j = 0; j < r; ++j) {
        double* own = lanes.data() + j * l * kSumLanes;
        size_t i = 0;
        for (; i + 3 <= l; i += 3) {
          kernel<dense::add_products<T, 3>>()(wide.data() + i * kEntries, right[j] + at, now,
                                              own + i * kSumLanes);
        }
        for (; i < l; ++i) {
          kernel<dense::add_products<T, 1>>()(wide.data() + i * kEntries, right[j] + at, now,
                                              own + i * kSumLanes);
        }
      }
    }
    for (size_t j = 0; j < r; ++j) {
      for (size_t i = 0; i < l; ++i)
        sums[i * r + j] = dense::sum_lanes(lanes.data() + (j * l + i) * kSumLanes);
    }
  };
  block_sums(count, dense::kBlockTiles * kEntries, static_cast<int64_t>(l * r),
             dense::worthwhile(threads, count * static_cast<int64_t>(l * r)), block, out);
}

// out = sum of coefficients[v] * vectors[v].
template <class T>
void combine(const double* coefficients, std::vector<const T*> vectors, int64_t count, int threads, T* out) {
  std::vector<T> c(coefficients, coefficients + vectors.size());
  while (vectors.size() % 4 != 0) vectors.push_back(vectors[0]), c.push_back(T(0));
  parallel_blocks(
      count, dense::kBlockTiles * dense::kEntries,
      dense::worthwhile(threads, count * static_cast<int64_t>(vectors.size())), [&](int64_t lo, int64_t hi) {
        for (int64_t at = lo; at < hi; at += dense::kEntries) {
          const int64_t now = std::min(dense::kEntries, hi - at);
          std::fill(out + at, out + at + now, T(0));
          for (size_t v = 0; v < vectors.size(); v += 4) {
            kernel<dense::add_scaled<T>>()(c.data() + v, vectors[v] + at, vectors[v + 1] + at,
                                           vectors[v + 2] + at, vectors[v + 3] + at, now, out + at);
          }
        }
      });
}

}  // namespace winkel
