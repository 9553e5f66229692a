#include "soliton/pipeline/PipelineBody.h"

namespace soliton::pipe {

PipelineBody &PipelineBody::add(const OpDesc &op) {
  ops.push_back(op);
  return *this;
}

PipelineBody &PipelineBody::fan(int tag, int count, Here here) {
  for (int subtile = 0; subtile < count; ++subtile)
    add(logical({.tag = tag, .subtile = subtile}, here));
  return *this;
}

PipelineBody &PipelineBody::grid(int tag, int rows, int columns, Here here) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      add(logical({.tag = tag, .stage = row, .subtile = column}, here));
  return *this;
}

PipelineBody &PipelineBody::extend(std::span<const OpDesc> more) {
  ops.insert(ops.end(), more.begin(), more.end());
  return *this;
}

} // namespace soliton::pipe
