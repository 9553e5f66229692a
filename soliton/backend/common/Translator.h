//===- Translator.h - The machine form as LLVM IR -----------------------------===//
//
// One walk over a kernel that emits LLVM IR through an IRBuilder. What is the same on all targets is here: types,
// arith, math, vector, scf, line tables. A target derives from it and says what its `machine` ops are.
//
// Types: `!machine.ptr` is an address in global memory, `!machine.buffer` what `bufferType()` says, a vector of one
// element is a scalar, small floats are integers of their width.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Uniform.h"
#include "soliton/backend/Backend.h"
#include "soliton/backend/common/LineTable.h"
#include "soliton/ir/Diagnose.h"
#include "soliton/support/DType.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

namespace soliton::backend {

inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedSpace = 3;

class Translator {
public:
  Translator(machine::KernelOp kernel, const Target &target, const Options &options, llvm::Module &module);
  virtual ~Translator() = default;

  /// Fills the module. The module's data layout must be the target's.
  llvm::LogicalResult run();

  /// The kernel's parameters with their places; known after `run`.
  const std::vector<Parameter> &parameters() const { return parameterList; }
  uint32_t parameterBytes() const { return parameterSize; }

protected:
  //===-- What a target says ------------------------------------------------===//
  virtual void declareShared() = 0;
  virtual void setAttributes() = 0;
  /// Runs once at the start of the kernel's body.
  virtual void beginBody() {}
  virtual llvm::Type *bufferType() = 0;
  virtual llvm::LogicalResult translateMachine(mlir::Operation *op) = 0;
  /// 2^x, 1/x and 1/√x in f32 by the hardware's instruction, one to two ulp.
  virtual llvm::Value *fastExp2(llvm::Value *x) = 0;
  virtual llvm::Value *fastReciprocal(llvm::Value *x) = 0;
  virtual llvm::Value *fastReciprocalRoot(llvm::Value *x) = 0;
  /// A maximum or minimum that keeps NaN, where the target has a better way than LLVM's; false if it has none.
  virtual bool translateExtreme(mlir::Operation *op) { return false; }
  /// Small floats as f32, and f32 rounded to them (beyond the largest number: NaN or infinity), by the target's
  /// instructions where it has some.
  virtual llvm::Value *widen(llvm::Value *value, DType small);
  virtual llvm::Value *narrow(llvm::Value *value, DType small);
  /// The address that `buffer` begins at, for atomics.
  virtual llvm::Value *bufferBase(mlir::Value buffer) = 0;
  /// A branch that the target says without one; false where it does not.
  virtual bool translatePredicated(mlir::scf::IfOp op) { return false; }
  /// Behind a branch or loop at which lanes of a wave parted, all of which come here: hardware whose lanes go on by
  /// themselves has to be told that they wait for each other.
  virtual void meetAgain() {}
  /// What was converted for `result`; a back end may hold it where it was computed.
  virtual llvm::Value *keptHere(mlir::Value result, llvm::Value *converted) { return converted; }

  //===-- Values and types --------------------------------------------------===//
  llvm::Value *get(mlir::Value value) { return values.lookup(value); }
  void set(mlir::Value value, llvm::Value *result) { values[value] = result; }
  /// Null, with a diagnostic at `loc`, for types that no target has.
  llvm::Type *convert(mlir::Type type, mlir::Location loc);
  llvm::Type *intType(unsigned bits) { return builder.getIntNTy(bits); }
  static unsigned bitsOf(llvm::Type *type);
  /// The same bits as another type of the same width.
  llvm::Value *bits(llvm::Value *value, llvm::Type *type);
  /// The bits as whole 32-bit words (`i32` or a vector of them), zero-extended if there are fewer than 32.
  llvm::Value *toWords(llvm::Value *value);
  llvm::Value *fromWords(llvm::Value *words, llvm::Type *type);
  llvm::SmallVector<llvm::Value *> elements(llvm::Value *value);
  llvm::Value *fromElements(llvm::ArrayRef<llvm::Value *> list, llvm::Type *type);
  llvm::SmallVector<llvm::Value *> wordList(llvm::Value *value) { return elements(toWords(value)); }
  llvm::Value *mapElements(llvm::Value *value, llvm::function_ref<llvm::Value *(llvm::Value *)> function);
  /// A vector of that many elements; one element is a scalar.
  static llvm::Type *vectorOf(llvm::Type *element, size_t count);
  /// Elements of a vector or 1.
  static unsigned countOf(llvm::Type *type);

