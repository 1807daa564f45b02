/* schema_validate.c - what the table itself can tell: required fields, allowed words, ranges, names, duplicate list keys; of custom kinds
 * also what schema_checks.h knows
 *
 * Status is not looked at in built-in kinds: a real server takes it from its components as it is. An empty string counts as absent there,
 * since a decoded object cannot tell them apart.
 */
#include <stdio.h>
#include "base/collections/map.h"
#include "codec/schema/field_errors.h"
#include "codec/schema/schema.h"
#include "codec/schema/schema_checks.h"
#include "codec/schema/schema_path.h"
#include "codec/schema/validate_name.h"

struct validate {
    struct field_errors *errors;
    bool built_in;
};

static void add(struct validate *x, enum field_error_type type, const struct schema_path *at, const struct json *value, const char *detail)
{
    _cleanup_buf_ struct buf path, shown;
    buf_init(&path);
    buf_init(&shown);
    schema_path_text(&path, at);
    if (value)
        json_write(&shown, value);
    field_error_add(x->errors, type, path.n ? path.data : "", value ? shown.data : NULL, "%s", detail);
}

static void check_values(struct validate *x, const char *const *values, const struct json *v, const struct schema_path *at)
{
    if (v->type != JSON_STRING || v->n == 0)
        return;
    for (const char *const *w = values; *w; w++)
        if (strcmp(*w, v->text) == 0)
            return;
    _cleanup_buf_ struct buf allowed;
    buf_init(&allowed);
    buf_text(&allowed, "supported values: ");
    for (const char *const *w = values; *w; w++)
        buf_printf(&allowed, "%s\"%s\"", w == values ? "" : ", ", *w);
    add(x, FIELD_NOT_SUPPORTED, at, v, allowed.data);
}

/* Of a custom kind an API server says it in the words of its schema: "spec.weight in body should be less than or equal to 65535". */
static void check_range(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    int64_t value;
    if (v->type != JSON_NUMBER || !bytes_int64(json_bytes(v), &value) || (value >= s->minimum && value <= s->maximum))
        return;
    bool is_less = value < s->minimum;
    _cleanup_buf_ struct buf text;
    buf_init(&text);
    if (!x->built_in)
        schema_path_text(&text, at);
    buf_printf(&text, "%s be %s than or equal to %lld", x->built_in ? "must" : " in body should", is_less ? "greater" : "less",
               (long long)(is_less ? s->minimum : s->maximum));
    add(x, FIELD_INVALID, at, v, text.data);
}

static const struct {
    bool (*holds)(struct bytes text);
    const char *rule, *custom_rule; /* custom_rule: of kinds that are custom to an API server, which says it of a pattern; NULL: the same */
} words[] = {
    [SCHEMA_WORD_SUBDOMAIN] = {name_is_dns_subdomain, NAME_DNS_SUBDOMAIN_RULE, NAME_DNS_SUBDOMAIN_PATTERN_RULE},
    [SCHEMA_WORD_LABEL] = {name_is_dns_label, NAME_DNS_LABEL_RULE, NAME_DNS_LABEL_PATTERN_RULE},
    [SCHEMA_WORD_QUALIFIED] = {name_is_qualified, NAME_QUALIFIED_RULE},
    [SCHEMA_WORD_KIND] = {name_is_kind, NAME_KIND_RULE},
    [SCHEMA_WORD_REASON] = {name_is_reason, NAME_REASON_RULE},
};

static size_t characters(struct bytes text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return n;
}

/* Of a text as long as `n` characters, of a list or map of `n`. WHY a text that is too long is not shown: it says nothing more. */
static void check_size(struct validate *x, const struct schema *s, const struct json *v, size_t n, const struct schema_path *at)
{
    char text[96];
    bool is_text = s->form == SCHEMA_STRING;
    if (s->minimum != INT64_MIN && (int64_t)n < s->minimum) {
        snprintf(text, sizeof text, "should be at least %lld %s", (long long)s->minimum, is_text ? "chars long" : "items");
        add(x, FIELD_INVALID, at, is_text ? v : NULL, text);
    } else if ((int64_t)n > s->maximum && is_text) {
        snprintf(text, sizeof text, "may not be more than %lld bytes", (long long)s->maximum);
        add(x, FIELD_TOO_LONG, at, NULL, text);
    } else if ((int64_t)n > s->maximum) {
        snprintf(text, sizeof text, "%zu: must have at most %lld items", n, (long long)s->maximum);
        add(x, FIELD_TOO_MANY, at, NULL, text);
    }
}

