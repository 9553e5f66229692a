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
