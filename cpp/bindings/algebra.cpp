#include "core/algebra.hpp"

#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/eigen.hpp"
#include "core/vecmath.hpp"

namespace winkel {

namespace {

template <class T>
algebra::View<T> view(const Mat<const T>& a, bool transposed) {
  const int64_t columns = columns_in(a);
  return transposed ? algebra::View<T>{a.data(), 1, columns} : algebra::View<T>{a.data(), columns, 1};
}

template <class T>
Out2<double> product(Mat<const T> a, Mat<const T> b, bool turn_a, bool turn_b, Threads threads) {
  const size_t n = a.shape(turn_a ? 1 : 0), depth = a.shape(turn_a ? 0 : 1), m = b.shape(turn_b ? 0 : 1);
  require(b.shape(turn_b ? 1 : 0) == depth, "the columns of the first matrix must be the rows of the second");
  auto [array, out] = new_array<Out2<double>, double>({n, m}, true);
  const bool symmetric = a.data() == b.data() && turn_a != turn_b && n == m;
  const Unlocked unlocked;
  matrix_product(view(a, turn_a), view(b, turn_b), static_cast<int64_t>(n), static_cast<int64_t>(depth),
                 static_cast<int64_t>(m), symmetric, threads, out);
  return array;
}

void require_square(const Mat<const double>& a) {
  require(a.shape(0) == a.shape(1), "the matrix must be square");
}

std::pair<Out1<double>, Out2<double>> symmetric_eigen(Mat<const double> a, int64_t count, Threads threads) {
  require_square(a);
  require(count >= 0 && count <= rows_in(a), "count must lie between zero and the number of rows");
  const size_t wanted = static_cast<size_t>(count);
  auto [values, value] = new_array<Out1<double>, double>({wanted}, true);
  auto [vectors, vector] = new_array<Out2<double>, double>({wanted, a.shape(0)}, true);
  bool done = false;
  {
    const Unlocked unlocked;
    done = SymmetricEigen(a.data(), rows_in(a), threads).run(count, value, vector);
  }
  require(done, "the eigenvalues were not found: is every entry finite?");
  return {values, vectors};
}

std::pair<Out2<double>, Out2<double>> orthonormal_columns(Mat<const double> columns) {
  const size_t p = columns.shape(0), n = columns.shape(1);
  require(p <= n, "there must be at least as many rows as columns");
  auto [basis, q] = new_array<Out2<double>, double>({p, n}, true);
  auto [triangle, r] = new_array<Out2<double>, double>({p, p}, true);
  const Unlocked unlocked;
  std::copy_n(columns.data(), p * n, q);
  householder_qr(q, static_cast<int64_t>(n), static_cast<int64_t>(p), r);
  return {basis, triangle};
}

std::pair<Out2<double>, Out2<double>> hestenes(Mat<const double> columns) {
  const size_t p = columns.shape(0), n = columns.shape(1);
  auto [rows, x] = new_array<Out2<double>, double>({p, n}, true);
  auto [turns, t] = new_array<Out2<double>, double>({p, p}, true);
  const Unlocked unlocked;
  std::copy_n(columns.data(), p * n, x);
  for (size_t i = 0; i < p; ++i) t[i * p + i] = 1.0;
  orthogonal_rows(x, static_cast<int64_t>(p), static_cast<int64_t>(n), t);
  return {rows, turns};
}

std::pair<Out2<double>, bool> solve_positive(Mat<const double> a, Mat<const double> b) {
  require_square(a);
  require(b.shape(0) == a.shape(0), "the right side must have as many rows as the matrix");
  auto [solved, x] = new_array<Out2<double>, double>({b.shape(0), b.shape(1)}, true);
  const Unlocked unlocked;
  std::vector<double> factor(a.data(), a.data() + a.size());
  if (!cholesky(factor.data(), rows_in(a))) return {solved, false};
  std::copy_n(b.data(), b.size(), x);
  cholesky_solve(factor.data(), rows_in(a), columns_in(b), x);
  return {solved, true};
}

template <class T>
using Stack = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OutStack = nb::ndarray<nb::numpy, double, nb::ndim<3>, nb::c_contig>;

template <class T>
OutStack products_of_each(Stack<const T> a, Stack<const T> b, Threads threads) {
  require(a.shape(0) == b.shape(0) && a.shape(2) == b.shape(2),
          "there must be as many matrices of as many columns");
  auto [array, out] = new_array<OutStack, double>({a.shape(0), a.shape(1), b.shape(1)}, true);
  const Unlocked unlocked;
  each_product(a.data(), b.data(), rows_in(a), static_cast<int64_t>(a.shape(1)),
               static_cast<int64_t>(b.shape(1)), static_cast<int64_t>(a.shape(2)), threads, out);
  return array;
}

Out2<double> solutions_of_each(Stack<const double> a, Mat<const double> b, Threads threads) {
  require(a.shape(1) == a.shape(2) && a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1),
          "there must be a square matrix of the size of its right side for each");
  auto [array, out] = new_array<Out2<double>, double>({b.shape(0), b.shape(1)}, true);
  const Unlocked unlocked;
  each_solution(a.data(), b.data(), rows_in(b), columns_in(b), threads, out);
  return array;
}

struct Exp {
  static WINKEL_INLINE double at(double x) { return vecmath::decay(x); }
};
struct Log {
  static WINKEL_INLINE double at(double x) { return vecmath::log(x); }
};
struct ArcCos {
  static WINKEL_INLINE double at(double x) { return vecmath::acos(x); }
};
struct CosTurns {
  static WINKEL_INLINE double at(double x) { return vecmath::cos_turns(x); }
};

template <class F>
WINKEL_CLONES void each(const double* __restrict x, int64_t count, double* __restrict out) {
  for (int64_t k = 0; k < count; ++k) out[k] = F::at(x[k]);
}

template <class F>
void bind_each(nb::module_& m, const char* name, const char* doc) {
  m.def(
      name,
      [](Vec<const double> x) {
        auto [array, out] = new_array<Out1<double>, double>({x.shape(0)}, true);
        const Unlocked unlocked;
        kernel<each<F>>()(x.data(), rows_in(x), out);
        return array;
      },
      nb::arg("x"), doc);
}

}  // namespace

