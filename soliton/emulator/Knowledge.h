//===- Knowledge.h - What a wave knows of workgroups ----------------------===//
//
// By workgroup and agent (Clocks.h) a number: accesses up to it are complete and ordered before what the owner does. A
// value that is shared where it is handed on, so that a chain of a thousand workgroups costs a pointer each:
//
//   Knowledge all = mine.with(7, {0, 3});      // workgroup 7: three accesses of agent 1
//   all.covers(7, 1, 3) && !all.covers(7, 1, 4)
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace soliton::emu {

class Knowledge {
public:
  using Clock = std::vector<uint32_t>;

  bool empty() const { return !entries; }
  bool covers(uint32_t workgroup, uint32_t agent, uint32_t access) const;
  /// Null where nothing is known of it.
  const Clock *of(uint32_t workgroup) const;

  /// This, and of `workgroup` at least `clock`.
  Knowledge with(uint32_t workgroup, const Clock &clock) const;
  void join(const Knowledge &other);

private:
  struct Entry {
    uint32_t workgroup = 0;
    std::shared_ptr<const Clock> clock;
  };
  using Entries = std::vector<Entry>;
  static std::shared_ptr<const Clock> joined(const Entry &a, const Entry &b);

  /// Sorted by workgroup; null if empty.
  std::shared_ptr<const Entries> entries;
};

} // namespace soliton::emu
