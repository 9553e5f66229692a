//===- Chips.h - The tables, and what the gfx9 ones share (private to this folder) -===//
#pragma once

#include "soliton/target/MmaRows.h"

namespace soliton::detail {

const Target &gfx942();
const Target &gfx950();
const Target &sm90a();

/// The fields in which gfx942 and gfx950 agree.
Target gfx9Base();
/// Matrix instructions that both have; fp8 operands are the target's.
std::vector<MmaKind> gfx9Mmas(DType e4m3, DType e5m2);
/// f16, bf16 of the K-doubled tiles: one instruction of that K where the chip has it, else two of half the K.
std::vector<MmaKind> gfx9WideMmas(bool native, bool isDefault);
/// Lanes that a 16-byte read of 32 banks serves together.
std::vector<std::vector<int>> gfx9WideReadPhases();

} // namespace soliton::detail
