// Sparse coding on the simplex (K-Deep Simplex, eq 7): for a row y and atoms a_1, ..., a_m the x >= 0 with
// sum 1 that makes f(x) = 1/2 |y - sum x_j a_j|^2 + locality sum x_j |y - a_j|^2 least.
//
// In Gram form, with G the products of the atoms and b those of the atoms with y, on the simplex and up to a
// constant: f(x) = 1/2 x'Gx + q'x, q = locality diag(G) - (1 + 2 locality) b. Its gradient is g = Gx + q, and
// f(x) - min f is at most x'g - min g, the gap: zero if and only if x is optimal.
//
// A row starts at its nearest atom, or at a given code. Accelerated projected gradient on a few near atoms,
// or Frank-Wolfe steps over all atoms, find which atoms matter; the corrective step then goes to the exact
// optimum over those; and the gap over all atoms decides whether that is the answer, or which atoms to look
// at next. A row sees nothing of the others, so its code has the same bytes alone, in any company and on any
// thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "dense.hpp"
#include "panels.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace winkel {

namespace simplex {

enum class Method { projected_gradient = 0, frank_wolfe = 1 };

struct Settings {
  Method method;
  double locality;
  double tolerance;  // the gap allowed, relative to f
  int max_rounds;    // of looking at all atoms
};

// The atoms as the coder needs them.
struct Atoms {
  const double* gram;  // m x m
  int64_t m;
};

struct Entry {
  int32_t atom;
  double value;
};

// Replaces v by the nearest point of the simplex: max(v - t, 0) for the t that makes the sum 1. Seen from the
// largest coordinate, so that only differences matter. `sorted` is a place to work in.
inline void project(double* v, int64_t k, std::vector<double>& sorted) {
  const double top = *std::max_element(v, v + k);
  for (int64_t i = 0; i < k; ++i) v[i] -= top;
  sorted.assign(v, v + k);
  std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return a > b; });
  double sum = 0.0, t = -1.0;
  for (int64_t i = 0; i < k; ++i) {
    sum += sorted[static_cast<size_t>(i)];
    const double next = (sum - 1.0) / static_cast<double>(i + 1);
    if (sorted[static_cast<size_t>(i)] <= next) break;
    t = next;
  }
  for (int64_t i = 0; i < k; ++i) v[i] = std::max(v[i] - t, 0.0);
}

WINKEL_CLONES void add_column(const double* __restrict column, double weight, int64_t m,
                              double* __restrict g) {
  for (int64_t j = 0; j < m; ++j) g[j] += weight * column[j];
}

WINKEL_CLONES void times_square(const double* __restrict matrix, const double* __restrict x, int64_t k,
                                double* __restrict out) {
  for (int64_t i = 0; i < k; ++i) out[i] = 0.0;
  for (int64_t j = 0; j < k; ++j) {
    const double w = x[j];
    if (w == 0.0) continue;
    for (int64_t i = 0; i < k; ++i) out[i] += w * matrix[j * k + i];
  }
}

// The code of one row and all that is needed to find it; made once a block and used for one row after
// another.
class Coder {
 public:
  Coder(const Atoms& atoms, const Settings& settings) : atoms_(atoms), settings_(settings) {
    q_.resize(static_cast<size_t>(atoms.m));
    g_.resize(static_cast<size_t>(atoms.m));
  }

  // Finds the code of the row with products b (with every atom) and squared norm yy. `start` holds a code to
  // begin with, or nothing.
  void solve(const double* b, double yy, const Entry* start, int64_t n_start) {
    b_ = b;
    yy_ = yy;
    for (int64_t j = 0; j < atoms_.m; ++j)
      q_[size(j)] = settings_.locality * gram(j, j) - (1.0 + 2.0 * settings_.locality) * b[j];
    code_.assign(start, start + n_start);
    bool explored = n_start > 0;
    if (!explored) code_.push_back({nearest(), 1.0});
    const double floor = 1e-13 * (yy + gram(code_[0].atom, code_[0].atom));
    rounds_ = 0;
    double before = 0.0;
    for (;;) {
      if (explored) correct();
      look_at_all();
      gap_ = std::max(0.0, inner() - *std::min_element(g_.begin(), g_.end()));
      const double now = value();
      if (gap_ <= settings_.tolerance * now + floor || rounds_ >= settings_.max_rounds) break;
      if (explored && rounds_ > 0 && !(now < before)) break;  // as far as rounding allows
      before = now;
      if (settings_.method == Method::frank_wolfe) {
        frank_wolfe();
      } else {
        projected_gradient(explored ? kMore : kNear);
      }
      explored = true;
      ++rounds_;
    }
    std::sort(code_.begin(), code_.end(), [](const Entry& a, const Entry& c) { return a.atom < c.atom; });
  }

