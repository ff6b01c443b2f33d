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
  Selection(int64_t origin, int64_t n, int64_t k) : origin_(origin), n_(n), k_(static_cast<size_t>(k)) {
    found_.reserve(k_);
  }

  void add(double distance, int64_t j) {
    const std::pair<double, int64_t> item(distance, j > origin_ ? j - origin_ : j - origin_ + n_);
    if (found_.size() == k_) {  // a heap, farthest first
      if (k_ == 0 || item >= found_.front()) return;
      std::pop_heap(found_.begin(), found_.end());
      found_.back() = item;
    } else {
      found_.push_back(item);
    }
    std::push_heap(found_.begin(), found_.end());
  }

  // Writes the k nearest, nearest first; missing ones are -1 at infinity.
  template <class T>
  void write(int32_t* index, T* distance) {
    std::sort_heap(found_.begin(), found_.end());
    for (size_t s = 0; s < k_; ++s) {
      const bool there = s < found_.size();
      index[s] = there ? static_cast<int32_t>((origin_ + found_[s].second) % n_) : -1;
      distance[s] = there ? static_cast<T>(found_[s].first) : std::numeric_limits<T>::infinity();
    }
  }

 private:
  int64_t origin_, n_;
  size_t k_;
  std::vector<std::pair<double, int64_t>> found_;
};

}  // namespace winkel
