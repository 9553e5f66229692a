//===- Lanes.cpp - Kernels as one lane sees them, in Python ----------------------------===//
//
//   load(x, [i], 1, tag, place)          what `load(x(i))` of C++ is
//   scope = when(condition, True, place); …; scope.close()
//
// Scopes are closed by Python's `with`, in the order of the text.
//
//===----------------------------------------------------------------------===//
#include "Bindings.h"

#include <map>

namespace soliton::python {

namespace {

using Values = std::vector<Value>;
using Entries = std::vector<nb::object>;

IndexEntry entryOf(nb::handle object) {
  Value value;
  if (nb::try_cast(object, value, false))
    return value;
  return exprOf(object);
}

Element elementOf(const MemoryRef &memory, const Entries &at) {
  Element element{memory, {}};
  for (const nb::object &each : at)
    element.at.push_back(entryOf(each));
  return element;
}

/// Lanes for which a condition does not hold are not there, or ops speak of a tile's elements, until it is closed.
struct Scope {
  std::unique_ptr<detail::WhenScope> when;
  std::unique_ptr<detail::ElementsScope> elements;
};

using LaneAtomic = Value (*)(Operand, const Element &, OpOptions, Place);
#define SOLITON_OP(NAME) {#NAME, static_cast<LaneAtomic>(&lang::NAME)}
const std::map<std::string, LaneAtomic, std::less<>> laneAtomics = {
    SOLITON_OP(atomic_add), SOLITON_OP(atomic_min), SOLITON_OP(atomic_max), SOLITON_OP(atomic_exchange),
    SOLITON_OP(atomic_and), SOLITON_OP(atomic_or),  SOLITON_OP(atomic_xor),
};
#undef SOLITON_OP

using Exchange = Value (*)(const Value &, int64_t, OpOptions, Place);
const std::map<std::string, Exchange, std::less<>> exchanges = {
    {"shuffle_xor", &lang::shuffle_xor},
    {"shuffle_up", &lang::shuffle_up},
    {"shuffle_down", &lang::shuffle_down},
    {"rotate", &lang::rotate},
};

using Vote = Value (*)(const Value &, Place);
const std::map<std::string, Vote, std::less<>> votes = {
    {"ballot", &lang::ballot},     {"vote_count", &lang::vote_count}, {"vote_rank", &lang::vote_rank},
    {"vote_any", &lang::vote_any}, {"vote_all", &lang::vote_all},
};

template <typename Function>
Function find(const std::map<std::string, Function, std::less<>> &table, std::string_view name) {
  auto found = table.find(name);
  if (found == table.end())
    throw nb::key_error(std::string(name).c_str());
  return found->second;
}

void bindPlaces(nb::module_ &module) {
  module.def(
      "load",
      [](const MemoryRef &memory, const Entries &at, int64_t vector, const std::string &tag, Place place) {
        return load(elementOf(memory, at), {.vector = vector, .tag = tag}, place);
      },
      nb::arg("memory"), nb::arg("at"), nb::arg("vector"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "store",
      [](nb::object value, const MemoryRef &memory, const Entries &at, const std::string &tag, Place place) {
        store(operandOf(value, place), elementOf(memory, at), {.tag = tag}, place);
      },
      nb::arg("value"), nb::arg("memory"), nb::arg("at"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "lane_atomic",
      [](std::string_view name, nb::object value, const MemoryRef &memory, const Entries &at, const std::string &tag,
         Place place) {
        return find(laneAtomics, name)(operandOf(value, place), elementOf(memory, at), {.tag = tag}, place);
      },
      nb::arg("name"), nb::arg("value"), nb::arg("memory"), nb::arg("at"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "component", [](const Value &vector, int64_t index, Place place) { return component(vector, index, place); },
      nb::arg("vector"), nb::arg("index"), nb::arg("place").none());
  module.def(
      "per_lane",
      [](Kernel &kernel, Expr expr, ElementType type, const std::string &tag, Place place) {
        return kernel.per_lane(expr, type, {.tag = tag}, place);
      },
      nb::arg("kernel"), nb::arg("expr"), nb::arg("type"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "shared_array",
      [](Kernel &kernel, std::string name, std::vector<Expr> extents, ElementType type, Place place) {
        return kernel.shared_array(std::move(name), std::move(extents), type, place);
      },
      nb::arg("kernel"), nb::arg("name"), nb::arg("extents"), nb::arg("type"), nb::arg("place").none());
}

void bindExchanges(nb::module_ &module) {
  module.def(
      "shuffle",
      [](const Value &value, nb::object lane, const std::string &tag, Place place) {
        return shuffle(value, entryOf(lane), {.tag = tag}, place);
      },
      nb::arg("value"), nb::arg("lane"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "exchange",
      [](std::string_view name, const Value &value, int64_t distance, const std::string &tag, Place place) {
        return find(exchanges, name)(value, distance, {.tag = tag}, place);
      },
      nb::arg("name"), nb::arg("value"), nb::arg("distance"), nb::arg("tag"), nb::arg("place").none());
  module.def(
      "vote",
      [](std::string_view name, const Value &condition, Place place) { return find(votes, name)(condition, place); },
      nb::arg("name"), nb::arg("condition"), nb::arg("place").none());
  module.def(
      "any_thread", [](const Value &condition, Place place) { return any_thread(condition, place); },
      nb::arg("condition"), nb::arg("place").none());
}

Values laneWhile(const Values &inits, nb::callable condition, nb::callable body, Place place) {
  auto holds = [&](const Values &arguments) { return nb::cast<Value>(condition(arguments)); };
  auto step = [&](const Values &arguments) { return nb::cast<Values>(body(arguments)); };
  return detail::laneWhile(inits, holds, step, place);
}

void bindScopes(nb::module_ &module) {
  nb::class_<Scope>(module, "Scope").def("close", [](Scope &self) {
    self.when.reset();
    self.elements.reset();
  });
  module.def(
      "when",
      [](const Value &condition, bool holds, Place place) {
        return Scope{std::make_unique<detail::WhenScope>(condition, holds, place), nullptr};
      },
      nb::arg("condition"), nb::arg("holds"), nb::arg("place").none());
  module.def(
      "elements",
      [](const Value &tile, Place place) {
        return Scope{nullptr, std::make_unique<detail::ElementsScope>(tile, place)};
      },
      nb::arg("tile"), nb::arg("place").none());
  module.def("lane_while", laneWhile, nb::arg("inits"), nb::arg("condition"), nb::arg("body"), nb::arg("place").none());
}

} // namespace

void bindLanes(nb::module_ &module) {
  bindPlaces(module);
  bindExchanges(module);
  bindScopes(module);
  module.def("lanes", [] { return lanes(); });
  module.def("waves", [] { return waves(); });
  module.def("coordinate", [](Expr dim) { return coordinate(dim); });
  module.def("vector", [](int64_t size) { return vector(size); });
}

} // namespace soliton::python
