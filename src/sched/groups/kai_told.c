#include "sched/groups/kai_told.h"
#include "base/clock.h"
#include "kube/object.h"

#define CONDITIONS "schedulingConditions"
#define NODE_POOL "kai.scheduler/node-pool" /* label of a group: the nodes that it is for; of all others "default" */

/* What keeps it out in KAI's word, and the member of the reason that names the Queue. Of nodes KAI has no word. */
static const struct {
    const char *code, *word, *queue;
} words[] = {{"quota-short", "OverLimit", "queue"},
             {"quota-exceeds-maximum", "OverLimit", "queue"},
             {"kept-over-quota", "NonPreemptibleOverQuota", "queue"},
             {"queue-missing", "QueueDoesNotExist", "name"}};

static bool explain(struct arena *a, const struct json *reason, const char *text, struct json *reasons)
{
    const char *code = json_get_text(reason, "code", "");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(code, words[i].code) != 0)
            continue;
        struct json *why = json_new(a, JSON_OBJECT);
        json_set_text(a, why, "reason", words[i].word);
        json_set_text(a, why, "message", text);
        json_set_text(a, json_ensure_object(a, json_ensure_object(a, why, "details"), "queueDetails"), "name",
                      json_get_text(reason, words[i].queue, ""));
        json_append(reasons, why);
        return true;
    }
    return false;
}

static void explain_tree(struct arena *a, const struct kai_waits *waits, struct json *condition)
{
    struct json *reasons = json_new(a, JSON_ARRAY);
    const struct json *tree = json_parse(a, bytes_of(waits->tree ? waits->tree : ""), NULL, NULL), *children = json_get(tree, "children");
    bool found = explain(a, tree, waits->text, reasons);
    JSON_EACH (child, json_is(children, JSON_ARRAY) ? children : NULL)
        found = found || explain(a, child, waits->text, reasons);
    if (found)
        json_set(a, condition, "reasons", reasons);
}

/* When it was said first: who reads it looks for how long that has been so. */
static const char *since(struct arena *a, const struct json *was, int64_t now_ms)
{
    char now[TIME_TEXT_MAX];
    const char *then = json_get_text(was, "lastTransitionTime", "");
    return *then ? then : arena_text(a, time_format(now, now_ms));
}

void kai_told_set(struct arena *a, const struct json *group, struct json *status, const struct kai_waits *waits, int64_t now_ms)
{
    const struct json *was = json_item(json_get(status, CONDITIONS), 0);
    const char *pool = object_label(group, NODE_POOL), *id = json_get_text(was, "transitionID", "1");
    if (!waits) {
        (void)json_remove(status, CONDITIONS);
        return;
    }
    struct json *condition = json_new(a, JSON_OBJECT), *list = json_new(a, JSON_ARRAY);
    json_set_text(a, condition, "type", "UnschedulableOnNodePool");
    json_set_text(a, condition, "status", "True");
    json_set_text(a, condition, "nodePool", *pool ? pool : "default");
    json_set_text(a, condition, "reason", "Unschedulable");
    json_set_text(a, condition, "message", waits->text);
    json_set_text(a, condition, "transitionID", id);
    json_set_text(a, condition, "lastTransitionTime", since(a, was, now_ms));
    explain_tree(a, waits, condition);
    json_append(list, condition);
    json_set(a, status, CONDITIONS, list);
}

const char *kai_told_not_ready(struct arena *a, int64_t needed, int64_t exist, int64_t gated)
{
    return arena_printf(a, "Job is not ready for scheduling. Waiting for %lld pods, currently %lld exist, %lld are gated",
                        (long long)needed, (long long)exist, (long long)gated);
}
