#include "codec/decode/decode_part.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/quantity.h"

/* Up to nine digits, alone or with the suffix that nearly all amounts have. WHY most amounts of a cluster look so; the
 * exact parser takes the others. False when it is not one of these. */
static bool quantity_plain(struct bytes text, bool milli, int64_t *ret_value)
{
    int64_t value = 0, scale = milli ? 1000 : 1;
    size_t i = 0;
    for (; i < text.n && i < 9 && text.data[i] >= '0' && text.data[i] <= '9'; i++)
        value = value * 10 + (text.data[i] - '0');
    struct bytes suffix = {text.data + i, text.n - i};
    if (i == 0)
        return false;
    if (DECODE_IS(suffix, "m"))
        *ret_value = milli ? value : (value + 999) / 1000;
    else if (DECODE_IS(suffix, "Mi"))
        *ret_value = value * scale << 20;
    else if (DECODE_IS(suffix, "Gi") && value < 1000000)
        *ret_value = value * scale << 30;
    else if (suffix.n == 0)
        *ret_value = value * scale;
    else
        return false;
    return true;
}

int decode_quantity(struct bytes text, bool milli, int64_t *ret_value, struct err *e)
{
    struct quantity q;
    if (quantity_plain(text, milli, ret_value))
        return 0;
    int r = quantity_parse(text, &q, e);
    if (r < 0)
        return r;
    int64_t value = milli ? quantity_milli(q) : quantity_whole(q);
    *ret_value = value < 0 ? 0 : value;
    return 0;
}

int decode_read_quantity(struct json_reader *r, struct buf *scratch, bool milli, int64_t *ret_value, struct err *e)
{
    struct bytes text;
    bool read =
        json_reader_peek(r) == JSON_STRING ? json_reader_string(r, scratch, &text) : json_reader_number(r, &text);
    if (!read)
        return err_set(e, E_INVALID, "expected a quantity such as 500m, 2 or 16Gi");
    return decode_quantity(text, milli, ret_value, e);
}

name_id decode_read_name(const struct decoder *d, struct json_reader *r, struct buf *scratch)
{
    struct bytes text;
    if (!json_reader_string(r, scratch, &text) || text.n == 0)
        return 0;
    return intern_id(d->names, text);
}

void decode_read_labels(const struct decoder *d, struct json_reader *r, struct buf *scratch, struct label_list *list)
{
    if (!json_reader_object(r))
        return;
    struct bytes key, value;
    while (json_reader_key(r, &key)) {
        if (!json_reader_string(r, scratch, &value))
            continue;
        struct label *l = DECODE_PUSH(d->arena, list->items, list->n, list->cap);
        l->key = intern_id(d->names, key);
        l->value = value.n ? intern_id(d->names, value) : 0;
    }
}

enum taint_effect decode_taint_effect(struct bytes text)
{
    if (bytes_is(text, "NoSchedule"))
        return TAINT_NO_SCHEDULE;
    if (bytes_is(text, "PreferNoSchedule"))
        return TAINT_PREFER_NO_SCHEDULE;
    return bytes_is(text, "NoExecute") ? TAINT_NO_EXECUTE : 0;
}

uint8_t decode_toleration_effects(struct bytes text)
{
    if (text.n == 0)
        return TAINT_NO_SCHEDULE | TAINT_PREFER_NO_SCHEDULE | TAINT_NO_EXECUTE;
    return (uint8_t)decode_taint_effect(text);
}

name_id decode_name(const struct decoder *d, const struct json *v)
{
    struct bytes text = json_bytes(v);
    return text.n ? intern_id(d->names, text) : 0;
}

int decode_object_name(const struct json *object, const char **ret_name, struct err *e)
{
    const char *name = json_text(json_path(object, "metadata", "name", NULL), "");
    if (name[0] == '\0')
        return err_set(e, E_INVALID, "metadata.name: missing");
    *ret_name = name;
    return 0;
}

int64_t decode_created_ms(const struct json *object)
{
    int64_t ms = 0;
    struct bytes text = json_bytes(json_path(object, "metadata", "creationTimestamp", NULL));
    return time_parse(text, &ms) ? ms : 0;
}

const struct json *decode_condition(const struct json *object, const char *type)
{
    const struct json *conditions = json_path(object, "status", "conditions", NULL);
    JSON_EACH (c, json_is(conditions, JSON_ARRAY) ? conditions : NULL)
        if (bytes_is(json_bytes(json_get(c, "type")), type))
            return c;
    return NULL;
}

bool decode_condition_true(const struct json *object, const char *type)
{
    return bytes_is(json_bytes(json_get(decode_condition(object, type), "status")), "True");
}

