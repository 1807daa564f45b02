#include "codec/schema/field_errors.h"

#include <stdio.h>

#define KEPT_ERRORS 64 /* more causes than anyone reads; the rest is counted */

void field_errors_init(struct field_errors *f, struct arena *a)
{
    *f = (struct field_errors){.arena = a};
}

void field_error_add(struct field_errors *f, enum field_error_type type, const char *path, const char *value_json,
                     const char *format, ...)
{
    if (f->n++ >= KEPT_ERRORS)
        return;
    struct field_error *error = arena_zero(f->arena, 1, sizeof *error);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    error->detail = arena_alloc(f->arena, (size_t)(n < 0 ? 0 : n) + 1);
    error->detail[0] = '\0';
    va_start(args, format);
    if (n > 0)
        (void)vsnprintf(error->detail, (size_t)n + 1, format, args); /* measured above */
    va_end(args);
    error->type = type;
    error->denial = f->denying;
    error->path = arena_text(f->arena, path);
    error->value = arena_text(f->arena, value_json);
    if (f->last)
        f->last->next = error;
    else
        f->first = error;
    f->last = error;
}

static bool has(const struct field_errors *f, const struct field_error *error)
{
    for (const struct field_error *one = f->first; one; one = one->next)
        if (one->type == error->type && text_equal(one->path, error->path) && text_equal(one->detail, error->detail) &&
            text_equal(one->value ? one->value : "", error->value ? error->value : ""))
            return true;
    return false;
}

void field_errors_drop(struct field_errors *f, const struct field_errors *known)
{
    struct field_error *error = f->first;
    f->first = f->last = NULL;
    for (struct field_error *next; error; error = next) {
        next = error->next;
        error->next = NULL;
        if (has(known, error)) {
            f->n--;
            continue;
        }
        if (f->last)
            f->last->next = error;
        else
            f->first = error;
        f->last = error;
    }
}

bool field_errors_all_denials(const struct field_errors *f)
{
    for (const struct field_error *error = f->first; error; error = error->next)
        if (!error->denial)
            return false;
    return f->first != NULL;
}

static const struct {
    const char *reason, *words;
} types[] = {
    [FIELD_REQUIRED] = {"FieldValueRequired", "Required value"},
    [FIELD_INVALID] = {"FieldValueInvalid", "Invalid value"},
    [FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value"},
    [FIELD_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value"},
    [FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden"},
    [FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long"},
    [FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found"},
    [FIELD_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value"},
    [FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many"},
};

const char *field_error_reason(enum field_error_type type)
{
    return types[type].reason;
}

void field_error_text(struct buf *out, const struct field_error *error)
{
    if (error->path && error->path[0])
        buf_printf(out, "%s: ", error->path);
    buf_text(out, types[error->type].words);
    /* Required, forbidden and too long print no value: it is absent, irrelevant or long. */
    if (error->value && error->type != FIELD_REQUIRED && error->type != FIELD_FORBIDDEN &&
        error->type != FIELD_TOO_LONG) {
        buf_text(out, ": ");
        buf_text(out, error->value);
    }
    if (error->detail[0]) {
        buf_text(out, ": ");
        buf_text(out, error->detail);
    }
}

void field_errors_text(struct buf *out, const struct field_errors *f)
{
    if (f->n > 1)
        buf_char(out, '[');
    for (const struct field_error *error = f->first; error; error = error->next) {
        if (error != f->first)
            buf_text(out, ", ");
        field_error_text(out, error);
    }
    if (f->n > KEPT_ERRORS)
        buf_printf(out, ", and %u more", f->n - KEPT_ERRORS);
    if (f->n > 1)
        buf_char(out, ']');
}
