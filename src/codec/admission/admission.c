#include "codec/admission/admission_part.h"

#include <stdio.h>

#define WARNINGS_MAX (sizeof((struct admission *)0)->warnings / sizeof(char *))

void admission_warn(struct admission *x, const char *format, ...)
{
    if (x->warnings_n == WARNINGS_MAX)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args); /* cut when longer: it is one header line */
    va_end(args);
    for (uint32_t i = 0; i < x->warnings_n; i++)
        if (text_equal(x->warnings[i], text))
            return;
    x->warnings[x->warnings_n++] = arena_text(x->arena, text);
}

static struct field_error *find_reported(const struct admission *x, enum field_error_type type, const char *path)
{
    for (struct field_error *error = x->errors.first; error; error = error->next)
        if (error->type == type && text_equal(error->path, path))
            return error;
    return NULL;
}

void admission_error(struct admission *x, enum field_error_type type, const char *path, const struct json *value,
                     const char *format, ...)
{
    struct field_error *reported = find_reported(x, type, path);
    _cleanup_buf_ struct buf detail = {0}, printed = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&detail, format, args);
    va_end(args);
    if (reported) { /* the schema says only that it is missing; say what to write */
        if (!reported->detail[0] && detail.n)
            reported->detail = arena_text(x->arena, detail.data);
        return;
    }
    if (value)
        json_write(&printed, value);
    bool shown = printed.n > 0 && printed.n <= 200; /* a whole object says nothing in one line */
    field_error_add(&x->errors, type, path, shown ? printed.data : NULL, "%s", detail.data ? detail.data : "");
}

void admission_refuse(struct admission *x, const char *text)
{
    if (!text || x->errors.n)
        return;
    admission_error(x, FIELD_FORBIDDEN, "", NULL, "%s", text);
    x->errors.refusal = text;
}

void admission_error_text(struct admission *x, enum field_error_type type, const char *path, struct bytes value,
                          const char *rule)
{
    const struct json *v = json_new_text_n(x->arena, value);
    admission_error(x, type, path, v, "%s", rule);
}

const struct json *admission_limit_ranges(struct admission *x)
{
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "");
    return x->list ? x->list(x->ctx, "", "limitranges", ns) : NULL;
}

bool admission_absent(const struct json *v)
{
    return !v || v->type == JSON_NULL || (v->type == JSON_STRING && v->n == 0);
}

void admission_require(struct admission *x, const struct json *object, const char *path, const char *key,
                       const char *detail)
{
    if (admission_absent(json_get(object, key)))
        admission_error(x, FIELD_REQUIRED, AT(x, "%s.%s", path, key), NULL, "%s", detail);
}

void admission_not_negative(struct admission *x, const struct json *object, const char *path, const char *key)
{
    const struct json *v = json_get(object, key);
    if (v && v->type == JSON_NUMBER && json_int64(v, -1) < 0)
        admission_error(x, FIELD_INVALID, AT(x, "%s.%s", path, key), v, "must be greater than or equal to 0");
}

void admission_default_text(struct admission *x, struct json *object, const char *key, const char *value)
{
    if (admission_absent(json_get(object, key)))
        json_set_text(x->arena, object, key, value);
}

void admission_immutable(struct admission *x, const char *section, const char *key)
{
    if (!x->old)
        return;
    const struct json *was = section ? json_path(x->old, section, key, NULL) : json_get(x->old, key);
    const struct json *is = section ? json_path(x->object, section, key, NULL) : json_get(x->object, key);
    if ((was || is) && !(was && is && json_equal(was, is)))
        admission_error(x, FIELD_INVALID, section ? AT(x, "%s.%s", section, key) : key, is, IMMUTABLE);
}

void admission_unique(struct admission *x, const struct json *list, const char *path, const char *key)
{
    admission_unique_as(x, list, path, key, "");
}

void admission_unique_as(struct admission *x, const struct json *list, const char *path, const char *key, const char *detail)
{
    uint32_t at = 0;
    JSON_EACH (item, admission_list_n(list) <= 4096 ? list : NULL) {
        struct bytes name = json_bytes(json_get(item, key));
        for (const struct json *before = list->first; before != item && name.n; before = before->next)
            if (bytes_equal(json_bytes(json_get(before, key)), name)) {
                admission_error(x, FIELD_DUPLICATE, AT(x, "%s[%u].%s", path, at, key), json_get(item, key), "%s", detail);
                break;
            }
        at++;
    }
}

bool admission_quantity(struct admission *x, const struct json *v, const char *path, struct quantity *ret_q)
{
    struct err e = {0};
    if (!v)
        return false;
    if (quantity_parse(json_bytes(v), ret_q, &e) < 0) {
        admission_error(x, FIELD_INVALID, path, v, "%s", e.text);
        return false;
    }
    if (quantity_sign(*ret_q) < 0)
        admission_error(x, FIELD_INVALID, path, v, "must be greater than or equal to 0");
    return quantity_sign(*ret_q) >= 0;
}

const char *admission_label(const struct json *object, const char *key)
{
    return json_text(json_get(json_path(object, "metadata", "labels", NULL), key), "");
}

const char *admission_annotation(const struct json *object, const char *key)
{
    return json_text(json_get(json_path(object, "metadata", "annotations", NULL), key), "");
}

void admission_queue_name(struct admission *x, struct json *policy)
{
    if (x->old || !policy)
        return;
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "default");
    bool owned = admission_list_n(json_path(x->object, "metadata", "ownerReferences", NULL)) > 0;
    if (!admission_label(x->object, QUEUE_NAME_LABEL)[0] && !owned && x->read &&
        x->read(x->ctx, "kueue.x-k8s.io", "localqueues", ns, "default")) {
        struct json *metadata = json_ensure_object(x->arena, x->object, "metadata");
        json_set_text(x->arena, json_ensure_object(x->arena, metadata, "labels"), QUEUE_NAME_LABEL, "default");
    }
    if (admission_label(x->object, QUEUE_NAME_LABEL)[0])
        json_set_bool(x->arena, policy, "suspend", true);
}

bool admission_is_one_of(struct bytes text, const char *const *names)
{
    for (; *names; names++)
        if (bytes_is(text, *names))
            return true;
    return false;
}
