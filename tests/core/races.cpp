// The main kernels, tried without Python: the same bytes for one thread and for three, and, when built with
// the thread sanitizer, no race among them. Prints a digest a kernel; ends with a message and 1 where they
// differ.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/access.hpp"
#include "core/calibrate.hpp"
#include "core/csr.hpp"
#include "core/exact_knn.hpp"
#include "core/field.hpp"
#include "core/forces.hpp"
#include "core/lvm_model.hpp"
#include "core/nndescent.hpp"
#include "core/pairs.hpp"
#include "core/paths.hpp"
#include "core/simplex.hpp"
#include "core/sparse_knn.hpp"
#include "core/spline_grid.hpp"

using namespace winkel;

namespace {

constexpr int64_t kRows = 600, kColumns = 8, kNeighbors = 10;

template <class T>
std::vector<T> normal(int64_t count, uint64_t stream) {
  const Random rng(7, stream);
  std::vector<T> out(static_cast<size_t>(count));
  for (size_t k = 0; k < out.size(); ++k) out[k] = static_cast<T>(rng.normal(k));
  return out;
}

struct Digest {
  uint64_t value = 1469598103934665603u;
  template <class T>
  Digest& add(const T* data, int64_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(data);
    for (int64_t k = 0; k < count * static_cast<int64_t>(sizeof(T)); ++k)
      value = (value ^ bytes[k]) * 1099511628211u;
    return *this;
  }
  template <class Values>
  Digest& add(const Values& data) {
    return add(data.data(), static_cast<int64_t>(data.size()));
  }
};

struct Cloud {
  std::vector<float> x = normal<float>(kRows * kColumns, 1), norm;
  Points points{};
  Cloud() {
    for (int64_t i = 0; i < kRows; ++i) {
      float sum = 0.0f;
      for (int64_t c = 0; c < kColumns; ++c) {
        const float v = x[static_cast<size_t>(i * kColumns + c)];
        sum += v * v;
      }
      norm.push_back(sum);
    }
    points = {x.data(), norm.data(), kRows, static_cast<int>(kColumns), MetricKind::squared_euclidean};
  }
};

// Each node with the next three, both ways, as compressed rows and as edges.
struct Ring {
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices, edges, lists;
  Ring() {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t step : {-3, -2, -1, 1, 2, 3}) {
        const auto j = static_cast<int32_t>((i + step + kRows) % kRows);
        indices.push_back(j);
        if (step > 0) lists.push_back(j), edges.push_back(static_cast<int32_t>(i)), edges.push_back(j);
      }
      indptr.push_back(static_cast<int64_t>(indices.size()));
    }
  }
};

uint64_t exact_search(int threads) {
  const Cloud cloud;
  ExactSearch search(cloud.points, kNeighbors);
  search.run(0, search.n_tasks(), threads);
  return Digest().add(search.lists().row(0), kRows * kNeighbors).value;
}

uint64_t descent(int threads) {
  const Cloud cloud;
  NeighborDescent search(cloud.points, cloud.x.data(), static_cast<int>(kColumns), kNeighbors, kNeighbors, 30,
                         3, threads);
  search.grow_tree(threads);
  search.round(threads);
  search.round(threads);
  std::vector<int32_t> found(kRows * kNeighbors);
  for (int64_t i = 0; i < kRows; ++i) search.peek(i, found.data() + i * kNeighbors);
  return Digest().add(found).value;
}

uint64_t sparse_search(int threads) {
  const Ring ring;
  const std::vector<float> values = normal<float>(static_cast<int64_t>(ring.indices.size()), 2),
                           norm(kRows, 6.0f);
  std::vector<int32_t> ascending = ring.indices;
  for (int64_t i = 0; i < kRows; ++i)
    std::sort(ascending.begin() + ring.indptr[static_cast<size_t>(i)],
              ascending.begin() + ring.indptr[static_cast<size_t>(i) + 1]);
  const SparseRows<float> rows{ring.indptr.data(), ascending.data(), values.data(), kRows, kRows};
  SparseSearcher search(rows, norm.data(), kNeighbors);
  search.run(0, kRows, threads);
  return Digest().add(search.lists().row(0), kRows * kNeighbors).value;
}

