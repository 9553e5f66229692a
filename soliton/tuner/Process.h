//===- Process.h - Programs that are spoken with by lines ------------------===//
//
//   Process worker = Process::start({"/proc/self/exe", "tune", "gemm", "--worker"}, {.bytes = 8 << 30});
//   worker.write("request\n");
//   std::string how = worker.end();          // `ended by signal 9 (Killed)`
//
// It ends with this program, however that ends, and not with the thread that started it; it takes along whom it
// started.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "soliton/support/Diagnostics.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace soliton::tune {

struct ProcessOptions {
  /// Address space; 0: no limit.
  uint64_t bytes = 0;
  /// Variables that it has beside ours, or in their place: `NAME=VALUE`.
  std::vector<std::string> environment = {};
};

class Process {
public:
  Process() = default;
  /// Throws TuneError where the system has none to give. A program that is not there ends with code 127.
  static Process start(std::vector<std::string> command, const ProcessOptions &options = {});

  bool isThere() const { return process >= 0; }
  /// Not to be blocked by reading.
  int output() const { return out; }
  /// Writes all of it; what a process that died does not read is nobody's loss.
  void write(std::string_view text) const;
  /// Ends it, whatever it is doing, once it was given so long to end by itself; what it had to say about its end.
  std::string end(double graceSeconds = 0);

private:
  pid_t process = -1;
  int in = -1, out = -1;
};

} // namespace soliton::tune
