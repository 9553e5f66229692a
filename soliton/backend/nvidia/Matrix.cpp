//===- Matrix.cpp - mma.sync and wgmma -----------------------------------------------===//
//
// mma.sync is an LLVM intrinsic; that of f8 is two of f16, as ptxas would make it of them. wgmma is inline PTX with its
// accumulators tied in and out; they are pending until the wait that takes them and gives them back, so that no use can
// move before it. `wgmma.fence` comes before the first of a group and before one whose left operand was computed since.
//
//===----------------------------------------------------------------------===//

#include "soliton/backend/nvidia/NvidiaTranslator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace soliton::backend {

using llvm::LogicalResult;
using llvm::Value;
using mlir::success;
namespace I = llvm::Intrinsic;

/// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32` → `llvm.nvvm.mma.m16n8k16.row.col.f32.f32`: LLVM leaves out what
/// the others imply.
static std::string intrinsicName(llvm::StringRef kind) {
  kind.consume_front("mma.sync.aligned.");
  llvm::SmallVector<llvm::StringRef> parts;
  kind.split(parts, '.');
  if (parts.size() != 7)
    return {};
  std::string name = ("llvm.nvvm.mma." + parts[0] + "." + parts[1] + "." + parts[2]).str();
  llvm::StringRef result = parts[3], lhs = parts[4], rhs = parts[5], acc = parts[6];
  if (lhs == "f16")
    return (name + "." + result + "." + acc).str();
  if (lhs == "e4m3" || lhs == "e5m2")
    return (name + "." + result + "." + lhs + "." + rhs + "." + acc).str();
  return (name + "." + lhs + (lhs == rhs ? "" : "." + rhs.str())).str();
}

/// The registers that parameters [begin, end) take, cut from the bits of `value`; empty if they do not fit.
static llvm::SmallVector<llvm::Type *> operandTypes(llvm::FunctionType *type, unsigned &begin, unsigned bits) {
  llvm::SmallVector<llvm::Type *> types;
  unsigned sum = 0;
  while (begin < type->getNumParams() && sum < bits) {
    types.push_back(type->getParamType(begin++));
    sum += types.back()->getPrimitiveSizeInBits().getFixedValue();
  }
  if (sum != bits)
    types.clear();
  return types;
}

/// Results of an intrinsic as the registers of one vector.
Value *NvidiaTranslator::joinResults(Value *result) {
  llvm::SmallVector<Value *> list;
  for (unsigned i = 0; i < llvm::cast<llvm::StructType>(result->getType())->getNumElements(); ++i)
    list.push_back(builder.CreateExtractValue(result, i));
  if (list[0]->getType()->isVectorTy())
    for (Value *&piece : list)
      piece = bits(piece, builder.getIntNTy(bitsOf(piece->getType())));
  return fromElements(list, vectorOf(list[0]->getType(), list.size()));
}

/// The lower or upper two of the four f8 in each register, as f16. The upper ones by a shift that LLVM does not see:
/// where ptxas finds the register to be zero it takes the immediate 16 for its upper half.
llvm::SmallVector<Value *> NvidiaTranslator::widenedHalves(mlir::Value operand, bool upper) {
  bool isE5m2 = llvm::isa<mlir::Float8E5M2Type>(mlir::getElementTypeOrSelf(operand.getType()));
  I::ID widen = isE5m2 ? I::nvvm_e5m2x2_to_f16x2_rn : I::nvvm_e4m3x2_to_f16x2_rn;
  return llvm::map_to_vector(elements(toWords(get(operand))), [&](Value *word) -> Value * {
    llvm::Type *type = builder.getInt32Ty();
    Value *lower = upper ? assembly(type, "shr.u32 $0, $1, 16;", "=r,r", {word}, AsmEffect::none) : word;
    return call(widen, {}, {builder.CreateTrunc(lower, builder.getInt16Ty())});
  });
}

