// The tile kernel, written once and included by tile.hpp for every instruction set.
// Expects: WINKEL_TARGET (function attribute), WINKEL_LANES, WINKEL_ROWS (rows a pass), WINKEL_FUSED (a b +
// sum), WINKEL_MASK (bit mask of x <= y). No include guard on purpose.

typedef float V __attribute__((vector_size(4 * WINKEL_LANES)));
typedef float VLoad __attribute__((vector_size(4 * WINKEL_LANES), aligned(4), may_alias));
typedef int VI __attribute__((vector_size(4 * WINKEL_LANES)));

#define WINKEL_TILE_INLINE WINKEL_TARGET __attribute__((always_inline)) static inline

WINKEL_TILE_INLINE V load(const float* p) {
  return *reinterpret_cast<const VLoad*>(p);
}
WINKEL_TILE_INLINE V absolute(V x) {
  return (V)((VI)x & 0x7fffffff);
}
WINKEL_TILE_INLINE V larger(V x, V y) {
  return x > y ? x : y;
}

struct SquaredEuclidean {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return acc + a * b; }
  WINKEL_TILE_INLINE V finish(V acc, V row, V col) { return (row + col) - 2.0f * acc; }
};
struct FusedEuclidean {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return WINKEL_FUSED(a, b, acc); }
  WINKEL_TILE_INLINE V finish(V acc, V row, V col) { return (row + col) - 2.0f * acc; }
};
struct SquaredDifferences {  // twice the work, but no cancellation for points that lie close together
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return acc + (a - b) * (a - b); }
  WINKEL_TILE_INLINE V finish(V acc, V, V) { return acc; }
};
struct Jaccard {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return acc + a * b; }
  WINKEL_TILE_INLINE V finish(V acc, V row, V col) {
    const V either = row + col - acc;  // two empty sets are equal: distance 0
    return either > 0.0f ? 1.0f - acc / either : acc * 0.0f;
  }
};
struct Manhattan {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return acc + absolute(a - b); }
  WINKEL_TILE_INLINE V finish(V acc, V, V) { return acc; }
};
struct Chebyshev {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return larger(acc, absolute(a - b)); }
  WINKEL_TILE_INLINE V finish(V acc, V, V) { return acc; }
};
struct Hamming {
  WINKEL_TILE_INLINE V fold(V acc, V a, V b) { return acc - __builtin_convertvector(a != b, V); }
  WINKEL_TILE_INLINE V finish(V acc, V, V) { return acc; }
};

constexpr int kVectors = 3, kWidth = kVectors * WINKEL_LANES;
static_assert(kTileCols % kWidth == 0 && kTileRows % WINKEL_ROWS == 0, "passes must cover the tile");

// Sums run over the coordinates one by one, so a pair has the same bytes wherever it stands in a tile. The
// first `kSkip` vectors of columns are left out.
template <class Metric, int kSkip = 0>
WINKEL_TILE_INLINE void fold_pass(const Tile& t, int r0, int c0, V (&acc)[WINKEL_ROWS][kVectors]) {
  const float* b = t.panel + c0;
  const float* const* a = t.rows + r0;
  for (int k = 0; k < t.n_features; ++k, b += kTileCols) {
    const V b0 = kSkip > 0 ? V{} : load(b), b1 = kSkip > 1 ? V{} : load(b + WINKEL_LANES);
    const V b2 = load(b + 2 * WINKEL_LANES);
#pragma GCC unroll 8
    for (int r = 0; r < WINKEL_ROWS; ++r) {
      const V x = a[r][k] - V{};
      if (kSkip < 1) acc[r][0] = Metric::fold(acc[r][0], x, b0);
      if (kSkip < 2) acc[r][1] = Metric::fold(acc[r][1], x, b1);
      acc[r][2] = Metric::fold(acc[r][2], x, b2);
    }
  }
}

template <class Metric, int kSkip>
WINKEL_TILE_INLINE int hits_pass(const Tile& t, int r0, int c0, Hit* hits) {
  int count = 0;
  V acc[WINKEL_ROWS][kVectors] = {};
  fold_pass<Metric, kSkip>(t, r0, c0, acc);
#pragma GCC unroll 8
  for (int r = 0; r < WINKEL_ROWS; ++r) {
    const V row_norm = t.row_norm[r0 + r] - V{}, row_limit = t.row_limit[r0 + r] - V{};
    const int first = t.skipped > 0 ? t.skipped + r0 + r : 0;
#pragma GCC unroll 3
    for (int v = kSkip; v < kVectors; ++v) {
      const int c = c0 + v * WINKEL_LANES;
      const V d = Metric::finish(acc[r][v], row_norm, load(t.col_norm + c));
      unsigned mask = WINKEL_MASK(d, larger(row_limit, load(t.col_limit + c)));
      if (first > c) mask = first - c < WINKEL_LANES ? mask >> (first - c) << (first - c) : 0u;
      for (; mask != 0; mask &= mask - 1) {
        const int lane = __builtin_ctz(mask);
        hits[count++] = {d[lane], r0 + r, c + lane};
      }
    }
  }
  return count;
}

