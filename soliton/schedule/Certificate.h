//===- Certificate.h - A proof that an interval is the shortest ------------===//
//
// What EXACT prints beside its schedule: start times, and for every shorter interval why there is none. A checker that
// shares no code with the search adds it all up again from the Problem and the text.
//
//   soliton-certificate 1
//   interval 4 optimal
//   start 0 2 5
//   bound units 1 3                 resource 1 is busy for 3 cycles of an iteration at least
//   bound cycle 0>1@0 1>0@1 3       latencies / distances of this cycle of dependences: 3
//   refute 3                        no schedule of interval 3:
//     split 2                         wherever op 2 starts (cycle 0, by rotation)
//       split 1                         and wherever op 1 starts (cycles 0, 1, 2):
//         units 0 1                       0: resource 0 has too many users in cycle 1
//         cycle 1>2@0 2>1@1               1: this cycle of dependences cannot be met
//         units 0 1                       2: …
//
// In `cycle`, an op whose start cycle is split on can only start at that cycle of the interval, so times along the
// cycle round up there; coming back later than one left is the contradiction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/Dependences.h"

namespace soliton::sched {

/// A step of a refutation, in preorder.
struct ProofStep {
  enum class Kind : uint8_t { Split, Units, Cycle };
  Kind kind = Kind::Split;
  /// Split: the op. Units: the resource.
  int subject = 0;
  /// Units: the cycle of the interval.
  int cycle = 0;
  /// Cycle: (from, to, distance) of each dependence along it.
  struct Hop {
    int from = 0;
    int to = 0;
    int distance = 0;
  };
  std::vector<Hop> hops;
};

struct Refutation {
  int interval = 0;
  std::vector<ProofStep> steps;
};

struct Certificate {
  int interval = 0;
  /// No schedule is shorter than this; equal to interval: optimal.
  int bound = 1;
  std::vector<int64_t> start;
  /// A resource and its busy bound, -1 if none is needed.
  int boundResource = -1;
  int resourceBound = 1;
  /// A cycle of dependences and its bound; empty if none is needed.
  std::vector<ProofStep::Hop> boundCycle;
  int recurrenceBound = 1;
  std::vector<Refutation> refutations;
};

std::string toString(const Certificate &certificate);

/// Reads the text form; nothing and a message if it is malformed or too large.
std::optional<Certificate> parseCertificate(std::string_view text, std::string &error);

/// Checks everything from the problem alone; nothing if it holds, else what does not.
std::optional<std::string> checkCertificate(const Problem &problem, const Certificate &certificate);
/// The same from the printed text.
std::optional<std::string> checkCertificate(const Problem &problem, std::string_view text);

} // namespace soliton::sched
