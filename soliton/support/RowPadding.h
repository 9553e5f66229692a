//===- RowPadding.h - What the author wants of rows that are not aligned -------------------===//
#pragma once

#include <cstdint>

namespace soliton {

/// Whether a launch first copies tensors whose rows are not aligned to some that are: where it pays, never, or wherever
/// it can.
enum class RowPadding : uint8_t { automatic, never, always };

} // namespace soliton
