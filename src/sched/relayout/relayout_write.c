/* relayout_write.c - see relayout_write.h */
#include "sched/relayout/relayout_write.h"
#include <stdlib.h>
#include <string.h>
#include "base/log.h"

enum { TOLD_MOST = 8 }; /* of those that one GPU is for */

/* ---- the file ---- */

static const struct relayout_gpu *change_of(const struct relayout_gpu *changed, uint32_t n, uint16_t gpu)
{
    for (uint32_t i = 0; i < n; i++)
        if (changed[i].gpu == gpu)
            return &changed[i];
    return NULL;
}

static void as_it_is(const struct demand_node *node, const struct demand_gpu *g, struct relayout_gpu *ret)
{
    *ret = (struct relayout_gpu){.gpu = g->index, .whole = g->has.n[0] > 0};
    for (uint32_t k = 1; k < DEMAND_KINDS; k++)
        if (node->profiles[k])
            ret->n[node->profiles[k] - node->model->profiles] = g->has.n[k];
}

static bool is_known(const struct demand_gpu *g)
{
    static const struct demand_layout nothing;
    return memcmp(&g->has, &nothing, sizeof nothing) != 0;
}

static void add_entry(struct buf *out, const struct demand_node *node, const struct relayout_gpu *g)
{
    buf_printf(out, "  - devices: [%u]\n    mig-enabled: %s\n", g->gpu, g->whole ? "false" : "true");
    if (g->whole)
        return;
    buf_text(out, "    mig-devices: {");
    bool any = false;
    for (uint32_t i = 0; i < node->model->profiles_n; i++)
        if (g->n[i]) {
            buf_printf(out, "%s\"%s\": %u", any ? ", " : "", node->model->profiles[i].name, g->n[i]);
            any = true;
        }
    buf_text(out, "}\n");
}

const char *relayout_file(struct arena *a, const char *layout, const struct demand_node *node, const struct relayout_gpu *changed,
                          uint32_t changed_n)
{
    _cleanup_buf_ struct buf out = {0};
    buf_printf(&out, "version: v1\nmig-configs:\n  %s:\n", layout);
    for (uint32_t i = 0; i < node->gpus_n; i++) {
        struct relayout_gpu is;
        const struct relayout_gpu *will = change_of(changed, changed_n, node->gpus[i].index);
        as_it_is(node, &node->gpus[i], &is);
        if (will || is_known(&node->gpus[i]))
            add_entry(&out, node, will ? will : &is);
    }
    return arena_text_n(a, out.data, out.n);
}

struct json *relayout_patch(struct arena *a, const char *layout, const char *layouts)
{
    struct json *patch = json_new(a, JSON_OBJECT), *metadata = json_ensure_object(a, patch, "metadata");
    json_set_text(a, json_ensure_object(a, metadata, "labels"), RELAYOUT_LAYOUT_LABEL, layout);
    json_set_text(a, json_ensure_object(a, metadata, "annotations"), RELAYOUT_ANNOTATION, layouts);
    return patch;
}

/* ---- what changes ---- */

void relayout_gpus_free(struct relayout_node *n)
{
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        for (uint32_t k = 0; k < n->gpus[i].gangs_n; k++)
            free(n->gpus[i].gangs[k]);
        free(n->gpus[i].gangs);
        free(n->gpus[i].text);
    }
    free(n->gpus);
    n->gpus = NULL;
    n->gpus_n = 0;
}

void relayout_note(struct relayout_node *n, const struct relayout_world *w, const struct demand_change *c, struct arena *a)
{
    const struct demand_node *node = &w->nodes[c->node];
    const struct demand_gpu *g = &node->gpus[c->gpu];
    const struct relayout_for *whose = &w->whose[c->want];
    struct demand_gpu to = {.index = g->index, .has = c->to};
    struct relayout_gpu change;
    as_it_is(node, &to, &change);
    change.text = mem_text(arena_printf(a, "MIG layout of GPU %u changes from %s to %s", g->index, demand_layout_text(a, node, &g->has),
                                        demand_layout_text(a, node, &c->to)));
    change.gangs_n = whose->n < TOLD_MOST ? whose->n : TOLD_MOST;
    change.gangs = mem_zero(change.gangs_n + 1, sizeof *change.gangs);
    for (uint32_t i = 0; i < change.gangs_n; i++)
        change.gangs[i] = mem_text(whose->gangs[i]);
    n->gpus = mem_grow(n->gpus, n->gpus_n + 1, sizeof *n->gpus);
    n->gpus[n->gpus_n++] = change;
}

