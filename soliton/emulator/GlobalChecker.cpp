//===- GlobalChecker.cpp - Judges accesses to global buffers --------------===//
//
// Only buffers that the program writes are shadowed, in granules of the narrowest element accessed. Within a workgroup
// the rules of shared memory hold (agents Vm and Bulk); between workgroups nothing is ever ordered, so that any two
// conflicting accesses that are not both atomic are a finding, unless the program synchronises workgroups itself.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Checker.h"
#include "soliton/emulator/ValidateTables.h"

#include <algorithm>

namespace soliton::emu {

GlobalChecker::GlobalChecker(const Program &program, Clocks &clocks, Reporter &reporter)
    : clocks(clocks), reporter(reporter), buffers(program.numBuffers) {
  auto touch = [&](uint32_t buffer, uint32_t elementBytes, bool writes) {
    Shadow &shadow = buffers[buffer];
    shadow.tracked |= writes;
    shadow.granule = std::min(shadow.granule, std::max(1u, elementBytes));
  };
  for (const Region &region : program.regions)
    if (!region.shared)
      buffers[region.argument].name = region.name;
  for (const Instr &instr : program.code) {
    judgeWorkgroups &= !(instr.op == Op::Atomic && (instr.flags & kSynchronizes));
    if (instr.op == Op::CopyTile) {
      const TensorMap &map = program.maps[size_t(instr.imm)];
      touch(map.argument, uint32_t(bits(map.type)) / 8, instr.sub != uint8_t(TileOp::Load));
      continue;
    }
    bool writes = instr.op == Op::Store || instr.op == Op::Atomic;
    if (!writes && instr.op != Op::Load && instr.op != Op::CopyAsync)
      continue;
    const Region &region = program.regions[program.addresses[instr.index].region];
    if (region.shared)
      continue;
    Slot value = writes ? instr.src[1] : instr.dst;
    touch(region.argument, instr.op == Op::CopyAsync ? 4 : uint32_t(bits(program.slots[value].type)) / 8, writes);
  }
}

GlobalChecker::Cell &GlobalChecker::cell(Shadow &shadow, uint64_t index) {
  uint64_t page = index / kPageCells;
  if (page >= shadow.pages.size())
    shadow.pages.resize(page + 1);
  if (!shadow.pages[page])
    shadow.pages[page] = std::make_unique<Cell[]>(kPageCells);
  return shadow.pages[page][index % kPageCells];
}

void GlobalChecker::access(const Actor &actor, uint32_t buffer, uint64_t first, uint32_t bytes, uint32_t lane,
                           bool isWrite) {
  Shadow &shadow = buffers[buffer];
  Stamp stamp{actor.workgroup + 1, actor.access, actor.instruction, static_cast<uint16_t>(actor.agent), actor.atomic};
  for (uint64_t index = first / shadow.granule, last = (first + bytes - 1) / shadow.granule; index <= last; ++index) {
    Cell &found = cell(shadow, index);
    uint64_t byte = std::max(first, index * shadow.granule);
    check(actor, shadow, found.write, byte, lane, isWrite, true);
    if (isWrite) {
      check(actor, shadow, found.read, byte, lane, true, false);
      found.write = stamp;
    } else {
      found.read = stamp;
    }
  }
}

void GlobalChecker::check(const Actor &actor, const Shadow &shadow, const Stamp &earlier, uint64_t byte, uint32_t lane,
                          bool isWrite, bool earlierIsWrite) {
  if (earlier.workgroup == 0 || (earlier.atomic && actor.atomic))
    return;
  if (earlier.workgroup != actor.workgroup + 1) {
    Stamp stamp{actor.workgroup + 1, actor.access, actor.instruction, 0, actor.atomic};
    if (judgeWorkgroups)
      conflict(reporter, shadow, byte, earlier, stamp, isWrite && earlierIsWrite, actor.wave, lane);
    return;
  }
  bool sameQueue = clocks.waveOf(earlier.agent) == actor.wave && (earlier.agent == actor.agent || !actor.proxy);
  if (earlier.agent == actor.agent || clocks.known(actor.wave)[earlier.agent] >= earlier.access ||
      (sameQueue && clocks.isGeneric(earlier.agent)))
    return;
  Actor plain = actor;
  plain.proxy = false;
  FindingKind kind = judge(clocks, plain, earlier.agent, earlier.access);
  if (!reporter.isNew(kind, actor.instruction, earlier.instruction))
    return;
  Finding finding;
  finding.kind = kind;
  finding.hint = repairOf(kind, clocks, plain, earlier.agent, earlier.access);
  finding.message = reporter.nameOf(actor.instruction) + (isWrite ? " writes" : " reads") + " byte " +
                    std::to_string(byte) + " of `" + shadow.name + "` in wave " + std::to_string(actor.wave) +
                    ", lane " + std::to_string(lane) + ", not ordered after the " +
                    (earlierIsWrite ? "write" : "read") + " by " + reporter.nameOf(earlier.instruction) + " of wave " +
                    std::to_string(clocks.waveOf(earlier.agent));
  finding.instruction = actor.instruction;
  finding.other = earlier.instruction;
  finding.workgroup = actor.workgroup;
  finding.wave = actor.wave;
  finding.lane = lane;
  finding.address = static_cast<int64_t>(byte);
  reporter.add(std::move(finding));
}

void GlobalChecker::conflict(Reporter &reporter, const Shadow &shadow, uint64_t byte, const Stamp &a, const Stamp &b,
                             bool bothWrite, uint32_t wave, uint32_t lane) {
  // The pair is named in one order, whichever ran first here.
  const Stamp &low = a.workgroup < b.workgroup ? a : b, &high = a.workgroup < b.workgroup ? b : a;
  if (!reporter.isNew(FindingKind::GlobalConflict, high.instruction, low.instruction))
    return;
  Finding finding;
  finding.kind = FindingKind::GlobalConflict;
  finding.message = reporter.nameOf(high.instruction) + " of workgroup " + std::to_string(high.workgroup - 1) +
                    " and " + reporter.nameOf(low.instruction) + " of workgroup " + std::to_string(low.workgroup - 1) +
                    (bothWrite ? " both write" : " read and write") + " byte " + std::to_string(byte) + " of `" +
                    shadow.name + '`';
  finding.instruction = high.instruction;
  finding.other = low.instruction;
  finding.workgroup = high.workgroup - 1;
  finding.wave = wave;
  finding.lane = lane;
  finding.address = static_cast<int64_t>(byte);
  finding.hint = "give each workgroup its own elements, or use `atomic`";
  reporter.add(std::move(finding));
}

void GlobalChecker::compare(const GlobalChecker &a, const GlobalChecker &b, Reporter &reporter) {
  if (!a.judgeWorkgroups)
    return;
  for (size_t buffer = 0; buffer < a.buffers.size(); ++buffer) {
    const Shadow &left = a.buffers[buffer], &right = b.buffers[buffer];
    for (size_t page = 0; page < std::min(left.pages.size(), right.pages.size()); ++page) {
      if (!left.pages[page] || !right.pages[page])
        continue;
      for (uint64_t i = 0; i < kPageCells; ++i) {
        const Cell &x = left.pages[page][i], &y = right.pages[page][i];
        uint64_t byte = (page * kPageCells + i) * left.granule;
        if (x.write.workgroup && y.write.workgroup && !(x.write.atomic && y.write.atomic))
          conflict(reporter, left, byte, x.write, y.write, true, 0, Finding::kNone);
        if (x.write.workgroup && y.read.workgroup)
          conflict(reporter, left, byte, x.write, y.read, false, 0, Finding::kNone);
        if (x.read.workgroup && y.write.workgroup)
          conflict(reporter, left, byte, x.read, y.write, false, 0, Finding::kNone);
      }
    }
  }
}

} // namespace soliton::emu
