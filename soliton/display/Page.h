//===- Page.h - A schedule as a page for a browser -------------------------===//
//
// One HTML file without anything from outside: a timeline of prologue, two trips of the kernel and epilogue with a lane
// per unit, barriers, waiting, counters in flight and live registers; dependences on hover; and the tables. It is
// written for someone who wrote the kernel and nothing else, so every part says in plain words how to read it.
//
//   std::ofstream("gemm.html") << printPage(picture);
//
// Times are those of Timeline.h, modelled and labelled so. Names of the author's may hold anything: text is escaped,
// and the script never makes markup of data. The size grows with the number of ops: an op keeps at most
// kMostArrows dependences in each direction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Picture.h"

namespace soliton::sched {

inline constexpr int kMostArrows = 24;

/// The whole file.
std::string printPage(const Picture &picture);

} // namespace soliton::sched
