// Eigenvectors of symmetric matrices, up to some thousand columns, whose bytes depend on nothing but the
// matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "algebra.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

namespace eigen {

// A rotation of two rows that follow each other.
struct Turn {
  int64_t row;
  double c, s;
};

// So many rotations, one after the other, of the first `width` entries of rows that are `stride` apart.
WINKEL_CLONES void turn_rows(const Turn* turns, int64_t count, double* data, int64_t stride, int64_t width) {
  for (int64_t t = 0; t < count; ++t) {
    const double c = turns[t].c, s = turns[t].s;
    double* __restrict x = data + turns[t].row * stride;
    double* __restrict y = x + stride;
    for (int64_t k = 0; k < width; ++k) {
      const double a = x[k], b = y[k];
      x[k] = c * a - s * b;
      y[k] = s * a + c * b;
    }
  }
}

constexpr int64_t kStrip = 32;  // columns that all rotations of a batch go over while they are in the cache
constexpr int64_t kBatch = 1 << 15;  // rotations
constexpr int64_t kRows = 128;       // rows of a block whose share of a product is summed by itself

}  // namespace eigen

// The `count` largest eigenvalues of a symmetric matrix (n x n), ascending, and their eigenvectors, one a row
// of `vectors`: reflections to a tridiagonal matrix, then rotations that make it diagonal (QL with implicit
// shifts). False if these do not come to an end.
class SymmetricEigen {
 public:
  SymmetricEigen(const double* matrix, int64_t n, int threads)
      : n_(n), threads_(threads), a_(matrix, matrix + n * n), diagonal_(size()), off_(size() + 1) {}

