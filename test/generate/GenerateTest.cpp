#include "soliton/support/Float.h"
#include "test/generate/Coverage.h"
#include "test/generate/Evaluate.h"
#include "test/generate/Judge.h"
#include "test/generate/Random.h"
#include "test/generate/Registers.h"
#include "test/generate/Shrink.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

namespace soliton::generate {
namespace {

/// b[M] = f(a[M]), M of a size that one workgroup's tile of 4 does not divide.
Program elementwise(Element type, int64_t size, int64_t tile) {
  Program program;
  program.dims = {{"M", size}};
  program.workgroups = {{"M", tile, 0}};
  program.memories = {{.name = "a", .shape = {Formula::symbol("M")}, .type = type},
                      {.name = "b", .shape = {Formula::symbol("M")}, .type = type, .data = Data::output}};
  program.targets = {"gfx942", "gfx950", "sm_90a"};
  int value = program.addValue({{"M"}, type});
  program.body.ops = {Op{.kind = OpKind::read, .results = {value}, .memory = 0},
                      Op{.kind = OpKind::write, .operands = {value}, .memory = 1}};
  return program;
}

Bytes encoded(Element type, const std::vector<double> &numbers) {
  Storage storage({static_cast<int64_t>(numbers.size())}, type);
  Bytes bytes(storage.bytes());
  for (size_t i = 0; i < numbers.size(); ++i)
    storage.store(bytes, {static_cast<int64_t>(i)}, encode(type, numbers[i]));
  return bytes;
}
std::vector<double> decoded(Element type, const Bytes &bytes, int64_t count) {
  Storage storage({count}, type);
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(decode(type, storage.load(bytes, {i})));
  return numbers;
}
std::vector<double> resultOf(const Program &program, const std::vector<Bytes> &inputs, Element type, int64_t count) {
  return decoded(type, evaluate(program, inputs).back(), count);
}

//===-- Numbers ---------------------------------------------------------------------------------===//

DType dtypeOf(Element type) {
  return static_cast<DType>(type);
}
Element elementAt(int number) {
  return static_cast<Element>(number);
}

TEST(GenerateNumbers, ElementsAreInTheOrderOfTheLanguagesTypes) {
  for (int i = 0; i < kElements; ++i) {
    std::string mine(formatOf(elementAt(i)).name), theirs(name(dtypeOf(elementAt(i))));
    for (char &c : mine)
      c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(mine, theirs);
  }
  EXPECT_EQ(allDTypes().size(), static_cast<size_t>(kElements));
}

TEST(GenerateNumbers, EveryEncodingOfSmallTypesIsReadAsTheLanguageReadsIt) {
  for (int i = 0; i < kElements; ++i)
    for (uint64_t bits = 0; bitsOf(elementAt(i)) <= 16 && bits < uint64_t(1) << bitsOf(elementAt(i)); ++bits) {
      double mine = decode(elementAt(i), bits), theirs = soliton::decode(dtypeOf(elementAt(i)), bits);
      ASSERT_TRUE(mine == theirs || (std::isnan(mine) && std::isnan(theirs)))
          << name(dtypeOf(elementAt(i))) << " " << bits;
    }
}

TEST(GenerateNumbers, NumbersBetweenTwoOthersRoundAsTheLanguageRounds) {
  for (int i = 0; i < kElements; ++i) {
    Element type = elementAt(i);
    if (!isFloat(type) || type == Element::f64)
      continue;
    for (int64_t step = -4000; step <= 4000; ++step)
      for (double scale : {0x1p-130, 0x1p-20, 0x1p-9, 0.0625, 1.0, 37.0, 0x1p14}) {
        double value = static_cast<double>(step) * scale, mine = roundTo(type, value),
               theirs = soliton::roundTo(dtypeOf(type), value);
        ASSERT_TRUE(mine == theirs || (std::isnan(mine) && std::isnan(theirs)))
            << formatOf(type).name << " " << value << ": " << mine << " and " << theirs;
      }
  }
}

TEST(GenerateNumbers, ExactLimitsAreExact) {
  for (int i = 0; i < kElements; ++i)
    if (Element type = elementAt(i); isFloat(type) && type != Element::f8e8m0fnu && bitsOf(type) <= 16) {
      for (int64_t value = 0; value <= static_cast<int64_t>(exactLimit(type)); ++value)
        ASSERT_EQ(roundTo(type, static_cast<double>(value)), static_cast<double>(value)) << formatOf(type).name;
      EXPECT_NE(roundTo(type, exactLimit(type) + 1), exactLimit(type) + 1) << formatOf(type).name;
    }
}

TEST(GenerateNumbers, RowsOfPackedTypesStartOnBytes) {
  EXPECT_EQ(Storage({3, 5}, Element::i4).bytes(), 9u);
  EXPECT_EQ(Storage({2, 4}, Element::f6e2m3fn).bytes(), 6u);
  EXPECT_EQ(Storage({2, 3}, Element::i1).bytes(), 6u);
  Storage storage({2, 3}, Element::i4);
  Bytes bytes(storage.bytes());
  storage.store(bytes, {1, 1}, 0xd);
  EXPECT_EQ(bytes, (Bytes{0, 0, 0xd0, 0}));
}

TEST(GenerateFormulas, DivisionRoundsDown) {
  Formula x = Formula::symbol("x");
  auto at = [](const Formula &formula, int64_t value) {
    return valueOf(formula, [=](const std::string &) { return value; });
  };
  EXPECT_EQ(at(floordiv(x, 4), -1), -1);
  EXPECT_EQ(at(mod(x, 4), -1), 3);
  EXPECT_EQ(at(mod(x, -4), 1), -3);
  EXPECT_EQ(at(ceildiv(x, 4), 5), 2);
  EXPECT_EQ(textOf(mod(x + 32, 64)), "mod((x + 32), 64)");
}

//===-- The evaluator ---------------------------------------------------------------------------===//

TEST(GenerateEvaluate, CopiesAllWorkgroups) {
  Program program = elementwise(Element::f32, 6, 4);
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {1, 2, 3, 4, 5, 6}), Bytes(24)}, Element::f32, 6),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(GenerateEvaluate, PlacesOutsideTheMemoryReadZeroAndAreNotWritten) {
  Program program = elementwise(Element::f32, 4, 4);
  program.body.ops[0].indices = {{Formula::symbol("$index0") - 1}};
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {1, 2, 3, 4}), Bytes(16)}, Element::f32, 4),
            (std::vector<double>{0, 1, 2, 3}));
  program = elementwise(Element::f32, 4, 4);
  program.body.ops[1].indices = {{Formula::symbol("$index0") + 2}};
  EXPECT_EQ(
      resultOf(program, {encoded(Element::f32, {1, 2, 3, 4}), encoded(Element::f32, {9, 9, 9, 9})}, Element::f32, 4),
      (std::vector<double>{9, 9, 1, 2}));
}

