/* advise_unheld.c - sets and CronJobs that name a queue in vain: their label is not in their template (codec/kinds/queued_sets.h) */
#include "cli/advise/advise.h"
#include "codec/kinds/queued_sets.h"
#include "kube/object.h"

static void unheld_look(struct advise *x, const char *api_version, const char *kind, const struct json *object)
{
    const char *text = unheld_text(x->a, kind, object), *about = arena_printf(x->a, "%s %s", kind, object_key(x->a, object));
    if (!text)
        return;
    struct advise_finding *f = advise_find(x, about, "say it in its template, too: what it makes from then on waits for quota", "%s", text);
    advise_evidence(x, f, arena_printf(x->a, "%s, metadata.labels", about), "kueue.x-k8s.io/queue-name: %s",
                    object_label(object, "kueue.x-k8s.io/queue-name"));
    advise_evidence(x, f, arena_printf(x->a, "%s, spec", about), "no queue in what its %s are made of",
                    text_equal(kind, "CronJob") ? "Jobs" : "pods");
    struct json *mended = advise_object(x, object, api_version, kind);
    (void)unheld_mend(x->a, kind, mended);
    json_append(f->manifests, mended);
}

static void kind_look(struct advise *x, const char *group, const char *version, const char *plural, const char *kind)
{
    const char *path = kube_path(x->a, group, version, plural, x->c.ns, NULL, NULL);
    JSON_EACH (object, json_get(advise_get(x, arena_printf(x->a, "%s?labelSelector=kueue.x-k8s.io%%2Fqueue-name", path)), "items"))
        unheld_look(x, arena_printf(x->a, "%s/%s", group, version), kind, object);
}

void advise_not_queued(struct advise *x)
{
    for (int i = 0; i < UNHELD_KINDS_N; i++)
        kind_look(x, unheld_kinds[i].group, unheld_kinds[i].version, unheld_kinds[i].plural, unheld_kinds[i].kind);
    for (int i = 0; i < QUEUED_SETS_N; i++)
        if (queued_sets[i].in_groups)
            kind_look(x, queued_sets[i].group, queued_sets[i].version, queued_sets[i].plural, queued_sets[i].kind);
}
