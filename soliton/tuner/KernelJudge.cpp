#include "soliton/tuner/KernelJudge.h"

#include "soliton/driver/Assembler.h"
#include "soliton/driver/CompileCache.h"
#include "soliton/tuner/Candidate.h"

#include <algorithm>

namespace soliton::tune {

std::string compilerBuild() {
  std::optional<std::string> id = buildIdAt(reinterpret_cast<const void *>(&compileKey));
  return id ? hashOf(*id) : "unknown";
}

Result refusedBy(const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::error)
      continue;
    std::string text = diagnostic.message + " [" + std::string(idText(diagnostic.id)) + "]";
    switch (diagnostic.id) {
    case DiagId::SharedMemoryExceeded:
    case DiagId::ScheduleSharedBytes:
    case DiagId::ScheduleRegisters:
    case DiagId::TooManyThreads:
      return Result::refused("resources", text);
    case DiagId::RegisterSpill:
      return Result::refused("compiled", text);
    default:
      return Result::refused("verifier", text);
    }
  }
  return Result::refused("verifier", "it was not compiled, and nothing said why");
}

/// What the machine's compiler makes of it; nothing where none is at hand.
static std::optional<rt::ImageKind> codeFor(const Target &target) {
  if (!canAssemble(target))
    return std::nullopt;
  return target.vendor == Vendor::amd ? rt::ImageKind::hsaco : rt::ImageKind::cubin;
}

static Result modelled(const CompileResult &compiled, const Target &target, const Compilation &compilation) {
  Result result;
  result.sharedBytes = compiled.image.staticSharedBytes + compiled.image.dynamicSharedBytes;
  for (const sched::LoopReport &loop : compiled.loops) {
    sched::LoopCost cost(loop.problem, target, compilation.launch(compiled, loop));
    sched::Modelled modelled = cost.of(loop.schedule, loop.program);
    result.cycles += modelled.cycles;
    result.bound += cost.bound();
    result.interval = std::max(result.interval, modelled.interval);
    result.modelledMicroseconds += cost.microseconds(modelled.cycles);
  }
  return result;
}

Result judgeByModel(const Compilation &compilation) {
  CompileAttempt attempt = compilation.compile(rt::ImageKind::emulator);
  if (!attempt)
    return refusedBy(attempt.diagnostics);
  if (attempt.result->loops.empty())
    return Result::refused("model", "the kernel has no loop whose time could be modelled");
  const Target &target = *findTarget(attempt.result->image.target);
  Result result = modelled(*attempt.result, target, compilation);
  std::optional<rt::ImageKind> code = codeFor(target);
  if (!code)
    return result;
  CompileAttempt made = compilation.compile(*code);
  if (!made)
    return refusedBy(made.diagnostics);
  result.registers = made.result->vgprs + made.result->agprs;
  result.spillBytes = made.result->spillBytes;
  if (result.spillBytes > 0) {
    result.refusedBy = "compiled";
    result.why = std::to_string(result.spillBytes) + " bytes of registers are spilled";
  }
  return result;
}

} // namespace soliton::tune
