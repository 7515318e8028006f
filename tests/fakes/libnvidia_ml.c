/* Fake libnvidia-ml.so.1: the calls that gpudoctor makes, answered from a scenario (see scenario.h and
 * machines/README.md). A field that the scenario does not set answers NOT_SUPPORTED, as a GPU without it does.
 * Compiled with -DOLD_DRIVER the functions that drivers before 450 lack are not there. */
#include "scenario.h"
#include <stddef.h>
#include <time.h>

enum {
    UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    FUNCTION_NOT_FOUND = 13, VERSION_MISMATCH = 25,
    MAX_GPUS = 512, MAX_MIG = 8, MAX_LINKS = 32, COUNTERS = 6
};

typedef struct { int gpu, mig; } *Device;
typedef unsigned long long u64;

typedef struct {
    char bus_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} PciInfo;

typedef struct { u64 total, free, used; } Memory;
typedef struct { unsigned version; u64 total, reserved, free, used; } Memory_v2;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned pid; u64 memory; unsigned gpu_instance, compute_instance; } Process;
typedef struct { unsigned pid; u64 stamp; unsigned sm, memory, encoder, decoder; } ProcessSample;
typedef struct { unsigned version; int margin; } Margin;
typedef union { double d; unsigned u; u64 ull; } Value;
typedef struct { unsigned field, scope; long long timestamp, latency; unsigned type; int code; Value value; } FieldValue;
typedef struct { unsigned char cluster[16]; int status; unsigned clique; unsigned char state; } Fabric;
typedef struct {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
    unsigned char summary; /* from version 3 on */
} Fabric_v3;
typedef struct { unsigned version, flag; } Flag;
typedef struct { unsigned version; u64 aggregate[3], volatile_[3], buckets[5]; unsigned exceeded; } SramStatus;

typedef struct {
    unsigned code, state;
    char info[128], product[128];
    unsigned enabled, year;
    unsigned short month, day, hour, minute, second;
    unsigned char status;
} Licence;
typedef struct { int supported; unsigned count; Licence features[3]; } Licences;

static int initialised;
static struct { int gpu, mig; } handles[MAX_GPUS], mig_handles[MAX_GPUS][MAX_MIG];

static const struct { int code; const char *text; } errors[] = {
    {0, "Success"}, {1, "Uninitialized"}, {2, "Invalid Argument"}, {3, "Not Supported"}, {4, "Insufficient Permissions"},
    {6, "Not Found"}, {7, "Insufficient Size"}, {9, "Driver Not Loaded"}, {10, "Timeout"}, {12, "Library Not Found"},
    {13, "Function Not Found"}, {15, "GPU is lost"}, {16, "GPU requires reset"}, {17, "Operating System call failed"},
    {18, "Driver/library version mismatch"},
    {25, "Argument version mismatch"}, {999, "Unknown Error"},
};

const char *nvmlErrorString(int code) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) return errors[i].text;
    return "Unknown Error";
}

static int gpu_count(void) {
    long long count = number(get("gpus"), 0);
    return count < 0 ? 0 : count > MAX_GPUS ? MAX_GPUS : (int)count;
}

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int code = told("nvmlInit", -1);
    if (!code) initialised = 1;
    return code;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { initialised = 0; return told("nvmlShutdown", -1); }

#define ASK(function, gpu) \
    do { \
        int code_ = told(function, gpu); \
        if (code_) return code_; \
        if (!initialised) return UNINITIALIZED; \
    } while (0)

/* A device's call: hangs, crashes or refuses as told. */
#define ASK_GPU(function) \
    if (!handle) return INVALID_ARGUMENT; \
    ASK(function, handle->gpu)

static int copy_text(const char *text, char *to, unsigned size) {
    if (!text) return NOT_SUPPORTED;
    if (strlen(text) >= size) return INSUFFICIENT_SIZE;
    strcpy(to, text);
    return 0;
}

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    ASK("nvmlSystemGetDriverVersion", -1);
    return copy_text(get("driver.version"), text, size);
}

