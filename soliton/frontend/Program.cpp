#include "soliton/frontend/Program.h"

#include <algorithm>
#include <cctype>

using namespace soliton;
using namespace soliton::frontend;

bool Program::encloses(RegionId outer, RegionId inner) const {
  while (inner != outer) {
    if (inner == 0)
      return false;
    inner = regions[inner].parent;
  }
  return true;
}

std::optional<DimInfo> frontend::dimInfo(Expr dim) {
  if (dim.isSymbol())
    return DimInfo{dim};
  if (dim.kind() == sym::Kind::mul && dim.operand(0).isConstant() && dim.operand(1).kind() == sym::Kind::exactDiv) {
    std::optional<DimInfo> groups = dimInfo(dim.operand(1));
    if (groups)
      groups->places = *dim.operand(0).constantValue();
    return groups && groups->places > 1 ? groups : std::nullopt;
  }
  if (dim.kind() != sym::Kind::exactDiv || !dim.operand(0).isSymbol() || !dim.operand(1).isConstant())
    return std::nullopt;
  return DimInfo{dim.operand(0), *dim.operand(1).constantValue()};
}

Expr frontend::baseOf(Expr dim) {
  std::optional<DimInfo> info = dimInfo(dim);
  return info ? info->base : dim;
}

std::optional<Expr> Program::numberOf(Expr symbol) const {
  for (RegionId region = current;; region = regions[region].parent) {
    const auto &set = regions[region].set;
    for (auto entry = set.rbegin(); entry != set.rend(); ++entry)
      if (entry->first == symbol)
        return entry->second;
    if (region == 0)
      return std::nullopt;
  }
}

Expr Program::withNumbers(Expr expr) const {
  sym::Substitution numbers;
  for (Expr symbol : sym::symbolsOf(expr))
    if (std::optional<Expr> number = numberOf(symbol))
      numbers.set(symbol, *number);
  return sym::substitute(expr, numbers);
}

bool Program::speaksOfSet(const std::optional<Expr> &expr) const {
  if (!expr || !expr->isDefined())
    return false;
  std::vector<Expr> used = sym::symbolsOf(*expr);
  return std::any_of(used.begin(), used.end(), [&](Expr symbol) { return numberOf(symbol).has_value(); });
}

bool Program::speaksOfEverSet(const std::optional<Expr> &expr) const {
  if (!expr || !expr->isDefined())
    return false;
  for (Expr symbol : sym::symbolsOf(*expr))
    for (const Region &region : regions)
      for (const auto &[set, number] : region.set)
        if (set == symbol)
          return true;
  return false;
}

bool Program::hasOnePlace(Expr dim) const {
  auto *tiling = findFor<TilingConstraint>(dim);
  for (RegionId region = current; tiling && region != 0; region = regions[region].parent)
    if (regions[region].axis == dim)
      return tiling->tile.isConstant(1);
  auto *workgroup = findFor<WorkgroupConstraint>(dim);
  return workgroup && workgroup->tile.isConstant(1);
}

std::optional<Expr> Program::startOf(Expr dim) const {
  std::optional<DimInfo> info = dimInfo(dim);
  for (RegionId region = current; info && region != 0; region = regions[region].parent)
    if (regions[region].axis == info->base && regions[region].start)
      return info->divisor == 1 ? *regions[region].start : info->places * (*regions[region].start / info->divisor);
  return std::nullopt;
}

std::optional<Expr> Program::reachOf(Expr dim) const {
  std::optional<Expr> number = numberOf(dim), start = startOf(dim);
  if (!number && !start)
    return std::nullopt;
  return (number ? sym::min(*number, dim) : dim) - start.value_or(0);
}

std::string frontend::toString(const std::vector<Expr> &dims) {
  std::string text = "[";
  for (Expr dim : dims)
    text += (text.size() > 1 ? ", " : "") + sym::toString(dim);
  return text + "]";
}

std::string frontend::toString(const TileInfo &tile) {
  return soliton::toString(tile.type) + toString(tile.dims);
}

std::string frontend::quoted(std::string_view text) {
  return "`" + std::string(text) + "`";
}

/// The text with what an author writes for symbols of ours: `iterator(0)` for `$index0`.
static std::string inAuthorsWords(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"$index", "iterator"},
                                                                      {"$dynamic_val", "dynamic_val"},
                                                                      {"$WG", "workgroup_id"},
                                                                      {"$ARG_", "iteration"},
                                                                      {"$DATA_", "index_of"}};
  auto isLetter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto [ours, theirs] : kWords)
    for (size_t at = text.find(ours); at != std::string::npos; at = text.find(ours, at)) {
      auto from = text.begin() + static_cast<std::ptrdiff_t>(at + ours.size());
      std::string rest(from, std::find_if_not(from, text.end(), isLetter));
      text.replace(at, ours.size() + rest.size(), std::string(theirs) + "(" + rest + ")");
    }
  return text;
}

