#include "soliton/runtime/Tensor.h"

#include "soliton/runtime/TestSupport.h"

using namespace soliton;
using namespace soliton::rt;

namespace {
struct Dl {
  std::vector<float> data = std::vector<float>(24);
  std::vector<int64_t> shape = {2, 3, 4}, strides = {12, 4, 1};
  DLTensor tensor{data.data(), {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
};
} // namespace

TEST(Tensor, OfARange) {
  std::vector<float> values(6);
  Tensor view = Tensor::of(values, {2, 3});
  EXPECT_EQ(view.data, values.data());
  EXPECT_EQ(view.dtype, DType::f32);
  EXPECT_EQ(view.strides[0], 3);
  EXPECT_EQ(view.strides[1], 1);
  EXPECT_TRUE(view.isDense());
  EXPECT_FALSE(view.readOnly);
  EXPECT_EQ(view.bytes(), 24);
  EXPECT_EQ(view.toString(), "f32[2, 3] on host");
  const std::vector<int64_t> constant(4);
  EXPECT_TRUE(Tensor::of(constant, {4}).readOnly);
  EXPECT_EQ(Tensor::of(constant, {4}).dtype, DType::i64);
  EXPECT_EQ(Tensor::of(std::span(values).subspan(1, 2), {2}).data, values.data() + 1);
  expectError([&] { Tensor::of(values, {2, 4}); }, DiagId::ArgumentShape, "a range of 6 elements");
}

TEST(Tensor, RankIsLimited) {
  std::vector<int64_t> shape(9, 1);
  expectError([&] { Tensor::dense(nullptr, DType::f32, shape); }, DiagId::ArgumentRank, "9 dimensions");
}

TEST(Tensor, DenseIgnoresStridesThatAreNeverTaken) {
  Tensor view = Tensor::dense(nullptr, DType::f32, {1, 4});
  view.strides[0] = 999;
  EXPECT_TRUE(view.isDense());
  view.strides[1] = 2;
  EXPECT_FALSE(view.isDense());
  Tensor empty = Tensor::dense(nullptr, DType::f32, {0, 4});
  empty.strides = {7, 7};
  EXPECT_TRUE(empty.isDense());
  EXPECT_EQ(empty.bytes(), 0);
}

TEST(Tensor, BytesOfPackedAndStrided) {
  EXPECT_EQ(Tensor::dense(nullptr, DType::f4e2m1fn, {5}).bytes(), 3);
  // Rows start on bytes.
  EXPECT_EQ(Tensor::dense(nullptr, DType::f4e2m1fn, {3, 5}).bytes(), 9);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f6e2m3fn, {2, 2, 3}).bytes(), 12);
  EXPECT_EQ(Tensor::dense(nullptr, DType::i4, {4, 1}).bytes(), 4);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f6e2m3fn, {4}).bytes(), 3);
  EXPECT_EQ(Tensor::dense(nullptr, DType::i1, {5}).bytes(), 5);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f64, {}).bytes(), 8);
  Tensor view = Tensor::dense(nullptr, DType::f32, {2, 2});
  view.strides = {100, 1};
  EXPECT_EQ(view.bytes(), 4 * 102);
  view.strides = {-1, 1};
  EXPECT_EQ(view.bytes(), std::nullopt);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f32, {INT64_MAX, 2}).elements(), std::nullopt);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f32, {INT64_MAX, 2, 0}).elements(), 0);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f32, {INT64_MAX}).bytes(), std::nullopt);
  EXPECT_EQ(Tensor::dense(nullptr, DType::f32, {-1}).bytes(), std::nullopt);
}

TEST(Tensor, FromDlpack) {
  Dl dl;
  Tensor view = Tensor::fromDlpack(dl.tensor);
  EXPECT_EQ(view.data, dl.data.data());
  EXPECT_EQ(view.rank, 3);
  EXPECT_TRUE(view.isDense());
  dl.tensor.strides = nullptr;
  dl.tensor.byte_offset = 8;
  view = Tensor::fromDlpack(dl.tensor);
  EXPECT_EQ(view.data, dl.data.data() + 2);
  EXPECT_EQ(view.strides[0], 12);
  dl.tensor.device = {kDLCUDA, 3};
  EXPECT_EQ(Tensor::fromDlpack(dl.tensor).toString(), "f32[2, 3, 4] on cuda:3");
  dl.tensor.device = {kDLROCM, 1};
  EXPECT_EQ(Tensor::fromDlpack(dl.tensor).memory, MemoryKind::hip);
  dl.tensor.device = {kDLCUDAHost, 1};
  EXPECT_EQ(Tensor::fromDlpack(dl.tensor).memory, MemoryKind::host);
  EXPECT_EQ(Tensor::fromDlpack(DLManagedTensor{dl.tensor, nullptr, nullptr}).rank, 3);
}

TEST(Tensor, FromVersionedDlpack) {
  Dl dl;
  DLManagedTensorVersioned managed{{1, 0}, nullptr, nullptr, DLPACK_FLAG_BITMASK_READ_ONLY, dl.tensor};
  EXPECT_TRUE(Tensor::fromDlpack(managed).readOnly);
  managed.flags = 0;
  EXPECT_FALSE(Tensor::fromDlpack(managed).readOnly);
  managed.version.major = 2;
  expectError([&] { Tensor::fromDlpack(managed); }, DiagId::ArgumentKind, "version 2, expected version 1");
}

TEST(Tensor, DlpackTypes) {
  Dl dl;
  auto typeOf = [&](uint8_t code, uint8_t bits) {
    dl.tensor.dtype = {code, bits, 1};
    return Tensor::fromDlpack(dl.tensor).dtype;
  };
  EXPECT_EQ(typeOf(kDLFloat, 16), DType::f16);
  EXPECT_EQ(typeOf(kDLBfloat, 16), DType::bf16);
  EXPECT_EQ(typeOf(kDLUInt, 8), DType::i8);
  EXPECT_EQ(typeOf(kDLInt, 64), DType::i64);
  EXPECT_EQ(typeOf(kDLBool, 8), DType::i1);
  EXPECT_EQ(typeOf(kDLFloat8_e4m3fn, 8), DType::f8e4m3fn);
  EXPECT_EQ(typeOf(kDLFloat8_e8m0fnu, 8), DType::f8e8m0fnu);
  EXPECT_EQ(typeOf(kDLFloat4_e2m1fn, 4), DType::f4e2m1fn);
  expectError([&] { typeOf(5, 64); }, DiagId::ArgumentDtype, "type code 5, 64 bits");
  dl.tensor.dtype = {kDLFloat, 32, 4};
  expectError([&] { Tensor::fromDlpack(dl.tensor); }, DiagId::ArgumentDtype, "4 lanes");
}

TEST(Tensor, DlpackThatCannotBeHeld) {
  Dl dl;
  dl.tensor.device.device_type = 7;
  expectError([&] { Tensor::fromDlpack(dl.tensor); }, DiagId::ArgumentDevice, "type 7");
  dl.tensor.device.device_type = kDLCPU;
  dl.tensor.ndim = 9;
  expectError([&] { Tensor::fromDlpack(dl.tensor); }, DiagId::ArgumentRank, "9 dimensions");
}

TEST(Tensor, AsAnotherTypeOfTheSameWidth) {
  std::vector<int8_t> bytes(8);
  EXPECT_EQ(Tensor::of(bytes, {8}).as(DType::f8e4m3fn).dtype, DType::f8e4m3fn);
  expectError([&] { Tensor::of(bytes, {8}).as(DType::f16); }, DiagId::ArgumentDtype, "cannot read `i8` as `f16`");
}
