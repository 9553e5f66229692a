//===- Builder.cpp - Values, tables and control flow of the builder -------===//
//
// The pure part of Builder.h: slots, constants, arithmetic, vectors, variables, loops and conditions.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Builder.h"

#include "soliton/support/Float.h"

#include <algorithm>

namespace soliton::emu {

Fragment fragment(uint32_t registers, uint32_t waveSize, const std::function<uint32_t(uint32_t, uint32_t)> &element) {
  Fragment result{registers, {}};
  result.element.reserve(size_t(registers) * waveSize);
  for (uint32_t reg = 0; reg < registers; ++reg)
    for (uint32_t lane = 0; lane < waveSize; ++lane)
      result.element.push_back(element(reg, lane));
  return result;
}

MatrixKind matrixRows8x8(uint32_t matrices, bool transposed) {
  MatrixKind kind{.name = "rows8x8.x" + std::to_string(matrices) + (transposed ? ".trans" : ""),
                  .elementBits = 16,
                  .rowBytes = 16,
                  .registers = 2 * matrices,
                  .row = {},
                  .column = {}};
  for (uint32_t reg = 0; reg < kind.registers; ++reg)
    for (uint32_t lane = 0; lane < 32; ++lane) {
      uint32_t major = lane / 4, minor = 2 * (lane % 4) + reg % 2;
      kind.row.push_back(static_cast<uint8_t>(8 * (reg / 2) + (transposed ? minor : major)));
      kind.column.push_back(static_cast<uint8_t>(transposed ? major : minor));
    }
  return kind;
}

MatrixKind transposedRead(uint32_t elementBits, uint32_t waveSize) {
  uint32_t registers = 64 / elementBits;
  uint32_t lanesPerElement = 16 / registers;
  MatrixKind kind{.name = "transposed.b" + std::to_string(elementBits),
                  .elementBits = elementBits,
                  .rowBytes = 8,
                  .registers = registers,
                  .row = {},
                  .column = {}};
  for (uint32_t reg = 0; reg < registers; ++reg)
    for (uint32_t lane = 0; lane < waveSize; ++lane) {
      uint32_t inGroup = lane % 16;
      kind.row.push_back(static_cast<uint8_t>(lane - inGroup + lanesPerElement * reg + inGroup / registers));
      kind.column.push_back(static_cast<uint8_t>(inGroup % registers));
    }
  return kind;
}

Builder::Builder(BuilderOptions options) {
  program.name = std::move(options.name);
  program.waveSize = options.waveSize;
  program.waves = options.waves;
  program.sharedBytes = options.sharedBytes;
  program.cluster = options.cluster;
  program.dependent = options.dependent;
  program.rules = options.rules;
  program.occupancy = options.occupancy;
  program.places.push_back({});
}

void Builder::at(const Place &where, std::string what) {
  std::string key = where.file + ':' + std::to_string(where.line) + ':' + std::to_string(where.column) + ':' + what;
  auto [found, isNew] = placeIndex.try_emplace(std::move(key), static_cast<uint32_t>(program.places.size()));
  if (isNew)
    program.places.push_back({where, std::move(what)});
  place = found->second;
}

// --- Arguments and tables.

uint32_t Builder::buffer(std::string name, bool stable) {
  if (stable)
    program.stable.push_back(program.numBuffers);
  program.regions.push_back({std::move(name), false, program.numBuffers++, 0, 0});
  return static_cast<uint32_t>(program.regions.size() - 1);
}

uint32_t Builder::shared(std::string name, uint32_t offset, uint32_t bytes) {
  if (uint64_t(offset) + bytes > program.sharedBytes)
    throw ProgramError("shared region `" + name + "` ends at byte " + std::to_string(uint64_t(offset) + bytes) +
                       " of a block of " + std::to_string(program.sharedBytes));
  program.regions.push_back({std::move(name), true, 0, offset, bytes});
  return static_cast<uint32_t>(program.regions.size() - 1);
}

Value Builder::scalar(DType type) {
  Value result = make(type, 1, true);
  Instr &instr = emit(Op::Arg);
  instr.dst = result.slot;
  instr.imm = static_cast<int64_t>(program.scalars.size());
  program.scalars.push_back(type);
  return result;
}

template <typename T>
static uint32_t internIn(std::vector<T> &table, T entry) {
  auto found = std::find(table.begin(), table.end(), entry);
  if (found != table.end())
    return static_cast<uint32_t>(found - table.begin());
  table.push_back(std::move(entry));
  return static_cast<uint32_t>(table.size() - 1);
}

uint32_t Builder::mmaKind(MmaKind kind) {
  return internIn(program.mmaKinds, std::move(kind));
}
uint32_t Builder::matrixKind(MatrixKind kind) {
  return internIn(program.matrixKinds, std::move(kind));
}
uint32_t Builder::tensorMap(TensorMap map) {
  return internIn(program.maps, std::move(map));
}

// --- Slots and instructions.

Value Builder::make(DType type, uint32_t count, bool uniform) {
  if (type == DType::index)
    type = DType::i64;
  program.slots.push_back({type, count, uniform});
  return {static_cast<Slot>(program.slots.size() - 1)};
}

Instr &Builder::emit(Op op) {
  Instr &instr = program.code.emplace_back();
  instr.op = op;
  instr.place = place;
  return instr;
}

uint32_t Builder::poolOf(const std::vector<uint32_t> &words) {
  uint32_t start = static_cast<uint32_t>(program.pool.size());
  program.pool.insert(program.pool.end(), words.begin(), words.end());
  return start;
}

const SlotInfo &Builder::info(Value value) const {
  if (value.slot >= program.slots.size())
    throw ProgramError("an operand is absent");
  return program.slots[value.slot];
}

void Builder::requireUniform(Value value, const char *what) const {
  if (!info(value).uniform)
    throw ProgramError(std::string(what) + " has to be uniform");
}

void Builder::requireSame(Value a, Value b, std::string_view what) const {
  if (info(a).type != info(b).type || info(a).count != info(b).count)
    throw ProgramError(std::string(what) + ": operands have types " + std::string(soliton::name(type(a))) + " x " +
                       std::to_string(count(a)) + " and " + std::string(soliton::name(type(b))) + " x " +
                       std::to_string(count(b)));
}

void Builder::requireMask(Value mask, const char *what) const {
  if (mask && (type(mask) != DType::i1 || count(mask) != 1))
    throw ProgramError(std::string(what) + ": a condition has to be one i1");
}

// --- Values.

Value Builder::constantBits(DType type, const std::vector<uint64_t> &bits) {
  Value result = make(type, static_cast<uint32_t>(bits.size()), true);
  std::vector<uint32_t> words;
  bool allSame = std::all_of(bits.begin(), bits.end(), [&](uint64_t b) { return b == bits.front(); });
  for (size_t i = 0, e = allSame ? std::min<size_t>(1, bits.size()) : bits.size(); i != e; ++i) {
    words.push_back(static_cast<uint32_t>(bits[i]));
    words.push_back(static_cast<uint32_t>(bits[i] >> 32));
  }
  uint32_t start = poolOf(words);
  Instr &instr = emit(Op::Const);
  instr.dst = result.slot;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(words.size());
  return result;
}

Value Builder::constant(DType type, int64_t value, uint32_t count) {
  if (isFloat(type))
    return constantFloat(type, static_cast<double>(value), count);
  int width = type == DType::index ? 64 : bits(type);
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  return constantBits(type, std::vector<uint64_t>(count, static_cast<uint64_t>(value) & mask));
}

Value Builder::constantFloat(DType type, double value, uint32_t count) {
  return constantBits(type, std::vector<uint64_t>(count, encode(type, value)));
}

Value Builder::id(IdKind kind) {
  Value result = make(DType::i32, 1, kind != IdKind::Lane);
  Instr &instr = emit(Op::Id);
  instr.sub = static_cast<uint8_t>(kind);
  instr.dst = result.slot;
  return result;
}

Value Builder::binary(BinaryOp op, Value a, Value b) {
  requireSame(a, b, name(op));
  Value result = make(type(a), count(a), isUniform(a) && isUniform(b));
  Instr &instr = emit(Op::Binary);
  instr.sub = static_cast<uint8_t>(op);
  instr.dst = result.slot;
  instr.src = {a.slot, b.slot, kNoSlot, kNoSlot};
  return result;
}

Value Builder::unary(UnaryOp op, Value a) {
  Value result = make(type(a), count(a), isUniform(a));
  Instr &instr = emit(Op::Unary);
  instr.sub = static_cast<uint8_t>(op);
  instr.dst = result.slot;
  instr.src[0] = a.slot;
  return result;
}

Value Builder::fma(Value a, Value b, Value c) {
  requireSame(a, b, "fma");
  requireSame(a, c, "fma");
  Value result = make(type(a), count(a), isUniform(a) && isUniform(b) && isUniform(c));
  Instr &instr = emit(Op::Fma);
  instr.dst = result.slot;
  instr.src = {a.slot, b.slot, c.slot, kNoSlot};
  return result;
}

Value Builder::cmp(CmpOp op, Value a, Value b) {
  requireSame(a, b, name(op));
  Value result = make(DType::i1, count(a), isUniform(a) && isUniform(b));
  Instr &instr = emit(Op::Cmp);
  instr.sub = static_cast<uint8_t>(op);
  instr.dst = result.slot;
  instr.src = {a.slot, b.slot, kNoSlot, kNoSlot};
  return result;
}

Value Builder::select(Value condition, Value a, Value b) {
  requireSame(a, b, "select");
  Value result = make(type(a), count(a), isUniform(condition) && isUniform(a) && isUniform(b));
  Instr &instr = emit(Op::Select);
  instr.dst = result.slot;
  instr.src = {condition.slot, a.slot, b.slot, kNoSlot};
  return result;
}

Value Builder::convert(ConvertOp op, DType to, Value a, Rounding rounding, bool saturate) {
  Value result = make(to, count(a), isUniform(a));
  Instr &instr = emit(Op::Convert);
  instr.sub = static_cast<uint8_t>(op);
  instr.flags = static_cast<uint8_t>(static_cast<uint8_t>(rounding) | (saturate ? kSaturate : 0));
  instr.dst = result.slot;
  instr.src[0] = a.slot;
  return result;
}

Value Builder::bitcast(DType to, Value a) {
  uint64_t total = uint64_t(bits(type(a))) * count(a);
  if (total % uint64_t(bits(to)) != 0)
    throw ProgramError("bitcast of " + std::to_string(total) + " bits to " + std::string(soliton::name(to)));
  Value result = make(to, static_cast<uint32_t>(total / uint64_t(bits(to))), isUniform(a));
  Instr &instr = emit(Op::Bitcast);
  instr.dst = result.slot;
  instr.src[0] = a.slot;
  return result;
}

// --- Vectors.

Value Builder::splat(Value a, uint32_t count) {
  Value result = make(type(a), count, isUniform(a));
  Instr &instr = emit(Op::Splat);
  instr.dst = result.slot;
  instr.src[0] = a.slot;
  return result;
}

Value Builder::slice(Value a, uint32_t first, uint32_t length) {
  Value result = make(type(a), length, isUniform(a));
  Instr &instr = emit(Op::Slice);
  instr.dst = result.slot;
  instr.src[0] = a.slot;
  instr.imm = first;
  return result;
}

Value Builder::insert(Value part, Value into, uint32_t position) {
  Value result = make(type(into), count(into), isUniform(part) && isUniform(into));
  Instr &instr = emit(Op::Insert);
  instr.dst = result.slot;
  instr.src = {into.slot, part.slot, kNoSlot, kNoSlot};
  instr.imm = position;
  return result;
}

Value Builder::concat(const std::vector<Value> &parts) {
  if (parts.empty())
    throw ProgramError("concat of nothing");
  uint32_t total = 0;
  bool uniform = true;
  std::vector<uint32_t> words;
  for (Value part : parts) {
    total += count(part);
    uniform &= isUniform(part);
    words.push_back(part.slot);
  }
  Value result = make(type(parts.front()), total, uniform);
  uint32_t start = poolOf(words);
  Instr &instr = emit(Op::Concat);
  instr.dst = result.slot;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(words.size());
  return result;
}

Value Builder::permute(Value a, Value b, const std::vector<uint32_t> &positions) {
  Value result = make(type(a), static_cast<uint32_t>(positions.size()), isUniform(a) && (!b || isUniform(b)));
  uint32_t start = poolOf(positions);
  Instr &instr = emit(Op::Permute);
  instr.dst = result.slot;
  instr.src = {a.slot, b.slot, kNoSlot, kNoSlot};
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(positions.size());
  return result;
}

Value Builder::variable(DType type, uint32_t count, bool uniform) {
  return make(type, count, uniform);
}

void Builder::assign(Value variable, Value value) {
  requireSame(variable, value, "assign");
  if (isUniform(variable) && !isUniform(value))
    throw ProgramError("a value that differs between lanes is assigned to a uniform variable");
  if (isUniform(variable))
    for (const Nest &scope : scopes)
      if (scope.kind == Nest::Masked && variable.slot < scope.firstSlot)
        throw ProgramError("a uniform variable is assigned under a condition that differs between lanes");
  Instr &instr = emit(Op::Move);
  instr.dst = variable.slot;
  instr.src[0] = value.slot;
}

Value Builder::asUniform(Value value) {
  if (isUniform(value))
    return value;
  Value result = firstLane(value);
  program.code.back().flags |= kAssertEqual;
  return result;
}

// --- Control flow.

Loop Builder::beginFor(Value lower, Value upper, Value step, const std::vector<Value> &inits,
                       const std::vector<bool> &uniform) {
  lower = asUniform(lower);
  upper = asUniform(upper);
  step = asUniform(step);
  requireSame(lower, upper, "for");
  requireSame(lower, step, "for");
  Loop loop;
  for (size_t i = 0; i < inits.size(); ++i) {
    Value carried = variable(type(inits[i]), count(inits[i]), i < uniform.size() && uniform[i]);
    assign(carried, inits[i]);
    loop.carried.push_back(carried);
  }
  loop.induction = make(type(lower), 1, true);
  loop.begin = program.code.size();
  Instr &instr = emit(Op::ForBegin);
  instr.dst = loop.induction.slot;
  instr.src = {lower.slot, upper.slot, step.slot, kNoSlot};
  return loop;
}

void Builder::endFor(Loop &loop, const std::vector<Value> &yields) {
  if (yields.size() != loop.carried.size())
    throw ProgramError("a loop of " + std::to_string(loop.carried.size()) + " carried values yields " +
                       std::to_string(yields.size()));
  // The assignments happen at once: a yielded carried value must be read before any of them is written.
  std::vector<Value> sources = yields;
  for (size_t i = 0; i < sources.size(); ++i) {
    bool isCarried = std::find(loop.carried.begin(), loop.carried.end(), yields[i]) != loop.carried.end();
    if (!isCarried || yields[i] == loop.carried[i])
      continue;
    sources[i] = variable(type(yields[i]), count(yields[i]), isUniform(yields[i]));
    assign(sources[i], yields[i]);
  }
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i] != loop.carried[i])
      assign(loop.carried[i], sources[i]);
  std::array<Slot, 4> bounds = program.code[loop.begin].src;
  Instr &instr = emit(Op::ForNext);
  instr.dst = loop.induction.slot;
  instr.src = {bounds[0], bounds[1], bounds[2], kNoSlot};
  instr.index = static_cast<uint32_t>(loop.begin + 1);
  program.code[loop.begin].index = here();
}

