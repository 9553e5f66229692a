#include "soliton/runtime/EmulatorDevice.h"

#include "soliton/emulator/Builder.h"
#include "soliton/runtime/TestSupport.h"

using namespace soliton;
using namespace soliton::rt;

namespace {

/// scale(in, out, factor, M): workgroup w scales row w of 64 floats, one wave of 64 lanes; `shift` bytes off.
emu::Program scaleProgram(int64_t shift = 0) {
  emu::Builder b({.name = "scale", .waveSize = 64, .waves = 1});
  uint32_t in = b.buffer("in"), out = b.buffer("out");
  b.at(Place("scale.cpp", 7, 3), "load");
  emu::Value factor = b.scalar(DType::f32);
  b.scalar(DType::i32);
  emu::Value lane = b.mul(b.id(emu::IdKind::Lane), b.constant(DType::i32, 4));
  emu::Value row = b.mul(b.id(emu::IdKind::Workgroup0), b.constant(DType::i32, 256));
  emu::Value x = b.load(DType::f32, 1, {.region = in, .lane = lane, .uniform = row, .immediate = shift});
  b.store(b.binary(emu::BinaryOp::MulF, x, factor), {.region = out, .lane = lane, .uniform = row});
  return b.finish();
}

KernelImage imageOf(const emu::Program &program) {
  KernelImage image = scaleImage(ImageKind::emulator);
  std::vector<uint8_t> bytes = emu::serialize(program);
  image.code.resize(bytes.size());
  std::memcpy(image.code.data(), bytes.data(), bytes.size());
  image.threads = {64, 1, 1};
  image.grid[0] = LaunchExpr::symbol(0);
  return image;
}

} // namespace

TEST(EmulatorDevice, RunsAProgramInPlace) {
  std::shared_ptr<Device> device = makeEmulatorDevice();
  auto kernel = device->load(deserialize(serialize(imageOf(scaleProgram()))));
  std::vector<float> in(8 * 64), out(8 * 64);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(i);
  EXPECT_EQ(statisticsOf(*kernel), nullptr);
  kernel->launch({Tensor::of(in, {8, 64}), Tensor::of(out, {8, 64}), 2.5});
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], 2.5f * static_cast<float>(i));
  ASSERT_NE(statisticsOf(*kernel), nullptr);
  EXPECT_EQ(statisticsOf(*kernel)->globalAccesses, 16u);
  EXPECT_EQ(kernel->resources().maxThreads, 64);
  EXPECT_EQ(kernel->log(), "");
}

TEST(EmulatorDevice, FindingsAreDiagnosticsAtTheAuthorsLine) {
  std::shared_ptr<Device> device = makeEmulatorDevice();
  auto kernel = device->load(imageOf(scaleProgram(4)));
  std::vector<float> in(8 * 64), out(8 * 64);
  try {
    kernel->launch({Tensor::of(in, {8, 64}), Tensor::of(out, {8, 64}), 2.5});
    ADD_FAILURE() << "the last lane reads beyond `in`";
  } catch (const CompileError &error) {
    ASSERT_FALSE(error.diagnostics().empty());
    EXPECT_EQ(error.diagnostics()[0].place, Place("scale.cpp", 7, 3)) << error.what();
    EXPECT_NE(error.diagnostics()[0].message.find("`in`"), std::string::npos) << error.what();
    DiagId expected = parseDiagId(emu::name(emu::FindingKind::OutOfBounds)).value_or(DiagId::EmulatorFinding);
    EXPECT_EQ(error.diagnostics()[0].id, expected);
  }
}

