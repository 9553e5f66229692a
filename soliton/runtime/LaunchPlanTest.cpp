#include "soliton/runtime/LaunchPlan.h"

#include "soliton/runtime/Overlap.h"
#include "soliton/runtime/TestSupport.h"

#include <limits>

using namespace soliton;
using namespace soliton::rt;

namespace {

DeviceInfo hostDevice() {
  return {};
}

DeviceInfo cudaDevice(int index = 0) {
  DeviceInfo info;
  info.kind = DeviceKind::cuda;
  info.index = index;
  return info;
}

template <typename T>
T at(const PreparedLaunch &launch, size_t offset) {
  T value;
  std::memcpy(static_cast<void *>(&value), launch.block.data() + offset, sizeof(T));
  return value;
}

/// Arguments that `scaleImage` takes, to be spoiled by tests.
struct Scale {
  KernelImage image = scaleImage();
  alignas(256) float in[32 * 64], out[32 * 64];
  Tensor input = Tensor::dense(in, DType::f32, {32, 64});
  Tensor output = Tensor::dense(out, DType::f32, {32, 64});
  PreparedLaunch launch;

  void prepare(std::initializer_list<Argument> arguments, const DeviceInfo &device = hostDevice(),
               const LaunchOptions &options = {}) {
    LaunchPlan(image).prepare(std::span(arguments.begin(), arguments.size()), options, device, launch);
  }
  void prepare() { prepare({input, output, 2.0}); }
};

} // namespace

