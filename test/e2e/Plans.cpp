#include "test/e2e/Plans.h"

#include <algorithm>

namespace soliton::test {
namespace {
using kernels::Sizes;

const Plan &elementwise() {
  static const Plan plan{.aligned = {{"M", 128}, {"N", 192}},
                         .odd = {{"M", 111}, {"N", 813}},
                         .larger = {{"M", 70}, {"N", 131}},
                         .tiles = {{"BLOCK_M", 32}, {"BLOCK_N", 128}},
                         .dynamic = {{{"M", 64}, {"N", 64}},
                                     {{"M", 1}, {"N", 1}},
                                     {{"M", 111}, {"N", 813}},
                                     {{"M", 63}, {"N", 65}},
                                     {{"M", 200}, {"N", 7}}},
                         .smallTiles = {{"BLOCK_M", 16}, {"BLOCK_N", 64}},
                         .smallWhole = {{"M", 16}, {"N", 64}},
                         .smallOdd = {{"M", 21}, {"N", 77}},
                         .many = {{"M", 512}, {"N", 512}}};
  return plan;
}

const Plan &line() {
  static const Plan plan{.aligned = {{"M", 4096}, {"BINS", 64}},
                         .odd = {{"M", 111 * 813}, {"BINS", 37}},
                         .larger = {{"M", 1025}, {"BINS", 5}},
                         .tiles = {{"BLOCK_M", 512}},
                         .dynamic = {{{"M", 1024}, {"BINS", 37}},
                                     {{"M", 1}, {"BINS", 37}},
                                     {{"M", 813}, {"BINS", 37}},
                                     {{"M", 2049}, {"BINS", 37}},
                                     {{"M", 5000}, {"BINS", 37}}},
                         .smallTiles = {{"BLOCK_M", 256}},
                         .smallWhole = {{"M", 256}, {"BINS", 16}},
                         .smallOdd = {{"M", 21}, {"BINS", 7}},
                         .many = {{"M", 8192}, {"BINS", 64}}};
  return plan;
}

/// Rows that a tile holds.
const Plan &shortRows() {
  static const Plan plan{.aligned = {{"M", 32}, {"N", 128}, {"TOPK", 4}},
                         .odd = {{"M", 111}, {"N", 77}, {"TOPK", 5}},
                         .larger = {{"M", 35}, {"N", 200}, {"TOPK", 2}},
                         .tiles = {{"BLOCK_M", 8}},
                         .dynamic = {{{"M", 16}, {"N", 64}, {"TOPK", 3}},
                                     {{"M", 1}, {"N", 64}, {"TOPK", 1}},
                                     {{"M", 37}, {"N", 64}, {"TOPK", 7}},
                                     {{"M", 5}, {"N", 64}, {"TOPK", 2}},
                                     {{"M", 33}, {"N", 64}, {"TOPK", 64}}},
                         .smallTiles = {{"BLOCK_M", 4}},
                         .smallWhole = {{"M", 4}, {"N", 64}, {"TOPK", 2}},
                         .smallOdd = {{"M", 21}, {"N", 19}, {"TOPK", 3}},
                         .many = {{"M", 128}, {"N", 256}, {"TOPK", 8}}};
  return plan;
}

/// Tokens and slots of a mixture of experts, whose logits a tile holds.
Sizes routingSizes(int64_t tokens, int64_t experts, int64_t places) {
  return {{"T", tokens}, {"M", tokens * places}, {"E", experts}, {"TOPK", places}};
}

const Plan &routing() {
  static const Plan plan{.aligned = routingSizes(64, 16, 4),
                         .odd = routingSizes(77, 13, 3),
                         .larger = routingSizes(35, 40, 8),
                         .tiles = {{"BLOCK_T", 8}, {"BLOCK_M", 32}},
                         .dynamic = {routingSizes(16, 8, 2), routingSizes(1, 8, 1), routingSizes(77, 8, 3),
                                     routingSizes(5, 8, 8), routingSizes(33, 8, 4)},
                         .smallTiles = {{"BLOCK_T", 4}, {"BLOCK_M", 16}},
                         .smallWhole = routingSizes(16, 8, 2),
                         .smallOdd = routingSizes(19, 5, 3),
                         .many = routingSizes(256, 64, 8)};
  return plan;
}

Sizes samplingSizes(int64_t sequences, int64_t drafted, int64_t vocabulary) {
  return {{"B", sequences}, {"S", drafted}, {"V", vocabulary}};
}

const Plan &sampling() {
  static const Plan plan{.aligned = samplingSizes(8, 4, 1024),
                         .odd = samplingSizes(7, 5, 813),
                         .larger = samplingSizes(5, 3, 1301),
                         .tiles = {{"BLOCK_V", 256}},
                         .dynamic = {samplingSizes(8, 3, 512), samplingSizes(1, 3, 1), samplingSizes(11, 3, 813),
                                     samplingSizes(2, 3, 77), samplingSizes(3, 3, 1500)},
                         .smallTiles = {{"BLOCK_V", 128}},
                         .smallWhole = samplingSizes(2, 4, 128),
                         .smallOdd = samplingSizes(3, 3, 77),
                         .many = samplingSizes(16, 8, 4096)};
  return plan;
}

const Plan &rows() {
  static const Plan plan{.aligned = {{"M", 32}, {"N", 512}},
                         .odd = {{"M", 111}, {"N", 813}},
                         .larger = {{"M", 35}, {"N", 601}},
                         // Rows that several waves share.
                         .tiles = {{"BLOCK_M", 8}, {"BLOCK_N", 512}, {"WAVES_M", 2}, {"WAVES_N", 4}},
                         .dynamic = {{{"M", 16}, {"N", 256}},
                                     {{"M", 1}, {"N", 1}},
                                     {{"M", 37}, {"N", 813}},
                                     {{"M", 5}, {"N", 1000}},
                                     {{"M", 33}, {"N", 255}}},
                         .smallTiles = {{"BLOCK_M", 4}, {"BLOCK_N", 128}, {"WAVES_M", 2}, {"WAVES_N", 2}},
                         .smallWhole = {{"M", 4}, {"N", 128}},
                         .smallOdd = {{"M", 21}, {"N", 77}},
                         .many = {{"M", 128}, {"N", 2048}}};
  return plan;
}

Sizes productSizes(int64_t m, int64_t n, int64_t k, int64_t batches = 2) {
  return {{"B", batches}, {"E", batches + 1}, {"M", m}, {"N", n}, {"K", k}, {"GROUP", 32}, {"TOPK", 2}};
}

const Plan &product() {
  static const Plan plan{.aligned = productSizes(128, 256, 128),
                         .odd = productSizes(127, 131, 77),
                         .larger = productSizes(70, 130, 135),
                         .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}, {"GRID", 4}},
                         .dynamic = {productSizes(128, 128, 64), productSizes(1, 1, 1, 1), productSizes(127, 131, 77),
                                     productSizes(130, 133, 65, 1), productSizes(64, 200, 100, 3)},
                         .smallTiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                         .smallWhole = productSizes(64, 64, 64),
                         .smallOdd = productSizes(21, 77, 67),
                         .many = productSizes(1024, 1024, 512)};
  return plan;
}