int nvmlSystemGetCudaDriverVersion(int *version) {
    ASK("nvmlSystemGetCudaDriverVersion", -1);
    *version = (int)number(get("nvml.cuda"), number(get("cuda.version"), 0));
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    ASK("nvmlDeviceGetCount", -1);
    *count = (unsigned)gpu_count();
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *handle) {
    ASK("nvmlDeviceGetHandleByIndex", (int)index);
    if ((int)index >= gpu_count()) return INVALID_ARGUMENT;
    handles[index].gpu = (int)index;
    handles[index].mig = -1;
    *handle = (Device)&handles[index];
    return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *handle) {
    ASK("nvmlDeviceGetHandleByUUID", -1);
    for (int gpu = 0; gpu < gpu_count(); gpu++)
        for (int mig = -1; mig < MAX_MIG; mig++) {
            char field[32];
            snprintf(field, sizeof field, mig < 0 ? "uuid" : "mig.%d.uuid", mig);
            const char *text = gpu_text(gpu, field);
            if (!text || strcmp(text, uuid)) continue;
            *handle = (Device)(mig < 0 ? &handles[gpu] : &mig_handles[gpu][mig]);
            **handle = (__typeof__(**handle)){gpu, mig};
            return 0;
        }
    return NOT_FOUND;
}

/* Text of a GPU or of a MIG device. */
static const char *device_text(Device handle, const char *field) {
    if (handle->mig < 0) return gpu_text(handle->gpu, field);
    char key[160];
    snprintf(key, sizeof key, "mig.%d.%s", handle->mig, field);
    return gpu_text(handle->gpu, key);
}

#define TEXT(symbol, function, field) \
    int symbol(Device handle, char *text, unsigned size) { \
        ASK_GPU(function); \
        return copy_text(device_text(handle, field), text, size); \
    }
TEXT(nvmlDeviceGetName, "nvmlDeviceGetName", "name")
TEXT(nvmlDeviceGetUUID, "nvmlDeviceGetUUID", "uuid")
TEXT(nvmlDeviceGetSerial, "nvmlDeviceGetSerial", "serial")
TEXT(nvmlDeviceGetVbiosVersion, "nvmlDeviceGetVbiosVersion", "vbios")

int nvmlDeviceGetGspFirmwareVersion(Device handle, char *text) {
    ASK_GPU("nvmlDeviceGetGspFirmwareVersion");
    return copy_text(gpu_text(handle->gpu, "gsp"), text, 64);
}

