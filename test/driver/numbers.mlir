// RUN: soliton-opt %s --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/sm_90a/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null
// RUN: sed 's/gfx942/gfx950/' %s | soliton-opt - --check-with-emulator --split-input-file -o /dev/null

// Data say how often a loop runs, which elements of its rows count, and which row it is.
wave.kernel @ragged attributes {arg_names = ["n", "a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"64">>,
                   #wave.hardware<>], subs = {B = 16 : i64}, dynamic = ["M", "K"], form = 0 : i32, target = "gfx942"} {
^bb0(%n: !wave.memory<["B"], i32, global>, %a: !wave.memory<["M", "K"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %wg = wave.workgroup_id 0
  %0 = wave.read %n[%wg] {indices = [#wave.expr<"mod($0, 16)">]} : !wave.memory<["B"], i32, global> -> !wave.tile<[], i32>
  %1 = wave.index_of %0 : !wave.tile<[], i32>
  %2 = wave.fill 0.0 : f32 -> !wave.tile<[M], f32>
  %3 = wave.iterate "K" (%2)[%1] {count = #wave.expr<"mod($0, 5)">} : (!wave.tile<[M], f32>) -> !wave.tile<[M], f32> {
  ^bb0(%acc: !wave.tile<[M], f32>):
    %4 = wave.read %a[%1] {bounds = ["unbounded", #wave.expr<"mod($0, 300)">],
                           indices = [#wave.expr<"$index0 + mod($0, 3) - 1">, #wave.expr<"$index1">]}
        : !wave.memory<["M", "K"], f32, global> -> !wave.tile<[M, K], f32>
    %5 = wave.reduce sum %4 init %acc along "K" : (!wave.tile<[M, K], f32>, !wave.tile<[M], f32>) -> !wave.tile<[M], f32>
    wave.yield %5 : !wave.tile<[M], f32>
  }
  wave.write %3, %b : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}

// -----

// A loop that data end, inside a loop, with a branch that data decide.
wave.kernel @ended attributes {arg_names = ["n", "a", "b"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.tiling<dim = "K", tile = <"4">>,
                   #wave.tiling<dim = "T", tile = <"1">, iters = <"2">>, #wave.wave<dim = "M", tile = <"32">>, #wave.hardware<>],
    subs = {B = 16 : i64, T = 2 : i64}, dynamic = ["M", "K"], form = 0 : i32, target = "gfx942"} {
^bb0(%n: !wave.memory<["B"], i16, global>, %a: !wave.memory<["M", "K"], i32, global>, %b: !wave.memory<["M"], i32, global>):
  %0 = wave.fill 0 : i32 -> !wave.tile<[M], i32>
  %1 = wave.iterate "T" (%0) : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32> {
  ^bb0(%t: index, %before: !wave.tile<[M], i32>):
    %2 = wave.iterate "K" (%before) : (!wave.tile<[M], i32>) -> !wave.tile<[M], i32> {
    ^bb0(%k: index, %acc: !wave.tile<[M], i32>):
      %3 = wave.read %n[%k, %t] {indices = [#wave.expr<"mod($0 + 3*$1, 16)">]} : !wave.memory<["B"], i16, global> -> !wave.tile<[], i16>
      %4 = wave.index_of %3 : !wave.tile<[], i16>
      %5 = wave.read %a : !wave.memory<["M", "K"], i32, global> -> !wave.tile<[M, K], i32>
      %6 = wave.reduce sum %5 init %acc along "K" : (!wave.tile<[M, K], i32>, !wave.tile<[M], i32>) -> !wave.tile<[M], i32>
      wave.while <"mod($0, 4) != 0"> [%4]
      %7 = wave.conditional <"$0 < 0"> [%4] -> !wave.tile<[M], i32> {
        wave.yield %6 : !wave.tile<[M], i32>
      } else {
        %8 = wave.unary neg %6 : !wave.tile<[M], i32> -> !wave.tile<[M], i32>
        wave.yield %8 : !wave.tile<[M], i32>
      }
      wave.yield %7 : !wave.tile<[M], i32>
    }
    wave.yield %2 : !wave.tile<[M], i32>
  }
  wave.write %1, %b : !wave.tile<[M], i32>, !wave.memory<["M"], i32, global>
}