/// Waves share K.
const Plan &longProduct() {
  static const Plan plan = [] {
    Plan plan = product();
    plan.tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 32}, {"WAVES_M", 2}, {"WAVES_K", 2}};
    plan.smallTiles = {{"BLOCK_M", 32}, {"BLOCK_N", 32}, {"WAVES_K", 2}};
    plan.many = productSizes(128, 128, 2048);
    return plan;
  }();
  return plan;
}

/// K is a whole number of blocks of 32.
const Plan &scaledProduct() {
  static const Plan plan{.aligned = productSizes(128, 64, 256),
                         .odd = productSizes(127, 131, 96),
                         .larger = productSizes(70, 130, 160),
                         .tiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                         .dynamic = {productSizes(128, 128, 128), productSizes(1, 1, 32), productSizes(127, 131, 96),
                                     productSizes(65, 33, 160), productSizes(64, 200, 416)},
                         .smallTiles = {{"BLOCK_M", 64}, {"BLOCK_N", 64}},
                         .smallWhole = productSizes(64, 64, 256),
                         .smallOdd = productSizes(21, 77, 160),
                         .one = productSizes(1, 1, 32),
                         .many = productSizes(1024, 1024, 1024)};
  return plan;
}

Sizes ropeSizes(int64_t b, int64_t s, int64_t h, int64_t d) {
  return {{"B", b}, {"S", s}, {"H", h}, {"D", d}};
}

