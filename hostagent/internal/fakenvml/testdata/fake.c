// A stand-in for libnvidia-ml.so.1. Keys of the control file, one "key=value" a line:
//   count=N          cards (8)             init=CODE      answer of nvmlInit
//   hang=CALL        CALL never returns    fail=CALL:CODE CALL answers CODE
//   lost=I           card I is lost        reset=I        card I asks for a reset
//   garbage=1        impossible figures    volatile=N     uncorrected errors of card 0
//   recovery=N       action of card 0      pending=1      row remap pending on card 0
//   xid=CODE:I:SERIAL:N   N events of CODE on card I; told once for each SERIAL
//   procs=P1:MIB:MPS,P2:MIB:MPS            processes of card 0
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FOREIGN
int not_nvml(void) { return 0; }
#else

#define MIBS (1024ULL * 1024ULL)
struct nvmlDevice_st { int i; };
static struct nvmlDevice_st cards[64];
struct nvmlEventSet_st { int serial, left, code, card; };
static struct nvmlEventSet_st set0;

static int get(const char *key, char *out, int n) {
  const char *path = getenv("BULKHEAD_FAKE_NVML");
  FILE *f = path ? fopen(path, "r") : NULL;
  char line[4096];
  size_t k = strlen(key);
  int found = 0;
  if (!f) return 0;
  while (fgets(line, sizeof line, f))
    if (!strncmp(line, key, k) && line[k] == '=') {
      line[strcspn(line, "\n")] = 0;
      snprintf(out, n, "%s", line + k + 1);
      found = 1;
    }
  fclose(f);
  return found;
}
static long num(const char *key, long otherwise) {
  char v[64];
  return get(key, v, sizeof v) ? atol(v) : otherwise;
}
static int enter(const char *call) {
  char v[256];
  if (get("hang", v, sizeof v) && !strcmp(v, call)) for (;;) pause();
  if (get("fail", v, sizeof v)) {
    char *c = strchr(v, ':');
    if (c) { *c = 0; if (!strcmp(v, call)) return atoi(c + 1); }
  }
  return 0;
}
#define ENTER(name) do { int rc_ = enter(name); if (rc_) return rc_; } while (0)
#define CARD(name, d) do { ENTER(name); int i_ = (d).handle->i; \
  if (num("lost", -1) == i_) return NVML_ERROR_GPU_IS_LOST; \
  if (num("reset", -1) == i_) return NVML_ERROR_RESET_REQUIRED; } while (0)
static int garbage(void) { return num("garbage", 0); }
static int garbage2(void) { return num("garbage", 0) || num("garbagecard", 0); }