const char *decode_gang_prefix(enum gang_source source)
{
    static const char *const prefixes[] = {[GANG_WORKLOAD] = "workload/", [GANG_VOLCANO] = "volcano/", [GANG_COSCHEDULING] = "coscheduling/",
                                           [GANG_NATIVE] = "native/", [GANG_POD] = "pod/", [GANG_KAI] = "kai/",
                                           [GANG_COMPOSITE] = "composite/"};
    return prefixes[source];
}

const char *decode_gang_object(enum gang_source source, const char *gang_key)
{
    return gang_key + strlen(decode_gang_prefix(source));
}

name_id decode_gang_key(const struct decoder *d, enum gang_source source, struct bytes ns, struct bytes name)
{
    char text[2 * LIMIT_NAME + 32];
    const char *prefix = decode_gang_prefix(source);
    size_t n = strlen(prefix);
    if (n + ns.n + name.n + 1 > sizeof text)
        return 0;
    memcpy(text, prefix, n);
    if (ns.n)
        memcpy(text + n, ns.data, ns.n);
    n += ns.n;
    text[n++] = '/';
    if (name.n)
        memcpy(text + n, name.data, name.n);
    n += name.n;
    return intern_id(d->names, (struct bytes){text, n});
}

void decode_labels(const struct decoder *d, const struct json *object, const struct label **ret_labels, uint32_t *ret_n)
{
    struct label *labels = NULL;
    uint32_t n = 0;
    if (json_is(object, JSON_OBJECT) && object->n)
        labels = arena_alloc(d->arena, object->n * sizeof *labels);
    JSON_EACH (member, labels ? object : NULL) {
        if (!json_is(member, JSON_STRING))
            continue;
        labels[n].key = intern_id(d->names, (struct bytes){member->key, member->key_n});
        labels[n++].value = decode_name(d, member);
    }
    *ret_labels = labels;
    *ret_n = n;
}

static int amount_order(const void *a, const void *b)
{
    name_id x = ((const struct amount *)a)->resource, y = ((const struct amount *)b)->resource;
    return x < y ? -1 : x > y;
}

void decode_sort_amounts(struct amount *all, uint32_t n)
{
    if (n > 1)
        qsort(all, n, sizeof *all, amount_order);
}

int decode_amounts(const struct decoder *d, const struct json *quantities, const char *path,
                   const struct amount **ret_amounts, uint32_t *ret_n, struct err *e)
{
    struct amount *amounts = NULL;
    uint32_t n = 0;
    if (json_is(quantities, JSON_OBJECT) && quantities->n)
        amounts = arena_alloc(d->arena, quantities->n * sizeof *amounts);
    JSON_EACH (member, amounts ? quantities : NULL) {
        struct bytes resource = {member->key, member->key_n};
        if (decode_quantity(json_bytes(member), decode_is_milli(resource), &amounts[n].value, e) < 0)
            return err_wrap(e, "%s[%s]", path, member->key);
        amounts[n++].resource = intern_id(d->names, resource);
    }
    decode_sort_amounts(amounts, n);
    *ret_amounts = amounts;
    *ret_n = n;
    return 0;
}

void decode_taints(const struct decoder *d, const struct json *list, const struct taint **ret_taints, uint32_t *ret_n)
{
    struct taint *taints = NULL;
    uint32_t n = 0;
    if (json_is(list, JSON_ARRAY) && list->n)
        taints = arena_alloc(d->arena, list->n * sizeof *taints);
    JSON_EACH (item, taints ? list : NULL) {
        struct taint t = {decode_name(d, json_get(item, "key")), decode_name(d, json_get(item, "value")),
                          decode_taint_effect(json_bytes(json_get(item, "effect")))};
        if (t.key && t.effect)
            taints[n++] = t;
    }
    *ret_taints = taints;
    *ret_n = n;
}

void decode_tolerations(const struct decoder *d, const struct json *list, const struct toleration **ret_tolerations,
                        uint32_t *ret_n)
{
    struct toleration *tolerations = NULL;
    uint32_t n = 0;
    if (json_is(list, JSON_ARRAY) && list->n)
        tolerations = arena_alloc(d->arena, list->n * sizeof *tolerations);
    JSON_EACH (item, tolerations ? list : NULL) {
        struct toleration *t = &tolerations[n];
        t->key = decode_name(d, json_get(item, "key"));
        t->value = decode_name(d, json_get(item, "value"));
        t->exists = bytes_is(json_bytes(json_get(item, "operator")), "Exists");
        t->effects = decode_toleration_effects(json_bytes(json_get(item, "effect")));
        n += t->effects != 0 && (t->key || t->exists);
    }
    *ret_tolerations = tolerations;
    *ret_n = n;
}
