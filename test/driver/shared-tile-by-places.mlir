// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// A dimension that only a shared tile has, reached by its places alone, has its whole extent.
wave.kernel @reversed attributes {arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"128">, workgroupDim = 0>, #wave.wave<dim = "N", tile = <"64">>],
    subs = {N = 128 : i64, S = 128 : i64}, dynamic = [], form = 0 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["N"], i32, global>, %b: !wave.memory<["N"], i32, global>):
  %s = wave.allocate : !wave.memory<["S"], i32, shared>
  %0 = wave.read %a : !wave.memory<["N"], i32, global> -> !wave.tile<[N], i32>
  wave.write %0, %s {indices = [#wave.expr<"$index0">]} : !wave.tile<[N], i32>, !wave.memory<["S"], i32, shared>
  %1 = wave.read %s {indices = [#wave.expr<"127 - $index0">]} : !wave.memory<["S"], i32, shared> -> !wave.tile<[N], i32>
  wave.write %1, %b : !wave.tile<[N], i32>, !wave.memory<["N"], i32, global>
}
