//===- Access.cpp - Addresses of an access, and its judgement -------------===//
//
// Turns lane + uniform + immediate into host addresses, drops (and reports) lanes that are out of bounds, and hands the
// rest to the checkers in runs of neighbouring bytes.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

#include <algorithm>

namespace soliton::emu {
namespace {

/// The valid offsets of an access: [low, high); those of the memory that really exists; those that were declared.
struct Bounds {
  int64_t low = 0, high = 0, realLow = 0, realHigh = 0, declaredLow = 0, declaredHigh = 0;
};

Bounds boundsOf(Wave &wave, const Address &address, const Region &region, LaneAccess &access) {
  constexpr int64_t far = int64_t(1) << 60;
  int64_t base = address.base == kNoSlot ? 0 : wave.uniformInt(address.base);
  base = std::clamp(base, -far, far);
  int64_t size;
  std::byte *start;
  if (region.shared) {
    size = region.bytes;
    start = reinterpret_cast<std::byte *>(wave.group.shared.data()) + wave.block() + region.offset;
    access.origin = wave.block() + region.offset + base;
  } else {
    const Buffer &buffer = wave.prepared.config.buffers[region.argument];
    size = static_cast<int64_t>(std::min<uint64_t>(buffer.bytes, uint64_t(far)));
    start = static_cast<std::byte *>(buffer.data);
    access.origin = base;
  }
  // The pointer may be out of range while no lane uses it; integers carry it until then.
  access.base = reinterpret_cast<std::byte *>(reinterpret_cast<uintptr_t>(start) + static_cast<uintptr_t>(base));
  Bounds bounds{-base, size - base, -base, size - base, -base, size - base};
  if (address.limit != kNoSlot) {
    bounds.declaredLow = 0;
    bounds.declaredHigh = wave.uniformInt(address.limit);
    bounds.low = std::max<int64_t>(bounds.low, 0);
    bounds.high = std::min(bounds.high, bounds.declaredHigh);
  }
  return bounds;
}

void reportOutOfBounds(Wave &wave, const Instr &instr, const LaneAccess &access, const Bounds &bounds, uint32_t lane) {
  if (!wave.group.reporter.isNew(FindingKind::OutOfBounds, wave.instruction(instr), Finding::kNone))
    return;
  int64_t first = access.at[lane];
  std::string where = access.region->shared ? "shared region `" : "`";
  bool real = first < bounds.realLow || first + access.bytes > bounds.realHigh;
  int64_t low = real ? bounds.realLow : bounds.low, high = real ? bounds.realHigh : bounds.high;
  wave.report(instr, FindingKind::OutOfBounds,
              wave.group.reporter.nameOf(wave.instruction(instr)) + " of " + std::to_string(access.bytes) +
                  " bytes at byte " + std::to_string(first) + " of " + where + access.region->name + "` in wave " +
                  wave.group.reporter.waveName(wave.index) + ", lane " + std::to_string(lane) + ", expected within [" +
                  std::to_string(low) + ", " + std::to_string(high) + ")",
              "mask the lanes that are out of bounds", lane, first);
}

/// Removes lanes out of bounds from `access.mask`.
void cutToBounds(Wave &wave, const Instr &instr, LaneAccess &access, const Bounds &bounds, uint8_t flags) {
  int64_t width = access.bytes;
  for (uint64_t rest = access.mask; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    int64_t first = access.at[lane];
    if (first >= bounds.low && first + width <= bounds.high)
      continue;
    access.mask &= ~(1ull << lane);
    bool clamped = (flags & kClamp) && (first < bounds.declaredLow || first + width > bounds.declaredHigh);
    if (!clamped)
      reportOutOfBounds(wave, instr, access, bounds, lane);
  }
}

} // namespace

LaneAccess Wave::resolve(const Instr &instr, const Address &address, uint32_t bytes, const AccessOptions &options) {
  LaneAccess access;
  access.region = &program.regions[address.region];
  access.bytes = bytes;
  access.lanes = options.uniform ? 1 : lanes;
  uint64_t participating = options.mask == kNoSlot ? active : active & lanesWhere(*this, options.mask);
  access.mask = options.uniform ? (participating ? 1 : 0) : participating & options.only;
  Bounds bounds = boundsOf(*this, address, *access.region, access);
  int64_t fixed = address.immediate + (address.uniform == kNoSlot ? 0 : uniformInt(address.uniform));
  int64_t lowest = INT64_MAX, highest = INT64_MIN;
  bool perLane = address.lane != kNoSlot && prepared.slots[address.lane].lanes != 1;
  bool wide = address.lane != kNoSlot && program.slots[address.lane].type == DType::i64;
  auto laneOffset = [&](uint32_t lane) {
    constexpr int64_t far = int64_t(1) << 60; // beyond every memory, with room for the other parts
    return wide ? std::clamp(static_cast<int64_t>(wideWords(address.lane)[lane]), -far, far)
                : int64_t(static_cast<int32_t>(words(address.lane)[lane]));
  };
  int64_t same = address.lane == kNoSlot ? 0 : laneOffset(0);
  for (uint32_t lane = 0; lane < access.lanes; ++lane) {
    int64_t offset = fixed + (perLane ? laneOffset(lane) : same) + int64_t(lane) * options.laneStride;
    access.at[lane] = offset;
    bool takesPart = access.mask >> lane & 1;
    lowest = takesPart ? std::min(lowest, offset) : lowest;
    highest = takesPart ? std::max(highest, offset) : highest;
  }
  if (access.mask && (lowest < bounds.low || highest + bytes > bounds.high))
    cutToBounds(*this, instr, access, bounds, options.flags);
  return access;
}

bool Wave::resolveShared(const Instr &instr, const Address &address, uint32_t bytes, uint32_t &start) {
  LaneAccess access = resolve(instr, address, bytes, {.uniform = true});
  start = static_cast<uint32_t>(access.origin + access.at[0]);
  return access.mask != 0;
}

void judgeAlignment(Wave &wave, const Instr &instr, const LaneAccess &access) {
  uint32_t needed = access.bytes & -access.bytes;
  if (!access.region->shared)
    needed = std::min(needed, wave.program.rules.globalAlignment);
  int64_t wrong = 0;
  for (uint64_t rest = access.mask; rest; rest &= rest - 1) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    wrong = (access.origin + access.at[lane]) & (needed - 1);
    if (!wrong)
      continue;
    return wave.report(instr, FindingKind::Misaligned,
                       wave.group.reporter.nameOf(wave.instruction(instr)) + " of " + std::to_string(access.bytes) +
                           " bytes at byte " + std::to_string(access.origin + access.at[lane]) + " of `" +
                           access.region->name + "` in wave " + wave.group.reporter.waveName(wave.index) + ", lane " +
                           std::to_string(lane) + ", expected a multiple of " + std::to_string(needed),
                       "use a narrower access or pad the rows", lane, access.at[lane]);
  }
}

