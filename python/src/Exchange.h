//===- Exchange.h - Arrays of others, by DLPack ----------------------------------------===//
//
// Two ways to an array that somebody else owns. A capsule of `__dlpack__` is what everybody speaks. Frameworks that
// know DLPack 1.3 also keep a table of functions at their array type (`__dlpack_c_exchange_api__`; torch from 2.10 on),
// which say where an array lies and which stream is current without making an object: the way of the quick launch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "Bindings.h"

namespace soliton::python {

/// An array by DLPack. Unsigned integers carry the bits of any type of their width.
struct ForeignArray {
  rt::Tensor view;
  bool isUnsigned = false;
};

/// The table of functions of one array type. Kept for the life of the process, as the standard has it.
class ExchangeTable {
public:
  /// Takes the table of a type; false where it has none, or one of another version.
  bool meet(PyObject *type);
  explicit operator bool() const { return table != nullptr; }

  /// Where an array of the type lies; nothing where it cannot say so, or has elements that no kernel takes.
  std::optional<ForeignArray> describe(PyObject *array) const;
  /// The framework's current stream on a GPU; nothing where it does not say.
  std::optional<rt::Stream> currentStream(rt::MemoryKind memory, int device) const;

private:
  const void *table = nullptr;
};

void bindExchange(nb::module_ &module);

} // namespace soliton::python
