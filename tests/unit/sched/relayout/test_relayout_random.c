/* test_relayout_random.c - pods come and go at random, and an agent that takes its time: no GPU that changes is anybody's, at no time */
#include <stdio.h>
#include <string.h>
#include "stage.h"
#include "base/random.h"
#include "kube/object.h"
#include "sched/relayout/relayout.h"

enum { GPUS = 3, PODS_MOST = 12, STEPS = 1000, LIVES = 12, KINDS = 4 };
#define NODE "/api/v1/nodes/a"

static const char *const kinds[KINDS] = {"1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"};
static struct {
    struct relayout *relayout;
    struct random r;
    uint32_t has[GPUS][KINDS];    /* all 0: no MIG */
    uint32_t first[GPUS], next;   /* number of its first device */
    char layout[64];              /* applied */
    int64_t apply_ms;             /* a newer one is, then; 0: there is none */
    uint32_t changes_n, starts_n; /* GPUs; pods that got a place */
} x;

static void patch(const char *path, const char *body)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(body), NULL, NULL);
    run(10);
}

static void tell(const char *state)
{
    const char *devices = "", *amounts = "";
    uint32_t sums[KINDS] = {0}, whole_n = 0;
    for (uint32_t g = 0; g < GPUS; g++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < KINDS; k++)
            for (uint32_t i = 0; i < x.has[g][k]; i++, sums[k]++)
                devices = arena_printf(w.a, "%s%s{\\\"r\\\":\\\"nvidia.com/mig-%s\\\",\\\"id\\\":\\\"MIG-%u\\\",\\\"gpu\\\":%u}", devices,
                                       *devices ? "," : "", kinds[k], x.first[g] + n++, g);
        whole_n += n == 0;
        if (n == 0)
            devices = arena_printf(w.a, "%s%s{\\\"r\\\":\\\"nvidia.com/gpu\\\",\\\"id\\\":\\\"GPU-%u\\\",\\\"gpu\\\":%u}", devices,
                                   *devices ? "," : "", x.first[g], g);
    }
    for (uint32_t k = 0; k < KINDS; k++)
        amounts = arena_printf(w.a, "%s,\"nvidia.com/mig-%s\":\"%u\"", amounts, kinds[k], sums[k]);
    amounts = arena_printf(w.a, "{\"nvidia.com/gpu\":\"%u\"%s}", whole_n, amounts);
    patch(NODE, arena_printf(w.a,
                             "{\"metadata\":{\"annotations\":{\"capstan.dev/devices\":\"[%s]\"},\"labels\":{\"nvidia.com/mig.config.state\":\"%s\"}}}",
                             devices, state));
    patch(NODE "/status", arena_printf(w.a, "{\"status\":{\"allocatable\":%s,\"capacity\":%s}}", amounts, amounts));
}

/* A bound pod has one of these devices. */
static bool is_used(const struct json *pods, uint32_t first, uint32_t n)
{
    JSON_EACH (pod, json_get(pods, "items")) {
        const char *at = strchr(object_annotation(pod, "capstan.dev/devices"), '=');
        for (; at && *at; at = strpbrk(at + 1, "=,;")) {
            int64_t id = -1;
            const char *number = strchr(at, '-');
            if (number && bytes_int64((struct bytes){number + 1, strcspn(number + 1, ",;")}, &id) && id >= first && id < first + n)
                return true;
        }
    }
    return false;
}

static void apply_gpu(const char *entry, uint32_t g, const struct json *pods)
{
    uint32_t to[KINDS] = {0}, n = 0;
    const char *end = strstr(entry, "  - devices:");
    _cleanup_free_ char *text = mem_text_n(entry, end ? (size_t)(end - entry) : strlen(entry));
    for (uint32_t k = 0; k < KINDS; k++) {
        const char *at = strstr(text, arena_printf(w.a, "\"%s\": ", kinds[k]));
        to[k] = at ? (uint32_t)(strchr(at, ':')[2] - '0') : 0;
        n += x.has[g][k];
    }
    if (memcmp(to, x.has[g], sizeof to) == 0)
        return;
    if (is_used(pods, x.first[g], n ? n : 1))
        fail_msg("GPU %u is used, and changes: %s", g, entry);
    memcpy(x.has[g], to, sizeof to);
    x.first[g] = x.next;
    x.next += 8;
    x.changes_n++;
}

