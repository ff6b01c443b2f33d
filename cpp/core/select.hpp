// The k best candidates of a row by true distance, ties by cyclic index distance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace winkel {

class Selection {
 public:
  // `origin` is the row that searches (its own number), or -1 when it is not one of the n points.
  Selection(int64_t origin, int64_t n) : origin_(origin), n_(n) {}

  void add(double distance, int64_t j) {
    found_.emplace_back(distance, j > origin_ ? j - origin_ : j - origin_ + n_);
  }

  // Writes the k nearest, nearest first; missing ones are -1 at infinity.
  template <class T>
  void write(int64_t k, int32_t* index, T* distance) {
    const int64_t have = std::min<int64_t>(k, static_cast<int64_t>(found_.size()));
    std::partial_sort(found_.begin(), found_.begin() + have, found_.end());
    for (int64_t s = 0; s < k; ++s) {
      const bool there = s < have;
      index[s] = there ? static_cast<int32_t>((origin_ + found_[static_cast<size_t>(s)].second) % n_) : -1;
      distance[s] =
          there ? static_cast<T>(found_[static_cast<size_t>(s)].first) : std::numeric_limits<T>::infinity();
    }
  }

 private:
  int64_t origin_, n_;
  std::vector<std::pair<double, int64_t>> found_;
};

}  // namespace winkel
