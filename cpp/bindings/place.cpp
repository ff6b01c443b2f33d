#include "core/place.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "bindings.hpp"
#include "checks.hpp"
#include "core/curves.hpp"
#include "core/tabulated.hpp"

namespace winkel {

namespace {

// One group of anchors as Python gives it; the arrays are kept alive as long as the group.
struct Group {
  Group(const std::string& kernel, double first, double second, double floor,
        Mat<const int32_t> anchor_numbers, Mat<const double> pair_weights,
        std::optional<Mat<const double>> pair_deviations, const RadialTable* table)
      : anchors(anchor_numbers),
        weights(pair_weights),
        deviations(pair_deviations),
        params{first, second, floor, table} {
    loop = table != nullptr ? distortion::apply_table : distortion_loop<double>(kernel, params);
    if (loop == nullptr) loop = forces::placing_loop(kernel);
    if (loop == nullptr) throw std::invalid_argument("no such kernel: " + kernel);
    if (weights.shape(0) != anchors.shape(0) || weights.shape(1) != anchors.shape(1))
      throw std::invalid_argument("weights must have the shape of anchors");
  }

  AnchorGroup over(size_t n_rows, size_t n_anchors) const {
    const bool common = anchors.shape(0) == 1;
    if (!common && anchors.shape(0) != n_rows)
      throw std::invalid_argument("anchors must have one row, or one a point");
    if (deviations && (deviations->shape(0) != n_rows || deviations->shape(1) != anchors.shape(1)))
      throw std::invalid_argument("deviations must have one row a point");
    for (size_t k = 0; k < anchors.size(); ++k)
      if (anchors.data()[k] < 0 || static_cast<size_t>(anchors.data()[k]) >= n_anchors)
        throw std::invalid_argument("anchor out of range");
    return {loop,
            params,
            anchors.data(),
            weights.data(),
            deviations ? deviations->data() : nullptr,
            static_cast<int64_t>(anchors.shape(1)),
            common};
  }

  Mat<const int32_t> anchors;
  Mat<const double> weights;
  std::optional<Mat<const double>> deviations;
  DistortionParams params;
  DistortionLoop<double> loop = nullptr;
};

// A potential on a grid as Python gives it; the arrays are kept alive as long as this.
struct Potential {
  using Grid = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

  Potential(Grid values, std::vector<double> origin, double spacing, Vec<const double> row_weights,
            const NearPoints* close)
      : array(values),
        weights(row_weights),
        held(grid_of(values, origin, spacing), static_cast<int>(values.ndim()), values.data(), weights.data(),
             weights.shape(0) == 1, close) {
    if (close != nullptr && values.ndim() != 3)
      throw std::invalid_argument("near points are for a grid of three sides");
    if (weights.shape(0) == 0) throw std::invalid_argument("weights must be one for all rows, or one a row");
  }

  static VolumeGrid grid_of(const Grid& values, const std::vector<double>& origin, double spacing) {
    const size_t sides = values.ndim();
    if ((sides != 2 && sides != 3) || origin.size() != sides)
      throw std::invalid_argument("a grid has two or three sides, and an origin with as many coordinates");
    if (!(spacing > 0.0)) throw std::invalid_argument("a grid needs a positive spacing");
    VolumeGrid grid{{0.0, 0.0, 0.0}, 1.0 / spacing, {1, 1, 1}};
    for (size_t side = 0; side < sides; ++side) {
      if (values.shape(side) < 16) throw std::invalid_argument("a grid needs at least 16 nodes a side");
      grid.nodes[side + 3 - sides] = static_cast<int64_t>(values.shape(side));
      grid.origin[side + 3 - sides] = origin[side];
    }
    return grid;
  }

  // For so many rows in so many dimensions.
  const HeldPotential* over(size_t n_rows, size_t dimension) const {
    if (dimension != static_cast<size_t>(held.dimension()))
      throw std::invalid_argument("the potential has as many sides as points have coordinates");
    if (weights.shape(0) != 1 && weights.shape(0) != n_rows)
      throw std::invalid_argument("weights of a potential must be one for all rows, or one a row");
    return &held;
  }

