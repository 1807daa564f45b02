/* test_forecast.c - who starts when: a cluster, how long each job runs from now or from its start on, and the starts that follow */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../stories.h"
#include "core/time/forecast.h"

/* runs: "a=60 b=600? c=30": seconds; "?": as earlier runs tell, else by its limit; who is not named never ends. Names of pods: "ns/a".
 * starts: of all that are named and do not run as jobs do, in that order: "b 60 limit, c 660 limit runs"; "c now"; "c -": none found. */
struct forecast_case {
    const char *name, *objects, *runs, *starts;
};
#define ONE "node a; queue q gpu=8;"

static const struct forecast_case cases[] = {
    {"who fits starts now", ONE "wants b gpu=4", "b=10", "b now"},
    {"when the one before it ends", ONE "runs a gpu=8 on=a; wants b gpu=8", "a=60 b=10", "b 60 limit"},
    {"as earlier runs tell", ONE "runs a gpu=8 on=a; wants b gpu=8", "a=60? b=10", "b 60 runs"},
    {"one after another", ONE "runs a gpu=8 on=a; wants b,c,d gpu=8", "a=60 b=10 c=20? d=5", "b 60 limit, c 70 limit, d 90 limit runs"},
    {"nobody behind one without an end", ONE "runs a gpu=8 on=a; wants b,c gpu=8", "a=60 b=0 c=1", "b 60 limit, c -"},
    {"what runs has no known end", ONE "runs a gpu=8 on=a; wants b gpu=8", "b=1", "b -"},
    {"the first that leaves enough", ONE "runs a gpu=2 on=a; runs c gpu=4 on=a; runs d gpu=2 on=a; wants b gpu=6", "a=10 c=50 d=90 b=1",
     "b 50 limit"},
    {"quota, not places", "node a; node b; queue q gpu=8; runs a gpu=8 on=a; wants b gpu=8", "a=60 b=1", "b 60 limit"},
    {"a gang needs all of its places", "node a; node b; queue q gpu=16; runs a gpu=8 on=a; runs c gpu=4 on=b; wants b gpu=8 x=2",
     "a=60 c=30 b=1", "b 60 limit"},
    {"the smaller goes first where the queue lets it", ONE "runs a gpu=4 on=a; wants b gpu=8; wants c gpu=4", "a=60 b=1 c=100",
     "b 100 limit, c now"},
    {"and does not where it is strict", "node a; queue q gpu=8 strict; runs a gpu=4 on=a; wants b gpu=8; wants c gpu=4", "a=60 b=10 c=100",
     "b 60 limit, c 70 limit"},
    {"another queue borrows until its owner comes", "node a; queue q in=t gpu=4; queue r in=t gpu=4; runs a gpu=8 on=a; wants b queue=r gpu=4",
     "a=60 b=1", "b 60 limit"},
    {"whom others leave for", "node a; queue q gpu=8 within=Lower; runs a gpu=8 on=a; wants b gpu=8 prio=5", "a=60 b=1", "b now"},
    {"who was preempted comes no more", "node a; queue q gpu=8 within=Lower; runs a gpu=8 on=a; wants b gpu=8 prio=5; wants c gpu=8",
     "a=900 b=10 c=1", "b now, c 10 limit"},
    {"who leaves already", ONE "runs a gpu=8 on=a leaving; wants b gpu=8", "b=1", "b now"},
    {"pods of no queue", "node a; pod p gpu=8 on=a; pod r gpu=8", "ns/p=60 ns/r=1", "ns/p -, ns/r 60 limit"},
    {"a pod that is being deleted", "node a; pod p gpu=8 on=a deleting; pod r gpu=8", "ns/p=0 ns/r=1", "ns/p -, ns/r now"},
    {"a pod for which others leave", "node a; pod p gpu=8 on=a; pod r gpu=8 prio=5", "ns/p=0 ns/r=1", "ns/p -, ns/r now"},
    {"more than there is", ONE "runs a gpu=8 on=a; wants b gpu=16", "a=60 b=1", "b -"},
    {"with quota and without places", "node a gpu=4; queue q gpu=8; wants b gpu=8", "b=1", "b -"},
    {"a check that nobody answers", "node a; queue q gpu=8 check=c; runs a gpu=8 on=a; wants b gpu=8", "a=60 b=1", "b -"},
    {"a pause that ends", ONE "wants b gpu=8 later", "b=1", "b 3600"},
    {"both ends at once", ONE "runs a gpu=4 on=a; runs c gpu=4 on=a; wants b gpu=8", "a=60 c=60? b=1", "b 60 limit runs"},
};

