/* Random lives of JobFlows: flows of any shape, whose jobs are made when they are due, run, end well or badly, and are removed. At each
 * step job_flow_plan.c is asked beside a slow reference, which keeps a record of all that ever happened and reads the rules as sentences.
 *
 *     LIVES=100000 LIVES_SEED=7 build/tests/unit/jobs/volcano/test_jobs_vc_flow_lives
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "../../tree.h"
#include "base/random.h"
#include "jobs/volcano/flow/job_flow_plan.h"

enum { JOBS_MOST = 6, STEPS = 60 };
#define NOW_MS INT64_C(1767225600000)

struct life {
    struct random random;
    int n;
    bool after[JOBS_MOST][JOBS_MOST]; /* [a][b]: a waits for b */
    const char *phase[JOBS_MOST];     /* of the job that is there; NULL: none is */
    bool completed[JOBS_MOST];        /* ever, and the flow has seen it */
    struct json *flow;
    bool ran, failed, succeeded;      /* what the flow itself has come to */
};

static const char *name_of(int i)
{
    static const char *const names[JOBS_MOST] = {"a", "b", "c", "d", "e", "f"};
    return names[i];
}

static void born(struct life *l, uint64_t seed)
{
    *l = (struct life){.random = {seed}};
    l->n = 1 + (int)random_below(&l->random, JOBS_MOST);
    struct json *flows = json_new(a, JSON_ARRAY);
    for (int i = 0; i < l->n; i++) {
        struct json *one = parse(arena_printf(a, "{\"name\":\"%s\"}", name_of(i)));
        for (int k = 0; k < i; k++) /* no circles: those are refused */
            if (random_permille(&l->random, 400)) {
                l->after[i][k] = true;
                struct json *depends = json_ensure_object(a, one, "dependsOn");
                json_append(json_ensure_array(a, depends, "targets"), json_new_text(a, name_of(k)));
            }
        json_append(flows, one);
    }
    l->flow = parse("{\"metadata\":{\"name\":\"f\",\"namespace\":\"n\"},\"spec\":{}}");
    json_set(a, json_get(l->flow, "spec"), "flows", flows);
}

/* ---- the reference: sentences ---- */

static bool is_due(const struct life *l, int i)
{
    if (l->phase[i] || l->completed[i])
        return false; /* it is there, or has done its work */
    for (int k = 0; k < l->n; k++)
        if (l->after[i][k] && !(l->phase[k] ? strcmp(l->phase[k], "Completed") == 0 : l->completed[k]))
            return false;
    return true;
}

static int how_many(const struct life *l, const char *phase)
{
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        const char *is = l->phase[i] ? l->phase[i] : l->completed[i] ? "Completed" : "";
        n += strcmp(is, phase) == 0;
    }
    return n;
}

/* It has looked once more. */
static const char *comes_to(struct life *l)
{
    bool bad = how_many(l, "Failed") || how_many(l, "Terminated");
    if (l->succeeded || l->failed)
        return l->succeeded ? "Succeed" : "Failed"; /* an end is an end */
    if (!l->ran && how_many(l, "Running") + how_many(l, "Completed") && !how_many(l, "Failed"))
        l->ran = true;
    else if (!l->ran)
        l->failed = bad;
    else if (how_many(l, "Completed") == l->n)
        l->succeeded = true;
    else
        l->failed = bad;
    return l->succeeded ? "Succeed" : l->failed ? "Failed" : l->ran ? "Running" : "Pending";
}

/* ---- both ---- */

static uint32_t entries_of(const struct life *l, struct job_flow_entry **ret_entries)
{
    uint32_t n = job_flow_entries(a, l->flow, ret_entries);
    for (uint32_t i = 0; i < n; i++)
        if (l->phase[i])
            (*ret_entries)[i].job = parse(arena_printf(a, "{\"metadata\":{\"name\":\"f-%s\"},\"status\":{\"state\":{\"phase\":\"%s\"}}}",
                                                       name_of((int)i), l->phase[i]));
    return n;
}

static const char *const lists[][2] = {{"Pending", "pendingJobs"},     {"Running", "runningJobs"},       {"Failed", "failedJobs"},
                                       {"Completed", "completedJobs"}, {"Terminated", "terminatedJobs"}, {"Aborted", "unKnowJobs"}};

static void compare(struct life *l, uint64_t seed, int at)
{
    struct job_flow_entry *entries;
    uint32_t n = entries_of(l, &entries);
    assert_int_equal(n, l->n);
    for (uint32_t i = 0; i < n; i++)
        if (job_flow_is_due(entries, n, i) != is_due(l, (int)i))
            fail_msg("seed %llu, step %d: %s is %sdue", (unsigned long long)seed, at, name_of((int)i), is_due(l, (int)i) ? "not " : "");
    const struct json *status = job_flow_status(a, l->flow, entries, n, NOW_MS);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct json *list = json_get(status, lists[i][1]);
        if ((int)(list ? list->n : 0) != how_many(l, lists[i][0]))
            fail_msg("seed %llu, step %d: %u in %s", (unsigned long long)seed, at, list ? list->n : 0, lists[i][1]);
    }
    for (int i = 0; i < l->n; i++) /* it stands in the status from now on */
        l->completed[i] |= l->phase[i] && strcmp(l->phase[i], "Completed") == 0;
    const char *is = json_text(json_path(status, "state", "phase", NULL), ""), *wanted = comes_to(l);
    if (strcmp(is, wanted) != 0)
        fail_msg("seed %llu, step %d: it is %s, and by the rules %s", (unsigned long long)seed, at, is, wanted);
    json_set(a, l->flow, "status", json_clone(a, status));
    const struct json *again = job_flow_status(a, l->flow, entries, n, NOW_MS + 60000);
    (void)comes_to(l); /* the second look may go one step further, the third has nothing new */
    json_set(a, l->flow, "status", json_clone(a, again));
}

static void happens(struct life *l)
{
    int i = (int)random_below(&l->random, (uint64_t)l->n);
    const char *is = l->phase[i];
    uint64_t dice = random_below(&l->random, 20);
    if (!is) {
        if (is_due(l, i) && dice < 15)
            l->phase[i] = "Pending";
    } else if (strcmp(is, "Pending") == 0)
        l->phase[i] = dice < 15 ? "Running" : dice < 16 ? "Aborted" : dice < 17 ? NULL : is;
    else if (strcmp(is, "Running") == 0)
        l->phase[i] = dice < 12 ? "Completed" : dice < 13 ? "Failed" : dice < 14 ? "Terminated" : dice < 15 ? "Pending" : is;
    else if (strcmp(is, "Completed") == 0 && dice < 2)
        l->phase[i] = NULL; /* ttlSecondsAfterFinished */
    else if (strcmp(is, "Aborted") == 0 && dice < 10)
        l->phase[i] = "Running";
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_flows_go_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 1000), first = number_of("LIVES_SEED", 1), ended[2] = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l;
        born(&l, seed);
        for (int i = 0; i < STEPS; i++) {
            happens(&l);
            compare(&l, seed, i);
        }
        ended[0] += l.succeeded;
        ended[1] += l.failed;
        arena_reset(a);
    }
    if (lives_n >= 1000) /* else this tries nothing */
        assert_true(ended[0] > 0 && ended[1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_flows_go_by_the_rules)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
