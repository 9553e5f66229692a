//===- Progress.h - Where a compilation is -----------------------------------------------===//
//
// For those who wait: the name of each step as it begins, passes by the names that `soliton passes` lists.
//
//   ProgressScope watched([](std::string_view step) { … });
//   compile(kernel, options);                               // says `trace`, `wave-assign-layouts`, …
//
// It is said to the thread that compiles and is no part of the options: what is compiled does not depend on who looks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <string_view>

namespace soliton {

using ProgressListener = std::function<void(std::string_view step)>;

/// Steps of this thread's compilations go to `listener` until it dies; then to whoever listened before.
class ProgressScope {
public:
  explicit ProgressScope(ProgressListener listener);
  ~ProgressScope();
  ProgressScope(const ProgressScope &) = delete;
  ProgressScope &operator=(const ProgressScope &) = delete;

private:
  ProgressListener listener;
  const ProgressListener *before;
};

/// Tells the listener of this thread, if there is one.
void sayProgress(std::string_view step);
bool isProgressHeard();

} // namespace soliton
