#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "core/csr.hpp"

namespace winkel {

namespace {

// A vector of either float type: overloads must not differ in their result type alone for the stub to be
// typed.
using AnyVec = nb::ndarray<nb::numpy, nb::ndim<1>, nb::c_contig>;

// A NumPy array that takes over a vector's memory.
template <class Array, class T>
Array adopt(std::vector<T>&& values, std::initializer_list<size_t> shape) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array(owned->data(), shape.size(), shape.begin(), owner);
}

void require_range(const int32_t* values, size_t count, int64_t low, int64_t end) {
  if (count == 0) return;
  const auto [least, most] = std::minmax_element(values, values + count);
  if (*least < low || *most >= end) throw std::invalid_argument("node number out of range");
}

template <class T>
void require_same_shape(const Mat<const int32_t>& index, const Mat<const T>& distance) {
  if (index.shape(0) != distance.shape(0) || index.shape(1) != distance.shape(1))
    throw std::invalid_argument("neighbour indices and distances must have the same shape");
}

template <class T>
std::pair<int, int64_t> check_lists(Mat<const int32_t> index, Mat<const T> distance, int n_jobs) {
  require_same_shape(index, distance);
  nb::gil_scoped_release release;
  const KnnCheck found = check_knn(index.data(), distance.data(), static_cast<int64_t>(index.shape(0)),
                                   static_cast<int64_t>(index.shape(1)), n_jobs);
  return {static_cast<int>(found.fault), found.row};
}

// The distances are handed over as a plain object: type checkers take overloads on float32 and float64 for
// ambiguous when their results differ.
template <class T>
std::tuple<Out2<int32_t>, Out1<float>, nb::object> symmetrize(Mat<const int32_t> index, Mat<const T> distance,
                                                              int n_jobs) {
  require_same_shape(index, distance);
  require_range(index.data(), index.size(), -1, static_cast<int64_t>(index.shape(0)));
  EdgeList<T> list;
  {
    nb::gil_scoped_release release;
    list = symmetrize_knn(index.data(), distance.data(), static_cast<int64_t>(index.shape(0)),
                          static_cast<int64_t>(index.shape(1)), n_jobs);
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
  require_range(edges.data(), edges.size(), 0, n);
}

std::tuple<Out1<int32_t>, Out1<int32_t>, Out1<int32_t>> rows_of_edges(Mat<const int32_t> edges, int64_t n) {
  require_edges(edges, n);
  const size_t p = edges.shape(0);
  auto [indptr, starts] = new_array<Out1<int32_t>, int32_t>({static_cast<size_t>(n) + 1});
  auto [indices, columns] = new_array<Out1<int32_t>, int32_t>({2 * p});
  auto [edge, source] = new_array<Out1<int32_t>, int32_t>({2 * p});
  {
    nb::gil_scoped_release release;
    edges_to_rows(edges.data(), static_cast<int64_t>(p), n, starts, columns, source);
  }
  return {indptr, indices, edge};
}

template <class T>
void bind_lists(nb::module_& m) {
  m.def("check_knn", &check_lists<T>, nb::arg("indices"), nb::arg("distances"), nb::arg("n_jobs"),
        "Kind of fault (0: none) and row of the first neighbour list that is not valid.");
  m.def("symmetrize_knn", &symmetrize<T>, nb::arg("indices"), nb::arg("distances"), nb::arg("n_jobs"),
        "Sorted edges, number of directions and smaller distance of each.");
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_lists<float>(m);
  bind_lists<double>(m);
  m.def("rows_of_edges", &rows_of_edges, nb::arg("edges"), nb::arg("n"),
        "Row starts, columns and edge numbers of the symmetric sparse matrix of sorted edges.");
}

}  // namespace winkel