void bind_algebra(nb::module_& m) {
  const char* doc = "The product of two matrices, each transposed or not, in double.";
  m.def("matrix_product", &product<float>, nb::arg("a"), nb::arg("b"), nb::arg("turn_a"), nb::arg("turn_b"),
        nb::arg("threads"), doc);
  m.def("matrix_product", &product<double>, nb::arg("a"), nb::arg("b"), nb::arg("turn_a"), nb::arg("turn_b"),
        nb::arg("threads"), doc);
  m.def("symmetric_eigen", &symmetric_eigen, nb::arg("a"), nb::arg("count"), nb::arg("threads"),
        "The largest eigenvalues of a symmetric matrix, ascending, and their eigenvectors as rows.");
  m.def(
      "orthonormal_columns", &orthonormal_columns, nb::arg("columns"),
      "The QR decomposition of the matrix with these columns, given and returned as rows, and its triangle.");
  m.def("orthogonal_rows", &hestenes, nb::arg("rows"),
        "Rows turned in pairs until all are orthogonal, and the rotation.");
  m.def("solve_positive", &solve_positive, nb::arg("a"), nb::arg("b"),
        "The solution for a symmetric positive matrix, and whether it is positive.");
  const char* each_doc = "The product of each matrix of a with the transpose of that of b.";
  m.def("each_product", &products_of_each<float>, nb::arg("a"), nb::arg("b"), nb::arg("threads"), each_doc);
  m.def("each_product", &products_of_each<double>, nb::arg("a"), nb::arg("b"), nb::arg("threads"), each_doc);
  m.def("each_solution", &solutions_of_each, nb::arg("a"), nb::arg("b"), nb::arg("threads"),
        "The solution for each symmetric positive matrix; NaN where it is not positive.");
  bind_each<Exp>(m, "exp", "The exponential of each number, zero below -708 and no more than that of 708.");
  bind_each<Log>(m, "log", "The logarithm of each number, all positive and normal.");
  bind_each<ArcCos>(m, "arccos", "The angle of each cosine, from -1 to 1.");
  bind_each<CosTurns>(m, "cos_turns", "The cosine of each number of full turns.");
}

}  // namespace winkel