TEST(EmulatorDevice, ALoopWithoutAnEndIsStoppedAndNamed) {
  emu::Builder b({.name = "scale", .waveSize = 64, .waves = 1});
  b.buffer("in");
  b.buffer("out");
  b.scalar(DType::f32);
  b.scalar(DType::i32);
  emu::Value count = b.variable(DType::i32, 1, true);
  b.assign(count, b.constant(DType::i32, 0));
  b.beginLoop();
  b.assign(count, b.add(count, b.constant(DType::i32, 1)));
  b.at(Place("scale.cpp", 9, 5), "loop");
  b.endLoop();
  std::shared_ptr<Device> device = makeEmulatorDevice({.stepLimit = 5000});
  auto kernel = device->load(imageOf(b.finish()));
  std::vector<float> in(8 * 64), out(8 * 64);
  try {
    kernel->launch({Tensor::of(in, {8, 64}), Tensor::of(out, {8, 64}), 2.5});
    ADD_FAILURE() << "it has no end";
  } catch (const CompileError &error) {
    const Diagnostic &found = error.diagnostics().front();
    EXPECT_EQ(found.place, Place("scale.cpp", 9, 5)) << error.what();
    EXPECT_NE(found.message.find("was stopped after 5000 instructions, in this loop"), std::string::npos)
        << found.message;
    EXPECT_NE(found.hint.find("stepLimit"), std::string::npos) << found.hint;
  }
}

TEST(EmulatorDevice, ArgumentsAreChecked) {
  auto kernel = makeEmulatorDevice()->load(imageOf(scaleProgram()));
  std::vector<float> in(8 * 64), out(8 * 64);
  expectError([&] { kernel->launch({Tensor::of(in, {8, 64})}); }, DiagId::ArgumentCount, "found 1 arguments");
  Tensor elsewhere = Tensor::of(in, {8, 64});
  elsewhere.memory = MemoryKind::cuda;
  expectError([&] { kernel->launch({elsewhere, Tensor::of(out, {8, 64}), 1.0}); }, DiagId::ArgumentDevice, "cuda:0");
  Tensor nothing = Tensor::dense(nullptr, DType::f32, {0, 64});
  kernel->launch({nothing, nothing, 1.0});
  EXPECT_EQ(statisticsOf(*kernel), nullptr) << "an empty grid runs nothing";
}

TEST(EmulatorDevice, ImagesThatAreNoneAreRefused) {
  std::shared_ptr<Device> device = makeEmulatorDevice();
  expectError([&] { device->load(scaleImage(ImageKind::ptx)); }, DiagId::ImageMismatch, "found an image of kind `ptx`");
  expectError([&] { device->load(scaleImage(ImageKind::emulator)); }, DiagId::ImageInvalid, "no emulator program");
  KernelImage image = imageOf(scaleProgram());
  image.arguments.pop_back();
  expectError([&] { device->load(image); }, DiagId::ImageInvalid, "takes 2 buffers and 2 scalars");
  KernelImage clustered = imageOf(scaleProgram());
  clustered.cluster = {2, 1, 1};
  expectError([&] { device->load(clustered); }, DiagId::ImageInvalid,
              "has clusters of 1 workgroups, the manifest says otherwise");
  image.arguments.clear();
  expectError([&] { device->load(image); }, DiagId::ImageInvalid, "which does not exist");
  emu::Program broken = scaleProgram();
  broken.code.back().op = emu::Op::Jump;
  broken.code.back().index = 1000000;
  expectError([&] { device->load(imageOf(broken)); }, DiagId::ImageInvalid, "its emulator program is invalid");
}

TEST(EmulatorDevice, MemoryAndTime) {
  std::shared_ptr<Device> device = makeEmulatorDevice();
  DeviceBuffer buffer(*device, 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 256, 0u);
  std::vector<uint8_t> host(100, 7), back(100);
  device->copyToDevice(buffer.data(), host.data(), 100);
  device->copyToHost(back.data(), buffer.data(), 100);
  EXPECT_EQ(back, host);
  device->fill(buffer.data(), 9, 100);
  EXPECT_EQ(static_cast<uint8_t *>(buffer.data())[99], 9);
  EXPECT_EQ(buffer.tensor(DType::i8, {100}).memory, MemoryKind::host);
  device->destroy(device->createStream());
  device->synchronise();
  device->synchronise(Stream());
  expectError([&] { device->allocate(SIZE_MAX); }, DiagId::DriverError, "the host has no");
  auto kernel = device->load(imageOf(scaleProgram()));
  std::vector<float> in(8 * 64), out(8 * 64);
  std::array<Argument, 3> arguments = {Tensor::of(in, {8, 64}), Tensor::of(out, {8, 64}), 1.0};
  Timing timing = measure(*device, *kernel, arguments, {.warmup = 1, .repetitions = 4, .launchesPerSample = 1});
  EXPECT_EQ(timing.microseconds.size(), 4u);
  EXPECT_GT(timing.minimum, 0);
  EXPECT_GE(timing.median, timing.minimum);
}

