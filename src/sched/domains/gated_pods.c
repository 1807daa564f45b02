#include "sched/domains/gated_pods.h"
#include <stdlib.h>
#include "base/collections/map.h"
#include "base/memory.h"
#include "codec/decode/decode.h"
#include "codec/kinds/podset_names.h"
#include "codec/kinds/queued_kinds.h"
#include "core/state/topology.h"
#include "kube/object.h"
#include "kube/workqueue.h"

#define GATE "kueue.x-k8s.io/topology"
#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define GROUP_LABEL "kueue.x-k8s.io/pod-group-name"
enum { LOOK_MS = 1000, COLLECT_MS = 50 };

struct member {
    char *key, *gang, *set;  /* texts: names go with the state's sweep */
    char *text;              /* the pod, of one that is gated; else its nodeSelector */
    int64_t rank;            /* its index; -1: it has none */
    bool gated, ours;
};
struct gated_pods {
    const bool *leading;
    void (*on_open)(void *arg, const char *gate, const char *workload, bool is_group);
    void *arg;
    const struct state *state;
    struct intern *names;
    struct map *members;     /* "ns/name" -> struct member * */
    uint32_t gated_n;
    struct workqueue *queue; /* "ns/workload" */
};

static void member_free(struct member *m)
{
    free(m->key);
    free(m->gang);
    free(m->set);
    free(m->text);
    free(m);
}

/* ---- what is kept ---- */

/* "ns/workload" of a gang's key. */
static const char *workload_of(const char *gang)
{
    return gang + strlen(decode_gang_prefix(GANG_WORKLOAD));
}

void gated_pods_gone(struct gated_pods *x, const char *key)
{
    struct member **at = map_find_text(x->members, key);
    if (!at)
        return;
    x->gated_n -= (*at)->gated;
    if (x->gated_n) /* its domain has a place again */
        workqueue_add_after(x->queue, workload_of((*at)->gang), COLLECT_MS);
    member_free(*at);
    map_remove(x->members, bytes_of(key));
}

static bool has_gate(const struct json *pod)
{
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (text_equal(json_get_text(gate, "name", ""), GATE))
            return true;
    return false;
}

/* Of the integration of pods: no job that is queued itself made it. */
static bool is_queued_itself(const struct json *pod)
{
    return *object_label(pod, QUEUE_LABEL) && !queued_kind_named(object_controller(pod, "kind"));
}

static int64_t rank_of(const struct json *pod)
{
    int64_t rank;
    const char *text = object_label(pod, "batch.kubernetes.io/job-completion-index");
    return bytes_int64(bytes_of(text), &rank) && rank >= 0 ? rank : -1;
}

static struct member *member_new(const struct gated_pods *x, struct arena *a, const struct pod_record *pod, const struct json *read)
{
    struct member *m = mem_zero(1, sizeof *m);
    m->gated = has_gate(read);
    m->ours = pod->ours;
    m->rank = rank_of(read);
    m->key = mem_text(intern_name(x->names, pod->key));
    m->gang = mem_text(intern_name(x->names, pod->gang));
    m->set = mem_text(pod->pod_set ? intern_name(x->names, pod->pod_set) : "");
    const struct json *selector = json_path(read, "spec", "nodeSelector", NULL);
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, m->gated ? read : selector ? selector : json_new(a, JSON_OBJECT));
    m->text = mem_text(text.data);
    return m;
}

void gated_pods_seen(struct gated_pods *x, const struct pod_record *pod, struct bytes object)
{
    bool over = pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
    bool may_be = pod->gang && pod->gang_source == GANG_WORKLOAD && !over && !pod->deleting && (!pod->ours || pod->gated) &&
                  memmem(object.data, object.n, PODSET, sizeof PODSET - 1);
    const char *key = intern_name(x->names, pod->key);
    if (!may_be && !map_find_text(x->members, key))
        return;
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *read = may_be ? json_parse(a, object, NULL, NULL) : NULL;
    gated_pods_gone(x, key);
    if (!read || is_queued_itself(read) || (pod->ours && !has_gate(read)))
        return;
    struct member *m = member_new(x, a, pod, read);
    *(struct member **)map_put(x->members, bytes_of(key), NULL) = m;
    x->gated_n += m->gated;
    if (x->gated_n)
        workqueue_add_after(x->queue, workload_of(m->gang), COLLECT_MS);
}

