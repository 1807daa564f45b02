/* advise_facts.c - what the rules look at, asked for once; findings */
#include <stdarg.h>
#include <stdlib.h>
#include "base/clock.h"
#include "cli/advise/advise.h"
#include "cli/history/usage_read.h"
#include "cli/lookup/accelerators.h"
#include "cli/lookup/job_find.h"
#include "exporter/collect/pod_owner.h"
#include "kube/object.h"

#define ADVISE_POD_FIELDS "?fields=" LISTED_META ",spec(nodeName,schedulerName,schedulingGroup,workloadRef," LISTED_REQUESTS "),status(phase)"
#define USAGE_SINCE_S (7 * 86400.0)

static void unread_add(struct advise *x, const char *what)
{
    x->unread = arena_printf(x->a, "%s%s%s", x->unread ? x->unread : "", x->unread ? ", " : "", what);
}

const struct json *advise_get(struct advise *x, const char *path)
{
    struct err e = {0};
    const struct json *found = connection_get(&x->c, x->a, path, &e);
    if (!found && e.code != E_NOTFOUND)
        unread_add(x, e.text);
    return found;
}

const struct json *advise_pod_group(struct advise *x, enum pod_group_maker maker, const char *ns, const char *name)
{
    struct err e = {0};
    const struct json *found = job_read(&x->c, x->a, (enum job_kind)(JOB_KIND_VOLCANO_GROUP + (int)maker), ns, name, &e);
    if (!found && e.code != E_NOTFOUND)
        unread_add(x, e.text);
    return found;
}

static const struct json *items(struct advise *x, const char *group, const char *version, const char *plural, bool in_namespace)
{
    return json_get(advise_get(x, kube_path(x->a, group, version, plural, in_namespace ? x->c.ns : NULL, NULL, NULL)), "items");
}

static void owned_add(struct advise *x, const struct json *pod, int64_t accelerators_n)
{
    const char *owner = object_controller(pod, "uid");
    int64_t created_ms = x->now_ms;
    if (!*owner)
        return;
    struct advise_owned *o = map_put(x->owned, bytes_of(owner), NULL);
    if (*json_text(json_path(pod, "spec", "nodeName", NULL), "")) {
        o->placed_n++;
        o->held_n += accelerators_n;
        return;
    }
    (void)time_parse(bytes_of(object_meta(pod, "creationTimestamp")), &created_ms);
    if (!o->waiting_n++ || created_ms < o->oldest_ms) {
        o->oldest_ms = created_ms;
        o->waiting = arena_text(x->a, object_meta(pod, "name"));
    }
}

static void alone_add(struct advise *x, const struct json *pod, int64_t accelerators_n)
{
    const char *reason = object_annotation(pod, OBJECT_REASON);
    if (!*reason || pod_is_in_group(x->a, pod) || *json_text(json_path(pod, "spec", "nodeName", NULL), ""))
        return;
    struct advise_alone *p = arena_zero(x->a, 1, sizeof *p);
    *p = (struct advise_alone){arena_printf(x->a, "Pod %s", object_key(x->a, pod)), arena_text(x->a, reason), accelerators_n, x->now_ms,
                               x->alone};
    (void)time_parse(bytes_of(object_meta(pod, "creationTimestamp")), &p->created_ms);
    x->alone = p;
}

static void pod_came(void *arg, const struct json *pod)
{
    struct advise *x = arg;
    const char *phase = json_text(json_path(pod, "status", "phase", NULL), "");
    struct accelerators asked = accelerators_of(x->a, pod);
    if (!asked.devices_n || object_deleting(pod) || text_equal(phase, "Succeeded") || text_equal(phase, "Failed"))
        return;
    struct advise_pod *p = arena_zero(x->a, 1, sizeof *p);
    *p = (struct advise_pod){arena_text(x->a, object_meta(pod, "namespace")), arena_text(x->a, pod_owner_queue(json_get(pod, "metadata"))),
                             asked.devices_n, x->pods};
    x->pods = p;
    owned_add(x, pod, asked.devices_n);
    alone_add(x, pod, asked.devices_n);
}

