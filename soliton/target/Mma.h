//===- Mma.h - Matrix multiplications and who holds their operands ---------------===//
//
// An MMA kind names a *logical* tile: acc[M, N] += lhs[M, K] * rhs[N, K]. A target may realise it by several native
// instructions. Registers of an operand are ordered so that the innermost ones are one native instruction's and the
// outer ones count its pieces:
//
//   F32_16x16x16_F16 on a 32-lane target = 2 native m16n8k16:
//   acc  reg = (2 N 1)(2 M 8)(2 N 8), lane = (4 N 2)(8 M 1)     registers 0-3 are piece N 0, 4-7 are piece N 1
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/layout/Layout.h"
#include "soliton/support/DType.h"

namespace soliton {

/// One operand of an MMA.
struct MmaOperand {
  DType type = DType::f16;
  /// Over dims "M", "N", "K". Empty where the operand cannot be in registers.
  Layout layout;
  /// Elements per lane that one native instruction takes.
  int64_t nativeRegs = 0;
  bool inRegisters = true;
  bool inShared = false;
};

/// The instruction that the target issues.
struct NativeMma {
  std::string instruction; // `v_mfma_f32_16x16x16_f16`, `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`
  int64_t m = 0, n = 0, k = 0;
  /// Clocks that it occupies the matrix unit.
  int64_t cycles = 0;
};

/// One native instruction of a logical MMA: which registers it takes (counted in elements per lane) and its place.
struct MmaPiece {
  int64_t m = 0, n = 0, k = 0;
  int64_t lhsBegin = 0, rhsBegin = 0, accBegin = 0;
};

struct MmaKind {
  /// Wave's name; bf16 operands use the F16 name. Selection is by name and element types.
  std::string name;
  int64_t m = 0, n = 0, k = 0;
  MmaOperand lhs, rhs, acc;
  NativeMma native;
  /// Native instructions along each dim.
  int64_t piecesM = 1, piecesN = 1, piecesK = 1;
  /// Waves that issue it together (wgmma: 4).
  int64_t waves = 1;
  /// Asynchronous: the accumulator is pending until a wait.
  bool async = false;
  /// Its sums are short: every term of one instruction, the accumulator among them, is cut so many bits below the
  /// largest exponent of any of them. 0: nothing is lost but what rounding to the accumulator's type loses.
  int64_t sumBits = 0;
  /// One e8m0 scale per this many K elements of each operand; 0 for none.
  int64_t scaleBlock = 0;
  /// Who holds the scales, over "M"/"N" and "K" counted in scale blocks.
  Layout lhsScale, rhsScale;
  /// The target's default for these element types.
  bool isDefault = false;
  /// The sources of the fragment table disagree; results were not checked anywhere.
  bool unverified = false;

  int64_t pieceCount() const { return piecesM * piecesN * piecesK; }
  int64_t cycles() const { return pieceCount() * native.cycles; }
  /// All pieces in issue order: M, then N, then K innermost (one accumulator's chain is consecutive).
  std::vector<MmaPiece> pieces() const;
};

/// Products that a short accumulator adds up before its sum goes on in f32, unless the author accepts more: 128 bytes
/// of a row. On an H200 twice as many lose 1.2 times as much and are no faster (docs/decisions/0039-sums-of-bytes.md).
inline constexpr int64_t kShortSum = 128;

/// Every name that some target's table holds or that Wave defines, for messages.
std::vector<std::string> knownMmaNames();

} // namespace soliton