  Grid array;
  Vec<const double> weights;
  HeldPotential held;
};

NearPoints near_points(Mat<const double> points, double reach) {
  require(points.shape(1) == 3 && points.shape(0) > 0,
          "near points have three coordinates, and there are some");
  require(reach > 0.0 && std::isfinite(reach * reach), "reach must be positive, and its square finite");
  require_finite(points, "points must be finite");
  double cells = 1.0;
  for (size_t side = 0; side < 3; ++side) {
    double low = points.data()[side], high = low;
    for (size_t i = 1; i < points.shape(0); ++i) {
      low = std::min(low, points.data()[3 * i + side]);
      high = std::max(high, points.data()[3 * i + side]);
    }
    cells *= (high - low) / reach + 1.0;
  }
  require(cells <= NearPoints::kMostCells, "reach is too small for points so far apart");
  return NearPoints(points.data(), rows_in(points), reach);
}

}  // namespace

void bind_place(nb::module_& m) {
  nb::class_<Group>(m, "AnchorGroup",
                    "Anchors of new points under one distortion: one row for all, or one a point.")
      .def(nb::init<const std::string&, double, double, double, Mat<const int32_t>, Mat<const double>,
                    std::optional<Mat<const double>>, const RadialTable*>(),
           nb::arg("kernel"), nb::arg("first"), nb::arg("second"), nb::arg("floor"), nb::arg("anchors"),
           nb::arg("weights"), nb::arg("deviations").none(), nb::arg("table").none() = nb::none(),
           nb::keep_alive<1, 9>());
  nb::class_<NearPoints>(
      m, "NearPoints", "Points in space by cells, and what those within a reach add to the Cauchy potential.")
      .def(nb::new_(&near_points), nb::arg("points"), nb::arg("reach"));
  nb::class_<Potential>(m, "HeldPotential",
                        "A potential in the plane or in space, by the coefficients of its splines; its "
                        "weight for all rows or for each.")
      .def(nb::init<Potential::Grid, std::vector<double>, double, Vec<const double>, const NearPoints*>(),
           nb::arg("held"), nb::arg("origin"), nb::arg("spacing"), nb::arg("weights"),
           nb::arg("near").none() = nb::none(), nb::keep_alive<1, 6>());
  m.def(
      "place_rows",
      [](Mat<const double> Y, Mat<const double> starts, std::vector<const Group*> groups, int max_iter,
         double tol, Threads threads, const Potential* potential) {
        if (Y.shape(1) != starts.shape(1)) throw std::invalid_argument("dimensions differ");
        if (max_iter < 0) throw std::invalid_argument("max_iter must not be negative");
        const size_t n_rows = starts.shape(0);
        std::vector<AnchorGroup> parts;
        for (const Group* g : groups) {
          if (g == nullptr) throw std::invalid_argument("a group is missing");
          parts.push_back(g->over(n_rows, Y.shape(0)));
        }
        if (parts.empty()) throw std::invalid_argument("at least one group of anchors is needed");
        auto [array, out_] = new_array<Out2<double>, double>({n_rows, starts.shape(1)});
        double* out = out_;
        const Placement placement{Y.data(),
                                  static_cast<int64_t>(Y.shape(1)),
                                  parts.data(),
                                  static_cast<int>(parts.size()),
                                  max_iter,
                                  tol,
                                  potential == nullptr ? nullptr : potential->over(n_rows, Y.shape(1))};
        std::copy_n(starts.data(), starts.size(), out);
        const Unlocked unlocked;
        place_rows(placement, static_cast<int64_t>(n_rows), out, threads);
        return array;
      },
      nb::arg("Y"), nb::arg("starts"), nb::arg("groups"), nb::arg("max_iter"), nb::arg("tol"),
      nb::arg("threads"), nb::arg("potential").none() = nb::none(),
      "Positions of new points, each minimising its own distortion against anchors Y and the potential, from "
      "where it starts.");
}

}  // namespace winkel
