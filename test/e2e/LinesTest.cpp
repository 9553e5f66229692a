//===- LinesTest.cpp - A profiler shows the author's lines ------------------------------------===//
//
// Code objects carry line tables (ncu and rocprof read them): every instruction is at a line that the author of the
// kernel wrote, in the file where it stands, and the instructions of an operation are at the line of that operation.
//
//===----------------------------------------------------------------------===//
#include "soliton/backend/amd/Disassemble.h"
#include "soliton/soliton.h"
#include "test/e2e/Support.h"

#include <regex>

namespace soliton::test {
namespace {
using backend::Instruction;
using backend::InstructionKind;

/// A product, and the lines of its parts.
struct Product {
  Kernel kernel;
  unsigned first, reads, mma, loop, write;
};

Product makeProduct() {
  auto [M, N, K] = symbols<"M N K">();
  unsigned first = __LINE__ + 1;
  Kernel kernel{"product",
                {WorkgroupConstraint(M, 64, 0), WorkgroupConstraint(N, 64, 1), TilingConstraint(K, 32),
                 WaveConstraint(M, 32), WaveConstraint(N, 32), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M, K}, shared, f16), b = kernel.memory("b", {N, K}, shared, f16);
  auto c = kernel.memory("c", {M, N}, global, f32);
  unsigned reads = 0, mmas = 0;
  auto body = [&](Value acc) {
    reads = __LINE__ + 1;
    Value x = read(a), y = read(b);
    mmas = __LINE__ + 1;
    return mma(x, y, acc);
  };
  unsigned loop = __LINE__ + 1;
  Value sum = kernel.iterate(K, kernel.fill({M, N}, f32, 0.0), body);
  unsigned last = __LINE__ + 1;
  write(sum, c);
  return {kernel, first, reads, mmas, loop, last};
}

CompileOptions optionsFor(const std::string &target, const std::string &schedule) {
  auto [M, N, K] = symbols<"M N K">();
  CompileOptions options;
  options.target = target;
  options.subs = {{M, 256}, {N, 256}, {K, 256}};
  options.schedule.name = schedule;
  return options;
}

std::string codeOf(const Product &product, const std::string &target, const std::string &schedule, rt::ImageKind kind) {
  CompileAttempt attempt = compileImage(product.kernel, optionsFor(target, schedule), kind);
  EXPECT_TRUE(attempt) << format(attempt.diagnostics);
  if (!attempt)
    return "";
  const auto &code = attempt.result->image.code;
  return std::string(reinterpret_cast<const char *>(code.data()), code.size());
}

class LinesOnAmd : public testing::TestWithParam<std::tuple<const char *, const char *>> {};
INSTANTIATE_TEST_SUITE_P(Chips, LinesOnAmd,
                         testing::Combine(testing::Values("gfx942", "gfx950"), testing::Values("none", "modulo")),
                         [](auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

TEST_P(LinesOnAmd, AreTheAuthors) {
  auto [target, schedule] = GetParam();
  Product product = makeProduct();
  std::string error, code = codeOf(product, target, schedule, rt::ImageKind::hsaco);
  std::optional<backend::Disassembly> binary = backend::disassembleHsaco(code, target, error);
  ASSERT_TRUE(binary) << error;
  std::set<unsigned> lines = {product.reads, product.mma, product.loop, product.write};
  std::map<InstructionKind, unsigned> expected = {{InstructionKind::globalLoad, product.reads},
                                                  {InstructionKind::sharedStore, product.reads},
                                                  {InstructionKind::sharedLoad, product.reads},
                                                  {InstructionKind::mfma, product.mma},
                                                  {InstructionKind::globalStore, product.write}};
  std::set<InstructionKind> found;
  for (const Instruction &i : binary->instructions) {
    EXPECT_EQ(i.file, __FILE__) << i.text();
    EXPECT_TRUE(lines.contains(i.line) || i.line == product.first) << i.line << ": " << i.text();
    auto wanted = expected.find(i.kind);
    if (wanted == expected.end())
      continue;
    EXPECT_EQ(i.line, wanted->second) << i.text();
    found.insert(i.kind);
  }
  EXPECT_EQ(found.size(), expected.size()) << "every kind was looked at";
}

TEST(Lines, OfPtxAreTheAuthors) {
  Product product = makeProduct();
  std::string ptx = codeOf(product, "sm_90a", "none", rt::ImageKind::ptx);
  std::smatch file;
  ASSERT_TRUE(std::regex_search(ptx, file, std::regex(R"re(\.file\s+(\d+) "([^"]*)")re"))) << ptx;
  EXPECT_EQ(file[2], __FILE__);
  std::istringstream text(ptx);
  std::smatch match;
  std::string at;
  std::map<std::string, std::set<std::string>> places; // of the instructions that only one operation makes
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, match, std::regex(R"(\.loc\s+(\d+) (\d+))"))) {
      EXPECT_EQ(match[1], file[1]) << line;
      at = match[2];
    }
    for (const char *word : {"mma.sync", "st.global", "ldmatrix", "cp.async.cg"})
      if (line.find(word) != std::string::npos)
        places[word].insert(at);
  }
  EXPECT_EQ(places["mma.sync"], std::set{std::to_string(product.mma)}) << ptx;
  EXPECT_EQ(places["st.global"], std::set{std::to_string(product.write)});
}

/// What an author calls from a header of theirs is at the header's line.
#line 7 "epilogue.h"
Value doubled(Value x) {
  return x * 2.0;
}
#line 200 "test/e2e/LinesTest.cpp"

TEST(Lines, OfSeveralFilesKeepTheirNames) {
  auto [M] = symbols<"M">();
  Kernel kernel{"several", {WorkgroupConstraint(M, 256, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {M}, global, f32), b = kernel.memory("b", {M}, global, f32);
  write(doubled(read(a)), b);
  CompileOptions options;
  options.subs = {{M, 256}};
  options.target = "gfx942";
  CompileAttempt attempt = compileImage(kernel, options, rt::ImageKind::hsaco);
  ASSERT_TRUE(attempt) << format(attempt.diagnostics);
  const auto &bytes = attempt.result->image.code;
  std::string code(reinterpret_cast<const char *>(bytes.data()), bytes.size()), error;
  std::optional<backend::Disassembly> binary = backend::disassembleHsaco(code, "gfx942", error);
  ASSERT_TRUE(binary) << error;
  EXPECT_TRUE(llvm::any_of(binary->instructions, [](const Instruction &i) {
    return i.kind == InstructionKind::vector && i.file == "epilogue.h" && i.line == 8;
  }));
  for (const Instruction &i : binary->instructions)
    if (i.kind == InstructionKind::globalStore)
      EXPECT_EQ(i.file, "test/e2e/LinesTest.cpp");
}

} // namespace
} // namespace soliton::test
