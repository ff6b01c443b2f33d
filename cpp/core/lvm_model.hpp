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

constexpr int64_t kSmallBlock = 32;              // blocks of at most so many entries share a tile
constexpr int64_t kBatch = kTile - kSmallBlock;  // entries in such a tile: shifted lanes stay within it
static_assert(kBatch % kLanes == 0, "whole groups of lanes");

// Small blocks of a family side by side: their entries, how many of the same block follow each, the longest
// such, and the exceptions in the order of their shifts.
struct Batch {
  struct Skip {
    int16_t shift, lane;
    uint8_t ways;
  };
  int32_t family;
  std::vector<int32_t> entries;
  std::vector<int16_t> left;
  std::vector<Skip> skips;
  int64_t longest = 0;

  // Appends the entries [begin, end) of a block, if there is place for them.
  bool append(const Family& f, int64_t begin, int64_t end) {
    const size_t first = entries.size();
    if (static_cast<int64_t>(first) + end - begin > kBatch) return false;
    longest = std::max(longest, end - begin - 1);
    for (int64_t e = begin; e < end; ++e) {
      entries.push_back(static_cast<int32_t>(e));
      left.push_back(static_cast<int16_t>(end - 1 - e));
      if (f.except_from.empty()) continue;
      for (int64_t x = f.except_from[static_cast<size_t>(e)]; x < f.except_from[static_cast<size_t>(e) + 1];
           ++x) {
        const int64_t other = f.except[static_cast<size_t>(x)];
        if (other <= e || other >= end) continue;
        skips.push_back({static_cast<int16_t>(other - e),
                         static_cast<int16_t>(first + static_cast<size_t>(e - begin)),
                         f.except_ways[static_cast<size_t>(x)]});
      }
    }
    return true;
  }
};

// The small blocks of a family in batches, those of one size together so that few lanes are idle.
inline std::vector<Batch> batches_of(const Family& f, int32_t number) {
  std::vector<size_t> blocks;
  const auto size = [&](size_t b) { return f.bounds[b + 1] - f.bounds[b]; };
  for (size_t b = 0; b + 1 < f.bounds.size(); ++b)
    if (size(b) >= 2 && size(b) <= kSmallBlock) blocks.push_back(b);
  std::stable_sort(blocks.begin(), blocks.end(), [&](size_t a, size_t b) { return size(a) > size(b); });
  std::vector<Batch> out;
  for (size_t b : blocks) {
    if (!out.empty() && out.back().append(f, f.bounds[b], f.bounds[b + 1])) continue;
    out.push_back({number, {}, {}, {}, 0});
    out.back().append(f, f.bounds[b], f.bounds[b + 1]);
  }
  for (Batch& batch : out)
    std::stable_sort(batch.skips.begin(), batch.skips.end(),
                     [](const Batch::Skip& a, const Batch::Skip& b) { return a.shift < b.shift; });
  return out;
}

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
      if (family.bounds[b + 1] - family.bounds[b] > kSmallBlock)
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

  // Small blocks side by side, each around its first point; what follows has no mass.
  void pack(const Family& f, const Batch& batch, const double* Y, const double* variance) {
    count_ = static_cast<int64_t>(batch.entries.size());
    const double* centre = nullptr;
    for (int64_t k = 0; k < count_; ++k) {
      const size_t e = static_cast<size_t>(batch.entries[static_cast<size_t>(k)]);
      const int64_t i = f.items[e];
      if (k == 0 || batch.left[static_cast<size_t>(k) - 1] == 0) centre = Y + i * d_;
      for (int64_t c = 0; c < d_; ++c)
        y_[static_cast<size_t>(c * kTile + k)] = static_cast<T>(Y[i * d_ + c] - centre[c]);
      set(k, variance[i], f.reach[e], f.slack[e], f.mass[e]);
    }
    for (int64_t c = 0; c < d_; ++c) std::fill_n(y_.data() + c * kTile + count_, kTile - count_, T(0));
    for (int64_t k = count_; k < kTile; ++k) set(k, 1.0, 1.0, 1.0, 0.0);
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

// Rows [lo, hi) of the similar pairs, whose entries begin at `first`.
template <class T>
struct SimilarRows {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;
  const T* squares;  // squared length scales
  const double* Y;
  const double* variance;
  int64_t d, lo, hi;
  int64_t first() const { return indptr[lo]; }
  int64_t count() const { return indptr[hi] - indptr[lo]; }
};

// δ² + σ_i² + σ_j² of each entry.
template <class T>
WINKEL_CLONES void entry_scales(const SimilarRows<T>* rows, T* __restrict out) {
  for (int64_t i = rows->lo; i < rows->hi; ++i)
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e)
      *out++ = rows->squares[e] + static_cast<T>(rows->variance[i] + rows->variance[rows->indices[e]]);
}