TEST(GenerateEvaluate, ReductionsSkipWhatIsOutsideTheirDimension) {
  Program program = elementwise(Element::f32, 3, 3);
  program.dims.push_back({"N", 3});
  program.workgroups.push_back({"N", 4, 1});
  program.memories[0].shape.push_back(Formula::symbol("N"));
  program.values[0].dims = {"M", "N"};
  int result = program.addValue({{"M"}, Element::f32});
  program.body.ops.insert(program.body.ops.begin() + 1,
                          Op{.kind = OpKind::reduce, .operands = {0}, .results = {result}, .word = "max", .dim = "N"});
  program.body.ops.back().operands = {result};
  EXPECT_EQ(
      resultOf(program, {encoded(Element::f32, {-1, -2, -3, -4, -5, -6, -7, -8, -9}), Bytes(12)}, Element::f32, 3),
      (std::vector<double>{-1, -4, -7}));
}

/// A copy of rows of three, of which tiles have four, where the op comes between read and write.
Program rowsThrough(Op op, std::vector<ValueType> results, size_t written) {
  Program program = elementwise(Element::f32, 3, 3);
  program.dims.push_back({"N", 3});
  program.workgroups.push_back({"N", 4, 1});
  program.memories[0].shape.push_back(Formula::symbol("N"));
  program.values[0].dims = {"M", "N"};
  op.operands = {0};
  op.dim = "N";
  for (ValueType &result : results)
    op.results.push_back(program.addValue(std::move(result)));
  const ValueType out = program.values[static_cast<size_t>(op.results[written])];
  program.memories[1].shape.clear();
  for (const std::string &dim : out.dims)
    program.memories[1].shape.push_back(Formula::symbol(dim));
  program.memories[1].type = out.element;
  program.body.ops.back().operands = {op.results[written]};
  program.body.ops.insert(program.body.ops.begin() + 1, std::move(op));
  return program;
}

