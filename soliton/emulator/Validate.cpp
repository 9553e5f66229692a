//===- Validate.cpp - What the machine may rely on ------------------------===//
//
// Every index, type, count and jump of a program, checked once before it runs, so that the evaluation loops need no
// checks of their own. What depends on run-time values (addresses, parities, mask nesting) is checked where it happens.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/ValidateTables.h"

#include <algorithm>

namespace soliton::emu {
namespace {

class Validator {
public:
  explicit Validator(const Program &program) : program(program) {}

  std::string check() {
    if (std::string problem = validateTables(program); !problem.empty())
      return problem;
    if (program.code.empty() || (program.code.back().op != Op::End && program.code.back().op != Op::Jump))
      return "the last instruction has to be `end` or `jump`";
    for (size_t i = 0; i < program.code.size(); ++i) {
      checkInstr(program.code[i]);
      if (!problem.empty())
        return "instruction " + std::to_string(i) + " `" + std::string(name(program.code[i].op)) + "`: " + problem;
    }
    return {};
  }

private:
  bool require(bool holds, const char *what) {
    if (!holds && problem.empty())
      problem = what;
    return holds;
  }

  /// The slot's info; a harmless one after the first problem.
  const SlotInfo &slot(Slot s) {
    static const SlotInfo none;
    if (!require(s < program.slots.size(), "a slot does not exist"))
      return none;
    return program.slots[s];
  }

  bool isSlot(Slot s, DType type, uint32_t count) {
    const SlotInfo &info = slot(s);
    return info.type == type && info.count == count;
  }

  void uniformScalar(Slot s, DType type, const char *what) { require(isSlot(s, type, 1) && slot(s).uniform, what); }

  void same(Slot a, Slot b) {
    require(slot(a).type == slot(b).type && slot(a).count == slot(b).count, "operands differ in type or count");
  }

  /// A uniform result needs uniform operands.
  void pure(Slot dst, std::initializer_list<Slot> sources) {
    for (Slot s : sources)
      require(!slot(dst).uniform || slot(s).uniform, "a uniform result of an operand that differs between lanes");
  }

  void mask(Slot s) {
    if (s != kNoSlot)
      require(isSlot(s, DType::i1, 1), "a mask has to be one i1");
  }

  void jump(const Instr &instr) { require(instr.index < program.code.size(), "jumps out of the program"); }

  std::span<const uint32_t> pool(const Instr &instr) {
    if (!require(uint64_t(instr.pool) + instr.poolCount <= program.pool.size(), "reads beyond the pool"))
      return {};
    return std::span(program.pool).subspan(instr.pool, instr.poolCount);
  }

  const Region &regionOf(uint32_t index) {
    static const Region none;
    if (!require(index < program.addresses.size(), "an address does not exist"))
      return none;
    return program.regions[program.addresses[index].region];
  }

  void sharedAddress(uint32_t index) { require(regionOf(index).shared, "the address has to be in shared memory"); }

  void uniformShared(uint32_t index) {
    sharedAddress(index);
    if (problem.empty() && program.addresses[index].lane != kNoSlot)
      require(slot(program.addresses[index].lane).uniform, "the address has to be uniform");
  }

  void checkInstr(const Instr &instr) {
    require(instr.place < program.places.size(), "the place does not exist");
    for (Slot s : {instr.dst, instr.dst2, instr.src[0], instr.src[1], instr.src[2], instr.src[3]})
      require(s == kNoSlot || s < program.slots.size(), "a slot does not exist");
    if (const char *wrong = orderProblem(instr))
      require(false, wrong);
    if (instr.op <= Op::Arg)
      checkPure(instr);
    else if (instr.op <= Op::MaskPop)
      checkControl(instr);
    else if (instr.op <= Op::StoreMatrix)
      checkMemory(instr);
    else if (instr.op <= Op::MmaAsync)
      checkMma(instr);
    else if (instr.op <= Op::Fence)
      checkTime(instr);
    else
      checkLanes(instr);
  }

