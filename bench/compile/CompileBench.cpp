//===- CompileBench.cpp - How long the compiler takes ------------------------------------------===//
//
//   compile-bench machine TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]]    from tracing to the machine form; one JSON line
//   compile-bench hsaco TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]]      down to a code object, with LLVM's share
//   compile-bench kernel TARGET KERNEL SIZES [REPS [SCHEDULE]]          any kernel, to the machine form: B=1,H=32,…
//   compile-bench ptx TARGET KERNEL SIZES [REPS [SCHEDULE]]             the same down to PTX, with LLVM's share
//   compile-bench chain N [REPS]                                        a chain of N element-wise ops
//
// The kernel is `gemm`, of f16, or another of the library, of the first of its element types. The first compilation of
// the process is reported as cold, the median of the others as warm; `processor_ms` is the processor's time of a whole
// compilation, which a busy machine does not change much.
//
//===----------------------------------------------------------------------===//

#include "kernels/Kernels.h"
#include "soliton/driver/Compile.h"
#include "soliton/target/Target.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <sstream>

using namespace soliton;

namespace {
double now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads of this process.
double processorNow() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
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

/// What is compiled. Sizes and tiles that are not named are the kernel's own.
struct Job {
  std::string kernel, target;
  std::map<std::string, int64_t> sizes;
  rt::ImageKind kind = rt::ImageKind::emulator;
  std::string schedule = "none";
};

[[noreturn]] void refuse(const std::string &what) {
  std::fprintf(stderr, "compile-bench: %s\n", what.c_str());
  std::exit(2);
}

Sample compileKernel(const Job &job) {
  const kernels::KernelEntry *entry = kernels::findKernel(job.kernel);
  const Target *target = findTarget(job.target);
  if (!entry || !target)
    refuse("there is no kernel `" + job.kernel + "` or no target `" + job.target + "`");
  const kernels::Variant &variant = entry->variants.front();
  double start = now();
  Kernel kernel = entry->build(variant);
  double traced = now() - start;
  CompileOptions options{.target = job.target};
  options.schedule.name = job.schedule;
  std::map<std::string, int64_t> values;
  for (const kernels::DefaultSize &size : entry->sizes)
    values[size.name] = size.value;
  for (const kernels::DefaultSize &tile : entry->tilesFor(variant, *target))
    if (job.schedule == "auto") // which chooses them itself
      options.defaults.emplace_back(sym::Expr::symbol(tile.name), tile.value);
    else
      values[tile.name] = tile.value;
  for (const auto &[name, value] : job.sizes)
    values[name] = value;
  for (const auto &[name, value] : values)
    options.subs.emplace_back(sym::Expr::symbol(name), value);
  for (const auto &derived : entry->derivedSubs())
    options.subs.push_back(derived);
  Sample sample = measure(compileImage(kernel, options, job.kind));
  sample.front += traced;
  sample.total += traced;
  return sample;
}

/// `B=1,H=32` as values by name.
std::map<std::string, int64_t> sizesOf(const std::string &text) {
  std::map<std::string, int64_t> sizes;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t at = part.find('=');
    if (at == std::string::npos)
      refuse("found `" + part + "`, expected NAME=NUMBER");
    sizes[part.substr(0, at)] = std::strtoll(part.c_str() + at + 1, nullptr, 10);
  }
  return sizes;
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
  std::vector<std::string> words(argv + 1, argv + argc);
  auto word = [&](size_t i, std::string otherwise) { return i < words.size() ? words[i] : std::move(otherwise); };
  auto number = [&](size_t i, int64_t otherwise) {
    return i < words.size() ? std::strtoll(words[i].c_str(), nullptr, 10) : otherwise;
  };
  std::string mode = word(0, "");
  bool chain = mode == "chain", product = mode == "machine" || mode == "hsaco",
       ofKernel = mode == "kernel" || mode == "ptx";
  if (!(chain || (product && words.size() >= 5) || (ofKernel && words.size() >= 4))) {
    std::fprintf(stderr,
                 "usage: compile-bench machine|hsaco TARGET BM BN BK [REPS [SCHEDULE [KERNEL]]], "
                 "compile-bench kernel|ptx TARGET KERNEL SIZES [REPS [SCHEDULE]], or compile-bench chain N [REPS]\n");
    return 2;
  }
  Job job;
  if (product)
    job = {.kernel = word(7, "gemm"),
           .target = words[1],
           .sizes = {{"M", 4096},
                     {"N", 4096},
                     {"K", 4096},
                     {"BLOCK_M", number(2, 0)},
                     {"BLOCK_N", number(3, 0)},
                     {"BLOCK_K", number(4, 0)},
                     {"WAVES_M", 2},
                     {"WAVES_N", 2}},
           .kind = mode == "hsaco" ? rt::ImageKind::hsaco : rt::ImageKind::emulator,
           .schedule = word(6, "none")};
  if (ofKernel)
    job = {.kernel = words[2],
           .target = words[1],
           .sizes = sizesOf(words[3]),
           .kind = mode == "ptx" ? rt::ImageKind::ptx : rt::ImageKind::emulator,
           .schedule = word(5, "none")};
  int64_t repetitions = number(chain ? 2 : product ? 5 : 4, 20);
  auto once = [&] { return chain ? compileChain(number(1, 2000)) : compileKernel(job); };
  Sample cold = once();
  std::vector<double> front, llvm, total, schedule, proof, processor;
  for (int64_t i = 0; i < repetitions; ++i) {
    double begin = processorNow();
    Sample sample = once();
    processor.push_back(processorNow() - begin);
    front.push_back(sample.front);
    llvm.push_back(sample.llvm);
    total.push_back(sample.total);
    schedule.push_back(sample.schedule);
    proof.push_back(sample.proof);
  }
  std::printf("{\"mode\": \"%s\", \"front_ms\": %.3f, \"front_cold_ms\": %.3f, \"llvm_ms\": %.3f, \"total_ms\": %.3f, "
              "\"processor_ms\": %.3f, \"schedule_ms\": %.3f, \"proof_ms\": %.3f, \"loop_ops\": %lld, "
              "\"machine_ops\": %lld, \"matrix_ops\": %lld, \"repetitions\": %lld}\n",
              mode.c_str(), median(front), cold.front, median(llvm), median(total), median(processor), median(schedule),
              median(proof), static_cast<long long>(cold.loopOps), static_cast<long long>(cold.machineOps),
              static_cast<long long>(cold.matrixOps), static_cast<long long>(repetitions));
}
