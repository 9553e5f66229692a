//===- Launch.cpp - The runtime's door for C --------------------------------------------===//
//
// No exception leaves it: what went wrong is kept as text, one for each thread.
//
//===----------------------------------------------------------------------===//

#include "soliton/runtime/launch.h"

#include "soliton/runtime/Device.h"

#include <algorithm>

using namespace soliton;
using namespace soliton::rt;

struct soliton_kernel {
  Device &device;
  std::unique_ptr<LoadedKernel> loaded;
};

static std::string &lastError() {
  thread_local std::string text = "nothing went wrong";
  return text;
}

/// 0, or 1 and what went wrong.
template <typename Call>
static int attempt(Call call) {
  try {
    call();
    return 0;
  } catch (const std::exception &error) {
    lastError() = error.what();
  } catch (...) {
    lastError() = "an unknown error";
  }
  return 1;
}

[[noreturn]] static void fail(DiagId id, std::string message) {
  throw CompileError({{Severity::error, id, {}, std::move(message), {}, {}}});
}

static Argument toArgument(const soliton_kernel &kernel, const soliton_argument &given, size_t index) {
  const KernelImage &image = kernel.loaded->image();
  if (given.kind == SOLITON_INTEGER)
    return given.integer;
  if (given.kind == SOLITON_REAL)
    return given.real;
  if (index >= image.arguments.size())
    fail(DiagId::ArgumentCount, "argument " + std::to_string(index) + " of `" + image.kernel + "` is one too many");
  if (given.rank < 0 || given.rank > SOLITON_MOST_DIMS || (given.kind != SOLITON_HOST && given.kind != SOLITON_DEVICE))
    fail(DiagId::ArgumentRank, "argument " + std::to_string(index) + " of `" + image.kernel + "` has kind " +
                                   std::to_string(given.kind) + " and " + std::to_string(given.rank) + " dimensions");
  const DeviceInfo &device = kernel.device.info();
  bool isOnDevice = given.kind == SOLITON_DEVICE;
  Tensor tensor =
      Tensor::dense(given.data, image.arguments[index].dtype, {given.shape, static_cast<size_t>(given.rank)},
                    isOnDevice ? device.memory() : MemoryKind::host, isOnDevice ? device.index : 0);
  if (given.strided != 0)
    std::copy_n(given.strides, given.rank, tensor.strides.begin());
  return tensor;
}

static void requireKernel(const soliton_kernel *kernel) {
  if (!kernel)
    fail(DiagId::ImageInvalid, "there is no kernel: `soliton_open` failed, and `soliton_error` said why");
}

extern "C" {

soliton_kernel *soliton_open(const char *file, const char *device) {
  soliton_kernel *kernel = nullptr;
  attempt([&] {
    KernelImage image = readImage(file ? file : "");
    Device &where = rt::device(device ? device : "");
    kernel = new soliton_kernel{where, where.load(image)};
  });
  return kernel;
}

void soliton_close(soliton_kernel *kernel) {
  delete kernel;
}

int soliton_launch(soliton_kernel *kernel, const soliton_argument *arguments, size_t count, const int64_t *symbols,
                   size_t symbol_count, void *stream) {
  return attempt([&] {
    requireKernel(kernel);
    std::vector<Argument> list;
    for (size_t i = 0; i < count; ++i)
      list.push_back(toArgument(*kernel, arguments[i], i));
    kernel->loaded->launch(list, {.stream = {stream}, .symbols = {symbols, symbol_count}});
  });
}

int soliton_synchronize(soliton_kernel *kernel) {
  return attempt([&] {
    requireKernel(kernel);
    kernel->device.synchronise();
  });
}

void *soliton_allocate(soliton_kernel *kernel, size_t bytes) {
  void *memory = nullptr;
  attempt([&] {
    requireKernel(kernel);
    memory = kernel->device.allocate(bytes);
  });
  return memory;
}

void soliton_free(soliton_kernel *kernel, void *memory) {
  attempt([&] {
    requireKernel(kernel);
    kernel->device.free(memory);
  });
}

int soliton_copy_to_device(soliton_kernel *kernel, void *device, const void *host, size_t bytes) {
  return attempt([&] {
    requireKernel(kernel);
    kernel->device.copyToDevice(device, host, bytes);
    kernel->device.synchronise();
  });
}

int soliton_copy_to_host(soliton_kernel *kernel, void *host, const void *device, size_t bytes) {
  return attempt([&] {
    requireKernel(kernel);
    kernel->device.copyToHost(host, device, bytes);
    kernel->device.synchronise();
  });
}

const char *soliton_error(void) {
  return lastError().c_str();
}
}
