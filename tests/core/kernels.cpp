// What kernels of the core make of fixed numbers: a line with a name and a digest of the bytes for each. The
// lines are to be the same for every instruction set, compiler and architecture.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/algebra.hpp"
#include "core/curves.hpp"
#include "core/dense.hpp"
#include "core/distortion.hpp"
#include "core/eigen.hpp"
#include "core/lvm_tiles.hpp"
#include "core/nndescent.hpp"
#include "core/pairs.hpp"
#include "core/panels.hpp"
#include "core/radial.hpp"
#include "core/refine.hpp"
#include "core/rng.hpp"
#include "core/spline_grid.hpp"
#include "core/tile.hpp"
#include "core/vecmath.hpp"

using namespace winkel;

namespace {

template <class T>
void tell(const std::string& name, const std::vector<T>& numbers) {
  uint64_t hash = 1469598103934665603ull;
  const auto* bytes = reinterpret_cast<const unsigned char*>(numbers.data());
  for (size_t k = 0; k < numbers.size() * sizeof(T); ++k) hash = (hash ^ bytes[k]) * 1099511628211ull;
  std::printf("%s %016llx\n", name.c_str(), static_cast<unsigned long long>(hash));
}

// Uniform in (-1, 1).
template <class T>
std::vector<T> numbers(size_t count, uint64_t stream) {
  const Random random(7, stream);
  std::vector<T> out(count);
  for (size_t k = 0; k < count; ++k) out[k] = static_cast<T>(2.0 * random.uniform(k) - 1.0);
  return out;
}

void functions() {
  const Random random(1, 0);
  std::vector<double> out;
  for (int k = -400; k <= 400; ++k) {
    const double x = 0.37 * k;
    for (double y :
         {vecmath::exp(x), vecmath::decay(20 * x), vecmath::expm1(0.01 * x), vecmath::log(x * x + 0.1),
          vecmath::log1p(x * x), vecmath::cos_turns(x), vecmath::acos(x / 150.0)})
      out.push_back(y);
    out.push_back(random.normal(static_cast<uint64_t>(k + 400)));
    out.push_back(static_cast<double>(vecmath::exp(static_cast<float>(0.2 * x))));
    out.push_back(static_cast<double>(vecmath::log(static_cast<float>(x * x + 0.1))));
  }
  tell("functions", out);
}

template <class T>
void dense_work(const std::string& type) {
  const int64_t n = 1500, p = 7;
  const auto a = numbers<T>(static_cast<size_t>(n * p), 1), b = numbers<T>(static_cast<size_t>(n * p), 2);
  std::vector<double> square(static_cast<size_t>(p * p)), sums(static_cast<size_t>(p)), products(4);
  gram(a.data(), b.data(), n, p, p, 1, square.data());
  tell("gram " + type, square);
  column_sums(a.data(), n, p, 1, sums.data());
  tell("column_sums " + type, sums);
  dots<T>({a.data(), b.data()}, {b.data(), a.data()}, n * p, 1, products.data());
  tell("dots " + type, products);
  std::vector<T> combined(a.size());
  const double weights[] = {0.3, -1.7};
  combine<T>(weights, {a.data(), b.data()}, n * p, 1, combined.data());
  tell("combine " + type, combined);
  std::vector<double> whole(static_cast<size_t>(p * p)), panel(static_cast<size_t>(simplex::kRows * 16));
  matrix_product(algebra::View<T>{a.data(), 1, p}, algebra::View<T>{b.data(), p, 1}, p, n, p, false, 1,
                 whole.data());
  tell("matrix_product " + type, whole);
  const int64_t d = n * p / 64;
  simplex::panel_products<T>(a.data(), b.data(), d, panel.data(), 16);
  tell("panel_products " + type, panel);
}

void decompositions() {
  const int64_t n = 40, p = 6;
  auto a = numbers<double>(static_cast<size_t>(n * n), 3);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)];
  std::vector<double> values(static_cast<size_t>(n)), vectors(a.size()), triangle(static_cast<size_t>(p * p));
  SymmetricEigen(a.data(), n, 1).run(n, values.data(), vectors.data());
  tell("eigenvalues", values);
  tell("eigenvectors", vectors);
  std::vector<double> few(static_cast<size_t>(3 * n));
  SymmetricEigen(a.data(), n, 1).run(3, values.data(), few.data());
  tell("three eigenvectors", few);
  auto columns = numbers<double>(static_cast<size_t>(n * p), 4);
  std::vector<double> turns(static_cast<size_t>(p * p), 0.0);
  for (int64_t i = 0; i < p; ++i) turns[static_cast<size_t>(i * p + i)] = 1.0;
  auto rows = columns;
  orthogonal_rows(rows.data(), p, n, turns.data());
  tell("orthogonal_rows", rows);
  householder_qr(columns.data(), n, p, triangle.data());
  tell("orthonormal columns", columns);
  tell("triangle", triangle);
}

