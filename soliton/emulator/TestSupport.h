//===- TestSupport.h - Small programs for the emulator's tests ------------===//
//
//   auto bits = evaluate([](Builder &b, Value lane) { return b.add(lane, lane); });   // bits[lane][element]
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/emulator/Builder.h"
#include "soliton/emulator/Machine.h"

#include <gtest/gtest.h>

namespace soliton::emu {

using Lanes = std::vector<std::vector<uint64_t>>;

/// Runs one wave that computes a value from its lane number; the element bits per lane.
inline Lanes evaluate(const std::function<Value(Builder &, Value)> &make, uint32_t waveSize = 64,
                      std::vector<uint8_t> input = {}, uint32_t sharedBytes = 0) {
  Builder b({.name = "evaluate", .waveSize = waveSize, .waves = 1, .sharedBytes = sharedBytes});
  uint32_t in = b.buffer("in"), out = b.buffer("out");
  (void)in;
  Value lane = b.id(IdKind::Lane);
  Value value = make(b, lane);
  uint32_t count = b.count(value);
  Value at = b.mul(lane, b.constant(DType::i32, count * 8));
  for (uint32_t e = 0; e < count; ++e)
    b.store(b.extract(value, e), {.region = out, .lane = at, .immediate = e * 8});
  std::vector<uint64_t> result(size_t(waveSize) * count);
  Program program = b.finish();
  Result r =
      run(program, {.buffers = {{input.data(), input.size()}, {result.data(), result.size() * 8}}, .checks = true});
  EXPECT_TRUE(r.ok()) << format(r) << disassemble(program);
  Lanes lanes(waveSize);
  for (uint32_t l = 0; l < waveSize; ++l)
    lanes[l].assign(result.begin() + l * count, result.begin() + (l + 1) * count);
  return lanes;
}

/// A value that differs between lanes: bits[lane % bits.size()].
inline Value table(Builder &b, Value lane, DType type, const std::vector<uint64_t> &bits) {
  Value result = b.constantBits(type, {bits[0]});
  Value index = b.binary(BinaryOp::RemU, lane, b.constant(DType::i32, static_cast<int64_t>(bits.size())));
  for (size_t i = 1; i < bits.size(); ++i)
    result = b.select(b.cmp(CmpOp::Eq, index, b.constant(DType::i32, static_cast<int64_t>(i))),
                      b.constantBits(type, {bits[i]}), result);
  // At least one operand differs between lanes even for a table of one entry.
  return bits.size() > 1 ? result : b.select(b.cmp(CmpOp::Sge, lane, b.constant(DType::i32, 0)), result, result);
}

inline std::vector<FindingKind> kindsOf(const Result &result) {
  std::vector<FindingKind> kinds;
  for (const Finding &finding : result.findings)
    kinds.push_back(finding.kind);
  return kinds;
}

/// Exactly one finding, of that kind.
inline testing::AssertionResult finds(const Result &result, FindingKind kind) {
  if (result.error.empty() && result.findings.size() == 1 && result.findings[0].kind == kind)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected one " << name(kind) << ", got:\n" << format(result);
}

} // namespace soliton::emu
