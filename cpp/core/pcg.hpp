// Conjugate gradients for several right-hand sides at once, preconditioned by the diagonal, for a symmetric
// diagonally dominant matrix diag(d) − W in compressed rows. Columns keep their own scalars; one that has
// converged stays as it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace winkel {

template <class T>
struct SddRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;
  const T* diagonal;
};

// out = (diag(d) − W) x on rows [lo, hi), and the columns' sums of x out.
template <class T, int D>
WINKEL_CLONES void sdd_rows(const SddRows<T>* m, const T* x, int64_t width, int64_t lo, int64_t hi,
                            T* __restrict out, double* __restrict products) {
  const int64_t d = D > 0 ? D : width;
  for (int64_t i = lo; i < hi; ++i) {
    T* __restrict sum = out + i * d;
    const T* own = x + i * d;
    if constexpr (D > 0) {
      T part[D] = {};
      for (int64_t e = m->indptr[i]; e < m->indptr[i + 1]; ++e)
        for (int64_t c = 0; c < D; ++c) part[c] += m->weights[e] * x[m->indices[e] * D + c];
      for (int64_t c = 0; c < D; ++c) sum[c] = m->diagonal[i] * own[c] - part[c];
    } else {
      for (int64_t c = 0; c < d; ++c) sum[c] = m->diagonal[i] * own[c];
      for (int64_t e = m->indptr[i]; e < m->indptr[i + 1]; ++e) {
        const T w = m->weights[e];
        const T* other = x + m->indices[e] * d;
        for (int64_t c = 0; c < d; ++c) sum[c] -= w * other[c];
      }
    }
    for (int64_t c = 0; c < d; ++c) products[c] += static_cast<double>(sum[c]) * static_cast<double>(own[c]);
  }
}

// x += alpha p, r −= alpha q on rows [lo, hi), and the columns' sums of r² / d.
template <class T>
WINKEL_CLONES void descend_rows(const T* __restrict inverse, const T* __restrict alpha, const T* __restrict p,
                                const T* __restrict q, int64_t d, int64_t lo, int64_t hi, T* __restrict x,
                                T* __restrict r, double* __restrict products) {
  for (int64_t i = lo; i < hi; ++i)
    for (int64_t c = 0; c < d; ++c) {
      x[i * d + c] += alpha[c] * p[i * d + c];
      const T left = r[i * d + c] - alpha[c] * q[i * d + c];
      r[i * d + c] = left;
      products[c] += static_cast<double>(left) * static_cast<double>(left * inverse[i]);
    }
}

// p = r / d + beta p on rows [lo, hi).
template <class T>
WINKEL_CLONES void turn_rows(const T* __restrict inverse, const T* __restrict beta, const T* __restrict r,
                             int64_t d, int64_t lo, int64_t hi, T* __restrict p) {
  for (int64_t i = lo; i < hi; ++i)
    for (int64_t c = 0; c < d; ++c) p[i * d + c] = r[i * d + c] * inverse[i] + beta[c] * p[i * d + c];
}

template <class T>
class ConjugateGradients {
 public:
  ConjugateGradients(const SddRows<T>& matrix, int64_t n, int64_t d, int threads)
      : m_(matrix),
        n_(n),
        d_(d),
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

  double* part(int64_t lo) {
    double* at = part_.data() + lo / kBlock * d_;
    std::fill(at, at + d_, 0.0);
    return at;
  }

  void total(std::vector<double>& out) const {
    std::fill(out.begin(), out.end(), 0.0);
    for (size_t k = 0; k < part_.size(); ++k) out[k % columns()] += part_[k];
  }

  void multiply(std::vector<double>& out) {
    parallel_blocks(n_, kBlock, threads_, [&](int64_t lo, int64_t hi) {
      if (d_ == 2)
        sdd_rows<T, 2>(&m_, p_.data(), d_, lo, hi, q_.data(), part(lo));
      else
        sdd_rows<T, 0>(&m_, p_.data(), d_, lo, hi, q_.data(), part(lo));
    });
    total(out);
  }

  void descend(T* r, T* x, std::vector<double>& out) {
    parallel_blocks(n_, kBlock, threads_, [&](int64_t lo, int64_t hi) {
      descend_rows(inverse_.data(), alpha_.data(), p_.data(), q_.data(), d_, lo, hi, x, r, part(lo));
    });
    total(out);
  }

  void turn(const T* r) {
    parallel_blocks(n_, kBlock, threads_, [&](int64_t lo, int64_t hi) {
      turn_rows(inverse_.data(), beta_.data(), r, d_, lo, hi, p_.data());
    });
  }

  const SddRows<T>& m_;
  int64_t n_, d_;
  int threads_;
  std::vector<T> alpha_, beta_, p_, q_, inverse_;
  std::vector<double> part_;
};

}  // namespace winkel
