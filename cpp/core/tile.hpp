// Distances of 8 rows to a panel of 48 columns at a time, and only the pairs that are near enough to matter.
// Vectors are written out here, in the width of each instruction set (isa.hpp), since compilers find no good
// form of this loop by themselves.
#pragma once

#include <cstdint>

#include "isa.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
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
  // Whether products may be fused with sums, which is faster on some processors and has other bytes: only for
  // callers that prove what they find (graph/search.py).
  bool proved;
  // Where rows and columns are the same points: the first columns that hits leave out, so many for the first
  // row and one more for each row after it.
  int skipped;
};

namespace tile_base {
#define WINKEL_TARGET
#define WINKEL_LANES 4
#define WINKEL_ROWS 4
#define WINKEL_FUSED(a, b, sum) ((sum) + (a) * (b))
#if defined(__x86_64__)
#define WINKEL_MASK(x, y) static_cast<unsigned>(_mm_movemask_ps(_mm_cmple_ps((__m128)(x), (__m128)(y))))
#elif defined(__aarch64__)
inline unsigned bits_of(uint32x4_t mask) {
  const uint32x4_t bit = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask, bit));
}
#define WINKEL_MASK(x, y) bits_of(vcleq_f32((float32x4_t)(x), (float32x4_t)(y)))
#else
template <class Mask>
inline unsigned bits_of(Mask m) {
  return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u);
}
#define WINKEL_MASK(x, y) bits_of((x) <= (y))
#endif
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_FUSED
#undef WINKEL_MASK
}  // namespace tile_base

#if defined(WINKEL_X86_LEVELS)
namespace tile_v3 {
#define WINKEL_TARGET WINKEL_V3
#define WINKEL_LANES 8
#define WINKEL_ROWS 4
#define WINKEL_FUSED(a, b, sum) (V) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(sum))
#define WINKEL_MASK(x, y) \
  static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_LE_OQ)))
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_FUSED
#undef WINKEL_MASK
}  // namespace tile_v3

namespace tile_v4 {
#define WINKEL_TARGET WINKEL_V4
#define WINKEL_LANES 16
#define WINKEL_ROWS 8
#define WINKEL_FUSED(a, b, sum) (V) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(sum))
#define WINKEL_MASK(x, y) static_cast<unsigned>(_mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_LE_OQ))
#include "tile_body.hpp"
#undef WINKEL_TARGET
#undef WINKEL_LANES
#undef WINKEL_ROWS
#undef WINKEL_FUSED
#undef WINKEL_MASK
}  // namespace tile_v4
#endif

struct TileKernels {
  int (*hits)(MetricKind, const Tile&, Hit*);
  void (*distances)(MetricKind, const Tile&, float*);
  void (*products)(const Tile&, float*, uint64_t*);
};

inline const TileKernels& tile_kernels() {
  static constexpr TileKernels table[] = {
      {tile_base::tile_hits_of, tile_base::tile_distances_of, tile_base::tile_products_of},
#if defined(WINKEL_X86_LEVELS)
      {tile_v3::tile_hits_of, tile_v3::tile_distances_of, tile_v3::tile_products_of},
      {tile_v4::tile_hits_of, tile_v4::tile_distances_of, tile_v4::tile_products_of},
#endif
  };
  return table[isa::level().load(std::memory_order_relaxed)];
}

inline int tile_hits(MetricKind metric, const Tile& tile, Hit* hits) {
  return tile_kernels().hits(metric, tile, hits);
}

// All distances of a tile, 48 for each of its 8 rows.
inline void tile_distances(MetricKind metric, const Tile& tile, float* out) {
  tile_kernels().distances(metric, tile, out);
}

// All inner products of a tile, 48 for each of its 8 rows, and the bits of the positive ones of each row,
// which are to be ignored beyond n_cols.
inline void tile_products(const Tile& tile, float* out, uint64_t* positive) {
  tile_kernels().products(tile, out, positive);
}

}  // namespace winkel