TEST(GenerateEvaluate, ScansGoAlongTheirDimension) {
  Program program = rowsThrough({.kind = OpKind::scan, .word = "sum"}, {{{"M", "N"}, Element::f32}}, 0);
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {1, 2, 3, 4, 5, 6, 7, 8, 9}), Bytes(36)}, Element::f32, 9),
            (std::vector<double>{1, 3, 6, 4, 9, 15, 7, 15, 24}));
}

TEST(GenerateEvaluate, TheFirstOfEqualExtremesIsFoundAndNothingBeyondTheRow) {
  Program program =
      rowsThrough({.kind = OpKind::argReduce, .word = "max"}, {{{"M"}, Element::f32}, {{"M"}, Element::i32}}, 1);
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(
      resultOf(program, {encoded(Element::f32, {-1, -2, -1, -4, -3, -6, -7, NAN, NAN}), Bytes(12)}, Element::i32, 3),
      (std::vector<double>{0, 1, 1}));
}

TEST(GenerateEvaluate, RowsAreSortedWithoutWhatLiesBeyondThem) {
  Program program = rowsThrough({.kind = OpKind::sort, .word = "descending"}, {{{"M", "N"}, Element::f32}}, 0);
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {-1, -2, -3, 5, 4, 6, 7, 7, 9}), Bytes(36)}, Element::f32, 9),
            (std::vector<double>{-1, -2, -3, 6, 5, 4, 9, 7, 7}));
}

TEST(GenerateEvaluate, ElementsThatMoveAreZeroBeyondTheEnd) {
  // Of tiles of four the last element is no element of the row.
  Op op{.kind = OpKind::rearrange, .indices = {{Formula::symbol("$index0"), Formula(3) - Formula::symbol("$index1")}}};
  Program program = rowsThrough(std::move(op), {{{"M", "N"}, Element::f32}}, 0);
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {1, 2, 3, 4, 5, 6, 7, 8, 9}), Bytes(36)}, Element::f32, 9),
            (std::vector<double>{0, 3, 2, 0, 6, 5, 0, 9, 8}));
}

/// b = what the op makes of a[M], of six elements in one tile of eight, along an own dimension `P` of this size.
std::vector<double> movedTo(Op op, int64_t size, Element type = Element::f32, Element result = Element::f32) {
  Program program = elementwise(type, 6, 8);
  program.dims.push_back({.name = "P", .size = size, .own = true});
  program.memories[1] = {.name = "b", .shape = {Formula::symbol("P")}, .type = result, .data = Data::output};
  op.operands.insert(op.operands.begin(), 0);
  op.results = {program.addValue({{"P"}, result})};
  program.body.ops.back().operands = op.results;
  program.body.ops.insert(program.body.ops.begin() + 1, std::move(op));
  EXPECT_EQ(findMistake(program), std::nullopt);
  Bytes out(static_cast<size_t>(size) * static_cast<size_t>(bitsOf(result)) / 8);
  return resultOf(program, {encoded(type, {1, 2, 3, 4, 5, 6}), out}, result, size);
}

TEST(GenerateEvaluate, SlicesAreZeroBeforeAndBehindTheirTensor) {
  Formula place = Formula(2) * Formula::symbol("$index0") - 1;
  EXPECT_EQ(movedTo({.kind = OpKind::rearrange, .indices = {{place}}}, 5), (std::vector<double>{0, 2, 4, 6, 0}));
  EXPECT_EQ(movedTo({.kind = OpKind::rearrange}, 8), (std::vector<double>{1, 2, 3, 4, 5, 6, 0, 0}));
}

TEST(GenerateEvaluate, PiecesLieOneBehindTheOtherAndEndWithTheirTensor) {
  Op twice{.kind = OpKind::concatenate, .operands = {0}, .dim = "P", .along = {"M", "M"}};
  EXPECT_EQ(movedTo(twice, 16), (std::vector<double>{1, 2, 3, 4, 5, 6, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0}));
}

TEST(GenerateEvaluate, TheFirstElementOfAGroupHasTheLowestBits) {
  Program program = elementwise(Element::i16, 4, 4);
  program.memories[1].type = Element::i8;
  program.memories[0].shape = {floordiv(Formula::symbol("M"), 2)};
  program.values[0] = {{"M/2"}, Element::i16};
  int bytes = program.addValue({{"M"}, Element::i8});
  program.body.ops.insert(program.body.ops.begin() + 1,
                          Op{.kind = OpKind::bitcast, .operands = {0}, .results = {bytes}});
  program.body.ops.back().operands = {bytes};
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::i16, {0x0102, -2}), Bytes(4)}, Element::i8, 4),
            (std::vector<double>{2, 1, -2, -1}));
}

