//===- Value.h - What a kernel's text computes with -----------------------------===//
//
// A `Value` is a tile: the part of a tensor that a workgroup holds in registers. A `MemoryRef` is a parameter of the
// kernel. Both are handles into the kernel that made them. A mistake makes a *poisoned* value: it is reported once, at
// compile, and what depends on it stays quiet.
//
//   Value x = read(a);                 Value y = read(a, {.elements_per_thread = 4, .tag = "load"});
//   write(2.0 * x + y, c);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/frontend/Constraints.h"

#include <concepts>
#include <memory>

namespace soliton {
namespace frontend {
class Tracer;
struct Program;
struct ResolvedMapping;
} // namespace frontend

inline namespace lang {

/// A tile, or a scalar, of the kernel that made it.
class Value {
public:
  /// No value; using it is a mistake that is reported.
  Value() = default;
  Value(std::shared_ptr<frontend::Program> program, uint32_t id) : owner(std::move(program)), number(id) {}

  /// Its dimensions in order; none for a scalar.
  std::vector<Expr> dims() const;
  ElementType type() const;
  /// A mistake made it; it was reported where it happened.
  bool isPoisoned() const;

  const std::shared_ptr<frontend::Program> &program() const { return owner; }
  uint32_t id() const { return number; }

private:
  std::shared_ptr<frontend::Program> owner;
  uint32_t number = 0;
};

struct Element;

/// A tensor parameter of the kernel that made it.
class MemoryRef {
public:
  MemoryRef() = default;
  MemoryRef(std::shared_ptr<frontend::Program> program, uint32_t id) : owner(std::move(program)), number(id) {}

  std::vector<Expr> shape() const;
  ElementType type() const;
  std::string name() const;

  /// The element there, as a lane names it (Simt.h): `x(row, column)`, each an expression or a lane's own integer.
  template <typename... Index>
  Element operator()(const Index &...index) const;

  const std::shared_ptr<frontend::Program> &program() const { return owner; }
  uint32_t id() const { return number; }

private:
  std::shared_ptr<frontend::Program> owner;
  uint32_t number = 0;
};

/// One side of an operator: a value or a number, and where it was written. Numbers take the other side's element type.
struct Operand {
  enum Kind : uint8_t { tile, integer, real } kind;
  Value value;
  int64_t integerNumber = 0;
  double realNumber = 0;
  Place place;
  Operand(Value value, Place place = std::source_location::current())
      : kind(tile), value(std::move(value)), place(std::move(place)) {}
  template <std::integral T>
  Operand(T number, Place place = std::source_location::current())
      : kind(integer), integerNumber(static_cast<int64_t>(number)), place(std::move(place)) {}
  template <std::floating_point T>
  Operand(T number, Place place = std::source_location::current())
      : kind(real), realNumber(static_cast<double>(number)), place(std::move(place)) {}

  bool isNumber() const { return kind != tile; }
};

/// How the elements of a register tile lie in a memory that is not read or written in its own order.
///
///   auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
///   read(b, {.mapping = IndexMapping{.num_iterators = 2, .inputs = {{K, j}, {N, i}}, .outputs = {{N, i}, {K, j}}}});
///
/// For `read`, `inputs` are the memory's indices and `outputs` the tile's dimensions; for `write` the other way round.
/// On the tile's side every dimension is a bare iterator.
struct IndexMapping {
  int num_iterators = 0;
  DimMap inputs = {};
  DimMap outputs = {};
  /// How each dynamic value is indexed by the iterators; unset means by its own dimensions.
  std::vector<DimMap> dynamic_val_mappings = {};

  static Expr iterator(int k);
  static Expr dynamic_val(int k);
};

/// An index of a `source` or `target`: an expression of iterators, or a tile of indices.
struct IndexEntry {
  Expr expr;
  Value value;
  IndexEntry(Expr expr) : expr(expr) {}
  template <std::integral T>
  IndexEntry(T number) : expr(number) {}
  IndexEntry(Value value) : value(std::move(value)) {}
};

/// A place of a memory that a lane names.
struct Element {
  MemoryRef memory;
  std::vector<IndexEntry> at;
};

template <typename... Index>
Element MemoryRef::operator()(const Index &...index) const {
  return {*this, {IndexEntry(index)...}};
}

/// Options of `read` and `write`.
struct AccessOptions {
  /// Elements that a lane takes at a time; unset means the compiler's choice.
  std::optional<Expr> elements_per_thread = {};
  std::optional<IndexMapping> mapping = {};
  /// What stands for `IndexMapping::dynamic_val(k)`.
  std::vector<Value> mapping_dynamic_vals = {};
  /// Bounds per dimension in place of the automatic ones; empty but set means that nothing is checked.
  std::optional<DimMap> bounds = {};
  /// The other spelling of a mapping, over the iterators that an `IteratorBindings` names.
  std::vector<IndexEntry> source = {};
  std::vector<IndexEntry> target = {};
  std::string tag = {};
  /// What the places of lanes have become; `load` and `store` set it.
  std::shared_ptr<const frontend::ResolvedMapping> places = {};
};

struct OpOptions {
  std::string tag = {};
};

struct LoopOptions {
  std::string tag = {};
  /// So many iterations, instead of what the axis' constraint says: of sizes, places, and numbers that `index_of` takes
  /// from data.
  std::optional<Expr> count = {};
};

struct MmaOptions {
  /// Another matrix instruction than the kernel's.
  std::optional<MmaType> mma_type = {};
  std::string tag = {};
};

struct ReduceOptions {
  /// Accepted for compatibility: a reduction always combines the whole tile of the workgroup, across its waves.
  bool block = false;
  std::string tag = {};
};

} // namespace lang
} // namespace soliton
