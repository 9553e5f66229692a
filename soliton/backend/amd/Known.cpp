//===- Known.cpp - What LLVM may know the number of ---------------------------===//

#include "soliton/backend/amd/Known.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"

namespace soliton::backend {

using llvm::Value;

static unsigned bitsIn(Value *value) {
  return static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits());
}

void KnownNumbers::follow(llvm::ShuffleVectorInst *shuffle, Frame &frame) {
  Part part = frame.part;
  unsigned width = shuffle->getType()->getScalarSizeInBits();
  int count = static_cast<int>(llvm::cast<llvm::FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements());
  for (unsigned i = part.from / width; i * width < part.from + part.count; ++i)
    if (int from = shuffle->getMaskValue(i); from >= 0)
      frame.rest.push_back({shuffle->getOperand(from >= count), static_cast<unsigned>(from % count) * width, width});
}

void KnownNumbers::follow(llvm::InsertElementInst *insert, unsigned element, Frame &frame) {
  Part part = frame.part;
  unsigned width = insert->getType()->getScalarSizeInBits(), from = element * width, end = part.from + part.count;
  if (from < end && part.from < from + width)
    frame.rest.push_back({insert->getOperand(1), 0, width});
  bool isInside = from <= part.from && end <= from + width;
  if (!isInside)
    frame.rest.push_back({insert->getOperand(0), part.from, part.count});
}

/// Vectors are followed element by element, as the pieces of a tile go through them.
void KnownNumbers::follow(llvm::Instruction *instruction, Frame &frame) {
  Part part = frame.part;
  auto *insert = llvm::dyn_cast<llvm::InsertElementInst>(instruction);
  auto *extract = llvm::dyn_cast<llvm::ExtractElementInst>(instruction);
  auto *index = llvm::dyn_cast_or_null<llvm::ConstantInt>(insert    ? insert->getOperand(2)
                                                          : extract ? extract->getOperand(1)
                                                                    : nullptr);
  auto element = static_cast<unsigned>(index ? index->getZExtValue() : 0);
  if (auto *cast = llvm::dyn_cast<llvm::BitCastInst>(instruction))
    frame.rest.push_back({cast->getOperand(0), part.from, part.count});
  else if (auto *shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(instruction))
    follow(shuffle, frame);
  else if (insert && index)
    follow(insert, element, frame);
  else if (extract && index)
    frame.rest.push_back({extract->getOperand(0), element * bitsIn(extract) + part.from, part.count});
  else
    for (Value *operand : instruction->operand_values())
      frame.rest.push_back({operand, 0, bitsIn(operand)});
}

KnownNumbers::Frame KnownNumbers::begin(Part part) {
  Frame frame{part};
  auto *instruction = llvm::dyn_cast<llvm::Instruction>(part.value);
  if (!instruction)
    return frame;
  auto *select = llvm::dyn_cast<llvm::SelectInst>(instruction);
  // `select %mask, %loaded, 0`: where the mask is found to be off, the constant is all there is.
  frame.isMasked = select && (llvm::isa<llvm::Constant>(select->getTrueValue()) ||
                              llvm::isa<llvm::Constant>(select->getFalseValue()));
  if (frame.isMasked)
    frame.rest.push_back({select->getCondition(), 0, bitsIn(select->getCondition())});
  else if (llvm::isa<llvm::PHINode>(instruction) || instruction->mayReadFromMemory())
    frame.known = Known::never;
  else
    follow(instruction, frame);
  return frame;
}

Known KnownNumbers::of(Value *value) {
  Known result = Known::always;
  llvm::SmallVector<Frame> frames{begin({value, 0, bitsIn(value)})};
  while (!frames.empty()) {
    Frame &frame = frames.back();
    if (frame.known != Known::never && !frame.rest.empty()) {
      Part next = frame.rest.pop_back_val();
      if (auto found = parts.find(next); found != parts.end())
        frame.known = std::min(frame.known, found->second);
      else
        frames.push_back(begin(next));
      continue;
    }
    result = frame.isMasked ? std::min(frame.known, Known::whereMasked) : frame.known;
    parts[frame.part] = result;
    frames.pop_back();
    if (!frames.empty())
      frames.back().known = std::min(frames.back().known, result);
  }
  return result;
}

} // namespace soliton::backend
