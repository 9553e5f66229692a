//===- Svg.h - A schedule as a still picture --------------------------------===//
//
// One SVG file for documents and reviews: prologue, a few trips of the kernel and epilogue from left to right, a lane
// per kind of unit, what is under way, waiting, and barriers. Blocks are coloured by the iteration of the source loop
// that they work for, so that one sees iterations overlap.
//
//   std::ofstream("prefetch.svg") << printSvg(picture);
//
// Nothing comes from outside of the file, light and dark backgrounds are both fine, and the same schedule always gives
// the same bytes. Times are those of Timeline.h: modelled, and labelled so. Page.h is the one to explore.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Picture.h"

namespace soliton::sched {

/// The whole file.
std::string printSvg(const Picture &picture);

} // namespace soliton::sched
