//===- EvalMma.cpp - Matrix products of one wave --------------------------===//
//
// Fragments are spread into small dense matrices by the kind's tables, multiplied there, and picked up again. The
// arithmetic is stated at MmaKind (Program.h).
//
//===----------------------------------------------------------------------===//
#include "soliton/emulator/Kernels.h"
#include "soliton/emulator/Numbers.h"
#include "soliton/emulator/Wave.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>

namespace soliton::emu {
namespace {

template <typename T>
void scatter(const Fragment &fragment, const T *values, std::vector<T> &matrix, size_t size) {
  matrix.assign(size, T(0));
  T *to = matrix.data();
  const uint32_t *element = fragment.element.data();
  for (size_t i = 0, e = fragment.element.size(); i < e; ++i)
    if (element[i] != kNoElement)
      to[element[i]] = values[i];
}

template <typename T>
void collect(const Fragment &fragment, const T *matrix, T *values) {
  for (size_t i = 0, e = fragment.element.size(); i < e; ++i)
    values[i] = fragment.element[i] == kNoElement ? T(0) : matrix[fragment.element[i]];
}

std::vector<float> &floats(Workgroup &group, char operand) {
  return operand == 'a' ? group.matrixA : operand == 'b' ? group.matrixB : group.matrixC;
}
std::vector<double> &doubles(Workgroup &group, char operand) {
  return operand == 'a' ? group.wideA : operand == 'b' ? group.wideB : group.wideC;
}
std::vector<int32_t> &ints(Workgroup &group, char operand) {
  return operand == 'a' ? group.intA : operand == 'b' ? group.intB : group.intC;
}

/// Products of two such numbers are exact in f32 and neither overflow nor underflow it.
bool hasExactProducts(DType type) {
  return type == DType::f16 || (bits(type) <= 8 && type != DType::f8e8m0fnu);
}

} // namespace

void toMatrix(Workgroup &group, char operand, DType type, const Fragment &fragment, const void *words, size_t size) {
  if (type == DType::f64)
    return scatter(fragment, static_cast<const double *>(words), doubles(group, operand), size);
  auto *bits = static_cast<const uint32_t *>(words);
  size_t count = fragment.element.size();
  if (group.conversion.size() < count)
    group.conversion.resize(count);
  if (isInteger(type)) {
    auto *values = reinterpret_cast<int32_t *>(group.conversion.data());
    toInts(type, bits, values, count);
    return scatter(fragment, values, ints(group, operand), size);
  }
  toFloats(type, bits, group.conversion.data(), count);
  scatter(fragment, group.conversion.data(), floats(group, operand), size);
}

void fromMatrix(Workgroup &group, DType type, const Fragment &fragment, void *words) {
  if (type == DType::f64)
    return collect(fragment, group.wideC.data(), static_cast<double *>(words));
  if (type == DType::i32)
    return collect(fragment, group.intC.data(), static_cast<int32_t *>(words));
  if (type == DType::f32)
    return collect(fragment, group.matrixC.data(), static_cast<float *>(words));
  if (group.conversion.size() < fragment.element.size())
    group.conversion.resize(fragment.element.size());
  collect(fragment, group.matrixC.data(), group.conversion.data());
  fromFloats(type, group.conversion.data(), static_cast<uint32_t *>(words), fragment.element.size());
}

void multiply(Workgroup &group, const MmaKind &kind, uint32_t rows) {
  if (kind.sumBits)
    return multiplyShort(group, kind, rows);
  int m = static_cast<int>(rows), n = static_cast<int>(kind.n), k = static_cast<int>(kind.k);
  bool exact = hasExactProducts(kind.a) && hasExactProducts(kind.b);
  for (uint32_t block = 0; block < kind.blocks; ++block) {
    size_t a = size_t(block) * rows * kind.k, b = size_t(block) * kind.k * kind.n, c = size_t(block) * rows * kind.n;
    if (kind.acc == DType::f64)
      kernels().productF64(&group.wideA[a], &group.wideB[b], &group.wideC[c], m, n, k);
    else if (kind.acc == DType::i32)
      kernels().productI32(&group.intA[a], &group.intB[b], &group.intC[c], m, n, k);
    else
      kernels().productF32(&group.matrixA[a], &group.matrixB[b], &group.matrixC[c], m, n, k, exact);
  }
}

namespace {

/// Scales of one operand as numbers, in the order of its elements.
std::vector<double> scalesOf(Wave &wave, Slot slot, const Fragment &fragment, size_t size) {
  const uint32_t *words = wave.read<uint32_t>(slot, true, 0);
  std::vector<double> scales(size, 1.0);
  for (size_t i = 0; i < fragment.element.size(); ++i)
    if (fragment.element[i] != kNoElement)
      scales[fragment.element[i]] = decode(DType::f8e8m0fnu, words[i] & 0xff);
  return scales;
}

void multiplyScaled(Wave &wave, const Instr &instr, const MmaKind &kind) {
  uint32_t blocks = kind.k / kind.scaleBlock;
  const uint32_t *slots = wave.program.pool.data() + instr.pool;
  std::vector<double> scaleA = scalesOf(wave, slots[0], kind.fragScaleA, size_t(kind.m) * blocks);
  std::vector<double> scaleB = scalesOf(wave, slots[1], kind.fragScaleB, size_t(kind.n) * blocks);
  Workgroup &group = wave.group;
  for (uint32_t i = 0; i < kind.m; ++i)
    for (uint32_t j = 0; j < kind.n; ++j) {
      float sum = group.matrixC[i * kind.n + j];
      for (uint32_t block = 0; block < blocks; ++block) {
        double dot = 0;
        for (uint32_t kk = block * kind.scaleBlock; kk < (block + 1) * kind.scaleBlock; ++kk)
          dot += static_cast<double>(group.matrixA[i * kind.k + kk]) * group.matrixB[kk * kind.n + j];
        double scale = scaleA[i * blocks + block] * scaleB[j * blocks + block];
        sum = static_cast<float>(std::fma(dot, scale, static_cast<double>(sum)));
      }
      group.matrixC[i * kind.n + j] = sum;
    }
}

/// The words of a slot with all lanes, of either width.
const void *wordsOf(Wave &wave, Slot slot) {
  if (wave.prepared.slots[slot].wide)
    return wave.read<uint64_t>(slot, true, 0);
  return wave.read<uint32_t>(slot, true, 0);
}

void evalMma(Wave &wave, const Instr &instr) {
  wave.requireConverged(instr);
  const MmaKind &kind = wave.program.mmaKinds[size_t(instr.imm)];
  Workgroup &group = wave.group;
  size_t blocks = kind.blocks;
  toMatrix(group, 'a', kind.a, kind.fragA, wordsOf(wave, instr.src[0]), blocks * kind.m * kind.k);
  toMatrix(group, 'b', kind.b, kind.fragB, wordsOf(wave, instr.src[1]), blocks * kind.k * kind.n);
  toMatrix(group, 'c', kind.acc, kind.fragAcc, wordsOf(wave, instr.src[2]), blocks * kind.m * kind.n);
  if (kind.scaleBlock)
    multiplyScaled(wave, instr, kind);
  else
    multiply(group, kind, kind.m);
  fromMatrix(group, kind.acc, kind.fragAcc, wave.words(instr.dst));
}

} // namespace

Handler mmaHandler(const Program &, const Instr &instr) {
  return instr.op == Op::Mma ? evalMma : evalMmaAsync;
}

} // namespace soliton::emu
