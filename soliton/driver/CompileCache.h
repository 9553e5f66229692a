//===- CompileCache.h - Compiling twice is free ------------------------------------------===//
//
// What decides the code of a kernel, as a key: the traced program with its places, bindings, schedule, target, options,
// and the builds of this compiler, of LLVM and of the assembler. What cannot be part of a key (a schedule that is a
// C++ function, texts that a compilation shall leave behind) has none, and is compiled each time.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/driver/Compile.h"
#include "soliton/runtime/Cache.h"

namespace soliton {

/// Of the file that holds the code at `address`: what the linker says makes it different from any other.
std::optional<std::string> buildIdAt(const void *address);

/// Nothing where the result is not to be kept.
std::optional<rt::CacheKey> compileKey(std::string_view program, const CompileOptions &options, rt::ImageKind kind);

/// The image with all else of a result that a cache keeps: warnings and registers.
rt::KernelImage withFindings(const CompileResult &result);
/// Nothing for an image that `withFindings` did not make.
std::optional<CompileResult> fromFindings(rt::KernelImage image);

} // namespace soliton
