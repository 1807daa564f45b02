/* scenario.c - the file as a whole, and its steps */
#include "sim/run/scenario.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "sim/run/scenario_part.h"

/* ---- nodes ---- */

static bool read_nodes(struct scenario_reader *x, const struct json *v, struct scenario_nodes *ret)
{
    struct err e = {0};
    if (!json_is(v, JSON_STRING))
        return scenario_wrong(x, v, "nodes are written as N:SHAPE, as in \"2:h100-80gb\"");
    if (node_shape_parse(v->text, &ret->nodes_n, &ret->shape, &e) < 0)
        return scenario_wrong(x, v, "%s", e.text);
    return ret->nodes_n <= LIMIT_SCENARIO_NODES || scenario_wrong(x, v, "at most %d nodes", LIMIT_SCENARIO_NODES);
}

static bool read_first_nodes(struct scenario_reader *x, const struct json *root)
{
    const struct json *list = json_get(root, "nodes");
    int64_t sum = 0;
    if (!list)
        return scenario_wrong(x, root, "nodes are missing: say which there are, as in nodes: [\"2:h100-80gb\"]");
    if (!json_is(list, JSON_ARRAY) || !list->n || list->n > LIMIT_SCENARIO_SHAPES)
        return scenario_wrong(x, list, "nodes is a list of 1 to %d texts N:SHAPE, as in [\"2:h100-80gb\"]", LIMIT_SCENARIO_SHAPES);
    x->s->nodes = arena_alloc(x->a, list->n * sizeof *x->s->nodes);
    JSON_EACH (item, list) {
        if (!read_nodes(x, item, &x->s->nodes[x->s->nodes_n]))
            return false;
        sum += x->s->nodes[x->s->nodes_n++].nodes_n;
        if (sum > LIMIT_SCENARIO_NODES)
            return scenario_wrong(x, item, "at most %d nodes", LIMIT_SCENARIO_NODES);
    }
    return true;
}

/* ---- steps ---- */

static const struct {
    const char *key;
    enum scenario_action action;
} actions[] = {
    {"apply", SCENARIO_APPLY},
    {"job", SCENARIO_APPLY},
    {"delete", SCENARIO_DELETE},
    {"add-nodes", SCENARIO_ADD_NODES},
    {"fail-node", SCENARIO_FAIL_NODE},
    {"recover-node", SCENARIO_RECOVER_NODE},
    {"remove-node", SCENARIO_REMOVE_NODE},
    {"drain-node", SCENARIO_DRAIN_NODE},
    {"uncordon-node", SCENARIO_UNCORDON_NODE},
    {"expect", SCENARIO_EXPECT},
};
enum { ACTIONS_N = sizeof actions / sizeof *actions };
#define STEP_KEYS "at, apply, runs, job, delete, add-nodes, fail-node, recover-node, remove-node, drain-node, uncordon-node, expect"

static bool read_action(struct scenario_reader *x, const struct json *step, const struct json *v, int action, struct scenario_step *s)
{
    s->action = actions[action].action;
    if (text_equal(actions[action].key, "job"))
        return scenario_read_job(x, v, s);
    switch (s->action) {
    case SCENARIO_APPLY:
        return scenario_read_apply(x, step, s);
    case SCENARIO_DELETE:
        return scenario_read_delete(x, v, s);
    case SCENARIO_EXPECT:
        return scenario_read_expect(x, v, s);
    case SCENARIO_ADD_NODES: {
        struct scenario_nodes *n = arena_alloc(x->a, sizeof *n);
        s->nodes = n;
        s->what = json_text(v, "");
        return read_nodes(x, v, n);
    }
    case SCENARIO_FAIL_NODE:
    case SCENARIO_RECOVER_NODE:
    case SCENARIO_REMOVE_NODE:
    case SCENARIO_DRAIN_NODE:
    case SCENARIO_UNCORDON_NODE:
        break;
    }
    return scenario_text(x, step, actions[action].key, &s->what);
}

/* before_ms: time of the step above. */
static bool read_step(struct scenario_reader *x, const struct json *v, int64_t before_ms, struct scenario_step *s)
{
    int found = -1;
    *s = (struct scenario_step){.at_ms = before_ms, .place = scenario_place_of(x, v)};
    if (!scenario_keys(x, v, "a step", STEP_KEYS) || !scenario_time(x, v, "at", &s->at_ms))
        return false;
    if (s->at_ms < before_ms)
        return scenario_wrong(x, json_get(v, "at"), "at is before the step above: put steps in the order of their times");
    for (int i = 0; i < ACTIONS_N; i++) {
        const struct json *member = json_get(v, actions[i].key);
        if (member && found >= 0)
            return scenario_wrong_key(x, member, "%s: a step does one thing: begin another one with \"- %s:\"", member->key, member->key);
        found = member ? i : found;
    }
    if (found < 0)
        return scenario_wrong(x, v, "this step does nothing: write one of %s", STEP_KEYS);
    if (json_get(v, "runs") && !text_equal(actions[found].key, "apply"))
        return scenario_wrong_key(x, json_get(v, "runs"), "runs goes with apply; of a job write job: {runs: 10m}");
    return read_action(x, v, json_get(v, actions[found].key), found, s);
}

