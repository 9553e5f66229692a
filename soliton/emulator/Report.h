//===- Report.h - Collects findings ---------------------------------------===//
//
// One reporter per host thread. Findings of the same kind at the same two places of the author's text (or the same two
// instructions, where the place is unknown) are one finding: the first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Machine.h"

#include <map>
#include <tuple>

namespace soliton::emu {

class Reporter {
public:
  explicit Reporter(const Program &program) : program(program) {}

  /// Whether a finding of this identity is still to be made; asked before a message is built.
  bool isNew(FindingKind kind, uint32_t instruction, uint32_t other) const;

  /// Adds it unless there is an equal one; fills in the origins.
  void add(Finding finding);

  /// Drops that finding of this workgroup, because a better explanation was found.
  void withdraw(FindingKind kind, uint32_t instruction, uint32_t workgroup);

  /// "`what`" of the instruction's origin, or the name of its operation.
  std::string nameOf(uint32_t instruction) const;

  /// "3", or in a cluster "1 of its workgroup 1".
  std::string waveName(uint32_t wave) const;

  /// All findings of all reporters, each once (that of the first workgroup), sorted by instruction.
  static void merge(std::vector<Reporter> &reporters, uint32_t limit, Result &result);

private:
  using Key = std::tuple<uint64_t, uint64_t, uint8_t>;
  Key keyOf(FindingKind kind, uint32_t instruction, uint32_t other) const;
  uint64_t identity(uint32_t instruction) const;

  const Program &program;
  std::map<Key, Finding> findings;
};

} // namespace soliton::emu
