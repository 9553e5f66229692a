//===- FakeDriver.h - A driver library that only remembers -------------------===//
//
// Tests load a stand-in for the vendor's library: it exports the same functions, records every call, keeps "device"
// memory on the host, and fails where it is told to. Built twice from FakeDriver.cpp, as CUDA and as HIP.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace soliton::rt {

struct FakeLaunch {
  std::string entry;
  std::array<unsigned, 3> grid, threads, cluster;
  unsigned sharedBytes = 0;
  void *stream = nullptr;
  std::vector<std::byte> block;
  bool isDependent = false;
  /// Its parameters came one by one; `block` is where they point to.
  bool isByPointers = false;
};

struct FakeTensorMap {
  int type = 0, swizzle = 0;
  void *data = nullptr;
  std::vector<uint64_t> sizes, strides;
  std::vector<unsigned> box;
  std::vector<int> lower = {}, upper = {};
  std::vector<unsigned> steps = {};
};

struct FakeState {
  /// Function (by its CUDA name without suffix) that fails, and with which status.
  std::string failing;
  int status = 0;
  int numDevices = 2;
  int capabilityMajor = 9, capabilityMinor = 0;
  std::string properties = "gfx942:sramecc+:xnack-";
  std::string infoLog = "0 bytes spill stores", errorLog = "line 3: unknown instruction";

  /// Calls are remembered only while this is set.
  bool recording = true;
  /// Parameters that come one by one are the runtime's, which ends their list with a null; others' lists have no end.
  bool takesPointers = false;
  std::vector<std::string> calls;
  std::vector<FakeLaunch> launches;
  std::vector<FakeTensorMap> maps;
  std::map<void *, size_t> allocations;
  std::vector<std::byte> moduleImage;
  /// Whether PTX was to keep its lines.
  bool moduleLines = false;
  /// The one looked up last, and all.
  std::string entry;
  std::set<std::string> functions;
  std::map<int, int> functionAttributes;
  /// Contexts that are current, innermost last; for HIP the selected device plus 1.
  std::vector<void *> contexts;
  int modules = 0, events = 0, streams = 0, retained = 0;
  /// Plays the kernel; `entry` is the one that is launched.
  std::function<void(const std::byte *block)> kernel;
  std::string playing;
  /// Bytes that were allocated in the order of each stream.
  std::map<void *, std::vector<size_t>> workspaces;
};

} // namespace soliton::rt

/// The library's state, exported under this name.
extern "C" soliton::rt::FakeState *solitonFakeState();
