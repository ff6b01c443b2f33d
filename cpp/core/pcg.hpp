// Conjugate gradients for several right-hand sides at once, preconditioned by the diagonal, for a symmetric
// diagonally dominant matrix diag(d) − W in compressed rows. Columns keep their own scalars; one that has
// converged stays as it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

template <class T>
struct SddRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;
  const T* diagonal;
};

// Columns are worked through in groups of a fixed number, so that the inner loops become vector code; rows
// are padded with columns of zeros, which are converged from the start.
inline int64_t padded_columns(int64_t d) {
  if (d <= 2) return d;
  if (d <= 4) return 4;
  return d <= 8 ? 8 : (d + 7) / 8 * 8;
}

// out = (diag(d) − W) x on rows [lo, hi) for D columns from the first of x, and the columns' sums of x out.
template <class T, int D>
WINKEL_CLONES void sdd_rows(const SddRows<T>* m, const T* x, int64_t width, int64_t lo, int64_t hi,
                            T* __restrict out, double* __restrict products) {
  double total[D] = {};
  for (int64_t i = lo; i < hi; ++i) {
    T part[D] = {};
    for (int64_t e = m->indptr[i]; e < m->indptr[i + 1]; ++e) {
      const T w = m->weights[e];
      const T* __restrict other = x + m->indices[e] * width;
      for (int64_t c = 0; c < D; ++c) part[c] += w * other[c];
    }
    const T* own = x + i * width;
    for (int64_t c = 0; c < D; ++c) {
      const T sum = m->diagonal[i] * own[c] - part[c];
      out[i * width + c] = sum;
      total[c] += static_cast<double>(sum) * static_cast<double>(own[c]);
    }
  }
  for (int64_t c = 0; c < D; ++c) products[c] += total[c];
}

// x += alpha p, r −= alpha q on rows [lo, hi), and the columns' sums of r² / d.
template <class T, int D>
WINKEL_CLONES void descend_rows(const T* __restrict inverse, const T* __restrict alpha, const T* __restrict p,
                                const T* __restrict q, int64_t width, int64_t lo, int64_t hi, T* __restrict x,
                                T* __restrict r, double* __restrict products) {
  double total[D] = {};
  for (int64_t i = lo; i < hi; ++i)
    for (int64_t c = 0; c < D; ++c) {
      const int64_t k = i * width + c;
      x[k] += alpha[c] * p[k];
      const T left = r[k] - alpha[c] * q[k];
      r[k] = left;
      total[c] += static_cast<double>(left) * static_cast<double>(left * inverse[i]);
    }
  for (int64_t c = 0; c < D; ++c) products[c] += total[c];
}

// p = r / d + beta p on rows [lo, hi).
template <class T, int D>
WINKEL_CLONES void turn_rows(const T* __restrict inverse, const T* __restrict beta, const T* __restrict r,
                             int64_t width, int64_t lo, int64_t hi, T* __restrict p) {
  for (int64_t i = lo; i < hi; ++i)
    for (int64_t c = 0; c < D; ++c)
      p[i * width + c] = r[i * width + c] * inverse[i] + beta[c] * p[i * width + c];
}

// The kernels for D columns at once.
template <class T>
struct ColumnKernels {
  int64_t columns;
  decltype(&sdd_rows<T, 1>) multiply;
  decltype(&descend_rows<T, 1>) descend;
  decltype(&turn_rows<T, 1>) turn;

  template <int D>
  static ColumnKernels of() {
    return {D, kernel<sdd_rows<T, D>>(), kernel<descend_rows<T, D>>(), kernel<turn_rows<T, D>>()};
  }

  static ColumnKernels for_width(int64_t width) {
    if (width % 16 == 0) return of<16>();
    if (width % 8 == 0) return of<8>();
    if (width % 4 == 0) return of<4>();
    return width % 2 == 0 ? of<2>() : of<1>();
  }
};