/* As an agent does: a while after the label changed. */
static void agent(void)
{
    const struct json *node = get(NODE);
    const char *layout = json_text(json_path(node, "metadata", "labels", "nvidia.com/mig.config", NULL), "");
    if (text_equal(layout, x.layout))
        return;
    if (!x.apply_ms)
        x.apply_ms = loop_now_ms(w.loop) + (int64_t)random_below(&x.r, 20000);
    if (loop_now_ms(w.loop) < x.apply_ms)
        return;
    const char *at = object_annotation(node, "capstan.dev/mig-layouts");
    const struct json *pods = get(PODS);
    for (uint32_t g = 0; (at = strstr(at, "- devices: [")); g++) {
        at += sizeof "- devices: [" - 1;
        apply_gpu(strchr(at, '\n'), (uint32_t)(*at - '0'), pods);
    }
    (void)snprintf(x.layout, sizeof x.layout, "%s", layout);
    x.apply_ms = 0;
    tell("success");
}

static void come_and_go(void)
{
    uint32_t n = (uint32_t)random_below(&x.r, PODS_MOST), k = (uint32_t)random_below(&x.r, KINDS + 1);
    const char *path = arena_printf(w.a, PODS "/p%u", n);
    const char *resource = k < KINDS ? arena_printf(w.a, "nvidia.com/mig-%s", kinds[k]) : "nvidia.com/gpu";
    const struct json *pod = get(path);
    x.starts_n += *json_text(json_path(pod, "spec", "nodeName", NULL), "") != '\0';
    if (json_get(pod, "metadata")) {
        kube_delete(w.user, path, BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
        run(10);
        return;
    }
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%u\",\"namespace\":\"n\"},\"spec\":{"
                        "\"schedulerName\":\"capstan\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"%s\":\"1\"},"
                        "\"requests\":{\"%s\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
                        n, resource, resource));
}

static void one_life(uint64_t seed, uint32_t *changes_n, uint32_t *starts_n)
{
    stage_open(NULL);
    memset(&x, 0, sizeof x);
    x.r.state = seed;
    create("{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"labels\":{\"capstan.dev/mig-demand\":\"true\","
           "\"nvidia.com/mig.strategy\":\"mixed\",\"nvidia.com/gpu.product\":\"NVIDIA-A100-SXM4-80GB\"}},\"status\":{\"allocatable\":{\"cpu\":"
           "\"64\",\"pods\":\"110\"},\"capacity\":{\"cpu\":\"64\",\"pods\":\"110\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    for (uint32_t g = 0; g < GPUS; g++, x.next += 8)
        x.first[g] = x.next;
    scheduler_start();
    x.relayout = relayout_new(w.scheduler);
    run(100);
    tell("success");
    for (int i = 0; i < STEPS; i++) {
        if (random_below(&x.r, 3) == 0)
            come_and_go();
        run((int64_t)random_below(&x.r, 12000));
        agent();
    }
    *changes_n += x.changes_n;
    *starts_n += x.starts_n;
    relayout_free(x.relayout);
    (void)teardown(NULL);
}

static void nobody_loses_a_gpu(void **state)
{
    uint32_t changes_n = 0, starts_n = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= LIVES; seed++)
        one_life(seed, &changes_n, &starts_n);
    print_message("# %u GPUs changed, %u pods had a place when they went\n", changes_n, starts_n);
    assert_in_range(changes_n, 20 * LIVES, STEPS * LIVES);
    assert_in_range(starts_n, 80 * LIVES, STEPS * LIVES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_loses_a_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
