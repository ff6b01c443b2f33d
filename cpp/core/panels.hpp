// Products of rows with panels of atoms: as many atoms side by side as fit into 64 bytes, six rows at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

namespace simplex {

constexpr int64_t kRows = 6;    // rows that are multiplied at once
constexpr int64_t kDepth = 64;  // coordinates summed in the precision of the data before they go to double
constexpr int64_t kBlock = 48;  // rows of a block, a multiple of kRows

// As many numbers as fit into 64 bytes.
template <class T>
struct Lanes {
  static constexpr int64_t width = 64 / static_cast<int64_t>(sizeof(T));
};

// Panels of Lanes<T>::width atoms, coordinate by coordinate; what is missing in the last one is zero.
template <class T>
std::vector<T> pack_atoms(const double* atoms, int64_t m, int64_t d) {
  constexpr int64_t width = Lanes<T>::width;
  const int64_t panels = (m + width - 1) / width;
  std::vector<T> packed(static_cast<size_t>(panels * width * d), T{0});
  for (int64_t j = 0; j < m; ++j)
    for (int64_t k = 0; k < d; ++k)
      packed[static_cast<size_t>((j / width * d + k) * width + j % width)] = static_cast<T>(atoms[j * d + k]);
  return packed;
}

#if defined(__GNUC__)
typedef float FloatLanes __attribute__((vector_size(64)));
typedef double DoubleLanes __attribute__((vector_size(64)));

template <class V, class T>
__attribute__((always_inline)) inline void panel_body(const T* __restrict rows, const T* __restrict panel,
                                                      int64_t d, double* __restrict out, int64_t stride) {
  constexpr int64_t width = Lanes<T>::width;
  double sum[kRows][width] = {};
  for (int64_t k0 = 0; k0 < d; k0 += kDepth) {
    V acc[kRows] = {};
    const int64_t end = std::min(d, k0 + kDepth);
    for (int64_t k = k0; k < end; ++k) {
      V atom;
      std::memcpy(&atom, panel + k * width, sizeof atom);
#pragma GCC unroll 6
      for (int64_t r = 0; r < kRows; ++r) acc[r] += rows[r * d + k] * atom;
    }
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t l = 0; l < width; ++l) sum[r][l] += static_cast<double>(acc[r][l]);
  }
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t l = 0; l < width; ++l) out[r * stride + l] = sum[r][l];
}

template <class T>
WINKEL_CLONES void panel_products(const T* rows, const T* panel, int64_t d, double* out, int64_t stride) {
  panel_body<std::conditional_t<std::is_same_v<T, float>, FloatLanes, DoubleLanes>>(rows, panel, d, out,
                                                                                    stride);
}
#else
template <class T>
WINKEL_CLONES void panel_products(const T* rows, const T* panel, int64_t d, double* out, int64_t stride) {
  constexpr int64_t width = Lanes<T>::width;
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t l = 0; l < width; ++l) {
      double sum = 0.0;
      for (int64_t k0 = 0; k0 < d; k0 += kDepth) {
        T acc{0};
        for (int64_t k = k0; k < std::min(d, k0 + kDepth); ++k) acc += rows[r * d + k] * panel[k * width + l];
        sum += static_cast<double>(acc);
      }
      out[r * stride + l] = sum;
    }
}
#endif

}  // namespace simplex

}  // namespace winkel
