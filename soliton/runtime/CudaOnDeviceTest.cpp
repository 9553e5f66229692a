// Plans on a real CUDA device: two kernels in PTX that hand on through a workspace. Skipped where there is none.
#include "soliton/runtime/Device.h"

#include "soliton/runtime/TestSupport.h"

using namespace soliton;
using namespace soliton::rt;

namespace {

/// first: workspace = 2 * in, and each workgroup adds 1 to the counter behind; second: out = workspace + counter.
constexpr char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry first(.param .u64 in, .param .u64 out, .param .u64 workspace, .param .f32 factor, .param .u32 m)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %d<8>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mad.lo.u32 %r2, %r0, 64, %r1;
  mul.wide.u32 %d0, %r2, 4;
  ld.param.u64 %d1, [in];
  ld.param.u64 %d2, [workspace];
  ld.param.u32 %r3, [m];
  add.u64 %d3, %d1, %d0;
  add.u64 %d4, %d2, %d0;
  ld.global.f32 %f0, [%d3];
  add.f32 %f0, %f0, %f0;
  st.global.f32 [%d4], %f0;
  setp.ne.u32 %p, %r1, 0;
  @%p ret;
  mul.wide.u32 %d5, %r3, 256;
  add.u64 %d6, %d2, %d5;
  mov.f32 %f1, 0f3F800000;
  atom.global.add.f32 %f2, [%d6], %f1;
  ret;
}
.visible .entry second(.param .u64 in, .param .u64 out, .param .u64 workspace, .param .f32 factor, .param .u32 m)
{
  .reg .b32 %r<8>;
  .reg .f32 %f<4>;
  .reg .b64 %d<8>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mad.lo.u32 %r2, %r0, 64, %r1;
  mul.wide.u32 %d0, %r2, 4;
  ld.param.u64 %d1, [out];
  ld.param.u64 %d2, [workspace];
  ld.param.u32 %r3, [m];
  mul.wide.u32 %d5, %r3, 256;
  add.u64 %d6, %d2, %d5;
  add.u64 %d3, %d1, %d0;
  add.u64 %d4, %d2, %d0;
  ld.global.f32 %f0, [%d4];
  ld.global.f32 %f1, [%d6];
  add.f32 %f0, %f0, %f1;
  st.global.f32 [%d3], %f0;
  ret;
}
)";

KernelImage twoKernels() {
  KernelImage image = scaleImage();
  image.target = "sm_70";
  image.entry = "first";
  image.code.resize(sizeof(kPtx) - 1);
  std::memcpy(image.code.data(), kPtx, sizeof(kPtx) - 1);
  LaunchExpr m = LaunchExpr::symbol(0), bytes = LaunchExpr::apply(LaunchOp::mul, {m, 256});
  image.threads = {64, 1, 1};
  image.grid = {m, 1, 1};
  image.further = {{"second", {}, {64, 1, 1}, {1, 1, 1}, {m, 1, 1}}};
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::add, {bytes, 4});
  image.workspace.zeroed = {{bytes, 4}};
  return image;
}

} // namespace

TEST(CudaOnDevice, APlanHandsOnThroughItsWorkspace) {
  if (devices().devices.front()->info().kind != DeviceKind::cuda)
    GTEST_SKIP() << "no CUDA device";
  Device &device = defaultDevice();
  auto kernel = device.load(twoKernels());
  constexpr int64_t rows = 512;
  DeviceBuffer in(device, rows * 256), out(device, rows * 256), lent(device, rows * 256 + 4);
  std::vector<float> values(rows * 64, 3.0f);
  device.copyToDevice(in.data(), values.data(), in.bytes());
  std::array<Argument, 3> arguments = {in.tensor(DType::f32, {rows, 64}), out.tensor(DType::f32, {rows, 64}), 1.0};
  Stream streams[2] = {device.createStream(), device.createStream()};
  for (int round = 0; round < 20; ++round) // Two streams at once: each launch has a workspace of its own.
    for (Stream stream : streams)
      kernel->launch(arguments, {.stream = stream});
  device.synchronise();
  device.copyToHost(values.data(), out.data(), out.bytes());
  EXPECT_EQ(values, std::vector<float>(rows * 64, 6.0f + rows));
  device.fill(out.data(), 0, out.bytes());
  kernel->launch(arguments, {.workspace = {lent.data(), lent.bytes()}});
  device.synchronise();
  device.copyToHost(values.data(), out.data(), out.bytes());
  EXPECT_EQ(values, std::vector<float>(rows * 64, 6.0f + rows));
  for (Stream stream : streams)
    device.destroy(stream);
  std::vector<float> host(rows * 64, 1.0f), result(rows * 64);
  kernel->launch({Tensor::of(host, {rows, 64}), Tensor::of(result, {rows, 64}), 1.0});
  EXPECT_EQ(result, std::vector<float>(rows * 64, 2.0f + rows)) << "host arrays are copied in and back";
}
