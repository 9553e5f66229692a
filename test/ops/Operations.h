//===- Operations.h - Every operation of the language, as the smallest kernel of an element type -----===//
//
//   for (const Operation &each : operations())
//     Kernel kernel = build(each, DType::f16);          // two tiles of f16, the operation, its result
//
// Names are those of the public headers; docs/ops has a page for each.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/soliton.h"

#include <functional>
#include <string>
#include <vector>

namespace soliton::test {

/// What an operation is applied to.
struct Operands {
  Kernel &kernel;
  ElementType type;
  Expr M, N, K;
  /// Two tiles [M, N]; in a kernel of lanes, two numbers of each of 64 lanes, of which N are in the memory.
  Value x, y;
  MemoryRef memory;
};

struct Operation {
  std::string name;
  /// The result, which is written to a tensor of its dimensions and type; none where the operation writes by itself.
  std::function<Value(const Operands &)> make;
  /// It speaks of one lane (Simt.h).
  bool ofLanes = false;
};

const std::vector<Operation> &operations();

/// The kernel of one operation; `M`, `N` and `K` are 16, 32 and 32, `FEW`, `MANY` and `DEPTH` 8, 64 and 128.
Kernel build(const Operation &operation, DType type);
lang::Substitutions sizes();

} // namespace soliton::test
