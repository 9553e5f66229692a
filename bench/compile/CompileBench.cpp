//===- CompileBench.cpp - How long the compiler takes ------------------------------------------===//
//
//   compile-bench machine TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]]    from tracing to the machine form; one JSON line
//   compile-bench hsaco TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]]      down to a code object, with LLVM's share
//   compile-bench chain N [REPS]                                        a chain of N element-wise ops
//
// The kernel is `gemm`, of f16, or another product of the library, of the first of its element types.
// The first compilation of the process is reported as cold, the median of the others as warm.
//
//===----------------------------------------------------------------------===//

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace soliton;

namespace {
double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

struct Sample {
  double front = 0; ///< trace to machine form
  double llvm = 0, total = 0;
  /// Of the loops' schedules: to find them, and to prove them.
  double schedule = 0, proof = 0;
  int64_t machineOps = 0, matrixOps = 0, loopOps = 0;
};

Sample measure(const CompileAttempt &attempt) {
  if (!attempt) {
    std::fprintf(stderr, "%s", format(attempt.diagnostics).c_str());
    std::exit(1);
  }
  Sample sample;
  for (const CompilePhase &phase : attempt.result->phases) {
    bool llvm = phase.name.starts_with("llvm") || phase.name == "lld";
    if (llvm)
      sample.llvm += phase.ms;
    else if (phase.name != "emulator" && phase.name != "translate")
      sample.front += phase.ms;
    sample.total += phase.ms;
  }
  for (const sched::LoopReport &loop : attempt.result->loops) {
    sample.schedule += loop.scheduleMs;
    sample.proof += loop.verifyMs;
    sample.loopOps += loop.problem.numOps();
  }
  sample.machineOps = attempt.result->machineOps;
  sample.matrixOps = attempt.result->matrixOps;
  return sample;
}

Sample compileGemm(const std::string &target, int64_t bm, int64_t bn, int64_t bk, rt::ImageKind kind,
                   const std::string &schedule, const std::string &name) {
  const kernels::KernelEntry *found = kernels::findKernel(name);
  if (!found) {
    std::fprintf(stderr, "compile-bench: there is no kernel `%s`\n", name.c_str());
    std::exit(2);
  }
  const kernels::KernelEntry &gemm = *found;
  double start = now();
  Kernel kernel = gemm.build(gemm.variants.front());
  double traced = now() - start;
  CompileOptions options{.target = target};
  options.schedule.name = schedule;
  for (auto [name, value] : {std::pair("M", int64_t(4096)),
                             {"N", int64_t(4096)},
                             {"K", int64_t(4096)},
                             {"BLOCK_M", bm},
                             {"BLOCK_N", bn},
                             {"BLOCK_K", bk},
                             {"WAVES_M", int64_t(2)},
                             {"WAVES_N", int64_t(2)}})
    options.subs.emplace_back(sym::Expr::symbol(name), value);
  Sample sample = measure(compileImage(kernel, options, kind));
  sample.front += traced;
  sample.total += traced;
  return sample;
}

Sample compileChain(int64_t length) {
  auto [M, BM] = symbols<"M BM">();
  double start = now();
  Kernel chain{"chain", {WorkgroupConstraint(M, BM, 0), HardwareConstraint{}}};
  auto a = chain.memory("a", {M}, global, f32), b = chain.memory("b", {M}, global, f32);
  Value x = read(a);
  for (int64_t i = 0; i < length; ++i)
    x = i % 2 ? x * 1.5 : x + 1.0;
  write(x, b);
  double traced = now() - start;
  Sample sample =
      measure(compileImage(chain, {.target = "gfx942", .subs = {{M, 4096}, {BM, 256}}}, rt::ImageKind::emulator));
  sample.front += traced;
  return sample;
}
} // namespace

int main(int argc, char **argv) {
  auto number = [&](int i, int64_t otherwise) { return i < argc ? std::strtoll(argv[i], nullptr, 10) : otherwise; };
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "machine" && mode != "hsaco" && mode != "chain") {
    std::fprintf(stderr, "usage: compile-bench machine|hsaco TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]], or "
                         "compile-bench chain N [REPS]\n");
    return 2;
  }
  bool chain = mode == "chain";
  int64_t repetitions = number(chain ? 3 : 6, 20);
  auto once = [&] {
    return chain ? compileChain(number(2, 2000))
                 : compileGemm(argv[2], number(3, 128), number(4, 128), number(5, 32),
                               mode == "hsaco" ? rt::ImageKind::hsaco : rt::ImageKind::emulator,
                               argc > 7 ? argv[7] : "none", argc > 8 ? argv[8] : "gemm");
  };
  if (!chain && argc < 6)
    return std::fprintf(stderr, "compile-bench: found %d arguments, expected TARGET BM BN BK\n", argc - 2), 2;
  Sample cold = once();
  std::vector<double> front, llvm, total, schedule, proof;
  for (int64_t i = 0; i < repetitions; ++i) {
    Sample sample = once();
    front.push_back(sample.front);
    llvm.push_back(sample.llvm);
    total.push_back(sample.total);
    schedule.push_back(sample.schedule);
    proof.push_back(sample.proof);
  }
  std::printf("{\"mode\": \"%s\", \"front_ms\": %.3f, \"front_cold_ms\": %.3f, \"llvm_ms\": %.3f, \"total_ms\": %.3f, "
              "\"schedule_ms\": %.3f, \"proof_ms\": %.3f, \"loop_ops\": %lld, "
              "\"machine_ops\": %lld, \"matrix_ops\": %lld, \"repetitions\": %lld}\n",
              mode.c_str(), median(front), cold.front, median(llvm), median(total), median(schedule), median(proof),
              static_cast<long long>(cold.loopOps), static_cast<long long>(cold.machineOps),
              static_cast<long long>(cold.matrixOps), static_cast<long long>(repetitions));
}
