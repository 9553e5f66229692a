//===- Flags.cpp - Which branches a way through the code can take -------------------===//

#include "soliton/backend/amd/Flags.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace soliton::backend {

static std::vector<std::string> operandsOf(const Instruction &i) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(i.operands).split(parts, ',', -1, /*KeepEmpty=*/false);
  std::vector<std::string> result;
  for (llvm::StringRef part : parts)
    result.push_back(part.trim().str());
  return result;
}

/// First and last number of a scalar register, "s5" or "s[4:7]"; nothing for others.
static std::optional<std::pair<int, int>> rangeOf(llvm::StringRef name) {
  int first = 0, last = 0;
  if (!name.consume_front("s"))
    return std::nullopt;
  if (!name.consume_front("["))
    return name.getAsInteger(10, first) ? std::nullopt : std::optional(std::pair(first, first));
  if (name.consumeInteger(10, first) || !name.consume_front(":") || name.consumeInteger(10, last))
    return std::nullopt;
  return std::pair(first, last);
}

static bool overlap(llvm::StringRef a, llvm::StringRef b) {
  auto first = rangeOf(a), second = rangeOf(b);
  if (first && second)
    return first->first <= second->second && second->first <= first->second;
  // "vcc_lo" is part of "vcc".
  return a.starts_with(b) || b.starts_with(a);
}

