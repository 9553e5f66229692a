//===- AskedFlags.h - Which flags a way through the code may still ask ---------------===//
//
// Two ways that meet and know different things about flags are one from there on, unless a branch asks for what they
// know. So what no branch asks any more is forgotten where ways meet; otherwise there would be twice as many ways
// behind every branch.
//
//   s_mov_b64 s[4:5], -1      asked behind it: s[4:5]
//   s_andn2_b64 vcc, exec, s[4:5] ; s_cbranch_vccnz L           asked behind it: nothing
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/backend/amd/Flags.h"

#include "llvm/ADT/BitVector.h"

namespace soliton::backend {

class AskedFlags {
public:
  explicit AskedFlags(const std::vector<Instruction> &code);

  /// Forgets what nobody asks from the instruction on, to which a branch goes.
  void prune(Flags &flags, uint64_t address) const;

private:
  using Units = llvm::SmallVector<unsigned, 4>;
  struct Use {
    Units read, written;
  };
  /// Single registers and lanes, by number.
  Units unitsOf(const std::vector<std::string> &names);
  void applyBackwards(const Use &use, llvm::BitVector &asked) const;

  std::map<std::string, unsigned> lanes;
  std::map<uint64_t, llvm::BitVector> atLeaders;
};

} // namespace soliton::backend
