//===- GlobalChecker.cpp - Judges accesses of global memory ---------------===//
//
// See GlobalChecker.h. Within a workgroup the rules of shared memory hold (agents Vm, CpAsync and Bulk).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/GlobalChecker.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace soliton::emu {
namespace {

/// How an instruction uses a global buffer.
struct Use {
  uint32_t buffer = 0;
  uint32_t elementBytes = 4;
  bool reads = false, writes = false;
};

/// Calls `each(use)` for every instruction that accesses a global buffer.
template <typename F>
void forUses(const Program &program, F each) {
  for (const Instr &instr : program.code) {
    if (instr.op == Op::CopyTile) {
      const TensorMap &map = program.maps[size_t(instr.imm)];
      auto op = static_cast<TileOp>(instr.sub);
      each(Use{map.argument, uint32_t(bits(map.type)) / 8, op != TileOp::Store, op != TileOp::Load});
      continue;
    }
    bool writes = instr.op == Op::Store || instr.op == Op::Atomic;
    bool reads = instr.op == Op::Load || instr.op == Op::CopyAsync || instr.op == Op::Atomic;
    if (!writes && !reads)
      continue;
    const Region &region = program.regions[program.addresses[instr.index].region];
    if (region.shared)
      continue;
    Slot value = writes ? instr.src[1] : instr.dst;
    uint32_t bytes = instr.op == Op::CopyAsync ? 4 : uint32_t(bits(program.slots[value].type)) / 8;
    each(Use{region.argument, bytes, reads, writes});
  }
}

/// For each buffer the first of those that it overlaps, directly or by way of others.
std::vector<uint32_t> firstOverlapping(const std::vector<Buffer> &buffers) {
  auto begin = [&](uint32_t i) { return reinterpret_cast<uintptr_t>(buffers[i].data); };
  std::vector<uint32_t> order(buffers.size()), first(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::iota(first.begin(), first.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return begin(a) < begin(b); });
  uintptr_t end = 0;
  uint32_t lowest = 0;
  for (uint32_t i : order) {
    if (buffers[i].bytes == 0)
      continue;
    if (begin(i) >= end)
      lowest = i;
    first[i] = lowest;
    end = std::max(end, begin(i) + buffers[i].bytes);
  }
  return first;
}

uint32_t valueAt(const std::byte *data, uint32_t bytes) {
  uint32_t value = 0;
  std::memcpy(&value, data, bytes);
  return value;
}

} // namespace

bool mayCommunicate(const Program &program, const std::vector<Buffer> &buffers) {
  std::vector<uint32_t> first = firstOverlapping(buffers);
  std::vector<bool> isRead(buffers.size()), isWritten(buffers.size());
  forUses(program, [&](const Use &use) {
    isRead[first[use.buffer]] = isRead[first[use.buffer]] || use.reads;
    isWritten[first[use.buffer]] = isWritten[first[use.buffer]] || use.writes;
  });
  for (size_t i = 0; i < buffers.size(); ++i)
    if (isRead[i] && isWritten[i])
      return true;
  return false;
}

GlobalChecker::GlobalChecker(const Program &program, const std::vector<Buffer> &buffers, Reporter &reporter)
    : reporter(reporter), views(buffers.size()), shadows(buffers.size()) {
  placeBuffers(buffers);
  for (const Region &region : program.regions)
    if (!region.shared)
      views[region.argument].name = region.name;
  forUses(program, [&](const Use &use) {
    Shadow &shadow = shadows[views[use.buffer].shadow];
    shadow.tracked |= use.writes;
    shadow.granule = std::min(shadow.granule, std::max(1u, use.elementBytes));
  });
}

void GlobalChecker::placeBuffers(const std::vector<Buffer> &buffers) {
  std::vector<uint32_t> first = firstOverlapping(buffers);
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    uintptr_t start = reinterpret_cast<uintptr_t>(buffers[first[i]].data);
    views[i].shadow = first[i];
    views[i].offset = reinterpret_cast<uintptr_t>(buffers[i].data) - start;
    // Views that start within an element of another would share granules by halves.
    if (views[i].offset % 4 != 0)
      shadows[first[i]].granule = 1;
  }
}

GlobalChecker::Page &GlobalChecker::pageOf(Shadow &shadow, uint64_t number) {
  if (number == shadow.lastNumber)
    return *shadow.last;
  std::unique_ptr<Page> &page = shadow.pages[number];
  if (!page)
    page = std::make_unique<Page>();
  shadow.lastNumber = number;
  shadow.last = page.get();
  return *page;
}

bool GlobalChecker::isOrdered(const GlobalAccess &access, const Stamp &earlier) {
  const Actor &actor = access.actor;
  const Clocks &clocks = access.clocks;
  if (earlier.workgroup != actor.workgroup + 1)
    return clocks.others(actor.wave).covers(earlier.workgroup - 1, earlier.agent, earlier.access);
  bool sameQueue = clocks.waveOf(earlier.agent) == actor.wave && !actor.proxy;
  return earlier.agent == actor.agent || clocks.known(actor.wave)[earlier.agent] >= earlier.access ||
         (sameQueue && clocks.isGeneric(earlier.agent));
}

