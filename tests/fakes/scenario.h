/* Scenario of a fake driver: lines `key = value` of the file named by GPUDOCTOR_FAKE_SCENARIO, read once.
 * `fail.FUNCTION = CODE | hang | crash | abort | exit`, or for one GPU `fail.FUNCTION.N = ...`.
 * `key = @NAME`: the value is in the file NAME beside the scenario, read anew each time, 0 while it is not there: so it
 * can change during a run, and one library's doing can be seen through the other.
 * `call_ms = N`: how long each call of NVML takes that is counted there.
 * GPUDOCTOR_FAKE_CALLS: a file that gets a line for every call, `call NAME(WHAT) GPU`, and one for each field value that
 * a call asks for, `field ID GPU`. */
#ifndef SCENARIO_H
#define SCENARIO_H
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LINES = 8192, MAX_LINE = 512 };

static struct { char *key, *value; } scenario_lines[MAX_LINES];
static int scenario_count = -1;

static char *trim(char *text) {
    while (*text == ' ' || *text == '\t') text++;
    size_t end = strlen(text);
    while (end && strchr(" \t\r\n", text[end - 1])) text[--end] = 0;
    return text;
}

static void scenario_load(void) {
    scenario_count = 0;
    const char *path = getenv("GPUDOCTOR_FAKE_SCENARIO");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[MAX_LINE];
    while (file && scenario_count < MAX_LINES && fgets(line, sizeof line, file)) {
        char *text = trim(line), *equals = strchr(text, '=');
        if (!equals || *text == '#') continue;
        *equals = 0;
        scenario_lines[scenario_count].key = strdup(trim(text));
        scenario_lines[scenario_count++].value = strdup(trim(equals + 1));
    }
    if (file) fclose(file);
}

/* Path of a file beside the scenario. */
static void beside(const char *name, char *path, size_t size) {
    const char *scenario = getenv("GPUDOCTOR_FAKE_SCENARIO"), *slash = scenario ? strrchr(scenario, '/') : NULL;
    snprintf(path, size, "%.*s%s", slash ? (int)(slash + 1 - scenario) : 0, scenario ? scenario : "", name);
}

/* Of a value @NAME what that file says now; another value as it is. */
static const char *now(const char *value) {
    static char read[8][MAX_LINE];
    static int next;
    if (*value != '@') return value;
    char path[4096], *text = read[next++ % 8];
    beside(value + 1, path, sizeof path);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, MAX_LINE, file)) strcpy(text, "0");
    if (file) fclose(file);
    return trim(text);
}

/* Value of a key as it stands in the scenario, NULL where it is not set. */
static const char *written(const char *key) {
    if (scenario_count < 0) scenario_load();
    for (int i = scenario_count - 1; i >= 0; i--)
        if (!strcmp(scenario_lines[i].key, key)) return scenario_lines[i].value;
    return NULL;
}

/* Value of a key, NULL where it is not set. */
static const char *get(const char *key) {
    const char *value = written(key);
    return value ? now(value) : NULL;
}

/* gpu.N.FIELD, else gpu.*.FIELD (the same for all GPUs), else NULL. */
static const char *gpu_text(int gpu, const char *field) {
    char key[160];
    snprintf(key, sizeof key, "gpu.%d.%s", gpu, field);
    const char *value = get(key);
    if (value) return value;
    snprintf(key, sizeof key, "gpu.*.%s", field);
    return get(key);
}

static long long number(const char *text, long long otherwise) { return text ? strtoll(text, NULL, 0) : otherwise; }

static long long gpu_number(int gpu, const char *field, long long otherwise) {
    return number(gpu_text(gpu, field), otherwise);
}

static char asked_for[64];

/* What a call is asked for, for the log: the arguments that choose a field. Said just before `told`. */
#define ASKED_FOR(...) snprintf(asked_for, sizeof asked_for, __VA_ARGS__)

static void logged(const char *kind, const char *what, int gpu) {
    const char *path = getenv("GPUDOCTOR_FAKE_CALLS");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s %s%s %d\n", kind, what, asked_for, gpu);
    fclose(file);
}

/* The code that a function is told to return, 0 where it is told nothing; may hang or end the process instead. */
static int told(const char *function, int gpu) {
    char key[160];
    logged("call", function, gpu);
    *asked_for = 0;
    const char *takes_ms = get("call_ms");
    if (takes_ms) usleep((useconds_t)(strtod(takes_ms, NULL) * 1000));
    snprintf(key, sizeof key, "takes_ms.%s", function);
    if ((takes_ms = get(key))) usleep((useconds_t)(strtod(takes_ms, NULL) * 1000));
    snprintf(key, sizeof key, "fail.%s.%d", function, gpu);
    const char *value = get(key);
    if (!value) {
        snprintf(key, sizeof key, "fail.%s", function);
        value = get(key);
    }
    if (!value) return 0;
    if (!strcmp(value, "hang")) for (;;) pause();
    if (!strcmp(value, "crash")) { raise(SIGSEGV); _exit(139); }
    if (!strcmp(value, "abort")) abort();
    if (!strcmp(value, "exit")) exit(1);
    return (int)number(value, 0);
}
#endif
