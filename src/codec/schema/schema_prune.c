/* schema_prune.c - types are checked, unknown fields and nulls removed, texts of built-in kinds brought to the form that servers print
 *
 * Built-in kinds are decoded and printed again by a real server, so amounts and times come back in canonical form ("0.5" as "500m");
 * custom kinds keep the text of the client.
 */
#include "base/clock.h"
#include "base/quantity.h"
#include "codec/schema/schema.h"
#include "codec/schema/schema_path.h"

struct prune {
    struct arena *arena;
    struct schema_findings *findings;
    struct err *e;
    struct buf scratch;
    bool canonical;
};

static const char *type_name(const struct json *v)
{
    static const char *const names[] = {"null", "a boolean", "a number", "a string", "a list", "an object"};
    return names[v->type];
}

static int refuse(struct prune *p, const struct schema_path *at, const char *wanted, const struct json *v)
{
    _cleanup_buf_ struct buf path;
    buf_init(&path);
    schema_path_text(&path, at);
    const char *where = path.n ? path.data : "the object";
    if (v->type == JSON_STRING)
        return err_set(p->e, E_INVALID, "%s: expected %s, got the string \"%.60s\"%s", where, wanted, v->text,
                       v->n > 60 ? "..." : "");
    if (v->type == JSON_NUMBER)
        return err_set(p->e, E_INVALID, "%s: expected %s, got the number %.40s", where, wanted, v->text);
    if (v->type == JSON_BOOL)
        return err_set(p->e, E_INVALID, "%s: expected %s, got %s", where, wanted, v->truth ? "true" : "false");
    return err_set(p->e, E_INVALID, "%s: expected %s, got %s", where, wanted, type_name(v));
}

static void found_unknown(struct prune *p, const struct schema_path *at)
{
    struct schema_findings *f = p->findings;
    if (!f)
        return;
    if (f->unknown_n < sizeof f->unknown / sizeof *f->unknown)
        f->unknown[f->unknown_n] = schema_path_copy(p->arena, at);
    f->unknown_n++;
}

static void set_text(struct prune *p, struct json *v, const char *text)
{
    v->type = JSON_STRING;
    v->n = (uint32_t)strlen(text);
    v->text = arena_text_n(p->arena, text, v->n);
}

static int prune_int(struct prune *p, const struct json *v, bool wide, const struct schema_path *at)
{
    int64_t value;
    if (v->type != JSON_NUMBER)
        return refuse(p, at, v->type == JSON_STRING ? "a number (without quotes)" : "a whole number", v);
    if (!bytes_int64(json_bytes(v), &value))
        return refuse(p, at, wide ? "a whole number that fits 64 bits" : "a whole number", v);
    if (!wide && (value < INT32_MIN || value > INT32_MAX))
        return refuse(p, at, "a whole number that fits 32 bits", v);
    return 0;
}

static int prune_quantity(struct prune *p, struct json *v, const struct schema_path *at)
{
    if (v->type != JSON_STRING && v->type != JSON_NUMBER)
        return refuse(p, at, "an amount such as \"500m\", 2 or \"16Gi\"", v);
    struct quantity q;
    struct err why = {0};
    if (quantity_parse(json_bytes(v), &q, &why) < 0) {
        _cleanup_buf_ struct buf path;
        buf_init(&path);
        schema_path_text(&path, at);
        return err_set(p->e, E_INVALID, "%s: %s", path.n ? path.data : "the object", why.text);
    }
    if (p->canonical) {
        char text[QUANTITY_TEXT_MAX];
        quantity_format(text, q);
        if (v->type != JSON_STRING || strcmp(text, v->text) != 0)
            set_text(p, v, text);
    }
    return 0;
}

static int prune_time(struct prune *p, struct json *v, bool micro, const struct schema_path *at)
{
    int64_t wall_ms;
    if (v->type != JSON_STRING || !time_parse(json_bytes(v), &wall_ms))
        return refuse(p, at, "a time such as \"2026-01-31T12:00:00Z\"", v);
    bool utc = v->text[v->n - 1] == 'Z';
    if (!p->canonical || (utc && (micro || v->n == 20)))
        return 0;
    char text[TIME_TEXT_MAX];
    set_text(p, v, micro ? time_format_micro(text, wall_ms * 1000) : time_format(text, wall_ms));
    return 0;
}

/* A decoded object has bytes: they are written again without the line ends of who wrote them. */
static int prune_bytes(struct prune *p, struct json *v, const struct schema_path *at)
{
    if (v->type != JSON_STRING)
        return refuse(p, at, "base64 text", v);
    p->scratch.n = 0;
    if (!base64_decode(&p->scratch, json_bytes(v)))
        return refuse(p, at, "base64 text (to store text as it is, use stringData)", v);
    if (p->canonical && strpbrk(v->text, "\r\n")) {
        _cleanup_buf_ struct buf text = {0};
        base64_encode(&text, buf_view(&p->scratch));
        set_text(p, v, text.n ? text.data : "");
    }
    return 0;
}

