// Small dense work on tall arrays: sums in double over blocks of fixed size, added in order, so that the
// bytes do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace winkel {

namespace dense {

constexpr int64_t kRows = 2048;     // rows in a block of a tall array
constexpr int64_t kEntries = 8192;  // entries in a block of a long vector
constexpr int64_t kSumLanes = 16;

template <class T>
WINKEL_CLONES void add_outer(const T* a, const T* b, int64_t rows, int64_t p, int64_t q, double* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < p; ++i) {
      const double x = static_cast<double>(a[r * p + i]);
      for (int64_t j = 0; j < q; ++j) sums[i * q + j] += x * static_cast<double>(b[r * q + j]);
    }
  }
}

template <class T>
WINKEL_CLONES void add_columns(const T* a, int64_t rows, int64_t p, double* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < p; ++i) sums[i] += static_cast<double>(a[r * p + i]);
  }
}

template <class T>
WINKEL_CLONES void multiply_rows(const T* a, const double* shift, const double* w, int64_t rows, int64_t p,
                                 double* row, T* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t j = 0; j < p; ++j) row[j] = 0.0;
    for (int64_t i = 0; i < p; ++i) {
      const double x = static_cast<double>(a[r * p + i]) - shift[i];
      for (int64_t j = 0; j < p; ++j) row[j] += x * w[i * p + j];
    }
    for (int64_t j = 0; j < p; ++j) out[r * p + j] = static_cast<T>(row[j]);
  }
}

template <class T>
WINKEL_CLONES double dot(const T* a, const T* b, int64_t count) {
  double lanes[kSumLanes] = {};
  int64_t k = 0;
  for (; k + kSumLanes <= count; k += kSumLanes) {
    for (int64_t l = 0; l < kSumLanes; ++l)
      lanes[l] += static_cast<double>(a[k + l]) * static_cast<double>(b[k + l]);
  }
  for (; k < count; ++k) lanes[0] += static_cast<double>(a[k]) * static_cast<double>(b[k]);
  double sum = 0.0;
  for (double lane : lanes) sum += lane;
  return sum;
}

template <class T>
WINKEL_CLONES void add_scaled(T coefficient, const T* a, int64_t count, T* out) {
  for (int64_t k = 0; k < count; ++k) out[k] += coefficient * a[k];
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

// a^T b for a (n x p) and b (n x q).
template <class T>
void gram(const T* a, const T* b, int64_t n, int64_t p, int64_t q, int threads, double* out) {
  block_sums(
      n, dense::kRows, p * q, threads,
      [&](int64_t lo, int64_t hi, double* s) { dense::add_outer(a + lo * p, b + lo * q, hi - lo, p, q, s); },
      out);
}

// Sum of each column of a (n x p).
template <class T>
void column_sums(const T* a, int64_t n, int64_t p, int threads, double* out) {
  block_sums(
      n, dense::kRows, p, threads,
      [&](int64_t lo, int64_t hi, double* s) { dense::add_columns(a + lo * p, hi - lo, p, s); }, out);
}

// (a - shift) w for a (n x p), a row `shift` and a square w.
template <class T>
void multiply(const T* a, const double* shift, const double* w, int64_t n, int64_t p, int threads, T* out) {
  parallel_blocks(n, dense::kRows, threads, [&](int64_t lo, int64_t hi) {
    std::vector<double> row(static_cast<size_t>(p));
    dense::multiply_rows(a + lo * p, shift, w, hi - lo, p, row.data(), out + lo * p);
  });
}

// Dot products of every vector of `left` with every vector of `right`, as left x right.
template <class T>
void dots(const std::vector<const T*>& left, const std::vector<const T*>& right, int64_t count, int threads,
          double* out) {
  const size_t size = left.size() * right.size();
  block_sums(
      count, dense::kEntries, static_cast<int64_t>(size), threads,
      [&](int64_t lo, int64_t hi, double* s) {
        for (size_t i = 0; i < left.size(); ++i) {
          for (size_t j = 0; j < right.size(); ++j) {
            s[i * right.size() + j] = dense::dot(left[i] + lo, right[j] + lo, hi - lo);
          }
        }
      },
      out);
}

// out = sum of coefficients[v] * vectors[v].
template <class T>
void combine(const double* coefficients, const std::vector<const T*>& vectors, int64_t count, int threads,
             T* out) {
  parallel_blocks(count, dense::kEntries, threads, [&](int64_t lo, int64_t hi) {
    std::fill(out + lo, out + hi, T(0));
    for (size_t v = 0; v < vectors.size(); ++v) {
      dense::add_scaled(static_cast<T>(coefficients[v]), vectors[v] + lo, hi - lo, out + lo);
    }
  });
}

}  // namespace winkel
