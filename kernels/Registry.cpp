#include "kernels/Entries.h"

using namespace soliton;
using namespace soliton::kernels;

const std::vector<const KernelEntry *> &kernels::allKernels() {
  static const std::vector<const KernelEntry *> all{&copyEntry(),   &transposeEntry(),  &axpyEntry(), &geluEntry(),
                                                    &rowSumEntry(), &rowSoftmaxEntry(), &gemmEntry(), &gemmNnEntry()};
  return all;
}

const KernelEntry *kernels::findKernel(std::string_view name) {
  for (const KernelEntry *entry : allKernels())
    if (entry->name == name)
      return entry;
  return nullptr;
}

const Variant *KernelEntry::findVariant(std::string_view wanted) const {
  for (const Variant &variant : variants)
    if (variant.name == wanted)
      return &variant;
  return nullptr;
}

std::vector<DefaultSize> KernelEntry::tilesFor(const Variant &variant) const {
  std::vector<DefaultSize> result = tiles;
  for (DefaultSize &tile : result)
    for (const DefaultSize &other : variant.tiles)
      if (other.name == tile.name)
        tile.value = other.value;
  return result;
}
