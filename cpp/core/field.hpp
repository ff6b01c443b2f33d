// All-pairs sums of a radial kernel in near-linear time: an adaptive tree whose boxes stand in for their
// points.
//
//   build      halve the longest side of the tight box of a node until few points are left
//   upward     a box with many points gets p^M proxies: Chebyshev nodes that carry the charges of its points,
//              spread by interpolation
//   downward   two boxes far enough apart act on each other proxies to proxies; the potentials and forces
//   that
//              a box collects at its proxies are interpolated to its children, and at last to its points;
//              boxes that are close all the way down act point by point, exactly
//
// A pair of boxes is treated alike from both of its sides, so that the interpolated forces of a pair cancel.
// Each target box is owned by one thread and meets its sources in an order that depends on the points alone:
// the same bytes for any number of threads. Because boxes are tight and halved where the points are,
// clusters, outliers and lines cost no more than an even spread, and coincident points end in one box of size
// zero.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "chebyshev.hpp"
#include "parallel.hpp"
#include "radial.hpp"
#include "simd.hpp"

namespace winkel {

// When a box may stand for its points. Lengths are in units of the coordinates.
struct FieldRules {
  int nodes = 4;             // p, Chebyshev nodes a side
  int64_t leaf = 48;         // points in a box that is not divided further, at most
  double separation = 1.4;   // distance of the centres over the sum of the radii, at least
  double softening = 0.0;    // distance of the kernel's singularity from the real line: 1 for Cauchy kernels
  double reach = INFINITY;   // boxes further apart than this do not feel each other
  double grain = INFINITY;   // largest sum of the radii at contact, for kernels that decay exponentially;
  double grain_slope = 0.0;  // grows by this with distance
};

template <class T, int M>
class FieldTree {
 public:
  FieldTree(const T* Y, const T* charges, int64_t n, const FieldRules& rules, const DistortionParams& params,
            radial::Loop<T> loop, int threads)
      : n_(n), threads_(threads), rules_(rules), params_(params), loop_(loop), chebyshev_(rules.nodes) {
    for (int k = 0; k < M; ++k) proxies_ *= rules.nodes;
    width_ = (proxies_ + kLanes - 1) / kLanes * kLanes;
    rules_.leaf = std::max(rules_.leaf, proxies_);
    build(Y);
    localize(charges);
    collect_charges();
  }

  // Potentials (n) and forces (n x M) in the order of the points given.
  void evaluate(T* potentials, T* forces) const {
    Task root{0, {0}, {}, -1};
    std::vector<Task> open{root}, ready;
    const int64_t task_size = std::max<int64_t>(n_ / 64, 1024);
    Sink sink{potentials, forces};
    for (size_t t = 0; t < open.size(); ++t) {  // grows while it is read
      const Task task = std::move(open[t]);
      const Node& node = at(task.node);
      if (node.left < 0 || node.end - node.begin <= task_size) {
        ready.push_back(task);
      } else {
        descend(task, sink, &open);
      }
    }
    parallel_blocks(static_cast<int64_t>(ready.size()), 1, threads_,
                    [&](int64_t lo, int64_t) { descend(ready[static_cast<size_t>(lo)], sink, nullptr); });
  }

 private:
  struct Node {
    int64_t begin = 0, end = 0;
    int64_t left = -1;  // its children are left and left + 1, behind it
    int depth = 0;
    double center[M] = {}, half[M] = {}, radius = 0.0;
    bool smooth = false;  // so small that the kernel is smooth on it, points that meet included
    bool direct = false;  // has no more points than proxies, and is seen as its points
  };

  // A target box with the sources it has still to meet, and the field held by its parent.
  struct Task {
    int64_t node;
    std::vector<int64_t> sources;
    std::vector<T> held;
    int64_t parent;
  };

  struct Sink {
    T* potentials;
    T* forces;
  };

  const Node& at(int64_t i) const { return nodes_[static_cast<size_t>(i)]; }

  // ---- build

