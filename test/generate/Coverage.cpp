#include "test/generate/Coverage.h"

#include <algorithm>

namespace soliton::generate {
namespace {
struct Covered {
  std::string name;
  /// Fine names, or what they begin with in front of a dot; by default the coarse name itself.
  std::vector<std::string> fine = {};
  /// Only kernels from this seed on have it.
  uint64_t since = 0;
};

const std::vector<Covered> &table() {
  static const std::vector<Covered> rows = {
      {"dims.1"},
      {"dims.2"},
      {"dims.3"},
      {"dims.4"},
      {"dims.5", {"dims.5", "dims.6"}},
      // Sizes and who has which part of them.
      {"size.odd"},
      {"size.tiny"},
      {"size.dynamic"},
      {"size.zero"},
      {"tile.odd"},
      {"whole.odd"},
      {"workgroup.shared"},
      {"workgroup.product"},
      {"workgroup.3"},
      {"workgroup.4"},
      {"workgroup.iters"},
      {"workgroup.apply"},
      {"workgroup.unused"},
      {"grid"},
      {"grid.every-dimension"},
      {"reordering"},
      {"alias"},
      {"assume"},
      {"waves"},
      {"waves.replicated"},
      {"waves.looped", {}, kFirstEverything},
      {"tiling.iters"},
      {"tiling.start"},
      // Elements.
      {"type.f32"},
      {"type.f16"},
      {"type.bf16"},
      {"type.f64"},
      {"type.i64"},
      {"type.i32"},
      {"type.i16"},
      {"type.i8"},
      {"type.i4"},
      {"type.i1"},
      {"type.index"},
      {"type.f8", {"type.f8e4m3fn", "type.f8e4m3fnuz", "type.f8e5m2", "type.f8e5m2fnuz", "type.f8e8m0fnu"}},
      {"type.f6", {"type.f6e2m3fn"}},
      {"type.f4", {"type.f4e2m1fn"}},
      {"data.real"},
      // Memory.
      {"read.permuted"},
      {"read.offset"},
      {"read.scaled"},
      {"read.divided"},
      {"read.wrapped"},
      {"read.reversed"},
      {"read.merged"},
      {"read.split"},
      {"read.constant"},
      {"read.dropped"},
      {"read.larger"},
      {"read.gather"},
      {"read.place"},
      {"read.bounds"},
      {"write.permuted"},
      {"write.offset"},
      {"write.scaled"},
      {"write.reversed"},
      {"write.merged"},
      {"write.split"},
      {"write.larger"},
      {"write.scatter"},
      {"write.bounds"},
      {"elements-per-thread"},
      {"memory.shared"},
      {"memory.in-place"},
      {"memory.written-and-read"},
      {"shared.author"},
      {"barrier.author"},
      {"wait.author"},
      {"outputs.several"},
      {"strides.numbers", {}, kFirstStrides},
      {"strides.launch", {}, kFirstStrides},
      {"strides.formulas", {}, kFirstStrides},
      {"strides.repeated", {}, kFirstStrides},
      {"write.lacking", {}, kFirstStrides},
      {"hint", {}, kFirstStrides},
      {"wait.counted", {}, kFirstStrides},
      {"print", {}, kFirstStrides},
      {"type.f6e3m2fn", {}, kFirstStrides},
      {"mma.scaled.f6", {}, kFirstStrides},
      {"mma.scaled.mixed", {}, kFirstStrides},
      {"atomic", {"atomic.add", "atomic.min", "atomic.max", "atomic.bits"}, kFirstWhole},
      {"atomic.meets", {"atomic.wrapped", "atomic.one-place", "atomic.scatter"}, kFirstWhole},
      {"atomic.old", {}, kFirstWhole},
      {"atomic.cas", {}, kFirstRows},
      {"atomic.exchange", {}, kFirstEverything},
      {"atomic.scatter-add", {}, kFirstEverything},
      {"prefetch", {}, kFirstEverything},
      {"log", {}, kFirstEverything},
      {"atomic.shared", {}, kFirstWhole},
      // Control.
      {"loop"},
      {"loop.nested"},
      {"loop.nested-same"},
      {"loop.sequential"},
      {"carried.several", {"carried.2", "carried.3"}},
      {"conditional"},
      {"number.count", {}, kFirstNumbers},
      {"number.branch", {}, kFirstNumbers},
      {"number.place", {}, kFirstNumbers},
      {"loop.exit", {}, kFirstNumbers},
      {"loop.while", {}, kFirstEverything},
      {"loop.element-while", {}, kFirstEverything},
      {"grid.persistent", {}, kFirstEverything},
      {"conditional.nested", {}, kFirstEverything},
      {"conditional.alone", {}, kFirstEverything},
      {"conditional.when", {}, kFirstEverything},
      {"number.bound", {}, kFirstEverything},
      {"number.extracted", {}, kFirstEverything},
      // Lanes.
      {"lanes", {}, kFirstEverything},
      {"lanes.own-place", {}, kFirstEverything},
      {"lanes.shuffle", {}, kFirstEverything},
      {"lanes.vote", {}, kFirstEverything},
      {"lanes.vector", {}, kFirstEverything},
      {"lanes.array", {}, kFirstEverything},
      {"lanes.atomic", {}, kFirstEverything},
      {"lanes.any-thread", {}, kFirstEverything},
      // Computing.
      {"mma.1"},
      {"mma.2"},
      {"mma.3"},
      {"mma.named"},
      {"mma.scaled", {}, kFirstScaled},
      {"batch.tile.1"},
      {"batch.tile.more"},
      {"reduce"},
      {"reduce.other", {"reduce.prod", "reduce.any", "reduce.all"}, kFirstWhole},
      {"reduce.scan", {}, kFirstWhole},
      {"reduce.arg", {"reduce.argmax", "reduce.argmin"}, kFirstWhole},
      {"rows.sort", {}, kFirstRows},
      {"rows.moved", {}, kFirstRows},
      {"rows.topk", {}, kFirstEverything},
      {"moved.slice", {}, kFirstEverything},
      {"moved.extract", {}, kFirstEverything},
      {"moved.reshape", {}, kFirstEverything},
      {"moved.concatenate", {}, kFirstEverything},
      {"bitcast.same", {}, kFirstEverything},
      {"bitcast.width", {}, kFirstEverything},
      {"function-of-two", {}, kFirstEverything},
      {"broadcast", {"broadcast", "binary.broadcast"}},
      {"cast"},
      {"permute"},
      {"select", {"select", "compare"}},
      {"self_index"},
      {"apply_expr"},
      {"scalar"},
      {"function"},
      {"unary"},
      {"binary"},
      // When.
      {"schedule.prefetch"},
      {"schedule.four_stage"},
      {"schedule.list"},
      {"schedule.modulo"},
      {"schedule.exact"},
      {"direct-copies"}};
  return rows;
}

bool isUnder(const std::string &name, const std::string &prefix) {
  return name == prefix || (name.starts_with(prefix) && name[prefix.size()] == '.');
}

/// Two lists of features of which none of the first meets one of the second.
struct Never {
  std::vector<std::string> some, others;
  const char *reason;
};

const std::vector<Never> &nevers() {
  const std::vector<std::string> scaled = {"mma.scaled", "mma.scaled.f6", "mma.scaled.mixed"};
  const std::vector<std::string> products = {
      "mma.1", "mma.2", "mma.3", "mma.named", "mma.scaled", "mma.scaled.f6", "mma.scaled.mixed", "batch"};
  const std::vector<std::string> ofLanes = {"lanes",        "lanes.own-place", "lanes.shuffle", "lanes.vote",
                                            "lanes.vector", "lanes.array",     "lanes.atomic",  "lanes.any-thread"};
  const std::vector<std::string> looping = {"loop", "carried", "tiling", "schedule"};
  static const std::vector<Never> rows = {
      {{"dims"}, {"dims"}, "a kernel has one number of dimensions"},
      {{"schedule"}, {"schedule"}, "a kernel has one schedule"},
      {{"mma.1", "mma.2", "mma.3"}, {"mma.1", "mma.2", "mma.3"}, "a kernel has one number of products"},
      {scaled, {"mma.2", "mma.3", "mma.named", "batch.tile.more", "dims.5"}, "a scaled product is the only one"},
      {products, {"tile.odd", "whole.odd"}, "matrix instructions take whole tiles"},
      {products, {"alias"}, "an alias has no matrix instruction's tile"},
      {products, {"dims.1", "dims.2"}, "a product has three dimensions"},
      {{"batch", "mma.2"}, {"dims.3"}, "a batch, or a second product, is a fourth dimension"},
      {{"mma.3"}, {"dims.3", "dims.4"}, "three products have five dimensions"},
      {products, {"workgroup.4"}, "of five dimensions a product sums one"},
      {{"loop.nested"}, {"mma.1"}, "one product sums one dimension"},
      {looping, {"dims.1"}, "the one dimension is that of the results"},
      {{"number.count", "loop.exit"}, {"dims.1"}, "the one dimension is that of the results"},
      {{"loop.exit"}, {"schedule"}, "a loop that data end is not scheduled"},
      {{"reduce", "reduce.other", "reduce.arg", "broadcast", "permute"}, {"dims.1"}, "tiles of one dimension only"},
      {{"loop.nested"}, {"dims.2"}, "two loops and a result are three dimensions"},
      {{"workgroup.shared", "workgroup.product"}, {"dims.1", "workgroup.4"}, "two of five dimensions share one number"},
      {{"workgroup.3"}, {"dims.1", "dims.2", "dims.3"}, "four workgroup dimensions have four dimensions"},
      {{"workgroup.4"}, {"dims.1", "dims.2", "dims.3", "dims.4"}, "five workgroup dimensions have five dimensions"},
      {{"alias"}, {"dims.5", "workgroup.4"}, "an alias would be a sixth dimension"},
      {{"workgroup.unused"}, {"workgroup.4"}, "one that no tile has would be a sixth dimension"},
      {{"workgroup.unused", "grid"},
       {"grid.every-dimension"},
       "what no tile has is one workgroup: no two may write the same"},
      {{"workgroup.4"}, {"grid.every-dimension"}, "32 workgroups are more than these launches have"},
      {{"grid"}, {"reordering"}, "one workgroup has no order"},
      {{"workgroup.product"}, {"reordering"}, "several numbers would be one workgroup's"},
      {ofLanes, {"waves", "waves.replicated"}, "lanes are those of all waves"},
      {ofLanes, {"grid", "grid.persistent"}, "lanes say their grid themselves"},
      {{"grid.persistent"}, {"reordering", "grid.every-dimension", "grid"}, "these workgroups choose their tiles"},
      {{"atomic.exchange", "atomic.cas"}, {"atomic.exchange"}, "an atomic is of one kind"},
  };
  return rows;
}
} // namespace

static std::vector<std::string> namesOf(uint64_t seed) {
  std::vector<std::string> list;
  for (const Covered &each : table())
    if (each.since <= seed)
      list.push_back(each.name);
  return list;
}

const std::vector<std::string> &coveredFeatures(uint64_t seed) {
  static const std::vector<std::string> first = namesOf(0), whole = namesOf(kFirstWhole),
                                        numbers = namesOf(kFirstNumbers), rows = namesOf(kFirstRows),
                                        scaled = namesOf(kFirstScaled), everything = namesOf(kFirstEverything),
                                        all = namesOf(kFirstStrides);
  return seed < kFirstWhole        ? first
         : seed < kFirstNumbers    ? whole
         : seed < kFirstRows       ? numbers
         : seed < kFirstScaled     ? rows
         : seed < kFirstEverything ? scaled
         : seed < kFirstStrides    ? everything
                                   : all;
}

bool brings(const std::string &fine, const std::string &coarse) {
  auto row = std::ranges::find(table(), coarse, &Covered::name);
  if (row == table().end())
    return false;
  if (row->fine.empty())
    return isUnder(fine, coarse) && (fine == coarse || !std::ranges::count(coveredFeatures(), fine));
  return std::ranges::any_of(row->fine, [&](const std::string &each) { return isUnder(fine, each); });
}

std::set<std::string> coveredBy(const std::set<std::string> &features) {
  std::set<std::string> found;
  for (const std::string &coarse : coveredFeatures())
    if (std::ranges::any_of(features, [&](const std::string &fine) { return brings(fine, coarse); }))
      found.insert(coarse);
  return found;
}

std::optional<std::string> whyNever(const std::string &a, const std::string &b) {
  // A name of the table is itself; another one stands for all that begin with it.
  auto in = [](const std::vector<std::string> &list, const std::string &name) {
    return std::ranges::any_of(list, [&](const std::string &each) {
      return std::ranges::count(coveredFeatures(), each) && each != "loop" ? name == each : isUnder(name, each);
    });
  };
  for (const Never &each : nevers())
    if ((in(each.some, a) && in(each.others, b)) || (in(each.some, b) && in(each.others, a)))
      return each.reason;
  return std::nullopt;
}

} // namespace soliton::generate
