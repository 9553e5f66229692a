// The `machine` dialect: all that touches memory, lanes, matrices or time in the form that back ends translate.
#ifndef SOLITON_IR_MACHINEDIALECT_TD
#define SOLITON_IR_MACHINEDIALECT_TD

include "mlir/IR/OpBase.td"

def Machine_Dialect : Dialect {
  let name = "machine";
  let cppNamespace = "::soliton::machine";
  let summary = "one thread's program: memory, lanes, matrices and time";
  let description = [{
    A `machine.kernel` is what one lane executes, waves running in lockstep: where lanes of a wave take different ways, they meet again
    behind them, and a back end for hardware whose lanes go on by themselves says so to it. `arith`, `math`, `vector` (one-dimensional, static
    positions) and `scf` compute; everything else is an op of this dialect that a back end maps to one instruction.
    Lane arithmetic is i32. Addresses are bytes: `lane + uniform + immediate`, relative to a buffer or to the workgroup's
    shared block; `uniform` is the same in all lanes of a wave.

    Time: a `load` into a register is complete where it is used. A shared access is done for *other* waves after the
    issuer's `wait shared` and then a `barrier`. A `copy_async` is undefined for its own wave until its `wait`, for others
    until `wait` and `barrier`. Counters retire in issue order.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

#endif