// |μ_i − μ_j|² of each entry; differences are taken in double precision.
template <class T>
WINKEL_CLONES void entry_squares(const SimilarRows<T>* rows, T* __restrict out) {
  const int64_t d = rows->d;
  for (int64_t i = rows->lo; i < rows->hi; ++i) {
    const double* own = rows->Y + i * d;
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e) {
      const double* other = rows->Y + rows->indices[e] * d;
      if (d == 2) {
        const double x = own[0] - other[0], y = own[1] - other[1];
        *out++ = static_cast<T>(x * x + y * y);
        continue;
      }
      double sum = 0.0;
#pragma omp simd reduction(+ : sum)
      for (int64_t c = 0; c < d; ++c) sum += (own[c] - other[c]) * (own[c] - other[c]);
      *out++ = static_cast<T>(sum);
    }
  }
}

// Makes w / s of s for consecutive entries; returns the sum of w (d log s + r² / s).
template <class T>
WINKEL_CLONES double edge_weights(const T* __restrict w, T* __restrict s, const T* __restrict r2, int64_t d,
                                  int64_t count) {
  double total = 0.0;
  for (int64_t first = 0; first < count; first += kLanes) {
    T part[kLanes] = {};
    const int64_t n = std::min(kLanes, count - first);
    for (int64_t l = 0; l < n; ++l) {
      const T inverse = T(1) / s[first + l];
      part[l] = w[first + l] * (static_cast<T>(d) * vecmath::log(s[first + l]) + r2[first + l] * inverse);
      s[first + l] = w[first + l] * inverse;
    }
    for (int64_t l = 0; l < kLanes; ++l) total += static_cast<double>(part[l]);
  }
  return total;
}

// Makes w (r² / s − d) / s of r² for consecutive entries.
template <class T>
WINKEL_CLONES void edge_slopes(const T* __restrict w, const T* __restrict s, T* __restrict r2, int64_t d,
                               int64_t count) {
  for (int64_t e = 0; e < count; ++e) {
    const T inverse = T(1) / s[e];
    r2[e] = w[e] * inverse * (r2[e] * inverse - static_cast<T>(d));
  }
}

// Subtracts Σ w (μ_i − μ_j) of each row from the gradient.
template <class T>
WINKEL_CLONES void pull_rows(const SimilarRows<T>* rows, const T* __restrict w, double* __restrict gradient) {
  const int64_t d = rows->d;
  for (int64_t i = rows->lo; i < rows->hi; ++i) {
    const double* own = rows->Y + i * d;
    for (int64_t e = rows->indptr[i]; e < rows->indptr[i + 1]; ++e) {
      const double* other = rows->Y + rows->indices[e] * d;
      const double weight = static_cast<double>(*w++);
      for (int64_t c = 0; c < d; ++c) gradient[i * d + c] -= weight * (own[c] - other[c]);
    }
  }
}

template <class T>
class Model {
 public:
  // Similar pairs as the rows of a symmetric matrix: weights S_ij + S_ji and squared length scales. Pairs and
  // families name points by places; `order` is the point at each place, and points that meet often should
  // have places near each other.
  Model(std::vector<int32_t> order, std::vector<int64_t> indptr, std::vector<int32_t> indices,
        const double* weights, const double* squares)
      : n_(static_cast<int64_t>(order.size())),
        order_(std::move(order)),
        indptr_(std::move(indptr)),
        indices_(std::move(indices)),
        weights_(weights, weights + indices_.size()),
        squares_(squares, squares + indices_.size()),
        repulsion_(order_.size(), 0.0) {
    for (size_t e = 0; e < indices_.size(); ++e) log_scales_ += weights[e] * std::log(squares[e]);
  }

  void add_family(Family family) {
    families_.push_back(std::move(family));
    const int32_t number = static_cast<int32_t>(families_.size() - 1);
    schedule_.add(families_.back(), number);
    batches_.push_back(batches_of(families_.back(), number));
  }

  // What all dissimilar weights are multiplied by, and then Σ_j (D_ij + D_ji) of each point.
  void balance(double factor, const double* repulsion) {
    factor_ = factor;
    repulsion_ = placed(repulsion, 1, 1);
  }

