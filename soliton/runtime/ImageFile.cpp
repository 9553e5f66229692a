// The file form of a kernel image. All numbers are little-endian:
//
//   8 bytes "SOLITONK" | u32 version | u32 zero | u64 manifest bytes | u64 code bytes | u64 FNV-1a of both | manifest |
//   code
//
// The code is that of the image, then that of each further kernel of the plan, which says how long it is. The manifest
// is JSON; formulas stand in it as postfix text. A reader trusts nothing: sizes are checked before they are used,
// nesting before it is parsed, and the finished image as a whole.

#include "soliton/runtime/Errors.h"
#include "soliton/runtime/KernelImage.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace soliton::rt {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMagic[8] = {'S', 'O', 'L', 'I', 'T', 'O', 'N', 'K'};
constexpr size_t kHeaderBytes = 40;
constexpr uint64_t kMaxManifestBytes = 4 << 20;
constexpr uint64_t kMaxCodeBytes = uint64_t(1) << 30;
constexpr int kMaxNesting = 12;

/// Thrown while reading, turned into one diagnostic at the border.
struct Damaged {
  std::string what;
};

uint64_t checksum(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (std::byte b : bytes)
    hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3;
  return hash;
}

void appendNumber(std::vector<std::byte> &file, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    file.push_back(static_cast<std::byte>(value >> (8 * i)));
}

uint64_t numberAt(std::span<const std::byte> file, size_t offset, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= static_cast<uint64_t>(file[offset + static_cast<size_t>(i)]) << (8 * i);
  return value;
}

//===-- Reading -----------------------------------------------------------===//

/// Refuses text that would nest deeper than any manifest does, before a parser sees it.
void checkNesting(std::string_view text) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inString) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        inString = false;
      continue;
    }
    if (text[i] == '"')
      inString = true;
    else if ((text[i] == '{' || text[i] == '[') && ++depth > kMaxNesting)
      throw Damaged{"its manifest nests too deep"};
    else if (text[i] == '}' || text[i] == ']')
      --depth;
  }
}

const Json &field(const Json &object, const char *key) {
  if (!object.is_object() || !object.contains(key))
    throw Damaged{std::string("its manifest lacks `") + key + "`"};
  return object.at(key);
}

std::string readString(const Json &value, const char *key) {
  if (!value.is_string())
    throw Damaged{std::string("`") + key + "` in its manifest is no text"};
  return value.get<std::string>();
}

int64_t readInteger(const Json &value, const char *key, int64_t low, int64_t high) {
  bool fits = value.is_number_integer() &&
              !(value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX));
  if (!fits || value.get<int64_t>() < low || value.get<int64_t>() > high)
    throw Damaged{std::string("`") + key + "` in its manifest is no number between " + std::to_string(low) + " and " +
                  std::to_string(high)};
  return value.get<int64_t>();
}

uint32_t readUnsigned(const Json &value, const char *key) {
  return static_cast<uint32_t>(readInteger(value, key, 0, UINT32_MAX));
}

const Json &readList(const Json &object, const char *key) {
  const Json &list = field(object, key);
  if (!list.is_array())
    throw Damaged{std::string("`") + key + "` in its manifest is no list"};
  return list;
}

std::vector<int32_t> readCorners(const Json &object, const char *key) {
  std::vector<int32_t> corners;
  for (const Json &corner : readList(object, key))
    corners.push_back(static_cast<int32_t>(readInteger(corner, key, INT32_MIN, INT32_MAX)));
  return corners;
}

LaunchExpr readExpr(const Json &value, const char *key) {
  std::optional<LaunchExpr> expr = LaunchExpr::parse(readString(value, key));
  if (!expr)
    throw Damaged{std::string("`") + key + "` in its manifest holds a malformed formula"};
  return *expr;
}

std::vector<LaunchExpr> readExprs(const Json &object, const char *key) {
  std::vector<LaunchExpr> exprs;
  for (const Json &value : readList(object, key))
    exprs.push_back(readExpr(value, key));
  return exprs;
}