const Plan &rope() {
  static const Plan plan{.aligned = ropeSizes(1, 64, 2, 64),
                         .odd = ropeSizes(2, 77, 3, 42),
                         .larger = ropeSizes(1, 35, 2, 10),
                         .tiles = {{"BLOCK_S", 16}},
                         .dynamic = {ropeSizes(1, 32, 2, 32), ropeSizes(1, 1, 1, 32), ropeSizes(2, 77, 3, 32),
                                     ropeSizes(3, 5, 1, 32), ropeSizes(1, 33, 4, 32)},
                         .smallTiles = {{"BLOCK_S", 16}},
                         .smallWhole = ropeSizes(1, 16, 2, 16),
                         .smallOdd = ropeSizes(1, 19, 2, 6),
                         .one = ropeSizes(1, 1, 1, 2),
                         .many = ropeSizes(2, 256, 4, 64)};
  return plan;
}

/// Images of `size`, filters of R by S; then stride, padding and dilation.
struct Window {
  int64_t r, s, stride, pad, dilation;
};
Sizes convolutionSizes(int64_t b, int64_t size, int64_t c, int64_t f, const Window &window) {
  return {{"B", b},
          {"H", size},
          {"W", size + 2},
          {"C", c},
          {"F", f},
          {"R", window.r},
          {"S", window.s},
          {"STRIDE", window.stride},
          {"PAD", window.pad},
          {"DILATION", window.dilation}};
}

const Plan &convolution() {
  static const Plan plan{
      .aligned = convolutionSizes(2, 15, 32, 64, {1, 3, 2, 0, 1}),
      .odd = convolutionSizes(2, 9, 5, 7, {3, 2, 2, 1, 2}),
      .larger = convolutionSizes(1, 11, 6, 35, {3, 3, 1, 2, 1}),
      .tiles = {{"BLOCK_M", 32}, {"BLOCK_F", 32}},
      .dynamic = {convolutionSizes(1, 7, 4, 64, {2, 3, 1, 1, 1}), convolutionSizes(1, 7, 4, 1, {2, 3, 1, 1, 1}),
                  convolutionSizes(1, 7, 4, 65, {2, 3, 1, 1, 1}), convolutionSizes(1, 7, 4, 8, {2, 3, 1, 1, 1}),
                  convolutionSizes(1, 7, 4, 130, {2, 3, 1, 1, 1})},
      .smallTiles = {{"BLOCK_M", 32}, {"BLOCK_F", 32}},
      .smallWhole = convolutionSizes(1, 8, 16, 32, {1, 3, 1, 0, 1}),
      .smallOdd = convolutionSizes(1, 5, 3, 5, {2, 2, 2, 1, 1}),
      .one = convolutionSizes(1, 1, 1, 1, {1, 1, 1, 0, 1}),
      .many = convolutionSizes(2, 30, 64, 128, {3, 3, 1, 1, 1})};
  return plan;
}

Sizes attentionSizes(int64_t b, int64_t h, int64_t q, int64_t kv, int64_t d, int64_t window) {
  return {{"B", b},           {"N", h},
          {"H", h},           {"H_KV", h > 1 ? h / 2 : 1},
          {"GROUP", 3},       {"Q", q},
          {"KV", kv},         {"D", d},
          {"WINDOW", window}, {"PAGE", 32},
          {"PAGES", 7},       {"SPLITS", b + h - 1},
          {"BUCKETS", 8},     {"MAX_DISTANCE", window}};
}

