// Shortest paths from one node: breadth-first where every edge has length 1, Dijkstra's algorithm otherwise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "rng.hpp"

namespace winkel {

// Compressed rows with edge lengths; no lengths means that all are 1.
struct Roads {
  const int32_t* indptr;
  const int32_t* indices;
  const double* lengths;
  int64_t n;
};

// A heap of nodes ordered by a distance array, four children a node; a node's distance may fall while it
// waits.
class NodeHeap {
 public:
  explicit NodeHeap(int64_t n) : place_(static_cast<size_t>(n), -1) {}

  bool empty() const { return heap_.empty(); }

  // Call after distance[node] was set or made smaller.
  void push(int32_t node, const double* distance) {
    if (place_[node] < 0) {
      place_[node] = static_cast<int32_t>(heap_.size());
      heap_.push_back(node);
    }
    rise(place_[node], distance);
  }

  int32_t pop(const double* distance) {
    const int32_t top = heap_[0];
    place_[top] = -1;
    const int32_t last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last, distance);
    return top;
  }

 private:
  void put(int64_t at, int32_t node) {
    heap_[at] = node;
    place_[node] = static_cast<int32_t>(at);
  }

  void rise(int64_t at, const double* distance) {
    const int32_t node = heap_[at];
    while (at > 0) {
      const int64_t up = (at - 1) / 4;
      if (!(distance[node] < distance[heap_[up]])) break;
      put(at, heap_[up]);
      at = up;
    }
    put(at, node);
  }

  // Fills the empty root with `node` by moving smaller children up.
  void sink(int32_t node, const double* distance) {
    const int64_t size = static_cast<int64_t>(heap_.size());
    int64_t at = 0;
    for (int64_t child = 1; child < size; child = 4 * at + 1) {
      const int64_t end = std::min(child + 4, size);
      int64_t least = child;
      for (int64_t c = child + 1; c < end; ++c)
        if (distance[heap_[c]] < distance[heap_[least]]) least = c;
      if (!(distance[heap_[least]] < distance[node])) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, node);
  }

  std::vector<int32_t> heap_;
  std::vector<int32_t> place_;
};

// One thread's search: after run(), reached() lists the nodes within the limit and distance() their
// distances.
class PathSearch {
 public:
  explicit PathSearch(int64_t n)
      : distance_(static_cast<size_t>(n), std::numeric_limits<double>::infinity()), heap_(n) {}

  void run(const Roads& roads, int32_t source, double limit) {
    for (int32_t i : touched_) distance_[i] = std::numeric_limits<double>::infinity();
    touched_.assign(1, source);
    reached_.clear();
    distance_[source] = 0.0;
    if (roads.lengths == nullptr)
      breadth_first(roads, limit);
    else
      dijkstra(roads, source, limit);
  }

  const std::vector<int32_t>& reached() const { return reached_; }
  double distance(int64_t i) const { return distance_[i]; }

 private:
  void breadth_first(const Roads& roads, double limit) {
    for (size_t at = 0; at < touched_.size(); ++at) {
      if (at % 4096 == 0) poll();
      const int32_t i = touched_[at];
      const double next = distance_[i] + 1.0;
      if (next > limit) break;
      for (int32_t e = roads.indptr[i]; e < roads.indptr[i + 1]; ++e) {
        const int32_t j = roads.indices[e];
        if (distance_[j] != std::numeric_limits<double>::infinity()) continue;
        distance_[j] = next;
        touched_.push_back(j);
      }
    }
    reached_ = touched_;
  }

  void dijkstra(const Roads& roads, int32_t source, double limit) {
    heap_.push(source, distance_.data());
    while (!heap_.empty()) {
      if (reached_.size() % 1024 == 0) poll();
      const int32_t i = heap_.pop(distance_.data());
      reached_.push_back(i);
      for (int32_t e = roads.indptr[i]; e < roads.indptr[i + 1]; ++e) {
        const int32_t j = roads.indices[e];
        const double next = distance_[i] + roads.lengths[e];
        if (next > limit || !(next < distance_[j])) continue;
        if (distance_[j] == std::numeric_limits<double>::infinity()) touched_.push_back(j);
        distance_[j] = next;
        heap_.push(j, distance_.data());
      }
    }
  }

  std::vector<double> distance_;
  std::vector<int32_t> touched_, reached_;
  NodeHeap heap_;
};

// Runs use(search, s) after a search from each sources[s]; a task keeps one search for several sources.
template <class Use>
void search_each(const Roads& roads, const int32_t* sources, int64_t m, double limit, int threads,
                 const Use& use) {
  // Few tasks, since each makes arrays of size n, but enough to share the work out evenly.
  const int64_t block = std::max<int64_t>(1, m / (16 * std::max(threads, 1)));
  parallel_blocks(m, block, threads, [&](int64_t lo, int64_t hi) {
    PathSearch search(roads.n);
    for (int64_t s = lo; s < hi; ++s) {
      poll();
      search.run(roads, sources[s], limit);
      use(search, s);
    }
  });
}

// Distances from each source to every node, m × n, infinite where there is no path within the limit.
template <class T>
void path_matrix(const Roads& roads, const int32_t* sources, int64_t m, double limit, int threads, T* out) {
  search_each(roads, sources, m, limit, threads, [&](const PathSearch& search, int64_t s) {
    T* row = out + s * roads.n;
    for (int64_t i = 0; i < roads.n; ++i) row[i] = static_cast<T>(search.distance(i));
  });
}

struct PathPairs {
  std::vector<int32_t> pairs;
  std::vector<double> distances;
};

// Pairs {source, node} joined by a path within the limit, each kept with probability `share` by a draw that
// belongs to the pair. A pair of two sources is met twice and taken from its lower end.
inline PathPairs path_pairs(const Roads& roads, const int32_t* sources, int64_t m, double limit, double share,
                            uint64_t seed, int threads) {
  std::vector<uint8_t> is_source(static_cast<size_t>(roads.n), 0);
  for (int64_t s = 0; s < m; ++s) is_source[sources[s]] = 1;
  std::vector<PathPairs> found(static_cast<size_t>(m));
  search_each(roads, sources, m, limit, threads, [&](const PathSearch& search, int64_t s) {
    const int32_t i = sources[s];
    const Random rng(seed, static_cast<uint64_t>(i));
    for (int32_t j : search.reached()) {
      if (j == i || (is_source[j] && j < i)) continue;
      if (share < 1.0 && rng.uniform(static_cast<uint64_t>(j)) >= share) continue;
      found[s].pairs.push_back(std::min(i, j));
      found[s].pairs.push_back(std::max(i, j));
      found[s].distances.push_back(search.distance(j));
    }
  });
  size_t p = 0;
  for (const PathPairs& f : found) p += f.distances.size();
  PathPairs all;
  all.pairs.reserve(2 * p);
  all.distances.reserve(p);
  for (PathPairs& f : found) {
    all.pairs.insert(all.pairs.end(), f.pairs.begin(), f.pairs.end());
    all.distances.insert(all.distances.end(), f.distances.begin(), f.distances.end());
    f = PathPairs();
  }
  return all;
}

}  // namespace winkel