/* ---- one Workload ---- */

struct row {
    const char *domain;
    uint32_t set;
    int64_t count, taken;
};
struct pass {
    struct gated_pods *x;
    struct work *work;
    name_id gang;
    struct member **members;
    uint32_t members_n;
    struct row *rows;
    uint32_t rows_n;
};

/* ORDER by index, then by name. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = *(struct member *const *)left, *b = *(struct member *const *)right;
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : strcmp(a->key, b->key);
}

static void find_members(struct pass *p)
{
    size_t at = 0;
    p->members = arena_alloc(p->work->arena, (map_count(p->x->members) + 1) * sizeof(void *));
    for (struct member **m; (m = map_next(p->x->members, &at, NULL));)
        if (text_equal(workload_of((*m)->gang), p->work->key))
            p->members[p->members_n++] = *m;
    if (p->members_n > 1)
        qsort(p->members, p->members_n, sizeof(void *), compare_members);
}

static void find_rows(struct pass *p)
{
    const struct domain_choice *all;
    p->rows_n = state_gang_domains(p->x->state, p->gang, &all);
    p->rows = arena_alloc(p->work->arena, (p->rows_n + 1) * sizeof *p->rows);
    for (uint32_t i = 0; i < p->rows_n; i++)
        p->rows[i] = (struct row){intern_name(p->x->names, all[i].domain), all[i].pod_set, all[i].count, 0};
}

/* The domain that these labels name: "b1,r2", or the node. NULL: none. */
static const char *domain_of(const struct pass *p, uint32_t set, const struct json *selector)
{
    const name_id *levels;
    const char *text = "";
    uint32_t n = state_gang_levels(p->x->state, p->gang, set, &levels);
    for (uint32_t i = 0; i < n; i++) {
        const char *level = intern_name(p->x->names, levels[i]), *value = json_get_text(selector, level, NULL);
        if (i + 1 == n && text_equal(level, TOPOLOGY_NODE_LABEL))
            return value;
        if (!value)
            return NULL;
        text = i ? arena_printf(p->work->arena, "%s,%s", text, value) : value;
    }
    return n ? text : NULL;
}

static void take_rows(struct pass *p)
{
    for (uint32_t i = 0; i < p->members_n; i++) {
        const struct member *m = p->members[i];
        int32_t set = m->gated ? -1 : state_gang_set(p->x->state, p->gang, m->set);
        const struct json *selector = set < 0 ? NULL : json_parse(p->work->arena, bytes_of(m->text), NULL, NULL);
        const char *domain = selector ? domain_of(p, (uint32_t)set, selector) : NULL;
        for (uint32_t k = 0; k < p->rows_n && domain; k++)
            p->rows[k].taken += p->rows[k].set == (uint32_t)set && text_equal(p->rows[k].domain, domain);
    }
}

static bool is_free(const struct row *r, uint32_t set)
{
    return r->set == set && r->taken < r->count;
}

/* By its index, else the first that is free; NULL: none is. */
static struct row *choose(struct pass *p, const struct member *m, uint32_t set)
{
    int64_t before = 0;
    for (uint32_t i = 0; i < p->rows_n && m->rank >= 0; i++) {
        if (p->rows[i].set != set)
            continue;
        if (m->rank < before + p->rows[i].count) {
            if (is_free(&p->rows[i], set))
                return &p->rows[i];
            break;
        }
        before += p->rows[i].count;
    }
    for (uint32_t i = 0; i < p->rows_n; i++)
        if (is_free(&p->rows[i], set))
            return &p->rows[i];
    return NULL;
}

