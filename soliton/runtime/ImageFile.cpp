// The file form of a kernel image. All numbers are little-endian:
//
//   8 bytes "SOLITONK" | u32 version | u32 zero | u64 manifest bytes | u64 code bytes | u64 FNV-1a of both | manifest |
//   code
//
// The manifest is JSON; formulas stand in it as postfix text. A reader trusts nothing: sizes are checked before they
// are used, nesting before it is parsed, and the finished image as a whole.

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
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 40;
constexpr uint64_t kMaxManifestBytes = 4 << 20;
constexpr uint64_t kMaxCodeBytes = uint64_t(1) << 30;
constexpr int kMaxNesting = 8;

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

//===-- Writing -----------------------------------------------------------===//

Json toJson(std::span<const LaunchExpr> exprs) {
  Json list = Json::array();
  for (const LaunchExpr &e : exprs)
    list.push_back(e.text());
  return list;
}

Json toJson(const ArgumentSpec &argument) {
  Json object;
  object["name"] = argument.name;
  object["kind"] = argument.kind == ArgumentKind::buffer ? "buffer" : "scalar";
  object["dtype"] = soliton::name(argument.dtype);
  object["output"] = argument.isOutput;
  object["alignment"] = argument.alignment;
  object["byte_limit"] = argument.byteLimit;
  object["shape"] = toJson(argument.shape);
  object["strides"] = toJson(argument.strides);
  return object;
}

Json toJson(const SymbolSpec &symbol) {
  Json object;
  object["name"] = symbol.name;
  if (symbol.argument) {
    object["argument"] = *symbol.argument;
    object["dim"] = symbol.dim;
  }
  return object;
}

Json toJson(const TensorMapSpec &map) {
  Json object;
  object["argument"] = map.argument;
  object["sizes"] = toJson(map.sizes);
  object["strides"] = toJson(map.strides);
  object["box"] = map.box;
  object["swizzle"] = map.swizzle;
  return object;
}

Json toJson(const LaunchCheck &check) {
  Json object;
  object["predicate"] = check.predicate.text();
  object["message"] = check.message;
  return object;
}

template <typename T>
Json listToJson(const std::vector<T> &values) {
  Json list = Json::array();
  for (const T &value : values)
    list.push_back(toJson(value));
  return list;
}

