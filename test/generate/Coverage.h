//===- Coverage.h - Which pairs of features a campaign has to meet -----------------------------===//
//
// Choices have fine names (`function.cbrt`, `carried.3`); what matters together has coarse ones (`function`,
// `carried.several`). Each two of these must meet in kernels that were accepted, unless they never can:
//
//   coveredBy({"dims.2", "carried.3"}) == {"dims.2", "carried.several"}
//   whyNever("dims.1", "dims.2") == "a kernel has one number of dimensions"
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace soliton::generate {

/// Kernels have what the language was when seeds like theirs were first judged, so that a seed which found something
/// means the same kernel for ever: atomics, scans and extremes from the first on, numbers from data from the second,
/// rows that are sorted and elements that move from the third, scaled products from the fourth, everything else that
/// the language has (lanes, elements that go different ways, tiles that change their dimensions, …) from the fifth, and
/// strides, writes that lack dimensions, products of six bits, prints and hints about time from the last.
inline constexpr uint64_t kFirstWhole = 50000, kFirstNumbers = 300000, kFirstRows = 400000, kFirstScaled = 600000,
                          kFirstEverything = 800000, kFirstStrides = 900000;

/// Coarse names, in the order of the table, that kernels of such a seed may have.
const std::vector<std::string> &coveredFeatures(uint64_t seed = kFirstStrides);

/// Whether choosing `fine` brings the coarse feature.
bool brings(const std::string &fine, const std::string &coarse);

/// The coarse names of what was chosen.
std::set<std::string> coveredBy(const std::set<std::string> &features);

/// Why no kernel has both, if that is so.
std::optional<std::string> whyNever(const std::string &a, const std::string &b);

} // namespace soliton::generate