static int prune_scalar(struct prune *p, const struct schema *s, struct json *v, const struct schema_path *at)
{
    switch (s->form) {
    case SCHEMA_STRING:
        if (v->type == JSON_STRING)
            return 0;
        return refuse(p, at, v->type == JSON_NUMBER || v->type == JSON_BOOL ? "a string (put it in quotes)" : "a string", v);
    case SCHEMA_INT32:
        return prune_int(p, v, false, at);
    case SCHEMA_INT64:
        return prune_int(p, v, true, at);
    case SCHEMA_BOOL:
        return v->type == JSON_BOOL ? 0 : refuse(p, at, "true or false (without quotes)", v);
    case SCHEMA_DOUBLE:
        return v->type == JSON_NUMBER ? 0 : refuse(p, at, "a number", v);
    case SCHEMA_QUANTITY:
        return prune_quantity(p, v, at);
    case SCHEMA_INT_OR_STRING:
        return v->type == JSON_STRING ? 0 : prune_int(p, v, false, at);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return prune_time(p, v, s->form == SCHEMA_MICRO_TIME, at);
    case SCHEMA_DURATION: {
        int64_t ms;
        return v->type == JSON_STRING && duration_parse(json_bytes(v), &ms) ? 0 : refuse(p, at, "a duration such as \"1h30m\"", v);
    }
    case SCHEMA_BYTES:
        return prune_bytes(p, v, at);
    case SCHEMA_RAW:
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
    case SCHEMA_LIST:
        break;
    }
    return 0;
}

static void unlink_child(struct json *parent, struct json *previous, struct json *child)
{
    if (previous)
        previous->next = child->next;
    else
        parent->first = child->next;
    if (parent->last == child)
        parent->last = previous;
    parent->n--;
}

static int prune_value(struct prune *p, const struct schema *s, struct json *v, const struct schema_path *at);

/* What becomes of one member: 1 = it goes, 0 = it stays, negative = the object is refused. */
static int prune_member(struct prune *p, const struct schema *s, struct json *child, const struct schema_path *at)
{
    const struct schema *type = s->item;
    if (s->form == SCHEMA_OBJECT) {
        const struct schema_field *f = schema_field_of(s, child);
        child->hint = f ? (uint16_t)(f - s->fields) : 0;
        if (!f) {
            if (s->keep_unknown)
                return 0;
            found_unknown(p, at);
            return 1;
        }
        type = f->type;
    }
    if (child->type == JSON_NULL) {
        if (s->form != SCHEMA_OBJECT && type->form == SCHEMA_STRING && p->canonical) {
            set_text(p, child, ""); /* as Go decodes it */
            return 0;
        }
        return type->form != SCHEMA_RAW || s->form == SCHEMA_OBJECT;
    }
    return prune_value(p, type, child, at);
}

static int prune_container(struct prune *p, const struct schema *s, struct json *v, const struct schema_path *at)
{
    struct json *previous = NULL;
    struct schema_path here = {at, NULL, 0};
    for (struct json *child = v->first, *next; child; child = next) {
        next = child->next;
        here.name = v->type == JSON_OBJECT ? child->key : NULL;
        int r = prune_member(p, s, child, &here);
        if (r < 0)
            return r;
        here.index++;
        if (r > 0)
            unlink_child(v, previous, child);
        else
            previous = child;
    }
    return 0;
}

static int prune_value(struct prune *p, const struct schema *s, struct json *v, const struct schema_path *at)
{
    if (s->form == SCHEMA_RAW)
        return 0;
    if (s->form > SCHEMA_LIST)
        return prune_scalar(p, s, v, at);
    bool list = s->form == SCHEMA_LIST;
    if (v->type != (list ? JSON_ARRAY : JSON_OBJECT))
        return refuse(p, at, list ? "a list" : s->form == SCHEMA_MAP ? "a map of names to values" : "an object", v);
    return prune_container(p, s, v, at);
}

int schema_prune(struct arena *a, const struct schema *s, struct json *object, struct schema_findings *ret_findings, struct err *e)
{
    struct prune p = {.arena = a, .findings = ret_findings, .e = e, .canonical = text_starts(s->name, "io.k8s.")};
    if (ret_findings)
        ret_findings->unknown_n = 0;
    buf_init(&p.scratch);
    struct schema_path root = {0};
    int r = prune_value(&p, s, object, &root);
    buf_free(&p.scratch);
    return r < 0 ? r : 0;
}
