//===- SharedReport.h - What the bank model says about a kernel ---------------------------===//
#pragma once

#include "soliton/analysis/Geometry.h"
#include "soliton/driver/BankConflicts.h"

namespace soliton {

/// One entry per shared access of the author's text (its pieces added up), for a kernel whose memory is placed.
std::vector<BankConflicts> countSharedConflicts(wave::KernelOp kernel, const Geometry &geometry);

} // namespace soliton
