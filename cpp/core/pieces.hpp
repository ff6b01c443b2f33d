// Pieces of a map: rows are linked when they are nearer than some times the larger of their distances to
// their k-th neighbours, and a piece is what links hold together. Exact: a tree of boxes finds every row
// within reach of another, and leaves out only boxes that are known to be of one piece with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "forest.hpp"
#include "parallel.hpp"

namespace winkel {

class PieceFinder {
 public:
  // Y holds n rows of m coordinates.
  PieceFinder(const double* Y, int64_t n, int64_t m, int threads) : n_(n), m_(m), threads_(threads) {
    rows_.resize(static_cast<size_t>(n));
    std::iota(rows_.begin(), rows_.end(), int32_t{0});
    split(Y, 0, n);
    points_.resize(static_cast<size_t>(n * m));
    for (int64_t r = 0; r < n; ++r)
      std::copy_n(Y + int64_t{rows_[static_cast<size_t>(r)]} * m, m, points_.data() + r * m);
    measure_boxes();
  }

  // For each row the smallest row of its piece; k is less than n.
  void find(int64_t k, double factor, int32_t* piece) {
    std::vector<int32_t> nearest(static_cast<size_t>(n_ * k));
    std::vector<double> reach(static_cast<size_t>(n_));
    parallel_blocks(n_, 256, threads_, [&](int64_t lo, int64_t hi) {
      Nearest found(k);
      for (int64_t r = lo; r < hi; ++r) {
        found.clear();
        search(0, r, found);
        reach[static_cast<size_t>(r)] = factor * factor * found.square.back();
        std::copy_n(found.row.data(), k, nearest.data() + r * k);
      }
    });
    DisjointSets sets(n_);
    for (int64_t r = 0; r < n_; ++r)
      for (int64_t e = r * k; e < (r + 1) * k; ++e)
        sets.join(static_cast<int32_t>(r), nearest[static_cast<size_t>(e)]);
    for (Box& box : boxes_) box.same = -1;
    for (int64_t r = 0; r < n_; ++r) {
      if (r % 4096 == 0) poll();
      join_within(0, static_cast<int32_t>(r), reach[static_cast<size_t>(r)], sets);
    }
    number(sets, piece);
  }

 private:
  static constexpr int64_t kLeaf = 16;

  // Rows begin to end in the order of the tree; both halves when it is no leaf. `same` is a row whose piece
  // is that of all rows in the box, or -1 as long as that is not known.
  struct Box {
    int64_t begin, end;
    int32_t left, right, same;
  };

  // The k nearest so far, nearest first.
  struct Nearest {
    explicit Nearest(int64_t k) : square(static_cast<size_t>(k)), row(static_cast<size_t>(k)) {}
    void clear() { std::fill(square.begin(), square.end(), std::numeric_limits<double>::infinity()); }
    void offer(double s, int32_t r) {
      size_t at = square.size() - 1;
      for (; at > 0 && square[at - 1] > s; --at) {
        square[at] = square[at - 1];
        row[at] = row[at - 1];
      }
      square[at] = s;
      row[at] = r;
    }
    std::vector<double> square;
    std::vector<int32_t> row;
  };

  int32_t split(const double* Y, int64_t begin, int64_t end) {
    const auto at = static_cast<int32_t>(boxes_.size());
    boxes_.push_back({begin, end, -1, -1, -1});
    if (end - begin <= kLeaf) return at;
    const int64_t axis = widest(Y, begin, end), middle = (begin + end) / 2;
    const auto first = rows_.begin();
    std::nth_element(first + begin, first + middle, first + end, [&](int32_t a, int32_t b) {
      const double x = Y[a * m_ + axis], y = Y[b * m_ + axis];
      return x < y || (x == y && a < b);
    });
    const int32_t left = split(Y, begin, middle), right = split(Y, middle, end);
    boxes_[static_cast<size_t>(at)].left = left;
    boxes_[static_cast<size_t>(at)].right = right;
    return at;
  }

  int64_t widest(const double* Y, int64_t begin, int64_t end) const {
    int64_t axis = 0;
    double width = -1.0;
    for (int64_t c = 0; c < m_; ++c) {
      double low = Y[int64_t{rows_[static_cast<size_t>(begin)]} * m_ + c], high = low;
      for (int64_t r = begin + 1; r < end; ++r) {
        const double x = Y[int64_t{rows_[static_cast<size_t>(r)]} * m_ + c];
        low = std::min(low, x);
        high = std::max(high, x);
      }
      if (high - low > width) {
        width = high - low;
        axis = c;
      }
    }
    return axis;
  }

