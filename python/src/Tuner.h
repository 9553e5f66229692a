//===- Tuner.h - The parts of the tuner's binding ------------------------------------------===//
#pragma once

#include "Bindings.h"

namespace soliton::python {

/// Spaces, and the search of them (Tuning.cpp).
void bindTuning(nb::module_ &module);

/// All of it.
void bindTuner(nb::module_ &module);

} // namespace soliton::python
