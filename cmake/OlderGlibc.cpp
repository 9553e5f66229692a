// Functions that LLVM's archives take from the C library and that older ones lack, so that the wheel runs with
// glibc 2.34.
#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

// LLVM seeds names of temporary files with it; glibc has it since 2.36.
extern "C" uint32_t arc4random(void) noexcept {
  uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value))
    abort(); // as glibc's own does: four bytes are never cut short
  return value;
}