bool relayout_reached(const struct scheduler *s, const struct relayout_node *n, struct arena *a)
{
    struct node_detail d;
    const char *problem;
    name_id kinds[DEMAND_KINDS] = {0};
    name_id name = intern_find(s->names, bytes_of(n->name));
    if (!name || !state_node_detail(s->state, name, a, &d))
        return false;
    struct demand_node node = {.model = relayout_model(s, &d, a, &problem)};
    if (!node.model)
        return false;
    uint32_t kinds_n = relayout_kinds(s, &node.model, 1, a, kinds), found_n = 0;
    relayout_profiles(s, kinds, kinds_n, a, &node);
    relayout_gpus(s, &d, name, kinds, kinds_n, a, &node);
    for (uint32_t i = 0; i < node.gpus_n; i++) {
        struct relayout_gpu is;
        const struct relayout_gpu *will = change_of(n->gpus, n->gpus_n, node.gpus[i].index);
        as_it_is(&node, &node.gpus[i], &is);
        if (will && (is.whole != will->whole || memcmp(is.n, will->n, sizeof is.n) != 0))
            return false;
        found_n += will != NULL;
    }
    return found_n == n->gpus_n;
}

/* ---- events ---- */

static void tell_node(struct scheduler *s, const struct relayout_node *n, const char *type, const char *reason, const char *text)
{
    const struct kube_object_ref about = {"v1", "Node", "", n->name, n->name};
    kube_event(s->events, &about, type, reason, "%s", text);
}

static void tell_pod(struct scheduler *s, name_id pod, const char *text)
{
    char ns[256];
    const char *name;
    const struct seen_pod *p = seen_pod(s, pod);
    if (!p || p->bound)
        return;
    pod_key_split(intern_name(s->names, pod), ns, &name);
    const struct kube_object_ref about = {"v1", "Pod", ns, name, intern_name(s->names, p->uid)};
    kube_event(s->events, &about, "Normal", "MIGLayoutChanges", "%s", text);
}

static void tell_workload(struct scheduler *s, const char *object, const char *text, struct arena *a)
{
    char ns[256];
    const char *name;
    const struct json *workload = source_get(s, SOURCE_WORKLOADS, object, a);
    if (!workload)
        return;
    pod_key_split(object, ns, &name);
    const struct kube_object_ref about = {"kueue.x-k8s.io/v1beta2", "Workload", ns, name, object_meta(workload, "uid")};
    kube_event(s->events, &about, "Normal", "MIGLayoutChanges", "%s", text);
}

static void tell_gang(struct scheduler *s, const struct seen_gang *g, const char *text, struct arena *a)
{
    if (g->source == GANG_WORKLOAD)
        tell_workload(s, seen_gang_object(s, g), text, a);
    for (uint32_t i = 0; i < g->pods_n && i < TOLD_MOST; i++)
        tell_pod(s, g->pods[i], text);
}

void relayout_tell(struct scheduler *s, const struct relayout_node *n)
{
    _cleanup_arena_ struct arena *a = arena_new();
    for (uint32_t i = 0; i < n->gpus_n; i++) {
        const struct relayout_gpu *gpu = &n->gpus[i];
        const char *first = NULL;
        for (uint32_t k = 0; k < gpu->gangs_n; k++) {
            struct seen_gang **g = map_find_text(s->gangs, gpu->gangs[k]);
            if (!g)
                continue;
            first = first ? first : arena_text(a, seen_gang_object(s, *g));
            tell_gang(s, *g, arena_printf(a, "on node %s, %s", n->name, gpu->text), a);
        }
        const char *text = first ? arena_printf(a, "%s for %s%s", gpu->text, first, gpu->gangs_n > 1 ? " and others" : "") : gpu->text;
        tell_node(s, n, "Normal", "MIGLayoutChanges", text);
        log_info("mig layout by demand node=%s text=\"%s\"", n->name, text);
    }
}

void relayout_complain(struct scheduler *s, struct relayout_node *n, const char *reason, const char *text)
{
    if (text_equal(n->complaint, text))
        return;
    free(n->complaint);
    n->complaint = mem_text(text);
    tell_node(s, n, "Warning", reason, text);
    log_warning("mig layout by demand node=%s error=\"%s\"", n->name, text);
}
