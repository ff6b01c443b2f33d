#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/csr.hpp"
#include "core/forest.hpp"
#include "core/groups.hpp"
#include "core/paths.hpp"
#include "core/reach.hpp"
#include "core/spmm.hpp"

namespace winkel {

namespace {

// A vector of either float type: overloads must not differ in their result type alone for the stub to be
// typed.
using AnyVec = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig>;

// A NumPy array that takes over the memory of a vector, or of room.
template <class Array, class Values>
Array adopt(Values&& values, std::initializer_list<size_t> shape) {
  auto* owned = new Values(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Values*>(p); });
  return Array(owned->data(), shape.size(), shape.begin(), owner);
}

constexpr const char* kNoNode = "node number out of range";

template <class T>
void require_same_shape(const Mat<const int32_t>& index, const Mat<const T>& distance) {
  if (index.shape(0) != distance.shape(0) || index.shape(1) != distance.shape(1))
    throw std::invalid_argument("neighbour indices and distances must have the same shape");
}

template <class T>
std::pair<int, int64_t> check_lists(Mat<const int32_t> index, Mat<const T> distance, Threads n_jobs) {
  require_same_shape(index, distance);
  const Unlocked unlocked;
  const KnnCheck found = check_knn(index.data(), distance.data(), static_cast<int64_t>(index.shape(0)),
                                   static_cast<int64_t>(index.shape(1)), n_jobs);
  return {static_cast<int>(found.fault), found.row};
}

// The distances are handed over as a plain object: type checkers take overloads on float32 and float64 for
// ambiguous when their results differ.
template <class T, Both both>
std::tuple<Out2<int32_t>, Out1<float>, nb::object> symmetrize(Mat<const int32_t> index, Mat<const T> distance,
                                                              Threads n_jobs) {
  require_same_shape(index, distance);
  require_index_range(rows_in(index));
  require_range(index.data(), index.size(), -1, static_cast<int64_t>(index.shape(0)), kNoNode);
  for (size_t e = 0; e < distance.size(); ++e)
    require(distance.data()[e] == distance.data()[e], "distances must not be NaN");
  EdgeList<T> list;
  {
    const Unlocked unlocked;
    list = symmetrize_knn(index.data(), distance.data(), static_cast<int64_t>(index.shape(0)),
                          static_cast<int64_t>(index.shape(1)), both, n_jobs);
  }
  const size_t p = list.weights.size();
  return {adopt<Out2<int32_t>>(std::move(list.edges), {p, 2}),
          adopt<Out1<float>>(std::move(list.weights), {p}),
          nb::cast(adopt<Out1<T>>(std::move(list.distances), {p}))};
}

void require_edges(const Mat<const int32_t>& edges, int64_t n) {
  const int64_t p = static_cast<int64_t>(edges.shape(0));
  if (edges.shape(1) != 2) throw std::invalid_argument("edges must have two columns");
  if (n < 0 || n > INT32_MAX || 2 * p > INT32_MAX)
    throw std::invalid_argument("graphs of at most 2**31 - 1 nodes and 2**30 - 1 edges are supported");
  require_range(edges.data(), edges.size(), 0, n, kNoNode);
}

void require_rows(const Vec<const int32_t>& indptr, const Vec<const int32_t>& indices) {
  require_compressed(indptr, indices, rows_in(indptr) - 1, rows_in(indptr) - 1);
}

std::tuple<Out1<int32_t>, Out1<int32_t>, Out1<int32_t>> rows_of_edges(Mat<const int32_t> edges, int64_t n) {
  require_edges(edges, n);
  const size_t p = edges.shape(0);
  auto [indptr, starts] = new_array<Out1<int32_t>, int32_t>({static_cast<size_t>(n) + 1});
  auto [indices, columns] = new_array<Out1<int32_t>, int32_t>({2 * p});
  auto [edge, source] = new_array<Out1<int32_t>, int32_t>({2 * p});
  {
    const Unlocked unlocked;
    edges_to_rows(edges.data(), static_cast<int64_t>(p), n, starts, columns, source);
  }
  return {indptr, indices, edge};
}

Out1<int32_t> roots(Mat<const int32_t> edges, int64_t n) {
  require_edges(edges, n);
  auto [array, root] = new_array<Out1<int32_t>, int32_t>({static_cast<size_t>(n)});
  const Unlocked unlocked;
  component_roots(edges.data(), static_cast<int64_t>(edges.shape(0)), n, root);
  return array;
}

Out1<int64_t> forest(Mat<const int32_t> edges, Vec<const int64_t> order, int64_t n) {
  require_edges(edges, n);
  const int64_t p = static_cast<int64_t>(edges.shape(0));
  require_permutation(order, p, "order must name every edge once");
  std::vector<int64_t> kept;
  {
    const Unlocked unlocked;
    kept = spanning_forest(edges.data(), order.data(), p, n);
  }
  const size_t count = kept.size();
  return adopt<Out1<int64_t>>(std::move(kept), {count});
}

Out1<int32_t> groups(Vec<const int32_t> indptr, Vec<const int32_t> indices, Vec<const double> weights,
                     Vec<const int32_t> order) {
  require_rows(indptr, indices);
  const size_t n = indptr.shape(0) - 1;
  if (weights.shape(0) != indices.shape(0)) throw std::invalid_argument("there must be one weight an entry");
  require_permutation(order, static_cast<int64_t>(n), "order must name every node once");
  require_finite(weights, "weights must be finite");
  require(columns_ascend(indptr.data(), static_cast<int64_t>(n), indices.data()) &&
              is_symmetric(indptr.data(), static_cast<int64_t>(n), indices.data(), weights.data()),
          "the matrix must be symmetric, with ascending columns in every row");
  auto [array, group] = new_array<Out1<int32_t>, int32_t>({n});
  const Unlocked unlocked;
  neighbor_groups(indptr.data(), indices.data(), weights.data(), order.data(), static_cast<int64_t>(n),
                  group);
  return array;
}

Out2<uint8_t> neighborhood(Mat<const int32_t> index, Mat<const int32_t> tree, int64_t n_steps,
                           Threads n_jobs) {
  const int64_t n = static_cast<int64_t>(index.shape(0)), k = static_cast<int64_t>(index.shape(1));
  require_index_range(n);
  require_range(index.data(), index.size(), -1, n, kNoNode);
  require_edges(tree, n);
  auto [array, keep] = new_array<Out2<uint8_t>, uint8_t>({index.shape(0), index.shape(1)}, true);
  const Unlocked unlocked;
  mutual_arcs(index.data(), n, k, n_steps, n_jobs, keep);
  arcs_on_edges(index.data(), k, tree.data(), static_cast<int64_t>(tree.shape(0)), keep);
  return array;
}

// An empty vector of lengths means that every edge has length 1.
Roads roads_of(const Vec<const int32_t>& indptr, const Vec<const int32_t>& indices,
               const Vec<const double>& lengths, const Vec<const int32_t>& sources) {
  require_rows(indptr, indices);
  const int64_t n = static_cast<int64_t>(indptr.shape(0)) - 1;
  if (lengths.shape(0) != 0 && lengths.shape(0) != indices.shape(0))
    throw std::invalid_argument("there must be one length an entry, or none");
  require_at_least(lengths, 0.0, "lengths must not be negative or NaN");
  require_range(sources.data(), sources.size(), 0, n, kNoNode);
  return {indptr.data(), indices.data(), lengths.shape(0) == 0 ? nullptr : lengths.data(), n};
}

template <class T>
void bind_path_matrix(nb::module_& m) {
  m.def(
      "path_matrix",
      [](Vec<const int32_t> indptr, Vec<const int32_t> indices, Vec<const double> lengths,
         Vec<const int32_t> sources, double limit, Threads n_jobs, Mat<T> out) {
        const Roads roads = roads_of(indptr, indices, lengths, sources);
        if (out.shape(0) != sources.shape(0) || static_cast<int64_t>(out.shape(1)) != roads.n)
          throw std::invalid_argument("out must have one row a source and one column a node");
        const Unlocked unlocked;
        path_matrix(roads, sources.data(), static_cast<int64_t>(sources.shape(0)), limit, n_jobs, out.data());
      },
      nb::arg("indptr"), nb::arg("indices"), nb::arg("lengths"), nb::arg("sources"), nb::arg("limit"),
      nb::arg("n_jobs"), nb::arg("out"), "Writes the distances from each source to every node into `out`.");
}

std::pair<Out2<int32_t>, Out1<double>> sampled_paths(Vec<const int32_t> indptr, Vec<const int32_t> indices,
                                                     Vec<const double> lengths, Vec<const int32_t> sources,
                                                     double limit, double share, uint64_t seed,
                                                     Threads n_jobs) {
  const Roads roads = roads_of(indptr, indices, lengths, sources);
  require(share >= 0.0, "share must not be negative or NaN");
  PathPairs found;
  {
    const Unlocked unlocked;
    found =
        path_pairs(roads, sources.data(), static_cast<int64_t>(sources.shape(0)), limit, share, seed, n_jobs);
  }
  const size_t p = found.distances.size();
  return {adopt<Out2<int32_t>>(std::move(found.pairs), {p, 2}),
          adopt<Out1<double>>(std::move(found.distances), {p})};
}

LaplacianRows laplacian_of(const Vec<const int32_t>& indptr, const Vec<const int32_t>& indices,
                           const Vec<const double>& weights, const Vec<const double>& diagonal,
                           const Mat<double>& x, const Mat<double>& out) {
  require_rows(indptr, indices);
  const size_t n = indptr.shape(0) - 1;
  if (weights.shape(0) != indices.shape(0) || diagonal.shape(0) != n)
    throw std::invalid_argument("there must be one weight an entry and one diagonal element a row");
  if (x.shape(0) != n || out.shape(0) != n || out.shape(1) != x.shape(1) || out.data() == x.data())
    throw std::invalid_argument(
        "both matrices must have one row a node and the same columns, and be different");
  if (x.shape(1) % kColumns != 0)
    throw std::invalid_argument("the number of columns must be a multiple of 8");
  return {indptr.data(), indices.data(), weights.data(), diagonal.data()};
}

void apply_laplacian(Vec<const int32_t> indptr, Vec<const int32_t> indices, Vec<const double> weights,
                     Vec<const double> diagonal, Threads n_jobs, Mat<double> x, Mat<double> out) {
  const LaplacianRows m = laplacian_of(indptr, indices, weights, diagonal, x, out);
  const Unlocked unlocked;
  laplacian_step(m, static_cast<int64_t>(x.shape(0)), x.data(), x.data(), 1.0, 0.0, 0.0,
                 static_cast<int64_t>(x.shape(1)), n_jobs, out.data());
}

void remainder_of_rows(Vec<const int32_t> indptr, Vec<const int32_t> indices, Vec<const float> weights,
                       Threads n_jobs, Mat<const float> x, Mat<float> out) {
  const auto n = static_cast<int64_t>(x.shape(0));
  const auto width = static_cast<int64_t>(x.shape(1));
  require_rows(indptr, indices);
  require(weights.shape(0) == indices.shape(0), "there must be one weight an entry");
  require(indptr.shape(0) == x.shape(0) + 1 && out.shape(0) == x.shape(0) && out.shape(1) == x.shape(1) &&
              out.data() != x.data() && width % kSingleColumns == 0,
          "x and out must be different, with one row a row of W and the same columns, whole groups of 16");
  const Unlocked unlocked;
  parallel_blocks(n, kSingleRows, n_jobs, [&](int64_t lo, int64_t hi) {
    kernel<remainder_rows>()(indptr.data(), indices.data(), weights.data(), x.data(), n, width, lo, hi,
                             out.data());
  });
}

void filter_laplacian(Vec<const int32_t> indptr, Vec<const int32_t> indices, Vec<const double> weights,
                      Vec<const double> diagonal, int64_t degree, double low, double cut, double top,
                      Threads n_jobs, Mat<double> x, Mat<double> work) {
  const LaplacianRows m = laplacian_of(indptr, indices, weights, diagonal, x, work);
  if (degree < 1 || degree >= 1 << 20 || !(low < cut) || !(cut < top))
    throw std::invalid_argument("1 <= degree < 2**20 and low < cut < top");
  const Unlocked unlocked;
  chebyshev_filter(m, static_cast<int64_t>(x.shape(0)), static_cast<int64_t>(x.shape(1)), degree, low, cut,
                   top, n_jobs, x.data(), work.data());
}

template <class T>
void bind_lists(nb::module_& m) {
  m.def("check_knn", &check_lists<T>, nb::arg("indices"), nb::arg("distances"), nb::arg("n_jobs"),
        "Kind of fault (0: none) and row of the first neighbour list that is not valid.");
  m.def("symmetrize_knn", &symmetrize<T, Both::smaller>, nb::arg("indices"), nb::arg("distances"),
        nb::arg("n_jobs"), "Sorted edges, number of directions and smaller distance of each.");
  m.def("sum_directions", &symmetrize<T, Both::sum>, nb::arg("indices"), nb::arg("values"), nb::arg("n_jobs"),
        "Sorted edges, number of directions and sum of the values of each.");
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_lists<float>(m);
  bind_lists<double>(m);
  m.def("rows_of_edges", &rows_of_edges, nb::arg("edges"), nb::arg("n"),
        "Row starts, columns and edge numbers of the symmetric sparse matrix of sorted edges.");
  m.def("component_roots", &roots, nb::arg("edges"), nb::arg("n"), "Smallest node of each node's component.");
  m.def("spanning_forest", &forest, nb::arg("edges"), nb::arg("order"), nb::arg("n"),
        "Numbers of the edges that Kruskal's algorithm keeps when offered them in this order.");
  m.def("neighbor_groups", &groups, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("order"),
        "The group of each node: leaders taken in order, each with those tied to it most strongly.");
  m.def("neighborhood_arcs", &neighborhood, nb::arg("indices"), nb::arg("tree"), nb::arg("n_steps"),
        nb::arg("n_jobs"),
        "1 for each entry of the lists that is on the tree or mutually reachable, else 0.");
  bind_path_matrix<float>(m);
  bind_path_matrix<double>(m);
  m.def("path_pairs", &sampled_paths, nb::arg("indptr"), nb::arg("indices"), nb::arg("lengths"),
        nb::arg("sources"), nb::arg("limit"), nb::arg("share"), nb::arg("seed"), nb::arg("n_jobs"),
        "Pairs and distances of paths from the sources, each pair kept with probability `share`.");
  m.def("laplacian_apply", &apply_laplacian, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("diagonal"), nb::arg("n_jobs"), nb::arg("x"), nb::arg("out"),
        "Writes (diag - W) x into `out`.");
  m.def("remainder_apply", &remainder_of_rows, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("n_jobs"), nb::arg("x"), nb::arg("out"),
        "Writes x - W x into `out`, in single precision; columns in whole groups of 16.");
  m.def("chebyshev_filter", &filter_laplacian, nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"),
        nb::arg("diagonal"), nb::arg("degree"), nb::arg("low"), nb::arg("cut"), nb::arg("top"),
        nb::arg("n_jobs"), nb::arg("x"), nb::arg("work"),
        "Replaces x by p(diag - W) x with the Chebyshev polynomial that is 1 at `low` and small on [cut, "
        "top].");
}

}  // namespace winkel
