/* scenario_part.c - see scenario_part.h */
#include "sim/run/scenario_part.h"
#include <stdarg.h>
#include <stdio.h>
#include "base/clock.h"
#include "base/limits.h"

/* ---- what is wrong ---- */

static bool say(struct scenario_reader *x, uint32_t line, uint32_t column, const char *format, va_list args) PRINTF_LIKE(4, 0);
static bool say(struct scenario_reader *x, uint32_t line, uint32_t column, const char *format, va_list args)
{
    char text[ERR_TEXT_MAX];
    (void)vsnprintf(text, sizeof text, format, args);
    if (line)
        (void)err_set(x->e, E_INVALID, "%s: line %u, column %u: %s", x->file, line, column, text);
    else
        (void)err_set(x->e, E_INVALID, "%s: %s", x->file, text);
    return false;
}

bool scenario_wrong(struct scenario_reader *x, const struct json *v, const char *format, ...)
{
    struct yaml_place p = yaml_place_of(x->places, v);
    va_list args;
    va_start(args, format);
    (void)say(x, p.line, p.column, format, args);
    va_end(args);
    return false;
}

bool scenario_wrong_key(struct scenario_reader *x, const struct json *v, const char *format, ...)
{
    struct yaml_place p = yaml_place_of(x->places, v);
    va_list args;
    va_start(args, format);
    (void)say(x, p.key_line ? p.key_line : p.line, p.key_line ? p.key_column : p.column, format, args);
    va_end(args);
    return false;
}

struct scenario_place scenario_place_of(const struct scenario_reader *x, const struct json *v)
{
    struct yaml_place p = yaml_place_of(x->places, v);
    return (struct scenario_place){x->file, p.line, p.column};
}

static bool is_known(const char *known, struct bytes key)
{
    for (const char *at = known; *at;) {
        size_t n = strcspn(at, ",");
        if (n == key.n && memcmp(at, key.data, n) == 0)
            return true;
        at += n;
        at += strspn(at, ", ");
    }
    return false;
}

bool scenario_keys(struct scenario_reader *x, const struct json *v, const char *what, const char *known)
{
    if (!json_is(v, JSON_OBJECT))
        return scenario_wrong(x, v, "%s is a mapping of %s", what, known);
    JSON_EACH (member, v)
        if (!is_known(known, (struct bytes){member->key, member->key_n}))
            return scenario_wrong_key(x, member, "%.40s is not known in %s: write one of %s", member->key, what, known);
    return true;
}

bool scenario_text(struct scenario_reader *x, const struct json *object, const char *key, const char **ret)
{
    const struct json *v = json_get(object, key);
    if (v && (!json_is(v, JSON_STRING) || !v->n))
        return scenario_wrong(x, v, "%s is a text: write %s: NAME, in quotes where it looks like a number", key, key);
    if (v)
        *ret = v->text;
    return true;
}

bool scenario_number(struct scenario_reader *x, const struct json *object, const char *key, int64_t least, int64_t most, int64_t *ret)
{
    const struct json *v = json_get(object, key);
    int64_t n = json_int64(v, INT64_MIN);
    if (v && (n < least || n > most))
        return scenario_wrong(x, v, "%s is a whole number from %lld to %lld", key, (long long)least, (long long)most);
    if (v)
        *ret = n;
    return true;
}

bool scenario_time(struct scenario_reader *x, const struct json *object, const char *key, int64_t *ret_ms)
{
    const struct json *v = json_get(object, key);
    int64_t ms = -1;
    bool is_time = json_is(v, JSON_STRING) && duration_parse(bytes_of(v->text), &ms);
    if (json_int64(v, -1) == 0) {
        ms = 0;
        is_time = true;
    }
    if (v && (!is_time || ms < 0 || ms > LIMIT_SCENARIO_MS))
        return scenario_wrong(x, v, "%s is a time such as 30s, 5m or 1h30m, up to %lldh", key, (long long)LIMIT_SCENARIO_MS / 3600000);
    if (v)
        *ret_ms = ms;
    return true;
}
