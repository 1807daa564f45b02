/* admission_kai_queue.c - KAI's Queue: what it must say, and what is easily written wrong
 *
 * SOURCE KAI-Scheduler scheduling.run.ai/v2: its webhook wants spec.resources; a quota or limit that is not written is 0.
 */
#include "base/clock.h"
#include "codec/admission/admission_part.h"

void admission_kai_duration(struct admission *x, const struct json *spec, const char *member)
{
    const struct json *v = json_get(spec, member);
    int64_t ms;
    if (json_is(v, JSON_STRING) && !duration_parse(json_bytes(v), &ms))
        admission_error(x, FIELD_INVALID, AT(x, "spec.%s", member), v, "write a duration: 90s, 5m, 1h30m");
}

static bool is_below_zero(const struct json *v, bool may_be_unlimited)
{
    struct quantity q;
    if (!json_is(v, JSON_NUMBER) || quantity_parse(json_bytes(v), &q, NULL) < 0)
        return false;
    return q.nano < 0 && !(may_be_unlimited && q.nano == -1000000000);
}

static void check_amounts(struct admission *x, const struct json *amounts, const char *resource)
{
    const char *path = AT(x, "spec.resources.%s", resource);
    const struct json *limit = json_get(amounts, "limit");
    if (!limit || limit->type == JSON_NULL)
        admission_warn(x, "%s.limit: not written, which is 0: no pod that asks for %s starts in this queue or below it; write -1 for no limit",
                       path, resource);
    if (is_below_zero(limit, true) || is_below_zero(json_get(amounts, "quota"), true))
        admission_warn(x, "%s: an amount below 0 is read as -1, which is unlimited: write -1 for that", path);
    if (is_below_zero(json_get(amounts, "overQuotaWeight"), false))
        admission_warn(x, "%s.overQuotaWeight: a weight below 0 is read as 0: the queue gets nothing of what quotas leave", path);
}

/* WHY  no errors: KAI takes them, and parents may come later. */
static void check_parent(struct admission *x, const struct json *spec)
{
    const char *parent = json_get_text(spec, "parentQueue", ""), *name = json_text(json_path(x->object, "metadata", "name", NULL), "");
    if (!*parent)
        return;
    if (strcmp(parent, name) == 0)
        admission_warn(x, "spec.parentQueue: the queue is its own parent: nothing starts in it; write another Queue, or none");
    else if (x->read && !x->read(x->ctx, "scheduling.run.ai", "queues", "", parent))
        admission_warn(x, "spec.parentQueue: there is no Queue %.253s: nothing starts in this one before there is", parent);
}

void admission_kai_queue(struct admission *x)
{
    static const char *const resources[] = {"gpu", "cpu", "memory"};
    const struct json *spec = json_get(x->object, "spec"), *amounts = json_get(spec, "resources");
    if (x->status_only)
        return;
    if (!json_is(amounts, JSON_OBJECT)) {
        admission_error(x, FIELD_REQUIRED, "spec.resources", NULL, "write what the queue may use: gpu, cpu, memory, each with quota, limit and "
                        "overQuotaWeight; -1 is unlimited");
        return;
    }
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
        check_amounts(x, json_get(amounts, resources[i]), resources[i]);
    admission_kai_duration(x, spec, "preemptMinRuntime");
    admission_kai_duration(x, spec, "reclaimMinRuntime");
    check_parent(x, spec);
}
