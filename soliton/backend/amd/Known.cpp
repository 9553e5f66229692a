//===- Known.cpp - What LLVM may know the number of ---------------------------===//

#include "soliton/backend/amd/Known.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

#include <optional>
#include <set>

namespace soliton::backend {

using llvm::Value;

namespace {
/// Bits of a value.
struct Part {
  Value *value;
  unsigned from, count;
  auto operator<=>(const Part &) const = default;
};

/// The parts that a value is computed from. Vectors are followed element by element, as the pieces of a tile go through
/// them.
class Search {
public:
  explicit Search(Value *value) { add(value, 0, bitsIn(value)); }

  std::optional<Part> next() { return rest.empty() ? std::nullopt : std::optional(rest.pop_back_val()); }
  void follow(llvm::Instruction *instruction, Part part);

private:
  static unsigned bitsIn(Value *value) { return static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits()); }
  void add(Value *value, unsigned from, unsigned count) {
    if (seen.insert({value, from, count}).second)
      rest.push_back({value, from, count});
  }
  void follow(llvm::ShuffleVectorInst *shuffle, Part part);
  void follow(llvm::InsertElementInst *insert, unsigned element, Part part);

  std::set<Part> seen;
  llvm::SmallVector<Part> rest;
};
} // namespace

void Search::follow(llvm::ShuffleVectorInst *shuffle, Part part) {
  unsigned width = shuffle->getType()->getScalarSizeInBits();
  int count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements());
  for (unsigned i = part.from / width; i * width < part.from + part.count; ++i)
    if (int from = shuffle->getMaskValue(i); from >= 0)
      add(shuffle->getOperand(from >= count), static_cast<unsigned>(from % count) * width, width);
}

void Search::follow(llvm::InsertElementInst *insert, unsigned element, Part part) {
  unsigned width = insert->getType()->getScalarSizeInBits(), from = element * width, end = part.from + part.count;
  if (from < end && part.from < from + width)
    add(insert->getOperand(1), 0, width);
  bool isInside = from <= part.from && end <= from + width;
  if (!isInside)
    add(insert->getOperand(0), part.from, part.count);
}

void Search::follow(llvm::Instruction *instruction, Part part) {
  auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(instruction);
  auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(instruction);
  auto *index = llvm::dyn_cast_or_null<llvm::ConstantInt>(insert    ? insert->getOperand(2)
                                                          : extract ? extract->getOperand(1)
                                                                    : nullptr);
  auto element = static_cast<unsigned>(index ? index->getZExtValue() : 0);
  if (auto *cast = llvm::dyn_cast<llvm::BitCastInst>(instruction))
    return add(cast->getOperand(0), part.from, part.count);
  if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(instruction))
    return follow(shuffle, part);
  if (insert && index)
    return follow(insert, element, part);
  if (extract && index)
    return add(extract->getOperand(0), element * bitsIn(extract) + part.from, part.count);
  for (Value *operand : instruction->operand_values())
    add(operand, 0, bitsIn(operand));
}

/// `select %mask, %loaded, 0`: where the mask is found to be off, the constant is all there is.
static bool isMasked(llvm::Instruction *instruction) {
  auto *select = llvm::dyn_cast<llvm::SelectInst>(instruction);
  return select &&
         (llvm::isa<llvm::Constant>(select->getTrueValue()) || llvm::isa<llvm::Constant>(select->getFalseValue())) &&
         knownBy(select->getCondition()) != Known::never;
}

Known knownBy(Value *value) {
  Known known = Known::always;
  Search search(value);
  while (std::optional<Part> part = search.next()) {
    auto *instruction = llvm::dyn_cast<llvm::Instruction>(part->value);
    if (!instruction)
      continue;
    if (isMasked(instruction)) {
      known = Known::whereMasked;
      continue;
    }
    if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayReadFromMemory())
      return Known::never;
    search.follow(instruction, *part);
  }
  return known;
}

} // namespace soliton::backend