/* ---- what jobs have, and what was measured of it ---- */

static void gpu_came(void *context, const struct gpu_line *line)
{
    struct advise *x = context;
    MEM_RESERVE(x->gpus, x->gpus_cap, x->gpus_n + 1);
    x->gpus[x->gpus_n++] = *line;
    if (!line->pods_n && line->healthy)
        ++*(uint32_t *)map_put(x->free, bytes_of(line->resource), NULL);
}

static struct advise_use *use_of(struct advise *x, struct map *by_name, const struct gpu_line *g, const struct gpu_holder *h)
{
    uint32_t *place = map_put(by_name, bytes_of(arena_printf(x->a, "%s/%s", h->ns, h->name)), NULL);
    if (!*place) {
        MEM_RESERVE(x->uses, x->uses_cap, x->uses_n + 1);
        x->uses[x->uses_n] = (struct advise_use){.ns = h->ns,
                                                 .name = h->name,
                                                 .pod = json_text(json_item(h->pods, 0), ""),
                                                 .node = g->node,
                                                 .product = g->product ? g->product : "?",
                                                 .resource = g->resource,
                                                 .activity_permille = -1};
        *place = ++x->uses_n;
    }
    return &x->uses[*place - 1];
}

static void use_add(struct advise_use *u, const struct gpu_line *g, const struct gpu_holder *h)
{
    u->devices_n++;
    u->measured_n += g->activity_permille >= 0;
    u->shared_n += g->pods_n > h->pods_n;
    u->slots_n += g->slots_n > 1;
    u->activity_permille = g->activity_permille > u->activity_permille ? g->activity_permille : u->activity_permille;
    u->memory_used_mib = g->memory_used_mib > u->memory_used_mib ? g->memory_used_mib : u->memory_used_mib;
    u->memory_total_mib = g->memory_total_mib > u->memory_total_mib ? g->memory_total_mib : u->memory_total_mib;
    u->since_ms = g->since_ms > u->since_ms ? g->since_ms : u->since_ms;
    u->measured_ms = !u->measured_ms || g->measured_ms < u->measured_ms ? g->measured_ms : u->measured_ms;
}

static void uses_make(struct advise *x, struct map *by_name)
{
    struct map *pods = map_new(sizeof(bool)); /* "ns/pod": it is counted */
    for (uint32_t i = 0; i < x->gpus_n; i++)
        for (const struct gpu_holder *h = x->gpus[i].holders; h; h = h->next) {
            struct advise_use *u = use_of(x, by_name, &x->gpus[i], h);
            use_add(u, &x->gpus[i], h);
            JSON_EACH (pod, h->pods) {
                bool *counted = map_put(pods, bytes_of(arena_printf(x->a, "%s/%s", h->ns, json_text(pod, ""))), NULL);
                u->pods_n += !*counted;
                *counted = true;
            }
        }
    map_free(pods);
}

/* Of pods that run still. Without a store what was measured last has to do. */
static void usage_add(struct advise *x, struct map *by_name, const char *store)
{
    struct usage_record *records;
    uint32_t n = 0;
    struct err e = {0};
    double now_s = (double)x->now_ms / 1000;
    const char *from = NULL;
    int r = usage_read(store, x->a, now_s - USAGE_SINCE_S, now_s, &records, &n, &from, &e);
    if (r < 0) {
        if (store || r != -E_NOTFOUND)
            unread_add(x, e.text);
        return;
    }
    x->store = from;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = records[i].job && *records[i].job ? records[i].job : records[i].pod;
        const uint32_t *place = map_find_text(by_name, arena_printf(x->a, "%s/%s", records[i].ns, name));
        if (!place || records[i].end_s > 0)
            continue;
        x->uses[*place - 1].allocated_s += records[i].allocated_s;
        x->uses[*place - 1].active_s += records[i].active_s;
    }
}

