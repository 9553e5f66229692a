//===- Geometry.h - What the shape of a kernel costs on the counters ---------------===//
//
// From a kernel's tile, element type and waves: how many copies one load op issues (vm), how many shared reads one
// fragment op issues (lgkm), how many matrix instructions a quadrant is, how much shared memory the stages take.
//
//   fourWaveGeometry({.bm = 128, .bn = 128, .bk = 64, .elemBytes = 2})       vm 2/2, lgkm 4/4, 8 matrix instructions
//   pingPongGeometry({.bm = 256, .bn = 256, .bk = 64, .elemBytes = 2}, …)    vm 2/2, lgkm 8/4
//
// For matrix instructions that read shared memory by themselves (InPlace.h) the counts are others: a load op is a
// number of boxes, a fragment op nothing, and a quadrant instructions of 64 rows that four waves issue together.
//
//   fourWaveGroupGeometry({.bm = 128, .bn = 128, .bk = 64})                  1/1 boxes, 4 matrix instructions of 64x64
//
// A shape that rounds a count down to nothing is an error: a load op that loads nothing waits for nothing.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Ops.h"

namespace soliton::pipe {

struct KernelGeometry {
  int bm = 0, bn = 0, bk = 0;
  int mmaM = 16, mmaN = 16, mmaK = 32;
  int elemBytes = 2;
  /// Elements that one lane moves at once.
  int simdWidth = 8;
  bool isFp8 = false;
  int vmPerLoadA = 0, vmPerLoadB = 0;
  int lgkmPerLoadA = 0, lgkmPerLoadB = 0;
  /// Matrix instructions of one quadrant, and of them along K.
  int mmasPerOp = 0, kMmas = 0;
  /// Bytes of all stages.
  int64_t sharedBytes = 0;
  /// Chunks of shared rows change places; off: they are plain.
  bool swizzle = true;
  /// Counts are those of instructions that read shared memory by themselves.
  bool inPlace = false;

  /// Loads per block, so that a block's matrix instructions cover them; 0: no cap.
  int maxGlobals() const;
  bool operator==(const KernelGeometry &) const = default;
};

/// What an author says of a kernel.
struct TileShape {
  int bm = 0, bn = 0, bk = 0;
  int elemBytes = 2;
  /// The matrix instruction is square of this size; its K follows from the element type.
  int mma = 16;
  /// Rows and columns of a wave's own tile (ping-pong), or of a group of four waves; 0: half of the workgroup's.
  int wm = 0, wn = 0;
  bool swizzle = true;
};

struct GeometryResult {
  KernelGeometry geometry;
  std::vector<Diagnostic> errors;
  bool ok() const { return errors.empty(); }
};

/// Four waves, 2x2, each operand tile split in two half-tiles of which a wave reads a part of each.
GeometryResult fourWaveGeometry(const TileShape &shape, Where where = std::source_location::current());
/// Eight waves, 2x4. A half of A is what one row of waves reads, a half of B is half of the columns.
GeometryResult pingPongGeometry(const TileShape &shape, Where where = std::source_location::current());

/// Four waves that issue instructions of 64 rows together, and two such groups (ping-pong), which share the longer side
/// of the tile.
GeometryResult fourWaveGroupGeometry(const TileShape &shape, Where where = std::source_location::current());
GeometryResult pingPongGroupGeometry(const TileShape &shape, Where where = std::source_location::current());

/// What is declared without a kernel: one instruction for each op.
KernelGeometry oneInstructionEach();

/// Loads per block that are safe with that many matrix instructions along K.
int safeMaxGlobals(int kMmas);

} // namespace soliton::pipe