void tiles() {
  const int m = 37;
  const auto rows = numbers<float>(kTileRows * m, 5), panel = numbers<float>(kTileCols * m, 6);
  const std::vector<float> row_norm(kTileRows, 9.0f), col_norm(kTileCols, 11.0f), limit(kTileCols, 12.0f);
  Tile tile{};
  for (int r = 0; r < kTileRows; ++r) tile.rows[r] = rows.data() + r * m;
  tile.panel = panel.data(), tile.row_norm = row_norm.data(), tile.col_norm = col_norm.data();
  tile.row_limit = tile.col_limit = limit.data();
  tile.n_features = m, tile.n_rows = kTileRows, tile.n_cols = kTileCols;
  for (int metric = 0; metric < 6; ++metric) {
    std::vector<float> out(kTileRows * kTileCols);
    tile_distances(static_cast<MetricKind>(metric), tile, out.data());
    tell("tile " + std::to_string(metric), out);
  }
  std::vector<float> products(kTileRows * kTileCols);
  std::vector<uint64_t> positive(kTileRows);
  tile_products(tile, products.data(), positive.data());
  tell("tile products", products);
  tell("tile signs", positive);
}

void searches() {
  const int64_t n = 900;
  const int m = 11;
  const auto x = numbers<float>(static_cast<size_t>(n * m), 8);
  std::vector<float> norm(static_cast<size_t>(n), 0.0f);
  for (int64_t i = 0; i < n; ++i)
    for (int k = 0; k < m; ++k)
      norm[static_cast<size_t>(i)] += x[static_cast<size_t>(i * m + k)] * x[static_cast<size_t>(i * m + k)];
  const Points points{x.data(), norm.data(), n, m, MetricKind::squared_euclidean};
  const RpTree tree = build_rp_tree(x.data(), n, m, 30, 3, 0, 1);
  tell("tree", tree.order);
  NeighborDescent descent(points, x.data(), m, 8, 10, 30, 3, 1);
  std::vector<int64_t> fresh;
  for (int round = 0; round < 3; ++round) fresh.push_back(descent.round(1));
  tell("nearest neighbour descent", fresh);
  std::vector<double> apart;
  for (int64_t i = 1; i < n; ++i)
    for (const auto kind : {DistanceKind::euclidean, DistanceKind::cosine, DistanceKind::correlation})
      apart.push_back(kernel<true_distance<float>>()(kind, x.data(), x.data() + i * m, m));
  tell("true distances", apart);
}

template <class F>
void distorted(const char* name, const std::vector<float>& squares) {
  const std::vector<float> ones(kChunk, 1.0f);
  DistortionParams params;
  params.first = 1.5;
  std::vector<float> factors(kChunk);
  const double sum = kernel<distortion::apply<F, float>>()(squares.data(), ones.data(), ones.data(), kChunk,
                                                           &params, factors.data());
  factors.push_back(static_cast<float>(sum));
  tell(name, factors);
}

