// Approximate nearest neighbours: random-projection trees, then nn-descent (Dong, Moses and Li, WWW 2011):
// the neighbours of a point's neighbours are compared with each other, all at once in tiles. Every choice is
// a function of the seed and of the lists at the start of a round, and lists do not depend on the order of
// offers, so the result has the same bytes for any number of threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "join.hpp"
#include "parallel.hpp"
#include "rng.hpp"
#include "rp_tree.hpp"

namespace winkel {

class NeighborDescent {
 public:
  // `sketch` are the points as the trees see them: the points themselves or a projection to fewer
  // coordinates. Points are kept in the order of a first tree, so that near points are near in memory too.
  NeighborDescent(const Points& x, const float* sketch, int n_sketch, int width, int n_candidates,
                  int64_t leaf_size, uint64_t seed, int threads)
      : n_sketch_(n_sketch),
        leaf_size_(leaf_size),
        seed_(seed),
        tree_(build_rp_tree(sketch, x.n, n_sketch, leaf_size, seed, 0, threads)),
        order_(tree_.order),
        place_(order_.size()),
        data_(in_order(x.data, x.n_features)),
        sketch_(sketch == x.data ? LargeVector<float>() : in_order(sketch, n_sketch)),
        norm_(in_order(x.norm, 1)),
        x_{data_.data(), norm_.data(), x.n, x.n_features, x.metric},
        lists_(x.n, width),
        n_candidates_(n_candidates) {
    for (size_t i = 0; i < order_.size(); ++i)
      place_[static_cast<size_t>(order_[i])] = static_cast<int32_t>(i);
    std::iota(tree_.order.begin(), tree_.order.end(), 0);
    join_leaves(threads);
  }

  // Grows one more tree and compares all pairs within its leaves.
  void grow_tree(int threads) {
    const float* sketch = sketch_.empty() ? data_.data() : sketch_.data();
    tree_ = build_rp_tree(sketch, x_.n, n_sketch_, leaf_size_, seed_, ++n_trees_, threads);
    join_leaves(threads);
  }

  // One round; returns how many list entries are new, found in it or not yet looked at. (How many offers were
  // taken on the way would depend on their order, and so on the threads.)
  int64_t round(int threads) {
    if (!new_) {
      new_.emplace(x_.n, n_candidates_);
      old_.emplace(x_.n, n_candidates_);
    }
    sample_candidates(threads);
    std::vector<Joiner> joiners(static_cast<size_t>(threads), Joiner(x_));
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      Joiner& joiner = joiners[static_cast<size_t>(thread_id())];
      std::vector<int32_t> ids(static_cast<size_t>(2 * n_candidates_));
      for (int64_t i = lo; i < hi; ++i) {
        const int n_new = unpack(new_->row(i), ids.data());
        const int n_all = n_new + unpack(old_->row(i), ids.data() + n_new);
        if (n_new > 0) joiner.run(ids.data(), n_new, n_all, lists_);
      }
    });
    return parallel_count(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      int64_t count = 0;
      for (int64_t i = lo; i < hi; ++i)
        count += std::count_if(lists_.row(i), lists_.row(i) + lists_.width(), [](int64_t key) {
          return key != BoundedLists::kEmpty && (key & NeighborKey::kNew) != 0;
        });
      return count;
    });
  }

  // Frees what only further trees and rounds need: no more can follow.
  void finish() {
    new_.reset();
    old_.reset();
    LargeVector<float>().swap(data_);
    LargeVector<float>().swap(sketch_);
    tree_ = RpTree();
  }

  bool finished() const { return data_.empty(); }
  size_t size() const { return order_.size(); }
  size_t width() const { return static_cast<size_t>(lists_.width()); }

  // Neighbours of the caller's row r by the caller's numbers, nearest first, -1 where there are none.
  void peek(int64_t r, int32_t* index) const {
    const int64_t i = place_[static_cast<size_t>(r)];
    for (int s = 0; s < lists_.width(); ++s) {
      const int64_t key = lists_.row(i)[s];
      index[s] =
          key == BoundedLists::kEmpty ? -1 : order_[static_cast<size_t>(NeighborKey::index(key, i, x_.n))];
    }
  }

 private:
  static constexpr int64_t kBlock = 256;

  LargeVector<float> in_order(const float* rows, int n_columns) const {
    LargeVector<float> copy(order_.size() * static_cast<size_t>(n_columns));
    for (size_t i = 0; i < order_.size(); ++i)
      std::copy_n(rows + int64_t{order_[i]} * n_columns, n_columns,
                  copy.data() + i * static_cast<size_t>(n_columns));
    return copy;
  }

  void join_leaves(int threads) {
    std::vector<Joiner> joiners(static_cast<size_t>(threads), Joiner(x_));
    parallel_regions(static_cast<int64_t>(tree_.leaves.size()) - 1, 1, threads, [&](int64_t leaf, int64_t) {
      const int64_t lo = tree_.leaves[static_cast<size_t>(leaf)],
                    hi = tree_.leaves[static_cast<size_t>(leaf) + 1];
      const int size = static_cast<int>(hi - lo);
      joiners[static_cast<size_t>(thread_id())].run(tree_.order.data() + lo, size, size, lists_);
    });
  }

  // Up to n_candidates new and old neighbours of every point, in either direction, chosen by a hash of the
  // pair.
  void sample_candidates(int threads) {
    new_->clear(threads);
    old_->clear(threads);
    const uint64_t salt = mix64(seed_ + 0x9E3779B97F4A7C15ull * ++n_rounds_);
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t* keys = lists_.row(i);
        for (int s = 0; s < lists_.width() && keys[s] != BoundedLists::kEmpty; ++s) {
          const int64_t j = NeighborKey::index(keys[s], i, x_.n);
          BoundedLists& to = (keys[s] & NeighborKey::kNew) ? *new_ : *old_;
          const int64_t priority = pair_priority(salt, i, j);
          to.offer(i, priority | j);
          to.offer(j, priority | i);
        }
      }
    });
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        int64_t* keys = lists_.row(i);
        for (int s = 0; s < lists_.width() && keys[s] != BoundedLists::kEmpty; ++s) {
          if (!(keys[s] & NeighborKey::kNew)) continue;
          const int64_t j = NeighborKey::index(keys[s], i, x_.n);
          if ((pair_priority(salt, i, j) | j) <= new_->last(i)) keys[s] &= ~NeighborKey::kNew;
        }
      }
    });
  }

  static int64_t pair_priority(uint64_t salt, int64_t i, int64_t j) {
    const uint64_t a = static_cast<uint64_t>(std::min(i, j)), b = static_cast<uint64_t>(std::max(i, j));
    return static_cast<int64_t>((mix64(salt ^ ((a << 32) | b)) >> 33) << 32);
  }

  int unpack(const int64_t* keys, int32_t* ids) const {
    int count = 0;
    for (; count < n_candidates_ && keys[count] != BoundedLists::kEmpty; ++count)
      ids[count] = static_cast<int32_t>(keys[count] & 0xffffffffu);
    return count;
  }

  int n_sketch_;
  int64_t leaf_size_;
  uint64_t seed_;
  RpTree tree_;
  std::vector<int32_t> order_, place_;  // caller's number of a place, and place of a caller's number
  LargeVector<float> data_, sketch_, norm_;
  Points x_;
  BoundedLists lists_;
  int n_candidates_;
  std::optional<BoundedLists> new_, old_;  // from the first round on
  uint64_t n_trees_ = 0, n_rounds_ = 0;
};

}  // namespace winkel