  const std::vector<Entry>& code() const { return code_; }
  double gap() const { return gap_; }
  int rounds() const { return rounds_; }

  // f at the code.
  double value() const {
    double quadratic = 0.0, linear = 0.0, local = 0.0;
    for (const Entry& e : code_) {
      double row = 0.0;
      for (const Entry& o : code_) row += o.value * gram(e.atom, o.atom);
      quadratic += e.value * row;
      linear += e.value * b_[e.atom];
      local += e.value * squared_distance(e.atom);
    }
    return std::max(0.0, 0.5 * (quadratic - 2.0 * linear + yy_) + settings_.locality * local);
  }

 private:
  static constexpr int64_t kNear = 16;  // atoms that a row looks at first
  static constexpr int64_t kMore = 8;   // atoms that it looks at beside its own when those were not enough
  static constexpr int kSteps = 100;    // accelerated steps at most
  static constexpr int kSettled = 6;    // steps in which the same atoms were used: the corrective step is due
  static constexpr double kRidge = 1e-12;      // relative; atoms in one flat place are told apart by it
  static constexpr int kFrankWolfeSteps = 24;  // between corrective steps

  static size_t size(int64_t i) { return static_cast<size_t>(i); }
  double gram(int64_t i, int64_t j) const { return atoms_.gram[i * atoms_.m + j]; }
  double squared_distance(int64_t j) const { return std::max(0.0, gram(j, j) - 2.0 * b_[j] + yy_); }

  int32_t nearest() const {
    int64_t best = 0;
    for (int64_t j = 1; j < atoms_.m; ++j)
      if (gram(j, j) - 2.0 * b_[j] < gram(best, best) - 2.0 * b_[best]) best = j;
    return static_cast<int32_t>(best);
  }

  // The gradient at the code, for every atom.
  void look_at_all() {
    g_ = q_;
    for (const Entry& e : code_)
      kernel<simplex::add_column>()(atoms_.gram + e.atom * atoms_.m, e.value, atoms_.m, g_.data());
  }

  double inner() const {
    double sum = 0.0;
    for (const Entry& e : code_) sum += e.value * g_[size(e.atom)];
    return sum;
  }

  // Puts into `working_` the atoms of the code and those `more` others that promise most.
  void gather(int64_t more) {
    working_.clear();
    for (const Entry& e : code_) working_.push_back(e.atom);
    order_.resize(size(atoms_.m));
    std::iota(order_.begin(), order_.end(), 0);
    const auto end = order_.begin() + std::min<int64_t>(atoms_.m, more + static_cast<int64_t>(code_.size()));
    std::partial_sort(order_.begin(), end, order_.end(), [&](int32_t i, int32_t j) {
      return g_[size(i)] < g_[size(j)] || (g_[size(i)] == g_[size(j)] && i < j);
    });
    for (auto at = order_.begin(); at != end && more > 0; ++at) {
      if (std::find(working_.begin(), working_.end(), *at) != working_.end()) continue;
      working_.push_back(*at);
      --more;
    }
  }

