//===- TranslateMachine.cpp - Ops of the machine dialect -------------------------------===//

#include "soliton/backend/emulator/Translator.h"

#include "soliton/ir/Counters.h"
#include "soliton/ir/Diagnose.h"

#include <set>

namespace soliton {
using namespace machine;

emu::At EmulatorTranslator::globalOrShared(Value buffer, Value lane, Value uniform, int64_t immediate) {
  emu::At at;
  at.lane = value(lane);
  at.immediate = immediate;
  if (uniform)
    at.uniform = build.asUniform(value(uniform));
  if (!buffer) {
    at.region = sharedRegion;
    return at;
  }
  const Buffer &window = buffers.find(buffer)->second;
  at.region = window.region;
  at.base = window.base;
  at.limit = window.limit;
  return at;
}

/// Numbers the coordinates that an operand's registers hold along a dimension: 0, 1, 2, …
static std::map<int64_t, uint32_t> ranks(std::initializer_list<std::pair<const MmaOperand *, Dim>> operands) {
  std::set<int64_t> places;
  for (auto [operand, dim] : operands)
    for (int64_t reg = 0; reg < operand->nativeRegs; ++reg)
      for (int64_t lane = 0; lane < operand->layout.lanes(); ++lane)
        places.insert(operand->layout.coordinate(dim, reg, lane, 0));
  std::map<int64_t, uint32_t> result;
  for (int64_t place : places)
    result.emplace(place, static_cast<uint32_t>(result.size()));
  return result;
}

FailureOr<uint32_t> EmulatorTranslator::mmaKind(MmaOp mma) {
  DType a = slotType(mma.getLhs().getType()).first, b = slotType(mma.getRhs().getType()).first,
        acc = slotType(mma.getAcc().getType()).first;
  bool isScaled = !mma.getScales().empty();
  std::string key = mma.getKind().str() + std::string(name(a)) + std::string(name(b));
  if (auto found = kinds.find(key); found != kinds.end())
    return found->second;
  const MmaKind *kind = nullptr;
  for (const MmaKind &row : target.mmas)
    if (row.native.instruction == mma.getKind() && row.lhs.type == a && row.rhs.type == b && row.acc.type == acc &&
        !row.async && (row.scaleBlock != 0) == isScaled && (!kind || row.pieceCount() < kind->pieceCount()))
      kind = &row;
  if (!kind)
    return report(mma.getLoc(), DiagId::BackendUnsupported)
           << "`" << target.name << "` has no matrix instruction `" << mma.getKind() << "` for these elements";

  Dim m("M"), n("N"), k("K");
  auto rows = ranks({{&kind->lhs, m}, {&kind->acc, m}}), columns = ranks({{&kind->rhs, n}, {&kind->acc, n}}),
       depth = ranks({{&kind->lhs, k}, {&kind->rhs, k}});
  uint32_t size = static_cast<uint32_t>(target.waveSize);
  auto fragment = [&](const MmaOperand &operand, auto element) {
    return emu::fragment(static_cast<uint32_t>(operand.nativeRegs), size, [&](uint32_t reg, uint32_t lane) {
      return element([&](Dim dim) { return operand.layout.coordinate(dim, reg, lane, 0); });
    });
  };
  uint32_t columnCount = static_cast<uint32_t>(columns.size()), depthCount = static_cast<uint32_t>(depth.size());
  emu::MmaKind described;
  described.name = mma.getKind().str();
  described.m = static_cast<uint32_t>(rows.size());
  described.n = columnCount;
  described.k = depthCount;
  described.a = a;
  described.b = b;
  described.acc = acc;
  described.fragA = fragment(kind->lhs, [&](auto at) { return rows.at(at(m)) * depthCount + depth.at(at(k)); });
  described.fragB = fragment(kind->rhs, [&](auto at) { return depth.at(at(k)) * columnCount + columns.at(at(n)); });
  described.fragAcc = fragment(kind->acc, [&](auto at) { return rows.at(at(m)) * columnCount + columns.at(at(n)); });
  if (isScaled) {
    uint32_t blocks = static_cast<uint32_t>(kind->k / kind->scaleBlock);
    auto scales = [&](const Layout &layout, Dim row) {
      return emu::fragment(1, size, [&, blocks](uint32_t, uint32_t lane) {
        return static_cast<uint32_t>(layout.coordinate(row, 0, lane, 0) * blocks + layout.coordinate(k, 0, lane, 0));
      });
    };
    described.scaleBlock = static_cast<uint32_t>(kind->scaleBlock);
    described.fragScaleA = scales(kind->lhsScale, m);
    described.fragScaleB = scales(kind->rhsScale, n);
  }
  return kinds[key] = build.mmaKind(described);
}

/// An instruction of several waves: fragments are those of one of them, whose rows are counted from its first on.
FailureOr<uint32_t> EmulatorTranslator::mmaKind(MmaAsyncOp mma) {
  if (auto found = kinds.find(mma.getKind().str()); found != kinds.end())
    return found->second;
  auto kind = llvm::find_if(target.mmas,
                            [&](const MmaKind &row) { return row.async && row.native.instruction == mma.getKind(); });
  if (kind == target.mmas.end())
    return report(mma.getLoc(), DiagId::BackendUnsupported)
           << "`" << target.name << "` has no asynchronous matrix instruction `" << mma.getKind() << "`";
  Dim m("M"), n("N"), k("K");
  auto size = static_cast<uint32_t>(target.waveSize), columns = static_cast<uint32_t>(kind->n),
       depth = static_cast<uint32_t>(kind->k);
  auto fragment = [&](const MmaOperand &operand, Dim dim, uint32_t pitch) {
    return emu::fragment(static_cast<uint32_t>(operand.nativeRegs), size, [&](uint32_t reg, uint32_t lane) {
      return static_cast<uint32_t>(operand.layout.coordinate(m, reg, lane, 0) * pitch +
                                   operand.layout.coordinate(dim, reg, lane, 0));
    });
  };
  emu::MmaKind described;
  described.name = mma.getKind().str();
  described.m = static_cast<uint32_t>(kind->m);
  described.n = columns;
  described.k = depth;
  described.waves = static_cast<uint32_t>(kind->waves);
  described.a = kind->lhs.type;
  described.b = kind->rhs.type;
  described.acc = kind->acc.type;
  described.sumBits = static_cast<uint32_t>(kind->sumBits);
  described.fragA = fragment(kind->lhs, k, depth);
  described.fragAcc = fragment(kind->acc, n, columns);
  return kinds[described.name] = build.mmaKind(described);
}

LogicalResult EmulatorTranslator::mmaAsync(MmaAsyncOp mma) {
  auto unknown = [&](Value descriptor) { return descriptor && !tiles.contains(descriptor); };
  if (unknown(mma.getLhsDescriptor()) || unknown(mma.getRhsDescriptor()))
    return report(mma.getLoc(), DiagId::BackendUnsupported)
           << "the emulator does not execute `" << mma->getName()
           << "`: a descriptor's bits do not say which shared tile they mean";
  FailureOr<uint32_t> kind = mmaKind(mma);
  if (failed(kind))
    return failure();
  emu::Value useAcc;
  if (mma.getZeroAcc())
    useAcc = build.asUniform(build.constant(DType::i1, 0));
  std::optional<uint32_t> lhs;
  if (mma.getLhsDescriptor())
    lhs = tiles.lookup(mma.getLhsDescriptor());
  define(mma.getResult(), build.mmaAsync(*kind, mma.getLhs() ? value(mma.getLhs()) : emu::Value{}, lhs,
                                         tiles.lookup(mma.getRhsDescriptor()), value(mma.getAcc()), useAcc));
  return success();
}

FailureOr<uint32_t> EmulatorTranslator::matrixKind(Operation *op, StringRef name) {
  if (auto found = kinds.find(name.str()); found != kinds.end())
    return found->second;
  const MatrixAccess *row = target.matrixAccess(name.str());
  if (!row)
    return report(op->getLoc(), DiagId::BackendUnsupported)
           << "`" << target.name << "` has no matrix access `" << name << "`";
  emu::MatrixKind kind;
  kind.name = row->name;
  kind.elementBits = row->elementBits;
  kind.rowBytes = static_cast<uint32_t>(row->contiguous * row->elementBits / 8);
  kind.registers = static_cast<uint32_t>(row->result.regs());
  for (int64_t reg = 0; reg < row->result.regs(); ++reg)
    for (int64_t lane = 0; lane < target.waveSize; ++lane) {
      kind.row.push_back(static_cast<uint8_t>(row->result.coordinate(Dim("S"), reg, lane, 0)));
      kind.column.push_back(static_cast<uint8_t>(row->result.coordinate(Dim("C"), reg, lane, 0)));
    }
  return kinds[name.str()] = build.matrixKind(kind);
}

static emu::AtomicOp atomicOf(AtomicKind kind, DType type) {
  switch (kind) {
  case AtomicKind::add:
    return emu::AtomicOp::Add;
  case AtomicKind::min:
    return isFloat(type) ? emu::AtomicOp::MinF : emu::AtomicOp::MinS;
  case AtomicKind::max:
    return isFloat(type) ? emu::AtomicOp::MaxF : emu::AtomicOp::MaxS;
  case AtomicKind::umin:
    return emu::AtomicOp::MinU;
  case AtomicKind::umax:
    return emu::AtomicOp::MaxU;
  case AtomicKind::exchange:
    return emu::AtomicOp::Exchange;
  case AtomicKind::bit_and:
    return emu::AtomicOp::And;
  case AtomicKind::bit_or:
    return emu::AtomicOp::Or;
  case AtomicKind::bit_xor:
    return emu::AtomicOp::Xor;
  case AtomicKind::cas:
    return emu::AtomicOp::CompareSwap;
  }
  return emu::AtomicOp::Add;
}

LogicalResult EmulatorTranslator::mbarrierOp(Operation *op) {
  auto at = [&](Value address) { return emu::At{.region = sharedRegion, .uniform = build.asUniform(value(address))}; };
  if (auto init = dyn_cast<MbarrierInitOp>(op)) {
    build.mbarrierInit(at(init.getAddress()), static_cast<uint32_t>(init.getCount()));
    return success();
  }
  if (auto wait = dyn_cast<MbarrierWaitOp>(op)) {
    build.mbarrierWait(at(wait.getAddress()), value(wait.getParity()));
    return success();
  }
  // Each lane that comes here arrives.
  auto arrive = cast<MbarrierArriveOp>(op);
  emu::Value rank = uniformOrNone(arrive.getRank());
  if (arrive.getExpect() > 0)
    build.mbarrierExpect(at(arrive.getAddress()), static_cast<uint32_t>(arrive.getExpect()), /*arrive=*/true,
                         /*perLane=*/true, rank);
  else
    build.mbarrierArrive(at(arrive.getAddress()), 1, /*perLane=*/true, rank);
  return success();
}

/// What the emulator cannot execute, and why; everything else of the dialect it does.
static StringRef whyRefused(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<KernelOp>([](auto) { return "a kernel holds no other"; })
      .Default([](auto) { return "it is not known"; });
}

LogicalResult EmulatorTranslator::machineOp(Operation *op) {
  auto masked = [&](Value mask) { return mask ? emu::Masked{.mask = value(mask)} : emu::Masked{}; };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<IdOp>([&](IdOp id) {
        define(id.getResult(), build.id(static_cast<emu::IdKind>(id.getKind())));
        return success();
      })
      .Case<BufferOp>([&](BufferOp buffer) {
        buffers[buffer.getResult()] = {regions.lookup(buffer.getBase()), build.asUniform(value(buffer.getOffset())),
                                       build.asUniform(value(buffer.getBytes()))};
        return success();
      })
      .Case<LoadOp>([&](LoadOp load) {
        auto [type, count] = slotType(load.getType());
        emu::Masked how = masked(load.getMask());
        if (load.getWorkgroup())
          how.workgroup = static_cast<uint32_t>(*load.getWorkgroup());
        define(load.getResult(),
               build.load(type, count,
                          globalOrShared(load.getBuffer(), load.getLane(), load.getUniform(), load.getImmediate()),
                          how));
        return success();
      })
      .Case<StoreOp>([&](StoreOp store) {
        build.store(value(store.getValue()),
                    globalOrShared(store.getBuffer(), store.getLane(), store.getUniform(), store.getImmediate()),
                    masked(store.getMask()));
        return success();
      })
      .Case<AtomicOp>([&](AtomicOp atomic) {
        emu::AtomicOp kind = atomicOf(atomic.getKind(), slotType(atomic.getType()).first);
        emu::At at = globalOrShared(atomic.getBuffer(), atomic.getLane(), atomic.getUniform(), atomic.getImmediate());
        define(atomic.getResult(), atomic.getExpected()
                                       ? build.compareSwap(value(atomic.getValue()), value(atomic.getExpected()), at,
                                                           masked(atomic.getMask()))
                                       : build.atomic(kind, value(atomic.getValue()), at, masked(atomic.getMask()),
                                                      /*wantOld=*/true));
        return success();
      })
      .Case<CopyAsyncOp>([&](CopyAsyncOp copy) {
        emu::At to = {.region = sharedRegion,
                      .lane = {},
                      .uniform = {},
                      .immediate = static_cast<int64_t>(copy.getDestinationImmediate())};
        if (copy.getLaneScatter())
          to.uniform = build.asUniform(value(copy.getDestination()));
        else
          to.lane = value(copy.getDestination());
        bool vm = target.asyncCopyCounter == CounterKind::vm;
        build.copyAsync(static_cast<uint32_t>(copy.getBytes()),
                        globalOrShared(copy.getBuffer(), copy.getLane(), copy.getUniform(), copy.getImmediate()), to,
                        vm ? CounterKind::vm : CounterKind::cpAsync, copy.getLaneScatter(),
                        copy.getMask() ? value(copy.getMask()) : emu::Value{}, /*zeroFill=*/true);
        return success();
      })
      .Case<CopyTileOp>([&](CopyTileOp copy) {
        emu::At tile{.region = sharedRegion, .uniform = build.asUniform(value(copy.getDestination()))};
        emu::At mbarrier{.region = sharedRegion, .uniform = build.asUniform(value(copy.getMbarrier()))};
        build.copyTileLoad(maps.lookup(copy.getMap()), coordinates(copy.getCoordinates()), tile, mbarrier,
                           uniformOrNone(copy.getMulticast()), coordinates(copy.getOffsets()));
        return success();
      })
      .Case<StoreTileOp>([&](StoreTileOp store) {
        emu::At tile{.region = sharedRegion, .uniform = build.asUniform(value(store.getSource()))};
        build.copyTileStore(maps.lookup(store.getMap()), coordinates(store.getCoordinates()), tile, store.getAdd());
        return success();
      })
      .Case<LoadMatrixOp>([&](LoadMatrixOp load) -> LogicalResult {
        FailureOr<uint32_t> kind = matrixKind(op, load.getKind());
        if (failed(kind))
          return failure();
        define(load.getResult(), build.loadMatrix(*kind, slotType(load.getType()).first,
                                                  globalOrShared({}, load.getLane(), {}, load.getImmediate())));
        return success();
      })
      .Case<StoreMatrixOp>([&](StoreMatrixOp store) -> LogicalResult {
        FailureOr<uint32_t> kind = matrixKind(op, store.getKind());
        if (failed(kind))
          return failure();
        build.storeMatrix(*kind, value(store.getValue()),
                          globalOrShared({}, store.getLane(), {}, store.getImmediate()));
        return success();
      })
      .Case<MmaOp>([&](MmaOp mma) -> LogicalResult {
        FailureOr<uint32_t> kind = mmaKind(mma);
        if (failed(kind))
          return failure();
        emu::Value scales[2];
        for (auto [i, scale] : llvm::enumerate(mma.getScales()))
          scales[i] = build.slice(value(scale), static_cast<uint32_t>(mma.getScaleBytes()[i]), 1);
        define(mma.getResult(),
               build.mma(*kind, value(mma.getLhs()), value(mma.getRhs()), value(mma.getAcc()), scales[0], scales[1]));
        return success();
      })
      .Case<SharedTileOp>([&](SharedTileOp tile) {
        emu::At at{.region = sharedRegion, .uniform = build.asUniform(value(tile.getAddress()))};
        tiles[tile.getResult()] =
            build.sharedTile(at, static_cast<uint32_t>(tile.getLeading()), static_cast<uint32_t>(tile.getStride()),
                             static_cast<uint32_t>(tile.getSwizzle()), tile.getKMajor());
        return success();
      })
      .Case<MmaAsyncOp>([&](MmaAsyncOp mma) { return mmaAsync(mma); })
      .Case<ShuffleOp>([&](ShuffleOp shuffle) {
        auto width = static_cast<uint32_t>(target.waveSize);
        if (shuffle.getMode() == ShuffleMode::idx) {
          define(shuffle.getResult(),
                 build.shuffle(emu::ShuffleOp::Index, value(shuffle.getValue()), value(shuffle.getIndex()), width));
          return success();
        }
        emu::ShuffleOp mode = shuffle.getMode() == ShuffleMode::bfly ? emu::ShuffleOp::Xor
                              : shuffle.getMode() == ShuffleMode::up ? emu::ShuffleOp::Up
                                                                     : emu::ShuffleOp::Down;
        define(shuffle.getResult(),
               build.shuffle(mode, value(shuffle.getValue()), static_cast<uint32_t>(*shuffle.getOffset()), width));
        return success();
      })
      .Case<PinOp>([&](PinOp pin) { return define(pin.getResult(), value(pin.getValue())), success(); })
      .Case<UniformOp>([&](UniformOp uniform) {
        return define(uniform.getResult(), build.firstLane(value(uniform.getValue()))), success();
      })
      .Case<ElectOp>([&](ElectOp elect) {
        emu::Value lane = build.id(emu::IdKind::Lane);
        return define(elect.getResult(), build.cmp(emu::CmpOp::Eq, lane, build.firstLane(lane))), success();
      })
      .Case<BallotOp>([&](BallotOp ballot) {
        emu::Value bits = build.ballot(value(ballot.getPredicate()));
        if (build.type(bits) == DType::i32)
          bits = build.convert(emu::ConvertOp::ExtU, DType::i64, bits);
        define(ballot.getResult(), bits);
        return success();
      })
      .Case<SwapOp>([&](SwapOp swap) {
        auto [first, second] =
            build.swap(value(swap.getFirst()), value(swap.getSecond()), static_cast<uint32_t>(swap.getWidth()));
        define(swap.getNewFirst(), first);
        define(swap.getNewSecond(), second);
        return success();
      })
      .Case<ConvertOp>([&](ConvertOp convert) {
        define(convert.getResult(),
               build.convert(emu::ConvertOp::FToF, slotType(convert.getType()).first, value(convert.getValue()),
                             emu::Rounding::NearestEven, convert.getSaturate()));
        return success();
      })
      .Case<BarrierOp>([&](BarrierOp barrier) {
        build.barrier(static_cast<uint32_t>(barrier.getId()), static_cast<uint32_t>(barrier.getWaves().value_or(0)),
                      uniformOrNone(barrier.getPlus()), barrier.getArrives());
        return success();
      })
      .Case<CommitOp>([&](CommitOp commit) { return build.commit(kindOf(commit.getCounter())), success(); })
      .Case<WaitOp>([&](WaitOp wait) {
        if (wait.getRead())
          return build.waitRead(static_cast<uint32_t>(wait.getCount())), success();
        std::vector<emu::Value> pending;
        for (Value v : wait.getValues())
          pending.push_back(value(v));
        std::vector<emu::Value> ready =
            build.wait(kindOf(wait.getCounter()), static_cast<uint32_t>(wait.getCount()), pending);
        for (auto [result, slot] : llvm::zip(wait.getResults(), ready))
          define(result, slot);
        return success();
      })
      .Case<FenceOp>([&](FenceOp fence) {
        if (fence.getSpace() == FenceSpace::global)
          build.fence(emu::FenceOp::Global, emu::Order::AcquireRelease, emu::Scope::Device);
        else if (fence.getSpace() == FenceSpace::shared)
          build.fence(emu::FenceOp::Shared, emu::Order::AcquireRelease, emu::Scope::Workgroup);
        else
          build.fence(emu::FenceOp::Proxy);
        return success();
      })
      .Case<MbarrierInitOp, MbarrierArriveOp, MbarrierWaitOp>([&](Operation *) { return mbarrierOp(op); })
      .Case<PrintOp>([&](PrintOp print) {
        // A question mark of the label's own would stand for a place.
        std::string text = print.getLabel().str();
        std::replace(text.begin(), text.end(), '?', '.');
        std::vector<emu::Value> places;
        for (auto [name, place] : llvm::zip(print.getDims().getAsRange<mlir::StringAttr>(), print.getPlaces())) {
          text += (places.empty() ? "[" : ", ") + name.str() + "=?";
          places.push_back(value(place));
        }
        build.print(text + (places.empty() ? "" : "]"), value(print.getValue()), places);
        return success();
      })
      .Case<ClusterArriveOp>([&](auto) { return build.clusterArrive(), success(); })
      .Case<ClusterWaitOp>([&](auto) { return build.clusterWait(), success(); })
      .Case<GridWaitOp>([&](auto) { return build.gridWait(), success(); })
      // Launches run one after the other.
      .Case<GridLaunchOp>([&](auto) { return success(); })
      // It reads nothing, so there is nothing to check or to count.
      .Case<PrefetchOp>([&](auto) { return success(); })
      .Case<SchedBarrierOp>([&](auto) { return build.hint(emu::Hint::SchedBarrier), success(); })
      .Case<SchedGroupOp>([&](auto) { return build.hint(emu::Hint::SchedGroup), success(); })
      .Case<PriorityOp>([&](auto) { return build.hint(emu::Hint::Priority), success(); })
      .Case<RegistersOp>([&](auto) { return build.hint(emu::Hint::Registers), success(); })
      .Default([&](Operation *) {
        return report(op->getLoc(), DiagId::BackendUnsupported)
               << "the emulator does not execute `" << op->getName() << "`: " << whyRefused(op);
      });
}

} // namespace soliton
