//===- Bases.h - Good schedules to attack ------------------------------------------===//
//
// A base is a matrix product of one workgroup under a schedule that the compiler has proven: what is compiled, what the
// proof was about, and the bytes that every right run leaves.
//
//   Setting setting{.target = "gfx950", .schedule = "async_two_pp_clusters", .directCopies = true, .trips = 5};
//   Base base = *makeBase(setting, why);
//   Outcome outcome = run(base, *base.program, {.seed = 3, .checks = false});
//   outcome.harm()                                  // "wrong result", "hang", or empty
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/emulator/Machine.h"

namespace soliton::attack {

/// What a kernel is compiled for and under which schedule.
struct Setting {
  std::string target;
  /// An algorithm or a schedule that ships; the text of a file replaces it.
  std::string schedule;
  std::string file = {};
  bool directCopies = false;
  int64_t blockM = 32, blockN = 32, blockK = 32;
  int64_t wavesM = 2, wavesN = 2;
  int64_t trips = 5;
  /// The depth of the product is known only at launch.
  bool dynamic = false;

  /// `gfx942 prefetch 32x32x32 2x2 waves, 5 trips`
  std::string name() const;
  CompileOptions options() const;
};

/// Operands of a product, the same for equal shapes, and its result.
struct Data {
  std::vector<std::byte> a, b, c;
};

struct Base {
  Setting setting;
  sched::LoopReport loop;
  emu::Program program;
  std::shared_ptr<const Data> data;
};

/// One run.
struct Outcome {
  emu::Result result;
  bool right = false;

  /// `wrong result`, `hang`, `out of bounds`, or nothing if the result is right and the kernel has ended.
  std::string harm() const;
};

/// Is it about order, as opposed to the room that a schedule takes or what an author may say?
bool isAboutOrder(const Diagnostic &diagnostic);

/// Compiles under a damage (or none); `wrong` gets the errors where there are any.
std::optional<CompileResult> compileUnder(const Setting &setting, std::shared_ptr<const sched::LoopHooks> damage,
                                          std::vector<Diagnostic> &wrong);

/// The base of a setting, compiled and proven; it has not run. Nothing, with errors, where it does not compile.
std::optional<Base> makeBase(const Setting &setting, std::vector<Diagnostic> &wrong);

emu::Program decode(const rt::KernelImage &image);

/// Runs a program in place of the base's own. Asynchronous work completes as late as is legal.
Outcome run(const Base &base, const emu::Program &program, uint64_t seed, bool checks);

/// All settings that are attacked: every target, every algorithm and shipped schedule, one and two groups of waves,
/// with and without direct copies, several tiles and trip counts. In an order that mixes them.
const std::vector<Setting> &allSettings();

} // namespace soliton::attack
