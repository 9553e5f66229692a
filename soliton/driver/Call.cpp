#include "soliton/driver/Call.h"

#include "soliton/support/Diagnostics.h"

#include <algorithm>
#include <map>

namespace soliton {
namespace {

class Call {
public:
  Call(const rt::KernelImage &image, const rt::DeviceInfo &device, std::span<const CallArgument> given)
      : image(image), device(device) {
    for (const CallArgument &each : given) {
      if (each.argument || each.array)
        positional.push_back(&each);
      else if (each.size)
        sizes[nameOf(each.size->symbol)] = each.size->value;
    }
  }

  /// Everything a launch needs.
  void bind() {
    checkNames();
    for (const CallArgument *each : positional)
      arguments.push_back(each->argument ? *each->argument : rt::Argument(rt::Tensor()));
    for (size_t i = 0; i < positional.size() && i < image.arguments.size(); ++i)
      if (const auto &array = positional[i]->array; array && saysItsExtent(*array, image.arguments[i]))
        arguments[i] = viewOf(*array, image.arguments[i], {static_cast<int64_t>(*array->elements)});
    if (positional.size() == image.arguments.size()) { // otherwise the launch says so
      bindSymbols();
      if (wrong.empty())
        bindArrays();
    }
    if (!wrong.empty())
      throw CompileError(std::move(wrong));
  }

  std::vector<rt::Argument> arguments;
  /// Of the symbols that no argument has.
  std::vector<int64_t> free;

private:
  static std::string nameOf(const sym::Expr &symbol) {
    return symbol.isSymbol() ? std::string(symbol.symbolName()) : sym::toString(symbol);
  }
  /// A list of numbers is a tensor of one dimension, unless only some of them are its elements.
  static bool saysItsExtent(const CallArgument::Array &array, const rt::ArgumentSpec &spec) {
    return array.elements && spec.shape.size() == 1 && spec.strides.empty();
  }
  /// What concerns an argument points to where it was declared, anything else to the kernel.
  void report(DiagId id, std::string message, std::string hint = "", std::optional<size_t> argument = {}) {
    const Place &place = argument ? image.arguments[*argument].place : image.place;
    wrong.push_back({Severity::error, id, place, std::move(message), std::move(hint), {}});
  }

  void checkNames() {
    std::vector<std::string> names;
    for (const rt::SymbolSpec &symbol : image.symbols)
      names.push_back(symbol.name);
    for (const auto &[name, value] : sizes) {
      if (std::ranges::find(names, name) != names.end())
        continue;
      std::optional<std::string> guess = nearest(name, names);
      report(DiagId::SymbolUnknown,
             "`" + image.kernel + "` takes no symbol `" + name + "` at launch" +
                 (guess ? "; did you mean `" + *guess + "`?" : ""),
             names.empty() ? "all of its sizes were bound when it was compiled" : "it takes " + listOf(names));
    }
  }

  void bindSymbols() {
    for (const rt::SymbolSpec &symbol : image.symbols) {
      auto said = sizes.find(symbol.name);
      std::optional<Found> found = inTensor(symbol);
      if (found && said != sizes.end() && found->value != said->second)
        report(DiagId::SymbolConflict,
               "`" + symbol.name + "` of `" + image.kernel + "` is given as " + std::to_string(said->second) +
                   ", but `" + image.arguments[found->argument].name + "` makes it " + std::to_string(found->value),
               "leave it out, or pass a tensor of that size", found->argument);
      if (!found && said == sizes.end())
        reportMissing(symbol);
      int64_t value = found ? found->value : said == sizes.end() ? 0 : said->second;
      values.push_back(value);
      if (!symbol.argument)
        free.push_back(value);
    }
  }

