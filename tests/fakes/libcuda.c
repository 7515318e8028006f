/* Fake libcuda.so.1: the calls that gpudoctor makes, answered from a scenario (see scenario.h and machines/README.md). */
#include "scenario.h"
#include <time.h>

typedef struct { unsigned char bytes[16]; } CUuuid;
enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
       INVALID_CONTEXT = 201, INVALID_PTX = 218, JIT_DISABLED = 223, NOT_FOUND = 500, FIRST_BROKEN = 700, LAST_BROKEN = 719 };

static int initialised;
static int broken; /* after an error of a kernel every further call of the process answers with it, as in the driver */
enum { MOST_DEVICES = 512 };
static int visible[MOST_DEVICES], visible_mig[MOST_DEVICES], visible_count; /* visible_mig: slot of a MIG device, -1 for a whole GPU */

static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "forward compatibility was attempted on non supported HW"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

int cuGetErrorName(int code, const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) { *text = errors[i].name; return 0; }
    *text = NULL;
    return INVALID_VALUE;
}

int cuGetErrorString(int code, const char **text) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code) { *text = errors[i].text; return 0; }
    *text = NULL;
    return INVALID_VALUE;
}

/* The index that one word of CUDA_VISIBLE_DEVICES names, -1 where it names none; `mig`: the slot, if it is one. */
static int named(const char *word, int count, int *mig_slot) {
    char *end;
    *mig_slot = -1;
    long index = strtol(word, &end, 10);
    if (end != word && !*end) return index >= 0 && index < count ? (int)index : -1;
    for (int gpu = 0; gpu < count; gpu++) {
        const char *uuid = gpu_text(gpu, "uuid");
        if (*word && uuid && !strncmp(uuid, word, strlen(word))) return gpu;
        for (int slot = 0; slot < 8; slot++) {
            char field[32];
            snprintf(field, sizeof field, "mig.%d.uuid", slot);
            const char *mig = gpu_text(gpu, field);
            if (mig && !strcmp(mig, word)) return *mig_slot = slot, gpu;
        }
    }
    return -1;
}

/* As the driver does: the first word that names no device ends the list. */
static void choose_visible(void) {
    int count = (int)number(get("cuda.count"), number(get("gpus"), 0));
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    visible_count = 0;
    if (!list) {
        for (int gpu = 0; gpu < count && gpu < MOST_DEVICES; gpu++) /* one MIG instance hides all else */
            if (gpu_number(gpu, "mig", 0) == 1 && gpu_text(gpu, "mig.0.uuid")) {
                visible[0] = gpu;
                visible_mig[0] = 0;
                visible_count = 1;
                return;
            }
        for (int gpu = 0; gpu < count && gpu < MOST_DEVICES; gpu++) {
            if (gpu_number(gpu, "mig", 0) == 1) continue; /* without an instance it is not listed */
            visible_mig[visible_count] = -1;
            visible[visible_count++] = gpu;
        }
        return;
    }
    char copy[1024], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", list);
    while (visible_count < MOST_DEVICES && (word = strsep(&rest, ","))) {
        int gpu = named(trim(word), count, &visible_mig[visible_count]);
        if (gpu < 0) return;
        visible[visible_count++] = gpu;
    }
}

int cuInit(unsigned flags) {
    int code = told("cuInit", -1);
    if (code) return code;
    if (flags) return INVALID_VALUE;
    choose_visible();
    if (!visible_count) return NO_DEVICE;
    initialised = 1;
    return 0;
}

int cuDriverGetVersion(int *version) {
    int code = told("cuDriverGetVersion", -1);
    *version = (int)number(get("cuda.version"), 0);
    return code;
}

#define READY(function, gpu) \
    do { \
        int code = told(function, gpu); \
        if (!broken && code >= FIRST_BROKEN && code <= LAST_BROKEN) broken = code; \
        if (code || broken) return code ? code : broken; \
        if (!initialised) return NOT_INITIALIZED; \
    } while (0)

