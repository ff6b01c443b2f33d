// Products of rows with panels of atoms: as many atoms side by side as fit into 64 bytes, six rows at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "simd.hpp"
#include "wide.hpp"

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

// Sums of products in vectors of so many bytes.
template <int Bytes, class T>
WINKEL_CLONES void panel_body(const T* __restrict rows, const T* __restrict panel, int64_t d,
                              double* __restrict out, int64_t stride) {
  constexpr int64_t width = Lanes<T>::width;
  double sum[kRows][width] = {};
  for (int64_t k0 = 0; k0 < d; k0 += kDepth) {
    const int64_t end = std::min(d, k0 + kDepth);
    T part[kRows * width];
#if defined(__GNUC__)
    typedef T V __attribute__((vector_size(Bytes)));
    typedef T Memory __attribute__((vector_size(Bytes), aligned(sizeof(T)), may_alias));
    constexpr int64_t lanes = Bytes / static_cast<int64_t>(sizeof(T));
    // As many columns at once as leave their sums in registers.
    constexpr int64_t together = Bytes == 64 ? 1 : 2;
    for (int64_t c = 0; c < width; c += together * lanes) {
      V acc[kRows][together] = {};
      for (int64_t k = k0; k < end; ++k) {
        const Memory* atom = reinterpret_cast<const Memory*>(panel + k * width + c);
#pragma GCC unroll 6
        for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
          for (int64_t v = 0; v < together; ++v) acc[r][v] += rows[r * d + k] * atom[v];
        }
      }
#pragma GCC unroll 6
      for (int64_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int64_t v = 0; v < together; ++v)
          *reinterpret_cast<Memory*>(part + r * width + c + v * lanes) = acc[r][v];
      }
    }
#else
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t l = 0; l < width; ++l) {
        T acc{0};
        for (int64_t k = k0; k < end; ++k) acc += rows[r * d + k] * panel[k * width + l];
        part[r * width + l] = acc;
      }
#endif
    for (int64_t r = 0; r < kRows; ++r)
      for (int64_t l = 0; l < width; ++l) sum[r][l] += static_cast<double>(part[r * width + l]);
  }
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t l = 0; l < width; ++l) out[r * stride + l] = sum[r][l];
}

template <class T>
void panel_products(const T* rows, const T* panel, int64_t d, double* out, int64_t stride) {
  wide_kernel<panel_body<16, T>, panel_body<32, T>, panel_body<64, T>>()(rows, panel, d, out, stride);
}

}  // namespace simplex

}  // namespace winkel
