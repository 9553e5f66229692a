// RUN: soliton-opt %s --check-with-emulator -o /dev/null
// RUN: sed 's|gfx950|sm_90a|; s|], i8|], f16|g; s|], i32|], f32|g; s|fill 1 : i8|fill 1.0 : f16|; s|fill 0 : i32|fill 0.0 : f32|' %s | soliton-opt - --check-with-emulator -o /dev/null

// A tile that goes through shared memory in the memory's order of dimensions: its bounds are in that order too, and only B has one.
wave.kernel @bounded attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.tiling<dim = "N", tile = <"16">>],
    subs = {B = 1 : i64, M = 13 : i64, K = 32 : i64, N = 1 : i64}, dynamic = [], form = 0 : i32, target = "gfx950"} {
^bb0(%a: !wave.memory<["K", "B", "N"], i8, shared>, %b: !wave.memory<["B", "M", "N"], i32, global>):
  %0 = wave.fill 0 : i32 -> !wave.tile<[B, M, N], i32>
  %1 = wave.fill 1 : i8 -> !wave.tile<[B, M, K], i8>
  %2 = wave.read %a {bounds = [#wave.expr<"15">, "unbounded", "unbounded"], indices = [#wave.expr<"$index2">, #wave.expr<"$index0">, #wave.expr<"$index1">]} : !wave.memory<["K", "B", "N"], i8, shared> -> !wave.tile<[B, N, K], i8>
  %3 = wave.mma %1, %2, %0 : !wave.tile<[B, M, K], i8>, !wave.tile<[B, N, K], i8>, !wave.tile<[B, M, N], i32>
  wave.write %3, %b : !wave.tile<[B, M, N], i32>, !wave.memory<["B", "M", "N"], i32, global>
}
