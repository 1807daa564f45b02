/* schema_openapi.c - types as OpenAPI v3 components and v2 definitions, as `kubectl explain` and generated clients read them */
#include "codec/schema/schema_openapi.h"
#include "base/collections/map.h"

#define REF "#/components/schemas/"
#define META "io.k8s.apimachinery.pkg."

/* Scalars with a name of their own in published documents. */
static const char named_scalars[] =
    "\"" META "api.resource.Quantity\":{\"description\":\"An amount: a plain number, or with a suffix such as m, k, M, Gi.\","
    "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]},"
    "\"" META "util.intstr.IntOrString\":{\"description\":\"A whole number, or text such as a name or a percentage.\","
    "\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]},"
    "\"" META "apis.meta.v1.Time\":{\"description\":\"A time to the second, RFC 3339, UTC.\",\"type\":\"string\",\"format\":\"date-time\"},"
    "\"" META "apis.meta.v1.MicroTime\":{\"description\":\"A time to the microsecond, RFC 3339, UTC.\",\"type\":\"string\","
    "\"format\":\"date-time\"},"
    "\"" META "runtime.RawExtension\":{\"description\":\"Any object.\",\"type\":\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true}";

static const char *scalar_text(enum schema_form form)
{
    switch (form) {
    case SCHEMA_STRING:
    case SCHEMA_DURATION:
        return "\"type\":\"string\"";
    case SCHEMA_INT32:
        return "\"type\":\"integer\",\"format\":\"int32\"";
    case SCHEMA_INT64:
        return "\"type\":\"integer\",\"format\":\"int64\"";
    case SCHEMA_BOOL:
        return "\"type\":\"boolean\"";
    case SCHEMA_DOUBLE:
        return "\"type\":\"number\",\"format\":\"double\"";
    case SCHEMA_BYTES:
        return "\"type\":\"string\",\"format\":\"byte\"";
    case SCHEMA_QUANTITY:
        return "\"allOf\":[{\"$ref\":\"" REF META "api.resource.Quantity\"}]";
    case SCHEMA_INT_OR_STRING:
        return "\"allOf\":[{\"$ref\":\"" REF META "util.intstr.IntOrString\"}]";
    case SCHEMA_TIME:
        return "\"allOf\":[{\"$ref\":\"" REF META "apis.meta.v1.Time\"}]";
    case SCHEMA_MICRO_TIME:
        return "\"allOf\":[{\"$ref\":\"" REF META "apis.meta.v1.MicroTime\"}]";
    case SCHEMA_RAW:
        return "\"allOf\":[{\"$ref\":\"" REF META "runtime.RawExtension\"}]";
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return "\"type\":\"object\"";
}

static void text(struct buf *out, const char *t)
{
    json_write_string(out, bytes_of(t));
}

static void comma(struct schema_openapi *x)
{
    if (x->comma)
        buf_char(x->out, ',');
    x->comma = true;
}

static void enqueue(struct schema_openapi *x, const struct schema *s)
{
    bool is_new;
    map_put(x->seen, bytes_of(s->name), &is_new);
    if (is_new) {
        MEM_RESERVE(x->queue, x->queue_cap, x->queue_n + 1);
        x->queue[x->queue_n++] = s;
    }
}

/* In v2 nothing but names may be referred to, and kubectl knows these by type and format. */
static const char *scalar_text_v2(enum schema_form form)
{
    if (form == SCHEMA_QUANTITY)
        return "\"type\":\"string\"";
    if (form == SCHEMA_INT_OR_STRING)
        return "\"type\":\"string\",\"format\":\"int-or-string\"";
    if (form == SCHEMA_TIME || form == SCHEMA_MICRO_TIME)
        return "\"type\":\"string\",\"format\":\"date-time\"";
    return form == SCHEMA_RAW ? "\"type\":\"object\"" : scalar_text(form);
}

static void refer(struct schema_openapi *x, const struct schema *s)
{
    enqueue(x, s);
    if (x->v2) {
        buf_printf(x->out, "\"$ref\":\"#/definitions/%s\"", s->name);
        return;
    }
    buf_printf(x->out, "\"allOf\":[{\"$ref\":\"" REF "%s\"}]", s->name);
}

static void write_fields(struct schema_openapi *x, const struct schema *s);

/* "minimum":1 of a number, "minLength":1 of a text, "minItems":1 of a list. */
static void write_bounds(struct schema_openapi *x, const struct schema *s)
{
    const char *low = "minimum", *high = "maximum";
    if (s->form == SCHEMA_STRING)
        low = "minLength", high = "maxLength";
    else if (s->form == SCHEMA_LIST)
        low = "minItems", high = "maxItems";
    else if (s->form == SCHEMA_MAP)
        low = "minProperties", high = "maxProperties";
    if (s->minimum != INT64_MIN)
        buf_printf(x->out, ",\"%s\":%lld", low, (long long)s->minimum);
    if (s->maximum != INT64_MAX)
        buf_printf(x->out, ",\"%s\":%lld", high, (long long)s->maximum);
}

/* The members of one schema object, without the braces. */
static void write_type(struct schema_openapi *x, const struct schema *s, const struct schema_field *f)
{
    if (s->form == SCHEMA_OBJECT && s->name[0]) {
        refer(x, s);
    } else if (s->form == SCHEMA_OBJECT) {
        write_fields(x, s);
    } else if (s->form == SCHEMA_MAP) {
        buf_text(x->out, "\"type\":\"object\",\"additionalProperties\":{");
        write_type(x, s->item, NULL);
        buf_char(x->out, '}');
        if (s->atomic)
            buf_text(x->out, ",\"x-kubernetes-map-type\":\"atomic\"");
    } else if (s->form == SCHEMA_LIST) {
        static const char *const lists[] = {"atomic", "set", "map"};
        buf_text(x->out, "\"type\":\"array\",\"items\":{");
        write_type(x, s->item, NULL);
        buf_printf(x->out, "},\"x-kubernetes-list-type\":\"%s\"", lists[s->list]);
        if (s->list == SCHEMA_LIST_MAP) {
            buf_text(x->out, ",\"x-kubernetes-list-map-keys\":[");
            for (const char *const *k = s->list_keys; *k; k++) {
                buf_text(x->out, k == s->list_keys ? "" : ",");
                text(x->out, *k);
            }
            buf_char(x->out, ']');
        }
    } else {
        buf_text(x->out, x->v2 ? scalar_text_v2(s->form) : scalar_text(s->form));
    }
    if (s->form != SCHEMA_OBJECT)
        write_bounds(x, s);
    if (f && f->values && s->form != SCHEMA_LIST) {
        buf_text(x->out, ",\"enum\":[");
        for (const char *const *v = f->values; *v; v++) {
            buf_text(x->out, v == f->values ? "" : ",");
            text(x->out, *v);
        }
        buf_char(x->out, ']');
    }
}

static void write_property(struct schema_openapi *x, const struct schema_field *f)
{
    text(x->out, f->name);
    buf_text(x->out, ":{");
    write_type(x, f->type, f);
    if (f->description[0]) {
        buf_text(x->out, ",\"description\":");
        text(x->out, f->description);
    }
    if (f->default_json)
        buf_printf(x->out, ",\"default\":%s", f->default_json);
    if (f->merge_key) {
        if (f->merge_key[0])
            buf_printf(x->out, ",\"x-kubernetes-patch-merge-key\":\"%s\"", f->merge_key);
        buf_printf(x->out, ",\"x-kubernetes-patch-strategy\":\"merge%s\"", f->merge_retain_keys ? ",retainKeys" : "");
    } else if (f->merge_retain_keys) {
        buf_text(x->out, ",\"x-kubernetes-patch-strategy\":\"retainKeys\"");
    }
    buf_char(x->out, '}');
}

static void write_fields(struct schema_openapi *x, const struct schema *s)
{
    bool first = true, required = false;
    buf_text(x->out, "\"type\":\"object\"");
    if (s->description && s->description[0]) {
        buf_text(x->out, ",\"description\":");
        text(x->out, s->description);
    }
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (f->inlined)
            continue;
        buf_text(x->out, first ? ",\"properties\":{" : ",");
        write_property(x, f);
        first = false;
    }
    if (!first)
        buf_char(x->out, '}');
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (!f->required || f->inlined)
            continue;
        buf_text(x->out, required ? "," : ",\"required\":[");
        text(x->out, f->name);
        required = true;
    }
    if (required)
        buf_char(x->out, ']');
    if (s->atomic)
        buf_text(x->out, ",\"x-kubernetes-map-type\":\"atomic\"");
    if (s->keep_unknown)
        buf_text(x->out, ",\"x-kubernetes-preserve-unknown-fields\":true");
}