/// Calls `each(first, bytes, lane, number)` for maximal runs of neighbouring lanes that access neighbouring bytes;
/// `number` counts the lanes before the run that take part.
template <typename F>
static void forRuns(const LaneAccess &access, F each) {
  int64_t first = 0, end = -1;
  uint32_t firstLane = 0, firstNumber = 0, number = 0;
  for (uint64_t rest = access.mask; rest; rest &= rest - 1, ++number) {
    uint32_t lane = static_cast<uint32_t>(std::countr_zero(rest));
    int64_t at = access.origin + access.at[lane];
    if (at == end) {
      end += access.bytes;
      continue;
    }
    if (end >= 0)
      each(first, static_cast<uint32_t>(end - first), firstLane, firstNumber);
    first = at;
    end = at + access.bytes;
    firstLane = lane;
    firstNumber = number;
  }
  if (end >= 0)
    each(first, static_cast<uint32_t>(end - first), firstLane, firstNumber);
}

/// Extra cycles: lanes are served in groups that fill the banks once; each further distinct word in a bank costs one.
static uint64_t bankConflicts(const LaneAccess &access, uint32_t banks) {
  uint32_t group = std::max(1u, banks * 4 / std::max(4u, access.bytes));
  uint64_t extra = 0;
  for (uint32_t start = 0; start < access.lanes; start += group) {
    std::vector<std::vector<int64_t>> words(banks);
    for (uint32_t lane = start; lane < std::min(access.lanes, start + group); ++lane)
      if (access.mask >> lane & 1)
        for (int64_t word = (access.origin + access.at[lane]) / 4;
             word * 4 < access.origin + access.at[lane] + access.bytes; ++word) {
          std::vector<int64_t> &bank = words[size_t(word) % banks];
          if (std::find(bank.begin(), bank.end(), word) == bank.end())
            bank.push_back(word);
        }
    size_t most = 1;
    for (const std::vector<int64_t> &bank : words)
      most = std::max(most, bank.size());
    extra += most - 1;
  }
  return extra;
}