  // Accelerated projected gradient (paper, section 5.1) on the working atoms, with y as the origin: then the
  // sizes in the problem are those of the neighbourhood, whatever the place of the data.
  void projected_gradient(int64_t more) {
    gather(more);
    const int64_t k = static_cast<int64_t>(working_.size());
    small_.resize(size(k * k));
    double lipschitz = 0.0;
    for (int64_t i = 0; i < k; ++i) {
      double row = 0.0;
      for (int64_t j = 0; j < k; ++j) {
        const int32_t a = working_[size(i)], c = working_[size(j)];
        small_[size(i * k + j)] = gram(a, c) - b_[a] - b_[c] + yy_;
        row += std::abs(small_[size(i * k + j)]);
      }
      lipschitz = std::max(lipschitz, row);
    }
    if (!(lipschitz > 1e-300) || !std::isfinite(lipschitz)) return;  // all in one place, or too far to say
    x_.assign(size(k), 0.0);
    for (size_t i = 0; i < code_.size(); ++i) x_[i] = code_[i].value;
    ahead_ = x_;
    slope_.resize(size(k));
    double eta = 1.0;
    int settled = 0;
    for (int step = 0; step < kSteps && settled < kSettled; ++step) {
      kernel<simplex::times_square>()(small_.data(), ahead_.data(), k, slope_.data());
      next_.resize(size(k));
      for (int64_t i = 0; i < k; ++i) {
        const double gradient = slope_[size(i)] + settings_.locality * small_[size(i * k + i)];
        next_[size(i)] = ahead_[size(i)] - gradient / lipschitz;
      }
      project(next_.data(), k, sorted_);
      // A step that turns back starts the acceleration anew (O'Donoghue and Candes 2015).
      double turn = 0.0;
      bool same = true;
      for (int64_t i = 0; i < k; ++i) {
        turn += (ahead_[size(i)] - next_[size(i)]) * (next_[size(i)] - x_[size(i)]);
        same = same && (next_[size(i)] > 0.0) == (x_[size(i)] > 0.0);
      }
      settled = same ? settled + 1 : 0;
      if (turn > 0.0) eta = 1.0;
      const double eta_next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * eta * eta));
      const double momentum = turn > 0.0 ? 0.0 : (eta - 1.0) / eta_next;
      for (int64_t i = 0; i < k; ++i)
        ahead_[size(i)] = next_[size(i)] + momentum * (next_[size(i)] - x_[size(i)]);
      x_.swap(next_);
      eta = eta_next;
    }
    if (std::none_of(x_.begin(), x_.end(), [](double x) { return x > 0.0; })) return;
    code_.clear();
    for (int64_t i = 0; i < k; ++i)
      if (x_[size(i)] > 0.0) code_.push_back({working_[size(i)], x_[size(i)]});
  }

  // Frank-Wolfe steps with exact length that move weight from the worst atom of the code to the best of all.
  void frank_wolfe() {
    for (int step = 0; step < kFrankWolfeSteps; ++step) {
      const int64_t best = std::min_element(g_.begin(), g_.end()) - g_.begin();
      size_t worst = 0;
      for (size_t i = 1; i < code_.size(); ++i)
        if (g_[size(code_[i].atom)] > g_[size(code_[worst].atom)]) worst = i;
      const int64_t from = code_[worst].atom;
      const double slope = g_[size(from)] - g_[size(best)];
      if (!(slope > 0.0) || from == best) return;
      const double curvature = gram(best, best) - 2.0 * gram(best, from) + gram(from, from);
      double length = code_[worst].value;
      if (curvature * length > slope) length = slope / curvature;
      kernel<simplex::add_column>()(atoms_.gram + best * atoms_.m, length, atoms_.m, g_.data());
      kernel<simplex::add_column>()(atoms_.gram + from * atoms_.m, -length, atoms_.m, g_.data());
      const auto at =
          std::find_if(code_.begin(), code_.end(), [&](const Entry& e) { return e.atom == best; });
      code_[worst].value -= length;
      if (at == code_.end()) {
        code_.push_back({static_cast<int32_t>(best), length});
      } else {
        at->value += length;
      }
      if (!(code_[worst].value > 0.0)) code_.erase(code_.begin() + static_cast<int64_t>(worst));
    }
  }

  // Goes to the least f over the atoms of the code: towards the optimum of their flat, dropping atoms that
  // reach zero on the way. f never rises.
  void correct() {
    while (code_.size() > 1) {
      const size_t k = code_.size() - 1;
      std::iter_swap(code_.end() - 1, std::max_element(code_.begin(), code_.end(),
                                                       [](auto& a, auto& c) { return a.value < c.value; }));
      if (!solve_flat(k)) return;
      double part = 1.0;
      size_t first = k + 1;
      for (size_t i = 0; i <= k; ++i) {
        if (target_[i] > 0.0) continue;
        const double reach = code_[i].value / (code_[i].value - target_[i]);
        if (first > k || reach < part) {
          part = reach;
          first = i;
        }
      }
      for (size_t i = 0; i <= k; ++i) code_[i].value += part * (target_[i] - code_[i].value);
      if (first > k) return;
      code_[first].value = 0.0;
      code_.erase(std::remove_if(code_.begin(), code_.end(), [](const Entry& e) { return !(e.value > 0.0); }),
                  code_.end());
      rescale();
    }
    code_[0].value = 1.0;
  }

  void rescale() {
    double sum = 0.0;
    for (const Entry& e : code_) sum += e.value;
    for (Entry& e : code_) e.value /= sum;
  }

  // Puts into `target_` the least f over all combinations of the code's atoms with sum 1, of any sign; seen
  // from the last atom, which has the largest weight. By Cholesky factors.
  bool solve_flat(size_t k) {
    const int64_t r = code_[k].atom;
    chol_.resize(k * k);
    target_.resize(k + 1);
    double largest = 0.0;
    for (size_t i = 0; i < k; ++i) {
      const int64_t a = code_[i].atom;
      for (size_t j = 0; j <= i; ++j) {
        const int64_t c = code_[j].atom;
        chol_[i * k + j] = gram(a, c) - gram(a, r) - gram(c, r) + gram(r, r);
      }
      largest = std::max(largest, chol_[i * k + i]);
      target_[i] = -(gram(a, r) - b_[a] - gram(r, r) + b_[r] +
                     settings_.locality * (gram(a, a) - 2.0 * b_[a] - gram(r, r) + 2.0 * b_[r]));
    }
    const double ridge = std::max(kRidge * largest, 1e-290);
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = chol_[i * k + j] + (i == j ? ridge : 0.0);
        for (size_t l = 0; l < j; ++l) sum -= chol_[i * k + l] * chol_[j * k + l];
        chol_[i * k + j] = i == j ? std::sqrt(std::max(sum, ridge)) : sum / chol_[j * k + j];
      }
    }
    for (size_t i = 0; i < k; ++i) {
      for (size_t l = 0; l < i; ++l) target_[i] -= chol_[i * k + l] * target_[l];
      target_[i] /= chol_[i * k + i];
    }
    double rest = 1.0;
    for (size_t i = k; i-- > 0;) {
      for (size_t l = i + 1; l < k; ++l) target_[i] -= chol_[l * k + i] * target_[l];
      target_[i] /= chol_[i * k + i];
      rest -= target_[i];
    }
    target_[k] = rest;
    return std::all_of(target_.begin(), target_.end(), [](double t) { return std::isfinite(t); });
  }

  Atoms atoms_;
  Settings settings_;
  const double* b_ = nullptr;
  double yy_ = 0.0;
  double gap_ = 0.0;
  int rounds_ = 0;
  std::vector<Entry> code_;
  std::vector<double> q_, g_, small_, x_, ahead_, next_, slope_, sorted_, chol_, target_;
  std::vector<int32_t> working_, order_;
};

