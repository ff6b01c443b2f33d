// Pairs of rows whose inner product exceeds a limit, found tile by tile: the sparse matrix of thresholded
// similarity matching (Saul 2023).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "join.hpp"
#include "parallel.hpp"

namespace winkel {

// Rows packed as panels of 48, ready to be the columns of tiles. A hit is a pair whose product with a row
// exceeds the limit.
class ProductColumns {
 public:
  ProductColumns(const float* data, int64_t n, int width, int64_t first, int64_t last, float limit,
                 int threads)
      : width_(width), first_(first) {
    const int64_t panels = (last - first + kTileCols - 1) / kTileCols;
    panel_.resize(static_cast<size_t>(panels * kTileCols * width));
    const Points points{data, nullptr, n, width, MetricKind::squared_euclidean};
    parallel_blocks(panels, 8, threads, [&](int64_t lo, int64_t hi) {
      int32_t ids[kTileCols];
      for (int64_t p = lo; p < hi; ++p) {
        const int64_t c0 = first + p * kTileCols;
        const int count = static_cast<int>(std::min<int64_t>(kTileCols, last - c0));
        for (int c = 0; c < kTileCols; ++c) ids[c] = static_cast<int32_t>(c0 + std::min(c, count - 1));
        pack_panel(points, ids, count, panel_.data() + p * kTileCols * width);
      }
    });
    // The tile kernel computes 0 + 0 - 2 times the product and keeps what is at most the bound.
    const float bound = std::nextafter(-2.0f * limit, -std::numeric_limits<float>::infinity());
    std::fill(bound_, bound_ + kTileCols, bound);
  }
  ProductColumns(const ProductColumns&) = delete;
  ProductColumns& operator=(const ProductColumns&) = delete;

  // Calls body(hits, count, i0, j0) for tiles of rows [row_lo, row_hi) and columns [col_lo, col_hi), where
  // hits count rows from i0 and columns from j0. col_lo is the first column of a panel.
  template <class Body>
  void scan(const float* left, int64_t row_lo, int64_t row_hi, int64_t col_lo, int64_t col_hi,
            const Body& body) const {
    static const float zero[kTileCols] = {};
    Hit hits[kTileRows * kTileCols];
    Tile tile{};
    tile.n_features = width_;
    tile.row_norm = tile.col_norm = zero;
    tile.row_limit = tile.col_limit = bound_;
    for (int64_t i0 = row_lo; i0 < row_hi; i0 += kTileRows) {
      tile.n_rows = static_cast<int>(std::min<int64_t>(kTileRows, row_hi - i0));
      for (int r = 0; r < kTileRows; ++r) tile.rows[r] = left + (i0 + std::min(r, tile.n_rows - 1)) * width_;
      for (int64_t j0 = col_lo; j0 < col_hi; j0 += kTileCols) {
        tile.panel = panel_.data() + (j0 - first_) * width_;
        tile.n_cols = static_cast<int>(std::min<int64_t>(kTileCols, col_hi - j0));
        const int found = tile_hits(MetricKind::squared_euclidean, tile, hits);
        int count = 0;
        for (int h = 0; h < found; ++h) {
          if (hits[h].row >= tile.n_rows || hits[h].col >= tile.n_cols) continue;
          hits[count++] = {-0.5f * hits[h].distance, hits[h].row, hits[h].col};
        }
        if (count > 0) body(hits, count, i0, j0);
      }
    }
  }

  // Products of up to 8 rows from `row` on with the columns [col_lo, col_lo + cols), in tiles of 8 × 48 one
  // after the other, and for each tile and row the bits of the positive ones. col_lo is the first column of a
  // panel.
  void products(const float* left, int64_t row, int64_t rows, int64_t col_lo, int64_t cols, float* out,
                uint64_t* positive) const {
    Tile tile{};
    tile.n_features = width_;
    tile.n_rows = static_cast<int>(rows);
    for (int r = 0; r < kTileRows; ++r) tile.rows[r] = left + (row + std::min(r, tile.n_rows - 1)) * width_;
    for (int64_t c0 = 0; c0 < cols; c0 += kTileCols, out += kTileRows * kTileCols, positive += kTileRows) {
      tile.panel = panel_.data() + (col_lo + c0 - first_) * width_;
      tile.n_cols = static_cast<int>(std::min<int64_t>(kTileCols, cols - c0));
      tile_products(tile, out, positive);
      const uint64_t present = (uint64_t{1} << tile.n_cols) - 1;
      for (int r = 0; r < tile.n_rows; ++r) positive[r] &= present;
    }
  }

