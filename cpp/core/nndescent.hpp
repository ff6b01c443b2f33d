// Approximate nearest neighbours: random-projection trees, then nn-descent (Dong, Moses and Li, WWW 2011):
// the neighbours of a point's neighbours are compared with each other, all at once in tiles. Every choice is
// a function of the seed and of the lists at the start of a round, and lists do not depend on the order of
// offers, so the result has the same bytes for any number of threads.
#pragma once

#include <algorithm>
#include <numeric>
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
    sample_candidates(threads);
    std::vector<Joiner> joiners(static_cast<size_t>(threads), Joiner(x_));
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      Joiner& joiner = joiners[static_cast<size_t>(thread_id())];
      std::vector<int32_t> ids(static_cast<size_t>(2 * n_candidates_));
      for (int64_t i = lo; i < hi; ++i) {
        const int n_new = new_.copy(i, ids.data());
        const int n_all = n_new + old_.copy(i, ids.data() + n_new);
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
    new_ = old_ = Candidates();
    LargeVector<int64_t>().swap(last_new_);
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
  static constexpr int64_t kBlock = 256, kParts = 4;

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

  // Candidates of every row, at most `width`, with what is left of their keys: four bytes each.
  struct Candidates {
    LargeVector<int32_t> ids, count;
    size_t width = 0;

    void resize(size_t rows, size_t columns) {
      width = columns;
      ids.resize(rows * columns);
      count.resize(rows);
    }
    int copy(int64_t i, int32_t* to) const {
      const auto row = static_cast<size_t>(i);
      std::copy_n(ids.data() + row * width, count[row], to);
      return count[row];
    }
    // Row i from the keys of a list.
    void take(int64_t i, const int64_t* keys) {
      int32_t* const to = ids.data() + static_cast<size_t>(i) * width;
      int32_t taken = 0;
      for (; taken < static_cast<int32_t>(width) && keys[taken] != BoundedLists::kEmpty; ++taken)
        to[taken] = static_cast<int32_t>(keys[taken] & 0xffffffffu);
      count[static_cast<size_t>(i)] = taken;
    }
  };

  // Up to n_candidates new and old neighbours of every point, in either direction, chosen by a hash of the
  // pair. For a part of the points at a time: while they are chosen, keys take twice the room of what is
  // kept.
  void sample_candidates(int threads) {
    const auto n = static_cast<size_t>(x_.n);
    new_.resize(n, static_cast<size_t>(n_candidates_));
    old_.resize(n, static_cast<size_t>(n_candidates_));
    last_new_.resize(n);
    const uint64_t salt = mix64(seed_ + 0x9E3779B97F4A7C15ull * ++n_rounds_);
    const int64_t part = (x_.n + kParts - 1) / kParts;
    {
      BoundedLists to_new(part, n_candidates_), to_old(part, n_candidates_);
      for (int64_t first = 0; first < x_.n; first += part) {
        if (first > 0) to_new.clear(threads), to_old.clear(threads);
        sample_part(first, std::min(x_.n, first + part), salt, to_new, to_old, threads);
      }
    }
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        int64_t* keys = lists_.row(i);
        for (int s = 0; s < lists_.width() && keys[s] != BoundedLists::kEmpty; ++s) {
          if (!(keys[s] & NeighborKey::kNew)) continue;
          const int64_t j = NeighborKey::index(keys[s], i, x_.n);
          if ((pair_priority(salt, i, j) | j) <= last_new_[static_cast<size_t>(i)])
            keys[s] &= ~NeighborKey::kNew;
        }
      }
    });
  }

  // The candidates of points [first, last), by way of empty lists.
  void sample_part(int64_t first, int64_t last, uint64_t salt, BoundedLists& to_new, BoundedLists& to_old,
                   int threads) {
    const auto inside = [=](int64_t i) { return i >= first && i < last; };
    parallel_regions(x_.n, kBlock, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t* keys = lists_.row(i);
        for (int s = 0; s < lists_.width() && keys[s] != BoundedLists::kEmpty; ++s) {
          const int64_t j = NeighborKey::index(keys[s], i, x_.n);
          if (!inside(i) && !inside(j)) continue;
          BoundedLists& to = (keys[s] & NeighborKey::kNew) ? to_new : to_old;
          const int64_t priority = pair_priority(salt, i, j);
          if (inside(i)) to.offer(i - first, priority | j);
          if (inside(j)) to.offer(j - first, priority | i);
        }
      }
    });
    parallel_blocks(last - first, 4096, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        new_.take(first + r, to_new.row(r));
        old_.take(first + r, to_old.row(r));
        last_new_[static_cast<size_t>(first + r)] = to_new.last(r);
      }
    });
  }

  static int64_t pair_priority(uint64_t salt, int64_t i, int64_t j) {
    const uint64_t a = static_cast<uint64_t>(std::min(i, j)), b = static_cast<uint64_t>(std::max(i, j));
    return static_cast<int64_t>((mix64(salt ^ ((a << 32) | b)) >> 33) << 32);
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
  Candidates new_, old_;           // from the first round on
  LargeVector<int64_t> last_new_;  // the largest key among the new candidates of each point
  uint64_t n_trees_ = 0, n_rounds_ = 0;
};

}  // namespace winkel
