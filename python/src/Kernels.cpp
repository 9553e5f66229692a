//===- Kernels.cpp - Kernels, memories and values in Python ---------------------------===//
//
// What a trace is made of. Bodies of loops and branches are functions of Python that the builder calls once; what they
// raise ends the trace, and the kernel is thrown away with it.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

namespace soliton::python {

namespace {

using Values = std::vector<Value>;
using Dims = std::vector<Expr>;

Values valuesOf(nb::object returned) {
  return nb::cast<Values>(returned);
}

Values iterate(Kernel &kernel, Expr axis, const Values &inits, nb::callable body, const std::string &tag,
               std::optional<Expr> count, Place place) {
  auto call = [&](const Values &arguments) { return valuesOf(body(arguments)); };
  return kernel.iterate(axis, inits, call, LoopOptions{.tag = tag, .count = count}, place);
}

Values iterateWhile(Kernel &kernel, const Values &inits, nb::callable condition, nb::callable body,
                    const std::string &tag, Place place) {
  auto holds = [&](const Values &arguments) { return exprOf(condition(arguments)); };
  auto call = [&](const Values &arguments) { return valuesOf(body(arguments)); };
  return kernel.iterate_while(inits, holds, call, OpOptions{.tag = tag}, place);
}

Values conditional(Kernel &kernel, Expr condition, nb::callable then, nb::callable otherwise, const std::string &tag,
                   Place place) {
  auto one = [&] { return valuesOf(then()); };
  auto other = [&] { return valuesOf(otherwise()); };
  return kernel.conditional(condition, one, other, OpOptions{.tag = tag}, place);
}

void bindValues(nb::module_ &module) {
  nb::class_<Value>(module, "Value")
      .def_prop_ro("dims", [](const Value &self) { return self.dims(); })
      .def_prop_ro("type", [](const Value &self) { return self.type(); })
      .def_prop_ro("is_poisoned", [](const Value &self) { return self.isPoisoned(); });
  nb::class_<MemoryRef>(module, "MemoryRef")
      .def_prop_ro("shape", [](const MemoryRef &self) { return self.shape(); })
      .def_prop_ro("type", [](const MemoryRef &self) { return self.type(); })
      .def_prop_ro("name", [](const MemoryRef &self) { return self.name(); });
}

/// Barriers, waits and hints in the text of a kernel.
void defineOrder(nb::class_<Kernel> &type) {
  type.def(
          "workgroup_barrier", [](Kernel &self, Place place) { self.workgroup_barrier(place); },
          nb::arg("place").none())
      .def(
          "shared_memory_barrier",
          [](Kernel &self, bool waitAsync, Place place) {
            self.shared_memory_barrier({.wait_async_ops = waitAsync}, place);
          },
          nb::arg("wait_async_ops"), nb::arg("place").none())
      .def(
          "shared_memory_barrier_signal",
          [](Kernel &self, int id, Place place) { self.shared_memory_barrier_signal(id, place); }, nb::arg("id"),
          nb::arg("place").none())
      .def(
          "shared_memory_barrier_wait",
          [](Kernel &self, int id, Place place) { self.shared_memory_barrier_wait(id, place); }, nb::arg("id"),
          nb::arg("place").none())
      .def(
          "memory_counter_wait",
          [](Kernel &self, std::optional<int> load, std::optional<int> ds, Place place) {
            self.memory_counter_wait({.load = load, .ds = ds}, place);
          },
          nb::arg("load").none(), nb::arg("ds").none(), nb::arg("place").none())
      .def(
          "memory_counter_wait_barrier",
          [](Kernel &self, std::optional<int> load, std::optional<int> ds, Place place) {
            self.memory_counter_wait_barrier({.load = load, .ds = ds}, place);
          },
          nb::arg("load").none(), nb::arg("ds").none(), nb::arg("place").none())
      .def(
          "set_wave_prio", [](Kernel &self, int level, Place place) { self.set_wave_prio(level, place); },
          nb::arg("level"), nb::arg("place").none())
      .def(
          "scheduling_barrier",
          [](Kernel &self, const std::vector<int> &classes, Place place) {
            std::vector<InstructionClass> mayCross;
            for (int each : classes)
              mayCross.push_back(static_cast<InstructionClass>(each));
            self.scheduling_barrier(mayCross, place);
          },
          nb::arg("classes"), nb::arg("place").none())
      .def(
          "scheduling_group_barrier",
          [](Kernel &self, const std::vector<std::pair<int, int>> &given, int sync, Place place) {
            std::vector<std::pair<InstructionClass, int>> groups;
            for (auto [kind, count] : given)
              groups.emplace_back(static_cast<InstructionClass>(kind), count);
            self.scheduling_group_barrier(groups, sync, place);
          },
          nb::arg("groups"), nb::arg("sync"), nb::arg("place").none());
}

} // namespace

void bindKernels(nb::module_ &module) {
  bindValues(module);
  auto options = [](const std::string &tag) { return OpOptions{.tag = tag}; };
  auto type = nb::class_<Kernel>(module, "Kernel");
  defineOrder(type);
  type.def(
          "__init__",
          [](Kernel *self, std::string name, std::vector<Constraint> constraints, Place place) {
            new (self) Kernel(std::move(name), std::move(constraints), place);
          },
          nb::arg("name"), nb::arg("constraints"), nb::arg("place").none())
      .def(
          "memory",
          [](Kernel &self, std::string name, Dims shape, Expr space, ElementType type, Dims strides, Place place) {
            return self.memory(std::move(name), std::move(shape), space, type, {.strides = std::move(strides)}, place);
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("space"), nb::arg("type"), nb::arg("strides"),
          nb::arg("place").none())
      .def(
          "allocate",
          [](Kernel &self, std::string name, Dims dims, ElementType type, Place place) {
            return self.allocate(std::move(name), std::move(dims), type, place);
          },
          nb::arg("name"), nb::arg("dims"), nb::arg("type"), nb::arg("place").none())
      .def(
          "scalar",
          [](Kernel &self, std::string name, ElementType type, Place place) {
            return self.scalar(std::move(name), type, place);
          },
          nb::arg("name"), nb::arg("type"), nb::arg("place").none())
      .def(
          "fill",
          [=](Kernel &self, Dims dims, ElementType type, nb::object number, const std::string &tag, Place place) {
            return self.fill(std::move(dims), type, operandOf(number, place), options(tag), place);
          },
          nb::arg("dims"), nb::arg("type"), nb::arg("number"), nb::arg("tag"), nb::arg("place").none())
      .def(
          "splat",
          [=](Kernel &self, Dims dims, Value scalar, const std::string &tag, Place place) {
            return self.splat(std::move(dims), scalar, options(tag), place);
          },
          nb::arg("dims"), nb::arg("scalar"), nb::arg("tag"), nb::arg("place").none())
      .def(
          "self_index",
          [=](Kernel &self, Expr dim, ElementType type, const std::string &tag, Place place) {
            return self.self_index(dim, type, options(tag), place);
          },
          nb::arg("dim"), nb::arg("type"), nb::arg("tag"), nb::arg("place").none())
      .def("iterate", iterate, nb::arg("axis"), nb::arg("inits"), nb::arg("body"), nb::arg("tag"),
           nb::arg("count").none(), nb::arg("place").none())
      .def("iterate_while", iterateWhile, nb::arg("inits"), nb::arg("condition"), nb::arg("body"), nb::arg("tag"),
           nb::arg("place").none())
      .def("conditional", conditional, nb::arg("condition"), nb::arg("then"), nb::arg("otherwise"), nb::arg("tag"),
           nb::arg("place").none())
      .def(
          "continue_while",
          [](Kernel &self, Expr condition, Place place) { self.continue_while(condition, {}, place); },
          nb::arg("condition"), nb::arg("place").none())
      .def_prop_ro("name", [](const Kernel &self) { return self.name(); })
      .def("diagnostics", [](const Kernel &self) { return listOfDiagnostics(self.diagnostics()); });
}

} // namespace soliton::python
