//===- TestWaveSchedule.h - What tests of written schedules share ----------===//
#pragma once

#include "soliton/authoring/TestGemm.h"

#include "gtest/gtest.h"

namespace soliton::sched::testing {

/// What most schedules below need.
struct Parts {
  explicit Parts(ScheduleContext &s) : loop(s.get_node_by_tag("k_loop")), mma(s.get_node_by_tag("mma")) {
    for (const char *tag : {"read_a", "read_b"}) {
      auto [g, l] = s.partition_by_address_space(s.get_node_by_tag_and_type(tag, NodeType::Read), Space::Global);
      loads = loads + g + s.get_node_by_tag_and_type(tag, NodeType::GatherToLDS);
      reads = reads + l;
      writes = writes + s.get_node_by_tag_and_type(tag, NodeType::Write);
    }
  }
  Nodes loop, mma, loads, reads, writes;
};

inline PipelinedLoop prefetch(ScheduleContext &s, const Parts &parts, PipelineOptions options = {}) {
  auto p = s.pipeline(parts.loop, options);
  p.set_stage({{parts.loads}, {parts.writes}});
  p.set_stage({{parts.reads}, {parts.mma}});
  return p;
}

inline LoopPlan run(const std::function<void(ScheduleContext &)> &body, const TaggedGemm &shape = {}, int waves = 4) {
  return evaluateGemm({"test", body}, shape, waves);
}

/// The only diagnostic of a schedule that is wrong.
inline Diagnostic wrong(const std::function<void(ScheduleContext &)> &body, const TaggedGemm &shape = {},
                        int waves = 4) {
  LoopPlan plan = run(body, shape, waves);
  EXPECT_EQ(plan.diagnostics.size(), 1u) << format(plan.diagnostics);
  EXPECT_FALSE(plan.ok());
  return plan.diagnostics.empty() ? Diagnostic{Severity::remark, DiagId::ScheduleRemark, {}, {}, {}, {}}
                                  : plan.diagnostics.front();
}

/// Expects a mistake of this id at a place in a test, which says `found` and has a hint.
#define EXPECT_WRONG(BODY, ID, FOUND)                                                                                  \
  do {                                                                                                                 \
    Diagnostic diag = wrong([&](ScheduleContext & s) BODY);                                                            \
    EXPECT_EQ(diag.id, ID) << diag.message;                                                                            \
    EXPECT_NE(diag.message.find(FOUND), std::string::npos) << diag.message;                                            \
    EXPECT_NE(diag.place.file.find("WaveSchedule"), std::string::npos) << format(diag);                                \
    EXPECT_FALSE(diag.hint.empty());                                                                                   \
  } while (false)

} // namespace soliton::sched::testing
