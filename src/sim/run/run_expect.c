/* run_expect.c - is it as the scenario says? */
#include <stdio.h>
#include "kube/object.h"
#include "sim/run/run_part.h"

enum scenario_state run_job_state(const struct timeline_job *j)
{
    if (j->ended)
        return j->failed ? SCENARIO_FAILED : SCENARIO_FINISHED;
    return j->gone ? SCENARIO_GONE : j->pods_n ? SCENARIO_RUNNING : SCENARIO_WAITING;
}

static bool same_nodes(const struct json *wanted, const struct json *nodes)
{
    uint32_t found_n = 0;
    JSON_EACH (name, wanted)
        found_n += json_get(nodes, name->text) != NULL;
    return found_n == wanted->n && nodes->n == wanted->n;
}

/* "", or what is otherwise: each in a few words, by commas. */
static void look_at_job(struct run *r, const struct scenario_expect *x, struct buf *other)
{
    const struct timeline_job *j = timeline_job_named(r->t, x->job);
    enum scenario_state state = j ? run_job_state(j) : SCENARIO_GONE;
    const char *why = j && state == SCENARIO_WAITING ? j->why : "";
    if (x->state >= 0 && (int)state != x->state)
        buf_printf(other, ", it is %s", j ? scenario_states[state] : "not known");
    if (x->pods >= 0 && (j ? j->pods_n : 0) != x->pods)
        buf_printf(other, ", pods: %u", j ? j->pods_n : 0);
    if (x->starts >= 0 && (j ? j->starts_n : 0) != x->starts)
        buf_printf(other, ", starts: %u", j ? j->starts_n : 0);
    if (x->reason && !strstr(why, x->reason))
        buf_printf(other, *why ? ", it waits: %s" : ", it waits for nothing%s", why);
    if (x->nodes) {
        const struct json *nodes = j ? timeline_job_nodes(r->t, r->a, j) : json_new(r->a, JSON_OBJECT);
        if (same_nodes(x->nodes, nodes))
            return;
        buf_text(other, ", nodes:");
        JSON_EACH (node, nodes)
            buf_printf(other, " %s", node->key);
        buf_text(other, nodes->n ? "" : " none");
    }
}

static void look_at_queue(const struct run *r, const struct scenario_expect *x, struct buf *other)
{
    uint32_t waiting_n = 0, running_n = 0;
    for (uint32_t i = 0; i < r->t->jobs_n; i++) {
        const struct timeline_job *j = r->t->jobs[i];
        enum scenario_state state = run_job_state(j);
        waiting_n += text_equal(j->queue, x->queue) && state == SCENARIO_WAITING;
        running_n += text_equal(j->queue, x->queue) && state == SCENARIO_RUNNING;
    }
    if (x->waiting >= 0 && waiting_n != x->waiting)
        buf_printf(other, ", waiting: %u", waiting_n);
    if (x->running >= 0 && running_n != x->running)
        buf_printf(other, ", running: %u", running_n);
}

static void look_at_node(const struct run *r, const struct scenario_expect *x, struct buf *other)
{
    const uint32_t *slot = map_find_text(r->t->node_of, x->node);
    const struct timeline_node *n = slot ? &r->t->nodes[*slot] : NULL;
    if (!n || n->gone_ms >= 0)
        buf_text(other, ", it is not there");
    else if (x->gpus >= 0 && n->used_n != x->gpus)
        buf_printf(other, ", gpus: %u", n->used_n);
}

void run_expect(struct run *r, const struct scenario_step *s)
{
    for (uint32_t i = 0; i < s->expects_n; i++) {
        const struct scenario_expect *x = &s->expects[i];
        const char *about = x->job ? x->job : x->queue ? x->queue : x->node;
        _cleanup_buf_ struct buf other = {0};
        if (x->job)
            look_at_job(r, x, &other);
        else if (x->queue)
            look_at_queue(r, x, &other);
        else
            look_at_node(r, x, &other);
        r->result.met_n += !other.n;
        r->result.unmet_n += other.n > 0;
        if (other.n)
            timeline_say(r->t, TIMELINE_UNMET, about, "%s: line %u: of %s this was expected otherwise: %s", x->place.file, x->place.line,
                         about, other.data + 2);
        else
            timeline_say(r->t, TIMELINE_MET, about, "line %u: %s is as expected", x->place.line, about);
        arena_reset(r->a);
    }
}
