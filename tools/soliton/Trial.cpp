#include "tools/soliton/Trial.h"

#include "soliton/driver/Reference.h"
#include "soliton/runtime/ArrayFile.h"
#include "soliton/runtime/Strided.h"
#include "soliton/support/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace soliton::cli {

static constexpr std::byte kUnwritten{0xff};

//===-- Files -----------------------------------------------------------------------------------===//

Files parseFiles(const std::string &option, const std::vector<std::string> &said) {
  Files files;
  for (const std::string &text : said) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw UsageError("found `" + option + " " + text + "`, expected `ARGUMENT=FILE`, as in `a=a.npy`");
    if (!files.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw UsageError("`" + option + "` names `" + text.substr(0, equals) + "` twice");
  }
  return files;
}

static bool isNpy(const std::string &path) {
  return path.ends_with(".npy");
}

GivenShapes shapesOf(const Files &files) {
  GivenShapes shapes;
  for (const auto &[name, path] : files)
    if (isNpy(path))
      shapes[name] = rt::readNpy(path).shape;
  return shapes;
}

/// The bytes of a file for an argument.
static std::vector<std::byte> readArgument(const std::string &path, const kernels::Array &array) {
  if (isNpy(path))
    return rt::bytesFor(rt::readNpy(path), array.type, array.shape, path);
  std::vector<std::byte> bytes = rt::readBytes(path);
  size_t expected = rt::arrayBytes(array.type, array.shape);
  if (bytes.size() != expected)
    throw CompileError(
        {{Severity::error,
          DiagId::ArrayFile,
          Place(path, 1, 1),
          "the file has " + std::to_string(bytes.size()) + " bytes, the argument takes " + std::to_string(expected),
          "files that are not called `.npy` are taken as plain bytes",
          {}}});
  return bytes;
}

/// The number of an argument of that name; throws UsageError with the names there are.
static size_t argumentCalled(const Trial &trial, const std::string &option, const std::string &name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < trial.problem.arguments.size(); ++i) {
    if (trial.problem.arguments[i].name == name)
      return i;
    names.push_back(trial.problem.arguments[i].name);
  }
  throw UsageError("`" + option + "`: " + unknown("argument", name, names));
}

void writeResults(const Trial &trial, const std::vector<std::vector<std::byte>> &results, const Files &outputs) {
  for (const auto &[name, path] : outputs) {
    size_t i = argumentCalled(trial, "--output", name);
    const kernels::Array &array = trial.problem.arrays[i];
    if (isNpy(path))
      rt::writeNpy(path, array.type, array.shape, results[i]);
    else
      rt::writeBytes(path, results[i]);
  }
}

//===-- Arguments -------------------------------------------------------------------------------===//

/// Values of the image's symbols by name: as the user said, or as the shape of a file says.
static std::vector<int64_t> symbolValues(const Resolved &resolved, const rt::KernelImage &image,
                                         const GivenShapes &given) {
  std::vector<int64_t> values;
  for (const rt::SymbolSpec &symbol : image.symbols) {
    auto said = resolved.sizes.find(symbol.name);
    auto shape = symbol.argument ? given.find(image.arguments[*symbol.argument].name) : given.end();
    if (said != resolved.sizes.end())
      values.push_back(said->second);
    else if (shape != given.end() && symbol.dim < shape->second.size() && !symbol.isStride)
      values.push_back(symbol.valueOf(shape->second[symbol.dim]));
    else
      throw UsageError("`" + symbol.name + "` of `" + image.kernel + "` is known only at launch: say `--size " +
                       symbol.name + "=NUMBER`");
  }
  return values;
}

/// Sizes of a module that its kernel does not have.
static void requireKnownSizes(const Resolved &resolved, const rt::KernelImage &image) {
  std::vector<std::string> names;
  for (const rt::SymbolSpec &symbol : image.symbols)
    names.push_back(symbol.name);
  for (const auto &[name, value] : resolved.sizes)
    if (!resolved.entry && std::ranges::find(names, name) == names.end())
      throw UsageError(names.empty() ? "`" + image.kernel + "` leaves no size to the launch; leave `--size " + name +
                                           "=" + std::to_string(value) + "` out"
                                     : unknown("size", name, names));
}

/// What the image says about its arguments, with extents as numbers.
static std::vector<kernels::ArgumentInfo> argumentsOf(const rt::KernelImage &image,
                                                      const std::vector<int64_t> &symbols) {
  std::vector<kernels::ArgumentInfo> list;
  for (const rt::ArgumentSpec &argument : image.arguments) {
    kernels::ArgumentInfo info{argument.name, {}, argument.dtype, argument.isOutput && !argument.isRead, {}};
    for (const rt::LaunchExpr &extent : argument.shape) {
      rt::LaunchValue value = extent.evaluate(symbols);
      if (!value.ok() || value.value < 0)
        throw UsageError("an extent of `" + argument.name + "` has no value at these sizes");
      info.dims.push_back(std::to_string(value.value));
    }
    list.push_back(std::move(info));
  }
  return list;
}

