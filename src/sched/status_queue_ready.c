/* status_queue_ready.c - may a ClusterQueue admit, and if not why: its condition Active in Kueue's words
 *
 * All that is wrong is named, not only what core met first: who mends one thing after the other sees each of them go.
 */
#include "sched/scheduler.h"

/* Texts collected into "a,b". */
static void list_add(struct buf *list, const char *name)
{
    buf_printf(list, "%s%s", list->n ? "," : "", name);
}

static void missing_flavors(const struct scheduler *s, struct arena *a, const struct json *queue, struct buf *list)
{
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors")) {
            const char *name = json_get_text(flavor, "name", "");
            if (!source_get(s, SOURCE_FLAVORS, arena_printf(a, "/%s", name), a))
                list_add(list, name);
        }
}

/* One more part of the message; the first gives the condition its reason. */
static void problem_add(struct buf *message, const char **reason, const char *why, const char *what, const char *names)
{
    buf_printf(message, "%s%s%s", message->n ? ", " : "Can't admit new workloads: ", what, names);
    if (!*reason)
        *reason = why;
}

/* Flavors whose topology has no object. SOURCE Kueue: a part of the message each. */
static void missing_topologies(const struct scheduler *s, struct arena *a, const struct json *queue, struct buf *message,
                               const char **reason)
{
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (flavor, json_get(group, "flavors")) {
            const char *name = json_get_text(flavor, "name", "");
            const struct json *object = source_get(s, SOURCE_FLAVORS, arena_printf(a, "/%s", name), a);
            const char *topology = json_text(json_path(object, "spec", "topologyName", NULL), "");
            if (*topology && !source_get(s, SOURCE_TOPOLOGIES, arena_printf(a, "/%s", topology), a))
                problem_add(message, reason, "TopologyNotFound",
                            arena_printf(a, "there is no Topology \"%s\" for TAS flavor \"%s\"", topology, name), "");
        }
}

static void problems_of(const struct scheduler *s, struct arena *a, const struct json *queue,
                        const struct reason *problem, struct buf *message, const char **reason)
{
    _cleanup_buf_ struct buf flavors = {0};
    if (strcmp(json_text(json_path(queue, "spec", "stopPolicy", NULL), "None"), "None") != 0)
        problem_add(message, reason, "Stopped", "is stopped", "");
    missing_flavors(s, a, queue, &flavors);
    if (flavors.n)
        problem_add(message, reason, "FlavorNotFound", "references missing ResourceFlavor(s): ", flavors.data);
    missing_topologies(s, a, queue, message, reason);
    JSON_EACH (one, sources_checks_wrong(s, json_get(queue, "spec"), a))
        problem_add(message, reason, json_get_text(one, "reason", ""), json_get_text(one, "message", ""), "");
    if (*reason)
        return;
    struct buf text = {0};
    explain_sentence(&text, problem, s->names);
    problem_add(message, reason,
                problem->code == REASON_QUEUE_INACTIVE && problem->name ? "CohortCycle" : "Unknown",
                text.data ? text.data : "the reason is not known", "");
    buf_free(&text);
}

void status_queue_ready(struct scheduler *s, struct arena *a, const struct json *queue, const struct reason *problem,
                        const char **ret_reason, const char **ret_message)
{
    *ret_reason = "Ready";
    *ret_message = "Can admit new workloads";
    if (object_deleting(queue)) {
        *ret_reason = "Terminating";
        *ret_message = "Can't admit new workloads; clusterQueue is terminating";
    } else if (problem) {
        _cleanup_buf_ struct buf message = {0};
        *ret_reason = NULL;
        problems_of(s, a, queue, problem, &message, ret_reason);
        buf_char(&message, '.');
        *ret_message = arena_text(a, message.data);
    }
}
