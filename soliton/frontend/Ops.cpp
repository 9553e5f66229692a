//===- Ops.cpp - Memory, matrices, dimensions --------------------------------------===//
//
// Types and checks of the ops that are neither element-wise (Elementwise.cpp) nor along a dimension (Reductions.cpp).
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

#include <algorithm>
#include <numeric>

using namespace soliton;
using namespace soliton::frontend;

//===- Memory -------------------------------------------------------------------------===//

/// A dimension that only a loop distributes has a tile only inside that loop.
static bool checkInsideLoops(Tracer &tracer, const std::vector<Expr> &dims) {
  Program &program = tracer.program();
  for (Expr dim : dims) {
    const TilingConstraint *tiling = program.findFor<TilingConstraint>(dim);
    if (!tiling || program.findFor<WorkgroupConstraint>(dim))
      continue;
    bool inside = false;
    for (RegionId region = program.current; region != 0; region = program.regions[region].parent)
      inside |= program.regions[region].axis == baseOf(dim);
    if (inside)
      continue;
    tracer.error(DiagId::TilingOutsideLoop,
                 "`" + tracer.what() + "` of " + quoted(dim) +
                     " outside a loop over it, but its tiling constraint says that a loop walks it",
                 "move it into `iterate(" + sym::toString(baseOf(dim)) + ", …)`, or remove the tiling constraint",
                 {{tiling->place, "the tiling constraint"}});
    return false;
  }
  return true;
}

/// `bounds` as one entry per dimension of the tile.
static bool resolveBounds(Tracer &tracer, const AccessOptions &options, const std::vector<Expr> &dims, OpRecord &op) {
  if (!options.bounds)
    return true;
  op.bounds.emplace(dims.size());
  for (const auto &[dim, bound] : *options.bounds) {
    auto at = std::find(dims.begin(), dims.end(), dim);
    if (at == dims.end()) {
      tracer.error(DiagId::BoundsDim, "`bounds` has an entry for " + quoted(dim) +
                                          ", but the tile has the dimensions " + quoted(frontend::toString(dims)));
      return false;
    }
    (*op.bounds)[at - dims.begin()] = bound;
  }
  return true;
}

static std::vector<Value> operandsOfAccess(const Value *value, const AccessOptions &options) {
  std::vector<Value> operands;
  if (value)
    operands.push_back(*value);
  operands.insert(operands.end(), options.mapping_dynamic_vals.begin(), options.mapping_dynamic_vals.end());
  const std::vector<IndexEntry> &memorySide = value ? options.target : options.source;
  for (const IndexEntry &entry : memorySide)
    if (entry.value.program())
      operands.push_back(entry.value);
  return operands;
}

/// Whether the expressions of an access are any.
static bool checkExpressions(Tracer &tracer, const AccessOptions &options) {
  auto isDefined = [&](const char *what, Expr expr) {
    return tracer.checkDefined(std::string(what) + " of `" + tracer.what() + "`", expr);
  };
  auto areDefined = [&](const char *what, const DimMap &map) {
    return std::all_of(map.begin(), map.end(), [&](const auto &entry) {
      return isDefined(what, entry.first) && isDefined(what, entry.second);
    });
  };
  auto areIndices = [&](const char *what, const std::vector<IndexEntry> &entries) {
    return std::all_of(entries.begin(), entries.end(), [&](const IndexEntry &e) { return isDefined(what, e.expr); });
  };
  return isDefined("`elements_per_thread`", options.elements_per_thread.value_or(1)) &&
         areDefined("an entry in `bounds`", options.bounds.value_or(DimMap())) &&
         (!options.mapping || (areDefined("an entry in the mapping's inputs", options.mapping->inputs) &&
                               areDefined("an entry in the mapping's outputs", options.mapping->outputs))) &&
         areIndices("an entry in `source`", options.source) && areIndices("an entry in `target`", options.target);
}

/// Whether a kernel made the memory; if not, the mistake is reported to the kernel of the operands.
static bool checkMemory(const MemoryRef &memory, Tracer &tracer) {
  if (!memory.program())
    tracer.error(DiagId::UndefinedValue, "`" + tracer.what() + "` got a memory that no kernel made",
                 "make it with `Kernel::memory`");
  return memory.program() != nullptr;
}

