#include "soliton/runtime/ArrayFile.h"

#include "soliton/runtime/Tensor.h"
#include "soliton/support/Diagnostics.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace soliton::rt {

/// More dimensions than numpy has.
static constexpr size_t kMostDims = 64;
static constexpr size_t kMostHeader = 1 << 20;

[[noreturn]] static void fail(const std::string &name, std::string message, std::string hint = {}) {
  throw CompileError(
      {{Severity::error, DiagId::ArrayFile, Place(name, 1, 1), std::move(message), std::move(hint), {}}});
}

static std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string ArrayFile::toString() const {
  return std::string(width > 1 ? "<" : "|") + kind + std::to_string(width) + " " + shapeText(shape);
}

//===-- The header ---------------------------------------------------------------------------------===//

namespace {

/// The dictionary at the start of a file, as Python would print it.
struct Header {
  std::string descr;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Reads just such a dictionary; anything else is an error.
class HeaderParser {
public:
  HeaderParser(std::string_view text, const std::string &name) : text(text), name(name) {}

  Header parse() {
    Header header;
    int found = 0;
    expect('{');
    while (!accept('}')) {
      std::string key = string();
      expect(':');
      if (key == "descr")
        header.descr = string();
      else if (key == "fortran_order")
        header.fortran = boolean();
      else if (key == "shape")
        header.shape = tuple();
      else
        fail(name, "the header has the key `" + key + "`, expected `descr`, `fortran_order` and `shape`");
      ++found;
      if (!accept(',') && peek() != '}')
        wrong("`,` or `}`");
    }
    if (peek() != '\0' || found != 3)
      wrong("the keys `descr`, `fortran_order` and `shape`, and nothing else");
    return header;
  }

private:
  char peek() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
    return at < text.size() ? text[at] : '\0';
  }
  bool accept(char c) {
    bool is = peek() == c;
    at += is;
    return is;
  }
  void expect(char c) {
    if (!accept(c))
      wrong(std::string("`") + c + "`");
  }
  [[noreturn]] void wrong(const std::string &expected) {
    fail(name, "the header of the array is malformed at character " + std::to_string(at) + ", expected " + expected);
  }

  std::string string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      wrong("a text in quotes; arrays of records are not read");
    size_t end = text.find(quote, ++at);
    if (end == std::string_view::npos)
      wrong("the end of a text");
    std::string value(text.substr(at, end - at));
    at = end + 1;
    return value;
  }
  bool boolean() {
    peek();
    for (std::string_view word : {"True", "False"})
      if (text.substr(at).starts_with(word)) {
        at += word.size();
        return word == "True";
      }
    wrong("`True` or `False`");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t value = 0;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (error != std::errc() || value < 0 || values.size() == kMostDims)
        wrong("a number of elements");
      at = static_cast<size_t>(end - text.data());
      values.push_back(value);
      accept('L'); // Python 2 wrote long numbers so.
      if (!accept(',') && peek() != ')')
        wrong("`,` or `)`");
    }
    return values;
  }

  std::string_view text;
  const std::string &name;
  size_t at = 0;
};

struct Layout {
  ArrayFile array;
  bool swapped = false, fortran = false;
};

} // namespace

/// `<f2`: byte order, kind, bytes.
static Layout layoutOf(const Header &header, const std::string &name) {
  const std::string &descr = header.descr;
  size_t first = !descr.empty() && std::strchr("<>|=", descr[0]) ? 1 : 0;
  uint32_t width = 0;
  const char *begin = descr.data() + std::min(first + 1, descr.size()), *end = descr.data() + descr.size();
  bool good = descr.size() > first + 1 && std::strchr("biufV", descr[first]) &&
              std::from_chars(begin, end, width) == std::from_chars_result{end, std::errc()} && width >= 1 &&
              width <= 8 && (width & (width - 1)) == 0;
  if (!good)
    fail(name, "the array has the type `" + descr + "`, expected integers or floats of 1 to 8 bytes",
         "convert it: `a.astype('f4')`");
  Layout layout;
  layout.array.kind = descr[first];
  layout.array.width = width;
  layout.array.shape = header.shape;
  layout.swapped = descr[0] == '>' && width > 1;
  layout.fortran = header.fortran;
  return layout;
}

//===-- The elements ---------------------------------------------------------------------------------===//

static std::optional<size_t> countOf(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool overflow = false;
  for (int64_t extent : shape)
    overflow |= __builtin_mul_overflow(count, extent, &count);
  if (std::ranges::count(shape, 0) > 0)
    return 0;
  return overflow ? std::nullopt : std::optional(static_cast<size_t>(count));
}

/// Elements in column-major order, row by row.
static std::vector<std::byte> rowMajor(std::span<const std::byte> data, const ArrayFile &array) {
  std::vector<std::byte> result(data.size());
  std::vector<size_t> index(array.shape.size(), 0), step(array.shape.size(), array.width);
  for (size_t d = 1; d < step.size(); ++d)
    step[d] = step[d - 1] * static_cast<size_t>(array.shape[d - 1]);
  for (size_t to = 0, from = 0; to < result.size(); to += array.width) {
    std::memcpy(result.data() + to, data.data() + from, array.width);
    for (size_t d = index.size(); d-- > 0;) {
      from += step[d];
      if (++index[d] < static_cast<size_t>(array.shape[d]))
        break;
      from -= step[d] * index[d];
      index[d] = 0;
    }
  }
  return result;
}