TEST(GenerateEvaluate, LanesWithoutASourceKeepWhatTheyHave) {
  auto shuffled = [](const std::string &mode, double by) {
    Program program = elementwise(Element::i32, 4, 4);
    int result = program.addValue({{"M"}, Element::i32});
    program.body.ops.insert(
        program.body.ops.begin() + 1,
        Op{.kind = OpKind::shuffle, .operands = {0}, .results = {result}, .word = mode, .dim = "M", .number = by});
    program.body.ops.back().operands = {result};
    return resultOf(program, {encoded(Element::i32, {1, 2, 3, 4}), Bytes(16)}, Element::i32, 4);
  };
  EXPECT_EQ(shuffled("up", 1), (std::vector<double>{1, 1, 2, 3}));
  EXPECT_EQ(shuffled("down", 3), (std::vector<double>{4, 2, 3, 4}));
  EXPECT_EQ(shuffled("bfly", 1), (std::vector<double>{2, 1, 4, 3}));
  EXPECT_EQ(shuffled("bfly", 5), (std::vector<double>{1, 2, 3, 4}));
}

TEST(GenerateEvaluate, LoopsAlongNoDimensionEndWhereDataSay) {
  // Three iterations of one added, then the exit.
  Program program = elementwise(Element::i32, 2, 2);
  auto tile = [&] { return program.addValue({{"M"}, Element::i32}); };
  int carried = tile(), sum = tile(), result = tile();
  Block body{{carried},
             {Op{.kind = OpKind::binary, .operands = {carried, 0}, .results = {sum}, .word = "add"},
              Op{.kind = OpKind::exit, .formula = Formula::of(FormulaKind::lt, {Formula::symbol("$ARG_WHILE_1"), 2})}},
             {sum}};
  Op loop{.kind = OpKind::iterate, .operands = {0}, .results = {result}, .word = "WHILE_1", .formula = Formula(1000)};
  loop.blocks = {body};
  program.body.ops.insert(program.body.ops.begin() + 1, loop);
  program.body.ops.back().operands = {result};
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::i32, {1, 5}), Bytes(8)}, Element::i32, 2),
            (std::vector<double>{4, 20}));
}

TEST(GenerateEvaluate, ModulusHasTheSignOfTheDivisor) {
  for (Element type : {Element::f32, Element::i32}) {
    Program program = elementwise(type, 4, 4);
    int three = program.addValue({{"M"}, type}), rest = program.addValue({{"M"}, type});
    program.body.ops.insert(program.body.ops.begin() + 1,
                            {Op{.kind = OpKind::fill, .results = {three}, .number = 3},
                             Op{.kind = OpKind::binary, .operands = {0, three}, .results = {rest}, .word = "mod"}});
    program.body.ops.back().operands = {rest};
    EXPECT_EQ(resultOf(program, {encoded(type, {7, -7, -3, 0}), Bytes(16)}, type, 4),
              (std::vector<double>{1, 2, 0, 0}));
  }
}

TEST(GenerateEvaluate, LoopsOnOneAxisHideEachOther) {
  // The sum over an outer and an inner loop of tile k, where the last read is the outer's: 2 * (1 + … + 4) + (1 + … +
  // 4).
  Program program = elementwise(Element::f32, 1, 1);
  program.dims.push_back({"K", 4});
  program.tilings = {{"K", 2}};
  program.memories[0].shape = {Formula::symbol("K")};
  program.values = {};
  auto scalarOfM = [&] { return program.addValue({{"M"}, Element::f32}); };
  int zero = scalarOfM(), outer = scalarOfM(), inner = scalarOfM(), afterInner = scalarOfM(), afterOuter = scalarOfM(),
      sum = scalarOfM();
  auto sumOfTile = [&](int acc, int result) -> std::vector<Op> {
    int tile = program.addValue({{"K"}, Element::f32}), wide = program.addValue({{"M", "K"}, Element::f32});
    return {Op{.kind = OpKind::read, .results = {tile}, .memory = 0},
            Op{.kind = OpKind::broadcast, .operands = {tile}, .results = {wide}},
            Op{.kind = OpKind::reduce, .operands = {wide, acc}, .results = {result}, .word = "sum", .dim = "K"}};
  };
  int innerSum = scalarOfM();
  Op second{.kind = OpKind::iterate,
            .operands = {outer},
            .results = {afterInner},
            .word = "K",
            .blocks = {{{inner}, sumOfTile(inner, innerSum), {innerSum}}}};
  Block body{{outer}, {second}, {sum}};
  for (Op &op : sumOfTile(afterInner, sum))
    body.ops.push_back(op);
  program.body.ops = {
      Op{.kind = OpKind::fill, .results = {zero}},
      Op{.kind = OpKind::iterate, .operands = {zero}, .results = {afterOuter}, .word = "K", .blocks = {body}},
      Op{.kind = OpKind::write, .operands = {afterOuter}, .memory = 1}};
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(resultOf(program, {encoded(Element::f32, {1, 2, 3, 4}), Bytes(4)}, Element::f32, 1),
            (std::vector<double>{30}));
}

