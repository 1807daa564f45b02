/* kueue_unheld.c - see kueue_unheld.h
 *
 * A pass over an object: what is to be said of it is said, once; the mark in its cache is what was said last.
 */
#include "jobs/kueue/sets/kueue_unheld.h"
#include "codec/kinds/queued_sets.h"
#include "jobs/kueue/kueue_kind.h"

struct watched {
    struct kueue_unheld *all;
    const struct unheld_kind *kind;
    struct kube_cache *cache;
    struct workqueue *queue;
};
struct kueue_unheld {
    struct jobs *jobs;
    struct kueue_sets_calls calls;
    struct arena *scratch;
    struct watched watched[UNHELD_KINDS_N];
};

static void reconcile(void *arg, struct work *w)
{
    struct watched *t = arg;
    const struct kueue_unheld *u = t->all;
    struct arena *a = w->arena;
    if (!kube_cache_synced(t->cache) || !u->calls.is_ready(u->jobs))
        return; /* all keys are added again when they are */
    const struct json *object = kube_cache_get(t->cache, w->ns, w->name, a);
    if (!object || object_deleting(object) || !u->calls.in_scope(u->jobs, object))
        return;
    const char *text = unheld_text(a, t->kind->kind, object);
    const char *mark = text ? arena_printf(a, "%s %s", object_meta(object, "uid"), text) : "";
    if (text && !text_equal(kube_cache_marked(t->cache, w->key), mark))
        job_event(u->jobs, object, arena_printf(a, "%s/%s", t->kind->group, t->kind->version), t->kind->kind, "Warning", KUEUE_UNHELD_EVENT,
                  "%s", text);
    kube_cache_mark(t->cache, w->key, mark);
}

static void on_change(void *arg, enum kube_event event, const char *key, struct bytes object)
{
    (void)object;
    if (event != KUBE_DELETED)
        workqueue_add(((struct watched *)arg)->queue, key);
}

static void on_synced(void *arg)
{
    struct watched *t = arg;
    workqueue_add_all(t->queue, t->cache, NULL);
}

struct kueue_unheld *kueue_unheld_new(struct jobs *j, const struct kueue_sets_calls *calls)
{
    struct kueue_unheld *u = mem_zero(1, sizeof *u);
    u->jobs = j;
    u->calls = *calls;
    u->scratch = arena_new();
    for (int i = 0; i < UNHELD_KINDS_N; i++) {
        struct watched *t = &u->watched[i];
        if (i == UNHELD_DEPLOYMENT && j->config.unqueued_sets & 1u << QUEUED_DEPLOYMENT)
            continue;
        *t = (struct watched){.all = u, .kind = &unheld_kinds[i]};
        t->queue = workqueue_new(j->client, reconcile, t);
        const char *path = kube_path(u->scratch, t->kind->group, t->kind->version, t->kind->plural, NULL, NULL, NULL);
        struct kube_cache_config config = {.watch = {.path = path, .label_selector = KUEUE_QUEUE_LABEL, .optional = true},
                                           .on_change = on_change,
                                           .on_synced = on_synced,
                                           .arg = t};
        t->cache = kube_cache_new(j->client, &config);
    }
    return u;
}

void kueue_unheld_free(struct kueue_unheld *u)
{
    if (!u)
        return;
    for (int i = 0; i < UNHELD_KINDS_N; i++) {
        workqueue_free(u->watched[i].queue);
        kube_cache_free(u->watched[i].cache);
    }
    arena_free(u->scratch);
    free(u);
}

void kueue_unheld_look(struct kueue_unheld *u, const char *word)
{
    for (int i = 0; u && i < UNHELD_KINDS_N; i++)
        if (u->watched[i].queue)
            workqueue_add_all(u->watched[i].queue, u->watched[i].cache, word);
}