/// Hopper multiplies no f8 outside of wgmma: ptxas widens both operands, exactly, and multiplies f16. It does so
/// wrongly where it finds an operand to be zero (13.0 unpacks 16 instead), so it gets what it would make. Both operands
/// are cut in the same way, so that the same elements meet: of 32 along the contraction the lower halves make one
/// product and the upper ones another; of 16 they are the first and the second eight of one.
LogicalResult NvidiaTranslator::translateSmallMma(machine::MmaOp op) {
  llvm::Type *type = get(op.getAcc())->getType();
  Value *sum = bits(get(op.getAcc()), vectorOf(builder.getFloatTy(), 4));
  auto add = [&](std::initializer_list<bool> halves) {
    llvm::SmallVector<Value *> args;
    for (mlir::Value operand : {op.getLhs(), op.getRhs()})
      for (bool upper : halves)
        llvm::append_range(args, widenedHalves(operand, upper));
    llvm::append_range(args, elements(sum));
    sum = joinResults(call(I::nvvm_mma_m16n8k16_row_col_f32_f32, {}, args));
  };
  if (op.getKind().contains("m16n8k32")) {
    add({false});
    add({true});
  } else {
    add({false, true});
  }
  set(op, bits(sum, type));
  return success();
}

static bool isSmallMma(llvm::StringRef kind) {
  return kind.contains(".f32.e4m3.") || kind.contains(".f32.e5m2.");
}

LogicalResult NvidiaTranslator::translate(machine::MmaOp op) {
  std::vector<std::string> legal = nativeMmas(/*async=*/false);
  I::ID id = llvm::is_contained(legal, op.getKind().str()) ? I::lookupIntrinsicID(intrinsicName(op.getKind()))
                                                           : I::ID(I::not_intrinsic);
  if (id == I::not_intrinsic)
    return notOnTarget(op, "matrix instruction", op.getKind(), legal);
  if (!op.getScales().empty())
    return unsupported(op) << "`" << op.getKind() << "` takes no scales";
  llvm::FunctionType *type = I::getType(context, id);
  Value *operands[] = {get(op.getLhs()), get(op.getRhs()), get(op.getAcc())};
  llvm::SmallVector<Value *> args;
  unsigned next = 0;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    llvm::SmallVector<llvm::Type *> types = operandTypes(type, next, bitsOf(operand->getType()));
    if (types.empty())
      return unsupported(op) << "operand " << i << " of `" << op.getKind() << "` has type "
                             << op->getOperand(i).getType() << ", which is not what it takes";
    // A register may itself be a vector (two halves); vectors of vectors do not exist, so it is cut as one integer.
    llvm::Type *word = types[0]->isVectorTy() ? builder.getIntNTy(bitsOf(types[0])) : types[0];
    for (Value *piece : elements(bits(operand, vectorOf(word, types.size()))))
      args.push_back(bits(piece, types[0]));
  }
  if (next != type->getNumParams())
    return unsupported(op) << "`" << op.getKind() << "` takes more than the operands have";
  if (isSmallMma(op.getKind()))
    return translateSmallMma(op);
  set(op, bits(joinResults(call(id, {}, args)), operands[2]->getType()));
  return success();
}

//===-- wgmma -----------------------------------------------------------------------===//

/// Ends where what was issued is committed or waited for, and where control flow begins. Groups of copies are others.
static bool endsGroup(mlir::Operation *op) {
  auto commit = llvm::dyn_cast<machine::CommitOp>(op);
  return (commit && commit.getCounter() == machine::Counter::mma) || llvm::isa<machine::WaitOp>(op) ||
         op->getNumRegions() > 0;
}

/// Registers that an asynchronous matrix instruction reads or writes.
static llvm::SmallVector<mlir::Value> registersOf(machine::MmaAsyncOp op) {
  llvm::SmallVector<mlir::Value> list;
  if (!op.getZeroAcc()) // otherwise what is in it is not read
    list.push_back(op.getAcc());
  if (op.getLhs())
    list.push_back(op.getLhs());
  return list;
}

/// Whether products take the value, or one that it is a part of, as a factor from registers, perhaps in a later trip.
static bool becomesFactor(mlir::Value value) {
  llvm::SmallSetVector<mlir::Value, 8> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (mlir::OpOperand &use : reached[i].getUses()) {
      mlir::Operation *user = use.getOwner();
      if (auto mma = llvm::dyn_cast<machine::MmaAsyncOp>(user); mma && mma.getLhs() == use.get())
        return true;
      if (llvm::isa<mlir::vector::InsertStridedSliceOp, mlir::vector::ShuffleOp>(user))
        reached.insert(user->getResult(0));
      auto loop = llvm::dyn_cast<mlir::scf::ForOp>(user->getParentOp());
      if (loop && llvm::isa<mlir::scf::YieldOp>(user)) {
        reached.insert(loop.getResult(use.getOperandNumber()));
        reached.insert(loop.getRegionIterArg(use.getOperandNumber()));
      }
      if (auto entered = llvm::dyn_cast<mlir::scf::ForOp>(user))
        if (mlir::BlockArgument argument = entered.getTiedLoopRegionIterArg(&use))
          reached.insert(argument);
    }
  return false;
}

