// The text form of layouts: printing, and parsing that survives any input.
#include "soliton/layout/Layout.h"

#include <charconv>

namespace soliton {

std::string str(const Digits &digits) {
  std::string text;
  for (const Digit &digit : digits)
    text += "(" + std::to_string(digit.extent) + " " + (digit.dim ? digit.dim->name() : "_") + " " +
            std::to_string(digit.stride) + ")";
  return text;
}

std::string Layout::str() const {
  Layout form = canonical();
  std::string text;
  auto part = [&](std::string_view key, const std::string &value) {
    if (!value.empty())
      text += (text.empty() ? "" : ", ") + std::string(key) + " = " + value;
  };
  for (Axis axis : {Axis::reg, Axis::lane, Axis::wave})
    part(name(axis), soliton::str(form.digits(axis)));
  std::string starts;
  for (auto [dim, value] : form.offset)
    starts += "(" + dim.name() + " " + std::to_string(value) + ")";
  part("offset", starts);
  return text.empty() ? "reg = (1 _ 0)" : text;
}

namespace {
/// Reads the grammar
///   layout := part (',' part)*      part := axis '=' group*      group := '(' number name number ')' | '(' name number
///   ')'
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  std::optional<Layout> run() {
    skip();
    while (error.empty() && part()) {
      skip();
      if (at == text.size())
        return finish();
      if (!take(','))
        fail("expected `,` or the end");
      skip();
    }
    return std::nullopt;
  }

  std::string error;

private:
  std::optional<Layout> finish() {
    if (std::optional<std::string> wrong = layout.verify()) {
      error = *wrong;
      return std::nullopt;
    }
    return std::move(layout);
  }

  bool part() {
    std::string_view key = word();
    int index = key == "reg" ? 0 : key == "lane" ? 1 : key == "wave" ? 2 : key == "offset" ? 3 : -1;
    if (index < 0)
      return fail("expected `reg`, `lane`, `wave` or `offset`");
    if (seen[index])
      return fail("`" + std::string(key) + "` appears twice");
    seen[index] = true;
    skip();
    if (!take('='))
      return fail("expected `=`");
    int groups = 0;
    for (skip(); take('('); skip(), ++groups)
      if (!(index == 3 ? start() : digit(layout.digits(static_cast<Axis>(index)))))
        return false;
    return groups > 0 || fail("expected `(`");
  }

  bool digit(Digits &into) {
    Digit result;
    if (!number(result.extent) || !dim(result.dim) || !number(result.stride) || !close())
      return false;
    if (into.size() == 64)
      return fail("more than 64 digits on one axis");
    into.push_back(result);
    return true;
  }

  bool start() {
    std::optional<Dim> which;
    int64_t value = 0;
    if (!dim(which) || !number(value) || !close())
      return false;
    if (!which)
      return fail("an offset needs a dimension");
    if (!layout.offset.emplace(*which, value).second)
      return fail("`" + which->name() + "` has two offsets");
    return true;
  }

  bool number(int64_t &value) {
    skip();
    auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (code != std::errc() || value > (int64_t(1) << 40) || value < 0)
      return fail("expected a number from 0 to 2^40");
    at = static_cast<size_t>(end - text.data());
    return true;
  }

  bool dim(std::optional<Dim> &result) {
    skip();
    std::string_view found = word();
    if (found == "_")
      return true;
    if (!isDimName(found))
      return fail("expected a dimension or `_`");
    result = Dim(found);
    return true;
  }

  bool close() {
    skip();
    return take(')') || fail("expected `)`");
  }

  std::string_view word() {
    std::string_view found = dimWord(std::string_view(text).substr(at));
    at += found.size();
    return found;
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
      error = std::move(message) + " at column " + std::to_string(at + 1) + " of the layout";
    return false;
  }

  std::string_view text;
  size_t at = 0;
  bool seen[4] = {};
  Layout layout;
};
} // namespace

std::optional<Layout> Layout::parse(std::string_view text, std::string *error) {
  Parser parser(text);
  std::optional<Layout> result = parser.run();
  if (!result && error)
    *error = parser.error;
  return result;
}

} // namespace soliton
