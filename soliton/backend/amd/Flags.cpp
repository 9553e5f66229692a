//===- Flags.cpp - Which branches a way through the code can take -------------------===//

#include "soliton/backend/amd/Flags.h"

#include "llvm/ADT/STLExtras.h"
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

std::optional<std::pair<int, int>> scalarRange(std::string_view text) {
  llvm::StringRef name(text.data(), text.size());
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
  auto first = scalarRange(a), second = scalarRange(b);
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
  bool isLinked = withExec && !value && scalarRange(other) && !overlap(other, to);
  set(to, value);
  if (isLinked)
    sources[to] = source;
}

//===-- Flags without a register ------------------------------------------------------===//

/// The pair that a scalar register is half of, and which half.
static std::optional<std::pair<std::string, bool>> pairOf(llvm::StringRef half) {
  if (half == "vcc_lo" || half == "vcc_hi")
    return std::pair(std::string("vcc"), half == "vcc_hi");
  std::optional<std::pair<int, int>> range = scalarRange(half);
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

/// The operands that an instruction may write, by the names of registers.
static std::vector<std::string> writtenBy(llvm::StringRef mnemonic, const std::vector<std::string> &operands) {
  bool isVector = mnemonic.starts_with("v_"), isScalar = mnemonic.starts_with("s_");
  if (operands.empty() || (!isVector && !isScalar) || mnemonic.contains("movrel") || mnemonic.contains("swap"))
    return operands;
  std::vector<std::string> written = {operands[0]};
  // A carry, or a flag of a division, is the second one.
  bool hasFlag = mnemonic.contains("_co_") || mnemonic.starts_with("v_div_scale") ||
                 mnemonic.starts_with("v_mad_u64") || mnemonic.starts_with("v_mad_i64");
  if (isVector && hasFlag && operands.size() > 1)
    written.push_back(operands[1]);
  if (mnemonic.starts_with("v_cmpx") || mnemonic.contains("exec"))
    written.emplace_back("exec");
  return written;
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
  if (m == "s_xor_b64" && !toExec && operands[1] == "exec" && saved.contains(operands[2])) {
    if (operands[0] == operands[2])
      return;
    forget(operands[0]);
    saved[operands[0]] = Mask::some;
    return;
  }
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
  for (const std::string &written : writtenBy(m, operands))
    forget(written);
}

/// Whether an entry of a map of facts is in another one too.
static auto isIn(const auto &facts) {
  return [&](const auto &entry) {
    auto found = facts.find(entry.first);
    return found != facts.end() && found->second == entry.second;
  };
}

bool Flags::knowsNoMoreThan(const Flags &other) const {
  return llvm::all_of(known, isIn(other.known)) && llvm::all_of(saved, isIn(other.saved)) &&
         llvm::all_of(halves, isIn(other.halves)) && llvm::all_of(spilled, isIn(other.spilled)) &&
         llvm::all_of(sources, isIn(other.sources));
}

void Flags::keepCommon(const Flags &other) {
  std::erase_if(known, std::not_fn(isIn(other.known)));
  std::erase_if(saved, std::not_fn(isIn(other.saved)));
  std::erase_if(halves, std::not_fn(isIn(other.halves)));
  std::erase_if(spilled, std::not_fn(isIn(other.spilled)));
  std::erase_if(sources, std::not_fn(isIn(other.sources)));
}

void Flags::keepOnly(const std::function<bool(const std::string &)> &isAsked) {
  auto isNot = [&](auto &entry) { return !isAsked(entry.first); };
  std::erase_if(known, isNot);
  std::erase_if(saved, isNot);
  std::erase_if(halves, isNot);
  std::erase_if(spilled, isNot);
  std::erase_if(sources, [&](auto &entry) { return isNot(entry) || !isAsked(entry.second.other); });
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

FlagUse flagUseOf(const Instruction &i) {
  if (auto asked = askedBy(i))
    return {{asked->first}, {}};
  std::vector<std::string> operands = operandsOf(i);
  llvm::StringRef m = i.mnemonic;
  if (m == "v_writelane_b32" && operands.size() == 3) {
    auto pair = pairOf(operands[1]);
    return {{pair ? pair->first : operands[1]}, {laneOf(operands[0], operands[2])}};
  }
  if (m == "v_readlane_b32" && operands.size() == 3)
    return {{laneOf(operands[1], operands[2])}, {operands[0]}};
  if (operands.empty() || writesVectorsOnly(m))
    return {};
  FlagUse use{{}, writtenBy(m, operands)};
  bool isLogic = m.starts_with("s_and") || m.starts_with("s_or") || m.starts_with("s_xor") || m == "s_mov_b64";
  if (isLogic)
    use.read.assign(operands.begin() + 1, operands.end());
  if (isLogic && (m.contains("saveexec") || operands[0] == "exec"))
    use.read.emplace_back("exec");
  return use;
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
