// The passes on `wave` kernels, in the order of the pipeline. Each says what it requires and what it ensures.
#ifndef SOLITON_TRANSFORMS_PASSES_TD
#define SOLITON_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

class WavePass<string flag> : Pass<flag, "::soliton::wave::KernelOp">;

def SplitOverClusterPass : WavePass<"wave-split-over-cluster"> {
  let summary = "let the workgroups of a cluster sum a product together";
  let description = [{
    Where the kernel asks for a `cluster`, its workgroups share the iterations of the loop that sums a product. They exchange their sums
    through shared memory that all of them read, between two barriers of the cluster, and each writes its part of the rows.

    Requires: `Traced`. Ensures: the same.
  }];
}

def BindSymbolsPass : WavePass<"wave-bind-symbols"> {
  let summary = "replace symbols by their values, and check the constraints";
  let description = [{
    Memory shapes, loop counts and matrix instructions become what the constraints, the bound symbols and the target say.

    Requires: `Traced`. Ensures: `Traced`, with counts on loops and kinds on every `mma`.
  }];
}

def DecomposeOpsPass : WavePass<"wave-decompose-ops"> {
  let summary = "say ops that others say by those";
  let description = [{
    Where an extreme is (`wave.arg_reduce`) becomes a reduction that finds the extreme, and one that finds the first place of an element
    that equals it. What moves elements (`wave.rearrange`, `wave.concatenate`) becomes accesses of a tile in shared memory, rows in
    order (`wave.sort`) a loop that counts what comes before each element, and a scatter to its place. `wave.prefetch` is left out
    for a target that has no such instruction, and so is a `wave.wait` for a counter that it lacks. A product by an instruction whose
    accumulator is short begins anew, and is added to the sum in f32, unless the kernel has `short_sums`.

    Requires: `Traced`, symbols bound. Ensures: `Traced`, without such ops.
  }];
}

def DropUnusedPass : WavePass<"wave-drop-unused"> {
  let summary = "remove what no effect depends on";
  let description = [{
    Ops whose values reach no write, barrier or wait, also around a loop, go; loops and branches hand on only what is used. A value
    that a loop hands on unchanged is the one that it began with; a loop that is known to make no iteration goes with what is in it.

    Requires: any form up to `Expanded`. Ensures: the same form.
  }];
}

def MakeBroadcastsExplicitPass : WavePass<"wave-make-broadcasts-explicit"> {
  let summary = "give every operand the dimensions of what is computed with it";
  let description = [{
    An operand of an element-wise op that lacks dimensions of the result, and the values that a gather's indices are made of, are
    repeated by a `wave.broadcast`.

    Requires: `Traced`. Ensures: `Traced`, with operands of equal dimensions.
  }];
}

def AssignLayoutsPass : WavePass<"wave-assign-layouts"> {
  let summary = "decide who holds which element of every tile";
  let description = [{
    Matrix instructions, reductions and memory accesses suggest layouts; those are taken that cost least in all, by the
    target's table. They spread through everything that computes element by element; where two disagree, a `wave.convert`
    says so. Accesses get the place where their tile starts.

    Requires: `Traced`. Ensures: `Indexed`.
  }];
  let options = [Option<"explain", "explain", "bool", "false", "remark on every choice, its cost, and what came second">];
}

def HoistInvariantsPass : WavePass<"wave-hoist-invariants"> {
  let summary = "move out of a loop what it does not change";
  let description = [{
    Ops without effect whose operands and places do not follow the iteration, and reads of memories that nothing writes.

    Requires: `Indexed`. Ensures: `Indexed`.
  }];
}

def PromoteToSharedPass : WavePass<"wave-promote-to-shared"> {
  let summary = "route accesses of parameters in the shared space through shared memory";
  let description = [{
    A read becomes a coalesced global read by all waves, a shared write, and a shared read in the layout that is needed.

    Requires: `Indexed`. Ensures: `Indexed`, and no parameter is in the shared space.
  }];
}

def MaskAccessesPass : WavePass<"wave-mask-accesses"> {
  let summary = "bound accesses exactly where a tile may reach beyond its tensor";
  let description = [{
    An access gets bounds along the dimensions for which nothing proves that the tile stays inside; elements of a reduction
    or scan beyond the end become its identity.

    Requires: `Indexed`. Ensures: `Indexed`, with explicit bounds.
  }];
}

def DissolveLoopsPass : WavePass<"wave-dissolve-loops"> {
  let summary = "loops that run once become straight-line code where that saves a read";
  let description = [{
    Where several loops of a block run once and read the same tensor, what a lane holds of it is a quarter of its registers at most, and none
    of them has products, shared tiles or tags: then their ops stand in the block, and common subexpressions find the second read.

    Requires: `Indexed`, with explicit bounds. Ensures: the same.
  }];
}

def CombineLatePass : WavePass<"wave-combine-late"> {
  let summary = "combine what lanes and waves sum in a loop behind it";
  let description = [{
    A loop that only adds to what it carries, or scales all of it, carries what each lane of each wave has added up; one reduction
    behind the loop combines them. A product whose contracted dimension waves share becomes one for each wave, and a sum of them.

    Requires: `Indexed`, with explicit bounds. Ensures: the same; no `mma` but a partial one contracts what waves share.
  }];
}

def PlanMovementPass : WavePass<"wave-plan-movement"> {
  let summary = "decide how each conversion, reduction and scan moves data";
  let description = [{
    A conversion renames registers, shuffles lanes, or goes through shared memory. A reduction over waves becomes one inside each
    wave, a conversion, and one inside each lane; a scan over waves gets the totals of all of them in the same way.

    Requires: `Indexed`. Ensures: `Indexed`; every `convert` has a plan and none of them is `shared`.
  }];
}