  void checkPure(const Instr &instr) {
    switch (instr.op) {
    case Op::End:
      return;
    case Op::Nop:
      require(instr.sub <= uint8_t(Hint::Registers), "the hint does not exist");
      return;
    case Op::Id:
      require(isSlot(instr.dst, DType::i32, 1), "an id is one i32");
      require(instr.sub <= uint8_t(IdKind::Cluster2), "the id does not exist");
      require(instr.sub != uint8_t(IdKind::Lane) || !slot(instr.dst).uniform, "the lane is not uniform");
      return;
    case Op::Arg:
      require(instr.imm >= 0 && uint64_t(instr.imm) < program.scalars.size(), "the scalar argument does not exist");
      require(!problem.empty() || isSlot(instr.dst, program.scalars[size_t(instr.imm)], 1), "of another type");
      return;
    case Op::Const: {
      size_t words = pool(instr).size(), elements = slot(instr.dst).count;
      require(words == 2 || words == 2 * elements, "needs one value or one per element");
      return;
    }
    case Op::Concat:
    case Op::Permute:
    case Op::Splat:
    case Op::Slice:
    case Op::Insert:
      return checkVector(instr);
    default:
      return checkArithmetic(instr);
    }
  }

  void checkArithmetic(const Instr &instr) {
    const SlotInfo &dst = slot(instr.dst);
    const SlotInfo &a = slot(instr.src[0]);
    bool floats = isFloat(a.type);
    pure(instr.dst, {instr.src[0]});
    switch (instr.op) {
    case Op::Move:
      return same(instr.dst, instr.src[0]);
    case Op::Unary:
      same(instr.dst, instr.src[0]);
      require(instr.sub < kNumUnaryOps && floats == (instr.sub < kFirstIntUnary), "not an operation of this type");
      return;
    case Op::Bitcast:
      require(uint64_t(bits(a.type)) * a.count == uint64_t(bits(dst.type)) * dst.count, "changes the number of bits");
      return;
    case Op::Convert:
      require(a.count == dst.count, "changes the number of elements");
      return checkConvert(instr, floats, isFloat(dst.type));
    default:
      break;
    }
    pure(instr.dst, {instr.src[1]});
    switch (instr.op) {
    case Op::Binary:
      same(instr.dst, instr.src[0]);
      same(instr.dst, instr.src[1]);
      require(instr.sub < kNumBinaryOps && floats == (instr.sub >= uint8_t(BinaryOp::AddF)),
              "not an operation of this type");
      return;
    case Op::Cmp:
      same(instr.src[0], instr.src[1]);
      require(dst.type == DType::i1 && dst.count == a.count, "the result has to be i1, one per element");
      require(instr.sub < kNumCmpOps && floats == (instr.sub >= uint8_t(CmpOp::False)), "not a predicate of this type");
      return;
    case Op::Fma:
      same(instr.dst, instr.src[0]);
      same(instr.dst, instr.src[1]);
      same(instr.dst, instr.src[2]);
      return pure(instr.dst, {instr.src[2]});
    default: // Select
      require(a.type == DType::i1 && (a.count == dst.count || a.count == 1), "the condition has to be i1");
      same(instr.dst, instr.src[1]);
      same(instr.dst, instr.src[2]);
      return pure(instr.dst, {instr.src[2]});
    }
  }

  void checkConvert(const Instr &instr, bool fromFloat, bool toFloat) {
    require((instr.flags & ~(kRoundingMask | kSaturate)) == 0, "unknown flags");
    switch (static_cast<ConvertOp>(instr.sub)) {
    case ConvertOp::ExtS:
    case ConvertOp::ExtU:
    case ConvertOp::TruncI:
      return void(require(!fromFloat && !toFloat, "converts integers"));
    case ConvertOp::SToF:
    case ConvertOp::UToF:
      return void(require(!fromFloat && toFloat, "converts an integer to a float"));
    case ConvertOp::FToS:
    case ConvertOp::FToU:
      return void(require(fromFloat && !toFloat, "converts a float to an integer"));
    case ConvertOp::FToF:
      return void(require(fromFloat && toFloat, "converts floats"));
    }
    require(false, "unknown conversion");
  }

