#include "soliton/pipeline/Ops.h"

namespace soliton::pipe {

std::string_view nameOf(ResourceKind kind) {
  switch (kind) {
  case ResourceKind::GlobalMem:
    return "global";
  case ResourceKind::Shared:
    return "shared";
  case ResourceKind::MmaUnit:
    return "mma";
  case ResourceKind::Scalar:
    return "scalar";
  case ResourceKind::Valu:
    return "valu";
  case ResourceKind::None:
    break;
  }
  return "none";
}

std::string_view nameOf(OpRole role) {
  switch (role) {
  case OpRole::GlobalLoad:
    return "global load";
  case OpRole::SharedStore:
    return "shared store";
  case OpRole::FragmentLoad:
    return "fragment load";
  case OpRole::Compute:
    return "compute";
  case OpRole::Sync:
    return "sync";
  case OpRole::Fence:
    return "fence";
  case OpRole::ValuCompute:
    return "valu compute";
  case OpRole::None:
    break;
  }
  return "none";
}

std::string_view nameOf(KOffset k) {
  switch (k) {
  case KOffset::K0:
    return "K0";
  case KOffset::K1:
    return "K1";
  case KOffset::KNext:
    return "K_NEXT";
  case KOffset::KPrev:
    return "K_PREV";
  case KOffset::None:
    break;
  }
  return "-";
}

int tilesFromLoop(KOffset k) {
  return k == KOffset::KPrev ? -1 : k == KOffset::None ? 0 : static_cast<int>(k);
}

int llvmMask(GroupClass kind) {
  constexpr std::array masks = {0x100, 0x200, 0x20, 0x8};
  return masks[static_cast<size_t>(kind)];
}

OpDesc logical(const Logical &op, Where where) {
  OpDesc desc;
  desc.tag = op.tag;
  desc.channel = op.channel;
  desc.stage = op.stage;
  desc.subtile = op.subtile;
  desc.k = op.k;
  desc.where = where;
  return desc;
}

static OpDesc infrastructure(int tag, OpRole role, int value = 0) {
  OpDesc desc;
  desc.tag = tag;
  desc.resource = ResourceKind::Scalar;
  desc.role = role;
  desc.waitValue = value;
  return desc;
}

OpDesc barrier(Where where) {
  OpDesc desc = infrastructure(kBarrier, OpRole::Sync);
  desc.where = where;
  return desc;
}

OpDesc waitVm(int outstanding) {
  return infrastructure(kWaitVm, OpRole::Sync, outstanding);
}

OpDesc waitLgkm(int outstanding) {
  return infrastructure(kWaitLgkm, OpRole::Sync, outstanding);
}

OpDesc commitBoxes() {
  return infrastructure(kCommitBoxes, OpRole::Sync);
}

OpDesc commitMma() {
  return infrastructure(kCommitMma, OpRole::Sync);
}

OpDesc waitBoxes(int outstanding) {
  return infrastructure(kWaitBoxes, OpRole::Sync, outstanding);
}

OpDesc waitMma(int outstanding) {
  return infrastructure(kWaitMma, OpRole::Sync, outstanding);
}

OpDesc setPrio(int level) {
  return infrastructure(kSetPrio, OpRole::Fence, level);
}

OpDesc scheduleBarrier() {
  return infrastructure(kScheduleBarrier, OpRole::Fence);
}

OpDesc schedGroupBarrier(GroupClass kind, int count) {
  OpDesc desc = infrastructure(kSchedGroupBarrier, OpRole::Fence, count);
  desc.subtile = static_cast<int>(kind);
  return desc;
}

OpDesc noOp() {
  return {};
}

std::vector<OpDesc> annotate(std::vector<OpDesc> ops, const CostModel &costs) {
  for (OpDesc &op : ops) {
    if (op.tag >= kFirstFrameworkTag)
      continue;
    const OpCost cost = costs.get(op.tag);
    op.resource = cost.resource;
    op.latency = cost.latency;
    op.role = cost.role;
    op.vgprDef = cost.vgprDef;
    op.vgprKill = cost.vgprKill;
  }
  return ops;
}

static std::string frameworkText(const OpDesc &op) {
  std::string value = "(" + std::to_string(op.waitValue) + ")";
  switch (op.tag) {
  case kBarrier:
    return "BARRIER";
  case kWaitVm:
    return "VM" + value;
  case kWaitLgkm:
    return "LGKM" + value;
  case kCommitBoxes:
    return "COMMIT_BOXES";
  case kCommitMma:
    return "COMMIT_MMA";
  case kWaitBoxes:
    return "BOXES" + value;
  case kWaitMma:
    return "MMA" + value;
  case kSetPrio:
    return "PRIO" + value;
  case kScheduleBarrier:
    return "SB";
  case kSchedGroupBarrier: {
    constexpr std::array classes = {"DS_READ", "DS_WRITE", "VMEM_READ", "MFMA"};
    bool known = op.subtile >= 0 && op.subtile < static_cast<int>(classes.size());
    return std::string("GROUP ") + (known ? classes[op.subtile] : "?") + value;
  }
  default:
    return "none";
  }
}

std::string toString(const OpDesc &op, std::string_view name) {
  if (op.tag >= kFirstFrameworkTag)
    return frameworkText(op);
  bool computes = op.role == OpRole::Compute || op.role == OpRole::ValuCompute;
  std::string text =
      std::string(name) + (computes ? "[" : "[s") + std::to_string(op.stage) + "," + std::to_string(op.subtile) + "]";
  return op.k == KOffset::None ? text : text + "@" + std::string(nameOf(op.k));
}

} // namespace soliton::pipe
