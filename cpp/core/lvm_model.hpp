// The latent variable model (Saul 2020): its log-likelihood and what the two steps of EM need, over similar
// pairs (a sparse symmetric matrix) and dissimilar ones (families of blocks, within which all pairs count).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lvm_tiles.hpp"
#include "parallel.hpp"
#include "pcg.hpp"

namespace winkel::lvm {

// Blocks of points that share no point; all pairs within a block are dissimilar, but for the exceptions. The
// pair of the entries i, j has the weight mass_i mass_j and the length scale reach_i + slack_j.
struct Family {
  std::vector<int32_t> items;   // points, block after block
  std::vector<int64_t> bounds;  // where blocks begin, and the end
  std::vector<double> reach, slack, mass;
  std::vector<int64_t> except_from;  // exceptions of each entry, all of them later entries; or empty
  std::vector<int32_t> except;
  std::vector<uint8_t> except_ways;
};

// Points of a family in [rows, rows_end) against those in [columns, columns_end).
struct Job {
  int32_t family;
  int64_t rows, rows_end, columns, columns_end;
  bool same() const { return rows == columns; }
  int64_t size() const { return (rows_end - rows) * (columns_end - columns); }
};

// Jobs in rounds; those of one round touch different points, so that threads may add to shared sums, and a
// point's sums are made in the order of the rounds for any number of threads.
class Schedule {
 public:
  void add(const Family& family, int32_t number) {
    std::vector<std::vector<Job>> rounds;
    for (size_t b = 0; b + 1 < family.bounds.size(); ++b)
      add_block(number, family.bounds[b], family.bounds[b + 1], rounds);
    for (auto& jobs : rounds) {
      // Large ones first, so that no thread is left with one at the end.
      std::stable_sort(jobs.begin(), jobs.end(),
                       [](const Job& a, const Job& b) { return a.size() > b.size(); });
      jobs_.insert(jobs_.end(), jobs.begin(), jobs.end());
      ends_.push_back(jobs_.size());
    }
  }

  const std::vector<Job>& jobs() const { return jobs_; }
  const std::vector<size_t>& ends() const { return ends_; }

 private:
  // Tiles meet as in a round-robin tournament: one stays, the others go round.
  static void add_block(int32_t family, int64_t begin, int64_t end, std::vector<std::vector<Job>>& rounds) {
    const int64_t tiles = (end - begin + kTile - 1) / kTile, even = tiles + tiles % 2;
    const auto meet = [&](int64_t round, int64_t a, int64_t b) {
      if (a > b) std::swap(a, b);
      if (b >= tiles) return;
      if (static_cast<int64_t>(rounds.size()) <= round) rounds.resize(static_cast<size_t>(round + 1));
      rounds[static_cast<size_t>(round)].push_back({family, begin + a * kTile,
                                                    std::min(end, begin + (a + 1) * kTile), begin + b * kTile,
                                                    std::min(end, begin + (b + 1) * kTile)});
    };
    if (end - begin < 2) return;
    for (int64_t t = 0; t < tiles; ++t) meet(0, t, t);
    for (int64_t r = 0; r + 1 < even; ++r) {
      meet(1 + r, r, even - 1);
      for (int64_t k = 1; k < even / 2; ++k)
        meet(1 + r, (r + k) % (even - 1), (r + even - 1 - k) % (even - 1));
    }
  }

  std::vector<Job> jobs_;
  std::vector<size_t> ends_;  // where each round ends
};

// Coordinates and scales of up to kTile points, taken from their places in memory.
template <class T>
class PackedTile {
 public:
  explicit PackedTile(int64_t d) : y_(static_cast<size_t>(d * kTile)), scales_(4 * kTile, T(1)), d_(d) {}

