// RUN: soliton-opt %s > %t
// What other lanes hold: word i of a lane's 128 bytes is one shuffle of 1000 + lane; then ballot, uniform, and two-word values.

machine.kernel @lanes attributes {arg_names = ["b"], wave_size = 64 : i64, waves = 1 : i64, shared_bytes = 0 : i64, target = "gfx942"} {
^bb0(%b: !machine.ptr):
  %c1000 = arith.constant 1000 : i32
  %c3 = arith.constant 3 : i32
  %c5 = arith.constant 5 : i32
  %c128 = arith.constant 128 : i32
  %zero = arith.constant 0 : i64
  %bytes = arith.constant 8192 : i64
  %to = machine.buffer %b[%zero], %bytes
  %lane = machine.id lane
  %out = arith.muli %lane, %c128 : i32
  %x = arith.addi %lane, %c1000 : i32
  %v = vector.broadcast %x : i32 to vector<1xi32>
  %x1 = machine.shuffle bfly %v {offset = 1 : i64} : vector<1xi32>
  machine.store %x1, %to [%out] {immediate = 0 : i64, alignment = 4 : i64} : vector<1xi32>
  %x2 = machine.shuffle bfly %v {offset = 2 : i64} : vector<1xi32>
  machine.store %x2, %to [%out] {immediate = 4 : i64, alignment = 4 : i64} : vector<1xi32>
  %x3 = machine.shuffle bfly %v {offset = 3 : i64} : vector<1xi32>
  machine.store %x3, %to [%out] {immediate = 8 : i64, alignment = 4 : i64} : vector<1xi32>
  %x4 = machine.shuffle bfly %v {offset = 4 : i64} : vector<1xi32>
  machine.store %x4, %to [%out] {immediate = 12 : i64, alignment = 4 : i64} : vector<1xi32>
  %x5 = machine.shuffle bfly %v {offset = 5 : i64} : vector<1xi32>
  machine.store %x5, %to [%out] {immediate = 16 : i64, alignment = 4 : i64} : vector<1xi32>
  %x7 = machine.shuffle bfly %v {offset = 7 : i64} : vector<1xi32>
  machine.store %x7, %to [%out] {immediate = 20 : i64, alignment = 4 : i64} : vector<1xi32>
  %x8 = machine.shuffle bfly %v {offset = 8 : i64} : vector<1xi32>
  machine.store %x8, %to [%out] {immediate = 24 : i64, alignment = 4 : i64} : vector<1xi32>
  %x12 = machine.shuffle bfly %v {offset = 12 : i64} : vector<1xi32>
  machine.store %x12, %to [%out] {immediate = 28 : i64, alignment = 4 : i64} : vector<1xi32>
  %x15 = machine.shuffle bfly %v {offset = 15 : i64} : vector<1xi32>
  machine.store %x15, %to [%out] {immediate = 32 : i64, alignment = 4 : i64} : vector<1xi32>
  %x16 = machine.shuffle bfly %v {offset = 16 : i64} : vector<1xi32>
  machine.store %x16, %to [%out] {immediate = 36 : i64, alignment = 4 : i64} : vector<1xi32>
  %x17 = machine.shuffle bfly %v {offset = 17 : i64} : vector<1xi32>
  machine.store %x17, %to [%out] {immediate = 40 : i64, alignment = 4 : i64} : vector<1xi32>
  %x31 = machine.shuffle bfly %v {offset = 31 : i64} : vector<1xi32>
  machine.store %x31, %to [%out] {immediate = 44 : i64, alignment = 4 : i64} : vector<1xi32>
  %up1 = machine.shuffle up %v {offset = 1 : i64} : vector<1xi32>
  machine.store %up1, %to [%out] {immediate = 48 : i64, alignment = 4 : i64} : vector<1xi32>
  %up9 = machine.shuffle up %v {offset = 9 : i64} : vector<1xi32>
  machine.store %up9, %to [%out] {immediate = 52 : i64, alignment = 4 : i64} : vector<1xi32>
  %down1 = machine.shuffle down %v {offset = 1 : i64} : vector<1xi32>
  machine.store %down1, %to [%out] {immediate = 56 : i64, alignment = 4 : i64} : vector<1xi32>
  %down20 = machine.shuffle down %v {offset = 20 : i64} : vector<1xi32>
  machine.store %down20, %to [%out] {immediate = 60 : i64, alignment = 4 : i64} : vector<1xi32>
  %i = arith.muli %lane, %c3 : i32
  %idx = machine.shuffle idx %v, %i : vector<1xi32>
  machine.store %idx, %to [%out] {immediate = 64 : i64, alignment = 4 : i64} : vector<1xi32>
  %below = arith.cmpi slt, %lane, %c5 : i32
  %votes = machine.ballot %below
  %low = arith.trunci %votes : i64 to i32
  %ballot = vector.broadcast %low : i32 to vector<1xi32>
  machine.store %ballot, %to [%out] {immediate = 68 : i64, alignment = 4 : i64} : vector<1xi32>
  %first = machine.uniform %x : i32
  %uniform = vector.broadcast %first : i32 to vector<1xi32>
  machine.store %uniform, %to [%out] {immediate = 72 : i64, alignment = 4 : i64} : vector<1xi32>
  %half = arith.trunci %v : vector<1xi32> to vector<1xi16>
  %sixteen = machine.shuffle bfly %half {offset = 1 : i64} : vector<1xi16>
  machine.store %sixteen, %to [%out] {immediate = 76 : i64, alignment = 2 : i64} : vector<1xi16>
  %two = vector.from_elements %x, %lane : vector<2xi32>
  %pair = machine.shuffle bfly %two {offset = 6 : i64} : vector<2xi32>
  machine.store %pair, %to [%out] {immediate = 80 : i64, alignment = 8 : i64} : vector<2xi32>
}
