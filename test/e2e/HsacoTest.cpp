//===- HsacoTest.cpp - What the AMD binaries really do ------------------------------------------===//
//
// There is no AMD GPU here, so every code object is read back: its metadata must be what a launch passes, and its
// instructions must be those of the machine form, which the emulator has executed. Between two barriers the accesses of
// each kind and width agree one to one (an LDS pair counts as both); matrix instructions agree in number.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/amd/Hsaco.h"
#include "soliton/backend/amd/Disassemble.h"
#include "soliton/ir/Machine.h"
#include "soliton/runtime/LaunchPlan.h"
#include "test/e2e/Plans.h"
#include "test/e2e/Support.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace soliton::test {
namespace {
using backend::Instruction;
using backend::InstructionKind;
using kernels::Sizes;

/// What happens between two barriers: how often each kind of access with each width in bytes.
using Phase = std::map<std::string, int>;

struct Stream {
  std::vector<Phase> phases = {Phase()};
  int mfmas = 0;
  /// Barriers between which and the last access of shared memory a wait for all of them stands.
  int waits = 0;
  /// Sizes are loaded behind the first access: such loads tick the counter of shared memory too.
  bool loadsSizesLate = false;
  /// Waits for global memory, wherever they stand.
  int globalWaits = 0;
};

std::string access(std::string_view kind, int64_t bytes) {
  return std::string(kind) + " " + std::to_string(bytes);
}

//===-- From the machine form ---------------------------------------------------------------------------===//

int64_t bytesOf(mlir::Type type) {
  auto vector = llvm::cast<mlir::VectorType>(type);
  return std::max<int64_t>(1, vector.getNumElements() * vector.getElementTypeBitWidth() / 8);
}

Stream streamOf(machine::KernelOp kernel) {
  Stream stream;
  bool waited = false; // since the last access of shared memory
  kernel.walk([&](mlir::Operation *op) {
    if (auto load = llvm::dyn_cast<machine::LoadOp>(op); load && !load.getBuffer())
      waited = false;
    if (auto store = llvm::dyn_cast<machine::StoreOp>(op); store && !store.getBuffer())
      waited = false;
    if (auto load = llvm::dyn_cast<machine::LoadOp>(op))
      ++stream.phases
            .back()[access(load.getBuffer() ? "global load" : "shared load", bytesOf(load.getResult().getType()))];
    if (auto load = llvm::dyn_cast<machine::LoadMatrixOp>(op))
      ++stream.phases.back()[access("shared load", bytesOf(load.getResult().getType()))];
    if (auto store = llvm::dyn_cast<machine::StoreOp>(op))
      ++stream.phases
            .back()[access(store.getBuffer() ? "global store" : "shared store", bytesOf(store.getValue().getType()))];
    if (auto copy = llvm::dyn_cast<machine::CopyAsyncOp>(op))
      ++stream.phases.back()[access("direct copy", static_cast<int64_t>(copy.getBytes()))];
    stream.mfmas += llvm::isa<machine::MmaOp>(op);
    auto wait = llvm::dyn_cast<machine::WaitOp>(op);
    stream.globalWaits += wait && wait.getCounter() == machine::Counter::vm;
    waited |= wait && wait.getCounter() == machine::Counter::shared && wait.getCount() == 0;
    if (llvm::isa<machine::BarrierOp>(op)) {
      stream.waits += waited;
      stream.phases.emplace_back();
    }
  });
  return stream;
}

//===-- From the binary ---------------------------------------------------------------------------------===//

/// Bytes that one access of the instruction moves: `buffer_load_dwordx4` 16, `ds_read2_b32` 4.
int64_t widthOf(std::string_view mnemonic) {
  static constexpr std::pair<std::string_view, int64_t> kWidths[] = {
      {"dwordx4", 16}, {"dwordx3", 12}, {"dwordx2", 8}, {"dword", 4}, {"short", 2}, {"byte", 1},
      {"b128", 16},    {"b96", 12},     {"b64", 8},     {"b32", 4},   {"b16", 2},   {"u16", 2},
      {"i16", 2},      {"b8", 1},       {"u8", 1},      {"i8", 1}};
  for (auto [text, bytes] : kWidths)
    if (mnemonic.find(text) != std::string_view::npos)
      return bytes;
  ADD_FAILURE() << "an access of unknown width: " << mnemonic;
  return 0;
}

/// Accesses of the machine form that one instruction does: an LDS pair is two.
int accessesOf(std::string_view mnemonic) {
  return mnemonic.starts_with("ds_read2") || mnemonic.starts_with("ds_write2") ? 2 : 1;
}

std::optional<std::string_view> kindOf(const Instruction &instruction) {
  switch (instruction.kind) {
  case InstructionKind::globalLoad:
    return "global load";
  case InstructionKind::globalStore:
    return "global store";
  case InstructionKind::sharedLoad:
    return "shared load";
  case InstructionKind::sharedStore:
    return "shared store";
  case InstructionKind::sharedDirect:
    return "direct copy";
  default:
    return std::nullopt;
  }
}

Stream streamOf(const backend::Disassembly &binary) {
  Stream stream;
  bool waited = false; // since the last access of shared memory
  for (const Instruction &instruction : binary.instructions) {
    if (std::optional<std::string_view> kind = kindOf(instruction)) {
      stream.phases.back()[access(*kind, widthOf(instruction.mnemonic))] += accessesOf(instruction.mnemonic);
      waited &= !kind->starts_with("shared");
    }
    stream.mfmas += instruction.kind == InstructionKind::mfma;
    stream.loadsSizesLate |= instruction.kind == InstructionKind::scalarLoad && !stream.phases.front().empty();
    stream.globalWaits +=
        instruction.kind == InstructionKind::waitcnt && instruction.operands.find("vmcnt") != std::string::npos;
    waited |=
        instruction.kind == InstructionKind::waitcnt && instruction.operands.find("lgkmcnt(0)") != std::string::npos;
    if (instruction.kind == InstructionKind::barrier) {
      stream.waits += waited;
      stream.phases.emplace_back();
    }
  }
  return stream;
}

//===-- Tests -------------------------------------------------------------------------------------------===//

std::vector<Case> amdOf(std::vector<Case> cases) {
  std::erase_if(cases, [](const Case &which) { return which.target->vendor != Vendor::amd; });
  return cases;
}

/// Families whose kernels are matrix products.
bool multiplies(const kernels::KernelEntry &entry) {
  return entry.family == "gemm" || entry.family == "attention" || entry.family == "convolution";
}

class Hsaco : public testing::TestWithParam<Case> {
protected:
  Hsaco() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<machine::MachineDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                        mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  }