  static bool fits(int64_t first, uint32_t count, uint32_t available) {
    return first >= 0 && first <= available && uint64_t(first) + count <= available;
  }

  void checkVector(const Instr &instr) {
    const SlotInfo &dst = slot(instr.dst);
    if (instr.op == Op::Concat) {
      uint64_t total = 0;
      for (Slot part : pool(instr)) {
        total += slot(part).count;
        require(slot(part).type == dst.type, "parts differ in type");
        pure(instr.dst, {part});
      }
      return void(require(total == dst.count, "the parts do not fill the result"));
    }
    const SlotInfo &a = slot(instr.src[0]);
    require(a.type == dst.type, "changes the type");
    pure(instr.dst, {instr.src[0]});
    switch (instr.op) {
    case Op::Splat:
      return void(require(a.count == 1, "splats one element"));
    case Op::Slice:
      return void(require(fits(instr.imm, dst.count, a.count), "beyond the operand"));
    case Op::Insert: {
      const SlotInfo &part = slot(instr.src[1]);
      pure(instr.dst, {instr.src[1]});
      return void(require(a.count == dst.count && part.type == dst.type && fits(instr.imm, part.count, dst.count),
                          "beyond the operand"));
    }
    default: { // Permute
      uint32_t available = a.count;
      if (instr.src[1] != kNoSlot) {
        require(slot(instr.src[1]).type == dst.type, "operands differ in type");
        pure(instr.dst, {instr.src[1]});
        available += slot(instr.src[1]).count;
      }
      require(instr.poolCount == dst.count, "needs one position per element");
      for (uint32_t position : pool(instr))
        require(position < available, "a position is beyond the operands");
    }
    }
  }

  void checkControl(const Instr &instr) {
    if (instr.op != Op::MaskPop)
      jump(instr);
    if (!problem.empty())
      return;
    switch (instr.op) {
    case Op::JumpIfZero:
      return uniformScalar(instr.src[0], DType::i1, "the condition has to be one uniform i1");
    case Op::ForBegin:
    case Op::ForNext: {
      DType type = slot(instr.dst).type;
      require(type == DType::i32 || type == DType::i64, "the induction variable has to be i32 or i64");
      uniformScalar(instr.dst, type, "the induction variable has to be uniform");
      for (int i = 0; i < 3; ++i)
        uniformScalar(instr.src[size_t(i)], type, "bounds have to be uniform and of the induction variable's type");
      return;
    }
    case Op::MaskPush: {
      Op target = program.code[instr.index].op;
      require(target == Op::MaskElse || target == Op::MaskPop, "has to jump to `mask_else` or `mask_pop`");
      return mask(instr.src[0] == kNoSlot ? Slot(program.slots.size()) : instr.src[0]);
    }
    case Op::MaskElse:
      return void(require(program.code[instr.index].op == Op::MaskPop, "has to jump to `mask_pop`"));
    default:
      return;
    }
  }

  void accessWidth(Slot value) {
    uint64_t size = accessBits(slot(value));
    require(size % 8 == 0 && size >= 8 && size <= 128, "moves 1 to 16 bytes a lane");
  }

