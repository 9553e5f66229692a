//===- Products.h - Products by matrix instructions of four waves, built, compiled and judged ---------===//
//
// What tests of such products share. One is described by its sizes, tiles, waves and options:
//
//   check({.m = 127, .n = 131, .k = 77, .directCopies = true});     // right on the emulator, and ptxas takes it
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Machine.h"
#include "soliton/ir/Machine.h"
#include "soliton/soliton.h"

#include "gtest/gtest.h"

namespace soliton::test {

/// A product c[M, N] = a · bᵀ and how it is distributed.
struct Product {
  int64_t m = 64, n = 64, k = 64;
  int64_t blockM = 64, blockN = 64, blockK = 64, wavesN = 1;
  /// Columns of the instruction.
  int64_t columns = 64;
  DType type = DType::f16;
  /// The factor's memory is [K, M] or [K, N].
  bool leftByK = false, rightByK = false;
  bool directCopies = false;
  std::string schedule = "none";
  std::vector<std::string> dynamic = {};
  /// The hardware constraint names the instruction.
  bool named = true;
  /// Waves lie along N: the instruction computes the transposed product.
  bool exchanged = false;
  /// Workgroups that share K.
  int64_t cluster = 0;
  /// Workgroups of the launch, which walk the tiles; sums leave through shared memory.
  int64_t persistent = 0;
  bool stagedWrites = false;
  /// Waves beside those that compute.
  int64_t serviceWaves = 0;
  /// Waves do not wait for each other between two tiles.
  bool overlapTiles = false;
  /// Teams of waves take turns at products.
  bool turns = false;
  /// Bands of so many rows of tiles; of columns, if negative.
  int64_t raster = 0;
  /// Neighbours along each dimension of the grid that copy tiles to each other.
  std::vector<int64_t> perCluster = {};
  /// Launches begin before those ahead have ended; memories that none of them writes.
  bool dependent = false;
  std::vector<std::string> stable = {};

  std::string instruction() const {
    std::string depth = type == DType::i8 ? "x32_I8" : type == DType::f8e4m3fn ? "x32_F8" : "x16_F16";
    return (type == DType::i8 ? "I32_64x" : "F32_64x") + std::to_string(columns) + depth;
  }
  ElementType element() const {
    return type == DType::i8 ? i8 : type == DType::f8e4m3fn ? f8e4m3fn : type == DType::bf16 ? bf16 : f16;
  }
  DType sum() const { return type == DType::i8 ? DType::i32 : DType::f32; }
};

std::ostream &operator<<(std::ostream &out, const Product &p);
/// One with few rows, which lie on the instruction's columns.
Product fewRows(int64_t m, int64_t n, int64_t k, int64_t columns = 16);

/// With what a hardware constraint says beside the instruction.
Kernel build(const Product &p, HardwareConstraint hardware = {});
CompileOptions optionsOf(const Product &p);

/// Small integers: every sum is exact.
struct Data {
  DType type;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
  std::vector<int> values;

  Data(DType type, std::vector<int64_t> shape, unsigned seed);
  rt::Tensor tensor() { return rt::Tensor::dense(bytes.data(), type, shape); }
};

/// Runs it on small integers and compares every sum.
void expectRight(const CompiledKernel &run, const Product &p);
/// Compiled, run and held against the reference, at `further` sizes too; ptxas takes it as it is.
void check(const Product &p, const std::vector<Product> &further = {});

/// What the emulator reports of a machine form once `change` has been at it, which says how often: one tile, as many
/// workgroups as sum it, or one cluster that shares tiles.
std::vector<emu::FindingKind> findingsAfter(const Product &p, llvm::function_ref<int(machine::KernelOp)> change,
                                            uint64_t seed = 0);

/// What the emulator reports of the text of a machine form, changed and launched so.
std::vector<emu::FindingKind> findingsOf(const std::string &machine, const emu::LaunchConfig &launch,
                                         llvm::function_ref<int(machine::KernelOp)> change);

/// What the emulator reports of a machine form in which every `from` became `to`, and without ops of the name `erased`.
std::vector<emu::FindingKind> findingsWith(const Product &p, const std::string &from, const std::string &to,
                                           const std::string &erased = {});

} // namespace soliton::test
