/* configuration_workloads.c - what a configuration says of making Workloads of jobs, and of keeping them */
#include "base/clock.h"
#include "codec/configuration/configuration_part.h"
#include "codec/kinds/label_selector.h"

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

#define METADATA_NAME "kubernetes.io/metadata.name"

/* SOURCE Kueue: all but these, where nothing is said; and it may not say that these are. */
static const struct json *namespaces_of(struct configuration_reader *r, const struct json *root, bool all_jobs)
{
    static const char path[] = "managedJobsNamespaceSelector";
    const struct json *given = json_get(root, path);
    const char *ns = json_get_text(root, "namespace", ""), *never[] = {"kube-system", *ns ? ns : "kueue-system"};
    if (!json_is(given, JSON_OBJECT)) {
        const char *all = "{\"matchExpressions\":[{\"key\":\"" METADATA_NAME "\",\"operator\":\"NotIn\",\"values\":[]}]}";
        struct json *selector = json_parse(r->a, bytes_of(all), NULL, NULL);
        for (int i = 0; i < 2; i++)
            json_append(json_get(json_item(json_get(selector, "matchExpressions"), 0), "values"), json_new_text(r->a, never[i]));
        return all_jobs ? selector : NULL;
    }
    for (int i = 0; i < 2; i++) {
        struct json *labels = json_new(r->a, JSON_OBJECT);
        json_set_text(r->a, labels, METADATA_NAME, never[i]);
        if (label_selector_matches(given, labels))
            configuration_problem(r, path, "selects namespace %s: add {key: " METADATA_NAME ", operator: NotIn, values: [%s, %s]} to its "
                                           "matchExpressions", never[i], never[0], never[1]);
    }
    return given;
}

void configuration_read_workloads(struct configuration_reader *r, const struct json *root, struct workload_policy *p)
{
    *p = (struct workload_policy){.all_jobs = json_get_bool(root, "manageJobsWithoutQueueName", false)};
    p->namespaces = namespaces_of(r, root, p->all_jobs);
    if (p->all_jobs)
        buf_printf(r->warnings, "manageJobsWithoutQueueName: pods that name no queue are not held, only jobs are\n");
    p->labels = configuration_texts(r->a, json_path(root, "integrations", "labelKeysToCopy", NULL), &p->labels_n);
    const struct json *kept = json_path(root, "objectRetentionPolicies", "workloads", NULL);
    p->finished = retention_of(kept, "afterFinished");
    p->deactivated = retention_of(kept, "afterDeactivatedByKueue");
    p->hides_reclaimable = !json_get_bool(json_get(root, "featureGates"), "ReclaimablePods", true);
}
