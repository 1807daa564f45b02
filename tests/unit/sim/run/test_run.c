/* A whole cluster on virtual time: what a scenario makes happen, and that it happens the same way again */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/log.h"
#include "sim/run/run.h"

/* Its facts, a line each. The sentence of an error where it cannot be played. */
static void play(const char *text, struct buf *out, struct run_result *r)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct scenario s;
    struct timeline t = {0};
    struct err e = {0};
    *r = (struct run_result){0};
    int code = scenario_parse(a, "s.yaml", bytes_of(text), NULL, NULL, &s, &e);
    if (code == 0)
        code = run_scenario(&s, &(struct virtual_cluster_config){0}, &t, r, &e);
    for (size_t i = 0; i < t.facts_n; i++)
        buf_printf(out, "%lld %s %s\n", (long long)t.facts[i].at_ms, timeline_kinds[t.facts[i].kind], t.facts[i].text);
    for (size_t i = 0; i < t.spans_n; i++)
        buf_printf(out, "span %u %u %u %lld %lld\n", t.spans[i].node, t.spans[i].gpu, t.spans[i].job, (long long)t.spans[i].from_ms,
                   (long long)t.spans[i].until_ms);
    if (code < 0)
        buf_printf(out, "error %s\n", e.text);
    timeline_free(&t);
}

static void has(const struct buf *out, const char *line)
{
    if (!strstr(out->data, line))
        fail_msg("not there: %s\nin:\n%s", line, out->data);
}