TEST(EmulatorDevice, APlanHandsOnThroughItsWorkspace) {
  // `first` doubles into the workspace and counts its workgroups in a counter behind; `second` adds both.
  auto program = [](bool isFirst) {
    emu::Builder b({.name = isFirst ? "first" : "second", .waveSize = 64, .waves = 1});
    uint32_t in = b.buffer("in"), out = b.buffer("out"), workspace = b.buffer("workspace");
    b.scalar(DType::f32);
    emu::Value rows = b.scalar(DType::i32);
    emu::Value lane = b.mul(b.id(emu::IdKind::Lane), b.constant(DType::i32, 4));
    emu::Value row = b.mul(b.id(emu::IdKind::Workgroup0), b.constant(DType::i32, 256));
    emu::Value counter = b.mul(rows, b.constant(DType::i32, 256));
    if (isFirst) {
      emu::Value x = b.load(DType::f32, 1, {.region = in, .lane = lane, .uniform = row});
      b.store(b.binary(emu::BinaryOp::AddF, x, x), {.region = workspace, .lane = lane, .uniform = row});
      emu::Value first = b.cmp(emu::CmpOp::Eq, lane, b.constant(DType::i32, 0));
      b.atomic(emu::AtomicOp::Add, b.constantFloat(DType::f32, 1), {.region = workspace, .uniform = counter},
               {.mask = first});
    } else {
      emu::Value x = b.load(DType::f32, 1, {.region = workspace, .lane = lane, .uniform = row});
      emu::Value count = b.load(DType::f32, 1, {.region = workspace, .lane = {}, .uniform = counter});
      b.store(b.binary(emu::BinaryOp::AddF, x, count), {.region = out, .lane = lane, .uniform = row});
    }
    return b.finish();
  };
  KernelImage image = imageOf(program(true)), second = imageOf(program(false));
  LaunchExpr bytes = LaunchExpr::apply(LaunchOp::mul, {LaunchExpr::symbol(0), 256});
  image.further = {{"second", second.code, second.threads, {1, 1, 1}, second.grid}};
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::add, {bytes, 4});
  image.workspace.zeroed = {{bytes, 4}};
  auto kernel = makeEmulatorDevice()->load(deserialize(serialize(image)));
  std::vector<float> in(8 * 64, 3.0f), out(8 * 64);
  std::array<Argument, 3> arguments = {Tensor::of(in, {8, 64}), Tensor::of(out, {8, 64}), 1.0};
  EXPECT_EQ(kernel->workspaceBytes(arguments), 8u * 256 + 4);
  for (int round = 0; round < 2; ++round) {
    kernel->launch(arguments);
    EXPECT_EQ(out, std::vector<float>(8 * 64, 14.0f));
  }
  EXPECT_EQ(statisticsOf(*kernel)->globalAccesses, 8u * 3 + 8 * 3);
  std::vector<float> given(8 * 64 + 1 + 64);
  void *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(given.data()) + 255) / 256 * 256);
  kernel->launch(arguments, {.workspace = {aligned, 8 * 256 + 4}});
  EXPECT_EQ(static_cast<float *>(aligned)[8 * 64], 8.0f);
  image.workspace.zeroed.clear();
  auto unset = makeEmulatorDevice()->load(image);
  unset->launch(arguments);
  EXPECT_TRUE(out[0] != out[0]) << "a counter that is not reset is NaN";
}