void schema_openapi_begin(struct schema_openapi *x, struct buf *out)
{
    *x = (struct schema_openapi){.out = out, .seen = map_new(sizeof(bool))};
}

void schema_openapi_kind(struct schema_openapi *x, const struct schema *s, const char *group, const char *version, const char *kind)
{
    bool *printed = map_put(x->seen, bytes_of(s->name), NULL);
    if (*printed)
        return;
    *printed = true;
    comma(x);
    text(x->out, s->name);
    buf_text(x->out, ":{");
    write_fields(x, s);
    buf_printf(x->out, ",\"x-kubernetes-group-version-kind\":[{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}]}", group, version,
               kind);
}

void schema_openapi_end(struct schema_openapi *x)
{
    while (x->queue_at < x->queue_n) {
        const struct schema *s = x->queue[x->queue_at++];
        if (*(bool *)map_find(x->seen, bytes_of(s->name)))
            continue;
        comma(x);
        text(x->out, s->name);
        buf_text(x->out, ":{");
        write_fields(x, s);
        buf_char(x->out, '}');
    }
    if (!x->v2) {
        comma(x);
        buf_text(x->out, named_scalars);
    }
    map_free(x->seen);
    free(x->queue);
}

void schema_openapi_components(struct buf *out, const struct schema *root)
{
    struct schema_openapi x;
    schema_openapi_begin(&x, out);
    enqueue(&x, root);
    schema_openapi_end(&x);
}
