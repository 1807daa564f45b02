/* run.c - from the first step to the end */
#include "sim/run/run_part.h"

enum { SETTLE_MS = 1000, LOOK_MS = 1000 };

static void on_first_node(void *arg, const char *name, int32_t gpus_n)
{
    uint32_t *all_n = arg;
    (void)name;
    *all_n += (uint32_t)gpus_n;
}

static int begin(struct run *r, const struct scenario *s, const struct virtual_cluster_config *config)
{
    uint32_t gpus_n = 0;
    int code = virtual_cluster_start(&r->cluster, config, r->e);
    for (uint32_t i = 0; code == 0 && i < s->nodes_n; i++)
        code = virtual_cluster_add_nodes(&r->cluster, &s->nodes[i].shape, s->nodes[i].nodes_n, on_first_node, &gpus_n, r->e);
    if (code < 0)
        return code;
    timeline_begin(r->t, r->cluster.client);
    r->t->zero_ms = loop_now_ms(r->cluster.loop) + SETTLE_MS;
    loop_run_for(r->cluster.loop, SETTLE_MS, NULL); /* all have read what there is */
    timeline_tell(r->t);
    timeline_say(r->t, TIMELINE_STEP, "", "%u node%s, %u GPU%s", r->cluster.nodes_n, r->cluster.nodes_n == 1 ? "" : "s", gpus_n,
                 gpus_n == 1 ? "" : "s");
    return 0;
}

static void run_until(struct run *r, int64_t at_ms)
{
    int64_t wait_ms = at_ms - timeline_now(r->t);
    loop_run_for(r->cluster.loop, wait_ms > 0 ? wait_ms : 0, NULL);
    timeline_tell(r->t);
}

/* Steps are done; what they began goes on. */
static void run_out(struct run *r, const struct scenario *s)
{
    int64_t last_ms = s->steps_n ? s->steps[s->steps_n - 1].at_ms : 0;
    if (s->until_ms >= 0) {
        run_until(r, s->until_ms);
        return;
    }
    do
        run_until(r, timeline_now(r->t) + LOOK_MS);
    while (!timeline_all_over(r->t) && timeline_now(r->t) < last_ms + RUN_AFTER_MS);
}

int run_scenario(const struct scenario *s, const struct virtual_cluster_config *config, struct timeline *t, struct run_result *ret_result,
                 struct err *e)
{
    struct run r = {.t = t, .a = arena_new(), .kinds = kind_table_new(), .e = e};
    int code = begin(&r, s, config);
    for (uint32_t i = 0; code == 0 && i < s->steps_n; i++) {
        run_until(&r, s->steps[i].at_ms);
        code = run_act(&r, &s->steps[i]);
        arena_reset(r.a);
    }
    if (code == 0) {
        run_out(&r, s);
        r.result.end_ms = timeline_now(t);
        r.result.all_over = timeline_all_over(t);
        timeline_end(t);
        *ret_result = r.result;
    } else if (t->timer) {
        timeline_end(t);
    }
    virtual_cluster_stop(&r.cluster);
    kind_table_free(r.kinds);
    arena_free(r.a);
    return code;
}
