// Mutual reachability in neighbour lists: which arcs i -> j can be answered by a walk of at most s arcs j ->
// i.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace winkel {

// Arcs grouped by the node they point to; an arc is its place in the n × k lists.
struct ArcsByEnd {
  std::vector<int64_t> start;
  std::vector<int64_t> arc;

  ArcsByEnd(const int32_t* index, int64_t n, int64_t k)
      : start(static_cast<size_t>(n) + 1, 0), arc(static_cast<size_t>(n * k)) {
    for (int64_t a = 0; a < n * k; ++a)
      if (index[a] >= 0) ++start[index[a] + 1];
    for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    for (int64_t a = 0; a < n * k; ++a)
      if (index[a] >= 0) arc[next[index[a]]++] = a;
  }
};

// Breadth-first search along the lists, forgotten in time proportional to what it reached.
class Reach {
 public:
  explicit Reach(int64_t n) : seen_(static_cast<size_t>(n), 0) {}

  void run(const int32_t* index, int64_t k, int32_t source, int64_t steps) {
    for (int32_t i : reached_) seen_[i] = 0;
    reached_.assign(1, source);
    seen_[source] = 1;
    size_t begin = 0;
    for (int64_t s = 0; s < steps && begin < reached_.size(); ++s) {
      const size_t end = reached_.size();
      for (; begin < end; ++begin) expand(index + reached_[begin] * k, k);
    }
  }

  bool contains(int64_t i) const { return seen_[i] != 0; }

 private:
  void expand(const int32_t* row, int64_t k) {
    for (int64_t c = 0; c < k && row[c] >= 0; ++c)
      if (!seen_[row[c]]) {
        seen_[row[c]] = 1;
        reached_.push_back(row[c]);
      }
  }

  std::vector<uint8_t> seen_;
  std::vector<int32_t> reached_;
};

// Sets keep[a] for each arc a = (i -> j) of the lists for which i is within `steps` arcs of j.
inline void mutual_arcs(const int32_t* index, int64_t n, int64_t k, int64_t steps, int threads,
                        uint8_t* keep) {
  const ArcsByEnd into(index, n, k);
  parallel_blocks(n, (n + 63) / 64, threads, [&](int64_t lo, int64_t hi) {
    Reach reach(n);
    for (int64_t j = lo; j < hi; ++j) {
      if (into.start[j] == into.start[j + 1]) continue;
      poll();
      reach.run(index, k, static_cast<int32_t>(j), steps);
      for (int64_t e = into.start[j]; e < into.start[j + 1]; ++e)
        if (reach.contains(into.arc[e] / k)) keep[into.arc[e]] = 1;
    }
  });
}

// Sets keep[a] for each arc of the lists, in either direction, that lies on one of the p edges.
inline void arcs_on_edges(const int32_t* index, int64_t k, const int32_t* edges, int64_t p, uint8_t* keep) {
  for (int64_t e = 0; e < 2 * p; ++e) {
    const int64_t i = edges[e], j = edges[e ^ 1];
    for (int64_t a = i * k; a < (i + 1) * k; ++a)
      if (index[a] == j) keep[a] = 1;
  }
}

}  // namespace winkel
