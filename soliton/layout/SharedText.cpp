// Parsing of address maps; survives any input. Printing is SharedMap::str.
#include "soliton/layout/Shared.h"

#include <charconv>
#include <utility>

namespace soliton {
namespace {
/// Reads the grammar
///   map := '[' [extent (',' extent)*] ']' part*      extent := name number
///   part := 'pad' number | 'panel' number | 'swizzle' '(' number ',' number ',' number [',' number ',' number] ')'
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::optional<SharedMap> run() {
    if (!extents())
      return std::nullopt;
    while (skip(), at < text.size())
      if (!part())
        return std::nullopt;
    if (std::optional<std::string> wrong = map.verify()) {
      error = *wrong;
      return std::nullopt;
    }
    normalize(map.swizzle);
    return std::move(map);
  }

  std::string error;

private:
  bool extents() {
    if (!expect('['))
      return false;
    skip();
    if (take(']'))
      return true;
    do {
      skip();
      std::string_view name = word();
      int64_t extent = 0;
      if (!isDimName(name))
        return fail("expected a dimension");
      if (!number(extent))
        return false;
      map.dims.push_back({Dim(name), extent});
      skip();
    } while (take(','));
    return expect(']');
  }

  bool part() {
    std::string_view key = word();
    int index = key == "pad" ? 0 : key == "swizzle" ? 1 : key == "panel" ? 2 : -1;
    if (index < 0)
      return fail("expected `pad`, `swizzle` or `panel`");
    if (seen[index])
      return fail("`" + std::string(key) + "` appears twice");
    seen[index] = true;
    if (index == 0)
      return number(map.padding);
    if (index == 2)
      return number(map.panel);
    return expect('(') && swizzle(map.swizzle) && expect(')');
  }

  bool swizzle(Swizzle &read) {
    if (!number(read.chunk) || !expect(',') || !number(read.rowsPerPhase) || !expect(',') || !number(read.phases))
      return false;
    skip();
    return !take(',') || (number(read.farRowsPerPhase) && expect(',') && number(read.farPhases));
  }

  /// Equal maps compare equal: one phase is no swizzle, whatever its chunk, and a stride with one phase is none.
  static void normalize(Swizzle &swizzle) {
    if (swizzle.phases == 1) {
      swizzle.rowsPerPhase = swizzle.farRowsPerPhase;
      swizzle.phases = std::exchange(swizzle.farPhases, 1);
    }
    if (swizzle.farPhases == 1)
      swizzle.farRowsPerPhase = 1;
    if (swizzle.phases == 1)
      swizzle = {};
  }

  bool number(int64_t &value) {
    skip();
    auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc() || value < 0 || value > (int64_t(1) << 20))
      return fail("expected a number from 0 to 2^20");
    at = static_cast<size_t>(end - text.data());
    return true;
  }

  std::string_view word() {
    std::string_view found = dimWord(std::string_view(text).substr(at));
    at += found.size();
    return found;
  }

  bool expect(char c) {
    skip();
    return take(c) || fail("expected `" + std::string(1, c) + "`");
  }

  void skip() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t'))
      ++at;
  }

  bool take(char c) {
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }

  bool fail(std::string message) {
    if (error.empty())
      error = std::move(message) + " at column " + std::to_string(at + 1) + " of the address map";
    return false;
  }

  std::string_view text;
  size_t at = 0;
  bool seen[3] = {};
  SharedMap map;
};
} // namespace

std::optional<SharedMap> parseSharedMap(std::string_view text, std::string *error) {
  Parser parser(text);
  std::optional<SharedMap> result = parser.run();
  if (!result && error)
    *error = parser.error;
  return result;
}

} // namespace soliton