#define DEVICE(function) \
    if (initialised && (device < 0 || device >= visible_count)) return INVALID_DEVICE; \
    READY(function, device); \
    int gpu = visible[device]

int cuDeviceGetCount(int *count) {
    READY("cuDeviceGetCount", -1);
    *count = visible_count;
    return 0;
}

int cuDeviceGet(int *handle, int device) {
    DEVICE("cuDeviceGet");
    (void)gpu;
    *handle = device;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
    DEVICE("cuDeviceGetName");
    const char *text = gpu_text(gpu, "name");
    snprintf(name, (size_t)size, "%s", text ? text : "NVIDIA Graphics Device");
    return 0;
}

static int uuid_of(CUuuid *uuid, const char *text) {
    memset(uuid, 0, sizeof *uuid);
    if (!text) return 0;
    if (!strncmp(text, "GPU-", 4) || !strncmp(text, "MIG-", 4)) text += 4;
    for (int nibble = 0; *text && nibble < 32; text++) {
        if (*text == '-') continue;
        char digit[2] = {*text, 0};
        uuid->bytes[nibble / 2] = (unsigned char)(uuid->bytes[nibble / 2] << 4 | strtol(digit, NULL, 16));
        nibble++;
    }
    return 0;
}

int cuDeviceGetUuid(CUuuid *uuid, int device) {
    DEVICE("cuDeviceGetUuid");
    return uuid_of(uuid, gpu_text(gpu, "uuid"));
}

/* "uuid", or its field of the MIG device that this device is. */
static const char *field_of(int device, const char *field, char *name, size_t size) {
    if (visible_mig[device] < 0) return field;
    snprintf(name, size, "mig.%d.%s", visible_mig[device], field);
    return name;
}

int cuDeviceGetUuid_v2(CUuuid *uuid, int device) {
    DEVICE("cuDeviceGetUuid");
    char name[64];
    return uuid_of(uuid, gpu_text(gpu, field_of(device, "uuid", name, sizeof name)));
}

int cuDeviceGetPCIBusId(char *text, int size, int device) {
    DEVICE("cuDeviceGetPCIBusId");
    const char *bus = gpu_text(gpu, "pci.bus");
    snprintf(text, (size_t)size, "%s", bus ? bus : "0000:00:00.0");
    return 0;
}

/* pair.A.B.p2p = 0 where both can reach each other, as NVML tells it */
int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    DEVICE("cuDeviceCanAccessPeer");
    char key[64];
    int other = visible[peer];
    snprintf(key, sizeof key, "pair.%d.%d.p2p", gpu < other ? gpu : other, gpu < other ? other : gpu);
    const char *text = get(key);
    if (!text) text = get("pair.*.p2p");
    *can = text && !atoi(text);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    DEVICE("cuDeviceTotalMem");
    long long mib = gpu_number(gpu, "memory.total", 0);
    *bytes = (size_t)gpu_number(gpu, "cuda.memory", mib) << 20;
    return 0;
}

int cuDeviceTotalMem(size_t *bytes, int device) { return cuDeviceTotalMem_v2(bytes, device); }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    DEVICE("cuDeviceGetAttribute");
    const char *cc = gpu_text(gpu, "cc"), *dot = cc ? strchr(cc, '.') : NULL;
    unsigned domain = 0;
    switch (attribute) {
    case 18: *value = (int)gpu_number(gpu, "integrated", 0); return 0;
    case 20: *value = (int)gpu_number(gpu, "compute_mode", 0); return 0;
    case 35: *value = 0; return 0;
    case 50: sscanf(gpu_text(gpu, "pci.bus") ? gpu_text(gpu, "pci.bus") : "0", "%x", &domain); *value = (int)domain; return 0;
    case 75: *value = cc ? atoi(cc) : 0; return 0;
    case 76: *value = dot ? atoi(dot + 1) : 0; return 0;
    }
    return INVALID_VALUE;
}

