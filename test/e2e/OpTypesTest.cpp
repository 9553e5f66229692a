//===- OpTypesTest.cpp - Every operation of every element type on every back end ------------------===//
//
// Each element-wise operation, comparison, selection, cast, reduction and scan of each element type: the compiler takes
// it for all targets or refuses it for all of them with the same id, before any back end sees it. What is taken
// assembles to cubins where there is an assembler, all operations of a type in one kernel; HSACO and PTX of each one
// are made by SolitonOpTypes (test/ops).
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/Backend.h"
#include "soliton/soliton.h"
#include "test/e2e/Support.h"

#include <functional>
#include <map>
#include <set>

namespace soliton::test {
namespace {

using Operation = std::function<Value(Value, Value)>;
struct Named {
  std::string name;
  Operation make;
};

std::vector<Named> unaries() {
  std::vector<Named> list;
  auto add = [&](const char *name, Value (*function)(const Value &, OpOptions, Place)) {
    list.push_back({name, [=](Value x, Value) { return function(x, {}, {}); }});
  };
#define SOLITON_ADD(NAME) add(#NAME, static_cast<Value (*)(const Value &, OpOptions, Place)>(&lang::NAME));
  SOLITON_ADD(abs)
  SOLITON_ADD(exp)
  SOLITON_ADD(exp2)
  SOLITON_ADD(log)
  SOLITON_ADD(log2)
  SOLITON_ADD(log10)
  SOLITON_ADD(sqrt)
  SOLITON_ADD(rsqrt)
  SOLITON_ADD(reciprocal)
  SOLITON_ADD(sin)
  SOLITON_ADD(cos)
  SOLITON_ADD(sinh)
  SOLITON_ADD(tanh)
  SOLITON_ADD(erf)
  SOLITON_ADD(cbrt)
  SOLITON_ADD(floor)
  SOLITON_ADD(ceil)
  SOLITON_ADD(round)
  SOLITON_ADD(roundeven)
#undef SOLITON_ADD
  list.push_back({"neg", [](Value x, Value) { return -x; }});
  list.push_back({"not", [](Value x, Value) { return ~x; }});
  return list;
}

std::vector<Named> binaries() {
  return {{"add", [](Value x, Value y) { return x + y; }},
          {"sub", [](Value x, Value y) { return x - y; }},
          {"mul", [](Value x, Value y) { return x * y; }},
          {"div", [](Value x, Value y) { return x / y; }},
          {"mod", [](Value x, Value y) { return x % y; }},
          {"floordiv", [](Value x, Value y) { return floordiv(x, y); }},
          {"maximum", [](Value x, Value y) { return maximum(x, y); }},
          {"minimum", [](Value x, Value y) { return minimum(x, y); }},
          {"and", [](Value x, Value y) { return x & y; }},
          {"or", [](Value x, Value y) { return x | y; }},
          {"xor", [](Value x, Value y) { return x ^ y; }},
          {"pow", [](Value x, Value y) { return pow(x, y); }},
          {"atan2", [](Value x, Value y) { return atan2(x, y); }},
          {"lt", [](Value x, Value y) { return select(x < y, x, y); }},
          {"le", [](Value x, Value y) { return select(x <= y, x, y); }},
          {"gt", [](Value x, Value y) { return select(x > y, x, y); }},
          {"ge", [](Value x, Value y) { return select(x >= y, x, y); }},
          {"eq", [](Value x, Value y) { return select(x == y, x, y); }},
          {"ne", [](Value x, Value y) { return select(x != y, x, y); }}};
}

/// Casts to every type and back, and bits as an integer and back.
std::vector<Named> casts() {
  std::vector<Named> list;
  for (DType to : {DType::i8, DType::i16, DType::i32, DType::i64})
    list.push_back(
        {"bits as " + std::string(name(to)), [to](Value x, Value) { return bitcast(bitcast(x, to) ^ 1, x.type()); }});
  for (DType to : allDTypes())
    if (to != DType::f8e8m0fnu)
      list.push_back(
          {"cast to " + std::string(name(to)), [to](Value x, Value) { return cast(cast(x, to), x.type()); }});
  return list;
}

std::vector<Named> operations() {
  std::vector<Named> list = unaries();
  for (const std::vector<Named> &more : {binaries(), casts()})
    list.insert(list.end(), more.begin(), more.end());
  return list;
}

constexpr const char *kTargets[] = {"gfx942", "gfx950", "sm_90a"};

/// A kernel of one tile of 64 × 32 that applies the operations to its two inputs, one output each.
CompileAttempt attempt(DType type, const std::vector<Named> &list, const char *target, rt::ImageKind kind) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"ops", {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 32, 1), WaveConstraint(M, 16)}};
  MemoryRef a = kernel.memory("a", {M, N}, global, type), b = kernel.memory("b", {M, N}, global, type);
  Value x = read(a), y = read(b);
  for (size_t i = 0; i < list.size(); ++i)
    write(list[i].make(x, y), kernel.memory("o" + std::to_string(i), {M, N}, global, type));
  CompileOptions options{.target = target, .subs = {{M, 64}, {N, 32}}};
  options.allowSpills = true; // all operations at once need many registers
  return compileImage(kernel, options, kind);
}

struct Reduction {
  const char *name;
  std::function<Value(Value, Expr)> make;
};

