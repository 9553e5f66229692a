//===- Constraints.cpp - Constraints in Python ----------------------------------------===//
//
// One function for each constraint of the language, all of whose arguments are there: the defaults, and Wave's
// spelling, are Python's (soliton/_constraints.py).
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

namespace soliton::python {

namespace {

std::optional<Expr> optionalExpr(nb::object object) {
  return object.is_none() ? std::nullopt : std::optional<Expr>(exprOf(object));
}

/// A function as Python hands it over: its parameter, and what it made of that. Nothing of Python is called later, when
/// the kernel is compiled and others may hold the interpreter.
using Formula = std::pair<Expr, Expr>;

ExprFunction functionOf(std::optional<Formula> formula) {
  if (!formula)
    return {};
  return [parameter = formula->first, result = formula->second](Expr argument) {
    return sym::substitute(result, {{parameter, argument}});
  };
}

Constraint workgroup(Expr dim, Expr tile, int workgroupDim, std::optional<Formula> applyFn, bool primary,
                     nb::object iters, Place place) {
  return WorkgroupConstraint(dim, tile, workgroupDim,
                             {.apply_fn = functionOf(applyFn), .primary = primary, .iters = optionalExpr(iters)},
                             place);
}

Constraint tiling(Expr dim, Expr tile, nb::object iters, nb::object start, Place place) {
  return TilingConstraint(dim, tile, {.iters = optionalExpr(iters), .start = optionalExpr(start)}, place);
}

Constraint hardware(std::optional<int64_t> threadsPerWave, std::vector<int64_t> wavesPerBlock,
                    std::vector<int64_t> workgroupsPerCluster, std::optional<std::string> mma, DimMap vectorShapes,
                    int64_t maxBitsPerLoad, int64_t serviceWaves, Place place) {
  HardwareConstraint made{.threads_per_wave = threadsPerWave,
                          .waves_per_block = std::move(wavesPerBlock),
                          .workgroups_per_cluster = std::move(workgroupsPerCluster),
                          .vector_shapes = std::move(vectorShapes),
                          .max_bits_per_load = maxBitsPerLoad,
                          .n_service_waves = serviceWaves,
                          .place = place};
  if (mma)
    made.mma = MmaType(*mma);
  return made;
}

} // namespace

void bindConstraints(nb::module_ &module) {
  nb::class_<Constraint>(module, "Constraint");
  module.def("workgroup_constraint", workgroup, nb::arg("dim"), nb::arg("tile"), nb::arg("workgroup_dim"),
             nb::arg("apply_fn").none(), nb::arg("primary"), nb::arg("iters").none(), nb::arg("place").none());
  module.def("tiling_constraint", tiling, nb::arg("dim"), nb::arg("tile"), nb::arg("iters").none(),
             nb::arg("start").none(), nb::arg("place").none());
  module.def(
      "wave_constraint",
      [](Expr dim, Expr tile, Place place) -> Constraint { return WaveConstraint(dim, tile, place); }, nb::arg("dim"),
      nb::arg("tile"), nb::arg("place").none());
  module.def(
      "device_constraint",
      [](Expr dim, Expr tile, int deviceDim, Place place) -> Constraint {
        return DeviceConstraint(dim, tile, deviceDim, place);
      },
      nb::arg("dim"), nb::arg("tile"), nb::arg("device_dim"), nb::arg("place").none());
  module.def("hardware_constraint", hardware, nb::arg("threads_per_wave").none(), nb::arg("waves_per_block"),
             nb::arg("workgroups_per_cluster"), nb::arg("mma").none(), nb::arg("vector_shapes"),
             nb::arg("max_bits_per_load"), nb::arg("n_service_waves"), nb::arg("place").none());
  module.def(
      "simt", [](Expr threads, std::vector<Expr> grid, Place place) -> Constraint { return Simt(threads, grid, place); },
      nb::arg("threads"), nb::arg("grid"), nb::arg("place").none());
  module.def(
      "grid_constraint", [](Expr size, Place place) -> Constraint { return GridConstraint(size, place); },
      nb::arg("size"), nb::arg("place").none());
  module.def(
      "reordering_constraint",
      [](Expr equation, int dim, Place place) -> Constraint { return ReorderingConstraint(equation, dim, place); },
      nb::arg("equation"), nb::arg("workgroup_dim"), nb::arg("place").none());
  module.def(
      "symbolic_alias",
      [](Expr source, Expr target, std::optional<Formula> function, Place place) -> Constraint {
        return SymbolicAlias(source, target, functionOf(function), place);
      },
      nb::arg("source"), nb::arg("target"), nb::arg("source_to_target"), nb::arg("place").none());
  module.def(
      "assumption", [](Expr predicate, Place place) -> Constraint { return Assumption(predicate, place); },
      nb::arg("predicate"), nb::arg("place").none());
  module.def(
      "iterator_bindings",
      [](DimMap bindings, Place place) -> Constraint { return IteratorBindings(std::move(bindings), place); },
      nb::arg("bindings"), nb::arg("place").none());
}

} // namespace soliton::python
