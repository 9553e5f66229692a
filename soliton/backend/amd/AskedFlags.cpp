//===- AskedFlags.cpp - Which flags a way through the code may still ask -------------===//

#include "soliton/backend/amd/AskedFlags.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace soliton::backend {

static constexpr unsigned kScalars = 128, kVcc = kScalars, kExec = kScalars + 1, kFirstLane = kScalars + 2;

/// The numbers of a name of a register; nothing for one that is a lane, or none at all.
static llvm::SmallVector<unsigned, 4> registersOf(llvm::StringRef name) {
  if (name.starts_with("vcc"))
    return {kVcc};
  if (name.starts_with("exec"))
    return {kExec};
  llvm::SmallVector<unsigned, 4> units;
  if (auto range = scalarRange(std::string_view(name.data(), name.size())))
    for (int i = range->first; i <= range->second && i < static_cast<int>(kScalars); ++i)
      units.push_back(static_cast<unsigned>(i));
  return units;
}

AskedFlags::Units AskedFlags::unitsOf(const std::vector<std::string> &names) {
  Units units;
  for (const std::string &name : names)
    if (name.find(", ") != std::string::npos)
      units.push_back(lanes.try_emplace(name, kFirstLane + lanes.size()).first->second);
    else
      llvm::append_range(units, registersOf(name));
  return units;
}

/// What an instruction reads matters if what it writes does.
void AskedFlags::applyBackwards(const Use &use, llvm::BitVector &asked) const {
  bool matters = use.written.empty() || llvm::any_of(use.written, [&](unsigned unit) { return asked[unit]; });
  if (!matters)
    return;
  for (unsigned unit : use.written)
    asked.reset(unit);
  for (unsigned unit : use.read)
    asked.set(unit);
}

AskedFlags::AskedFlags(const std::vector<Instruction> &code) {
  std::vector<Use> uses;
  for (const Instruction &i : code) {
    FlagUse use = flagUseOf(i);
    uses.push_back({unitsOf(use.read), unitsOf(use.written)});
  }
  const unsigned count = kFirstLane + lanes.size();
  for (const Instruction &i : code)
    if (i.target)
      atLeaders[*i.target] = llvm::BitVector(count);
  // From the end to the beginning, again and again until no jump backwards brings anything new.
  for (bool changed = true; changed;) {
    changed = false;
    llvm::BitVector asked(count);
    for (size_t at = code.size(); at-- > 0;) {
      const Instruction &i = code[at];
      bool goesOn = i.kind != InstructionKind::branch || llvm::StringRef(i.mnemonic).starts_with("s_cbranch");
      if (!goesOn)
        asked.reset();
      if (i.target)
        asked |= atLeaders[*i.target];
      applyBackwards(uses[at], asked);
      auto leader = atLeaders.find(i.address);
      if (leader == atLeaders.end() || leader->second == asked)
        continue;
      leader->second = asked;
      changed = true;
    }
  }
}

void AskedFlags::prune(Flags &flags, uint64_t address) const {
  auto leader = atLeaders.find(address);
  if (leader == atLeaders.end())
    return;
  flags.keepOnly([&](const std::string &name) {
    if (auto lane = lanes.find(name); lane != lanes.end())
      return leader->second.test(lane->second);
    return llvm::any_of(registersOf(name), [&](unsigned unit) { return leader->second.test(unit); });
  });
}

} // namespace soliton::backend
