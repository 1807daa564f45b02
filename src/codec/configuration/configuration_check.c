/* configuration_check.c - a configuration against the table of its fields: types, words and ranges; what does nothing is said once, where
 * the table says so first */
#include <stdarg.h>
#include "base/clock.h"
#include "base/quantity.h"
#include "codec/configuration/configuration_part.h"
#include "codec/schema/validate_suggest.h"

enum { PROBLEMS_MAX = 20, SHOWN_MAX = 80, NEAR_MOST = 3 };

void configuration_problem(struct configuration_reader *r, const char *path, const char *format, ...)
{
    va_list args;
    if (++r->problems_n > PROBLEMS_MAX)
        return;
    buf_printf(r->problems, "%s: ", path);
    va_start(args, format);
    buf_vprintf(r->problems, format, args);
    va_end(args);
    buf_printf(r->problems, "\n");
}

static void warn(struct configuration_reader *r, const char *path, const char *why)
{
    buf_printf(r->warnings, "%s does nothing: %s\n", path, why);
}

/* The value as it stands in the file, cut where it is long. */
static const char *shown(struct configuration_reader *r, const struct json *v)
{
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, v);
    if (text.n <= SHOWN_MAX)
        return arena_text_n(r->a, text.data, text.n);
    size_t n = SHOWN_MAX;
    while (n > 0 && ((unsigned char)text.data[n] & 0xc0) == 0x80) /* no letter by half */
        n--;
    return arena_printf(r->a, "%.*s...", (int)n, text.data);
}

static bool is_word(const char *words, const char *text)
{
    size_t n = strlen(text);
    for (const char *at = words; n && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, text, n) == 0 && (at[n] == '|' || at[n] == '\0'))
            return true;
    return false;
}

/* "a|b|c" -> "a, b or c". */
static const char *words_text(struct arena *a, const char *words)
{
    _cleanup_buf_ struct buf out = {0};
    for (const char *at = words; at;) {
        size_t n = strcspn(at, "|");
        const char *next = at[n] ? at + n + 1 : NULL;
        buf_printf(&out, "%s%.*s", out.n == 0 ? "" : next ? ", " : " or ", (int)n, at);
        at = next;
    }
    return arena_text_n(a, out.data, out.n);
}

static void check_word(struct configuration_reader *r, const struct configuration_field *f, const char *path, const struct json *v)
{
    const char *text = json_text(v, NULL);
    if (!text)
        configuration_problem(r, path, "%s is no text: write %s", shown(r, v), f->words ? words_text(r->a, f->words) : "one in quotes");
    else if (f->words && !is_word(f->words, text))
        configuration_problem(r, path, "%s is unknown: write %s", shown(r, v), words_text(r->a, f->words));
}

static void check_texts(struct configuration_reader *r, const struct configuration_field *f, const char *path, const struct json *v)
{
    uint32_t at = 0;
    if (!json_is(v, JSON_ARRAY)) {
        configuration_problem(r, path, "%s is no list: write [%s]", shown(r, v), json_is(v, JSON_STRING) ? shown(r, v) : "\"a\", \"b\"");
        return;
    }
    JSON_EACH (item, v)
        check_word(r, f, arena_printf(r->a, "%s[%u]", path, at++), item);
}

static void check_duration(struct configuration_reader *r, const char *path, const struct json *v)
{
    int64_t ms;
    if (!json_is(v, JSON_STRING) || !duration_parse(json_bytes(v), &ms))
        configuration_problem(r, path, "%s is no duration: write a number with a unit, as in \"30s\", \"5m\" or \"1h30m\"", shown(r, v));
    else if (ms < 0)
        configuration_problem(r, path, "%s is below zero: write \"0s\" or more", shown(r, v));
}

static void check_int(struct configuration_reader *r, const char *path, const struct json *v, int64_t least)
{
    int64_t n = json_int64(v, INT64_MIN);
    if (!json_is(v, JSON_NUMBER) || n < least || n > INT32_MAX)
        configuration_problem(r, path, "%s is no whole number from %lld to %d", shown(r, v), (long long)least, INT32_MAX);
}

static void check_number(struct configuration_reader *r, const char *path, const struct json *v)
{
    if (!json_is(v, JSON_NUMBER))
        configuration_problem(r, path, "%s is no number", shown(r, v));
}

static void check_bool(struct configuration_reader *r, const char *path, const struct json *v)
{
    if (!json_is(v, JSON_BOOL))
        configuration_problem(r, path, "%s is neither true nor false: write one of them, without quotes", shown(r, v));
}