static void check_text(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    if (s->minimum != INT64_MIN || s->maximum != INT64_MAX)
        check_size(x, s, v, characters(json_bytes(v)), at);
    if (s->word != SCHEMA_WORD_ANY && !words[s->word].holds(json_bytes(v)))
        add(x, FIELD_INVALID, at, v, words[s->word].custom_rule && !x->built_in ? words[s->word].custom_rule : words[s->word].rule);
}

/* The text that must be unique in a list: the value itself, or the key fields of an object. */
static void item_identity(struct buf *out, const struct schema *list, const struct json *item)
{
    out->n = 0;
    if (list->list == SCHEMA_LIST_SET) {
        json_write(out, item);
        return;
    }
    for (const char *const *k = list->list_keys; *k; k++) {
        const struct json *v = json_get(item, *k);
        const struct schema_field *f = schema_field_find(list->item, bytes_of(*k));
        if (v)
            json_write(out, v);
        else if (f && f->default_json)
            buf_text(out, f->default_json);
        buf_char(out, '\n');
    }
}

static bool is_first(struct map *seen, struct bytes identity)
{
    bool is_new;
    map_put(seen, identity, &is_new);
    return is_new;
}

static void check_duplicates(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    if (s->list == SCHEMA_LIST_ATOMIC || v->n < 2)
        return;
    _cleanup_buf_ struct buf identity;
    buf_init(&identity);
    struct map *seen = map_new(1);
    struct schema_path here = {at, NULL, 0};
    JSON_EACH(item, v) {
        item_identity(&identity, s, item);
        if (!is_first(seen, buf_view(&identity)))
            add(x, FIELD_DUPLICATE, &here, item, "");
        here.index++;
    }
    map_free(seen);
}

static void check(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at);

static bool is_missing(const struct validate *x, const struct json *v)
{
    return !v || v->type == JSON_NULL || (x->built_in && v->type == JSON_STRING && v->n == 0);
}

static void check_field(struct validate *x, const struct schema_field *f, const struct json *v, const struct schema_path *at)
{
    if (f->values && f->type->form == SCHEMA_LIST) {
        struct schema_path here = {at, NULL, 0};
        JSON_EACH(item, v) {
            check_values(x, f->values, item, &here);
            here.index++;
        }
    } else if (f->values) {
        check_values(x, f->values, v, at);
    }
    check(x, f->type, v, at);
}

static void check_object(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    struct schema_path here = {at, NULL, 0};
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        here.name = f->name;
        if (f->required && !f->inlined && is_missing(x, json_get_n(v, (struct bytes){f->name, f->name_n})))
            add(x, FIELD_REQUIRED, &here, NULL, "");
    }
    JSON_EACH(child, v) {
        const struct schema_field *f = schema_field_of(s, child);
        if (!f || child->type == JSON_NULL || (x->built_in && !at->up && strcmp(f->name, "status") == 0))
            continue;
        here.name = f->name;
        check_field(x, f, child, &here);
    }
}

static void check_more(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    _cleanup_buf_ struct buf path;
    buf_init(&path);
    schema_path_text(&path, at);
    schema_checks_run(s->checks, v, path.n ? path.data : "", x->errors);
}

static void check(struct validate *x, const struct schema *s, const struct json *v, const struct schema_path *at)
{
    if (s->checks)
        check_more(x, s, v, at);
    if (s->form == SCHEMA_OBJECT && v->type == JSON_OBJECT) {
        check_object(x, s, v, at);
    } else if (s->form == SCHEMA_LIST && v->type == JSON_ARRAY) {
        check_size(x, s, v, v->n, at);
        check_duplicates(x, s, v, at);
        struct schema_path here = {at, NULL, 0};
        JSON_EACH(item, v) {
            check(x, s->item, item, &here);
            here.index++;
        }
    } else if (s->form == SCHEMA_MAP && v->type == JSON_OBJECT) {
        check_size(x, s, v, v->n, at);
        struct schema_path here = {at, NULL, 0};
        JSON_EACH(member, v) {
            here.name = member->key;
            check(x, s->item, member, &here);
        }
    } else if (s->form == SCHEMA_INT32 || s->form == SCHEMA_INT64) {
        check_range(x, s, v, at);
    } else if (s->form == SCHEMA_STRING && v->type == JSON_STRING) {
        check_text(x, s, v, at);
    }
}

void schema_validate(const struct schema *s, const struct json *object, struct field_errors *errors)
{
    struct validate x = {.errors = errors, .built_in = text_starts(s->name, "io.k8s.")};
    struct schema_path root = {0};
    check(&x, s, object, &root);
}
