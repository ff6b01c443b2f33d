// Dense linear algebra whose bytes depend on nothing but its input: not on the processor, not on the number
// of threads, not on which BLAS is installed. Sums run in one order that the source fixes. Matrices lie row
// by row.
//
// Products are as fast as two thirds of a good BLAS. The rest is for small matrices: QR and singular values
// of tall thin blocks. Eigenvectors are in eigen.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "dense.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "wide.hpp"

namespace winkel {

namespace algebra {

constexpr int64_t kTall = 6, kWide = 8;  // entries of the product that are summed at once
constexpr int64_t kDepth = 256;          // terms of a sum before it is added to the product
constexpr int64_t kBand = 8 * kTall;     // rows of the product in a block of a parallel loop

// A matrix, or the transpose of one, as a product reads it.
template <class T>
struct View {
  const T* data;
  int64_t row, column;  // steps from one row to the next, and from one column
  double at(int64_t i, int64_t j) const { return static_cast<double>(data[i * row + j * column]); }
};

// out (6 x 8, `stride` apart) += left (depth x 6, transposed) times right (depth x 8), in vectors of so many
// bytes.
template <int Bytes>
WINKEL_CLONES void add_tile(const double* __restrict left, const double* __restrict right, int64_t depth,
                            double* __restrict out, int64_t stride) {
#if defined(__GNUC__)
  typedef double V __attribute__((vector_size(Bytes)));
  typedef double Memory __attribute__((vector_size(Bytes), aligned(8), may_alias));
  constexpr int64_t lanes = Bytes / 8, vectors = kWide / lanes;
  V sum[kTall][vectors] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const Memory* b = reinterpret_cast<const Memory*>(right + k * kWide);
#pragma GCC unroll 6
    for (int64_t r = 0; r < kTall; ++r) {
#pragma GCC unroll 4
      for (int64_t v = 0; v < vectors; ++v) sum[r][v] += left[k * kTall + r] * b[v];
    }
  }
  // Whole vectors with known places: an index that is not known would keep the sums in memory.
#pragma GCC unroll 6
  for (int64_t r = 0; r < kTall; ++r) {
#pragma GCC unroll 4
    for (int64_t v = 0; v < vectors; ++v) {
      *reinterpret_cast<Memory*>(out + r * stride + v * lanes) += sum[r][v];
    }
  }
#else
  double sum[kTall][kWide] = {};
  for (int64_t k = 0; k < depth; ++k)
    for (int64_t r = 0; r < kTall; ++r)
      for (int64_t c = 0; c < kWide; ++c) sum[r][c] += left[k * kTall + r] * right[k * kWide + c];
  for (int64_t r = 0; r < kTall; ++r)
    for (int64_t c = 0; c < kWide; ++c) out[r * stride + c] += sum[r][c];
#endif
}

// Panels of `width` rows (Rows) or columns of a block of `view`, side by side; what is missing is zero.
template <bool Rows, class T>
void pack(const View<T>& view, int64_t first, int64_t count, int64_t from, int64_t depth, int64_t width,
          double* out) {
  for (int64_t p = 0; p < count; p += width, out += depth * width) {
    const int64_t now = std::min(width, count - p);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t l = 0; l < now; ++l)
        out[k * width + l] = Rows ? view.at(first + p + l, from + k) : view.at(from + k, first + p + l);
      for (int64_t l = now; l < width; ++l) out[k * width + l] = 0.0;
    }
  }
}

// x[k] += by * y[k].
WINKEL_CLONES void add_multiple(double by, const double* __restrict y, int64_t count, double* __restrict x) {
  for (int64_t k = 0; k < count; ++k) x[k] += by * y[k];
}

// Turns the pair (x, y) of every place.
WINKEL_CLONES void rotate(double* __restrict x, double* __restrict y, double c, double s, int64_t count) {
  for (int64_t k = 0; k < count; ++k) {
    const double a = x[k], b = y[k];
    x[k] = c * a - s * b;
    y[k] = s * a + c * b;
  }
}