  int64_t n() const { return n_; }
  double factor() const { return factor_; }
  const std::vector<Family>& families() const { return families_; }

  // The log-likelihood (eq 6); `gradient` gets its derivatives by the means.
  double gradient(const double* Y, const double* variance, int64_t d, int threads, double* gradient) const {
    const std::vector<double> means = placed(Y, d, threads), spread = placed(variance, 1, threads);
    std::vector<double> sums(means.size(), 0.0);
    const double far = factor_ * run_jobs(means.data(), spread.data(), d, true, threads, sums.data());
    const double near = parallel_sum(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      return add_attraction(means.data(), spread.data(), d, lo, hi, sums.data());
    });
    put_back(sums.data(), d, d, threads, gradient);
    return far - 0.25 * (near - static_cast<double>(d) * log_scales_);
  }

  // For each variance: Σ_j S (r² / s − d) / s − D (nu / s) (r² / s − d), twice the derivative of the
  // log-likelihood.
  void variance_slopes(const double* Y, const double* variance, int64_t d, int threads, double* out) const {
    const std::vector<double> means = placed(Y, d, threads), spread = placed(variance, 1, threads);
    std::vector<double> sums(spread.size(), 0.0);
    run_jobs(means.data(), spread.data(), d, false, threads, sums.data());
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      const SimilarRows<T> rows = similar(means.data(), spread.data(), d, lo, hi);
      std::vector<T> s(at(rows.count())), r2(s.size());
      entry_scales(&rows, s.data());
      entry_squares(&rows, r2.data());
      edge_slopes(weights_.data() + rows.first(), s.data(), r2.data(), d, rows.count());
      size_t e = 0;
      for (int64_t i = lo; i < hi; ++i) {
        double sum = 0.0;
        for (int64_t k = indptr_[at(i)]; k < indptr_[at(i) + 1]; ++k) sum += static_cast<double>(r2[e++]);
        out[order_[at(i)]] = sum - factor_ * sums[at(i)];
      }
    });
  }

  // The step of the means x that solves eq 20, L x = gradient, to the tolerance; returns the iterations.
  int step(const double* variance, const double* gradient, int64_t d, double tol, int max_iter, int threads,
           double* step) const {
    const int64_t width = padded_columns(d);
    const std::vector<double> spread = placed(variance, 1, threads);
    std::vector<T> w(indices_.size()), diagonal(order_.size());
    std::vector<T> r(static_cast<size_t>(n_ * width), T(0)), x(r.size(), T(0));
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      const SimilarRows<T> rows = similar(nullptr, spread.data(), d, lo, hi);
      entry_scales(&rows, w.data() + rows.first());
      for (int64_t i = lo; i < hi; ++i) {
        double sum = 0.0;
        for (int64_t e = indptr_[at(i)]; e < indptr_[at(i) + 1]; ++e) {
          w[at(e)] = weights_[at(e)] / w[at(e)];
          sum += static_cast<double>(w[at(e)]);
        }
        diagonal[at(i)] = static_cast<T>(sum + repulsion_[at(i)] / spread[at(i)]);
        const double* from = gradient + order_[at(i)] * d;
        for (int64_t c = 0; c < d; ++c) r[at(i * width + c)] = static_cast<T>(from[c]);
      }
    });
    const SddRows<T> matrix{indptr_.data(), indices_.data(), w.data(), diagonal.data()};
    const int made =
        ConjugateGradients<T>(matrix, n_, width, threads).correct(tol, max_iter, r.data(), x.data());
    put_back(x.data(), width, d, threads, step);
    return made;
  }

 private:
  static constexpr int64_t kRows = 256;
  static constexpr int64_t kSmallRound = 100'000;  // pairs

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  // Rows of numbers of the points in the order of their places, and the first d columns of such back.
  std::vector<double> placed(const double* values, int64_t width, int threads) const {
    std::vector<double> out(static_cast<size_t>(n_ * width));
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t k = lo; k < hi; ++k)
        std::copy_n(values + order_[at(k)] * width, width, out.data() + k * width);
    });
    return out;
  }

  template <class V>
  void put_back(const V* values, int64_t width, int64_t d, int threads, double* out) const {
    parallel_blocks(n_, kRows, threads, [&](int64_t lo, int64_t hi) {
      for (int64_t k = lo; k < hi; ++k)
        for (int64_t c = 0; c < d; ++c)
          out[order_[at(k)] * d + c] = static_cast<double>(values[k * width + c]);
    });
  }

  SimilarRows<T> similar(const double* Y, const double* variance, int64_t d, int64_t lo, int64_t hi) const {
    return {indptr_.data(), indices_.data(), weights_.data(), squares_.data(), Y, variance, d, lo, hi};
  }

  // Adds the sums over dissimilar pairs to `out`, which has d columns or one; returns Σ D log(1 − P).
  double run_jobs(const double* Y, const double* variance, int64_t d, bool means, int threads,
                  double* out) const {
    const auto kernels = PairKernels<T>::of(d, means, means);
    std::vector<Workspace<T>> work(static_cast<size_t>(threads), Workspace<T>(d));
    std::vector<double> values(schedule_.jobs().size(), 0.0);
    size_t first = 0;
    for (size_t last : schedule_.ends()) {
      // The first job of a round is its largest; small rounds are over before other threads wake.
      const int64_t count = static_cast<int64_t>(last - first);
      const bool small = schedule_.jobs()[first].size() * count < kSmallRound;
      parallel_blocks(count, 1, small ? 1 : threads, [&](int64_t k, int64_t) {
        const size_t job = first + static_cast<size_t>(k);
        values[job] = run(schedule_.jobs()[job], kernels, Y, variance, d, means, work[at(thread_id())], out);
      });
      first = last;
    }
    double total = 0.0;
    for (double v : values) total += v;
    // Batches of one family share no point.
    for (const auto& some : batches_) {
      const int64_t count = static_cast<int64_t>(some.size());
      total += parallel_sum(count, 1, threads, [&](int64_t k, int64_t) {
        return run(some[at(k)], kernels, Y, variance, d, means, work[at(thread_id())], out);
      });
    }
    return total;
  }

  double run(const Batch& batch, const PairKernels<T>& kernels, const double* Y, const double* variance,
             int64_t d, bool means, Workspace<T>& work, double* out) const {
    const Family& f = families_[static_cast<size_t>(batch.family)];
    const int64_t sums = means ? d : 1, count = static_cast<int64_t>(batch.entries.size());
    work.rows.pack(f, batch, Y, variance);
    const TilePoints<T> points = work.rows.points();
    std::fill_n(work.row_sums.begin(), sums * kTile, T(0));
    double value = 0.0;
    size_t skip = 0;
    for (int64_t shift = 1; shift <= batch.longest; ++shift) {
      for (int64_t k = 0; k < kBatch; ++k) {
        const bool inside = k < count && batch.left[at(k)] >= shift;
        work.scratch.forth[k] = work.scratch.back[k] =
            inside ? points.mass[k] * points.mass[k + shift] : T(0);
      }
      for (; skip < batch.skips.size() && batch.skips[skip].shift == shift; ++skip) {
        if (batch.skips[skip].ways & 1) work.scratch.forth[batch.skips[skip].lane] = T(0);
        if (batch.skips[skip].ways & 2) work.scratch.back[batch.skips[skip].lane] = T(0);
      }
      value += kernels.shifted(&points, shift, d, &work.scratch, work.row_sums.data());
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = f.items[static_cast<size_t>(batch.entries[at(k)])];
      for (int64_t c = 0; c < sums; ++c)
        out[i * sums + c] += (means ? factor_ : 1.0) * static_cast<double>(work.row_sums[at(c * kTile + k)]);
    }
    return value;
  }

  double run(const Job& job, const PairKernels<T>& kernels, const double* Y, const double* variance,
             int64_t d, bool means, Workspace<T>& work, double* out) const {
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
    const TilePoints<T> columns = job.same() ? rows : work.columns.points();
    const double value = kernels.tile(&rows, &columns, job.same(), &exceptions, d, &work.scratch,
                                      work.row_sums.data(), work.column_sums.data());
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
    const SimilarRows<T> rows = similar(Y, variance, d, lo, hi);
    std::vector<T> s(at(rows.count())), r2(s.size());
    entry_scales(&rows, s.data());
    entry_squares(&rows, r2.data());
    const double value = edge_weights(weights_.data() + rows.first(), s.data(), r2.data(), d, rows.count());
    pull_rows(&rows, s.data(), gradient);
    return value;
  }

  int64_t n_;
  std::vector<int32_t> order_;
  std::vector<int64_t> indptr_;
  std::vector<int32_t> indices_;
  std::vector<T> weights_, squares_;
  std::vector<double> repulsion_;
  double log_scales_ = 0.0, factor_ = 1.0;
  std::vector<Family> families_;
  Schedule schedule_;
  std::vector<std::vector<Batch>> batches_;  // of each family
};

}  // namespace winkel::lvm
