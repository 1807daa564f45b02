/* configuration_workloads.c - what a configuration says of making Workloads of jobs, and of keeping them */
#include "base/clock.h"
#include "codec/configuration/configuration_part.h"

const char *const *configuration_texts(struct arena *a, const struct json *list, uint32_t *ret_n)
{
    const char **texts = arena_alloc(a, (json_is(list, JSON_ARRAY) ? list->n : 0) * sizeof *texts + 1);
    *ret_n = 0;
    JSON_EACH (item, list)
        texts[(*ret_n)++] = json_text(item, "");
    return texts;
}

static struct retention retention_of(const struct json *object, const char *key)
{
    struct retention r = {0};
    r.ends = duration_parse(json_bytes(json_get(object, key)), &r.after_ms);
    return r;
}

void configuration_read_workloads(struct configuration_reader *r, const struct json *root, struct workload_policy *p)
{
    *p = (struct workload_policy){0};
    p->labels = configuration_texts(r->a, json_path(root, "integrations", "labelKeysToCopy", NULL), &p->labels_n);
    const struct json *kept = json_path(root, "objectRetentionPolicies", "workloads", NULL);
    p->finished = retention_of(kept, "afterFinished");
    p->deactivated = retention_of(kept, "afterDeactivatedByKueue");
}
