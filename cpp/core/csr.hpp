// Sparse graphs: neighbour lists to sorted edges, sorted edges to compressed rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "pages.hpp"
#include "parallel.hpp"

namespace winkel {

enum class KnnFault { none = 0, range, self, order, missing, value, repeated };

struct KnnCheck {
  KnnFault fault = KnnFault::none;
  int64_t row = -1;
};

// True when two of the k entries are the same; -1 stands for no neighbour and may repeat.
inline bool has_repeats(const int32_t* row, int64_t k, std::vector<int32_t>& scratch) {
  scratch.assign(row, row + k);
  std::sort(scratch.begin(), scratch.end());
  for (int64_t c = 1; c < k; ++c)
    if (scratch[c] == scratch[c - 1] && scratch[c] >= 0) return true;
  return false;
}

template <class T>
KnnFault check_knn_row(const int32_t* index, const T* distance, int64_t i, int64_t n, int64_t k,
                       std::vector<int32_t>& scratch) {
  T last = 0;
  bool ended = false;
  for (int64_t c = 0; c < k; ++c) {
    const int64_t j = index[c];
    const T d = distance[c];
    if (j < -1 || j >= n) return KnnFault::range;
    if (j == i) return KnnFault::self;
    if (j == -1) {
      if (!(d == std::numeric_limits<T>::infinity())) return KnnFault::missing;
      ended = true;
      continue;
    }
    if (ended) return KnnFault::missing;
    if (!std::isfinite(d) || d < 0) return KnnFault::value;
    if (d < last) return KnnFault::order;
    last = d;
  }
  return has_repeats(index, k, scratch) ? KnnFault::repeated : KnnFault::none;
}

// The first row whose neighbour list is not allowed, and why.
template <class T>
KnnCheck check_knn(const int32_t* index, const T* distance, int64_t n, int64_t k, int threads) {
  constexpr int64_t block = 4096;
  std::vector<KnnCheck> found(static_cast<size_t>((n + block - 1) / block));
  parallel_blocks(n, block, threads, [&](int64_t lo, int64_t hi) {
    std::vector<int32_t> scratch;
    for (int64_t i = lo; i < hi; ++i) {
      const KnnFault fault = check_knn_row(index + i * k, distance + i * k, i, n, k, scratch);
      if (fault == KnnFault::none) continue;
      found[static_cast<size_t>(lo / block)] = {fault, i};
      return;
    }
  });
  for (const KnnCheck& f : found)
    if (f.fault != KnnFault::none) return f;
  return {};
}

template <class T>
struct EdgeList {
  explicit EdgeList(size_t most = 0) : edges(2 * most), weights(most), distances(most) {}

  Room<int32_t> edges;  // p × 2, i < j, lexicographic
  Room<float> weights;  // number of directions in which the pair was listed, 1 or 2
  Room<T> distances;    // of both directions, where both were listed: the smaller one, or their sum
};

enum class Both { smaller, sum };

template <class T>
struct Arc {
  int32_t end;
  T distance;
  bool operator<(const Arc& other) const {
    return end != other.end ? end < other.end : distance < other.distance;
  }
};

// Arcs that point from a higher row to a lower one, gathered at the lower one. Threads fill a bucket in any
// order; sorting it afterwards makes the outcome the same for any number of threads.
template <class T>
class ArcBuckets {
 public:
  ArcBuckets(const int32_t* index, const T* distance, int64_t n, int64_t k, int threads)
      : index_(index), distance_(distance), k_(k), start_(static_cast<size_t>(n) + 1, 0) {
    std::vector<std::atomic<int32_t>> fill(static_cast<size_t>(n));
    parallel_blocks(n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t a = i * k; a < (i + 1) * k; ++a)
          if (index[a] >= 0 && index[a] < i) fill[index[a]].fetch_add(1, std::memory_order_relaxed);
    });
    for (int64_t i = 0; i < n; ++i)
      start_[i + 1] = start_[i] + fill[i].exchange(0, std::memory_order_relaxed);
    arcs_.reset(new Arc<T>[static_cast<size_t>(start_[n])]);
    parallel_blocks(n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t a = i * k; a < (i + 1) * k; ++a) {
          const int32_t j = index[a];
          if (j < 0 || j >= i) continue;
          arcs_[start_[j] + fill[j].fetch_add(1, std::memory_order_relaxed)] = {static_cast<int32_t>(i),
                                                                                distance[a]};
        }
    });
  }

  // How many edges have their lower end in rows [lo, hi), at most: those listed in both directions count
  // twice.
  int64_t most_edges(int64_t lo, int64_t hi) const {
    int64_t count = start_[hi] - start_[lo];
    for (int64_t i = lo; i < hi; ++i)
      count += std::count_if(index_ + i * k_, index_ + (i + 1) * k_, [i](int32_t j) { return j > i; });
    return count;
  }

  // Writes the edges whose lower end is i at place `at` of the list; the place after them.
  int64_t merge(int64_t i, Both both, std::vector<Arc<T>>& scratch, EdgeList<T>& out, int64_t at) const {
    scratch.assign(arcs_.get() + start_[i], arcs_.get() + start_[i + 1]);
    for (int64_t a = i * k_; a < (i + 1) * k_; ++a)
      if (index_[a] > i) scratch.push_back({index_[a], distance_[a]});
    std::sort(scratch.begin(), scratch.end());
    int32_t* const edges = out.edges.data();
    float* const weights = out.weights.data();
    T* const distances = out.distances.data();
    for (size_t a = 0; a < scratch.size(); ++a) {
      if (a > 0 && scratch[a].end == scratch[a - 1].end) {
        weights[at - 1] = 2.0f;
        if (both == Both::sum) distances[at - 1] += scratch[a].distance;
        continue;
      }
      edges[2 * at] = static_cast<int32_t>(i);
      edges[2 * at + 1] = scratch[a].end;
      weights[at] = 1.0f;
      distances[at] = scratch[a].distance;
      ++at;
    }
    return at;
  }

  static constexpr int64_t kBlock = 4096;

 private:
  const int32_t* index_;
  const T* distance_;
  int64_t k_;
  std::vector<int64_t> start_;
  std::unique_ptr<Arc<T>[]> arcs_;
};

