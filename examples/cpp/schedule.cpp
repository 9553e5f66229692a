// A matrix product with a schedule of its own: memory one iteration ahead, and the loads of the next tile spread
// between the matrix instructions of this one. Kernel and schedule are two texts; the second cannot make the first
// wrong.
//
//   schedule                    schedule sm_90a cuda                    schedule gfx950 emulator gemm.svg
#include <soliton/display/Svg.h>
#include <soliton/display/Table.h>
#include <soliton/soliton.h>
#include <soliton/support/Float.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

using namespace soliton;

/// What and who: c[M, N] = a[M, K] · b[N, K]ᵀ. The tags are for the schedule.
static Kernel buildGemm() {
  auto [M, N, K] = symbols<"M N K">();
  auto [BM, BN, BK] = symbols<"BLOCK_M BLOCK_N BLOCK_K">();
  Kernel gemm{"gemm",
              {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
               WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{.mma = F32_16x16x16_F16}}};
  auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
  auto c = gemm.memory("c", {M, N}, global, f32);
  auto body = [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.tag = "read_b"}), acc, {.tag = "mma"});
  };
  write(gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), body, {.tag = "k_loop"}), c);
  return gemm;
}

/// When: stages first, then the order inside a trip of the kernel.
static void spreadLoads(ScheduleContext &s) {
  auto reads =
      s.get_node_by_tag_and_type("read_a", NodeType::Read) + s.get_node_by_tag_and_type("read_b", NodeType::Read);
  auto [loads, fragments] = s.partition_by_address_space(reads, global);
  auto stores =
      s.get_node_by_tag_and_type("read_a", NodeType::Write) + s.get_node_by_tag_and_type("read_b", NodeType::Write);
  auto mma = s.get_node_by_tag("mma");

  auto p = s.pipeline(s.get_node_by_tag("k_loop"));
  p.set_stage({{loads}, {stores}});
  p.set_stage({{fragments}, {mma}});
  // Four matrix instructions from one load to the next; barriers and waits are the compiler's.
  s.reorder_graph(p.KERNEL,
                  {s.cluster({fragments}), s.interleave_ops(mma, {loads}, {.intervals = {4}}), s.cluster({stores})});
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
  const int64_t size = 256;
  CompileOptions options{.target = argc > 1 ? argv[1] : "gfx942"};
  options.device = argc > 2 ? argv[2] : "emulator";
  options.schedule.written = std::make_shared<WaveSchedule>(WaveSchedule{"spread_loads", spreadLoads});
  for (const char *name : {"M", "N", "K"})
    options.subs.emplace_back(symbol(name), size);
  for (auto [name, value] : {std::pair{"BLOCK_M", 128}, {"BLOCK_N", 128}, {"BLOCK_K", 32}})
    options.subs.emplace_back(symbol(name), value);
  auto run = compile(buildGemm(), options);

  const sched::LoopReport &loop = run.compiled().loops.front();
  sched::Picture picture{loop.problem, loop.schedule, loop.program, loop.verified, "gemm", options.target, ""};
  std::fputs(printTable(picture).c_str(), stdout);
  if (argc > 3)
    std::ofstream(argv[3]) << printSvg(picture);
  int64_t wrong = countWrong(run, size);
  std::printf("\ngemm with `spread_loads` for %s on %s: %lld of %lld elements wrong\n", options.target.c_str(),
              run.device().info().name.c_str(), (long long)wrong, (long long)(size * size));
  return wrong ? 1 : 0;
} catch (const CompileError &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
