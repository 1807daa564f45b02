/* Random lives of a gang that asks for machines: it is admitted, its pods find places and lose them, machines can come or cannot, time
 * goes by, it gives its quota back and comes again. At each step scale_up.c is asked beside a slow reference, which reads the rules as
 * sentences.
 *
 *     LIVES=100000 LIVES_SEED=7 build/tests/unit/sched/checks/test_sched_checks_scale_up_lives
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "../../tree.h"
#include "base/clock.h"
#include "base/random.h"
#include "sched/checks/scale_up.h"

enum { STEPS = 80, TIMEOUT_S = 60 };
#define START_MS INT64_C(1767225600000)
#define CHECK "{\"metadata\":{\"name\":\"m\",\"annotations\":{\"capstan.dev/scale-up-timeout\":\"60s\"}},\"spec\":{\"controllerName\":\"capstan.dev/scale-up\"}}"

struct life {
    struct random random;
    uint64_t seed;
    int at;
    int64_t now_ms, admitted_ms, bound_ms; /* 0: it is not; none was */
    bool has_quota, stands, hopeless, unsettled;
    int64_t tried_n;
    struct json *list;                     /* what the check has said, as the server has it */
    enum says { PENDING, READY, CAME, RETRY } says; /* and as it should be */
    int met[4];
};

static const struct json *find(void *ctx, const char *name, struct arena *arena)
{
    (void)ctx;
    return strcmp(name, "m") == 0 ? json_parse(arena, BYTES(CHECK), NULL, NULL) : NULL;
}

/* ---- the reference ---- */

struct wanted {
    enum says says;
    int64_t again_ms, pause_s; /* 0: nothing */
};

static struct wanted retries(const struct life *l)
{
    int64_t pause_s = TIMEOUT_S; /* doubled each time, up to half an hour */
    for (int64_t i = 0; i < l->tried_n && pause_s < 1800; i++)
        pause_s *= 2;
    return (struct wanted){RETRY, 0, pause_s < 1800 ? pause_s : 1800};
}

static struct wanted by_rules(const struct life *l)
{
    struct wanted as_it_is = {l->says, 0, 0};
    bool in_vain = l->hopeless && !l->stands;
    if (l->says == PENDING)
        return !in_vain ? (struct wanted){READY, 0, 0} : l->has_quota ? retries(l) : as_it_is; /* of which flavors is not known yet */
    if (l->says != READY || !l->admitted_ms)
        return as_it_is; /* it has said all, or nobody waits for machines yet */
    if (in_vain)
        return l->has_quota ? retries(l) : as_it_is;
    int64_t since_ms = l->bound_ms > l->admitted_ms ? l->bound_ms : l->admitted_ms, over_ms = since_ms + TIMEOUT_S * 1000;
    if (l->now_ms < over_ms)
        return (struct wanted){READY, over_ms - l->now_ms, 0};
    if (l->unsettled)
        return (struct wanted){READY, 1000, 0}; /* somebody may stand there already */
    return l->stands ? (struct wanted){CAME, 0, 0} : retries(l);
}

/* ---- both ---- */

static enum says said_of(const struct json *entry)
{
    const char *state = json_get_text(entry, "state", "");
    return strcmp(state, "Pending") == 0 ? PENDING
           : strcmp(state, "Retry") == 0 ? RETRY
           : strcmp(json_get_text(entry, "message", ""), "the machines for its pods have come") == 0 ? CAME
                                                                                                      : READY;
}

static const struct json *workload_of(const struct life *l)
{
    char since[TIME_TEXT_MAX];
    const char *admitted = "";
    if (l->admitted_ms)
        admitted = arena_printf(a, "{\"type\":\"Admitted\",\"status\":\"True\",\"lastTransitionTime\":\"%s\"}",
                                time_format(since, l->admitted_ms));
    struct json *w = parse(arena_printf(a, "{\"metadata\":{\"name\":\"w\",\"namespace\":\"n\"},\"spec\":{\"podSets\":[{\"name\":\"main\"}]},"
                                           "\"status\":{%s\"conditions\":[%s]}}",
                                        l->has_quota ? "\"admission\":{\"clusterQueue\":\"q\"}," : "", admitted));
    json_set(a, json_get(w, "status"), "admissionChecks", json_clone(a, l->list));
    return w;
}

static void compare(struct life *l)
{
    const struct scale_up x = {.workload = workload_of(l), .stands = l->stands, .bound_ms = l->bound_ms, .is_settled = !l->unsettled,
                               .hopeless = l->hopeless ? "no pool has any" : NULL, .now_ms = l->now_ms, .find = find};
    struct scale_up_said is = scale_up_followed(a, &x, l->list);
    struct wanted wanted = by_rules(l);
    l->list = is.list ? is.list : l->list;
    const struct json *entry = json_item(l->list, 0);
    int64_t pause_s = is.is_retried ? json_get_int64(entry, "requeueAfterSeconds", 0) : 0;
    if (said_of(entry) != wanted.says || is.again_ms != wanted.again_ms || pause_s != wanted.pause_s)
        fail_msg("seed %llu, step %d: it says %d, again in %lld ms, pause %lld s, and by the rules %d %lld %lld",
                 (unsigned long long)l->seed, l->at, said_of(entry), (long long)is.again_ms,
                 (long long)pause_s, wanted.says, (long long)wanted.again_ms,
                 (long long)wanted.pause_s);
    l->met[wanted.says] += wanted.says != l->says;
    l->says = wanted.says;
}

/* It gives back what it has, or what was left of it, and is in line again. */
static void begins_anew(struct life *l)
{
    l->tried_n = l->says == RETRY ? l->tried_n + 1 : 0;
    l->says = PENDING;
    l->admitted_ms = l->bound_ms = 0;
    l->has_quota = l->stands = false;
    l->list = parse(arena_printf(a, "[{\"name\":\"m\",\"state\":\"Pending\",\"retryCount\":%lld},{\"name\":\"other\",\"state\":\"Pending\"}]",
                                 (long long)l->tried_n));
}

static void happens(struct life *l)
{
    l->now_ms += (int64_t)random_below(&l->random, 40) * 1000;
    switch (random_below(&l->random, 9)) {
    case 0:
    case 1:
        l->has_quota = true;
        break;
    case 2:
    case 3:
        if (l->has_quota && l->says == READY && !l->admitted_ms)
            l->admitted_ms = l->now_ms;
        break;
    case 4:
        if (l->admitted_ms) {
            l->stands = true;
            l->bound_ms = l->now_ms;
        }
        break;
    case 5:
        l->stands = l->stands && random_permille(&l->random, 700); /* a machine is taken away */
        break;
    case 6:
        l->hopeless = random_permille(&l->random, 300);
        break;
    case 7:
        l->unsettled = random_permille(&l->random, 300);
        break;
    default:
        if (l->says == RETRY || random_permille(&l->random, 100))
            begins_anew(l);
    }
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_go_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 200), first = number_of("LIVES_SEED", 1);
    int met[4] = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l = {.random = {seed}, .seed = seed, .now_ms = START_MS};
        begins_anew(&l);
        for (; l.at < STEPS; l.at++) {
            happens(&l);
            compare(&l);
        }
        for (int i = 0; i < 4; i++)
            met[i] += l.met[i];
        arena_reset(a);
    }
    for (int i = READY; i < 4 && lives_n >= 100; i++) /* else this tries nothing */
        assert_true(met[i] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_go_by_the_rules)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
