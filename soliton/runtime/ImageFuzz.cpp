// Fuzz target: no bytes may make the reader of kernel images, or what is evaluated from it, crash.
//
//   cmake -DSOLITON_FUZZ=ON … && SolitonImageFuzz -max_total_time=60

#include "soliton/runtime/LaunchPlan.h"
#include "soliton/support/Diagnostics.h"

using namespace soliton;
using namespace soliton::rt;

static void evaluateAll(const KernelImage &image) {
  std::array<int64_t, kMaxSymbols> values = {};
  values.fill(INT32_MAX);
  for (const LaunchExpr &extent : image.grid)
    extent.evaluate(values);
  for (const LaunchCheck &check : image.checks)
    check.predicate.evaluate(values);
  std::vector<Argument> none;
  PreparedLaunch launch;
  LaunchPlan(image).prepare(none, {}, {}, launch);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Half of the inputs get past the checksum, or mutation would never reach the manifest.
  std::vector<std::byte> file(size);
  for (size_t i = 0; i < size; ++i)
    file[i] = static_cast<std::byte>(data[i]);
  if (size > 40 && size % 2 == 0) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 40; i < size; ++i)
      hash = (hash ^ data[i]) * 0x100000001b3;
    for (size_t i = 0; i < 8; ++i)
      file[32 + i] = static_cast<std::byte>(hash >> (8 * i));
  }
  try {
    evaluateAll(deserialize(file));
  } catch (const CompileError &) {
    // Refused with a diagnostic: what is asked for.
  }
  return 0;
}