// The inner product, in eight lanes.
WINKEL_CLONES double dot(const double* __restrict x, const double* __restrict y, int64_t count) {
  double lanes[8] = {};
  int64_t k = 0;
  for (; k + 8 <= count; k += 8)
    for (int l = 0; l < 8; ++l) lanes[l] += x[k + l] * y[k + l];
  for (int l = 0; k < count; ++k, ++l) lanes[l] += x[k] * y[k];
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

// The same of numbers in any precision.
template <class T>
WINKEL_CLONES double dot_of(const T* __restrict x, const T* __restrict y, int64_t count) {
  double lanes[16] = {};
  int64_t k = 0;
  for (; k + 16 <= count; k += 16)
    for (int l = 0; l < 16; ++l) lanes[l] += static_cast<double>(x[k + l]) * static_cast<double>(y[k + l]);
  for (int l = 0; k < count; ++k, ++l) lanes[l] += static_cast<double>(x[k]) * static_cast<double>(y[k]);
  for (int half = 8; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

}  // namespace algebra

// out (n x m) = left (n x depth) times right (depth x m), in double. With `symmetric` (left is the transpose
// of right) only one half is computed.
template <class A, class B>
void matrix_product(const algebra::View<A>& left, const algebra::View<B>& right, int64_t n, int64_t depth,
                    int64_t m, bool symmetric, int threads, double* out) {
  using namespace algebra;
  const int64_t stride = (m + kWide - 1) / kWide * kWide, tall = (n + kTall - 1) / kTall * kTall;
  std::vector<double> sums(static_cast<size_t>(tall * stride), 0.0);
  std::vector<double> packed(static_cast<size_t>(std::min(kDepth, depth) * stride));
  const int workers = dense::worthwhile(threads, n * m * depth);
  for (int64_t from = 0; from < depth; from += kDepth) {
    const int64_t now = std::min(kDepth, depth - from);
    parallel_blocks(stride / kWide, 8, workers, [&](int64_t lo, int64_t hi) {
      pack<false>(right, lo * kWide, std::min(m, hi * kWide) - lo * kWide, from, now, kWide,
                  packed.data() + lo * kWide * now);
    });
    parallel_blocks(n, kBand, workers, [&](int64_t lo, int64_t hi) {
      double band[kBand * kDepth];
      pack<true>(left, lo, hi - lo, from, now, kTall, band);
      const auto add = wide_kernel<add_tile<16>, add_tile<32>, add_tile<64>>();
      for (int64_t c = 0; c < stride; c += kWide) {
        if (symmetric && c + kWide <= lo) continue;
        for (int64_t r = lo; r < hi; r += kTall)
          add(band + (r - lo) * now, packed.data() + c * now, now, sums.data() + r * stride + c, stride);
      }
    });
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j)
      out[i * m + j] = sums[static_cast<size_t>(symmetric && j < i ? j * stride + i : i * stride + j)];
}

// ----------------------------------------------------------------------------- orthogonal and triangular

// Columns of the n x p matrix `a` (p <= n), one a row of `columns` (p x n), become orthonormal, and
// `triangle` (p x p, upper) is what they have to be multiplied by to be `a` again: reflections, one a column.
inline void householder_qr(double* columns, int64_t n, int64_t p, double* triangle) {
  const auto add = kernel<algebra::add_multiple>();
  const auto dot = kernel<algebra::dot>();
  std::vector<double> scales(static_cast<size_t>(p), 0.0);
  std::fill_n(triangle, p * p, 0.0);
  for (int64_t k = 0; k < p; ++k) {
    double* v = columns + k * n + k;
    const int64_t count = n - k;
    for (int64_t j = 0; j < k; ++j) triangle[j * p + k] = columns[k * n + j];
    double largest = 0.0;
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(v[i]));
    if (!(largest > 0.0)) continue;
    for (int64_t i = 0; i < count; ++i) v[i] /= largest;
    const double length = std::sqrt(dot(v, v, count)), target = v[0] > 0.0 ? -length : length;
    scales[static_cast<size_t>(k)] = 1.0 / (length * (length + std::abs(v[0])));
    triangle[k * p + k] = target * largest;
    v[0] -= target;
    for (int64_t j = k + 1; j < p; ++j) {
      double* other = columns + j * n + k;
      add(-scales[static_cast<size_t>(k)] * dot(v, other, count), v, count, other);
    }
  }
  // The reflections' product on the first p unit vectors, from the last to the first.
  std::vector<double> own(static_cast<size_t>(n));
  for (int64_t k = p - 1; k >= 0; --k) {
    const double scale = scales[static_cast<size_t>(k)];
    const int64_t count = n - k;
    std::copy_n(columns + k * n + k, count, own.data());
    std::fill_n(columns + k * n, n, 0.0);
    columns[k * n + k] = 1.0;
    if (scale == 0.0) continue;
    for (int64_t j = k; j < p; ++j) {
      double* other = columns + j * n + k;
      add(-scale * dot(own.data(), other, count), own.data(), count, other);
    }
  }
}

// Rotates pairs of the p rows of `rows` (p x n) until all are orthogonal, and the rows of `turns` (p x p)
// with them (Hestenes): the singular vectors of the matrix with these columns, times their singular values.
inline void orthogonal_rows(double* rows, int64_t p, int64_t n, double* turns) {
  const auto dot = kernel<algebra::dot>();
  const auto turn = kernel<algebra::rotate>();
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool still = true;
    for (int64_t i = 0; i + 1 < p; ++i)
      for (int64_t j = i + 1; j < p; ++j) {
        double *x = rows + i * n, *y = rows + j * n;
        const double xx = dot(x, x, n), yy = dot(y, y, n), xy = dot(x, y, n);
        if (!(std::abs(xy) > 1e-15 * std::sqrt(xx) * std::sqrt(yy))) continue;
        still = false;
        const double zeta = (yy - xx) / (2.0 * xy);
        const double t = (zeta >= 0.0 ? 1.0 : -1.0) / (std::abs(zeta) + std::sqrt(1.0 + zeta * zeta));
        const double c = 1.0 / std::sqrt(1.0 + t * t), s = c * t;
        turn(x, y, c, s, n);
        turn(turns + i * p, turns + j * p, c, s, p);
      }
    if (still) return;
  }
}