/// LLVM moves what is used once behind the branches that follow. A factor would so be converted behind the next
/// product, and what it is made of takes twice its registers until then.
Value *NvidiaTranslator::keptHere(mlir::Value result, Value *converted) {
  if (!becomesFactor(result))
    return converted;
  llvm::SmallVector<Value *> words = wordList(converted);
  for (Value *&word : words)
    word = assembly(word->getType(), "", "=r,0", {word}, AsmEffect::memory);
  return fromWords(fromElements(words, vectorOf(builder.getInt32Ty(), words.size())), converted->getType());
}

/// Whether a register of the op may have been written since the last fence. One that an instruction of the same group
/// has written needs none.
bool NvidiaTranslator::needsFence(machine::MmaAsyncOp op) {
  if (!lastFence || lastFence->getBlock() != op->getBlock())
    return true;
  for (mlir::Operation *before = op->getPrevNode(); before && before != lastFence; before = before->getPrevNode())
    if (endsGroup(before))
      return true;
  return llvm::any_of(registersOf(op), [&](mlir::Value value) {
    mlir::Operation *def = value.getDefiningOp();
    return def && def->getBlock() == op->getBlock() && lastFence->isBeforeInBlock(def) &&
           !llvm::isa<machine::MmaAsyncOp>(def);
  });
}

/// Whether it is a sum that the loop's last iteration left under way: products go on with it in order, and nothing may
/// touch its registers.
static bool isCarriedOn(mlir::Value value) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  auto loop = argument ? llvm::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp()) : mlir::scf::ForOp();
  if (!loop || argument.getArgNumber() == 0)
    return false;
  mlir::Value yielded = loop.getYieldedValues()[argument.getArgNumber() - 1];
  return llvm::isa_and_nonnull<machine::MmaAsyncOp>(yielded.getDefiningOp());
}

/// What was computed of the sum whose registers a product takes that begins anew.
static llvm::SmallVector<mlir::Value> madeOfSumBefore(machine::MmaAsyncOp op) {
  llvm::SmallVector<mlir::Value> made;
  mlir::Operation *wait = op.getZeroAcc() ? op.getAcc().getDefiningOp() : nullptr;
  if (llvm::isa_and_nonnull<machine::WaitOp>(wait))
    for (mlir::Operation *user : op.getAcc().getUsers())
      if (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op) && !llvm::isa<machine::WaitOp>(user))
        for (mlir::Value result : user->getResults())
          if (mlir::getElementTypeOrSelf(result.getType()).isF32())
            made.push_back(result);
  return made;
}

