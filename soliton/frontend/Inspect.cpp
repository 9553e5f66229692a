//===- Inspect.cpp - Tiles that somebody looks at -----------------------------------------===//
//
// A log is a tensor of its own that the tile is written to; a print is an op that only the emulator carries out.
//
//   debug_log(x, "x")        adds the parameter x: f32[M, N] and writes it
//
//===----------------------------------------------------------------------===//
#include "soliton/frontend/Tracer.h"

#include "soliton/frontend/Ops.h"

using namespace soliton;
using namespace soliton::frontend;

static std::string nextLabel(const Program &program) {
  for (int n = 0;; ++n) {
    std::string label = "debug_log_output_" + std::to_string(n);
    bool isTaken = false;
    for (const Parameter &parameter : program.parameters)
      isTaken |= parameter.name == label;
    if (!isTaken)
      return label;
  }
}

MemoryRef lang::debug_log(const Value &value, std::string label, DebugLogOptions options, Place place) {
  Tracer tracer("debug_log", place, {value});
  if (!tracer.ok())
    return {};
  TileInfo tile = tracer.tile(0);
  std::vector<Expr> shape;
  IndexMapping mapping{.num_iterators = static_cast<int>(tile.dims.size())};
  for (const LoggedLoop &loop : options.loops) {
    shape.push_back(loop.dim);
    mapping.outputs.emplace_back(loop.dim, sym::min(iteration(loop.axis), loop.dim - 1));
  }
  for (size_t k = 0; k != tile.dims.size(); ++k) {
    shape.push_back(tile.dims[k]);
    mapping.inputs.emplace_back(tile.dims[k], IndexMapping::iterator(static_cast<int>(k)));
    mapping.outputs.emplace_back(tile.dims[k], IndexMapping::iterator(static_cast<int>(k)));
  }
  if (label.empty())
    label = nextLabel(tracer.program());
  MemoryRef log = Kernel(value.program()).memory(std::move(label), std::move(shape), global, tile.type, place);
  AccessOptions access{.tag = options.tag};
  if (!options.loops.empty())
    access.mapping = std::move(mapping);
  write(tracer.operand(0), log, std::move(access), place);
  return log;
}

Value lang::debug_print(const Value &value, std::string label, OpOptions options, Place place) {
  Tracer tracer("debug_print", place, {value});
  if (!tracer.ok())
    return tracer.poison();
  return tracer.record({.kind = OpKind::print, .label = std::move(label)}, tracer.tile(0), options.tag);
}
