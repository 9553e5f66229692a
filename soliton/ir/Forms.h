//===- Forms.h - What holds of a program, by name ----------------------------===//
//
// A kernel carries the name of its form; a pass states which one it requires and which it ensures. Each form includes
// what the ones before it say:
//
//   Traced        what the author wrote
//   Indexed       every tile has a layout; accesses and indices have starts; loops have counts
//   Placed        every memory has its place, every convert a plan that needs no memory
//   Expanded      every op is one instruction and knows its origin
//   Scheduled     the instructions are in their final order
//   Synchronized  barriers and waits are in, and every hazard between waves was proven
//   Machine       the program is a machine.kernel
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/ir/Wave.h"

namespace soliton {

enum class Form : uint32_t { Traced, Indexed, Placed, Expanded, Scheduled, Synchronized, Machine };

/// The name of a form: "Placed".
llvm::StringRef formName(Form form);

/// The form that the kernel claims.
Form getForm(wave::KernelOp kernel);
void setForm(wave::KernelOp kernel, Form form);

/// For a pass that needs this form: fails with a diagnostic where the kernel claims another one.
llvm::LogicalResult requireForm(wave::KernelOp kernel, Form form);

/// Fails with a diagnostic at each op that is not as the form says (`form-violated`).
llvm::LogicalResult verifyForm(wave::KernelOp kernel, Form form);

} // namespace soliton
