//===- Shipped.cpp - `--faithful`: a pipeline as its framework ships it --------------------------===//
//
//   soliton run gemm --target gfx950 --dtype bf16 --schedule pipeline4wave --faithful --waive 'as shipped'
//
// The waits of such a program are those of one tile: the kernel's, as it is set.
//
//===----------------------------------------------------------------------===//

#include "tools/soliton/Commands.h"

#include "soliton/pipeline/Catalog.h"
#include "soliton/pipeline/Drive.h"

#include <algorithm>

namespace soliton::cli {

/// The tile by the symbols of the library's products.
static pipe::TileShape shapeOf(const Resolved &resolved) {
  auto number = [&](const std::string &name) {
    for (const auto &[symbol, value] : resolved.options.subs)
      if (symbol.isSymbol() && symbol.symbolName() == name && value.isConstant())
        return static_cast<int>(value.constantValue().value_or(0));
    throw UsageError("`--faithful` takes the tile of a pipeline from `BLOCK_M`, `BLOCK_N` and `BLOCK_K`, and `" +
                     resolved.entry->name + "` has no `" + name + "`");
  };
  pipe::TileShape shape;
  shape.bm = number("BLOCK_M");
  shape.bn = number("BLOCK_N");
  shape.bk = number("BLOCK_K");
  shape.elemBytes = elementBytes(resolved.variant->name);
  return shape;
}

void useShipped(Resolved &resolved, const KernelChoice &choice) {
  if (!choice.faithful && !choice.waive.empty())
    throw UsageError("found `--waive` without `--faithful`; what is derived is proven, and has nothing to waive");
  if (!choice.faithful)
    return;
  const std::vector<std::string> &names = pipe::pipelineNames();
  if (std::ranges::find(names, choice.schedule) == names.end())
    throw UsageError("found `--faithful --schedule " + choice.schedule +
                     "`, expected a declared pipeline: " + listOf(names));
  pipe::PipelineChoice wanted;
  wanted.name = choice.schedule;
  wanted.shape = shapeOf(resolved);
  pipe::MadePipeline made = pipe::makePipeline(wanted, {});
  if (!made.pipeline)
    throw UsageError(made.errors.front().message + "; " + made.errors.front().hint);
  resolved.options.schedule = pipe::pipeline(std::shared_ptr<const pipe::PipelineSchedule>(std::move(made.pipeline)),
                                             pipe::faithful(choice.waive));
}

} // namespace soliton::cli
