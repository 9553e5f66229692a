//===- Async.cpp - Asynchronous copies, barriers and waits ------------------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"
#include "soliton/ir/Counters.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::failed;
using mlir::failure;
using mlir::success;
namespace I = llvm::Intrinsic;

void NvidiaTranslator::ptx(llvm::StringRef text, llvm::StringRef constraints, llvm::ArrayRef<Value *> args) {
  std::string all = constraints.empty() ? "~{memory}" : constraints.str() + ",~{memory}";
  assembly(builder.getVoidTy(), text, all, args, AsmEffect::memory);
}

//===-- Copies ------------------------------------------------------------------------===//

LogicalResult NvidiaTranslator::translate(machine::CopyAsyncOp op) {
  auto bytes = static_cast<int64_t>(op.getBytes());
  if (!target.hasAsyncCopy(bytes)) {
    std::vector<std::string> widths;
    for (int64_t width : target.asyncCopyBytes)
      widths.push_back(std::to_string(width));
    return unsupported(op) << "an asynchronous copy of " << bytes << " bytes a lane, expected " << listOf(widths)
                           << " on " << target.name;
  }
  if (failed(requireShared(op)))
    return failure();
  Value *destination = sharedNumber(get(op.getDestination()));
  if (op.getLaneScatter())
    destination = builder.CreateAdd(destination, builder.CreateMul(laneId(), i32(bytes)));
  Value *source = globalAddress(get(op.getBuffer()), op.getLane(), op.getUniform(), 0);
  std::string text = std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") + ".shared.global [$0" +
                     plus(static_cast<int64_t>(op.getDestinationImmediate())) + "], [$1" +
                     plus(static_cast<int64_t>(op.getImmediate())) + "], " + std::to_string(bytes);
  if (op.getMask()) // reads that many bytes and fills up with zeros
    ptx(text + ", $2;", "r,l,r", {destination, source, builder.CreateSelect(get(op.getMask()), i32(bytes), i32(0))});
  else
    ptx(text + ";", "r,l", {destination, source});
  return success();
}

/// The descriptors are fetched while the kernel sets itself up.
void NvidiaTranslator::beginBody() {
  for (mlir::BlockArgument argument : kernel.block().getArguments())
    if (llvm::isa<machine::MapType>(argument.getType()))
      ptx("{\n\t.reg .pred p;\n\tsetp.eq.u32 p, $1, 0;\n\t@p prefetch.tensormap [$0];\n\t}", "l,r",
          {get(argument), threadId()});
}

/// `{$3, $4}` of the coordinates, which become further arguments.
std::string NvidiaTranslator::addCoordinates(mlir::OperandRange coordinates, llvm::SmallVectorImpl<Value *> &args,
                                             std::string &constraints) {
  auto first = static_cast<unsigned>(args.size());
  for (mlir::Value coordinate : coordinates) {
    constraints += ",r";
    args.push_back(get(coordinate));
  }
  return operandList(first, static_cast<unsigned>(coordinates.size()));
}

/// The same of offsets into the window of a filter, which have 16 bits.
std::string NvidiaTranslator::addOffsets(mlir::OperandRange offsets, llvm::SmallVectorImpl<Value *> &args,
                                         std::string &constraints) {
  auto first = static_cast<unsigned>(args.size());
  for (mlir::Value offset : offsets) {
    constraints += ",h";
    args.push_back(builder.CreateTrunc(get(offset), builder.getInt16Ty()));
  }
  return operandList(first, static_cast<unsigned>(offsets.size()));
}

LogicalResult NvidiaTranslator::translate(machine::CopyTileOp op) {
  if (failed(requireShared(op)))
    return failure();
  llvm::SmallVector<Value *> args = {sharedNumber(get(op.getDestination())), get(op.getMap()),
                                     sharedNumber(get(op.getMbarrier()))};
  std::string constraints = "r,l,r", place = addCoordinates(op.getCoordinates(), args, constraints), offsets, mask;
  std::string text = "cp.async.bulk.tensor." + std::to_string(op.getCoordinates().size()) +
                     "d.shared::cluster.global." + (op.getOffsets().empty() ? "tile" : "im2col") +
                     ".mbarrier::complete_tx::bytes";
  if (!op.getOffsets().empty())
    offsets = ", " + addOffsets(op.getOffsets(), args, constraints);
  if (op.getMulticast()) {
    text += ".multicast::cluster";
    mask = ", $" + std::to_string(args.size());
    constraints += ",h";
    args.push_back(builder.CreateTrunc(get(op.getMulticast()), builder.getInt16Ty()));
  }
  ptx(text + " [$0], [$1, " + place + "], [$2]" + offsets + mask + ";", constraints, args);
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::StoreTileOp op) {
  if (failed(requireShared(op)))
    return failure();
  llvm::SmallVector<Value *> args = {get(op.getMap()), sharedNumber(get(op.getSource()))};
  std::string constraints = "l,r", place = addCoordinates(op.getCoordinates(), args, constraints);
  std::string text = std::string(op.getAdd() ? "cp.reduce" : "cp") + ".async.bulk.tensor." +
                     std::to_string(op.getCoordinates().size()) + "d.global.shared::cta" + (op.getAdd() ? ".add" : "") +
                     ".tile.bulk_group";
  ptx(text + " [$0, " + place + "], [$1];", constraints, args);
  return success();
}

//===-- Counters --------------------------------------------------------------------------===//

LogicalResult NvidiaTranslator::translate(machine::CommitOp op) {
  switch (op.getCounter()) {
  case machine::Counter::cp_async:
    ptx("cp.async.commit_group;");
    return success();
  case machine::Counter::bulk:
    ptx("cp.async.bulk.commit_group;");
    return success();
  case machine::Counter::mma:
    ptx("wgmma.commit_group.sync.aligned;");
    return success();
  default:
    return unsupported(op) << "`" << machine::stringifyCounter(op.getCounter())
                           << "` is not counted in groups, expected "
                           << "`cp_async`, `bulk` or `mma`";
  }
}

/// Whether it is a sum that a loop left under way, other than one that its products only went on with.
static bool isLeftByLoop(mlir::Value value) {
  auto result = llvm::dyn_cast<mlir::OpResult>(value);
  auto loop = result ? llvm::dyn_cast<mlir::scf::ForOp>(result.getOwner()) : mlir::scf::ForOp();
  if (!loop)
    return false;
  auto product = loop.getYieldedValues()[result.getResultNumber()].getDefiningOp<machine::MmaAsyncOp>();
  return product && llvm::any_of(loop.getRegionIterArgs()[result.getResultNumber()].getUsers(),
                                 [](mlir::Operation *user) { return llvm::isa<machine::WaitOp>(user); });
}

/// ptxas (13.0) takes a wait that every path from a product runs into for the end of its stage, even where one inside
/// of the loop comes before, and lets no product run while the sum is read (C7514). There is none where the paths part:
/// a grid without workgroups takes the other one.
static std::string waitOnTwoPaths(const std::string &wait) {
  return "{\n\t.reg .pred p;\n\t.reg .b32 r;\n\tmov.u32 r, %nctaid.z;\n\tsetp.eq.u32 p, r, 0;\n\t@p bra other;\n\t" +
         wait + "\n\tbra.uni done;\n\tother:\n\t" + wait + "\n\tdone:\n\t}";
}

/// The pending values go through the wait, so that nothing that uses them can be placed before it.
void NvidiaTranslator::waitForMma(machine::WaitOp op) {
  llvm::SmallVector<Value *> args;
  llvm::SmallVector<llvm::Type *> types;
  std::string outputs, inputs;
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults()))
    for (Value *element : result.use_empty() ? llvm::SmallVector<Value *>() : elements(get(value))) {
      inputs += std::to_string(args.size()) + ",";
      outputs += element->getType()->isFloatTy() ? "=f," : "=r,";
      types.push_back(element->getType());
      args.push_back(element);
    }
  // What is not handed on is held: its registers are nobody else's before this.
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults()))
    for (Value *word : result.use_empty() ? wordList(asProductsTake(value)) : llvm::SmallVector<Value *>()) {
      inputs += "r,";
      args.push_back(word);
    }
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getCount()) + ";";
  if (llvm::any_of(op.getValues(), isLeftByLoop))
    text = waitOnTwoPaths(text);
  llvm::Type *type = types.empty()       ? builder.getVoidTy()
                     : types.size() == 1 ? types[0]
                                         : static_cast<llvm::Type *>(llvm::StructType::get(context, types));
  Value *done = assembly(type, text, outputs + inputs + "~{memory}", args, AsmEffect::memory);
  unsigned next = 0;
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults())) {
    if (result.use_empty())
      continue;
    llvm::Type *resultType = get(value)->getType();
    llvm::SmallVector<Value *> list;
    for (unsigned i = 0; i < countOf(resultType); ++i, ++next)
      list.push_back(types.size() == 1 ? done : builder.CreateExtractValue(done, next));
    set(result, fromElements(list, resultType));
  }
}

