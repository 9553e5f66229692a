//===- OptionsTest.cpp - What options and launches say when they are wrong ------------------------===//
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/driver/Complaint.h"
#include "soliton/soliton.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace soliton {
namespace {

Kernel product() {
  auto [M, N, K] = symbols<"M N K">();
  Kernel g{"product",
           {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 32),
            WaveConstraint(M, 32), WaveConstraint(N, 32), HardwareConstraint{}}};
  auto a = g.memory("a", {M, K}, shared, f16), b = g.memory("b", {N, K}, shared, f16);
  auto c = g.memory("c", {M, N}, global, f32);
  write(g.iterate(K, g.fill({M, N}, f32, 0.0), [&](Value acc) { return mma(read(a), read(b), acc); }), c);
  return g;
}

CompileOptions optionsOf(std::string file) {
  auto [M, N, K] = symbols<"M N K">();
  CompileOptions options{.target = "gfx942", .subs = {{M, 64}, {N, 64}, {K, 256}}};
  options.schedule.file = std::move(file);
  return options;
}

TEST(ScheduleFileOption, TakesThePathOfAFileAndItsText) {
  CompileOptions options = optionsOf("");
  options.schedule.name = "prefetch";
  CompileAttempt made = compileImage(product(), options, rt::ImageKind::emulator);
  ASSERT_TRUE(made) << format(made.diagnostics);
  std::string text = sched::printText({sched::toFile(made.result->loops.front())});
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("soliton-options-" + std::to_string(::getpid()));
  std::ofstream(path) << text;
  for (const std::string &file : {text, path.string()}) {
    CompileAttempt again = compileImage(product(), optionsOf(file), rt::ImageKind::emulator);
    ASSERT_TRUE(again) << format(again.diagnostics);
    EXPECT_EQ(again.result->image.code, made.result->image.code);
  }
  std::ofstream(path) << "no schedule\nat all\n";
  CompileAttempt wrong = compileImage(product(), optionsOf(path.string()), rt::ImageKind::emulator);
  expectIn(format(wrong.diagnostics), {"[schedule-file]", path.c_str()});
  std::filesystem::remove(path);
}

TEST(ScheduleFileOption, PathThatCannotBeReadIsNamed) {
  CompileAttempt attempt = compileImage(product(), optionsOf("nowhere.schedule"), rt::ImageKind::emulator);
  EXPECT_FALSE(attempt);
  expectIn(format(attempt.diagnostics), {"[schedule-file]", "`nowhere.schedule` cannot be read", "OptionsTest.cpp"});
}

/// Registers and rings of tiles leave room for as many workgroups as were asked for.
TEST(Options, RoomForWorkgroups) {
  CompileOptions options = optionsOf("");
  options.target = "sm_90a";
  options.schedule.name = "ring";
  options.directCopies = true;
  options.keep = {Artefact::ptx};
  auto compiled = [&](int64_t workgroups) {
    options.workgroupsPerUnit = workgroups;
    return compileImage(product(), options, rt::ImageKind::ptx);
  };
  constexpr int64_t sharedBytes = 227 * 1024;
  CompileAttempt open = compiled(0), four = compiled(4);
  ASSERT_TRUE(open && four) << format(open.diagnostics) << format(four.diagnostics);
  EXPECT_GT(4 * open.result->image.dynamicSharedBytes, sharedBytes);
  EXPECT_LE(4 * four.result->image.dynamicSharedBytes, sharedBytes);
  expectIn(open.result->artefacts.front().second, {".minnctapersm 1\n"});
  expectIn(four.result->artefacts.front().second, {".minnctapersm 4\n"});
  for (auto [wrong, said] : {std::pair(17, "asks for 17 workgroups of 4 waves"), {-1, "asks for -1 workgroups"}}) {
    CompileAttempt attempt = compiled(wrong);
    EXPECT_FALSE(attempt);
    expectIn(format(attempt.diagnostics), {"[not-supported-here]", said, "room for 64 waves"});
  }
}

TEST(Options, PassThatIsNoneIsRefusedWithTheNearest) {
  CompileOptions options = optionsOf("");
  options.printAfter = "wave-expand-tile";
  CompileAttempt attempt = compileImage(product(), options, rt::ImageKind::emulator);
  EXPECT_FALSE(attempt);
  expectIn(format(attempt.diagnostics),
           {"[pass-unknown]", "did you mean `wave-expand-tiles`?", "`wave-lower-to-machine`"});
}

TEST(Options, WithoutATargetTheChoicesAreSaid) {
  CompileOptions options = optionsOf("");
  options.target = "";
  CompileAttempt attempt = compileImage(product(), options, rt::ImageKind::emulator);
  EXPECT_FALSE(attempt);
  expectIn(format(attempt.diagnostics), {"[unknown-target]", "`gfx942`", "`gfx950`", "`sm_90a`"});
}

TEST(Options, SizesThatAreNegativeOrMissingAreNamed) {
  auto [M, N, K] = symbols<"M N K">();
  CompileOptions options{.target = "gfx942", .subs = {{M, -64}, {N, 64}, {K, 256}}};
  expectIn(format(compileImage(product(), options, rt::ImageKind::emulator).diagnostics),
           {"[size-not-positive]", "`M`", "-64"});
  options.subs = {{M, 64}, {N, 64}};
  expectIn(format(compileImage(product(), options, rt::ImageKind::emulator).diagnostics), {"[symbol-unbound]", "`K`"});
}

/// A sum of vectors; each is the first row of a memory with so many more dimensions, of sizes known at launch.
CompileAttempt sumOf(int vectors, int further) {
  Expr M = Expr::symbol("M"), place = IndexMapping::iterator(0);
  Kernel kernel{"sum", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  CompileOptions options{.target = "gfx942", .subs = {{M, 64}}};
  Value total = kernel.fill({M}, f32, 0.0);
  for (int i = 0; i < vectors; ++i) {
    std::vector<Expr> shape;
    IndexMapping mapping{.num_iterators = 1, .outputs = {{M, place}}};
    for (int d = 0; d < further; ++d) {
      shape.push_back(Expr::symbol("S" + std::to_string(i) + "_" + std::to_string(d)));
      options.dynamic.push_back(shape.back());
      mapping.inputs.emplace_back(shape.back(), 0);
    }
    shape.push_back(M);
    mapping.inputs.emplace_back(M, place);
    total = total + read(kernel.memory("a" + std::to_string(i), shape, global, f32), {.mapping = mapping});
  }
  write(total, kernel.memory("b", {M}, global, f32));
  return compileImage(kernel, options, rt::ImageKind::emulator);
}

TEST(Options, MoreThanALaunchCanPassIsRefused) {
  EXPECT_TRUE(sumOf(63, 1)) << format(sumOf(63, 1).diagnostics);
  expectIn(format(sumOf(64, 0).diagnostics),
           {"[launch-limit]", "the kernel has 65 arguments, a launch can pass 64", "OptionsTest.cpp"});
  expectIn(format(sumOf(33, 2).diagnostics),
           {"[launch-limit]", "the kernel has 66 sizes known at launch, a launch can pass 64", "OptionsTest.cpp"});
  EXPECT_TRUE(sumOf(1, 7)) << format(sumOf(1, 7).diagnostics);
  expectIn(format(sumOf(1, 8).diagnostics),
           {"[launch-limit]", "`a0` has 9 dimensions, a launch can pass 8", "OptionsTest.cpp"});
}

} // namespace
} // namespace soliton
