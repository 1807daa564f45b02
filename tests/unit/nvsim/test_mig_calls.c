/* test_mig_calls.c - what NVML's documentation says of the calls that make and end MIG instances, against arguments that no client of ours
 * sends
 *
 * An oracle that knows only what the library says of profiles and placements foretells each answer: a profile or a placement that it does
 * not list is INVALID_ARGUMENT, one that is listed and not free INSUFFICIENT_RESOURCES, an instance with something in it IN_USE.
 */
#include <string.h>
#include "base/random.h"
#include "library.h"

#define PROFILES 20 /* more than NVML has */
#define STEPS 1500

struct oracle { /* of one GPU or GPU instance: what may be made there, and what is */
    struct {
        uint32_t id, most_n, places_n;
        struct nvml_placement places[16];
    } profiles[PROFILES];
    uint32_t profiles_n;
};
struct made {
    uint32_t id, profile, start, size, compute_n;
    struct nvml_gpu_instance *handle;
};
static struct made instances[16];
static uint32_t instances_n;
static struct random dice;

static void oracle_read(struct nvml_device *d, struct oracle *o)
{
    memset(o, 0, sizeof *o);
    for (uint32_t i = 0; i < PROFILES; i++) {
        struct nvml_gi_profile info;
        uint32_t at = o->profiles_n, n = 0;
        if (nvmlDeviceGetGpuInstanceProfileInfo(d, i, &info) != NVML_OK)
            continue;
        o->profiles[at].id = info.id;
        o->profiles[at].most_n = info.instances_n;
        assert_int_equal(nvmlDeviceGetGpuInstancePossiblePlacements_v2(d, info.id, NULL, &n), NVML_OK);
        assert_true(n > 0 && n <= 16);
        if (n > 1) { /* the protocol of two calls: too little room says how much is needed */
            uint32_t room = n - 1;
            assert_int_equal(nvmlDeviceGetGpuInstancePossiblePlacements_v2(d, info.id, o->profiles[at].places, &room),
                             NVML_INSUFFICIENT_SIZE);
            assert_int_equal(room, n);
        }
        assert_int_equal(nvmlDeviceGetGpuInstancePossiblePlacements_v2(d, info.id, o->profiles[at].places, &n), NVML_OK);
        o->profiles[at].places_n = n;
        o->profiles_n++;
    }
    assert_true(o->profiles_n > 0);
}

static int profile_find(const struct oracle *o, uint32_t id)
{
    for (uint32_t i = 0; i < o->profiles_n; i++)
        if (o->profiles[i].id == id)
            return (int)i;
    return -1;
}

static bool is_free(struct nvml_placement p)
{
    for (uint32_t i = 0; i < instances_n; i++)
        if (p.start < instances[i].start + instances[i].size && instances[i].start < p.start + p.size)
            return false;
    return true;
}

static bool is_listed(const struct oracle *o, int profile, struct nvml_placement p)
{
    for (uint32_t i = 0; profile >= 0 && i < o->profiles[profile].places_n; i++)
        if (o->profiles[profile].places[i].start == p.start && o->profiles[profile].places[i].size == p.size)
            return true;
    return false;
}

/* Another limit than place: media engines that another instance has. The library says so itself. */
static bool is_left(struct nvml_device *d, uint32_t profile_id)
{
    uint32_t n = 0;
    return nvmlDeviceGetGpuInstanceRemainingCapacity(d, profile_id, &n) == NVML_OK && n > 0;
}

static void take(struct nvml_gpu_instance *handle, uint32_t profile_id)
{
    struct nvml_gi_info info;
    assert_int_equal(nvmlGpuInstanceGetInfo(handle, &info), NVML_OK);
    assert_int_equal(info.profile_id, profile_id);
    assert_true(instances_n < 16);
    assert_true(is_free(info.placement)); /* also what the library has chosen */
    for (uint32_t i = 0; i < instances_n; i++)
        assert_int_not_equal(instances[i].id, info.id);
    instances[instances_n++] = (struct made){info.id, profile_id, info.placement.start, info.placement.size, 0, handle};
}

static uint32_t any_profile(const struct oracle *o)
{
    return random_below(&dice, 4) ? o->profiles[random_below(&dice, o->profiles_n)].id : (uint32_t)random_below(&dice, 70);
}

static void create_anywhere(struct nvml_device *d, const struct oracle *o)
{
    uint32_t id = any_profile(o);
    struct nvml_gpu_instance *handle = NULL;
    int profile = profile_find(o, id);
    bool left = is_left(d, id), room = false;
    for (uint32_t i = 0; profile >= 0 && i < o->profiles[profile].places_n; i++)
        room = room || is_free(o->profiles[profile].places[i]);
    int code = nvmlDeviceCreateGpuInstance(d, id, &handle);
    assert_int_equal(code, profile < 0 ? NVML_INVALID_ARGUMENT : left ? NVML_OK : NVML_INSUFFICIENT_RESOURCES);
    assert_true(!left || room);
    if (code == NVML_OK)
        take(handle, id);
}

