#include "soliton/analysis/PixelWalk.h"

#include "soliton/ir/Machine.h"

namespace soliton {

/// The dimensions of a tile.
static constexpr size_t kPixels = 0, kChannels = 1;

namespace {
class Finder {
public:
  Finder(ArrayRef<MemoryDim> memory, ArrayRef<sym::Range> places, int64_t channels)
      : memory(memory), places(places), channels(channels) {}

  PixelWalkPlan run() {
    addImages();
    if (memory.size() < 3 || memory.size() > 5)
      return refuse("images of its memory have no dimension, or more than three");
    if (!isRunOfChannels(memory.back().index))
      return refuse("a row of it is no run of channels of one pixel");
    walk.dims.push_back(memory.back());
    walk.pixel.push_back(memory.back().index.base +
                         memory.back().index.terms[0].digit.of(wave::placeSymbol(kChannels)));
    for (const MemoryDim &dim : llvm::reverse(memory.drop_front().drop_back()))
      if (std::optional<std::string> reason = addPlace(dim))
        return refuse(*reason);
    if (!isImage(memory.front().index, perImage))
      return refuse("its rows are no pixels that follow each other");
    walk.dims.push_back(memory.front());
    walk.pixel.push_back(ofPixel(memory.front().index));
    return {std::move(walk), ""};
  }

private:
  static PixelWalkPlan refuse(std::string reason) { return {std::nullopt, std::move(reason)}; }

  /// One image has no dimension of images; it is added.
  void addImages() {
    if (memory.empty() || isImage(memory.front().index, std::nullopt))
      return;
    withImages.push_back({1, memory.front().stride * memory.front().extent, {}});
    llvm::append_range(withImages, memory);
    memory = withImages;
  }

  /// Whether it counts images, which have that many pixels, and is nothing else.
  bool isImage(const MemoryIndex &index, std::optional<int64_t> pixels) const {
    if (index.terms.empty()) // all of them are in one
      return !pixels || (places[kPixels].hi && *places[kPixels].hi < *pixels);
    const PlaceDigit *digit = index.single();
    return digit && digit->k == kPixels && !digit->extent && (!pixels || digit->divisor == *pixels);
  }

  bool isRunOfChannels(const MemoryIndex &index) const {
    const PlaceDigit *digit = index.single();
    return digit && digit->k == kChannels && digit->divisor == 1 && (!digit->extent || *digit->extent % channels == 0);
  }

  sym::Expr ofPixel(const MemoryIndex &index) const {
    sym::Expr at = index.base;
    for (const MemoryIndex::Term &term : index.terms)
      if (term.digit.k == kPixels)
        at += term.coefficient * term.digit.of(wave::placeSymbol(kPixels));
    return at;
  }

  /// How many values a digit takes; nothing where that is not known.
  std::optional<int64_t> countOf(const PlaceDigit &digit) const {
    if (digit.extent || !places[digit.k].hi)
      return digit.extent;
    return *places[digit.k].hi / digit.divisor + 1;
  }

  /// A dimension along which pixels have places; says why it cannot be one.
  std::optional<std::string> addPlace(const MemoryDim &dim) {
    const MemoryIndex::Term *step = nullptr;
    sym::Expr offset = 0;
    int64_t least = 0, most = 0;
    for (const MemoryIndex::Term &term : dim.index.terms) {
      if (term.digit.k == kPixels) {
        if (step)
          return "its rows are no pixels that follow each other";
        step = &term;
        continue;
      }
      std::optional<int64_t> count = countOf(term.digit);
      if (!count || term.digit.divisor % channels != 0)
        return "a row of it is no run of channels of one pixel";
      offset += term.coefficient * term.digit.of(wave::placeSymbol(kChannels));
      (term.coefficient < 0 ? least : most) += term.coefficient * (*count - 1);
    }
    std::optional<int64_t> size = dim.extent.constantValue(), base = dim.index.base.constantValue();
    std::optional<int64_t> count = step ? countOf(step->digit) : 1;
    if (!size || !base || !count || (step && step->digit.divisor != perImage))
      return "its rows are no pixels that follow each other";
    perImage *= *count;
    int64_t lower = *base + least, apart = step ? step->coefficient : 1;
    walk.lower.push_back(lower);
    walk.upper.push_back(lower + apart * (*count - 1) - (*size - 1));
    walk.steps.push_back(apart);
    walk.offsets.push_back(offset - least);
    walk.pixel.push_back(ofPixel(dim.index) + least);
    walk.dims.push_back(dim);
    int64_t bits = machine::TensorMapAttr::cornerBits(memory.size() - 2), far = int64_t(1) << (bits - 1);
    bool fits = std::min(lower, walk.upper.back()) >= -far && std::max(lower, walk.upper.back()) < far &&
                most - least < 2 * far && apart >= 1 && apart <= machine::TensorMapAttr::kMaxStep;
    return fits ? std::nullopt : std::optional<std::string>("its stride, padding or filter is larger than a map holds");
  }

  ArrayRef<MemoryDim> memory;
  ArrayRef<sym::Range> places;
  int64_t channels;
  SmallVector<MemoryDim> withImages;
  PixelWalk walk;
  /// Pixels of the dimensions so far.
  int64_t perImage = 1;
};
} // namespace

PixelWalkPlan findPixelWalk(ArrayRef<MemoryDim> dims, ArrayRef<sym::Range> places, int64_t channels) {
  if (places.size() != 2)
    return {std::nullopt, "an index of its memory is no place along one dimension"};
  return Finder(dims, places, channels).run();
}

} // namespace soliton