//===-- The generator ---------------------------------------------------------------------------===//

TEST(GenerateRandom, ASeedAlwaysGivesTheSameKernel) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Program first = randomProgram(seed), second = randomProgram(seed);
    ASSERT_EQ(print(first, "gfx942"), print(second, "gfx942"));
    ASSERT_EQ(inputsOf(first), inputsOf(second));
  }
}

TEST(GenerateRandom, KernelsAreWellFormed) {
  for (uint64_t seed = 0; seed < 2000; ++seed)
    ASSERT_EQ(findMistake(randomProgram(seed)), std::nullopt) << seed << "\n" << print(randomProgram(seed), "gfx942");
}

TEST(GenerateRandom, FeaturesThatAreLeftOutDoNotOccur) {
  for (uint64_t seed = 0; seed < 300; ++seed)
    for (const std::string &feature : randomProgram(seed, {.without = {"mma", "loop", "type.f8"}}).features) {
      EXPECT_FALSE(feature.starts_with("mma") || feature.starts_with("loop") || feature.starts_with("type.f8"))
          << feature;
    }
}

/// Workgroups that are counted along a workgroup dimension.
int64_t workgroupsAlong(const Program &program, int workgroupDim) {
  int64_t count = 1;
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.primary && each.workgroupDim == workgroupDim)
      count *= sizeOf(program, each.iters ? *each.iters : ceildiv(Formula::symbol(each.dim), each.tile));
  return count;
}

/// Where the parts of all workgroups along its workgroup dimension start; throws where one has no start.
std::vector<int64_t> startsOf(const Program &program, const WorkgroupConstraint &constraint) {
  std::vector<int64_t> starts;
  for (int64_t id = 0; id < workgroupsAlong(program, constraint.workgroupDim); ++id)
    starts.push_back(valueOf(
        *constraint.apply, [&](const std::string &name) { return name == "$WG" ? id : program.findDim(name)->size; }));
  return starts;
}

TEST(GenerateRandom, NoTwoWorkgroupsHaveOnePartOfADimensionThatCountsThem) {
  int multiplied = 0, empty = 0;
  for (uint64_t seed = 10000; seed < 20000; ++seed) {
    Program program = randomProgram(seed, {.only = {"dims", "size", "workgroup", "apply"}});
    multiplied += program.features.contains("workgroup.product") && program.features.contains("apply.rotated");
    for (const WorkgroupConstraint &each : program.workgroups) {
      if (!each.apply)
        continue;
      std::vector<int64_t> starts = startsOf(program, each);
      std::set<int64_t> different(starts.begin(), starts.end());
      EXPECT_TRUE(!each.primary || different.size() == starts.size()) << seed << ": " << textOf(*each.apply);
      empty += !each.primary && program.findDim(each.dim)->size == 0;
    }
  }
  EXPECT_GT(multiplied, 0);
  EXPECT_GT(empty, 0);
}

TEST(GenerateRandom, EveryDimensionCountAndTypeOccurs) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < 3000; ++seed)
    seen.merge(randomProgram(seed).features);
  for (const char *feature : {"dims.1",
                              "dims.2",
                              "dims.3",
                              "dims.4",
                              "dims.5",
                              "workgroup.3",
                              "workgroup.4",
                              "alias",
                              "grid",
                              "reordering",
                              "tiling.iters",
                              "tiling.start",
                              "workgroup.iters",
                              "workgroup.apply",
                              "workgroup.shared",
                              "read.gather",
                              "write.scatter",
                              "loop.nested",
                              "loop.nested-same",
                              "conditional",
                              "mma.1",
                              "mma.2",
                              "mma.3",
                              "batch.tile.more",
                              "reduce.inner",
                              "shared.author",
                              "barrier.author",
                              "wait.author",
                              "outputs.several",
                              "memory.written-and-read",
                              "size.dynamic",
                              "direct-copies",
                              "type.i1",
                              "type.i4",
                              "type.f4e2m1fn",
                              "type.f6e2m3fn",
                              "type.index",
                              "read.bounds",
                              "write.bounds"})
    EXPECT_TRUE(seen.contains(feature)) << feature;
}

