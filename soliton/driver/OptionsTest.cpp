//===- OptionsTest.cpp - What options and launches say when they are wrong ------------------------===//
#include "soliton/authoring/ScheduleFile.h"
#include "soliton/soliton.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace soliton {
namespace {

/// The text of everything that is wrong; empty if nothing is.
std::string complaint(const std::function<void()> &call) {
  try {
    call();
  } catch (const CompileError &error) {
    return error.what();
  }
  return "";
}

void expectIn(const std::string &text, std::initializer_list<const char *> parts) {
  for (const char *part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

/// The first S workgroups negate.
Kernel firstOnes() {
  auto [M, S] = symbols<"M S">();
  Kernel k{"first", {WorkgroupConstraint(M, 64, 0)}};
  auto a = k.memory("a", {M}, global, f32), b = k.memory("b", {M}, global, f32);
  Value x = read(a);
  write(k.conditional(sym::lt(workgroup_id(0), S), [&] { return -x; }, [&] { return x; }), b);
  return k;
}

TEST(LaunchBySymbols, NamesFindTheirPlaces) {
  auto [M, S] = symbols<"M S">();
  auto run = compile(firstOnes(), {.target = "gfx942", .dynamic = {M, S}, .device = "emulator"});
  std::vector<float> in(200, 1), out(200, 0);
  for (int64_t s : {0, 2, 9}) {
    run.with({{S, s}})(rt::Tensor::of(in, {200}), rt::Tensor::of(out, {200}));
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], static_cast<int64_t>(i / 64) < s ? -1 : 1) << i;
  }
}

TEST(LaunchBySymbols, WrongNamesAreRefusedWithTheRightOnes) {
  auto [M, S, T] = symbols<"M S T">();
  auto run = compile(firstOnes(), {.target = "gfx942", .dynamic = {M, S}, .device = "emulator"});
  expectIn(complaint([&] { run.with({{S, 1}, {T, 2}}); }), {"[symbol-unknown]", "no symbol `T`", "it takes `S`"});
  expectIn(complaint([&] { run.with({{S, 1}, {M, 2}}); }), {"[symbol-unknown]", "extent 0 of `a`"});
  expectIn(complaint([&] { run.with({}); }), {"[argument-count]", "`S`"});
}

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

} // namespace
} // namespace soliton
