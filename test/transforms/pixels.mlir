// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies))' 2>/dev/null | FileCheck %s --check-prefix=USE
// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies))' 2>&1 >/dev/null | FileCheck %s --check-prefix=SAID
// RUN: soliton-opt %s --split-input-file --pass-pipeline='builtin.module(wave.kernel(wave-bind-symbols,wave-make-broadcasts-explicit,wave-assign-layouts,wave-hoist-invariants,wave-promote-to-shared,wave-mask-accesses,wave-plan-movement,wave-use-direct-copies,wave-place-shared,wave-expand-tiles,wave-synchronize),wave-lower-to-machine)' 2>/dev/null | FileCheck %s --check-prefix=MACHINE

// What is copied lane by lane says why.
// SAID-NOT: remark
// SAID: remark: this tile is not copied in boxes of its memory: a row of it is no run of channels of one pixel [boxes-impossible]
// SAID-NOT: remark

// Windows of 3 x 3 filters, two pixels apart, as rows of a matrix, for any number of images: the engine walks over pixels. Filters lie as rows
// of a matrix already, and a mapping that takes their columns apart changes nothing.
// USE-LABEL: wave.kernel @windows
// USE: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}!wave.tile<[M, K], f16, "reg = (64 K 1)(64 M 1)
// USE: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}!wave.tile<[F, K], f16, "reg = (64 K 1)(64 F 1)
// MACHINE-LABEL: machine.kernel @windows
// MACHINE-SAME: #machine.tensor_map<argument = 0, element = f16, sizes = [128, 9, 7, "B"], strides = [256, 2304, 16128], box = [64, 64], lower = [-1, -1], upper = [-1, -1], steps = [2, 2], swizzle = 128>
// MACHINE-SAME: #machine.tensor_map<argument = 1, element = f16, sizes = [1152, 64], strides = [2304], box = [64, 64], swizzle = 128>
// MACHINE: machine.copy_tile %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}], [%{{.*}}], %{{.*}} offsets[%{{.*}}, %{{.*}}]
// MACHINE: machine.copy_tile %{{.*}}[%{{.*}}, %{{.*}}], [%{{.*}}], %{{[0-9]+$}}
wave.kernel @windows attributes {
    arg_names = ["x", "w", "y"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "F", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = #wave.expr<"20*B">, F = 64 : i64, K = 1152 : i64}, dynamic = ["B"], form = 0 : i32, target = "sm_90a", direct_copies} {
^bb0(%x: !wave.memory<["B", "7", "9", "128"], f16, shared>, %w: !wave.memory<["F", "3", "3", "128"], f16, shared>, %y: !wave.memory<["M", "F"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, F], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, F], f32>) -> !wave.tile<[M, F], f32> {
  ^bb1(%acc: !wave.tile<[M, F], f32>):
    %0 = wave.read %x {indices = [#wave.expr<"floordiv($index0, 20)">, #wave.expr<"2*mod(floordiv($index0, 5), 4) - 1 + floordiv($index1, 384)">,
                                  #wave.expr<"2*mod($index0, 5) - 1 + mod(floordiv($index1, 128), 3)">, #wave.expr<"mod($index1, 128)">]}
         : !wave.memory<["B", "7", "9", "128"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %w {indices = [#wave.expr<"$index0">, #wave.expr<"floordiv($index1, 384)">, #wave.expr<"mod(floordiv($index1, 128), 3)">, #wave.expr<"mod($index1, 128)">]}
         : !wave.memory<["F", "3", "3", "128"], f16, shared> -> !wave.tile<[F, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[F, K], f16>, !wave.tile<[M, F], f32>
    wave.yield %2 : !wave.tile<[M, F], f32>
  }
  wave.write %sum, %y : !wave.tile<[M, F], f32>, !wave.memory<["M", "F"], f32, global>
}

// -----

// A filter that goes from the right to the left, on one image: offsets count from the other end, and a dimension of images is added.
// USE-LABEL: wave.kernel @reversed
// USE: wave.copy {{.*}}boxed, elements_per_thread = 4096 : i64{{.*}}!wave.tile<[M, K], f16, "reg = (64 K 1)(64 M 1)
// MACHINE-LABEL: machine.kernel @reversed
// MACHINE-SAME: #machine.tensor_map<argument = 0, element = f16, sizes = [64, 64, 1], strides = [128, 8192], box = [64, 64], lower = [-3], upper = [-3], steps = [1], swizzle = 128>
wave.kernel @reversed attributes {
    arg_names = ["x", "w", "y"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "F", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 64 : i64, F = 64 : i64, K = 192 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
^bb0(%x: !wave.memory<["64", "64"], f16, shared>, %w: !wave.memory<["F", "K"], f16, shared>, %y: !wave.memory<["M", "F"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, F], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, F], f32>) -> !wave.tile<[M, F], f32> {
  ^bb1(%acc: !wave.tile<[M, F], f32>):
    %0 = wave.read %x {indices = [#wave.expr<"$index0 + 1 - 2*floordiv($index1, 64)">, #wave.expr<"mod($index1, 64)">]}
         : !wave.memory<["64", "64"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %w : !wave.memory<["F", "K"], f16, shared> -> !wave.tile<[F, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[F, K], f16>, !wave.tile<[M, F], f32>
    wave.yield %2 : !wave.tile<[M, F], f32>
  }
  wave.write %sum, %y : !wave.tile<[M, F], f32>, !wave.memory<["M", "F"], f32, global>
}

// -----

// Rows of 64 columns have channels of two places of the filter.
// USE-LABEL: wave.kernel @lanes
// USE: wave.copy {{.*}}{elements_per_thread = 8 : i64
wave.kernel @lanes attributes {
    arg_names = ["x", "w", "y"],
    constraints = [#wave.workgroup<dim = "M", tile = <"64">, workgroupDim = 0>, #wave.workgroup<dim = "F", tile = <"64">, workgroupDim = 1>,
                   #wave.tiling<dim = "K", tile = <"64">>, #wave.wave<dim = "M", tile = <"16">>],
    subs = {M = 256 : i64, F = 64 : i64, K = 288 : i64}, dynamic = [], form = 0 : i32, target = "sm_90a", direct_copies} {
^bb0(%x: !wave.memory<["256", "96"], f16, shared>, %w: !wave.memory<["F", "K"], f16, shared>, %y: !wave.memory<["M", "F"], f32, global>):
  %zero = wave.fill 0.0 : f32 -> !wave.tile<[M, F], f32>
  %sum = wave.iterate "K" (%zero) : (!wave.tile<[M, F], f32>) -> !wave.tile<[M, F], f32> {
  ^bb1(%acc: !wave.tile<[M, F], f32>):
    %0 = wave.read %x {indices = [#wave.expr<"$index0 - 1 + floordiv($index1, 96)">, #wave.expr<"mod($index1, 96)">]}
         : !wave.memory<["256", "96"], f16, shared> -> !wave.tile<[M, K], f16>
    %1 = wave.read %w : !wave.memory<["F", "K"], f16, shared> -> !wave.tile<[F, K], f16>
    %2 = wave.mma %0, %1, %acc {kind = "F32_64x64x16_F16"} : !wave.tile<[M, K], f16>, !wave.tile<[F, K], f16>, !wave.tile<[M, F], f32>
    wave.yield %2 : !wave.tile<[M, F], f32>
  }
  wave.write %sum, %y : !wave.tile<[M, F], f32>, !wave.memory<["M", "F"], f32, global>
}
