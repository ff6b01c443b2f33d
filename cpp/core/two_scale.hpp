// From a grid to the one of twice the spacing, and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

// A quintic B-spline of twice the width is a sum of seven of them: the grid of twice the spacing holds the
// charges, and gives the potential, that it would if points were spread on it and read from it. Its node J
// lies at the node 2 J - kShift of the finer grid.
constexpr int64_t kTaps = 7, kShift = 4;
constexpr double kTwoScale[kTaps] = {1 / 32., 6 / 32., 15 / 32., 20 / 32., 15 / 32., 6 / 32., 1 / 32.};

inline int64_t halved(int64_t nodes) {
  return (nodes + kShift + kTaps / 2 - 1) / 2 + 1;
}

template <class T>
WINKEL_CLONES void add_scaled(T* __restrict to, const T* __restrict from, T by, int64_t count) {
  for (int64_t e = 0; e < count; ++e) to[e] += by * from[e];
}

// Charges held by the fine grid (rows x cols), as the coarse one (halved(rows) x halved(cols)) holds them.
template <class T>
void halve(const T* fine, int64_t rows, int64_t cols, int threads, T* coarse) {
  const int64_t reach = kTaps / 2, out_rows = halved(rows), out_cols = halved(cols);
  parallel_blocks(out_rows, 8, threads, [&](int64_t lo, int64_t hi) {
    // Two stretches of even and odd nodes, so that taps are added to neighbours.
    const int64_t width = out_cols + reach;
    std::vector<T> line(static_cast<size_t>(cols)), split(static_cast<size_t>(2 * width));
    for (int64_t J = lo; J < hi; ++J) {
      std::fill(line.begin(), line.end(), T(0));
      for (int64_t k = 0; k < kTaps; ++k) {
        const int64_t i = 2 * J - kShift + k - reach;
        if (i >= 0 && i < rows)
          kernel<add_scaled<T>>()(line.data(), fine + i * cols, static_cast<T>(kTwoScale[k]), cols);
      }
      std::fill(split.begin(), split.end(), T(0));
      for (int64_t j = 0; j < cols; ++j) {
        const int64_t place = j + kShift + reach;  // of the first node that tap 0 reads for coarse node 0
        split[static_cast<size_t>(place % 2 * width + place / 2)] = line[static_cast<size_t>(j)];
      }
      T* to = coarse + J * out_cols;
      std::fill_n(to, out_cols, T(0));
      for (int64_t k = 0; k < kTaps; ++k)
        kernel<add_scaled<T>>()(to, split.data() + k % 2 * width + k / 2, static_cast<T>(kTwoScale[k]),
                                out_cols);
    }
  });
}

// Adds the potential of the coarse grid to that of the fine one.
template <class T>
void add_doubled(const T* coarse, int64_t rows, int64_t cols, int threads, T* fine) {
  const int64_t reach = kTaps / 2, in_rows = halved(rows), in_cols = halved(cols);
  std::vector<T> wide(static_cast<size_t>(in_rows * cols));
  parallel_blocks(in_rows, 8, threads, [&](int64_t lo, int64_t hi) {
    std::vector<T> split(static_cast<size_t>(2 * (in_cols + reach)));
    const int64_t width = in_cols + reach;
    for (int64_t J = lo; J < hi; ++J) {
      std::fill(split.begin(), split.end(), T(0));
      for (int64_t k = 0; k < kTaps; ++k)
        kernel<add_scaled<T>>()(split.data() + k % 2 * width + k / 2, coarse + J * in_cols,
                                static_cast<T>(kTwoScale[k]), in_cols);
      for (int64_t j = 0; j < cols; ++j) {
        const int64_t place = j + kShift + reach;
        wide[static_cast<size_t>(J * cols + j)] = split[static_cast<size_t>(place % 2 * width + place / 2)];
      }
    }
  });
  parallel_blocks(rows, 8, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      for (int64_t k = 0; k < kTaps; ++k) {
        const int64_t twice = i + kShift - (k - reach);
        if (twice % 2 == 0 && twice / 2 < in_rows)
          kernel<add_scaled<T>>()(fine + i * cols, wide.data() + twice / 2 * cols,
                                  static_cast<T>(kTwoScale[k]), cols);
      }
    }
  });
}

}  // namespace winkel