//===-- Registers -------------------------------------------------------------------------------===//

TEST(GenerateRegisters, TilesThatLiveTogetherAreAddedAndWavesShareThem) {
  // a[M] is alive while b = cast(a) is made, and not any more when b is written.
  Program program = elementwise(Element::f32, 256, 256);
  EXPECT_EQ(registersOf(program), 256 / 32);
  int wide = program.addValue({{"M"}, Element::f64});
  program.body.ops.insert(program.body.ops.begin() + 1, Op{.kind = OpKind::cast, .operands = {0}, .results = {wide}});
  program.body.ops.back().operands = {wide};
  EXPECT_EQ(registersOf(program), 256 / 32 * 3);
  program.waves = {{"M", 64}};
  EXPECT_EQ(registersOf(program), 64 / 32 * 3);
}

TEST(GenerateRegisters, WhatALoopUsesLivesUntilItEnds) {
  Program program = elementwise(Element::f32, 32, 32);
  program.dims.push_back({"K", 4});
  program.tilings = {{"K", 1}};
  auto tile = [&] { return program.addValue({{"M"}, Element::f32}); };
  int zero = tile(), carried = tile(), sum = tile(), last = tile(), result = tile();
  // In the loop: the value from outside, what is carried, and either the sum or what follows it.
  Block body{{carried},
             {Op{.kind = OpKind::binary, .operands = {carried, 0}, .results = {sum}, .word = "add"},
              Op{.kind = OpKind::unary, .operands = {sum}, .results = {last}, .word = "neg"}},
             {last}};
  program.body.ops = {
      program.body.ops[0], Op{.kind = OpKind::fill, .results = {zero}},
      Op{.kind = OpKind::iterate, .operands = {zero}, .results = {result}, .word = "K", .blocks = {body}},
      Op{.kind = OpKind::write, .operands = {result}, .memory = 1}};
  ASSERT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(registersOf(program), 3);
}

TEST(GenerateRegisters, SteeredKernelsFitIntoThoseOfALane) {
  for (uint64_t seed = 1000; seed < 3000; ++seed)
    EXPECT_LE(registersOf(randomProgram(seed)), 200) << seed;
}

TEST(GenerateRandom, SteeredKernelsWriteNoPackedTileThatLanesMaySplit) {
  for (uint64_t seed = 1000; seed < 3000; ++seed) {
    Program program = randomProgram(seed);
    bool split = false;
    forEachOp(program.body, [&](const Op &op) {
      if (op.kind != OpKind::read && op.kind != OpKind::write)
        return;
      const Memory &memory = program.memories[static_cast<size_t>(op.memory)];
      bool mapped = op.indices || op.bounds || op.elementsPerThread;
      if (bitsOf(memory.type) == 6 && op.kind == OpKind::read)
        EXPECT_FALSE(mapped || memory.shared) << seed;
      if (bitsOf(memory.type) == 4 && op.kind == OpKind::write)
        EXPECT_FALSE(split) << seed;
      split |= bitsOf(memory.type) == 4 && op.kind == OpKind::read && mapped;
    });
  }
}

//===-- Coverage --------------------------------------------------------------------------------===//

TEST(GenerateCoverage, FineNamesBringTheirCoarseOnes) {
  EXPECT_EQ(coveredBy({"dims.2", "carried.3", "function.cbrt", "type.f8e5m2"}),
            (std::set<std::string>{"dims.2", "carried.several", "function", "type.f8"}));
  // One that is in the table itself does not bring what it begins with.
  EXPECT_EQ(coveredBy({"loop.nested"}), std::set<std::string>{"loop.nested"});
  EXPECT_EQ(coveredBy({"grid.every-dimension"}), std::set<std::string>{"grid.every-dimension"});
}

TEST(GenerateCoverage, PairsThatNeverMeetSayWhy) {
  EXPECT_EQ(whyNever("dims.1", "dims.2"), "a kernel has one number of dimensions");
  EXPECT_EQ(whyNever("loop", "dims.1"), whyNever("dims.1", "schedule.list"));
  EXPECT_FALSE(whyNever("loop", "dims.2"));
  EXPECT_FALSE(whyNever("grid", "waves"));
}

