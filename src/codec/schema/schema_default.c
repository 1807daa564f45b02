/* schema_default.c - fills in what a client left out
 *
 * ORDER  a default that is an object is filled in further by the defaults under it. Nothing is done below `plain` fields.
 */
#include "codec/schema/schema.h"

#define SEEN_MAX 256 /* fields that one bit set holds; a larger type (CRDs only) is looked up field by field */

/* Most defaults are a word, a number, true, false or {}: made without the parser. */
static struct json *default_value(struct arena *a, const char *literal)
{
    size_t n = strlen(literal);
    struct json *v;
    if (literal[0] == '"' && !memchr(literal, '\\', n))
        return json_new_text_n(a, (struct bytes){literal + 1, n - 2});
    if (strcmp(literal, "{}") == 0)
        return json_new(a, JSON_OBJECT);
    if (strcmp(literal, "true") == 0 || strcmp(literal, "false") == 0)
        return json_new_bool(a, literal[0] == 't');
    v = json_parse(a, (struct bytes){literal, n}, NULL, NULL);
    return v;
}

/* Built-in kinds: a decoded object cannot tell a zero that is no pointer from an absent value, so it gets the default, too. */
static bool counts_as_absent(const struct schema_field *f, const struct json *v)
{
    if (f->proto_number == 0 || f->pointer || !f->default_json)
        return false;
    return (v->type == JSON_STRING && v->n == 0) || (v->type == JSON_NUMBER && strcmp(v->text, "0") == 0);
}

static void replace_value(struct json *v, const struct json *by)
{
    v->type = by->type;
    v->n = by->n;
    v->text = by->text;
}

static void fill(struct arena *a, const struct schema *s, struct json *v);

static void fill_object(struct arena *a, const struct schema *s, struct json *object)
{
    uint64_t seen[SEEN_MAX / 64] = {0};
    bool small = s->fields_n <= SEEN_MAX;
    for (struct json *child = object->first; child; child = child->next) {
        const struct schema_field *f = schema_field_of(s, child);
        if (!f)
            continue;
        size_t at = (size_t)(f - s->fields);
        if (small)
            seen[at / 64] |= 1ull << (at % 64);
        if (counts_as_absent(f, child))
            replace_value(child, default_value(a, f->default_json));
        if (f->type->defaults_below && !f->plain)
            fill(a, f->type, child);
    }
    for (uint32_t i = 0; i < s->fields_n; i++) {
        const struct schema_field *f = &s->fields[i];
        if (!f->default_json || f->inlined)
            continue;
        if (small ? (seen[i / 64] >> (i % 64)) & 1 : json_get_n(object, (struct bytes){f->name, f->name_n}) != NULL)
            continue;
        struct json *v = default_value(a, f->default_json);
        if (!v)
            continue;
        json_append_member(a, object, (struct bytes){f->name, f->name_n}, v);
        if (f->type->defaults_below && !f->plain)
            fill(a, f->type, v);
    }
}

static void fill(struct arena *a, const struct schema *s, struct json *v)
{
    if (s->form == SCHEMA_OBJECT && v->type == JSON_OBJECT) {
        fill_object(a, s, v);
        return;
    }
    if ((s->form == SCHEMA_LIST && v->type == JSON_ARRAY) || (s->form == SCHEMA_MAP && v->type == JSON_OBJECT))
        for (struct json *child = v->first; child; child = child->next)
            fill(a, s->item, child);
}

void schema_default(struct arena *a, const struct schema *s, struct json *object)
{
    if (s->defaults_below)
        fill(a, s, object);
}
