// Control and time in the `wave` dialect: loops, branches, barriers, waits and the hints that only change timing.
#ifndef SOLITON_IR_WAVECONTROL_TD
#define SOLITON_IR_WAVECONTROL_TD

//===-- Control -------------------------------------------------------------------------------------------------===//

def Wave_IterateOp : Wave_Op<"iterate", [Wave_IndexedOp, Wave_Says<["getWork", "relateLayouts"]>, AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "a loop along a dimension";
  let description = [{
    Runs its body `count` times; the first argument of its block counts them, 0, 1, …, count − 1, the others are the values that
    one iteration hands to the next. Text may leave the first argument out where nothing mentions it. `count` may be absent before
    symbols are bound: then the axis' tiling constraint says it. A `while` in the body may end the loop before. In loops along one axis inside each other, the innermost one places
    what its body computes.

    Constraints:
      * (C1) inits, block arguments behind the first, yielded values and results have the same types.
      * (C2) the first block argument is an index.

    Example:
    ```mlir
    %1 = wave.iterate "K" (%0) : (!wave.tile<[M, N], f32>) -> !wave.tile<[M, N], f32> {
    ^bb0(%k: index, %acc: !wave.tile<[M, N], f32>):
      wave.yield %acc : !wave.tile<[M, N], f32>
    }
    ```
  }];
  let arguments = (ins StrAttr:$axis, Variadic<Wave_Tile>:$inits, Variadic<Index>:$symbols, OptionalAttr<Wave_ExprAttr>:$count,
                       OptionalAttr<StrArrayAttr>:$tags);
  let results = (outs Variadic<Wave_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$axis `(` $inits `)` (`[` $symbols^ `]`)? attr-dict `:` functional-type($inits, $results) custom<LoopBody>($body)";
  let hasVerifier = 1; // iterate_c1, iterate_c2
  let extraClassDeclaration = [{
    ::mlir::Block &block() { return getBody().front(); }
    /// Counts the iterations.
    ::mlir::BlockArgument iteration() { return block().getArgument(0); }
    /// What iterations hand on, as the body sees it.
    ::mlir::Block::BlockArgListType carried() { return block().getArguments().drop_front(); }
    /// Adds the body's block, without a terminator, for values of the results' types.
    ::mlir::Block &makeBody();
    /// What may end it before its count; null if nothing does.
    WhileOp exit();
  }];
}

def Wave_WhileOp : Wave_Op<"while", [Wave_IndexedOp, ParentOneOf<["IterateOp"]>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the loop around ends with this iteration unless the condition holds";
  let description = [{
    The iteration is finished as if nothing were said; then the next one follows if `condition` is not 0 (and `count` has not
    been reached). The results of the loop are the values of its last iteration.

    Constraints:
      * (C1) a loop has at most one.
      * (C2) `condition` is the same for the whole workgroup: it speaks of its `symbols` and of sizes only.

    Example:
    ```mlir
    %4 = wave.index_of %3 : !wave.tile<[], i32>
    wave.while <"$0 < N"> [%4]
    ```
  }];
  let arguments = (ins Wave_ExprAttr:$condition, Variadic<Index>:$symbols, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$condition (`[` $symbols^ `]`)? attr-dict";
  let hasVerifier = 1; // while_c1, while_c2
}

def Wave_ConditionalOp : Wave_Op<"conditional", [Wave_IndexedOp, Wave_Says<["getWork", "relateLayouts"]>, SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "one of two blocks, the same one for the whole workgroup";
  let description = [{
    Runs the first block if `condition` is not 0, otherwise the second; the results are the values that it yields. Every wave
    takes the same branch, so barriers are allowed in both.

    Constraints:
      * (C1) `condition` is the same for the whole workgroup: it speaks of its `symbols` and of sizes only.
      * (C2) both blocks take no arguments and yield values of the results' types.

    Example:
    ```mlir
    %1 = wave.conditional <"K >= 96"> -> !wave.tile<[M, N], f32> {
      %2 = wave.unary neg %0 : !wave.tile<[M, N], f32> -> !wave.tile<[M, N], f32>
      wave.yield %2 : !wave.tile<[M, N], f32>
    } else {
      wave.yield %0 : !wave.tile<[M, N], f32>
    }
    ```
  }];
  let arguments = (ins Wave_ExprAttr:$condition, Variadic<Index>:$symbols, OptionalAttr<StrArrayAttr>:$tags);
  let results = (outs Variadic<Wave_Tile>:$results);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = [{ $condition (`[` $symbols^ `]`)? (`->` type($results)^)? attr-dict-with-keyword $thenRegion `else` $elseRegion }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "ExprAttr":$condition, "::mlir::ValueRange":$symbols)>];
  let skipDefaultBuilders = 1;
  let hasVerifier = 1; // conditional_c1, conditional_c2
  let hasCanonicalizeMethod = 1; // a condition that is a number
  let extraClassDeclaration = [{
    ::mlir::Block &thenBlock() { return getThenRegion().front(); }
    ::mlir::Block &elseBlock() { return getElseRegion().front(); }
  }];
}

def Wave_YieldOp : Wave_Op<"yield", [Terminator, Pure, ParentOneOf<["IterateOp", "ConditionalOp"]>]> {
  let summary = "the values that an iteration hands to the next, or a branch to what follows";
  let arguments = (ins Variadic<Wave_Tile>:$values);
  let builders = [OpBuilder<(ins), [{ /* Nothing is carried. */ }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===-- Time ----------------------------------------------------------------------------------------------------===//

/// Ops that order or time others: nothing moves across them. They belong to no author's op.
def Wave_OrdersOthers : NativeOpTrait<"OrdersOthers"> {
  let cppNamespace = "::soliton::wave";
}
class Wave_TimeOp<string mnemonic> : Wave_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>, Wave_OrdersOthers]>;

def Wave_BarrierOp : Wave_TimeOp<"barrier"> {
  let summary = "no wave goes on before all have come to a barrier";
  let description = [{
    A wave that comes to a barrier goes on once every wave of the workgroup has come to one: arrivals are counted, and the waves
    may stand at different barriers of the program. Only the waves `first_wave <= wave < last_wave` execute one that names them.
    So a group of waves that executes one more than the others before a loop stays one barrier behind them in it; the others
    make up for it after the loop.

    One that `publishes` comes behind what makes each wave's ordinary writes of shared memory visible to those who read it past the
    registers: matrix instructions that take their factors from it, copies that leave it. A wave meets the others with what it has waited for;
    without this, they may still see what was there before.

    At one of the `cluster` all waves of its workgroups meet: what one has written before it, another may read behind it.

    With `team` each so many neighbouring waves meet among themselves; those of other teams go on.

    Constraints:
      * (C1) `first_wave` and `last_wave` are both there or both absent, and `0 <= first_wave < last_wave`.
      * (C2) one of the `cluster` names no waves, and the kernel has clusters.
      * (C3) `team`, if there, is at least 1, and neither waves nor the `cluster` are named.

    Example:
    ```mlir
    wave.barrier
    wave.barrier {team = 4 : i64}
    wave.barrier {first_wave = 4 : i64, last_wave = 8 : i64}
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$first_wave, OptionalAttr<I64Attr>:$last_wave,
                       OptionalAttr<StrArrayAttr>:$tags, UnitAttr:$publishes, UnitAttr:$cluster, OptionalAttr<I64Attr>:$team);
  let builders = [
    OpBuilder<(ins "::mlir::ArrayAttr":$tags)>,
    OpBuilder<(ins "int64_t":$firstWave, "int64_t":$lastWave, CArg<"::mlir::ArrayAttr", "{}">:$tags)>];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1; // barrier_c1 … barrier_c3
  let extraClassDeclaration = [{
    /// True if all waves of the workgroup meet at it.
    bool isForAllWaves() { return !getFirstWave() && !getTeam(); }
  }];
}

def Wave_Counter : I32EnumAttr<"Counter", "what is being waited for", [
    I32EnumAttrCase<"Vm", 0, "vm">, I32EnumAttrCase<"Shared", 1, "shared">, I32EnumAttrCase<"CpAsync", 2, "cp_async">,
    I32EnumAttrCase<"Bulk", 3, "bulk">, I32EnumAttrCase<"Mma", 4, "mma">, I32EnumAttrCase<"Boxes", 5, "boxes">]> {
  let cppNamespace = "::soliton::wave";
}

def Wave_CommitOp : Wave_TimeOp<"commit"> {
  let summary = "close a group of asynchronous operations";
  let description = [{
    What this counter has counted since the last `commit` becomes one group, which is what a `wait` counts then. Counters that
    count operations one by one have no groups. A group of `boxes` is the workgroup's: one lane has them copied for all waves.

    Example:
    ```mlir
    wave.commit cp_async
    ```
  }];
  let arguments = (ins Wave_Counter:$counter, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$counter attr-dict";
}

def Wave_WaitOp : Wave_TimeOp<"wait"> {
  let summary = "until at most `count` operations of this counter are unfinished";
  let description = [{
    The wave's own operations (groups, for a counter that has them), which finish in the order in which they began.

    Constraints:
      * (C1) `count` is not negative and fits 32 bits.

    Example:
    ```mlir
    wave.wait vm, 4
    ```
  }];
  let arguments = (ins Wave_Counter:$counter, I64Attr:$count, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$counter `,` $count attr-dict";
  let hasVerifier = 1; // wait_c1
}

def Wave_ReleaseOp : Wave_TimeOp<"release"> {
  let summary = "this wave is done with what it has waited for so far, and goes on";
  let description = [{
    Half of a barrier: a wave says that it has come here, and waits for nobody. Copies of boxes, which one lane of the first wave has made
    for the workgroup, hear of it by `await`: the shared memory that all waves are done with they may fill again. Every wave executes the
    same releases, in the same order.

    Example:
    ```mlir
    wave.wait mma, 1
    wave.release
    wave.await 0
    wave.copy %k, %s {boxed, ...}
    ```
  }];
  let arguments = (ins OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "attr-dict";
}

def Wave_AwaitOp : Wave_TimeOp<"await"> {
  let summary = "until all waves have come to all but the last `count` releases";
  let description = [{
    Only the wave that has boxes copied waits: what it has copied behind this comes behind all that any wave had completed at those of its
    own releases that are older than the last `count`. Other waves go on.

    Constraints:
      * (C1) `count` is not negative and fits 32 bits.

    Example:
    ```mlir
    wave.await 1
    ```
  }];
  let arguments = (ins I64Attr:$count, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$count attr-dict";
  let hasVerifier = 1; // await_c1
}

def Wave_PriorityOp : Wave_TimeOp<"priority"> {
  let summary = "this wave's issue priority from here on";
  let description = [{
    Of the waves that could issue, one with the highest level does. It changes timing, no result; a target without priorities
    ignores it.

    Constraints:
      * (C1) `level` is 0 to 3.

    Example:
    ```mlir
    wave.priority 1
    ```
  }];
  let arguments = (ins I64Attr:$level, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "$level attr-dict";
  let hasVerifier = 1; // priority_c1
}

def Wave_SchedBarrierOp : Wave_TimeOp<"sched_barrier"> {
  let summary = "the back end's scheduler moves only what `mask` allows across this point";
  let description = [{
    `mask` is a set of instruction classes as the target's compiler numbers them; 0 lets nothing across. It changes timing, no
    result; a target without it ignores it.

    Constraints:
      * (C1) `mask` is not negative and fits 32 bits.

    Example:
    ```mlir
    wave.sched_barrier
    ```
  }];
  let arguments = (ins DefaultValuedAttr<I64Attr, "0">:$mask, OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1; // sched_barrier_c1
}

def Wave_SchedGroupOp : Wave_TimeOp<"sched_group"> {
  let summary = "the next `count` instructions of the classes in `mask` come here";
  let description = [{
    Hints with the same `group` are followed in their order: `{mask = 8, count = 4}` and then `{mask = 256, count = 1}` ask for
    four of the one class, then one of the other. It changes timing, no result; a target without it ignores it.

    Constraints:
      * (C1) `mask`, `count` and `group` are not negative and fit 32 bits.

    Example:
    ```mlir
    wave.sched_group {count = 4 : i64, group = 0 : i64, mask = 8 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$mask, I64Attr:$count, DefaultValuedAttr<I64Attr, "0">:$group,
                       OptionalAttr<StrArrayAttr>:$tags);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1; // sched_group_c1
}

#endif
