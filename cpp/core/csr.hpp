// Sparse graphs: neighbour lists to sorted edges, sorted edges to compressed rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/parallel.hpp"

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
  std::vector<int32_t> edges;  // p × 2, i < j, lexicographic
  std::vector<float> weights;  // number of directions in which the pair was listed, 1 or 2
  std::vector<T> distances;    // the smaller one where both directions were listed
};

template <class T>
struct Arc {
  int32_t end;
  T distance;
  bool operator<(const Arc& other) const {
    return end != other.end ? end < other.end : distance < other.distance;
  }
};

// Arcs of neighbour lists, gathered at their lower end. Threads fill a bucket in any order; sorting it
// afterwards makes the outcome the same for any number of threads.
template <class T>
class ArcBuckets {
 public:
  ArcBuckets(const int32_t* index, const T* distance, int64_t n, int64_t k, int threads)
      : start_(static_cast<size_t>(n) + 1, 0) {
    std::vector<std::atomic<int32_t>> fill(static_cast<size_t>(n));
    parallel_blocks(n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t a = lo * k; a < hi * k; ++a)
        if (index[a] >= 0) fill[std::min<int64_t>(a / k, index[a])].fetch_add(1, std::memory_order_relaxed);
    });
    for (int64_t i = 0; i < n; ++i)
      start_[i + 1] = start_[i] + fill[i].exchange(0, std::memory_order_relaxed);
    arcs_.resize(static_cast<size_t>(start_[n]));
    parallel_blocks(n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t a = i * k; a < (i + 1) * k; ++a) {
          const int64_t j = index[a];
          if (j < 0) continue;
          const int64_t low = std::min(i, j);
          const int64_t slot = start_[low] + fill[low].fetch_add(1, std::memory_order_relaxed);
          arcs_[slot] = {static_cast<int32_t>(std::max(i, j)), distance[a]};
        }
    });
  }

  // Sorts bucket i and returns the number of different ends in it.
  int64_t sort(int64_t i) {
    std::sort(arcs_.begin() + start_[i], arcs_.begin() + start_[i + 1]);
    int64_t count = 0;
    for (int64_t a = start_[i]; a < start_[i + 1]; ++a)
      count += a == start_[i] || arcs_[a].end != arcs_[a - 1].end;
    return count;
  }

  // Writes the merged arcs of the sorted bucket i from place p on.
  void write(int64_t i, int64_t p, EdgeList<T>& out) const {
    for (int64_t a = start_[i]; a < start_[i + 1]; ++a) {
      if (a > start_[i] && arcs_[a].end == arcs_[a - 1].end) {
        out.weights[p - 1] += 1.0f;
        continue;
      }
      out.edges[2 * p] = static_cast<int32_t>(i);
      out.edges[2 * p + 1] = arcs_[a].end;
      out.weights[p] = 1.0f;
      out.distances[p] = arcs_[a].distance;
      ++p;
    }
  }

  static constexpr int64_t kBlock = 2048;

 private:
  std::vector<int64_t> start_;
  std::vector<Arc<T>> arcs_;
};

// The undirected edges of checked neighbour lists (n × k, -1 for none).
template <class T>
EdgeList<T> symmetrize_knn(const int32_t* index, const T* distance, int64_t n, int64_t k, int threads) {
  ArcBuckets<T> buckets(index, distance, n, k, threads);
  std::vector<int64_t> place(static_cast<size_t>(n) + 1, 0);
  parallel_blocks(n, buckets.kBlock, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) place[i + 1] = buckets.sort(i);
  });
  for (int64_t i = 0; i < n; ++i) place[i + 1] += place[i];
  EdgeList<T> out;
  out.edges.resize(static_cast<size_t>(2 * place[n]));
  out.weights.resize(static_cast<size_t>(place[n]));
  out.distances.resize(static_cast<size_t>(place[n]));
  parallel_blocks(n, buckets.kBlock, threads, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) buckets.write(i, place[i], out);
  });
  return out;
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
