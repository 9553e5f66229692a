// RUN: soliton-opt %s | soliton-opt | FileCheck %s
// RUN: soliton-opt %s --mlir-print-op-generic | soliton-opt | FileCheck %s
// RUN: soliton-opt %s --canonicalize --cse | FileCheck %s --check-prefix=FOLDED

// A schedule has decided the order.
// CHECK-LABEL: wave.kernel @guarded attributes
// CHECK-SAME: keep_order
wave.kernel @guarded attributes {arg_names = ["a"], constraints = [], subs = {M = 64 : i64}, dynamic = ["T"], form = 5 : i32, keep_order} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %0 = wave.fill 1.0 : f32 -> !wave.tile<[M], f32, "lane = (64 M 1)">
  %1 = wave.fill 2.0 : f32 -> !wave.tile<[M], f32, "lane = (64 M 1)">
  // Two results, and nothing at all; the condition is about the launch or about an iteration.
  // CHECK: %[[R:.*]]:2 = wave.conditional <"2 < T"> -> !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.tile<[M], f32, "lane = (64 M 1)"> {
  // CHECK: wave.yield %{{.*}}, %{{.*}} :
  // CHECK: } else {
  // CHECK: wave.yield %{{.*}}, %{{.*}} :
  %2:2 = wave.conditional <"T >= 3"> -> !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.tile<[M], f32, "lane = (64 M 1)"> {
    wave.yield %0, %1 : !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.tile<[M], f32, "lane = (64 M 1)">
  } else {
    wave.yield %1, %0 : !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.tile<[M], f32, "lane = (64 M 1)">
  }
  // CHECK: wave.iterate "M"
  // CHECK-NEXT: ^bb0(%[[I:.*]]: index):
  %wg = wave.workgroup_id 4
  wave.iterate "M" () {count = #wave.expr<"T">} : () -> () {
  ^bb0(%i: index):
    // CHECK: wave.conditional <"$0 < $1">[%[[I]], %{{.*}}] attributes {tags = ["odd"]} {
    // CHECK-NEXT: wave.barrier
    // CHECK-NEXT: } else {
    // CHECK-NEXT: wave.barrier
    // CHECK-NEXT: }
    wave.conditional <"$0 < $1"> [%i, %wg] attributes {tags = ["odd"]} {
      wave.barrier
    } else {
      wave.barrier
    }
  }
  wave.write %2#0, %a {starts = [#wave.expr<"0">]} : !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.memory<["M"], f32, global>
}

// CHECK-LABEL: wave.kernel @time
wave.kernel @time attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 5 : i32} {
  // CHECK-NEXT: wave.barrier {first_wave = 4 : i64, last_wave = 8 : i64}
  wave.barrier {first_wave = 4 : i64, last_wave = 8 : i64}
  // CHECK-NEXT: wave.barrier {publishes, team = 4 : i64}
  wave.barrier {publishes, team = 4 : i64}
  // CHECK-NEXT: wave.commit cp_async
  wave.commit cp_async
  // CHECK-NEXT: wave.release
  wave.release
  // CHECK-NEXT: wave.await 1
  wave.await 1
  // CHECK-NEXT: wave.wait vm, 63
  wave.wait vm, 63
  // CHECK-NEXT: wave.wait shared, 4
  wave.wait shared, 4
  // CHECK-NEXT: wave.wait bulk, 0
  wave.wait bulk, 0
  // CHECK-NEXT: wave.wait mma, 1
  wave.wait mma, 1
  // CHECK-NEXT: wave.priority 3
  wave.priority 3
  // CHECK-NEXT: wave.sched_barrier
  wave.sched_barrier
  // CHECK-NEXT: wave.sched_barrier {mask = 8 : i64}
  wave.sched_barrier {mask = 8 : i64}
  // CHECK-NEXT: wave.sched_group {count = 4 : i64, group = 1 : i64, mask = 8 : i64}
  wave.sched_group {mask = 8 : i64, count = 4 : i64, group = 1 : i64}
}

// A number decides at once, and what was common to both blocks is one op; nothing that orders is ever removed.
// FOLDED-LABEL: wave.kernel @decided
// FOLDED-NOT: wave.conditional <"
// FOLDED: wave.priority 1
// FOLDED-NOT: wave.priority
// FOLDED: wave.barrier
// FOLDED-NEXT: wave.barrier
// FOLDED: %[[X:.*]] = wave.unary neg
// FOLDED-NEXT: wave.conditional <"T < 2">
// FOLDED: wave.yield %[[X]]
wave.kernel @decided attributes {arg_names = ["a"], constraints = [], subs = {M = 64 : i64}, dynamic = ["T"], form = 5 : i32} {
^bb0(%a: !wave.memory<["M"], f32, global>):
  %0 = wave.read %a {starts = [#wave.expr<"0">]} : !wave.memory<["M"], f32, global> -> !wave.tile<[M], f32, "lane = (64 M 1)">
  wave.conditional <"3 < 4"> {
    wave.priority 1
  } else {
    wave.priority 2
  }
  wave.barrier
  wave.barrier
  %1 = wave.unary neg %0 : !wave.tile<[M], f32, "lane = (64 M 1)"> -> !wave.tile<[M], f32, "lane = (64 M 1)">
  %2 = wave.conditional <"T < 2"> -> !wave.tile<[M], f32, "lane = (64 M 1)"> {
    %3 = wave.unary neg %0 : !wave.tile<[M], f32, "lane = (64 M 1)"> -> !wave.tile<[M], f32, "lane = (64 M 1)">
    wave.yield %3 : !wave.tile<[M], f32, "lane = (64 M 1)">
  } else {
    wave.yield %0 : !wave.tile<[M], f32, "lane = (64 M 1)">
  }
  %4 = wave.binary add %1, %2 : !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.tile<[M], f32, "lane = (64 M 1)"> -> !wave.tile<[M], f32, "lane = (64 M 1)">
  wave.write %4, %a {starts = [#wave.expr<"0">]} : !wave.tile<[M], f32, "lane = (64 M 1)">, !wave.memory<["M"], f32, global>
}

// A number from data counts one loop and ends another.
// CHECK-LABEL: wave.kernel @data
// CHECK: %[[N:.*]] = wave.index_of %{{.*}} : <[], i32>
// CHECK: wave.iterate "K"() [%[[N]]] {count = #wave.expr<"$0">}
// CHECK: wave.while <"$0 < 9">[%[[N]]]
wave.kernel @data attributes {arg_names = ["n"], constraints = [], subs = {M = 64 : i64}, dynamic = [], form = 0 : i32} {
^bb0(%n: !wave.memory<["M"], i32, global>):
  %0 = wave.read %n {indices = [#wave.expr<"3">]} : !wave.memory<["M"], i32, global> -> !wave.tile<[], i32>
  %1 = wave.index_of %0 : !wave.tile<[], i32>
  wave.iterate "K" ()[%1] {count = #wave.expr<"$0">} : () -> () {
    wave.while <"$0 < 9"> [%1]
  }
}