static void add_labels(struct pass *p, uint32_t set, const char *domain, struct json *selector)
{
    const name_id *levels;
    struct arena *a = p->work->arena;
    uint32_t n = state_gang_levels(p->x->state, p->gang, set, &levels);
    const char *last = n ? intern_name(p->x->names, levels[n - 1]) : "";
    if (text_equal(last, TOPOLOGY_NODE_LABEL)) {
        json_set_text(a, selector, last, domain);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t length = strcspn(domain, ",");
        json_set_text(a, selector, intern_name(p->x->names, levels[i]), arena_text_n(a, domain, length));
        domain += length + (domain[length] == ',');
    }
}

struct opening { /* in the pass's arena, as its text is */
    const struct gated_pods *x;
    const char *workload;
    bool is_group;
};

static void tell_open(void *arg)
{
    const struct opening *o = arg;
    o->x->on_open(o->x->arg, GATE, o->workload, o->is_group);
}

static void act_ungate(struct pass *p, const struct member *m, uint32_t set, const struct row *row)
{
    struct arena *a = p->work->arena;
    const struct json *pod = json_parse(a, bytes_of(m->text), NULL, NULL);
    struct json *others = json_new(a, JSON_ARRAY), *patch = object_patch(a, pod), *spec = json_ensure_object(a, patch, "spec");
    JSON_EACH (gate, json_path(pod, "spec", "schedulingGates", NULL))
        if (!text_equal(json_get_text(gate, "name", ""), GATE))
            json_append(others, json_clone(a, gate));
    json_set(a, spec, "schedulingGates", others->n ? others : json_new(a, JSON_NULL));
    if (row)
        add_labels(p, set, row->domain, json_ensure_object(a, spec, "nodeSelector"));
    struct opening *o = arena_alloc(a, sizeof *o);
    *o = (struct opening){p->x, p->work->key, *object_label(pod, GROUP_LABEL)};
    work_then(p->work, tell_open, o);
    work_patch(p->work, KUBE_PATCH_MERGE, kube_path(a, "", "v1", "pods", p->work->ns, object_meta(pod, "name"), NULL), patch);
}

static void reconcile(void *arg, struct work *w)
{
    struct pass p = {.x = arg, .work = w};
    const char *gang = arena_printf(w->arena, "%s%s", decode_gang_prefix(GANG_WORKLOAD), w->key);
    uint32_t waiting_n = 0;
    p.gang = intern_find(p.x->names, bytes_of(gang));
    enum gang_phase phase = p.gang ? state_gang_phase(p.x->state, p.gang) : GANG_UNKNOWN;
    find_members(&p);
    find_rows(&p);
    take_rows(&p);
    for (uint32_t i = 0; i < p.members_n; i++) {
        const struct member *m = p.members[i];
        int32_t set = m->gated ? state_gang_set(p.x->state, p.gang, m->set) : -1;
        struct row *row = set >= 0 && !m->ours ? choose(&p, m, (uint32_t)set) : NULL;
        waiting_n += m->gated;
        if (!*p.x->leading || set < 0 || (phase != GANG_ADMITTED && phase != GANG_BOUND) || (!m->ours && !row))
            continue;
        if (row)
            row->taken++;
        act_ungate(&p, m, (uint32_t)set, row);
    }
    if (waiting_n)
        work_again(w, LOOK_MS);
}

struct gated_pods *gated_pods_new(struct kube_client *c, const struct state *s, struct intern *names, const bool *leading,
                                  void (*on_open)(void *arg, const char *gate, const char *workload, bool is_group), void *arg)
{
    struct gated_pods *x = mem_zero(1, sizeof *x);
    x->state = s;
    x->names = names;
    x->leading = leading;
    x->on_open = on_open;
    x->arg = arg;
    x->members = map_new(sizeof(struct member *));
    x->queue = workqueue_new(c, reconcile, x);
    return x;
}

void gated_pods_free(struct gated_pods *x)
{
    if (!x)
        return;
    workqueue_free(x->queue);
    size_t at = 0;
    for (struct member **m; (m = map_next(x->members, &at, NULL));)
        member_free(*m);
    map_free(x->members);
    free(x);
}
