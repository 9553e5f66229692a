//===- OwnTest.cpp - Kernels of a user's own C++ file, with every tool ----------------------------===//
#include "soliton/runtime/launch.h"
#include "tools/soliton/TestCli.h"

#include <cstdlib>

namespace soliton::cli {
namespace {

/// `y = 2x`, and with a mistake in its reference where `REFERENCE` says so.
constexpr const char *kScale = R"(#include <soliton/plugin.h>
using namespace soliton;

SOLITON_KERNEL(scale) {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel scale{"scale", {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = scale.memory("x", {M}, global, f32), y = scale.memory("y", {M}, global, f32);
  write(read(x) * 2.0, y);
  return {.kernel = scale, .sizes = {{M, 2000}}, .tiles = {{BM, 512}}};
}
)";

constexpr const char *kTwo = R"(#include <soliton/plugin.h>
#include "factor.h"
using namespace soliton;

static UserKernel scaled(const char *name, double factor, double expected) {
  auto [M, BM] = symbols<"M BLOCK_M">();
  Kernel k{name, {WorkgroupConstraint(M, BM, 0), WaveConstraint(M, BM / 4), HardwareConstraint{}}};
  auto x = k.memory("x", {M}, global, f32), y = k.memory("y", {M}, global, f32);
  write(read(x) * factor, y);
  return {.kernel = k, .sizes = {{M, 1000}}, .tiles = {{BM, 512}}, .reference = [expected](HostArrays &at) {
            for (size_t i = 0; i != at["y"].values.size(); ++i)
              at["y"].values[i] = expected * at["x"].values[i];
          }};
}
SOLITON_KERNEL(right) { return scaled("right", kFactor, kFactor); }
SOLITON_KERNEL(wrong) { return scaled("wrong", kFactor, 3); }
SOLITON_KERNEL(threw) { if (kFactor == 5) throw std::runtime_error("no luck"); return scaled("threw", 1, 1); }
)";

constexpr const char *kGemm = R"(#include <soliton/plugin.h>
using namespace soliton;

SOLITON_KERNEL(product) {
  auto [M, N, K, BM, BN, BK] = symbols<"M N K BLOCK_M BLOCK_N BLOCK_K">();
  Kernel g{"product", {WorkgroupConstraint(M, BM, 0), WorkgroupConstraint(N, BN, 1), TilingConstraint(K, BK),
                       WaveConstraint(M, BM / 2), WaveConstraint(N, BN / 2), HardwareConstraint{}}};
  auto a = g.memory("a", {M, K}, shared, f16), b = g.memory("b", {N, K}, shared, f16);
  auto c = g.memory("c", {M, N}, global, f32);
  auto sum = g.iterate(K, g.fill({M, N}, f32, 0.0), [&](Value acc) {
    return mma(read(a, {.tag = "read_a"}), read(b, {.tag = "read_b"}), acc, {.tag = "mma"});
  }, {.tag = "k_loop"});
  write(sum, c);
  WaveSchedule mine{"mine", [](ScheduleContext &s) {
    auto loop = s.get_node_by_tag("k_loop");
    auto [globalA, sharedA] = s.partition_by_address_space(s.get_node_by_tag_and_type("read_a", NodeType::Read), global);
    auto [globalB, sharedB] = s.partition_by_address_space(s.get_node_by_tag_and_type("read_b", NodeType::Read), global);
    auto p = s.pipeline(loop, {.num_stages = 2, .initiation_interval = 2});
    p.set_stage(0, {globalA, globalB, s.get_node_by_tag_and_type("read_a", NodeType::Write),
                    s.get_node_by_tag_and_type("read_b", NodeType::Write)});
    p.set_stage(1, {sharedA, sharedB, s.get_node_by_tag("mma")});
  }};
  return {.kernel = g, .sizes = {{M, 64}, {N, 64}, {K, 128}}, .tiles = {{BM, 64}, {BN, 64}, {BK, 32}},
          .description = "c[M, N] = a[M, K] b[N, K]", .schedules = {mine}};
}
)";

class Own : public Cli {
protected:
  Own() {
    keep("SOLITON_CACHE", "on");
    keep("SOLITON_CACHE_DIR", path("cache"));
    keep("SOLITON_CXXFLAGS", "");
    keep("SOLITON_CXX", "");
  }
  ~Own() override {
    for (const auto &[name, value] : before)
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
  }
  void keep(const std::string &name, const std::string &value) {
    const char *was = std::getenv(name.c_str());
    before.emplace(name, was ? std::optional<std::string>(was) : std::nullopt);
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  /// Plug-ins in the cache.
  size_t plugins() const {
    size_t count = 0;
    for (const auto &file : std::filesystem::directory_iterator(folder / "cache"))
      count += file.path().extension() == ".plugin";
    return count;
  }
  std::map<std::string, std::optional<std::string>> before;
};

/// Exit code 2, with this id and these words.
void expectError(const Said &said, const std::string &id, const std::string &words) {
  EXPECT_EQ(said.code, 2) << said.out;
  EXPECT_NE(said.err.find("[" + id + "]"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find(words), std::string::npos) << said.err;
}

TEST_F(Own, FileRunsOnEveryTargetAndIsBuiltOnce) {
  std::string file = write("scale.cpp", kScale);
  for (const char *target : {"gfx942", "gfx950", "sm_90a"}) {
    Said said = soliton({"run", file, "--target", target, "--size", "M=700", "--json"});
    ASSERT_EQ(said.code, 0) << said.out << said.err;
    EXPECT_EQ(said.parsed().at("exact_ok"), true);
    EXPECT_EQ(said.parsed().at("size").at("M"), 700);
  }
  EXPECT_EQ(plugins(), 1u);
  Said said = soliton({"run", file, "--dynamic", "M", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  said = soliton({"cache", "list", "--json"});
  EXPECT_EQ(said.parsed().at("plugins").size(), 1u);
  EXPECT_EQ(said.parsed().at("plugins").at(0).at("source"), file);
  EXPECT_EQ(soliton({"cache", "clear"}).code, 0);
  EXPECT_EQ(plugins(), 0u);
}

TEST_F(Own, EveryCommandTakesItAndSchedulesOfItsOwn) {
  std::string file = write("gemm.cpp", kGemm);
  EXPECT_EQ(soliton({"run", file}).code, 0);
  Said said = soliton({"run", file, "--schedule", "mine", "--target", "gfx942"});
  EXPECT_EQ(said.code, 0) << said.err;
  said = soliton({"schedule", file, "--schedule", "mine", "--target", "gfx942", "--svg", path("mine.svg"), "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(read("mine.svg").starts_with("<svg"));
  said = soliton({"compile", file, "--target", "sm_90a", "--emit", "ptx"});
  EXPECT_NE(said.out.find(".entry product"), std::string::npos) << said.err;
  said = soliton({"bench", file, "--device", "emulator", "--repetitions", "1", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_GT(said.parsed().at("median_us").get<double>(), 0);
  expectUsage({"run", file, "--schedule", "mime"}, {"did you mean `mine`"});
  expectUsage({"run", file, "--size", "J=3"}, {"unknown size `J`", "`M`, `N` or `K`"});
  expectUsage({"run", file, "--dtype", "f16"}, {"says its element types itself"});
}

TEST_F(Own, ReferenceOfTheAuthorJudges) {
  write("factor.h", "constexpr double kFactor = 2;\n");
  std::string file = write("two.cpp", kTwo);
  EXPECT_EQ(soliton({"run", file + ":right"}).code, 0);
  Said said = soliton({"run", file + ":wrong"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.out.find("WRONG"), std::string::npos);
  EXPECT_NE(said.out.find("of `y`"), std::string::npos) << said.out;
  expectUsage({"run", file}, {"3 kernels", "`right`, `wrong` or `threw`"});
  expectUsage({"run", file + ":righ"}, {"did you mean `right`"});
  // A header that changed builds it again.
  write("factor.h", "constexpr double kFactor = 3;\n");
  EXPECT_EQ(soliton({"run", file + ":wrong"}).code, 0);
  write("factor.h", "constexpr double kFactor = 5;\n");
  expectError(soliton({"run", file + ":right"}), "plugin-threw", "no luck");
}

TEST_F(Own, MistakesOfTheKernelAreReportedAtItsLines) {
  std::string text = kScale;
  text.replace(text.find("global, f32), y"), 11, "global, f16");
  text.replace(text.find("read(x) * 2.0"), 13, "read(x) + read(y)");
  std::string file = write("mixed.cpp", text);
  Said said = soliton({"run", file});
  EXPECT_EQ(said.code, 2);
  EXPECT_NE(said.err.find("mixed.cpp:8:"), std::string::npos) << said.err;
}

TEST_F(Own, CompilerHasItsSay) {
  std::string text = kScale;
  text.replace(text.find("2.0, y)"), 7, "2.0, nowhere)");
  std::string file = write("bad.cpp", text);
  Said said = soliton({"run", file});
  expectError(said, "plugin-compile", "nowhere");
  EXPECT_NE(said.err.find("bad.cpp:8:"), std::string::npos) << said.err;
  EXPECT_EQ(plugins(), 0u);
  said = soliton({"run", file, "--json"});
  EXPECT_EQ(said.parsed().at("diagnostics").at(0).at("id"), "plugin-compile");
}

TEST_F(Own, FilesWithoutKernelsAndMissingOnesAreNamed) {
  expectError(soliton({"run", path("none.cpp")}), "plugin-load", "no such file");
  expectError(soliton({"run", path("none.so")}), "plugin-load", "no such file");
  expectError(soliton({"run", write("no.so", "not a library")}), "plugin-load", "cannot be loaded");
  expectError(soliton({"run", write("empty.cpp", "int nothing;\n")}), "plugin-load", "SOLITON_KERNEL");
}

TEST_F(Own, ToolchainThatIsNotThereIsNamed) {
  std::string file = write("scale.cpp", kScale);
  ::setenv("SOLITON_CXX", "no-such-compiler", 1);
  expectError(soliton({"run", file}), "plugin-toolchain", "no-such-compiler");
  ::unsetenv("SOLITON_CXX");
  keep("SOLITON_INCLUDE_DIR", path("nothing"));
  expectError(soliton({"run", file}), "plugin-toolchain", "soliton/plugin.h");
}

TEST_F(Own, PluginOfAnotherBuildIsRefused) {
  std::string file = write("scale.cpp", kScale), library = path("scale.so");
  Said said = soliton({"compile", file, "--emit", "plugin", "-o", library});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(soliton({"run", library}).code, 0);
  ::setenv("SOLITON_CXXFLAGS", "-USOLITON_PLUGIN_BUILD -DSOLITON_PLUGIN_BUILD=\"0123\"", 1);
  ASSERT_EQ(soliton({"compile", file, "--emit", "plugin", "-o", path("old.so")}).code, 0);
  expectError(soliton({"run", path("old.so")}), "plugin-build", "built for Soliton 0123");
  expectUsage({"compile", "gemm", "--emit", "plugin"}, {"takes a C++ file"});
  expectUsage({"compile", file, "--emit", "plugin"}, {"say where with `-o"});
}

TEST_F(Own, DamagedPluginIsBuiltAgain) {
  std::string file = write("scale.cpp", kScale);
  ASSERT_EQ(soliton({"run", file}).code, 0);
  for (const auto &entry : std::filesystem::directory_iterator(folder / "cache"))
    if (entry.path().extension() == ".plugin")
      std::ofstream(entry.path(), std::ios::binary | std::ios::app) << "x";
  Said said = soliton({"cache", "verify", "--json"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.parsed().at("removed").size(), 1u);
  EXPECT_EQ(soliton({"run", file}).code, 0);
  EXPECT_EQ(plugins(), 1u);
}

TEST_F(Cli, AotLeavesAllThatALaunchNeeds) {
  Said said =
      soliton({"compile", "copy", "--target", "gfx942", "--dynamic", "M,N", "--aot", path("shipped"), "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.parsed().at("files").size(), 5u);
  EXPECT_TRUE(read("shipped/copy.hsaco")
                  .starts_with("\x7f"
                               "ELF"));
  EXPECT_NE(read("shipped/copy.h").find("copy_launch(soliton_kernel *kernel, int where, const void *a, void *b"),
            std::string::npos)
      << read("shipped/copy.h");
  EXPECT_TRUE(nlohmann::json::accept(read("shipped/copy.json")));

  soliton_kernel *kernel = soliton_open(path("shipped/copy.emulated.kernel").c_str(), "emulator");
  ASSERT_NE(kernel, nullptr) << soliton_error();
  std::vector<float> a(30 * 20, 2.5f), b(30 * 20, 0);
  soliton_argument arguments[] = {{SOLITON_HOST, a.data(), 2, {30, 20}, 0, 0, 0, {0}},
                                  {SOLITON_HOST, b.data(), 2, {30, 20}, 0, 0, 0, {0}}};
  EXPECT_EQ(soliton_launch(kernel, arguments, 2, nullptr, 0, nullptr), 0) << soliton_error();
  EXPECT_EQ(soliton_synchronize(kernel), 0);
  EXPECT_EQ(b, a);
  EXPECT_NE(soliton_launch(kernel, arguments, 1, nullptr, 0, nullptr), 0);
  EXPECT_NE(std::string(soliton_error()).find("argument"), std::string::npos);
  soliton_close(kernel);

  said = soliton({"compile", "gemm", "--target", "sm_90a", "--aot", path("nvidia"), "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(read("nvidia/gemm.ptx").find(".entry"), std::string::npos);
  expectUsage({"compile", "copy", "--aot", path("x"), "--emit", "wave"}, {"`--aot` with `--emit wave`"});
}

} // namespace
} // namespace soliton::cli
