/* A libnvidia-ml.so.1 of two GPUs for the tests, which behaves as FAKE_NVML says: ok, mismatch, lost, failing, hang. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNKNOWN = 999, LOST = 15, MISMATCH = 18 };
typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned int gpu, memory; } Load;

static int is(const char *mode) {
  const char *now = getenv("FAKE_NVML");
  return now && strcmp(now, mode) == 0;
}
int nvmlInitWithFlags(unsigned int flags) { (void)flags; return is("mismatch") ? MISMATCH : SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device) {
  *device = (void *)(unsigned long)(index + 1);
  return index == 1 && is("lost") ? LOST : SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *device, Memory *memory) {
  if (is("hang")) for (;;) pause();
  if (is("failing")) return UNKNOWN;
  memory->total = 81559ULL << 20;
  memory->used = (1000ULL * (unsigned long)device) << 20;
  memory->free = memory->total - memory->used;
  return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(void *device, Load *load) {
  (void)device;
  load->gpu = 100;
  load->memory = 0;
  return SUCCESS;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned int *milliwatts) { (void)device; *milliwatts = 118420; return SUCCESS; }
const char *nvmlErrorString(int code) { return code == MISMATCH ? "Driver/library version mismatch" : "Unknown Error"; }