LogicalResult NvidiaTranslator::translate(machine::WaitOp op) {
  CounterKind kind = kindOf(op.getCounter());
  if (failed(requireCounter(op, kind)))
    return failure();
  if (kind == CounterKind::mma) {
    for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults())) {
      llvm::Type *element = get(value)->getType()->getScalarType();
      if (!element->isFloatTy() && !element->isIntegerTy(32) && !result.use_empty())
        return unsupported(op) << "a wait returns " << value.getType() << ", expected f32 or i32 accumulators";
    }
    waitForMma(op);
    return success();
  }
  std::string count = std::to_string(op.getCount());
  if (kind == CounterKind::cpAsync)
    ptx("cp.async.wait_group " + count + ";");
  else if (kind == CounterKind::bulk)
    ptx(std::string("cp.async.bulk.wait_group") + (op.getRead() ? ".read " : " ") + count + ";");
  // The hardware itself waits for the registers of loads, and barriers for accesses to shared memory.
  for (auto [value, result] : llvm::zip_equal(op.getValues(), op.getResults()))
    set(result, get(value));
  return success();
}

//===-- Barriers ----------------------------------------------------------------------------===//

LogicalResult NvidiaTranslator::translate(machine::MbarrierInitOp op) {
  if (failed(requireShared(op)))
    return failure();
  ptx("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
      {sharedNumber(get(op.getAddress())), i32(static_cast<int64_t>(op.getCount()))});
  // Seen by the copy engine before anything arrives there; several in a row, with their addresses between them, at
  // once.
  mlir::Operation *next = op->getNextNode();
  while (next && next->getNumRegions() == 0 && mlir::isMemoryEffectFree(next))
    next = next->getNextNode();
  if (!llvm::isa_and_nonnull<machine::MbarrierInitOp>(next))
    ptx("fence.mbarrier_init.release.cluster;");
  return success();
}