  struct Found {
    int64_t value = 0;
    size_t argument = 0;
  };
  /// Its value, if an argument that has it is a tensor of the right rank.
  std::optional<Found> inTensor(const rt::SymbolSpec &symbol) const {
    if (!symbol.argument)
      return std::nullopt;
    if (const rt::Tensor *tensor = tensorAt(*symbol.argument))
      return Found{rt::valueIn(symbol, *tensor), *symbol.argument};
    for (size_t i = 0; i < arguments.size(); ++i)
      if (const rt::Tensor *tensor = tensorAt(i))
        for (size_t d = 0; d < image.arguments[i].shape.size(); ++d) {
          if (isSymbol(image.arguments[i].shape[d], symbol))
            return Found{tensor->shape[d], i};
          if (d < image.arguments[i].strides.size() && isSymbol(image.arguments[i].strides[d], symbol))
            return Found{tensor->strides[d], i};
        }
    return std::nullopt;
  }
  const rt::Tensor *tensorAt(size_t index) const {
    const rt::Tensor *tensor = arguments[index].tensor();
    return tensor && static_cast<size_t>(tensor->rank) == image.arguments[index].shape.size() ? tensor : nullptr;
  }
  bool isSymbol(const rt::LaunchExpr &extent, const rt::SymbolSpec &symbol) const {
    return extent.steps().size() == 1 && extent.steps()[0].op == rt::LaunchOp::symbol &&
           extent.steps()[0].value == &symbol - image.symbols.data();
  }

  void reportMissing(const rt::SymbolSpec &symbol) {
    std::string what = "`" + symbol.name + "` of `" + image.kernel + "`";
    std::string name = symbol.argument ? "`" + image.arguments[*symbol.argument].name + "`" : "";
    report(DiagId::ArgumentCount,
           symbol.argument
               ? what + " is " + (symbol.isStride ? "stride " : "extent ") + std::to_string(symbol.dim) + " of " +
                     name + ", which is an array without " + (symbol.isStride ? "strides" : "extents")
               : "the launch gives " + what + " no value",
           "add it: `{" + symbol.name + ", 300}`" + (symbol.argument ? ", or pass " + name + " as a tensor" : ""),
           symbol.argument);
  }

  void bindArrays() {
    for (size_t i = 0; i < positional.size(); ++i) {
      const auto &array = positional[i]->array;
      if (!array || image.arguments[i].kind != rt::ArgumentKind::buffer || saysItsExtent(*array, image.arguments[i]))
        continue;
      std::vector<int64_t> shape;
      for (const rt::LaunchExpr &extent : image.arguments[i].shape)
        shape.push_back(extent.evaluate(values).value);
      arguments[i] = viewOf(*array, image.arguments[i], shape);
      if (array->elements)
        checkCount(i, *array->elements);
    }
  }

  /// A list has as many numbers as the tensor, or, where that has gaps, at least those up to its last element.
  void checkCount(size_t index, size_t found) {
    const rt::Tensor &tensor = *arguments[index].tensor();
    bool hasGaps = !image.arguments[index].strides.empty();
    int64_t expected = hasGaps ? tensor.span().value_or(0) : tensor.elements().value_or(0);
    if (hasGaps ? found >= static_cast<size_t>(expected) : found == static_cast<size_t>(expected))
      return;
    report(DiagId::ArgumentShape,
           "`" + image.arguments[index].name + "` of `" + image.kernel + "`: found " + std::to_string(found) +
               " elements, expected " + (hasGaps ? "at least " : "") + std::to_string(expected) + " for " +
               tensor.toString(),
           "", index);
  }

  rt::Tensor viewOf(const CallArgument::Array &array, const rt::ArgumentSpec &spec,
                    const std::vector<int64_t> &shape) const {
    bool onHost = array.elements.has_value();
    rt::Tensor view = rt::Tensor::dense(array.data, array.dtype.value_or(spec.dtype), shape,
                                        onHost ? rt::MemoryKind::host : device.memory(), onHost ? 0 : device.index);
    for (size_t d = 0; d < spec.strides.size(); ++d)
      view.strides[d] = spec.strides[d].evaluate(values).value;
    view.readOnly = array.readOnly;
    return view;
  }

  const rt::KernelImage &image;
  const rt::DeviceInfo &device;
  std::vector<const CallArgument *> positional;
  std::map<std::string, int64_t> sizes;
  std::vector<int64_t> values;
  std::vector<Diagnostic> wrong;
};
} // namespace

void call(rt::LoadedKernel &kernel, const rt::DeviceInfo &device, std::span<const CallArgument> given,
          const rt::LaunchOptions &options) {
  Call call(kernel.image(), device, given);
  call.bind();
  rt::LaunchOptions complete = options;
  complete.symbols = call.free;
  kernel.launch(call.arguments, complete);
}

} // namespace soliton
