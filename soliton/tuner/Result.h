//===- Result.h - What is known about a candidate --------------------------===//
//
// Candidates pass filters, the cheap ones first, and a result says how far one came and what was found:
//
//   verifier     the schedule is proven, the kernel can be said at all
//   resources    shared memory, threads
//   model        modelled time of its loops
//   compiled     registers of the code object; spills refuse it
//   answer       right on the emulator, at a small and at a ragged size
//   device       right and measured on a GPU
//   worker       the process that judged it hung, crashed, ran out of memory or wrote nonsense
//
// Results are values of JSON, for databases and for the pipes of workers.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace soliton::tune {

/// What is asked about a candidate: results of different stages are kept apart.
enum class Stage : uint8_t {
  Model,  ///< verifier, resources, modelled time, code object
  Answer, ///< the emulator's
  Device, ///< measured alone
  Duel,   ///< measured in turn with the best so far
};
std::string_view nameOf(Stage stage);
std::optional<Stage> parseStage(std::string_view text);

struct Result {
  /// The filter that refused it; empty: none did.
  std::string refusedBy;
  /// What the filter said, or what could not be checked.
  std::string why;
  /// Modelled cycles of the launch, and of one iteration of its longest loop; no schedule of the same loops takes fewer
  /// than `bound`.
  int64_t cycles = 0, interval = 0, bound = 0;
  double modelledMicroseconds = 0;
  /// Of the code object; 0 where none was made.
  int64_t registers = 0, spillBytes = 0;
  int64_t sharedBytes = 0;
  /// Median of what was measured, and the distance of its quartiles; 0: nothing was.
  double measuredMicroseconds = 0, spread = 0;
  /// Whether what was measured found its arguments in caches: `warm` or `cold`; `both`: the figure is the warm one, and
  /// the cold one is beside it. Empty: nothing was measured.
  std::string cache;
  double coldMicroseconds = 0;
  /// Of a duel: the median of the other, in the same turns.
  double otherMicroseconds = 0;
  /// Of what was measured: samples that lie far from the others, whether launches were replayed from a graph, and the
  /// chip's clock and temperature behind the last sample; 0 where nothing tells them.
  int64_t outliers = 0, isReplayed = 0, clockMHz = 0, celsius = 0;
  /// How long it took to find out.
  double seconds = 0;

  bool isRefused() const { return !refusedBy.empty(); }
  /// Microseconds: measured where they are, else modelled; infinity where it was refused.
  double cost() const {
    if (isRefused())
      return std::numeric_limits<double>::infinity();
    return measuredMicroseconds > 0 ? measuredMicroseconds : modelledMicroseconds;
  }
  static Result refused(std::string by, std::string why);
  /// Whether it is an answer to that question: what was not refused took time there. Who knows of none would win.
  bool answers(Stage stage) const;
};

/// One line.
std::string toJson(const Result &result);
/// Nothing for what `toJson` did not write, and for figures below 0.
std::optional<Result> resultFromJson(std::string_view text);
/// The same of what an object of JSON has under `result`.
std::optional<Result> resultInJson(std::string_view object);

} // namespace soliton::tune