  void pack(const Family& f, int64_t lo, int64_t hi, const double* Y, const double* variance,
            const double* centre) {
    count_ = hi - lo;
    for (int64_t k = 0; k < count_; ++k) {
      const int64_t i = f.items[static_cast<size_t>(lo + k)];
      for (int64_t c = 0; c < d_; ++c)
        y_[static_cast<size_t>(c * kTile + k)] = static_cast<T>(Y[i * d_ + c] - centre[c]);
      set(k, variance[i], f.reach[static_cast<size_t>(lo + k)], f.slack[static_cast<size_t>(lo + k)],
          f.mass[static_cast<size_t>(lo + k)]);
    }
    for (int64_t k = count_; k % kLanes != 0; ++k) {
      for (int64_t c = 0; c < d_; ++c) y_[static_cast<size_t>(c * kTile + k)] = T(0);
      set(k, 1.0, 1.0, 1.0, 0.0);
    }
  }

  // A tile of one point.
  void pack_one(const double* y, double variance, double reach, const double* centre) {
    count_ = 1;
    for (int64_t c = 0; c < d_; ++c) y_[static_cast<size_t>(c * kTile)] = static_cast<T>(y[c] - centre[c]);
    set(0, variance, reach, 0.0, 1.0);
  }

  TilePoints<T> points() const {
    const T* s = scales_.data();
    return {y_.data(), s, s + kTile, s + 2 * kTile, s + 3 * kTile, count_};
  }

 private:
  void set(int64_t k, double variance, double reach, double slack, double mass) {
    T* s = scales_.data() + k;
    s[0] = static_cast<T>(variance);
    s[kTile] = static_cast<T>(reach);
    s[2 * kTile] = static_cast<T>(slack);
    s[3 * kTile] = static_cast<T>(mass);
  }

  std::vector<T> y_, scales_;
  int64_t d_, count_ = 0;
};

// What one thread needs for a job.
template <class T>
struct Workspace {
  explicit Workspace(int64_t d)
      : rows(d), columns(d), row_sums(static_cast<size_t>(d * kTile)), column_sums(row_sums.size()) {}

  PackedTile<T> rows, columns;
  std::vector<T> row_sums, column_sums;
  TileScratch<T> scratch;
};

// w / s for consecutive entries, and the sum of w (d log s + r² / s).
template <class T>
WINKEL_CLONES double edge_weights(const T* __restrict w, const T* __restrict s, const T* __restrict r2,
                                  int64_t d, int64_t count, T* __restrict out) {
  double total = 0.0;
  for (int64_t first = 0; first < count; first += kLanes) {
    T part[kLanes] = {};
    const int64_t n = std::min(kLanes, count - first);
    for (int64_t l = 0; l < n; ++l) {
      const T inverse = T(1) / s[first + l];
      out[first + l] = w[first + l] * inverse;
      part[l] = w[first + l] * (static_cast<T>(d) * vecmath::log(s[first + l]) + r2[first + l] * inverse);
    }
    for (int64_t l = 0; l < kLanes; ++l) total += static_cast<double>(part[l]);
  }
  return total;
}

template <class T>
class Model {
 public:
  // Similar pairs as the rows of a symmetric matrix: weights S_ij + S_ji and squared length scales.
  Model(int64_t n, std::vector<int64_t> indptr, std::vector<int32_t> indices, const double* weights,
        const double* squares)
      : n_(n),
        indptr_(std::move(indptr)),
        indices_(std::move(indices)),
        weights_(weights, weights + indices_.size()),
        squares_(squares, squares + indices_.size()),
        repulsion_(static_cast<size_t>(n), 0.0) {
    for (size_t e = 0; e < indices_.size(); ++e) log_scales_ += weights[e] * std::log(squares[e]);
  }

  void add_family(Family family) {
    families_.push_back(std::move(family));
    schedule_.add(families_.back(), static_cast<int32_t>(families_.size() - 1));
  }

  // What all dissimilar weights are multiplied by, and then Σ_j (D_ij + D_ji) of each point.
  void balance(double factor, const double* repulsion) {
    factor_ = factor;
    std::copy_n(repulsion, static_cast<size_t>(n_), repulsion_.begin());
  }

