//===- Parameters.cpp - Where a launch's parameters lie in their block ----------------===//

#include "soliton/runtime/LaunchPlan.h"

#include "soliton/runtime/Errors.h"

#include <cstring>

namespace soliton::rt {

static uint32_t takeSpace(size_t &bytes, size_t size, size_t alignment) {
  size_t offset = (bytes + alignment - 1) / alignment * alignment;
  bytes = offset + size;
  return static_cast<uint32_t>(offset);
}

std::string formulaOf(const KernelImage &image, const LaunchExpr &expr) {
  std::vector<std::string> names;
  for (const SymbolSpec &symbol : image.symbols)
    names.push_back(symbol.name);
  return expr.toString(names);
}

std::string argumentName(const KernelImage &image, size_t argument) {
  return "argument " + std::to_string(argument) + " (`" + image.arguments[argument].name + "`) of `" + image.kernel +
         "`";
}

ParameterLayout::ParameterLayout(const KernelImage &image) : arguments(image.arguments.size()) {
  auto take = [&](size_t size) { return inOrder.emplace_back(takeSpace(bytes, size, size)); };
  for (size_t i = 0; i < image.arguments.size(); ++i)
    if (image.arguments[i].kind == ArgumentKind::buffer)
      arguments[i] = take(sizeof(void *));
  if (image.workspace.exists())
    workspace = take(sizeof(void *));
  for (size_t i = 0; i < image.arguments.size(); ++i)
    if (image.arguments[i].kind == ArgumentKind::scalar) {
      size_t size = static_cast<size_t>(storageBits(image.arguments[i].dtype) + 7) / 8;
      arguments[i] = take(size);
    }
  for (size_t i = 0; i < image.symbols.size(); ++i)
    symbols.push_back(take(sizeof(int32_t)));
  size_t behind = bytes;
  tensorMaps = takeSpace(behind, 0, 64);
}

void LaunchPlan::setWorkspace(PreparedLaunch &launch, const void *pointer) const {
  if (layout.workspace)
    std::memcpy(launch.block.data() + *layout.workspace, static_cast<const void *>(&pointer), sizeof(pointer));
}

void *LaunchPlan::pointer(const PreparedLaunch &launch, size_t argument) const {
  void *pointer = nullptr;
  std::memcpy(static_cast<void *>(&pointer), launch.block.data() + layout.arguments[argument], sizeof(pointer));
  return pointer;
}

void *LaunchPlan::workspace(const PreparedLaunch &launch) const {
  void *pointer = nullptr;
  if (layout.workspace)
    std::memcpy(static_cast<void *>(&pointer), launch.block.data() + *layout.workspace, sizeof(pointer));
  return pointer;
}

void LaunchPlan::setPointer(PreparedLaunch &launch, size_t argument, const void *pointer) const {
  std::memcpy(launch.block.data() + layout.arguments[argument], static_cast<const void *>(&pointer), sizeof(pointer));
}

std::optional<Diagnostic> LaunchPlan::checkAlignment(size_t argument, const void *address) const {
  auto alignment = static_cast<uintptr_t>(image.arguments[argument].alignment);
  uintptr_t rest = reinterpret_cast<uintptr_t>(address) & (alignment - 1);
  if (rest == 0)
    return std::nullopt;
  Diagnostic wrong = diagnose(DiagId::ArgumentAlignment,
                              argumentName(image, argument) + ": its address is " + std::to_string(rest) +
                                  " beyond a multiple of " + std::to_string(alignment) + " bytes, expected a multiple",
                              "allocate the array on its own, or compile without the assumption");
  wrong.place = image.arguments[argument].place;
  return wrong;
}

} // namespace soliton::rt
