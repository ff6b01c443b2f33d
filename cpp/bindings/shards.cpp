#include "bindings.hpp"
#include "checks.hpp"
#include "core/shard_knn.hpp"
#include "core/shard_pairs.hpp"

namespace winkel {

namespace {

using Lists = Mat<const int32_t>;
using Found = std::pair<Out2<int32_t>, Out2<float>>;

// Pairs of consecutive rows of a map, which the arrays given hold; these are kept alive.
struct Shard {
  Shard(Vec<const int64_t> indptr, Vec<const int32_t> indices, Vec<const float> weights, int64_t first,
        int64_t items)
      : starts(indptr), neighbors(indices), values(weights), n(items) {
    require_index_range(items);
    const int64_t rows = rows_in(indptr) - 1;
    require(first >= 0 && rows >= 0 && first + rows <= items, "the shard's rows must be items");
    require_compressed(indptr, indices, rows, items);
    require(weights.shape(0) == indices.shape(0), "weights must have one entry a neighbour");
    pairs = {starts.data(), neighbors.data(), values.data(), rows, first};
  }
  Vec<const int64_t> starts;
  Vec<const int32_t> neighbors;
  Vec<const float> values;
  int64_t n;
  ShardPairs pairs;
};

template <class T>
std::pair<double, Out2<T>> pull(const Shard& shard, const std::string& distortion, double first,
                                double second, double floor, Mat<const T> Y, double scale, Threads threads) {
  const DistortionParams params{first, second, floor};
  const DistortionLoop<T> loop = distortion_loop<T>(distortion, params);
  require(loop != nullptr, "unknown distortion");
  const size_t m = Y.shape(1);
  require(rows_in(Y) == shard.n && (m == 2 || m == 3), "Y must have a row an item and two or three columns");
  auto [array, gradient] = new_array<Out2<T>, T>({static_cast<size_t>(shard.pairs.rows), m});
  const Unlocked unlocked;
  const auto run = m == 2 ? shard_pull<T, 2> : shard_pull<T, 3>;
  return {run(shard.pairs, loop, params, Y.data(), static_cast<T>(scale), threads, gradient), array};
}

Found join(Mat<const float> x, Lists lists, int64_t first, int64_t last, int64_t reach, int64_t k,
           Threads threads) {
  const int64_t n = rows_in(x);
  require_index_range(n);
  require(rows_in(lists) == n, "lists must have one row a point");
  require(0 <= first && first <= last && last <= n, "rows out of range");
  require(reach >= 0 && k >= 1 && k <= std::max<int64_t>(n, 1),
          "reach and k must not be negative, nor k beyond n");
  const int team = threads;
  const size_t count = static_cast<size_t>(last - first), width = static_cast<size_t>(k);
  auto [index, idx] = new_array<Out2<int32_t>, int32_t>({count, width});
  auto [distance, dist] = new_array<Out2<float>, float>({count, width});
  const Unlocked unlocked;
  join_lists<float>(x.data(), columns_in(x), {lists.data(), n, columns_in(lists)}, first, last, reach, k,
                    team, idx, dist);
  return {index, distance};
}

// For rows first, first + 1, ... the nearest rows of the cells that each names, the first named before all
// others: lists then hold near rows early, and most others are seen to be farther at once.
Out2<int32_t> search_probes(Mat<const float> x, Vec<const float> norm, Vec<const int64_t> cells,
                            int64_t first, Mat<const int32_t> probes, int width, Threads threads) {
  const int64_t n = rows_in(x), n_cells = rows_in(cells) - 1, count = rows_in(probes);
  require_index_range(n);
  require(x.shape(1) >= 1 && rows_in(norm) == n, "x must have columns, and norm one entry a row");
  require(n_cells >= 0 && first >= 0 && first + count <= n, "rows out of range");
  require(width >= 1 && width <= (1 << 24), "lists must have at least one entry, and at most 2**24");
  for (int64_t c = 0; c <= n_cells; ++c)
    require(cells.data()[c] >= (c == 0 ? 0 : cells.data()[c - 1]) && cells.data()[c] <= n,
            "cells must rise from 0 to at most the number of rows");
  require_range(probes.data(), probes.size(), -1, n_cells, "probes name a cell that is not there");
  const int team = threads;
  const size_t rows = static_cast<size_t>(count);
  auto [array, out] = new_array<Out2<int32_t>, int32_t>({rows, static_cast<size_t>(width)});
  const Unlocked unlocked;
  const Points points{x.data(), norm.data(), n, static_cast<int>(x.shape(1)), MetricKind::squared_euclidean};
  BoundedLists lists(count, width);
  const int64_t columns = columns_in(probes);
  std::vector<int64_t> starts(static_cast<size_t>(n_cells + 1));
  std::vector<int32_t> queries(rows * static_cast<size_t>(std::max<int64_t>(columns, 1)));
  for (int64_t lo = 0, hi = std::min<int64_t>(1, columns); lo < columns; lo = hi, hi = columns) {
    // Who names a cell, side by side.
    const auto each = [&](const auto& visit) {
      for (int64_t q = 0; q < count; ++q)
        for (int64_t p = lo; p < hi; ++p)
          if (const int32_t c = probes.data()[q * columns + p]; c >= 0) visit(q, static_cast<size_t>(c));
    };
    std::fill(starts.begin(), starts.end(), 0);
    each([&](int64_t, size_t c) { ++starts[c + 1]; });
    for (size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
    std::vector<int64_t> next(starts.begin(), starts.end());
    each([&](int64_t q, size_t c) { queries[static_cast<size_t>(next[c]++)] = static_cast<int32_t>(q); });
    search_cells(points, {cells.data(), starts.data(), queries.data(), n_cells, first}, lists, team);
  }
  for (int64_t q = 0; q < count; ++q)
    for (int s = 0; s < width; ++s) {
      const int64_t key = lists.row(q)[s];
      out[q * width + s] = key == BoundedLists::kEmpty ? -1 : NeighborKey::index(key, first + q, n);
    }
  return array;
}

template <class T>
void bind_pull(nb::class_<Shard>& shard) {
  shard.def("pull", &pull<T>, nb::arg("distortion"), nb::arg("first"), nb::arg("second"), nb::arg("floor"),
            nb::arg("Y"), nb::arg("scale"), nb::arg("threads"),
            "Half the sum over entries of w f(d), and for the shard's rows the gradient of scale times the "
            "sum over pairs.");
}

}  // namespace

void bind_shards(nb::module_& m) {
  nb::class_<Shard> shard(m, "Shard",
                          "Pairs of consecutive rows of a map with any others, as compressed rows.");
  shard.def(nb::init<Vec<const int64_t>, Vec<const int32_t>, Vec<const float>, int64_t, int64_t>(),
            nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"), nb::arg("first"), nb::arg("items"));
  bind_pull<float>(shard);
  bind_pull<double>(shard);
  m.def(
      "search_cells", &search_probes, nb::arg("x"), nb::arg("norm"), nb::arg("cells"), nb::arg("first"),
      nb::arg("probes"), nb::arg("width"), nb::arg("threads"),
      "Nearest rows of the cells that each of some consecutive rows names (-1: none), by single precision.");
  m.def(
      "join_lists", &join, nb::arg("x"), nb::arg("lists"), nb::arg("first"), nb::arg("last"),
      nb::arg("reach"), nb::arg("k"), nb::arg("threads"),
      "The k nearest of each row's neighbours and of the first neighbours of its first ones, for some rows.");
}

}  // namespace winkel