// The lower triangle of a symmetric positive matrix becomes its factor L with L L^T; false if it is not
// positive.
inline bool cholesky(double* a, int64_t n) {
  const auto dot = kernel<algebra::dot>();
  for (int64_t i = 0; i < n; ++i) {
    double* own = a + i * n;
    for (int64_t j = 0; j < i; ++j) own[j] = (own[j] - dot(own, a + j * n, j)) / a[j * n + j];
    const double rest = own[i] - dot(own, own, i);
    if (!(rest > 0.0)) return false;
    own[i] = std::sqrt(rest);
    std::fill(own + i + 1, own + n, 0.0);
  }
  return true;
}

// Solves L L^T X = B for B (n x m), in place.
inline void cholesky_solve(const double* factor, int64_t n, int64_t m, double* b) {
  const auto add = kernel<algebra::add_multiple>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < i; ++j) add(-factor[i * n + j], b + j * m, m, b + i * m);
    for (int64_t c = 0; c < m; ++c) b[i * m + c] /= factor[i * n + i];
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t j = i + 1; j < n; ++j) add(-factor[j * n + i], b + j * m, m, b + i * m);
    for (int64_t c = 0; c < m; ++c) b[i * m + c] /= factor[i * n + i];
  }
}

// For each of `count` pairs of matrices, a (p x depth) and b (q x depth): a b^T.
template <class T>
void each_product(const T* a, const T* b, int64_t count, int64_t p, int64_t q, int64_t depth, int threads,
                  double* out) {
  const auto dot = kernel<algebra::dot_of<T>>();
  const bool symmetric = a == b && p == q;
  parallel_blocks(count, 16, dense::worthwhile(threads, count * p * q * depth), [&](int64_t lo, int64_t hi) {
    for (int64_t e = lo; e < hi; ++e) {
      const T *left = a + e * p * depth, *right = b + e * q * depth;
      double* own = out + e * p * q;
      for (int64_t i = 0; i < p; ++i)
        for (int64_t j = 0; j < q; ++j)
          own[i * q + j] =
              symmetric && j < i ? own[j * q + i] : dot(left + i * depth, right + j * depth, depth);
    }
  });
}

// For each of `count` symmetric positive matrices a (k x k) the x with a x = b; of NaN where it is not
// positive.
inline void each_solution(const double* a, const double* b, int64_t count, int64_t k, int threads,
                          double* x) {
  parallel_blocks(count, 16, dense::worthwhile(threads, count * k * k * k), [&](int64_t lo, int64_t hi) {
    std::vector<double> factor(static_cast<size_t>(k * k));
    for (int64_t e = lo; e < hi; ++e) {
      std::copy_n(a + e * k * k, k * k, factor.data());
      std::copy_n(b + e * k, k, x + e * k);
      if (cholesky(factor.data(), k))
        cholesky_solve(factor.data(), k, 1, x + e * k);
      else
        std::fill_n(x + e * k, k, std::numeric_limits<double>::quiet_NaN());
    }
  });
}

}  // namespace winkel