void Builder::beginIf(Value condition) {
  requireMask(condition, "if");
  bool uniform = isUniform(condition);
  scopes.push_back(
      {uniform ? Nest::Jumped : Nest::Masked, program.code.size(), {}, static_cast<Slot>(program.slots.size())});
  emit(uniform ? Op::JumpIfZero : Op::MaskPush).src[0] = condition.slot;
}

void Builder::beginElse() {
  if (scopes.empty() || scopes.back().kind == Nest::Endless)
    throw ProgramError("else without if");
  Nest &scope = scopes.back();
  size_t branch = program.code.size();
  emit(scope.kind == Nest::Jumped ? Op::Jump : Op::MaskElse);
  program.code[scope.branch].index = static_cast<uint32_t>(scope.kind == Nest::Jumped ? branch + 1 : branch);
  scope.branch = branch;
}

void Builder::endIf() {
  if (scopes.empty() || scopes.back().kind == Nest::Endless)
    throw ProgramError("end of an if that was not begun");
  Nest scope = scopes.back();
  scopes.pop_back();
  program.code[scope.branch].index = here();
  if (scope.kind == Nest::Masked)
    emit(Op::MaskPop);
}

void Builder::beginLoop() {
  scopes.push_back({Nest::Endless, program.code.size(), {}, static_cast<Slot>(program.slots.size())});
}

void Builder::breakUnless(Value condition) {
  requireMask(condition, "break");
  condition = asUniform(condition);
  auto loop = std::find_if(scopes.rbegin(), scopes.rend(), [](const Nest &s) { return s.kind != Nest::Jumped; });
  if (loop == scopes.rend() || loop->kind != Nest::Endless)
    throw ProgramError("break outside of a loop, or under a condition that differs between lanes");
  loop->leaves.push_back(program.code.size());
  emit(Op::JumpIfZero).src[0] = condition.slot;
}

void Builder::endLoop() {
  if (scopes.empty() || scopes.back().kind != Nest::Endless)
    throw ProgramError("end of a loop that was not begun");
  Nest scope = scopes.back();
  scopes.pop_back();
  emit(Op::Jump).index = static_cast<uint32_t>(scope.branch);
  for (size_t leave : scope.leaves)
    program.code[leave].index = here();
}

void Builder::end() {
  emit(Op::End);
}

Program Builder::finish() {
  if (!scopes.empty())
    throw ProgramError("an if or loop is not ended");
  end();
  std::string problem = validate(program);
  if (!problem.empty())
    throw ProgramError(problem);
  return std::move(program);
}

} // namespace soliton::emu