#define WHOLE(symbol, field, scale) \
    int symbol(Device handle, unsigned *value) { \
        ASK_GPU(#symbol); \
        const char *text = gpu_text(handle->gpu, field); \
        if (!text) return NOT_SUPPORTED; \
        *value = (unsigned)(strtod(text, NULL) * scale + 0.5); \
        return 0; \
    }
WHOLE(nvmlDeviceGetBrand, "brand", 1)
WHOLE(nvmlDeviceGetArchitecture, "architecture", 1)
WHOLE(nvmlDeviceGetComputeMode, "compute_mode", 1)
WHOLE(nvmlDeviceGetPersistenceMode, "persistence", 1)
WHOLE(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending", 1)
WHOLE(nvmlDeviceGetPowerUsage, "power.draw_w", 1000)
WHOLE(nvmlDeviceGetEnforcedPowerLimit, "power.limit_w", 1000)
WHOLE(nvmlDeviceGetPowerManagementDefaultLimit, "power.default_w", 1000)
WHOLE(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen", 1)
WHOLE(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.gen_max", 1)
WHOLE(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.gen_device_max", 1)
WHOLE(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width", 1)
WHOLE(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width_max", 1)
WHOLE(nvmlDeviceGetFanSpeed, "fan", 1)
WHOLE(nvmlDeviceGetVirtualizationMode, "virtualization", 1)

int nvmlDeviceGetGridLicensableFeatures_v4(Device handle, Licences *licences) {
    ASK_GPU("nvmlDeviceGetGridLicensableFeatures");
    const char *licensed = gpu_text(handle->gpu, "vgpu_licensed");
    if (!licensed) return NOT_SUPPORTED;
    memset(licences, 0, sizeof *licences);
    licences->supported = 1;
    licences->count = 1;
    licences->features[0].state = (unsigned)number(licensed, 0);
    return 0;
}

int nvmlDeviceGetPciInfo_v3(Device handle, PciInfo *info) {
    ASK_GPU("nvmlDeviceGetPciInfo");
    const char *bus = gpu_text(handle->gpu, "pci.bus"), *device = gpu_text(handle->gpu, "pci.device");
    if (!bus || !device) return NOT_SUPPORTED;
    memset(info, 0, sizeof *info);
    sscanf(bus, "%x:%x:%x", &info->domain, &info->bus, &info->device);
    info->device_id = (unsigned)strtoul(device, NULL, 16) << 16 | 0x10de;
    const char *subsystem = gpu_text(handle->gpu, "pci.subsystem");
    info->subsystem_id = subsystem ? (unsigned)strtoul(subsystem, NULL, 16) : 0;
    snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:%02X.0", info->domain, info->bus, info->device);
    snprintf(info->bus_legacy, sizeof info->bus_legacy, "%04X:%02X:%02X.0", info->domain, info->bus, info->device);
    return 0;
}

int nvmlDeviceGetCudaComputeCapability(Device handle, int *major, int *minor) {
    ASK_GPU("nvmlDeviceGetCudaComputeCapability");
    const char *cc = gpu_text(handle->gpu, "cc");
    return cc && sscanf(cc, "%d.%d", major, minor) == 2 ? 0 : NOT_SUPPORTED;
}

/* memory.total, .used and .reserved in MiB. */
static int memory_of(Device handle, u64 *total, u64 *used, u64 *reserved) {
    const char *text = device_text(handle, "memory.total");
    if (!text) return NOT_SUPPORTED;
    *total = (u64)strtoull(text, NULL, 10) << 20;
    *used = (u64)number(device_text(handle, "memory.used"), 0) << 20;
    *reserved = (u64)number(device_text(handle, "memory.reserved"), 0) << 20;
    return 0;
}

int nvmlDeviceGetMemoryInfo(Device handle, Memory *memory) {
    ASK_GPU("nvmlDeviceGetMemoryInfo");
    u64 total, used, reserved;
    int code = memory_of(handle, &total, &used, &reserved);
    if (code) return code;
    *memory = (Memory){total, total - used - reserved, used + reserved};
    return 0;
}

int nvmlDeviceGetMigMode(Device handle, unsigned *now, unsigned *pending) {
    ASK_GPU("nvmlDeviceGetMigMode");
    const char *mode = gpu_text(handle->gpu, "mig");
    if (!mode) return NOT_SUPPORTED;
    *now = (unsigned)atoi(mode);
    *pending = (unsigned)gpu_number(handle->gpu, "mig_pending", *now);
    return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(Device handle, unsigned *count) {
    ASK_GPU("nvmlDeviceGetMaxMigDeviceCount");
    *count = gpu_text(handle->gpu, "mig") ? 7 : 0;
    return 0;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device handle, unsigned index, Device *mig) {
    ASK_GPU("nvmlDeviceGetMigDeviceHandleByIndex");
    if (index >= MAX_MIG) return INVALID_ARGUMENT;
    mig_handles[handle->gpu][index].gpu = handle->gpu;
    mig_handles[handle->gpu][index].mig = (int)index;
    *mig = (Device)&mig_handles[handle->gpu][index];
    return device_text(*mig, "uuid") ? 0 : NOT_FOUND;
}

#define MIG_NUMBER(symbol, field) \
    int symbol(Device handle, unsigned *value) { \
        ASK_GPU(#symbol); \
        const char *text = handle->mig < 0 ? NULL : device_text(handle, field); \
        if (!text) return NOT_FOUND; \
        *value = (unsigned)atoi(text); \
        return 0; \
    }
MIG_NUMBER(nvmlDeviceGetGpuInstanceId, "gi")
MIG_NUMBER(nvmlDeviceGetComputeInstanceId, "ci")

int nvmlDeviceGetEccMode(Device handle, unsigned *now, unsigned *pending) {
    ASK_GPU("nvmlDeviceGetEccMode");
    const char *mode = gpu_text(handle->gpu, "ecc");
    if (!mode) return NOT_SUPPORTED;
    *now = (unsigned)atoi(mode);
    *pending = (unsigned)gpu_number(handle->gpu, "ecc_pending", *now);
    return 0;
}

int nvmlDeviceGetTotalEccErrors(Device handle, unsigned type, unsigned counter, u64 *count) {
    ASKED_FOR("(%u,%u)", type, counter);
    ASK_GPU("nvmlDeviceGetTotalEccErrors");
    char field[64];
    if (gpu_number(handle->gpu, "ecc", 0) != 1) return NOT_SUPPORTED;
    snprintf(field, sizeof field, "ecc.%s.%s", type ? "uncorrected" : "corrected", counter ? "aggregate" : "volatile");
    *count = (u64)gpu_number(handle->gpu, field, 0);
    return 0;
}

/* remapped = CORRECTABLE UNCORRECTABLE PENDING FAILED */
int nvmlDeviceGetRemappedRows(Device handle, unsigned *correctable, unsigned *uncorrectable, unsigned *pending, unsigned *failed) {
    ASK_GPU("nvmlDeviceGetRemappedRows");
    const char *rows = gpu_text(handle->gpu, "remapped");
    return rows && sscanf(rows, "%u %u %u %u", correctable, uncorrectable, pending, failed) == 4 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetRetiredPages(Device handle, unsigned cause, unsigned *count, u64 *addresses) {
    ASKED_FOR("(%u)", cause);
    ASK_GPU("nvmlDeviceGetRetiredPages");
    const char *text = gpu_text(handle->gpu, cause ? "retired.double" : "retired.single");
    if (!text) return NOT_SUPPORTED;
    unsigned pages = (unsigned)atoi(text), room = *count;
    *count = pages;
    if (!pages) return 0;
    if (!addresses || room < pages) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < pages; i++) addresses[i] = 0x10000ull * (i + 1);
    return 0;
}

/* The COUNTERS: one number, or one for each link; `7+5` is 7 at the first look, and 5 more at each look after it. */
static const char *const counters[COUNTERS] = {
    "pcie.replays", "nvlink.replay", "nvlink.recovery", "nvlink.crc", "nvlink.failed", "nvlink.recoveries",
};

static int count_of(int gpu, int counter, unsigned link, u64 *value) {
    static unsigned looks[MAX_GPUS][COUNTERS][MAX_LINKS];
    const char *text = gpu_text(gpu, counters[counter]);
    if (!text || link >= MAX_LINKS) return NOT_SUPPORTED;
    for (unsigned i = 0; i < link; i++) {
        text = strchr(text, ' ');
        if (!text) return INVALID_ARGUMENT;
        text++;
    }
    char *rest;
    *value = strtoull(text, &rest, 10);
    if (*rest == '+') *value += strtoull(rest + 1, NULL, 10) * looks[gpu][counter][link]++;
    return 0;
}

int nvmlDeviceGetPcieReplayCounter(Device handle, unsigned *value) {
    ASK_GPU("nvmlDeviceGetPcieReplayCounter");
    u64 count;
    int code = count_of(handle->gpu, 0, 0, &count);
    if (!code) *value = (unsigned)count;
    return code;
}

/* The call of drivers before 520, which later ones have too: replay, recovery, CRC of flits. */
int nvmlDeviceGetNvLinkErrorCounter(Device handle, unsigned link, unsigned counter, u64 *value) {
    ASKED_FOR("(%u)", counter);
    ASK_GPU("nvmlDeviceGetNvLinkErrorCounter");
    return counter > 2 ? INVALID_ARGUMENT : count_of(handle->gpu, 1 + (int)counter, link, value);
}

/* Whether the driver of the scenario is of this branch or a later one. */
static int since(int branch) {
    const char *version = get("driver.version");
    return version && atoi(version) >= branch;
}

/* A field that the driver does not know yet is an invalid argument. */
static int field_value(int gpu, unsigned field, unsigned link, FieldValue *answer) {
    if (!since(field < 200 ? 520 : field < 230 ? 560 : 570)) return INVALID_ARGUMENT;
    if (field == 230) {
        const char *text = gpu_text(gpu, "recovery_action");
        answer->type = 1;
        if (text) answer->value.u = (unsigned)atoi(text);
        return text ? 0 : NOT_SUPPORTED;
    }
    if (field == 186) { /* NVML_FI_DEV_POWER_INSTANT */
        const char *text = gpu_text(gpu, "power.instant_w");
        answer->type = 1;
        if (text) answer->value.u = (unsigned)(strtod(text, NULL) * 1000);
        return text ? 0 : NOT_SUPPORTED;
    }
    if (field == 138 || field == 139) { /* nvlink.rate = RECEIVED SENT in KiB/s: bytes since some day */
        struct timespec clock;
        const char *text = gpu_text(gpu, "nvlink.rate");
        double rates[2] = {0};
        if (!text || link != ~0u || sscanf(text, "%lf %lf", &rates[0], &rates[1]) != 2) return NOT_SUPPORTED;
        clock_gettime(CLOCK_MONOTONIC, &clock);
        answer->type = 3;
        answer->value.ull = (u64)(rates[field == 138] * ((double)clock.tv_sec + (double)clock.tv_nsec / 1e9));
        return 0;
    }
    int counter = field >= 161 && field <= 163 ? (int)field - 160 : field == 214 || field == 215 ? (int)field - 210 : -1;
    answer->type = 3;
    return counter < 0 ? INVALID_ARGUMENT : count_of(gpu, counter, link, &answer->value.ull);
}

int nvmlDeviceGetFieldValues(Device handle, int count, FieldValue *values) {
    ASK_GPU("nvmlDeviceGetFieldValues");
    for (int i = 0; i < count; i++) {
        char field[16];
        snprintf(field, sizeof field, "%u", values[i].field);
        logged("field", field, handle->gpu);
        memset(&values[i].value, 0, sizeof values[i].value);
        values[i].code = field_value(handle->gpu, values[i].field, values[i].scope, &values[i]);
    }
    return 0;
}

int nvmlDeviceGetPowerManagementLimitConstraints(Device handle, unsigned *low, unsigned *high) {
    ASK_GPU("nvmlDeviceGetPowerManagementLimitConstraints");
    const char *min = gpu_text(handle->gpu, "power.min_w"), *max = gpu_text(handle->gpu, "power.max_w");
    if (!min || !max) return NOT_SUPPORTED;
    *low = (unsigned)(strtod(min, NULL) * 1000);
    *high = (unsigned)(strtod(max, NULL) * 1000);
    return 0;
}

int nvmlDeviceGetTemperature(Device handle, unsigned sensor, unsigned *value) {
    ASK_GPU("nvmlDeviceGetTemperature");
    const char *text = sensor ? NULL : gpu_text(handle->gpu, "temperature");
    if (!text) return NOT_SUPPORTED;
    *value = (unsigned)atoi(text);
    return 0;
}

int nvmlDeviceGetTemperatureThreshold(Device handle, unsigned threshold, unsigned *value) {
    ASKED_FOR("(%u)", threshold);
    ASK_GPU("nvmlDeviceGetTemperatureThreshold");
    const char *text = gpu_text(handle->gpu, threshold ? "temperature.slowdown" : "temperature.shutdown");
    if (!text || threshold > 1) return NOT_SUPPORTED;
    *value = (unsigned)atoi(text);
    return 0;
}

static int clock_of(Device handle, unsigned type, const char *ending, unsigned *value) {
    char field[64];
    snprintf(field, sizeof field, "clock.%s%s", type == 1 ? "sm" : type == 2 ? "memory" : "other", ending);
    const char *text = gpu_text(handle->gpu, field);
    if (!text) return NOT_SUPPORTED;
    *value = (unsigned)atoi(text);
    return 0;
}

int nvmlDeviceGetClockInfo(Device handle, unsigned type, unsigned *value) {
    ASKED_FOR("(%u)", type);
    ASK_GPU("nvmlDeviceGetClockInfo");
    return clock_of(handle, type, "", value);
}

int nvmlDeviceGetMaxClockInfo(Device handle, unsigned type, unsigned *value) {
    ASKED_FOR("(%u)", type);
    ASK_GPU("nvmlDeviceGetMaxClockInfo");
    return clock_of(handle, type, "_max", value);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device handle, u64 *reasons) {
    ASK_GPU("nvmlDeviceGetCurrentClocksThrottleReasons");
    const char *text = gpu_text(handle->gpu, "clock.reasons");
    if (!text) return NOT_SUPPORTED;
    *reasons = strtoull(text, NULL, 0);
    return 0;
}

/* utilization = GPU MEMORY */
int nvmlDeviceGetUtilizationRates(Device handle, Utilization *rates) {
    ASK_GPU("nvmlDeviceGetUtilizationRates");
    const char *text = gpu_text(handle->gpu, "utilization");
    return text && sscanf(text, "%u %u", &rates->gpu, &rates->memory) == 2 ? 0 : NOT_SUPPORTED;
}

WHOLE(nvmlDeviceGetMinorNumber, "minor", 1)

/* pcie.rx and pcie.tx in kB/s */
int nvmlDeviceGetPcieThroughput(Device handle, unsigned counter, unsigned *value) {
    ASK_GPU("nvmlDeviceGetPcieThroughput");
    const char *text = gpu_text(handle->gpu, counter ? "pcie.rx" : "pcie.tx");
    if (!text) return NOT_SUPPORTED;
    *value = (unsigned)atoi(text);
    return 0;
}

/* busy.N = PID PERCENT: what each process took of the SMs since it was asked last */
int nvmlDeviceGetProcessUtilization(Device handle, ProcessSample *list, unsigned *count, u64 since) {
    ASK_GPU("nvmlDeviceGetProcessUtilization");
    struct timespec clock;
    clock_gettime(CLOCK_REALTIME, &clock);
    u64 stamp = (u64)clock.tv_sec * 1000000 + (u64)clock.tv_nsec / 1000;
    unsigned found = 0, room = *count, pid, percent;
    if (!gpu_text(handle->gpu, "busy.0")) return NOT_SUPPORTED;
    for (int i = 0; i < 64 && stamp > since; i++) {
        char field[32];
        snprintf(field, sizeof field, "busy.%d", i);
        const char *text = gpu_text(handle->gpu, field);
        if (!text || sscanf(text, "%u %u", &pid, &percent) != 2) break;
        if (list && found < room) list[found] = (ProcessSample){pid, stamp, percent, percent / 2, 0, 0};
        found++;
    }
    *count = found;
    if (!found) return NOT_FOUND;
    return found > room || !list ? INSUFFICIENT_SIZE : 0;
}

/* nvlink = 1 1 0 ... : state of each link */
int nvmlDeviceGetNvLinkState(Device handle, unsigned link, unsigned *active) {
    ASK_GPU("nvmlDeviceGetNvLinkState");
    const char *text = gpu_text(handle->gpu, "nvlink");
    if (!text) return NOT_SUPPORTED;
    for (unsigned i = 0; i < link; i++) {
        text = strchr(text, ' ');
        if (!text) return INVALID_ARGUMENT;
        text++;
    }
    *active = (unsigned)atoi(text);
    return 0;
}

/* nvlink.ends = 1 1 s ... : the GPU at the other end of each link, s for a switch */
static const char *link_end(Device handle, unsigned link) {
    const char *text = gpu_text(handle->gpu, "nvlink.ends");
    for (unsigned i = 0; text && i < link; i++) {
        text = strchr(text, ' ');
        if (text) text++;
    }
    return text;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device handle, unsigned link, PciInfo *info) {
    ASK_GPU("nvmlDeviceGetNvLinkRemotePciInfo");
    const char *text = link_end(handle, link);
    if (!text) return NOT_SUPPORTED;
    memset(info, 0, sizeof *info);
    const char *bus = *text == 's' ? "0000:c4:00.0" : gpu_text(atoi(text), "pci.bus");
    snprintf(info->bus_id, sizeof info->bus_id, "0000%s", bus ? bus : "0000:00:00.0");
    return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(Device handle, unsigned link, unsigned *type) {
    ASK_GPU("nvmlDeviceGetNvLinkRemoteDeviceType");
    const char *text = link_end(handle, link);
    if (!text) return NOT_SUPPORTED;
    *type = *text == 's' ? 2 : 0; /* nvmlIntNvLinkDeviceType_t */
    return 0;
}

/* process.N = KIND PID MIB NAME; MIB is - where NVML does not tell */
static int processes_of(Device handle, const char *kind, unsigned *count, Process *list) {
    unsigned found = 0, room = *count;
    for (int i = 0; i < 512; i++) {
        char field[32], its_kind[16], mib[24];
        unsigned pid;
        snprintf(field, sizeof field, "process.%d", i);
        const char *text = gpu_text(handle->gpu, field);
        if (!text) break;
        if (sscanf(text, "%15s %u %23s", its_kind, &pid, mib) != 3 || strcmp(its_kind, kind)) continue;
        if (list && found < room)
            list[found] = (Process){pid, *mib == '-' ? ~0ull : strtoull(mib, NULL, 10) << 20, ~0u, ~0u};
        found++;
    }
    *count = found;
    return found > room || (found && !list) ? INSUFFICIENT_SIZE : 0;
}

#define PROCESSES(symbol, function, kind) \
    int symbol(Device handle, unsigned *count, Process *list) { \
        ASK_GPU(function); \
        return processes_of(handle, kind, count, list); \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "nvmlDeviceGetComputeRunningProcesses", "compute")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "nvmlDeviceGetGraphicsRunningProcesses", "graphics")

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned size) {
    ASK("nvmlSystemGetProcessName", -1);
    for (int gpu = 0; gpu < gpu_count(); gpu++)
        for (int i = 0; i < 64; i++) {
            char field[32], text_name[200];
            unsigned its_pid;
            snprintf(field, sizeof field, "process.%d", i);
            const char *text = gpu_text(gpu, field);
            if (!text) break;
            if (sscanf(text, "%*s %u %*s %199[^\n]", &its_pid, text_name) == 2 && its_pid == pid)
                return copy_text(text_name, name, size);
        }
    return NOT_FOUND;
}

/* pair.A.B.FIELD with A below B, else pair.*.FIELD */
static int pair_number(Device a, Device b, const char *field, unsigned *value) {
    char key[64];
    int low = a->gpu < b->gpu ? a->gpu : b->gpu, high = a->gpu < b->gpu ? b->gpu : a->gpu;
    snprintf(key, sizeof key, "pair.%d.%d.%s", low, high, field);
    const char *text = get(key);
    snprintf(key, sizeof key, "pair.*.%s", field);
    if (!text) text = get(key);
    if (!text) return NOT_SUPPORTED;
    *value = (unsigned)atoi(text);
    return 0;
}

int nvmlDeviceGetP2PStatus(Device a, Device b, unsigned kind, unsigned *status) {
    ASKED_FOR("(%u)", kind);
    ASK("nvmlDeviceGetP2PStatus", -1);
    if (kind && kind != 2) return INVALID_ARGUMENT;
    return pair_number(a, b, kind ? "nvlink" : "p2p", status);
}

int nvmlDeviceGetTopologyCommonAncestor(Device a, Device b, unsigned *level) {
    ASK("nvmlDeviceGetTopologyCommonAncestor", -1);
    return pair_number(a, b, "topology", level);
}

#ifndef OLD_DRIVER
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

int nvmlDeviceGetMemoryInfo_v2(Device handle, Memory_v2 *memory) {
    ASK_GPU("nvmlDeviceGetMemoryInfo");
    if (memory->version != (sizeof(Memory_v2) | 2u << 24)) return VERSION_MISMATCH;
    u64 total, used, reserved;
    int code = memory_of(handle, &total, &used, &reserved);
    if (code) return code;
    *memory = (Memory_v2){memory->version, total, reserved, total - used - reserved, used};
    return 0;
}

int nvmlDeviceGetMarginTemperature(Device handle, Margin *margin) {
    ASK_GPU("nvmlDeviceGetMarginTemperature");
    const char *text = gpu_text(handle->gpu, "temperature.margin");
    if (margin->version != (sizeof(Margin) | 1u << 24)) return VERSION_MISMATCH;
    if (!text) return NOT_SUPPORTED;
    margin->margin = atoi(text);
    return 0;
}

/* fabric = STATE STATUS MASK SUMMARY, the last two where there are any */
static int fabric_of(Device handle, Fabric_v3 *fabric) {
    unsigned state = 0, summary = 0;
    const char *text = gpu_text(handle->gpu, "fabric");
    if (!text || sscanf(text, "%u %d %x %u", &state, &fabric->status, &fabric->health, &summary) < 2) return NOT_SUPPORTED;
    fabric->state = (unsigned char)state;
    fabric->summary = (unsigned char)summary;
    return 0;
}

int nvmlDeviceGetGpuFabricInfo(Device handle, Fabric *fabric) {
    ASK_GPU("nvmlDeviceGetGpuFabricInfo");
    Fabric_v3 told_now = {0};
    int code = fabric_of(handle, &told_now);
    fabric->state = told_now.state;
    fabric->status = told_now.status;
    return code;
}

/* Since driver 550, version 3 of the answer since 580. */
int nvmlDeviceGetGpuFabricInfoV(Device handle, Fabric_v3 *fabric) {
    ASKED_FOR("(v%u)", fabric->version >> 24);
    ASK_GPU("nvmlDeviceGetGpuFabricInfoV");
    if (!since(550)) return FUNCTION_NOT_FOUND;
    Fabric_v3 told_now = {0};
    unsigned two = 36u | 2u << 24, three = sizeof(Fabric_v3) | 3u << 24;
    if (fabric->version != two && (!since(580) || fabric->version != three)) return VERSION_MISMATCH;
    int code = fabric_of(handle, &told_now);
    told_now.version = fabric->version;
    memcpy(fabric, &told_now, fabric->version == two ? 36 : sizeof told_now);
    return code;
}

/* sram = EXCEEDED UNCORRECTED: whether the threshold is exceeded, and uncorrectable errors over the board's life; since driver 550 */
int nvmlDeviceGetSramEccErrorStatus(Device handle, SramStatus *status) {
    ASK_GPU("nvmlDeviceGetSramEccErrorStatus");
    if (!since(550)) return FUNCTION_NOT_FOUND;
    if (status->version != (sizeof(SramStatus) | 1u << 24)) return VERSION_MISMATCH;
    const char *text = gpu_text(handle->gpu, "sram");
    memset(status->aggregate, 0, sizeof *status - offsetof(SramStatus, aggregate));
    return text && sscanf(text, "%u %llu", &status->exceeded, &status->aggregate[1]) == 2 ? 0 : NOT_SUPPORTED;
}

int nvmlDeviceGetUnrepairableMemoryFlag_v1(Device handle, Flag *status) {
    ASK_GPU("nvmlDeviceGetUnrepairableMemoryFlag");
    if (!since(590)) return FUNCTION_NOT_FOUND;
    if (status->version != (sizeof(Flag) | 1u << 24)) return VERSION_MISMATCH;
    const char *text = gpu_text(handle->gpu, "unrepairable");
    status->flag = (unsigned)number(text, 0);
    return text ? 0 : NOT_SUPPORTED;
}

/* gpm = SM TENSOR MEMORY (percent) PCIE_RX PCIE_TX NVLINK_RX NVLINK_TX (MiB/s): what GPM says of the time between any
 * two samples of one GPU; without it the GPU has no GPM, as none before Hopper has. */
typedef struct { double taken; int gpu; } *GpmSample;
typedef struct { unsigned id; int code; double value; struct { const char *brief, *whole, *unit; } about; } GpmMetric;
typedef struct { unsigned version, count; GpmSample first, second; GpmMetric metrics[]; } GpmMetrics;
typedef struct { unsigned version, supported; } GpmSupport;

int nvmlGpmQueryDeviceSupport(Device handle, GpmSupport *support) {
    ASK_GPU("nvmlGpmQueryDeviceSupport");
    if (support->version != 1) return VERSION_MISMATCH;
    support->supported = gpu_text(handle->gpu, "gpm") != NULL;
    return 0;
}

int nvmlGpmSampleAlloc(GpmSample *sample) {
    ASK("nvmlGpmSampleAlloc", -1);
    *sample = calloc(1, sizeof **sample);
    return 0;
}

int nvmlGpmSampleGet(Device handle, GpmSample sample) {
    ASK_GPU("nvmlGpmSampleGet");
    if (!gpu_text(handle->gpu, "gpm")) return NOT_SUPPORTED;
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    sample->taken = (double)clock.tv_sec + (double)clock.tv_nsec / 1e9;
    sample->gpu = handle->gpu;
    return 0;
}

int nvmlGpmMetricsGet(GpmMetrics *asked) {
    ASK("nvmlGpmMetricsGet", asked->first ? asked->first->gpu : -1);
    static const unsigned ids[] = {2, 5, 10, 21, 20, 60, 61};
    double values[7];
    if (asked->version != 1 || !asked->first || !asked->second) return INVALID_ARGUMENT;
    if (asked->first->gpu != asked->second->gpu || asked->first->taken <= 0) return INVALID_ARGUMENT;
    if (asked->second->taken <= asked->first->taken) return INVALID_ARGUMENT;
    const char *text = gpu_text(asked->first->gpu, "gpm");
    int there = text ? sscanf(text, "%lf %lf %lf %lf %lf %lf %lf", &values[0], &values[1], &values[2], &values[3],
                              &values[4], &values[5], &values[6]) : 0;
    for (unsigned i = 0; i < asked->count; i++) {
        asked->metrics[i].code = NOT_SUPPORTED;
        for (int k = 0; k < there; k++)
            if (ids[k] == asked->metrics[i].id) {
                asked->metrics[i].code = 0;
                asked->metrics[i].value = values[k];
            }
    }
    return 0;
}

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "nvmlDeviceGetComputeRunningProcesses", "compute")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "nvmlDeviceGetGraphicsRunningProcesses", "graphics")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "nvmlDeviceGetMPSComputeRunningProcesses", "mps")
#endif
