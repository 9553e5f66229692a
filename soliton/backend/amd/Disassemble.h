//===- Disassemble.h - What an HSACO really does -------------------------------------===//
//
// The kernel's instructions as values, each with its class and the line of the op it comes from, so that a test can
// hold the binary against the machine form.
//
//   for (const Instruction &i : disassemble(hsaco, "gfx942", error)->instructions)
//     if (i.kind == InstructionKind::waitcnt) …          // s_waitcnt, "lgkmcnt(0)", line 17
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace soliton::backend {

enum class InstructionKind : uint8_t {
  mfma,
  sharedLoad,   ///< ds_read*
  sharedStore,  ///< ds_write*
  sharedAtomic, ///< ds_add*, ds_min*, …
  lanes,        ///< ds_bpermute, ds_swizzle, v_permlane*, and moves with a DPP control
  globalLoad,   ///< buffer_load*, global_load* into registers
  globalStore,
  globalAtomic,
  sharedDirect, ///< buffer_load … lds
  scratch,
  scalarLoad,
  waitcnt,
  barrier,
  branch,
  vector, ///< any other v_*
  scalar, ///< any other s_*
  nop,
  other,
};
std::string_view name(InstructionKind kind);

struct Instruction {
  uint64_t address = 0;
  std::string mnemonic;
  std::string operands;
  InstructionKind kind = InstructionKind::other;
  /// Where the op stands that it was made for; line 0 if unknown.
  std::string file;
  uint32_t line = 0;
  /// Where a branch goes.
  std::optional<uint64_t> target;

  std::string text() const { return operands.empty() ? mnemonic : mnemonic + " " + operands; }
};

struct Disassembly {
  std::string kernel;
  std::vector<Instruction> instructions;

  size_t count(InstructionKind kind) const;
};

/// The kernel of a code object for the named chip.
std::optional<Disassembly> disassembleHsaco(const std::string &hsaco, const std::string &chip, std::string &error);

/// Instructions of the named chip that lie at an address, without places in the source.
std::optional<std::vector<Instruction>> disassembleBytes(std::span<const uint8_t> bytes, uint64_t begin,
                                                         const std::string &chip, std::string &error);

/// Class of an instruction by its text.
InstructionKind classify(std::string_view mnemonic, std::string_view operands);

} // namespace soliton::backend
