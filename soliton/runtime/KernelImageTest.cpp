#include "soliton/runtime/KernelImage.h"

#include "soliton/runtime/TestSupport.h"

#include <filesystem>
#include <fstream>
#include <random>

using namespace soliton;
using namespace soliton::rt;

namespace {

KernelImage fullImage() {
  KernelImage image = scaleImage();
  image.cluster = {2, 1, 1};
  image.staticSharedBytes = 1024;
  image.dynamicSharedBytes = 65536;
  image.arguments[0].strides = {64, 1};
  image.arguments[0].place = Place("scale.cpp", 7, 12);
  image.place = Place("scale.cpp", 5, 3);
  image.arguments[1].byteLimit = 0;
  image.symbols.push_back({"K", std::nullopt, 0});
  image.symbols.push_back({"LDA", 0, 0, 0, 1, /*isStride=*/true});
  TensorMapSpec map;
  map.sizes = {64, LaunchExpr::symbol(0)};
  map.strides = {256};
  map.box = {64, 16};
  map.swizzle = 128;
  image.tensorMaps = {map};
  LaunchStep second{"second", {std::byte(7), std::byte(8)}};
  map.argument.reset();
  map.offset = LaunchExpr::symbol(0);
  map.dtype = DType::f32;
  map.box = {32, 8};
  second.tensorMaps = {map};
  second.isDependent = true;
  second.threads = {32, 2, 1};
  second.grid = {LaunchExpr::symbol(1), 2, 1};
  second.dynamicSharedBytes = 128;
  LaunchStep third{"third", {std::byte(9)}};
  image.further = {second, third};
  image.workspace.bytes = LaunchExpr::apply(LaunchOp::mul, {LaunchExpr::symbol(0), 4});
  image.workspace.zeroed = {{0, 64}, {LaunchExpr::symbol(1), 4}};
  image.arguments[0].isRead = false;
  image.metadata.push_back({"note", "ünïcode \"quoted\"\n"});
  return image;
}

/// `file` with its checksum made right, so that damage reaches the manifest's reader.
std::vector<std::byte> resealed(std::vector<std::byte> file) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 40; i < file.size(); ++i)
    hash = (hash ^ static_cast<uint64_t>(file[i])) * 0x100000001b3;
  for (size_t i = 0; i < 8 && 32 + i < file.size(); ++i)
    file[32 + i] = static_cast<std::byte>(hash >> (8 * i));
  return file;
}

/// The file with `from` in its manifest replaced by a text of the same length.
std::vector<std::byte> edited(const KernelImage &image, const std::string &from, const std::string &to) {
  EXPECT_EQ(from.size(), to.size());
  std::vector<std::byte> file = serialize(image);
  std::string text(reinterpret_cast<char *>(file.data()), file.size());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  std::memcpy(file.data() + at, to.data(), to.size());
  return resealed(file);
}

void expectFlaw(void (*change)(KernelImage &), const std::string &fragment) {
  KernelImage image = fullImage();
  change(image);
  std::optional<std::string> flaw = findFlaw(image);
  ASSERT_TRUE(flaw) << fragment;
  EXPECT_NE(flaw->find(fragment), std::string::npos) << *flaw;
}

} // namespace

TEST(KernelImage, RoundTrip) {
  for (ImageKind kind : {ImageKind::ptx, ImageKind::cubin, ImageKind::hsaco, ImageKind::emulator}) {
    KernelImage image = fullImage();
    image.kind = kind;
    EXPECT_EQ(deserialize(serialize(image)), image);
    EXPECT_EQ(parseImageKind(name(kind)), kind);
  }
  KernelImage small;
  small.kernel = small.entry = "k";
  small.code = {std::byte(0)};
  EXPECT_EQ(deserialize(serialize(small)), small);
}

TEST(KernelImage, ManifestIsReadable) {
  std::string text = manifest(fullImage());
  EXPECT_NE(text.find("\"s0 16 ceildiv\""), std::string::npos);
  EXPECT_NE(text.find("\"kernel\": \"scale\""), std::string::npos);
}

