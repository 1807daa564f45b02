/* crash.h - the job controllers, stopped and begun anew at one of their writes
 *
 * They have a client of their own, so that their writes are counted apart from those of scheduler and kubelets. At the write `at` happens
 * what `how` says; what they would have written after they were stopped is lost.
 */
#ifndef TEST_JOBS_CRASH_H
#define TEST_JOBS_CRASH_H
#include "../world.h"

enum crash_how {
    CRASH_BEFORE,  /* stopped before it reaches the server */
    CRASH_AFTER,   /* stopped when it is carried out, before they hear of it */
    CRASH_LOST,    /* it alone is lost, others of the same moment are carried out, then they are stopped */
    CRASH_REFUSED, /* it alone fails, and they go on */
    CRASH_HOWS_N
};
static struct {
    struct kube_client *client;
    int writes_n, at; /* at 0: never */
    enum crash_how how;
    bool is_down, is_deaf; /* to be begun anew; and nothing they write arrives */
} crash;

static inline void crash_handle(void *ctx, struct http_exchange *x)
{
    bool is_write = strcmp(x->request.method, "GET") != 0 && !strstr(x->request.path, "/events");
    bool is_now = is_write && ++crash.writes_n == crash.at, is_lost = is_write && crash.is_deaf;
    if (is_now) {
        crash.is_down = crash.how != CRASH_REFUSED;
        crash.is_deaf = crash.how == CRASH_BEFORE || crash.how == CRASH_AFTER;
        is_lost = crash.how != CRASH_AFTER;
    }
    if (is_lost)
        http_reply_text(x, 500, "application/json", "{}");
    else
        handle(ctx, x);
}

static inline int crash_setup(void **state)
{
    int r = setup(state);
    crash.client = kube_client_wrap(w.loop, http_local_client_new(w.loop, crash_handle, w.server, NULL, 2));
    jobs_free(w.jobs);
    w.jobs = jobs_new(crash.client, &(struct jobs_config){.embedded = true});
    run(1500);
    crash.writes_n = crash.at = 0;
    crash.is_down = crash.is_deaf = false;
    return r;
}

static inline int crash_teardown(void **state)
{
    jobs_free(w.jobs);
    w.jobs = NULL;
    kube_client_free(crash.client);
    return teardown(state);
}

/* As run, and whoever was stopped begins anew. */
static inline void crash_run(int64_t ms)
{
    for (int64_t at = 0; at < ms; at += 20) {
        run(20);
        if (!crash.is_down)
            continue;
        jobs_free(w.jobs);
        w.jobs = jobs_new(crash.client, &(struct jobs_config){.embedded = true});
        crash.is_down = crash.is_deaf = false;
    }
}

/* At every write, in every way; `life` is the whole story, from a fresh cluster on, and checks its end. */
static inline void crash_everywhere(void (*life)(void), int writes_most)
{
    for (int at = 1, writes_n = 1; at <= writes_n; at++)
        for (int how = 0; how < CRASH_HOWS_N; how++) {
            void *state = NULL;
            assert_int_equal(crash_setup(&state), 0);
            crash.how = (enum crash_how)how;
            crash.at = at;
            life();
            writes_n = crash.writes_n > writes_n ? crash.writes_n : writes_n;
            if (crash.writes_n > writes_most)
                fail_msg("%d writes, at most %d, when stopped at %d in way %d", crash.writes_n, writes_most, at, how);
            assert_int_equal(crash_teardown(&state), 0);
        }
}

#endif
