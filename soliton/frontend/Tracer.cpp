#include "soliton/frontend/Ops.h"
#include "soliton/frontend/SimtTracing.h"

#include "soliton/support/Float.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace soliton;
using namespace soliton::frontend;

void frontend::report(Program &program, DiagId id, const Place &place, std::string message, std::string hint,
                      std::vector<Note> notes) {
  program.diagnostics.push_back({.severity = Severity::error,
                                 .id = id,
                                 .place = place,
                                 .message = std::move(message),
                                 .hint = std::move(hint),
                                 .notes = std::move(notes)});
}

ValueId frontend::addValue(Program &program, ValueInfo info) {
  program.values.push_back(std::move(info));
  return static_cast<ValueId>(program.values.size() - 1);
}

Value frontend::poisonedValue(const std::shared_ptr<Program> &program, const Place &place) {
  if (!program)
    return {};
  return {program, addValue(*program, {.region = program->current, .place = place, .poisoned = true})};
}

//===- Tracer -----------------------------------------------------------------------===//

Tracer::Tracer(std::string what, Place place, std::shared_ptr<Program> program)
    : op(std::move(what)), place(std::move(place)), owner(std::move(program)) {}

Tracer::Tracer(std::string what, Place place, std::vector<Value> values, std::shared_ptr<Program> program)
    : op(std::move(what)), place(std::move(place)), owner(std::move(program)), operands(std::move(values)) {
  for (const Value &operand : operands)
    if (!owner)
      owner = operand.program();
  good = owner != nullptr;
  for (const Value &operand : operands)
    if (owner)
      checkOperand(operand);
  // Ops compute on tiles: a scalar parameter becomes one without dimensions.
  for (Value &operand : operands)
    if (good && op != "splat" && owner->values[operand.id()].parameter)
      operand = Kernel(owner).splat({}, operand, {}, this->place);
}

void Tracer::checkOperand(const Value &operand) {
  if (!operand.program()) {
    error(DiagId::UndefinedValue, "`" + op + "` got a value that was never assigned",
          "values come from `read`, `fill` and other ops");
    return;
  }
  Program &other = *operand.program();
  if (operand.program() != owner) {
    std::string message = "`" + op + "` in kernel " + quoted(owner->name) + " uses " + describe(other, operand.id()) +
                          " of kernel " + quoted(other.name);
    std::vector<Note> notes{{other.values[operand.id()].place, "it is made here"}};
    error(DiagId::ForeignValue, message, "write it to a memory in one kernel and read it in the other", notes);
    report(other, DiagId::ForeignValue, place, message, {}, notes);
    return;
  }
  const ValueInfo &value = owner->values[operand.id()];
  if (value.poisoned) {
    good = false;
    return;
  }
  if (!owner->encloses(value.region, owner->current)) {
    const Region &inside = owner->regions[value.region];
    std::string where = inside.axis ? "the loop over " + quoted(*inside.axis) : "a branch of a `conditional`";
    error(DiagId::ValueOutOfLoop,
          "`" + op + "` uses " + describe(*owner, operand.id()) + ", which exists only inside " + where,
          inside.axis ? "return it from the loop's body and use the loop's result"
                      : "return it from both branches and use the conditional's result",
          {{value.place, "it is made here"}});
  }
}

void Tracer::error(DiagId id, std::string message, std::string hint, std::vector<Note> notes) {
  good = false;
  if (owner)
    report(*owner, id, place, std::move(message), std::move(hint), std::move(notes));
}

bool Tracer::checkDefined(const std::string &what, Expr expr) {
  bool defined = frontend::checkDefined(*owner, what, expr, place);
  good = good && defined;
  return defined;
}

Note Tracer::noteOn(size_t operand) const {
  ValueId id = operands[operand].id();
  return {info(operand).place, describe(*owner, id) + " is " + frontend::toString(tile(operand))};
}

Value Tracer::poison() {
  return poisonedValue(owner, place);
}

/// A number from data is used where it is known, in the kernel that took it.
void Tracer::checkNumber(const std::string &name) {
  std::string prefix = owner->numberPrefix();
  // Kernel `a` has no number of kernel `a_0`, though its symbols begin likewise.
  std::string_view digits = name.starts_with(prefix) ? std::string_view(name).substr(prefix.size()) : "";
  size_t number = 0;
  bool isOwn = !digits.empty() && std::from_chars(digits.begin(), digits.end(), number).ptr == digits.end();
  if (!isOwn || number >= owner->numbers.size()) {
    error(DiagId::ForeignValue, quoted(op) + " uses a number that `index_of` took in another kernel",
          "take it in this kernel");
    return;
  }
  const auto &[taken, home] = owner->numbers[number];
  if (!owner->encloses(home, owner->current))
    error(DiagId::ValueOutOfLoop, quoted(op) + " uses a number that `index_of` took inside a loop or branch",
          "return the tile from there and take the number here", {{taken, "it is taken here"}});
}

