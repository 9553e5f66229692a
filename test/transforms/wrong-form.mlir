// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-hoist-invariants))' 2>&1 | FileCheck %s --check-prefix=INDEXED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-promote-to-shared))' 2>&1 | FileCheck %s --check-prefix=INDEXED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-mask-accesses))' 2>&1 | FileCheck %s --check-prefix=INDEXED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-plan-movement))' 2>&1 | FileCheck %s --check-prefix=INDEXED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-place-shared))' 2>&1 | FileCheck %s --check-prefix=INDEXED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-expand-tiles))' 2>&1 | FileCheck %s --check-prefix=PLACED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-synchronize))' 2>&1 | FileCheck %s --check-prefix=EXPANDED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave-lower-to-machine)' 2>&1 | FileCheck %s --check-prefix=SYNCHRONIZED
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-assign-layouts))' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not soliton-opt %s --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-bind-symbols))' 2>&1 | FileCheck %s --check-prefix=TWICE

// A pass that is run too early, or once more, says what it needs.
// INDEXED: error: `copy` is in the form `Traced`, expected `Indexed` [form-violated]
// INDEXED: run the passes in the order of the pipeline
// PLACED: error: `copy` is in the form `Traced`, expected `Placed` [form-violated]
// EXPANDED: error: `copy` is in the form `Traced`, expected `Expanded` [form-violated]
// SYNCHRONIZED: error: `copy` is in the form `Traced`, expected `Synchronized` [form-violated]
// TWICE: error: `copy` is in the form `Indexed`, expected `Traced` [form-violated]
wave.kernel @copy attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>],
    subs = {M = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32>
  wave.write %0, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
