// A stand-in for NVML: one device, at one place of the bus, at 1980 MHz and 41 degrees.
#include <cstring>

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
  static int it;
  *device = &it;
  return std::strcmp(bus, "0000:01:00.0") == 0 ? 0 : 6;
}

int nvmlDeviceGetClockInfo(void *, int which, unsigned *megahertz) {
  *megahertz = which == 1 ? 1980 : 2619;
  return 0;
}

int nvmlDeviceGetTemperature(void *, int, unsigned *celsius) {
  *celsius = 41;
  return 0;
}
}
