// RUN: soliton-opt %s --verify-diagnostics --split-input-file

func.func @conditional_c1_wave() {
  // expected-error@+1 {{depends on `$WAVE`, expected its index operands and sizes}}
  wave.conditional <"$WAVE < 4"> {
  } else {
  }
  return
}

// -----

func.func @conditional_c1_lane() {
  // expected-error@+1 {{depends on `$LANE`}}
  wave.conditional <"$LANE < T"> {
  } else {
  }
  return
}

// -----

func.func @conditional_c1_loop() {
  wave.iterate "K" () {count = #wave.expr<"3">} : () -> () {
  ^bb0(%k: index):
    // expected-error@+1 {{speaks of `$1`, but has 1 index operands}}
    wave.conditional <"$0 < $1"> [%k] {
    } else {
    }
  }
  return
}

// -----

func.func @conditional_c2(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{yields () from its second block, expected ('!wave.tile<[M], f32>') as its results}}
  %0 = wave.conditional <"T < 4"> -> !wave.tile<[M], f32> {
    wave.yield %a : !wave.tile<[M], f32>
  } else {
  }
  return
}

// -----

func.func @conditional_c2_arguments(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{has 1 arguments in its first block, expected none}}
  wave.conditional <"T < 4"> {
  ^bb0(%x: !wave.tile<[M], f32>):
  } else {
  }
  return
}

// -----

func.func @barrier_c1() {
  // expected-error@+1 {{names only its first wave, expected `first_wave` and `last_wave` or neither}}
  wave.barrier {first_wave = 4 : i64}
  return
}

// -----

func.func @barrier_c1_order() {
  // expected-error@+1 {{is for the waves 4 to 4, expected 0 <= first_wave < last_wave}}
  wave.barrier {first_wave = 4 : i64, last_wave = 4 : i64}
  return
}

// -----

func.func @wait_c1() {
  // expected-error@+1 {{has count -1, expected 0 to 2147483647}}
  wave.wait vm, -1
  return
}

// -----

func.func @await_c1() {
  // expected-error@+1 {{has count -1, expected 0 to 2147483647}}
  wave.await -1
  return
}

// -----

func.func @priority_c1() {
  // expected-error@+1 {{has level 4, expected 0 to 3}}
  wave.priority 4
  return
}

// -----

func.func @sched_barrier_c1() {
  // expected-error@+1 {{has mask -1, expected 0 to 2147483647}}
  wave.sched_barrier {mask = -1 : i64}
  return
}

// -----

func.func @sched_group_c1() {
  // expected-error@+1 {{has count -4, expected 0 to 2147483647}}
  wave.sched_group {mask = 8 : i64, count = -4 : i64}
  return
}

// -----

func.func @yield_parent(%a: !wave.tile<[M], f32>) {
  // expected-error@+1 {{expects parent op to be one of 'wave.iterate, wave.conditional'}}
  wave.yield %a : !wave.tile<[M], f32>
}

// -----

func.func @index_of_c1(%a: !wave.tile<[M], i32>) {
  // expected-error@+1 {{takes a tile of 1 dimensions, expected none}}
  %0 = wave.index_of %a : !wave.tile<[M], i32>
  return
}

// -----

func.func @index_of_c1_type(%a: !wave.tile<[], f32>) {
  // expected-error@+1 {{takes a tile of 'f32', expected integers of 8 bits or more}}
  %0 = wave.index_of %a : !wave.tile<[], f32>
  return
}

// -----

func.func @while_c1() {
  wave.iterate "M" () : () -> () {
    // expected-error@+1 {{is not the only one of its loop}}
    wave.while <"M < 4">
    wave.while <"M < 8">
  }
  return
}

// -----

wave.kernel @barrier_c2 attributes {arg_names = [], constraints = [], subs = {}, dynamic = [], form = 0 : i32} {
  // expected-error@+1 {{is for the workgroups of a cluster, expected a kernel with a `cluster`}}
  wave.barrier {cluster}
}

// -----

func.func @barrier_c2_waves() {
  // expected-error@+1 {{is for the workgroups of a cluster, expected no waves that it names}}
  wave.barrier {cluster, first_wave = 0 : i64, last_wave = 4 : i64}
  return
}

// -----

func.func @barrier_c3() {
  // expected-error@+1 {{is for teams of 0 waves, expected at least 1, no waves that it names and no `cluster`}}
  wave.barrier {team = 0 : i64}
  return
}

// -----

func.func @barrier_c3_waves() {
  // expected-error@+1 {{is for teams of 4 waves, expected at least 1, no waves that it names and no `cluster`}}
  wave.barrier {team = 4 : i64, first_wave = 0 : i64, last_wave = 4 : i64}
  return
}
