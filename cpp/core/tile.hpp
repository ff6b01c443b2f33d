// Distances of 8 rows to a panel of 48 columns at a time, and only the pairs that are near enough to matter.
// The kernel is chosen for the processor when it is first used.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace winkel {

// Squared Euclidean distances come from norms and products; squared differences, for all distances of a tile
// only, from the coordinates.
enum class MetricKind { squared_euclidean, manhattan, chebyshev, hamming, jaccard, squared_differences };

constexpr int kTileRows = 8;
constexpr int kTileCols = 48;

// A pair whose distance is at most the limit of its row or of its column.
struct Hit {
  float distance;
  int row, col;
};

struct Tile {
  const float* rows[kTileRows];    // coordinates of the rows; missing rows repeat a present one
  const float* panel;              // n_features × 48, one column a point
  const float* row_norm;           // squared norms (jaccard: sizes of the sets), 8 and 48 of them
  const float* col_norm;           //
  const float* row_limit;          // 8
  const float* col_limit;          // 48
  int n_features, n_rows, n_cols;  // hits beyond n_rows and n_cols are to be ignored by the caller
};

#if defined(__x86_64__) && defined(__GNUC__) && !defined(WINKEL_NO_CLONES)
#define WINKEL_TILE_X86 1
#endif

namespace tile_base {
#define WINKEL_TARGET
#define WINKEL_LANES 4
#define WINKEL_ROWS 4
#if defined(__x86_64__)
#define WINKEL_MASK(x, y) static_cast<unsigned>(_mm_movemask_ps(_mm_cmple_ps((__m128)(x), (__m128)(y))))
#else
inline unsigned bits_of(const int* m) {
  return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u);
}
#define WINKEL_MASK(x, y)                      \
  [&] {                                        \
    const VI m = (x) <= (y);                   \
    const int p[4] = {m[0], m[1], m[2], m[3]}; \
    return bits_of(p);                         \
  }()
#endif
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_MASK
}  // namespace tile_base

#if defined(WINKEL_TILE_X86)
namespace tile_v3 {
#define WINKEL_TARGET __attribute__((target("avx2,fma")))
#define WINKEL_LANES 8
#define WINKEL_ROWS 4
#define WINKEL_MASK(x, y) \
  static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_LE_OQ)))
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_MASK
}  // namespace tile_v3

namespace tile_v4 {
#define WINKEL_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")))
#define WINKEL_LANES 16
#define WINKEL_ROWS 8
#define WINKEL_MASK(x, y) static_cast<unsigned>(_mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_LE_OQ))
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_MASK
}  // namespace tile_v4
#endif

using TileKernel = int (*)(MetricKind, const Tile&, Hit*);
using DistanceKernel = void (*)(MetricKind, const Tile&, float*);
using ProductKernel = void (*)(const Tile&, float*, uint64_t*);

struct NamedKernel {
  const char* name;
  TileKernel kernel;
  DistanceKernel distances;
  ProductKernel products;
};

// The kernels that this processor can run, the fastest last.
inline std::vector<NamedKernel> tile_kernels() {
  std::vector<NamedKernel> kernels = {
      {"base", tile_base::tile_hits_of, tile_base::tile_distances_of, tile_base::tile_products_of}};
#if defined(WINKEL_TILE_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"avx2", tile_v3::tile_hits_of, tile_v3::tile_distances_of, tile_v3::tile_products_of});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    kernels.push_back(
        {"avx512", tile_v4::tile_hits_of, tile_v4::tile_distances_of, tile_v4::tile_products_of});
#endif
  return kernels;
}

inline std::atomic<TileKernel>& tile_kernel_in_use() {
  static std::atomic<TileKernel> kernel{tile_kernels().back().kernel};
  return kernel;
}

inline std::atomic<DistanceKernel>& distance_kernel_in_use() {
  static std::atomic<DistanceKernel> kernel{tile_kernels().back().distances};
  return kernel;
}

inline std::atomic<ProductKernel>& product_kernel_in_use() {
  static std::atomic<ProductKernel> kernel{tile_kernels().back().products};
  return kernel;
}

inline void use_tile_kernel(const NamedKernel& named) {
  tile_kernel_in_use().store(named.kernel);
  distance_kernel_in_use().store(named.distances);
  product_kernel_in_use().store(named.products);
}

inline int tile_hits(MetricKind metric, const Tile& tile, Hit* hits) {
  return tile_kernel_in_use().load(std::memory_order_relaxed)(metric, tile, hits);
}

// All distances of a tile, 48 for each of its 8 rows.
inline void tile_distances(MetricKind metric, const Tile& tile, float* out) {
  distance_kernel_in_use().load(std::memory_order_relaxed)(metric, tile, out);
}

// All inner products of a tile, 48 for each of its 8 rows, and the bits of the positive ones of each row,
// which are to be ignored beyond n_cols.
inline void tile_products(const Tile& tile, float* out, uint64_t* positive) {
  product_kernel_in_use().load(std::memory_order_relaxed)(tile, out, positive);
}

}  // namespace winkel
