/* test_every_call.c - each function of libnvidia-ml.so.1 with what it should not be given: before the start, with nothing, at random, and
 * on a state file that somebody scribbles on; a seed makes each run the same (CALLS and SEED in the environment make it longer or
 * another) */
#include <string.h>
#include "../../../libnvsim/absent.h"
#include "../../../libnvsim/client_calls.h"
#include "base/random.h"
#include "library.h"

CLIENT_CALLS(NVML_DECLARE)
#define DECLARE_ABSENT(name) int name(void);
ABSENT_OF_DEVICE(DECLARE_ABSENT)
ABSENT_OF_VGPU_HOST(DECLARE_ABSENT)
ABSENT_OF_INSTANCE(DECLARE_ABSENT)
ABSENT_OF_NODE(DECLARE_ABSENT)
ABSENT_HANDLE(DECLARE_ABSENT)

/* Called with six words whatever it takes: all of them travel in registers. */
typedef int (*any_call)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
static const struct row {
    const char *name;
    any_call call;
    const char *parameters; /* as they are declared */
} rows[] = {
#define ROW(type, name, parameters) {#name, (any_call)(void (*)(void))name, #parameters},
#define ROW_DEVICE(name) {#name, (any_call)(void (*)(void))name, "(struct nvml_device *d)"},
#define ROW_INSTANCE(name) {#name, (any_call)(void (*)(void))name, "(struct nvml_gpu_instance *gi)"},
#define ROW_NOTHING(name) {#name, (any_call)(void (*)(void))name, "(void)"},
    NVML_CALLS(ROW) CLIENT_CALLS(ROW) ABSENT_OF_DEVICE(ROW_DEVICE) ABSENT_OF_VGPU_HOST(ROW_DEVICE)
    ABSENT_OF_INSTANCE(ROW_INSTANCE) ABSENT_OF_NODE(ROW_NOTHING) ABSENT_HANDLE(ROW_NOTHING)};
#define ROWS_N (sizeof rows / sizeof *rows)

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Those that start and end, or whose answer is no code. */
static bool is_special(const struct row *r)
{
    return begins(r->name, "nvmlInit") || begins(r->name, "nvmlShutdown") || begins(r->name, "nvmlErrorString");
}

/* Sets and samples are addresses in the caller's memory: a made-up one is the caller's fault. PCIe counting takes 20 ms. */
static bool is_for_random(const struct row *r)
{
    return !is_special(r) && !strstr(r->name, "EventSet") && !strstr(r->name, "RegisterEvents") && !strstr(r->name, "GpmSample") &&
           !strstr(r->name, "GpmMig") && !strstr(r->name, "GpmMetrics") && !strstr(r->name, "PcieThroughput");
}

enum kind { KIND_NONE, KIND_NUMBER, KIND_DEVICE, KIND_INSTANCE, KIND_COMPUTE, KIND_POINTER };

/* What the parameter at `*at` is; moves on to the next. */
static enum kind kind_next(const char **at)
{
    static const char *const handles[] = {"struct nvml_device *", "struct nvml_gpu_instance *", "struct nvml_compute_instance *"};
    const char *text = *at + strspn(*at, "( ,");
    size_t n = strcspn(text, ",)");
    *at = text + n;
    if (n == 0 || begins(text, "void)"))
        return KIND_NONE;
    for (int i = 0; i < 3; i++)
        if (begins(text, handles[i]) && text[strlen(handles[i])] != '*')
            return KIND_DEVICE + i;
    return memchr(text, '*', n) || memchr(text, '[', n) ? KIND_POINTER : KIND_NUMBER;
}

static void expect_code(const struct row *r, int code)
{
    if (code < NVML_OK || (code > NVML_RESET_TYPE_NOT_SUPPORTED && code != NVML_UNKNOWN))
        fail_msg("%s answers %d", r->name, code);
}

static void before_the_start(void **s)
{
    uint64_t words[64] = {0};
    uintptr_t p = (uintptr_t)words;
    for (const struct row *r = rows; r < rows + ROWS_N; r++) {
        if (is_special(r) || begins(r->name, "nvmlGpmSampleFree"))
            continue;
        int code = r->call(0, 0, 0, 0, 0, 0);
        if (code != NVML_UNINITIALIZED && code != NVML_INVALID_ARGUMENT)
            fail_msg("%s with nothing answers %d", r->name, code);
        if (!is_for_random(r))
            continue;
        code = r->call(p, p, p, p, p, p);
        if (code != NVML_UNINITIALIZED && code != NVML_INVALID_ARGUMENT && code != NVML_ARGUMENT_VERSION_MISMATCH)
            fail_msg("%s with something answers %d", r->name, code);
    }
}

/* A good device and nothing else: no answer has a place to go, so no call that gives one may say OK. */
static void nothing_given(void **s)
{
    begin("h100-80gb", 2);
    struct nvml_device *d = gpu(0);
    for (const struct row *r = rows; r < rows + ROWS_N; r++) {
        if (is_special(r))
            continue;
        const char *at = r->parameters;
        expect_code(r, r->call(0, 0, 0, 0, 0, 0));
        int code = r->call(kind_next(&at) == KIND_DEVICE ? (uintptr_t)d : 0, 0, 0, 0, 0, 0);
        expect_code(r, code);
        if (code == NVML_OK && begins(r->name, "nvmlDeviceGet"))
            fail_msg("%s has answered nobody", r->name);
    }
    end();
}

