// Random-projection trees: points halved again and again by hyperplanes between two random points.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "parallel.hpp"
#include "rng.hpp"
#include "simd.hpp"

namespace winkel {

// Sixteen partial sums in fixed lanes: vectorises without reordering what the source says.
WINKEL_CLONES void project_rows(const float* x, int64_t n_features, const int32_t* ids, int64_t count,
                                const float* direction, uint64_t* keys) {
  for (int64_t c = 0; c < count; ++c) {
    const float* row = x + ids[c] * n_features;
    float lane[16] = {};
    int64_t k = 0;
    for (; k + 16 <= n_features; k += 16)
      for (int l = 0; l < 16; ++l) lane[l] += row[k + l] * direction[k + l];
    float sum = 0.0f;
    for (; k < n_features; ++k) sum += row[k] * direction[k];
    for (int l = 0; l < 16; ++l) sum += lane[l];
    uint32_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    bits = (bits & 0x80000000u) ? ~bits : (bits | 0x80000000u);  // orders as the numbers do
    keys[c] = (static_cast<uint64_t>(bits) << 32) | static_cast<uint32_t>(ids[c]);
  }
}

constexpr int kProjected = 64;

// Rows times an m × 64 matrix, so that trees over many coordinates need to look at few.
WINKEL_CLONES void project_block(const float* x, int64_t n, int64_t m, const float* directions, float* out) {
  for (int64_t i = 0; i < n; ++i) {
    float acc[kProjected] = {};
    for (int64_t k = 0; k < m; ++k) {
      const float v = x[i * m + k];
      if (v == 0.0f) continue;
      const float* d = directions + k * kProjected;
      for (int l = 0; l < kProjected; ++l) acc[l] += v * d[l];
    }
    for (int l = 0; l < kProjected; ++l) out[i * kProjected + l] = acc[l];
  }
}

struct RpTree {
  std::vector<int32_t> order;   // points, leaf by leaf
  std::vector<int64_t> leaves;  // leaf l holds order[leaves[l] .. leaves[l + 1])
};

// Halves every node at the median, ties by index, so leaves have at most leaf_size points whatever the data.
inline RpTree build_rp_tree(const float* x, int64_t n, int64_t n_features, int64_t leaf_size, uint64_t seed,
                            uint64_t tree, int threads) {
  RpTree t;
  t.order.resize(static_cast<size_t>(n));
  std::iota(t.order.begin(), t.order.end(), 0);
  t.leaves = {0, n};
  std::vector<uint64_t> keys(static_cast<size_t>(n));
  for (uint64_t level = 0; t.leaves[1] - t.leaves[0] > leaf_size; ++level) {
    const int64_t nodes = static_cast<int64_t>(t.leaves.size()) - 1;
    const Random rng(seed, (tree << 8) | level);
    std::vector<int64_t> next(static_cast<size_t>(2 * nodes + 1), n);
    const auto split = [&](int64_t node, int64_t) {
      const int64_t lo = t.leaves[static_cast<size_t>(node)], hi = t.leaves[static_cast<size_t>(node) + 1];
      const int64_t size = hi - lo, half = (size + 1) / 2;
      const uint64_t draw = static_cast<uint64_t>(node) * 2;
      const int64_t a = static_cast<int64_t>(rng.below(draw, static_cast<uint64_t>(size)));
      const int64_t b = static_cast<int64_t>(rng.below(draw + 1, static_cast<uint64_t>(size)));
      int32_t* ids = t.order.data() + lo;
      const float *xa = x + ids[a] * n_features, *xb = x + ids[b] * n_features;
      std::vector<float> direction(static_cast<size_t>(n_features));
      for (int64_t k = 0; k < n_features; ++k) direction[static_cast<size_t>(k)] = xa[k] - xb[k];
      uint64_t* node_keys = keys.data() + lo;
      // Within a loop over nodes this is one thread's work; at the top of the tree all threads share it.
      parallel_blocks(size, 4096, threads, [&](int64_t from, int64_t to) {
        kernel<project_rows>()(x, n_features, ids + from, to - from, direction.data(), node_keys + from);
      });
      std::nth_element(node_keys, node_keys + half, node_keys + size);
      for (int64_t c = 0; c < size; ++c) ids[c] = static_cast<int32_t>(node_keys[c] & 0xffffffffu);
      next[static_cast<size_t>(2 * node)] = lo;
      next[static_cast<size_t>(2 * node) + 1] = lo + half;
    };
    if (nodes < threads)
      for (int64_t node = 0; node < nodes; ++node) split(node, node + 1);
    else
      parallel_blocks(nodes, 1, threads, split);
    t.leaves = std::move(next);
  }
  return t;
}

}  // namespace winkel
