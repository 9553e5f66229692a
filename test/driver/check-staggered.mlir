// RUN: soliton-opt %s --check-with-emulator="passes=wave-lower-to-machine" | FileCheck %s
// RUN: sed -e '/EVEN/d' %s | not soliton-opt --check-with-emulator="passes=wave-lower-to-machine" 2>&1 | FileCheck %s --check-prefix=HANGS
// RUN: sed -e '/SPACE/d' %s | not soliton-opt --check-with-emulator="passes=wave-lower-to-machine" 2>&1 | FileCheck %s --check-prefix=RACES
// RUN: sed -e '/GROUP/d' -e '/EVEN/d' -e '/SPACE/d' %s | soliton-opt --check-with-emulator="passes=wave-lower-to-machine" | FileCheck %s

// Waves 4 to 8 come one barrier behind the others into the loop, and the others make up for it after it. Two barriers
// between a write and the reads of it are then what one is without the stagger.
// CHECK: machine.kernel @staggered
// HANGS: no wave can go on: {{.*}} waits at `barrier`
// RACES: `store` writes shared byte {{.*}} not ordered after the read by `load` of wave {{[0-3]}} [race]

!mine = !wave.tile<[M], f32, "lane = (64 M 1), wave = (8 M 64)">
!others = !wave.tile<[M], f32, "lane = (64 M 8), wave = (8 M 1)">
!tile = !wave.memory<["M"], f32, shared, "[M 512]">

wave.kernel @staggered attributes {arg_names = ["a", "b"], constraints = [#wave.workgroup<dim = "M", tile = <"512">, workgroupDim = 0>, #wave.wave<dim = "M", tile = <"64">>],
    subs = {M = 512 : i64}, dynamic = ["T"], form = 5 : i32, target = "gfx942"} {
^bb0(%a: !wave.memory<["M"], f32, global>, %b: !wave.memory<["M"], f32, global>):
  %s = wave.allocate {offset = 0 : i64} : !tile
  %0 = wave.read %a {starts = [#wave.expr<"0">], origin = #wave.origin<op = 0, role = global_load>} : !wave.memory<["M"], f32, global> -> !mine
  %1 = wave.read %a {starts = [#wave.expr<"0">], origin = #wave.origin<op = 1, role = global_load>} : !wave.memory<["M"], f32, global> -> !others
  wave.barrier {first_wave = 4 : i64, last_wave = 8 : i64} // GROUP
  %2 = wave.conditional <"T > 0"> -> !others {
    %3 = wave.iterate "T" (%1) {count = #wave.expr<"T">} : (!others) -> !others {
    ^bb1(%x: !others):
      wave.write %0, %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 2, role = shared_store>} : !mine, !tile
      wave.wait shared, 0
      wave.barrier
      wave.barrier // SPACE
      wave.priority 1
      %4 = wave.read %s {starts = [#wave.expr<"0">], origin = #wave.origin<op = 3, role = shared_load>} : !tile -> !others
      %5 = wave.binary add %x, %4 {origin = #wave.origin<op = 4, role = compute>} : !others, !others -> !others
      wave.priority 0
      wave.wait shared, 0
      wave.barrier
      wave.barrier // SPACE
      wave.yield %5 : !others
    }
    wave.yield %3 : !others
  } else {
    wave.yield %1 : !others
  }
  wave.barrier {first_wave = 0 : i64, last_wave = 4 : i64} // EVEN
  wave.write %2, %b {starts = [#wave.expr<"0">], origin = #wave.origin<op = 5, role = global_store>} : !others, !wave.memory<["M"], f32, global>
}
