// Constants below restate the public ABI of NVML and of the CUDA driver.
#include "soliton/runtime/Telemetry.h"

#include "soliton/runtime/GpuDriver.h"

#include <array>
#include <cstdlib>
#include <dlfcn.h>

namespace soliton::rt {
namespace {

enum Clock : int { kStreamingMultiprocessors = 1, kMemory = 2 };
constexpr int kOfTheChip = 0;

std::string libraryName() {
  const char *said = std::getenv("SOLITON_NVML_LIBRARY");
  return said ? said : "libnvidia-ml.so.1";
}

class Nvml {
public:
  Nvml() : library(openLibrary(libraryName())) {
    if (!library) {
      flaw = "there is no `" + libraryName() + "`";
      return;
    }
    int (*init)() = nullptr;
    bool isWhole = bind(init, "nvmlInit_v2") && bind(handleByBus, "nvmlDeviceGetHandleByPciBusId_v2") &&
                   bind(clockInfo, "nvmlDeviceGetClockInfo") && bind(temperature, "nvmlDeviceGetTemperature");
    if (!isWhole || init() != 0)
      flaw = "`" + libraryName() + "` can't be used";
  }

  Telemetry read(const std::string &bus) const {
    void *device = nullptr;
    Telemetry now;
    if (!flaw.empty())
      now.absent = flaw;
    else if (handleByBus(bus.c_str(), &device) != 0)
      now.absent = "NVML does not know the device at `" + bus + "`";
    else if (clockInfo(device, kStreamingMultiprocessors, &now.clockMHz) != 0 ||
             clockInfo(device, kMemory, &now.memoryMHz) != 0 || temperature(device, kOfTheChip, &now.celsius) != 0)
      now.absent = "NVML does not tell the clocks or the temperature";
    return now;
  }

private:
  template <typename F>
  bool bind(F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
  }

  void *library;
  std::string flaw;
  int (*handleByBus)(const char *, void **) = nullptr;
  int (*clockInfo)(void *, int, unsigned *) = nullptr;
  int (*temperature)(void *, int, unsigned *) = nullptr;
};

/// The number of a device differs between libraries, its place on the bus does not.
std::string busOf(int index) {
  std::array<char, 64> text = {};
  void *driver = openLibrary(DeviceSearch::fromEnvironment().cudaLibrary);
  using Query = int (*)(char *, int, int);
  auto query = driver ? reinterpret_cast<Query>(dlsym(driver, "cuDeviceGetPCIBusId")) : nullptr;
  return query && query(text.data(), static_cast<int>(text.size()), index) == 0 ? text.data() : "";
}

} // namespace

Telemetry readTelemetry(const DeviceInfo &device) {
  if (device.kind != DeviceKind::cuda)
    return {.absent = std::string("nothing tells the clocks of a device of `") + std::string(name(device.kind)) + "`"};
  static const Nvml nvml;
  return nvml.read(busOf(device.index));
}

} // namespace soliton::rt
