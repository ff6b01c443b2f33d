// Locally linear weights (Saul 2023, eq 14): for each row the weights of near rows whose sum comes closest to
// it. One row at a time: products of its near rows with each other and with it, a Cholesky factor, two
// triangular solves; nothing is kept but the weights, and a row's weights do not depend on the others.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "compressed.hpp"
#include "panels.hpp"
#include "parallel.hpp"

namespace winkel {

namespace local {

constexpr int64_t kWide = simplex::Lanes<double>::width;  // columns of a block of the factor

constexpr int64_t up_to(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

// A symmetric matrix of k rows, its lower triangle in rows of `stride`, and below it the right side as row k.
// Columns are filled up to whole panels, and rows so far that a group may begin at any of them.
struct System {
  explicit System(int64_t size)
      : k(size),
        stride(up_to(size, simplex::Lanes<float>::width)),
        values(static_cast<size_t>((size + 1 + simplex::kRows) * stride)) {}

  double* row(int64_t i) { return values.data() + i * stride; }

  int64_t k, stride;
  std::vector<double> values;
};

// out -= products of six rows of the factor with a panel of eight, over their first `depth` columns.
inline void subtract_products(const double* rows, const double* panel, int64_t depth, int64_t stride,
                              double* scratch, double* out) {
  double* packed = scratch;
  for (int64_t r = 0; r < simplex::kRows; ++r)
    std::copy(rows + r * stride, rows + r * stride + depth, packed + r * depth);
  double products[simplex::kRows * kWide];
  simplex::panel_products<double>(packed, panel, depth, products, kWide);
  for (int64_t r = 0; r < simplex::kRows; ++r)
    for (int64_t c = 0; c < kWide; ++c) out[r * stride + c] -= products[r * kWide + c];
}

// Replaces the lower triangle by its Cholesky factor L, and the right side b (row k) by L^-1 b, eight columns
// at a time; false if the matrix is not positive.
inline bool factor(System& s, std::vector<double>& scratch) {
  scratch.resize(static_cast<size_t>((kWide + simplex::kRows) * s.stride));
  double* panel = scratch.data();
  double* packed = panel + kWide * s.stride;
  for (int64_t j0 = 0; j0 < s.k; j0 += kWide) {
    const int64_t columns = std::min(kWide, s.k - j0);
    if (j0 > 0) {
      for (int64_t c = 0; c < kWide; ++c) {
        const double* own = s.row(std::min(j0 + c, s.k - 1));
        for (int64_t p = 0; p < j0; ++p) panel[p * kWide + c] = own[p];
      }
      for (int64_t i = j0; i <= s.k; i += simplex::kRows)
        subtract_products(s.row(i), panel, j0, s.stride, packed, s.row(i) + j0);
    }
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t j = j0 + c;
      double* own = s.row(j);
      for (int64_t p = j0; p < j; ++p) own[j] -= own[p] * own[p];
      if (!(own[j] > 0.0)) return false;
      own[j] = std::sqrt(own[j]);
      for (int64_t i = j + 1; i <= s.k; ++i) {
        double* other = s.row(i);
        double rest = other[j];
        for (int64_t p = j0; p < j; ++p) rest -= other[p] * own[p];
        other[j] = rest / own[j];
      }
    }
  }
  return true;
}

// L^-T of the last row of a factored system, into x.
inline void solve_back(System& s, double* x) {
  std::copy(s.row(s.k), s.row(s.k) + s.k, x);
  for (int64_t i = s.k - 1; i >= 0; --i) {
    const double* own = s.row(i);
    x[i] /= own[i];
    for (int64_t p = 0; p < i; ++p) x[p] -= own[p] * x[i];
  }
}

// Near rows of dense data. Products are sums of 64 coordinates in the precision of the data, which are added
// in double.
template <class T>
class DenseProducts {
  static constexpr int64_t kPanel = simplex::Lanes<T>::width;