uint64_t edges_of_lists(int threads) {
  const Ring ring;
  const std::vector<float> distance(ring.lists.size(), 1.0f);
  const EdgeList<float> list =
      symmetrize_knn(ring.lists.data(), distance.data(), kRows, 3, Both::smaller, threads);
  return Digest().add(list.edges).add(list.weights).value;
}

uint64_t pair_plan(int threads) {
  const Ring ring;
  const std::vector<float> Y = normal<float>(kRows * 2, 3);
  std::vector<float> gradient(Y.size());
  const DistortionParams params{1.0, 1.0, 1e-6};
  PairPlan<float> plan(kRows, 2);
  for (int repeat = 0; repeat < 80; ++repeat)  // enough for threads to be asked
    plan.add(distortion_loop<float>("log1p", params), params, ring.edges.data(),
             static_cast<int64_t>(ring.edges.size() / 2), nullptr, 1.0, nullptr, threads);
  const double value = plan.evaluate(Y.data(), 1.0f, nullptr, threads, gradient.data());
  return Digest().add(gradient).add(&value, 1).value;
}

uint64_t field_tree(int threads) {
  const std::vector<float> Y = normal<float>(kRows * 8, 4), charges(kRows * 4, 1.0f);
  std::vector<float> potentials(kRows * 4), forces(kRows * 8);
  const FieldRules rules{3, 16, 1.4, 1.0, INFINITY, INFINITY, 0.0};
  const DistortionParams params{1.0, 0.0, 0.0};
  FieldTree<float, 2>(Y.data(), charges.data(), kRows * 4, rules, params,
                      radial::loop<float>("cauchy", 2, 1.0), threads)
      .evaluate(potentials.data(), forces.data());
  return Digest().add(potentials).add(forces).value;
}

uint64_t listed_forces(int threads) {
  const Ring ring;
  const std::vector<double> Y = normal<double>(kRows * 2, 5), weights(ring.indices.size(), 1.0);
  std::vector<double> force(Y.size());
  const forces::ListedPairs<double> pairs{ring.indptr.data(), ring.indices.data(), weights.data()};
  const double value =
      forces::listed_forces<double>(forces::trace_of<double>("cauchy", "neg_log"), {1.0, 1.0, 1e-6}, Y.data(),
                                    kRows, 2, pairs, true, threads, force.data());
  return Digest().add(force).add(&value, 1).value;
}

uint64_t calibration_of_rows(int threads) {
  std::vector<double> distances = normal<double>(kRows * 20, 6), weights(distances.size());
  for (int64_t i = 0; i < kRows; ++i) {
    const auto row = distances.begin() + i * 20;
    for (auto d = row; d != row + 20; ++d) *d = std::abs(*d);
    std::sort(row, row + 20);
  }
  calibrate_perplexity(distances.data(), kRows, 20, 5.0, threads, weights.data());
  return Digest().add(weights).value;
}

uint64_t latent(int threads) {
  const Ring ring;
  std::vector<int32_t> order(kRows);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<double> ones(ring.indices.size(), 1.0), each(kRows, 1.0),
      Y = normal<double>(kRows * 2, 8);
  lvm::Model<float> model(order, ring.indptr, ring.indices, ones.data(), ones.data());
  model.add_family({order, {0, kRows / 2, kRows}, each, each, each, {}, {}, {}});
  model.balance(0.1, each.data());
  std::vector<double> gradient(Y.size()), slopes(kRows), step(Y.size());
  const double value = model.gradient(Y.data(), each.data(), 2, threads, gradient.data());
  model.variance_slopes(Y.data(), each.data(), 2, threads, slopes.data());
  model.step(each.data(), gradient.data(), 2, 1e-3, 20, threads, step.data());
  return Digest().add(gradient).add(slopes).add(step).add(&value, 1).value;
}