  void checkMemory(const Instr &instr) {
    const Region &region = regionOf(instr.index);
    if (instr.op != Op::CopyTile)
      mask(instr.src[0]);
    else if (instr.src[0] != kNoSlot)
      uniformScalar(instr.src[0], DType::i32, "the workgroups that get a tile have to be one uniform i32");
    if (!problem.empty())
      return;
    switch (instr.op) {
    case Op::Load:
      accessWidth(instr.dst);
      require(instr.imm >= 0 && instr.imm <= int64_t(program.clusterSize()) &&
                  (instr.imm == 0 || program.regions[program.addresses[instr.index].region].shared),
              "reads the shared block of a workgroup that its cluster does not have");
      if (instr.src[1] != kNoSlot) {
        require(slot(instr.src[1]).type == slot(instr.dst).type &&
                    (slot(instr.src[1]).count == 1 || slot(instr.src[1]).count == slot(instr.dst).count),
                "the fill has to be of the result's type");
        pure(instr.dst, {instr.src[1]});
      }
      if (slot(instr.dst).uniform) {
        Slot lane = program.addresses[instr.index].lane;
        require((lane == kNoSlot || slot(lane).uniform) && (instr.src[0] == kNoSlot || slot(instr.src[0]).uniform),
                "a uniform result of an address or mask that differs between lanes");
      }
      return;
    case Op::Store:
      return accessWidth(instr.src[1]);
    case Op::Atomic:
      return checkAtomic(instr);
    case Op::CopyAsync:
      return checkCopyAsync(instr, region);
    case Op::CopyTile:
      return checkCopyTile(instr);
    default:
      return checkMatrixAccess(instr);
    }
  }

  void checkAtomic(const Instr &instr) {
    accessWidth(instr.src[1]);
    const SlotInfo &value = slot(instr.src[1]);
    int width = bits(value.type);
    require(width == 16 || width == 32 || width == 64, "atomics work on 16, 32 or 64 bits");
    require(instr.sub <= uint8_t(AtomicOp::CompareSwap), "the operation does not exist");
    auto op = static_cast<AtomicOp>(instr.sub);
    bool floats = isFloat(value.type);
    bool any = op == AtomicOp::Add || op == AtomicOp::Exchange;
    require(any || floats == (op == AtomicOp::MinF || op == AtomicOp::MaxF), "not an operation of this type");
    require((op == AtomicOp::CompareSwap) == (instr.src[2] != kNoSlot), "only a compare-and-swap expects a value");
    if (problem.empty() && instr.src[2] != kNoSlot)
      same(instr.src[2], instr.src[1]);
    if (instr.dst != kNoSlot) {
      same(instr.dst, instr.src[1]);
      require(!slot(instr.dst).uniform, "the old value differs between lanes");
    }
  }

  void checkCopyAsync(const Instr &instr, const Region &from) {
    require(instr.imm == 4 || instr.imm == 8 || instr.imm == 12 || instr.imm == 16,
            "copies 4, 8, 12 or 16 bytes a lane");
    require(!from.shared, "copies from global memory");
    sharedAddress(instr.index2);
    require(instr.sub == uint8_t(CounterKind::vm) || instr.sub == uint8_t(CounterKind::cpAsync),
            "ticks `vm` or `cp_async`");
    require(instr.sub != uint8_t(CounterKind::vm) || program.rules.globalTicksVm, "the target has no `vm` counter");
    if (problem.empty() && (instr.flags & kLaneOrder))
      require(program.addresses[instr.index2].lane == kNoSlot, "lane order leaves no lane address");
  }

  void checkCopyTile(const Instr &instr) {
    require(instr.sub <= uint8_t(TileOp::Add), "the operation does not exist");
    require(instr.imm >= 0 && uint64_t(instr.imm) < program.maps.size(), "the tensor map does not exist");
    uniformShared(instr.index);
    if (instr.sub == uint8_t(TileOp::Load))
      uniformShared(instr.index2);
    if (!problem.empty())
      return;
    const TensorMap &map = program.maps[size_t(instr.imm)];
    require(instr.poolCount == map.rank + map.corners, "needs one coordinate per dimension, and one offset per corner");
    require(map.corners == 0 || instr.sub == uint8_t(TileOp::Load), "only loads take maps with corners");
    for (Slot s : pool(instr))
      uniformScalar(s, DType::i32, "coordinates have to be uniform i32");
    require(instr.src[0] == kNoSlot || instr.sub == uint8_t(TileOp::Load), "only loads go to several workgroups");
  }

