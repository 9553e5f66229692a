// Which matrix instruction an `mma` means, and what to say where there is none.
#include "soliton/target/Target.h"

#include <algorithm>

namespace soliton {
namespace {
Diagnostic diagnosticAt(DiagId id, const Place &place) {
  return {Severity::error, id, place, "", "", {}};
}

bool fits(const MmaKind &kind, const MmaTypes &types) {
  return kind.lhs.type == types.lhs && kind.rhs.type == types.rhs && kind.acc.type == types.acc &&
         (kind.scaleBlock != 0) == types.scaled;
}

std::string describe(DType lhs, DType rhs, DType acc) {
  return "`" + std::string(name(lhs)) + "` by `" + std::string(name(rhs)) + "` into `" + std::string(name(acc)) + "`";
}

std::string describe(const MmaTypes &types) {
  return (types.scaled ? "scaled " : "") + describe(types.lhs, types.rhs, types.acc);
}

void addOnce(std::vector<std::string> &names, const std::string &text) {
  if (std::ranges::count(names, text) == 0)
    names.push_back(text);
}

/// "use `a`, `b` or `c`", cut where a list would hide the message.
std::string useOneOf(const std::vector<const MmaKind *> &kinds) {
  std::vector<std::string> names;
  for (const MmaKind *kind : kinds)
    addOnce(names, kind->name);
  constexpr size_t kShown = 8;
  if (names.size() <= kShown)
    return names.empty() ? "" : "use " + listOf(names);
  size_t more = names.size() - kShown;
  names.resize(kShown);
  return "use " + listOf(names) + " (or one of " + std::to_string(more) + " more)";
}

std::string hintFor(const Target &target, const MmaTypes &types) {
  if (std::string hint = useOneOf(legalMmas(target, types)); !hint.empty())
    return hint;
  std::vector<std::string> sums; // where only the accumulator is wrong
  for (const MmaKind &kind : target.mmas)
    if (kind.scaleBlock == 0 && kind.lhs.type == types.lhs && kind.rhs.type == types.rhs)
      addOnce(sums, std::string(name(kind.acc.type)));
  if (!sums.empty())
    return "`" + target.name + "` adds such products up in " + listOf(sums);
  std::vector<std::string> combinations;
  for (const MmaKind &kind : target.mmas)
    if (kind.scaleBlock == 0)
      addOnce(combinations, std::string(name(kind.lhs.type)));
  return "`" + target.name + "` multiplies " + listOf(combinations);
}

Diagnostic unknownName(const Target &target, std::string_view text, const MmaTypes &types, const Place &place) {
  std::vector<std::string> known = knownMmaNames();
  if (std::ranges::count(known, text) > 0) {
    Diagnostic error = diagnosticAt(DiagId::MmaNotOnTarget, place);
    error.message = "the MMA type `" + std::string(text) + "` does not exist on `" + target.name + "`";
    error.hint = hintFor(target, types);
    return error;
  }
  Diagnostic error = diagnosticAt(DiagId::MmaUnknown, place);
  error.message = "there is no MMA type `" + std::string(text) + "`";
  std::optional<std::string> guess = nearest(text, known);
  error.hint = guess ? "did you mean `" + *guess + "`?" : hintFor(target, types);
  return error;
}

Diagnostic wrongTypes(const Target &target, const std::vector<const MmaKind *> &named, const MmaTypes &types,
                      const Place &place) {
  std::vector<std::string> legal;
  for (const MmaKind *kind : named)
    addOnce(legal, (kind->scaleBlock ? "scaled " : "") + describe(kind->lhs.type, kind->rhs.type, kind->acc.type));
  Diagnostic error = diagnosticAt(DiagId::MmaTypeMismatch, place);
  error.message = "`" + named.front()->name + "` on `" + target.name + "` multiplies " + legal.front();
  for (size_t i = 1; i < legal.size(); ++i)
    error.message += (i + 1 == legal.size() ? " or " : ", ") + legal[i];
  error.message += "; found " + describe(types);
  error.hint = hintFor(target, types);
  return error;
}
} // namespace

std::vector<std::string> knownMmaNames() {
  // Wave's types for chips that no table describes.
  std::vector<std::string> names = {"RDNA4_WAVE32_F32_16x16x16_F16", "GFX1250_F32_16x16x32_F16",
                                    "GFX1250_F32_16x16x128_F8F6F4", "I32_32x32x8_I8"};
  for (const Target *target : allTargets())
    for (const MmaKind &kind : target->mmas)
      names.push_back(kind.name);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Floats of 8 bits and fewer have at most 4 significant ones, of 8 in bf16, whose exponents are those of f32.
static bool isExactInBf16(DType type) {
  return isFloat(type) && (bits(type) <= 8 || type == DType::bf16);
}

MmaTypes multipliedAs(const Target &target, MmaTypes types) {
  bool isNative = std::ranges::any_of(target.mmas, [&](const MmaKind &kind) { return fits(kind, types); });
  if (types.scaled && !isNative && isExactInBf16(types.lhs) && isExactInBf16(types.rhs) && types.acc == DType::f32)
    return {DType::bf16, DType::bf16, DType::f32};
  return types;
}

/// What is scaled behind the instruction are sums over blocks of 32: it contracts a part of one, and hands its sum
/// over.
static bool serves(const MmaKind &kind, const Target &target, const MmaTypes &types) {
  constexpr int64_t kBlock = 32;
  MmaTypes as = multipliedAs(target, types);
  return fits(kind, as) && (as.scaled == types.scaled || (!kind.async && kBlock % kind.k == 0));
}

/// A name that only scaled instructions of other targets have says nothing here.
static bool namesScaledElsewhere(const Target &target, std::string_view text) {
  return target.mmasNamed(text).empty() && std::ranges::any_of(allTargets(), [&](const Target *other) {
           return std::ranges::any_of(other->mmas,
                                      [&](const MmaKind &kind) { return kind.name == text && kind.scaleBlock; });
         });
}

std::vector<const MmaKind *> legalMmas(const Target &target, MmaTypes types) {
  std::vector<const MmaKind *> result;
  for (bool wantDefault : {true, false})
    for (const MmaKind &kind : target.mmas)
      if (kind.isDefault == wantDefault && serves(kind, target, types))
        result.push_back(&kind);
  return result;
}

MmaChoice selectMma(const Target &target, std::optional<std::string_view> text, MmaTypes types, const Place &place) {
  if (multipliedAs(target, types) != types && text && namesScaledElsewhere(target, *text))
    text.reset();
  if (!text) {
    std::vector<const MmaKind *> legal = legalMmas(target, types);
    if (!legal.empty())
      return {legal.front(), std::nullopt};
    Diagnostic error = diagnosticAt(DiagId::MmaNotOnTarget, place);
    error.message = "`" + target.name + "` has no matrix instruction that multiplies " + describe(types);
    error.hint = hintFor(target, types);
    return {nullptr, error};
  }
  std::vector<const MmaKind *> named = target.mmasNamed(*text);
  if (named.empty())
    return {nullptr, unknownName(target, *text, types, place)};
  for (const MmaKind *kind : named)
    if (serves(*kind, target, types))
      return {kind, std::nullopt};
  return {nullptr, wrongTypes(target, named, types, place)};
}

} // namespace soliton