Json toJson(const KernelImage &image) {
  Json object;
  object["version"] = kVersion;
  object["kernel"] = image.kernel;
  object["target"] = image.target;
  object["kind"] = name(image.kind);
  object["entry"] = image.entry;
  object["threads"] = image.threads;
  object["cluster"] = image.cluster;
  object["grid"] = toJson(std::span(image.grid));
  object["static_shared_bytes"] = image.staticSharedBytes;
  object["dynamic_shared_bytes"] = image.dynamicSharedBytes;
  object["arguments"] = listToJson(image.arguments);
  object["symbols"] = listToJson(image.symbols);
  object["tensor_maps"] = listToJson(image.tensorMaps);
  object["checks"] = listToJson(image.checks);
  Json metadata = Json::array();
  for (const auto &[key, value] : image.metadata)
    metadata.push_back({key, value});
  object["metadata"] = metadata;
  return object;
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

ArgumentSpec readArgument(const Json &object) {
  ArgumentSpec argument;
  argument.name = readString(field(object, "name"), "name");
  std::string kind = readString(field(object, "kind"), "kind");
  std::optional<DType> dtype = parseDType(readString(field(object, "dtype"), "dtype"));
  if ((kind != "buffer" && kind != "scalar") || !dtype)
    throw Damaged{"argument `" + argument.name + "` has an unknown kind or element type"};
  argument.kind = kind == "buffer" ? ArgumentKind::buffer : ArgumentKind::scalar;
  argument.dtype = *dtype;
  if (!field(object, "output").is_boolean())
    throw Damaged{"`output` in its manifest is neither true nor false"};
  argument.isOutput = field(object, "output").get<bool>();
  argument.alignment = readInteger(field(object, "alignment"), "alignment", 1, INT64_MAX);
  argument.byteLimit = readInteger(field(object, "byte_limit"), "byte_limit", 0, INT64_MAX);
  argument.shape = readExprs(object, "shape");
  argument.strides = readExprs(object, "strides");
  return argument;
}

SymbolSpec readSymbol(const Json &object) {
  SymbolSpec symbol;
  symbol.name = readString(field(object, "name"), "name");
  if (object.contains("argument")) {
    symbol.argument = readUnsigned(field(object, "argument"), "argument");
    symbol.dim = readUnsigned(field(object, "dim"), "dim");
  }
  return symbol;
}

TensorMapSpec readTensorMap(const Json &object) {
  TensorMapSpec map;
  map.argument = readUnsigned(field(object, "argument"), "argument");
  map.sizes = readExprs(object, "sizes");
  map.strides = readExprs(object, "strides");
  for (const Json &extent : readList(object, "box"))
    map.box.push_back(readUnsigned(extent, "box"));
  map.swizzle = readUnsigned(field(object, "swizzle"), "swizzle");
  return map;
}

LaunchCheck readCheck(const Json &object) {
  return {readExpr(field(object, "predicate"), "predicate"), readString(field(object, "message"), "message")};
}

std::pair<std::string, std::string> readPair(const Json &list) {
  if (!list.is_array() || list.size() != 2)
    throw Damaged{"`metadata` in its manifest holds something else than pairs"};
  return {readString(list[0], "metadata"), readString(list[1], "metadata")};
}

template <typename T, typename Read>
std::vector<T> readAll(const Json &object, const char *key, Read read) {
  std::vector<T> values;
  for (const Json &value : readList(object, key))
    values.push_back(read(value));
  return values;
}

KernelImage readManifest(std::string_view text) {
  checkNesting(text);
  Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded())
    throw Damaged{"its manifest is no JSON"};
  KernelImage image;
  image.kernel = readString(field(object, "kernel"), "kernel");
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
  image.arguments = readAll<ArgumentSpec>(object, "arguments", readArgument);
  image.symbols = readAll<SymbolSpec>(object, "symbols", readSymbol);
  image.tensorMaps = readAll<TensorMapSpec>(object, "tensor_maps", readTensorMap);
  image.checks = readAll<LaunchCheck>(object, "checks", readCheck);
  image.metadata = readAll<std::pair<std::string, std::string>>(object, "metadata", readPair);
  return image;
}

KernelImage readFile(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0)
    throw Damaged{"it does not start as one"};
  if (uint64_t version = numberAt(file, 8, 4); version != kVersion)
    throw Damaged{"found version " + std::to_string(version) + ", expected " + std::to_string(kVersion)};
  uint64_t manifestBytes = numberAt(file, 16, 8), codeBytes = numberAt(file, 24, 8);
  if (manifestBytes > kMaxManifestBytes || codeBytes > kMaxCodeBytes ||
      kHeaderBytes + manifestBytes + codeBytes != file.size())
    throw Damaged{"its length differs from what its header says"};
  std::span<const std::byte> body = file.subspan(kHeaderBytes);
  if (checksum(body) != numberAt(file, 32, 8))
    throw Damaged{"its checksum is wrong"};
  KernelImage image = readManifest({reinterpret_cast<const char *>(body.data()), manifestBytes});
  image.code.assign(body.begin() + static_cast<ptrdiff_t>(manifestBytes), body.end());
  if (std::optional<std::string> flaw = findFlaw(image))
    throw Damaged{*flaw};
  return image;
}

} // namespace

std::string manifest(const KernelImage &image) {
  try {
    return toJson(image).dump(1);
  } catch (const Json::exception &) {
    fail(DiagId::ImageInvalid, "a name or text in the image of `" + image.kernel + "` is no UTF-8");
  }
}

std::vector<std::byte> serialize(const KernelImage &image) {
  if (std::optional<std::string> flaw = findFlaw(image))
    fail(DiagId::ImageInvalid, "the image of `" + image.kernel + "` cannot be written: " + *flaw);
  std::string text = manifest(image);
  std::vector<std::byte> body(text.size() + image.code.size());
  std::memcpy(body.data(), text.data(), text.size());
  std::copy(image.code.begin(), image.code.end(), body.begin() + static_cast<ptrdiff_t>(text.size()));
  std::vector<std::byte> file;
  file.reserve(kHeaderBytes + body.size());
  for (char c : kMagic)
    file.push_back(static_cast<std::byte>(c));
  appendNumber(file, kVersion, 4);
  appendNumber(file, 0, 4);
  appendNumber(file, text.size(), 8);
  appendNumber(file, image.code.size(), 8);
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
