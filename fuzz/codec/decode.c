/* decode.c - any bytes as an API object: decoders must come to an end, touch nothing outside, and hand out arrays that can be read */
#include "base/limits.h"
#include "codec/decode/decode.h"
#include "../fuzz.h"

static uint64_t touched; /* kept, so that reads are not optimised away */

static void touch(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < n; i++)
        touched += bytes[i];
}

static void touch_selector(const struct selector *s)
{
    for (uint32_t i = 0; i < s->all_n; i++)
        touch(s->all[i].values, s->all[i].values_n * sizeof(name_id));
}

static void touch_shape(const struct shape *s)
{
    touch(s->requests, s->requests_n * sizeof *s->requests);
    for (uint32_t i = 0; i < s->requests_n; i++)
        if (s->requests[i].value <= 0)
            abort();
    touch(s->node_labels, s->node_labels_n * sizeof *s->node_labels);
    touch(s->tolerations, s->tolerations_n * sizeof *s->tolerations);
    touch(s->ports, s->ports_n * sizeof *s->ports);
    touch(s->labels, s->labels_n * sizeof *s->labels);
    for (uint32_t i = 0; i < s->node_terms_n; i++)
        touch_selector(&s->node_terms[i]);
    for (uint32_t i = 0; i < s->affinities_n; i++) {
        touch_selector(&s->affinities[i].pods);
        touch(s->affinities[i].namespaces, s->affinities[i].namespaces_n * sizeof(name_id));
    }
    for (uint32_t i = 0; i < s->spreads_n; i++)
        touch_selector(&s->spreads[i].pods);
}

static void touch_gang(const struct gang_record *g)
{
    if (g->pod_sets_n > LIMIT_PODSETS || g->min_members > LIMIT_GANG_MEMBERS)
        abort();
    for (uint32_t i = 0; i < g->pod_sets_n; i++)
        touch_shape(&g->pod_sets[i].shape);
    touch(g->choices, g->choices_n * sizeof *g->choices);
    touch(g->min_of_task, g->min_of_task_n * sizeof *g->min_of_task);
}

static void run_trees(const struct decoder *d, const struct json *v)
{
    struct gang_record g;
    struct queue_record q;
    struct cohort_record c;
    struct flavor_record f;
    struct local_queue_record l;
    struct namespace_record ns;
    struct budget_record b;
    static int (*const groups[])(const struct decoder *, const struct json *, struct gang_record *, struct err *) = {
        decode_workload, decode_volcano_pod_group, decode_coscheduling_pod_group, decode_native_pod_group,
        decode_kai_pod_group};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i](d, v, &g, NULL) == 0)
            touch_gang(&g);
    if (decode_native_group_of(d, v, "native/ns/w/g/0", &g, NULL) == 0)
        touch_gang(&g);
    const char *unused = decode_kai_unused(d, v);
    touch(unused, unused ? strlen(unused) : 0);
    if (decode_cluster_queue(d, v, &q, NULL) == 0) {
        touch(q.quotas, q.quotas_n * sizeof *q.quotas);
        touch_selector(&q.namespaces);
        for (uint32_t i = 0; i < q.groups_n; i++)
            touch(q.groups[i].flavors, q.groups[i].flavors_n * sizeof(name_id));
    }
    if (decode_volcano_queue(d, v, &q, NULL) == 0)
        touch(q.quotas, q.quotas_n * sizeof *q.quotas);
    if (decode_cohort(d, v, &c, NULL) == 0)
        touch(c.quotas, c.quotas_n * sizeof *c.quotas);
    if (decode_flavor(d, v, &f, NULL) == 0)
        touch(f.node_labels, f.node_labels_n * sizeof *f.node_labels);
    if (decode_local_queue(d, v, &l, NULL) == 0)
        touched += l.key;
    if (decode_budget(d, v, &b, NULL) == 0) {
        touch(b.disrupted, b.disrupted_n * sizeof *b.disrupted);
        touch_selector(&b.pods);
    }
    if (decode_namespace(d, v, &ns, NULL) == 0)
        touch(ns.labels, ns.labels_n * sizeof *ns.labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct intern *names = intern_new();
    struct arena *arena = arena_new();
    struct decoder d = {.names = names, .arena = arena};
    struct bytes text = {(const char *)data, n};
    struct pod_record p;
    struct node_record node;
    if (decode_pod(&d, text, &p, NULL) == 0)
        touch_shape(&p.shape);
    if (decode_node(&d, text, &node, NULL) == 0) {
        touch(node.devices, node.devices_n * sizeof *node.devices);
        touch(node.allocatable, node.allocatable_n * sizeof *node.allocatable);
    }
    const struct json *v = json_parse(arena, text, NULL, NULL);
    if (v)
        run_trees(&d, v);
    arena_free(arena);
    intern_free(names);
    return 0;
}
