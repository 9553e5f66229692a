//===- Protects.h - What each barrier and wait is there for ----------------===//
//
// A barrier stands between a hazard's two sides, a wait is where an access is known to be complete. Looking along the
// paths of a program (Paths.h) tells for each of them which dependences it protects, pieces of one op together:
//
//   kernel 4  barrier      RAW shared_a: read_a/shared_store -> read_a/shared_load (32 pairs)
//   kernel 3  wait lgkm 0  RAW shared_a: read_a/shared_store -> read_a/shared_load (32 pairs)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/display/Picture.h"

namespace soliton::sched {

/// Dependences of one kind between the pieces of two ops.
struct ProtectedPair {
  DepKind kind = DepKind::Raw;
  std::string from;
  std::string to;
  /// Registers: of all pieces.
  std::string region;
  bool inRegisters = false;
  /// Pairs of pieces.
  int count = 0;
  /// No other barrier orders it.
  bool sole = true;
};

/// One barrier, wait, commit or phase entry of the program.
struct SyncPoint {
  Location where;
  Entry entry;
  /// Label of the op that it stands in front of; empty at the end of a list.
  std::string before;
  std::vector<ProtectedPair> pairs;
};

/// "RAW shared_a: read_a/shared_store -> read_a/shared_load (32 pairs)".
std::string describe(const ProtectedPair &pair);

/// In words: "read_a/shared_load reads what read_a/shared_store wrote to shared_a".
std::string explain(const ProtectedPair &pair);

/// What an arrival or a wait at a phase means: "waits until `tile_a` is filled".
std::string explainPhase(const Problem &problem, const Entry &entry);

/// All points of the program in order. Written ones without pairs protect nothing that the model knows of.
std::vector<SyncPoint> findSyncPoints(const Picture &picture);

} // namespace soliton::sched
