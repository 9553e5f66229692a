// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))' | FileCheck %s

// An id that the author asks for late is needed earlier, by starts: ids stand in front of everything.
// CHECK-LABEL: wave.kernel @generated
// CHECK: wave.workgroup_id 1
// CHECK: wave.read
// CHECK-NOT: wave.workgroup_id

wave.kernel @generated attributes {
    arg_names = ["m0", "m1"],
    constraints = [#wave.workgroup<dim = "N", tile = <"32">, workgroupDim = 0, apply = <"(((ceildiv(N, 32) - 1) - $WG) * 32)">>,
                   #wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 1, apply = <"(($WG * 64) - 2)">, iters = <"3">>,
                   #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 192 : i64}, dynamic = ["N"], form = 0 : i32, target = "TARGET"} {
^bb0(%m0: !wave.memory<["N", "M"], f32, global>, %m1: !wave.memory<["ceildiv(N, 4)", "4", "M"], f32, global>):
  %0 = wave.read %m0 : !wave.memory<["N", "M"], f32, global> -> !wave.tile<[N, M], f32>
  %wg0 = wave.workgroup_id 1
  %2 = wave.conditional <"(mod($0, 2) == 0)"> [%wg0] -> !wave.tile<[N, M], f32> {
    %1 = wave.binary max %0, %0 : !wave.tile<[N, M], f32>, !wave.tile<[N, M], f32> -> !wave.tile<[N, M], f32>
    wave.yield %1 : !wave.tile<[N, M], f32>
  } else {
    wave.yield %0 : !wave.tile<[N, M], f32>
  }
  wave.write %2, %m1 {indices = [#wave.expr<"floordiv($index0, 4)">, #wave.expr<"mod($index0, 4)">, #wave.expr<"$index1">]} : !wave.tile<[N, M], f32>, !wave.memory<["ceildiv(N, 4)", "4", "M"], f32, global>
}
