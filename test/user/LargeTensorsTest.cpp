//===- LargeTensorsTest.cpp - Tensors beyond 2 and 4 GiB -------------------------------===//
//
// Few elements of tensors that hardly exist: pages that nobody touches cost nothing, on the host and in the emulator.
// Offsets of 32 bits would wrap to places that exist as well, so each test puts other numbers there.
//
//===----------------------------------------------------------------------===//
#include "test/user/Values.h"

#include <sys/mman.h>

namespace soliton::test {
namespace {

constexpr int64_t kGiB = int64_t(1) << 30;

/// Zeroed memory of which only what is touched exists.
class Sparse {
public:
  explicit Sparse(int64_t bytes)
      : bytes(static_cast<size_t>(bytes)), memory(::mmap(nullptr, this->bytes, PROT_READ | PROT_WRITE,
                                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() { ::munmap(memory, bytes); }
  Sparse(const Sparse &) = delete;
  Sparse &operator=(const Sparse &) = delete;

  bool ok() const { return memory != MAP_FAILED; }
  float *floats() const { return static_cast<float *>(memory); }
  rt::Tensor tensor(std::vector<int64_t> shape) const { return rt::Tensor::dense(memory, DType::f32, shape); }

private:
  size_t bytes;
  void *memory;
};

class LargeTensors : public ForTarget {
protected:
  /// With its machine form, which says how wide offsets are.
  CompiledKernel withMachine(const Kernel &kernel, CompileOptions options) const {
    options.keep = {Artefact::machine};
    return compiled(kernel, options);
  }

  static const std::string &machineOf(const CompiledKernel &run) { return run.compiled().artefacts.front().second; }
  static bool isFar(const CompiledKernel &run) { return machineOf(run).find(" : i64]") != std::string::npos; }
};

/// Rows of a table, by number: o[t, d] = table[ids[t], d].
struct Lookup {
  Expr T, V, D;
  Kernel kernel;
};

Lookup lookup() {
  auto [T, V, D] = symbols<"T V D">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  Kernel kernel{"lookup", {WorkgroupConstraint(T, 64, 0), WorkgroupConstraint(D, 32, 1), HardwareConstraint{}}};
  auto ids = kernel.memory("ids", {T}, global, i32);
  auto table = kernel.memory("table", {V, D}, global, f32);
  auto o = kernel.memory("o", {T, D}, global, f32);
  IndexMapping rows{
      .num_iterators = 2, .inputs = {{V, IndexMapping::dynamic_val(0)}, {D, j}}, .outputs = {{T, i}, {D, j}}};
  rows.dynamic_val_mappings = {{{T, i}}};
  write(read(table, {.mapping = rows, .mapping_dynamic_vals = {read(ids)}}), o);
  return {T, V, D, std::move(kernel)};
}

/// Row t of what is asked for is 67·t rows above the last one; a row has 32 floats.
void checkLookup(const CompiledKernel &run, int64_t rows) {
  Sparse table(rows * 32 * 4);
  ASSERT_TRUE(table.ok());
  std::vector<int32_t> ids(64);
  std::vector<float> out(64 * 32, -1);
  for (int64_t t = 0; t < 64; ++t) {
    int64_t row = rows - 1 - 67 * t;
    ids[static_cast<size_t>(t)] = static_cast<int32_t>(row);
    for (int64_t d = 0; d < 32; ++d) {
      table.floats()[row * 32 + d] = static_cast<float>(100 * t + d);
      // Where an offset of 32 bits would lead.
      if (row * 32 + d >= kGiB)
        table.floats()[row * 32 + d - kGiB] = -7;
    }
  }
  run(rt::Tensor::of(ids, {64}), table.tensor({rows, 32}), rt::Tensor::of(out, {64, 32}));
  for (int64_t t = 0; t < 64; ++t)
    for (int64_t d = 0; d < 32; ++d)
      ASSERT_EQ(out[static_cast<size_t>(t * 32 + d)], static_cast<float>(100 * t + d)) << t << ", " << d;
}

TEST_P(LargeTensors, AGatherOverMoreThanFourGiB) {
  Lookup given = lookup();
  int64_t rows = 5 * kGiB / 128 + 3;
  CompiledKernel run = withMachine(given.kernel, options({{given.T, 64}, {given.V, rows}, {given.D, 32}}));
  EXPECT_TRUE(isFar(run));
  checkLookup(run, rows);
}

TEST_P(LargeTensors, AGatherOverLessHasOffsetsOf32Bits) {
  Lookup given = lookup();
  int64_t rows = kGiB / 128 + 3;
  CompiledKernel run = withMachine(given.kernel, options({{given.T, 64}, {given.V, rows}, {given.D, 32}}));
  EXPECT_FALSE(isFar(run));
  checkLookup(run, rows);
}

TEST_P(LargeTensors, SizesKnownAtLaunchAreCheckedOrWide) {
  auto [T, N, C] = symbols<"T N C">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  // The first 64 columns of 64 rows that are as long as the launch says.
  Kernel kernel{
      "columns",
      {WorkgroupConstraint(T, 64, 0), WorkgroupConstraint(C, 64, 1), WaveConstraint(T, 16), HardwareConstraint{}}};
  auto a = kernel.memory("a", {T, N}, global, f32), b = kernel.memory("b", {T, C}, global, f32);
  IndexMapping columns{.num_iterators = 2, .inputs = {{T, i}, {N, j}}, .outputs = {{T, i}, {C, j}}};
  write(read(a, {.mapping = columns}), b);
  CompileOptions dynamic = options({{T, 64}, {C, 64}}, {N});
  CompiledKernel narrow = withMachine(kernel, dynamic);
  EXPECT_FALSE(isFar(narrow));
  auto check = [&](const CompiledKernel &run, int64_t width) {
    Sparse rows(64 * width * 4);
    ASSERT_TRUE(rows.ok());
    std::vector<float> out(64 * 64, -1);
    for (int64_t t = 0; t < 64; ++t)
      for (int64_t c = 0; c < 64; ++c)
        rows.floats()[t * width + c] = static_cast<float>(100 * t + c);
    run(rows.tensor({64, width}), rt::Tensor::of(out, {64, 64}));
    for (int64_t t = 0; t < 64; ++t)
      for (int64_t c = 0; c < 64; ++c)
        ASSERT_EQ(out[static_cast<size_t>(64 * t + c)], static_cast<float>(100 * t + c)) << t << ", " << c;
  };
  check(narrow, 100);
  int64_t wide = (int64_t(1) << 24) + 3;
  try {
    check(narrow, wide);
    ADD_FAILURE() << "a launch that its offsets do not reach";
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics().front().id, DiagId::LaunchAssumption);
    EXPECT_NE(error.diagnostics().front().message.find("wideOffsets"), std::string::npos) << error.what();
  }
  dynamic.wideOffsets = true;
  CompiledKernel any = withMachine(kernel, dynamic);
  EXPECT_TRUE(any.compiled().image.checks.empty()) << "nothing is left to the launch";
  check(any, wide);
  check(any, 100);
}

TEST_P(LargeTensors, ATileWhoseRowsLieFarApart) {
  auto [T, V, D] = symbols<"T V D">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  // Every 2^19-th row: 64 MiB from one to the next, 4 GiB in all, for reads and for writes.
  IndexMapping apart{.num_iterators = 2, .inputs = {{V, i * 524288}, {D, j}}, .outputs = {{T, i}, {D, j}}};
  IndexMapping back{.num_iterators = 2, .inputs = {{T, i}, {D, j}}, .outputs = {{V, i * 524288 + 1}, {D, j}}};
  Kernel kernel{
      "apart",
      {WorkgroupConstraint(T, 64, 0), WorkgroupConstraint(D, 32, 1), WaveConstraint(T, 16), HardwareConstraint{}}};
  auto table = kernel.memory("table", {V, D}, global, f32);
  auto o = kernel.memory("o", {V, D}, global, f32);
  write(read(table, {.mapping = apart}) + 1.0, o, {.mapping = back});
  int64_t rows = 64 * 524288;
  CompiledKernel run = withMachine(kernel, options({{T, 64}, {V, rows}, {D, 32}}));
  Sparse from(rows * 128), to(rows * 128);
  ASSERT_TRUE(from.ok() && to.ok());
  auto at = [](const Sparse &memory, int64_t t, int64_t d) -> float & { return memory.floats()[t * 524288 * 32 + d]; };
  for (int64_t t = 0; t < 64; ++t)
    for (int64_t d = 0; d < 32; ++d)
      at(from, t, d) = static_cast<float>(100 * t + d);
  run(from.tensor({rows, 32}), to.tensor({rows, 32}));
  for (int64_t t = 0; t < 64; ++t)
    for (int64_t d = 0; d < 32; ++d) {
      ASSERT_EQ(at(to, t, d + 32), static_cast<float>(100 * t + d + 1)) << t << ", " << d;
      ASSERT_EQ(at(to, t, d), 0) << t << ", " << d;
    }
}

TEST_P(LargeTensors, IterationsThatWalkFarMoveTheBase) {
  auto [K, N, C] = symbols<"K N C">();
  auto i = IndexMapping::iterator(0), j = IndexMapping::iterator(1);
  // 40 rows of 2^25 floats, of which the first 64 columns are summed, eight rows at a time.
  Kernel kernel{"walk", {WorkgroupConstraint(C, 64, 0), TilingConstraint(K, 8), HardwareConstraint{}}};
  auto a = kernel.memory("a", {K, N}, global, f32);
  auto b = kernel.memory("b", {C}, global, f32);
  IndexMapping columns{.num_iterators = 2, .inputs = {{K, i}, {N, j}}, .outputs = {{K, i}, {C, j}}};
  write(kernel.iterate(K, kernel.fill({C}, f32, 0.0),
                       [&](Value acc) { return sum(read(a, {.mapping = columns}), acc, K); }),
        b);
  int64_t width = int64_t(1) << 25, height = 40;
  CompiledKernel run = withMachine(kernel, options({{C, 64}, {K, height}, {N, width}}));
  EXPECT_FALSE(isFar(run)) << "eight rows are one GiB";
  Sparse rows(height * width * 4);
  ASSERT_TRUE(rows.ok());
  std::vector<float> out(64), want(64);
  for (int64_t k = 0; k < height; ++k)
    for (int64_t c = 0; c < 64; ++c) {
      rows.floats()[k * width + c] = static_cast<float>(k * c);
      want[static_cast<size_t>(c)] += static_cast<float>(k * c);
    }
  run(rows.tensor({height, width}), rt::Tensor::of(out, {64}));
  EXPECT_EQ(out, want);
}

TEST_P(LargeTensors, TheLastTileOfALongLine) {
  auto [M, L] = symbols<"M L">();
  auto i = IndexMapping::iterator(0);
  // Only the base is beyond 4 GiB: 32 bits for lanes are enough.
  int64_t length = 3 * kGiB / 2 + 40;
  Kernel kernel{"tail", {WorkgroupConstraint(M, 64, 0), HardwareConstraint{}}};
  auto a = kernel.memory("a", {L}, global, f32), b = kernel.memory("b", {M}, global, f32);
  IndexMapping tail{.num_iterators = 1, .inputs = {{L, i + length - 100}}, .outputs = {{M, i}}};
  write(read(a, {.mapping = tail}), b);
  CompiledKernel run = withMachine(kernel, options({{M, 128}, {L, length}}));
  EXPECT_FALSE(isFar(run));
  Sparse line(length * 4);
  ASSERT_TRUE(line.ok());
  std::vector<float> out(128, -1);
  for (int64_t k = 0; k < 100; ++k)
    line.floats()[length - 100 + k] = static_cast<float>(k + 1);
  run(line.tensor({length}), rt::Tensor::of(out, {128}));
  for (int64_t k = 0; k < 128; ++k)
    ASSERT_EQ(out[static_cast<size_t>(k)], k < 100 ? static_cast<float>(k + 1) : 0) << k;
}

INSTANTIATE_TEST_SUITE_P(All, LargeTensors, testing::ValuesIn(allTargets()),
                         [](const auto &info) { return info.param->name; });

} // namespace
} // namespace soliton::test