static bool read_steps(struct scenario_reader *x, const struct json *root)
{
    const struct json *list = json_get(root, "steps");
    int64_t before_ms = 0;
    if (!list)
        return scenario_wrong(x, root,
                              "steps are missing: say what happens, as in steps: [{at: 1m, job: {name: train, gpus: 1, runs: 10m}}]");
    if (!json_is(list, JSON_ARRAY) || list->n > LIMIT_SCENARIO_STEPS)
        return scenario_wrong(x, list, "steps is a list of up to %d steps", LIMIT_SCENARIO_STEPS);
    x->s->steps = arena_alloc(x->a, (list->n + 1) * sizeof *x->s->steps);
    JSON_EACH (item, list) {
        struct scenario_step *s = &x->s->steps[x->s->steps_n];
        if (!read_step(x, item, before_ms, s))
            return false;
        before_ms = s->at_ms;
        x->s->steps_n++;
    }
    if (x->s->until_ms >= 0 && x->s->until_ms < before_ms)
        return scenario_wrong(x, json_get(root, "until"), "until is before the last step");
    return true;
}

/* ---- the file ---- */

/* Of a FILE that the scenario names: beside it. */
static const char *beside(const struct scenario_reader *x, const char *file)
{
    return *file == '/' || !*x->dir ? file : arena_printf(x->a, "%s/%s", x->dir, file);
}

static bool read_root(struct scenario_reader *x, const struct json *docs)
{
    const struct json *root = json_first(docs);
    if (!root)
        return err_set(x->e, E_INVALID, "%s: there is nothing in it: want nodes and steps", x->file) == 0;
    if (root->next)
        return scenario_wrong(x, root->next, "a scenario is one document: take the --- away");
    x->s->title = "";
    x->s->until_ms = -1;
    if (!scenario_keys(x, root, "a scenario", "title, nodes, config, until, steps") || !scenario_text(x, root, "title", &x->s->title) ||
        !scenario_text(x, root, "config", &x->s->config) || !scenario_time(x, root, "until", &x->s->until_ms))
        return false;
    if (x->s->config) {
        x->s->config = beside(x, x->s->config);
        x->s->config_place = scenario_place_of(x, json_get(root, "config"));
    }
    return read_first_nodes(x, root) && read_steps(x, root);
}

static const char *folder_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? "" : slash == path ? "/" : arena_text_n(a, path, (size_t)(slash - path));
}

int scenario_parse(struct arena *a, const char *name, struct bytes text, scenario_read_file *read_file, void *arg,
                   struct scenario *ret_scenario, struct err *e)
{
    struct scenario s = {0};
    struct scenario_reader x = {.a = a,
                                .file = name,
                                .dir = folder_of(a, name),
                                .read_file = read_file,
                                .arg = arg,
                                .left_bytes = LIMIT_SCENARIO_FILES_BYTES,
                                .left_objects = LIMIT_SCENARIO_OBJECTS,
                                .s = &s,
                                .e = e};
    struct json_parse_info info = {0};
    struct json *docs;
    x.places = yaml_places_new();
    int r = yaml_parse_places(a, text, &docs, &info, x.places, e);
    if (r < 0)
        (void)err_wrap(e, "%s", name);
    else if (info.duplicate_n)
        r = err_set(e, E_INVALID, "%s: line %u: %s stands there twice: leave one of them", name, info.line[0], info.duplicate[0]);
    else
        r = read_root(&x, docs) ? 0 : -e->code;
    yaml_places_free(x.places);
    if (r == 0)
        *ret_scenario = s;
    return r;
}

static int read_whole(void *arg, struct arena *a, const char *path, struct bytes *ret_text, struct err *e)
{
    (void)arg;
    _cleanup_buf_ struct buf text = {0};
    int r = file_read(path, LIMIT_SCENARIO_FILES_BYTES, &text, e);
    if (r == 0)
        *ret_text = (struct bytes){arena_text_n(a, text.n ? text.data : "", text.n), text.n};
    return r;
}

int scenario_read(struct arena *a, const char *path, struct scenario *ret_scenario, struct err *e)
{
    _cleanup_buf_ struct buf text = {0};
    int r = file_read_input(path, LIMIT_SCENARIO_BYTES, &text, e);
    return r < 0 ? r
                 : scenario_parse(a, text_equal(path, "-") ? "standard input" : path, buf_view(&text), read_whole, NULL, ret_scenario, e);
}
