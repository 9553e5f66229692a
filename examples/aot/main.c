/* A product: a C program with a kernel and no compiler. `relu relu.emulated.kernel emulator` runs anywhere,
 * `relu relu.kernel hip` (or cuda) on the GPU that it was compiled for. */
#include "relu.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: %s FILE.kernel DEVICE\n", argv[0]), 2;
  soliton_kernel *relu = soliton_open(argv[1], argv[2]);
  if (!relu)
    return fprintf(stderr, "%s\n", soliton_error()), 1;
  const int64_t lengths[] = {1, 1000, 5000};
  for (int which = 0; which != 3; ++which) {
    int64_t length = lengths[which];
    float *x = malloc((size_t)length * sizeof(float)), *y = malloc((size_t)length * sizeof(float));
    for (int64_t i = 0; i != length; ++i) {
      x[i] = (float)(i % 11 - 5);
      y[i] = -1;
    }
    if (relu_launch(relu, SOLITON_HOST, x, y, length, NULL) != 0 || soliton_synchronize(relu) != 0)
      return fprintf(stderr, "%s\n", soliton_error()), 1;
    for (int64_t i = 0; i != length; ++i)
      if (y[i] != (x[i] > 0 ? x[i] : 0))
        return fprintf(stderr, "wrong at %lld of %lld\n", (long long)i, (long long)length), 1;
    printf("relu of %lld numbers on %s: right\n", (long long)length, argv[2]);
    free(x);
    free(y);
  }
  soliton_close(relu);
  return 0;
}
