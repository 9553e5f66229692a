//===- AutoRows.h - Tiles of kernels that wait for memory ------------------------------===//
//
// What `schedule = auto` takes for kernels that wait for memory and left their tiles open, by the tables in
// AutoRows.cpp:
//
//   rows     a loop walks them more than once: a row is a few waves', each lane keeps what it has of it
//   streams  every element is touched once: a lane moves one vector, or rows become columns by tiles of whole lines
//   keys     one wave multiplies what streams by: decode attention
//
//   row_softmax, N = 8192:   BLOCK_M = 1, BLOCK_N = 8192, WAVES_M = 1, WAVES_N = 16
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Auto.h"
#include "soliton/frontend/Program.h"

namespace soliton {

/// Whether the value is a tile of a tensor that passes through shared memory as it is.
bool isStaged(const frontend::Program &program, frontend::ValueId value);

/// The ways, best first; none for other kernels, and where sizes or tiles leave none.
std::vector<AutoChoice> chooseRows(const frontend::Program &program, const CompileOptions &options);

} // namespace soliton
