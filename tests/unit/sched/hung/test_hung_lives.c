/* Random lives of gangs whose GPUs work, rest, or are not measured, on nodes whose network is busy or quiet: after each look what their
 * objects say is compared with a slow reference, which reads the rules of hung.h as sentences over what was measured.
 *
 *     LIVES=1000 LIVES_SEED=7 build/tests/unit/sched/hung/test_sched_hung_lives
 */
#include "../stage.h"
#include <stdlib.h>
#include "base/random.h"
#include "kube/object.h"
#include "sched/hung/hung.h"

enum { GANGS = 2, MEMBERS = 2, NODES = 2, GPUS = 2, STEPS = 60, DEFAULT_S = 30 };
#define GROUPS "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/n/podgroups/g%d"

enum measured { WORKS, GLANCES, RESTS, UNKNOWN }; /* GLANCES: less than is called work */
struct gang {
    enum measured gpus[MEMBERS];
    bool runs[MEMBERS];
    int64_t after_s;       /* 0: it says nothing of it */
    int64_t idle_ms;       /* since when, by the looks; 0: it is not idle */
    bool hangs;            /* as its object is to say */
};
struct life {
    struct random random;
    uint64_t seed;
    int at;
    struct gang gangs[GANGS];
    const char *places[GANGS][MEMBERS]; /* node of each member */
    bool talks[NODES];
    int found_n, over_n;
};
static struct hung *hung;

/* ---- the reference ---- */

static bool alone_on(const struct life *l, int gang, const char *node)
{
    for (int g = 0; g < GANGS; g++)
        for (int i = 0; i < MEMBERS; i++)
            if (g != gang && strcmp(l->places[g][i], node) == 0)
                return false;
    return true;
}

static void is_looked_at(struct life *l, int gang, int64_t now_ms)
{
    struct gang *g = &l->gangs[gang];
    bool all_run = true, works = false, unknown = false, loads = false;
    for (int i = 0; i < MEMBERS; i++) {
        const char *node = l->places[gang][i];
        all_run = all_run && g->runs[i];
        works = works || g->gpus[i] == WORKS;
        unknown = unknown || g->gpus[i] == UNKNOWN;
        loads = loads || (l->talks[node[1] - '0'] && alone_on(l, gang, node));
    }
    bool idle = all_run && !works && !unknown && !loads;
    g->idle_ms = !idle ? 0 : g->idle_ms ? g->idle_ms : now_ms;
    int64_t limit_ms = (g->after_s ? g->after_s : DEFAULT_S) * 1000;
    bool hangs = idle && now_ms - g->idle_ms >= limit_ms;
    if (hangs) {
        l->found_n += !g->hangs;
        g->hangs = true;
    } else if (works || !all_run || idle) { /* of what is not known nothing else is said than before */
        l->over_n += g->hangs;
        g->hangs = false;
    }
}

/* ---- the world ---- */

static void change(const char *path, const char *text)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, path, bytes_of(text), NULL, NULL);
}

static const char *devices_of(int node)
{
    const char *list = "";
    for (int i = 0; i < GPUS; i++)
        list = arena_printf(w.a, "%s%s{\\\"r\\\":\\\"nvidia.com/gpu\\\",\\\"id\\\":\\\"GPU-%d%d\\\",\\\"gpu\\\":%d,\\\"link\\\":0,\\\"healthy\\\":true}",
                            list, i ? "," : "", node, i, i);
    return list;
}

static void own_node(int n)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n%d\",\"labels\":{\"node\":\"n%d\"},\"annotations\":{"
                        "\"capstan.dev/devices\":\"[%s]\"}},"
                        "\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"8Gi\",\"pods\":\"10\",\"nvidia.com/gpu\":\"%d\"},"
                        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}", n, n, devices_of(n), GPUS));
}

/* Each gang on a node of its own, or both on both. */
static void member(int gang, int i, bool mixed)
{
    create(arena_printf(w.a,
                        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"g%d-%d\",\"namespace\":\"n\",\"labels\":{"
                        "\"scheduling.x-k8s.io/pod-group\":\"g%d\"}},\"spec\":{\"schedulerName\":\"coscheduling\",\"nodeSelector\":{"
                        "\"node\":\"n%d\"},\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]}}",
                        gang, i, gang, mixed ? i : gang));
}

static void phase_is(int gang, int i, const char *phase)
{
    change(arena_printf(w.a, PODS "/g%d-%d/status", gang, i), arena_printf(w.a, "{\"status\":{\"phase\":\"%s\"}}", phase));
}

