//===- FinishCopies.h - No workgroup ends while its shared memory is copied out ---------===//
//
// A copy out of shared memory goes on by itself. What writes that memory again waits for it as for any other access
// (WholeSync.h); behind the last one there is nothing that would, and a workgroup whose memory is given to the next one
// must not end before:
//
//   wave.copy_out %s, %c            becomes   wave.copy_out %s, %c
//                                             wave.commit bulk
//                                             wave.wait bulk, 0
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Names.h"
#include "soliton/ir/Wave.h"

namespace soliton {

/// Puts the wait at the end of a kernel that lacks it.
void finishCopies(wave::KernelOp kernel);

/// A copy that may still read shared memory when the kernel ends; null if there is none.
wave::CopyOutOp findUnfinished(wave::KernelOp kernel);

} // namespace soliton
