//===- TensorMapsTest.cpp - Tensors that tile copies can and cannot move ----===//
#include "soliton/runtime/TensorMaps.h"

#include "soliton/runtime/TestSupport.h"

using namespace soliton;
using namespace soliton::rt;

namespace {

/// rows(a: f16[M, K]) with one map, box 64 x 16.
struct Rows {
  KernelImage image = scaleImage(ImageKind::ptx);
  TensorMapSpec map;

  Rows() {
    image.symbols.push_back({"K", 0, 1});
    LaunchExpr m = LaunchExpr::symbol(0), k = LaunchExpr::symbol(1);
    map.sizes = {k, m};
    map.strides = {LaunchExpr::apply(LaunchOp::mul, {k, 2})};
    map.box = {64, 16};
    map.swizzle = 128;
  }

  MappedTensor evaluate(int64_t m, int64_t k) {
    std::vector<Diagnostic> wrong;
    std::vector<int64_t> symbols = {m, k};
    MappedTensor tensor = evaluateTensor(image, map, symbols, wrong);
    if (!wrong.empty())
      throw CompileError(wrong);
    return tensor;
  }
};

TEST(TensorMaps, SizesAndStridesAreThoseOfTheLaunch) {
  Rows rows;
  rows.map.offset = LaunchExpr::apply(LaunchOp::mul, {LaunchExpr::symbol(0), 32});
  MappedTensor tensor = rows.evaluate(100, 72);
  EXPECT_EQ(tensor.offset, 3200u);
  EXPECT_EQ(tensor.sizes, (std::array<uint64_t, 5>{72, 100}));
  EXPECT_EQ(tensor.strides, (std::array<uint64_t, 5>{144}));
  EXPECT_FALSE(tensor.isEmpty);
  EXPECT_TRUE(rows.evaluate(100, 0).isEmpty);
  EXPECT_TRUE(rows.evaluate(0, 72).isEmpty);
}

TEST(TensorMaps, RowsMustLieSixteenBytesApart) {
  Rows rows;
  expectError([&] { rows.evaluate(100, 100); }, DiagId::TileCopyTensor,
              "argument 0 (`in`) of `scale`: tile copies move it, and the distance of neighbours in bytes, `K * 2`, is "
              "200, expected a multiple of 16 from 0 to 1099511627760 [tile-copy-tensor]\n"
              "  hint: pad its rows, or compile the kernel without tile copies");
  EXPECT_EQ(rows.evaluate(1, 100).strides[0], 16u) << "one row has no neighbour";
}

TEST(TensorMaps, NumbersHaveBounds) {
  Rows rows;
  rows.map.strides = {LaunchExpr::apply(LaunchOp::mul, {LaunchExpr::symbol(1), int64_t(1) << 38})};
  expectError([&] { rows.evaluate(100, 64); }, DiagId::TileCopyTensor, "is 17592186044416, expected");
  rows.map.strides = {64};
  rows.map.sizes[0] = LaunchExpr::apply(LaunchOp::sub, {LaunchExpr::symbol(1), 65});
  expectError([&] { rows.evaluate(100, 64); }, DiagId::TileCopyTensor,
              "an extent, `K - 65`, is -1, expected 0 to 4294967296");
  rows.map.sizes[0] = LaunchExpr::apply(LaunchOp::floordiv, {1, LaunchExpr::symbol(1)});
  expectError([&] { rows.evaluate(100, 0); }, DiagId::TileCopyTensor, "has no value: it divides by zero");
  rows.map.sizes[0] = 64;
  rows.map.argument.reset();
  rows.map.offset = LaunchExpr::symbol(1);
  expectError(
      [&] { rows.evaluate(100, 8); }, DiagId::TileCopyTensor,
      "the workspace of `scale`: tile copies move it, and its first byte, `K`, is 8, expected a multiple of 16");
}

TEST(TensorMaps, ALaunchSaysAllThatIsWrong) {
  Rows rows;
  rows.image.tensorMaps = {rows.map, rows.map};
  rows.image.arguments[0].shape = rows.image.arguments[1].shape = {LaunchExpr::symbol(0), LaunchExpr::symbol(1)};
  ASSERT_EQ(findFlaw(rows.image), std::nullopt);
  LaunchPlan plan(rows.image);
  alignas(16) std::array<float, 8 * 10> data{};
  Tensor tensor = Tensor::dense(data.data(), DType::f32, {{8, 10}});
  PreparedLaunch launch;
  DeviceInfo device;
  std::vector<Argument> arguments = {tensor, tensor, 1.0};
  try {
    plan.prepare(arguments, {}, device, launch);
    ADD_FAILURE() << "no error";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics().size(), 2u) << error.what();
  }
}

} // namespace