static void born(struct life *l, uint64_t seed)
{
    *l = (struct life){.random = {seed}, .seed = seed};
    stage_open(NULL);
    for (int n = 0; n < NODES; n++)
        own_node(n);
    scheduler_start();
    for (int g = 0; g < GANGS; g++) {
        create(arena_printf(w.a, "{\"apiVersion\":\"scheduling.x-k8s.io/v1alpha1\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"g%d\","
                                 "\"namespace\":\"n\"},\"spec\":{\"minMember\":%d}}", g, MEMBERS));
        for (int i = 0; i < MEMBERS; i++)
            member(g, i, seed % 2);
    }
    run(3000);
    for (int g = 0; g < GANGS; g++)
        for (int i = 0; i < MEMBERS; i++) {
            l->places[g][i] = json_text(json_path(get(arena_printf(w.a, PODS "/g%d-%d", g, i)), "spec", "nodeName", NULL), "");
            assert_true(*l->places[g][i]);
            phase_is(g, i, "Running");
            l->gangs[g].runs[i] = true;
        }
    hung = hung_new(w.scheduler, DEFAULT_S * 1000);
    run(1000); /* looks are in the midst of steps */
}

/* "nvidia.com/gpu=GPU-01" */
static const char *device_of(int gang, int i)
{
    const char *said = object_annotation(get(arena_printf(w.a, PODS "/g%d-%d", gang, i)), "capstan.dev/devices"), *id = strstr(said, "GPU-");
    assert_non_null(id);
    return arena_text_n(w.a, id, strlen("GPU-00"));
}

static void is_measured(const struct life *l)
{
    for (int n = 0; n < NODES; n++) {
        const char *units = "";
        for (int g = 0; g < GANGS; g++)
            for (int i = 0; i < MEMBERS; i++) {
                static const char *const activities[] = {"0.5", "0.005", "0"};
                enum measured m = l->gangs[g].gpus[i];
                if (l->places[g][i][1] - '0' != n || m == UNKNOWN)
                    continue;
                units = arena_printf(w.a, "%s%s{\\\"id\\\":\\\"%s\\\",\\\"activity\\\":%s}", units, *units ? "," : "", device_of(g, i),
                                     activities[m]);
            }
        change(arena_printf(w.a, "/api/v1/nodes/n%d", n),
               arena_printf(w.a, "{\"metadata\":{\"annotations\":{\"capstan.dev/gpu-feedback\":\"{\\\"at\\\":%lld,\\\"period\\\":5,\\\"network\\\":%d,"
                                 "\\\"units\\\":[%s]}\"}}}",
                            (long long)(loop_wall_ms(w.loop) / 1000), l->talks[n] ? 5000000 : 1000, units));
    }
}

static void happens(struct life *l)
{
    int n = (int)random_below(&l->random, GANGS);
    struct gang *g = &l->gangs[n];
    int i = (int)random_below(&l->random, MEMBERS);
    uint64_t dice = random_below(&l->random, 24);
    if (dice < 4) {
        g->gpus[i] = (enum measured)random_below(&l->random, 4);
    } else if (dice < 8) {
        for (int k = 0; k < MEMBERS; k++) /* as a gang hangs */
            g->gpus[k] = RESTS;
    } else if (dice == 8) {
        i = (int)random_below(&l->random, NODES);
        l->talks[i] = !l->talks[i] && random_permille(&l->random, 500);
    } else if (dice == 9) {
        g->runs[i] = !g->runs[i];
        phase_is(n, i, g->runs[i] ? "Running" : "Pending");
    } else if (dice == 10) {
        g->after_s = (int64_t[]){0, 10, 15, 60}[random_below(&l->random, 4)];
        change(arena_printf(w.a, GROUPS, n), arena_printf(w.a, "{\"metadata\":{\"annotations\":{\"capstan.dev/hung-after-seconds\":%s}}}",
                                                          g->after_s ? arena_printf(w.a, "\"%lld\"", (long long)g->after_s) : "null"));
    }
}

static void compare(const struct life *l)
{
    for (int n = 0; n < GANGS; n++) {
        const struct gang *g = &l->gangs[n];
        bool says = *object_annotation(get(arena_printf(w.a, GROUPS, n)), "capstan.dev/hung") != '\0';
        if (says != g->hangs)
            fail_msg("seed %llu, step %d: g%d %s, idle since %lld, GPUs %d %d: its object says %d", (unsigned long long)l->seed, l->at, n,
                     g->hangs ? "hangs" : "does not hang", (long long)g->idle_ms, g->gpus[0], g->gpus[1], says);
    }
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_gangs_hang_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 20), first = number_of("LIVES_SEED", 1);
    int found_n = 0, over_n = 0;
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l;
        born(&l, seed);
        for (l.at = 0; l.at < STEPS; l.at++) {
            int64_t began_ms = loop_wall_ms(w.loop);
            happens(&l);
            is_measured(&l);
            run(began_ms + HUNG_LOOK_MS - loop_wall_ms(w.loop)); /* one look */
            for (int g = 0; g < GANGS; g++)
                is_looked_at(&l, g, began_ms);
            compare(&l);
            run(began_ms + HUNG_LOOK_MS - loop_wall_ms(w.loop) > 0 ? began_ms + HUNG_LOOK_MS - loop_wall_ms(w.loop) : 0);
        }
        found_n += l.found_n;
        over_n += l.over_n;
        hung_free(hung);
        clients_close();
        server_close();
    }
    assert_true(lives_n < 20 || (found_n > 0 && over_n > 0)); /* else this tries nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_gangs_hang_by_the_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