Value lang::read(const MemoryRef &memory, AccessOptions options, Place place) {
  Tracer tracer("read", place, operandsOfAccess(nullptr, options), memory.program());
  if (!checkMemory(memory, tracer) || !tracer.ok() || !checkExpressions(tracer, options))
    return tracer.poison();
  Program &program = tracer.program();
  const Parameter &parameter = program.parameters[memory.id()];
  auto mapping = resolveMapping(program, parameter, options, /*isRead=*/true, place);
  OpRecord op{.kind = OpKind::read, .memory = memory.id(), .elementsPerThread = options.elements_per_thread};
  if (!mapping || !checkInsideLoops(tracer, mapping->dims) || !resolveBounds(tracer, options, mapping->dims, op))
    return tracer.poison();
  op.indices = mapping->indices;
  return tracer.record(std::move(op), {mapping->dims, parameter.type}, options.tag);
}

Value lang::read_at(const MemoryRef &memory, std::vector<Expr> at, OpOptions options, Place place) {
  Tracer tracer("read_at", place, memory.program());
  if (!checkMemory(memory, tracer) || !tracer.ok())
    return tracer.poison();
  for (Expr index : at)
    if (!tracer.checkDefined("the place", index))
      return tracer.poison();
  const Parameter &parameter = tracer.program().parameters[memory.id()];
  if (at.size() != parameter.shape.size()) {
    tracer.error(DiagId::MappingDims,
                 "`read_at` of " + quoted(parameter.name) + " says " + std::to_string(at.size()) +
                     " indices, expected " + std::to_string(parameter.shape.size()) + ", one for each dimension",
                 "", {{parameter.place, quoted(parameter.name) + " is declared here"}});
    return tracer.poison();
  }
  return tracer.record({.kind = OpKind::read, .memory = memory.id(), .indices = std::move(at)}, {{}, parameter.type},
                       options.tag);
}

/// The value with the memory's element type: floats round, anything else that differs is a mistake.
static std::optional<Value> convertForWrite(Tracer &tracer, const Value &value, const Parameter &memory,
                                            const Place &place) {
  ElementType from = tracer.tile(0).type;
  if (from == memory.type)
    return value;
  if (isFloat(from) && isFloat(memory.type))
    return cast(value, memory.type, {}, place);
  tracer.error(DiagId::WriteType,
               "`" + tracer.what() + "` of " + quoted(lang::toString(from)) + " to " + quoted(memory.name) +
                   ", which holds " + quoted(lang::toString(memory.type)),
               "cast the value to " + quoted(lang::toString(memory.type)),
               {{memory.place, quoted(memory.name) + " is declared here"}});
  return std::nullopt;
}

static void reportWriteDims(Tracer &tracer, const Parameter &memory, const std::vector<Expr> &expected) {
  const std::vector<Expr> &dims = tracer.tile(0).dims;
  bool permutation = dims.size() == expected.size() && isSubset(dims, expected);
  std::string target = frontend::toString(expected);
  std::string braces = "{" + target.substr(1, target.size() - 2) + "}";
  std::string hint = permutation                ? "`permute(value, " + braces + ")` first"
                     : isSubset(dims, expected) ? "`broadcast(value, " + braces + ")` first"
                                                : "";
  tracer.error(DiagId::WriteDims,
               "`" + tracer.what() + "` of a tile with the dimensions " + quoted(frontend::toString(dims)) + " to " +
                   quoted(memory.name) + ", expected " + quoted(target),
               hint, {tracer.noteOn(0), {memory.place, quoted(memory.name) + " is declared here"}});
}

namespace {
/// An op that changes a memory, and its value with the memory's element type.
struct Store {
  OpRecord op;
  Value value;
};
} // namespace

