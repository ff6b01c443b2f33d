// All pairs among a set of points (or between two parts of it), offered to the neighbour lists of both ends.
#pragma once

#include <algorithm>
#include <vector>

#include "bounded_lists.hpp"
#include "tile.hpp"

namespace winkel {

// The points that are searched: rows of float32 coordinates and, where the metric needs them, their norms.
struct Points {
  const float* data;
  const float* norm;
  int64_t n;
  int n_features;
  MetricKind metric;

  const float* row(int64_t i) const { return data + i * n_features; }
};

// GCC before 12 has no __builtin_shufflevector, clang no __builtin_shuffle.
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define WINKEL_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define WINKEL_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, I4{i, j, k, l})
#endif

// Four rows at a time, turned in blocks of 4 × 4; panel columns beyond `count` repeat the last point.
inline void pack_panel(const Points& x, const int32_t* ids, int count, float* panel) {
  typedef float V4 __attribute__((vector_size(16)));
  typedef float V4Load __attribute__((vector_size(16), aligned(4), may_alias));
  [[maybe_unused]] typedef int I4 __attribute__((vector_size(16)));
  const auto point = [&](int c) { return x.row(ids[c < count ? c : count - 1]); };
  const int K = x.n_features;
  for (int c = 0; c < kTileCols; c += 4) {
    const float *p0 = point(c), *p1 = point(c + 1), *p2 = point(c + 2), *p3 = point(c + 3);
    float* dst = panel + c;
    int k = 0;
    for (; k + 4 <= K; k += 4, dst += 4 * kTileCols) {
      const V4 r0 = *reinterpret_cast<const V4Load*>(p0 + k), r1 = *reinterpret_cast<const V4Load*>(p1 + k);
      const V4 r2 = *reinterpret_cast<const V4Load*>(p2 + k), r3 = *reinterpret_cast<const V4Load*>(p3 + k);
      const V4 a = WINKEL_SHUFFLE(r0, r1, 0, 4, 1, 5), b = WINKEL_SHUFFLE(r2, r3, 0, 4, 1, 5);
      const V4 e = WINKEL_SHUFFLE(r0, r1, 2, 6, 3, 7), f = WINKEL_SHUFFLE(r2, r3, 2, 6, 3, 7);
      *reinterpret_cast<V4Load*>(dst) = WINKEL_SHUFFLE(a, b, 0, 1, 4, 5);
      *reinterpret_cast<V4Load*>(dst + kTileCols) = WINKEL_SHUFFLE(a, b, 2, 3, 6, 7);
      *reinterpret_cast<V4Load*>(dst + 2 * kTileCols) = WINKEL_SHUFFLE(e, f, 0, 1, 4, 5);
      *reinterpret_cast<V4Load*>(dst + 3 * kTileCols) = WINKEL_SHUFFLE(e, f, 2, 3, 6, 7);
    }
    for (; k < K; ++k, dst += kTileCols) {
      dst[0] = p0[k];
      dst[1] = p1[k];
      dst[2] = p2[k];
      dst[3] = p3[k];
    }
  }
}

// Scratch memory of one thread. `run` compares the first `n_rows` of `ids` with every later one.
class Joiner {
 public:
  explicit Joiner(const Points& x) : x_(x) {}

  void run(const int32_t* ids, int n_rows, int n_ids, BoundedLists& lists) {
    load(ids, n_ids, lists);
    for (int r0 = 0; r0 < n_rows; r0 += kTileRows) {
      Tile tile = row_group(ids, r0, std::min(kTileRows, n_rows - r0));
      for (int c0 = r0 / kTileCols * kTileCols; c0 < n_ids; c0 += kTileCols) {
        tile.panel = panel_.data() + static_cast<size_t>(c0) * static_cast<size_t>(x_.n_features);
        tile.col_norm = norm_.data() + c0;
        tile.col_limit = limit_.data() + c0;
        tile.n_cols = std::min(kTileCols, n_ids - c0);
        tile.skipped = std::max(0, r0 - c0 + 1);
        const int count = tile_hits(x_.metric, tile, hits_);
        offers_.clear();
        for (int h = 0; h < count; ++h) {
          const int a = r0 + hits_[h].row, b = c0 + hits_[h].col;
          // A point may stand in the list twice, once as a new and once as an old neighbour.
          if (a >= n_rows || b >= n_ids || ids[a] == ids[b]) continue;
          note(ids[a], ids[b], hits_[h].distance, lists);
          note(ids[b], ids[a], hits_[h].distance, lists);
        }
        for (const Offer& o : offers_) lists.offer(o.to, o.key, NeighborKey::kNew);
      }
    }
  }

 private:
  void load(const int32_t* ids, int n_ids, const BoundedLists& lists) {
    const int panels = (n_ids + kTileCols - 1) / kTileCols;
    const size_t padded = static_cast<size_t>(panels) * kTileCols;
    panel_.resize(padded * static_cast<size_t>(x_.n_features));
    norm_.resize(padded);
    limit_.resize(padded);
    for (int c = 0; c < n_ids; ++c)
      for (int k = 0; k < x_.n_features && k < 256; k += 16) __builtin_prefetch(x_.row(ids[c]) + k);
    for (int p = 0; p < panels; ++p) {
      const int c0 = p * kTileCols;
      pack_panel(x_, ids + c0, std::min(kTileCols, n_ids - c0),
                 panel_.data() + static_cast<size_t>(c0) * static_cast<size_t>(x_.n_features));
    }
    for (size_t c = 0; c < padded; ++c) {
      const int32_t id = ids[std::min(static_cast<int>(c), n_ids - 1)];
      norm_[c] = x_.norm[id];
      limit_[c] = NeighborKey::distance(lists.last(id));
    }
  }

  Tile row_group(const int32_t* ids, int r0, int count) const {
    Tile tile{};
    for (int r = 0; r < kTileRows; ++r) tile.rows[r] = x_.row(ids[r0 + std::min(r, count - 1)]);
    tile.row_norm = norm_.data() + r0;
    tile.row_limit = limit_.data() + r0;
    tile.n_features = x_.n_features;
    tile.n_rows = count;
    return tile;
  }

  struct Offer {
    int64_t to, key;
  };

  // Remembers what the list of i may take, and fetches it: lists lie all over memory.
  void note(int32_t i, int32_t j, float d, const BoundedLists& lists) {
    const int64_t key = NeighborKey::make(d, i, j, x_.n);
    if (key >= lists.last(i)) return;
    lists.prefetch(i);
    offers_.push_back({i, key});
  }

  const Points& x_;
  std::vector<Offer> offers_;
  std::vector<float> panel_, norm_, limit_;
  Hit hits_[kTileRows * kTileCols];
};

}  // namespace winkel
