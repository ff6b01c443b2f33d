// Sets that grow together: connected components and spanning forests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace winkel {

// Disjoint sets whose root is their smallest member.
class DisjointSets {
 public:
  explicit DisjointSets(int64_t n) : parent_(static_cast<size_t>(n)) {
    std::iota(parent_.begin(), parent_.end(), int32_t{0});
  }

  int32_t find(int32_t i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }

  // True when i and j were in different sets, which are then one.
  bool join(int32_t i, int32_t j) {
    const int32_t a = find(i), b = find(j);
    if (a == b) return false;
    parent_[a < b ? b : a] = a < b ? a : b;
    return true;
  }

 private:
  std::vector<int32_t> parent_;
};

// For each node the smallest node of its component.
inline void component_roots(const int32_t* edges, int64_t p, int64_t n, int32_t* root) {
  DisjointSets sets(n);
  for (int64_t e = 0; e < p; ++e) sets.join(edges[2 * e], edges[2 * e + 1]);
  for (int64_t i = 0; i < n; ++i) root[i] = sets.find(static_cast<int32_t>(i));
}

// The edges that Kruskal's algorithm keeps when it is offered them in the given order.
inline std::vector<int64_t> spanning_forest(const int32_t* edges, const int64_t* order, int64_t p,
                                            int64_t n) {
  DisjointSets sets(n);
  std::vector<int64_t> kept;
  for (int64_t r = 0; r < p && static_cast<int64_t>(kept.size()) < n - 1; ++r) {
    const int64_t e = order[r];
    if (sets.join(edges[2 * e], edges[2 * e + 1])) kept.push_back(e);
  }
  return kept;
}

}  // namespace winkel
