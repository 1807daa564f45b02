/* node_patch.c - see node_patch.h */
#include "agent/node/node_patch.h"
#include "core/device_list.h"
#include "wire/json.h"

#define TIMESTAMP_LABEL "nvidia.com/gfd.timestamp"

static const char *find(const struct label_pair *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (text_equal(list[i].name, name))
            return list[i].value;
    return NULL;
}

static struct json *labels_patch(struct arena *a, const struct json *have, const struct node_wish *w)
{
    struct json *patch = json_new(a, JSON_OBJECT);
    for (uint32_t i = 0; i < w->labels_n; i++) {
        const struct label_pair *l = &w->labels[i];
        const char *is = json_get_text(have, l->name, NULL);
        if (!text_equal(is, l->value) && !(is && text_equal(l->name, TIMESTAMP_LABEL)) && !find(w->set, w->set_n, l->name))
            json_set_text(a, patch, l->name, l->value);
    }
    JSON_EACH(label, have)
    if (labels_owns(label->key) && !find(w->labels, w->labels_n, label->key) && !find(w->set, w->set_n, label->key))
        json_set(a, patch, label->key, json_new(a, JSON_NULL));
    for (uint32_t i = 0; i < w->set_n; i++)
        if (!text_equal(json_get_text(have, w->set[i].name, NULL), w->set[i].value))
            json_set_text(a, patch, w->set[i].name, w->set[i].value);
    const char *now = find(w->labels, w->labels_n, TIMESTAMP_LABEL);
    if (patch->n && now)
        json_set_text(a, patch, TIMESTAMP_LABEL, now);
    return patch;
}

struct json *node_patch_metadata(struct arena *a, const struct json *metadata, const struct node_wish *w)
{
    struct json *patch = json_new(a, JSON_OBJECT), *to = json_ensure_object(a, patch, "metadata");
    struct json *labels = labels_patch(a, json_get(metadata, "labels"), w);
    const char *devices = json_get_text(json_get(metadata, "annotations"), DEVICES_ANNOTATION, NULL);
    if (labels->n)
        json_set(a, to, "labels", labels);
    if (!text_equal(devices, w->devices))
        json_set(a, json_ensure_object(a, to, "annotations"), DEVICES_ANNOTATION,
                 w->devices ? json_new_text(a, w->devices) : json_new(a, JSON_NULL));
    return to->n ? patch : NULL;
}
