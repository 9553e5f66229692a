//===- Table.h - A schedule as a table -------------------------------------===//
//
// What `soliton schedule` prints: the kernel by cycle and stage, the units modulo the interval, the interval and its
// lower bound, registers, shared memory, buffers, barriers and waits with what each protects. Pieces of one op that
// stand together are one entry.
//
//   kernel    stage 0 (n+1)             stage 1 (n)
//     0                                 read_a/shared_load x4, read_b/shared_load x4
//     0       read_a/global_load x2
//     1                                 mma x16
//     1       --- wait lgkm 0
//     1       --- barrier
//     1       read_a/shared_store x2
//
// (with a proper multiplication sign and line).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Picture.h"

namespace soliton::sched {

/// For a terminal; ends in a newline.
std::string printTable(const Picture &picture);

/// The same and every op, entry and hazard, as one JSON object; ends in a newline.
std::string printTableJson(const Picture &picture);

} // namespace soliton::sched