static void check_quantity(struct configuration_reader *r, const char *path, const struct json *v)
{
    struct quantity q;
    if (!v || v->type < JSON_NUMBER || v->type > JSON_STRING || quantity_parse(json_bytes(v), &q, NULL) < 0)
        configuration_problem(r, path, "%s is no quantity: write one as \"4\", \"500m\" or \"5Gi\"", shown(r, v));
}

static void check_map(struct configuration_reader *r, enum configuration_form form, const char *path, const struct json *v)
{
    if (!json_is(v, JSON_OBJECT)) {
        configuration_problem(r, path, "%s is no map: write lines \"name: value\" below it", shown(r, v));
        return;
    }
    JSON_EACH (member, v) {
        const char *at = arena_printf(r->a, "%s[%s]", path, member->key);
        if (form == FORM_BOOLS)
            check_bool(r, at, member);
        else if (form == FORM_INTS)
            check_int(r, at, member, 0);
        else if (form == FORM_NUMBERS)
            check_number(r, at, member);
        else
            check_quantity(r, at, member);
    }
}

static void check_expression(struct configuration_reader *r, const char *path, const struct json *v)
{
    static const struct configuration_field any = {.form = FORM_TEXTS},
                                            operators = {.form = FORM_WORD, .words = "In|NotIn|Exists|DoesNotExist"};
    const struct json *values = json_get(v, "values"), *op = json_get(v, "operator");
    if (!*json_get_text(v, "key", ""))
        configuration_problem(r, path, "has no key: write the name of a label");
    if (op)
        check_word(r, &operators, arena_printf(r->a, "%s.operator", path), op);
    else
        configuration_problem(r, path, "has no operator: write %s", words_text(r->a, operators.words));
    if (values && values->type != JSON_NULL)
        check_texts(r, &any, arena_printf(r->a, "%s.values", path), values);
    const char *word = json_text(op, "");
    bool wants = text_equal(word, "In") || text_equal(word, "NotIn"), has = json_first(values) != NULL;
    if (is_word(operators.words, word) && wants != has)
        configuration_problem(r, arena_printf(r->a, "%s.values", path), "%s %s", word, wants ? "needs a list of them" : "takes none: leave them out");
    JSON_EACH (member, v)
        if (!is_word("key|operator|values", member->key))
            configuration_problem(r, arena_printf(r->a, "%s.%s", path, member->key), "no such field: key, operator and values are");
}

/* SOURCE meta/v1 LabelSelector. */
static void check_selector(struct configuration_reader *r, const char *path, const struct json *v)
{
    static const struct configuration_field any = {.form = FORM_TEXT};
    if (!json_is(v, JSON_OBJECT)) {
        configuration_problem(r, path, "%s is no label selector: write matchLabels or matchExpressions below it", shown(r, v));
        return;
    }
    JSON_EACH (member, v) {
        const char *below = arena_printf(r->a, "%s.%s", path, member->key);
        uint32_t at = 0;
        bool labels = text_equal(member->key, "matchLabels");
        if (!labels && !text_equal(member->key, "matchExpressions"))
            configuration_problem(r, below, "no such field: matchLabels and matchExpressions are");
        else if (member->type != JSON_NULL && !json_is(member, labels ? JSON_OBJECT : JSON_ARRAY))
            configuration_problem(r, below, "%s is no %s", shown(r, member), labels ? "map of labels" : "list of expressions");
        else
            JSON_EACH (item, member)
                if (labels)
                    check_word(r, &any, arena_printf(r->a, "%s[%s]", below, item->key), item);
                else
                    check_expression(r, arena_printf(r->a, "%s[%u]", below, at++), item);
    }
}

/* The row of a path, whatever its version; NULL none. */
static const struct configuration_field *field_of(const char *path)
{
    for (uint32_t i = 0; i < configuration_fields_n; i++)
        if (text_equal(configuration_fields[i].path, path))
            return &configuration_fields[i];
    return NULL;
}

/* The last name of a row that stands right below `parent`; NULL: it stands elsewhere. */
static const char *name_below(const char *path, const char *parent)
{
    size_t n = strlen(parent);
    if (strncmp(path, parent, n) != 0 || (n && path[n] != '.'))
        return NULL;
    const char *name = path + n + (n > 0);
    return strpbrk(name, ".[") ? NULL : name;
}

/* Somebody may have meant `name`, more so than what was best so far. */
static bool is_near(const char *key, const char *name, size_t *best)
{
    size_t distance = suggest_distance(key, name, NEAR_MOST);
    if (distance >= *best || 2 * distance >= strlen(key))
        return false;
    *best = distance;
    return true;
}

