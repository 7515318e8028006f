/* Fake libcuda.so.1: the calls that gpudoctor makes, answered from a scenario (see scenario.h and machines/README.md). */
#include "scenario.h"

typedef struct { unsigned char bytes[16]; } CUuuid;
enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, STUB_LIBRARY = 34, NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_FOUND = 500 };

static int initialised;
static int visible[64], visible_count;

static const struct { int code; const char *name, *text; } errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
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

/* The index that one word of CUDA_VISIBLE_DEVICES names, -1 where it names none. */
static int named(const char *word, int count) {
    char *end;
    long index = strtol(word, &end, 10);
    if (end != word && !*end) return index >= 0 && index < count ? (int)index : -1;
    for (int gpu = 0; gpu < count; gpu++) {
        const char *uuid = gpu_text(gpu, "uuid");
        if (*word && uuid && !strncmp(uuid, word, strlen(word))) return gpu;
        for (int slot = 0; slot < 8; slot++) {
            char field[32];
            snprintf(field, sizeof field, "mig.%d.uuid", slot);
            const char *mig = gpu_text(gpu, field);
            if (mig && !strcmp(mig, word)) return gpu;
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
        for (int gpu = 0; gpu < count && gpu < 64; gpu++) visible[visible_count++] = gpu;
        return;
    }
    char copy[1024], *rest = copy, *word;
    snprintf(copy, sizeof copy, "%s", list);
    while (visible_count < 64 && (word = strsep(&rest, ","))) {
        int gpu = named(trim(word), count);
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
        if (code) return code; \
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

static int uuid_of(CUuuid *uuid, int gpu) {
    const char *text = gpu_text(gpu, "uuid");
    memset(uuid, 0, sizeof *uuid);
    if (!text) return 0;
    if (!strncmp(text, "GPU-", 4)) text += 4;
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
    return uuid_of(uuid, gpu);
}

int cuDeviceGetUuid_v2(CUuuid *uuid, int device) {
    DEVICE("cuDeviceGetUuid");
    return uuid_of(uuid, gpu);
}

int cuDeviceGetPCIBusId(char *text, int size, int device) {
    DEVICE("cuDeviceGetPCIBusId");
    const char *bus = gpu_text(gpu, "pci.bus");
    snprintf(text, (size_t)size, "%s", bus ? bus : "0000:00:00.0");
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
