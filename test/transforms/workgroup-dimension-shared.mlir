// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols))' | FileCheck %s

// Two dimensions that count workgroups along one workgroup dimension multiply them; functions take the number apart.
// CHECK: grid = [#wave.expr<"12">
wave.kernel @product attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0, apply = <"16*floordiv($WG, 4)">>,
                   #wave.workgroup<dim = "N", tile = <"8">, workgroupDim = 0, apply = <"8*mod($WG, 4)">>],
    subs = {M = 40 : i64, N = 30 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["M", "N"], f32, global>, %b: !wave.memory<["M", "N"], f32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f32, global> -> !wave.tile<[M, N], f32>
  wave.write %0, %b : !wave.tile<[M, N], f32>, !wave.memory<["M", "N"], f32, global>
}
