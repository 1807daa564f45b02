/* pods_watch.c - the pods of this node from the API server: uid, queue, job, user, and the labels that were asked for */
#include <regex.h>
#include <stdio.h>
#include "base/collections/map.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/memory.h"
#include "exporter/collect/pod_owner.h"
#include "exporter/collect/pods_parts.h"
#include "kube/watch.h"

#define LABEL_VALUE_BYTES 128
#define OWNER_BYTES 1024 /* of a name; pages and books show 253 of it */

struct pods_watch {
    struct kube_watch *watch;
    char *fields;
    struct map *by_name, *by_uid; /* struct watched_pod * */
    uint64_t generation;
    regex_t allow;
    bool has_allow;
};

static void pod_free(struct watched_pod *p)
{
    for (uint32_t i = 0; i < p->labels_n; i++) {
        free((char *)p->labels[i].name);
        free((char *)p->labels[i].value);
    }
    free(p->labels);
    free(p->ns);
    free(p->name);
    free(p->uid);
    free(p->queue);
    free(p->job);
    free(p->user);
    free(p);
}

static void forget(struct pods_watch *w, struct bytes key)
{
    struct watched_pod **p = map_find(w->by_name, key);
    if (!p)
        return;
    struct watched_pod **same = map_find_text(w->by_uid, (*p)->uid);
    if (same && *same == *p)
        (void)map_remove(w->by_uid, bytes_of((*p)->uid));
    pod_free(*p);
    (void)map_remove(w->by_name, key);
}

static void add_label(struct watched_pod *p, const char *name, const char *value)
{
    struct buf label = {0}, text = {0};
    prometheus_label_name(&label, bytes_of(name));
    for (uint32_t i = 0; i < p->labels_n; i++)
        if (text_equal(p->labels[i].name, label.data)) { /* a.b and a/b: the first of them stays */
            buf_free(&label);
            return;
        }
    prometheus_clean(&text, bytes_of(value), LABEL_VALUE_BYTES);
    p->labels[p->labels_n++] = (struct prometheus_label){buf_take(&label, NULL), buf_take(&text, NULL)};
}

static int label_order(const void *a, const void *b)
{
    return strcmp((*(const struct json *const *)a)->key, (*(const struct json *const *)b)->key);
}

static void add_labels(const struct pods_watch *w, struct watched_pod *p, const struct json *labels)
{
    const struct json *chosen[LIMIT_PODS_LABELS];
    uint32_t n = 0;
    JSON_EACH (label, labels) {
        if (w->has_allow && n < LIMIT_PODS_LABELS && json_is(label, JSON_STRING) && *label->key &&
            regexec(&w->allow, label->key, 0, NULL, 0) == 0)
            chosen[n++] = label;
    }
    if (n == 0)
        return;
    qsort(chosen, n, sizeof *chosen, label_order);
    p->labels = mem_zero(n, sizeof *p->labels);
    for (uint32_t i = 0; i < n; i++)
        add_label(p, chosen[i]->key, json_text(chosen[i], ""));
}

static char *owner_text(const char *text)
{
    return mem_text_n(text, strnlen(text, OWNER_BYTES));
}

static void on_event(void *arg, enum kube_event event, struct bytes object)
{
    struct pods_watch *w = arg;
    struct arena *a = arena_new();
    const struct json *metadata = json_get(json_parse(a, object, NULL, NULL), "metadata");
    const char *ns = json_get_text(metadata, "namespace", ""), *name = json_get_text(metadata, "name", "");
    struct bytes key = bytes_of(arena_printf(a, "%s/%s", ns, name));
    forget(w, key);
    w->generation++;
    if (event != KUBE_DELETED && *name) {
        struct watched_pod *p = mem_zero(1, sizeof *p);
        p->ns = mem_text(ns);
        p->name = mem_text(name);
        p->uid = mem_text(json_get_text(metadata, "uid", ""));
        struct pod_owner owner = pod_owner_of(a, metadata);
        p->queue = owner_text(owner.queue);
        p->job = owner_text(owner.job);
        p->user = owner_text(owner.user);
        add_labels(w, p, json_get(metadata, "labels"));
        struct watched_pod **slot = map_put(w->by_name, key, NULL);
        *slot = p;
        if (*p->uid) {
            slot = map_put(w->by_uid, bytes_of(p->uid), NULL);
            *slot = p;
        }
    }
    arena_free(a);
}

static void on_full(void *arg)
{
    log_warning("more pods of the node than are kept: pages and books know no queue, job and user of the others limit=%d", LIMIT_NODE_PODS);
}

struct pods_watch *pods_watch_new(const struct pods_config *config)
{
    struct pods_watch *w = mem_zero(1, sizeof *w);
    _cleanup_buf_ struct buf fields = {0};
    w->by_name = map_new(sizeof(struct watched_pod *));
    w->by_uid = map_new(sizeof(struct watched_pod *));
    if (config->label_allow) {
        w->has_allow = regcomp(&w->allow, config->label_allow, REG_EXTENDED | REG_NOSUB) == 0;
        if (!w->has_allow)
            log_warning("pod labels are not shown: \"%s\" is no extended regular expression", config->label_allow);
    }
    buf_printf(&fields, "spec.nodeName=%s", config->node_name ? config->node_name : "");
    w->fields = buf_take(&fields, NULL);
    struct kube_watch_config c = {.path = "/api/v1/pods",
                                  .field_selector = w->fields,
                                  .objects_max = LIMIT_NODE_PODS,
                                  .on_event = on_event,
                                  .on_full = on_full,
                                  .arg = w};
    w->watch = kube_watch_new(config->client, &c);
    return w;
}

void pods_watch_free(struct pods_watch *w)
{
    if (!w)
        return;
    size_t at = 0;
    struct bytes key;
    kube_watch_free(w->watch);
    for (struct watched_pod **p; (p = map_next(w->by_name, &at, &key));)
        pod_free(*p);
    map_free(w->by_name);
    map_free(w->by_uid);
    if (w->has_allow)
        regfree(&w->allow);
    free(w->fields);
    free(w);
}

uint64_t pods_watch_generation(const struct pods_watch *w)
{
    return w ? w->generation : 0;
}

const struct watched_pod *pods_watch_name(const struct pods_watch *w, const char *ns, const char *pod)
{
    if (!w)
        return NULL;
    _cleanup_buf_ struct buf key = {0};
    buf_printf(&key, "%s/%s", ns, pod);
    struct watched_pod **p = map_find(w->by_name, buf_view(&key));
    return p ? *p : NULL;
}

const struct watched_pod *pods_watch_uid(const struct pods_watch *w, const char *uid)
{
    struct watched_pod **p = w && *uid ? map_find_text(w->by_uid, uid) : NULL;
    return p ? *p : NULL;
}