template <class T>
class ConjugateGradients {
 public:
  ConjugateGradients(const SddRows<T>& matrix, int64_t n, int64_t d, int threads)
      : m_(matrix),
        n_(n),
        d_(d),
        kernels_(ColumnKernels<T>::for_width(d)),
        threads_(n * d < kSmall ? 1 : threads),
        alpha_(columns()),
        beta_(columns()),
        part_(blocks()) {
    p_.assign(static_cast<size_t>(n * d), T(0));
    q_.resize(p_.size());
    inverse_.resize(static_cast<size_t>(n));
    for (size_t i = 0; i < inverse_.size(); ++i)
      inverse_[i] = matrix.diagonal[i] > T(0) ? T(1) / matrix.diagonal[i] : T(0);  // a bare row stays
  }

  // Adds to x the correction for the residual r, until each column's residual in the norm of the inverse
  // diagonal is `tol` times that of r or max_iter is reached; r becomes what is left. Returns the iterations.
  int correct(double tol, int max_iter, T* r, T* x) {
    std::vector<double> start(columns()), now(columns()), curvature(columns());
    std::fill(alpha_.begin(), alpha_.end(), T(0));
    std::fill(beta_.begin(), beta_.end(), T(0));
    descend(r, x, start);  // alpha is zero: only the products
    now = start;
    for (int it = 0; it < max_iter; ++it) {
      turn(r);
      multiply(curvature);
      for (size_t c = 0; c < columns(); ++c)
        alpha_[c] = active(now[c], start[c], tol) && curvature[c] > 0.0
                        ? static_cast<T>(now[c] / curvature[c])
                        : T(0);
      std::vector<double> next(columns());
      descend(r, x, next);
      bool all = true;
      for (size_t c = 0; c < columns(); ++c) {
        beta_[c] = alpha_[c] > T(0) ? static_cast<T>(next[c] / now[c]) : T(0);
        now[c] = next[c];
        all = all && !active(now[c], start[c], tol);
      }
      if (all) return it + 1;
    }
    return max_iter;
  }

 private:
  static constexpr int64_t kBlock = 1024;
  static constexpr int64_t kSmall = 32'768;  // fewer numbers are summed before other threads wake

  size_t columns() const { return static_cast<size_t>(d_); }
  size_t blocks() const { return static_cast<size_t>((n_ + kBlock - 1) / kBlock * d_); }
  static bool active(double now, double start, double tol) { return now > tol * tol * start; }

  double* part(int64_t lo) { return part_.data() + lo / kBlock * d_; }

  void total(std::vector<double>& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (size_t k = 0; k < part_.size(); ++k) out[k % columns()] += part_[k];
  }

  // body(first column, lo, hi) for all groups of columns of all blocks of rows.
  template <class Body>
  void for_columns(const Body& body) const {
    parallel_blocks(n_, kBlock, threads_, [&](int64_t lo, int64_t hi) {
      for (int64_t c = 0; c < d_; c += kernels_.columns) body(c, lo, hi);
    });
  }

  void multiply(std::vector<double>& out) {
    std::fill(part_.begin(), part_.end(), 0.0);
    for_columns([&](int64_t c, int64_t lo, int64_t hi) {
      kernels_.multiply(&m_, p_.data() + c, d_, lo, hi, q_.data() + c, part(lo) + c);
    });
    total(out);
  }

  void descend(T* r, T* x, std::vector<double>& out) {
    std::fill(part_.begin(), part_.end(), 0.0);
    for_columns([&](int64_t c, int64_t lo, int64_t hi) {
      kernels_.descend(inverse_.data(), alpha_.data() + c, p_.data() + c, q_.data() + c, d_, lo, hi, x + c,
                       r + c, part(lo) + c);
    });
    total(out);
  }

  void turn(const T* r) {
    for_columns([&](int64_t c, int64_t lo, int64_t hi) {
      kernels_.turn(inverse_.data(), beta_.data() + c, r + c, d_, lo, hi, p_.data() + c);
    });
  }

  const SddRows<T>& m_;
  int64_t n_, d_;
  ColumnKernels<T> kernels_;
  int threads_;
  std::vector<T> alpha_, beta_, p_, q_, inverse_;
  std::vector<double> part_;
};

}  // namespace winkel