TEST(KernelImage, EveryTruncationIsRefused) {
  std::vector<std::byte> file = serialize(fullImage());
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_THROW(deserialize(std::span(file).first(size)), CompileError);
  file.push_back(std::byte(0));
  expectError([&] { deserialize(file); }, DiagId::ImageInvalid, "its length differs");
}

TEST(KernelImage, HeaderDamageIsNamed) {
  std::vector<std::byte> file = serialize(fullImage());
  auto with = [&](size_t at, int value) {
    std::vector<std::byte> copy = file;
    copy[at] = static_cast<std::byte>(value);
    return copy;
  };
  expectError([&] { deserialize(with(0, 'x')); }, DiagId::ImageInvalid, "does not start as one");
  expectError([&] { deserialize(with(8, 9)); }, DiagId::ImageInvalid, "found version 9, expected 4");
  expectError([&] { deserialize(with(23, 0xff)); }, DiagId::ImageInvalid, "its length differs");
  expectError([&] { deserialize(with(32, 1)); }, DiagId::ImageInvalid, "checksum");
}

TEST(KernelImage, ManifestDamageIsNamed) {
  KernelImage image = fullImage();
  auto expectDamage = [&](const char *from, const char *to, const char *fragment) {
    std::vector<std::byte> file = edited(image, from, to);
    expectError([&] { deserialize(file); }, DiagId::ImageInvalid, fragment);
  };
  expectDamage("\"kernel\"", "\"kornel\"", "lacks `kernel`");
  expectDamage("\"s0 16 ceildiv\"", "\"s0 16 ceilduv\"", "malformed formula");
  expectDamage("\"s0 16 ceildiv\"", "\"s9 16 ceildiv\"", "a grid formula is malformed");
  expectDamage("\"f32\"", "\"f33\"", "unknown element type");
  expectDamage("\"ptx\"", "\"ptz\"", "unknown kind of code");
  expectDamage("\"swizzle\": 128", "\"swizzle\": 129", "swizzle other than");
  expectDamage("\"swizzle\": 128", "\"swizzle\": -28", "no number between");
  expectDamage("\"swizzle\": 128", "\"swizzle\": 1.8", "no number between");
  expectDamage("\"output\": true", "\"output\": 1234", "neither true nor false");
  expectDamage("\"version\"", "\"version'", "no JSON");
  expectDamage("\"metadata\": [", "\"metadata\": {", "no JSON");
  expectDamage("\"target\": \"sm_90a\"", "\"target\": [[[[[[]]", "no JSON");
}

TEST(KernelImage, DeepNestingIsRefusedBeforeParsing) {
  KernelImage image = fullImage();
  image.target = std::string(100000, ' ');
  std::string deep(100000, '[');
  std::vector<std::byte> file = edited(image, "\"" + image.target + "\"", deep + "]]");
  expectError([&] { deserialize(file); }, DiagId::ImageInvalid, "nests too deep");
}

TEST(KernelImage, TextThatIsNoUtf8IsRefused) {
  KernelImage image = fullImage();
  image.kernel = "\xff\xfe";
  EXPECT_THROW(serialize(image), CompileError);
}

TEST(KernelImage, CodeOfFurtherKernelsFits) {
  // The manifest says how much of the code is whose; more than there is, is no image.
  expectError([&] { deserialize(edited(fullImage(), "\"code_bytes\": 2", "\"code_bytes\": 9")); }, DiagId::ImageInvalid,
              "has no kernel name, no entry symbol or no code");
  KernelImage image = fullImage();
  image.further[0].code.resize(10);
  expectError([&] { deserialize(edited(image, "\"code_bytes\": 10", "\"code_bytes\": 99")); }, DiagId::ImageInvalid,
              "`code_bytes` in its manifest is no number between 0 and 18");
  expectError([&] { deserialize(edited(image, "\"code_bytes\": 10", "\"code_bytes\": -1")); }, DiagId::ImageInvalid,
              "code_bytes");
}

