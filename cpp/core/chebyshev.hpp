// Interpolation at the Chebyshev nodes of a box: charges of points to its proxies, and the field at the
// proxies to points, kLanes points at a time.
#pragma once

#include <cstdint>

#include "distortion.hpp"
#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel {

constexpr int kMaxNodes = 8;

// Lagrange interpolation at the p Chebyshev nodes of [-1, 1].
struct Chebyshev {
  int p = 0;
  double node[kMaxNodes] = {};
  double weight[kMaxNodes][kMaxNodes] = {};  // basis polynomial a = sum_j weight[a][j] T_j(u)

  explicit Chebyshev(int count) : p(count) {
    for (int a = 0; a < p; ++a) {
      const double turns = (a + 0.5) / (2 * p);
      node[a] = vecmath::cos_turns(turns);
      for (int j = 0; j < p; ++j) weight[a][j] = (j == 0 ? 1.0 : 2.0) / p * vecmath::cos_turns(j * turns);
    }
  }
};

// The box of some points seen from a frame: lanes u = (x + offset) * scale lie in [-1, 1].
template <class T, int M>
struct Frame {
  T offset[M], scale[M];
};

namespace field {

// basis[a][l] of kLanes values u along one side.
template <class T>
WINKEL_INLINE void basis_of(const T* __restrict x, T offset, T scale, const Chebyshev* c,
                            T (*__restrict basis)[kLanes]) {
  T u[kLanes], polynomial[kMaxNodes][kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    u[l] = (x[l] + offset) * scale;
    polynomial[0][l] = T(1);
    polynomial[1][l] = u[l];
  }
  for (int j = 2; j < c->p; ++j) {
    for (int64_t l = 0; l < kLanes; ++l)
      polynomial[j][l] = T(2) * u[l] * polynomial[j - 1][l] - polynomial[j - 2][l];
  }
  for (int a = 0; a < c->p; ++a) {
    for (int64_t l = 0; l < kLanes; ++l) basis[a][l] = T(c->weight[a][0]);
    for (int j = 1; j < c->p; ++j) {
      const T w = T(c->weight[a][j]);
      for (int64_t l = 0; l < kLanes; ++l) basis[a][l] += w * polynomial[j][l];
    }
  }
}

// Adds kLanes charged points to the proxies: sums[a][l] per proxy a and lane l.
template <class T, int M>
WINKEL_CLONES void spread(const T* __restrict lanes, const T* __restrict charges, const Frame<T, M>* frame,
                          const Chebyshev* c, T* __restrict sums) {
  T basis[M][kMaxNodes][kLanes];
  for (int k = 0; k < M; ++k) basis_of(lanes + k * kLanes, frame->offset[k], frame->scale[k], c, basis[k]);
  const int p = c->p, planes = M > 2 ? p : 1, rows = p;
  for (int z = 0; z < planes; ++z) {
    for (int y = 0; y < rows; ++y) {
      T outer[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) {
        outer[l] = charges[l] * basis[1][y][l];
        if (M > 2) outer[l] *= basis[M - 1][z][l];
      }
      for (int a = 0; a < p; ++a) {
        T* __restrict sum = sums + ((z * rows + y) * p + a) * kLanes;
        for (int64_t l = 0; l < kLanes; ++l) sum[l] += outer[l] * basis[0][a][l];
      }
    }
  }
}

// Adds to out[k][l], k = 0 .. M, the field held at the proxies (k * width + proxy), at kLanes points.
template <class T, int M>
WINKEL_CLONES void gather(const T* __restrict lanes, const Frame<T, M>* frame, const Chebyshev* c,
                          const T* __restrict held, int64_t width, double* __restrict out) {
  T basis[M][kMaxNodes][kLanes];
  for (int k = 0; k < M; ++k) basis_of(lanes + k * kLanes, frame->offset[k], frame->scale[k], c, basis[k]);
  const int p = c->p, planes = M > 2 ? p : 1, rows = p;
  T sum[M + 1][kLanes] = {};
  for (int z = 0; z < planes; ++z) {
    for (int y = 0; y < rows; ++y) {
      T inner[M + 1][kLanes] = {};
      for (int a = 0; a < p; ++a) {
        const T* at = held + (z * rows + y) * p + a;
        for (int k = 0; k <= M; ++k) {
          const T h = at[k * width];
          for (int64_t l = 0; l < kLanes; ++l) inner[k][l] += h * basis[0][a][l];
        }
      }
      T outer[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) {
        outer[l] = basis[1][y][l];
        if (M > 2) outer[l] *= basis[M - 1][z][l];
      }
      for (int k = 0; k <= M; ++k) {
        for (int64_t l = 0; l < kLanes; ++l) sum[k][l] += outer[l] * inner[k][l];
      }
    }
  }
  for (int k = 0; k <= M; ++k) {
    for (int64_t l = 0; l < kLanes; ++l) out[k * kLanes + l] += static_cast<double>(sum[k][l]);
  }
}

}  // namespace field

}  // namespace winkel
