//===- Picture.h - What pictures of a schedule are drawn from ---------------===//
//
// A schedule can be looked at as a table (Table.h), as a page for a browser (Page.h) and as a trace for Perfetto
// (Trace.h). All three take the same values, and name operations the same way: by the tag that the author gave, then
// the path; pieces of one op have a common *label*.
//
//   read_a/shared_load/M1.K0    tag read_a    label read_a/shared_load    piece M1.K0
//
//   Picture picture{problem, schedule, program, report};
//   std::cout << printTable(picture);
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/schedule/ByRole.h"
#include "soliton/schedule/Verify.h"

namespace soliton::sched {

/// Everything that is known about one scheduled loop. The references must outlive it.
struct Picture {
  const Problem &problem;
  const Schedule &schedule;
  const Program &program;
  const Report &report;
  /// For headings; may be empty.
  std::string kernel;
  std::string target;
  /// The printed proof of EXACT; may be empty.
  std::string certificate;
  /// Trips of the kernel that are drawn. Every further one repeats the last.
  int trips = 2;
  /// Further cards of the page: a heading and its text, line by line.
  std::vector<std::pair<std::string, std::string>> further = {};
  /// Waves that copy beside those that compute are drawn side by side with them.
  Crew crew = {};
  /// What groups of waves are called; empty: by their number.
  std::vector<std::string> groupNames = {};
};

/// What times are drawn from: the picture, or the same loop as each role executes it.
class AsDrawn {
public:
  explicit AsDrawn(Picture picture);
  AsDrawn(const AsDrawn &) = delete;
  AsDrawn &operator=(const AsDrawn &) = delete;

  const Picture &picture() const { return divided ? *divided : said; }

private:
  Picture said;
  std::optional<ByRole> parts;
  std::optional<Picture> divided;
};

/// What a group of waves is called; empty where there is one.
std::string groupName(const Picture &picture, int group);

/// `8 waves compute, 1 copies`; empty where each does all.
std::string crewText(const Picture &picture);

/// The op's key without what tells its pieces apart.
std::string labelOf(const Operation &op);

/// What the author calls it: the first tag, else the first part of the key. Colours go by it.
std::string tagOf(const Operation &op);

/// What an entry is called in lists: the label of an op, or `wait vm 2`, `barrier`.
std::string labelOf(const Problem &problem, const Entry &entry);

/// The name of a region without what tells pieces apart: `acc` of `acc0.1`, `mma` of `mma/0.1`.
std::string foldedName(const std::string &name);

/// `n`, `n+1`, `n-2`: the iteration of an entry in trip n of the kernel.
std::string iterationText(int offset);

/// `3 barriers`, `1 barrier`.
std::string counted(int64_t number, std::string_view noun);

/// The value that holds for each region, with open ones decided as the verifier does.
Schedule withBuffers(const Problem &problem, const Schedule &schedule);

} // namespace soliton::sched
