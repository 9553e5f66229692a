//===- Passes.h - The passes on wave kernels ----------------------------------===//
#pragma once

#include "soliton/ir/Machine.h"
#include "soliton/ir/Wave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace soliton {
#define GEN_PASS_DECL
#include "soliton/transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "soliton/transforms/Passes.h.inc"
} // namespace soliton