template <typename T, typename Read>
std::array<T, 3> readTriple(const Json &object, const char *key, Read read) {
  const Json &list = readList(object, key);
  if (list.size() != 3)
    throw Damaged{std::string("`") + key + "` in its manifest has not three entries"};
  return {read(list[0], key), read(list[1], key), read(list[2], key)};
}

bool readFlag(const Json &object, const char *key) {
  if (!field(object, key).is_boolean())
    throw Damaged{std::string("`") + key + "` in its manifest is neither true nor false"};
  return field(object, key).get<bool>();
}

DType readDType(const Json &object) {
  std::optional<DType> dtype = parseDType(readString(field(object, "dtype"), "dtype"));
  if (!dtype)
    throw Damaged{"it has an unknown element type"};
  return *dtype;
}

/// Unknown where there is none.
Place readPlace(const Json &object) {
  if (!object.contains("place"))
    return {};
  const Json &place = field(object, "place");
  auto number = [&](const char *key) { return static_cast<int>(readInteger(field(place, key), key, 0, INT32_MAX)); };
  return Place(readString(field(place, "file"), "file"), number("line"), number("column"));
}

ArgumentSpec readArgument(const Json &object) {
  ArgumentSpec argument;
  argument.name = readString(field(object, "name"), "name");
  std::string kind = readString(field(object, "kind"), "kind");
  if (kind != "buffer" && kind != "scalar")
    throw Damaged{"argument `" + argument.name + "` has an unknown kind"};
  argument.kind = kind == "buffer" ? ArgumentKind::buffer : ArgumentKind::scalar;
  argument.dtype = readDType(object);
  argument.isOutput = readFlag(object, "output");
  argument.isRead = readFlag(object, "read");
  argument.alignment = readInteger(field(object, "alignment"), "alignment", 1, INT64_MAX);
  argument.byteLimit = readInteger(field(object, "byte_limit"), "byte_limit", 0, INT64_MAX);
  argument.shape = readExprs(object, "shape");
  argument.strides = readExprs(object, "strides");
  argument.place = readPlace(object);
  return argument;
}

SymbolSpec readSymbol(const Json &object) {
  SymbolSpec symbol;
  symbol.name = readString(field(object, "name"), "name");
  if (object.contains("argument")) {
    symbol.argument = readUnsigned(field(object, "argument"), "argument");
    symbol.dim = readUnsigned(field(object, "dim"), "dim");
    if (object.contains("less"))
      symbol.less = readInteger(field(object, "less"), "less", INT32_MIN, INT32_MAX);
    if (object.contains("factor"))
      symbol.factor = readUnsigned(field(object, "factor"), "factor");
    if (object.contains("stride"))
      symbol.isStride = readFlag(object, "stride");
  }
  return symbol;
}

TensorMapSpec readTensorMap(const Json &object) {
  TensorMapSpec map;
  map.argument.reset();
  if (object.contains("argument"))
    map.argument = readUnsigned(field(object, "argument"), "argument");
  map.offset = readExpr(field(object, "offset"), "offset");
  map.dtype = readDType(object);
  map.sizes = readExprs(object, "sizes");
  map.strides = readExprs(object, "strides");
  for (const Json &extent : readList(object, "box"))
    map.box.push_back(readUnsigned(extent, "box"));
  map.swizzle = readUnsigned(field(object, "swizzle"), "swizzle");
  if (object.contains("lower")) {
    map.lower = readCorners(object, "lower");
    map.upper = readCorners(object, "upper");
    for (const Json &step : readList(object, "steps"))
      map.steps.push_back(readUnsigned(step, "steps"));
  }
  return map;
}

template <typename T, typename Read>
std::vector<T> readAll(const Json &object, const char *key, Read read) {
  std::vector<T> values;
  for (const Json &value : readList(object, key))
    values.push_back(read(value));
  return values;
}