void Tracer::checkNumbers(const OpRecord &op) {
  std::vector<Expr> exprs;
  if (op.kind != OpKind::indexOf && op.expr.isDefined())
    exprs.push_back(op.expr);
  if (op.count && op.count->isDefined())
    exprs.push_back(*op.count);
  if (op.indices)
    exprs.insert(exprs.end(), op.indices->begin(), op.indices->end());
  for (const std::optional<Expr> &bound : op.bounds.value_or(std::vector<std::optional<Expr>>()))
    if (bound)
      exprs.push_back(*bound);
  for (Expr expr : exprs)
    for (Expr symbol : sym::symbolsOf(expr))
      if (symbol.symbolName().starts_with("$DATA_"))
        checkNumber(std::string(symbol.symbolName()));
      else if (isLaneSymbol(symbol))
        return error(DiagId::SimtLane,
                     quoted(this->op) + " takes an expression of a lane's own id, but says one thing for all lanes",
                     "`when` takes conditions of each lane, `load` and `store` its places; "
                     "`kernel.per_lane(expr)` is the lane's value");
}

/// What `set_symbol` has said holds for the expressions of the op, for the bounds of its tile and for its iterations.
void Tracer::useSetSymbols(OpRecord &op) {
  auto anySet = [&](RegionId region) { return !owner->regions[region].set.empty(); };
  bool isSet = anySet(0);
  for (RegionId region = owner->current; region != 0; region = owner->regions[region].parent)
    isSet |= anySet(region);
  if (!isSet)
    return;
  auto replace = [&](Expr &expr) { expr = owner->withNumbers(expr); };
  if (op.kind == OpKind::applyExpr || op.kind == OpKind::exit || op.kind == OpKind::conditional)
    replace(op.expr);
  if (op.count)
    replace(*op.count);
  if (op.indices)
    std::for_each(op.indices->begin(), op.indices->end(), replace);
  if (op.kind == OpKind::read || op.kind == OpKind::write || op.kind == OpKind::atomic)
    useSetPlaces(op);
  // Reductions, scans and products mask what lies beyond; for these there is no value that would not count.
  if ((op.kind == OpKind::argReduce || op.kind == OpKind::sort) && owner->reachOf(op.expr))
    error(DiagId::SetSymbol,
          quoted(this->op) + " goes along a dimension that `set_symbol` has set, which changes no tile",
          "set a symbol that is no dimension, and say what counts with `bounds`, `count` or `select`");
}

/// Automatic bounds follow a dimension that was set, places a loop that begins where data say.
void Tracer::useSetPlaces(OpRecord &op) {
  const Parameter &memory = owner->parameters[op.memory];
  const std::vector<Expr> &dims = op.kind == OpKind::read ? resultDims : tile(0).dims;
  std::vector<std::optional<Expr>> bounds = op.bounds.value_or(std::vector<std::optional<Expr>>(dims.size()));
  sym::Substitution places;
  bool isBound = false, isMoved = false;
  for (size_t k = 0; k != dims.size(); ++k) {
    std::optional<Expr> start = owner->startOf(dims[k]), reach = owner->reachOf(dims[k]);
    if (op.bounds && bounds[k])
      bounds[k] = owner->withNumbers(*bounds[k]) - start.value_or(0);
    else if (!op.bounds)
      bounds[k] = reach.value_or(dims[k]);
    isBound |= reach.has_value();
    isMoved |= start.has_value();
    Expr place = Expr::symbol("$index" + std::to_string(k));
    places.set(place, place + start.value_or(0));
  }
  if (memory.isAllocated)
    return;
  if (op.bounds || isBound)
    op.bounds = std::move(bounds);
  if (!isMoved)
    return;
  if (!op.indices) {
    op.indices.emplace();
    for (size_t k = 0; k != dims.size(); ++k)
      op.indices->push_back(Expr::symbol("$index" + std::to_string(k)));
  }
  for (Expr &index : *op.indices)
    index = sym::substitute(index, places);
}

Value frontend::maskedAlong(const Value &value, Expr dim, const Operand &neutral, const Place &place) {
  const std::shared_ptr<Program> &program = value.program();
  if (!program || value.isPoisoned())
    return value;
  std::optional<Expr> reach = program->reachOf(dim);
  if (!reach || !hasDim(program->values[value.id()].tile.dims, dim))
    return value;
  Value index = Tracer("self_index", place, program).record({.kind = OpKind::selfIndex, .expr = dim}, {{dim}, i32});
  Value inside = apply_expr(index, [&](Expr at) { return sym::lt(at, *reach); }, {}, place);
  return select(inside, value, neutral, {}, place);
}

uint32_t Tracer::append(OpRecord record, const std::string &tag) {
  useSetSymbols(record);
  checkNumbers(record);
  record.place = place;
  if (!tag.empty())
    record.tags.push_back(tag);
  for (const Value &operand : operands)
    record.operands.push_back(operand.id());
  uint32_t index = static_cast<uint32_t>(owner->ops.size());
  owner->regions[owner->current].ops.push_back(index);
  owner->ops.push_back(std::move(record));
  return index;
}