/* ---- a context, memory, one kernel: enough to run gpudoctor's own PTX ----
 * gpu.N.cuda.context: MiB of a context (500), added to gpu.N.memory.used (or to that of its MIG device) while it lives
 * where that is a file (@NAME); gpu.N.wrong = K: the kernel spoils K elements; gpu.N.silent = 1: it writes nothing.
 * As the driver does, it compiles no PTX under CUDA_DISABLE_PTX_JIT=1, and keeps what it compiled in CUDA_CACHE_PATH. */

typedef struct Context { int device; struct Context *below; } *Context;
typedef struct { char *text; } *Module;
typedef struct { const char *name; } *Function;
typedef struct { struct timespec at; } *Event;
typedef unsigned long long u64;

static Context current;
static size_t taken[MOST_DEVICES];

#define IN_CONTEXT(function) \
    READY(function, current ? current->device : -1); \
    if (!current) return INVALID_CONTEXT; \
    int gpu = visible[current->device]

static void count_context(int device, int gpu, long long sign) {
    char key[128], name[64], path[4096];
    snprintf(key, sizeof key, "gpu.%d.%s", gpu, field_of(device, "memory.used", name, sizeof name));
    const char *raw = written(key);
    if (!raw || *raw != '@') return;
    long long mib = number(now(raw), 0) + sign * gpu_number(gpu, "cuda.context", 500);
    beside(raw + 1, path, sizeof path);
    FILE *file = fopen(path, "w");
    if (!file) return;
    fprintf(file, "%lld\n", mib);
    fclose(file);
}

int cuCtxCreate_v2(Context *context, unsigned flags, int device) {
    DEVICE("cuCtxCreate");
    (void)flags;
    *context = calloc(1, sizeof **context);
    (*context)->device = device;
    (*context)->below = current;
    current = *context;
    count_context(device, gpu, 1);
    return 0;
}

int cuCtxDestroy_v2(Context context) {
    IN_CONTEXT("cuCtxDestroy");
    if (context != current) return INVALID_CONTEXT;
    count_context(current->device, gpu, -1);
    taken[gpu] = 0;
    current = context->below;
    free(context);
    return 0;
}

int cuCtxSynchronize(void) {
    IN_CONTEXT("cuCtxSynchronize");
    (void)gpu;
    return 0;
}

static size_t bytes_of(int gpu) { return (size_t)gpu_number(gpu, "cuda.memory", gpu_number(gpu, "memory.total", 0)) << 20; }

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    IN_CONTEXT("cuMemGetInfo");
    *total = bytes_of(gpu);
    *available = *total - taken[gpu];
    return 0;
}

int cuMemAlloc_v2(u64 *address, size_t bytes) {
    IN_CONTEXT("cuMemAlloc");
    if (!bytes) return INVALID_VALUE;
    if (taken[gpu] + bytes > bytes_of(gpu)) return OUT_OF_MEMORY;
    void *memory = malloc(bytes);
    if (!memory) return OUT_OF_MEMORY;
    taken[gpu] += bytes;
    *address = (u64)memory;
    return 0;
}

int cuMemFree_v2(u64 address) {
    IN_CONTEXT("cuMemFree");
    (void)gpu;
    free((void *)address);
    return 0;
}

int cuMemcpyHtoD_v2(u64 to, const void *from, size_t bytes) {
    IN_CONTEXT("cuMemcpyHtoD");
    (void)gpu;
    memcpy((void *)to, from, bytes);
    return 0;
}

int cuMemcpyDtoH_v2(void *to, u64 from, size_t bytes) {
    IN_CONTEXT("cuMemcpyDtoH");
    (void)gpu;
    memcpy(to, (const void *)from, bytes);
    return 0;
}

static int is_one(const char *variable) {
    const char *value = getenv(variable);
    return value && !strcmp(value, "1");
}

static void keep_compiled(void) {
    const char *folder = getenv("CUDA_CACHE_PATH");
    if (!folder || is_one("CUDA_CACHE_DISABLE")) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/index", folder);
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
}

