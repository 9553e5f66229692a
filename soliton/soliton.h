//===- soliton.h - The Wave kernel language in C++ ------------------------------===//
//
// All that a kernel author includes:
//
//   #include <soliton/soliton.h>
//   using namespace soliton;
//
//   auto [M, N, K] = symbols<"M N K">();        auto [BM, BN, BK] = symbols<"BLOCK_M BLOCK_N BLOCK_K">();
//   Kernel gemm{"gemm", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
//                        WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{}}};
//   auto a = gemm.memory("a", {M, K}, shared, f16), b = gemm.memory("b", {N, K}, shared, f16);
//   auto c = gemm.memory("c", {M, N}, global, f32);
//   auto sum = gemm.iterate(K, gemm.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); });
//   write(sum, c);
//   auto run = compile(gemm, {.target = "gfx942", .subs = {{M, 1024}, {N, 1024}, {K, 1024}, …}});
//   run(A, B, C);                                          // tensors on the host or on a device
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/authoring/WaveSchedule.h" // IWYU pragma: export
#include "soliton/driver/Compile.h"         // IWYU pragma: export
#include "soliton/frontend/Constraints.h"   // IWYU pragma: export
#include "soliton/frontend/Kernel.h"        // IWYU pragma: export
#include "soliton/frontend/Ops.h"           // IWYU pragma: export
#include "soliton/frontend/Simt.h"          // IWYU pragma: export
#include "soliton/frontend/Symbols.h"       // IWYU pragma: export
#include "soliton/frontend/Types.h"         // IWYU pragma: export
#include "soliton/runtime/HostTensor.h"     // IWYU pragma: export
#include "soliton/support/Diagnostics.h"    // IWYU pragma: export
