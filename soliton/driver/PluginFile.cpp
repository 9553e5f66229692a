#include "soliton/driver/PluginFile.h"

#include "soliton/support/Sha256.h"

#include <fstream>
#include <sstream>

namespace soliton {
namespace fs = std::filesystem;

static constexpr std::string_view kVersion = "soliton-plugin 1";
/// Eight hexadecimal digits of the record's length, then those of the checksum.
static constexpr size_t kLengthDigits = 8, kHashDigits = 64, kTail = kLengthDigits + kHashDigits;

static std::optional<std::string> contents(const fs::path &file) {
  constexpr std::uintmax_t kMost = 256 << 20;
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kMost || error)
    return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  return stream.bad() ? std::nullopt : std::optional(std::move(text));
}

static std::string digits(std::string text) {
  return rt::CacheKey{sha256(std::move(text))}.text();
}

std::string hashOfFile(const fs::path &file) {
  std::optional<std::string> text = contents(file);
  return text ? digits(std::move(*text)) : std::string();
}

static std::string print(const PluginRecord &record) {
  std::ostringstream text;
  text << kVersion << "\nkey " << record.key << "\nsource " << record.source << "\n";
  for (const PluginHeader &header : record.headers)
    text << "header " << header.hash << " " << header.path << "\n";
  return text.str();
}

static std::optional<PluginRecord> parse(std::string_view text) {
  PluginRecord record;
  std::istringstream lines{std::string(text)};
  std::string line;
  if (!std::getline(lines, line) || line != kVersion)
    return std::nullopt;
  while (std::getline(lines, line)) {
    auto after = [&](std::string_view word) { return line.substr(word.size()); };
    if (line.starts_with("key "))
      record.key = after("key ");
    else if (line.starts_with("source "))
      record.source = after("source ");
    else if (std::string rest = after("header "); line.starts_with("header ") && rest.size() > kHashDigits + 1)
      record.headers.push_back({rest.substr(kHashDigits + 1), rest.substr(0, kHashDigits)});
    else
      return std::nullopt;
  }
  return record;
}

bool sealPlugin(const fs::path &library, const PluginRecord &record) {
  std::optional<std::string> bytes = contents(library);
  if (!bytes)
    return false;
  std::string text = print(record);
  std::ostringstream length;
  length << std::hex;
  length.width(kLengthDigits);
  length.fill('0');
  length << text.size();
  *bytes += text + length.str();
  *bytes += digits(*bytes);
  std::ofstream stream(library, std::ios::binary | std::ios::trunc);
  stream.write(bytes->data(), static_cast<std::streamsize>(bytes->size()));
  return static_cast<bool>(stream.flush());
}

std::optional<PluginRecord> recordOf(const fs::path &library) {
  std::optional<std::string> bytes = contents(library);
  if (!bytes || bytes->size() < kTail)
    return std::nullopt;
  std::string checksum = bytes->substr(bytes->size() - kHashDigits);
  bytes->resize(bytes->size() - kHashDigits);
  if (digits(*bytes) != checksum)
    return std::nullopt;
  size_t length = std::strtoull(bytes->substr(bytes->size() - kLengthDigits).c_str(), nullptr, 16);
  bytes->resize(bytes->size() - kLengthDigits);
  if (length > bytes->size())
    return std::nullopt;
  return parse(std::string_view(*bytes).substr(bytes->size() - length));
}

bool isUpToDate(const PluginRecord &record) {
  for (const PluginHeader &header : record.headers)
    if (header.hash.empty() || hashOfFile(header.path) != header.hash)
      return false;
  return true;
}

std::vector<std::string> parseDependences(std::string_view makefile) {
  std::vector<std::string> files;
  std::string word;
  auto finish = [&] {
    if (!word.empty())
      files.push_back(std::exchange(word, {}));
  };
  size_t colon = makefile.find(": ");
  for (size_t i = colon == std::string_view::npos ? makefile.size() : colon + 1; i < makefile.size(); ++i) {
    char c = makefile[i], next = i + 1 < makefile.size() ? makefile[i + 1] : '\0';
    if (c == '\\' && next == '\n')
      ++i;
    else if (c == '\\' && (next == ' ' || next == '#'))
      word += makefile[++i];
    else if (c == '$' && next == '$')
      word += makefile[++i];
    else if (c == '\n')
      break;
    else if (c == ' ')
      finish();
    else
      word += c;
  }
  finish();
  return files;
}

} // namespace soliton
