//===- PipelineBody.h - Writing down the ops of one trip ---------------------------===//
//
// Appends logical ops one by one, in rows and in grids. Each call remembers its line. The roles in the names are for
// the reader; what an op is, its tag's cost says.
//
//   PipelineBody body;
//   body.halves([](PipelineBody &b, const Half &h) {            // two K tiles per trip, declared once
//     b.load({.tag = kLoadA, .channel = 0, .stage = h.stage, .k = h.k});
//     b.frag({.tag = kMmaLoadA, .channel = 0, .stage = h.stage});
//     b.grid<2, 2>(kMma);
//   });
//   std::vector<OpDesc> ops = body.done();
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/pipeline/Ops.h"

namespace soliton::pipe {

/// One of the K tiles of a trip: the stage that holds it, the other stage, its offset, and that of the tile before it.
struct Half {
  int index = 0;
  int stage = 0;
  int other = 1;
  KOffset k = KOffset::K0;
  KOffset previous = KOffset::KPrev;
};

class PipelineBody {
public:
  using Here = std::source_location;

  PipelineBody &op(const Logical &op, Here here = Here::current()) { return add(logical(op, here)); }
  PipelineBody &load(const Logical &op, Here here = Here::current()) { return add(logical(op, here)); }
  PipelineBody &store(const Logical &op, Here here = Here::current()) { return add(logical(op, here)); }
  PipelineBody &frag(const Logical &op, Here here = Here::current()) { return add(logical(op, here)); }
  PipelineBody &compute(const Logical &op, Here here = Here::current()) { return add(logical(op, here)); }
  PipelineBody &barrier(Here here = Here::current()) { return add(pipe::barrier(here)); }

  /// One op for each subtile 0 .. N-1.
  template <int N>
  PipelineBody &fan(int tag, Here here = Here::current()) {
    return fan(tag, N, here);
  }
  PipelineBody &fan(int tag, int count, Here here = Here::current());

  /// One op for each (stage, subtile) of M x N, row by row.
  template <int M, int N>
  PipelineBody &grid(int tag, Here here = Here::current()) {
    return grid(tag, M, N, here);
  }
  PipelineBody &grid(int tag, int rows, int columns, Here here = Here::current());

  PipelineBody &extend(std::span<const OpDesc> more);

  /// Both halves of a double-buffer body, declared by one function.
  template <typename Declare>
  PipelineBody &halves(Declare declare) {
    declare(*this, Half{0, 0, 1, KOffset::K0, KOffset::KPrev});
    declare(*this, Half{1, 1, 0, KOffset::K1, KOffset::K0});
    return *this;
  }

  std::vector<OpDesc> done() const { return ops; }

private:
  PipelineBody &add(const OpDesc &op);

  std::vector<OpDesc> ops;
};

} // namespace soliton::pipe
