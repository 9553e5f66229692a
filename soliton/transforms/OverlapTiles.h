//===- OverlapTiles.h - The next tile begins while waves are at the last one ------------===//
//
// Workgroups that walk tiles (Persistent.h) meet between two of them, so that the boxes of the next take the place of
// what all waves have read. Where one wave copies (ServiceWaves.h) and a kernel asks for it, they do not: waves release
// what they are done with, also behind a tile's last product, and the copying wave awaits that in front of the next
// tile's first copies. The program of one tile is then the body of a loop, and proven as one (WholeKernel.h):
//
//   copy q, copy k 0                    await 1, copy q, copy k 0         all but the last release: nobody reads q
//   copy v 0                            await 0, copy v 0
//   loop { wait qk … release }          loop { wait qk … release }
//   wait mma, 0               becomes   wait mma, 0, wait boxes, 0, release
//   write s, copy_out s                 write s, copy_out s, commit bulk
//
// Behind each further product of the tile's end waves release what they are done with too, so that the next tile's
// copies follow one by one. How many releases an await may leave open is what the proof accepts. What teams of waves do
// to a tile of their own, as to the results `s`, is kept apart by barriers of theirs, so that results of one team leave
// under products of another.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"

namespace soliton {

/// For a kernel with `overlap_tiles`; refuses what has nothing to overlap, or cannot be proven so.
LogicalResult overlapTiles(wave::KernelOp kernel, const Geometry &geometry);

} // namespace soliton