// Moves `count` values of a list from one place to an earlier one.
template <class T>
void move_down(T* values, int64_t to, int64_t from, int64_t count) {
  std::memmove(values + to, values + from, static_cast<size_t>(count) * sizeof(T));
}

// The undirected edges of checked neighbour lists (n × k, -1 for none).
template <class T>
EdgeList<T> symmetrize_knn(const int32_t* index, const T* distance, int64_t n, int64_t k, Both both,
                           int threads) {
  using Buckets = ArcBuckets<T>;
  const auto blocks = static_cast<size_t>((n + Buckets::kBlock - 1) / Buckets::kBlock);
  // Each block has room for as many edges as it can have; then all move together.
  std::vector<int64_t> begin(blocks + 1, 0), end(blocks, 0);
  EdgeList<T> all;
  {
    const Buckets buckets(index, distance, n, k, threads);
    for (size_t b = 0; b < blocks; ++b) {
      const int64_t lo = static_cast<int64_t>(b) * Buckets::kBlock;
      begin[b + 1] = begin[b] + buckets.most_edges(lo, std::min(n, lo + Buckets::kBlock));
    }
    all = EdgeList<T>(static_cast<size_t>(begin[blocks]));
    parallel_blocks(n, Buckets::kBlock, threads, [&](int64_t lo, int64_t hi) {
      const auto b = static_cast<size_t>(lo / Buckets::kBlock);
      std::vector<Arc<T>> scratch;
      int64_t at = begin[b];
      for (int64_t i = lo; i < hi; ++i) at = buckets.merge(i, both, scratch, all, at);
      end[b] = at;
    });
  }
  int64_t p = 0;
  for (size_t b = 0; b < blocks; ++b) {
    const int64_t count = end[b] - begin[b];
    move_down(all.edges.data(), 2 * p, 2 * begin[b], 2 * count);
    move_down(all.weights.data(), p, begin[b], count);
    move_down(all.distances.data(), p, begin[b], count);
    p += count;
  }
  all.edges.shrink(static_cast<size_t>(2 * p));
  all.weights.shrink(static_cast<size_t>(p));
  all.distances.shrink(static_cast<size_t>(p));
  return all;
}

// Compressed rows of the symmetric matrix of p sorted edges: for each entry its column and the edge it came
// from. One pass in edge order leaves every row sorted, since a row's lower ends come before its upper ends.
inline void edges_to_rows(const int32_t* edges, int64_t p, int64_t n, int32_t* indptr, int32_t* columns,
                          int32_t* edge) {
  std::fill(indptr, indptr + n + 1, 0);
  for (int64_t e = 0; e < 2 * p; ++e) ++indptr[edges[e] + 1];
  for (int64_t i = 0; i < n; ++i) indptr[i + 1] += indptr[i];
  std::vector<int32_t> next(indptr, indptr + n);
  for (int64_t e = 0; e < p; ++e) {
    const int32_t i = edges[2 * e], j = edges[2 * e + 1];
    const int32_t at_i = next[i]++, at_j = next[j]++;
    columns[at_i] = j;
    columns[at_j] = i;
    edge[at_i] = edge[at_j] = static_cast<int32_t>(e);
  }
}

}  // namespace winkel