/// Its code has the right size and is to be filled in.
LaunchStep readStep(const Json &object) {
  LaunchStep step;
  step.entry = readString(field(object, "entry"), "entry");
  step.threads = readTriple<uint32_t>(object, "threads", readUnsigned);
  step.cluster = readTriple<uint32_t>(object, "cluster", readUnsigned);
  step.grid = readTriple<LaunchExpr>(object, "grid", readExpr);
  step.staticSharedBytes = readUnsigned(field(object, "static_shared_bytes"), "static_shared_bytes");
  step.dynamicSharedBytes = readUnsigned(field(object, "dynamic_shared_bytes"), "dynamic_shared_bytes");
  step.tensorMaps = readAll<TensorMapSpec>(object, "tensor_maps", readTensorMap);
  step.isDependent = readFlag(object, "dependent");
  return step;
}

WorkspaceSpec::Range readRange(const Json &list) {
  if (!list.is_array() || list.size() != 2)
    throw Damaged{"`zeroed` in its manifest holds something else than pairs"};
  return {readExpr(list[0], "zeroed"), readExpr(list[1], "zeroed")};
}

std::array<uint32_t, 2> readAlias(const Json &list) {
  if (!list.is_array() || list.size() != 2)
    throw Damaged{"`may_alias_exactly` in its manifest holds something else than pairs"};
  return {readUnsigned(list[0], "may_alias_exactly"), readUnsigned(list[1], "may_alias_exactly")};
}

LaunchCheck readCheck(const Json &object) {
  return {readExpr(field(object, "predicate"), "predicate"), readString(field(object, "message"), "message")};
}

std::pair<std::string, std::string> readPair(const Json &list) {
  if (!list.is_array() || list.size() != 2)
    throw Damaged{"`metadata` in its manifest holds something else than pairs"};
  return {readString(list[0], "metadata"), readString(list[1], "metadata")};
}

/// Deals the code out: each further kernel's at the end, the rest is the image's.
void readCode(const Json &object, std::span<const std::byte> code, KernelImage &image) {
  std::vector<size_t> sizes;
  size_t ofFurther = 0;
  for (const Json &step : readList(object, "further")) {
    auto most = static_cast<int64_t>(code.size() - ofFurther);
    sizes.push_back(static_cast<size_t>(readInteger(field(step, "code_bytes"), "code_bytes", 0, most)));
    ofFurther += sizes.back();
  }
  auto next = code.begin() + static_cast<ptrdiff_t>(code.size() - ofFurther);
  image.code.assign(code.begin(), next);
  for (size_t i = 0; i < sizes.size(); ++i) {
    image.further[i].code.assign(next, next + static_cast<ptrdiff_t>(sizes[i]));
    next += static_cast<ptrdiff_t>(sizes[i]);
  }
}

KernelImage readManifest(std::string_view text, std::span<const std::byte> code) {
  checkNesting(text);
  Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded())
    throw Damaged{"its manifest is no JSON"};
  KernelImage image;
  image.kernel = readString(field(object, "kernel"), "kernel");
  image.place = readPlace(object);
  image.target = readString(field(object, "target"), "target");
  image.entry = readString(field(object, "entry"), "entry");
  std::optional<ImageKind> kind = parseImageKind(readString(field(object, "kind"), "kind"));
  if (!kind)
    throw Damaged{"it holds an unknown kind of code"};
  image.kind = *kind;
  image.threads = readTriple<uint32_t>(object, "threads", readUnsigned);
  image.cluster = readTriple<uint32_t>(object, "cluster", readUnsigned);
  image.grid = readTriple<LaunchExpr>(object, "grid", readExpr);
  image.staticSharedBytes = readUnsigned(field(object, "static_shared_bytes"), "static_shared_bytes");
  image.dynamicSharedBytes = readUnsigned(field(object, "dynamic_shared_bytes"), "dynamic_shared_bytes");
  image.isDependent = readFlag(object, "dependent");
  image.further = readAll<LaunchStep>(object, "further", readStep);
  const Json &workspace = field(object, "workspace");
  image.workspace.bytes = readExpr(field(workspace, "bytes"), "bytes");
  image.workspace.zeroed = readAll<WorkspaceSpec::Range>(workspace, "zeroed", readRange);
  image.arguments = readAll<ArgumentSpec>(object, "arguments", readArgument);
  image.mayAliasExactly = readAll<std::array<uint32_t, 2>>(object, "may_alias_exactly", readAlias);
  image.symbols = readAll<SymbolSpec>(object, "symbols", readSymbol);
  image.tensorMaps = readAll<TensorMapSpec>(object, "tensor_maps", readTensorMap);
  image.checks = readAll<LaunchCheck>(object, "checks", readCheck);
  image.metadata = readAll<std::pair<std::string, std::string>>(object, "metadata", readPair);
  readCode(object, code, image);
  return image;
}

