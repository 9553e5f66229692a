//===- SolitonOpTypes.cpp - The table of operations, element types and targets ----------------===//
//
//   SolitonOpTypes                        prints the page docs/ops/types.md
//   SolitonOpTypes --check PAGE           exits 1 if the page says something else
//   SolitonOpTypes --only mma,sum         some of its rows
//
// A cell is *right* if the operation of that type compiles for the target and the emulator computes what the
// interpreter does; otherwise it is the id of the error. Anything else (another number, an exception, an error without
// an id of the language) is a failure of this program.
//
//===----------------------------------------------------------------------===//
#include "kernels/Kernels.h"
#include "soliton/driver/Reference.h"
#include "soliton/runtime/EmulatorDevice.h"
#include "soliton/target/Target.h"
#include "test/ops/Operations.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

using namespace soliton;
using namespace soliton::test;

namespace {

constexpr const char *kTargets[] = {"gfx942", "gfx950", "sm_90a"};

/// What became of an operation: an id, or nothing where it is right; `failure` where neither is true.
struct Cell {
  std::string id, failure;
};

std::string firstError(const std::vector<Diagnostic> &diagnostics) {
  for (const Diagnostic &each : diagnostics)
    if (each.severity == Severity::error)
      return std::string(idText(each.id));
  return "";
}

/// Numbers that every type has: positive, and small enough for sums. Scales have powers of two only.
kernels::Array numbersFor(const rt::ArgumentSpec &argument, size_t seed) {
  kernels::Array array{argument.dtype, {}, {}};
  size_t count = 1;
  for (const rt::LaunchExpr &extent : argument.shape) {
    array.shape.push_back(*extent.constantValue());
    count *= static_cast<size_t>(array.shape.back());
  }
  for (size_t i = 0; i < count; ++i) {
    size_t n = (i * 7 + seed * 3 + i / 32) % 4;
    double value = isFloat(argument.dtype) ? (argument.dtype == DType::f8e8m0fnu ? std::exp2(n) : 0.5 * (n + 1))
                                           : static_cast<double>(n + 1);
    array.values.push_back(argument.dtype == DType::i1 ? n % 2 : value);
  }
  return array;
}

/// The first difference between what the emulator computed and what the program means.
std::string difference(const rt::KernelImage &image, const std::vector<std::vector<std::byte>> &found,
                       const ReferenceResult &meaning) {
  for (size_t i = 0; i < found.size(); ++i) {
    if (!image.arguments[i].isOutput)
      continue;
    std::vector<int64_t> shape;
    for (const rt::LaunchExpr &extent : image.arguments[i].shape)
      shape.push_back(*extent.constantValue());
    DType type = image.arguments[i].dtype;
    std::vector<double> is = kernels::decodeArray(type, found[i], shape);
    std::vector<double> must = kernels::decodeArray(type, std::as_bytes(std::span(meaning.arguments[i])), shape);
    for (size_t k = 0; k < is.size(); ++k) {
      bool same = is[k] == must[k] || (std::isnan(is[k]) && std::isnan(must[k]));
      double bound = meaning.tolerance[i].empty() ? 0 : meaning.tolerance[i][k];
      if (!same && !(std::abs(is[k] - must[k]) <= bound))
        return "`" + image.arguments[i].name + "` element " + std::to_string(k) + " is " + std::to_string(is[k]) +
               ", expected " + std::to_string(must[k]) + " within " + std::to_string(bound);
    }
  }
  return "";
}

/// Runs a compiled operation and compares.
std::string runAndCompare(const Kernel &kernel, const CompileOptions &options, const rt::KernelImage &image) {
  static std::shared_ptr<rt::Device> device = rt::makeEmulatorDevice({.checks = true, .seed = 1});
  std::vector<std::vector<std::byte>> bytes;
  std::vector<rt::Argument> arguments;
  ReferenceRequest request;
  for (size_t i = 0; i < image.arguments.size(); ++i) {
    kernels::Array array = numbersFor(image.arguments[i], i);
    bytes.push_back(kernels::encodeArray(array));
    std::vector<uint8_t> &plain = request.arguments.emplace_back(bytes[i].size());
    std::memcpy(plain.data(), bytes[i].data(), plain.size());
    if (image.arguments[i].kind == rt::ArgumentKind::buffer)
      arguments.emplace_back(rt::Tensor::dense(bytes[i].data(), array.type, std::span<const int64_t>(array.shape)));
    else if (isFloat(array.type))
      arguments.emplace_back(array.values[0]);
    else
      arguments.emplace_back(static_cast<int64_t>(array.values[0]));
  }
  ReferenceOutcome meaning = referenceOf(kernel, options, request);
  if (!meaning.result)
    return "the interpreter: " + format(meaning.diagnostics);
  device->load(image)->launch(arguments);
  return difference(image, bytes, *meaning.result);
}

rt::ImageKind codeOf(const char *target) {
  return findTarget(target)->vendor == Vendor::amd ? rt::ImageKind::hsaco : rt::ImageKind::ptx;
}

Cell cellOf(const Operation &operation, DType type, const char *target) {
  try {
    Kernel kernel = build(operation, type);
    CompileOptions options{.target = target, .subs = sizes()};
    CompileAttempt attempt = compileImage(kernel, options, rt::ImageKind::emulator);
    if (attempt) // what no back end takes is no less refused
      if (CompileAttempt code = compileImage(kernel, options, codeOf(target)); !code)
        attempt = std::move(code);
    if (attempt)
      return {"", runAndCompare(kernel, options, attempt.result->image)};
    std::string id = firstError(attempt.diagnostics);
    bool isOurs = id.empty() || id == "backend-failed" || id == "internal";
    return {id, isOurs ? format(attempt.diagnostics) : ""};
  } catch (const std::exception &error) {
    return {"", std::string("exception: ") + error.what()};
  }
}

//===-- The page --------------------------------------------------------------------------------===//

/// A letter for each id, in the order in which they appear.
class Letters {
public:
  std::string of(const std::string &id) {
    if (id.empty())
      return "✓";
    auto [at, isNew] = known.emplace(id, known.size());
    if (isNew)
      order.push_back(id);
    size_t n = at->second;
    return n < 26 ? std::string(1, static_cast<char>('a' + n)) : "z" + std::to_string(n - 25);
  }
  const std::vector<std::string> &ids() const { return order; }

private:
  std::map<std::string, size_t> known;
  std::vector<std::string> order;
};

struct Table {
  std::string rows;
  Letters letters;
  int right = 0, refused = 0;
  std::vector<std::string> failures;
};

std::string cellText(Table &table, const Operation &operation, DType type) {
  std::vector<std::string> texts;
  for (const char *target : kTargets) {
    Cell cell = cellOf(operation, type, target);
    if (!cell.failure.empty())
      table.failures.push_back(operation.name + " of " + std::string(name(type)) + " on " + target + ": " +
                               cell.failure);
    ++(cell.id.empty() ? table.right : table.refused);
    texts.push_back(table.letters.of(cell.id));
  }
  bool same = texts[0] == texts[1] && texts[1] == texts[2];
  return same ? texts[0] : texts[0] + " " + texts[1] + " " + texts[2];
}

Table makeTable(const std::set<std::string> &only) {
  Table table;
  table.rows = "| operation |";
  for (DType type : allDTypes())
    table.rows += " " + std::string(name(type)) + " |";
  table.rows += "\n| --- |" + [] {
    std::string dashes;
    for (size_t i = 0; i < allDTypes().size(); ++i)
      dashes += " --- |";
    return dashes;
  }() + "\n";
  for (const Operation &operation : operations()) {
    if (!only.empty() && !only.contains(operation.name))
      continue;
    std::string text = operation.name;
    if (size_t bar = text.find('|'); bar != std::string::npos)
      text.insert(bar, "\\");
    table.rows += "| `" + text + "` |";
    for (DType type : allDTypes())
      table.rows += " " + cellText(table, operation, type) + " |";
    table.rows += "\n";
  }
  return table;
}

constexpr const char *kHead = R"(<!-- Written by build/bin/SolitonOpTypes; change test/ops/Operations.cpp instead. -->
# Operations and element types

What each operation does with tiles of each element type on `gfx942`, `gfx950` and `sm_90a`; `make test ARGS="--only op-types"`
makes this table again. A cell is ✓ where the kernel of that operation and type compiles to the chip's code and the emulator
computes what the interpreter does. Otherwise it is a letter for the id of the error ([errors.md](../errors.md)). Three entries
are those of the three targets, one is that of all. `scalar` and `splat` are of a number of the type, `index_of` and
`dynamic_val` take elements of the type as places, `mma` adds up in `f32`, `f64` or `i32`.

)";