std::string frontend::quoted(Expr expr) {
  return quoted(inAuthorsWords(sym::toString(expr)));
}

std::string frontend::describe(const Program &program, ValueId id) {
  const ValueInfo &value = program.values[id];
  if (!value.name.empty())
    return quoted(value.name);
  if (value.parameter)
    return quoted(program.parameters[*value.parameter].name);
  if (!value.op)
    return "the loop's value";
  const OpRecord &op = program.ops[*value.op];
  switch (op.kind) {
  case OpKind::read:
    return "the tile of " + quoted(program.parameters[op.memory].name);
  case OpKind::atomic:
    return "what was in " + quoted(program.parameters[op.memory].name);
  case OpKind::unary:
  case OpKind::binary:
  case OpKind::compare:
  case OpKind::reduce:
    return "the result of " + quoted(op.function);
  case OpKind::scan:
    return "the result of `cum" + std::string(op.function) + "`";
  case OpKind::argReduce:
    return std::string(id == op.results[0] ? "the value" : "the index") + " of `arg" + std::string(op.function) + "`";
  case OpKind::sort:
    return std::string(id == op.results[0] ? "the keys" : "what goes with the keys") + " of a `sort`";
  case OpKind::mma:
    return op.operands.size() > 3 ? "the result of `scaled_mma`" : "the result of `mma`";
  case OpKind::iterate:
    return "the result of the loop over " + quoted(op.expr);
  case OpKind::conditional:
    return "the result of the conditional";
  default:
    return "the value";
  }
}

//===- Handles ------------------------------------------------------------------===//

std::vector<Expr> Value::dims() const {
  return owner ? owner->values[number].tile.dims : std::vector<Expr>();
}

ElementType Value::type() const {
  return owner ? owner->values[number].tile.type : ElementType();
}

bool Value::isPoisoned() const {
  return !owner || owner->values[number].poisoned;
}

std::vector<Expr> MemoryRef::shape() const {
  return owner ? owner->parameters[number].shape : std::vector<Expr>();
}

ElementType MemoryRef::type() const {
  return owner ? owner->parameters[number].type : ElementType();
}

std::string MemoryRef::name() const {
  return owner ? owner->parameters[number].name : std::string();
}

Expr IndexMapping::iterator(int k) {
  return Expr::symbol("$index" + std::to_string(k));
}

Expr IndexMapping::dynamic_val(int k) {
  return Expr::symbol("$dynamic_val" + std::to_string(k));
}

//===- Words ----------------------------------------------------------------------===//

std::string lang::toString(ElementType type) {
  if (type.isNativeF8() || type.isNativeBf8())
    return type.isNativeF8() ? "f8" : "bf8";
  return std::string(name(type.resolve()));
}

bool lang::isFloat(ElementType type) {
  return soliton::isFloat(type.resolve());
}

std::optional<ElementType> lang::parseElementType(std::string_view text) {
  if (text == "f8" || text == "bf8")
    return text == "f8" ? f8 : bf8;
  if (auto type = parseDType(text))
    return ElementType(*type);
  return std::nullopt;
}

AddressSpace::operator Expr() const {
  return Expr::symbol(kind == Shared ? "$SHARED_ADDRESS_SPACE" : "$GLOBAL_ADDRESS_SPACE");
}

#define SOLITON_CONSTRAINT(NAME)                                                                                       \
  Constraint::Constraint(NAME constraint)                                                                              \
      : held(std::make_shared<ConstraintData>(ConstraintData{std::move(constraint)})) {}
SOLITON_CONSTRAINT(WorkgroupConstraint)
SOLITON_CONSTRAINT(TilingConstraint)
SOLITON_CONSTRAINT(WaveConstraint)
SOLITON_CONSTRAINT(HardwareConstraint)
SOLITON_CONSTRAINT(GridConstraint)
SOLITON_CONSTRAINT(ReorderingConstraint)
SOLITON_CONSTRAINT(SymbolicAlias)
SOLITON_CONSTRAINT(Assumption)
SOLITON_CONSTRAINT(IteratorBindings)
SOLITON_CONSTRAINT(DeviceConstraint)
SOLITON_CONSTRAINT(Simt)
#undef SOLITON_CONSTRAINT