def UseDirectCopiesPass : WavePass<"wave-use-direct-copies"> {
  let summary = "copy tiles from global to shared memory past the registers";
  let description = [{
    In a kernel with `direct_copies`, a global read whose tile goes to shared memory becomes a `wave.copy`, if the target can move it;
    a remark says why not. Instructions bring the rows in the order in which waves read them or, with `in-order`, from the first to the last.
    A tile that matrix instructions read by themselves is copied in boxes by one lane, where the target can and its tensor allows it.

    Requires: `Indexed`, with explicit bounds. Ensures: `Indexed`.
  }];
  let options = [Option<"inOrder", "in-order", "bool", "false", "rows from the first to the last, whoever reads them">];
}

def StoreInBoxesPass : WavePass<"wave-store-in-boxes"> {
  let summary = "copy tiles from shared to global memory past the registers";
  let description = [{
    In a kernel with `writes_in_boxes`, a read of a shared tile that only a global write uses becomes, with it, a `wave.copy_out`, which one
    lane asks for, if the target can, the tensor allows it and nothing else touches it; a remark says why not.

    Requires: `Indexed`, with explicit bounds. Ensures: `Indexed`.
  }];
}

def PlaceSharedPass : WavePass<"wave-place-shared"> {
  let summary = "give every shared tile its address map and its place";
  let description = [{
    Rows are swizzled or padded so that the accesses of all waves are free of bank conflicts by the target's model. A kernel that needs more
    shared memory than the target has is refused. With `no-swizzle` rows are padded, where copies past the registers can skip that, or plain.

    Requires: `Indexed`. Ensures: `Placed`.
  }];
  let options = [Option<"noSwizzle", "no-swizzle", "bool", "false", "rows are padded or plain, never swizzled">];
}

def ExpandTilesPass : WavePass<"wave-expand-tiles"> {
  let summary = "turn every op into the instructions that the target issues";
  let description = [{
    One op per matrix instruction, per access of final width, per vector operation; each with its origin. An access that touches
    nothing, since sizes that are known turn every lane off, is none; a schedule file names them all, whatever the sizes are.

    Requires: `Placed`. Ensures: `Expanded`.
  }];
  let options = [Option<"keepOutside", "keep-outside", "bool", "false", "keep accesses that are known to touch nothing">];
}

def ScheduleLoopsPass : WavePass<"wave-schedule-loops"> {
  let summary = "decide when every instruction of a loop happens";
  let description = [{
    Each innermost loop gets the schedule that was asked for; barriers and waits are derived, everything is proven, and the loop becomes
    prologue, kernel and epilogue. Without a schedule nothing changes.

    Requires: `Expanded`. Ensures: `Scheduled`.
  }];
  let options = [Option<"schedule", "schedule", "std::string", "", "none, prefetch, prefetch_attention, four_stage, ring, list, modulo or exact">];
}

def SplitLoopsPass : WavePass<"wave-split-loops"> {
  let summary = "run trips that need no mask apart from those that do";
  let description = [{
    A loop with products that run by themselves, in which a select's condition on places of elements holds up to some trip, becomes two
    loops, one behind the other: the first without the select, the second as it was. What trips hand on goes from one to the other.

    Requires: `Scheduled`. Ensures: `Scheduled`.
  }];
}

def SynchronizePass : WavePass<"wave-synchronize"> {
  let summary = "order what different waves, and asynchronous copies, do to memory";
  let description = [{
    Barriers, waits and commits that are missing for the hazards of the whole kernel (shared memory, and global memory that waves share; loops,
    what lies between them, conditionals) are derived, as few as possible and as far outside of loops as possible; what the author and the
    schedules put in stays and counts. The result is proven, or the kernel is refused.

    Requires: `Scheduled`. Ensures: `Synchronized`.
  }];
  let options = [Option<"strict", "strict", "bool", "false", "a wait that an author's barrier lacks is an error">];
}

def MulticastCopiesPass : WavePass<"wave-multicast-copies"> {
  let summary = "let the workgroups of a cluster copy what they have in common to each other";
  let description = [{
    In a kernel with `workgroups_per_cluster` boxes of tiles that are the same for all workgroups of a cluster become `multicast`. What is
    not is copied by each for itself, and a remark says why. A kernel in which nothing is in common is refused, and one whose loops or
    branches around copies and barriers may go on otherwise in another workgroup of the cluster.

    Requires: `Synchronized`. Ensures: `Synchronized`.
  }];
}

def LowerToMachinePass : Pass<"wave-lower-to-machine", "::mlir::ModuleOp"> {
  let summary = "say it as one lane's program";
  let description = [{
    Tiles become vectors, expressions become arithmetic, each memory op becomes the one instruction that it is.

    Requires: `Synchronized`. Ensures: `Machine`.
  }];
  let options = [Option<"wideOffsets", "wide-offsets", "bool", "false",
                        "offsets that sizes known at launch may make larger than 2 GiB have 64 bits">];
  let dependentDialects = ["::soliton::machine::MachineDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def WaitForLaunchesPass : Pass<"wave-wait-for-launches", "::soliton::machine::KernelOp"> {
  let summary = "do first what needs no earlier launch";
  let description = [{
    The `grid_wait` at the beginning of a kernel goes as far down as it is right: in front of the first access of global memory that is not
    `stable`, on every path once, outside of loops. Where boxes of stable and of other memory fill a ring in front of a loop, those of stable
    memory are asked for before it.

    Requires: `Machine`. Ensures: `Machine`.
  }];
}

#endif
