//===- Findings.h - What the emulator reports of a program from which something was taken ------------===//
//
// A machine form as text, changed, translated and run with all checks under an adversarial order of the waves:
//
//   findingsOf(machine, {.from = "machine.wait mma, 0", .to = "machine.wait mma, 7"}, buffers)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Machine.h"

#include <string>
#include <vector>

namespace soliton::test {

/// Every `from` becomes `to`, and ops of the name `erased` are gone. Empty: nothing of that kind.
struct Change {
  std::string from, to, erased;
};

/// The kinds of what is found on sm_90a. A change that changes nothing fails the test.
std::vector<emu::FindingKind> findingsOf(std::string machine, const Change &change,
                                         const std::vector<emu::Buffer> &buffers);

} // namespace soliton::test
