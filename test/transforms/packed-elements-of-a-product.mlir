// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// What a matrix instruction leaves with one element a lane along the rows is written by lanes that have two.
wave.kernel @product attributes {
    arg_names = ["a", "b", "c"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"16">, workgroupDim = 1>],
    subs = {M = 20 : i64, K = 32 : i64}, dynamic = ["N"], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["M", "K"], f16, global>, %b: !wave.memory<["N", "K"], f16, global>, %c: !wave.memory<["M", "N"], f4E2M1FN, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, N], f32>
  %0 = wave.read %a : !wave.memory<["M", "K"], f16, global> -> !wave.tile<[M, K], f16>
  %1 = wave.read %b : !wave.memory<["N", "K"], f16, global> -> !wave.tile<[N, K], f16>
  %2 = wave.mma %0, %1, %zero : !wave.tile<[M, K], f16>, !wave.tile<[N, K], f16>, !wave.tile<[M, N], f32>
  %3 = wave.cast %2 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f4E2M1FN>
  wave.write %3, %c : !wave.tile<[M, N], f4E2M1FN>, !wave.memory<["M", "N"], f4E2M1FN, global>
}