std::vector<Value> Tracer::recordAll(OpRecord op, std::vector<TileInfo> results, const std::string &tag) {
  resultDims = results.empty() ? std::vector<Expr>() : results[0].dims;
  uint32_t index = append(std::move(op), tag);
  std::vector<Value> values;
  for (TileInfo &result : results) {
    ValueId id = addValue(*owner, {.tile = std::move(result), .region = owner->current, .place = place, .op = index});
    owner->ops[index].results.push_back(id);
    values.push_back({owner, id});
  }
  return values;
}

Value Tracer::record(OpRecord op, TileInfo result, const std::string &tag) {
  return recordAll(std::move(op), {std::move(result)}, tag)[0];
}

uint32_t Tracer::recordEffect(OpRecord op, const std::string &tag) {
  return append(std::move(op), tag);
}

//===- Constants, names, dimensions -----------------------------------------------------===//

static bool holdsInteger(DType type, int64_t number) {
  if (type == DType::i1)
    return number == 0 || number == 1;
  int width = bits(type);
  if (width >= 64)
    return true;
  int64_t limit = int64_t(1) << (width - 1);
  return number >= -limit && number < limit;
}

static bool holds(DType type, const Operand &number) {
  bool isReal = number.kind == Operand::real;
  if (isFloat(type)) {
    double value = isReal ? number.realNumber : static_cast<double>(number.integerNumber);
    if (!std::isfinite(value))
      return bits(type) >= 16;
    return std::abs(value) <= largestFinite(type);
  }
  if (!isReal)
    return holdsInteger(type, number.integerNumber);
  double real = number.realNumber;
  return std::trunc(real) == real && std::abs(real) < 0x1p62 && holdsInteger(type, static_cast<int64_t>(real));
}

static std::string textOf(const Operand &number) {
  if (number.kind == Operand::integer)
    return std::to_string(number.integerNumber);
  std::string text = std::to_string(number.realNumber);
  while (text.find('.') != std::string::npos && text.back() == '0' && text[text.size() - 2] != '.')
    text.pop_back();
  return text;
}

Value frontend::constantTile(const std::shared_ptr<Program> &program, const std::vector<Expr> &dims, ElementType type,
                             const Operand &number, const std::string &tag, const Place &place) {
  Tracer tracer("fill", place, program);
  DType resolved = type.resolve();
  if (!holds(resolved, number)) {
    tracer.error(DiagId::ConstantRange, "the number " + textOf(number) + " is no " + quoted(lang::toString(type)),
                 isInteger(resolved) ? "cast the tile to a float type first, or use an integer" : "use a wider type");
    return tracer.poison();
  }
  OpRecord op{.kind = OpKind::fill};
  if (number.kind == Operand::integer)
    op.constant = number.integerNumber;
  else
    op.constant = number.realNumber;
  return tracer.record(std::move(op), {dims, type}, tag);
}

std::optional<Expr> frontend::applied(const ExprFunction &function, Expr argument) {
  if (!function)
    return std::nullopt;
  try {
    sym::ThrowMistakes scope;
    Expr result = function(argument);
    sym::requireDefined(result);
    return result;
  } catch (const sym::ExprError &) {
    return std::nullopt;
  }
}

bool frontend::isIdentifier(std::string_view text) {
  auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool frontend::hasDim(const std::vector<Expr> &dims, Expr dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

bool frontend::isSubset(const std::vector<Expr> &inner, const std::vector<Expr> &outer) {
  return std::all_of(inner.begin(), inner.end(), [&](Expr dim) { return hasDim(outer, dim); });
}

bool frontend::checkDefined(Program &program, const std::string &what, Expr expr, const Place &place) {
  try {
    sym::requireDefined(expr);
    return true;
  } catch (const sym::ExprError &mistake) {
    report(program, DiagId::ExpressionInvalid, place, what + " is " + quoted(expr) + ": " + mistake.what());
    return false;
  }
}

bool frontend::checkDims(Program &program, DiagId id, const std::string &what, const std::vector<Expr> &dims,
                         const Place &place) {
  for (size_t i = 0; i != dims.size(); ++i) {
    if (!checkDefined(program, "a dimension of " + what, dims[i], place))
      return false;
    if (!dimInfo(dims[i])) {
      report(program, id, place, what + " has the dimension " + quoted(dims[i]) + ", which is no symbol",
             "dimensions are symbols; bind them to numbers in `subs`");
      return false;
    }
    if (std::find(dims.begin(), dims.begin() + i, dims[i]) != dims.begin() + i) {
      report(program, id, place, what + " has the dimension " + quoted(dims[i]) + " twice in " + quoted(toString(dims)),
             "use another symbol with the same size");
      return false;
    }
  }
  return true;
}