  int64_t n() const { return n_; }
  double factor() const { return factor_; }
  const std::vector<Family>& families() const { return families_; }

  // The log-likelihood (eq 6); `gradient` gets its derivatives by the means.
  double gradient(const double* Y, const double* variance, int64_t d, int threads, double* gradient) const {
    std::fill(gradient, gradient + n_ * d, 0.0);
    const double far = factor_ * run_jobs(Y, variance, d, true, threads, gradient);
    const double near = parallel_sum(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      return add_attraction(Y, variance, d, lo, hi, gradient);
    });
    return far - 0.25 * (near - static_cast<double>(d) * log_scales_);
  }

  // For each variance: Σ_j S (r² / s − d) / s − D (nu / s) (r² / s − d), twice the derivative of the
  // log-likelihood.
  void variance_slopes(const double* Y, const double* variance, int64_t d, int threads, double* out) const {
    std::fill(out, out + n_, 0.0);
    run_jobs(Y, variance, d, false, threads, out);
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        double sum = 0.0;
        for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
          const int64_t j = indices_[at(e)];
          const double inverse = 1.0 / (static_cast<double>(squares_[at(e)]) + variance[i] + variance[j]);
          const double scaled = square(Y, i, j, d) * inverse - static_cast<double>(d);
          sum += static_cast<double>(weights_[at(e)]) * inverse * scaled;
        }
        out[i] = sum - factor_ * out[i];
      }
    });
  }

  // The step of the means x that solves eq 20, L x = gradient, to the tolerance; returns the iterations.
  int step(const double* variance, const double* gradient, int64_t d, double tol, int max_iter, int threads,
           double* step) const {
    std::vector<T> w(indices_.size()), diagonal(static_cast<size_t>(n_));
    std::vector<T> r(static_cast<size_t>(n_ * d)), x(r.size(), T(0));
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        double sum = 0.0;
        for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
          const T s = squares_[at(e)] + static_cast<T>(variance[i] + variance[indices_[at(e)]]);
          w[at(e)] = weights_[at(e)] / s;
          sum += static_cast<double>(w[at(e)]);
        }
        diagonal[at(i)] = static_cast<T>(sum + repulsion_[at(i)] / variance[i]);
        for (int64_t c = 0; c < d; ++c) r[at(i * d + c)] = static_cast<T>(gradient[i * d + c]);
      }
    });
    const SddRows<T> matrix{indptr_.data(), indices_.data(), w.data(), diagonal.data()};
    const int made = ConjugateGradients<T>(matrix, n_, d, threads).correct(tol, max_iter, r.data(), x.data());
    std::copy(x.begin(), x.end(), step);
    return made;
  }

 private:
  static constexpr int64_t kRows = 256;
  static constexpr int64_t kSmallRound = 100'000;  // pairs

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  static double square(const double* Y, int64_t i, int64_t j, int64_t d) {
    double sum = 0.0;
    for (int64_t c = 0; c < d; ++c) sum += (Y[i * d + c] - Y[j * d + c]) * (Y[i * d + c] - Y[j * d + c]);
    return sum;
  }

  // Adds the sums over dissimilar pairs to `out`, which has d columns or one; returns Σ D log(1 − P).
  double run_jobs(const double* Y, const double* variance, int64_t d, bool means, int threads,
                  double* out) const {
    std::vector<Workspace<T>> work(static_cast<size_t>(threads), Workspace<T>(d));
    std::vector<double> values(schedule_.jobs().size(), 0.0);
    size_t first = 0;
    for (size_t last : schedule_.ends()) {
      // The first job of a round is its largest; small rounds are over before other threads wake.
      const int64_t count = static_cast<int64_t>(last - first);
      const bool small = schedule_.jobs()[first].size() * count < kSmallRound;
      parallel_blocks(count, 1, small ? 1 : threads, [&](int64_t k, int64_t) {
        const size_t job = first + static_cast<size_t>(k);
        values[job] = run(schedule_.jobs()[job], Y, variance, d, means, work[at(thread_id())], out);
      });
      first = last;
    }
    double total = 0.0;
    for (double v : values) total += v;
    return total;
  }

  double run(const Job& job, const double* Y, const double* variance, int64_t d, bool means,
             Workspace<T>& work, double* out) const {
    const Family& f = families_[static_cast<size_t>(job.family)];
    const double* centre = Y + f.items[at(job.rows)] * d;  // small differences survive rounding to T
    work.rows.pack(f, job.rows, job.rows_end, Y, variance, centre);
    if (!job.same()) work.columns.pack(f, job.columns, job.columns_end, Y, variance, centre);
    const int64_t sums = means ? d : 1;
    clear(work.row_sums.data(), sums, job.rows_end - job.rows);
    clear(work.column_sums.data(), sums, job.columns_end - job.columns);
    const Exceptions exceptions{f.except_from.empty() ? nullptr : f.except_from.data() + job.rows,
                                f.except.data(), f.except_ways.data(), job.columns};
    const TilePoints<T> rows = work.rows.points();
    const double value = act(rows, job.same() ? rows : work.columns.points(), job.same(), exceptions, d,
                             means, means, &work.scratch, work.row_sums.data(), work.column_sums.data());
    flush(f, job.rows, job.rows_end, work.row_sums.data(), sums, means ? factor_ : 1.0, out);
    flush(f, job.columns, job.columns_end, work.column_sums.data(), sums, means ? factor_ : 1.0, out);
    return value;
  }

  // Zeros for as many points as the kernels touch; blocks are often far smaller than a tile.
  static void clear(T* sums, int64_t width, int64_t count) {
    for (int64_t c = 0; c < width; ++c)
      std::fill_n(sums + c * kTile, (count + kLanes - 1) / kLanes * kLanes, T(0));
  }

  static void flush(const Family& f, int64_t lo, int64_t hi, const T* sums, int64_t width, double factor,
                    double* out) {
    for (int64_t k = lo; k < hi; ++k)
      for (int64_t c = 0; c < width; ++c)
        out[f.items[at(k)] * width + c] += factor * static_cast<double>(sums[c * kTile + k - lo]);
  }

  // Subtracts the pull of similar pairs; returns Σ w (d log s + r² / s) over the entries of rows [lo, hi).
  double add_attraction(const double* Y, const double* variance, int64_t d, int64_t lo, int64_t hi,
                        double* gradient) const {
    const int64_t first = indptr_[at(lo)], count = indptr_[at(hi)] - first;
    std::vector<T> s(at(count)), r2(at(count)), w(at(count));
    for (int64_t i = lo; i < hi; ++i)
      for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
        const int64_t j = indices_[at(e)];
        s[at(e - first)] = squares_[at(e)] + static_cast<T>(variance[i] + variance[j]);
        r2[at(e - first)] = static_cast<T>(square(Y, i, j, d));
      }
    const double value = edge_weights(weights_.data() + first, s.data(), r2.data(), d, count, w.data());
    for (int64_t i = lo; i < hi; ++i)
      for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
        const int64_t j = indices_[at(e)];
        for (int64_t c = 0; c < d; ++c)
          gradient[i * d + c] -= static_cast<double>(w[at(e - first)]) * (Y[i * d + c] - Y[j * d + c]);
      }
    return value;
  }

  int64_t n_;
  std::vector<int64_t> indptr_;
  std::vector<int32_t> indices_;
  std::vector<T> weights_, squares_;
  std::vector<double> repulsion_;
  double log_scales_ = 0.0, factor_ = 1.0;
  std::vector<Family> families_;
  Schedule schedule_;
};

}  // namespace winkel::lvm
