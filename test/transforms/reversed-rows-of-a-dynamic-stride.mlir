// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// Lanes lie below one another by a stride that is known at launch: none lies in front of its buffer.
wave.kernel @generated attributes {
    arg_names = ["m0", "m2"],
    constraints = [#wave.workgroup<dim = "B", tile = <"1">, workgroupDim = 0>],
    subs = {M = 1 : i64, N = 2 : i64}, dynamic = ["B"], form = 0 : i32, target = "TARGET"} {
^bb0(%m0: !wave.memory<["M", "N", "B"], f32, global>, %m1: !wave.memory<["M", "N", "B"], f32, global>):
  %0 = wave.read %m0 {indices = [#wave.expr<"$index0">, #wave.expr<"((N - 1) - $index1)">, #wave.expr<"$index2">]} : !wave.memory<["M", "N", "B"], f32, global> -> !wave.tile<[M, N, B], f32>
  wave.write %0, %m1 : !wave.tile<[M, N, B], f32>, !wave.memory<["M", "N", "B"], f32, global>
}
