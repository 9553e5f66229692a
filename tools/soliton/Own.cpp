//===- Own.cpp - Kernels of a user's file, listed as those of the library ------------------------===//

#include "soliton/driver/Plugin.h"
#include "tools/soliton/Commands.h"

namespace soliton::cli {

static std::vector<kernels::DefaultSize> defaults(const DefaultNumbers &numbers) {
  std::vector<kernels::DefaultSize> list;
  for (const auto &[symbol, value] : numbers)
    list.push_back({std::string(symbol.symbolName()), value});
  return list;
}

static OwnKernel listed(PluginKernel kernel) {
  for (const DefaultNumbers *numbers : {&kernel.kernel.sizes, &kernel.kernel.tiles})
    for (const auto &[symbol, value] : *numbers)
      if (!symbol.isSymbol())
        throw CompileError({{Severity::error,
                             DiagId::SubstitutionInvalid,
                             kernel.place,
                             "`sizes` and `tiles` of `" + kernel.name + "` give " + std::to_string(value) + " to `" +
                                 sym::toString(symbol) + "`, which is no symbol",
                             "give numbers to symbols; formulas go to `subs`",
                             {}}});
  OwnKernel own{std::move(kernel.kernel), {}, kernel.place};
  own.entry.name = kernel.name;
  own.entry.family = "own";
  own.entry.description = own.kernel.description;
  own.entry.sizes = defaults(own.kernel.sizes);
  own.entry.tiles = defaults(own.kernel.tiles);
  own.entry.variants = {{"own", f32, f32}};
  own.entry.build = [kernel = own.kernel.kernel](const kernels::Variant &) { return kernel; };
  return own;
}

/// `FILE.cpp` or `FILE.cpp:NAME`.
OwnKernel loadOwnKernel(const std::string &said, std::ostream &err) {
  size_t colon = isPluginFile(said) ? std::string::npos : said.rfind(':');
  std::string file = said.substr(0, colon), wanted = colon == std::string::npos ? "" : said.substr(colon + 1);
  Plugin plugin = loadPlugin(file);
  err << withLineEnd(plugin.compilerSaid);
  std::vector<std::string> names;
  for (const PluginKernel &kernel : plugin.kernels)
    names.push_back(kernel.name);
  if (wanted.empty() && plugin.kernels.size() > 1)
    throw UsageError("`" + file + "` has " + std::to_string(names.size()) + " kernels, say which: `" + file + ":" +
                     names.front() + "`; the choices are " + listOf(names));
  for (PluginKernel &kernel : plugin.kernels)
    if (wanted.empty() || kernel.name == wanted)
      return listed(std::move(kernel));
  throw UsageError(unknown("kernel of `" + file + "`", wanted, names));
}

std::string withLineEnd(const std::string &text) {
  return text.empty() || text.ends_with('\n') ? text : text + "\n";
}

} // namespace soliton::cli