std::string pageOf(const Table &table) {
  std::ostringstream page;
  page << kHead << table.right << " cells are right, " << table.refused
       << " are refused.\n\n| letter | id |\n| --- | --- |\n";
  Letters letters = table.letters;
  for (const std::string &id : letters.ids())
    page << "| " << letters.of(id) << " | `" << id << "` |\n";
  page << "\n" << table.rows;
  return page.str();
}

std::set<std::string> split(const std::string &text) {
  std::set<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');)
    parts.insert(part);
  return parts;
}

int compareWith(const std::string &path, const std::string &page) {
  std::ifstream file(path);
  std::ostringstream old;
  old << file.rdbuf();
  if (old.str() == page) {
    std::cout << "op-types: the table is up to date\n";
    return 0;
  }
  std::cout << path << ":1: error: out of date; run `build/bin/SolitonOpTypes > " << path << "`\n";
  std::istringstream before(old.str()), after(page);
  for (std::string was, is; std::getline(after, is);) {
    std::getline(before, was);
    if (was != is)
      std::cout << "  - " << was << "\n  + " << is << "\n";
  }
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  std::string check;
  std::set<std::string> only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--check") == 0)
      check = argv[i + 1];
    else if (std::strcmp(argv[i], "--only") == 0)
      only = split(argv[i + 1]);
  }
  Table table = makeTable(only);
  for (const std::string &failure : table.failures)
    std::cerr << "error: " << failure << "\n";
  int code = 0;
  if (check.empty())
    std::cout << pageOf(table);
  else
    code = compareWith(check, pageOf(table));
  return table.failures.empty() ? code : 1;
}