template <class Metric>
WINKEL_TARGET int tile_hits(const Tile& t, Hit* hits) {
  int count = 0;
  for (int r0 = 0; r0 < kTileRows && r0 < t.n_rows; r0 += WINKEL_ROWS) {
    for (int c0 = 0; c0 < kTileCols && c0 < t.n_cols; c0 += kWidth) {
      const int skip = t.skipped > 0 ? (t.skipped + r0 - c0) / WINKEL_LANES : 0;
      if (skip <= 0)
        count += hits_pass<Metric, 0>(t, r0, c0, hits + count);
      else if (skip == 1)
        count += hits_pass<Metric, 1>(t, r0, c0, hits + count);
      else if (skip == 2)
        count += hits_pass<Metric, 2>(t, r0, c0, hits + count);
    }
  }
  return count;
}

// All distances of the tile, none below 0: 48 for each of the 8 rows.
template <class Metric>
WINKEL_TARGET void tile_distances(const Tile& t, float* out) {
  for (int r0 = 0; r0 < kTileRows && r0 < t.n_rows; r0 += WINKEL_ROWS) {
    for (int c0 = 0; c0 < kTileCols && c0 < t.n_cols; c0 += kWidth) {
      V acc[WINKEL_ROWS][kVectors] = {};
      fold_pass<Metric>(t, r0, c0, acc);
#pragma GCC unroll 8
      for (int r = 0; r < WINKEL_ROWS; ++r) {
        const V row_norm = t.row_norm[r0 + r] - V{};
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) {
          const int c = c0 + v * WINKEL_LANES;
          const V d = Metric::finish(acc[r][v], row_norm, load(t.col_norm + c));
          *reinterpret_cast<VLoad*>(out + (r0 + r) * kTileCols + c) = larger(d, V{});
        }
      }
    }
  }
}

// Inner products of all pairs of the tile, and for each row the bits of the columns whose product is
// positive.
WINKEL_TARGET inline void tile_products_of(const Tile& t, float* out, uint64_t* positive) {
  for (int r0 = 0; r0 < kTileRows && r0 < t.n_rows; r0 += WINKEL_ROWS) {
    for (int r = 0; r < WINKEL_ROWS; ++r) positive[r0 + r] = 0;
    for (int c0 = 0; c0 < kTileCols && c0 < t.n_cols; c0 += kWidth) {
      V acc[WINKEL_ROWS][kVectors] = {};
      fold_pass<SquaredEuclidean>(t, r0, c0, acc);
#pragma GCC unroll 8
      for (int r = 0; r < WINKEL_ROWS; ++r) {
#pragma GCC unroll 3
        for (int v = 0; v < kVectors; ++v) {
          const int c = c0 + v * WINKEL_LANES;
          *reinterpret_cast<VLoad*>(out + (r0 + r) * kTileCols + c) = acc[r][v];
          const unsigned low = WINKEL_MASK(acc[r][v], V{});
          positive[r0 + r] |= static_cast<uint64_t>(~low & ((1u << WINKEL_LANES) - 1u)) << c;
        }
      }
    }
  }
}

WINKEL_TARGET inline int tile_hits_of(MetricKind metric, const Tile& t, Hit* hits) {
  switch (metric) {
    case MetricKind::manhattan:
      return tile_hits<Manhattan>(t, hits);
    case MetricKind::chebyshev:
      return tile_hits<Chebyshev>(t, hits);
    case MetricKind::hamming:
      return tile_hits<Hamming>(t, hits);
    case MetricKind::jaccard:
      return tile_hits<Jaccard>(t, hits);
    default:
      return t.proved ? tile_hits<FusedEuclidean>(t, hits) : tile_hits<SquaredEuclidean>(t, hits);
  }
}

WINKEL_TARGET inline void tile_distances_of(MetricKind metric, const Tile& t, float* out) {
  switch (metric) {
    case MetricKind::manhattan:
      return tile_distances<Manhattan>(t, out);
    case MetricKind::chebyshev:
      return tile_distances<Chebyshev>(t, out);
    case MetricKind::hamming:
      return tile_distances<Hamming>(t, out);
    case MetricKind::jaccard:
      return tile_distances<Jaccard>(t, out);
    case MetricKind::squared_differences:
      return tile_distances<SquaredDifferences>(t, out);
    default:
      return tile_distances<SquaredEuclidean>(t, out);
  }
}

#undef WINKEL_TILE_INLINE