/// Its first map as one of images.
static TensorMapSpec &images(KernelImage &image) {
  TensorMapSpec &map = image.tensorMaps[0];
  map.sizes = {64, 8, 8, 2};
  map.strides = {128, 1024, 8192};
  map.box = {64, 16};
  map.lower = map.upper = {-1, -1};
  map.steps = {1, 2};
  return map;
}

TEST(KernelImage, FlawsAreNamed) {
  EXPECT_EQ(findFlaw(fullImage()), std::nullopt);
  expectFlaw([](KernelImage &i) { i.code.clear(); }, "no code");
  expectFlaw([](KernelImage &i) { i.entry.clear(); }, "no entry");
  expectFlaw([](KernelImage &i) { i.threads = {1024, 2, 1}; }, "2048 threads");
  expectFlaw([](KernelImage &i) { i.threads = {0, 1, 1}; }, "0 threads");
  expectFlaw([](KernelImage &i) { i.cluster = {1, 0, 1}; }, "cluster of 0");
  expectFlaw([](KernelImage &i) { i.grid[2] = LaunchExpr::symbol(9); }, "grid formula");
  expectFlaw([](KernelImage &i) { i.arguments.resize(65); }, "65 arguments");
  expectFlaw([](KernelImage &i) { i.symbols.resize(65); }, "65 symbols");
  expectFlaw([](KernelImage &i) { i.tensorMaps.resize(17); }, "18 tensor maps");
  expectFlaw([](KernelImage &i) { i.arguments[0].shape.resize(9); }, "9 dimensions");
  expectFlaw([](KernelImage &i) { i.arguments[2].shape = {1}; }, "scalar argument `factor` has a shape");
  expectFlaw([](KernelImage &i) { i.arguments[0].strides = {1}; }, "1 strides for 2");
  expectFlaw([](KernelImage &i) { i.arguments[0].alignment = 12; }, "no power of two");
  expectFlaw([](KernelImage &i) { i.arguments[0].alignment = 0; }, "no power of two");
  expectFlaw([](KernelImage &i) { i.arguments[0].byteLimit = -1; }, "negative byte limit");
  expectFlaw([](KernelImage &i) { i.arguments[0].shape[0] = LaunchExpr::symbol(9); }, "shape or stride formula");
  expectFlaw([](KernelImage &i) { i.symbols[0].dim = 2; }, "symbol `M` is bound to dimension 2");
  expectFlaw([](KernelImage &i) { i.symbols[0].argument = 2; }, "which does not exist");
  expectFlaw([](KernelImage &i) { i.symbols[0].argument = 7; }, "which does not exist");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].argument = 2; }, "no buffer");
  expectFlaw(
      [](KernelImage &i) {
        i.tensorMaps[0].argument.reset();
        i.workspace = {};
      },
      "describes the workspace, but there is none");
  expectFlaw([](KernelImage &i) { i.arguments[0].alignment = 8; }, "needs an address that is a multiple of 16");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].offset = LaunchExpr::symbol(9); }, "tensor map");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].box = {7, 16}; }, "rows of 14 bytes");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].box = {128, 16}; }, "rows of 256 bytes");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].dtype = DType::i4; }, "rows of 32 bytes");
  expectFlaw([](KernelImage &i) { i.further[0].tensorMaps = {i.tensorMaps[0], {}}; }, "1 to 5 sizes");
  expectFlaw([](KernelImage &i) { i.further[0].tensorMaps.resize(16); }, "17 tensor maps");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].box = {64}; }, "box extents");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].box = {64, 257}; }, "box extent outside");
  expectFlaw([](KernelImage &i) { i.tensorMaps[0].sizes[0] = LaunchExpr::symbol(9); }, "tensor map");
  KernelImage walked = fullImage();
  images(walked);
  EXPECT_EQ(findFlaw(walked), std::nullopt);
  EXPECT_EQ(deserialize(serialize(walked)).tensorMaps, walked.tensorMaps);
  expectFlaw([](KernelImage &i) { images(i).upper = {-1}; }, "a lower and an upper corner and a step for all");
  expectFlaw([](KernelImage &i) { images(i).lower = {-129, 0}; }, "a corner outside -128 to 127");
  expectFlaw([](KernelImage &i) { images(i).steps = {0, 1}; }, "a step outside 1 to 8");
  expectFlaw([](KernelImage &i) { images(i).box = {64, 16, 1, 1}; }, "two with corners");
  expectFlaw([](KernelImage &i) { images(i).box = {64, 1025}; }, "box extent outside");
  expectFlaw([](KernelImage &i) { i.further.resize(8, {"k", {std::byte(1)}}); }, "9 kernels in one plan");
  expectFlaw([](KernelImage &i) { i.further[0].entry.clear(); }, "has no entry symbol");
  expectFlaw([](KernelImage &i) { i.further[1].threads = {0, 1, 1}; }, "0 threads");
  expectFlaw([](KernelImage &i) { i.further[1].grid[0] = LaunchExpr::symbol(9); }, "grid formula");
  expectFlaw(
      [](KernelImage &i) {
        i.kind = ImageKind::emulator;
        i.further[0].code.clear();
      },
      "`second` needs code of its own");
  expectFlaw([](KernelImage &i) { i.workspace.bytes = LaunchExpr::symbol(9); }, "workspace's size");
  expectFlaw([](KernelImage &i) { i.workspace.bytes = 0; }, "but there is none");
  expectFlaw([](KernelImage &i) { i.workspace.zeroed[1].bytes = LaunchExpr::symbol(9); }, "zeroed range");
  expectFlaw([](KernelImage &i) { i.workspace.zeroed.resize(9); }, "9 ranges");
  expectFlaw([](KernelImage &i) { i.mayAliasExactly = {{0, 0}}; }, "not two buffers");
  expectFlaw([](KernelImage &i) { i.mayAliasExactly = {{0, 2}}; }, "not two buffers");
  expectFlaw([](KernelImage &i) { i.mayAliasExactly = {{7, 1}}; }, "not two buffers");
  expectFlaw([](KernelImage &i) { i.checks[0].predicate = LaunchExpr::symbol(9); }, "launch check");
}