  void checkMatrixAccess(const Instr &instr) {
    sharedAddress(instr.index);
    require(instr.src[0] == kNoSlot, "has no mask");
    if (!require(instr.imm >= 0 && uint64_t(instr.imm) < program.matrixKinds.size(), "the kind does not exist"))
      return;
    const MatrixKind &kind = program.matrixKinds[size_t(instr.imm)];
    const SlotInfo &value = slot(instr.op == Op::LoadMatrix ? instr.dst : instr.src[1]);
    require(value.count == kind.registers && uint32_t(bits(value.type)) == kind.elementBits,
            "the value does not fit the kind");
    require(instr.op == Op::StoreMatrix || !value.uniform, "the result differs between lanes");
  }

  void operand(Slot s, DType type, const Fragment &fragment) {
    require(isSlot(s, type, fragment.registers), "an operand does not fit the kind");
  }

  void checkMma(const Instr &instr) {
    if (!require(instr.imm >= 0 && uint64_t(instr.imm) < program.mmaKinds.size(), "the kind does not exist"))
      return;
    const MmaKind &kind = program.mmaKinds[size_t(instr.imm)];
    operand(instr.dst, kind.acc, kind.fragAcc);
    operand(instr.src[2], kind.acc, kind.fragAcc);
    require(!slot(instr.dst).uniform, "the result differs between lanes");
    if (instr.op == Op::MmaAsync)
      return checkMmaAsync(instr, kind);
    operand(instr.src[0], kind.a, kind.fragA);
    operand(instr.src[1], kind.b, kind.fragB);
    require(kind.waves == 1, "the kind spans several waves");
    require(kind.fragA.registers && kind.fragB.registers, "the kind has no register operands");
    require(pool(instr).size() == (kind.scaleBlock ? 2u : 0u), "scales and kind disagree");
    if (!problem.empty() || !kind.scaleBlock)
      return;
    for (int i = 0; i < 2; ++i) {
      const SlotInfo &scale = slot(pool(instr)[size_t(i)]);
      require(bits(scale.type) == 8 && scale.count == (i ? kind.fragScaleB : kind.fragScaleA).registers,
              "scales are 8-bit and fit the kind");
    }
  }

  void tile(uint32_t index, DType type) {
    require(bits(type) == 8 || bits(type) == 16 || bits(type) == 32, "elements in shared memory have 8, 16 or 32 bits");
    if (require(index < program.tiles.size(), "the tile does not exist"))
      require(program.tiles[index].kMajor || bits(type) == 16, "only 16-bit elements may be contiguous along m or n");
  }

  void checkMmaAsync(const Instr &instr, const MmaKind &kind) {
    require(kind.blocks == 1 && kind.scaleBlock == 0 && kind.acc != DType::f64, "the kind has blocks, scales or f64");
    // Waves that serve the others may stand behind the last whole group; whether one of them comes here its number
    // tells.
    require(program.waves >= kind.waves, "the workgroup has fewer waves than the kind");
    if (instr.src[0] != kNoSlot) {
      operand(instr.src[0], kind.a, kind.fragA);
      require(kind.fragA.registers != 0, "the kind has no register operand");
    } else {
      tile(instr.index, kind.a);
    }
    tile(instr.index2, kind.b);
    if (instr.src[3] != kNoSlot)
      uniformScalar(instr.src[3], DType::i1, "the use of the accumulator has to be one uniform i1");
  }

  void rank(Slot s) {
    if (s != kNoSlot)
      uniformScalar(s, DType::i32, "the rank of a workgroup has to be one uniform i32");
  }

