//===- Disassemble.cpp - What an HSACO really does --------------------------------===//

#include "soliton/backend/amd/Disassemble.h"

#include "soliton/backend/common/Codegen.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"

namespace soliton::backend {

std::string_view name(InstructionKind kind) {
  static constexpr std::string_view names[] = {
      "mfma",         "shared-load",   "shared-store",  "shared-atomic", "lanes",       "global-load",
      "global-store", "global-atomic", "shared-direct", "scratch",       "scalar-load", "waitcnt",
      "barrier",      "branch",        "vector",        "scalar",        "nop",         "other"};
  return names[static_cast<size_t>(kind)];
}

static InstructionKind classifyShared(llvm::StringRef mnemonic) {
  if (mnemonic.starts_with("ds_read"))
    return InstructionKind::sharedLoad;
  if (mnemonic.starts_with("ds_write"))
    return InstructionKind::sharedStore;
  if (mnemonic.starts_with("ds_bpermute") || mnemonic.starts_with("ds_permute") || mnemonic.starts_with("ds_swizzle"))
    return InstructionKind::lanes;
  return InstructionKind::sharedAtomic;
}

static InstructionKind classifyGlobal(llvm::StringRef mnemonic, llvm::StringRef operands) {
  if (mnemonic.contains("_atomic"))
    return InstructionKind::globalAtomic;
  if (mnemonic.contains("_store"))
    return InstructionKind::globalStore;
  if (mnemonic.contains("_load"))
    return operands.ends_with(" lds") || operands.contains(" lds ") || mnemonic.contains("_lds_")
               ? InstructionKind::sharedDirect
               : InstructionKind::globalLoad;
  return InstructionKind::other; // cache control
}

InstructionKind classify(std::string_view mnemonicText, std::string_view operandText) {
  llvm::StringRef mnemonic(mnemonicText.data(), mnemonicText.size()), operands(operandText.data(), operandText.size());
  if (mnemonic.starts_with("v_mfma") || mnemonic.starts_with("v_smfmac"))
    return InstructionKind::mfma;
  if (mnemonic.starts_with("ds_"))
    return classifyShared(mnemonic);
  if (mnemonic.starts_with("buffer_") || mnemonic.starts_with("global_") || mnemonic.starts_with("flat_"))
    return classifyGlobal(mnemonic, operands);
  if (mnemonic.starts_with("scratch_"))
    return InstructionKind::scratch;
  if (mnemonic.starts_with("s_load") || mnemonic.starts_with("s_buffer_load"))
    return InstructionKind::scalarLoad;
  if (mnemonic.starts_with("s_waitcnt"))
    return InstructionKind::waitcnt;
  if (mnemonic.starts_with("s_barrier"))
    return InstructionKind::barrier;
  if (mnemonic.starts_with("s_cbranch") || mnemonic == "s_branch" || mnemonic == "s_setpc_b64" ||
      mnemonic == "s_endpgm")
    return InstructionKind::branch;
  if (mnemonic == "s_nop" || mnemonic == "v_nop")
    return InstructionKind::nop;
  if (mnemonic.starts_with("v_permlane") || operands.contains("row_") || operands.contains("quad_perm"))
    return InstructionKind::lanes;
  if (mnemonic.starts_with("v_"))
    return InstructionKind::vector;
  return mnemonic.starts_with("s_") ? InstructionKind::scalar : InstructionKind::other;
}

size_t Disassembly::count(InstructionKind kind) const {
  return llvm::count_if(instructions, [&](const Instruction &i) { return i.kind == kind; });
}

namespace {
/// The MC objects that decoding needs, in the order in which they must live.
struct Decoder {
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> chip;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;

  bool create(const std::string &cpu, std::string &error) {
    llvm::Triple triple("amdgcn-amd-amdhsa");
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target)
      return false;
    llvm::MCTargetOptions options;
    registers.reset(target->createMCRegInfo(triple));
    assembly.reset(target->createMCAsmInfo(*registers, triple, options));
    chip.reset(target->createMCSubtargetInfo(triple, cpu, ""));
    instructions.reset(target->createMCInstrInfo());
    context = std::make_unique<llvm::MCContext>(triple, assembly.get(), registers.get(), chip.get());
    disassembler.reset(target->createMCDisassembler(*chip, *context));
    printer.reset(target->createMCInstPrinter(triple, 0, *assembly, *instructions, *registers));
    if (disassembler && printer)
      return true;
    error = "LLVM cannot disassemble " + cpu;
    return false;
  }
};

/// The bytes of the one kernel, and where they lie.
struct Code {
  std::string name;
  llvm::ArrayRef<uint8_t> bytes;
  uint64_t address = 0;
};
} // namespace

static llvm::Expected<Code> findKernel(const llvm::object::ObjectFile &object) {
  for (const llvm::object::SymbolRef &symbol : object.symbols()) {
    auto type = symbol.getType();
    auto section = symbol.getSection();
    if (!type || !section || *type != llvm::object::SymbolRef::ST_Function || *section == object.section_end()) {
      llvm::consumeError(type.takeError());
      llvm::consumeError(section.takeError());
      continue;
    }
    auto name = symbol.getName();
    auto address = symbol.getAddress();
    auto contents = (*section)->getContents();
    if (!name || !address || !contents)
      return llvm::joinErrors(llvm::joinErrors(name.takeError(), address.takeError()), contents.takeError());
    uint64_t begin = *address - (*section)->getAddress();
    uint64_t size = llvm::object::ELFSymbolRef(symbol).getSize();
    return Code{name->str(), llvm::arrayRefFromStringRef(contents->substr(begin, size)), *address};
  }
  return llvm::createStringError("it has no kernel");
}