/* ---- at random ---- */

#define SCRATCH_WORDS 8192 /* 64 KiB: room for lists of 64 of anything */

struct caller {
    struct random random;
    uintptr_t device, mig, instance, compute; /* 0: there is none */
    uint64_t *scratch[3];
};

static const uint32_t versions[] = {
    2, NVML_PCI_INFO_EXT_V1, NVML_UUID_V1, NVML_FABRIC_INFO_V2, NVML_FABRIC_INFO_V3, NVML_PLATFORM_INFO_V2, NVML_ADDRESSING_MODE_V1,
    NVML_MEMORY_V2, NVML_PROCESS_DETAIL_LIST_V1, NVML_PROCESS_UTILIZATION_LIST_V1, NVML_TEMPERATURE_V1, NVML_MARGIN_TEMPERATURE_V1,
    NVML_POWER_VALUE_V2, NVML_ECC_SRAM_V1, NVML_GI_PROFILE_V2, NVML_GI_PROFILE_V3, NVML_CI_PROFILE_V2, NVML_CI_PROFILE_V3};

/* Small numbers with a version before them; the third word is where lists have their pointer. */
static void scratch_fill(struct caller *c, uint64_t *words)
{
    struct random *r = &c->random;
    for (int i = 0; i < 256; i++)
        words[i] = random_below(r, 4) ? random_below(r, 65) : 0;
    words[0] = random_below(r, 2) ? versions[random_below(r, sizeof versions / sizeof *versions)] | random_below(r, 65) << 32
                                  : random_below(r, 65) | random_below(r, 65) << 32;
    words[2] = random_below(r, 3) ? (uintptr_t)c->scratch[2] : 0;
}

static uintptr_t argument(struct caller *c, enum kind kind)
{
    struct random *r = &c->random;
    if (kind == KIND_NUMBER || kind == KIND_NONE)
        return random_below(r, 65);
    if (random_below(r, 10) == 0)
        return 0;
    if (kind == KIND_POINTER) {
        uint64_t *words = c->scratch[random_below(r, 2)];
        scratch_fill(c, words);
        return (uintptr_t)words;
    }
    const uintptr_t handles[] = {
        c->device, c->mig, c->instance, c->compute, c->device ^ random_below(r, 1u << 30), (uintptr_t)c->scratch[0]};
    if (random_below(r, 5) == 0)
        return handles[random_below(r, sizeof handles / sizeof *handles)]; /* of another kind, stale, or none at all */
    return kind == KIND_INSTANCE ? c->instance : kind == KIND_COMPUTE ? c->compute : random_below(r, 3) ? c->device : c->mig;
}

static void take_handles(struct caller *c)
{
    struct nvml_device *d = NULL, *mig = NULL;
    struct nvml_gpu_instance *gi = NULL;
    struct nvml_compute_instance *ci = NULL;
    (void)nvmlDeviceGetHandleByIndex_v2(0, &d);
    (void)nvmlDeviceGetMigDeviceHandleByIndex(d, (uint32_t)random_below(&c->random, 7), &mig);
    (void)nvmlDeviceGetGpuInstanceById(d, (uint32_t)random_below(&c->random, 14), &gi);
    (void)nvmlGpuInstanceGetComputeInstanceById(gi, 0, &ci);
    c->device = (uintptr_t)d, c->mig = (uintptr_t)mig, c->instance = (uintptr_t)gi, c->compute = (uintptr_t)ci;
}

static uint32_t calls_n(void)
{
    const char *text = getenv("CALLS");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 20000;
}

static void call_at_random(struct caller *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct row *r = &rows[random_below(&c->random, ROWS_N)];
        if (i % 16 == 0)
            take_handles(c);
        if (!is_for_random(r))
            continue;
        uintptr_t a[6];
        const char *at = r->parameters;
        for (int k = 0; k < 6; k++)
            a[k] = argument(c, kind_next(&at));
        expect_code(r, r->call(a[0], a[1], a[2], a[3], a[4], a[5]));
    }
}

static void caller_begin(struct caller *c, uint64_t seed)
{
    const char *text = getenv("SEED");
    c->random = (struct random){text ? strtoull(text, NULL, 10) : seed};
    for (int i = 0; i < 3; i++) {
        c->scratch[i] = calloc(SCRATCH_WORDS, sizeof **c->scratch);
        assert_non_null(c->scratch[i]);
    }
}

static void caller_end(struct caller *c)
{
    for (int i = 0; i < 3; i++)
        free(c->scratch[i]);
}

static void expect_sane(void)
{
    char uuid[96];
    struct buf b;
    buf_init(&b);
    assert_int_equal(nvmlDeviceGetUUID(gpu(0), uuid, sizeof uuid), NVML_OK);
    nvsim_list(node, &b);
    assert_non_null(strstr(b.data, uuid));
    buf_free(&b);
}