/// The strides of all arguments as numbers.
static std::vector<std::vector<int64_t>> stridesOf(const rt::KernelImage &image, const std::vector<int64_t> &symbols) {
  std::vector<std::vector<int64_t>> list;
  for (const rt::ArgumentSpec &argument : image.arguments) {
    std::vector<int64_t> &strides = list.emplace_back();
    for (const rt::LaunchExpr &stride : argument.strides) {
      rt::LaunchValue value = stride.evaluate(symbols);
      if (!value.ok() || value.value < 0)
        throw UsageError("a stride of `" + argument.name + "` has no value at these sizes");
      strides.push_back(value.value);
    }
  }
  return list;
}

rt::Tensor Trial::view(size_t i, void *data, const rt::DeviceInfo &device) const {
  const kernels::Array &array = problem.arrays[i];
  if (strides[i].empty())
    return rt::Tensor::dense(data, array.type, array.shape, device.memory(), device.index);
  return rt::Tensor::strided(data, array.type, array.shape, strides[i], device.memory(), device.index);
}

/// Elements that share a place are one.
static void shareThePlaces(Trial &trial) {
  for (size_t i = 0; i < trial.bytes.size(); ++i) {
    kernels::Array &array = trial.problem.arrays[i];
    if (trial.strides[i].empty())
      continue;
    rt::Tensor view = trial.view(i, nullptr, {});
    if (!view.bytes())
      throw UsageError("`" + trial.problem.arguments[i].name + "` has no size at these strides");
    trial.bytes[i] = rt::gather(view, rt::spread(view, trial.bytes[i], kUnwritten));
    if (!array.values.empty())
      array.values = kernels::decodeArray(array.type, trial.bytes[i], array.shape);
  }
}

Trial makeTrial(const Resolved &resolved, const rt::KernelImage &image, const kernels::ProblemOptions &options,
                const Files &inputs) {
  Trial trial;
  std::vector<int64_t> values = symbolValues(resolved, image, shapesOf(inputs));
  trial.strides = stridesOf(image, values);
  if (resolved.isOfLibrary()) {
    trial.problem = kernels::makeProblem(*resolved.entry, *resolved.variant, resolved.sizes, options);
  } else {
    requireKnownSizes(resolved, image);
    for (size_t i = 0; i < values.size(); ++i)
      if (!image.symbols[i].argument)
        trial.symbols.push_back(values[i]);
    kernels::Sizes sizes = resolved.sizes;
    for (size_t i = 0; i < values.size(); ++i)
      sizes[image.symbols[i].name] = values[i];
    trial.problem = kernels::makeProblem(argumentsOf(image, values), {}, sizes, options);
  }
  for (size_t i = 0; i < trial.problem.arrays.size(); ++i) {
    const kernels::Array &array = trial.problem.arrays[i];
    trial.bytes.push_back(array.values.empty()
                              ? std::vector<std::byte>(rt::arrayBytes(array.type, array.shape), kUnwritten)
                              : kernels::encodeArray(array));
    trial.isWritten.push_back(image.arguments[i].isOutput);
  }
  for (const auto &[name, path] : inputs) {
    size_t i = argumentCalled(trial, "--input", name);
    kernels::Array &array = trial.problem.arrays[i];
    trial.bytes[i] = readArgument(path, array);
    array.values = kernels::decodeArray(array.type, trial.bytes[i], array.shape);
  }
  shareThePlaces(trial);
  return trial;
}

//===-- Verdicts --------------------------------------------------------------------------------===//

static Verdict judgeByLibrary(const Resolved &resolved, const Trial &trial,
                              const std::vector<std::vector<std::byte>> &results) {
  kernels::Expected expected = resolved.entry->reference(trial.problem);
  Verdict verdict;
  for (size_t i = 0, output = 0; i < results.size(); ++i) {
    if (!trial.problem.arguments[i].isOutput)
      continue;
    const kernels::Array &array = trial.problem.arrays[i];
    kernels::Comparison found =
        kernels::compare(expected.of(output++), kernels::decodeArray(array.type, results[i], array.shape));
    // The first output that is wrong, else the one that is off by most.
    bool isWorse =
        found.ok == verdict.comparison.ok ? found.ok && found.maxAbsError > verdict.comparison.maxAbsError : !found.ok;
    if (verdict.argument.empty() || isWorse)
      verdict = {found, trial.problem.arguments[i].name};
  }
  return verdict;
}