/// One fence through which all registers go that the rest of the group uses and that are there by now: what writes them
/// stays before it, what uses them after it. So does what was computed of a sum whose registers the group takes: LLVM
/// would move it behind the branches that follow, and copy the sum until then.
void NvidiaTranslator::fenceGroup(machine::MmaAsyncOp op) {
  fenced.clear();
  lastFence = op;
  llvm::SmallSetVector<mlir::Value, 8> list, made;
  for (mlir::Operation *each = op; each && !endsGroup(each); each = each->getNextNode())
    if (auto mma = llvm::dyn_cast<machine::MmaAsyncOp>(each)) {
      for (mlir::Value value : registersOf(mma))
        if (get(value) && !llvm::isa_and_nonnull<machine::MmaAsyncOp>(value.getDefiningOp()) && !isCarriedOn(value))
          list.insert(value);
      made.insert_range(madeOfSumBefore(mma));
    }
  list.insert_range(made);
  llvm::SmallVector<Value *> args;
  llvm::SmallVector<llvm::Type *> types;
  std::string outputs, inputs;
  auto parts = [&](mlir::Value value) {
    llvm::Type *element = get(value)->getType()->getScalarType();
    return element->isFloatTy() ? elements(get(value)) : wordList(get(value));
  };
  for (mlir::Value value : list)
    for (Value *part : parts(value)) {
      inputs += std::to_string(args.size()) + ",";
      outputs += part->getType()->isFloatTy() ? "=f," : "=r,";
      types.push_back(part->getType());
      args.push_back(part);
    }
  llvm::Type *type = types.empty()       ? builder.getVoidTy()
                     : types.size() == 1 ? types[0]
                                         : static_cast<llvm::Type *>(llvm::StructType::get(context, types));
  Value *done = assembly(type, "wgmma.fence.sync.aligned;", outputs + inputs + "~{memory}", args, AsmEffect::memory);
  unsigned next = 0;
  for (mlir::Value value : list) {
    llvm::Type *original = get(value)->getType();
    llvm::SmallVector<Value *> pieces;
    for (size_t i = 0, count = parts(value).size(); i < count; ++i, ++next)
      pieces.push_back(types.size() == 1 ? done : builder.CreateExtractValue(done, next));
    Value *joined = fromElements(pieces, vectorOf(pieces[0]->getType(), pieces.size()));
    Value *behind = original->getScalarType()->isFloatTy() ? joined : fromWords(joined, original);
    if (made.contains(value))
      set(value, behind);
    else
      fenced[value] = behind;
  }
}

/// A register of the group as it came out of the fence.
Value *NvidiaTranslator::afterFence(mlir::Value value) {
  Value *known = fenced.lookup(value);
  return known ? known : get(value);
}

Value *NvidiaTranslator::asProductsTake(mlir::Value factor) {
  Value *taken = takenFactors.lookup(factor);
  return taken ? taken : get(factor);
}

const MmaKind *NvidiaTranslator::checkAsync(machine::MmaAsyncOp op) {
  auto kind =
      llvm::find_if(target.mmas, [&](const MmaKind &k) { return k.async && k.native.instruction == op.getKind(); });
  if (kind == target.mmas.end()) {
    (void)notOnTarget(op, "asynchronous matrix instruction", op.getKind(), nativeMmas(/*async=*/true));
    return nullptr;
  }
  llvm::Type *acc = get(op.getAcc())->getType();
  if (countOf(acc) != static_cast<unsigned>(kind->acc.nativeRegs)) {
    (void)(unsupported(op) << "the accumulator of `" << op.getKind() << "` has " << countOf(acc)
                           << " elements, expected " << kind->acc.nativeRegs);
    return nullptr;
  }
  if (op.getLhs() && bitsOf(get(op.getLhs())->getType()) != 128) {
    (void)(unsupported(op) << "the left operand of `" << op.getKind() << "` has type " << op.getLhs().getType()
                           << ", expected 128 bits a lane");
    return nullptr;
  }
  return mlir::succeeded(requireShared(op)) ? &*kind : nullptr;
}

/// What follows the operands: signs only for floats; how they are stored only for 16-bit types, and only of those in
/// memory.
static std::string immediatesOf(machine::MmaAsyncOp op, const MmaKind &kind) {
  std::string text = kind.acc.type == DType::f32 ? ", 1, 1" : "";
  if (soliton::bits(kind.lhs.type) != 16)
    return text;
  auto turned = [&](mlir::Value descriptor, llvm::StringRef said) {
    auto tile = descriptor.getDefiningOp<machine::SharedTileOp>();
    return (tile ? !tile.getKMajor() : op->hasAttr(said)) ? ", 1" : ", 0";
  };
  if (!op.getLhs())
    text += turned(op.getLhsDescriptor(), "trans_lhs");
  return text + turned(op.getRhsDescriptor(), "trans_rhs");
}

/// The address without the constant that is added to it, and that.
static std::pair<mlir::Value, int64_t> withoutConstant(mlir::Value address) {
  auto sum = address.getDefiningOp<mlir::arith::AddIOp>();
  llvm::APInt constant;
  if (sum && mlir::matchPattern(sum.getRhs(), mlir::m_ConstantInt(&constant)))
    return {sum.getLhs(), constant.getSExtValue()};
  return {address, 0};
}

/// The shared block as descriptors count it: in units of 16 bytes.
Value *NvidiaTranslator::sharedUnits() {
  Value *units = builder.CreateLShr(sharedNumber(i32(0)), 4);
  // In a cluster an address says in its upper bits whose block it is in, where a descriptor has its leading distance.
  constexpr int64_t unitsOfABlock = 0x3fff;
  return kernel.clusterSize() > 1 ? builder.CreateAnd(units, i32(unitsOfABlock)) : units;
}

