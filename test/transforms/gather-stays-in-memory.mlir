// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx950/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/sm_90a/' %s | soliton-opt - --check-with-emulator -o /dev/null
// RUN: sed 's/TARGET/gfx942/' %s | soliton-opt - --wave-pipeline --machine-pipeline | FileCheck %s

// The values that a gather reads may be anything: those within the memory, which guards leave, have offsets of 31 bits.
// A memory whose size is known at launch only is checked there.
// CHECK-LABEL: machine.kernel @dynamic
// CHECK-SAME: limits = ["C*R < 536870912"]
wave.kernel @dynamic attributes {
    arg_names = ["which", "table", "out"], constraints = [#wave.workgroup<dim = "M", tile = <"16">, workgroupDim = 0>],
    subs = {M = 40 : i64}, dynamic = ["R", "C"], form = 0 : i32, target = "TARGET"} {
^bb0(%which: !wave.memory<["M"], i64, global>, %table: !wave.memory<["R", "C"], f32, global>, %out: !wave.memory<["M"], f32, global>):
  %0 = wave.read %which : !wave.memory<["M"], i64, global> -> !wave.tile<[M], i64>
  %1 = wave.read %table using %0 : !wave.tile<[M], i64> {indices = [#wave.expr<"$dynamic_val0 + mod($index0, 2)">, #wave.expr<"1">]} : !wave.memory<["R", "C"], f32, global> -> !wave.tile<[M], f32>
  wave.write %1, %out : !wave.tile<[M], f32>, !wave.memory<["M"], f32, global>
}