TEST(LaunchPlan, WritesTheBlockInTheStatedOrder) {
  Scale s;
  s.prepare();
  LaunchPlan plan(s.image);
  EXPECT_EQ(plan.blockBytes(0), 24u);
  EXPECT_EQ(at<void *>(s.launch, 0), s.in);
  EXPECT_EQ(at<void *>(s.launch, 8), s.out);
  EXPECT_EQ(at<float>(s.launch, 16), 2.0f);
  EXPECT_EQ(at<int32_t>(s.launch, 20), 32);
  EXPECT_EQ(s.launch.grids[0], (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_FALSE(s.launch.empty);
  EXPECT_FALSE(s.launch.needsStaging);
}

TEST(LaunchPlan, ASymbolMayBeAMultipleOfAnExtent) {
  Scale s;
  LaunchExpr rows = LaunchExpr::apply(LaunchOp::floordiv, {LaunchExpr::symbol(0), 4});
  for (size_t i : {0, 1})
    s.image.arguments[i].shape[0] = rows;
  s.image.symbols[0].factor = 4;
  s.prepare();
  EXPECT_EQ(at<int32_t>(s.launch, 20), 128);
  EXPECT_EQ(s.launch.grids[0], (std::array<uint32_t, 3>{8, 1, 1}));
}

TEST(LaunchPlan, ScalarsFollowBuffersAndAreAlignedToTheirSize) {
  KernelImage image = scaleImage();
  auto scalar = [](DType dtype) {
    ArgumentSpec spec;
    spec.kind = ArgumentKind::scalar;
    spec.dtype = dtype;
    return spec;
  };
  image.arguments = {scalar(DType::i8), image.arguments[0], scalar(DType::f64), scalar(DType::f16), image.arguments[1]};
  image.symbols[0].argument = 1;
  ParameterLayout layout(image);
  EXPECT_EQ(layout.arguments, (std::vector<uint32_t>{16, 0, 24, 32, 8}));
  EXPECT_EQ(layout.symbols, (std::vector<uint32_t>{36}));
  EXPECT_EQ(layout.bytes, 40u);
  EXPECT_EQ(layout.tensorMaps, 64u);
  EXPECT_EQ(layout.bytesWith(0), 40u);
  EXPECT_EQ(layout.bytesWith(2), 320u);
}

TEST(LaunchPlan, CountIsChecked) {
  Scale s;
  expectError(
      [&] { s.prepare({s.input, s.output}); }, DiagId::ArgumentCount,
      "`scale`: found 2 arguments, expected 3 [argument-count]\n  hint: its arguments are `in`, `out`, `factor`");
  std::vector<int64_t> tooMany = {1};
  expectError([&] { s.prepare({s.input, s.output, 1.0}, hostDevice(), {.symbols = tooMany}); }, DiagId::ArgumentCount,
              "found 1 symbol values, expected 0");
}

TEST(LaunchPlan, KindIsChecked) {
  Scale s;
  expectError([&] { s.prepare({s.input, 1, 1.0}); }, DiagId::ArgumentKind,
              "argument 1 (`out`) of `scale`: found a number, expected a tensor");
  expectError([&] { s.prepare({s.input, s.output, s.input}); }, DiagId::ArgumentKind, "expected a number");
}

TEST(LaunchPlan, TypeAndRankAreChecked) {
  Scale s;
  s.input.dtype = DType::i32;
  expectError([&] { s.prepare(); }, DiagId::ArgumentDtype,
              "argument 0 (`in`) of `scale`: found `i32` elements, expected `f32`");
  s.input = Tensor::dense(s.in, DType::f32, {2048});
  expectError([&] { s.prepare(); }, DiagId::ArgumentRank, "found f32[2048] on host, expected 2 dimensions");
}

TEST(LaunchPlan, ShapeIsChecked) {
  Scale s;
  s.input = Tensor::dense(s.in, DType::f32, {32, 32});
  expectError([&] { s.prepare(); }, DiagId::ArgumentShape, "dimension 1 of f32[32, 32] on host is 32, expected 64");
  s = Scale();
  s.output = Tensor::dense(s.out, DType::f32, {24, 64});
  expectError([&] { s.prepare(); }, DiagId::SymbolConflict,
              "argument 1 (`out`) of `scale`: dimension 0 of f32[24, 64] on host is 24, expected 32 = `M`");
  s = Scale();
  s.image.arguments[1].shape[0] = LaunchExpr::apply(LaunchOp::floordiv, {LaunchExpr::symbol(0), 0});
  expectError([&] { s.prepare(); }, DiagId::ArgumentShape, "`floordiv(M, 0)` fails, it divides by zero");
}

TEST(LaunchPlan, StridesAreChecked) {
  Scale s;
  s.image.arguments[1].isOutput = false; // These views reach into each other.
  s.input.strides = {1, 32};
  expectError([&] { s.prepare(); }, DiagId::ArgumentStride, "expected a dense row-major array");
  s.image.arguments[0].strides = {1, LaunchExpr::symbol(0)};
  s.prepare();
  s.input.strides = {1, 33};
  expectError([&] { s.prepare(); }, DiagId::ArgumentStride, "dimension 1 has stride 33, expected `M` = 32");
}

TEST(LaunchPlan, MemoryIsChecked) {
  Scale s;
  s.input.data = nullptr;
  expectError([&] { s.prepare(); }, DiagId::ArgumentNull, "found a null pointer");
  s = Scale();
  s.input.data = s.in + 1;
  expectError([&] { s.prepare(); }, DiagId::ArgumentAlignment, "4 beyond a multiple of 16 bytes");
  s = Scale();
  s.output.readOnly = true;
  expectError([&] { s.prepare(); }, DiagId::ArgumentReadOnly, "the kernel writes it");
  s = Scale();
  s.input.readOnly = true;
  s.output.data = s.input.data;
  s.prepare(); // Reading a read-only array is fine, and so is an output over an input.
}

TEST(LaunchPlan, OffsetsMustFit32Bits) {
  Scale s;
  s.image.arguments[1].isOutput = false; // These views reach into each other.
  s.image.checks.clear();
  int64_t rows = (int64_t(1) << 31) / 256;
  s.input = Tensor::dense(s.in, DType::f32, {rows, 64});
  s.output = Tensor::dense(s.out, DType::f32, {rows, 64});
  s.image.arguments[1].byteLimit = 0;
  expectError(
      [&] { s.prepare(); }, DiagId::ArgumentSize,
      "argument 0 (`in`) of `scale`: f32[8388608, 64] on host spans 2147483648 bytes, the kernel's offsets reach "
      "2147483647");
  s.image.arguments[0].byteLimit = 0;
  s.prepare();
}

TEST(LaunchPlan, SizesWithoutMeaningAreRefused) {
  Scale s;
  s.image.symbols.clear();
  s.image.checks.clear();
  s.image.grid = {1, 1, 1};
  for (ArgumentSpec &argument : s.image.arguments)
    if (argument.kind == ArgumentKind::buffer)
      argument.shape = {2, 64};
  s.input = Tensor::dense(s.in, DType::f32, {2, 64});
  s.output = s.input;
  s.image.arguments[0].strides = {INT64_MAX, 1};
  s.input.strides = {INT64_MAX, 1};
  expectError([&] { s.prepare(); }, DiagId::ArgumentSize, "has no meaning in 64 bits");
}

TEST(LaunchPlan, SymbolsMustFit32Bits) {
  Scale s;
  s.input = Tensor::dense(s.in, DType::f32, {int64_t(1) << 31, 64});
  expectError([&] { s.prepare(); }, DiagId::SymbolRange,
              "symbol `M` is 2147483648, expected a size of at most 31 bits");
}

TEST(LaunchPlan, AnExtentMayHaveANumberMore) {
  Scale s;
  s.image.symbols[0].less = 1;
  s.image.checks.clear();
  for (ArgumentSpec &argument : s.image.arguments)
    if (argument.kind == ArgumentKind::buffer)
      argument.shape[0] = LaunchExpr::apply(LaunchOp::add, {LaunchExpr::symbol(0), 1});
  s.prepare();
  s.input.shape[0] = 0;
  expectError([&] { s.prepare(); }, DiagId::SymbolRange, "symbol `M` is -1, expected a size of at most 31 bits");
}

TEST(LaunchPlan, SymbolsThatTheCallerGives) {
  Scale s;
  s.image.symbols.push_back({"K", std::nullopt, 0});
  s.image.grid[1] = LaunchExpr::symbol(1);
  std::vector<int64_t> given = {7};
  s.prepare({s.input, s.output, 1.0}, hostDevice(), {.symbols = given});
  EXPECT_EQ(s.launch.grids[0][1], 7u);
  EXPECT_EQ(at<int32_t>(s.launch, 24), 7);
  expectError([&] { s.prepare(); }, DiagId::ArgumentCount, "found 0 symbol values, expected 1");
}

/// The image with `LD` elements from row to row of the input, and of the output 64.
static KernelImage stridedImage() {
  KernelImage image = scaleImage();
  image.symbols.push_back({"LD", 0, 0, 0, 1, /*isStride=*/true});
  image.arguments[0].strides = {LaunchExpr::symbol(1), 1};
  image.arguments[1].strides = {64, 1};
  return image;
}

TEST(LaunchPlan, ErrorsPointToTheKernelAndItsParameters) {
  Scale s;
  s.image.place = Place("scale.cpp", 5, 3);
  s.image.arguments[1].place = Place("scale.cpp", 7, 12);
  s.output = Tensor::dense(s.out, DType::f32, {32, 32});
  expectError([&] { s.prepare(); }, DiagId::ArgumentShape, "scale.cpp:7:12: error: argument 1");
  expectError([&] { s.prepare({s.input, s.output}); }, DiagId::ArgumentCount, "scale.cpp:5:3: error: `scale`");
}

TEST(LaunchPlan, ASymbolMayBeAStride) {
  Scale s;
  s.image = stridedImage();
  s.input = Tensor::strided(s.in, DType::f32, {8, 64}, {200, 1});
  s.output = Tensor::dense(s.out, DType::f32, {8, 64});
  s.prepare();
  EXPECT_EQ(at<int32_t>(s.launch, 24), 200);
  s.input.strides[0] = -200;
  expectError([&] { s.prepare(); }, DiagId::SymbolRange,
              "symbol `LD` is -200, expected a stride of 0 to 2147483647 elements");
  s.input.strides[0] = 0;
  s.prepare();
  EXPECT_EQ(at<int32_t>(s.launch, 24), 0);
  s.input.strides = {200, 2};
  expectError([&] { s.prepare(); }, DiagId::ArgumentStride, "dimension 1 has stride 2, expected `1` = 1");
}

TEST(LaunchPlan, StridesOfAnExtentOfOneDoNotMatter) {
  Scale s;
  s.image = stridedImage();
  s.image.checks.clear();
  s.input = Tensor::strided(s.in, DType::f32, {1, 64}, {-5, 1});
  s.output = Tensor::strided(s.out, DType::f32, {1, 64}, {3, 1});
  s.prepare();
  EXPECT_EQ(at<int32_t>(s.launch, 24), 0);
}

TEST(LaunchPlan, OutputsHaveAPlaceForEachElement) {
  Scale s;
  s.image = stridedImage();
  s.image.arguments[1].strides[0] = LaunchExpr::symbol(1);
  for (int64_t stride : {0, 1, 63}) {
    s.input = Tensor::strided(s.in, DType::f32, {8, 64}, {stride, 1});
    s.output = Tensor::strided(s.out, DType::f32, {8, 64}, {stride, 1});
    expectError([&] { s.prepare(); }, DiagId::ArgumentSelfOverlap,
                "neighbours along dimension " + std::string(stride == 1 ? "1" : "0") + " of f32[8, 64] on host lie " +
                    std::to_string(stride) + " elements apart");
  }
  s.input = Tensor::strided(s.in, DType::f32, {8, 64}, {64, 1});
  s.output = Tensor::strided(s.out, DType::f32, {8, 64}, {64, 1});
  s.prepare();
}

TEST(Overlap, ElementsOfAViewLieApartOrNot) {
  auto dim = [](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return dimThatOverlaps(Tensor::strided(nullptr, DType::f32, shape, strides));
  };
  EXPECT_EQ(dim({4, 8}, {8, 1}), std::nullopt);
  EXPECT_EQ(dim({4, 8}, {1, 4}), std::nullopt);
  EXPECT_EQ(dim({4, 8}, {1, 3}), 1);
  EXPECT_EQ(dim({4, 8}, {0, 1}), 0);
  EXPECT_EQ(dim({1, 8}, {0, 1}), std::nullopt);
  EXPECT_EQ(dim({2, 4, 8}, {100, 9, 1}), std::nullopt);
  EXPECT_EQ(dim({2, 4, 8}, {34, 9, 1}), 0);
  EXPECT_EQ(dim({2, 4, 8}, {35, 9, 1}), std::nullopt);
}

TEST(LaunchPlan, AssumptionsAreChecked) {
  Scale s;
  s.input = Tensor::dense(s.in, DType::f32, {12, 64});
  s.output = Tensor::dense(s.out, DType::f32, {12, 64});
  expectError([&] { s.prepare(); }, DiagId::LaunchAssumption, "`scale`: `M` must be a multiple of 8; found M = 12");
  s.image.checks[0].predicate = LaunchExpr::apply(LaunchOp::mod, {LaunchExpr::symbol(0), 0});
  expectError([&] { s.prepare(); }, DiagId::LaunchAssumption, "it divides by zero");
}

TEST(LaunchPlan, GridIsChecked) {
  Scale s;
  s.image.grid[1] = -1;
  expectError([&] { s.prepare(); }, DiagId::LaunchGrid, "grid axis 1 = `-1`: found -1 workgroups, expected 0 to 65535");
  s.image.grid[1] = 65536;
  expectError([&] { s.prepare(); }, DiagId::LaunchGrid, "found 65536 workgroups");
  s.image.grid[1] = LaunchExpr::apply(LaunchOp::floordiv, {1, 0});
  expectError([&] { s.prepare(); }, DiagId::LaunchGrid, "it divides by zero");
  s.image.grid[1] = 3;
  s.image.cluster = {1, 2, 1};
  expectError([&] { s.prepare(); }, DiagId::LaunchGrid, "a multiple of 2");
}

TEST(LaunchPlan, EveryLimitOfTheGridIsChecked) {
  Scale s;
  DeviceInfo device = hostDevice();
  device.limits = {.workgroups = {100, 50, 20}, .threads = 1000, .total = 200};
  auto prepare = [&] { s.prepare({s.input, s.output, 1.0}, device); };
  s.image.threads = {16, 1, 1};
  s.image.grid = {10, 10, 2};
  prepare();
  s.image.grid = {1, 1, 21};
  expectError(prepare, DiagId::LaunchGrid, "grid axis 2 = `21`: found 21 workgroups, expected 0 to 20");
  s.image.grid = {63, 1, 1};
  expectError(prepare, DiagId::LaunchGrid,
              "found 63 workgroups of 16 threads, expected at most 1000 threads along an axis of this device");
  s.image.grid = {20, 11, 1};
  expectError(prepare, DiagId::LaunchGrid, "found 20 x 11 x 1 workgroups on all axes, expected at most 200");
  s.image.grid = {20, 11, 0};
  prepare();
  EXPECT_TRUE(s.launch.empty);
}

TEST(LaunchPlan, AnOutputMayBeItsInputOnlyWhereTheImageSaysSo) {
  Scale s;
  s.prepare({s.input, s.input, 1.0});
  s.image.mayAliasExactly = {{1, 0}};
  s.prepare({s.input, s.input, 1.0});
  s.image.mayAliasExactly.clear();
  expectError(
      [&] { s.prepare({s.input, s.input, 1.0}); }, DiagId::ArgumentOverlap,
      "argument 1 (`out`) of `scale`: the kernel writes it at bytes [0, 8192), and argument 0 (`in`) of `scale` "
      "is at bytes [0, 8192) of the same memory");
  // What is only read may be anywhere.
  s.image.arguments[1].isOutput = false;
  s.prepare({s.input, s.input, 1.0});
}

TEST(LaunchPlan, NoOtherOverlapOfAnOutputIsAllowed) {
  Scale s;
  alignas(256) float memory[40 * 64];
  auto rows = [&](int64_t first, int64_t count) { return Tensor::dense(memory + first * 64, DType::f32, {count, 64}); };
  expectError([&] { s.prepare({rows(0, 32), rows(8, 32), 1.0}); }, DiagId::ArgumentOverlap,
              "writes it at bytes [2048, 10240), and argument 0 (`in`) of `scale` is at bytes [0, 8192)");
  expectError([&] { s.prepare({rows(8, 32), rows(0, 32), 1.0}); }, DiagId::ArgumentOverlap,
              "writes it at bytes [0, 8192)");
  s.prepare({rows(0, 16), rows(16, 16), 1.0});
  // Memories of two devices have addresses of their own.
  Tensor elsewhere = rows(0, 32);
  elsewhere.memory = MemoryKind::cuda;
  DeviceInfo device = cudaDevice();
  s.prepare({elsewhere, rows(0, 32), 1.0}, device);
  EXPECT_TRUE(s.launch.needsStaging);
  // The same place seen as another type is not the same array.
  s.image.arguments[0].dtype = DType::f16;
  s.image.arguments[0].shape = {LaunchExpr::symbol(0), 128};
  s.image.symbols[0] = {"M", 1, 0};
  Tensor halves = Tensor::dense(memory, DType::f16, {32, 128});
  expectError([&] { s.prepare({halves, rows(0, 32), 1.0}); }, DiagId::ArgumentOverlap, "[0, 8192)");
}

TEST(LaunchPlan, RowsBetweenRowsDoNotOverlap) {
  Scale s;
  for (ArgumentSpec &argument : s.image.arguments)
    if (argument.kind == ArgumentKind::buffer)
      argument.strides = {128, 1};
  alignas(256) float memory[32 * 128 + 64];
  auto columns = [&](int64_t first) {
    Tensor view = Tensor::dense(memory + first, DType::f32, {32, 64});
    view.strides = {128, 1};
    return view;
  };
  s.prepare({columns(0), columns(64), 1.0});
  s.prepare({columns(64), columns(0), 1.0});
  s.prepare({columns(64), columns(128), 1.0}); // Half a row further: in the next row's left half.
  expectError([&] { s.prepare({columns(0), columns(60), 1.0}); }, DiagId::ArgumentOverlap, "writes it at bytes [240, ");
  expectError([&] { s.prepare({columns(60), columns(0), 1.0}); }, DiagId::ArgumentOverlap, "writes it at bytes [0, ");
}

/// scale with a workspace of 64 * M bytes, the first M of which are zeroed.
KernelImage withWorkspace() {
  KernelImage image = scaleImage();
  LaunchExpr m = LaunchExpr::symbol(0);
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::mul, {m, 64});
  image.workspace.zeroed = {{0, m}, {LaunchExpr::apply(LaunchOp::mul, {m, 2}), 4}};
  return image;
}

TEST(LaunchPlan, TheWorkspaceFollowsTheBuffers) {
  Scale s;
  s.image = withWorkspace();
  LaunchPlan plan(s.image);
  ParameterLayout layout(s.image);
  EXPECT_EQ(layout.workspace, 16u);
  EXPECT_EQ(layout.arguments, (std::vector<uint32_t>{0, 8, 24}));
  s.prepare();
  EXPECT_EQ(s.launch.workspaceBytes, 2048u);
  EXPECT_EQ(s.launch.zeroed[0].bytes, 32u);
  EXPECT_EQ(s.launch.zeroed[1].offset, 64u);
  plan.setWorkspace(s.launch, s.in);
  EXPECT_EQ(at<void *>(s.launch, 16), s.in);
  std::array<Argument, 3> arguments = {s.input, s.output, 1.0};
  EXPECT_EQ(plan.workspaceBytes(arguments, {}, hostDevice()), 2048u);
}

TEST(LaunchPlan, AWorkspaceThatCannotBeIsRefused) {
  Scale s;
  s.image = withWorkspace();
  alignas(256) static std::byte memory[4096];
  auto give = [&](void *data, size_t bytes) {
    LaunchOptions options;
    options.workspace = {data, bytes};
    s.prepare({s.input, s.output, 1.0}, hostDevice(), options);
  };
  give(memory, 2048);
  expectError([&] { give(memory, 2047); }, DiagId::LaunchWorkspace, "has 2047 bytes, expected at least 2048");
  expectError([&] { give(memory + 8, 4000); }, DiagId::LaunchWorkspace, "starts beside a multiple of 256");
  s.image.workspace.bytes = -1;
  s.image.workspace.zeroed.clear();
  expectError([&] { s.prepare(); }, DiagId::LaunchWorkspace, "`-1` in its workspace is -1");
  s.image.workspace.bytes = LaunchExpr::apply(LaunchOp::floordiv, {1, 0});
  expectError([&] { s.prepare(); }, DiagId::LaunchWorkspace, "it divides by zero");
  s.image.workspace.bytes = 100;
  s.image.workspace.zeroed = {{96, 8}};
  expectError([&] { s.prepare(); }, DiagId::LaunchWorkspace, "`8` in its workspace is 8, expected 0 to 4");
}

TEST(LaunchPlan, EachKernelOfAPlanHasItsGrid) {
  Scale s;
  LaunchStep second{"second"};
  second.grid = {LaunchExpr::symbol(0), 1, 1};
  LaunchStep third{"third"};
  third.grid = {1, 0, 1};
  s.image.further = {second, third};
  s.prepare();
  EXPECT_EQ(s.launch.grids[0], (std::array<uint32_t, 3>{2, 1, 1}));
  EXPECT_EQ(s.launch.grids[1], (std::array<uint32_t, 3>{32, 1, 1}));
  EXPECT_FALSE(s.launch.isEmpty(1));
  EXPECT_TRUE(s.launch.isEmpty(2));
  EXPECT_FALSE(s.launch.empty);
  s.image.further[1].grid[1] = 70000;
  expectError([&] { s.prepare(); }, DiagId::LaunchGrid, "`scale`, kernel `third`: grid axis 1");
}

TEST(LaunchPlan, NothingToDo) {
  Scale s;
  s.input = Tensor::dense(nullptr, DType::f32, {0, 64});
  s.output = s.input;
  s.prepare();
  EXPECT_TRUE(s.launch.empty);
}

TEST(LaunchPlan, DeviceIsChecked) {
  Scale s;
  s.prepare({s.input, s.output, 1.0}, cudaDevice());
  EXPECT_TRUE(s.launch.needsStaging);
  s.input.memory = MemoryKind::cuda;
  expectError([&] { s.prepare(); }, DiagId::ArgumentDevice,
              "found f32[32, 64] on cuda:0, expected memory of emulator (host)");
  expectError([&] { s.prepare({s.input, s.output, 1.0}, cudaDevice(1)); }, DiagId::ArgumentDevice,
              "expected memory of cuda:1");
}

TEST(LaunchPlan, ScalarsAreEncodedOrRefused) {
  Scale s;
  auto withType = [&](DType dtype, Argument value) {
    s.image.arguments[2].dtype = dtype;
    s.prepare({s.input, s.output, value});
    return at<uint64_t>(s.launch, LaunchPlan(s.image).parameters().arguments[2]);
  };
  EXPECT_EQ(withType(DType::f16, 1.5) & 0xffff, 0x3e00u);
  EXPECT_EQ(withType(DType::f64, 3), std::bit_cast<uint64_t>(3.0));
  EXPECT_EQ(withType(DType::i8, -1) & 0xff, 0xffu);
  EXPECT_EQ(withType(DType::i8, 255) & 0xff, 0xffu);
  EXPECT_EQ(withType(DType::i32, 7.0) & 0xffffffff, 7u);
  EXPECT_EQ(withType(DType::i64, INT64_MIN), uint64_t(1) << 63);
  EXPECT_EQ(withType(DType::i1, 1) & 0xff, 1u);
  expectError([&] { withType(DType::i8, 256); }, DiagId::ArgumentValue,
              "argument 2 (`factor`) of `scale`: found 256, expected a value of `i8`");
  expectError([&] { withType(DType::i8, -129); }, DiagId::ArgumentValue, "-129");
  expectError([&] { withType(DType::i32, 1.5); }, DiagId::ArgumentValue, "1.5");
  expectError([&] { withType(DType::i32, std::numeric_limits<double>::quiet_NaN()); }, DiagId::ArgumentValue, "nan");
  expectError([&] { withType(DType::i64, 1e300); }, DiagId::ArgumentValue, "expected a value of `i64`");
}

TEST(LaunchPlan, EverythingWrongIsReportedAtOnce) {
  Scale s;
  s.image.grid[1] = -1;
  s.input.dtype = DType::i32;
  s.output.data = nullptr;
  try {
    s.prepare();
    ADD_FAILURE();
  } catch (const CompileError &error) {
    ASSERT_EQ(error.diagnostics().size(), 3u) << error.what();
    EXPECT_EQ(error.diagnostics()[0].id, DiagId::ArgumentDtype);
    EXPECT_EQ(error.diagnostics()[1].id, DiagId::ArgumentNull);
    EXPECT_EQ(error.diagnostics()[2].id, DiagId::LaunchGrid);
  }
}
