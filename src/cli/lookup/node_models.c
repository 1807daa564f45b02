/* node_models.c - see node_models.h */
#include "cli/lookup/node_models.h"
#include "base/amount.h"
#include "kube/object.h"

void node_models_init(struct node_models *m, struct arena *a, const struct json *flavors, const struct json *cluster_queues)
{
    *m = (struct node_models){.arena = a, .flavors = flavors, .cluster_queues = cluster_queues};
    m->last = &m->first;
}

static bool same_product(const char *a, const char *b)
{
    return a && b ? text_equal(a, b) : a == b;
}

static struct node_model *model_of(struct node_models *m, const char *product, const char *resource)
{
    struct node_model *model = m->first;
    while (model && !(text_equal(model->resource, resource) && same_product(model->product, product)))
        model = model->next;
    if (model)
        return model;
    model = arena_zero(m->arena, 1, sizeof *model);
    *model = (struct node_model){.product = product, .resource = resource, .queues = json_new(m->arena, JSON_OBJECT)};
    *m->last = model;
    m->last = &model->next;
    return model;
}

bool node_models_selects(const struct json *flavor, const struct json *node)
{
    const struct json *labels = json_path(node, "metadata", "labels", NULL);
    JSON_EACH (wanted, json_path(flavor, "spec", "nodeLabels", NULL))
        if (!text_equal(json_text(wanted, ""), json_get_text(labels, wanted->key, "")))
            return false;
    return true;
}

struct json *node_models_quota(const struct json *queue, const char *flavor, const char *resource)
{
    JSON_EACH (group, json_path(queue, "spec", "resourceGroups", NULL))
        JSON_EACH (one, json_get(group, "flavors"))
            if (text_equal(json_get_text(one, "name", ""), flavor))
                JSON_EACH (quota, json_get(one, "resources"))
                    if (text_equal(json_get_text(quota, "name", ""), resource))
                        return quota;
    return NULL;
}

static void queues_add(const struct node_models *m, struct node_model *model, const struct json *node)
{
    JSON_EACH (flavor, m->flavors) {
        if (!node_models_selects(flavor, node))
            continue;
        JSON_EACH (queue, m->cluster_queues)
            if (node_models_quota(queue, object_meta(flavor, "name"), model->resource))
                json_set_bool(m->arena, model->queues, object_meta(queue, "name"), true);
    }
}

void node_models_add(struct node_models *m, const struct json *node, const char *resource, int64_t total_n, int64_t used_n)
{
    const char *product = object_label(node, "nvidia.com/gpu.product");
    struct node_model *model = model_of(m, *product ? product : NULL, resource);
    int64_t free_n = total_n > used_n ? total_n - used_n : 0;
    model->nodes_n++;
    model->total_n = amount_plus(model->total_n, total_n);
    model->used_n = amount_plus(model->used_n, used_n);
    queues_add(m, model, node);
    if (!object_condition_true(node, "Ready") || json_get_bool(json_get(node, "spec"), "unschedulable", false))
        return;
    model->usable_nodes_n++;
    model->free_n = amount_plus(model->free_n, free_n);
    model->empty_nodes_n += used_n == 0;
    model->most_free_n = free_n > model->most_free_n ? free_n : model->most_free_n;
}
