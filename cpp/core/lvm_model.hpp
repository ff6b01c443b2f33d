// The latent variable model (Saul 2020): its log-likelihood and what the two steps of EM need, over similar
// pairs (a sparse symmetric matrix) and dissimilar ones (families of blocks, within which all pairs count).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "lvm_blocks.hpp"
#include "lvm_similar.hpp"
#include "parallel.hpp"
#include "pcg.hpp"
#include "simd.hpp"
#include "vecmath.hpp"

namespace winkel::lvm {

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
    for (size_t e = 0; e < indices_.size(); ++e) log_scales_ += weights[e] * vecmath::log(squares[e]);
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
      kernel<entry_scales<T>>()(&rows, s.data());
      kernel<entry_squares<T>>()(&rows, r2.data());
      kernel<edge_slopes<T>>()(weights_.data() + rows.first(), s.data(), r2.data(), d, rows.count());
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
      kernel<entry_scales<T>>()(&rows, w.data() + rows.first());
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
    for (const auto& batches : batches_) {
      const int64_t count = static_cast<int64_t>(batches.size());
      total += parallel_sum(count, 1, threads, [&](int64_t k, int64_t) {
        return run(batches[at(k)], kernels, Y, variance, d, means, work[at(thread_id())], out);
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
    std::fill_n(work.column_sums.begin(), sums * kTile, T(0));
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
      value +=
          kernels.shifted(&points, shift, d, &work.scratch, work.row_sums.data(), work.column_sums.data());
    }
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = f.items[static_cast<size_t>(batch.entries[at(k)])];
      for (int64_t c = 0; c < sums; ++c) {
        const T sum = work.row_sums[at(c * kTile + k)] + work.column_sums[at(c * kTile + k)];
        out[i * sums + c] += (means ? factor_ : 1.0) * static_cast<double>(sum);
      }
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
    kernel<entry_scales<T>>()(&rows, s.data());
    kernel<entry_squares<T>>()(&rows, r2.data());
    const double value =
        kernel<edge_weights<T>>()(weights_.data() + rows.first(), s.data(), r2.data(), d, rows.count());
    kernel<pull_rows<T>>()(&rows, s.data(), gradient);
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
