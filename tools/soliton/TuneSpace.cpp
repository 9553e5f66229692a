//===- TuneSpace.cpp - Which choices a kernel has ---------------------------------------------------===//
//
// Said on the command line, `--space BLOCK_M=64,128 --space schedule=prefetch,modulo --where 'BLOCK_M*BLOCK_N <=
// 16384'`, or derived (`--space auto`): tiles and waves around the kernel's own, schedules that its tags allow, direct
// copies, staged writes, the order of workgroups, and the matrix instructions of its element types.
//
// Some choices follow from others, and a search that had to find them all at once would find none: an instruction that
// several waves issue together decides waves and columns, a ring needs direct copies, and waves that have tiles copied
// for others need those that are copied in boxes (`settled`).
//
//===----------------------------------------------------------------------===//

#include "kernels/Schedules.h"
#include "soliton/driver/LoopLaunch.h"
#include "soliton/driver/Tuned.h"
#include "soliton/frontend/Program.h"
#include "tools/soliton/Tune.h"

#include <algorithm>

namespace soliton::cli {

namespace {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

int64_t countProducts(const Resolved &resolved) {
  const std::shared_ptr<frontend::Program> program = resolved.entry->build(*resolved.variant).program();
  return std::ranges::count_if(program->ops,
                               [](const frontend::OpRecord &op) { return op.kind == frontend::OpKind::mma; });
}

/// Half, the same and double of a tile; of a number of waves, all that are near.
std::vector<std::string> around(const kernels::DefaultSize &tile) {
  std::vector<std::string> values;
  for (int64_t value : {tile.value / 2, tile.value, tile.value * 2})
    if (value >= std::max<int64_t>(tile.least, 1))
      values.push_back(std::to_string(value));
  return values;
}

/// Those of the library that are written for the tags of a plain product.
std::vector<std::string> schedulesFor(const Resolved &resolved) {
  std::vector<std::string> names = {"none", "prefetch", "four_stage", "modulo"};
  if (findTarget(resolved.options.target)->hasTileCopy)
    names.emplace_back("ring");
  bool isAttention = resolved.entry->family.find("attention") != std::string::npos;
  if (isAttention)
    names.push_back("prefetch_attention");
  if (resolved.entry->name == "gemm")
    for (const kernels::ScheduleEntry &entry : kernels::allSchedules())
      names.push_back(entry.name());
  return names;
}

/// Of instructions that several waves issue together there is one for every eight columns; the narrow ones are for
/// narrow tensors, and who wants them says so.
bool isWide(const MmaKind &kind) {
  constexpr int64_t kLeast = 64, kStep = 32;
  return kind.n >= kLeast && kind.n % kStep == 0;
}

/// Whether workgroups along the first dimension of the grid have loops of different length, and there is a second one.
bool areUneven(const frontend::Program &program) {
  bool hasSecond = program.find<WorkgroupConstraint>(
                       [](const WorkgroupConstraint &each) { return each.workgroup_dim == 1; }) != nullptr;
  const auto *uneven = program.find<TilingConstraint>([](const TilingConstraint &each) {
    return each.options.iters && sym::contains(*each.options.iters, workgroup_id(0));
  });
  return hasSecond && uneven;
}

/// What symbols are where an assignment says nothing else.
lang::Substitutions boundBy(const tune::Assignment &said, const Resolved &resolved) {
  lang::Substitutions bound;
  auto isSaid = [&](const Expr &symbol) {
    return symbol.isSymbol() && said.contains(std::string(symbol.symbolName()));
  };
  const lang::Substitutions known = withSizes(resolved);
  for (const lang::Substitutions *list : {&known, &resolved.options.defaults})
    for (const auto &[symbol, value] : *list)
      if (!isSaid(symbol))
        bound.emplace_back(symbol, value);
  for (const auto &[name, value] : said)
    bound.emplace_back(sym::Expr::symbol(name), std::strtoll(value.c_str(), nullptr, 10));
  return bound;
}

/// Roles of waves, tiles that a workgroup walks, and bands along the grid's second dimension: where boxes are copied.
void deriveForBoxes(const tune::Space &space, const Resolved &resolved, const Target &target,
                    const std::function<void(const std::string &, const std::vector<std::string> &)> &add) {
  add("service_waves", {"0", std::to_string(target.hasRegisterReallocation ? target.simdsPerComputeUnit : 1)});
  // With the smallest tiles there are the most of them.
  tune::Assignment smallest;
  for (const tune::Choice &choice : space.choices())
    if (choice.isOrdered)
      smallest[choice.name] = choice.values.front();
  Kernel kernel = resolved.entry->build(*resolved.variant);
  int64_t tiles = tilesOf(kernel, boundBy(smallest, resolved));
  if (tiles == 0 || tiles > target.computeUnits)
    add("persistent", {"0", std::to_string(target.computeUnits)});
  if (space.find("persistent") || resolved.options.persistent > 0)
    add("overlap_tiles", {"off", "on"});
  // Between two products there is something to compute, under another team's.
  if (countProducts(resolved) > 1)
    add("turns", {"off", "on"});
  if (target.maxClusterSize > 1)
    add("workgroups_per_cluster", {"1", "2", "1x2"});
}

void derive(tune::Space &space, const TuneCommand &command, const Resolved &resolved) {
  const Target &target = *findTarget(command.choice.target);
  // What was said is where the search starts, so it is one of the values.
  const tune::Assignment said = saidOf(command.choice);
  auto add = [&](const std::string &name, std::vector<std::string> values) {
    if (space.find(name) || values.size() < 2)
      return;
    if (auto own = said.find(name); own != said.end() && std::ranges::find(values, own->second) == values.end())
      values.push_back(own->second);
    space.choice(name, values);
  };
  for (const kernels::DefaultSize &tile : resolved.entry->tilesFor(*resolved.variant, target))
    add(tile.name, around(tile));
  add("schedule", schedulesFor(resolved));
  add("direct_copies", {"off", "on"});
  add("swizzle", {"on", "off"});
  if (countProducts(resolved) == 0)
    return;
  add("staged_writes", {"off", "on"});
  bool hasBands = target.hasTileCopy && areUneven(*resolved.entry->build(*resolved.variant).program());
  add("raster", hasBands ? std::vector<std::string>{"-8", "-4", "-2", "0", "4", "8", "16"}
                         : std::vector<std::string>{"0", "4", "8", "16"});
  if (target.maxClusterSize > 1)
    add("cluster", {"1", "2", "4"});
  if (target.hasTileCopy)
    deriveForBoxes(space, resolved, target, add);
  std::vector<std::string> kinds = {"default"};
  DType input = resolved.variant->input.resolve(target.fp8e4m3);
  for (const MmaKind *kind : legalMmas(target, {input, input, DType::f32}))
    if (std::ranges::find(kinds, kind->name) == kinds.end() && (!kind->async || isWide(*kind)))
      kinds.push_back(kind->name);
  add("mma", kinds);
}

/// Words that are not names of symbols.
bool isOption(const std::string &name) {
  return name == "schedule" || name == "direct_copies" || name == "mma" || name == "padded_rows" ||
         name == "staged_writes" || name == "swizzle";
}

tune::TuneError noFormula(const std::string &text, const sym::ExprError &error) {
  return {DiagId::TuneWhere, "found `--where " + text + "`, expected a formula of the space's numbers: " + error.what(),
          "as in `--where 'BLOCK_M*BLOCK_N <= 16384'`"};
}

tune::Space::Condition conditionOf(const std::string &text) {
  sym::Expr formula = [&] {
    try {
      return sym::parse(text);
    } catch (const sym::ExprError &error) {
      throw noFormula(text, error);
    }
  }();
  return [formula, text](const tune::Assignment &assignment) {
    sym::Environment values;
    for (const auto &[name, value] : assignment)
      if (!isOption(name))
        values.set(sym::Expr::symbol(name), std::strtoll(value.c_str(), nullptr, 10));
    try {
      return sym::evaluate(formula, values) != 0;
    } catch (const sym::ExprError &error) {
      throw noFormula(text, error);
    }
  };
}

} // namespace

tune::Space makeSpace(const TuneCommand &command, const Resolved &resolved) {
  tune::Space space;
  bool isDerived = command.space.empty();
  for (const std::string &said : command.space) {
    if (said == "auto") {
      isDerived = true;
      continue;
    }
    if (said == "none")
      continue;
    size_t equals = said.find('=');
    if (equals == std::string::npos)
      throw tune::TuneError(DiagId::TuneSpace,
                            "found `--space " + said + "`, expected `NAME=VALUE,VALUE`, `auto` or `none`",
                            "say `--space` once for each name, as in `--space BLOCK_M=64,128`");
    space.choice(said.substr(0, equals), split(said.substr(equals + 1), ','));
    checkChoice(space.choices().back(), command.choice, resolved);
  }
  if (isDerived && resolved.entry)
    derive(space, command, resolved);
  for (const std::string &text : command.where) {
    tune::Space::Condition condition = conditionOf(text);
    tune::Assignment any;
    for (const tune::Choice &choice : space.choices())
      any[choice.name] = choice.values.front();
    condition(any);
    space.where(text, std::move(condition));
  }
  return space;
}

/// The instruction that a candidate names, if several waves issue it together.
static const MmaKind *groupInstruction(const tune::Assignment &said, const Target &target) {
  auto name = said.find("mma");
  auto found = name == said.end() ? target.mmas.end() : std::ranges::find(target.mmas, name->second, &MmaKind::name);
  return found != target.mmas.end() && found->async ? &*found : nullptr;
}

static int64_t numberOf(const tune::Assignment &said, const std::string &name, int64_t usual) {
  auto found = said.find(name);
  return found == said.end() ? usual : std::strtoll(found->second.c_str(), nullptr, 10);
}

/// Roles and walks: without boxes there is nothing to serve, in a cluster that sums together nobody serves, walks or
/// copies to others, and where there are no more tiles than workgroups each has one.
static void settleRoles(tune::Assignment &said, const Resolved &resolved, const MmaKind *kind) {
  auto number = [&](const std::string &name) { return numberOf(said, name, 0); };
  auto is = [&](const std::string &name, const std::string &value) {
    auto found = said.find(name);
    return found != said.end() && found->second == value;
  };
  bool isAlone = number("cluster") <= 1;
  bool hasBoxes = !is("direct_copies", "off") && (kind || !said.contains("mma"));
  if (number("service_waves") > 0 && (!isAlone || !hasBoxes))
    said["service_waves"] = "0";
  if (said.contains("workgroups_per_cluster") && (!isAlone || !hasBoxes))
    said["workgroups_per_cluster"] = "1";
  if (number("persistent") == 0)
    return;
  int64_t tiles = tilesOf(resolved.entry->build(*resolved.variant), boundBy(said, resolved));
  if (!isAlone || (tiles > 0 && tiles <= number("persistent")))
    said["persistent"] = "0";
}

/// Who does not walk, or copies for itself or for neighbours, has no tiles that overlap.
static void settleOverlap(tune::Assignment &said, const CompileOptions &options) {
  auto overlap = said.find("overlap_tiles");
  auto shares = said.find("workgroups_per_cluster");
  bool isAlone = shares == said.end() ? options.workgroupsPerCluster.empty() : shares->second == "1";
  bool isServed = numberOf(said, "service_waves", options.serviceWaves.value_or(0)) > 0;
  if (overlap != said.end() && !(isAlone && isServed && numberOf(said, "persistent", options.persistent) > 0))
    overlap->second = "off";
}

/// One team has nobody to take turns with, and waves that issue products each by itself are no team.
static void settleTurns(tune::Assignment &said, const Resolved &resolved) {
  const Target &target = *findTarget(resolved.options.target);
  auto turns = said.find("turns");
  if (turns == said.end())
    return;
  int64_t waves = 1;
  for (const kernels::DefaultSize &tile : resolved.entry->tilesFor(*resolved.variant, target))
    if (tile.name.starts_with("WAVES"))
      waves *= numberOf(said, tile.name, tile.value);
  auto product = said.find("mma");
  bool areTeams = product == said.end() || product->second != "default";
  if (!areTeams || waves < 2 * target.simdsPerComputeUnit)
    turns->second = "off";
}

/// What an instruction that several waves issue together decides.
static void settleWaves(tune::Assignment &said, const Resolved &resolved, const MmaKind *kind) {
  const Target &target = *findTarget(resolved.options.target);
  std::map<std::string, int64_t> tiles;
  for (const kernels::DefaultSize &tile : resolved.entry->tilesFor(*resolved.variant, target))
    tiles[tile.name] = tile.value;
  for (const auto &[name, value] : said)
    if (tiles.contains(name))
      tiles[name] = std::strtoll(value.c_str(), nullptr, 10);
  if (!tiles.contains("WAVES_M") || !tiles.contains("WAVES_N") || !tiles.contains("BLOCK_N"))
    return;
  // A wave has its share of the rows, and all columns.
  said["WAVES_M"] = std::to_string(std::max<int64_t>(tiles["BLOCK_M"] / (kind->m / kind->waves), 1));
  said["WAVES_N"] = "1";
  if (tiles["BLOCK_N"] % kind->n != 0)
    said["BLOCK_N"] = std::to_string(kind->n);
}

tune::Assignment settled(tune::Assignment said, const Resolved &resolved) {
  if (!resolved.entry)
    return said;
  if (said.contains("direct_copies") && said.contains("schedule") && said["schedule"] == "ring")
    said["direct_copies"] = "on";
  const MmaKind *kind = groupInstruction(said, *findTarget(resolved.options.target));
  if (kind)
    settleWaves(said, resolved, kind);
  settleRoles(said, resolved, kind);
  settleOverlap(said, resolved.options);
  settleTurns(said, resolved);
  return said;
}

tune::Assignment startOf(const tune::Space &space, const KernelChoice &choice, const Resolved &resolved) {
  tune::Assignment start = {{"schedule", choice.schedule},
                            {"direct_copies", "off"},
                            {"staged_writes", "off"},
                            {"swizzle", choice.swizzle},
                            {"raster", std::to_string(choice.raster)},
                            {"cluster", std::to_string(std::max<int64_t>(choice.cluster, 1))},
                            {"persistent", std::to_string(choice.persistent)},
                            {"service_waves", std::to_string(choice.serviceWaves.value_or(0))},
                            {"overlap_tiles", choice.overlapTiles.empty() ? "off" : choice.overlapTiles},
                            {"turns", choice.turns.empty() ? "off" : choice.turns},
                            {"workgroups_per_cluster",
                             choice.workgroupsPerCluster.empty() ? "1" : textOfPerCluster(choice.workgroupsPerCluster)},
                            {"mma", "default"}};
  if (resolved.entry)
    for (const kernels::DefaultSize &tile : resolved.entry->tilesFor(*resolved.variant, *findTarget(choice.target)))
      start[tile.name] = std::to_string(tile.value);
  for (const auto &[name, value] : saidOf(choice))
    start[name] = value;
  // A value that the space does not hold is no place to start at: its first one then.
  for (auto it = start.begin(); it != start.end();) {
    const tune::Choice *values = space.find(it->first);
    bool isThere = values && std::ranges::find(values->values, it->second) != values->values.end();
    it = isThere ? std::next(it) : start.erase(it);
  }
  if (const tune::Choice *raster = space.find("raster"); raster && !start.contains("raster"))
    start["raster"] = std::ranges::find(raster->values, "0") != raster->values.end() ? "0" : raster->values.front();
  return start;
}

} // namespace soliton::cli
