// Neighbour lists of some consecutive rows among all: first by search within cells of like rows, each row in
// those that it names; then by rounds in which whoever is a neighbour of a row's neighbours is compared with
// it. A round reads the lists of all rows and writes none of them, so the result does not depend on who does
// which rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "exact_knn.hpp"
#include "parallel.hpp"
#include "refine.hpp"
#include "select.hpp"

namespace winkel {

// Rows of cell c are cells[c], ..., cells[c + 1] - 1; those that search it are first + queries[e] for e from
// starts[c] to starts[c + 1] - 1, and `lists` are theirs.
struct CellSearch {
  const int64_t* cells;
  const int64_t* starts;
  const int32_t* queries;
  int64_t n_cells, first;
};

inline void search_cell(const Points& x, const CellSearch& s, int64_t cell, BoundedLists& lists) {
  const int64_t block = PanelBlock::columns(x.n_features), end = s.starts[cell + 1];
  Hit hits[kTileRows * kTileCols];
  for (int64_t b0 = s.cells[cell]; b0 < s.cells[cell + 1]; b0 += block) {
    poll();
    PanelBlock cols(x, b0, std::min(s.cells[cell + 1], b0 + block));
    for (int64_t c = 0; c < cols.size(); ++c) cols.limit(c) = -1.0f;  // only rows have lists
    for (int64_t e = s.starts[cell]; e < end; e += kTileRows) {
      const int64_t count = std::min<int64_t>(kTileRows, end - e);
      float norm[kTileRows], limit[kTileRows];
      Tile tile{};
      for (int64_t r = 0; r < kTileRows; ++r) {
        const int64_t q = s.queries[e + std::min(r, count - 1)];
        tile.rows[r] = x.row(s.first + q);
        norm[r] = x.norm[s.first + q];
        limit[r] = NeighborKey::distance(lists.last(q));
      }
      tile.row_norm = norm, tile.row_limit = limit;
      tile.n_features = x.n_features, tile.n_rows = static_cast<int>(count);
      for (int64_t c0 = 0; c0 < cols.size(); c0 += kTileCols) {
        cols.aim(tile, c0);
        const int n_hits = tile_hits(x.metric, tile, hits);
        for (int h = 0; h < n_hits; ++h) {
          if (hits[h].row >= tile.n_rows || hits[h].col >= tile.n_cols) continue;
          const int64_t q = s.queries[e + hits[h].row], j = cols.first() + c0 + hits[h].col;
          if (j == s.first + q) continue;
          lists.offer(q, NeighborKey::make(hits[h].distance, s.first + q, j, x.n), NeighborKey::kNew);
        }
      }
    }
  }
}

inline void search_cells(const Points& x, const CellSearch& s, BoundedLists& lists, int threads) {
  parallel_blocks(s.n_cells, 1, threads, [&](int64_t cell, int64_t) {
    if (s.starts[cell] < s.starts[cell + 1]) search_cell(x, s, cell, lists);
  });
}

// Lists of n rows, `width` each, nearest first; entries out of range are missing.
struct NeighborLists {
  const int32_t* index;
  int64_t n, width;
};

// The k nearest, by true distance, of each row's list, of the lists' first `reach` entries of its first
// `reach` neighbours: of rows first, ..., last - 1.
template <class T>
void join_lists(const T* x, int64_t n_features, const NeighborLists& lists, int64_t first, int64_t last,
                int64_t reach, int64_t k, int threads, int32_t* index, T* distance) {
  const auto distance_of = kernel<true_distance<T>>();
  const int64_t near = std::min(reach, lists.width);
  const auto known = [&](int64_t j) { return j >= 0 && j < lists.n; };
  parallel_blocks(last - first, 64, threads, [&](int64_t lo, int64_t hi) {
    std::vector<int32_t> candidates;
    candidates.reserve(static_cast<size_t>(lists.width + near * near));
    for (int64_t i = first + lo; i < first + hi; ++i) {
      const int32_t* own = lists.index + i * lists.width;
      candidates.assign(own, own + lists.width);
      for (int64_t s = 0; s < near; ++s) {
        if (!known(own[s])) continue;
        const int32_t* theirs = lists.index + int64_t{own[s]} * lists.width;
        candidates.insert(candidates.end(), theirs, theirs + near);
      }
      std::sort(candidates.begin(), candidates.end());
      candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
      Selection selection(i, lists.n, k);
      for (const int64_t j : candidates) {
        if (!known(j) || j == i) continue;
        selection.add(
            distance_of(DistanceKind::euclidean, x + i * n_features, x + j * n_features, n_features), j);
      }
      selection.write(index + (i - first) * k, distance + (i - first) * k);
    }
  });
}

}  // namespace winkel
