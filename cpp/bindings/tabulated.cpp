#include "core/tabulated.hpp"

#include <stdexcept>

#include "bindings.hpp"

namespace winkel {

void bind_tabulated(nb::module_& m) {
  nb::class_<RadialTable>(m, "RadialTable",
                          "A radial function by cubic polynomials of the squared distance, a cell a row.")
      .def(
          "__init__",
          [](RadialTable* self, int first_binade, int bits, double floor, Mat<const double> coefficients) {
            if (coefficients.shape(0) < 1 || coefficients.shape(1) != size_t{RadialTable::kRow})
              throw std::invalid_argument("coefficients must have eight columns and at least one row");
            if (bits < 0 || bits > 20 || first_binade < -1000 || first_binade > 1000 || !(floor > 0.0))
              throw std::invalid_argument("bits, first_binade or floor out of range");
            const double* data = coefficients.data();
            new (self)
                RadialTable(first_binade, bits, floor, std::vector<double>(data, data + coefficients.size()));
          },
          nb::arg("first_binade"), nb::arg("bits"), nb::arg("floor"), nb::arg("coefficients"))
      .def(
          "__call__",
          [](const RadialTable& self, Vec<const double> squares) {
            auto [values, v] = new_array<Out1<double>, double>({squares.shape(0)});
            auto [pulls, p] = new_array<Out1<double>, double>({squares.shape(0)});
            for (size_t k = 0; k < squares.shape(0); ++k) {
              const auto f = self.continued(squares.data()[k]);
              v[k] = f.value;
              p[k] = f.pull;
            }
            return std::make_pair(values, pulls);
          },
          nb::arg("squares"), "Values k(d) and pulls k'(d) / d at squared distances.");
}

}  // namespace winkel