  void check(const Sizes &sizes, const std::vector<std::string> &dynamic) {
    CompileOptions options = GetParam().options(sizes, dynamic);
    options.keep = {Artefact::machine};
    CompileAttempt attempt = compileImage(GetParam().entry->build(*GetParam().variant), options, rt::ImageKind::hsaco);
    ASSERT_TRUE(attempt) << format(attempt.diagnostics);
    EXPECT_EQ(attempt.result->spillBytes, 0u);
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(attempt.result->artefacts.front().second, &context, "machine.mlir");
    ASSERT_TRUE(module);
    machine::KernelOp kernel = *module->getOps<machine::KernelOp>().begin();
    rt::KernelImage image = lastKernel(attempt.result->image);
    std::string code(reinterpret_cast<const char *>(image.code.data()), image.code.size());
    checkMetadata(image, code, kernel);
    checkStream(code, kernel);
  }

  /// Of a plan the kernel that the author wrote, which comes last.
  static rt::KernelImage lastKernel(rt::KernelImage image) {
    if (image.further.empty())
      return image;
    rt::LaunchStep last = image.further.back();
    image.entry = last.entry;
    image.code = last.code;
    image.threads = last.threads;
    image.staticSharedBytes = last.staticSharedBytes;
    image.dynamicSharedBytes = last.dynamicSharedBytes;
    return image;
  }

  void checkMetadata(const rt::KernelImage &image, const std::string &code, machine::KernelOp kernel) {
    std::string error;
    std::optional<backend::HsacoKernel> metadata = backend::readHsaco(code, error);
    ASSERT_TRUE(metadata) << error;
    EXPECT_EQ(metadata->name, image.entry);
    EXPECT_TRUE(metadata->target.ends_with(image.target)) << metadata->target;
    EXPECT_EQ(metadata->waveSize, kernel.getWaveSize());
    EXPECT_EQ(metadata->maxThreads, image.threads[0]);
    EXPECT_EQ(image.threads[0], kernel.getWaveSize() * kernel.getWaves());
    EXPECT_EQ(metadata->groupBytes, kernel.getSharedBytes());
    EXPECT_EQ(image.staticSharedBytes, kernel.getSharedBytes());
    EXPECT_EQ(image.dynamicSharedBytes, 0u);
    EXPECT_EQ(metadata->privateBytes, 0u);
    checkParameters(image, *metadata);
  }

  /// The block that a launch fills against the one that the code object reads.
  void checkParameters(const rt::KernelImage &image, const backend::HsacoKernel &metadata) {
    struct Parameter {
      std::string name, kind;
      uint32_t offset, size;
    };
    rt::ParameterLayout layout(image);
    std::vector<Parameter> launch;
    for (size_t i = 0; i < image.arguments.size(); ++i)
      if (image.arguments[i].kind == rt::ArgumentKind::buffer)
        launch.push_back({image.arguments[i].name, "global_buffer", layout.arguments[i], 8});
    if (layout.workspace)
      launch.push_back({"workspace", "global_buffer", *layout.workspace, 8});
    for (size_t i = 0; i < image.arguments.size(); ++i)
      if (image.arguments[i].kind == rt::ArgumentKind::scalar)
        launch.push_back({image.arguments[i].name, "by_value", layout.arguments[i],
                          static_cast<uint32_t>(bits(image.arguments[i].dtype)) / 8});
    for (size_t i = 0; i < image.symbols.size(); ++i)
      launch.push_back({image.symbols[i].name, "by_value", layout.symbols[i], 4});
    ASSERT_EQ(metadata.arguments.size(), launch.size());
    for (size_t i = 0; i < launch.size(); ++i) {
      const backend::HsacoArgument &found = metadata.arguments[i];
      EXPECT_EQ(std::tie(found.name, found.kind, found.offset, found.size),
                std::tie(launch[i].name, launch[i].kind, launch[i].offset, launch[i].size));
    }
    EXPECT_GE(metadata.kernargBytes, layout.bytes);
    EXPECT_LT(metadata.kernargBytes, layout.bytes + 8);
  }