static void at_random(void **s)
{
    static const char *const models[] = {"t4", "a30", "h100-80gb", "gb200"};
    for (uint64_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct caller c;
        int activation;
        begin(models[i], 2);
        caller_begin(&c, 100 + i);
        struct nvsim_work w = node_work(9, 1);
        assert_int_equal(nvsim_work_start(node, &w, NULL), 0);
        if (nvmlDeviceSetMigMode(gpu(0), 1, &activation) == NVML_OK)
            assert_int_equal(nvsim_reset(node, 0, NULL), 0);
        call_at_random(&c, calls_n());
        expect_sane();
        caller_end(&c);
        end();
    }
}

/* The small tables before the records, the records of the two GPUs, a slot of work. Left alone: the lock, for nobody can tell a damaged one
 * from one that is held; the fractions, out of which comes no more than a nonsense reading; faults that make calls wait. */
static void scribble(struct random *r)
{
    struct nvsim_state *state = node->state;
    size_t after = offsetof(struct nvsim_state, lock) + sizeof state->lock, gpus = offsetof(struct nvsim_state, gpus);
    size_t fractions = offsetof(struct nvsim_gpu, temperature_c), fractions_end = offsetof(struct nvsim_gpu, history);
    for (int i = 0; i < 100; i++) {
        size_t in_record = random_below(r, sizeof(struct nvsim_gpu));
        ((unsigned char *)state)[after + random_below(r, gpus - after)] = (unsigned char)random_below(r, 256);
        if (in_record < fractions || in_record >= fractions_end)
            ((unsigned char *)&state->gpus[i / 2 % 2][i % 2])[in_record] = (unsigned char)random_below(r, 256);
    }
    state->process_gpu[random_below(r, 64)] = (uint8_t)random_below(r, 256);
    state->driver = NVSIM_DRIVER_OK;
    for (int i = 0; i < 4; i++) {
        struct nvsim_gpu *g = &state->gpus[i / 2][i % 2];
        g->hang_until_us = g->slow_ms = g->lost = 0;
        for (int k = 0; k < MIG_GI_MAX; k++) /* wrong places, but no wider than a shift may be */
            g->mig.instances[k].start &= 15, g->mig.instances[k].units &= 15;
    }
}

/* Whatever stands in the file, readers stay inside of it. */
static void scribbled_state(void **s)
{
    struct caller c;
    begin("h100-80gb", 2);
    caller_begin(&c, 7);
    for (int round = 0; round < 200; round++) {
        scribble(&c.random);
        call_at_random(&c, 200);
    }
    caller_end(&c);
    end();
}

/* Removed while it is in use, and another made. */
static void state_goes_away(void **s)
{
    begin("t4", 1);
    struct nvml_device *d = gpu(0);
    uint32_t n;
    assert_int_equal(unlink(node_state), 0);
    assert_int_equal(nvmlDeviceGetMinorNumber(d, &n), NVML_OK); /* as a driver stays loaded while it is in use */
    assert_int_equal(nvmlShutdown(), NVML_OK);
    assert_int_equal(nvmlInit_v2(), NVML_DRIVER_NOT_LOADED);
    node_end(node);
    begin("a30", 2);
    assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_OK);
    assert_int_equal(n, 2);
    end();
}

/* What stands at NVSIM_STATE is of another version, of another program, cut off, or may not be opened: refused at the start, no crash. */
static void states_that_are_none(void **s)
{
    begin("t4", 1);
    assert_int_equal(nvmlShutdown(), NVML_OK);
    nvsim_close(node);
    char other[300];
    (void)snprintf(other, sizeof other, "%s.other", node_state); /* a new inode each time: the library knows the old one by it */
    for (int kind = 0; kind < 4; kind++) {
        uint32_t layout = 99;
        FILE *f = fopen(other, "w");
        assert_non_null(f);
        if (kind == 0)
            assert_int_equal(fwrite("nvsim\n\032", 1, 8, f) + fwrite(&layout, 1, sizeof layout, f), 12);
        if (kind == 1)
            assert_true(fputs("apiVersion: v1\nkind: ConfigMap\n", f) >= 0);
        if (kind == 2)
            assert_int_equal(ftruncate(fileno(f), sizeof(struct nvsim_state)), 0); /* as large, and empty */
        assert_int_equal(fclose(f), 0);
        assert_int_equal(setenv("NVSIM_STATE", kind < 3 ? other : node_dir, 1), 0);
        assert_int_equal(nvmlInit_v2(), NVML_UNKNOWN);
        assert_int_equal(nvmlShutdown(), NVML_UNINITIALIZED);
        assert_int_equal(unlink(other), 0);
    }
    assert_int_equal(setenv("NVSIM_STATE", node_state, 1), 0);
    assert_int_equal(nvmlInit_v2(), NVML_OK); /* the good one is still good */
    assert_int_equal(nvmlShutdown(), NVML_OK);
    node_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_start), cmocka_unit_test(nothing_given), cmocka_unit_test(at_random),
        cmocka_unit_test(scribbled_state), cmocka_unit_test(state_goes_away), cmocka_unit_test(states_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