// ------------------------------------------------------------------- codes of blocks of rows

template <class T>
WINKEL_CLONES void subtract_center(const T* __restrict row, const double* __restrict center, int64_t d,
                                   T* __restrict out) {
  for (int64_t k = 0; k < d; ++k) out[k] = static_cast<T>(static_cast<double>(row[k]) - center[k]);
}

template <class T>
double squared_norm(const T* row, int64_t d) {
  double sum = 0.0;
  for (int64_t k = 0; k < d; ++k) sum += static_cast<double>(row[k]) * static_cast<double>(row[k]);
  return sum;
}

// Codes of a block of rows: entries one row after another.
struct BlockCodes {
  std::vector<Entry> entries;
  std::vector<int32_t> lengths;
};

// Codes to begin with, as compressed rows; indptr is null where there are none.
struct Start {
  const int64_t* indptr;
  const int32_t* indices;
  const double* values;
};

struct RowReport {
  double* objective;
  double* gap;
  int32_t* rounds;
};

// Codes of the rows [lo, hi) from their products with the atoms, one row every `stride`, and squared norms;
// both count from row lo.
inline void code_products(const double* products, int64_t stride, const double* squares, const Atoms& atoms,
                          const Settings& settings, const Start& start, int64_t lo, int64_t hi,
                          const RowReport& report, BlockCodes& out) {
  Coder coder(atoms, settings);
  std::vector<Entry> initial;
  for (int64_t i = lo; i < hi; ++i) {
    poll();
    initial.clear();
    if (start.indptr != nullptr)
      for (int64_t e = start.indptr[i]; e < start.indptr[i + 1]; ++e)
        if (start.values[e] > 0.0) initial.push_back({start.indices[e], start.values[e]});
    coder.solve(products + (i - lo) * stride, squares[i - lo], initial.data(),
                static_cast<int64_t>(initial.size()));
    report.objective[i] = coder.value();
    report.gap[i] = coder.gap();
    report.rounds[i] = coder.rounds();
    out.lengths.push_back(static_cast<int32_t>(coder.code().size()));
    out.entries.insert(out.entries.end(), coder.code().begin(), coder.code().end());
  }
}

