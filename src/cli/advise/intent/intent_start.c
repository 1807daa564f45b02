/* intent_start.c - would the work start now, as it was advised, and if not: what would help. By a copy of the scheduler (preview.h) */
#include "base/clock.h"
#include "cli/advise/intent/intent.h"
#include "cli/drive/forecast.h"
#include "cli/lookup/start_text.h"
#include "cli/sim/what_if_objects.h"
#include "kube/object.h"

/* The object of which pods come; of a CronJob its next Job. */
static struct json *next_of(struct intent *p, const struct intent_work *w)
{
    struct json *next = json_clone(p->x->a, w->object), *metadata = json_ensure_object(p->x->a, next, "metadata");
    if (w->object == w->document)
        return next;
    json_set_text(p->x->a, next, "apiVersion", "batch/v1");
    json_set_text(p->x->a, next, "kind", "Job");
    json_set_text(p->x->a, metadata, "name", arena_printf(p->x->a, "%s-next", w->name));
    json_set_text(p->x->a, metadata, "namespace", w->ns);
    return next;
}

/* What the scheduler has to know besides: queues and groups of the file, in front of the work itself. */
static struct json *documents_for(struct intent *p, const struct intent_work *w)
{
    static const char *const besides[] = {"ResourceFlavor", "Topology", "Cohort", "ClusterQueue", "LocalQueue", "Node", "PodGroup"};
    struct json *list = json_new(p->x->a, JSON_ARRAY);
    const struct intent_pods *pods = w->pods;
    enum pod_group_maker unused;
    const char *group = pods ? pod_group_first(p->x->a, pods->pod, &unused) : "";
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++)
        JSON_EACH (document, p->documents) {
            bool is_group = text_equal(besides[i], "PodGroup");
            if (!text_equal(json_get_text(document, "kind", ""), besides[i]))
                continue;
            if (!is_group || (text_equal(object_meta(document, "name"), group) && text_equal(intent_ns(p, document), w->ns)))
                json_append(list, json_clone(p->x->a, document));
        }
    if (w->kind != INTENT_GROUP)
        json_append(list, next_of(p, w));
    for (; w->kind == INTENT_GROUP && pods; pods = pods->next)
        json_append(list, json_clone(p->x->a, pods->pod));
    return list;
}

/* "by: A; or: B" of a tree of reasons; NULL: nothing is known. */
static const char *help_of(struct intent *p, const struct json *reason)
{
    const char *text = json_get_text(reason, "impossible", json_get_text(reason, "notComputed", NULL));
    JSON_EACH (remedy, json_get(reason, "remedies"))
        text = arena_printf(p->x->a, "%s%s%s", text ? text : "", text ? "; or: " : "would help: ", json_get_text(remedy, "message", "?"));
    return text;
}

static void waits_tell(struct intent *p, const struct intent_work *w, const struct preview *v)
{
    bool never = v->verdict == PREVIEW_NEVER;
    const char *help = help_of(p, v->reason), *message = json_get_text(v->reason, "message", v->message ? v->message : "?");
    struct advise_finding *f = advise_find(p->x, w->about,
                                           help    ? help
                                           : never ? "ask for less"
                                                   : "wait: it starts when it is its turn",
                                           "%s: %s", never ? "could not start as things are" : "would wait", message);
    advise_evidence(p->x, f, "a copy of the scheduler, asked", "%s", json_get_text(v->reason, "code", "no reason"));
    if (v->position > 0)
        advise_evidence(p->x, f, "its queue", "behind %d other%s", (int)v->position, v->position == 1 ? "" : "s");
    if (v->start_ms)
        advise_evidence(p->x, f, "ends of what runs", "starts %s",
                        start_text(p->x->a, v->start_ms, v->start_basis, clock_wall_us() / 1000));
}

/* What is there already was left out: then nothing but what goes with it is asked about. */
static bool any_pods(const struct json *objects)
{
    JSON_EACH (object, objects)
        if (text_equal(json_get_text(object, "kind", ""), "Workload") || text_equal(json_get_text(object, "kind", ""), "Pod"))
            return true;
    return false;
}

/* WHY  the path of a request says nothing to whoever wrote a file, and an example of many lines ("; add:") has no place in a table. */
static const char *what_is_wrong(struct arena *a, const char *text)
{
    const char *said = text_starts(text, "PATCH ") ? strstr(text, ": ") : NULL;
    text = said ? said + 2 : text;
    size_t n = strcspn(text, "\n");
    for (size_t i = n; text[n] && i > 0; i--)
        if (text[i - 1] == ';')
            return arena_text_n(a, text, i - 1);
    return arena_text_n(a, text, n);
}

void intent_start(struct intent *p, struct intent_work *w)
{
    struct err e = {0};
    struct advise *x = p->x;
    const struct json *objects = what_if_objects_of(&x->c, x->a, documents_for(p, w), &e);
    struct forecast f = {.verdict = PREVIEW_UNKNOWN, .unknown = what_is_wrong(x->a, e.text)};
    struct advise_finding *found;
    if (any_pods(objects))
        f = forecast_make(&x->c, x->a, objects);
    else if (objects)
        f.unknown = "it is in the cluster already: capstan why says how it is";
    switch (f.verdict) {
    case PREVIEW_STARTS:
        found = advise_find(x, w->about, INTENT_NOTHING, "would start now");
        advise_evidence(x, found, "a copy of the scheduler, asked", "quota and places are there");
        return;
    case PREVIEW_CHECKED:
        found =
            advise_find(x, w->about, INTENT_NOTHING, "would get its quota now, and start when the admission checks of its queue are ready");
        advise_evidence(x, found, "a copy of the scheduler, asked", "quota is there");
        return;
    case PREVIEW_WAITS:
    case PREVIEW_NEVER:
        waits_tell(p, w, &f.preview);
        return;
    case PREVIEW_UNKNOWN:
        (void)advise_find(x, w->about, INTENT_NOTHING, "not known whether it would start now: %s", arena_text(x->a, f.unknown));
        return;
    }
}