/// Where it begins and its distances in units of 16 bytes; how chunks change places in the upper bits. Tiles that begin
/// a constant apart are a constant apart, so that what they begin with is made once for all of them, and only the lower
/// half is computed:
///
///   address 16384 + %x, 16416 + %x     begin = %x / 16 + block / 16     lower halves begin + 1024, begin + 1026
LogicalResult NvidiaTranslator::translate(machine::SharedTileOp op) {
  if (failed(requireShared(op)))
    return mlir::failure();
  uint64_t mode = op.getSwizzle() == 128 ? 1 : op.getSwizzle() == 64 ? 2 : 3;
  auto [begin, constant] = withoutConstant(op.getAddress());
  if (constant % 16 != 0)
    std::tie(begin, constant) = std::pair(mlir::Value(op.getAddress()), 0);
  // No sum of units reaches the leading distance, which begins at bit 16; a beginning may be below 0 without its
  // constant.
  int64_t lower = constant / 16 + static_cast<int64_t>(op.getLeading() / 16 << 16);
  Value *units = builder.CreateAdd(builder.CreateAShr(get(begin), 4), sharedUnits());
  Value *start = builder.CreateZExt(builder.CreateAdd(units, i32(lower)), builder.getInt64Ty());
  set(op, builder.CreateOr(start, builder.getInt64((op.getStride() / 16) << 32 | mode << 62)));
  return success();
}

/// What the instruction takes: raw descriptors count from the beginning of the shared block.
Value *NvidiaTranslator::descriptorOf(mlir::Value descriptor) {
  if (descriptor.getDefiningOp<machine::SharedTileOp>())
    return get(descriptor);
  return builder.CreateAdd(get(descriptor), builder.CreateZExt(sharedUnits(), builder.getInt64Ty()));
}

LogicalResult NvidiaTranslator::translate(machine::MmaAsyncOp op) {
  const MmaKind *kind = checkAsync(op);
  if (!kind)
    return mlir::failure();
  if (needsFence(op))
    fenceGroup(op);
  llvm::Type *accType = get(op.getAcc())->getType();
  llvm::SmallVector<Value *> accs = elements(afterFence(op.getAcc())), args;
  auto count = static_cast<unsigned>(accs.size());
  std::string constraints;
  for (unsigned i = 0; i < count; ++i)
    constraints += accs[i]->getType()->isFloatTy() ? "=f," : "=r,";
  // Zeros are not read; what else is named there says which registers to use.
  if (!op.getZeroAcc() || !llvm::isa<llvm::Constant>(get(op.getAcc())))
    for (unsigned i = 0; i < count; ++i) {
      constraints += std::to_string(i) + ",";
      args.push_back(accs[i]);
    }
  unsigned lhs = count + static_cast<unsigned>(args.size());
  bool inRegisters = static_cast<bool>(op.getLhs());
  if (inRegisters)
    llvm::append_range(args, wordList(takenFactors[op.getLhs()] = afterFence(op.getLhs())));
  else
    args.push_back(descriptorOf(op.getLhsDescriptor()));
  args.push_back(descriptorOf(op.getRhsDescriptor()));
  constraints += inRegisters ? "r,r,r,r,l" : "l,l";
  std::string rhs = std::to_string(lhs + (inRegisters ? 4 : 1));
  std::string text = std::string("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, ") + (op.getZeroAcc() ? "0" : "1") + ", 0;\n\t" +
                     op.getKind().str() + " " + operandList(0, count) + ", " +
                     (inRegisters ? operandList(lhs, 4) : "$" + std::to_string(lhs)) + ", $" + rhs + ", p" +
                     immediatesOf(op, *kind) + ";\n\t}";
  llvm::SmallVector<llvm::Type *> types(count, accs[0]->getType());
  Value *result = assembly(llvm::StructType::get(context, types), text, constraints, args, AsmEffect::memory);
  for (unsigned i = 0; i < count; ++i)
    accs[i] = builder.CreateExtractValue(result, i);
  set(op, fromElements(accs, accType));
  return success();
}

} // namespace soliton::backend