TEST(KernelImage, DamagedFilesNeverCrash) {
  std::vector<std::byte> file = serialize(fullImage());
  std::mt19937_64 random(5);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> copy = file;
    for (uint64_t i = 0; i <= random() % 4; ++i) {
      size_t at = round % 4 ? 40 + random() % (copy.size() - 40) : random() % copy.size();
      copy[at] = static_cast<std::byte>(random());
    }
    try {
      KernelImage image = deserialize(round % 4 ? resealed(copy) : copy);
      EXPECT_EQ(findFlaw(image), std::nullopt);
    } catch (const CompileError &error) {
      EXPECT_EQ(error.diagnostics()[0].id, DiagId::ImageInvalid);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(KernelImage, FactorsOfSymbolsAreReadBack) {
  KernelImage image = fullImage();
  image.symbols[0].factor = 32;
  std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "soliton-factor.image";
  writeImage(path, image);
  EXPECT_EQ(readImage(path), image);
  std::filesystem::remove(path);
}

TEST(KernelImage, FilesAreWrittenWholeAndReadBack) {
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "soliton-image-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  std::filesystem::path path = folder / "scale.image";
  writeImage(path, fullImage());
  EXPECT_EQ(readImage(path), fullImage());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no temporary file stays";
  expectError([&] { readImage(folder / "missing"); }, DiagId::ImageFile, "cannot read");
  expectError([&] { writeImage(folder / "no" / "folder", fullImage()); }, DiagId::ImageFile, "cannot write");
  std::filesystem::remove_all(folder);
}