  void build(const T* Y) {
    order_.resize(static_cast<size_t>(n_));
    std::iota(order_.begin(), order_.end(), int32_t{0});
    points_.resize(static_cast<size_t>(n_ * M));
    parallel_blocks(n_, 4096, threads_, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        for (int k = 0; k < M; ++k) points_[static_cast<size_t>(i * M + k)] = Y[i * M + k];
      }
    });
    spare_order_.resize(order_.size());
    spare_points_.resize(points_.size());
    // The top of the tree by one thread, then each branch by its own: few waits, also on a busy machine.
    std::vector<int64_t> roots;
    nodes_.emplace_back();
    nodes_[0].end = n_;
    grow(nodes_, std::max<int64_t>(n_ / 32, 2048), &roots);
    top_ = static_cast<int64_t>(nodes_.size());
    std::vector<std::vector<Node>> branches(roots.size());
    parallel_blocks(static_cast<int64_t>(roots.size()), 1, threads_, [&](int64_t r, int64_t) {
      auto& branch = branches[static_cast<size_t>(r)];
      branch.push_back(at(roots[static_cast<size_t>(r)]));
      grow(branch, 0, nullptr);
    });
    for (size_t r = 0; r < roots.size(); ++r) attach(roots[r], branches[r]);
    spare_order_ = {};
    spare_points_ = {};
  }

  // Divides the first node and all below it; nodes with at most `enough` points are left and put in `roots`.
  void grow(std::vector<Node>& nodes, int64_t enough, std::vector<int64_t>* roots) {
    for (size_t i = 0; i < nodes.size(); ++i) {  // grows while it is read
      if (roots != nullptr && nodes[i].end - nodes[i].begin <= enough) {
        roots->push_back(static_cast<int64_t>(i));
        continue;
      }
      const int64_t middle = divide(nodes[i]);
      if (middle < 0) continue;
      Node left, right;
      left.depth = right.depth = nodes[i].depth + 1;
      left.begin = nodes[i].begin, left.end = right.begin = middle, right.end = nodes[i].end;
      nodes[i].left = static_cast<int64_t>(nodes.size());
      nodes.push_back(left);
      nodes.push_back(right);
    }
  }

  // Puts a branch, whose first node stands for `root`, behind the nodes so far.
  void attach(int64_t root, const std::vector<Node>& branch) {
    const int64_t shift = static_cast<int64_t>(nodes_.size()) - 1;
    branch_begin_.push_back(shift + 1);
    for (size_t i = 0; i < branch.size(); ++i) {
      Node node = branch[i];
      if (node.left >= 0) node.left += shift;
      if (i == 0) {
        nodes_[static_cast<size_t>(root)] = node;
      } else {
        nodes_.push_back(node);
      }
    }
  }

  // Fits the box; parts the points at the middle of its longest side and gives where the second part begins,
  // or -1 when the box is not divided.
  int64_t divide(Node& node) {
    const T* x = points_.data();
    T low[M], high[M];
    for (int k = 0; k < M; ++k) low[k] = high[k] = x[node.begin * M + k];
    for (int64_t i = node.begin; i < node.end; ++i) {
      for (int k = 0; k < M; ++k) {
        low[k] = std::min(low[k], x[i * M + k]);
        high[k] = std::max(high[k], x[i * M + k]);
      }
    }
    int longest = 0;
    double square = 0.0;
    for (int k = 0; k < M; ++k) {
      node.center[k] = 0.5 * static_cast<double>(low[k]) + 0.5 * static_cast<double>(high[k]);
      node.half[k] = 0.5 * static_cast<double>(high[k]) - 0.5 * static_cast<double>(low[k]);
      square += node.half[k] * node.half[k];
      if (node.half[k] > node.half[longest]) longest = k;
    }
    node.radius = std::sqrt(square);
    const int64_t count = node.end - node.begin;
    node.smooth = close_and_smooth(0.0, 2.0 * node.radius);
    node.direct = count <= proxies_;
    if (node.depth == kMaxDepth || count <= rules_.leaf || node.smooth || node.radius == 0.0) return -1;
    return part(node, longest);
  }

  int64_t part(const Node& node, int side) {
    const double middle = node.center[side];
    int64_t kept = node.begin, moved = 0;
    for (int64_t i = node.begin; i < node.end; ++i) {
      const bool below = static_cast<double>(points_[static_cast<size_t>(i * M + side)]) <= middle;
      const int64_t to = below ? kept++ : node.begin + moved++;
      auto& order = below ? order_ : spare_order_;
      auto& points = below ? points_ : spare_points_;
      order[static_cast<size_t>(to)] = order_[static_cast<size_t>(i)];
      for (int k = 0; k < M; ++k)
        points[static_cast<size_t>(to * M + k)] = points_[static_cast<size_t>(i * M + k)];
    }
    if (moved == 0 || kept == node.begin) return -1;
    std::copy_n(spare_order_.begin() + node.begin, moved, order_.begin() + kept);
    std::copy_n(spare_points_.begin() + node.begin * M, moved * M, points_.begin() + kept * M);
    return kept;
  }

  // Coordinates from the centre of the leaf, a side at a time: differences of close points keep their digits
  // however far the points lie from the origin.
  void localize(const T* charges) {
    local_.resize(static_cast<size_t>(n_ * M + kLanes));
    charges_.resize(static_cast<size_t>(n_));
    parallel_blocks(static_cast<int64_t>(nodes_.size()), 16, threads_, [&](int64_t lo, int64_t hi) {
      for (int64_t a = lo; a < hi; ++a) {
        const Node& node = at(a);
        if (node.left >= 0) continue;
        for (int64_t i = node.begin; i < node.end; ++i) {
          const int64_t from = order_[static_cast<size_t>(i)];
          charges_[static_cast<size_t>(i)] = charges[from];
          for (int k = 0; k < M; ++k) {
            local_[static_cast<size_t>(k * n_ + i)] =
                static_cast<T>(static_cast<double>(points_[static_cast<size_t>(i * M + k)]) - node.center[k]);
          }
        }
      }
    });
    points_ = {};
  }

  // ---- upward

  // Coordinates (from the centre) and charges of what stands for a box.
  radial::Sources<T> stand_in(int64_t a) const {
    const Node& node = at(a);
    if (node.direct) return points_of(node);
    return {proxy_points_.data() + a * M * width_, width_, proxy_charges_.data() + a * width_, proxies_};
  }

  radial::Sources<T> points_of(const Node& node) const {
    return {local_.data() + node.begin, n_, charges_.data() + node.begin, node.end - node.begin};
  }

  Frame<T, M> frame(const Node& box, const Node& seen) const {
    Frame<T, M> f;
    for (int k = 0; k < M; ++k) {
      f.offset[k] = static_cast<T>(seen.center[k] - box.center[k]);
      f.scale[k] = box.half[k] > kSmallestHalf ? static_cast<T>(1.0 / box.half[k]) : T(0);
    }
    return f;
  }

  void collect_charges() {
    proxy_points_.resize(nodes_.size() * static_cast<size_t>(M * width_));
    proxy_charges_.resize(nodes_.size() * static_cast<size_t>(width_));
    // Children lie behind their parents: the branches from their ends, then the top.
    const int64_t branches = static_cast<int64_t>(branch_begin_.size());
    parallel_blocks(branches, 1, threads_, [&](int64_t r, int64_t) {
      const int64_t end =
          r + 1 < branches ? branch_begin_[static_cast<size_t>(r + 1)] : static_cast<int64_t>(nodes_.size());
      collect_back_to(branch_begin_[static_cast<size_t>(r)], end);
    });
    collect_back_to(0, top_);
  }

  void collect_back_to(int64_t begin, int64_t end) {
    for (int64_t a = end; a-- > begin;) {
      if (!at(a).direct) collect(a);
    }
  }

  void collect(int64_t a) {
    const Node& node = at(a);
    T* place = proxy_points_.data() + a * M * width_;
    for (int64_t s = 0; s < proxies_; ++s) {
      int64_t rest = s;
      for (int k = 0; k < M; ++k, rest /= rules_.nodes)
        place[k * width_ + s] = static_cast<T>(node.half[k] * chebyshev_.node[rest % rules_.nodes]);
    }
    std::vector<double> total(static_cast<size_t>(proxies_), 0.0);
    if (node.left < 0) {
      spread_points(points_of(node), frame(node, node), total);
    } else {
      for (int64_t c = node.left; c < node.left + 2; ++c)
        spread_points(stand_in(c), frame(node, at(c)), total);
    }
    for (int64_t s = 0; s < proxies_; ++s)
      proxy_charges_[static_cast<size_t>(a * width_ + s)] = static_cast<T>(total[static_cast<size_t>(s)]);
  }

  void spread_points(const radial::Sources<T>& from, const Frame<T, M>& f, std::vector<double>& total) const {
    const T still[M] = {};
    T lanes[M * kLanes], charges[kLanes];
    std::vector<T> sums(static_cast<size_t>(proxies_ * kLanes));
    for (int64_t run = 0; run < from.count; run += kSpreadRun) {
      std::fill(sums.begin(), sums.end(), T(0));
      const int64_t end = std::min(from.count, run + kSpreadRun);
      for (int64_t i = run; i < end; i += kLanes) {
        const int64_t count = std::min(end - i, kLanes);
        radial::load_lanes(from.coordinates, from.stride, M, i, still, lanes);
        for (int64_t l = 0; l < kLanes; ++l) charges[l] = l < count ? from.charges[i + l] : T(0);
        for (int64_t l = count; l < kLanes; ++l) {  // inside the box: far outside, 0 times a basis is not 0
          for (int k = 0; k < M; ++k) lanes[k * kLanes + l] = lanes[k * kLanes];
        }
        kernel<field::spread<T, M>>()(lanes, charges, &f, &chebyshev_, sums.data());
      }
      for (int64_t s = 0; s < proxies_; ++s) {
        T sum = T(0);
        for (int64_t l = 0; l < kLanes; ++l) sum += sums[static_cast<size_t>(s * kLanes + l)];
        total[static_cast<size_t>(s)] += static_cast<double>(sum);
      }
    }
  }

  // ---- downward

  bool close_and_smooth(double square, double radii) const {
    return (rules_.softening > 0.0 &&
            square + rules_.softening * rules_.softening >=
                rules_.separation * rules_.separation * radii * radii &&
            radii <= rules_.grain) ||
           std::sqrt(square) + radii <= params_.floor;
  }

  bool may_interpolate(double square, double radii) const {
    if (close_and_smooth(square, radii)) return true;
    return square >= rules_.separation * rules_.separation * radii * radii &&
           radii <= rules_.grain + rules_.grain_slope * (std::sqrt(square) - radii);
  }

  // A block of targets that collects forces and potentials, lanes of kLanes.
  struct Block {
    radial::Sources<T> targets;
    std::vector<double> felt;

    explicit Block(const radial::Sources<T>& of)
        : targets(of), felt(static_cast<size_t>((of.count + kLanes - 1) / kLanes * kLanes * (M + 1)), 0.0) {}
  };

  // Lets sources, seen from `shift` away, act on a block.
  void act(Block& block, const radial::Sources<T>& sources, const T* shift, bool same) const {
    T lanes[M * kLanes];
    for (int64_t i = 0; i < block.targets.count; i += kLanes) {
      radial::load_lanes(block.targets.coordinates, block.targets.stride, M, i, shift, lanes);
      loop_(lanes, &sources, M, same ? i : radial::kNoSelf, &params_, block.felt.data() + i * (M + 1));
    }
  }

  // Adds the field held at the proxies of `box` (by side, width_ apart) to a block of `seen`.
  void interpolate(const std::vector<T>& held, const Node& box, const Node& seen, Block& block) const {
    const Frame<T, M> f = frame(box, seen);
    const T still[M] = {};
    T lanes[M * kLanes];
    for (int64_t i = 0; i < block.targets.count; i += kLanes) {
      radial::load_lanes(block.targets.coordinates, block.targets.stride, M, i, still, lanes);
      kernel<field::gather<T, M>>()(lanes, &f, &chebyshev_, held.data(), width_,
                                    block.felt.data() + i * (M + 1));
    }
  }

  std::vector<T> hold(const Block& block) const {
    std::vector<T> held(static_cast<size_t>((M + 1) * width_), T(0));
    for (int64_t s = 0; s < proxies_; ++s) {
      const double* felt = block.felt.data() + s / kLanes * kLanes * (M + 1) + s % kLanes;
      for (int k = 0; k <= M; ++k)
        held[static_cast<size_t>(k * width_ + s)] = static_cast<T>(felt[k * kLanes]);
    }
    return held;
  }

  // Lets a target box meet its sources and hands the rest to its children: to `open` when given, else at
  // once.
  void descend(const Task& task, const Sink& sink, std::vector<Task>* open) const {
    const Node& node = at(task.node);
    Block far(stand_in(task.node));
    if (task.parent >= 0) interpolate(task.held, at(task.parent), node, far);
    std::vector<int64_t> later, near;
    bool felt_itself = false;
    std::vector<int64_t> stack(task.sources.rbegin(), task.sources.rend());
    while (!stack.empty()) {
      const int64_t s = stack.back();
      stack.pop_back();
      meet(task.node, s, far, felt_itself, stack, later, near);
    }
    if (node.left < 0) {
      finish(task.node, far, near, felt_itself, sink);
      return;
    }
    const std::vector<T> held = hold(far);
    for (int64_t c = node.left; c < node.left + 2; ++c) {
      Task child{c, later, held, task.node};
      if (open != nullptr) {
        open->push_back(std::move(child));
      } else {
        descend(child, sink, nullptr);
      }
    }
  }

  void meet(int64_t a, int64_t s, Block& far, bool& felt_itself, std::vector<int64_t>& stack,
            std::vector<int64_t>& later, std::vector<int64_t>& near) const {
    const Node &target = at(a), &source = at(s);
    T shift[M];
    double square = 0.0;
    for (int k = 0; k < M; ++k) {
      const double difference = source.center[k] - target.center[k];
      shift[k] = static_cast<T>(difference);
      square += difference * difference;
    }
    const double radii = target.radius + source.radius;
    if (std::sqrt(square) - radii > rules_.reach) return;
    const bool whole = a == s ? target.smooth && !target.direct : may_interpolate(square, radii);
    if (whole) {
      act(far, stand_in(s), shift, false);
      felt_itself = felt_itself || a == s;
    } else if (target.left < 0 && source.left < 0) {
      near.push_back(s);
    } else if (a == s || (target.radius == source.radius && target.left >= 0 && source.left >= 0)) {
      later.push_back(source.left);
      later.push_back(source.left + 1);
    } else if (source.left >= 0 && (target.left < 0 || source.radius > target.radius)) {
      stack.push_back(source.left + 1);
      stack.push_back(source.left);
    } else {
      later.push_back(s);
    }
  }

  // Brings a leaf's field to its points, adds the boxes next to it point by point, and writes its rows.
  void finish(int64_t a, Block& far, const std::vector<int64_t>& near, bool felt_itself,
              const Sink& sink) const {
    const Node& node = at(a);
    Block own(points_of(node));
    if (node.direct) {
      own.felt.swap(far.felt);
    } else {
      interpolate(hold(far), node, node, own);
    }
    for (const int64_t s : near) {
      T shift[M];
      for (int k = 0; k < M; ++k) shift[k] = static_cast<T>(at(s).center[k] - node.center[k]);
      act(own, points_of(at(s)), shift, s == a);
    }
    const double itself = felt_itself ? value_at_zero() : 0.0;
    for (int64_t i = node.begin; i < node.end; ++i) {
      const int64_t row = order_[static_cast<size_t>(i)], j = i - node.begin;
      const double* felt = own.felt.data() + j / kLanes * kLanes * (M + 1) + j % kLanes;
      for (int k = 0; k < M; ++k) sink.forces[row * M + k] = static_cast<T>(felt[k * kLanes]);
      sink.potentials[row] =
          static_cast<T>(felt[M * kLanes] - itself * static_cast<double>(charges_[static_cast<size_t>(i)]));
    }
  }

  double value_at_zero() const {
    const T lanes[M * kLanes] = {}, origin[M] = {}, one = T(1);
    double out[(M + 1) * kLanes] = {};
    const radial::Sources<T> source{origin, 1, &one, 1};
    loop_(lanes, &source, M, radial::kNoSelf, &params_, out);
    return out[M * kLanes];
  }

  static constexpr int kMaxDepth = 400;
  static constexpr int64_t kSpreadRun = 1024;
  static constexpr double kSmallestHalf = 1e-30;

  int64_t n_;
  int threads_;
  FieldRules rules_;
  DistortionParams params_;
  radial::Loop<T> loop_;
  Chebyshev chebyshev_;
  int64_t proxies_ = 1, width_ = kLanes;
  std::vector<Node> nodes_;
  int64_t top_ = 0;                    // nodes above the branches, their roots included
  std::vector<int64_t> branch_begin_;  // the first node of each branch below its root
  std::vector<int32_t> order_, spare_order_;
  std::vector<T> points_, spare_points_;  // n x M, in the order of the tree, while it is built
  std::vector<T> local_, charges_;        // M x n and n, in the order of the tree
  std::vector<T> proxy_points_, proxy_charges_;
};

}  // namespace winkel
