//===- ConditionalTest.cpp - Branches that a whole workgroup takes ----------------------===//
#include "soliton/soliton.h"
#include "soliton/target/Target.h"

#include "gtest/gtest.h"

namespace soliton::test {
namespace {

class Conditional : public testing::TestWithParam<const Target *> {
protected:
  CompileOptions options(lang::Substitutions subs) const {
    CompileOptions options;
    options.target = GetParam()->name;
    options.subs = std::move(subs);
    options.device = "emulator";
    return options;
  }
};

/// Even workgroups negate, odd ones double.
TEST_P(Conditional, WorkgroupsTakeDifferentBranches) {
  auto [M] = symbols<"M">();
  Kernel k{"parity", {WorkgroupConstraint(M, 64, 0)}};
  auto a = k.memory("a", {M}, global, f32), b = k.memory("b", {M}, global, f32);
  Value x = read(a);
  write(k.conditional(sym::eq(sym::mod(workgroup_id(0), 2), 0), [&] { return -x; }, [&] { return x + x; }), b);
  for (int64_t size : {1, 64, 200, 257}) {
    std::vector<float> in(static_cast<size_t>(size)), out(in.size(), -1);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(i) + 0.5f;
    compile(k, options({{M, size}}))(rt::Tensor::of(in, {size}), rt::Tensor::of(out, {size}));
    for (size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(out[i], i / 64 % 2 == 0 ? -in[i] : 2 * in[i]) << size << ", " << i;
  }
}

/// The last iteration counts ten times; the trip count is known only at launch.
TEST_P(Conditional, AnIterationKnowsItsNumber) {
  auto [M, N] = symbols<"M N">();
  Kernel k{"last", {WorkgroupConstraint(M, 16, 0), TilingConstraint(N, 32)}};
  auto a = k.memory("a", {M, N}, global, f32), b = k.memory("b", {M}, global, f32);
  Value total = k.iterate(N, k.fill({M}, f32, 0.0), [&](Value acc) {
    Value part = sum(read(a), N);
    Value weighted = k.conditional(
        sym::eq(iteration(N), sym::ceildiv(N, 32) - 1), [&] { return part * 10.0f; }, [&] { return part; });
    return acc + weighted;
  });
  write(total, b);
  CompileOptions all = options({{M, 20}});
  all.dynamic = {N};
  CompiledKernel run = compile(k, all);
  for (int64_t size : {1, 32, 33, 100}) {
    std::vector<float> in(static_cast<size_t>(20 * size), 1), out(20, -1);
    run(rt::Tensor::of(in, {20, size}), rt::Tensor::of(out, {20}));
    int64_t last = size - (size - 1) / 32 * 32;
    for (float value : out)
      ASSERT_EQ(value, static_cast<float>(size + 9 * last)) << size;
  }
}

/// Only the first workgroup writes.
TEST_P(Conditional, ABranchWithoutAnElse) {
  auto [M] = symbols<"M">();
  Kernel k{"first", {WorkgroupConstraint(M, 64, 0)}};
  auto a = k.memory("a", {M}, global, f32), b = k.memory("b", {M}, global, f32);
  k.conditional(sym::eq(workgroup_id(0), 0), [&] { write(read(a), b); });
  std::vector<float> in(130, 3), out(130, -1);
  compile(k, options({{M, 130}}))(rt::Tensor::of(in, {130}), rt::Tensor::of(out, {130}));
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], i < 64 ? 3.0f : -1.0f) << i;
}

INSTANTIATE_TEST_SUITE_P(All, Conditional, testing::ValuesIn(allTargets()),
                         [](const auto &each) { return each.param->name; });

} // namespace
} // namespace soliton::test
