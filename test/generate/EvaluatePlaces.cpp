#include "test/generate/Evaluator.h"

namespace soliton::generate {

std::vector<int64_t> Evaluator::launch() {
  std::vector<int64_t> counts(kWorkgroupDims, 1);
  if (program.grid) {
    counts[0] = *program.grid;
    return counts;
  }
  for (const WorkgroupConstraint &each : program.workgroups) {
    int64_t size = program.findDim(each.dim)->size;
    int64_t count = each.iters ? formula(*each.iters) : (size + each.tile - 1) / each.tile;
    if (each.primary)
      counts[static_cast<size_t>(each.workgroupDim)] *= count;
  }
  return counts;
}

int64_t Evaluator::symbol(const std::string &name) const {
  if (const Dim *dim = program.findDim(name))
    return dim->size;
  if (name.starts_with("$WG"))
    return ids[static_cast<size_t>(std::stoi(name.substr(3)))];
  if (auto number = numbers.find(name); number != numbers.end())
    return number->second;
  if (name.starts_with("$ARG_"))
    for (size_t i = loops.size(); i-- > 0;)
      if (loops[i].first == name.substr(5))
        return loops[i].second;
  throw std::runtime_error("`" + name + "` has no value");
}
int64_t Evaluator::formula(const Formula &each) const {
  return valueOf(each, [&](const std::string &name) { return symbol(name); });
}
int64_t Evaluator::reordered(const Formula &each) const {
  return valueOf(each, [&](const std::string &name) {
    for (const Reordering &order : program.reorderings)
      if (name == "$WG" + std::to_string(order.workgroupDim))
        return formula(order.equation);
    return symbol(name);
  });
}

int64_t Evaluator::workgroupStart(const std::string &dim) const {
  if (Groups groups = groupsOf(dim); groups.size > 1)
    return workgroupStart(groups.base) / groups.size;
  if (program.grid)
    return 0;
  for (const WorkgroupConstraint &each : program.workgroups)
    if (each.dim == dim) {
      Formula id = Formula::symbol("$WG" + std::to_string(each.workgroupDim));
      return reordered(
          each.apply ? substitute(*each.apply,
                                  [&](const std::string &name) { return name == "$WG" ? id : Formula::symbol(name); })
                     : id * each.tile);
    }
  for (const Alias &each : program.aliases)
    if (each.source == dim)
      for (const WorkgroupConstraint &target : program.workgroups)
        if (target.dim == each.target)
          return reordered(Formula::symbol("$WG" + std::to_string(target.workgroupDim)) * tileOf(program, dim));
  return 0;
}

int64_t Evaluator::loopStart(const std::string &dim) const {
  if (Groups groups = groupsOf(dim); groups.size > 1)
    return loopStart(groups.base) / groups.size;
  std::string axis = dim;
  for (const Alias &each : program.aliases)
    if (each.source == dim)
      axis = each.target;
  for (size_t i = loops.size(); i-- > 0;)
    if (loops[i].first == axis) {
      int64_t start = loops[i].second * tileOf(program, dim);
      for (const TilingConstraint &tiling : program.tilings)
        if (tiling.dim == dim && tiling.start)
          start += reordered(*tiling.start);
      return start;
    }
  return 0;
}

} // namespace soliton::generate
