/*===- launch.h - Compiled kernels from C, without a compiler ----------------------------===
 *
 * What `soliton compile KERNEL --aot DIR` leaves behind is launched by this and nothing else: no LLVM, no process,
 * drivers opened at run time. The header that is written beside the kernel wraps it with the kernel's own arguments:
 *
 *   #include "relu.h"
 *   soliton_kernel *relu = soliton_open("relu.kernel", "cuda");
 *   if (!relu || relu_launch(relu, x, y, 1000) != 0 || soliton_synchronize(relu) != 0)
 *     fprintf(stderr, "%s\n", soliton_error());
 *   soliton_close(relu);
 *
 * Functions of one kernel may be called by one thread at a time.
 *
 *===----------------------------------------------------------------------===*/
#ifndef SOLITON_RUNTIME_LAUNCH_H
#define SOLITON_RUNTIME_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soliton_kernel soliton_kernel;

enum { SOLITON_MOST_DIMS = 8 };
/* Where an array lies, or what kind of number it is. An array of the host is copied to a GPU and back. */
enum { SOLITON_HOST = 0, SOLITON_DEVICE = 1, SOLITON_INTEGER = 2, SOLITON_REAL = 3 };

typedef struct soliton_argument {
  int kind;
  /* An array of the element type that the kernel takes: dense, row by row, unless it is `strided`. */
  void *data;
  int rank;
  int64_t shape[SOLITON_MOST_DIMS];
  /* A number. */
  int64_t integer;
  double real;
  /* Of an array, where this is not 0: elements from one index to the next along each dimension. */
  int strided;
  int64_t strides[SOLITON_MOST_DIMS];
} soliton_argument;

/* The kernel in a file, loaded on a device: `cuda`, `hip:1`, `emulator`; NULL if that fails. */
soliton_kernel *soliton_open(const char *file, const char *device);
void soliton_close(soliton_kernel *kernel);

/* Checks and enqueues; 0 if all is well. `symbols` are the values that no array says, in the kernel's order; `stream`
 * is the driver's own, or NULL. */
int soliton_launch(soliton_kernel *kernel, const soliton_argument *arguments, size_t count, const int64_t *symbols,
                   size_t symbol_count, void *stream);
/* Waits for everything on the kernel's device. */
int soliton_synchronize(soliton_kernel *kernel);

/* Memory of the kernel's device; NULL, or not 0, where that fails. */
void *soliton_allocate(soliton_kernel *kernel, size_t bytes);
void soliton_free(soliton_kernel *kernel, void *memory);
int soliton_copy_to_device(soliton_kernel *kernel, void *device, const void *host, size_t bytes);
int soliton_copy_to_host(soliton_kernel *kernel, void *host, const void *device, size_t bytes);

/* What went wrong in this thread's last call that failed; never NULL. */
const char *soliton_error(void);

/* Formulas of sizes: divisions round down, whatever the signs. */
static inline int64_t soliton_floordiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t soliton_ceildiv(int64_t a, int64_t b) {
  return -soliton_floordiv(-a, b);
}
static inline int64_t soliton_mod(int64_t a, int64_t b) {
  return a - soliton_floordiv(a, b) * b;
}
static inline int64_t soliton_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static inline int64_t soliton_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

#ifdef __cplusplus
}
#endif

#endif