/// What `write` and the atomics check.
static std::optional<Store> resolveStore(Tracer &tracer, OpRecord op, const MemoryRef &memory,
                                         const AccessOptions &options, bool isRead, const Place &place) {
  if (!checkMemory(memory, tracer) || !tracer.ok() || !checkExpressions(tracer, options))
    return std::nullopt;
  Program &program = tracer.program();
  Parameter parameter = program.parameters[memory.id()];
  // Places of lanes come with who is there; a tile has all of its elements.
  if (!options.places && !program.lanes.empty() && program.lanes.back().mask.program()) {
    tracer.error(DiagId::SimtLane,
                 quoted(tracer.what()) + " of a whole tile inside of `when`, where only some lanes are",
                 "`store(value, memory[i])` puts what these lanes have");
    return std::nullopt;
  }
  auto mapping = resolveMapping(program, parameter, options, isRead, place);
  if (!mapping)
    return std::nullopt;
  op.memory = memory.id();
  op.firstDynamic = 1;
  op.elementsPerThread = options.elements_per_thread;
  op.indices = mapping->indices;
  if (tracer.tile(0).dims != mapping->dims) {
    reportWriteDims(tracer, parameter, mapping->dims);
    return std::nullopt;
  }
  if (!checkInsideLoops(tracer, mapping->dims) || !resolveBounds(tracer, options, mapping->dims, op))
    return std::nullopt;
  auto converted = convertForWrite(tracer, tracer.operand(0), parameter, place);
  if (!converted)
    return std::nullopt;
  return Store{std::move(op), *converted};
}

/// What a tile of fewer dimensions than the memory means: dimensions that `set_symbol` set have that number, those of
/// which the workgroup has one place have that. Nothing is changed where one is neither.
static Value withMissingDims(const Value &value, const MemoryRef &memory, AccessOptions &options, const Place &place) {
  const Program &program = *memory.program();
  const std::vector<Expr> &dims = program.values[value.id()].tile.dims, &shape = program.parameters[memory.id()].shape;
  std::vector<Expr> whole;
  IndexMapping mapping;
  for (Expr dim : shape) {
    std::optional<Expr> number = hasDim(dims, dim) ? std::nullopt : program.numberOf(dim);
    if (!hasDim(dims, dim) && !number && !program.hasOnePlace(dim))
      return value;
    Expr at = number.value_or(IndexMapping::iterator(static_cast<int>(whole.size())));
    mapping.outputs.emplace_back(dim, at);
    if (number)
      continue;
    mapping.inputs.emplace_back(dim, at);
    whole.push_back(dim);
  }
  std::vector<Expr> kept;
  std::copy_if(whole.begin(), whole.end(), std::back_inserter(kept), [&](Expr dim) { return hasDim(dims, dim); });
  if (kept != dims)
    return value;
  mapping.num_iterators = static_cast<int>(whole.size());
  if (whole.size() != shape.size())
    options.mapping = std::move(mapping);
  return whole == dims ? value : broadcast(value, whole, {}, place);
}

void lang::write(const Value &given, const MemoryRef &memory, AccessOptions options, Place place) {
  bool isKnown = memory.program() && given.program() == memory.program() && !given.isPoisoned();
  bool isPlain = isKnown && !options.mapping && options.source.empty() && options.target.empty();
  Value value = isPlain ? withMissingDims(given, memory, options, place) : given;
  Tracer tracer("write", place, operandsOfAccess(&value, options), memory.program());
  auto store = resolveStore(tracer, {.kind = OpKind::write}, memory, options, /*isRead=*/false, place);
  if (store)
    Tracer("write", place, operandsOfAccess(&store->value, options), memory.program())
        .recordEffect(std::move(store->op), options.tag);
}

/// `kind`: the dialect's word.
static Value atomic(const char *name, std::string_view kind, const Value &value, const MemoryRef &memory,
                    const AccessOptions &options, const Place &place, const Value *expected = nullptr) {
  Tracer tracer(name, place, operandsOfAccess(&value, options), memory.program());
  OpRecord op{.kind = OpKind::atomic, .function = kind};
  // A mapping says where an element is read; `target` where it is written.
  auto store = resolveStore(tracer, std::move(op), memory, options, /*isRead=*/options.target.empty(), place);
  if (!store)
    return tracer.poison();
  const Parameter &parameter = tracer.program().parameters[memory.id()];
  ElementType type = parameter.type;
  bool isWide = type == i32 || type == i64 || type == f32 || type == f64;
  bool isBitwise = kind.starts_with("bit_") || kind == "cas";
  if (!(isWide && !(isBitwise && isFloat(type))) && !(kind == "add" && (type == f16 || type == bf16))) {
    tracer.error(DiagId::AtomicType,
                 "`" + tracer.what() + "` on " + quoted(parameter.name) + ", which holds " +
                     quoted(lang::toString(type)) + ", expected " +
                     (isBitwise       ? "i32 or i64"
                      : kind == "add" ? "i32, i64, f32, f64, f16 or bf16"
                                      : "i32, i64, f32 or f64"),
                 "declare " + quoted(parameter.name) + " with one of these types, and cast the value to it",
                 {{parameter.place, quoted(parameter.name) + " is declared here"}});
    return tracer.poison();
  }
  std::vector<Expr> dims = tracer.tile(0).dims;
  std::vector<Value> operands = operandsOfAccess(&store->value, options);
  if (expected) {
    operands.insert(operands.begin() + 1, *expected);
    store->op.firstDynamic = 2;
  }
  Tracer whole(name, place, std::move(operands), memory.program());
  if (!whole.ok())
    return whole.poison();
  if (expected && whole.tile(1) != whole.tile(0)) {
    whole.error(DiagId::AtomicType,
                quoted(name) + " expects " + quoted(frontend::toString(whole.tile(1))) + " where the value is " +
                    quoted(frontend::toString(whole.tile(0))),
                "give both the memory's type and the same dimensions", {whole.noteOn(0), whole.noteOn(1)});
    return whole.poison();
  }
  return whole.record(std::move(store->op), {dims, type}, options.tag);
}