uint64_t spline_grid(int threads) {
  const std::vector<float> Y = normal<float>(kRows * 20, 9);
  const int64_t n = kRows * 10;
  const SplineGrid grid{{-8.0, -8.0}, 4.0, 80, 80};
  std::vector<float> held(80 * 80, 0.0f), values(static_cast<size_t>(n)), gradients(Y.size());
  spread<float>(grid, Y.data(), nullptr, n, threads, held.data());
  read<float>(grid, Y.data(), n, held.data(), threads, values.data(), gradients.data());
  return Digest().add(held).add(values).add(gradients).value;
}

uint64_t codes(int threads) {
  const std::vector<double> rows = normal<double>(kRows * kColumns, 10),
                            atoms = normal<double>(20 * kColumns, 11), center(kColumns, 0.0);
  std::vector<double> gram(20 * 20, 0.0), objective(kRows), gap(kRows);
  std::vector<int32_t> rounds(kRows);
  for (size_t i = 0; i < 20; ++i)
    for (size_t j = 0; j < 20; ++j)
      for (size_t c = 0; c < kColumns; ++c)
        gram[i * 20 + j] += atoms[i * kColumns + c] * atoms[j * kColumns + c];
  code_rows<double>(rows.data(), kRows, kColumns, center.data(), atoms.data(), {gram.data(), 20},
                    {simplex::Method::projected_gradient, 0.1, 1e-8, 50}, {nullptr, nullptr, nullptr},
                    {objective.data(), gap.data(), rounds.data()}, threads);
  return Digest().add(objective).add(rounds).value;
}

uint64_t paths(int threads) {
  const Ring ring;
  const std::vector<int32_t> indptr(ring.indptr.begin(), ring.indptr.end());
  std::vector<int32_t> sources(100);
  std::iota(sources.begin(), sources.end(), 0);
  const PathPairs found = path_pairs({indptr.data(), ring.indices.data(), nullptr, kRows}, sources.data(),
                                     100, 20.0, 0.5, 1, threads);
  return Digest().add(found.pairs).add(found.distances).value;
}

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::exit(1);
}

// Some read, some change, all at once.
void threads_take_turns() {
  Access access;
  int64_t shared = 0;
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        {
          const Changing changing(access);
          ++shared;
        }
        const Reading reading(access);
        if (shared < 0) std::abort();
      }
    });
  for (std::thread& thread : team) thread.join();
  expect(shared == 800, "every change is kept");
}

// A search is given up while helpers are at work in it, and the next one is whole.
void a_search_given_up() {
  static std::atomic<int> asked;
  asked = 0;
  pool::hook().store([] {
    if (++asked == 1) throw std::runtime_error("enough");
  });
  bool thrown = false;
  try {
    parallel_blocks(100000, 1, 3, [](int64_t, int64_t) {
      poll();
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  pool::hook().store(nullptr);
  expect(thrown, "what the hook throws ends the loop");
}

}  // namespace

int main() {
  const struct {
    const char* name;
    uint64_t (*run)(int);
  } kernels[] = {{"exact search", exact_search},
                 {"descent", descent},
                 {"sparse search", sparse_search},
                 {"edges of lists", edges_of_lists},
                 {"pair plan", pair_plan},
                 {"field", field_tree},
                 {"listed forces", listed_forces},
                 {"calibration", calibration_of_rows},
                 {"latent variables", latent},
                 {"grid", spline_grid},
                 {"codes", codes},
                 {"paths", paths}};
  for (const auto& kernel : kernels) {
    const uint64_t alone = kernel.run(1);
    std::printf("%-18s %016llx\n", kernel.name, static_cast<unsigned long long>(alone));
    expect(kernel.run(3) == alone, kernel.name);
  }
  threads_take_turns();
  a_search_given_up();
  return 0;
}