void judgeLaunches(Wave &wave, const Instr &instr, uint32_t buffer, bool isWrite) {
  const Program &program = wave.program;
  bool isStable = std::ranges::count(program.stable, buffer) > 0;
  bool isEarly = program.dependent && !wave.hasWaited && !isStable;
  if (!isEarly && !(isStable && isWrite))
    return;
  auto region = std::ranges::find_if(program.regions,
                                     [&](const Region &each) { return !each.shared && each.argument == buffer; });
  std::string what = wave.group.reporter.nameOf(wave.instruction(instr)) + (isWrite ? " writes `" : " reads `") +
                     (region == program.regions.end() ? "?" : region->name) + "` in wave " +
                     wave.group.reporter.waveName(wave.index);
  if (isEarly)
    wave.report(instr, FindingKind::EarlyAccess,
                what + " before it has waited for the launches ahead, which may still " + (isWrite ? "read" : "write") +
                    " there",
                "put `grid_wait` before it", Finding::kNone, 0);
  else
    wave.report(instr, FindingKind::StableWrite, what + ", which is stable: no launch is to write it",
                "do not call it stable", Finding::kNone, 0);
}

void judgeRuns(Wave &wave, const Actor &actor, const LaneAccess &access, bool isWrite, const std::byte *data) {
  Workgroup &group = wave.group;
  if (!access.region->shared) {
    if (access.mask)
      judgeLaunches(wave, wave.program.code[actor.instruction], access.region->argument, isWrite);
    GlobalAccess part{actor, group.clocks, access.region->argument};
    part.isWrite = isWrite;
    if (group.globalChecker.tracks(part.buffer))
      forRuns(access, [&](int64_t first, uint32_t bytes, uint32_t lane, uint32_t number) {
        part.first = static_cast<uint64_t>(first);
        part.bytes = bytes;
        part.lane = lane;
        part.data = data ? data + size_t(number) * access.bytes : nullptr;
        group.globalChecker.access(part);
      });
    return;
  }
  group.sharedChecker.begin(actor);
  forRuns(access, [&](int64_t first, uint32_t bytes, uint32_t lane, uint32_t) {
    if (isWrite)
      group.sharedChecker.write(static_cast<uint32_t>(first), bytes, lane);
    else
      group.sharedChecker.read(static_cast<uint32_t>(first), bytes, lane);
  });
}

void judgeAccess(Wave &wave, const Instr &instr, const LaneAccess &access, bool isWrite, const std::byte *data) {
  Workgroup &group = wave.group;
  bool shared = access.region->shared;
  ++(shared ? group.sharedAccesses : group.globalAccesses);
  if (shared && wave.prepared.config.bankConflicts)
    group.bankConflicts += bankConflicts(access, wave.program.rules.banks);
  if (wave.prepared.mayPoll && instr.op != Op::Store && access.mask) {
    wave.lastRead = wave.instruction(instr);
    wave.lastReadRegion = access.region;
    wave.lastReadAt = access.origin + access.at[static_cast<size_t>(std::countr_zero(access.mask))];
  }
  Actor actor = wave.issue(instr, shared ? CounterKind::shared : CounterKind::vm);
  if (!group.checks)
    return;
  judgeAlignment(wave, instr, access);
  actor.atomic = instr.order != Order::Plain;
  actor.accumulates = instr.op == Op::Atomic && static_cast<AtomicOp>(instr.sub) != AtomicOp::Exchange;
  actor.scope = instr.scope;
  judgeRuns(wave, actor, access, isWrite, data);
}

void startOrdered(Wave &wave, const Instr &instr, const LaneAccess &access) {
  if (instr.order != Order::Plain && access.region->shared)
    wave.finishAllShared();
  if (!releases(instr.order))
    return;
  for (CounterKind counter : {CounterKind::shared, CounterKind::vm}) {
    wave.group.clocks.complete(wave.index, counter);
    retire(wave, counter);
  }
}

void synchronize(Wave &wave, const Instr &instr, const LaneAccess &access, uint32_t elementBytes) {
  Workgroup &group = wave.group;
  if (!group.checks || instr.order == Order::Plain)
    return;
  SyncTable &table = access.region->shared ? group.sync : group.thread.sync;
  for (uint64_t rest = access.mask; rest; rest &= rest - 1)
    for (uint32_t byte = 0; byte < access.bytes; byte += elementBytes) {
      int64_t at = access.at[static_cast<size_t>(std::countr_zero(rest))] + byte;
      uint64_t place =
          access.region->shared ? uint64_t(access.origin + at) : reinterpret_cast<uint64_t>(access.base) + uint64_t(at);
      if (instr.op != Op::Store)
        table.read(group.clocks, wave.index, instr, place);
      if (instr.op != Op::Load)
        table.write(group.clocks, wave.index, instr, place, /*keeps=*/instr.op == Op::Atomic);
    }
}

} // namespace soliton::emu