  // Lowest and highest corner of every box; children stand after their parents.
  void measure_boxes() {
    corners_.resize(boxes_.size() * static_cast<size_t>(2 * m_));
    for (size_t b = boxes_.size(); b-- > 0;) {
      const Box& box = boxes_[b];
      double* corner = corners_.data() + b * static_cast<size_t>(2 * m_);
      for (int64_t c = 0; c < m_; ++c) {
        double &low = corner[c], &high = corner[m_ + c];
        if (box.left >= 0) {
          low = std::min(corner_of(box.left)[c], corner_of(box.right)[c]);
          high = std::max(corner_of(box.left)[m_ + c], corner_of(box.right)[m_ + c]);
          continue;
        }
        low = high = points_[static_cast<size_t>(box.begin * m_ + c)];
        for (int64_t r = box.begin + 1; r < box.end; ++r) {
          low = std::min(low, points_[static_cast<size_t>(r * m_ + c)]);
          high = std::max(high, points_[static_cast<size_t>(r * m_ + c)]);
        }
      }
    }
  }

  const double* corner_of(int32_t b) const { return corners_.data() + int64_t{b} * 2 * m_; }

  double square(int64_t a, int64_t b) const {
    double sum = 0.0;
    for (int64_t c = 0; c < m_; ++c) {
      const double x = points_[static_cast<size_t>(a * m_ + c)] - points_[static_cast<size_t>(b * m_ + c)];
      sum += x * x;
    }
    return sum;
  }

  // Squared distance of a row to a box, 0 inside.
  double square_to(int32_t b, int64_t r) const {
    const double *corner = corner_of(b), *y = points_.data() + r * m_;
    double sum = 0.0;
    for (int64_t c = 0; c < m_; ++c) {
      const double x = std::max(std::max(corner[c] - y[c], y[c] - corner[m_ + c]), 0.0);
      sum += x * x;
    }
    return sum;
  }

  void search(int32_t b, int64_t r, Nearest& found) const {
    const Box& box = boxes_[static_cast<size_t>(b)];
    if (box.left < 0) {
      for (int64_t other = box.begin; other < box.end; ++other) {
        if (other == r) continue;
        const double s = square(r, other);
        if (s < found.square.back()) found.offer(s, static_cast<int32_t>(other));
      }
      return;
    }
    const double left = square_to(box.left, r), right = square_to(box.right, r);
    const bool first = left < right || (left == right && r < boxes_[static_cast<size_t>(box.right)].begin);
    if ((first ? left : right) < found.square.back()) search(first ? box.left : box.right, r, found);
    if ((first ? right : left) < found.square.back()) search(first ? box.right : box.left, r, found);
  }

  // Joins a row with all rows of a box within reach.
  void join_within(int32_t b, int32_t r, double reach, DisjointSets& sets) {
    Box& box = boxes_[static_cast<size_t>(b)];
    if (box.same >= 0 && sets.find(box.same) == sets.find(r)) return;
    if (square_to(b, r) > reach) return;
    if (box.left >= 0) {
      const bool left = r < boxes_[static_cast<size_t>(box.right)].begin;  // its own side first
      join_within(left ? box.left : box.right, r, reach, sets);
      join_within(left ? box.right : box.left, r, reach, sets);
      const int32_t x = boxes_[static_cast<size_t>(box.left)].same,
                    y = boxes_[static_cast<size_t>(box.right)].same;
      if (box.same < 0 && x >= 0 && y >= 0 && sets.find(x) == sets.find(y)) box.same = x;
      return;
    }
    bool same = true;
    for (int64_t other = box.begin; other < box.end; ++other) {
      const auto o = static_cast<int32_t>(other);
      if (square(r, other) <= reach) sets.join(r, o);
      same = same && sets.find(o) == sets.find(static_cast<int32_t>(box.begin));
    }
    if (same) box.same = static_cast<int32_t>(box.begin);
  }

  void number(DisjointSets& sets, int32_t* piece) const {
    std::vector<int32_t> smallest(static_cast<size_t>(n_), std::numeric_limits<int32_t>::max());
    for (int64_t r = 0; r < n_; ++r) {
      int32_t& least = smallest[static_cast<size_t>(sets.find(static_cast<int32_t>(r)))];
      least = std::min(least, rows_[static_cast<size_t>(r)]);
    }
    for (int64_t r = 0; r < n_; ++r)
      piece[rows_[static_cast<size_t>(r)]] =
          smallest[static_cast<size_t>(sets.find(static_cast<int32_t>(r)))];
  }

  int64_t n_, m_;
  int threads_;
  std::vector<int32_t> rows_;   // in the order of the tree
  std::vector<double> points_;  // in the order of the tree
  std::vector<Box> boxes_;
  std::vector<double> corners_;
};

}  // namespace winkel