/// A remote arrival has no scope: `release.cluster` would wait for all of the wave's writes, a quarter of a GEMM's
/// time, and what the waiter does with the shared memory of this workgroup is ordered by its own engine.
LogicalResult NvidiaTranslator::translate(machine::MbarrierArriveOp op) {
  if (failed(requireShared(op)))
    return failure();
  llvm::SmallVector<Value *> args = {sharedNumber(get(op.getAddress()))};
  std::string expect = op.getExpect() > 0 ? ".expect_tx" : "", bytes, constraints = "r";
  if (op.getExpect() > 0) {
    bytes = ", $1";
    constraints += ",r";
    args.push_back(i32(static_cast<int64_t>(op.getExpect())));
  }
  if (!op.getRank()) {
    ptx("mbarrier.arrive" + expect + ".shared::cta.b64 _, [$0]" + bytes + ";", constraints, args);
    return success();
  }
  std::string rank = "$" + std::to_string(args.size());
  args.push_back(get(op.getRank()));
  ptx("{\n\t.reg .b32 remote;\n\tmapa.shared::cluster.u32 remote, $0, " + rank + ";\n\tmbarrier.arrive" + expect +
          ".shared::cluster.b64 _, [remote]" + bytes + ";\n\t}",
      constraints + ",r", args);
  return success();
}

/// Arrivals alone are instructions that some lanes execute: as a branch they would end the block, and ptxas moves
/// nothing of what comes behind it between the instructions in front.
bool NvidiaTranslator::translatePredicated(mlir::scf::IfOp op) {
  llvm::SmallVector<machine::MbarrierArriveOp> arrivals;
  for (mlir::Operation &each : op.thenBlock()->without_terminator())
    if (auto arrive = llvm::dyn_cast<machine::MbarrierArriveOp>(each); arrive && arrive.getExpect() == 0)
      arrivals.push_back(arrive);
    else
      return false;
  if (arrivals.empty() || op.elseBlock() || failed(requireShared(arrivals.front())))
    return false;
  llvm::SmallVector<Value *> args = {builder.CreateZExt(get(op.getCondition()), builder.getInt32Ty())};
  bool isRemote = llvm::any_of(arrivals, [](machine::MbarrierArriveOp arrive) { return bool(arrive.getRank()); });
  std::string text =
      std::string("{\n\t.reg .pred p;") + (isRemote ? "\n\t.reg .b32 remote;" : "") + "\n\tsetp.ne.b32 p, $0, 0;";
  std::string constraints = "r";
  auto operand = [&](Value *number) {
    args.push_back(number);
    constraints += ",r";
    return "$" + std::to_string(args.size() - 1);
  };
  for (machine::MbarrierArriveOp arrive : arrivals) {
    std::string at = operand(sharedNumber(get(arrive.getAddress()))), space = "cta";
    if (arrive.getRank()) {
      text += "\n\tmapa.shared::cluster.u32 remote, " + at + ", " + operand(get(arrive.getRank())) + ";";
      at = "remote", space = "cluster";
    }
    text += "\n\t@p mbarrier.arrive.shared::" + space + ".b64 _, [" + at + "];";
  }
  ptx(text + "\n\t}", constraints, args);
  return true;
}

