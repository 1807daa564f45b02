/* Scenarios: what is read of them, and what is said of wrong ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/limits.h"
#include "kube/object.h"
#include "sim/run/scenario.h"

static int read_file(void *arg, struct arena *a, const char *path, struct bytes *ret_text, struct err *e)
{
    (void)arg;
    (void)a;
    if (text_equal(path, "dir/pods.yaml"))
        *ret_text = BYTES("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n---\n"
                          "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c}]}\n");
    else if (text_equal(path, "dir/bad.yaml"))
        *ret_text = BYTES("apiVersion: v1\nkind: Pod\nmetadata: {}\n");
    else if (text_equal(path, "dir/broken.yaml"))
        *ret_text = BYTES("a: [\n");
    else
        return err_set(e, E_NOTFOUND, "open %s: No such file or directory", path);
    return 0;
}

static int parse(struct arena *a, const char *text, struct scenario *s, struct err *e)
{
    return scenario_parse(a, "dir/s.yaml", bytes_of(text), read_file, NULL, s, e);
}

static void all_of_it(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    struct scenario s;
    struct err e = {0};
    static const char text[] =
        "title: T\nnodes: [\"2:h100-80gb,gpus=4\", t4]\nconfig: c.yaml\nuntil: 2h\nsteps:\n"
        "- apply: pods.yaml\n  runs: 90s\n"
        "- {at: 1m, job: {name: j, namespace: ns, queue: q, priority: p, pods: 3, gpus: 2, runs: 10m}}\n"
        "- fail-node: x\n- {at: 2m, add-nodes: \"1:l4\"}\n- {at: 1h30m, delete: {kind: Job, namespace: ns, name: j}}\n"
        "- expect: [{job: ns/j, state: gone, starts: 1, pods: 0, nodes: []}, {queue: ns/q, waiting: 0, running: 0}, {node: x, gpus: 2}]\n";
    int r = parse(a, text, &s, &e);
    if (r < 0)
        fail_msg("%s", e.text);
    assert_string_equal(s.title, "T");
    assert_string_equal(s.config, "dir/c.yaml");
    assert_int_equal(s.until_ms, 7200000);
    assert_int_equal(s.nodes_n, 2);
    assert_int_equal(s.nodes[0].nodes_n, 2);
    assert_int_equal(s.steps_n, 6);
    assert_int_equal(s.steps[0].objects_n, 2);
    assert_string_equal(object_annotation(s.steps[0].objects[1].object, "capstan.dev/run-seconds"), "90.000");
    assert_int_equal(s.steps[0].objects[1].place.line, 6);
    assert_string_equal(s.steps[0].objects[1].place.file, "dir/pods.yaml");
    assert_int_equal(s.steps[1].at_ms, 60000);
    const struct json *job = s.steps[1].objects[0].object;
    assert_string_equal(object_label(job, "kueue.x-k8s.io/queue-name"), "q");
    assert_int_equal(json_int64(json_path(job, "spec", "completions", NULL), 0), 3);
    assert_int_equal(s.steps[2].action, SCENARIO_FAIL_NODE);
    assert_int_equal(s.steps[2].at_ms, 60000); /* as the step above it */
    assert_int_equal(s.steps[3].nodes->nodes_n, 1);
    assert_int_equal(s.steps[4].at_ms, 5400000);
    assert_int_equal(s.steps[5].expects_n, 3);
    assert_int_equal(s.steps[5].expects[0].state, SCENARIO_GONE);
    assert_int_equal(s.steps[5].expects[0].place.line, 12);
    assert_int_equal(s.steps[5].expects[2].gpus, 2);
}