static std::vector<std::vector<uint8_t>> plainBytes(const std::vector<std::vector<std::byte>> &arrays) {
  std::vector<std::vector<uint8_t>> result;
  for (const std::vector<std::byte> &bytes : arrays) {
    std::vector<uint8_t> &plain = result.emplace_back(bytes.size());
    if (!bytes.empty())
      std::memcpy(plain.data(), bytes.data(), bytes.size());
  }
  return result;
}

static ReferenceResult meaningOf(const Resolved &resolved, const Trial &trial) {
  ReferenceRequest request{.arguments = plainBytes(trial.bytes), .symbols = {}, .integers = trial.problem.integers};
  request.symbols = trial.problem.sizes;
  ReferenceOutcome outcome = resolved.own ? referenceOf(resolved.own->kernel.kernel, resolved.options, request)
                                          : referenceOf(resolved.text, resolved.fileName, resolved.options, request);
  if (!outcome.result)
    throw CompileError(outcome.diagnostics);
  return std::move(*outcome.result);
}

/// What the author's function says that the arguments are.
static HostArrays byAuthor(const UserKernel &kernel, const Trial &trial) {
  HostArrays host;
  host.sizes = trial.problem.sizes;
  for (size_t i = 0; i < trial.problem.arrays.size(); ++i) {
    const kernels::Array &array = trial.problem.arrays[i];
    host.arrays[trial.problem.arguments[i].name] = {array.shape,
                                                    kernels::decodeArray(array.type, trial.bytes[i], array.shape)};
  }
  std::map<std::string, size_t> counts;
  for (const auto &[name, array] : host.arrays)
    counts[name] = array.values.size();
  try {
    kernel.reference(host);
  } catch (const std::exception &error) {
    throw UsageError("the kernel's own reference threw: " + std::string(error.what()));
  }
  for (const auto &[name, array] : host.arrays)
    if (!counts.contains(name) || counts[name] != array.values.size())
      throw UsageError("the kernel's own reference leaves " + std::to_string(array.values.size()) + " numbers in `" +
                       name + "`, expected " + std::to_string(counts.contains(name) ? counts[name] : 0));
  return host;
}

/// One argument against what it must be. Equal numbers are right, NaN and infinity too.
static void compareArgument(Verdict &verdict, const std::string &name, const std::vector<double> &found,
                            const std::vector<double> &expected, const std::vector<double> &tolerance) {
  kernels::Comparison &all = verdict.comparison;
  for (size_t i = 0; i < found.size(); ++i) {
    bool same = found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]));
    double bound = tolerance.empty() ? 0 : tolerance[i], error = same ? 0 : std::abs(found[i] - expected[i]);
    bool right = same || error <= bound; // Written so that NaN is wrong.
    error = std::isnan(error) ? INFINITY : error;
    bool isFirstWrong = !right && all.ok;
    all.ok &= right;
    if (isFirstWrong)
      all.firstWrong = i;
    if (verdict.argument.empty() || isFirstWrong || (right == all.ok && error > all.maxAbsError)) {
      all.maxAbsError = error;
      all.errorBound = bound;
      verdict.argument = name;
    }
  }
}

static Verdict judgeByMeaning(const Resolved &resolved, const Trial &trial,
                              const std::vector<std::vector<std::byte>> &results) {
  ReferenceResult meaning = meaningOf(resolved, trial);
  std::optional<HostArrays> author;
  if (resolved.own && resolved.own->kernel.reference)
    author = byAuthor(resolved.own->kernel, trial);
  Verdict verdict;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!trial.isWritten[i])
      continue;
    const kernels::Array &array = trial.problem.arrays[i];
    const std::string &name = trial.problem.arguments[i].name;
    std::span<const std::byte> bytes = std::as_bytes(std::span(meaning.arguments[i]));
    std::vector<double> expected = kernels::decodeArray(array.type, bytes, array.shape);
    if (author)
      expected = (*author)[name].values;
    if (author && meaning.tolerance[i].empty())
      for (double &value : expected)
        value = roundTo(array.type, value);
    compareArgument(verdict, name, kernels::decodeArray(array.type, results[i], array.shape), expected,
                    meaning.tolerance[i]);
  }
  return verdict;
}

Verdict judge(const Resolved &resolved, const Trial &trial, const std::vector<std::vector<std::byte>> &results) {
  return resolved.isOfLibrary() ? judgeByLibrary(resolved, trial, results) : judgeByMeaning(resolved, trial, results);
}

} // namespace soliton::cli
