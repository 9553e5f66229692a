#include "soliton/backend/amd/Known.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

using namespace soliton::backend;
using llvm::Value;

namespace {
/// A function that loads a word, or is given one.
class KnownNumbersTest : public ::testing::Test {
protected:
  KnownNumbersTest() : module("m", context), builder(context) {
    auto *type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy(), builder.getInt1Ty()}, false);
    function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "f", module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
    loaded = builder.CreateLoad(llvm::FixedVectorType::get(builder.getInt32Ty(), 4), function->getArg(0));
  }

  llvm::LLVMContext context;
  llvm::Module module;
  llvm::IRBuilder<> builder;
  llvm::Function *function;
  Value *loaded;
  KnownNumbers known;
};

TEST_F(KnownNumbersTest, VectorsAreFollowedElementByElement) {
  Value *mixed = builder.CreateInsertElement(loaded, builder.getInt32(1), uint64_t(0));
  EXPECT_EQ(known.of(builder.CreateExtractElement(mixed, uint64_t(0))), Known::always);
  EXPECT_EQ(known.of(builder.CreateExtractElement(mixed, uint64_t(1))), Known::never);
  EXPECT_EQ(known.of(mixed), Known::never);
  EXPECT_EQ(known.of(builder.CreateExtractElement(mixed, uint64_t(0))), Known::always) << "asked again";
}

TEST_F(KnownNumbersTest, AMaskMayBeFoundToBeOff) {
  Value *zero = llvm::Constant::getNullValue(loaded->getType());
  Value *masked = builder.CreateSelect(function->getArg(1), loaded, zero);
  EXPECT_EQ(known.of(masked), Known::whereMasked);
  EXPECT_EQ(known.of(builder.CreateAdd(masked, masked)), Known::whereMasked);
  EXPECT_EQ(known.of(builder.CreateAdd(masked, loaded)), Known::never);
  Value *isSet = builder.CreateICmpNE(loaded, zero);
  EXPECT_EQ(known.of(builder.CreateSelect(isSet, loaded, zero)), Known::never) << "the mask itself is loaded";
}

TEST_F(KnownNumbersTest, EachPartOfALongChainIsLookedAtOnce) {
  constexpr int kLinks = 50000; // 10^9 steps, if each began at the first one
  Value *value = builder.CreateZExt(function->getArg(1), builder.getInt32Ty());
  for (int i = 0; i < kLinks; ++i) {
    value = builder.CreateMul(value, builder.CreateAdd(value, builder.getInt32(1)));
    ASSERT_EQ(known.of(value), Known::always);
  }
}
} // namespace