/// Lanes that wait behind a branch go on as soon as the one that took it waits in a loop of its own. Seen on an H200: a
/// lane that copied came four phases ahead of the others of its wave, whose wait for one of them never ended.
void NvidiaTranslator::meetAgain() {
  call(I::nvvm_bar_warp_sync, {}, {i32(-1)});
}

LogicalResult NvidiaTranslator::translate(machine::MbarrierWaitOp op) {
  if (failed(requireShared(op)))
    return failure();
  // Arrivals of other workgroups are awaited too; the wider scope costs nothing.
  std::string scope = kernel.clusterSize() > 1 ? ".acquire.cluster" : "";
  ptx("{\n\t.reg .pred p;\n\tagain:\n\tmbarrier.try_wait.parity" + scope +
          ".shared::cta.b64 p, [$0], $1;\n\t@!p bra again;\n\t}",
      "r,r", {sharedNumber(get(op.getAddress())), get(op.getParity())});
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::ClusterArriveOp) {
  ptx("barrier.cluster.arrive.aligned;");
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::ClusterWaitOp) {
  ptx("barrier.cluster.wait.aligned;");
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::GridWaitOp) {
  ptx("griddepcontrol.wait;");
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::GridLaunchOp) {
  ptx("griddepcontrol.launch_dependents;");
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::BarrierOp op) {
  auto id = static_cast<int64_t>(op.getId());
  auto waves = static_cast<int64_t>(op.getWaves().value_or(kernel.getWaves()));
  if (id < 0 || id >= target.namedBarriers || waves < 1 || waves > static_cast<int64_t>(kernel.getWaves()))
    return unsupported(op) << "barrier " << id << " of " << waves << " waves, expected an id below "
                           << target.namedBarriers << " and at most " << static_cast<int64_t>(kernel.getWaves())
                           << " waves";
  llvm::Value *number = op.getPlus() ? builder.CreateAdd(get(op.getPlus()), i32(id)) : i32(id);
  // An H200 faults where all are waited for without a number at a barrier where others arrive with one.
  bool isAlways = id == 0 && waves == static_cast<int64_t>(kernel.getWaves());
  if (op.getArrives())
    call(I::nvvm_barrier_cta_arrive_aligned_count, {}, {number, i32(waves * target.waveSize)});
  else if (isAlways && !op.getPlus())
    call(I::nvvm_barrier_cta_sync_aligned_all, {}, {number});
  else
    call(I::nvvm_barrier_cta_sync_aligned_count, {}, {number, i32(waves * target.waveSize)});
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::FenceOp op) {
  switch (op.getSpace()) {
  case machine::FenceSpace::shared_async:
    ptx("fence.proxy.async.shared::cta;");
    break;
  case machine::FenceSpace::global:
    ptx("fence.acq_rel.gpu;");
    break;
  case machine::FenceSpace::shared:
    ptx("fence.acq_rel.cta;");
    break;
  }
  return success();
}

LogicalResult NvidiaTranslator::translate(machine::RegistersOp op) {
  auto count = static_cast<int64_t>(op.getCount());
  if (count < 24 || count > 256 || count % 8 != 0)
    return unsupported(op) << "a budget of " << count << " registers, expected a multiple of 8 from 24 to 256";
  I::ID id = op.getIncrease() ? I::nvvm_setmaxnreg_inc_sync_aligned_u32 : I::nvvm_setmaxnreg_dec_sync_aligned_u32;
  call(id, {}, {i32(count)});
  return success();
}

} // namespace soliton::backend