const Plan &attention() {
  static const Plan plan{.aligned = attentionSizes(1, 2, 128, 192, 64, 50),
                         .odd = attentionSizes(2, 2, 77, 131, 40, 20),
                         // Rows that see no key, more keys than queries, fewer.
                         .larger = attentionSizes(1, 4, 170, 67, 24, 32),
                         .tiles = {{"BLOCK_Q", 64}, {"BLOCK_KV", 32}, {"WAVES", 4}},
                         .dynamic = {attentionSizes(1, 2, 128, 64, 32, 40), attentionSizes(1, 1, 1, 1, 32, 40),
                                     attentionSizes(2, 4, 77, 131, 32, 40), attentionSizes(1, 2, 130, 65, 32, 40),
                                     attentionSizes(3, 2, 5, 100, 32, 40)},
                         .smallTiles = {{"BLOCK_Q", 64}, {"BLOCK_KV", 32}, {"WAVES", 4}},
                         .smallWhole = attentionSizes(1, 2, 64, 64, 32, 40),
                         .smallOdd = attentionSizes(1, 2, 21, 37, 17, 9),
                         .one = attentionSizes(1, 1, 1, 1, 1, 1),
                         .many = attentionSizes(2, 4, 1024, 512, 64, 128)};
  return plan;
}

/// Waves share keys, and a loop walks the queries.
const Plan &attentionByKeys() {
  static const Plan plan = [] {
    Plan swapped = attention();
    swapped.aligned = attentionSizes(1, 2, 128, 256, 64, 50);
    swapped.tiles = swapped.smallTiles = {{"BLOCK_Q", 32}, {"BLOCK_KV", 64}, {"WAVES", 4}};
    return swapped;
  }();
  return plan;
}

const Plan &familyPlan(const kernels::KernelEntry &entry) {
  if (entry.name == "axpy" || entry.name == "histogram")
    return line();
  if (entry.name == "row_topk" || entry.name == "row_sort")
    return shortRows();
  if (entry.name.ends_with("backward_dkv"))
    return attentionByKeys();
  if (entry.family == "attention")
    return attention();
  if (entry.name == "moe_route" || entry.name == "moe_sort")
    return routing();
  if (entry.name.starts_with("gemm_mxfp"))
    return scaledProduct();
  if (entry.name == "gemm_wave_k")
    return longProduct();
  if (entry.family == "gemm" || entry.family == "moe")
    return product();
  if (entry.family == "sampling")
    return sampling();
  if (entry.family == "rope")
    return rope();
  if (entry.family == "convolution")
    return convolution();
  return entry.family == "rows" ? rows() : elementwise();
}
} // namespace

Plan planFor(const kernels::KernelEntry &entry) {
  Plan plan = familyPlan(entry);
  if (plan.one.empty())
    for (const kernels::DefaultSize &size : entry.sizes)
      plan.one[size.name] = 1;
  auto only = [&](Sizes &sizes, const std::vector<kernels::DefaultSize> &known) {
    std::erase_if(sizes, [&](const auto &size) {
      return std::ranges::none_of(known, [&](const kernels::DefaultSize &each) { return each.name == size.first; });
    });
  };
  for (Sizes *sizes : {&plan.aligned, &plan.odd, &plan.larger, &plan.smallWhole, &plan.smallOdd, &plan.one, &plan.many})
    only(*sizes, entry.sizes);
  for (Sizes &sizes : plan.dynamic) {
    only(sizes, entry.sizes);
    for (const std::string &bound : entry.fixedSizes)
      sizes[bound] = plan.dynamic.front().at(bound);
  }
  for (Sizes *tiles : {&plan.tiles, &plan.smallTiles})
    only(*tiles, entry.tiles);
  return plan;
}

} // namespace soliton::test