static void create_at(struct nvml_device *d, const struct oracle *o)
{
    uint32_t id = any_profile(o);
    int profile = profile_find(o, id);
    struct nvml_placement p = {(uint32_t)random_below(&dice, 10), (uint32_t)random_below(&dice, 10)};
    if (profile >= 0 && random_below(&dice, 3))
        p = o->profiles[profile].places[random_below(&dice, o->profiles[profile].places_n)];
    if (random_below(&dice, 50) == 0)
        p.start = random_below(&dice, 2) ? 0xffffffff : 0x80000000;
    struct nvml_gpu_instance *handle = NULL;
    bool left = is_left(d, id);
    int want = profile < 0 || !is_listed(o, profile, p) ? NVML_INVALID_ARGUMENT
               : is_free(p) && left                     ? NVML_OK
                                                        : NVML_INSUFFICIENT_RESOURCES;
    int code = nvmlDeviceCreateGpuInstanceWithPlacement(d, id, &p, &handle);
    if (code != want)
        fail_msg("profile %u at %u size %u: %d, want %d", id, p.start, p.size, code, want);
    if (code != NVML_OK)
        return;
    take(handle, id);
    assert_int_equal(instances[instances_n - 1].start, p.start);
    assert_int_equal(instances[instances_n - 1].size, p.size);
}

/* Compute instances: one of all that the GPU instance lists, or of none. */
static void create_compute(struct made *m)
{
    uint32_t id = (uint32_t)random_below(&dice, 10), left = 0, n = 8;
    struct nvml_placement places[8], p = {(uint32_t)random_below(&dice, 9), (uint32_t)random_below(&dice, 9)};
    struct nvml_compute_instance *ci = NULL;
    bool known = nvmlGpuInstanceGetComputeInstanceRemainingCapacity(m->handle, id, &left) == NVML_OK, listed = false;
    assert_int_equal(nvmlGpuInstanceGetComputeInstancePossiblePlacements(m->handle, id, places, &n),
                     known ? NVML_OK : NVML_INVALID_ARGUMENT);
    if (known && random_below(&dice, 2))
        p = places[random_below(&dice, n)];
    for (uint32_t i = 0; known && i < n; i++)
        listed = listed || (places[i].start == p.start && places[i].size == p.size);
    if (random_below(&dice, 2)) {
        int code = nvmlGpuInstanceCreateComputeInstance(m->handle, id, &ci);
        assert_int_equal(code, !known ? NVML_INVALID_ARGUMENT : left ? NVML_OK : NVML_INSUFFICIENT_RESOURCES);
        m->compute_n += code == NVML_OK;
        return;
    }
    int code = nvmlGpuInstanceCreateComputeInstanceWithPlacement(m->handle, id, &p, &ci);
    if (!listed)
        assert_int_equal(code, NVML_INVALID_ARGUMENT);
    else
        assert_true(code == NVML_OK ? left > 0 : code == NVML_INSUFFICIENT_RESOURCES);
    if (code != NVML_OK)
        return;
    struct nvml_ci_info info;
    assert_int_equal(nvmlComputeInstanceGetInfo_v2(ci, &info), NVML_OK);
    assert_int_equal(info.placement.start, p.start);
    assert_int_equal(info.placement.size, p.size);
    m->compute_n++;
}

static void destroy(struct made *m)
{
    int code = nvmlGpuInstanceDestroy(m->handle);
    assert_int_equal(code, m->compute_n ? NVML_IN_USE : NVML_OK);
    if (code == NVML_OK) {
        assert_int_equal(nvmlGpuInstanceDestroy(m->handle), NVML_NOT_FOUND); /* a stale handle names nobody else */
        *m = instances[--instances_n];
        return;
    }
    for (uint32_t id = 0; id < 8; id++) {
        struct nvml_compute_instance *ci = NULL;
        if (nvmlGpuInstanceGetComputeInstanceById(m->handle, id, &ci) != NVML_OK || random_below(&dice, 2))
            continue;
        assert_int_equal(nvmlComputeInstanceDestroy(ci), NVML_OK);
        m->compute_n--;
    }
}

static void as_documented(void **s)
{
    static const char *const models[] = {"a30", "a100-40gb", "h100-80gb", "rtx-pro-6000"};
    (void)s;
    for (uint64_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct oracle o;
        int activation;
        begin(models[k], 1);
        struct nvml_device *d = gpu(0);
        dice = (struct random){k + 1};
        instances_n = 0;
        assert_int_equal(nvmlDeviceSetMigMode(d, 1, &activation), NVML_OK);
        assert_int_equal(nvsim_reset(node, 0, NULL), 0);
        d = gpu(0);
        oracle_read(d, &o);
        for (int step = 0; step < STEPS; step++) {
            uint64_t what = random_below(&dice, 10);
            struct made *m = instances_n ? &instances[random_below(&dice, instances_n)] : NULL;
            if (what < 3 || !m)
                create_anywhere(d, &o);
            else if (what < 6)
                create_at(d, &o);
            else if (what < 8)
                create_compute(m);
            else
                destroy(m);
        }
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_documented)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