  void checkStream(const std::string &code, machine::KernelOp kernel) {
    std::string error;
    std::optional<backend::Disassembly> binary = backend::disassembleHsaco(code, GetParam().target->name, error);
    ASSERT_TRUE(binary) << error;
    EXPECT_EQ(binary->count(InstructionKind::scratch), 0u);
    EXPECT_EQ(binary->count(InstructionKind::other), 0u);
    Stream said = streamOf(kernel), found = streamOf(*binary);
    EXPECT_EQ(said.mfmas > 0, multiplies(*GetParam().entry));
    EXPECT_EQ(said.phases.size() > 1, kernel.getSharedBytes() > 0);
    EXPECT_EQ(found.mfmas, said.mfmas);
    EXPECT_EQ(found.phases.size(), said.phases.size()) << "barriers";
    if (found.loadsSizesLate)
      EXPECT_GE(found.waits, said.waits);
    else
      EXPECT_EQ(found.waits, said.waits);
    // LLVM waits by itself where a register is loaded, never for a direct copy.
    bool loads = llvm::any_of(said.phases, [](const Phase &phase) {
      return llvm::any_of(phase, [](const auto &entry) { return entry.first.starts_with("global load"); });
    });
    if (!loads)
      EXPECT_EQ(found.globalWaits, said.globalWaits);
    for (size_t i = 0; i < std::min(found.phases.size(), said.phases.size()); ++i) {
      // A loop that loads nothing into registers begins with its barrier.
      if (i > 0 || loads)
        EXPECT_FALSE(said.phases[i].empty()) << "after " << i << " barriers";
      EXPECT_EQ(found.phases[i], said.phases[i]) << "after " << i << " barriers";
    }
  }

  mlir::MLIRContext context;
};

TEST_P(Hsaco, WholeTiles) {
  check(planFor(*GetParam().entry).many, {});
}

TEST_P(Hsaco, DynamicSizes) {
  check(planFor(*GetParam().entry).many, GetParam().entry->dynamicSizes());
}

/// Tiles of the benchmark: what the binary copies, reads and computes is what was said.
TEST(HsacoDirect, WidestCopyOfTheTarget) {
  for (auto [target, tile, depth, text] :
       {std::tuple("gfx950", 256, 64, "buffer_load_dwordx4"), std::tuple("gfx942", 128, 32, "buffer_load_dword")}) {
    Case which{kernels::findKernel("gemm"), nullptr, findTarget(target)};
    which.variant = which.entry->findVariant("bf16");
    which.tiles = {{"BLOCK_M", tile}, {"BLOCK_N", tile}, {"BLOCK_K", depth}};
    which.directCopies = true;
    CompileOptions options = which.options({{"M", 4096}, {"N", 4096}, {"K", 4096}});
    options.countBankConflicts = true;
    CompileAttempt attempt = compileImage(which.entry->build(*which.variant), options, rt::ImageKind::hsaco);
    ASSERT_TRUE(attempt) << format(attempt.diagnostics);
    EXPECT_TRUE(attempt.diagnostics.empty()) << format(attempt.diagnostics);
    EXPECT_FALSE(attempt.result->bankConflicts.empty());
    for (const BankConflicts &access : attempt.result->bankConflicts)
      EXPECT_EQ(access.conflicts, 0) << target;
    const rt::KernelImage &image = attempt.result->image;
    std::string code(reinterpret_cast<const char *>(image.code.data()), image.code.size()), error;
    std::optional<backend::Disassembly> binary = backend::disassembleHsaco(code, target, error);
    ASSERT_TRUE(binary) << error;
    int64_t bytes = 2 * tile * depth * 2, threads = image.threads[0], width = widthOf(text);
    EXPECT_EQ(binary->count(InstructionKind::sharedDirect), static_cast<size_t>(bytes / threads / width));
    EXPECT_EQ(binary->count(InstructionKind::globalLoad), 0u);
    EXPECT_EQ(binary->count(InstructionKind::sharedStore), 0u);
    for (const Instruction &instruction : binary->instructions)
      if (instruction.kind == InstructionKind::sharedDirect) {
        EXPECT_EQ(instruction.mnemonic, text);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Direct, Hsaco, testing::ValuesIn(amdOf(directCases())), caseName);
INSTANTIATE_TEST_SUITE_P(All, Hsaco, testing::ValuesIn(amdOf(mainCases())), caseName);

} // namespace
} // namespace soliton::test
