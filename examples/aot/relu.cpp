// The kernel that ships: y = max(x, 0), for arrays of any length.
#include <soliton/plugin.h>

using namespace soliton;

SOLITON_KERNEL(relu) {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel relu{"relu", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = relu.memory("x", {M}, global, f32), y = relu.memory("y", {M}, global, f32);
  write(maximum(read(x), 0.0), y);
  return {.kernel = relu, .sizes = {{M, 4096}}, .tiles = {{BM, 1024}}};
}
