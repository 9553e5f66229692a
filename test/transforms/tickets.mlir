// RUN: soliton-opt %s --check-with-emulator -o /dev/null

// Two workgroups draw eight tiles: the counter begins with 0 whatever the other memories hold, and what becomes of it is
// no result.
wave.kernel @copy attributes {
    arg_names = ["a", "b", "tickets"],
    constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>, #wave.workgroup<dim = "N", tile = <"16">, workgroupDim = 1>],
    subs = {M = 64 : i64, N = 32 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", persistent = 2 : i64, tickets, workspace = [#wave.expr<"0">]} {
^bb0(%a: !wave.memory<["M", "N"], f16, shared>, %b: !wave.memory<["M", "N"], f16, global>, %t: !wave.memory<["1"], i32, global>):
  %0 = wave.read %a : !wave.memory<["M", "N"], f16, shared> -> !wave.tile<[M, N], f16>
  wave.write %0, %b : !wave.tile<[M, N], f16>, !wave.memory<["M", "N"], f16, global>
}
