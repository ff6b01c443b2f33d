// Similar pairs of the latent variable model (Saul 2020), the rows of a sparse symmetric matrix.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lvm_tiles.hpp"
#include "simd.hpp"

namespace winkel::lvm {

// Rows [lo, hi) of the similar pairs, whose entries begin at `first`.
template <class T>
struct SimilarRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;
  const T* squares;  // squared length scales
  const double* Y;
  const double* variance;
  int64_t d, lo, hi;
  int64_t first() const { return indptr[lo]; }
  int64_t count() const { return indptr[hi] - indptr[lo]; }
};

// δ² + σ_i² + σ_j² of each entry.
template <class T>
WINKEL_CLONES void entry_scales(const SimilarRows<T>* rows, T* __restrict out) {
  for (int64_t i = rows->lo; i < rows->hi; ++i)
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e)
      *out++ = rows->squares[e] + static_cast<T>(rows->variance[i] + rows->variance[rows->indices[e]]);
}

// |μ_i − μ_j|² of each entry; differences are taken in double precision.
template <class T>
WINKEL_CLONES void entry_squares(const SimilarRows<T>* rows, T* __restrict out) {
  const int64_t d = rows->d;
  for (int64_t i = rows->lo; i < rows->hi; ++i) {
    const double* own = rows->Y + i * d;
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e) {
      const double* other = rows->Y + rows->indices[e] * d;
      if (d == 2) {
        const double x = own[0] - other[0], y = own[1] - other[1];
        *out++ = static_cast<T>(x * x + y * y);
        continue;
      }
      double lanes[4] = {};
      int64_t c = 0;
      for (; c + 4 <= d; c += 4)
        for (int l = 0; l < 4; ++l) lanes[l] += (own[c + l] - other[c + l]) * (own[c + l] - other[c + l]);
      for (int l = 0; c < d; ++c, ++l) lanes[l] += (own[c] - other[c]) * (own[c] - other[c]);
      *out++ = static_cast<T>((lanes[0] + lanes[2]) + (lanes[1] + lanes[3]));
    }
  }
}

// Makes w / s of s for consecutive entries; returns the sum of w (d log s + r² / s).
template <class T>
WINKEL_CLONES double edge_weights(const T* __restrict w, T* __restrict s, const T* __restrict r2, int64_t d,
                                  int64_t count) {
  double total = 0.0;
  for (int64_t first = 0; first < count; first += kLanes) {
    T part[kLanes] = {};
    const int64_t n = std::min(kLanes, count - first);
    for (int64_t l = 0; l < n; ++l) {
      const T inverse = T(1) / s[first + l];
      part[l] = w[first + l] * (static_cast<T>(d) * vecmath::log(s[first + l]) + r2[first + l] * inverse);
      s[first + l] = w[first + l] * inverse;
    }
    for (int64_t l = 0; l < kLanes; ++l) total += static_cast<double>(part[l]);
  }
  return total;
}

// Makes w (r² / s − d) / s of r² for consecutive entries.
template <class T>
WINKEL_CLONES void edge_slopes(const T* __restrict w, const T* __restrict s, T* __restrict r2, int64_t d,
                               int64_t count) {
  for (int64_t e = 0; e < count; ++e) {
    const T inverse = T(1) / s[e];
    r2[e] = w[e] * inverse * (r2[e] * inverse - static_cast<T>(d));
  }
}

// Subtracts Σ w (μ_i − μ_j) of each row from the gradient.
template <class T>
WINKEL_CLONES void pull_rows(const SimilarRows<T>* rows, const T* __restrict w, double* __restrict gradient) {
  const int64_t d = rows->d;
  for (int64_t i = rows->lo; i < rows->hi; ++i) {
    const double* own = rows->Y + i * d;
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e) {
      const double* other = rows->Y + rows->indices[e] * d;
      const double weight = static_cast<double>(*w++);
      for (int64_t c = 0; c < d; ++c) gradient[i * d + c] -= weight * (own[c] - other[c]);
    }
  }
}

}  // namespace winkel::lvm
