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

// Where a point lies: its first node and its weights along one side, with their slopes in units of nodes.
struct Splines {
  int64_t first;
  double weight[kPadded], slope[kPadded];
};

// 120 times the coefficients of t^0 to t^5 in the six weights of a quintic B-spline, a row each power.
constexpr double kQuintic[kSupport][kPadded] = {
    {1, 26, 66, 26, 1, 0, 0, 0},    {-5, -50, 0, 50, 5, 0, 0, 0},  {10, 20, -60, 20, 10, 0, 0, 0},
    {-10, 20, 0, -20, 10, 0, 0, 0}, {5, -20, 30, -20, 5, 0, 0, 0}, {-1, 5, -10, 10, -5, 1, 0, 0},
};

// The fraction t in [0, 1) past the third of six nodes.
template <bool kSlopes>
WINKEL_INLINE Splines splines_at(double place) {
  Splines s;
  const int64_t cell = static_cast<int64_t>(place);
  s.first = cell - 2;
  const double t = place - static_cast<double>(cell);
  for (int64_t j = 0; j < kPadded; ++j) {
    double w = kQuintic[5][j] / 120, slope = w;
    for (int p = 4; p >= 0; --p) {
      w = w * t + kQuintic[p][j] / 120;
      if (kSlopes && p > 0) slope = slope * t + w;
    }
    s.weight[j] = w;
    if (kSlopes) s.slope[j] = slope;
  }
  return s;
}

template <bool kSlopes, class T>
WINKEL_INLINE Splines along(const SplineGrid& grid, const T* y, int side) {
  return splines_at<kSlopes>((static_cast<double>(y[side]) - grid.origin[side]) * grid.per_length);
}

template <class T>
WINKEL_CLONES void spread_points(const SplineGrid& grid, const T* Y, const T* charges, const int32_t* some,
                                 int64_t count, double* __restrict held) {
  for (int64_t c = 0; c < count; ++c) {
    const int64_t i = some[c];
    const Splines row = along<false>(grid, Y + 2 * i, 0), col = along<false>(grid, Y + 2 * i, 1);
    const double charge = charges == nullptr ? 1.0 : static_cast<double>(charges[i]);
    for (int64_t a = 0; a < kSupport; ++a) {
      double* __restrict to = held + (row.first + a) * grid.cols + col.first;
      const double share = charge * row.weight[a];
      for (int64_t b = 0; b < kPadded; ++b) to[b] += share * col.weight[b];
    }
  }
}

template <class T>
WINKEL_CLONES void read_points(const SplineGrid& grid, const T* Y, int64_t lo, int64_t hi,
                               const double* __restrict held, double* values, double* gradients) {
  for (int64_t i = lo; i < hi; ++i) {
    const Splines row = along<true>(grid, Y + 2 * i, 0), col = along<true>(grid, Y + 2 * i, 1);
    double flat[kPadded] = {}, steep[kPadded] = {};
    for (int64_t a = 0; a < kSupport; ++a) {
      const double* __restrict from = held + (row.first + a) * grid.cols + col.first;
      for (int64_t b = 0; b < kPadded; ++b) {
        flat[b] += row.weight[a] * from[b];
        steep[b] += row.slope[a] * from[b];
      }
    }
    double value = 0.0, down = 0.0, across = 0.0;
    for (int64_t b = 0; b < kSupport; ++b) {
      value += flat[b] * col.weight[b];
      down += steep[b] * col.weight[b];
      across += flat[b] * col.slope[b];
    }
    values[i] = value;
    gradients[2 * i] = down * grid.per_length;
    gradients[2 * i + 1] = across * grid.per_length;
  }
}

// Adds the charges (1 when null) of all points to `held` (rows x cols).
template <class T>
void spread(const SplineGrid& grid, const T* Y, const T* charges, int64_t n, int threads, double* held) {
  const int64_t bands = (grid.rows + kBand - 1) / kBand;
  std::vector<int32_t> band(static_cast<size_t>(n)), order(static_cast<size_t>(n));
  parallel_blocks(n, 4096, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const double place = (static_cast<double>(Y[2 * i]) - grid.origin[0]) * grid.per_length;
      band[static_cast<size_t>(i)] = static_cast<int32_t>((static_cast<int64_t>(place) - 2) / kBand);
    }
  });
  std::vector<int64_t> start(static_cast<size_t>(bands + 1), 0);
  for (int32_t b : band) ++start[static_cast<size_t>(b) + 1];
  for (size_t b = 1; b < start.size(); ++b) start[b] += start[b - 1];
  std::vector<int64_t> next(start.begin(), start.end() - 1);
  for (int64_t i = 0; i < n; ++i)
    order[static_cast<size_t>(next[static_cast<size_t>(band[static_cast<size_t>(i)])]++)] =
        static_cast<int32_t>(i);
  for (int64_t turn = 0; turn < 2; ++turn)
    parallel_blocks((bands + 1 - turn) / 2, 1, threads, [&](int64_t half, int64_t) {
      const size_t b = static_cast<size_t>(2 * half + turn);
      spread_points(grid, Y, charges, order.data() + start[b], start[b + 1] - start[b], held);
    });
}

// The value and gradient of the held potential at all points.
template <class T>
void read(const SplineGrid& grid, const T* Y, int64_t n, const double* held, int threads, double* values,
          double* gradients) {
  parallel_blocks(n, 1024, threads,
                  [&](int64_t lo, int64_t hi) { read_points(grid, Y, lo, hi, held, values, gradients); });
}

}  // namespace winkel
