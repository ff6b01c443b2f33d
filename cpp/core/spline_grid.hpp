// Charges spread on a regular grid in the plane, and a potential held on it read off at points, both by
// quintic B-splines. Between the two a convolution (by FFT, outside) makes potentials of charges; because the
// potential is read off as a smooth function, its gradient is the exact gradient of the value.
//
// Points are dealt to bands of grid rows in order of their index. Every second band is spread at once, then
// the others: no two that run together touch the same row, and each node is added to in an order that depends
// on the points alone.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel {

constexpr int64_t kSupport = 6;  // nodes a side that a point touches
constexpr int64_t kPadded = 8;   // the same with zeros, for vectors of eight
constexpr int64_t kBand = 16;    // rows in a band, at least kSupport - 1

struct SplineGrid {
  double origin[2];    // where node (0, 0) is
  double per_length;   // nodes in a unit of length
  int64_t rows, cols;  // a point's nodes end at most kPadded - 1 columns after its first
};

template <class T>
struct Lanes8 {
  typedef T V __attribute__((vector_size(kPadded * sizeof(T))));
  typedef T Memory __attribute__((vector_size(kPadded * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T>
using V8 = typename Lanes8<T>::V;
template <class T>
using Memory8 = typename Lanes8<T>::Memory;

// Where a point lies: its first node and its weights along one side, with their slopes in units of nodes.
template <class T>
struct Splines {
  int64_t first;
  V8<T> weight, slope;
};

// Coefficients of t^0 to t^5 in the six weights of a quintic B-spline, a row each power.
template <class T>
struct Quintic {
  T row[kSupport][kPadded];

  Quintic() {
    constexpr int kTimes120[kSupport][kPadded] = {
        {1, 26, 66, 26, 1},    {-5, -50, 0, 50, 5},  {10, 20, -60, 20, 10},
        {-10, 20, 0, -20, 10}, {5, -20, 30, -20, 5}, {-1, 5, -10, 10, -5, 1},
    };
    for (int64_t p = 0; p < kSupport; ++p)
      for (int64_t j = 0; j < kPadded; ++j) row[p][j] = static_cast<T>(kTimes120[p][j] / 120.0);
  }

  WINKEL_INLINE V8<T> power(int p) const { return *reinterpret_cast<const Memory8<T>*>(row[p]); }
};

// Weights of the nodes about a place, in units of nodes: t in [0, 1) past the third of six.
template <bool kSlopes, class T>
WINKEL_INLINE Splines<T> splines_at(const Quintic<T>& quintic, double place) {
  const int64_t cell = static_cast<int64_t>(place);
  const T t = static_cast<T>(place - static_cast<double>(cell));
  V8<T> weight = quintic.power(5), slope = weight;
  for (int p = 4; p >= 0; --p) {
    weight = weight * t + quintic.power(p);
    if (kSlopes && p > 0) slope = slope * t + weight;
  }
  return {cell - 2, weight, slope};
}

template <bool kSlopes, class T>
WINKEL_INLINE Splines<T> along(const SplineGrid& grid, const Quintic<T>& quintic, const T* y, int side) {
  return splines_at<kSlopes>(quintic, (static_cast<double>(y[side]) - grid.origin[side]) * grid.per_length);
}

template <class T>
WINKEL_CLONES void spread_points(const SplineGrid& grid, const Quintic<T>& quintic, const T* Y,
                                 const T* charges, const int32_t* points, int64_t count, T* __restrict held) {
  for (int64_t c = 0; c < count; ++c) {
    const int64_t i = points[c];
    const Splines<T> row = along<false>(grid, quintic, Y + 2 * i, 0),
                     col = along<false>(grid, quintic, Y + 2 * i, 1);
    const T charge = charges == nullptr ? T(1) : charges[i];
    for (int64_t a = 0; a < kSupport; ++a) {
      auto* to = reinterpret_cast<Memory8<T>*>(held + (row.first + a) * grid.cols + col.first);
      *to += charge * row.weight[a] * col.weight;
    }
  }
}

template <class T>
WINKEL_INLINE T total(V8<T> x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

template <class T>
WINKEL_CLONES void read_points(const SplineGrid& grid, const Quintic<T>& quintic, const T* Y, int64_t lo,
                               int64_t hi, const T* __restrict held, T* values, T* gradients) {
  const T per_length = static_cast<T>(grid.per_length);
  for (int64_t i = lo; i < hi; ++i) {
    const Splines<T> row = along<true>(grid, quintic, Y + 2 * i, 0),
                     col = along<true>(grid, quintic, Y + 2 * i, 1);
    V8<T> flat = {}, steep = {};
    for (int64_t a = 0; a < kSupport; ++a) {
      const V8<T> from = *reinterpret_cast<const Memory8<T>*>(held + (row.first + a) * grid.cols + col.first);
      flat += row.weight[a] * from;
      steep += row.slope[a] * from;
    }
    values[i] = total<T>(flat * col.weight);
    gradients[2 * i] = total<T>(steep * col.weight) * per_length;
    gradients[2 * i + 1] = total<T>(flat * col.slope) * per_length;
  }
}

// Points dealt to bands, in the order of their index: those of band b begin at order[start[b]].
struct Bands {
  std::vector<int32_t> order;
  std::vector<int64_t> start;
};

// `size` is the number of nodes in a band along the first side, of `count` nodes.
template <class T>
Bands deal(double origin, double per_length, int64_t count, int64_t size, const T* Y, int64_t n, int64_t m,
           int threads) {
  Bands dealt{std::vector<int32_t>(static_cast<size_t>(n)),
              std::vector<int64_t>(static_cast<size_t>((count + size - 1) / size + 1), 0)};
  std::vector<int32_t> band(static_cast<size_t>(n));
  parallel_blocks(n, 4096, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const double place = (static_cast<double>(Y[m * i]) - origin) * per_length;
      band[static_cast<size_t>(i)] = static_cast<int32_t>((static_cast<int64_t>(place) - 2) / size);
    }
  });
  for (int32_t b : band) ++dealt.start[static_cast<size_t>(b) + 1];
  for (size_t b = 1; b < dealt.start.size(); ++b) dealt.start[b] += dealt.start[b - 1];
  std::vector<int64_t> next(dealt.start.begin(), dealt.start.end() - 1);
  for (int64_t i = 0; i < n; ++i)
    dealt.order[static_cast<size_t>(next[static_cast<size_t>(band[static_cast<size_t>(i)])]++)] =
        static_cast<int32_t>(i);
  return dealt;
}

// Calls add(points, count) for every band, first for every second one.
template <class Add>
void each_band(const Bands& dealt, int threads, const Add& add) {
  const int64_t bands = static_cast<int64_t>(dealt.start.size()) - 1;
  for (int64_t turn = 0; turn < 2; ++turn)
    parallel_blocks((bands + 1 - turn) / 2, 1, threads, [&](int64_t half, int64_t) {
      const size_t b = static_cast<size_t>(2 * half + turn);
      add(dealt.order.data() + dealt.start[b], dealt.start[b + 1] - dealt.start[b]);
    });
}

// Adds the charges (1 when null) of all points to `held` (rows x cols).
template <class T>
void spread(const SplineGrid& grid, const T* Y, const T* charges, int64_t n, int threads, T* held) {
  const Quintic<T> quintic;
  const Bands dealt = deal(grid.origin[0], grid.per_length, grid.rows, kBand, Y, n, 2, threads);
  each_band(dealt, threads, [&](const int32_t* points, int64_t count) {
    kernel<spread_points<T>>()(grid, quintic, Y, charges, points, count, held);
  });
}

// The value and gradient of the held potential at all points.
template <class T>
void read(const SplineGrid& grid, const T* Y, int64_t n, const T* held, int threads, T* values,
          T* gradients) {
  const Quintic<T> quintic;
  parallel_blocks(n, 1024, threads, [&](int64_t lo, int64_t hi) {
    kernel<read_points<T>>()(grid, quintic, Y, lo, hi, held, values, gradients);
  });
}

}  // namespace winkel