static int load_module(Module *module, const char *image) {
    IN_CONTEXT("cuModuleLoadDataEx");
    (void)gpu;
    if (is_one("CUDA_DISABLE_PTX_JIT")) return JIT_DISABLED;
    if (strncmp(image, ".version ", 9) || !strstr(image, "\n.target sm_")) return INVALID_PTX;
    keep_compiled();
    *module = calloc(1, sizeof **module);
    (*module)->text = strdup(image);
    return 0;
}

/* Where options ask for an error log, a compiler's words are put there on failure. */
int cuModuleLoadDataEx(Module *module, const char *image, unsigned count, const int *options, void **values) {
    int code = load_module(module, image);
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = values[i];
        if (options[i] == 6) room = (size_t)values[i];
    }
    if (code && log) snprintf(log, room, "ptxas application ptx input, line 1; fatal   : error %d\n", code);
    return code;
}

int cuModuleGetFunction(Function *function, Module module, const char *name) {
    IN_CONTEXT("cuModuleGetFunction");
    (void)gpu;
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module->text, entry)) return NOT_FOUND;
    *function = calloc(1, sizeof **function);
    (*function)->name = strdup(name);
    return 0;
}

/* What doctor/patient/driver_proof.py's PTX does, block by block. */
static void mix(const unsigned *source, unsigned *result, unsigned seed, unsigned rounds, unsigned blocks, unsigned size) {
    unsigned values[1024];
    for (unsigned block = 0; block < blocks; block++, source += size, result += size) {
        for (unsigned thread = 0; thread < size; thread++) {
            unsigned value = source[thread] ^ seed;
            for (unsigned round = 0; round < rounds; round++) {
                value = value * 0x2545F495u + block * size + thread;
                value ^= value >> 13;
            }
            values[thread] = value;
        }
        for (unsigned thread = 0; thread < size; thread++) {
            unsigned value = values[thread], partner = values[size - 1 - thread], bits;
            float fused = (float)((u64)(value >> 8) * (partner >> 8) + (source[thread] >> 8)); /* rounded once, as fma */
            memcpy(&bits, &fused, sizeof bits);
            result[thread] = value ^ (unsigned)((u64)value * partner >> 32) ^ bits;
        }
    }
}

int cuLaunchKernel(Function function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    IN_CONTEXT("cuLaunchKernel");
    (void)shared; (void)stream; (void)extra;
    if (strcmp(function->name, "gpudoctor_mix")) return NOT_FOUND;
    if (y != 1 || z != 1 || by != 1 || bz != 1 || bx > 1024) return INVALID_VALUE;
    if (gpu_number(gpu, "silent", 0)) return 0;
    unsigned *result = (unsigned *)*(u64 *)parameters[1], count = x * bx;
    mix((const unsigned *)*(u64 *)parameters[0], result, *(unsigned *)parameters[2], *(unsigned *)parameters[3], x, bx);
    long long wrong = gpu_number(gpu, "wrong", 0);
    for (long long i = 0; i < wrong; i++) result[i * count / wrong] ^= 1u << i % 32;
    return 0;
}

int cuEventCreate(Event *event, unsigned flags) {
    IN_CONTEXT("cuEventCreate");
    (void)gpu; (void)flags;
    *event = calloc(1, sizeof **event);
    return 0;
}

int cuEventRecord(Event event, void *stream) {
    IN_CONTEXT("cuEventRecord");
    (void)gpu; (void)stream;
    clock_gettime(CLOCK_MONOTONIC, &event->at);
    return 0;
}

int cuEventElapsedTime(float *ms, Event start, Event end) {
    IN_CONTEXT("cuEventElapsedTime");
    (void)gpu;
    *ms = (float)(end->at.tv_sec - start->at.tv_sec) * 1e3f + (float)(end->at.tv_nsec - start->at.tv_nsec) / 1e6f;
    return 0;
}
