//===- ArrayFileTest.cpp - Arrays to files and back ----------------------------------------------===//
#include "soliton/runtime/ArrayFile.h"

#include "soliton/support/Diagnostics.h"

#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace soliton::rt {
namespace {

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto *begin = reinterpret_cast<const std::byte *>(text.data());
  return {begin, begin + text.size()};
}

template <typename T>
std::vector<std::byte> bytesOf(const std::vector<T> &values) {
  const auto *begin = reinterpret_cast<const std::byte *>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

/// A file as numpy writes it.
std::vector<std::byte> npy(int version, const std::string &header, const std::vector<std::byte> &data) {
  std::string start = "\x93NUMPY";
  start += {static_cast<char>(version), '\0'};
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte)
    start += static_cast<char>(header.size() >> (8 * byte));
  std::vector<std::byte> file = bytesOf(start + header);
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

/// Refused as `array-file`, with these words.
void expectRefused(const std::vector<std::byte> &file, const std::string &words) {
  try {
    parseNpy(file, "a.npy");
    ADD_FAILURE() << "accepted, expected: " << words;
  } catch (const CompileError &error) {
    EXPECT_EQ(error.diagnostics().front().id, DiagId::ArrayFile);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(ArrayFile, EveryVersionIsRead) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (int version : {1, 2, 3}) {
    ArrayFile array = parseNpy(
        npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", bytesOf(values)), "a.npy");
    EXPECT_EQ(array.toString(), "<f4 (2, 3)");
    EXPECT_EQ(bytesFor(array, DType::f32, std::vector<int64_t>{2, 3}, "a.npy"), bytesOf(values));
  }
}

TEST(ArrayFile, ColumnsAndBigEndsBecomeRowsAndLittleOnes) {
  // Column by column: a 2x3 array whose rows are 1 2 3 and 4 5 6.
  std::vector<int16_t> columns{1, 4, 2, 5, 3, 6}, rows{1, 2, 3, 4, 5, 6};
  ArrayFile array =
      parseNpy(npy(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }", bytesOf(columns)), "a.npy");
  EXPECT_EQ(array.bytes, bytesOf(rows));
  std::vector<std::byte> big;
  for (int16_t value : rows)
    big.insert(big.end(), {static_cast<std::byte>(value >> 8), static_cast<std::byte>(value)});
  array = parseNpy(npy(1, "{\"descr\": \">i2\", \"fortran_order\": False, \"shape\": (6L,)}", big), "a.npy");
  EXPECT_EQ(array.bytes, bytesOf(rows));
}

TEST(ArrayFile, EveryTypeOfTheLanguageComesBack) {
  for (DType type : allDTypes()) {
    std::vector<int64_t> shape{3, 5};
    std::vector<std::byte> bytes(arrayBytes(type, shape));
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(type == DType::i1 ? i % 2 : i * 7);
    ArrayFile array = parseNpy(printNpy(type, shape, bytes), "a.npy");
    EXPECT_EQ(bytesFor(array, type, shape, "a.npy"), bytes) << name(type);
  }
}

TEST(ArrayFile, ElementsStartAtAMultipleOf64) {
  for (int64_t extent : {1, 10, 12345678})
    EXPECT_EQ(printNpy(DType::f32, std::vector<int64_t>{extent}, {}).size() % 64, 0u);
}

TEST(ArrayFile, EmptyArraysAndScalarsAreArrays) {
  ArrayFile array = parseNpy(printNpy(DType::f32, std::vector<int64_t>{0, 7}, {}), "a.npy");
  EXPECT_EQ(array.shape, (std::vector<int64_t>{0, 7}));
  array = parseNpy(npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (), }", bytesOf(std::vector<double>{2})),
                   "a.npy");
  EXPECT_EQ(array.bytes.size(), 8u);
}

TEST(ArrayFile, WhatIsNoArrayIsRefusedWithTheReason) {
  std::vector<std::byte> eight(8);
  expectRefused(bytesOf("PK\x03\x04 not an array at all"), "no array file of numpy");
  expectRefused(npy(4, "{}", {}), "version 4");
  expectRefused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", eight), "bytes that are there");
  expectRefused(npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", eight), "number of elements");
  expectRefused(npy(1, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", eight), "`|O`");
  expectRefused(npy(1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", eight), "`<c16`");
  expectRefused(npy(1, "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", eight), "records");
  expectRefused(npy(1, "{'descr': '<f4', 'shape': (2,), }", eight), "expected the keys");
  expectRefused(npy(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }", eight), "`True` or `False`");
  expectRefused(npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", eight),
                "bytes that are there");
  std::vector<std::byte> cut = npy(1, "{'descr': '<f4'", {});
  cut[8] = std::byte{200};
  expectRefused(cut, "200 bytes");
}

TEST(ArrayFile, AnotherTypeOrShapeIsNamedWithBoth) {
  ArrayFile array = parseNpy(printNpy(DType::f32, std::vector<int64_t>{2, 3}, std::vector<std::byte>(24)), "a.npy");
  for (auto [type, shape] : {std::pair{DType::f16, std::vector<int64_t>{2, 3}}, {DType::f32, {3, 2}}})
    try {
      bytesFor(array, type, shape, "a.npy");
      ADD_FAILURE();
    } catch (const CompileError &error) {
      EXPECT_NE(std::string(error.what()).find("<f4 (2, 3)"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(type == DType::f16 ? "<f2 (2, 3)" : "<f4 (3, 2)"), std::string::npos);
    }
  EXPECT_NO_THROW(bytesFor({'V', 2, {4}, std::vector<std::byte>(8)}, DType::bf16, std::vector<int64_t>{4}, "a"));
  EXPECT_THROW(bytesFor({'V', 2, {4}, std::vector<std::byte>(8)}, DType::f16, std::vector<int64_t>{4}, "a"),
               CompileError);
}

TEST(ArrayFile, FilesAreWrittenAndRead) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("soliton-array-" + std::to_string(::getpid()) + ".npy")).string();
  std::vector<std::byte> bytes = bytesOf(std::vector<float>{1, 2, 3});
  writeNpy(path, DType::f32, std::vector<int64_t>{3}, bytes);
  EXPECT_EQ(readNpy(path).bytes, bytes);
  std::filesystem::remove(path);
  EXPECT_THROW(readNpy(path), CompileError);
  EXPECT_THROW(readNpy(std::filesystem::temp_directory_path().string()), CompileError);
  EXPECT_THROW(writeBytes("/nowhere/at/all.npy", bytes), CompileError);
}

} // namespace
} // namespace soliton::rt
