// A kernel of your own, for every tool. Nothing has to be built or linked first:
//
//   soliton run examples/plugin/scale.cpp:scale --target gfx942
//   soliton run examples/plugin/scale.cpp:scale --size M=777 --input x=x.npy --output y=y.npy
//   soliton compile examples/plugin/scale.cpp:rows --target sm_90a --emit ptx
#include <soliton/plugin.h>

using namespace soliton;

// Judged by the meaning of the program itself: no reference is needed.
SOLITON_KERNEL(scale) {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel scale{"scale", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = scale.memory("x", {M}, global, f32), y = scale.memory("y", {M}, global, f32);
  write(read(x) * 2.0, y);
  return {.kernel = scale, .sizes = {{M, 4096}}, .tiles = {{BM, 1024}}, .description = "y[M] = 2 x[M]"};
}

// Judged by a reference in f64 that knows nothing of tiles.
SOLITON_KERNEL(rows) {
  auto [M, N, BM, BN] = symbols<"M N BLOCK_M BLOCK_N">();
  Kernel rows{
      "rows",
      {WorkgroupConstraint(M, BM, 0), TilingConstraint(N, BN), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto a = rows.memory("a", {M, N}, global, f32), s = rows.memory("s", {M}, global, f32);
  Value total = rows.iterate(N, rows.fill({M}, f32, 0.0), [&](Value acc) { return sum(read(a), acc, N); });
  write(total, s);
  return {.kernel = rows,
          .sizes = {{M, 96}, {N, 300}},
          .tiles = {{BM, 16}, {BN, 64}},
          .description = "s[M] = the sum of a[M, N] along N",
          .reference = [](HostArrays &at) {
            size_t columns = static_cast<size_t>(at.size("N"));
            for (size_t m = 0; m != at["s"].values.size(); ++m) {
              double total = 0;
              for (size_t n = 0; n != columns; ++n)
                total += at["a"].values[m * columns + n];
              at["s"].values[m] = total;
            }
          }};
}