void advise_facts(struct advise *x, const char *store)
{
    struct map *by_name = map_new(sizeof(uint32_t));
    struct err e = {0};
    x->now_ms = clock_wall_us() / 1000;
    x->owned = map_new(sizeof(struct advise_owned));
    x->jobs_by_uid = map_new(sizeof(const struct json *));
    x->free = map_new(sizeof(uint32_t));
    x->nodes = items(x, "", "v1", "nodes", false);
    x->flavors = items(x, "kueue.x-k8s.io", "v1beta2", "resourceflavors", false);
    x->cluster_queues = items(x, "kueue.x-k8s.io", "v1beta2", "clusterqueues", false);
    x->cohorts = items(x, "kueue.x-k8s.io", "v1beta2", "cohorts", false);
    x->local_queues = items(x, "kueue.x-k8s.io", "v1beta2", "localqueues", true);
    x->workloads = items(x, "kueue.x-k8s.io", "v1beta2", "workloads", true);
    x->jobs = items(x, "batch", "v1", "jobs", true);
    JSON_EACH (job, x->jobs)
        *(const struct json **)map_put(x->jobs_by_uid, bytes_of(object_meta(job, "uid")), NULL) = job;
    const char *pods = kube_path(x->a, "", "v1", "pods", x->c.ns, NULL, NULL);
    if (connection_each(&x->c, arena_printf(x->a, "%s" ADVISE_POD_FIELDS, pods), pod_came, x, &e) < 0)
        unread_add(x, e.text);
    struct err gpus = {0};
    if (x->nodes)
        (void)gpus_find(&x->c, x->a, gpu_came, x, &gpus);
    if (gpus.code)
        unread_add(x, gpus.text);
    uses_make(x, by_name);
    usage_add(x, by_name, store);
    map_free(by_name);
}

void advise_facts_free(struct advise *x)
{
    map_free(x->owned);
    map_free(x->jobs_by_uid);
    map_free(x->free);
    free(x->gpus);
    free(x->uses);
}

/* ---- findings ---- */

struct advise_finding *advise_find(struct advise *x, const char *about, const char *todo, const char *format, ...)
{
    _cleanup_buf_ struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    struct advise_finding *f = arena_zero(x->a, 1, sizeof *f);
    *f = (struct advise_finding){.rule = x->rule,
                                 .about = about,
                                 .text = arena_text_n(x->a, text.data, text.n),
                                 .todo = todo,
                                 .manifests = json_new(x->a, JSON_ARRAY)};
    f->last = &f->first;
    *x->last = f;
    x->last = &f->next;
    x->findings_n++;
    return f;
}

void advise_evidence(struct advise *x, struct advise_finding *f, const char *from, const char *format, ...)
{
    _cleanup_buf_ struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    struct advise_evidence *e = arena_zero(x->a, 1, sizeof *e);
    *e = (struct advise_evidence){arena_text_n(x->a, text.data, text.n), from, NULL};
    *f->last = e;
    f->last = &e->next;
}

struct json *advise_object(struct advise *x, const struct json *object, const char *api_version, const char *kind)
{
    static const char *const kept[] = {"name", "namespace", "labels", "annotations"};
    struct arena *a = x->a;
    struct json *copy = json_new(a, JSON_OBJECT), *metadata;
    json_set_text(a, copy, "apiVersion", api_version);
    json_set_text(a, copy, "kind", kind);
    metadata = json_ensure_object(a, copy, "metadata");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_path(object, "metadata", kept[i], NULL))
            json_set(a, metadata, kept[i], json_clone(a, json_path(object, "metadata", kept[i], NULL)));
    struct json *annotations = json_get(metadata, "annotations");
    if (annotations) {
        (void)json_remove(annotations, "kubectl.kubernetes.io/last-applied-configuration");
        if (!json_first(annotations))
            (void)json_remove(metadata, "annotations");
    }
    if (json_get(object, "spec"))
        json_set(a, copy, "spec", json_clone(a, json_get(object, "spec")));
    return copy;
}

const char *advise_age(struct advise *x, int64_t ms)
{
    char text[TIME_TEXT_MAX];
    return arena_text(x->a, time_age(text, ms > 0 ? ms : 0));
}
