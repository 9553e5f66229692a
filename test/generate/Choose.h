//===- Choose.h - Choices that are counted ---------------------------------------------------===//
//
//   Choose choose(seed, options);
//   if (choose.maybe("read.offset", 20)) …                      // a fifth of the time, unless it is left out
//   choose.among({{"type.f32", 4}, {"type.f16", 2}})            // 0 or 1, by weight; the first one is always allowed
//
// From seed 1000 on some features are *wanted*, others for every seed, so that each two of them meet often enough;
// tests name seeds below, and those mean what they mean without it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/generate/Coverage.h"
#include "test/generate/Random.h"

#include <algorithm>
#include <utility>

namespace soliton::generate {

class Choose {
public:
  static constexpr uint64_t kFirstSteered = 1000;
  static constexpr int kWanted = 13;

  /// What is wanted is the seed's; everything else differs from draw to draw.
  Choose(uint64_t seed, const RandomOptions &options, uint64_t draw = 0)
      : options(options), state(seed * 0x2545f4914f6cdd1du + 1), whole(seed >= kFirstWhole),
        numbers(seed >= kFirstNumbers), rows(seed >= kFirstRows), scaled(seed >= kFirstScaled),
        everything(seed >= kFirstEverything), strides(seed >= kFirstStrides) {
    // Those that seldom come about together with others are wanted more often.
    static const std::vector<std::string> kRare = {"workgroup.4",
                                                   "workgroup.4",
                                                   "dims.1",
                                                   "alias",
                                                   "alias",
                                                   "permute",
                                                   "scalar",
                                                   "schedule.exact",
                                                   "workgroup.product",
                                                   "loop.nested",
                                                   "loop.nested-same",
                                                   "elements-per-thread",
                                                   "data.real",
                                                   "mma.3",
                                                   "self_index"};
    for (int i = 0; seed >= kFirstSteered && i < kWanted; ++i)
      wanted.push_back(chance(20) ? from(kRare) : from(coveredFeatures(seed)));
    state += draw * 0xd1342543de82ef95u;
  }

  bool isSteered() const { return !wanted.empty(); }
  /// Whether the kernel may have what the language has learnt since the first seeds were judged.
  bool isWhole() const { return whole; }
  /// Whether data may decide about loops, branches and places.
  bool hasNumbers() const { return numbers; }
  /// Whether rows may be sorted and elements moved.
  bool hasRows() const { return rows; }
  /// Whether products may be of blocks with scales.
  bool hasScaled() const { return scaled; }
  /// Whether it may have all that the language has.
  bool hasEverything() const { return everything; }
  /// Whether memories may have strides, and what else the last range has.
  bool hasStrides() const { return strides; }
  bool isWanted(const std::string &feature) const {
    return std::ranges::any_of(wanted, [&](const std::string &each) { return brings(feature, each); });
  }

  /// A number below `count`.
  uint64_t below(uint64_t count) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % count;
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }
  template <typename T>
  const T &from(const std::vector<T> &list) {
    return list[below(list.size())];
  }
  template <typename T>
  void shuffle(std::vector<T> &list) {
    for (size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[below(i)]);
  }

  /// True `percent` of the time; then the feature is in the kernel.
  bool maybe(const std::string &feature, unsigned percent) {
    if (isSteered() && isWanted(feature))
      percent = std::max(percent, kMostly);
    if (below(100) >= percent || !mayUse(feature))
      return false;
    fresh.insert(feature);
    return true;
  }
  /// The same, for choices that are no features.
  bool chance(unsigned percent) { return below(100) < percent; }

  struct Weighted {
    std::string feature;
    unsigned weight;
  };
  /// One of the list by weight; what is left out has none. The first may always be taken.
  size_t among(const std::vector<Weighted> &list) {
    if (std::optional<size_t> chosen = wantedOf(list)) {
      fresh.insert(list[*chosen].feature);
      return *chosen;
    }
    uint64_t total = 0;
    for (size_t i = 0; i < list.size(); ++i)
      total += weightOf(list, i);
    uint64_t drawn = below(std::max<uint64_t>(total, 1));
    size_t chosen = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      if (drawn < weightOf(list, i)) {
        chosen = i;
        break;
      }
      drawn -= weightOf(list, i);
    }
    fresh.insert(list[chosen].feature);
    return chosen;
  }

  bool mayUse(const std::string &feature) const {
    auto matches = [&](const std::string &prefix) { return feature.starts_with(prefix); };
    if (std::ranges::any_of(options.without, matches))
      return false;
    return options.only.empty() || std::ranges::any_of(options.only, matches);
  }
  /// What was chosen since the last call: it belongs to what is being made.
  std::set<std::string> take() { return std::exchange(fresh, {}); }
  void note(const std::string &feature) { fresh.insert(feature); }

private:
  static constexpr unsigned kMostly = 80;

  std::optional<size_t> wantedOf(const std::vector<Weighted> &list) {
    if (!isSteered())
      return std::nullopt;
    std::vector<size_t> fit;
    for (size_t i = 0; i < list.size(); ++i)
      if (isWanted(list[i].feature) && mayUse(list[i].feature))
        fit.push_back(i);
    return fit.empty() || !chance(kMostly) ? std::nullopt : std::optional(from(fit));
  }
  uint64_t weightOf(const std::vector<Weighted> &list, size_t i) const {
    return i == 0 || mayUse(list[i].feature) ? list[i].weight : 0;
  }

  const RandomOptions &options;
  uint64_t state;
  bool whole, numbers, rows, scaled, everything, strides;
  std::vector<std::string> wanted;
  std::set<std::string> fresh;
};

} // namespace soliton::generate
