// Exact nearest neighbours by brute force over tiles.
#pragma once

#include <algorithm>
#include <vector>

#include "join.hpp"
#include "parallel.hpp"

namespace winkel {

// Points packed as panels, ready to be the columns of tiles.
class PanelBlock {
 public:
  PanelBlock(const Points& x, int64_t first, int64_t last) : x_(x), first_(first), last_(last) {
    const int64_t panels = (last - first + kTileCols - 1) / kTileCols;
    const size_t padded = static_cast<size_t>(panels * kTileCols);
    panel_.resize(padded * static_cast<size_t>(x.n_features));
    norm_.resize(padded);
    limit_.resize(padded, 0.0f);
    int32_t ids[kTileCols];
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t c0 = first + p * kTileCols;
      const int count = static_cast<int>(std::min<int64_t>(kTileCols, last - c0));
      for (int c = 0; c < kTileCols; ++c) ids[c] = static_cast<int32_t>(c0 + std::min(c, count - 1));
      pack_panel(x, ids, count, panel_.data() + static_cast<size_t>(p * kTileCols * x.n_features));
      for (int c = 0; c < kTileCols; ++c) norm_[static_cast<size_t>(p * kTileCols + c)] = x.norm[ids[c]];
    }
  }

  int64_t first() const { return first_; }
  int64_t size() const { return last_ - first_; }
  float& limit(int64_t c) { return limit_[static_cast<size_t>(c)]; }

  // Fills the column part of a tile for the panel that starts at column c0 of the block.
  void aim(Tile& tile, int64_t c0) const {
    tile.panel = panel_.data() + c0 * x_.n_features;
    tile.col_norm = norm_.data() + c0;
    tile.col_limit = limit_.data() + c0;
    tile.n_cols = static_cast<int>(std::min<int64_t>(kTileCols, size() - c0));
  }

  // Columns of a block: as many panels as a second-level cache holds beside the rows.
  static int64_t columns(int n_features) {
    const int64_t panel_bytes = int64_t{4} * kTileCols * n_features;
    return kTileCols * std::clamp<int64_t>((int64_t{1} << 19) / panel_bytes, 1, 16);
  }

 private:
  const Points& x_;
  int64_t first_, last_;
  std::vector<float> panel_, norm_, limit_;
};

// The row part of a tile: up to 8 points from `first` on, with their norms and the limits of their lists.
class RowGroup {
 public:
  RowGroup(const Points& x, const BoundedLists& lists, int64_t first, int64_t last) {
    tile.n_rows = static_cast<int>(std::min<int64_t>(kTileRows, last - first));
    tile.n_features = x.n_features;
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t i = first + std::min(r, tile.n_rows - 1);
      tile.rows[r] = x.row(i);
      norm_[r] = x.norm[i];
      limit_[r] = NeighborKey::distance(lists.last(i));
    }
    tile.row_norm = norm_;
    tile.row_limit = limit_;
    tile.proved = true;
  }
  RowGroup(const RowGroup&) = delete;
  RowGroup& operator=(const RowGroup&) = delete;

  Tile tile{};

 private:
  float norm_[kTileRows], limit_[kTileRows];
};

// Neighbours among the points themselves. Each pair is computed once and offered to both its ends: half the
// work.
class ExactSearch {
 public:
  ExactSearch(const Points& x, int width) : x_(x), lists_(x.n, width) {}

  int64_t n_tasks() const { return (x_.n + block() - 1) / block(); }

  // Works through tasks [begin, end), the largest first.
  void run(int64_t begin, int64_t end, int threads) {
    parallel_blocks(end - begin, 1, threads,
                    [&](int64_t lo, int64_t) { task(n_tasks() - 1 - (begin + lo)); });
  }

  const BoundedLists& lists() const { return lists_; }

 private:
  int64_t block() const { return PanelBlock::columns(x_.n_features); }

  // All pairs i < j with j in the given block of columns.
  void task(int64_t b) {
    PanelBlock cols(x_, b * block(), std::min(x_.n, (b + 1) * block()));
    Hit hits[kTileRows * kTileCols];
    const int64_t last_row = cols.first() + cols.size();
    for (int64_t i0 = 0; i0 < last_row; i0 += kTileRows) {
      if (i0 % (8 * kTileRows) == 0) {
        poll();
        for (int64_t c = 0; c < cols.size(); ++c)
          cols.limit(c) = NeighborKey::distance(lists_.last(cols.first() + c));
      }
      RowGroup rows(x_, lists_, i0, x_.n);
      for (int64_t c0 = 0; c0 < cols.size(); c0 += kTileCols) {
        cols.aim(rows.tile, c0);
        const int n_hits = tile_hits(x_.metric, rows.tile, hits);
        for (int h = 0; h < n_hits; ++h) {
          const int64_t i = i0 + hits[h].row, j = cols.first() + c0 + hits[h].col;
          if (hits[h].row >= rows.tile.n_rows || hits[h].col >= rows.tile.n_cols || j <= i) continue;
          lists_.offer(i, NeighborKey::make(hits[h].distance, i, j, x_.n), NeighborKey::kNew);
          lists_.offer(j, NeighborKey::make(hits[h].distance, j, i, x_.n), NeighborKey::kNew);
        }
      }
    }
  }

  Points x_;
  BoundedLists lists_;
};

// Neighbours of `queries` among the points of `x`. Keys hold indices of `x` counted from 0 for every query.
inline void search_queries(const Points& queries, const Points& x, BoundedLists& lists, int threads) {
  const int64_t chunk = 32 * kTileRows;
  const int64_t block = PanelBlock::columns(x.n_features);
  parallel_blocks(queries.n, chunk, threads, [&](int64_t lo, int64_t hi) {
    Hit hits[kTileRows * kTileCols];
    for (int64_t b0 = 0; b0 < x.n; b0 += block) {
      poll();
      PanelBlock cols(x, b0, std::min(x.n, b0 + block));
      for (int64_t c = 0; c < cols.size(); ++c) cols.limit(c) = -1.0f;
      for (int64_t i0 = lo; i0 < hi; i0 += kTileRows) {
        RowGroup rows(queries, lists, i0, hi);
        for (int64_t c0 = 0; c0 < cols.size(); c0 += kTileCols) {
          cols.aim(rows.tile, c0);
          const int n_hits = tile_hits(x.metric, rows.tile, hits);
          for (int h = 0; h < n_hits; ++h) {
            if (hits[h].row >= rows.tile.n_rows || hits[h].col >= rows.tile.n_cols) continue;
            const int64_t j = b0 + c0 + hits[h].col;
            lists.offer(i0 + hits[h].row, NeighborKey::make(hits[h].distance, -1, j, x.n));
          }
        }
      }
    }
  });
}

}  // namespace winkel