static name_id gang_named(struct world *w, const char *name)
{
    return id(w, strchr(name, '/') ? arena_printf(w->records, "pod/%s", name) : name);
}

static uint32_t jobs_in(struct world *w, const char *runs, struct forecast_job *jobs, const char **names)
{
    uint32_t n = 0;
    char *save = NULL;
    for (char *one = strtok_r(arena_text(w->records, runs), " ", &save); one; one = strtok_r(NULL, " ", &save), n++) {
        char *equals = strchr(one, '=');
        bool known = atoll(equals + 1) > 0;
        *equals = '\0';
        names[n] = one;
        jobs[n] = (struct forecast_job){.gang = gang_named(w, one), .run_ms = 1000 * atoll(equals + 1)};
        jobs[n].basis = !known ? 0 : strchr(equals + 1, '?') ? END_BY_RUNS : END_BY_LIMIT;
    }
    return n;
}

static const char *starts_of(struct world *w, const struct forecast_job *jobs, uint32_t n, const char *const *names)
{
    struct buf b;
    buf_init(&b);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;
        while (jobs[at].gang != gang_named(w, names[i]))
            at++;
        int64_t ms = jobs[at].start_ms;
        buf_printf(&b, "%s%s", b.n ? ", " : "", names[i]);
        if (ms == w->now_ms)
            buf_text(&b, " now");
        else if (ms)
            buf_printf(&b, " %lld%s%s", (long long)(ms - w->now_ms) / 1000, jobs[at].start_basis & END_BY_LIMIT ? " limit" : "",
                       jobs[at].start_basis & END_BY_RUNS ? " runs" : "");
        else
            buf_text(&b, " -");
    }
    const char *text = arena_text(w->records, b.data ? b.data : "");
    buf_free(&b);
    return text;
}

static void test_case(void **state)
{
    const struct forecast_case *c = *state;
    struct world w = world_new();
    struct forecast_job jobs[8];
    const char *names[8];
    story(&w, c->objects);
    uint32_t n = jobs_in(&w, c->runs, jobs, names), waiting_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (state_gang_phase(w.s, jobs[i].gang) == GANG_WAITING)
            names[waiting_n++] = names[i];
    struct forecast_bounds bounds = {.until_ms = w.now_ms + 86400000, .steps_max = 100};
    forecast(w.s, &(struct decide_config){0}, &bounds, jobs, n, w.now_ms);
    assert_string_equal(starts_of(&w, jobs, waiting_n, names), c->starts);
    world_free(&w);
}

static void put_group(struct world *w, const char *name, int32_t min, int32_t n, int32_t priority, const char *on)
{
    struct gang_record r = a_group(w, name, NULL, min);
    r.priority = priority;
    gang_record(w, r);
    for (int32_t i = 0; i < n; i++) {
        struct pod_record p = a_pod(w, arena_printf(w->records, "ns/%s-%d", name, i), name, GPU "=1");
        p.node = id(w, on);
        p.phase = on ? POD_RUNNING : POD_PENDING;
        pod_record(w, p);
    }
}

/* The group goes on without them. */
static void members_that_were_told_to_go(void **state)
{
    (void)state;
    struct world w = world_new();
    struct forecast_job job = {.gang = id(&w, "high")};
    struct forecast_bounds bounds = {.until_ms = w.now_ms + 86400000, .steps_max = 100};
    node(&w, "a", GPU "=8", "");
    put_group(&w, "low", 4, 8, 0, "a");
    put_group(&w, "high", 2, 2, 9, NULL);
    run(&w);
    assert_int_equal(effects(&w, EFFECT_EVICT), 2);
    forecast(w.s, &(struct decide_config){0}, &bounds, &job, 1, w.now_ms);
    assert_int_equal(job.start_ms, w.now_ms);
    world_free(&w);
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof *cases + 1];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, test_case, NULL, NULL, (void *)&cases[i]};
    tests[sizeof cases / sizeof *cases] = (struct CMUnitTest)cmocka_unit_test(members_that_were_told_to_go);
    return _cmocka_run_group_tests("forecast", tests, sizeof tests / sizeof *tests, NULL, NULL);
}
