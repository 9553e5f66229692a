//===- LoopScheduler.h - One innermost loop on its way through scheduling ---------------------===//
//
// The state that the steps of `wave-schedule-loops` share for one loop: the loop as it was and as it is scheduled, its
// problem, the plan and the proof.
//
//   LoopPlans.cpp        which schedule: what an author, a file or an algorithm says
//   ScheduleLoops.cpp    barriers, waits and the proof; the loop as it then is; the pass
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/EvaluateSchedule.h"
#include "soliton/authoring/Request.h"
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/schedule/Synchronize.h"
#include "soliton/transforms/LoopProblem.h"

namespace soliton {

/// Finds, proves and builds the schedule of one loop.
class LoopScheduler {
public:
  LoopScheduler(wave::KernelOp kernel, const Geometry &geometry, const sched::ScheduleRequest &request, size_t numLoops,
                int64_t &pipelines)
      : kernel(kernel), geometry(geometry), request(request), numLoops(numLoops), pipelines(pipelines) {}

  LogicalResult run(wave::IterateOp loop);

private:
  LogicalResult say(const std::vector<Diagnostic> &diagnostics);
  LogicalResult choose();
  FailureOr<sched::ScheduleFile> readFile(bool wave);
  LogicalResult chooseFromFile();
  LogicalResult chooseWritten();
  LogicalResult settleRoles();
  LogicalResult checkBudget(const sched::Roles &said);
  LogicalResult chooseByAlgorithm(const std::string &name);
  FailureOr<sched::Algorithm> algorithm(const std::string &name, const sched::Problem &roomy);
  sched::Algorithm fastest(const sched::Problem &problem) const;
  sched::Scheduled scheduleBy(sched::Algorithm algorithm, const sched::Problem &problem) const;
  sched::Scheduled scheduleForWaves(const sched::Problem &problem) const;
  int copiesForLoads();
  LogicalResult evaluateWritten();
  LogicalResult unrollTo(int factor);
  void adopt(LoopProblem problem);
  void dropUnrolled();
  sched::ScheduleInput scheduleInput();
  void orderBarriers(sched::SyncOptions &options) const;
  LogicalResult checkWritten();
  LogicalResult prove(std::optional<int> tripCount);
  void handOut();
  sym::Expr guard();
  LogicalResult replace(OpBuilder &builder);
  FailureOr<SmallVector<Value>> buildPipelined(OpBuilder &builder, int rest = 0);
  FailureOr<SmallVector<Value>> buildPlain(OpBuilder &builder);
  FailureOr<SmallVector<Value>> choice(OpBuilder &builder, sym::Expr condition,
                                       llvm::function_ref<FailureOr<SmallVector<Value>>(OpBuilder &)> first,
                                       llvm::function_ref<FailureOr<SmallVector<Value>>(OpBuilder &)> second);
  FailureOr<SmallVector<Value>> rebuild(OpBuilder &builder, const sched::Program &program, int rest);
  LogicalResult placeBuffers();
  void markWaived();
  sym::Expr iterations(wave::IterateOp of) const { return geometry.named(*of.getCount(), of.getSymbols()); }

  wave::KernelOp kernel;
  const Geometry &geometry;
  const sched::ScheduleRequest &request;
  /// Of the kernel, that are scheduled.
  size_t numLoops;
  /// Built so far.
  int64_t &pipelines;
  /// The loop as it was, and the one that is scheduled: the same, or with copies of its body.
  wave::IterateOp source, loop;
  int unrolled = 1;
  LoopProblem found;
  sched::LoopPlan plan;
  sched::LoopReport report;
};

/// What the kernel has of roles and of workgroups that walk.
sched::Roles rolesOf(wave::KernelOp kernel);

/// Of too many registers: an estimate, until the code object tells whether they sufficed.
bool isAboutRegisters(const Diagnostic &diagnostic);

} // namespace soliton