  bool run(int64_t count, double* values, double* vectors) {
    to_tridiagonal();
    // Few vectors: the rotations are kept and go backwards over these alone. Many: over all, batch by batch.
    const bool few = 4 * count <= n_;
    if (!few) {
      basis_.assign(size() * size(), 0.0);
      for (int64_t i = 0; i < n_; ++i) basis_[at(i * n_ + i)] = 1.0;
      reflect(basis_.data(), n_, true);
    }
    if (!to_diagonal(few)) return false;
    std::vector<int64_t> order(size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t i, int64_t j) { return diagonal_[at(i)] < diagonal_[at(j)]; });
    order.erase(order.begin(), order.end() - count);
    for (int64_t i = 0; i < count; ++i) values[i] = diagonal_[at(order[at(i)])];
    if (few) {
      turn_back(order, vectors);
      reflect(vectors, count, false);
    } else {
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(basis_.data() + order[at(i)] * n_, n_, vectors + i * n_);
    }
    return true;
  }

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }
  size_t size() const { return at(n_); }
  double* row(int64_t i) { return a_.data() + i * n_; }

  // Row k of the matrix becomes (…, off, 0, …) beside its diagonal by the reflection I - scale v v^T, for v =
  // the entries behind the diagonal; v stays in that row and its scale in scales_. Only the upper half is
  // kept. What a reflection does to the rows behind it is done when the next one reads them.
  void to_tridiagonal() {
    scales_.assign(size(), 0.0);
    image_.assign(size(), 0.0);
    before_.assign(size(), 0.0);
    const auto add = kernel<algebra::add_multiple>();
    const auto dot = kernel<algebra::dot>();
    int64_t pending = -1;  // the row whose reflection is still to be done
    for (int64_t k = 0; k + 1 < n_; ++k) {
      poll();
      if (pending >= 0) finish_row(pending, k, before_.data());
      const int64_t first = k + 1, count = n_ - first;
      double* v = row(k) + first;
      diagonal_[at(k)] = row(k)[k];
      double largest = 0.0;
      for (int64_t j = 0; j < count; ++j) largest = std::max(largest, std::abs(v[j]));
      if (count == 1 || !(largest > 0.0)) {
        off_[at(k)] = v[0];
        v[0] = 0.0;
        if (pending >= 0)
          for (int64_t i = first; i < n_; ++i) finish_row(pending, i, before_.data());
        pending = -1;
        continue;
      }
      for (int64_t j = 0; j < count; ++j) v[j] /= largest;
      const double length = std::sqrt(dot(v, v, count)), target = v[0] > 0.0 ? -length : length;
      const double scale = 1.0 / (length * (length + std::abs(v[0])));
      off_[at(k)] = target * largest;
      v[0] -= target;
      scales_[at(k)] = scale;
      make_image(k, pending);
      double* image = image_.data() + first;
      for (int64_t i = 0; i < count; ++i) image[i] *= scale;
      const double half = 0.5 * scale * dot(image, v, count);
      add(-half, v, count, image);
      std::swap(image_, before_);
      pending = k;
    }
    if (pending >= 0) finish_row(pending, n_ - 1, before_.data());
    if (n_ > 0) diagonal_[at(n_ - 1)] = row(n_ - 1)[n_ - 1];
  }

  // What the reflection of row k, with its image, does to row i behind it.
  void finish_row(int64_t k, int64_t i, const double* image) {
    const auto add = kernel<algebra::add_multiple>();
    const double* v = row(k);
    add(-v[i], image + i, n_ - i, row(i) + i);
    add(-image[i], v + i, n_ - i, row(i) + i);
  }

  // image_ = A v for v in row k, from the upper half of the rows behind it, once the pending reflection is
  // done to them. Blocks of rows are summed by themselves and then added in their order.
  void make_image(int64_t k, int64_t pending) {
    const auto add = kernel<algebra::add_multiple>();
    const auto dot = kernel<algebra::dot>();
    const double* v = row(k);
    const int64_t first = k + 1, count = n_ - first, block = count < 4 * eigen::kRows ? count : eigen::kRows;
    const int64_t blocks = (count + block - 1) / block;
    shares_.resize(at(blocks * n_));
    parallel_blocks(count, block, dense::worthwhile(threads_, count * count), [&](int64_t lo, int64_t hi) {
      double* share = shares_.data() + lo / block * n_;
      std::fill(share + first + lo, share + n_, 0.0);
      for (int64_t i = first + lo; i < first + hi; ++i) {
        if (pending >= 0) finish_row(pending, i, before_.data());
        const double* line = row(i);
        share[i] += line[i] * v[i] + dot(line + i + 1, v + i + 1, n_ - i - 1);
        add(v[i], line + i + 1, n_ - i - 1, share + i + 1);
      }
    });
    std::copy(shares_.data() + first, shares_.data() + n_, image_.data() + first);
    for (int64_t b = 1; b < blocks; ++b) {
      const int64_t from = first + b * block;
      add(1.0, shares_.data() + b * n_ + from, n_ - from, image_.data() + from);
    }
  }

  // The reflections, from the last to the first, of so many rows; of `unit` vectors, row i has entries only
  // from i on.
  void reflect(double* rows, int64_t count, bool unit) {
    const auto add = kernel<algebra::add_multiple>();
    const auto dot = kernel<algebra::dot>();
    parallel_blocks(count, 16, dense::worthwhile(threads_, count * n_ * n_), [&](int64_t lo, int64_t hi) {
      for (int64_t k = n_ - 2; k >= 0; --k) {
        if (scales_[at(k)] == 0.0) continue;
        poll();
        const double* v = row(k) + k + 1;
        for (int64_t i = unit ? std::max(lo, k + 1) : lo; i < hi; ++i) {
          double* line = rows + i * n_ + k + 1;
          add(-scales_[at(k)] * dot(line, v, n_ - k - 1), v, n_ - k - 1, line);
        }
      }
    });
  }

  bool to_diagonal(bool keep) {
    constexpr double eps = std::numeric_limits<double>::epsilon();
    off_[size() > 0 ? size() - 1 : 0] = 0.0;
    // What is lost by taking an entry for zero is small against the whole matrix.
    double least = 0.0;
    for (int64_t i = 0; i < n_; ++i)
      least = std::max(least, eps * (std::abs(diagonal_[at(i)]) + std::abs(off_[at(i)])));
    for (int64_t l = 0; l < n_; ++l) {
      for (int pass = 0;; ++pass) {
        poll();
        if (!keep && static_cast<int64_t>(turns_.size()) >= eigen::kBatch) turn_basis();
        int64_t m = l;
        while (m + 1 < n_ && std::abs(off_[at(m)]) > least) ++m;
        if (m == l) break;
        if (pass == 60) return false;
        double g = (diagonal_[at(l + 1)] - diagonal_[at(l)]) / (2.0 * off_[at(l)]);
        double r = length(g, 1.0);
        g = diagonal_[at(m)] - diagonal_[at(l)] + off_[at(l)] / (g + (g >= 0.0 ? r : -r));
        double s = 1.0, c = 1.0, p = 0.0;
        int64_t i = m - 1;
        for (; i >= l; --i) {
          double f = s * off_[at(i)];
          const double b = c * off_[at(i)];
          r = length(f, g);
          off_[at(i + 1)] = r;
          if (r == 0.0) {
            diagonal_[at(i + 1)] -= p;
            off_[at(m)] = 0.0;
            break;
          }
          s = f / r;
          c = g / r;
          g = diagonal_[at(i + 1)] - p;
          r = (diagonal_[at(i)] - g) * s + 2.0 * c * b;
          p = s * r;
          diagonal_[at(i + 1)] = g + p;
          g = c * r - b;
          turns_.push_back({i, c, s});
        }
        if (r == 0.0 && i >= l) continue;
        diagonal_[at(l)] -= p;
        off_[at(l)] = g;
        off_[at(m)] = 0.0;
      }
    }
    if (!keep) turn_basis();
    return true;
  }

  // The rotations so far, of all rows of the basis.
  void turn_basis() {
    turn(basis_.data(), n_);
    turns_.clear();
  }

  // The unit vectors of `order` under all rotations backwards, one a row of `out`.
  void turn_back(const std::vector<int64_t>& order, double* out) {
    const int64_t count = static_cast<int64_t>(order.size());
    std::reverse(turns_.begin(), turns_.end());
    for (auto& each : turns_) each.s = -each.s;
    std::vector<double> columns(size() * at(count), 0.0);
    for (int64_t j = 0; j < count; ++j) columns[at(order[at(j)] * count + j)] = 1.0;
    turn(columns.data(), count);
    for (int64_t j = 0; j < count; ++j)
      for (int64_t i = 0; i < n_; ++i) out[j * n_ + i] = columns[at(i * count + j)];
  }

  // All rotations of the rows of a matrix with so many columns, strip by strip.
  void turn(double* data, int64_t columns) {
    const auto rows = kernel<eigen::turn_rows>();
    const int64_t count = static_cast<int64_t>(turns_.size());
    parallel_blocks(
        columns, eigen::kStrip, dense::worthwhile(threads_, count * columns), [&](int64_t lo, int64_t hi) {
          for (int64_t from = 0; from < count; from += eigen::kBatch) {
            poll();
            rows(turns_.data() + from, std::min(eigen::kBatch, count - from), data + lo, columns, hi - lo);
          }
        });
  }

  // Without overflow, and without the library's hypot, which differs between processors.
  static double length(double x, double y) {
    const double a = std::max(std::abs(x), std::abs(y)), b = std::min(std::abs(x), std::abs(y));
    return a > 0.0 ? a * std::sqrt(1.0 + (b / a) * (b / a)) : 0.0;
  }

  int64_t n_;
  int threads_;
  std::vector<double> a_, diagonal_, off_, basis_, scales_, image_, before_, shares_;
  std::vector<eigen::Turn> turns_;
};

}  // namespace winkel