void pushes() {
  const int64_t n = 300;
  const auto Y = numbers<float>(static_cast<size_t>(3 * n), 9);
  const std::vector<float> charges(static_cast<size_t>(n + kLanes), 1.0f);
  DistortionParams params;
  params.first = 1.0;
  std::vector<float> potentials(static_cast<size_t>(n)), force(static_cast<size_t>(n * 2));
  radial::exact_sums<float>(kernel<radial::act<radial::CauchyAny, float, 2>>(), params, Y.data(),
                            charges.data(), n, 2, nullptr, n, 1, potentials.data(), force.data());
  tell("cauchy field", force);
  auto squares = numbers<float>(kChunk, 10);
  for (float& s : squares) s = s * s * 4.0f;
  distorted<distortion::Log1p<distortion::AnyPower>>("log1p", squares);
  distorted<distortion::Log<distortion::Power1>>("log", squares);
  distorted<distortion::LogisticPenalty>("logistic penalty", squares);
  distorted<distortion::SoftFractionalLoss>("soft fractional loss", squares);
  const winkel::forces::CurveParams curve{1.6, 0.9, 1e-3};
  std::vector<float> slopes(kChunk), values(kChunk);
  kernel<winkel::forces::trace<winkel::forces::NegLog<winkel::forces::Umap>, float>>()(
      squares.data(), kChunk, &curve, slopes.data(), values.data());
  tell("umap slopes", slopes);
  const SplineGrid grid{{-1.5, -1.5}, 10.0, 40, 48};
  std::vector<float> held(40 * 48, 0.0f), read_values(static_cast<size_t>(n)),
      gradients(static_cast<size_t>(2 * n));
  spread<float>(grid, Y.data(), nullptr, n, 1, held.data());
  tell("spread", held);
  read<float>(grid, Y.data(), n, held.data(), 1, read_values.data(), gradients.data());
  tell("read", gradients);
}

// Rows with many pairs and few, and one with more than a segment holds.
template <class T>
void pulls(const std::string& type, int64_t m) {
  const int64_t n = 700;
  const auto Y = numbers<T>(static_cast<size_t>(n * m), 14);
  const Random random(5, 0);
  std::vector<int32_t> edges;
  for (int32_t i = 1; i < n; ++i) {
    edges.insert(edges.end(), {0, i});
    for (int k = 0; k < i % 9; ++k)
      edges.insert(edges.end(),
                   {i, static_cast<int32_t>(random.uniform(static_cast<uint64_t>(i * 9 + k)) * i)});
  }
  PairPlan<T> plan(n, m);
  const auto count = static_cast<int64_t>(edges.size() / 2);
  for (const char* name : {"log1p", "log"}) {
    const DistortionParams params{1.5, 0.0, 1e-2};
    plan.add(distortion_loop<T>(name, params), params, edges.data(), count, nullptr, 0.7, nullptr, 1);
  }
  std::vector<T> gradient(Y.size());
  gradient.push_back(static_cast<T>(plan.evaluate(Y.data(), T(0.5), nullptr, 1, gradient.data())));
  tell("pairs in " + std::to_string(m) + " " + type, gradient);
}

void latent() {
  using namespace winkel::lvm;
  constexpr int64_t d = 2;
  const auto y = numbers<float>(d * kTile, 11);
  std::vector<float> positive = numbers<float>(kTile, 12);
  for (float& v : positive) v = v * v + 0.1f;
  const TilePoints<float> points{y.data(),        positive.data(), positive.data(),
                                 positive.data(), positive.data(), kTile};
  const Exceptions none{nullptr, nullptr, nullptr, 0};
  std::vector<float> rows(d * kTile, 0.0f), columns(rows);
  TileScratch<float> scratch;
  const double value = kernel<tile_pairs<float, Power::planar, true, true>>()(
      &points, &points, true, &none, d, &scratch, rows.data(), columns.data());
  rows.insert(rows.end(), columns.begin(), columns.end());
  tell("latent pairs", rows);
  tell("latent likelihood", std::vector<double>{value});
}

}  // namespace

int main() {
  functions();
  dense_work<float>("float");
  dense_work<double>("double");
  decompositions();
  tiles();
  searches();
  pushes();
  for (const int64_t m : {1, 2, 3, 10}) {
    pulls<float>("float", m);
    pulls<double>("double", m);
  }
  latent();
  return 0;
}