static Instruction decode(Decoder &decoder, const llvm::MCInst &inst, uint64_t address) {
  Instruction result;
  result.address = address;
  std::string text;
  llvm::raw_string_ostream stream(text);
  decoder.printer->printInst(&inst, address, "", *decoder.chip, stream);
  llvm::StringRef trimmed = llvm::StringRef(text).trim();
  auto [mnemonic, operands] = trimmed.split(' ');
  result.mnemonic = mnemonic.str();
  result.operands = operands.trim().str();
  result.kind = classify(result.mnemonic, result.operands);
  // Branches count in words from the next instruction, in 16 bits.
  if (result.kind == InstructionKind::branch && inst.getNumOperands() == 1 && inst.getOperand(0).isImm() &&
      result.mnemonic != "s_endpgm")
    result.target = address + 4 + 4 * static_cast<int64_t>(static_cast<int16_t>(inst.getOperand(0).getImm()));
  return result;
}

/// The last operand as a number.
static std::optional<int64_t> lastNumber(const Instruction &i) {
  llvm::StringRef text = llvm::StringRef(i.operands).rsplit(',').second.trim();
  if (text.consume_front("lit("))
    text.consume_back(")");
  int64_t value = 0;
  return text.getAsInteger(0, value) ? std::nullopt : std::optional(value);
}

/// A jump that is too far for a branch: `s_getpc_b64 p; s_add_u32 p.lo, p.lo, low; s_addc_u32 p.hi, p.hi, high;
/// s_setpc_b64 p`, where the sum counts from the second of them.
static void findFarTarget(std::vector<Instruction> &list) {
  if (list.size() < 4 || list.back().mnemonic != "s_setpc_b64")
    return;
  const Instruction *at = &list[list.size() - 4];
  std::optional<int64_t> low = lastNumber(at[1]), high = lastNumber(at[2]);
  if (at[0].mnemonic != "s_getpc_b64" || at[1].mnemonic != "s_add_u32" || at[2].mnemonic != "s_addc_u32" || !low ||
      !high)
    return;
  uint64_t distance = static_cast<uint64_t>(*high) << 32 | static_cast<uint32_t>(*low);
  list.back().target = at[1].address + distance;
}

/// A product of 4- or 6-bit factors in the last registers of a lane. LLVM 22 reads its factors as if they had 8 bits
/// each, finds that so many registers are not there, and gives up; what is asked about a product is its name.
static std::optional<std::pair<Instruction, size_t>> decodeNarrowProduct(llvm::ArrayRef<uint8_t> bytes) {
  auto opcode = [&](size_t at) {
    return at + 8 <= bytes.size() ? llvm::support::endian::read16le(bytes.data() + at + 2) : 0;
  };
  constexpr uint16_t loadScale = 0xd3ac;
  bool isScaled = opcode(0) == loadScale;
  std::string shape;
  switch (opcode(isScaled ? 8 : 0)) {
  case 0xd3ad:
    shape = "16x16x128";
    break;
  case 0xd3ae:
    shape = "32x32x64";
    break;
  default:
    return std::nullopt;
  }
  Instruction product;
  product.mnemonic = (isScaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + shape + "_f8f6f4";
  product.kind = InstructionKind::mfma;
  return std::pair(product, isScaled ? 16 : 8);
}

std::optional<std::vector<Instruction>> disassembleBytes(std::span<const uint8_t> given, uint64_t begin,
                                                         const std::string &chip, std::string &error) {
  initializeTargets();
  llvm::ArrayRef<uint8_t> bytes(given.data(), given.size());
  Decoder decoder;
  if (!decoder.create(chip, error))
    return std::nullopt;
  std::vector<Instruction> result;
  for (uint64_t offset = 0; offset < bytes.size();) {
    llvm::MCInst inst;
    uint64_t size = 0, address = begin + offset;
    llvm::ArrayRef<uint8_t> rest = bytes.drop_front(offset);
    auto status = decoder.disassembler->getInstruction(inst, size, rest, address, llvm::nulls());
    bool isKnown = status != llvm::MCDisassembler::Fail && size != 0;
    auto product = decodeNarrowProduct(rest);
    if (product && (!isKnown || size < product->second)) {
      result.push_back(std::move(product->first));
      result.back().address = address;
      size = product->second;
    } else if (isKnown) {
      result.push_back(decode(decoder, inst, address));
      findFarTarget(result);
    } else {
      error = "bytes at " + std::to_string(address) + " are no instruction of " + chip;
      return std::nullopt;
    }
    offset += size;
  }
  return result;
}

std::optional<Disassembly> disassembleHsaco(const std::string &hsaco, const std::string &chip, std::string &error) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(hsaco, "hsaco"));
  if (!object) {
    error = llvm::toString(object.takeError());
    return std::nullopt;
  }
  auto code = findKernel(**object);
  if (!code) {
    error = llvm::toString(code.takeError());
    return std::nullopt;
  }
  auto instructions = disassembleBytes(code->bytes, code->address, chip, error);
  if (!instructions)
    return std::nullopt;
  auto dwarf = llvm::DWARFContext::create(**object);
  for (Instruction &instruction : *instructions) {
    constexpr auto wholeName = llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath;
    auto line =
        dwarf->getLineInfoForAddress({instruction.address, llvm::object::SectionedAddress::UndefSection}, wholeName);
    if (!line)
      continue;
    if (line->FileName != llvm::DILineInfo::BadString)
      instruction.file = line->FileName;
    instruction.line = line->Line;
  }
  return Disassembly{code->name, std::move(*instructions)};
}

} // namespace soliton::backend
