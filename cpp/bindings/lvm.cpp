#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/lvm_model.hpp"
#include "core/lvm_place.hpp"

namespace winkel {

namespace {

template <class T>
std::vector<T> copied(const Vec<const T>& v) {
  return {v.data(), v.data() + v.size()};
}

// Row starts of as many rows as there are starts less one, whose entries name one of `end`.
void require_lists(const Vec<const int64_t>& from, const Vec<const int32_t>& indices, int64_t end) {
  require_compressed(from, indices, rows_in(from) - 1, end);
}

lvm::Family family_of(int64_t n, const Vec<const int32_t>& items, const Vec<const int64_t>& bounds,
                      const Vec<const double>& reach, const Vec<const double>& slack,
                      const Vec<const double>& mass, const Vec<const int64_t>& except_from,
                      const Vec<const int32_t>& except, const Vec<const uint8_t>& ways) {
  const int64_t count = rows_in(items);
  require_lists(bounds, items, n);
  require(rows_in(reach) == count && rows_in(slack) == count && rows_in(mass) == count,
          "one reach, slack and mass an entry");
  std::vector<char> seen(static_cast<size_t>(n), 0);
  for (int64_t k = 0; k < count; ++k) {
    char& here = seen[static_cast<size_t>(items.data()[k])];
    require(here == 0, "a family must hold a point once at most");  // threads add to its points at once
    here = 1;
  }
  if (rows_in(except_from) > 0) {
    require(rows_in(except_from) == count + 1 && rows_in(except) == rows_in(ways), "exceptions do not fit");
    require_lists(except_from, except, count);
  }
  return {copied(items), copied(bounds),      copied(reach),  copied(slack),
          copied(mass),  copied(except_from), copied(except), copied(ways)};
}

template <class T>
void bind_model(nb::module_& m, const char* name) {
  using Model = Guarded<lvm::Model<T>>;
  nb::class_<Model>(m, name,
                    "Similar and dissimilar pairs of a latent variable model, with what EM needs of them.")
      .def(
          "__init__",
          [](Model* self, Vec<const int32_t> order, Vec<const int64_t> indptr, Vec<const int32_t> indices,
             Vec<const double> weights, Vec<const double> squares) {
            const int64_t n = rows_in(indptr) - 1;
            require_index_range(n);
            require_lists(indptr, indices, n);
            require_permutation(order, n, "every point must have a place");
            require(rows_in(weights) == rows_in(indices) && rows_in(squares) == rows_in(indices),
                    "one weight and one squared scale an entry");
            new (self) Model(copied(order), copied(indptr), copied(indices), weights.data(), squares.data());
          },
          nb::arg("order"), nb::arg("indptr"), nb::arg("indices"), nb::arg("weights"), nb::arg("squares"))
      .def(
          "add_family",
          [](Model& self, Vec<const int32_t> items, Vec<const int64_t> bounds, Vec<const double> reach,
             Vec<const double> slack, Vec<const double> mass, Vec<const int64_t> except_from,
             Vec<const int32_t> except, Vec<const uint8_t> ways) {
            lvm::Family family =
                family_of(self.n(), items, bounds, reach, slack, mass, except_from, except, ways);
            const Unlocked unlocked;
            const Changing changing(self.access);
            self.add_family(std::move(family));
          },
          nb::arg("items"), nb::arg("bounds"), nb::arg("reach"), nb::arg("slack"), nb::arg("mass"),
          nb::arg("except_from"), nb::arg("except_"), nb::arg("ways"),
          "Blocks of points whose pairs are dissimilar, with the pairs that are not.")
      .def(
          "balance",
          [](Model& self, double factor, Vec<const double> repulsion) {
            require(rows_in(repulsion) == self.n(), "one number a point");
            const Unlocked unlocked;
            const Changing changing(self.access);
            self.balance(factor, repulsion.data());
          },
          nb::arg("factor"), nb::arg("repulsion"),
          "Set the factor of all dissimilar weights, and their sum at each point.")
      .def(
          "gradient",
          [](const Model& self, Mat<const double> Y, Vec<const double> variance, Threads threads) {
            require(rows_in(Y) == self.n() && rows_in(variance) == self.n(), "one row and variance a point");
            require(Y.shape(1) >= 1, "there must be at least one dimension");
            auto [array, out_] = new_array<Out2<double>, double>({Y.shape(0), Y.shape(1)});
            double* out = out_;
            double value = 0.0;
            {
              const Unlocked unlocked;
              const Reading reading(self.access);
              value =
                  self.gradient(Y.data(), variance.data(), static_cast<int64_t>(Y.shape(1)), threads, out);
            }
            return std::make_pair(value, array);
          },
          nb::arg("Y"), nb::arg("variance"), nb::arg("threads"),
          "The log-likelihood and its derivatives by the means.")
      .def(
          "variance_slopes",
          [](const Model& self, Mat<const double> Y, Vec<const double> variance, Threads threads) {
            require(rows_in(Y) == self.n() && rows_in(variance) == self.n(), "one row and variance a point");
            require(Y.shape(1) >= 1, "there must be at least one dimension");
            auto [array, out_] = new_array<Out1<double>, double>({Y.shape(0)});
            double* out = out_;
            const Unlocked unlocked;
            const Reading reading(self.access);
            self.variance_slopes(Y.data(), variance.data(), static_cast<int64_t>(Y.shape(1)), threads, out);
            return array;
          },
          nb::arg("Y"), nb::arg("variance"), nb::arg("threads"),
          "Twice the derivatives of the log-likelihood by the variances.")
      .def(
          "step",
          [](const Model& self, Vec<const double> variance, Mat<const double> gradient, double tol,
             int max_iter, Threads threads) {
            require(rows_in(gradient) == self.n() && rows_in(variance) == self.n(),
                    "one row and variance a point");
            require(gradient.shape(1) >= 1, "there must be at least one dimension");
            auto [array, out_] = new_array<Out2<double>, double>({gradient.shape(0), gradient.shape(1)});
            double* out = out_;
            int made = 0;
            {
              const Unlocked unlocked;
              const Reading reading(self.access);
              made = self.step(variance.data(), gradient.data(), static_cast<int64_t>(gradient.shape(1)), tol,
                               max_iter, threads, out);
            }
            return std::make_pair(array, made);
          },
          nb::arg("variance"), nb::arg("gradient"), nb::arg("tol"), nb::arg("max_iter"), nb::arg("threads"),
          "The step of the means, and the iterations that the linear solver made.");
}

}  // namespace

void bind_lvm(nb::module_& m) {
  bind_model<float>(m, "LatentPairs32");
  bind_model<double>(m, "LatentPairs64");
  m.def(
      "place_latent",
      [](Vec<const int32_t> items, Vec<const int64_t> bounds, Vec<const double> reach, double factor,
         Mat<const double> Y, Vec<const double> variance, Vec<const int64_t> from, Vec<const int32_t> similar,
         Vec<const double> weights, Vec<const double> squares, Vec<const int32_t> block,
         Vec<const double> own_reach, Vec<const int64_t> except_from, Vec<const int32_t> except,
         Vec<const uint8_t> ways, Mat<const double> start, Vec<const double> start_variance, int max_iter,
         double tol, Threads threads) {
        const int64_t n = rows_in(Y), count = rows_in(start);
        const std::vector<double> zeros(items.size(), 0.0), ones(items.size(), 1.0);
        require_lists(bounds, items, n);
        require(rows_in(reach) == rows_in(items) && rows_in(variance) == n && Y.shape(1) == start.shape(1),
                "fitted arrays do not fit");
        require(rows_in(from) == count + 1 && rows_in(except_from) == count + 1 && rows_in(block) == count &&
                    rows_in(own_reach) == count && rows_in(start_variance) == count,
                "new arrays do not fit");
        require(Y.shape(1) >= 1 && max_iter >= 0, "there must be a dimension, and max_iter not negative");
        require_index_range(n);
        require_finite(Y, "Y must be finite");
        require_finite(variance, "variance must be finite");
        require_finite(weights, "weights must be finite");
        require_finite(squares, "squares must be finite");
        require_finite(start, "start must be finite");
        require_finite(start_variance, "start_variance must be finite");
        require_lists(from, similar, n);
        require_lists(except_from, except, rows_in(items));
        require_range(block.data(), block.size(), 0, rows_in(bounds) - 1, "no such block");
        require(rows_in(weights) == rows_in(similar) && rows_in(squares) == rows_in(similar) &&
                    rows_in(ways) == rows_in(except),
                "lists do not fit");
        const lvm::Family family{copied(items), copied(bounds), copied(reach), zeros, ones, {}, {}, {}};
        auto [placed, out_] = new_array<Out2<double>, double>({start.shape(0), start.shape(1)});
        auto [spread, width_] = new_array<Out1<double>, double>({start.shape(0)});
        double *out = out_, *width = width_;
        std::copy_n(start.data(), start.size(), out);
        std::copy_n(start_variance.data(), start_variance.size(), width);
        const lvm::Fitted fitted{&family, factor, Y.data(), variance.data(),
                                 static_cast<int64_t>(Y.shape(1))};
        const lvm::NewPoints points{from.data(),        similar.data(), weights.data(),
                                    squares.data(),     block.data(),   own_reach.data(),
                                    except_from.data(), except.data(),  ways.data()};
        {
          const Unlocked unlocked;
          lvm::place_new(fitted, points, count, max_iter, tol, threads, out, width);
        }
        return std::make_pair(placed, spread);
      },
      nb::arg("items"), nb::arg("bounds"), nb::arg("reach"), nb::arg("factor"), nb::arg("Y"),
      nb::arg("variance"), nb::arg("from_"), nb::arg("similar"), nb::arg("weights"), nb::arg("squares"),
      nb::arg("block"), nb::arg("own_reach"), nb::arg("except_from"), nb::arg("except_"), nb::arg("ways"),
      nb::arg("start"), nb::arg("start_variance"), nb::arg("max_iter"), nb::arg("tol"), nb::arg("threads"),
      "Means and variances of new points, each by EM against the fitted ones.");
}

}  // namespace winkel
