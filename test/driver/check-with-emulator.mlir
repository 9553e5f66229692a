// RUN: soliton-opt %s --check-with-emulator | FileCheck %s
// RUN: soliton-opt %s --check-with-emulator=seed=9 | FileCheck %s
// RUN: not soliton-opt %s --check-with-emulator="passes=wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-plan-movement,wave-place-shared)" 2>&1 | FileCheck %s --check-prefix=UNMASKED

// The whole road, judged after every pass; what is left is the machine form.
// CHECK: machine.kernel @sums

// Without bounds a tile of 16 × 128 reaches beyond 13 × 77; the pass that claims the form `Placed` is to blame.
// UNMASKED: error: `wave-place-shared` changed what the kernel computes: it cannot be executed
// UNMASKED: [pass-changed-meaning]


wave.kernel @sums attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 1>,
                   #wave.wave<dim = "N", tile = <"32">>],
    subs = {M = 13 : i64, N = 77 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  // Four waves share a row.
  %1 = wave.reduce sum %0 along "N" : (!wave.tile<[M, N], f32>) -> !wave.tile<[M], f32>
  wave.write %1, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