KernelImage readFile(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    throw Damaged{"it does not start as one"};
  if (uint64_t version = numberAt(file, 8, 4); version != kImageVersion)
    throw Damaged{"found version " + std::to_string(version) + ", expected " + std::to_string(kImageVersion)};
  uint64_t manifestBytes = numberAt(file, 16, 8), codeBytes = numberAt(file, 24, 8);
  if (manifestBytes > kMaxManifestBytes || codeBytes > kMaxCodeBytes ||
      kHeaderBytes + manifestBytes + codeBytes != file.size())
    throw Damaged{"its length differs from what its header says"};
  std::span<const std::byte> body = file.subspan(kHeaderBytes);
  if (checksum(body) != numberAt(file, 32, 8))
    throw Damaged{"its checksum is wrong"};
  KernelImage image =
      readManifest({reinterpret_cast<const char *>(body.data()), manifestBytes}, body.subspan(manifestBytes));
  if (std::optional<std::string> flaw = findFlaw(image))
    throw Damaged{*flaw};
  return image;
}

} // namespace

std::vector<std::byte> serialize(const KernelImage &image) {
  if (std::optional<std::string> flaw = findFlaw(image))
    fail(DiagId::ImageInvalid, "the image of `" + image.kernel + "` cannot be written: " + *flaw);
  std::string text = manifest(image);
  std::vector<std::byte> body(text.size());
  std::memcpy(body.data(), text.data(), text.size());
  body.insert(body.end(), image.code.begin(), image.code.end());
  for (const LaunchStep &step : image.further)
    body.insert(body.end(), step.code.begin(), step.code.end());
  std::vector<std::byte> file;
  file.reserve(kHeaderBytes + body.size());
  for (char c : kMagic)
    file.push_back(static_cast<std::byte>(c));
  appendNumber(file, kImageVersion, 4);
  appendNumber(file, 0, 4);
  appendNumber(file, text.size(), 8);
  appendNumber(file, body.size() - text.size(), 8);
  appendNumber(file, checksum(body), 8);
  file.insert(file.end(), body.begin(), body.end());
  return file;
}

KernelImage deserialize(std::span<const std::byte> file) {
  try {
    return readFile(file);
  } catch (const Damaged &damaged) {
    fail(DiagId::ImageInvalid, "this is no kernel image of this version: " + damaged.what, "compile the kernel again");
  }
}

void writeImage(const std::string &path, const KernelImage &image) {
  std::vector<std::byte> bytes = serialize(image);
  std::filesystem::path temporary = path;
  static std::atomic<unsigned> writers = 0; // Threads of one process must not share a name either.
  temporary += ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(++writers);
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out)
    std::filesystem::rename(temporary, path, error);
  if (!out || error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    fail(DiagId::ImageFile, "cannot write `" + path + "`" + (error ? ": " + error.message() : ""));
  }
}

KernelImage readImage(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in)
    fail(DiagId::ImageFile, "cannot read `" + path + "`");
  return deserialize(std::as_bytes(std::span(bytes)));
}

} // namespace soliton::rt
