#include "kernels/Entries.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::kernels;

const std::vector<const KernelEntry *> &kernels::allKernels() {
  static const std::vector<const KernelEntry *> all = [] {
    std::vector<const KernelEntry *> list{&copyEntry(),   &transposeEntry(), &axpyEntry(),     &geluEntry(),
                                          &rowSumEntry(), &rowCumsumEntry(), &rowArgmaxEntry()};
    for (const std::vector<KernelEntry> *entries :
         {&choiceEntries(), &softmaxEntries(), &normEntries(), &normBackwardEntries(), &ropeEntries(), &gemmEntries(),
          &gridEntries(), &weightEntries(), &scaledEntries(), &convolutionEntries(), &attentionEntries(),
          &attentionBackwardEntries(), &attentionDecodeEntries(), &moeEntries(), &samplingEntries()})
      for (const KernelEntry &entry : *entries)
        list.push_back(&entry);
    return list;
  }();
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

std::vector<DefaultSize> KernelEntry::tilesFor(const Variant &variant, const Target &target) const {
  std::vector<DefaultSize> result = tiles;
  for (DefaultSize &tile : result)
    for (const std::vector<DefaultSize> *others : {target.waveSize == 32 ? &narrowTiles : nullptr, &variant.tiles})
      for (const DefaultSize &other : others ? *others : std::vector<DefaultSize>())
        if (other.name == tile.name)
          tile.value = other.value;
  return result;
}

std::vector<std::string> KernelEntry::dynamicSizes() const {
  std::vector<std::string> names;
  for (const DefaultSize &size : sizes)
    if (std::ranges::find(fixedSizes, size.name) == fixedSizes.end())
      names.push_back(size.name);
  return names;
}

Substitutions KernelEntry::derivedSubs() const {
  Substitutions subs;
  for (const DerivedSize &size : derivedSizes)
    subs.emplace_back(symbol(size.name), sym::parse(size.formula));
  return subs;
}
