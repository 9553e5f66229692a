//===- BuildDims.cpp - Dimensions and how they are distributed --------------------------------===//
#include "test/generate/Build.h"

#include <functional>

namespace soliton::generate {

/// A workgroup's tile of all dimensions has at most this many elements, and a launch this many workgroups.
static constexpr int64_t kMostElements = 4096, kMostWorkgroups = 24;

/// Whether one of them is wanted, where anything is.
bool Builder::wants(std::initializer_list<const char *> features) const {
  return choose.isSteered() && std::ranges::any_of(features, [&](const char *each) { return choose.isWanted(each); });
}

void Builder::chooseDims() {
  bool matrix = wants(
      {"mma.1", "mma.2", "mma.3", "mma.named", "batch.tile.1", "batch.tile.more", "mma.scaled.f6", "mma.scaled.mixed"});
  usesMatrix = (matrix && choose.mayUse("mma") && choose.chance(80)) || choose.maybe("mma", matrix ? 50 : 35);
  if (usesMatrix)
    chooseMatrixDims();
  else
    choosePlainDims();
  choose.note("dims." + std::to_string(program.dims.size()));
}

void Builder::addDim(const std::string &name, int64_t tile, bool distributed, bool isSerial) {
  program.dims.push_back({name, tile});
  (isSerial ? serial : parallel).push_back(name);
  if (!distributed)
    return;
  if (isSerial)
    program.tilings.push_back({name, tile});
  else
    program.workgroups.push_back({name, tile});
}

/// Dimensions of results, and those that are summed over.
std::pair<size_t, size_t> Builder::chooseDimCounts() {
  size_t count =
      1 +
      choose.among({{"parallel.1", 25}, {"parallel.2", 40}, {"parallel.3", 20}, {"parallel.4", 10}, {"parallel.5", 5}});
  size_t sums = count >= 4 ? 5 - count : choose.among({{"serial.0", 35}, {"serial.1", 45}, {"serial.2", 20}});
  sums = std::min<size_t>(sums, 2);
  if (!choose.isSteered())
    return {count, sums};
  if (wants({"workgroup.3", "workgroup.4"}))
    count = wants({"workgroup.4"}) ? 5 : 4;
  if (wants({"loop", "loop.sequential", "carried.2", "tiling.iters", "tiling.start", "schedule.prefetch",
             "schedule.four_stage", "schedule.list", "schedule.modulo", "schedule.exact"}))
    sums = std::max<size_t>(sums, 1);
  if (wants({"loop.nested"}))
    sums = 2;
  for (size_t all = 1; all <= 5; ++all)
    if (choose.isWanted("dims." + std::to_string(all))) {
      sums = std::min(sums, all - 1);
      count = all - sums;
    }
  return {count, sums};
}

void Builder::choosePlainDims() {
  static const std::vector<std::string> kNames = {"M", "N", "B", "H", "G"}, kSerial = {"K", "L"};
  auto [count, sums] = chooseDimCounts();
  int64_t elements = 1;
  auto tile = [&]() -> int64_t {
    std::vector<int64_t> tiles = {1, 2, 4, 8, 16, 32, 64};
    if (choose.maybe("tile.odd", 20))
      tiles = {3, 5, 7, 12, 17, 33};
    std::erase_if(tiles, [&](int64_t each) { return each * elements > kMostElements; });
    int64_t chosen = tiles.empty() ? 1 : choose.from(tiles);
    elements *= chosen;
    return chosen;
  };
  for (size_t i = 0; i < count; ++i)
    addDim(kNames[i], tile(), choose.chance(wants({"workgroup.3", "workgroup.4"}) ? 100 : 85), false);
  for (size_t i = 0; i < sums; ++i)
    addDim(kSerial[i], tile(), choose.chance(75), true);
}

/// One product, whose contracted dimension is whole instructions of every chip.
void Builder::chooseScaledDims() {
  static const Element kElements[] = {Element::f4e2m1fn, Element::f8e4m3fn, Element::f8e5m2, Element::f6e2m3fn,
                                      Element::f6e3m2fn};
  std::vector<Choose::Weighted> weights = {
      {"mma.scaled.f4", 50}, {"mma.scaled.f8e4m3fn", 30}, {"mma.scaled.f8e5m2", 20}};
  if (choose.hasStrides())
    weights.insert(weights.end(), {{"mma.scaled.f6.e2m3", 30}, {"mma.scaled.f6.e3m2", 30}});
  matrixType = kElements[choose.among(weights)];
  if (choose.hasStrides() && choose.maybe("mma.scaled.mixed", 30))
    rightType = kElements[choose.among(weights)];
  if (choose.among({{"batch.0", 70}, {"batch.1", 30}}) == 1)
    addDim("B", 1, choose.chance(85), false);
  addDim("M", choose.from(std::vector<int64_t>{16, 32, 32, 64}), choose.chance(90), false);
  addDim("K", 128, choose.chance(80), true);
  addDim("N", choose.from(std::vector<int64_t>{16, 16, 32}), choose.chance(90), false);
  choose.note("mma.1");
}

void Builder::chooseMatrixDims() {
  struct Row {
    const char *feature;
    Element type;
    unsigned weight;
    std::vector<std::string> targets;
  };
  const std::vector<std::string> all = {"gfx942", "gfx950", "sm_90a"}, newer = {"gfx950", "sm_90a"}, older = {"gfx942"};
  const std::vector<Row> rows = {
      {"mma.f16", Element::f16, 40, all},        {"mma.bf16", Element::bf16, 15, all},
      {"mma.i8", Element::i8, 12, all},          {"mma.f8e4m3fn", Element::f8e4m3fn, 8, newer},
      {"mma.f8e5m2", Element::f8e5m2, 4, newer}, {"mma.f8e4m3fnuz", Element::f8e4m3fnuz, 5, older},
      {"mma.f64", Element::f64, 4, all},         {"mma.f32", Element::f32, 4, {"gfx942", "gfx950"}}};
  scaledProduct =
      choose.hasScaled() && choose.maybe("mma.scaled", wants({"mma.scaled.f6", "mma.scaled.mixed"}) ? 80 : 15);
  if (scaledProduct)
    return chooseScaledDims();
  std::vector<Choose::Weighted> weights;
  for (const Row &row : rows)
    weights.push_back({row.feature, row.weight});
  const Row &row = rows[choose.among(weights)];
  matrixType = row.type;
  program.targets = row.targets;
  size_t batches = choose.among({{"batch.0", 55}, {"batch.1", 30}, {"batch.2", 15}});
  size_t chain = 1 + choose.among({{"mma.1", 60}, {"mma.2", 28}, {"mma.3", 12}});
  chain = std::min(chain, 3 - (batches > 1 ? 1 : 0) + size_t(0));
  static const char *const kBatch[] = {"B", "H"};
  int64_t together = 1;
  for (size_t i = 0; i < batches; ++i) {
    bool one = choose.among({{"batch.tile.1", 65}, {"batch.tile.more", 35}}) == 0;
    addDim(kBatch[i], one ? 1 : choose.between(2, 3), choose.chance(85), false);
    together *= program.dims.back().size;
  }
  // Several products at a time are smaller ones: a lane has to hold them all.
  bool small = choose.isSteered() && together > 1;
  auto side = [&] { return choose.from(std::vector<int64_t>{16, 16, small ? 16 : 32, 32, small ? 32 : 64}); };
  auto deep = [&] {
    return matrixType == Element::f64 || matrixType == Element::f32 ? int64_t(16)
                                                                    : choose.from(std::vector<int64_t>{32, 32, 64});
  };
  addDim("M", side(), choose.chance(90), false);
  addDim("K", deep(), choose.chance(chain > 1 ? 50 : 80), true);
  // In a chain the first product's columns are what the second sums over.
  addDim("N", chain > 1 ? deep() : side(), choose.chance(90), chain > 1);
  if (chain > 1)
    addDim("D", side(), chain == 2 && choose.chance(80), false);
  if (chain > 2) {
    std::erase(parallel, "D");
    serial.push_back("D");
    dim("D").size = deep();
    addDim("E", side(), choose.chance(80), false);
  }
}

//===-- Sizes ---------------------------------------------------------------------------------===//

int64_t Builder::chooseSize(int64_t tile, int64_t most) {
  int64_t count = choose.between(1, std::max<int64_t>(1, most));
  switch (choose.among({{"size.aligned", 45}, {"size.odd", 40}, {"size.tiny", 15}})) {
  case 0:
    return tile * count;
  case 1:
    return std::max<int64_t>(1, tile * count - choose.between(0, tile - 1));
  default:
    return choose.between(1, std::min<int64_t>(tile, 3));
  }
}

/// A chain of products over many batches is no better a test than one over few, only slower.
void Builder::limitWork() {
  constexpr int64_t kMostWork = 1 << 20;
  auto work = [&] {
    int64_t batches = 1;
    std::vector<int64_t> others;
    for (const Dim &each : program.dims)
      if (each.name == "B" || each.name == "H")
        batches *= each.size;
      else
        others.push_back(each.size);
    std::ranges::sort(others, std::greater<>());
    for (size_t i = 0; i < std::min<size_t>(3, others.size()); ++i)
      batches *= others[i];
    return batches;
  };
  while (usesMatrix && work() > kMostWork) {
    Dim *longest = nullptr;
    for (Dim &each : program.dims)
      if (each.size > tileOf(program, each.name) && (!longest || each.size > longest->size))
        longest = &each;
    if (!longest)
      return;
    longest->size = std::max(tileOf(program, longest->name), longest->size / 2);
  }
}

int64_t Builder::countOf(const WorkgroupConstraint &constraint) const {
  int64_t size = program.findDim(constraint.dim)->size;
  return constraint.iters ? sizeOf(program, *constraint.iters) : (size + constraint.tile - 1) / constraint.tile;
}
bool Builder::isDistributed(const std::string &dim) const {
  return std::ranges::count(program.workgroups, dim, &WorkgroupConstraint::dim) > 0;
}
bool Builder::isLooped(const std::string &dim) const {
  return std::ranges::count(program.tilings, dim, &TilingConstraint::dim) > 0;
}

void Builder::chooseConstraints() {
  if (program.targets.empty())
    program.targets = {"gfx942", "gfx950", "sm_90a"};
  int64_t groups = 1;
  for (WorkgroupConstraint &each : program.workgroups) {
    dim(each.dim).size = chooseSize(each.tile, std::min<int64_t>(3, kMostWorkgroups / groups));
    groups *= countOf(each);
  }
  for (TilingConstraint &each : program.tilings)
    dim(each.dim).size = chooseSize(each.tile, 4);
  limitWork();
  if (scaledProduct)
    dim("K").size = (dim("K").size + 31) / 32 * 32;
  // What nobody distributes is held whole.
  for (Dim &each : program.dims)
    if (!isDistributed(each.name) && !isLooped(each.name) && choose.maybe("whole.odd", 15) && !usesMatrix)
      each.size = std::max<int64_t>(1, each.size - choose.between(0, each.size - 1));
  for (Dim &each : program.dims)
    each.dynamic = (isDistributed(each.name) || isLooped(each.name)) && choose.maybe("size.dynamic", 20);
  for (Dim &each : program.dims)
    if (choose.isSteered() && each.dynamic && choose.maybe("size.zero", 2))
      each.size = 0;
  chooseWorkgroups();
  choosePersistent();
  chooseLanes();
  if (!program.threads)
    chooseWaves();
  chooseTilings();
  chooseReordering();
  distributeLanes();
  chooseAlias();
  chooseAssumptions();
}

//===-- Workgroups ------------------------------------------------------------------------------===//

void Builder::chooseWorkgroups() {
  std::vector<WorkgroupConstraint> &list = program.workgroups;
  choose.shuffle(list);
  int next = 0;
  std::vector<size_t> rotated;
  for (size_t i = 0; i < list.size(); ++i) {
    WorkgroupConstraint &each = list[i];
    bool second = i > 0 && (list.size() <= 3 || choose.isSteered()) &&
                  choose.maybe("workgroup.shared", wants({"workgroup.product"}) ? 60 : 10);
    each.workgroupDim = second ? list[i - 1].workgroupDim : next++;
    each.primary = !second || choose.maybe("workgroup.product", 25);
    if (each.workgroupDim > 2)
      choose.note("workgroup." + std::to_string(each.workgroupDim));
    if (each.primary && choose.maybe("workgroup.iters", 6))
      each.iters = Formula(std::max<int64_t>(1, countOf(each) + choose.between(-1, 1)));
    if (chooseApply(each))
      rotated.push_back(i);
  }
  for (size_t i : rotated)
    list[i].apply = mod(Formula::symbol("$WG") + 1, turnOf(list[i])) * list[i].tile;
  if (list.size() < 5 && choose.maybe("workgroup.unused", 3)) {
    program.dims.push_back({"U", 4});
    list.push_back({"U", 4, next});
  }
  if (choose.maybe("grid", 2))
    program.grid = 1;
}

static Formula countIn(const WorkgroupConstraint &constraint) {
  return constraint.iters ? *constraint.iters : ceildiv(Formula::symbol(constraint.dim), constraint.tile);
}

Formula Builder::turnOf(const WorkgroupConstraint &constraint) const {
  Formula turn = countIn(constraint);
  // Of an empty dimension that does not count them there are workgroups, but no rest of a division.
  if (!constraint.primary && program.findDim(constraint.dim)->size == 0)
    return Formula::of(FormulaKind::max, {turn, 1});
  for (const WorkgroupConstraint &each : program.workgroups)
    if (constraint.primary && each.primary && each.workgroupDim == constraint.workgroupDim &&
        each.dim != constraint.dim)
      turn = turn * countIn(each);
  return turn;
}

bool Builder::chooseApply(WorkgroupConstraint &constraint) {
  if (!choose.maybe("workgroup.apply", 12))
    return false;
  Formula id = Formula::symbol("$WG"), tile = constraint.tile;
  switch (choose.among({{"apply.plain", 20},
                        {"apply.reversed", 30},
                        {"apply.rotated", 20},
                        {"apply.shifted", 15},
                        {"apply.negative", 15}})) {
  case 0:
    constraint.apply = id * tile;
    return false;
  case 1:
    constraint.apply = (countIn(constraint) - 1 - id) * tile;
    return false;
  case 2:
    return true;
  case 3:
    constraint.apply = id * tile + choose.between(1, 3);
    return false;
  default:
    constraint.apply = id * tile - choose.between(1, 3);
    return false;
  }
}

void Builder::chooseWaves() {
  int64_t total = 1, perDim[5] = {1, 1, 1, 1, 1};
  for (const WorkgroupConstraint &each : program.workgroups) {
    int64_t least = usesMatrix && each.dim != "B" && each.dim != "H" ? 16 : 1;
    int64_t count = choose.from(std::vector<int64_t>{1, 2, 2, 4});
    if (each.workgroupDim > 2 || each.tile % count != 0 || each.tile / count < least || total * count > 8 ||
        !choose.maybe("waves", 40))
      continue;
    program.waves.push_back({each.dim, each.tile / count});
    total *= count;
    perDim[each.workgroupDim] *= count;
  }
  for (const TilingConstraint &each : program.tilings) {
    if (!choose.hasEverything() || scaledProduct)
      break;
    int64_t least = usesMatrix ? 32 : 1, count = choose.from(std::vector<int64_t>{2, 2, 4});
    if (each.tile % count != 0 || each.tile / count < least || total * count > 8 || isDistributed(each.dim) ||
        !choose.maybe("waves.looped", 25))
      continue;
    program.waves.push_back({each.dim, each.tile / count});
    total *= count;
    perDim[0] *= count;
  }
  if (total <= 4 && choose.maybe("waves.replicated", 5))
    program.wavesPerBlock = {perDim[0] * 2, perDim[1], perDim[2]};
}

void Builder::chooseTilings() {
  for (TilingConstraint &each : program.tilings) {
    int64_t count = (dim(each.dim).size + each.tile - 1) / each.tile;
    if (choose.maybe("tiling.iters", 8))
      each.iters = Formula(choose.between(0, count + 1));
    if (choose.maybe("tiling.start", 6))
      each.start = Formula(scaledProduct ? 32 * choose.between(-1, 2) : choose.between(-3, 5));
  }
}

void Builder::chooseReordering() {
  std::vector<WorkgroupConstraint *> first;
  for (int wanted = 0; wanted < 2; ++wanted)
    for (WorkgroupConstraint &each : program.workgroups)
      if (each.workgroupDim == wanted && each.primary)
        first.push_back(&each);
  bool alone = first.size() <= 2 && !first.empty() && first[0]->workgroupDim == 0 &&
               (first.size() == 1 || first[1]->workgroupDim == 1);
  if (!choose.isSteered())
    alone &= program.workgroups.size() == first.size();
  if (!alone || program.grid || !choose.maybe("reordering", 10))
    return;
  Formula x = Formula::symbol("$WG0"), y = Formula::symbol("$WG1");
  auto count = [&](size_t i) {
    return first[i]->iters ? *first[i]->iters : ceildiv(Formula::symbol(first[i]->dim), first[i]->tile);
  };
  if (first.size() == 2 && choose.maybe("reordering.both", 50)) {
    Formula number = x + y * count(0);
    program.reorderings = {{floordiv(number, count(1)), 0}, {mod(number, count(1)), 1}};
    return;
  }
  program.reorderings = {{choose.chance(50) ? count(0) - 1 - x : mod(x + 1, count(0)), 0}};
}

//===-- The rest --------------------------------------------------------------------------------===//

void Builder::chooseAlias() {
  if (usesMatrix || program.dims.size() > 4 || !choose.maybe("alias", 8))
    return;
  std::vector<std::string> targets;
  for (const Dim &each : program.dims)
    if ((isDistributed(each.name) || isLooped(each.name)) && !each.dynamic && each.size % 2 == 0 &&
        tileOf(program, each.name) % 2 == 0)
      targets.push_back(each.name);
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.apply)
      std::erase(targets, each.dim);
  for (const TilingConstraint &each : program.tilings)
    if (each.start)
      std::erase(targets, each.dim);
  for (const WaveConstraint &each : program.waves)
    if (choose.isSteered() && each.tile < tileOf(program, each.dim))
      std::erase(targets, each.dim);
  if (targets.empty())
    return;
  std::string target = choose.from(targets);
  bool half = choose.chance(50);
  Formula x = Formula::symbol("$x");
  program.aliases.push_back({"S", target, half ? floordiv(x, 2) : x * 2});
  program.dims.push_back({"S", half ? dim(target).size / 2 : dim(target).size * 2});
  (isSerial(target) ? serial : parallel).push_back("S");
}

void Builder::chooseAssumptions() {
  if (scaledProduct && dim("K").dynamic)
    program.assumptions.push_back(Formula::of(FormulaKind::eq, {mod(Formula::symbol("K"), 32), 0}));
  for (const Dim &each : program.dims)
    if (each.dynamic && choose.maybe("assume", 25)) {
      Formula size = Formula::symbol(each.name);
      if (each.size % 8 == 0)
        program.assumptions.push_back(Formula::of(FormulaKind::eq, {mod(size, 8), 0}));
      else
        program.assumptions.push_back(Formula::of(FormulaKind::le, {1, size}));
    }
}

} // namespace soliton::generate