TEST(GenerateCoverage, SteeredSeedsBringFeaturesTogetherThatSeldomMeet) {
  std::map<std::pair<std::string, std::string>, int> met;
  for (uint64_t seed = kFirstStrides; seed < kFirstStrides + 3000; ++seed) {
    std::set<std::string> features = coveredBy(randomProgram(seed).features);
    for (const std::string &a : features)
      for (const std::string &b : features)
        ++met[{a, b}];
  }
  size_t missed = 0, possible = 0;
  std::map<std::string, int> rare;
  const std::vector<std::string> &all = coveredFeatures();
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = i + 1; j < all.size(); ++j)
      if (!whyNever(all[i], all[j])) {
        ++possible;
        if (met[{all[i], all[j]}])
          continue;
        ++missed;
        ++rare[all[i]];
        ++rare[all[j]];
      }
  std::string lacking;
  for (const auto &[feature, count] : rare)
    if (count >= 8)
      lacking += " " + feature + " " + std::to_string(count);
  EXPECT_LT(missed, possible / 50) << "seldom meet others:" << lacking;
}

TEST(GenerateCoverage, WhateverTheLanguageHasOccursAmongTheFirstSeedsOfTheLastRange) {
  std::map<std::string, int> seen;
  for (uint64_t seed = kFirstStrides; seed < kFirstStrides + 2000; ++seed) {
    Program program = randomProgram(seed);
    ASSERT_EQ(findMistake(program), std::nullopt) << seed << "\n" << print(program, "gfx942");
    for (const std::string &target : program.targets)
      ASSERT_EQ(findMistake(forTarget(program, target)), std::nullopt) << seed << " " << target;
    for (const std::string &feature : coveredBy(program.features))
      ++seen[feature];
  }
  for (const std::string &feature : coveredFeatures())
    EXPECT_GE(seen[feature], 25) << feature;
}

TEST(GenerateRandom, WavesHaveAsManyLanesAsTheTarget) {
  int kernels = 0;
  for (uint64_t seed = kFirstEverything; seed < kFirstEverything + 200; ++seed) {
    Program program = randomProgram(seed);
    if (!program.threads)
      continue;
    ++kernels;
    for (const char *target : {"gfx942", "sm_90a"}) {
      Program own = forTarget(program, target);
      EXPECT_EQ(own.findDim(kLanes)->size, target == std::string("sm_90a") ? 32 : 64);
      EXPECT_EQ(own.findDim(kWaves)->size * own.findDim(kLanes)->size, *program.threads);
      EXPECT_EQ(tileOf(own, kWaves), own.findDim(kWaves)->size);
    }
  }
  EXPECT_GT(kernels, 20);
}

TEST(GenerateInputs, RealNumbersAreNoIntegersAndSumsMayDifferByTheirRoundings) {
  Program program = elementwise(Element::f32, 64, 64);
  program.memories[0].data = Data::reals;
  int whole = 0;
  for (double each : decoded(Element::f32, inputsOf(program)[0], 64)) {
    EXPECT_LE(std::fabs(each), 1);
    whole += each == std::trunc(each);
  }
  EXPECT_LT(whole, 2);
  program.memories[0].data = Data::output;
  std::vector<Bytes> is = {encoded(Element::f32, std::vector<double>(64, 1)),
                           encoded(Element::f32, std::vector<double>(64, 1))},
                     near = is;
  near[1] = encoded(Element::f32, std::vector<double>(64, 1 + 1e-6));
  EXPECT_TRUE(difference(program, is, near));
  program.memories[1].slack = 2e-6;
  EXPECT_FALSE(difference(program, is, near));
  program.memories[1].slack = 1e-7;
  EXPECT_TRUE(difference(program, is, near));
}

/// M rows of the same two elements, three apart.
Program repeated() {
  Program program = elementwise(Element::i32, 2, 2);
  program.dims.push_back({.name = "N", .size = 2});
  program.memories[0].shape = {Formula::symbol("M"), Formula::symbol("N")};
  program.memories[0].strides = {0, 3};
  program.memories[1].shape = program.memories[0].shape;
  program.memories[1].strides = {Formula::symbol("LD"), 2};
  program.dims.push_back({.name = "LD", .size = 7, .dynamic = true, .own = true, .isStride = true});
  program.values[0].dims = {"M", "N"};
  return program;
}

TEST(GenerateInputs, ElementsThatShareAPlaceAreOne) {
  Program program = repeated();
  EXPECT_EQ(findMistake(program), std::nullopt);
  EXPECT_EQ(placesOf(program, program.memories[0]), (std::vector<int64_t>{0, 3, 0, 3}));
  EXPECT_EQ(placesOf(program, program.memories[1]), (std::vector<int64_t>{0, 2, 7, 9}));
  Bytes in = inputsOf(program)[0];
  EXPECT_TRUE(std::equal(in.begin(), in.begin() + 8, in.begin() + 8));
}

