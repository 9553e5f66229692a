#include "soliton/layout/MatrixRows.h"

#include "soliton/layout/PrimeDigits.h"

#include <algorithm>

namespace soliton {
namespace {
/// Reads off where lanes point, digit by digit.
class RowFinder {
public:
  RowFinder(const MatrixTable &table, Dim along) : table(table), along(along) {}

  /// The first digits of `wanted` are what the table's are; says how many there are.
  bool match(const Digits &given, const Digits &wanted) {
    if (wanted.size() < given.size())
      return false;
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].extent != wanted[i].extent ||
          !(given[i].dim == kElement ? fitsRow(given[i], wanted[i]) : points(given[i], wanted[i])))
        return false;
    return true;
  }

  /// Digits of the lanes, by their weight in the lane's number; nothing where lanes in between have no row.
  std::optional<Digits> lanes(int64_t count) const {
    Digits digits;
    int64_t weight = 1;
    for (const auto &[at, digit] : pointed) {
      if (at != weight)
        return std::nullopt;
      digits.push_back(digit);
      weight *= digit.extent;
    }
    if (weight < count)
      digits.push_back(Digit(count / weight));
    return digits;
  }

private:
  inline static const Dim kElement{"C"};

  bool fitsRow(const Digit &element, const Digit &wanted) const {
    return wanted.dim == along && wanted.stride == element.stride;
  }

  bool points(const Digit &pointer, const Digit &wanted) {
    // A row starts where its elements may: at a multiple of them.
    if (wanted.dim == along && wanted.stride % table.contiguous != 0)
      return false;
    return pointed.emplace(pointer.stride, wanted).second;
  }

  const MatrixTable &table;
  Dim along;
  std::map<int64_t, Digit> pointed;
};
} // namespace

std::optional<Layout> matrixRows(const MatrixTable &table, const Layout &wanted, Dim along) {
  Digits given = primeDigits(canonical(table.result.reg)), registers = primeDigits(canonical(wanted.reg));
  Digits givenLanes = primeDigits(canonical(table.result.lane)), lanes = primeDigits(canonical(wanted.lane));
  RowFinder finder(table, along);
  if (wanted.lanes() != table.result.lanes() || !finder.match(given, registers) || !finder.match(givenLanes, lanes))
    return std::nullopt;
  std::optional<Digits> pointing = finder.lanes(wanted.lanes());
  if (!pointing)
    return std::nullopt;
  Layout rows{{{table.contiguous, along, 1}}, *pointing, wanted.wave, wanted.offset};
  rows.reg.insert(rows.reg.end(), registers.begin() + static_cast<std::ptrdiff_t>(given.size()), registers.end());
  return rows;
}

} // namespace soliton