#define NODES "nodes: [t4]\nsteps:\n"
static void wrong_ones(void **state)
{
    static const char *const rows[][2] = {
        {"", "dir/s.yaml: there is nothing in it: want nodes and steps"},
        {"a: [", "dir/s.yaml: line 2, column 1: did not find expected node content"},
        {"[]", "line 1, column 1: a scenario is a mapping of title, nodes, config, until, steps"},
        {"nodez: [t4]", "line 1, column 1: nodez is not known in a scenario: write one of title, nodes"},
        {"title: a\n---\ntitle: b", "line 3, column 1: a scenario is one document"},
        {"steps: []", "line 1, column 1: nodes are missing"},
        {"nodes: []", "line 1, column 8: nodes is a list of 1 to 64 texts"},
        {"nodes: [t4, 5]", "line 1, column 13: nodes are written as N:SHAPE"},
        {"nodes: [x9]", "line 1, column 9: "},
        {"nodes: [\"6000:t4\"]\nsteps: []", "line 1, column 9: at most 5000 nodes"},
        {"nodes: [t4]", "line 1, column 1: steps are missing"},
        {"nodes: [t4]\nnodes: [t4]\nsteps: []", "line 2: nodes stands there twice"},
        {"nodes: [t4]\nsteps: 5", "line 2, column 8: steps is a list"},
        {NODES "- {}", "line 3, column 3: this step does nothing: write one of at, apply"},
        {NODES "- {at: 1m}", "line 3, column 3: this step does nothing"},
        {NODES "- {at: soon, job: {}}", "line 3, column 8: at is a time such as 30s, 5m or 1h30m"},
        {NODES "- {at: -1s, job: {}}", "line 3, column 8: at is a time"},
        {NODES "- {at: 10000h, job: {}}", "up to 8784h"},
        {NODES "- {at: 5, job: {}}", "line 3, column 8: at is a time"},
        {NODES "- {at: 1m, fail-node: a}\n- {at: 30s, fail-node: b}", "line 4, column 8: at is before the step above"},
        {NODES "- fail-node: a\n  drain-node: b", "line 4, column 3: drain-node: a step does one thing"},
        {NODES "- fail-node: 5", "line 3, column 14: fail-node is a text"},
        {NODES "- fail-nodes: a", "line 3, column 3: fail-nodes is not known in a step: write one of at, apply"},
        {NODES "- {fail-node: a, runs: 5m}", "line 3, column 18: runs goes with apply"},
        {NODES "- job: {name: j}", "line 3, column 8: runs is missing: say how long each pod runs"},
        {NODES "- job: {gpus: 1, runs: 1m}", "line 3, column 8: name is missing"},
        {NODES "- job: {name: j, gpus: many, runs: 1m}", "line 3, column 24: gpus is a whole number from 0 to 1024"},
        {NODES "- job: {name: j, pods: 0, runs: 1m}", "pods is a whole number from 1 to 10000"},
        {NODES "- job: {name: j, image: x}", "line 3, column 18: image is not known in job"},
        {NODES "- apply: none.yaml", "line 3, column 10: open dir/none.yaml: No such file"},
        {NODES "- apply: bad.yaml", "dir/bad.yaml: line 1, column 1: metadata.name is missing: say how the Pod is called"},
        {NODES "- apply: broken.yaml", "line 3, column 10: dir/broken.yaml: line 2, column 1"},
        {NODES "- apply: {}", "line 3, column 10: apply is a FILE beside the scenario, or a list of objects"},
        {NODES "- apply: [5]", "line 3, column 11: an object is a mapping"},
        {NODES "- apply: [{kind: Pod}]", "line 3, column 11: apiVersion is missing"},
        {NODES "- apply: [{apiVersion: v1, kind: Namespace, metadata: {name: ns}}]\n  runs: 1m",
         "line 4, column 3: runs says how long pods run, and none of these objects has a template"},
        {NODES "- delete: {kind: Job}", "line 3, column 11: name is missing: write delete:"},
        {NODES "- delete: {kind: Thing, name: a}", "apiVersion is missing: say of which the Thing is"},
        {NODES "- expect: 5", "line 3, column 11: expect is a mapping"},
        {NODES "- expect: {state: running}", "line 3, column 11: expect is about one of job:"},
        {NODES "- expect: {job: a/b, node: c}", "line 3, column 11: expect is about one of job:"},
        {NODES "- expect: {job: b, state: running}", "line 3, column 17: job is written with its namespace, as in job: team-a/train"},
        {NODES "- expect: {job: a/b}", "line 3, column 11: this expects nothing: write one of job, state"},
        {NODES "- expect: {job: a/b, state: runs}", "line 3, column 29: state runs is none: write waiting, running"},
        {NODES "- expect: {job: a/b, gpus: 1}", "line 3, column 22: gpus is not known in this expect"},
        {NODES "- expect: {job: a/b, nodes: c}", "nodes is a list of names"},
        {"nodes: [t4]\nuntil: 1m\nsteps:\n- {at: 2m, fail-node: a}", "line 2, column 8: until is before the last step"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_arena_ struct arena *a = arena_new();
        struct scenario s;
        struct err e = {0};
        if (parse(a, rows[i][0], &s, &e) >= 0)
            fail_msg("accepted: %s", rows[i][0]);
        if (!strstr(e.text, rows[i][1]))
            fail_msg("%s\nsaid: %s\nwant: %s", rows[i][0], e.text, rows[i][1]);
    }
}

static void limits_hold(void **state)
{
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf text = {0};
    struct scenario s;
    struct err e = {0};
    buf_text(&text, NODES);
    for (int i = 0; i <= LIMIT_SCENARIO_STEPS; i++)
        buf_text(&text, "- fail-node: a\n");
    assert_int_equal(parse(a, text.data, &s, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "steps is a list of up to 10000 steps"));
    buf_clear(&text);
    buf_text(&text, NODES "- apply: [");
    for (int i = 0; i <= LIMIT_SCENARIO_OBJECTS; i++)
        buf_text(&text, "{apiVersion: v1, kind: Pod, metadata: {name: a}},\n");
    buf_text(&text, "]\n");
    assert_int_equal(parse(a, text.data, &s, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "at most 20000 objects"));
    assert_int_equal(scenario_read(a, "/none/s.yaml", &s, &e), -E_NOTFOUND);
    assert_int_equal(scenario_parse(a, "s", BYTES(NODES "- apply: f.yaml"), NULL, NULL, &s, &e), -E_INVALID);
    assert_non_null(strstr(e.text, "no file is read here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_it), cmocka_unit_test(wrong_ones), cmocka_unit_test(limits_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
