/* Random lives of pod groups of four dialects on one node that is too small for all: pods are made, run, end well or badly, and are
 * deleted; the kubelet is played. After each step what each group says of itself is compared with a slow reference, which reads the rules
 * of its dialect as sentences over the pods that are there, and no group has started in part.
 *
 *     LIVES=1000 LIVES_SEED=7 build/tests/unit/sched/groups/test_sched_group_lives
 */
#include "../stage.h"
#include <stdlib.h>
#include "base/random.h"
#include "kube/object.h"

enum { PODS_MOST = 4, STEPS = 60, GPUS = 6, SETTLE_MS = 6000, LONG_MS = 70000 };

enum dialect { VOLCANO, COSCHEDULING, NATIVE, KAI, DIALECTS_N };
static const struct {
    const char *name, *api, *spec, *pod, *pod_spec; /* spec: with the fewest; pod: metadata that says of which group it is */
} dialects[DIALECTS_N] = {
    {"volcano", "scheduling.volcano.sh/v1beta1", "{\"minMember\":%d}", "\"annotations\":{\"scheduling.k8s.io/group-name\":\"volcano\"}",
     "\"schedulerName\":\"volcano\""},
    {"cosched", "scheduling.x-k8s.io/v1alpha1", "{\"minMember\":%d}", "\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"cosched\"}",
     "\"schedulerName\":\"coscheduling\""},
    {"native", "scheduling.k8s.io/v1beta1", "{\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}}", "\"labels\":{}",
     "\"schedulingGroup\":{\"podGroupName\":\"native\"}"},
    {"kai", "scheduling.run.ai/v2alpha2", "{\"minMember\":%d,\"queue\":\"q\"}", "\"annotations\":{\"pod-group-name\":\"kai\"}",
     "\"schedulerName\":\"kai-scheduler\""}};

enum is { ABSENT, WAITS, RUNS, SUCCEEDED, FAILED };
struct one {
    enum is is;
    bool bound; /* as the server says it: where it stands is the scheduler's to decide */
};
struct group {
    int least;
    struct one pods[PODS_MOST];
    const char *phase; /* as it should be; of NATIVE: whether its condition is True */
    bool started;
};
struct life {
    struct random random;
    uint64_t seed;
    int at;
    struct group groups[DIALECTS_N];
};

/* ---- the reference: sentences ---- */

static int how_many(const struct group *g, enum is is)
{
    int n = 0;
    for (int i = 0; i < PODS_MOST; i++)
        n += g->pods[i].is == is;
    return n;
}

static int bound_n(const struct group *g)
{
    int n = 0;
    for (int i = 0; i < PODS_MOST; i++)
        n += g->pods[i].is != ABSENT && g->pods[i].bound;
    return n;
}

static int all_n(const struct group *g)
{
    return PODS_MOST - how_many(g, ABSENT);
}

static bool is_any(const char *phase, const char *one, const char *other)
{
    return strcmp(phase, one) == 0 || strcmp(phase, other) == 0;
}

static const char *of_volcano(const struct group *g)
{
    int ended = how_many(g, SUCCEEDED) + how_many(g, FAILED), placed = bound_n(g);
    if (ended > 0 && ended == all_n(g) && ended >= g->least)
        return "Completed";
    if (placed > 0 && placed >= g->least)
        return "Running";
    if (strcmp(g->phase, "Completed") == 0 && ended == all_n(g))
        return g->phase; /* nobody goes on */
    if (is_any(g->phase, "Running", "Unknown") && placed > 0)
        return "Unknown"; /* it was whole once, and what is left of it stands still */
    return "Inqueue";     /* its queue has no bounds */
}

static const char *of_coscheduling(const struct group *g)
{
    int running = how_many(g, RUNS), succeeded = how_many(g, SUCCEEDED), failed = how_many(g, FAILED);
    bool is_mended = failed == 0 && running > 0 && running + succeeded >= g->least;
    if (strcmp(g->phase, "Finished") == 0 || (strcmp(g->phase, "Failed") == 0 && !is_mended))
        return g->phase;
    if (succeeded >= g->least)
        return "Finished";
    if (failed > 0 && running + succeeded + failed >= g->least)
        return "Failed";
    if (running + succeeded >= g->least)
        return "Running";
    return all_n(g) >= g->least ? "Scheduling" : "Pending";
}

static const char *of_native(const struct group *g)
{
    if (strcmp(g->phase, "True") == 0 || bound_n(g) >= g->least)
        return "True"; /* and never anything else again */
    return "";         /* or False, once it has waited for a while */
}

static const char *of_kai(const struct group *g)
{
    int succeeded = how_many(g, SUCCEEDED), failed = how_many(g, FAILED);
    if (all_n(g) > 0 && succeeded + failed == all_n(g) && succeeded + failed >= g->least)
        return failed ? "Failed" : "Completed";
    return bound_n(g) > 0 && bound_n(g) >= g->least ? "Running" : "Pending";
}

static const char *(*const rules[DIALECTS_N])(const struct group *) = {of_volcano, of_coscheduling, of_native, of_kai};

/* ---- the world ---- */

static const char *pod_name(enum dialect d, int i)
{
    return arena_printf(w.a, "%s-%d", dialects[d].name, i);
}