static void say_unknown(struct configuration_reader *r, const char *parent, const char *path, const char *key)
{
    const char *near = NULL;
    size_t best = NEAR_MOST + 1;
    _cleanup_buf_ struct buf all = {0};
    for (uint32_t i = 0; i < configuration_fields_n; i++) {
        const struct configuration_field *f = &configuration_fields[i];
        const char *name = name_below(f->path, parent);
        if (!name || !(f->versions & r->version))
            continue;
        near = is_near(key, name, &best) ? name : near;
        buf_printf(&all, "%s%s", all.n ? ", " : "", name);
    }
    if (near)
        configuration_problem(r, path, "no such field: write %s", near);
    else
        configuration_problem(r, path, "no such field: there are %s", all.n ? all.data : "none here");
}

static void check_object(struct configuration_reader *r, const char *row, const char *path, const struct json *v, bool told);

static void check_objects(struct configuration_reader *r, const char *row, const char *path, const struct json *v, bool told)
{
    uint32_t at = 0;
    if (!json_is(v, JSON_ARRAY))
        configuration_problem(r, path, "%s is no list: begin each entry with \"- \"", shown(r, v));
    else
        JSON_EACH (item, v)
            check_object(r, arena_printf(r->a, "%s[]", row), arena_printf(r->a, "%s[%u]", path, at++), item, told);
}

static void check_field(struct configuration_reader *r, const struct configuration_field *f, const char *path, const struct json *v,
                        bool told)
{
    if (f->unused && !told) {
        warn(r, path, f->unused);
        told = true;
    }
    switch (f->form) {
    case FORM_TEXT:
    case FORM_WORD: check_word(r, f, path, v); break;
    case FORM_BOOL: check_bool(r, path, v); break;
    case FORM_INT: check_int(r, path, v, f->least); break;
    case FORM_NUMBER: check_number(r, path, v); break;
    case FORM_DURATION: check_duration(r, path, v); break;
    case FORM_TEXTS: check_texts(r, f, path, v); break;
    case FORM_OBJECT: check_object(r, f->path, path, v, told); break;
    case FORM_OBJECTS: check_objects(r, f->path, path, v, told); break;
    case FORM_SELECTOR: check_selector(r, path, v); break;
    case FORM_BOOLS:
    case FORM_INTS:
    case FORM_NUMBERS:
    case FORM_QUANTITIES: check_map(r, f->form, path, v); break;
    case FORM_RAW: break;
    }
}

static void check_object(struct configuration_reader *r, const char *row, const char *path, const struct json *v, bool told)
{
    if (!json_is(v, JSON_OBJECT)) {
        configuration_problem(r, path, "%s is no map: write lines \"name: value\" below it", shown(r, v));
        return;
    }
    JSON_EACH (member, v) {
        const char *dot = *row ? "." : "", *at = arena_printf(r->a, "%s%s%s", path, dot, member->key);
        const struct configuration_field *f = field_of(arena_printf(r->a, "%s%s%s", row, dot, member->key));
        if (!f)
            say_unknown(r, row, at, member->key);
        else if (!(f->versions & r->version))
            configuration_problem(r, at, "is a field of config.kueue.x-k8s.io/%s: leave it out, or change apiVersion",
                                  r->version == V1BETA1 ? "v1beta2" : "v1beta1");
        else if (member->type != JSON_NULL) /* null is as good as nothing */
            check_field(r, f, at, member, told);
    }
}

static void check_gates(struct configuration_reader *r, const struct json *gates)
{
    JSON_EACH (gate, gates) {
        const struct configuration_gate *known = NULL, *near = NULL;
        const char *path = arena_printf(r->a, "featureGates[%s]", gate->key);
        size_t best = NEAR_MOST + 1;
        for (uint32_t i = 0; i < configuration_gates_n; i++)
            if (text_equal(configuration_gates[i].name, gate->key))
                known = &configuration_gates[i];
            else if (is_near(gate->key, configuration_gates[i].name, &best))
                near = &configuration_gates[i];
        bool on = json_bool(gate, false);
        if (!known && near)
            configuration_problem(r, path, "Kueue has no such feature gate: write %s", near->name);
        else if (!known)
            configuration_problem(r, path, "Kueue has no such feature gate: leave it out");
        else if (known->effect == GATE_INSIDE)
            warn(r, path, "it switches a part of Kueue's own program");
        else if ((known->effect == GATE_ALWAYS && !on) || (known->effect == GATE_NEVER && on))
            warn(r, path, on ? "Capstan does not do this yet" : "Capstan does this always");
    }
}

void configuration_check(struct configuration_reader *r, const struct json *root)
{
    check_object(r, "", "", root, false);
    if (json_is(json_get(root, "featureGates"), JSON_OBJECT))
        check_gates(r, json_get(root, "featureGates"));
    if (r->problems_n > PROBLEMS_MAX)
        buf_printf(r->problems, "and %u more problems\n", r->problems_n - PROBLEMS_MAX);
}
