// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null

// An element of four bits alone is read with its byte; rows of an odd number of them end in the middle of a byte, whose
// other half is nobody's, so that one lane writes it.
wave.kernel @reversed attributes {
    arg_names = ["a", "b"],
    constraints = [#wave.workgroup<dim = "N", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "M", tile = <"4">, workgroupDim = 1>],
    subs = {M = 6 : i64, N = 37 : i64}, dynamic = [], form = 0 : i32, target = "TARGET"} {
^bb0(%a: !wave.memory<["M", "N"], i4, global>, %b: !wave.memory<["M", "N"], i4, global>):
  %0 = wave.read %a {indices = [#wave.expr<"$index0">, #wave.expr<"N - 1 - $index1">]} : !wave.memory<["M", "N"], i4, global> -> !wave.tile<[M, N], i4>
  wave.write %0, %b : !wave.tile<[M, N], i4>, !wave.memory<["M", "N"], i4, global>
}