#define SOLITON_ATOMIC(NAME, KIND)                                                                                     \
  Value lang::NAME(const Value &value, const MemoryRef &memory, AccessOptions options, Place place) {                  \
    return atomic(#NAME, #KIND, value, memory, options, place);                                                        \
  }
SOLITON_ATOMIC(atomic_add, add)
SOLITON_ATOMIC(atomic_min, min)
SOLITON_ATOMIC(atomic_max, max)
SOLITON_ATOMIC(atomic_exchange, exchange)
SOLITON_ATOMIC(atomic_and, bit_and)
SOLITON_ATOMIC(atomic_or, bit_or)
SOLITON_ATOMIC(atomic_xor, bit_xor)
#undef SOLITON_ATOMIC

Value lang::atomic_cas(const Value &expected, const Value &value, const MemoryRef &memory, AccessOptions options,
                       Place place) {
  return atomic("atomic_cas", "cas", value, memory, options, place, &expected);
}

void lang::scatter_add(const Value &values, const Value &indices, Expr dim, const MemoryRef &memory, OpOptions options,
                       Place place) {
  Tracer tracer("scatter_add", place, {values, indices}, memory.program());
  if (!checkMemory(memory, tracer) || !tracer.ok())
    return;
  const std::vector<Expr> &dims = tracer.tile(0).dims, shape = tracer.program().parameters[memory.id()].shape;
  IndexMapping mapping{.num_iterators = static_cast<int>(dims.size())};
  for (size_t k = 0; k != dims.size(); ++k)
    mapping.outputs.emplace_back(dims[k], IndexMapping::iterator(static_cast<int>(k)));
  // A dimension that the values lack is left to the mapping's own checks.
  for (Expr each : shape) {
    auto at = std::find(dims.begin(), dims.end(), each);
    if (each == dim)
      mapping.inputs.emplace_back(each, IndexMapping::dynamic_val(0));
    else if (at != dims.end())
      mapping.inputs.emplace_back(each, IndexMapping::iterator(static_cast<int>(at - dims.begin())));
  }
  if (!hasDim(shape, dim)) {
    const Parameter &parameter = tracer.program().parameters[memory.id()];
    tracer.error(DiagId::MappingDims,
                 "`scatter_add` along " + quoted(dim) + " of " + quoted(parameter.name) +
                     ", which has the dimensions " + quoted(frontend::toString(shape)),
                 "", {{parameter.place, quoted(parameter.name) + " is declared here"}});
    return;
  }
  AccessOptions access{.mapping = std::move(mapping), .mapping_dynamic_vals = {tracer.operand(1)}, .tag = options.tag};
  atomic("scatter_add", "add", tracer.operand(0), memory, access, place);
}

void lang::prefetch(const MemoryRef &memory, AccessOptions options, Place place) {
  Tracer tracer("prefetch", place, operandsOfAccess(nullptr, options), memory.program());
  if (!checkMemory(memory, tracer) || !tracer.ok() || !checkExpressions(tracer, options))
    return;
  Program &program = tracer.program();
  auto mapping = resolveMapping(program, program.parameters[memory.id()], options, /*isRead=*/true, place);
  if (!mapping || !checkInsideLoops(tracer, mapping->dims))
    return;
  // What goes through shared memory, or where data say, has no place of its own to be fetched from.
  if (!mapping->dynamicValues.empty() || program.parameters[memory.id()].isAllocated)
    return;
  OpRecord op{.kind = OpKind::prefetch, .memory = memory.id(), .indices = mapping->indices, .dims = mapping->dims};
  tracer.recordEffect(std::move(op), options.tag);
}

//===- Matrices --------------------------------------------------------------------------===//

/// Which dimension is contracted; reports what does not fit.
static bool checkMmaDims(Tracer &tracer) {
  const std::vector<Expr> &lhs = tracer.tile(0).dims, &rhs = tracer.tile(1).dims, &acc = tracer.tile(2).dims;
  std::vector<Note> notes{tracer.noteOn(0), tracer.noteOn(1), tracer.noteOn(2)};
  auto fail = [&](std::string message, std::string hint = {}) {
    tracer.error(DiagId::MmaShapeMismatch, std::move(message), std::move(hint), notes);
    return false;
  };
  if (acc.size() < 2)
    return fail("the accumulator of `mma` has the dimensions " + quoted(frontend::toString(acc)) +
                ", expected at least two");
  Expr m = acc[acc.size() - 2], n = acc[acc.size() - 1];
  std::vector<Expr> contracted;
  for (Expr dim : lhs)
    if (hasDim(rhs, dim) && !hasDim(acc, dim))
      contracted.push_back(dim);
  if (contracted.size() != 1)
    return fail("`mma` contracts " + quoted(frontend::toString(contracted)) +
                    ", expected exactly one dimension that both operands have and the accumulator lacks",
                "the left operand has rows and K, the right one columns and K");
  for (auto [dims, row, side] : {std::tuple{&lhs, m, "left"}, std::tuple{&rhs, n, "right"}}) {
    if (!hasDim(*dims, row))
      return fail(std::string("the ") + side + " operand of `mma` has the dimensions " +
                      quoted(frontend::toString(*dims)) + ", expected " + quoted(row) + " and " + quoted(contracted[0]),
                  hasDim(*dims, row == m ? n : m) ? "swap the operands" : "");
    for (Expr dim : *dims)
      if (dim != row && dim != contracted[0] && (!hasDim(acc, dim) || dim == m || dim == n))
        return fail(std::string("the ") + side + " operand of `mma` has the dimension " + quoted(dim) +
                    ", which is neither " + quoted(row) + " nor " + quoted(contracted[0]) +
                    " nor a batch of the accumulator");
  }
  return true;
}

/// What no target can do, whatever its tables: integers with floats, and accumulators narrower than the operands.
static bool checkMmaTypes(Tracer &tracer) {
  ElementType lhs = tracer.tile(0).type, rhs = tracer.tile(1).type, acc = tracer.tile(2).type;
  bool floats = isFloat(lhs) && isFloat(rhs) && isFloat(acc);
  bool integers = isInteger(lhs) && isInteger(rhs) && isInteger(acc);
  bool wide = bits(acc.resolve()) >= std::max(bits(lhs.resolve()), bits(rhs.resolve()));
  if ((floats || integers) && wide)
    return true;
  tracer.error(DiagId::MmaOperandTypes,
               "`mma` of " + quoted(lang::toString(lhs)) + " and " + quoted(lang::toString(rhs)) + " into " +
                   quoted(lang::toString(acc)) +
                   (floats || integers ? ", expected a wider accumulator"
                                       : ", expected floats with floats or integers with integers"),
               isInteger(lhs) ? "accumulate in `i32`" : "accumulate in `f32`",
               {tracer.noteOn(0), tracer.noteOn(1), tracer.noteOn(2)});
  return false;
}

/// Whether elements beyond what `set_symbol` made of the dimension are 0 already, because memory was read no further.
static bool isReadUpTo(const Program &program, const Value &value, Expr dim) {
  const ValueInfo &info = program.values[value.id()];
  if (!info.op || program.ops[*info.op].kind != OpKind::read || !program.ops[*info.op].bounds)
    return false;
  for (size_t k = 0; k != info.tile.dims.size(); ++k)
    if (info.tile.dims[k] == dim)
      return (*program.ops[*info.op].bounds)[k] == program.reachOf(dim);
  return false;
}

/// An operand of a product whose elements beyond what `set_symbol` made of the contracted dimension add nothing.
static Value maskedOperand(const Value &value, const Value &other, const Value &acc, const Place &place) {
  const std::shared_ptr<Program> &program = value.program();
  if (!program || other.program() != program || acc.program() != program)
    return value;
  auto dims = [&](const Value &each) -> const std::vector<Expr> & { return program->values[each.id()].tile.dims; };
  Value masked = value;
  for (Expr dim : std::vector<Expr>(dims(value)))
    if (hasDim(dims(other), dim) && !hasDim(dims(acc), dim) && !isReadUpTo(*program, value, dim))
      masked = maskedAlong(masked, dim, {0, place}, place);
  return masked;
}

Value lang::mma(const Value &lhs, const Value &rhs, const Value &acc, MmaOptions options, Place place) {
  Tracer tracer("mma", place, {maskedOperand(lhs, rhs, acc, place), maskedOperand(rhs, lhs, acc, place), acc});
  if (!tracer.ok() || !checkMmaDims(tracer) || !checkMmaTypes(tracer))
    return tracer.poison();
  OpRecord op{.kind = OpKind::mma};
  if (options.mma_type)
    op.mma = options.mma_type->name;
  return tracer.record(std::move(op), tracer.tile(2), options.tag);
}

static constexpr int64_t kScaleBlock = 32;

/// One scale for 32 elements along the contracted dimension of operand `which`, as operand `scale`.
static bool checkScales(Tracer &tracer, size_t which, size_t scale) {
  const TileInfo &operand = tracer.tile(which), &found = tracer.tile(scale);
  const std::vector<Expr> &other = tracer.tile(1 - which).dims, &acc = tracer.tile(2).dims;
  std::vector<Expr> expected = operand.dims;
  for (Expr &dim : expected)
    if (hasDim(other, dim) && !hasDim(acc, dim))
      dim = dim / kScaleBlock;
  const char *side = which == 0 ? "left" : "right";
  if (found.type != f8e8m0fnu) {
    tracer.error(DiagId::ScaleType,
                 std::string("the scales of the ") + side + " operand of `scaled_mma` are " +
                     quoted(lang::toString(found.type)) + ", expected `f8e8m0fnu`",
                 bits(found.type.resolve()) == 8 ? "use `bitcast(scales, f8e8m0fnu)`" : "", {tracer.noteOn(scale)});
    return false;
  }
  if (found.dims.size() == expected.size() && isSubset(found.dims, expected))
    return true;
  tracer.error(DiagId::ScaleDims,
               std::string("the scales of the ") + side + " operand of `scaled_mma` have the dimensions " +
                   quoted(frontend::toString(found.dims)) + ", expected " + quoted(frontend::toString(expected)),
               "there is one scale for 32 elements along the contracted dimension",
               {tracer.noteOn(which), tracer.noteOn(scale)});
  return false;
}

/// Elements that instructions scale: floats of 8 bits or fewer that are no scales themselves.
static bool checkScaledTypes(Tracer &tracer) {
  auto fits = [](ElementType type) { return isFloat(type) && bits(type.resolve()) <= 8 && type != f8e8m0fnu; };
  ElementType lhs = tracer.tile(0).type, rhs = tracer.tile(1).type, acc = tracer.tile(2).type;
  if (fits(lhs) && fits(rhs) && acc == f32)
    return true;
  tracer.error(DiagId::MmaOperandTypes,
               "`scaled_mma` of " + quoted(lang::toString(lhs)) + " and " + quoted(lang::toString(rhs)) + " into " +
                   quoted(lang::toString(acc)) + ", expected floats of 8, 6 or 4 bits into `f32`",
               isInteger(lhs)
                   ? "use `bitcast(a, f4e2m1fn)` for two of them in a byte, `bitcast(a, f6e2m3fn)` for four in three"
                   : "",
               {tracer.noteOn(0), tracer.noteOn(1), tracer.noteOn(2)});
  return false;
}

Value lang::scaled_mma(const Value &lhs, const Value &lhs_scale, const Value &rhs, const Value &rhs_scale,
                       const Value &acc, MmaOptions options, Place place) {
  Tracer tracer("scaled_mma", place, {lhs, rhs, acc, lhs_scale, rhs_scale});
  if (!tracer.ok() || !checkMmaDims(tracer) || !checkScaledTypes(tracer) || !checkScales(tracer, 0, 3) ||
      !checkScales(tracer, 1, 4))
    return tracer.poison();
  for (Expr dim : tracer.tile(0).dims)
    if (hasDim(tracer.tile(1).dims, dim) && !hasDim(tracer.tile(2).dims, dim) && tracer.program().reachOf(dim)) {
      tracer.error(DiagId::SetSymbol, "`scaled_mma` goes along a dimension that `set_symbol` has set",
                   "set a symbol that is no dimension, and say what counts with `bounds` or `count`");
      return tracer.poison();
    }
  OpRecord op{.kind = OpKind::mma};
  if (options.mma_type)
    op.mma = options.mma_type->name;
  return tracer.record(std::move(op), tracer.tile(2), options.tag);
}

//===- Types and dimensions -------------------------------------------------------------------===//

Value lang::cast(const Value &value, ElementType type, OpOptions options, Place place) {
  Tracer tracer("cast", place, {value});
  if (!tracer.ok())
    return tracer.poison();
  const TileInfo &tile = tracer.tile(0);
  if (tile.type == type)
    return value;
  if (type == i1 && isFloat(tile.type)) {
    tracer.error(DiagId::CastImpossible, "`cast` from " + quoted(lang::toString(tile.type)) + " to `i1`",
                 "compare instead, e.g. `x != 0.0`", {tracer.noteOn(0)});
    return tracer.poison();
  }
  for (ElementType side : {tile.type, type})
    if (side == f4e2m1fn || side == f6e2m3fn || side == f6e3m2fn || side == f8e8m0fnu) {
      tracer.error(DiagId::CastImpossible,
                   "`cast` from " + quoted(lang::toString(tile.type)) + " to " + quoted(lang::toString(type)) + "; " +
                       quoted(lang::toString(side)) +
                       " exists only in memory and as an operand of scaled matrix instructions");
      return tracer.poison();
    }
  return tracer.record({.kind = OpKind::cast}, {tile.dims, type}, options.tag);
}

/// The dimensions of the same bits in elements of another type: of wider ones the last counts groups.
static std::optional<std::vector<Expr>> regrouped(const TileInfo &tile, ElementType type) {
  int64_t from = bits(tile.type.resolve()), to = bits(type.resolve());
  if (std::max(from, to) % 8 != 0)
    return std::nullopt;
  if (from == to)
    return tile.dims;
  std::optional<DimInfo> last = tile.dims.empty() ? std::nullopt : dimInfo(tile.dims.back());
  if (!last)
    return std::nullopt;
  last->places *= from;
  last->divisor *= to;
  int64_t common = std::gcd(last->places, last->divisor);
  last->places /= common;
  last->divisor /= common;
  // A dimension of more places than its base has elements has no name.
  if (last->places >= last->divisor && last->divisor * last->places != 1)
    return std::nullopt;
  std::vector<Expr> dims = tile.dims;
  dims.back() = last->expr();
  return hasDim(tile.dims, dims.back()) ? std::nullopt : std::optional(dims);
}

Value lang::bitcast(const Value &value, ElementType type, OpOptions options, Place place) {
  Tracer tracer("bitcast", place, {value});
  if (!tracer.ok())
    return tracer.poison();
  const TileInfo &tile = tracer.tile(0);
  if (tile.type == type)
    return value;
  if (std::optional<std::vector<Expr>> dims = regrouped(tile, type))
    return tracer.record({.kind = OpKind::bitcast}, {*dims, type}, options.tag);
  auto widthOf = [](ElementType each) {
    return quoted(lang::toString(each)) + " of " + std::to_string(bits(each.resolve())) + " bits";
  };
  tracer.error(
      DiagId::CastImpossible,
      "`bitcast` from " + widthOf(tile.type) + " in " + quoted(frontend::toString(tile.dims)) + " to " + widthOf(type) +
          ", expected types of the same number of whole bytes, or others of which the wider has whole bytes, and "
          "a last dimension that can be counted in them",
      "use `cast` to convert numbers; two `f4e2m1fn` in a byte are an `i8` in `[M, K/2]`, four `f6e2m3fn` in "
      "three bytes `i8` in `[M, 3*K/4]`",
      {tracer.noteOn(0)});
  return tracer.poison();
}

Value lang::broadcast(const Value &value, std::vector<Expr> dims, OpOptions options, Place place) {
  Tracer tracer("broadcast", place, {value});
  if (!tracer.ok() || !checkDims(tracer.program(), DiagId::BroadcastDims, "the result of `broadcast`", dims, place))
    return tracer.poison();
  const TileInfo &tile = tracer.tile(0);
  if (!isSubset(tile.dims, dims)) {
    tracer.error(DiagId::BroadcastDims,
                 "`broadcast` from " + quoted(frontend::toString(tile.dims)) + " to " +
                     quoted(frontend::toString(dims)) + ", which lacks dimensions of the tile",
                 "name every dimension of the tile", {tracer.noteOn(0)});
    return tracer.poison();
  }
  return tracer.record({.kind = OpKind::broadcast}, {std::move(dims), tile.type}, options.tag);
}

Value lang::permute(const Value &value, std::vector<Expr> dims, OpOptions options, Place place) {
  Tracer tracer("permute", place, {value});
  if (!tracer.ok() || !checkDims(tracer.program(), DiagId::PermuteDims, "the result of `permute`", dims, place))
    return tracer.poison();
  const TileInfo &tile = tracer.tile(0);
  if (tile.dims.size() != dims.size() || !isSubset(tile.dims, dims)) {
    tracer.error(DiagId::PermuteDims,
                 "`permute` from " + quoted(frontend::toString(tile.dims)) + " to " + quoted(frontend::toString(dims)) +
                     ", expected the same dimensions in another order",
                 isSubset(tile.dims, dims) ? "use `broadcast` to add dimensions" : "", {tracer.noteOn(0)});
    return tracer.poison();
  }
  return tracer.record({.kind = OpKind::permute}, {std::move(dims), tile.type}, options.tag);
}

/// Whether the expression holds or does not: a comparison, or several of them.
static bool isPredicate(Expr expr) {
  using sym::Kind;
  constexpr Kind kinds[] = {Kind::lt,         Kind::le,        Kind::eq,        Kind::ne,
                            Kind::logicalAnd, Kind::logicalOr, Kind::logicalNot};
  return std::find(std::begin(kinds), std::end(kinds), expr.kind()) != std::end(kinds);
}

Value lang::apply_expr(const Value &value, const ExprFunction &function, OpOptions options, Place place) {
  return apply_expr(
      std::vector<Value>{value}, [&](const std::vector<Expr> &arguments) { return function(arguments[0]); },
      std::move(options), std::move(place));
}

Value lang::apply_expr(const std::vector<Value> &values, const std::function<Expr(const std::vector<Expr> &)> &function,
                       OpOptions options, Place place) {
  Tracer tracer("apply_expr", place, values);
  if (!tracer.ok())
    return tracer.poison();
  std::vector<Expr> arguments;
  for (size_t k = 0; k != values.size(); ++k) {
    arguments.push_back(Expr::symbol("$APPLY_EXPR_ARG_" + std::to_string(k)));
    const TileInfo &tile = tracer.tile(k);
    if (isInteger(tile.type) && isSubset(tile.dims, tracer.tile(0).dims))
      continue;
    tracer.error(DiagId::ApplyExprType,
                 "operand " + std::to_string(k) + " of `apply_expr` is " + quoted(frontend::toString(tile)) +
                     ", expected integers with dimensions among the first one's, " +
                     quoted(frontend::toString(tracer.tile(0).dims)),
                 isFloat(tile.type) ? "cast it to `i32`" : "", {tracer.noteOn(k)});
    return tracer.poison();
  }
  try {
    sym::ThrowMistakes scope;
    Expr result = function(arguments);
    sym::requireDefined(result);
    ElementType type = isPredicate(result) ? i1 : tracer.tile(0).type;
    return tracer.record({.kind = OpKind::applyExpr, .expr = result}, {tracer.tile(0).dims, type}, options.tag);
  } catch (const sym::ExprError &error) {
    tracer.error(DiagId::ExpressionInvalid, std::string("the expression of `apply_expr` is wrong: ") + error.what());
    return tracer.poison();
  }
}

//===- Annotations --------------------------------------------------------------------------------===//

Value lang::tag(const Value &value, std::string_view name) {
  if (!value.isPoisoned() && !name.empty())
    if (auto op = value.program()->values[value.id()].op)
      value.program()->ops[*op].tags.emplace_back(name);
  return value;
}

Value lang::named(const Value &value, std::string_view name) {
  if (value.program())
    value.program()->values[value.id()].name = name;
  return value;
}
