// A kernel for any size: M is known only at launch, so it is compiled once and run for several lengths. The second
// half shows what a mistake looks like: it is reported at its line, with what to do about it.
#include <soliton/soliton.h>

#include <cstdio>
#include <vector>

using namespace soliton;

int main() {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel relu{"relu", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = relu.memory("x", {M}, global, f32), y = relu.memory("y", {M}, global, f32);
  write(maximum(read(x), 0.0), y);

  auto run = compile(relu, {.target = "gfx942", .subs = {{BM, 1024}}, .dynamic = {M}, .device = "emulator"});
  for (int64_t length : {1, 1000, 5000}) {
    std::vector<float> in(length), out(length, -1);
    for (int64_t i = 0; i != length; ++i)
      in[i] = static_cast<float>(i % 11 - 5);
    run(rt::Tensor::of(in, {length}), rt::Tensor::of(out, {length}));
    for (int64_t i = 0; i != length; ++i)
      if (!(out[i] == (in[i] > 0 ? in[i] : 0)))
        return std::fprintf(stderr, "wrong at %lld of %lld\n", (long long)i, (long long)length), 1;
    std::printf("relu of %lld numbers: right\n", (long long)length);
  }

  Kernel wrong{"wrong", {WorkgroupConstraint(M, BM, 0), HardwareConstraint{}}};
  auto half = wrong.memory("half", {M}, global, f16), full = wrong.memory("full", {M}, global, f32);
  write(read(half) + read(full), full);
  CompileOutcome outcome = tryCompile(wrong, {.target = "gfx942", .subs = {{M, 64}}});
  std::printf("and this is what a mistake looks like:\n%s\n", format(outcome.diagnostics).c_str());
  return outcome ? 1 : 0;
}
