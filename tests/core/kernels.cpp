// What kernels of the core make of fixed numbers: a line with a name and a digest of the bytes for each. The
// lines are to be the same for every instruction set, compiler and architecture.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/algebra.hpp"
#include "core/calibrate.hpp"
#include "core/curves.hpp"
#include "core/dense.hpp"
#include "core/distortion.hpp"
#include "core/lvm_tiles.hpp"
#include "core/nndescent.hpp"
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
  SymmetricEigen(a.data(), n).run(values.data(), vectors.data());
  tell("eigenvalues", values);
  tell("eigenvectors", vectors);
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

template <class T>
void pushes(const std::string& type) {
  const int64_t n = 300;
  const auto Y = numbers<T>(static_cast<size_t>(3 * n), 9);
  const std::vector<T> charges(static_cast<size_t>(n + kLanes), T(1));
  for (const char* name : {"cauchy", "log", "inv_power"})
    for (int64_t m : {2, 3}) {
      std::vector<T> potentials(static_cast<size_t>(n)), force(static_cast<size_t>(n * m));
      DistortionParams params;
      params.first = 1.0;
      radial::exact_sums<T>(radial::loop<T>(name, m, params.first), params, Y.data(), charges.data(), n, m,
                            nullptr, n, 1, potentials.data(), force.data());
      tell(std::string(name) + " " + std::to_string(m) + " " + type, force);
    }
  auto squares = numbers<T>(kChunk, 10);
  for (T& s : squares) s = s * s * T(4);
  const std::vector<T> ones(kChunk, T(1));
  for (const char* name :
       {"log1p", "power", "cauchy", "logistic_penalty", "huber_loss", "soft_fractional_loss"}) {
    DistortionParams params;
    params.first = 1.5;
    std::vector<T> factors(kChunk);
    const double sum = distortion_loop<T>(name, params)(squares.data(), ones.data(), ones.data(), kChunk,
                                                        &params, factors.data());
    factors.push_back(static_cast<T>(sum));
    tell(std::string("distortion ") + name + " " + type, factors);
  }
  for (const char* form : {"kernel", "neg_log", "apart", "logit"}) {
    const winkel::forces::CurveParams params{1.6, 0.9, 1e-3};
    std::vector<T> slopes(kChunk), values(kChunk);
    winkel::forces::trace_of<T>("umap", form)(squares.data(), kChunk, &params, slopes.data(), values.data());
    slopes.insert(slopes.end(), values.begin(), values.end());
    tell(std::string("umap ") + form + " " + type, slopes);
  }
  const SplineGrid grid{{-1.5, -1.5}, 10.0, 40, 48};
  std::vector<T> held(40 * 48, T(0)), values(static_cast<size_t>(n)), gradients(static_cast<size_t>(2 * n));
  spread<T>(grid, Y.data(), nullptr, n, 1, held.data());
  tell("spread " + type, held);
  read<T>(grid, Y.data(), n, held.data(), 1, values.data(), gradients.data());
  tell("read " + type, gradients);
}

template <class T>
void latent(const std::string& type) {
  using namespace winkel::lvm;
  for (int64_t d : {1, 2, 3, 4}) {
    const auto y = numbers<T>(static_cast<size_t>(d * kTile), 11);
    std::vector<T> positive = numbers<T>(kTile, 12);
    for (T& v : positive) v = v * v + T(0.1);
    const TilePoints<T> points{y.data(),        positive.data(), positive.data(),
                               positive.data(), positive.data(), kTile};
    const Exceptions none{nullptr, nullptr, nullptr, 0};
    std::vector<T> rows(static_cast<size_t>(d * kTile), T(0)), columns(rows);
    TileScratch<T> scratch;
    const double value = PairKernels<T>::of(d, true, true)
                             .tile(&points, &points, true, &none, d, &scratch, rows.data(), columns.data());
    rows.insert(rows.end(), columns.begin(), columns.end());
    rows.push_back(static_cast<T>(value));
    tell("latent pairs " + std::to_string(d) + " " + type, rows);
  }
  std::vector<T> distances(20), out(20);
  for (size_t j = 0; j < 20; ++j) distances[j] = static_cast<T>(0.3 + 0.1 * static_cast<double>(j));
  std::vector<double> squares(20);
  calibrate_perplexity_row<T>(distances.data(), 20, vecmath::log(7.0), squares, out.data());
  tell("perplexity " + type, out);
}

}  // namespace

int main() {
  functions();
  dense_work<float>("float");
  dense_work<double>("double");
  decompositions();
  tiles();
  searches();
  pushes<float>("float");
  pushes<double>("double");
  latent<float>("float");
  latent<double>("double");
  return 0;
}