static void born(struct life *l, uint64_t seed)
{
    *l = (struct life){.random = {seed}, .seed = seed};
    stage_open(NULL);
    node("n0", "nvidia.com/gpu", GPUS);
    create("{\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"Queue\",\"metadata\":{\"name\":\"default\"},\"spec\":{\"weight\":1}}");
    for (enum dialect d = 0; d < DIALECTS_N; d++) {
        l->groups[d].least = 1 + (int)random_below(&l->random, 3);
        l->groups[d].phase = d == NATIVE ? "" : "Pending";
        create(arena_printf(w.a, "{\"apiVersion\":\"%s\",\"kind\":\"PodGroup\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\"},\"spec\":%s}",
                            dialects[d].api, dialects[d].name, arena_printf(w.a, dialects[d].spec, l->groups[d].least)));
    }
    scheduler_start();
}

static void is_made(enum dialect d, int i)
{
    create(arena_printf(w.a, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"n\",%s},\"spec\":{%s,"
                             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
                             "\"nvidia.com/gpu\":\"1\"}}}]}}", pod_name(d, i), dialects[d].pod, dialects[d].pod_spec));
}

static void is_now(enum dialect d, int i, const char *phase)
{
    kube_patch(w.user, KUBE_PATCH_MERGE, arena_printf(w.a, PODS "/%s/status", pod_name(d, i)),
               bytes_of(arena_printf(w.a, "{\"status\":{\"phase\":\"%s\"}}", phase)), NULL, NULL);
}

static void happens(struct life *l)
{
    enum dialect d = (enum dialect)random_below(&l->random, DIALECTS_N);
    int i = (int)random_below(&l->random, PODS_MOST);
    struct one *p = &l->groups[d].pods[i];
    uint64_t dice = random_below(&l->random, 10);
    if (p->is == ABSENT) {
        if (dice < 6)
            return;
        is_made(d, i);
        *p = (struct one){WAITS, false};
    } else if (dice < 2) {
        kube_delete(w.user, arena_printf(w.a, PODS "/%s", pod_name(d, i)), BYTES("{\"gracePeriodSeconds\":0}"), NULL, NULL);
        *p = (struct one){0};
    } else if (p->is == WAITS && p->bound) {
        p->is = RUNS;
        is_now(d, i, "Running");
    } else if (p->is == RUNS && dice < 7) {
        p->is = dice < 6 ? SUCCEEDED : FAILED;
        is_now(d, i, p->is == SUCCEEDED ? "Succeeded" : "Failed");
    }
}

static void see_places(struct life *l)
{
    for (enum dialect d = 0; d < DIALECTS_N; d++)
        for (int i = 0; i < PODS_MOST; i++) {
            struct one *p = &l->groups[d].pods[i];
            if (p->is != ABSENT)
                p->bound = json_path(get(arena_printf(w.a, PODS "/%s", pod_name(d, i))), "spec", "nodeName", NULL) != NULL;
        }
}

static const char *says(enum dialect d)
{
    const struct json *g = get(arena_printf(w.a, "/apis/%s/namespaces/n/podgroups/%s", dialects[d].api, dialects[d].name));
    return d == NATIVE ? (object_condition_true(g, "PodGroupInitiallyScheduled") ? "True" : "")
                       : json_text(json_path(g, "status", "phase", NULL), "");
}

static const char *pods_text(const struct group *g)
{
    const char *text = arena_printf(w.a, "at least %d of", g->least);
    for (int i = 0; i < PODS_MOST; i++)
        text = arena_printf(w.a, "%s %s%s", text, (const char *const[]){"-", "waits", "runs", "succeeded", "failed"}[g->pods[i].is],
                            g->pods[i].bound ? "+" : "");
    return text;
}

/* As it is told, sooner or later: a place that was kept for a lost member (core/heal/refill.h) may have come free a moment ago. */
static bool agrees(struct life *l, enum dialect d)
{
    for (int looks = 0; looks < 2; looks++) {
        see_places(l);
        if (strcmp(says(d), rules[d](&l->groups[d])) == 0)
            return true;
        run(2000);
    }
    return false;
}

static void compare(struct life *l)
{
    for (enum dialect d = 0; d < DIALECTS_N; d++) {
        struct group *g = &l->groups[d];
        if (!agrees(l, d))
            fail_msg("seed %llu, step %d: %s was %s, %s: it is %s, and by the rules %s", (unsigned long long)l->seed, l->at,
                     dialects[d].name, g->phase, pods_text(g), says(d), rules[d](g));
        g->phase = rules[d](g);
        if (!g->started && bound_n(g) > 0 && bound_n(g) < g->least)
            fail_msg("seed %llu, step %d: %s starts in part: %s", (unsigned long long)l->seed, l->at, dialects[d].name, pods_text(g));
        g->started |= bound_n(g) > 0;
    }
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_groups_go_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 50), first = number_of("LIVES_SEED", 1);
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l;
        born(&l, seed);
        run(SETTLE_MS);
        for (l.at = 0; l.at < STEPS; l.at++) {
            compare(&l);
            happens(&l);
            run(random_permille(&l.random, 200) ? LONG_MS : SETTLE_MS); /* longer than places are kept */
        }
        clients_close();
        server_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_groups_go_by_the_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
