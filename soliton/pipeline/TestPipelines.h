//===- TestPipelines.h - Programs as text, the way the reference writes them -------===//
//
//   LA00@K0   load of A, stage 0, half-tile 0        FB11   fragment of B, stage 1, quadrant 1      M01   mma
//   VM8 LGKM0 BAR SB P1 P0                           waits, barrier, scheduling fence, priorities
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Compile.h"
#include "soliton/pipeline/PingPong.h"
#include "soliton/pipeline/Pipeline4Wave.h"
#include "soliton/pipeline/SingleBuffer.h"

#include <gtest/gtest.h>

namespace soliton::pipe::testing {

inline std::string markText(const OpDesc &op) {
  std::string value = std::to_string(op.waitValue);
  switch (op.tag) {
  case kBarrier:
    return "BAR";
  case kWaitVm:
    return "VM" + value;
  case kWaitLgkm:
    return "LGKM" + value;
  case kSetPrio:
    return "P" + value;
  default:
    return "SB";
  }
}

/// A double-buffer op in the reference's letters.
inline std::string tileText(const OpDesc &op) {
  if (op.tag >= kFirstFrameworkTag)
    return markText(op);
  const char *letters[] = {"LA", "LB", "C", "FA", "FB", "M"};
  std::string text = letters[op.tag] + std::to_string(op.stage) + std::to_string(op.subtile);
  return op.k == KOffset::None ? text : text + "@" + std::string(nameOf(op.k));
}

/// A single-buffer op: LD ST F0 C1.
inline std::string singleText(const OpDesc &op) {
  if (op.tag >= kFirstFrameworkTag)
    return markText(op);
  const char *letters[] = {"LD", "ST", "F", "C"};
  return op.tag < kLoadFrag ? letters[op.tag] : letters[op.tag] + std::to_string(op.subtile);
}

template <typename List, typename Text>
std::string joined(const List &list, Text text) {
  std::string all;
  for (const auto &item : list)
    all += (all.empty() ? "" : " ") + text(item);
  return all;
}

inline std::string tiles(const std::vector<OpDesc> &ops) {
  return joined(ops, tileText);
}
inline std::string tiles(const std::vector<ScheduleEntry> &entries) {
  return joined(entries, [](const ScheduleEntry &entry) { return tileText(entry.op); });
}
inline std::string singles(const std::vector<OpDesc> &ops) {
  return joined(ops, singleText);
}
inline std::string singles(const std::vector<ScheduleEntry> &entries) {
  return joined(entries, [](const ScheduleEntry &entry) { return singleText(entry.op); });
}
inline std::string edgeText(const std::vector<DepEdge> &edges, size_t begin, size_t end) {
  std::vector<DepEdge> slice(edges.begin() + begin, edges.begin() + end);
  return joined(slice, [](const DepEdge &edge) { return toString(edge); });
}
inline std::string depText(const std::vector<EntryDep> &deps) {
  return joined(deps, [](const EntryDep &dep) { return std::to_string(dep.from) + ">" + std::to_string(dep.to); });
}

inline int countTag(const std::vector<ScheduleEntry> &entries, int tag) {
  int count = 0;
  for (const ScheduleEntry &entry : entries)
    count += entry.op.tag == tag;
  return count;
}

/// (kind, distance) of edges.
inline int countEdges(const std::vector<DepEdge> &edges, DepKind kind, int distance) {
  int count = 0;
  for (const DepEdge &edge : edges)
    count += edge.kind == kind && edge.distance == distance;
  return count;
}

inline CompiledPipeline faithful(const PipelineSchedule &pipeline) {
  return compilePipeline(pipeline, {Mode::Faithful, {}});
}

inline KernelGeometry four(int elemBytes, int bm, int bn, int bk) {
  GeometryResult result = fourWaveGeometry({.bm = bm, .bn = bn, .bk = bk, .elemBytes = elemBytes});
  EXPECT_TRUE(result.ok()) << format(result.errors);
  return result.geometry;
}

/// The ping-pong kernels of the reference.
inline KernelGeometry pingBf16() {
  return pingPongGeometry({.bm = 256, .bn = 256, .bk = 64, .elemBytes = 2}).geometry;
}
inline KernelGeometry pingFp8() {
  return pingPongGeometry({.bm = 256, .bn = 256, .bk = 128, .elemBytes = 1}).geometry;
}
inline KernelGeometry pingSkinny() {
  return pingPongGeometry({.bm = 128, .bn = 256, .bk = 128, .elemBytes = 1}).geometry;
}

} // namespace soliton::pipe::testing