std::optional<Flags::Mask> Flags::valueOf(const std::string &text) const {
  if (text == "0")
    return Mask::none;
  if (text == "-1")
    return Mask::all;
  auto found = known.find(text);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

bool Flags::bringsBack(const std::string &text) const {
  return saved.contains(text) || valueOf(text).value_or(Mask::none) != Mask::none;
}

void Flags::forget(const std::string &name) {
  std::erase_if(known, [&](auto &entry) { return overlap(entry.first, name); });
  std::erase_if(saved, [&](auto &entry) { return overlap(entry.first, name); });
  std::erase_if(halves, [&](auto &entry) { return overlap(entry.first, name); });
  std::erase_if(sources, [&](auto &entry) { return overlap(entry.first, name) || overlap(entry.second.other, name); });
}

void Flags::set(const std::string &name, std::optional<Mask> value) {
  forget(name);
  if (value)
    known[name] = *value;
}

/// `exec` loses lanes; `before` holds, or together with the rest makes up, those that were on.
void Flags::leaveLanes(const std::string &before, bool isComplement, bool isSome) {
  bool some = isSome || valueOf("exec").value_or(Mask::none) != Mask::none;
  set("exec", std::nullopt);
  if (!isComplement)
    forget(before);
  if (some)
    saved[before] = Mask::some;
}

void Flags::combine(const Instruction &i, const std::vector<std::string> &operands) {
  const std::string &to = operands[0], &a = operands[1], &b = operands[2];
  bool isInverted = i.mnemonic == "s_andn2_b64";
  const std::string &other = a == "exec" ? b : a;
  bool withExec = a == "exec" || (b == "exec" && !isInverted);
  std::optional<Mask> value;
  std::optional<Mask> flag = valueOf(other);
  if (withExec && flag && *flag != Mask::some)
    value = (*flag == Mask::all) != isInverted ? valueOf("exec") : std::optional(Mask::none);
  Source source{other, isInverted};
  bool isLinked = withExec && !value && rangeOf(other) && !overlap(other, to);
  set(to, value);
  if (isLinked)
    sources[to] = source;
}

//===-- Flags without a register ------------------------------------------------------===//

/// The pair that a scalar register is half of, and which half.
static std::optional<std::pair<std::string, bool>> pairOf(llvm::StringRef half) {
  if (half == "vcc_lo" || half == "vcc_hi")
    return std::pair(std::string("vcc"), half == "vcc_hi");
  std::optional<std::pair<int, int>> range = rangeOf(half);
  if (!range || range->first != range->second)
    return std::nullopt;
  int first = range->first & ~1;
  return std::pair("s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]", range->first != first);
}

static std::string laneOf(const std::string &vector, const std::string &lane) {
  return vector + ", " + lane;
}

/// v_writelane_b32 v91, s4, 3
void Flags::spill(const std::vector<std::string> &operands) {
  auto pair = pairOf(operands[1]);
  std::optional<Mask> value = pair ? valueOf(pair->first) : std::nullopt;
  std::string lane = laneOf(operands[0], operands[2]);
  spilled.erase(lane);
  if (value)
    spilled[lane] = {*value, pair->second};
}

/// v_readlane_b32 s4, v91, 3: the pair is known again with its second half.
void Flags::fill(const std::vector<std::string> &operands) {
  std::map<std::string, Mask> lower = halves;
  forget(operands[0]);
  auto pair = pairOf(operands[0]);
  auto from = spilled.find(laneOf(operands[1], operands[2]));
  if (!pair || from == spilled.end() || from->second.isHigh != pair->second)
    return;
  if (!pair->second)
    halves[pair->first] = from->second.value;
  else if (auto low = lower.find(pair->first); low != lower.end() && low->second == from->second.value)
    known[pair->first] = from->second.value;
}

/// What writes no scalar register, whatever it names.
static bool writesVectorsOnly(llvm::StringRef mnemonic) {
  for (llvm::StringRef prefix : {"v_cndmask", "v_mov", "v_mfma", "ds_", "buffer_", "global_"})
    if (mnemonic.starts_with(prefix))
      return true;
  return false;
}

void Flags::execute(const Instruction &i) {
  std::vector<std::string> operands = operandsOf(i);
  const std::string &m = i.mnemonic;
  if (m == "v_writelane_b32" && operands.size() == 3)
    return spill(operands);
  if (m == "v_readlane_b32" && operands.size() == 3)
    return fill(operands);
  if (!operands.empty() && operands[0].starts_with("v"))
    std::erase_if(spilled, [&](auto &entry) { return llvm::StringRef(entry.first).starts_with(operands[0] + ","); });
  if (writesVectorsOnly(m))
    return;
  bool toExec = !operands.empty() && operands[0] == "exec";
  if (m == "s_and_saveexec_b64" || m == "s_andn2_saveexec_b64")
    return leaveLanes(operands[0], false, m == "s_andn2_saveexec_b64" && saved.contains(operands[1]));
  // The lanes that are off, of those that were on: together with the rest they still make up all of them.
  if (m == "s_xor_b64" && !toExec && operands[1] == "exec" && operands[0] == operands[2] && saved.contains(operands[0]))
    return;
  if (m == "s_or_saveexec_b64") { // the other arm of a fork, or all lanes while registers are spilled
    bool some = valueOf("exec") == Mask::some, back = some || bringsBack(operands[1]);
    forget(operands[0]);
    if (some)
      saved[operands[0]] = Mask::some;
    return set("exec", back ? std::optional(Mask::some) : std::nullopt);
  }
  if (m == "s_xor_b64" && toExec && operands[1] == "exec")
    return leaveLanes(operands[2], true);
  if ((m == "s_or_b64" && toExec && operands[1] == "exec") || (m == "s_mov_b64" && toExec))
    return set("exec", bringsBack(operands.back()) ? std::optional(Mask::some) : std::nullopt);
  if (m == "s_mov_b64")
    return set(operands[0], valueOf(operands[1]));
  if (!toExec && (m == "s_and_b64" || m == "s_andn2_b64"))
    return combine(i, operands);
  // Anything else may write whatever it names.
  for (const std::string &operand : operands)
    forget(operand);
}

//===-- Branches ----------------------------------------------------------------------===//

/// The register that a branch asks, and whether it jumps where that is not zero.
static std::optional<std::pair<std::string, bool>> askedBy(const Instruction &branch) {
  llvm::StringRef rest = branch.mnemonic;
  if (!rest.consume_front("s_cbranch_"))
    return std::nullopt;
  for (llvm::StringRef name : {"exec", "vcc"})
    if (llvm::StringRef kind = rest; kind.consume_front(name))
      return std::pair(name.str(), kind == "nz");
  return std::nullopt;
}

bool Flags::mayBe(const Instruction &branch, bool jumps) const {
  auto asked = askedBy(branch);
  std::optional<Mask> value = asked ? valueOf(asked->first) : std::nullopt;
  if (!value)
    return true;
  bool taken = (*value != Mask::none) == asked->second;
  return taken == jumps;
}

void Flags::assume(const Instruction &branch, bool jumped) {
  auto asked = askedBy(branch);
  if (!asked)
    return;
  bool isSome = asked->second == jumped;
  auto source = sources.find(asked->first);
  if (source != sources.end()) {
    // LLVM asks `vcc` only what all lanes agree on: the flag is none or all.
    Mask flag = isSome != source->second.isInverted ? Mask::all : Mask::none;
    std::string other = source->second.other;
    known[other] = flag;
  }
  known[asked->first] = isSome ? Mask::some : Mask::none;
}

} // namespace soliton::backend
