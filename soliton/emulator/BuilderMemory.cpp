//===- BuilderMemory.cpp - Memory, matrices, time and lanes of the builder ===//
//
// The part of Builder.h that touches something outside a wave's own slots.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Builder.h"

#include <algorithm>
#include <utility>

namespace soliton::emu {

uint32_t Builder::address(const At &at) {
  if (at.region >= program.regions.size())
    throw ProgramError("region " + std::to_string(at.region) + " does not exist");
  for (Value uniform : {at.uniform, at.base, at.limit})
    if (uniform)
      requireUniform(uniform, "an address part");
  Address entry{at.region, at.lane.slot, at.uniform.slot, at.base.slot, at.limit.slot, at.immediate};
  program.addresses.push_back(entry);
  return static_cast<uint32_t>(program.addresses.size() - 1);
}

// --- Memory.

Value Builder::load(DType type, uint32_t count, const At &at, const Masked &masked) {
  requireMask(masked.mask, "load");
  uint32_t where = address(at);
  // A uniform address without a lane part still gives one value per lane: the result is uniform only if nothing varies.
  bool uniform = (!at.lane || isUniform(at.lane)) && (!masked.mask || isUniform(masked.mask)) &&
                 (!masked.fill || isUniform(masked.fill));
  Value result = make(type, count, uniform);
  Instr &instr = emit(Op::Load);
  instr.dst = result.slot;
  instr.src = {masked.mask.slot, masked.fill.slot, kNoSlot, kNoSlot};
  instr.imm = masked.workgroup ? int64_t(*masked.workgroup) + 1 : 0;
  instr.index = where;
  instr.flags = masked.clamp ? kClamp : 0;
  instr.order = masked.order;
  instr.scope = masked.scope;
  return result;
}

void Builder::store(Value value, const At &at, const Masked &masked) {
  requireMask(masked.mask, "store");
  uint32_t where = address(at);
  Instr &instr = emit(Op::Store);
  instr.src = {masked.mask.slot, value.slot, kNoSlot, kNoSlot};
  instr.index = where;
  instr.flags = masked.clamp ? kClamp : 0;
  instr.order = masked.order;
  instr.scope = masked.scope;
}

Value Builder::atomic(AtomicOp op, Value value, const At &at, const Masked &masked, bool wantOld) {
  requireMask(masked.mask, "atomic");
  uint32_t where = address(at);
  Value old = wantOld ? make(type(value), count(value), false) : Value{};
  Instr &instr = emit(Op::Atomic);
  instr.sub = static_cast<uint8_t>(op);
  instr.dst = old.slot;
  instr.src = {masked.mask.slot, value.slot, kNoSlot, kNoSlot};
  instr.index = where;
  instr.flags = masked.clamp ? kClamp : 0;
  instr.order = masked.order == Order::Plain ? Order::Relaxed : masked.order;
  instr.scope = masked.scope;
  return old;
}

Value Builder::compareSwap(Value value, Value expected, const At &at, const Masked &masked) {
  Value old = atomic(AtomicOp::CompareSwap, value, at, masked, /*wantOld=*/true);
  program.code.back().src[2] = expected.slot;
  return old;
}

void Builder::copyAsync(uint32_t bytes, const At &from, const At &to, CounterKind counter, bool laneOrder, Value mask,
                        bool zeroFill, bool clamp) {
  requireMask(mask, "copy_async");
  uint32_t source = address(from), target = address(to);
  Instr &instr = emit(Op::CopyAsync);
  instr.sub = static_cast<uint8_t>(counter);
  instr.flags = static_cast<uint8_t>((zeroFill ? kZeroFill : 0) | (laneOrder ? kLaneOrder : 0) | (clamp ? kClamp : 0));
  instr.src[0] = mask.slot;
  instr.imm = bytes;
  instr.index = source;
  instr.index2 = target;
}

static std::vector<uint32_t> slotsOf(const std::vector<Value> &values) {
  std::vector<uint32_t> slots;
  for (Value value : values)
    slots.push_back(value.slot);
  return slots;
}

void Builder::copyTileLoad(uint32_t map, const std::vector<Value> &coordinates, const At &tile, const At &mbarrier,
                           Value multicast, const std::vector<Value> &offsets) {
  std::vector<uint32_t> places = slotsOf(coordinates), further = slotsOf(offsets);
  places.insert(places.end(), further.begin(), further.end());
  uint32_t target = address(tile), barrier = address(mbarrier), start = poolOf(places);
  Instr &instr = emit(Op::CopyTile);
  instr.sub = static_cast<uint8_t>(TileOp::Load);
  instr.src[0] = multicast.slot;
  instr.imm = map;
  instr.index = target;
  instr.index2 = barrier;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(places.size());
}

void Builder::copyTileStore(uint32_t map, const std::vector<Value> &coordinates, const At &tile, bool add) {
  uint32_t source = address(tile), start = poolOf(slotsOf(coordinates));
  Instr &instr = emit(Op::CopyTile);
  instr.sub = static_cast<uint8_t>(add ? TileOp::Add : TileOp::Store);
  instr.imm = map;
  instr.index = source;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(coordinates.size());
}

Value Builder::loadMatrix(uint32_t kind, DType type, const At &rows) {
  if (kind >= program.matrixKinds.size())
    throw ProgramError("matrix kind " + std::to_string(kind) + " does not exist");
  uint32_t where = address(rows);
  Value result = make(type, program.matrixKinds[kind].registers, false);
  Instr &instr = emit(Op::LoadMatrix);
  instr.dst = result.slot;
  instr.imm = kind;
  instr.index = where;
  return result;
}

void Builder::storeMatrix(uint32_t kind, Value value, const At &rows) {
  uint32_t where = address(rows);
  Instr &instr = emit(Op::StoreMatrix);
  instr.src[1] = value.slot;
  instr.imm = kind;
  instr.index = where;
}

// --- Matrices.

Value Builder::mma(uint32_t kind, Value a, Value b, Value acc, Value scaleA, Value scaleB) {
  Value result = make(type(acc), count(acc), false);
  uint32_t start = scaleA ? poolOf({scaleA.slot, scaleB.slot}) : 0;
  Instr &instr = emit(Op::Mma);
  instr.dst = result.slot;
  instr.src = {a.slot, b.slot, acc.slot, kNoSlot};
  instr.imm = kind;
  instr.pool = start;
  instr.poolCount = scaleA ? 2 : 0;
  return result;
}

uint32_t Builder::sharedTile(const At &start, uint32_t leadingBytes, uint32_t strideBytes, uint32_t swizzle,
                             bool kMajor) {
  program.tiles.push_back({address(start), leadingBytes, strideBytes, swizzle, kMajor});
  return static_cast<uint32_t>(program.tiles.size() - 1);
}

Value Builder::mmaAsync(uint32_t kind, Value a, std::optional<uint32_t> tileA, uint32_t tileB, Value acc,
                        Value useAcc) {
  Value result = make(type(acc), count(acc), false);
  Instr &instr = emit(Op::MmaAsync);
  instr.dst = result.slot;
  instr.src = {a.slot, kNoSlot, acc.slot, useAcc.slot};
  instr.imm = kind;
  instr.index = tileA.value_or(0);
  instr.index2 = tileB;
  return result;
}

// --- Time.

void Builder::commit(CounterKind counter) {
  emit(Op::Commit).sub = static_cast<uint8_t>(counter);
}

std::vector<Value> Builder::wait(CounterKind counter, uint32_t pending, const std::vector<Value> &values) {
  std::vector<Value> ready;
  std::vector<uint32_t> pairs;
  for (Value value : values) {
    ready.push_back(make(type(value), count(value), isUniform(value)));
    pairs.push_back(value.slot);
    pairs.push_back(ready.back().slot);
  }
  uint32_t start = poolOf(pairs);
  Instr &instr = emit(Op::Wait);
  instr.sub = static_cast<uint8_t>(counter);
  instr.imm = pending;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(pairs.size());
  return ready;
}

void Builder::waitRead(uint32_t pending) {
  wait(CounterKind::bulk, pending);
  program.code.back().flags = kReadOnly;
}

void Builder::mbarrierInit(const At &at, uint32_t arrivals) {
  uint32_t where = address(at);
  Instr &instr = emit(Op::MbarrierInit);
  instr.index = where;
  instr.imm = arrivals;
}

void Builder::mbarrierArrive(const At &at, uint32_t arrivals, bool perLane, Value rank) {
  uint32_t where = address(at);
  Instr &instr = emit(Op::MbarrierArrive);
  instr.index = where;
  instr.imm = arrivals;
  instr.src[1] = rank.slot;
  instr.flags = perLane ? kPerLane : 0;
}

void Builder::mbarrierExpect(const At &at, uint32_t bytes, bool arrive, bool perLane, Value rank) {
  uint32_t where = address(at);
  Instr &instr = emit(Op::MbarrierExpect);
  instr.index = where;
  instr.imm = bytes;
  instr.src[1] = rank.slot;
  instr.flags = static_cast<uint8_t>((arrive ? kArrive : 0) | (perLane ? kPerLane : 0));
}

void Builder::mbarrierExpect(const At &at, Value bytes, bool arrive) {
  bytes = asUniform(bytes);
  mbarrierExpect(at, 0u, arrive);
  program.code.back().src[0] = bytes.slot;
}

void Builder::mbarrierWait(const At &at, Value parity) {
  parity = asUniform(parity);
  uint32_t where = address(at);
  Instr &instr = emit(Op::MbarrierWait);
  instr.index = where;
  instr.src[0] = parity.slot;
}

void Builder::barrier(uint32_t id, uint32_t waves, Value plus, bool arrives) {
  if (id > 15)
    throw ProgramError("barrier " + std::to_string(id) + " does not exist; there are 16");
  if (plus.slot != kNoSlot)
    plus = asUniform(plus);
  Instr &instr = emit(Op::Barrier);
  instr.sub = static_cast<uint8_t>(id);
  instr.imm = waves;
  instr.src[0] = plus.slot;
  instr.flags = arrives ? kArrives : 0;
}

void Builder::fence(FenceOp op, Order order, Scope scope) {
  Instr &instr = emit(Op::Fence);
  instr.sub = static_cast<uint8_t>(op);
  bool ofMemory = op == FenceOp::Shared || op == FenceOp::Global;
  instr.order = ofMemory ? order : Order::Plain;
  instr.scope = ofMemory ? scope : Scope::Device;
}
void Builder::hint(Hint hint) {
  emit(Op::Nop).sub = static_cast<uint8_t>(hint);
}

// --- Lanes.

Value Builder::shuffle(ShuffleOp op, Value value, uint32_t lane, uint32_t width) {
  Value result = make(type(value), count(value), false);
  Instr &instr = emit(Op::Shuffle);
  instr.sub = static_cast<uint8_t>(op);
  instr.dst = result.slot;
  instr.src[0] = value.slot;
  instr.imm = lane;
  instr.index = width;
  return result;
}

Value Builder::shuffle(ShuffleOp op, Value value, Value lane, uint32_t width) {
  Value result = shuffle(op, value, 0u, width);
  program.code.back().src[1] = lane.slot;
  return result;
}

void Builder::print(std::string text, Value value, const std::vector<Value> &places) {
  std::vector<uint32_t> slots;
  for (Value each : places)
    slots.push_back(each.slot);
  uint32_t start = poolOf(slots), before = place;
  at({}, std::move(text));
  uint32_t named = std::exchange(place, before);
  Instr &instr = emit(Op::Print);
  instr.src[1] = value.slot;
  instr.index = named;
  instr.pool = start;
  instr.poolCount = static_cast<uint32_t>(slots.size());
}

Value Builder::ballot(Value condition) {
  requireMask(condition, "ballot");
  Value result = make(program.waveSize == 64 ? DType::i64 : DType::i32, 1, true);
  Instr &instr = emit(Op::Ballot);
  instr.dst = result.slot;
  instr.src[0] = condition.slot;
  return result;
}

Value Builder::firstLane(Value value) {
  Value result = make(type(value), count(value), true);
  Instr &instr = emit(Op::Uniform);
  instr.dst = result.slot;
  instr.src[0] = value.slot;
  return result;
}

std::pair<Value, Value> Builder::swap(Value a, Value b, uint32_t lanes) {
  requireSame(a, b, "swap");
  Value first = make(type(a), count(a), false), second = make(type(a), count(a), false);
  Instr &instr = emit(Op::Swap);
  instr.dst = first.slot;
  instr.dst2 = second.slot;
  instr.src = {a.slot, b.slot, kNoSlot, kNoSlot};
  instr.imm = lanes;
  return {first, second};
}

} // namespace soliton::emu
