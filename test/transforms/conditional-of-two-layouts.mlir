// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// A conditional hands on a value that was read with its dimensions exchanged, or a constant.
wave.kernel @generated attributes {
    arg_names = ["m0", "m1"],
    constraints = [],
    subs = {M = 1 : i64, N = 2 : i64, K = 2 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%m0: !wave.memory<["N", "K", "M"], f32, global>, %m1: !wave.memory<["K", "N", "M"], f32, global>):
  %0 = wave.read %m0 {indices = [#wave.expr<"$index1">, #wave.expr<"$index0">, #wave.expr<"$index2">]} : !wave.memory<["N", "K", "M"], f32, global> -> !wave.tile<[K, N, M], f32>
  %wg0 = wave.workgroup_id 1
  %4 = wave.conditional <"(mod($0, 2) == 0)"> [%wg0] -> !wave.tile<[K, N, M], f32> {
    wave.yield %0 : !wave.tile<[K, N, M], f32>
  } else {
    %5 = wave.fill 1.00000000000000000e+00 : f32 -> !wave.tile<[K, N, M], f32>
    wave.yield %5 : !wave.tile<[K, N, M], f32>
  }
  wave.write %4, %m1 : !wave.tile<[K, N, M], f32>, !wave.memory<["K", "N", "M"], f32, global>
}