static nvmlReturn_t init(void) { ENTER("nvmlInit"); return num("init", 0); }
nvmlReturn_t nvmlInit(void) { return init(); }
nvmlReturn_t nvmlShutdown(void) { ENTER("nvmlShutdown"); return 0; }
#ifndef BARE
static nvmlReturn_t count(unsigned *n) { ENTER("nvmlDeviceGetCount"); *n = garbage() ? 0xfffffff0u : num("count", 8); return 0; }
static nvmlReturn_t handle(unsigned i, nvmlDevice_t *d) {
  ENTER("nvmlDeviceGetHandleByIndex");
  if (num("gone", -1) == (long)i) return NVML_ERROR_GPU_IS_LOST;
  cards[i].i = i; d->handle = &cards[i]; return 0;
}
nvmlReturn_t nvmlDeviceGetCount(unsigned *n) { return count(n); }
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned i, nvmlDevice_t *d) { return handle(i, d); }
nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned n) { ENTER("nvmlSystemGetDriverVersion"); snprintf(v, n, "580.126.09"); return 0; }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned n) { ENTER("nvmlSystemGetNVMLVersion"); snprintf(v, n, "13.580.126.09"); return 0; }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *v, unsigned n) { CARD("nvmlDeviceGetUUID", d); snprintf(v, n, "GPU-%08x-0000-4000-8000-0000000000%02x", d.handle->i, d.handle->i); return 0; }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *v, unsigned n) {
  CARD("nvmlDeviceGetName", d);
  snprintf(v, n, garbage2() ? "bad\x01\x1b[31mname" : "NVIDIA L4"); return 0;
}
static nvmlReturn_t pci(nvmlDevice_t d, nvmlPciInfo_t *p) { CARD("nvmlDeviceGetPciInfo", d); memset(p, 0, sizeof *p); p->bus = 0x3b + d.handle->i; return 0; }
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t d, nvmlPciInfo_t *p) { return pci(d, p); }
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
  CARD("nvmlDeviceGetMemoryInfo", d); m->total = 23034 * MIBS; m->used = 1471 * MIBS; m->free = m->total - m->used; return 0;
}
static nvmlReturn_t procs(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_v2_t *out, int mps) {
  char v[2048], *p = v; unsigned got = 0, pid; unsigned long long mib; int isMPS, used;
  nvmlProcessInfo_v2_t all[64];
  if (d.handle->i == 0 && get("procs", v, sizeof v))
    while (got < 64 && sscanf(p, "%u:%llu:%d%n", &pid, &mib, &isMPS, &used) == 3) {
      if (isMPS == mps) {
        memset(&all[got], 0, sizeof all[got]);
        all[got].pid = pid; all[got].usedGpuMemory = garbage2() ? 0ULL - 5 * MIBS : mib * MIBS; got++;
      }
      p += used; if (*p == ',') p++; else break;
    }
  if (got > *n) { *n = got; return NVML_ERROR_INSUFFICIENT_SIZE; }
  memcpy(out, all, got * sizeof all[0]); *n = got; return 0;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t t, nvmlEccCounterType_t k, unsigned long long *n) {
  CARD("nvmlDeviceGetTotalEccErrors", d);
  if (garbage2()) { *n = 0ULL - 1; return 0; }
  *n = d.handle->i == 0 ? num("volatile", 0) : 0; return 0;
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned *t) { CARD("nvmlDeviceGetTemperature", d); *t = garbage2() ? 0u - 40 : 41; return 0; }
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, nvmlEnableState_t *m) { CARD("nvmlDeviceGetPersistenceMode", d); *m = num("persistence", 1); return 0; }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t d, nvmlComputeMode_t *m) { CARD("nvmlDeviceGetComputeMode", d); *m = 0; return 0; }
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) { CARD("nvmlDeviceGetUtilizationRates", d); u->gpu = garbage2() ? 4000000000u : 37; u->memory = 1; return 0; }
nvmlReturn_t nvmlDeviceGetPcieReplayCounter(nvmlDevice_t d, unsigned *n) { CARD("nvmlDeviceGetPcieReplayCounter", d); *n = 0; return 0; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *n) { CARD("nvmlDeviceGetCurrPcieLinkWidth", d); *n = garbage2() ? 999 : 16; return 0; }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *n) { CARD("nvmlDeviceGetMaxPcieLinkWidth", d); *n = 16; return 0; }
#ifdef CURRENT
nvmlReturn_t nvmlInit_v2(void) { return init(); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n) { return count(n); }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d) { return handle(i, d); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *v) { ENTER("nvmlSystemGetCudaDriverVersion_v2"); *v = 13000; return 0; }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) { return pci(d, p); }
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m) {
  CARD("nvmlDeviceGetMemoryInfo_v2", d);
  m->total = 23034 * MIBS; m->reserved = 471 * MIBS; m->used = garbage2() ? 0ULL - 3 * MIBS : 1000 * MIBS;
  m->free = m->total - m->reserved - m->used; return 0;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *p) { CARD("nvmlDeviceGetComputeRunningProcesses_v3", d); return procs(d, n, (nvmlProcessInfo_v2_t *)p, 0); }
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *p) { CARD("nvmlDeviceGetMPSComputeRunningProcesses_v3", d); return procs(d, n, (nvmlProcessInfo_v2_t *)p, 1); }
nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t d, nvmlEccSramErrorStatus_t *s) { CARD("nvmlDeviceGetSramEccErrorStatus", d); s->bThresholdExceeded = 0; return 0; }
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned *c, unsigned *u, unsigned *p, unsigned *f) {
  CARD("nvmlDeviceGetRemappedRows", d); *c = 1; *u = garbage2() ? 0u - 2 : 0; *p = d.handle->i == 0 && num("pending", 0); *f = 0; return 0;
}
nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t d, nvmlEnableState_t *s) { CARD("nvmlDeviceGetRetiredPagesPendingStatus", d); return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v) {
  CARD("nvmlDeviceGetFieldValues", d);
  for (int i = 0; i < n; i++) {
    v[i].nvmlReturn = 0; v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT; v[i].value.uiVal = 0;
    if (v[i].fieldId == NVML_FI_DEV_GET_GPU_RECOVERY_ACTION) v[i].value.uiVal = d.handle->i == 0 ? num("recovery", 0) : 0;
    else if (v[i].fieldId == NVML_FI_DEV_NVLINK_LINK_COUNT) v[i].value.uiVal = num("links", 0);
    else v[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
  }
  return 0;
}
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned l, nvmlEnableState_t *s) { CARD("nvmlDeviceGetNvLinkState", d); *s = num("linkdown", -1) != (long)l; return 0; }
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t d, unsigned l, nvmlNvLinkErrorCounter_t k, unsigned long long *n) { CARD("nvmlDeviceGetNvLinkErrorCounter", d); *n = 2; return 0; }
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *r) { CARD("nvmlDeviceGetCurrentClocksEventReasons", d); *r = num("throttle", 1); return 0; }
nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t d, nvmlMarginTemperature_t *m) { CARD("nvmlDeviceGetMarginTemperature", d); m->marginTemperature = num("margin", 44); return 0; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *n) { CARD("nvmlDeviceGetCurrPcieLinkGeneration", d); *n = 4; return 0; }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *n) { CARD("nvmlDeviceGetMaxPcieLinkGeneration", d); *n = 4; return 0; }
nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t d, nvmlGpuVirtualizationMode_t *m) { CARD("nvmlDeviceGetVirtualizationMode", d); *m = 1; return 0; }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *now, unsigned *then) { CARD("nvmlDeviceGetMigMode", d); return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *s) { ENTER("nvmlEventSetCreate"); s->handle = &set0; return 0; }
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t s) { ENTER("nvmlEventSetFree"); return 0; }
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long t, nvmlEventSet_t s) { CARD("nvmlDeviceRegisterEvents", d); return 0; }
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t s, nvmlEventData_t *e, unsigned ms) {
  ENTER("nvmlEventSetWait");
  for (unsigned waited = 0;; waited += 10) {
    char v[128]; int code, card, serial, n;
    if (get("xid", v, sizeof v) && sscanf(v, "%d:%d:%d:%d", &code, &card, &serial, &n) == 4 && serial != s.handle->serial) {
      s.handle->serial = serial; s.handle->left = n; s.handle->code = code; s.handle->card = card;
    }
    if (s.handle->left > 0) {
      s.handle->left--; memset(e, 0, sizeof *e);
      e->device.handle = &cards[s.handle->card]; e->eventType = nvmlEventTypeXidCriticalError; e->eventData = s.handle->code;
      return 0;
    }
    if (waited >= ms) return NVML_ERROR_TIMEOUT;
    usleep(10000);
  }
}
#endif
#endif
#endif