void GlobalChecker::access(const GlobalAccess &access) {
  const View &view = views[access.buffer];
  Shadow &shadow = shadows[view.shadow];
  const Actor &actor = access.actor;
  Stamp stamp{actor.workgroup + 1, actor.access, actor.instruction, static_cast<uint16_t>(actor.agent),
              actor.atomic,        false,        actor.scope};
  const uint64_t first = view.offset + access.first, granule = shadow.granule;
  auto isBefore = [&](const Stamp &earlier) { return isOrdered(access, earlier); };
  for (uint64_t index = first / granule, last = (first + access.bytes - 1) / granule; index <= last; ++index) {
    Cell &cell = pageOf(shadow, index / kPageCells).cells[index % kPageCells];
    uint64_t byte = std::max(first, index * granule) - first + access.first;
    stamp.valued = access.data && index * granule >= first && (index + 1) * granule <= first + access.bytes;
    uint32_t value = stamp.valued ? valueAt(access.data + (index * granule - first), uint32_t(granule)) : 0;
    if (cell.write.workgroup)
      judge(access, cell.write, byte, true, stamp.valued && cell.write.valued && value == cell.value);
    if (!access.isWrite) {
      cell.readers = reads.add(cell.readers, stamp, isBefore);
      continue;
    }
    if (cell.readers) {
      judgeReaders(access, cell, byte);
      reads.drop(cell.readers);
      cell.readers = 0;
    }
    cell.write = stamp;
    cell.value = value;
  }
}

void GlobalChecker::judgeReaders(const GlobalAccess &access, const Cell &cell, uint64_t byte) {
  reads.forEach(cell.readers, [&](const Stamp &earlier) { judge(access, earlier, byte, false, false); });
}

void GlobalChecker::judge(const GlobalAccess &access, const Stamp &earlier, uint64_t byte, bool earlierIsWrite,
                          bool sameValue) {
  const Actor &actor = access.actor;
  bool sameWorkgroup = earlier.workgroup == actor.workgroup + 1;
  bool bothDevice = earlier.scope == Scope::Device && actor.scope == Scope::Device;
  if ((earlier.atomic && actor.atomic && (sameWorkgroup || bothDevice)) || isOrdered(access, earlier))
    return;
  const std::string &name = views[access.buffer].name;
  bool bothWrite = access.isWrite && earlierIsWrite;
  Stamp stamp{actor.workgroup + 1, actor.access, actor.instruction, 0, actor.atomic, false, actor.scope};
  if (!sameWorkgroup)
    return conflict(reporter, name, byte, earlier, stamp, bothWrite ? "both write" : "read and write", sameValue);
  Actor plain = actor;
  plain.proxy = false;
  FindingKind kind =
      sameValue ? FindingKind::RedundantWrite : emu::judge(access.clocks, plain, earlier.agent, earlier.access);
  if (!reporter.isNew(kind, actor.instruction, earlier.instruction))
    return;
  Finding finding;
  finding.kind = kind;
  finding.hint =
      sameValue ? "let one wave write it" : repairOf(kind, access.clocks, plain, earlier.agent, earlier.access);
  finding.message = reporter.nameOf(actor.instruction) + (access.isWrite ? " writes" : " reads") + " byte " +
                    std::to_string(byte) + " of `" + name + "` in wave " + std::to_string(actor.wave) + ", lane " +
                    std::to_string(access.lane) + ", not ordered after the " + (earlierIsWrite ? "write" : "read") +
                    (sameValue ? " of the same value" : "") + " by " + reporter.nameOf(earlier.instruction) +
                    " of wave " + std::to_string(access.clocks.waveOf(earlier.agent));
  finding.instruction = actor.instruction;
  finding.other = earlier.instruction;
  finding.workgroup = actor.workgroup;
  finding.wave = actor.wave;
  finding.lane = access.lane;
  finding.address = static_cast<int64_t>(byte);
  reporter.add(std::move(finding));
}

void GlobalChecker::conflict(Reporter &reporter, const std::string &buffer, uint64_t byte, const Stamp &a,
                             const Stamp &b, const char *what, bool warning) {
  // The pair is named in one order, whichever ran first here.
  const Stamp &low = a.workgroup < b.workgroup ? a : b, &high = a.workgroup < b.workgroup ? b : a;
  FindingKind kind = warning ? FindingKind::RedundantWrite : FindingKind::GlobalConflict;
  if (!reporter.isNew(kind, high.instruction, low.instruction))
    return;
  Finding finding;
  finding.kind = kind;
  finding.message = reporter.nameOf(high.instruction) + " of workgroup " + std::to_string(high.workgroup - 1) +
                    " and " + reporter.nameOf(low.instruction) + " of workgroup " + std::to_string(low.workgroup - 1) +
                    ' ' + what + (warning ? " the same value to" : "") + " byte " + std::to_string(byte) + " of `" +
                    buffer + '`';
  finding.instruction = high.instruction;
  finding.other = low.instruction;
  finding.workgroup = high.workgroup - 1;
  finding.address = static_cast<int64_t>(byte);
  bool scoped = a.atomic && b.atomic;
  finding.hint = warning  ? "let one workgroup write it"
                 : scoped ? "make both atomic for the whole device"
                          : "give each workgroup its own elements, or touch them in launches one after the other";
  reporter.add(std::move(finding));
}

void GlobalChecker::compare(const GlobalChecker &a, const GlobalChecker &b, Reporter &reporter) {
  for (size_t i = 0; i < a.shadows.size(); ++i) {
    const Shadow &left = a.shadows[i], &right = b.shadows[i];
    for (const auto &[number, page] : left.pages) {
      auto other = right.pages.find(number);
      if (other == right.pages.end())
        continue;
      for (uint64_t cell = 0; cell < kPageCells; ++cell) {
        const Cell &x = page->cells[cell], &y = other->second->cells[cell];
        if (!x.write.workgroup || !y.write.workgroup || (x.write.atomic && y.write.atomic))
          continue;
        bool same = x.write.valued && y.write.valued && x.value == y.value;
        conflict(reporter, a.views[i].name, (number * kPageCells + cell) * left.granule, x.write, y.write, "both write",
                 same);
      }
    }
  }
}

} // namespace soliton::emu