 private:
  int width_;
  int64_t first_;
  std::vector<float> panel_;
  float bound_[kTileCols];
};

// ---------------------------------------------------------------------------------------- similarity join

struct SimilarPair {
  int32_t i, j;
  float cosine;
};

// All pairs i < j, first <= j, of rows of unit norm with a cosine above the limit, in a fixed order: columns
// in blocks, then rows, then columns. Gives up when there are more than max_pairs.
class SimilarityJoin {
 public:
  SimilarityJoin(const float* x, int64_t n, int width, float limit, int64_t first, int64_t max_pairs)
      : x_(x), n_(n), width_(width), limit_(limit), first_(first), max_pairs_(max_pairs) {
    parts_.resize(static_cast<size_t>((n - first + block() - 1) / block()));
  }

  void run(int threads) {
    const int64_t tasks = static_cast<int64_t>(parts_.size());
    parallel_blocks(tasks, 1, threads, [&](int64_t turn, int64_t) { task(tasks - 1 - turn); });
  }

  int64_t count() const { return count_.load(); }
  bool complete() const { return count() <= max_pairs_; }

  // Copies the pairs to arrays and lets go of them.
  void take(int32_t* i, int32_t* j, float* cosine) {
    for (auto& part : parts_) {
      for (const SimilarPair& pair : part) *i++ = pair.i, *j++ = pair.j, *cosine++ = pair.cosine;
      std::vector<SimilarPair>().swap(part);
    }
  }

 private:
  // As many panels as a second-level cache holds beside the rows.
  int64_t block() const {
    return kTileCols * std::clamp<int64_t>((int64_t{1} << 19) / (int64_t{4} * kTileCols * width_), 1, 16);
  }

  void task(int64_t b) {
    if (!complete()) return;
    const int64_t lo = first_ + b * block(), hi = std::min(n_, lo + block());
    const ProductColumns columns(x_, n_, width_, lo, hi, limit_, 1);
    std::vector<SimilarPair>& part = parts_[static_cast<size_t>(b)];
    constexpr int64_t rows = 256;  // between looks at how many there are
    for (int64_t i0 = 0; i0 < hi && complete(); i0 += rows) {
      poll();
      const size_t before = part.size();
      columns.scan(x_, i0, std::min(hi, i0 + rows), lo, hi,
                   [&](const Hit* hits, int count, int64_t r0, int64_t c0) {
                     for (int h = 0; h < count; ++h) {
                       const int64_t i = r0 + hits[h].row, j = c0 + hits[h].col;
                       if (i < j)
                         part.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), hits[h].distance});
                     }
                   });
      count_ += static_cast<int64_t>(part.size() - before);
    }
  }

  const float* x_;
  int64_t n_;
  int width_;
  float limit_;
  int64_t first_, max_pairs_;
  std::vector<std::vector<SimilarPair>> parts_;
  std::atomic<int64_t> count_{0};
};

// The symmetric CSR matrix S_ij = r_i r_j (cos_ij - tau) of pairs, with its diagonal r_i² (1 - tau); columns
// ascend in every row when the pairs come in the order of SimilarityJoin. indptr (n + 1) must hold zeros;
// indices and values have n + 2 p entries.
inline void similarity_rows(const int32_t* i, const int32_t* j, const float* cosine, int64_t pairs,
                            const double* norm, int64_t n, double tau, int64_t* indptr, int32_t* indices,
                            float* values) {
  std::vector<int64_t> below(static_cast<size_t>(n), 0), above(static_cast<size_t>(n), 0);
  for (int64_t p = 0; p < pairs; ++p) ++below[static_cast<size_t>(j[p])], ++above[static_cast<size_t>(i[p])];
  for (int64_t r = 0; r < n; ++r) {
    const size_t row = static_cast<size_t>(r);
    indptr[r + 1] = indptr[r] + below[row] + 1 + above[row];
    const int64_t own = indptr[r] + below[row];
    indices[own] = static_cast<int32_t>(r);
    values[own] = static_cast<float>(norm[r] * norm[r] * (1.0 - tau));
    below[row] = indptr[r];  // from here on where the next one goes
    above[row] = own + 1;
  }
  for (int64_t p = 0; p < pairs; ++p) {
    const float s = static_cast<float>(norm[i[p]] * norm[j[p]] * (static_cast<double>(cosine[p]) - tau));
    const int64_t up = above[static_cast<size_t>(i[p])]++, low = below[static_cast<size_t>(j[p])]++;
    indices[up] = j[p], values[up] = s;
    indices[low] = i[p], values[low] = s;
  }
}

}  // namespace winkel