TEST(EmulatorDevice, WarningsAreSaidAndNoError) {
  // Every workgroup writes the same row.
  emu::Builder b({.name = "same", .waveSize = 64, .waves = 1});
  b.buffer("in");
  uint32_t out = b.buffer("out");
  b.scalar(DType::f32);
  b.scalar(DType::i32);
  b.at(Place("same.cpp", 4, 2), "store");
  emu::Value lane = b.mul(b.id(emu::IdKind::Lane), b.constant(DType::i32, 4));
  b.store(b.constantFloat(DType::f32, 1), {.region = out, .lane = lane});
  auto kernel = makeEmulatorDevice()->load(imageOf(b.finish()));
  std::vector<float> in(8 * 64), values(8 * 64);
  kernel->launch({Tensor::of(in, {8, 64}), Tensor::of(values, {8, 64}), 1.0});
  EXPECT_NE(kernel->log().find("same.cpp:4:2: warning: "), std::string::npos) << kernel->log();
}

TEST(EmulatorDevice, LargeMemoryIsSparse) {
  std::shared_ptr<Device> device = makeEmulatorDevice();
  // Far more than the host has; some pages of it exist in the end.
  constexpr size_t bytes = size_t(1) << 40;
  DeviceBuffer buffer(*device, bytes);
  auto *memory = static_cast<uint8_t *>(buffer.data());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  for (size_t at = 0; at < bytes; at += bytes / 128)
    memory[at] = 1;
  device->fill(memory + 100, 0, bytes - 200, {});
  EXPECT_EQ(memory[0], 1) << "what lies before is kept";
  for (size_t at = bytes / 128; at < bytes; at += bytes / 128)
    EXPECT_EQ(memory[at], 0);
  memory[bytes - 1] = 7;
  device->fill(memory + bytes - 4096 * 2000, 0, 4096 * 1999 + 5, {});
  EXPECT_EQ(memory[bytes - 1], 7);
}

TEST(EmulatorDevice, ATensorOfEightGibibytes) {
  // Row w of 1 GiB; each workgroup scales the last 64 elements of its row.
  constexpr int64_t columns = int64_t(1) << 28;
  emu::Builder b({.name = "scale", .waveSize = 64, .waves = 1});
  uint32_t in = b.buffer("in"), out = b.buffer("out");
  emu::Value factor = b.scalar(DType::f32);
  b.scalar(DType::i32);
  emu::Value lane = b.mul(b.id(emu::IdKind::Lane), b.constant(DType::i32, 4));
  emu::Value group = b.convert(emu::ConvertOp::ExtS, DType::i64, b.id(emu::IdKind::Workgroup0));
  emu::Value base =
      b.binary(emu::BinaryOp::SubI, b.mul(b.add(group, b.constant(DType::i64, 1)), b.constant(DType::i64, columns * 4)),
               b.constant(DType::i64, 256));
  emu::Value x = b.load(DType::f32, 1, {.region = in, .lane = lane, .base = base});
  b.store(b.binary(emu::BinaryOp::MulF, x, factor), {.region = out, .lane = lane, .base = base});
  KernelImage image = imageOf(b.finish());
  for (size_t i = 0; i < 2; ++i) {
    image.arguments[i].shape[1] = columns;
    image.arguments[i].byteLimit = 0;
  }
  std::shared_ptr<Device> device = makeEmulatorDevice();
  DeviceBuffer from(*device, columns * 32), to(*device, columns * 32);
  auto *values = static_cast<float *>(from.data()), *results = static_cast<float *>(to.data());
  for (int64_t row = 0; row < 8; ++row)
    values[(row + 1) * columns - 1] = float(row + 1);
  auto kernel = device->load(image);
  kernel->launch({from.tensor(DType::f32, {8, columns}), to.tensor(DType::f32, {8, columns}), 2.0});
  for (int64_t row = 0; row < 8; ++row)
    EXPECT_EQ(results[(row + 1) * columns - 1], float(2 * row + 2));
  // In place, and a slice of it over another.
  kernel->launch({from.tensor(DType::f32, {8, columns}), from.tensor(DType::f32, {8, columns}), 2.0});
  EXPECT_EQ(values[8 * columns - 1], 16.0f);
}