 public:
  DenseProducts(const T* rows, const T* fitted, int64_t d, int64_t k)
      : rows_(rows),
        fitted_(fitted),
        d_(d),
        tall_(up_to(k + 1, simplex::kRows)),
        gathered_(static_cast<size_t>(tall_ * d), T{0}),
        packed_(static_cast<size_t>(up_to(k, kPanel) * d), T{0}) {}

  void operator()(int64_t row, const int64_t* near, System& s) {
    for (int64_t j = 0; j < s.k; ++j) std::copy_n(fitted_ + near[j] * d_, d_, gathered_.data() + j * d_);
    std::copy_n(rows_ + row * d_, d_, gathered_.data() + s.k * d_);
    for (int64_t j0 = 0; j0 < s.k; j0 += kPanel) {
      const T* from = gathered_.data() + j0 * d_;
      T* panel = packed_.data() + j0 * d_;
      const int64_t many = std::min(kPanel, s.k - j0);
      for (int64_t c = 0; c < d_; ++c)
        for (int64_t l = 0; l < many; ++l) panel[c * kPanel + l] = from[l * d_ + c];
      for (int64_t i = j0 / simplex::kRows * simplex::kRows; i < tall_; i += simplex::kRows)
        simplex::panel_products<T>(gathered_.data() + i * d_, panel, d_, s.row(i) + j0, s.stride);
    }
  }

 private:
  const T* rows_;
  const T* fitted_;
  int64_t d_, tall_;
  std::vector<T> gathered_, packed_;  // what lies beyond the near rows and the row stays zero
};

// Near rows of sparse data, in double: one row at a time is spread out over the columns.
template <class T>
class SparseProducts {
 public:
  SparseProducts(const SparseRows<T>& rows, const SparseRows<T>& fitted, int64_t d)
      : rows_(rows), fitted_(fitted), wide_(static_cast<size_t>(d), 0.0) {}

  void operator()(int64_t row, const int64_t* near, System& s) {
    for (int64_t i = 0; i <= s.k; ++i) {
      const SparseRows<T>& from = i < s.k ? fitted_ : rows_;
      const int64_t own = i < s.k ? near[i] : row;
      for (int64_t e = from.indptr[own]; e < from.indptr[own + 1]; ++e)
        wide_[static_cast<size_t>(from.indices[e])] = static_cast<double>(from.values[e]);
      for (int64_t j = 0; j <= std::min(i, s.k - 1); ++j) {
        double sum = 0.0;
        for (int64_t e = fitted_.indptr[near[j]]; e < fitted_.indptr[near[j] + 1]; ++e)
          sum += wide_[static_cast<size_t>(fitted_.indices[e])] * static_cast<double>(fitted_.values[e]);
        s.row(i)[j] = sum;
      }
      for (int64_t e = from.indptr[own]; e < from.indptr[own + 1]; ++e)
        wide_[static_cast<size_t>(from.indices[e])] = 0.0;
    }
  }

 private:
  const SparseRows<T>& rows_;
  const SparseRows<T>& fitted_;
  std::vector<double> wide_;
};

}  // namespace local

// weights (n x k): for each row those of the fitted rows `near` (n x k) that make it up, with `ridge` times
// its squared norm added to each near row's; NaN where rounding leaves no positive matrix. `make()` gives
// what finds the products of one row, one for each thread's work.
template <class Make>
void local_weights(const Make& make, const int64_t* near, int64_t n, int64_t k, double ridge, int threads,
                   double* weights) {
  parallel_blocks(n, 32, threads, [&](int64_t lo, int64_t hi) {
    auto products = make();
    local::System system(k);
    std::vector<double> scratch;
    for (int64_t i = lo; i < hi; ++i) {
      poll();
      products(i, near + i * k, system);
      for (int64_t j = 0; j < k; ++j) system.row(j)[j] *= 1.0 + ridge;
      if (local::factor(system, scratch))
        local::solve_back(system, weights + i * k);
      else
        std::fill_n(weights + i * k, k, std::numeric_limits<double>::quiet_NaN());
    }
  });
}

}  // namespace winkel
