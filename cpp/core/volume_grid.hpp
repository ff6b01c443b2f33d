// Charges spread on a regular grid in space and a potential read off from it, as `spline_grid.hpp` does in
// the plane, and the way from a grid to the one of twice the spacing and back, side by side.
//
// The last side is the one along which vectors of eight lie; bands are of planes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "parallel.hpp"
#include "spline_grid.hpp"
#include "two_scale.hpp"

namespace winkel {

constexpr int64_t kPlanes = 8;  // planes in a band, at least kSupport - 1

struct VolumeGrid {
  double origin[3];   // where node (0, 0, 0) is
  double per_length;  // nodes in a unit of length
  int64_t nodes[3];   // a point's nodes end at most kPadded - 1 after its first along the last side

  int64_t line(int64_t a, int64_t b) const { return (a * nodes[1] + b) * nodes[2]; }
};

template <bool kSlopes, class T>
WINKEL_INLINE Splines<T> along(const VolumeGrid& grid, const Quintic<T>& quintic, const T* y, int side) {
  return splines_at<kSlopes>(quintic, (static_cast<double>(y[side]) - grid.origin[side]) * grid.per_length);
}

template <class T>
WINKEL_CLONES void spread_in_volume(const VolumeGrid& grid, const Quintic<T>& quintic, const T* Y,
                                    const T* charges, const int32_t* points, int64_t count,
                                    T* __restrict held) {
  for (int64_t c = 0; c < count; ++c) {
    const int64_t i = points[c];
    const Splines<T> plane = along<false>(grid, quintic, Y + 3 * i, 0),
                     row = along<false>(grid, quintic, Y + 3 * i, 1),
                     col = along<false>(grid, quintic, Y + 3 * i, 2);
    const V8<T> line = (charges == nullptr ? T(1) : charges[i]) * col.weight;
    for (int64_t a = 0; a < kSupport; ++a)
      for (int64_t b = 0; b < kSupport; ++b) {
        T* to = held + grid.line(plane.first + a, row.first + b) + col.first;
        *reinterpret_cast<Memory8<T>*>(to) += plane.weight[a] * row.weight[b] * line;
      }
  }
}

template <class T>
WINKEL_CLONES void read_in_volume(const VolumeGrid& grid, const Quintic<T>& quintic, const T* Y, int64_t lo,
                                  int64_t hi, const T* __restrict held, T* values, T* gradients) {
  const T per_length = static_cast<T>(grid.per_length);
  for (int64_t i = lo; i < hi; ++i) {
    const Splines<T> plane = along<true>(grid, quintic, Y + 3 * i, 0),
                     row = along<true>(grid, quintic, Y + 3 * i, 1),
                     col = along<true>(grid, quintic, Y + 3 * i, 2);
    V8<T> flat = {}, by_plane = {}, by_row = {};
    for (int64_t a = 0; a < kSupport; ++a) {
      V8<T> level = {}, steep = {};
      for (int64_t b = 0; b < kSupport; ++b) {
        const T* at = held + grid.line(plane.first + a, row.first + b) + col.first;
        const V8<T> from = *reinterpret_cast<const Memory8<T>*>(at);
        level += row.weight[b] * from;
        steep += row.slope[b] * from;
      }
      flat += plane.weight[a] * level;
      by_plane += plane.slope[a] * level;
      by_row += plane.weight[a] * steep;
    }
    values[i] = total<T>(flat * col.weight);
    gradients[3 * i] = total<T>(by_plane * col.weight) * per_length;
    gradients[3 * i + 1] = total<T>(by_row * col.weight) * per_length;
    gradients[3 * i + 2] = total<T>(flat * col.slope) * per_length;
  }
}

// Adds the charges (1 when null) of all points to `held`.
template <class T>
void spread(const VolumeGrid& grid, const T* Y, const T* charges, int64_t n, int threads, T* held) {
  const Quintic<T> quintic;
  const Bands dealt = deal(grid.origin[0], grid.per_length, grid.nodes[0], kPlanes, Y, n, 3, threads);
  each_band(dealt, threads, [&](const int32_t* points, int64_t count) {
    kernel<spread_in_volume<T>>()(grid, quintic, Y, charges, points, count, held);
  });
}

// The value and gradient of the held potential at all points.
template <class T>
void read(const VolumeGrid& grid, const T* Y, int64_t n, const T* held, int threads, T* values,
          T* gradients) {
  const Quintic<T> quintic;
  parallel_blocks(n, 1024, threads, [&](int64_t lo, int64_t hi) {
    kernel<read_in_volume<T>>()(grid, quintic, Y, lo, hi, held, values, gradients);
  });
}

// One side of an array: outer x length x inner.
struct Side {
  int64_t outer, length, inner;
};

// Charges along a side, as the grid of twice the spacing along it (outer x halved(length) x inner) holds
// them.
template <class T>
void halve_side(const T* fine, const Side& side, int threads, T* coarse) {
  const int64_t out = halved(side.length), reach = kTaps / 2;
  parallel_blocks(side.outer * out, 16, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t line = lo; line < hi; ++line) {
      T* to = coarse + line * side.inner;
      std::fill_n(to, side.inner, T(0));
      for (int64_t k = 0; k < kTaps; ++k) {
        const int64_t i = 2 * (line % out) - kShift + k - reach;
        if (i < 0 || i >= side.length) continue;
        const T* from = fine + (line / out * side.length + i) * side.inner;
        kernel<add_scaled<T>>()(to, from, static_cast<T>(kTwoScale[k]), side.inner);
      }
    }
  });
}

// Adds the potential of the grid that is coarse along a side to the one that is fine along it.
template <class T>
void add_doubled_side(const T* coarse, const Side& side, int threads, T* fine) {
  const int64_t in = halved(side.length), reach = kTaps / 2;
  parallel_blocks(side.outer * side.length, 16, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t line = lo; line < hi; ++line)
      for (int64_t k = 0; k < kTaps; ++k) {
        const int64_t twice = line % side.length + kShift - (k - reach);
        if (twice % 2 != 0 || twice / 2 >= in) continue;
        const T* from = coarse + (line / side.length * in + twice / 2) * side.inner;
        kernel<add_scaled<T>>()(fine + line * side.inner, from, static_cast<T>(kTwoScale[k]), side.inner);
      }
  });
}

}  // namespace winkel