ArrayFile parseNpy(std::span<const std::byte> file, const std::string &name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  auto byteAt = [&](size_t at) { return static_cast<size_t>(file[at]); };
  if (file.size() < 10 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    fail(name, "this is no array file of numpy: it does not start as one",
         "write it by `numpy.save`; files of other names are taken as plain bytes");
  size_t version = byteAt(6), start = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || file.size() < start)
    fail(name, "found version " + std::to_string(version) + " of the format, expected 1, 2 or 3");
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (version > 1)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (length > kMostHeader || length > file.size() - start)
    fail(name, "the header has " + std::to_string(length) + " bytes, more than the file or any array needs");
  std::string_view text(reinterpret_cast<const char *>(file.data()) + start, length);
  Layout layout = layoutOf(HeaderParser(text, name).parse(), name);
  std::optional<size_t> count = countOf(layout.array.shape);
  std::span<const std::byte> data = file.subspan(start + length);
  if (!count || data.size() / layout.array.width != *count || data.size() % layout.array.width != 0)
    fail(name, layout.array.toString() + " has other than the " + std::to_string(data.size()) + " bytes that are there",
         "was the file cut off?");
  layout.array.bytes = layout.fortran && layout.array.shape.size() > 1
                           ? rowMajor(data, layout.array)
                           : std::vector<std::byte>(data.begin(), data.end());
  if (layout.swapped)
    for (size_t at = 0; at < layout.array.bytes.size(); at += layout.array.width)
      std::reverse(layout.array.bytes.begin() + static_cast<ptrdiff_t>(at),
                   layout.array.bytes.begin() + static_cast<ptrdiff_t>(at + layout.array.width));
  return std::move(layout.array);
}

//===-- Types ------------------------------------------------------------------------------------------===//

size_t arrayBytes(DType type, std::span<const int64_t> shape) {
  size_t rows = 1, columns = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= static_cast<size_t>(shape[d]);
  return rows * ((columns * static_cast<size_t>(storageBits(type)) + 7) / 8);
}

/// What numpy calls it, or, where it has no such type, what has its bits.
static std::string descrOf(DType type) {
  if (type == DType::i1)
    return "|b1";
  int bytes = std::max(8, storageBits(type)) / 8;
  bool isNumpyFloat = type == DType::f16 || type == DType::f32 || type == DType::f64;
  bool isSigned = isInteger(type) && storageBits(type) >= 8;
  return (bytes > 1 ? "<" : "|") + std::string(isNumpyFloat ? "f" : isSigned ? "i" : "u") + std::to_string(bytes);
}

/// The shape in numpy's elements: packed ones are rows of bytes.
static std::vector<int64_t> shapeInFile(DType type, std::span<const int64_t> shape) {
  std::vector<int64_t> result(shape.begin(), shape.end());
  if (storageBits(type) < 8 && !result.empty())
    result.back() =
        static_cast<int64_t>((static_cast<size_t>(result.back()) * static_cast<size_t>(storageBits(type)) + 7) / 8);
  return result;
}

static bool mayHold(const ArrayFile &file, DType type) {
  std::string descr = descrOf(type);
  if (file.width != static_cast<uint32_t>(std::max(8, storageBits(type)) / 8))
    return false;
  if (file.kind == descr[1] || (file.kind == 'V' && isFloat(type) && descr[1] == 'u'))
    return true;
  // Signed or not, the bits are the same.
  bool isBits = file.kind == 'i' || file.kind == 'u';
  return isBits && descr[1] != 'f';
}

std::vector<std::byte> bytesFor(const ArrayFile &file, DType type, std::span<const int64_t> shape,
                                const std::string &name) {
  std::vector<int64_t> expected = shapeInFile(type, shape);
  if (!mayHold(file, type) || file.shape != expected)
    fail(name,
         "the file holds " + file.toString() + ", expected " + descrOf(type) + " " + shapeText(expected) + " for " +
             std::string(soliton::name(type)) + shapeText(shape),
         mayHold(file, type) ? "give the sizes with `--size`, or another array"
                             : "convert the array before it is saved");
  return file.bytes;
}

std::vector<std::byte> printNpy(DType type, std::span<const int64_t> shape, std::span<const std::byte> bytes) {
  std::string header = "{'descr': '" + descrOf(type) +
                       "', 'fortran_order': False, 'shape': " + shapeText(shapeInFile(type, shape)) + ", }";
  // The elements start at a multiple of 64, as the format asks.
  while ((10 + header.size() + 1) % 64 != 0)
    header += ' ';
  header += '\n';
  std::string start = "\x93NUMPY";
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  std::vector<std::byte> file(start.size() + bytes.size());
  std::memcpy(file.data(), start.data(), start.size());
  std::ranges::copy(bytes, file.begin() + static_cast<ptrdiff_t>(start.size()));
  return file;
}

//===-- Files --------------------------------------------------------------------------------------------===//

std::vector<std::byte> readBytes(const std::string &path) {
  std::error_code error;
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  std::streamoff size =
      stream && std::filesystem::is_regular_file(path, error) ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0)
    fail(path, "the file cannot be read");
  std::vector<std::byte> bytes(static_cast<size_t>(size));
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char *>(bytes.data()), size))
    fail(path, "the file cannot be read");
  return bytes;
}

void writeBytes(const std::string &path, std::span<const std::byte> bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush())
    fail(path, "the file cannot be written");
}

ArrayFile readNpy(const std::string &path) {
  return parseNpy(readBytes(path), path);
}

void writeNpy(const std::string &path, DType type, std::span<const int64_t> shape, std::span<const std::byte> bytes) {
  writeBytes(path, printNpy(type, shape, bytes));
}

} // namespace soliton::rt