TEST(GenerateJudge, WhatLiesBetweenElementsIsNobodys) {
  Verdict verdict = judge(repeated(), {});
  EXPECT_EQ(verdict.outcome, Outcome::accepted) << verdict.kind << " " << verdict.message;
  // Rows that overlap in what is written.
  Program wrong = repeated();
  wrong.dims.back().size = 2;
  EXPECT_EQ(judge(wrong, {}).kind, "emulator:argument-self-overlap");
}

TEST(GenerateJudge, WhatIsPrintedIsJudged) {
  Program program = elementwise(Element::f32, 6, 4);
  int printed = program.addValue({{"M"}, Element::f32});
  program.body.ops.insert(program.body.ops.begin() + 1,
                          Op{.kind = OpKind::print, .operands = {0}, .results = {printed}, .word = "x"});
  std::set<std::string> lines;
  evaluate(program, {encoded(Element::f32, {1, 2.5, -3, 4, 5, -0.0}), Bytes(24)}, &lines);
  EXPECT_EQ(lines, (std::set<std::string>{"x[M=0] = 1", "x[M=1] = 2.5", "x[M=2] = -3", "x[M=3] = 4", "x[M=4] = 5",
                                          "x[M=5] = 0"}));
  Verdict verdict = judge(program, {});
  EXPECT_EQ(verdict.outcome, Outcome::accepted) << verdict.kind << " " << verdict.message;
}

TEST(GenerateJudge, AcceptsAPlainCopyOnEveryTarget) {
  Verdict verdict = judge(elementwise(Element::f32, 70, 64), {.everyPass = true});
  EXPECT_EQ(verdict.outcome, Outcome::accepted) << verdict.kind << ": " << verdict.message;
}

TEST(GenerateJudge, FillsOfOneBitTakeTheLowestBit) {
  for (double number : {0, 1, 2, 3}) {
    Program program = elementwise(Element::i1, 6, 4);
    program.body.ops.front() = Op{.kind = OpKind::fill, .results = {0}, .number = number};
    Verdict verdict = judge(program, {.evaluate = true, .binaries = false});
    EXPECT_EQ(verdict.outcome, Outcome::accepted) << verdict.message;
  }
}

TEST(GenerateJudge, EveryKernelParses) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Verdict verdict = judge(randomProgram(seed, {.without = {"workgroup.3", "workgroup.4"}}), {.parseOnly = true});
    EXPECT_NE(verdict.outcome, Outcome::refused) << seed << ": " << verdict.message;
  }
  for (uint64_t seed = kFirstEverything; seed < kFirstEverything + 300; ++seed) {
    Verdict verdict = judge(randomProgram(seed), {.parseOnly = true});
    EXPECT_EQ(verdict.outcome, Outcome::accepted) << seed << ": " << verdict.message;
  }
}

//===-- The shrinker ----------------------------------------------------------------------------===//

TEST(GenerateShrink, LeavesWhatTheFailureNeedsAndNothingElse) {
  // An artificial failure: a reduction by `max` of f16 along a dimension that is not the last.
  auto fails = [](const Program &program) {
    bool found = false;
    forEachOp(program.body, [&](const Op &op) {
      if (op.kind == OpKind::reduce && op.word == "max") {
        const ValueType &source = program.values[static_cast<size_t>(op.operands[0])];
        found |= source.element == Element::f16 && source.dims.back() != op.dim;
      }
    });
    return found;
  };
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 4000 && shrunk < 3; ++seed) {
    Program program = randomProgram(seed);
    if (!fails(program))
      continue;
    ++shrunk;
    Program small = shrink(program, fails, 3000);
    ASSERT_TRUE(fails(small));
    size_t ops = 0;
    forEachOp(small.body, [&](const Op &) { ++ops; });
    EXPECT_LE(ops, 3u) << "read (or fill), reduce, write\n" << print(small, "gfx942");
    EXPECT_TRUE(small.waves.empty() && small.reorderings.empty() && small.schedule == "none") << print(small, "gfx942");
    for (const Dim &dim : small.dims)
      EXPECT_EQ(dim.size, 1) << print(small, "gfx942");
  }
  EXPECT_EQ(shrunk, 3);
}

} // namespace
} // namespace soliton::generate
