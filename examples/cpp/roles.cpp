// A matrix product for Hopper whose schedule speaks of roles: one wave has tiles copied, its group leaves its registers
// to those that compute, and two workgroups walk all tiles. On the emulator, unless a device is named.
//
//   roles                       roles emulator roles.svg                       roles cuda
#include <soliton/display/Svg.h>
#include <soliton/display/Table.h>
#include <soliton/soliton.h>
#include <soliton/support/Float.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

using namespace soliton;

/// What, and which waves compute: c[M, N] = a[M, K] · b[N, K]ᵀ, eight waves by 16 rows.
static Kernel buildGemm() {
  auto [M, N, K] = symbols<"M N K">();
  Kernel gemm{"gemm",
              {WorkgroupConstraint(M, 128, 0), WorkgroupConstraint(N, 128, 1), TilingConstraint(K, 64),
               WaveConstraint(M, 16), WaveConstraint(N, 128), HardwareConstraint{.mma = MmaType("F32_64x128x16_F16")}}};
  auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
  auto c = gemm.memory("c", {M, N}, global, f32);
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.tag = "read_b"}), acc, {.tag = "mma"});
  };
  write(gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c);
  return gemm;
}

/// When, and who copies.
static void copyApart(ScheduleContext &s) {
  s.order_by(s.get_node_by_tag("k_loop"), "ring");
  s.specialize({"read_a", "read_b"}, {.waves = 4, .registers = 40});
  s.persistent(2);
}

/// The number of elements that are wrong; small integers make the product exact.
static int64_t countWrong(const CompiledKernel &run, int64_t size) {
  std::vector<uint16_t> a(size * size), b(size * size);
  std::vector<float> c(size * size, NAN);
  for (int64_t i = 0; i != size * size; ++i) {
    a[i] = floatToHalf(static_cast<float>(i % 5 - 2));
    b[i] = floatToHalf(static_cast<float>(i % 7 - 3));
  }
  run(rt::Tensor::of(a, {size, size}).as(DType::f16), rt::Tensor::of(b, {size, size}).as(DType::f16),
      rt::Tensor::of(c, {size, size}));
  int64_t wrong = 0;
  for (int64_t row = 0; row != size; ++row)
    for (int64_t column = 0; column != size; ++column) {
      float expected = 0;
      for (int64_t depth = 0; depth != size; ++depth)
        expected += halfToFloat(a[row * size + depth]) * halfToFloat(b[column * size + depth]);
      wrong += !(c[row * size + column] == expected);
    }
  return wrong;
}

int main(int argc, char **argv) try {
  const int64_t size = 512;
  CompileOptions options{.target = "sm_90a"};
  options.device = argc > 1 ? argv[1] : "emulator";
  options.directCopies = true; // or there are no copies of boxes that a wave of its own could issue
  options.stagedWrites = true;
  options.schedule.written = std::make_shared<WaveSchedule>(WaveSchedule{"copy_apart", copyApart});
  for (const char *name : {"M", "N", "K"})
    options.subs.emplace_back(symbol(name), size);
  auto run = compile(buildGemm(), options);

  const sched::LoopReport &loop = run.compiled().loops.front();
  sched::Picture picture{loop.problem, loop.schedule, loop.program, loop.verified, "gemm", options.target, ""};
  picture.crew = loop.roles.crew();
  std::fputs(printTable(picture).c_str(), stdout);
  if (argc > 2)
    std::ofstream(argv[2]) << printSvg(picture);
  int64_t wrong = countWrong(run, size);
  std::printf("\ngemm with `copy_apart` on %s: %lld of %lld elements wrong\n", run.device().info().name.c_str(),
              (long long)wrong, (long long)(size * size));
  return wrong ? 1 : 0;
} catch (const CompileError &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
