#include "soliton/runtime/GpuDriver.h"

#include "soliton/runtime/Errors.h"

#include <dlfcn.h>

namespace soliton::rt {

void *openLibrary(const std::string &name) {
  return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

GpuDriver::~GpuDriver() {
  if (library)
    ::dlclose(library);
}

void *GpuDriver::symbol(const char *name, bool optional) const {
  void *found = ::dlsym(library, name);
  if (!found && !optional)
    fail(DiagId::DriverError, "the driver library has no function `" + std::string(name) + "`",
         "install a newer driver");
  return found;
}

void GpuDriver::failCall(int status, const char *call) const {
  fail(DiagId::DriverError, "`" + std::string(call) + "` failed with " + describe(status));
}

} // namespace soliton::rt
