//===- Ways.h - All orders in which a program can issue what is counted -------------===//
//
// A graph of the points of a machine kernel. Each edge issues one counted instruction, waits, or does nothing; a loop
// is a circle, a condition a fork, so every run of the kernel is a way through the graph:
//
//   scf.for { load; mma }        before ──▶ o ─load─▶ o ─mma─▶ o ──▶ after
//                                           ▲──────────────────┘
//
// What a target leaves out by itself is a fork too: a store whose lanes are all off, an arm that no lane takes. Where
// lanes of a wave disagree, both arms are run, one after the other.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/analysis/Uniform.h"
#include "soliton/backend/amd/Disassemble.h"
#include "soliton/ir/Machine.h"

namespace soliton::backend {

/// Something that a schedule places: its class and the line of the op.
struct Placed {
  InstructionKind kind;
  uint32_t line = 0;

  bool operator==(const Placed &) const = default;
};

/// How many instructions of each counter may still be under way; the largest numbers wait for nothing.
struct Pending {
  static constexpr int64_t kAnyVm = 63, kAnyShared = 15;
  int64_t vm = kAnyVm, shared = kAnyShared;

  void atMost(const Pending &other) {
    vm = std::min(vm, other.vm);
    shared = std::min(shared, other.shared);
  }
  bool isAtMost(const Pending &other) const { return vm <= other.vm && shared <= other.shared; }
  auto operator<=>(const Pending &) const = default;
};

class Ways {
public:
  explicit Ways(machine::KernelOp kernel);

  /// What may be issued next from a point, and what has been waited for until then.
  struct Next {
    Placed placed;
    Pending pending;
    /// The line of the last wait on the way.
    uint32_t waitLine = 0;
    /// The point behind it.
    int point = 0;
  };
  const std::vector<Next> &next(int point);
  /// Whether the kernel may end from here without issuing anything more.
  bool mayEnd(int point);
  static constexpr int kBegin = 0;

private:
  struct Edge {
    int to;
    std::optional<Placed> placed;
    Pending pending;
    uint32_t line = 0;
  };
  int newPoint() { return edges.emplace_back(), static_cast<int>(edges.size()) - 1; }
  void connect(int from, int to) { edges[from].push_back({to, std::nullopt, {}, 0}); }
  int add(mlir::Block &block, int from);
  int add(mlir::Operation *op, int from);
  int addFor(mlir::Operation *op, int from);
  int addIf(mlir::Operation *op, int from);
  int addWhile(mlir::Operation *op, int from);
  void follow(int point);

  UniformValues uniform;
  std::vector<std::vector<Edge>> edges;
  int end = 0;
  bool isAlone;
  struct Known {
    std::vector<Next> next;
    bool mayEnd = false;
  };
  std::vector<std::optional<Known>> known;
};

/// The class of an op that a schedule places, if it is one.
std::optional<InstructionKind> placedKind(mlir::Operation *op);
/// True if the back end branches around the op where no lane wants it, so that a counter does not tick.
bool maySkip(mlir::Operation *op);
/// The line of an op as the code's line table has it.
uint32_t lineOf(mlir::Operation *op);

} // namespace soliton::backend
