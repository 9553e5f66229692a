//===- Tickets.h - Who walks tiles of different length takes the next one ------------===//
//
// Workgroups that walk several tiles (LowerPersistent.cpp) take every so many-th. Where tiles differ in length, as rows
// below a causal mask do, some would have long ones only. Then they draw: a counter in the launch's workspace, 0 at
// first, says which tile is the next.
//
//   tiles 0 to 3 begin with a workgroup each      tickets 0, 1, 2, …      the next tile is 4 + ticket
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

namespace soliton {

/// Bytes of the counter, at the end of the workspace.
inline constexpr int64_t kTicketBytes = 4;

/// Gives a kernel that walks tiles of different length the counter, as its last memory; others are left as they are.
void addTickets(wave::KernelOp kernel);

} // namespace soliton
