// Tensor maps on a real CUDA device: tiles copied by the hardware's engine, at sizes that only the launch knows.
// Skipped where there is no device of that kind.
#include "soliton/runtime/Device.h"

#include "soliton/runtime/TestSupport.h"

#include <numeric>

using namespace soliton;
using namespace soliton::rt;

namespace {

/// tiles(in: i16[L, K], out: i16[M, K]): a workgroup of 128 threads copies a box of 64 x 16 elements to shared memory,
/// with the 128-byte swizzle, and from there to the same place of `out`.
constexpr char kPtx[] = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 shared[];
.visible .entry tiles(.param .u64 in, .param .u64 out, .param .u32 m, .param .u32 k, .param .u32 l, .param .align 64 .b8 map[128])
{
  .reg .pred %p<4>;
  .reg .b32 %r<24>;
  .reg .b64 %d<8>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ctaid.y;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r3, [m];
  ld.param.u32 %r4, [k];
  mov.b64 %d2, map;
  cvta.param.u64 %d2, %d2;
  mov.u32 %r5, shared;
  add.u32 %r6, %r5, 2048;
  shl.b32 %r7, %r1, 6;
  shl.b32 %r8, %r2, 4;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra made;
  mbarrier.init.shared::cta.b64 [%r6], 1;
  fence.mbarrier_init.release.cluster;
made:
  bar.sync 0;
  @%p0 bra again;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], 2048;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5], [%d2, {%r7, %r8}], [%r6];
again:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r6], 0;
  @!%p1 bra again;
  and.b32 %r9, %r0, 7;
  shr.u32 %r10, %r0, 3;
  and.b32 %r11, %r10, 7;
  xor.b32 %r11, %r11, %r9;
  shl.b32 %r11, %r11, 4;
  shl.b32 %r12, %r10, 7;
  add.u32 %r12, %r12, %r11;
  add.u32 %r12, %r12, %r5;
  ld.shared.v4.b32 {%r13, %r14, %r15, %r16}, [%r12];
  add.u32 %r17, %r8, %r10;
  shl.b32 %r18, %r9, 3;
  add.u32 %r18, %r18, %r7;
  setp.ge.u32 %p2, %r17, %r3;
  @%p2 ret;
  setp.ge.u32 %p2, %r18, %r4;
  @%p2 ret;
  mad.lo.u32 %r19, %r17, %r4, %r18;
  mul.wide.u32 %d3, %r19, 2;
  add.u64 %d4, %d1, %d3;
  st.global.v4.b32 [%d4], {%r13, %r14, %r15, %r16};
  ret;
}
)";

KernelImage tiles() {
  LaunchExpr m = LaunchExpr::symbol(0), k = LaunchExpr::symbol(1), l = LaunchExpr::symbol(2);
  KernelImage image;
  image.kernel = image.entry = "tiles";
  image.target = "sm_90a";
  image.kind = ImageKind::ptx;
  image.code.resize(sizeof(kPtx) - 1);
  std::memcpy(image.code.data(), kPtx, sizeof(kPtx) - 1);
  image.threads = {128, 1, 1};
  image.grid = {LaunchExpr::apply(LaunchOp::ceildiv, {k, 64}), LaunchExpr::apply(LaunchOp::ceildiv, {m, 16}), 1};
  image.dynamicSharedBytes = 2048 + 16;
  ArgumentSpec in;
  in.name = "in";
  in.dtype = DType::i16;
  in.shape = {l, k};
  in.alignment = 16;
  ArgumentSpec out = in;
  out.name = "out";
  out.shape = {m, k};
  out.isOutput = true;
  image.arguments = {in, out};
  image.symbols = {{"M", 1, 0}, {"K", 0, 1}, {"L", 0, 0}};
  TensorMapSpec map;
  map.dtype = DType::i16;
  map.sizes = {k, l};
  map.strides = {LaunchExpr::apply(LaunchOp::mul, {k, 2})};
  map.box = {64, 16};
  map.swizzle = 128;
  image.tensorMaps = {map};
  return image;
}

bool hasTiles() {
  const DeviceInfo &info = devices().devices.front()->info();
  return info.kind == DeviceKind::cuda && info.architecture == "sm_90";
}

/// `rows` rows of what the kernel makes of some.
std::vector<int16_t> copied(const std::vector<int16_t> &values, int64_t columns, int64_t rows, LoadedKernel &kernel) {
  Device &device = defaultDevice();
  DeviceBuffer in(device, values.size() * 2), out(device, static_cast<size_t>(rows * columns) * 2);
  device.copyToDevice(in.data(), values.data(), in.bytes());
  device.fill(out.data(), 0xff, out.bytes());
  int64_t given = static_cast<int64_t>(values.size()) / columns;
  kernel.launch({in.tensor(DType::i16, {given, columns}), out.tensor(DType::i16, {rows, columns})});
  device.synchronise();
  std::vector<int16_t> result(static_cast<size_t>(rows * columns));
  device.copyToHost(result.data(), out.data(), out.bytes());
  return result;
}

} // namespace

TEST(CudaTilesOnDevice, RowsOfAnyNumberAndColumnsOfEight) {
  if (!hasTiles())
    GTEST_SKIP() << "no CUDA device of architecture sm_90";
  auto kernel = defaultDevice().load(tiles());
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{16, 64}, {512, 1024}, {1, 8}, {17, 72}, {100, 200}, {3, 8}, {1000, 56}})
    for (int round = 0; round < 2; ++round) {
      std::vector<int16_t> values(static_cast<size_t>(rows * columns));
      std::iota(values.begin(), values.end(), static_cast<int16_t>(round));
      EXPECT_EQ(copied(values, columns, rows, *kernel), values) << rows << " x " << columns;
    }
}

TEST(CudaTilesOnDevice, WhatTheEngineCannotAddressIsRefusedBeforeItIsAsked) {
  if (!hasTiles())
    GTEST_SKIP() << "no CUDA device of architecture sm_90";
  auto kernel = defaultDevice().load(tiles());
  std::vector<int16_t> values(30 * 65);
  expectError([&] { copied(values, 65, 30, *kernel); }, DiagId::TileCopyTensor, "`K * 2`, is 130");
}

TEST(CudaTilesOnDevice, WhatLiesOutsideOfTheTensorIsZero) {
  if (!hasTiles())
    GTEST_SKIP() << "no CUDA device of architecture sm_90";
  auto kernel = defaultDevice().load(tiles());
  std::vector<int16_t> values(5 * 72, 7), expected = values;
  expected.resize(40 * 72);
  EXPECT_EQ(copied(values, 72, 40, *kernel), expected);
  EXPECT_EQ(copied({}, 72, 40, *kernel), std::vector<int16_t>(40 * 72)) << "a tensor without elements";
}
