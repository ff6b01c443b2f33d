// What the updates of thresholded similarity matching (Saul 2023) need of their n × n matrices, none of which
// is ever held: sums over the pairs in which L, of low rank, and Z differ, found tile by tile.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "products.hpp"
#include "simd.hpp"

namespace winkel {

constexpr int64_t kProductLanes = 8;  // widths of factors and blocks of vectors are multiples of this

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

// Sums over ordered pairs: of max(0, L) and its square where S is zero, of L, its square and (S - L)² where
// it is not.
struct MatchingSums {
  double beyond = 0.0, beyond_square = 0.0, own = 0.0, own_square = 0.0, gap = 0.0;

  void add(const MatchingSums& other, double times) {
    beyond += times * other.beyond, beyond_square += times * other.beyond_square;
    own += times * other.own, own_square += times * other.own_square, gap += times * other.gap;
  }
};

namespace matching {

constexpr int64_t kPanels = 8, kBlock = kPanels * kTileCols;
constexpr int64_t kTile = kTileRows * kTileCols;
constexpr int64_t kAlone = 2500;  // rows of which one thread is done sooner than threads agree on rounds

struct Entry {
  uint16_t row, col;  // in the block
  float value;
};

// The pairs of blocks of a round: every block meets every other once in `blocks - 1` rounds (the circle
// method), and no two pairs of a round share a block, so that each block's sums have one writer at a time and
// grow in a fixed order. Blocks are numbered below `even`, the next even number.
inline std::pair<int64_t, int64_t> meeting(int64_t round, int64_t turn, int64_t even) {
  const int64_t ring = even - 1;
  if (turn == 0) return {round, ring};
  const int64_t a = (round + turn) % ring, b = (round + ring - turn) % ring;
  return {std::min(a, b), std::max(a, b)};
}

// Calls meet(a, b, part) for every pair of blocks a <= b, and gives the sum of the parts over ordered pairs.
template <class Meet>
MatchingSums over_pairs(int64_t blocks, int threads, const Meet& meet) {
  const int64_t even = blocks + blocks % 2;
  std::vector<MatchingSums> parts(static_cast<size_t>(std::max<int64_t>(blocks, 1)));
  MatchingSums total;
  const auto collect = [&](int64_t count, double times) {
    for (int64_t t = 0; t < count; ++t) total.add(parts[static_cast<size_t>(t)], times);
  };
  parallel_blocks(blocks, 1, threads, [&](int64_t b, int64_t) { meet(b, b, parts[static_cast<size_t>(b)]); });
  collect(blocks, 1.0);
  for (int64_t round = 0; round + 1 < even; ++round) {
    parallel_blocks(even / 2, 1, threads, [&](int64_t turn, int64_t) {
      const auto [a, b] = meeting(round, turn, even);
      parts[static_cast<size_t>(turn)] = {};
      if (b < blocks) meet(a, b, parts[static_cast<size_t>(turn)]);
    });
    collect(even / 2, 2.0);
  }
  return total;
}

// A sparse row of a block: columns and values.
struct RowList {
  int32_t col[kBlock];
  float value[kBlock];
  int count = 0;
};

// Appends the products of one row that are positive by their bits, one row of each of 8 tiles, and sums them.
inline void list_positive(const float* products, const uint64_t* positive, RowList& list,
                          MatchingSums& sums) {
  for (int64_t p = 0; p < kPanels; ++p) {
    for (uint64_t bits = positive[p * kTileRows]; bits != 0; bits &= bits - 1) {
      const int64_t c = __builtin_ctzll(bits);
      const float product = products[p * kTile + c];
      list.col[list.count] = static_cast<int32_t>(p * kTileCols + c), list.value[list.count++] = product;
      const double value = static_cast<double>(product);
      sums.beyond += value, sums.beyond_square += value * value;
    }
  }
}

// own = Σ value V_col and, unless it is null, others_col += value v, in K lanes from `at` on.
template <int K>
__attribute__((always_inline)) inline void add_lanes(const RowList& list, const float* v, const float* block,
                                                     int64_t width, int64_t at, float* own, float* others) {
  typedef float Lanes __attribute__((vector_size(4 * K)));
  typedef float Memory __attribute__((vector_size(4 * K), aligned(4), may_alias));
  const Lanes mine = *reinterpret_cast<const Memory*>(v + at);
  Lanes sum = {};
  if (others == nullptr) {
    for (int h = 0; h < list.count; ++h)
      sum += list.value[h] * *reinterpret_cast<const Memory*>(block + list.col[h] * width + at);
  } else {
    for (int h = 0; h < list.count; ++h) {
      const int64_t place = list.col[h] * width + at;
      sum += list.value[h] * *reinterpret_cast<const Memory*>(block + place);
      *reinterpret_cast<Memory*>(others + place) += list.value[h] * mine;
    }
  }
  *reinterpret_cast<Memory*>(own + at) = sum;
}

// The same for all lanes, with the sums of the row added to `out`.
WINKEL_CLONES void add_row(const RowList& list, const float* v, const float* block, int64_t width, float* own,
                           float* others, double* out) {
  int64_t at = 0;
  for (; at + 16 <= width; at += 16) add_lanes<16>(list, v, block, width, at, own, others);
  for (; at < width; at += 8) add_lanes<8>(list, v, block, width, at, own, others);
  for (int64_t k = 0; k < width; ++k) out[k] += static_cast<double>(own[k]);
}

WINKEL_CLONES void add_to(const float* part, int64_t count, double* out) {
  for (int64_t k = 0; k < count; ++k) out[k] += static_cast<double>(part[k]);
}

}  // namespace matching

// A symmetric sparse matrix S cut into square blocks, each pair of blocks once.
class SimilarBlocks {
 public:
  // From compressed rows, whose columns ascend.
  SimilarBlocks(const int64_t* indptr, const int32_t* indices, const float* values, int64_t n)
      : n_(n), blocks_((n + matching::kBlock - 1) / matching::kBlock) {
    using matching::kBlock;
    start_.assign(static_cast<size_t>(blocks_ * blocks_ + 1), 0);
    const auto each = [&](const auto& body) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t a = i / kBlock;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
          const int64_t b = indices[e] / kBlock;
          if (b >= a) body(static_cast<size_t>(a * blocks_ + b), i - a * kBlock, indices[e] - b * kBlock, e);
        }
      }
    };
    each([&](size_t pair, int64_t, int64_t, int64_t) { ++start_[pair + 1]; });
    for (size_t p = 1; p < start_.size(); ++p) start_[p] += start_[p - 1];
    entries_.resize(static_cast<size_t>(start_.back()));
    std::vector<int64_t> next(start_.begin(), start_.end() - 1);
    each([&](size_t pair, int64_t row, int64_t col, int64_t e) {
      entries_[static_cast<size_t>(next[pair]++)] = {static_cast<uint16_t>(row), static_cast<uint16_t>(col),
                                                     values[e]};
    });
  }

  int64_t n() const { return n_; }

  // Adds (L - Z) V, Z = S where that is not zero and min(0, L) elsewhere, to out (n × width), and gives the
  // sums over all pairs. Every product is computed once and serves both its ends.
  MatchingSums residual_product(const LowRank& low, const VectorBlock& v, int threads, double* out) const {
    if (n_ < matching::kAlone) threads = 1;
    const ProductColumns columns(low.right, n_, low.rank, 0, n_, 0.0f, threads);
    return matching::over_pairs(blocks_, threads, [&](int64_t a, int64_t b, MatchingSums& part) {
      part = residual_of(low, columns, v, a, b, out);
    });
  }

  // Adds the sum of V_j over the entries of S in each row to out (n × width).
  void support_product(const VectorBlock& v, int threads, double* out) const {
    if (n_ < matching::kAlone) threads = 1;
    matching::over_pairs(blocks_, threads,
                         [&](int64_t a, int64_t b, MatchingSums& part) { part = support_of(v, a, b, out); });
  }

 private:
  const matching::Entry* first(int64_t a, int64_t b) const {
    return entries_.data() + start_[static_cast<size_t>(a * blocks_ + b)];
  }
  const matching::Entry* last(int64_t a, int64_t b) const {
    return entries_.data() + start_[static_cast<size_t>(a * blocks_ + b) + 1];
  }
  int64_t rows_of(int64_t block) const { return std::min(matching::kBlock, n_ - block * matching::kBlock); }

  MatchingSums residual_of(const LowRank& low, const ProductColumns& columns, const VectorBlock& v, int64_t a,
                           int64_t b, double* out) const {
    using namespace matching;
    const int64_t i0 = a * kBlock, j0 = b * kBlock, rows = rows_of(a), cols = rows_of(b);
    std::vector<float> others(a == b ? 0 : static_cast<size_t>(cols * v.width), 0.0f);
    std::vector<float> own(static_cast<size_t>(v.width));
    float products[kPanels * kTile];
    uint64_t positive[kPanels * kTileRows] = {};
    RowList list;
    MatchingSums sums;
    const Entry* next = first(a, b);
    const Entry* const end = last(a, b);
    for (int64_t r0 = 0; r0 < rows; r0 += kTileRows) {
      const int64_t count = std::min<int64_t>(kTileRows, rows - r0);
      columns.products(low.left, i0 + r0, count, j0, cols, products, positive);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t i = i0 + r0 + r;
        list.count = 0;
        for (; next != end && next->row == r0 + r; ++next) {
          const int64_t panel = next->col / kTileCols, c = next->col % kTileCols;
          const float product = products[panel * kTile + r * kTileCols + c], residual = product - next->value;
          positive[panel * kTileRows + r] &= ~(uint64_t{1} << c);
          list.col[list.count] = next->col, list.value[list.count++] = residual;
          const double p = static_cast<double>(product), g = static_cast<double>(residual);
          sums.own += p, sums.own_square += p * p, sums.gap += g * g;
        }
        list_positive(products + r * kTileCols, positive + r, list, sums);
        kernel<matching::add_row>()(list, v.data + i * v.width, v.data + j0 * v.width, v.width, own.data(),
                                    a == b ? nullptr : others.data(), out + i * v.width);
      }
    }
    kernel<matching::add_to>()(others.data(), static_cast<int64_t>(others.size()), out + j0 * v.width);
    return sums;
  }

  MatchingSums support_of(const VectorBlock& v, int64_t a, int64_t b, double* out) const {
    const int64_t i0 = a * matching::kBlock, j0 = b * matching::kBlock;
    for (const matching::Entry* e = first(a, b); e != last(a, b); ++e) {
      const int64_t i = (i0 + e->row) * v.width, j = (j0 + e->col) * v.width;
      kernel<matching::add_to>()(v.data + j, v.width, out + i);
      if (a != b) kernel<matching::add_to>()(v.data + i, v.width, out + j);
    }
    return {};
  }

  int64_t n_, blocks_;
  std::vector<int64_t> start_;
  std::vector<matching::Entry> entries_;
};

}  // namespace winkel
