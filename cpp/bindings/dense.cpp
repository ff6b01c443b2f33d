#include "core/dense.hpp"

#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <vector>

#include "bindings.hpp"

namespace winkel {

namespace {

template <class T>
std::vector<const T*> pointers(const std::vector<Mat<const T>>& arrays, int64_t entries) {
  std::vector<const T*> out;
  for (const auto& a : arrays) {
    if (static_cast<int64_t>(a.size()) != entries) throw std::invalid_argument("arrays must have one shape");
    out.push_back(a.data());
  }
  return out;
}

template <class T>
void bind_dense_of(nb::module_& m) {
  m.def(
      "column_sums",
      [](Mat<const T> a, Threads threads) {
        auto [array, out] = new_array<Out1<double>, double>({a.shape(1)});
        const Unlocked unlocked;
        column_sums(a.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1)), threads,
                    out);
        return array;
      },
      nb::arg("a"), nb::arg("threads") = 1, "Sum of each column, in double.");
  m.def(
      "column_range",
      [](Mat<const T> a) {
        if (a.shape(0) < 1 || a.shape(1) < 1) throw std::invalid_argument("a must have a row and a column");
        auto [lows, low] = new_array<Out1<T>, T>({a.shape(1)});
        auto [highs, high] = new_array<Out1<T>, T>({a.shape(1)});
        const Unlocked unlocked;
        column_range(a.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1)), low, high);
        return std::pair{lows, highs};
      },
      nb::arg("a"), "Smallest and largest entry of each column; NaN where an entry is not finite.");
  m.def(
      "gram",
      [](Mat<const T> a, Mat<const T> b, Threads threads) {
        if (a.shape(0) != b.shape(0)) throw std::invalid_argument("a and b must have as many rows");
        auto [array, out] = new_array<Out2<double>, double>({a.shape(1), b.shape(1)});
        const Unlocked unlocked;
        gram(a.data(), b.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1)),
             static_cast<int64_t>(b.shape(1)), threads, out);
        return array;
      },
      nb::arg("a"), nb::arg("b"), nb::arg("threads") = 1, "The product of a transposed and b, in double.");
  m.def(
      "multiply",
      [](Mat<const T> a, Vec<const double> shift, Mat<const double> w, Threads threads) {
        const size_t p = a.shape(1);
        if (shift.shape(0) != p || w.shape(0) != p || w.shape(1) != p) {
          throw std::invalid_argument("shift and w must fit the columns of a");
        }
        auto [array, out] = new_array<Out2<T>, T>({a.shape(0), p});
        const Unlocked unlocked;
        multiply<T>(a.data(), shift.data(), w.data(), nullptr, nullptr, static_cast<int64_t>(a.shape(0)),
                    static_cast<int64_t>(p), threads, out);
        return array;
      },
      nb::arg("a"), nb::arg("shift"), nb::arg("w"), nb::arg("threads") = 1,
      "The product of a - shift and w.");
  m.def(
      "subtract_product",
      [](Mat<const T> base, Vec<const double> row, Mat<const T> a, Mat<const double> w, Threads threads) {
        const size_t p = a.shape(1);
        if (base.shape(0) != a.shape(0) || base.shape(1) != p || row.shape(0) != p || w.shape(0) != p ||
            w.shape(1) != p) {
          throw std::invalid_argument("base, row and w must fit a");
        }
        auto [array, out] = new_array<Out2<T>, T>({a.shape(0), p});
        const Unlocked unlocked;
        const std::vector<double> zero(p, 0.0);
        multiply<T>(a.data(), zero.data(), w.data(), base.data(), row.data(),
                    static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(p), threads, out);
        return array;
      },
      nb::arg("base"), nb::arg("row"), nb::arg("a"), nb::arg("w"), nb::arg("threads") = 1,
      "base less a row and the product of a and w.");
  m.def(
      "subtract_row",
      [](Mat<const T> a, Vec<const double> row, Threads threads) {
        if (row.shape(0) != a.shape(1) || a.shape(1) < 1)
          throw std::invalid_argument("row must fit the columns of a, of which there must be one");
        auto [array, out] = new_array<Out2<T>, T>({a.shape(0), a.shape(1)});
        const Unlocked unlocked;
        subtract_row(a.data(), row.data(), static_cast<int64_t>(a.shape(0)), static_cast<int64_t>(a.shape(1)),
                     threads, out);
        return array;
      },
      nb::arg("a"), nb::arg("row"), nb::arg("threads") = 1, "a less a row.");
  m.def(
      "dots",
      [](const std::vector<Mat<const T>>& left, const std::vector<Mat<const T>>& right, Threads threads) {
        if (left.empty() || right.empty())
          throw std::invalid_argument("dots needs at least one array on each side");
        const int64_t entries = static_cast<int64_t>(left[0].size());
        const auto a = pointers(left, entries), b = pointers(right, entries);
        auto [array, out] = new_array<Out2<double>, double>({a.size(), b.size()});
        const Unlocked unlocked;
        dots(a, b, entries, threads, out);
        return array;
      },
      nb::arg("left"), nb::arg("right"), nb::arg("threads"),
      "Inner products of every array of left with every of right.");
  m.def(
      "combine",
      [](Vec<const double> coefficients, const std::vector<Mat<const T>>& arrays, Threads threads) {
        if (arrays.empty() || coefficients.shape(0) != arrays.size()) {
          throw std::invalid_argument("combine needs as many coefficients as arrays, and at least one");
        }
        const auto a = pointers(arrays, static_cast<int64_t>(arrays[0].size()));
        auto [array, out] = new_array<Out2<T>, T>({arrays[0].shape(0), arrays[0].shape(1)});
        const Unlocked unlocked;
        combine(coefficients.data(), a, static_cast<int64_t>(arrays[0].size()), threads, out);
        return array;
      },
      nb::arg("coefficients"), nb::arg("arrays"), nb::arg("threads"), "Sum of coefficient times array.");
}

}  // namespace

void bind_dense(nb::module_& m) {
  bind_dense_of<float>(m);
  bind_dense_of<double>(m);
}

}  // namespace winkel
