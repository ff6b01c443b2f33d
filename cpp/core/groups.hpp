// Groups of nodes of a graph: leaders, no two of which are neighbours, and those nodes that are tied to them
// most strongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace winkel {

// The group of each node, numbered in the order of their leaders' numbers. Nodes are asked in the order
// given: one none of whose neighbours leads yet becomes a leader. Rows are those of a symmetric matrix. Of
// leaders tied to a node equally, the first in its row has it.
inline void neighbor_groups(const int32_t* indptr, const int32_t* columns, const double* weights,
                            const int32_t* order, int64_t n, int32_t* group) {
  std::vector<char> follows(static_cast<size_t>(n), 0), leads(static_cast<size_t>(n), 0);
  for (int64_t o = 0; o < n; ++o) {
    const int64_t i = order[o];
    if (follows[static_cast<size_t>(i)]) continue;
    leads[static_cast<size_t>(i)] = 1;
    for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) follows[static_cast<size_t>(columns[e])] = 1;
  }
  int32_t count = 0;
  for (int64_t i = 0; i < n; ++i)
    if (leads[static_cast<size_t>(i)]) group[i] = count++;
  for (int64_t i = 0; i < n; ++i) {
    if (leads[static_cast<size_t>(i)]) continue;
    int64_t best = -1;
    for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
      if (leads[static_cast<size_t>(columns[e])] && (best < 0 || weights[e] > weights[best])) best = e;
    }
    // In a symmetric matrix there is one: this node was passed over for it.
    if (best < 0) throw std::invalid_argument("the matrix is not symmetric");
    group[i] = group[columns[best]];
  }
}

}  // namespace winkel