const std::vector<Reduction> &reductions() {
  static const std::vector<Reduction> list = {
      {"sum", [](Value x, Expr dim) { return sum(x, dim); }},
      {"max", [](Value x, Expr dim) { return max(x, dim); }},
      {"min", [](Value x, Expr dim) { return min(x, dim); }},
      {"prod", [](Value x, Expr dim) { return prod(x, dim); }},
      {"any", [](Value x, Expr dim) { return any(x, dim); }},
      {"all", [](Value x, Expr dim) { return all(x, dim); }},
      {"argmax", [](Value x, Expr dim) { return argmax(x, dim).value; }},
      {"place of the largest", [](Value x, Expr dim) { return cast(argmax(x, dim).index, x.type()); }},
      {"place of the smallest", [](Value x, Expr dim) { return cast(argmin(x, dim).index, x.type()); }},
      {"cumsum", [](Value x, Expr dim) { return max(cumsum(x, dim), dim); }},
      {"cumprod", [](Value x, Expr dim) { return max(cumprod(x, dim), dim); }},
      {"cummax", [](Value x, Expr dim) { return min(cummax(x, dim), dim); }},
      {"cummin", [](Value x, Expr dim) { return max(cummin(x, dim), dim); }}};
  return list;
}

/// The same for reductions of rows.
CompileAttempt attemptReduce(DType type, const std::vector<Reduction> &list, const char *target, rt::ImageKind kind) {
  auto [M, N] = symbols<"M N">();
  Kernel kernel{"reduce", {WorkgroupConstraint(M, 64, 0), WaveConstraint(M, 16)}};
  Value x = read(kernel.memory("a", {M, N}, global, type));
  for (size_t i = 0; i < list.size(); ++i)
    write(list[i].make(x, N), kernel.memory("o" + std::to_string(i), {M}, global, type));
  CompileOptions options{.target = target, .subs = {{M, 64}, {N, 32}}};
  options.allowSpills = list.size() > 1;
  return compileImage(kernel, options, kind);
}

std::set<std::string> idsOf(const CompileAttempt &attempt) {
  std::set<std::string> ids;
  for (const Diagnostic &diagnostic : attempt.diagnostics)
    if (diagnostic.severity == Severity::error)
      ids.insert(std::string(idText(diagnostic.id)));
  return ids;
}

/// Taken by all targets, or refused by all with one set of ids; whether it was taken.
template <typename F>
bool agree(const std::string &what, F attemptFor) {
  std::set<std::string> first;
  bool taken = false;
  for (const char *target : kTargets) {
    CompileAttempt found = attemptFor(target);
    std::set<std::string> ids = idsOf(found);
    if (target == kTargets[0]) {
      first = ids;
      taken = static_cast<bool>(found);
    }
    EXPECT_EQ(ids, first) << what << " on " << target << "\n" << format(found.diagnostics);
    EXPECT_FALSE(ids.contains("backend-unsupported")) << what << " on " << target << "\n" << format(found.diagnostics);
    EXPECT_EQ(static_cast<bool>(found), taken) << what << " on " << target;
  }
  return taken;
}

/// Those for which an assembler says more than the compiler of the table did.
std::vector<const char *> assembledTargets() {
  std::vector<const char *> list;
  for (const char *target : kTargets)
    if (findTarget(target)->vendor == Vendor::nvidia && backend::findPtxas())
      list.push_back(target);
  return list;
}

/// All that was taken, in one kernel; if that does not assemble, which of them does not.
template <typename List, typename F>
void checkAssembled(DType type, const List &taken, F attemptAll) {
  for (const char *target : assembledTargets()) {
    if (taken.empty())
      break;
    CompileAttempt all = attemptAll(type, taken, target, rt::ImageKind::cubin);
    EXPECT_TRUE(all) << name(type) << " on " << target << "\n" << format(all.diagnostics);
    if (all)
      continue;
    for (const auto &one : taken)
      if (CompileAttempt found = attemptAll(type, {one}, target, rt::ImageKind::cubin); !found)
        ADD_FAILURE() << one.name << " of " << name(type) << " on " << target << "\n" << format(found.diagnostics);
  }
}

class OpTypes : public testing::TestWithParam<DType> {};

TEST_P(OpTypes, CompileForEveryTargetOrForNone) {
  DType type = GetParam();
  std::vector<Named> taken;
  for (const Named &operation : operations()) {
    std::string what = operation.name + " of " + std::string(name(type));
    if (agree(what, [&](const char *target) { return attempt(type, {operation}, target, rt::ImageKind::emulator); }))
      taken.push_back(operation);
  }
  checkAssembled(type, taken, attempt);
}

TEST_P(OpTypes, ReduceForEveryTargetOrForNone) {
  DType type = GetParam();
  std::vector<Reduction> taken;
  for (const Reduction &one : reductions()) {
    std::string what = one.name + (" of " + std::string(name(type)));
    if (agree(what, [&](const char *target) { return attemptReduce(type, {one}, target, rt::ImageKind::emulator); }))
      taken.push_back(one);
  }
  checkAssembled(type, taken, attemptReduce);
}

/// The scale format has no arithmetic; one kind of f6 goes the way of the other.
std::vector<DType> types() {
  std::vector<DType> list = allDTypes();
  std::erase(list, DType::f8e8m0fnu);
  std::erase(list, DType::f6e3m2fn);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, OpTypes, testing::ValuesIn(types()),
                         [](const auto &info) { return std::string(name(info.param)); });

} // namespace
} // namespace soliton::test
