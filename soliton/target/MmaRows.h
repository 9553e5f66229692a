//===- MmaRows.h - How the chips' tables are written (private to this folder) -------===//
//
// The two families of matrix instructions as rows: each row gives shape, order of K and instruction, the functions here
// derive the fragment layouts.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/target/Target.h"

namespace soliton::detail {

/// A matrix instruction of 64 lanes. Each lane holds `chunk` neighbouring K, then the next such chunk after those of
/// the other lanes.
struct MfmaRow {
  const char *name;
  int64_t m, n, k;
  int64_t chunk;   // neighbouring K per lane
  int64_t nativeK; // K of one instruction
  DType lhs, rhs, acc;
  std::string instruction;
  int64_t cycles; // of one instruction
  bool isDefault = false;
};
MmaKind mfma(const MfmaRow &row);
/// The accumulator of f64 instructions interleaves rows: lanes take neighbouring rows, registers every fourth.
MmaKind mfmaF64(const MfmaRow &row);
/// Block-scaled instruction: 8-bit operands hold two chunks of 16 per lane, narrower ones 32 neighbouring K.
MmaKind mfmaScaled(const char *name, int64_t m, int64_t k, DType lhs, DType rhs, std::string instruction,
                   int64_t cycles, bool isDefault);

/// How an operand's K is dealt to the four lanes of a row on a 32-lane chip.
enum class KOrder : uint8_t {
  native,      ///< as the instruction counts it
  contiguous,  ///< each lane holds K/4 neighbouring elements: wide shared loads
  accumulator, ///< as an accumulator's columns lie: its value is an operand without moving data
};

/// A logical tile made of m16n8 instructions of 32 lanes.
struct MmaSyncRow {
  const char *name;
  int64_t m, n, k;
  int64_t nativeK;
  KOrder order;
  DType lhs, rhs, acc;
  bool isDefault = false;
};
MmaKind mmaSync(const MmaSyncRow &row);

/// A warpgroup instruction m64 n k; the left operand may come from registers or shared memory, the right one only from
/// the latter.
MmaKind wgmma(int64_t n, int64_t k, DType lhs, DType rhs, DType acc);

/// Lanes first..first+count.
std::vector<int> laneRange(int first, int count);
/// `lanes` lanes in phases of `count` consecutive ones.
std::vector<std::vector<int>> consecutivePhases(int lanes, int count);

} // namespace soliton::detail
