#include "codec/schema/schema_checks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 32 /* of oneOf and their like inside each other */

struct schema_checks {
    const struct json *rules; /* members of the schema that say more than its type */
};

static const char *const plain[] = {"pattern",  "minLength",     "maxLength",     "minItems", "maxItems", "minProperties", "maxProperties",
                                    "multipleOf", NULL};
static const char *const junctors[] = {"oneOf", "anyOf", "allOf", "not", NULL};
static const char *const of_numbers[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", NULL};

static void take(struct arena *a, struct json *rules, const struct json *schema, const char *const *keys)
{
    for (; *keys; keys++) {
        const struct json *rule = json_get(schema, *keys);
        if (rule && rule->type != JSON_NULL)
            json_set(a, rules, *keys, json_clone(a, rule));
    }
}

const struct schema_checks *schema_checks_read(struct arena *a, const struct json *schema)
{
    struct json *rules = json_new(a, JSON_OBJECT);
    const char *type = json_get_text(schema, "type", "");
    take(a, rules, schema, plain);
    take(a, rules, schema, junctors);
    if (text_equal(type, "number"))
        take(a, rules, schema, of_numbers);
    if (!text_equal(type, "string") && json_get(schema, "enum"))
        json_set(a, rules, "enum", json_clone(a, json_get(schema, "enum")));
    if (!rules->n)
        return NULL;
    struct schema_checks *c = arena_zero(a, 1, sizeof *c);
    c->rules = rules;
    return c;
}

/* ---- one value ---- */

struct verdict {
    struct field_errors *errors; /* NULL: only whether */
    const char *path;
    bool bad;
};

static void say(struct verdict *x, enum field_error_type type, const struct json *v, const char *detail)
{
    _cleanup_buf_ struct buf shown = {0};
    x->bad = true;
    if (!x->errors)
        return;
    if (v)
        json_write(&shown, v);
    field_error_add(x->errors, type, x->path, v ? shown.data : NULL, "%s", detail);
}

static void say_body(struct verdict *x, const struct json *v, const char *rule, const char *bound, const char *unit)
{
    _cleanup_buf_ struct buf text = {0};
    buf_printf(&text, "%s in body %s %s%s", x->path, rule, bound, unit);
    say(x, FIELD_INVALID, v, text.data);
}

static size_t characters(const struct json *v)
{
    size_t n = 0;
    struct bytes text = json_bytes(v);
    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return n;
}

static void check_size(struct verdict *x, const struct json *rules, const struct json *v, size_t n, const char *least, const char *most,
                       const char *unit)
{
    const struct json *low = json_get(rules, least), *high = json_get(rules, most);
    char text[96];
    if (low && json_int64(low, 0) > (int64_t)n)
        say_body(x, v, "should be at least", json_bytes(low).data, unit);
    if (!high || json_int64(high, INT64_MAX) >= (int64_t)n)
        return;
    if (v->type == JSON_STRING) {
        snprintf(text, sizeof text, "may not be more than %lld bytes", (long long)json_int64(high, 0));
        say(x, FIELD_TOO_LONG, NULL, text);
    } else {
        snprintf(text, sizeof text, "%zu: must have at most %lld items", n, (long long)json_int64(high, 0));
        say(x, FIELD_TOO_MANY, NULL, text);
    }
}

static void check_number(struct verdict *x, const struct json *rules, const struct json *v)
{
    double value = strtod(json_bytes(v).data, NULL);
    const struct json *low = json_get(rules, "minimum"), *high = json_get(rules, "maximum"), *step = json_get(rules, "multipleOf");
    bool open_low = json_get_bool(rules, "exclusiveMinimum", false), open_high = json_get_bool(rules, "exclusiveMaximum", false);
    double bound = low ? strtod(json_bytes(low).data, NULL) : 0;
    if (low && (open_low ? value <= bound : value < bound))
        say_body(x, v, open_low ? "should be greater than" : "should be greater than or equal to", json_bytes(low).data, "");
    bound = high ? strtod(json_bytes(high).data, NULL) : 0;
    if (high && (open_high ? value >= bound : value > bound))
        say_body(x, v, open_high ? "should be less than" : "should be less than or equal to", json_bytes(high).data, "");
    bound = step ? strtod(json_bytes(step).data, NULL) : 0;
    if (bound > 0 && value / bound != floor(value / bound))
        say_body(x, v, "should be a multiple of", json_bytes(step).data, "");
}

static void check_enum(struct verdict *x, const struct json *values, const struct json *v)
{
    _cleanup_buf_ struct buf text = {0};
    JSON_EACH (value, values) {
        if (json_equal(value, v))
            return;
        buf_text(&text, text.n ? ", " : "supported values: ");
        json_write(&text, value);
    }
    say(x, FIELD_NOT_SUPPORTED, v, text.data ? text.data : "");
}

static void check_plain(struct verdict *x, const struct json *rules, const struct json *v)
{
    const char *pattern = json_get_text(rules, "pattern", NULL);
    if (v->type == JSON_STRING) {
        check_size(x, rules, v, characters(v), "minLength", "maxLength", " chars long");
        if (pattern && !schema_pattern_matches(pattern, json_text(v, ""))) {
            _cleanup_buf_ struct buf text = {0};
            buf_printf(&text, "%s in body should match '%s'", x->path, pattern);
            say(x, FIELD_INVALID, v, text.data);
        }
    } else if (v->type == JSON_ARRAY) {
        check_size(x, rules, v, v->n, "minItems", "maxItems", " items");
    } else if (v->type == JSON_OBJECT) {
        check_size(x, rules, v, v->n, "minProperties", "maxProperties", " properties");
    } else if (v->type == JSON_NUMBER) {
        check_number(x, rules, v);
    }
    if (json_get(rules, "enum"))
        check_enum(x, json_get(rules, "enum"), v);
}

/* ---- oneOf and their like: schemas inside, of which only the verdict counts ---- */

static bool fits(const struct json *schema, const struct json *v, int depth);

static bool is_type(const char *type, const struct json *v)
{
    int64_t whole;
    if (text_equal(type, "integer"))
        return v->type == JSON_NUMBER && bytes_int64(json_bytes(v), &whole);
    static const struct {
        const char *name;
        enum json_type type;
    } types[] = {{"string", JSON_STRING}, {"number", JSON_NUMBER}, {"boolean", JSON_BOOL}, {"array", JSON_ARRAY}, {"object", JSON_OBJECT}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (text_equal(type, types[i].name))
            return v->type == types[i].type;
    return true;
}

static bool junctors_fit(struct verdict *x, const struct json *rules, const struct json *v, int depth)
{
    char text[96];
    size_t n = 0;
    const struct json *one = json_get(rules, "oneOf"), *any = json_get(rules, "anyOf"), *not = json_get(rules, "not");
    JSON_EACH (schema, one)
        n += fits(schema, v, depth + 1);
    if (json_first(one) && n != 1) {
        snprintf(text, sizeof text, n ? "Found %zu valid alternatives" : "Found none valid", n);
        say_body(x, v, "must validate one and only one schema (oneOf).", text, "");
    }
    n = 0;
    JSON_EACH (schema, any)
        n += fits(schema, v, depth + 1);
    if (json_first(any) && !n)
        say_body(x, v, "must validate at least one schema (anyOf)", "", "");
    JSON_EACH (schema, json_get(rules, "allOf"))
        if (!fits(schema, v, depth + 1)) {
            say_body(x, v, "must validate all the schemas (allOf)", "", "");
            break;
        }
    if (not && fits(not, v, depth + 1))
        say_body(x, v, "must not validate the schema (not)", "", "");
    return !x->bad;
}

static bool members_fit(const struct json *schema, const struct json *v, int depth)
{
    JSON_EACH (name, v->type == JSON_OBJECT ? json_get(schema, "required") : NULL)
        if (!json_get(v, json_text(name, "")))
            return false;
    JSON_EACH (property, v->type == JSON_OBJECT ? json_get(schema, "properties") : NULL) {
        const struct json *member = json_get(v, property->key);
        if (member && !fits(property, member, depth + 1))
            return false;
    }
    JSON_EACH (item, v->type == JSON_ARRAY && json_get(schema, "items") ? v : NULL)
        if (!fits(json_get(schema, "items"), item, depth + 1))
            return false;
    return true;
}

static bool fits(const struct json *schema, const struct json *v, int depth)
{
    struct verdict x = {.path = ""};
    const char *type = json_get_text(schema, "type", "");
    if (depth > DEPTH_MAX || !json_is(schema, JSON_OBJECT))
        return true;
    if ((*type && !is_type(type, v)) || !members_fit(schema, v, depth))
        return false;
    check_plain(&x, schema, v);
    return junctors_fit(&x, schema, v, depth);
}

void schema_checks_run(const struct schema_checks *c, const struct json *v, const char *path, struct field_errors *errors)
{
    struct verdict x = {errors, path, false};
    check_plain(&x, c->rules, v);
    (void)junctors_fit(&x, c->rules, v, 0);
}