  void checkTime(const Instr &instr) {
    switch (instr.op) {
    case Op::Commit:
      return void(require(instr.sub >= uint8_t(CounterKind::cpAsync) && instr.sub < kNumCounters,
                          "closes groups of `cp_async`, `bulk` or `mma`"));
    case Op::Wait: {
      require(instr.sub < kNumCounters && instr.imm >= 0 && instr.imm <= INT32_MAX, "the counter does not exist");
      require(instr.sub != uint8_t(CounterKind::vm) || program.rules.globalTicksVm, "the target has no `vm` counter");
      std::span<const uint32_t> pairs = pool(instr);
      require(pairs.size() % 2 == 0, "needs pairs of values");
      for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
        same(pairs[i], pairs[i + 1]);
        pure(pairs[i + 1], {pairs[i]});
      }
      return;
    }
    case Op::MbarrierInit:
    case Op::MbarrierArrive:
      require(instr.imm >= 1 && instr.imm < (1 << 20), "needs 1 to 2^20 - 1 arrivals");
      rank(instr.src[1]);
      return uniformShared(instr.index);
    case Op::MbarrierExpect:
      rank(instr.src[1]);
      if (instr.src[0] != kNoSlot)
        uniformScalar(instr.src[0], DType::i32, "bytes have to be one uniform i32");
      require(instr.imm >= 0 && instr.imm < (1 << 20), "expects less than 2^20 bytes");
      return uniformShared(instr.index);
    case Op::MbarrierWait:
      uniformScalar(instr.src[0], DType::i32, "the parity has to be one uniform i32");
      return uniformShared(instr.index);
    case Op::Barrier:
      require(instr.sub < 16, "there are 16 barriers");
      if (instr.src[0] != kNoSlot)
        uniformScalar(instr.src[0], DType::i32, "a barrier's number has to be one uniform i32");
      return void(require(instr.imm >= 0 && instr.imm <= program.waves, "more waves than the workgroup has"));
    case Op::ClusterArrive:
    case Op::ClusterWait:
    case Op::GridWait:
      return;
    default: // Fence
      return void(require(instr.sub <= uint8_t(FenceOp::Mma), "the fence does not exist"));
    }
  }

  void checkLanes(const Instr &instr) {
    switch (instr.op) {
    case Op::Shuffle:
      same(instr.dst, instr.src[0]);
      require(!slot(instr.dst).uniform, "the result differs between lanes");
      require(instr.sub <= uint8_t(ShuffleOp::Index), "the operation does not exist");
      require(instr.index >= 1 && instr.index <= program.waveSize && (instr.index & (instr.index - 1)) == 0,
              "the width has to be a power of two up to the wave");
      if (instr.src[1] != kNoSlot)
        require(isSlot(instr.src[1], DType::i32, 1), "the lane has to be one i32");
      return;
    case Op::Ballot:
      mask(instr.src[0] == kNoSlot ? Slot(program.slots.size()) : instr.src[0]);
      return void(require(slot(instr.dst).uniform && slot(instr.dst).count == 1 && isInteger(slot(instr.dst).type) &&
                              uint32_t(bits(slot(instr.dst).type)) >= program.waveSize,
                          "the result has to be one uniform integer with a bit per lane"));
    case Op::Uniform:
      same(instr.dst, instr.src[0]);
      return void(require(slot(instr.dst).uniform, "the result has to be uniform"));
    case Op::Print:
      if (!require(instr.index < program.places.size() && instr.src[1] < program.slots.size() &&
                       slot(instr.src[1]).count == 1 && uint64_t(instr.pool) + instr.poolCount <= program.pool.size(),
                   "prints one element at places that exist"))
        return;
      for (uint32_t i = 0; i < instr.poolCount; ++i)
        require(isSlot(program.pool[instr.pool + i], DType::i32, 1), "a place has to be one i32");
      return;
    case Op::Swap:
      for (Slot s : {instr.dst2, instr.src[0], instr.src[1]})
        same(instr.dst, s);
      require(!slot(instr.dst).uniform && !slot(instr.dst2).uniform, "the results differ between lanes");
      return void(
          require(instr.imm >= 1 && instr.imm <= program.waveSize / 2 && program.waveSize % (2 * instr.imm) == 0,
                  "groups have to pair up in the wave"));
    default:
      require(false, "the operation does not exist");
    }
  }

  const Program &program;
  std::string problem;
};

} // namespace

std::string validate(const Program &program) {
  return Validator(program).check();
}

} // namespace soliton::emu
