//===- Asked.h - Kernels of the library as `auto` compiles them ---------------------===//
#pragma once

#include "soliton/driver/Auto.h"
#include "soliton/ir/Diagnose.h"
#include "test/e2e/Support.h"

namespace soliton::test {
using kernels::Sizes;

/// A kernel of the library at sizes of its own, as `auto` compiles it.
struct Asked {
  const char *kernel;
  Sizes sizes;
  std::vector<std::string> dynamic = {};
  int64_t persistent = 0;
  const char *variant = "f16";

  Case which() const {
    Case result{kernels::findKernel(kernel), nullptr, findTarget("sm_90a")};
    result.variant = result.entry->findVariant(variant);
    result.schedule = "auto";
    return result;
  }

  CompileAttempt compile(rt::ImageKind kind) const {
    CompileOptions options = which().options(sizes, dynamic);
    options.persistent = persistent;
    // Tiles that the kernel comes with are for those who do not choose.
    for (const auto &[name, value] : std::exchange(options.subs, {}))
      (sizes.contains(std::string(name.symbolName())) ? options.subs : options.defaults).emplace_back(name, value);
    if (kind == rt::ImageKind::ptx)
      options.keep = {Artefact::ptx};
    Kernel kernel = which().entry->build(*which().variant);
    return compileByChoice(kernel, options,
                           [&](const CompileOptions &each) { return compileImage(kernel, each, kind); });
  }
};

/// The kernel's own sizes, but for these.
inline Asked asked(const char *kernel, const Sizes &said) {
  Sizes sizes;
  for (const kernels::DefaultSize &size : kernels::findKernel(kernel)->sizes)
    sizes[size.name] = size.value;
  for (const auto &[name, value] : said)
    if (sizes.contains(name))
      sizes[name] = value;
  return {kernel, sizes};
}

inline void expectRight(const Asked &a) {
  SCOPED_TRACE(a.which().name() + " " + testing::PrintToString(a.sizes));
  CompileAttempt compiled = a.compile(rt::ImageKind::emulator);
  ASSERT_TRUE(compiled) << format(compiled.diagnostics);
  checkOnEmulator(a.which(), *compiled.result, a.sizes);
}

inline std::string ptxOf(const Asked &a) {
  CompileAttempt compiled = a.compile(rt::ImageKind::ptx);
  EXPECT_TRUE(compiled) << format(compiled.diagnostics);
  return compiled ? compiled.result->artefacts.front().second : "";
}

} // namespace soliton::test