template <class T>
void code_block(const T* rows, const double* center, const std::vector<T>& panels, int64_t d,
                const Atoms& atoms, const Settings& settings, const Start& start, int64_t lo, int64_t hi,
                const RowReport& report, BlockCodes& out) {
  constexpr int64_t width = Lanes<T>::width;
  const int64_t stride = (atoms.m + width - 1) / width * width;
  std::vector<T> centered(static_cast<size_t>(kBlock * d), T{0});
  std::vector<double> products(static_cast<size_t>(kBlock * stride));
  for (int64_t i = lo; i < hi; ++i)
    kernel<subtract_center<T>>()(rows + i * d, center, d, centered.data() + (i - lo) * d);
  for (int64_t c = 0; c < stride; c += width)
    for (int64_t r = 0; r < hi - lo; r += kRows)
      panel_products<T>(centered.data() + r * d, panels.data() + c * d, d, products.data() + r * stride + c,
                        stride);
  double squares[kBlock];
  for (int64_t i = 0; i < hi - lo; ++i) squares[i] = squared_norm(centered.data() + i * d, d);
  code_products(products.data(), stride, squares, atoms, settings, start, lo, hi, report, out);
}

}  // namespace simplex

// Codes of all rows (n x d), in blocks. `atoms` (m x d) are centred like the rows will be, `gram` has their
// products.
template <class T>
std::vector<simplex::BlockCodes> code_rows(const T* rows, int64_t n, int64_t d, const double* center,
                                           const double* atoms, const simplex::Atoms& dictionary,
                                           const simplex::Settings& settings, const simplex::Start& start,
                                           const simplex::RowReport& report, int threads) {
  const std::vector<T> panels = simplex::pack_atoms<T>(atoms, dictionary.m, d);
  std::vector<simplex::BlockCodes> blocks(static_cast<size_t>((n + simplex::kBlock - 1) / simplex::kBlock));
  parallel_blocks(n, simplex::kBlock, dense::worthwhile(threads, n * dictionary.m * d),
                  [&](int64_t lo, int64_t hi) {
                    simplex::code_block(rows, center, panels, d, dictionary, settings, start, lo, hi, report,
                                        blocks[static_cast<size_t>(lo / simplex::kBlock)]);
                  });
  return blocks;
}

// The same of rows that are known by their products with the atoms (n x m) and their squared norms, all seen
// from the atoms' center.
inline std::vector<simplex::BlockCodes> code_by_products(const double* products, const double* squares,
                                                         int64_t n, const simplex::Atoms& dictionary,
                                                         const simplex::Settings& settings,
                                                         const simplex::Start& start,
                                                         const simplex::RowReport& report, int threads) {
  std::vector<simplex::BlockCodes> blocks(static_cast<size_t>((n + simplex::kBlock - 1) / simplex::kBlock));
  parallel_blocks(n, simplex::kBlock, threads, [&](int64_t lo, int64_t hi) {
    simplex::code_products(products + lo * dictionary.m, dictionary.m, squares + lo, dictionary, settings,
                           start, lo, hi, report, blocks[static_cast<size_t>(lo / simplex::kBlock)]);
  });
  return blocks;
}

template <class T>
WINKEL_CLONES void add_weighted_row(const T* __restrict row, const double* __restrict center, double weight,
                                    int64_t d, double* __restrict out) {
  for (int64_t k = 0; k < d; ++k) out[k] += weight * (static_cast<double>(row[k]) - center[k]);
}

// For every atom the weighted sum of the rows less `center` (m x d): codes by atom (compressed columns), each
// atom's sum in the order of the rows.
template <class T>
void weighted_row_sums(const int64_t* indptr, const int32_t* indices, const double* weights, int64_t m,
                       const T* rows, const double* center, int64_t d, int threads, double* out) {
  parallel_blocks(m, 1, dense::worthwhile(threads, indptr[m] * d), [&](int64_t lo, int64_t hi) {
    for (int64_t j = lo; j < hi; ++j)
      for (int64_t e = indptr[j]; e < indptr[j + 1]; ++e)
        kernel<add_weighted_row<T>>()(rows + static_cast<int64_t>(indices[e]) * d, center, weights[e], d,
                                      out + j * d);
  });
}

}  // namespace winkel