/* So many expectations are met and not met, and each of the texts is among what is told. */
static struct run_result told(const char *text, uint32_t met_n, uint32_t unmet_n, const char *const *texts)
{
    _cleanup_buf_ struct buf out = {0};
    struct run_result r;
    play(text, &out, &r);
    for (; *texts; texts++)
        has(&out, *texts);
    assert_int_equal(r.met_n, met_n);
    assert_int_equal(r.unmet_n, unmet_n);
    return r;
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void a_gang_starts_and_ends(void **state)
{
    struct run_result r =
        told("nodes: [\"2:t4,gpus=2\"]\nsteps:\n- {at: 5s, job: {name: j, namespace: ns, pods: 4, runs: 1m}}\n"
             "- {at: 10s, expect: [{job: ns/j, state: running, pods: 4, starts: 1, nodes: [t4-0, t4-1]}, {node: t4-1, gpus: 2}]}\n"
             "- {at: 2m, expect: [{job: ns/j, state: finished, pods: 0}, {node: t4-1, gpus: 0}]}\n",
             4, 0,
             TEXTS("0 step 2 nodes, 4 GPUs\n", "5000 comes Job ns/j comes\n5000 starts ns/j starts: 4 pods, 4 GPUs on t4-0 (2), t4-1 (2)\n",
                   "ends ns/j is done, 60s after it started\n"));
    assert_true(r.all_over);
}

static void what_is_otherwise_is_said(void **state)
{
    (void)told(
        "nodes: [\"1:t4,gpus=1\"]\nsteps:\n- job: {name: j, gpus: 2, runs: 1m}\n"
        "- {at: 1m, expect: [{job: default/j, state: running, pods: 1, reason: quota, nodes: [a]}, {job: default/k, state: waiting},\n"
        "   {node: t4-9, gpus: 0}, {node: t4-0, gpus: 3}, {queue: default/q, waiting: 1}, {job: default/j, state: waiting}]}\n"
        "- {at: 2m, delete: {kind: Job, namespace: default, name: j}}\n"
        "- {at: 3m, expect: {job: default/j, state: gone}}\n",
        2, 5,
        TEXTS("of default/j this was expected otherwise: it is waiting, pods: 0, it waits: ", "1 Insufficient nvidia.com/gpu",
              ", nodes: none\n", "of default/k this was expected otherwise: it is not known\n",
              "of t4-9 this was expected otherwise: it is not there\n", "of t4-0 this was expected otherwise: gpus: 0\n",
              "of default/q this was expected otherwise: waiting: 0\n", "ends default/j is deleted\n"));
}

/* A silent node keeps its pods until it is gone; one that is heard again goes on with them. */
static void nodes_fail_and_come_back(void **state)
{
    (void)told("nodes: [\"2:t4,gpus=1\"]\nsteps:\n- job: {name: j, runs: 30s}\n- {at: 10s, fail-node: t4-0}\n"
               "- {at: 2m, expect: {job: default/j, state: running, nodes: [t4-0]}}\n- {at: 3m, recover-node: t4-0}\n"
               "- {at: 3m1s, expect: {job: default/j, state: finished}}\n"
               "- {at: 4m, job: {name: k, runs: 1h}}\n- {at: 5m, fail-node: t4-0}\n- {at: 11m, remove-node: t4-0}\n"
               "- {at: 12m, expect: {job: default/k, state: running, nodes: [t4-1]}}\n"
               "- {at: 13m, add-nodes: \"1:t4,gpus=1\"}\n- {at: 14m, expect: {node: t4-2, gpus: 0}}\n",
               4, 0,
               TEXTS("10000 node node t4-0 fails: nothing is heard of it\n", "180000 ends default/j is done, 3m after it started\n",
                     "780000 node node t4-2 comes: 1 GPU\n", "span 0 0 4294967295 10000 180000\n" /* it was down */));
}

static void a_node_is_drained(void **state)
{
    (void)told("nodes: [\"2:t4,gpus=1\"]\nsteps:\n- job: {name: j, runs: 10m}\n- {at: 1m, drain-node: t4-0}\n"
               "- {at: 2m, expect: {job: default/j, state: running, nodes: [t4-1]}}\n- {at: 3m, job: {name: k, runs: 1m}}\n"
               "- {at: 4m, expect: {job: default/k, state: waiting}}\n- {at: 5m, uncordon-node: t4-0}\n"
               "- {at: 5m30s, expect: {job: default/k, state: running, nodes: [t4-0]}}\n",
               3, 0, TEXTS("60000 node node t4-0 is drained\n"));
}

static void what_cannot_be_done_is_said(void **state)
{
    static const char *const rows[][2] = {
        {"- {at: 1s, fail-node: a}", "error s.yaml: line 3, column 3: there is no node a at this time: nodes are called SHAPE-0"},
        {"- apply: [{apiVersion: v9, kind: Pod, metadata: {name: a}}]", "line 3, column 11: "},
        {"- apply: [{apiVersion: batch/v1, kind: Thing, metadata: {name: a}}]",
         "line 3, column 11: kind Thing of apiVersion batch/v1 is not known"},
        {"- apply: [{apiVersion: v1, kind: Pod, metadata: {name: A}, spec: {containers: []}}]", "line 3, column 11: Pod A is refused: "},
        {"- delete: {kind: Job, name: a}", "line 3, column 11: Job a: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_buf_ struct buf out = {0}, text = {0};
        struct run_result r;
        buf_printf(&text, "nodes: [t4]\nsteps:\n%s\n", rows[i][0]);
        play(text.data, &out, &r);
        has(&out, "error ");
        has(&out, rows[i][1]);
    }
}

static void the_same_again(void **state)
{
    _cleanup_buf_ struct buf first = {0}, second = {0};
    struct run_result r;
    static const char text[] =
        "nodes: [\"3:t4,gpus=2\"]\nsteps:\n- job: {name: a, pods: 3, runs: 5m}\n- job: {name: b, pods: 4, runs: 2m}\n"
        "- {at: 1m, fail-node: t4-1}\n- {at: 10m, remove-node: t4-1}\n- {at: 11m, job: {name: c, pods: 2, runs: 1m}}\n";
    play(text, &first, &r);
    play(text, &second, &r);
    assert_string_equal(first.data, second.data);
    assert_true(r.all_over);
}

int main(void)
{
    log_set_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_gang_starts_and_ends),      cmocka_unit_test(what_is_otherwise_is_said),
                                       cmocka_unit_test(nodes_fail_and_come_back),    cmocka_unit_test(a_node_is_drained),
                                       cmocka_unit_test(what_cannot_be_done_is_said), cmocka_unit_test(the_same_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
