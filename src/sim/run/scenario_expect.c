/* scenario_expect.c - what a scenario says should be so */
#include "base/limits.h"
#include "sim/run/scenario_part.h"

#define X(name, text) text,
const char *const scenario_states[SCENARIO_STATES_N] = {SCENARIO_STATES(X)};
#undef X
#define FORMS "job: NAMESPACE/NAME, queue: NAMESPACE/QUEUE or node: NAME"

static bool read_state(struct scenario_reader *x, const struct json *v, int *ret)
{
    const char *given = NULL;
    if (!scenario_text(x, v, "state", &given))
        return false;
    for (int i = 0; given && i < SCENARIO_STATES_N; i++)
        if (text_equal(given, scenario_states[i]))
            *ret = i;
    return !given || *ret >= 0 ||
           scenario_wrong(x, json_get(v, "state"), "state %.40s is none: write waiting, running, finished, failed or gone", given);
}

static bool read_names(struct scenario_reader *x, const struct json *v, struct scenario_expect *to)
{
    to->nodes = json_get(v, "nodes");
    if (to->nodes && !json_is(to->nodes, JSON_ARRAY))
        return scenario_wrong(x, to->nodes, "nodes is a list of names");
    JSON_EACH (name, to->nodes)
        if (!json_is(name, JSON_STRING))
            return scenario_wrong(x, name, "nodes is a list of names");
    return true;
}

/* "team-a/train" */
static bool check_pair(struct scenario_reader *x, const struct json *v, const char *key)
{
    const struct json *member = json_get(v, key);
    const char *slash = member ? strchr(json_text(member, ""), '/') : NULL;
    return !member || (slash && slash != member->text && slash[1] && !strchr(slash + 1, '/')) ||
           scenario_wrong(x, member, "%s is written with its namespace, as in %s: team-a/%s", key, key, key[0] == 'j' ? "train" : "gpus");
}

static bool read_one(struct scenario_reader *x, const struct json *v, struct scenario_expect *to)
{
    *to = (struct scenario_expect){
        .place = scenario_place_of(x, v), .state = -1, .pods = -1, .starts = -1, .waiting = -1, .running = -1, .gpus = -1};
    if (!json_is(v, JSON_OBJECT))
        return scenario_wrong(x, v, "expect is a mapping, or a list of them, with " FORMS);
    if (!scenario_text(x, v, "job", &to->job) || !scenario_text(x, v, "queue", &to->queue) || !scenario_text(x, v, "node", &to->node))
        return false;
    if (!!to->job + !!to->queue + !!to->node != 1)
        return scenario_wrong(x, v, "expect is about one of " FORMS);
    const char *known = to->job ? "job, state, pods, starts, reason, nodes" : to->queue ? "queue, waiting, running" : "node, gpus";
    if (!scenario_keys(x, v, "this expect", known) || !check_pair(x, v, "job") || !check_pair(x, v, "queue") ||
        !read_state(x, v, &to->state) || !scenario_number(x, v, "pods", 0, INT32_MAX, &to->pods) ||
        !scenario_number(x, v, "starts", 0, INT32_MAX, &to->starts) || !scenario_text(x, v, "reason", &to->reason) ||
        !scenario_number(x, v, "waiting", 0, INT32_MAX, &to->waiting) || !scenario_number(x, v, "running", 0, INT32_MAX, &to->running) ||
        !scenario_number(x, v, "gpus", 0, INT32_MAX, &to->gpus) || !read_names(x, v, to))
        return false;
    return v->n > 1 || scenario_wrong(x, v, "this expects nothing: write one of %s", known);
}

bool scenario_read_expect(struct scenario_reader *x, const struct json *v, struct scenario_step *s)
{
    bool is_list = json_is(v, JSON_ARRAY);
    uint32_t n = is_list ? v->n : 1;
    s->expects = arena_alloc(x->a, (n + 1) * sizeof *s->expects);
    if (!is_list) {
        s->expects_n = 1;
        return read_one(x, v, s->expects);
    }
    JSON_EACH (item, v)
        if (!read_one(x, item, &s->expects[s->expects_n++]))
            return false;
    return true;
}
