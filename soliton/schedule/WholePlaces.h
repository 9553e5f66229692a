//===- WholePlaces.h - Does a tile still hold what was written? ----------------------===//
//
// Tiles that share a place overwrite each other. That is no race (barriers may keep them apart), so it is judged on its
// own: on no way through the kernel does a read of a tile follow a write of another one in its place, unless everything
// that was written before has been written again. It shares nothing with the planner that gave the places.
//
//   store s            error: `load s` reads tile `s`, but `store t` has overwritten its place since
//   store t            (both at bytes 0 to 4096)
//   load s
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Whole.h"

namespace soliton::sched::whole {

/// One error for each read that may find another tile's contents.
std::vector<Diagnostic> verifyPlaces(const Kernel &kernel);

/// All that must hold of a kernel: accesses are ordered (WholeVerify.h), and tiles hold what was written.
std::vector<Diagnostic> prove(const Kernel &kernel);

} // namespace soliton::sched::whole
