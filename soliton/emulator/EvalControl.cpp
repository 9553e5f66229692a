//===- EvalControl.cpp - Jumps, loops and lane masks ----------------------===//
//
// Jumps and loops take the whole wave; conditions that differ between lanes narrow the active lanes instead.
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Wave.h"

namespace soliton::emu {

uint64_t lanesWhere(Wave &wave, Slot slot) {
  const uint32_t *bits = wave.words(slot);
  if (wave.prepared.slots[slot].lanes == 1)
    return bits[0] ? wave.allLanes() : 0;
  uint64_t mask = 0;
  for (uint32_t lane = 0; lane < wave.lanes; ++lane)
    mask |= uint64_t(bits[lane] & 1) << lane;
  return mask;
}

namespace {

/// A launch behind this one waits for this one alone: it has ended only when those ahead of it have.
void judgeEnd(Wave &wave, const Instr &instr) {
  Workgroup &group = wave.group;
  auto first = group.waves.begin() + wave.rank() * wave.program.waves;
  bool anyWaited = std::any_of(first, first + wave.program.waves, [](auto &each) { return each->hasWaited; });
  if (wave.program.dependent && !anyWaited && group.hasLeft(wave.rank()))
    wave.report(instr, FindingKind::EarlyAccess,
                "the workgroup of wave " + group.reporter.waveName(wave.index) +
                    " ends without a wait for the launches ahead, on which those behind this one rely",
                "let every path come to a `grid_wait`", Finding::kNone, 0);
}

void evalEnd(Wave &wave, const Instr &instr) {
  drain(wave);
  if (wave.group.checks && wave.active != wave.allLanes())
    wave.requireConverged(instr);
  wave.status = Status::Ended;
  wave.stop = true;
  wave.group.noteChange();
  judgeLeave(wave, instr);
  if (wave.group.checks)
    judgeEnd(wave, instr);
}

void evalNop(Wave &, const Instr &) {}

void evalJump(Wave &wave, const Instr &instr) {
  bool backward = instr.index < wave.pc;
  wave.pc = instr.index;
  if (backward)
    wave.noteLoop();
}

void evalJumpIfZero(Wave &wave, const Instr &instr) {
  if (wave.words(instr.src[0])[0] == 0)
    wave.pc = instr.index;
}

bool isWide(Wave &wave, Slot slot) {
  return wave.prepared.slots[slot].wide;
}

void setInduction(Wave &wave, Slot slot, int64_t value) {
  if (isWide(wave, slot))
    wave.wideWords(slot)[0] = static_cast<uint64_t>(value);
  else
    wave.words(slot)[0] = static_cast<uint32_t>(value);
}

void evalForBegin(Wave &wave, const Instr &instr) {
  if (wave.uniformInt(instr.src[2]) <= 0)
    return wave.group.fail("the step of a loop is " + std::to_string(wave.uniformInt(instr.src[2])) +
                           ", expected a positive number");
  int64_t lower = wave.uniformInt(instr.src[0]);
  setInduction(wave, instr.dst, lower);
  if (lower >= wave.uniformInt(instr.src[1]))
    wave.pc = instr.index;
}

void evalForNext(Wave &wave, const Instr &instr) {
  // A step beyond the largest integer ends the loop: no iteration follows it.
  int64_t next = 0;
  bool overflow = __builtin_add_overflow(wave.uniformInt(instr.dst), wave.uniformInt(instr.src[2]), &next);
  if (!isWide(wave, instr.dst))
    overflow |= next != static_cast<int32_t>(next);
  setInduction(wave, instr.dst, next);
  if (!overflow && next < wave.uniformInt(instr.src[1]))
    wave.pc = instr.index;
}

void evalMaskPush(Wave &wave, const Instr &instr) {
  if (wave.masks.size() >= 256)
    return wave.group.fail("lane conditions are nested more than 256 deep");
  uint64_t condition = lanesWhere(wave, instr.src[0]);
  wave.masks.push_back({wave.active, condition});
  wave.active &= condition;
  if (wave.active == 0)
    wave.pc = instr.index;
}

void evalMaskElse(Wave &wave, const Instr &instr) {
  if (wave.masks.empty())
    return wave.group.fail("`mask_else` without `mask_push`");
  wave.active = wave.masks.back().outer & ~wave.masks.back().condition;
  if (wave.active == 0)
    wave.pc = instr.index;
}

void evalMaskPop(Wave &wave, const Instr &) {
  if (wave.masks.empty())
    return wave.group.fail("`mask_pop` without `mask_push`");
  wave.active = wave.masks.back().outer;
  wave.masks.pop_back();
}

} // namespace

Handler controlHandler(const Program &, const Instr &instr) {
  switch (instr.op) {
  case Op::End:
    return evalEnd;
  case Op::Jump:
    return evalJump;
  case Op::JumpIfZero:
    return evalJumpIfZero;
  case Op::ForBegin:
    return evalForBegin;
  case Op::ForNext:
    return evalForNext;
  case Op::MaskPush:
    return evalMaskPush;
  case Op::MaskElse:
    return evalMaskElse;
  case Op::MaskPop:
    return evalMaskPop;
  default:
    return evalNop;
  }
}

} // namespace soliton::emu
