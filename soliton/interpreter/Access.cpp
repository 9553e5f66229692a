//===- Access.cpp - Which element of a memory belongs to which of a tile -----===//

#include "soliton/interpreter/Access.h"

#include "soliton/interpreter/Failure.h"

#include <charconv>
#include <limits>

namespace soliton::interp {
using namespace wave;

static mlir::ArrayAttr listOf(mlir::Operation *op, llvm::StringRef name) {
  return op->getAttrOfType<mlir::ArrayAttr>(name);
}

/// The number k of a symbol `<prefix>k`.
static std::optional<size_t> numberOf(sym::Expr symbol, std::string_view prefix) {
  std::string_view name = symbol.symbolName();
  if (!name.starts_with(prefix))
    return std::nullopt;
  size_t value = 0;
  const char *end = name.data() + name.size();
  auto [stop, code] = std::from_chars(name.data() + prefix.size(), end, value);
  return code == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

Access::Access(mlir::Operation *op, const Memory &memory, bool isArgument, const Domain &tile,
               std::vector<const Tile *> dynamic, Geometry &geometry)
    : op(op), memory(memory), tile(tile), dynamic(std::move(dynamic)) {
  for (const Tile *value : this->dynamic) {
    std::optional<Alignment> aligned = align(value->domain, tile);
    if (!aligned || isFloat(value->type))
      fail(op->getLoc(), DiagId::ReferenceUndefined, "a dynamic value does not give an integer for every element");
    dynamicAt.push_back(std::move(*aligned));
  }
  strides.assign(memory.extents().size(), 1);
  for (size_t k = strides.size(); k-- > 1;)
    strides[k - 1] = strides[k] * memory.extents()[k];
  readStarts(isArgument, geometry);
  readBounds(isArgument, geometry);
  readIndices(geometry);
  makeSeparable();
}

void Access::readStarts(bool isArgument, Geometry &geometry) {
  mlir::ArrayAttr stated = listOf(op, "starts");
  for (size_t d = 0; d < tile.rank(); ++d) {
    if (stated)
      starts.push_back(geometry.evaluate(llvm::cast<ExprAttr>(stated[d]).getValue(), op->getLoc()));
    else // A shared memory holds the workgroup's tile and nothing else.
      starts.push_back(isArgument ? geometry.start(tile.dims[d], op) : 0);
  }
}

/// Within its dimension, within what the author said instead, or, once guards are decided, whatever they say.
void Access::readBounds(bool isArgument, Geometry &geometry) {
  inside.resize(tile.rank());
  mlir::ArrayAttr bounds = listOf(op, "bounds"), conditions = listOf(op, "guards");
  // A box ends where its tensor does, whatever the form.
  auto copy = llvm::dyn_cast<CopyOp>(op);
  if (llvm::isa<CopyOutOp>(op) || (copy && copy.getBoxed()))
    return;
  guarded = conditions || geometry.form() >= Form::Placed;
  if (guarded) {
    for (mlir::Attribute condition : conditions ? conditions : mlir::ArrayAttr::get(op->getContext(), {}))
      addGuard(geometry.bind(llvm::cast<ExprAttr>(condition).getValue(), op->getLoc()));
    return;
  }
  // What a layout holds beyond the dimension's part belongs to nobody here.
  for (size_t d = 0; d < tile.rank(); ++d) {
    int64_t end = starts[d] + geometry.extent(tile.dims[d], op->getLoc());
    restrict(d, [&](int64_t place) { return place < end; });
  }
  // A shared memory takes what lies beyond the tensor too, but an atomic is no matter of padding.
  bool isAtomic = llvm::cast<AccessOpInterface>(op).getAtomicKind().has_value();
  for (size_t d = 0; d < tile.rank() && (isArgument || isAtomic); ++d) {
    ExprAttr bound = bounds ? llvm::dyn_cast<ExprAttr>(bounds[d]) : ExprAttr();
    if (bounds && !bound)
      continue;
    int64_t origin = isArgument ? 0 : geometry.start(tile.dims[d], op) - starts[d];
    int64_t least = bounds ? std::numeric_limits<int64_t>::min() : 0;
    int64_t limit =
        bound ? geometry.evaluate(bound.getValue(), op->getLoc()) : geometry.size(tile.dims[d], op->getLoc());
    restrict(d, [&](int64_t place) { return origin + place >= least && origin + place < limit; });
  }
  if (mlir::ArrayAttr within = listOf(op, "within"))
    for (ExprAttr condition : within.getAsRange<ExprAttr>())
      addGuard(geometry.bind(condition.getValue(), op->getLoc()));
}

void Access::restrict(size_t d, llvm::function_ref<bool(int64_t place)> holds) {
  inside[d].resize(tile.places[d].size(), true);
  for (size_t i = 0; i < inside[d].size(); ++i)
    inside[d][i] = inside[d][i] && holds(starts[d] + tile.places[d][i]);
}

/// A condition on one dimension becomes a table; others are asked for each element.
void Access::addGuard(sym::Expr guard) {
  std::vector<sym::Expr> symbols = sym::symbolsOf(guard);
  std::optional<size_t> d = symbols.size() == 1 ? numberOf(symbols[0], "$index") : std::nullopt;
  if (!d || *d >= tile.rank()) {
    guards.push_back(guard);
    return;
  }
  restrict(*d, [&](int64_t place) { return sym::evaluate(guard, {{symbols[0], place}}) != 0; });
}

//===-- Indices ---------------------------------------------------------------===//

void Access::readIndices(Geometry &geometry) {
  mlir::ArrayAttr stated = listOf(op, "indices");
  for (size_t k = 0; k < memory.extents().size(); ++k)
    indices.push_back(stated ? split(geometry.bind(llvm::cast<ExprAttr>(stated[k]).getValue(), op->getLoc()))
                             : plainIndex(k));
}

Access::Index Access::plainIndex(size_t dim) const {
  Index index;
  index.tables.resize(tile.rank());
  for (int64_t place : tile.places[dim])
    index.tables[dim].push_back(starts[dim] + place);
  return index;
}

Access::Index Access::split(sym::Expr expr) const {
  Index index;
  index.tables.resize(tile.rank());
  try {
    sym::AffineTerms terms = sym::affineTerms(expr);
    index.constant = terms.constant;
    for (const sym::AffineTerm &term : terms.terms)
      addTerm(index, term.coefficient, term.atom);
  } catch (const sym::ExprError &error) {
    fail(op->getLoc(), DiagId::ReferenceUndefined,
         "the index `" + sym::toString(expr) + "` has no value: " + error.what());
  }
  return index;
}

void Access::addTerm(Index &index, int64_t coefficient, sym::Expr atom) const {
  std::vector<sym::Expr> symbols = sym::symbolsOf(atom);
  if (atom.isSymbol())
    if (std::optional<size_t> k = numberOf(atom, "$dynamic_val"); k && *k < dynamic.size()) {
      index.dynamic.emplace_back(coefficient, *k);
      return;
    }
  std::optional<size_t> d = symbols.size() == 1 ? numberOf(symbols[0], "$index") : std::nullopt;
  if (!d || *d >= tile.rank()) {
    sym::Expr scaled = coefficient * atom;
    index.rest = index.rest ? *index.rest + scaled : scaled;
    return;
  }
  std::vector<int64_t> &table = index.tables[*d];
  table.resize(tile.places[*d].size(), 0);
  for (size_t i = 0; i < table.size(); ++i)
    if (inside[*d].empty() || inside[*d][i])
      table[i] += coefficient * sym::evaluate(atom, {{symbols[0], starts[*d] + tile.places[*d][i]}});
}

//===-- Sums of tables --------------------------------------------------------===//

/// Whether the k-th index, a sum of tables, is inside the memory for every element within the bounds.
bool Access::staysInside(size_t k) const {
  int64_t low = indices[k].constant, high = low;
  for (size_t d = 0; d < tile.rank(); ++d) {
    const std::vector<int64_t> &table = indices[k].tables[d];
    int64_t least = std::numeric_limits<int64_t>::max(), most = std::numeric_limits<int64_t>::min();
    for (size_t i = 0; i < tile.places[d].size(); ++i) {
      if (!inside[d].empty() && !inside[d][i])
        continue;
      int64_t value = table.empty() ? 0 : table[i];
      least = std::min(least, value);
      most = std::max(most, value);
    }
    if (least > most)
      return true; // Nothing is within the bounds.
    low += least;
    high += most;
  }
  return low >= 0 && high < memory.extents()[k];
}

void Access::makeSeparable() {
  isSeparable = guards.empty();
  for (size_t k = 0; k < indices.size(); ++k)
    isSeparable = isSeparable && indices[k].dynamic.empty() && !indices[k].rest && staysInside(k);
  if (!isSeparable)
    return;
  for (size_t d = 0; d < tile.rank(); ++d)
    steps.emplace_back(tile.places[d].size(), 0);
  for (size_t k = 0; k < indices.size(); ++k) {
    base += indices[k].constant * strides[k];
    for (size_t d = 0; d < tile.rank(); ++d)
      for (size_t i = 0; i < indices[k].tables[d].size(); ++i)
        steps[d][i] += indices[k].tables[d][i] * strides[k];
  }
}

//===-- Any other index -------------------------------------------------------===//

int64_t Access::dynamicValue(size_t k, const std::vector<size_t> &index) const {
  size_t at = 0;
  for (size_t d = 0; d < index.size(); ++d)
    at += dynamicAt[k].steps[d][index[d]];
  return dynamic[k]->as<int64_t>()[at];
}

/// What an expression of an element's place and dynamic values is for the element at `index`.
int64_t Access::evaluate(sym::Expr expr, const std::vector<size_t> &index) const {
  sym::Environment environment;
  for (size_t d = 0; d < index.size(); ++d)
    environment.set(placeSymbol(d), starts[d] + tile.places[d][index[d]]);
  for (size_t k = 0; k < dynamic.size(); ++k)
    environment.set(dynamicSymbol(k), dynamicValue(k, index));
  try {
    return sym::evaluate(expr, environment);
  } catch (const sym::ExprError &error) {
    fail(op->getLoc(), DiagId::ReferenceUndefined,
         "the index `" + sym::toString(expr) + "` has no value: " + error.what());
  }
}

int64_t Access::valueOf(const Index &part, const std::vector<size_t> &index) const {
  int64_t value = part.constant;
  for (size_t d = 0; d < index.size(); ++d)
    if (!part.tables[d].empty())
      value += part.tables[d][index[d]];
  for (auto [coefficient, k] : part.dynamic)
    value += coefficient * dynamicValue(k, index);
  return part.rest ? value + evaluate(*part.rest, index) : value;
}

std::optional<size_t> Access::address(const std::vector<size_t> &index) const {
  for (sym::Expr guard : guards)
    if (!evaluate(guard, index))
      return std::nullopt;
  int64_t result = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    int64_t value = valueOf(indices[k], index);
    if (value < 0 || value >= memory.extents()[k]) {
      if (!guarded)
        return std::nullopt;
      failOutside(k, value);
    }
    result += value * strides[k];
  }
  return static_cast<size_t>(result);
}

void Access::failOutside(size_t k, int64_t value) const {
  fail(op->getLoc(), DiagId::ReferenceUndefined,
       "`" + op->getName().getStringRef().str() + "` is at " + std::to_string(value) + " along dimension " +
           std::to_string(k) + " of a memory of " + std::to_string(memory.extents()[k]),
       "once guards are decided, they keep accesses inside");
}

} // namespace soliton::interp
