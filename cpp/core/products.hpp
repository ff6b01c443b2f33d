// Pairs of rows whose inner product exceeds a limit, found tile by tile, and sums over them: what thresholded
// similarity matching (Saul 2023) needs of its n × n matrices, none of which is ever held.
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

constexpr int64_t kProductLanes = 8;  // widths of factors and blocks of vectors are multiples of this

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

// ------------------------------------------------------------------------------------ sums over products

// A symmetric matrix L of low rank, L_ij = left_i · right_j, and a block of vectors V to multiply with it.
struct LowRank {
  const float* left;
  const float* right;
  int64_t n;
  int rank;  // columns of the factors, a multiple of kProductLanes
};

struct VectorBlock {
  const float* data;
  int64_t width;  // a multiple of kProductLanes
};

namespace products {

constexpr int64_t kBlock = 8 * kTileCols;
constexpr int64_t kAlone = 2500;  // rows of which one thread is done sooner than threads agree on rounds

// gi += p V_j and, unless it is null, gj += p V_i, for the pairs of one tile.
WINKEL_CLONES inline void add_hits(const Hit* hits, int count, const float* vi, const float* vj,
                                   int64_t width, float* gi, float* gj) {
  for (int h = 0; h < count; ++h) {
    const float p = hits[h].distance;
    const int64_t r = hits[h].row * width, c = hits[h].col * width;
    for (int64_t k = 0; k < width; k += kProductLanes) {
      for (int64_t l = 0; l < kProductLanes; ++l) gi[r + k + l] += p * vj[c + k + l];
    }
    if (gj == nullptr) continue;
    for (int64_t k = 0; k < width; k += kProductLanes) {
      for (int64_t l = 0; l < kProductLanes; ++l) gj[c + k + l] += p * vi[r + k + l];
    }
  }
}

WINKEL_CLONES inline void add_to(const float* part, int64_t count, double* out) {
  for (int64_t k = 0; k < count; ++k) out[k] += static_cast<double>(part[k]);
}

// Sums of one row over its similar pairs; see similar_part.
WINKEL_CLONES inline void similar_row(const float* left, const LowRank& low, const VectorBlock& v,
                                      const int32_t* index, const float* s, int64_t count, float* fit,
                                      float* plain, double* sums) {
  constexpr int64_t ahead = 8;
  for (int64_t e = 0; e < count; ++e) {
    const int64_t soon = index[std::min(e + ahead, count - 1)];
    __builtin_prefetch(low.right + soon * low.rank);
    __builtin_prefetch(v.data + soon * v.width);
    const float* right = low.right + static_cast<int64_t>(index[e]) * low.rank;
    float lanes[kProductLanes] = {};
    for (int64_t k = 0; k < low.rank; k += kProductLanes) {
      for (int64_t l = 0; l < kProductLanes; ++l) lanes[l] += left[k + l] * right[k + l];
    }
    const float product =
        ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
    const float negative = std::min(product, 0.0f), positive = std::max(product, 0.0f);
    const float* vj = v.data + static_cast<int64_t>(index[e]) * v.width;
    const float more = s[e] - negative;
    for (int64_t k = 0; k < v.width; k += kProductLanes) {
      for (int64_t l = 0; l < kProductLanes; ++l) {
        fit[k + l] += more * vj[k + l];
        plain[k + l] += vj[k + l];
      }
    }
    const double n = static_cast<double>(negative), p = static_cast<double>(positive);
    const double gap = static_cast<double>(s[e]) - static_cast<double>(product);
    sums[0] += n, sums[1] += n * n, sums[2] += p, sums[3] += p * p, sums[4] += gap * gap;
  }
}

// The pairs of blocks of a round: every block meets every other once in `blocks - 1` rounds (the circle
// method), and no two pairs of a round share a block, so that each block's sums have one writer at a time and
// grow in a fixed order. Blocks are numbered below `even`, the next even number.
inline std::pair<int64_t, int64_t> met(int64_t round, int64_t turn, int64_t even) {
  const int64_t ring = even - 1;
  if (turn == 0) return {round, ring};
  const int64_t a = (round + turn) % ring, b = (round + ring - turn) % ring;
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace products

struct PositiveSums {
  double sum = 0.0, square = 0.0;
};

// Adds max(0, L) V to out (n × width), and gives Σ max(0, L) and Σ max(0, L)² over all ordered pairs. Every
// product is computed once and serves both its ends.
inline PositiveSums positive_part(const LowRank& low, const VectorBlock& v, int threads, double* out) {
  using products::kBlock;
  if (low.n < products::kAlone) threads = 1;
  const int64_t blocks = (low.n + kBlock - 1) / kBlock, even = blocks + blocks % 2;
  const ProductColumns columns(low.right, low.n, low.rank, 0, low.n, 0.0f, threads);
  PositiveSums total;
  std::vector<PositiveSums> parts(static_cast<size_t>(std::max<int64_t>(blocks, 1)));
  const auto meet = [&](int64_t a, int64_t b, PositiveSums& part) {
    const int64_t i_lo = a * kBlock, i_hi = std::min(low.n, i_lo + kBlock);
    const int64_t j_lo = b * kBlock, j_hi = std::min(low.n, j_lo + kBlock);
    std::vector<float> gi(static_cast<size_t>((i_hi - i_lo) * v.width), 0.0f);
    std::vector<float> gj(a == b ? 0 : static_cast<size_t>((j_hi - j_lo) * v.width), 0.0f);
    PositiveSums sums;
    columns.scan(low.left, i_lo, i_hi, j_lo, j_hi, [&](const Hit* hits, int count, int64_t i0, int64_t j0) {
      products::add_hits(hits, count, v.data + i0 * v.width, v.data + j0 * v.width, v.width,
                         gi.data() + (i0 - i_lo) * v.width,
                         a == b ? nullptr : gj.data() + (j0 - j_lo) * v.width);
      for (int h = 0; h < count; ++h) {
        const double p = static_cast<double>(hits[h].distance);
        sums.sum += p, sums.square += p * p;
      }
    });
    products::add_to(gi.data(), static_cast<int64_t>(gi.size()), out + i_lo * v.width);
    products::add_to(gj.data(), static_cast<int64_t>(gj.size()), out + j_lo * v.width);
    const double times = a == b ? 1.0 : 2.0;
    part = {times * sums.sum, times * sums.square};
  };
  const auto collect = [&](int64_t count) {
    for (int64_t t = 0; t < count; ++t) {
      total.sum += parts[static_cast<size_t>(t)].sum, total.square += parts[static_cast<size_t>(t)].square;
    }
  };
  parallel_blocks(blocks, 1, threads, [&](int64_t b, int64_t) { meet(b, b, parts[static_cast<size_t>(b)]); });
  collect(blocks);
  for (int64_t round = 0; round + 1 < even; ++round) {
    parallel_blocks(even / 2, 1, threads, [&](int64_t turn, int64_t) {
      const auto [a, b] = products::met(round, turn, even);
      parts[static_cast<size_t>(turn)] = {};
      if (b < blocks) meet(a, b, parts[static_cast<size_t>(turn)]);
    });
    collect(even / 2);
  }
  return total;
}

// A symmetric sparse matrix in compressed rows.
struct SimilarRows {
  const int64_t* indptr;
  const int32_t* indices;
  const float* values;
};

// Over the pairs of S: fit (n × width) = Σ_j (S_ij - min(0, L_ij)) V_j, plain = Σ_j V_j, and sums (5) of
// min(0, L), its square, max(0, L), its square, and (S - L)².
inline void similar_part(const SimilarRows& s, const LowRank& low, const VectorBlock& v, int threads,
                         double* fit, double* plain, double* sums) {
  constexpr int64_t rows = 64;
  const int64_t blocks = (low.n + rows - 1) / rows;
  std::vector<double> parts(static_cast<size_t>(5 * blocks), 0.0);
  parallel_blocks(low.n, rows, threads, [&](int64_t lo, int64_t hi) {
    std::vector<float> near(static_cast<size_t>(2 * v.width));
    for (int64_t i = lo; i < hi; ++i) {
      std::fill(near.begin(), near.end(), 0.0f);
      const int64_t first = s.indptr[i];
      products::similar_row(low.left + i * low.rank, low, v, s.indices + first, s.values + first,
                            s.indptr[i + 1] - first, near.data(), near.data() + v.width,
                            parts.data() + lo / rows * 5);
      for (int64_t k = 0; k < v.width; ++k) {
        fit[i * v.width + k] = static_cast<double>(near[static_cast<size_t>(k)]);
        plain[i * v.width + k] = static_cast<double>(near[static_cast<size_t>(v.width + k)]);
      }
    }
  });
  std::fill(sums, sums + 5, 0.0);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t k = 0; k < 5; ++k) sums[k] += parts[static_cast<size_t>(5 * b + k)];
  }
}

}  // namespace winkel
