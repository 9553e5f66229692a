#include "soliton/target/Chips.h"

#include <algorithm>
#include <array>

namespace soliton {

std::string_view name(Vendor vendor) {
  return vendor == Vendor::amd ? "amd" : "nvidia";
}

const SharedAccess &Target::sharedAccess(int64_t bytes, bool write) const {
  const SharedAccess *best = nullptr, *widest = nullptr;
  for (const SharedAccess &row : sharedAccesses) {
    if (row.write != write)
      continue;
    if (!widest || row.bytes > widest->bytes)
      widest = &row;
    if (row.bytes >= bytes && (!best || row.bytes < best->bytes))
      best = &row;
  }
  return best ? *best : *widest;
}

const Counter *Target::counter(CounterKind kind) const {
  auto found = std::ranges::find(counters, kind, &Counter::kind);
  return found == counters.end() ? nullptr : &*found;
}

const MatrixAccess *Target::matrixAccess(std::string_view text) const {
  auto found = std::ranges::find(matrixAccesses, text, &MatrixAccess::name);
  return found == matrixAccesses.end() ? nullptr : &*found;
}

bool Target::hasAsyncCopy(int64_t bytes) const {
  return std::ranges::count(asyncCopyBytes, bytes) > 0;
}

std::vector<const MmaKind *> Target::mmasNamed(std::string_view text) const {
  std::vector<const MmaKind *> result;
  for (const MmaKind &kind : mmas)
    if (kind.name == text)
      result.push_back(&kind);
  return result;
}

const std::vector<const Target *> &allTargets() {
  static const std::vector<const Target *> targets = {&detail::sm90a(), &detail::gfx942(), &detail::gfx950()};
  return targets;
}

std::vector<std::string> targetNames() {
  std::vector<std::string> names;
  for (const Target *target : allTargets())
    names.push_back(target->name);
  return names;
}

const Target *findTarget(std::string_view text) {
  for (const Target *target : allTargets())
    if (target->name == text)
      return target;
  return nullptr;
}

static Diagnostic diagnosticAt(DiagId id, const Place &place) {
  return {Severity::error, id, place, "", "", {}};
}

TargetChoice selectTarget(std::string_view text, const Place &place) {
  if (const Target *target = findTarget(text))
    return {target, std::nullopt};
  Diagnostic error = diagnosticAt(DiagId::UnknownTarget, place);
  error.message = "found target `" + std::string(text) + "`, expected " + listOf(targetNames());
  if (std::optional<std::string> guess = nearest(text, targetNames()))
    error.hint = "did you mean `" + *guess + "`?";
  return {nullptr, error};
}

} // namespace soliton
