//===- ValidateTables.h - The tables of a program, checked ----------------===//
//
// Sizes, regions, addresses, fragments and maps: the half of `validate` that follows no operand; and orders of memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Program.h"

namespace soliton::emu {

/// What is wrong with the tables, or an empty string.
std::string validateTables(const Program &program);

/// What is wrong with the instruction's order and scope, or null.
const char *orderProblem(const Instr &instr);

/// Bits that a lane's value takes in memory; an i1 takes a byte.
inline uint64_t accessBits(const SlotInfo &info) {
  return uint64_t(info.count) * uint64_t(info.type == DType::i1 ? 8 : bits(info.type));
}

} // namespace soliton::emu