  //===-- Emission ----------------------------------------------------------===//
  llvm::CallInst *call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type *> overloads,
                       llvm::ArrayRef<llvm::Value *> args);
  llvm::Value *i32(int64_t value) { return builder.getInt32(static_cast<uint32_t>(value)); }
  enum class AsmEffect { none, convergent, memory };
  llvm::CallInst *assembly(llvm::Type *result, llvm::StringRef text, llvm::StringRef constraints,
                           llvm::ArrayRef<llvm::Value *> args, AsmEffect effect);
  /// Nothing that touches memory moves across this point in LLVM; emits no instruction. What does not clobber memory
  /// leaves loads alone once instructions are selected.
  void compilerFence(bool clobbersMemory = true);
  /// Emits `body` for the lanes where `condition` holds; its value (of `type`, null for none) or zero.
  llvm::Value *predicated(llvm::Value *condition, llvm::Type *type, llvm::function_ref<llvm::Value *()> body);
  /// lane + uniform (if there is one); without the immediate.
  llvm::Value *addressOf(mlir::Value lane, mlir::Value uniform);
  /// `shared block + offset + immediate`.
  llvm::Value *sharedAddress(llvm::Value *offset, int64_t immediate);
  llvm::Value *globalAddress(llvm::Value *base, mlir::Value lane, mlir::Value uniform, int64_t immediate);
  /// Bytes that a value takes in memory, where an i1 is a byte.
  static int64_t memoryBytes(llvm::Type *type);
  /// Whether one instruction moves the value: 1, 2, 4, 8, 12 or 16 bytes.
  llvm::LogicalResult checkWidth(mlir::Operation *op, llvm::Type *type);
  /// What was loaded as words or a byte, as a value of the type; and back.
  llvm::Value *fromMemory(llvm::Value *loaded, llvm::Type *type);
  llvm::Value *toMemory(llvm::Value *value, llvm::Type *memory);
  /// The same bits as elements of another width, by shifts where elements are no whole bytes.
  llvm::Value *recast(llvm::Value *value, llvm::Type *type);
  /// What a target has for atomics: LLVM's word for all of the device, and the narrowest element.
  struct Atomics {
    llvm::StringRef scope;
    unsigned leastBits;
  };
  llvm::LogicalResult translateAtomic(machine::AtomicOp op, const Atomics &has);
  /// The operand of an atomic as LLVM may see it: an addition of zero is none of its business where atomics are
  /// counted.
  virtual llvm::Value *hidden(llvm::Value *operand) { return operand; }
  /// The f32 of which a value of small floats was made without rounding, or null: chains of maxima are narrowed once,
  /// for LLVM drops what nobody uses.
  llvm::Value *wideOf(mlir::Value value) const { return wides.lookup(value); }
  void setWide(mlir::Value value, llvm::Value *wide);
  /// A conversion that the target has no instruction for, element by element.
  llvm::LogicalResult translateConvert(machine::ConvertOp op);

  //===-- Diagnostics -------------------------------------------------------===//
  Report unsupported(mlir::Operation *op) { return report(op->getLoc(), DiagId::BackendUnsupported); }
  /// `kind` is none of `legal`: an error that names those, nearest first.
  llvm::LogicalResult notOnTarget(mlir::Operation *op, llvm::StringRef what, llvm::StringRef kind,
                                  std::vector<std::string> legal);
  /// The native matrix instructions of the target, asynchronous or not.
  std::vector<std::string> nativeMmas(bool async) const;
  llvm::LogicalResult requireCounter(machine::WaitOp op, CounterKind kind);

  machine::KernelOp kernel;
  const Target &target;
  const Options &options;
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::IRBuilder<> builder;
  llvm::Function *function = nullptr;
  /// Null where the kernel has no shared block.
  llvm::GlobalVariable *shared = nullptr;

private:
  llvm::LogicalResult declareKernel();
  llvm::LogicalResult translateBlock(mlir::Block &block);
  llvm::LogicalResult translate(mlir::Operation *op);
  llvm::LogicalResult notOfTheForm(mlir::Operation *op);
  llvm::LogicalResult translateArith(mlir::Operation *op);
  /// On elements of fewer than 16 bits: in f32, rounded once at the end.
  llvm::LogicalResult translateSmall(mlir::Operation *op,
                                     llvm::LogicalResult (Translator::*translate)(mlir::Operation *));
  llvm::LogicalResult translateCast(mlir::Operation *op);
  llvm::LogicalResult translateConstant(mlir::arith::ConstantOp op);
  llvm::LogicalResult translateMath(mlir::Operation *op);
  llvm::LogicalResult translateVector(mlir::Operation *op);
  llvm::LogicalResult translateControl(mlir::Operation *op);
  llvm::LogicalResult translateFor(mlir::scf::ForOp op);
  llvm::LogicalResult translateIf(mlir::scf::IfOp op);
  llvm::LogicalResult translateWhile(mlir::scf::WhileOp op);
  /// Operands of a terminator become the incoming values of phis.
  llvm::SmallVector<llvm::Value *> getAll(mlir::ValueRange range);
  /// A phi for each of `targets`, which are set to them; what comes in is added when it is known.
  llvm::LogicalResult makePhis(mlir::ValueRange targets, llvm::SmallVector<llvm::PHINode *> &phis);
  void setFlags(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, llvm::Value *> values, wides;
  UniformValues uniform;
  /// Inside of a branch or loop that some lanes of a wave take.
  bool parted = false;
  /// Small floats are f32 at the moment.
  bool isWidened = false;
  LineTable lines;
  std::vector<Parameter> parameterList;
  uint32_t parameterSize = 0;
};

} // namespace soliton::backend
