//===- Flags.h - Which branches a way through the code can take ---------------------===//
//
// LLVM turns branches that all lanes agree on into a flag that is set where they part and asked where they join again:
//
//   s_mov_b64 s[4:5], -1 … s_andn2_b64 vcc, exec, s[4:5] ; s_cbranch_vccnz L      // never taken on this way
//   s_cbranch_execnz L                                                            // always: some lane is on
//
// A flag for which there is no register goes through lanes of a vector register and comes back half by half.
//
// This follows such flags along one way, so that ways which no wave can go are not taken for ways of the code. What is
// not known may go either way.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/amd/Disassemble.h"

#include <functional>
#include <map>

namespace soliton::backend {

/// Where an instruction takes flags from and puts them: "vcc", "s[4:5]", or a lane of a vector register, "v91, 3".
struct FlagUse {
  std::vector<std::string> read, written;
};
FlagUse flagUseOf(const Instruction &i);
/// First and last number of a scalar register, "s5" or "s[4:7]"; nothing for others.
std::optional<std::pair<int, int>> scalarRange(std::string_view name);

class Flags {
public:
  /// A wave begins with all lanes.
  Flags() { known["exec"] = Mask::some; }

  void execute(const Instruction &i);
  bool mayJump(const Instruction &branch) const { return mayBe(branch, true); }
  bool mayGoOn(const Instruction &branch) const { return mayBe(branch, false); }
  /// Notes what holds after the branch was taken, or was not.
  void assume(const Instruction &branch, bool jumped);
  /// Whether all that is known here is known there too, so that whatever can happen there can happen here.
  bool knowsNoMoreThan(const Flags &other) const;
  /// Forgets what the other does not know.
  void keepCommon(const Flags &other);
  /// Forgets all about registers, and lanes that registers were spilled to, that nobody asks any more.
  void keepOnly(const std::function<bool(const std::string &)> &isAsked);

  auto operator<=>(const Flags &) const = default;

private:
  /// What is known about a mask of lanes: none, not none, all.
  enum class Mask : uint8_t { none, some, all };
  /// Where a register comes from: `exec & other`, or `exec & ~other`.
  struct Source {
    std::string other;
    bool isInverted;
    auto operator<=>(const Source &) const = default;
  };
  std::optional<Mask> valueOf(const std::string &text) const;
  /// Whether some lane is on with the lanes of this mask.
  bool bringsBack(const std::string &text) const;
  void set(const std::string &name, std::optional<Mask> value);
  void forget(const std::string &name);
  bool mayBe(const Instruction &branch, bool jumps) const;
  void combine(const Instruction &i, const std::vector<std::string> &operands);
  void spill(const std::vector<std::string> &operands);
  void fill(const std::vector<std::string> &operands);
  void leaveLanes(const std::string &before, bool isComplement, bool isSome = false);

  /// Half of a mask in a lane of a vector register, where LLVM keeps scalars that it has no room for: "v91, 3".
  struct Spilled {
    Mask value;
    bool isHigh;
    auto operator<=>(const Spilled &) const = default;
  };

  std::map<std::string, Mask> known;
  std::map<std::string, Spilled> spilled;
  /// Pairs whose lower half has come back.
  std::map<std::string, Mask> halves;
  std::map<std::string, Source> sources;
  /// Registers that hold the lanes of before a region: with them some lane is on again.
  std::map<std::string, Mask> saved;
};

} // namespace soliton::backend
