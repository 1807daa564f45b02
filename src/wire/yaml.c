/* yaml.c - libyaml's events to JSON trees
 *
 * SHAPE  one recursive builder; its depth is bounded by LIMIT_JSON_DEPTH. An alias is a copy of the anchored value whose
 *        texts are shared.
 */
#include <stdlib.h>
#include <yaml.h>
#include "wire/yaml.h"
#include "base/collections/map.h"
#include "base/limits.h"
#include "wire/json_text.h"
#include "wire/yaml_scalar.h"

#define LINEAR_MEMBERS 32 /* mappings up to this size find duplicates by a walk */
#define TAG_PREFIX "tag:yaml.org,2002:"

struct builder {
    yaml_parser_t parser;
    struct arena *arena;
    struct map *anchors; /* name -> struct json * */
    struct json_parse_info *info;
    struct yaml_places *places; /* NULL: nobody asks */
    struct err *e;
    uint32_t nodes_n, aliases_n;
    size_t alias_bytes;
};

/* Where the builder is, innermost first; for the paths of duplicates. */
struct place {
    const struct place *up;
    const char *key; /* NULL: item `index` of a sequence */
    uint32_t index;
    uint32_t depth;
};

static int fail(struct builder *b, int code, yaml_mark_t mark, const char *format, ...) PRINTF_LIKE(4, 5);
static int fail(struct builder *b, int code, yaml_mark_t mark, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(b->e, code, "line %zu, column %zu: %s", mark.line + 1, mark.column + 1, text);
}

static int next_event(struct builder *b, yaml_event_t *ev)
{
    if (yaml_parser_parse(&b->parser, ev))
        return 0;
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_READER_ERROR)
        return err_set(b->e, E_INVALID, "byte %zu: %s", p->problem_offset, problem);
    if (p->context)
        return fail(b, E_INVALID, p->problem_mark, "%s, %s that started on line %zu", problem, p->context,
                    p->context_mark.line + 1);
    return fail(b, E_INVALID, p->problem_mark, "%s", problem);
}

static void path_add(struct buf *path, const struct place *place)
{
    if (!place)
        return;
    path_add(path, place->up);
    if (place->key)
        buf_printf(path, "%s%s", path->n ? "." : "", place->key);
    else if (place->up)
        buf_printf(path, "[%u]", place->index);
}

static void note_duplicate(struct builder *b, const struct place *place, size_t line)
{
    struct json_parse_info *info = b->info;
    if (!info)
        return;
    if (info->duplicate_n < sizeof info->duplicate / sizeof *info->duplicate) {
        _cleanup_buf_ struct buf path = {0};
        path_add(&path, place);
        info->duplicate[info->duplicate_n] = arena_text_n(b->arena, path.data, path.n);
        info->line[info->duplicate_n] = (uint32_t)line + 1;
    }
    info->duplicate_n++;
}

/* ---- places ---- */

struct yaml_places {
    struct map *by_value; /* address of the value -> struct yaml_place */
};

static struct bytes address_of(const struct json *const *v)
{
    return (struct bytes){(const char *)v, sizeof *v};
}

struct yaml_places *yaml_places_new(void)
{
    struct yaml_places *p = mem_zero(1, sizeof *p);
    p->by_value = map_new(sizeof(struct yaml_place));
    return p;
}

void yaml_places_free(struct yaml_places *p)
{
    if (!p)
        return;
    map_free(p->by_value);
    free(p);
}

struct yaml_place yaml_place_of(const struct yaml_places *p, const struct json *v)
{
    const struct yaml_place *found = map_find(p->by_value, address_of(&v));
    return found ? *found : (struct yaml_place){0};
}

static void note_place(struct builder *b, const struct json *v, yaml_mark_t mark)
{
    if (!b->places)
        return;
    struct yaml_place *p = map_put(b->places->by_value, address_of(&v), NULL);
    p->line = (uint32_t)mark.line + 1;
    p->column = (uint32_t)mark.column + 1;
}

static void note_key(struct builder *b, const struct json *v, yaml_mark_t mark)
{
    if (!b->places)
        return;
    struct yaml_place *p = map_put(b->places->by_value, address_of(&v), NULL);
    p->key_line = (uint32_t)mark.line + 1;
    p->key_column = (uint32_t)mark.column + 1;
}

/* The value that was of `v` stands where `v` stands now. */
static void move_place(struct builder *b, const struct json *to, const struct json *v)
{
    if (b->places) {
        struct yaml_place place = yaml_place_of(b->places, v);
        *(struct yaml_place *)map_put(b->places->by_value, address_of(&to), NULL) = place;
    }
}

static int count_node(struct builder *b, yaml_mark_t mark, uint32_t depth)
{
    if (++b->nodes_n > LIMIT_JSON_NODES)
        return fail(b, E_LIMIT, mark, "too many values in one document");
    if (depth > LIMIT_JSON_DEPTH)
        return fail(b, E_LIMIT, mark, "nested too deeply");
    return 0;
}

/* What an alias stands for. Texts are shared: they never change. */
static int copy_value(struct builder *b, yaml_mark_t mark, const struct json *v, uint32_t depth, struct json **ret)
{
    int r = count_node(b, mark, depth + (v->type >= JSON_ARRAY));
    if (r < 0)
        return r;
    b->alias_bytes += v->key_n + json_bytes(v).n;
    if (b->alias_bytes > LIMIT_YAML_ALIAS_BYTES)
        return fail(b, E_LIMIT, mark, "aliases repeat more than %u bytes of text", LIMIT_YAML_ALIAS_BYTES);
    struct json *copy = arena_alloc(b->arena, sizeof *copy);
    *copy = *v;
    copy->next = NULL;
    if (v->type >= JSON_ARRAY) {
        copy->first = copy->last = NULL;
        copy->n = 0;
        for (const struct json *child = v->first; child; child = child->next) {
            struct json *c;
            if ((r = copy_value(b, mark, child, depth + 1, &c)) < 0)
                return r;
            json_append(copy, c);
        }
    }
    *ret = copy;
    return 0;
}

static int build_alias(struct builder *b, const yaml_event_t *ev, uint32_t depth, struct json **ret)
{
    const char *name = (const char *)ev->data.alias.anchor;
    struct json **anchored = map_find_text(b->anchors, name);
    if (!anchored)
        return fail(b, E_INVALID, ev->start_mark, "alias *%.60s has no anchor &%.60s that ended before it", name, name);
    if (++b->aliases_n > LIMIT_YAML_ALIASES)
        return fail(b, E_LIMIT, ev->start_mark, "more than %d aliases", LIMIT_YAML_ALIASES);
    int r = copy_value(b, ev->start_mark, *anchored, depth, ret);
    if (r == 0) {
        (*ret)->key = "";
        (*ret)->key_n = 0;
    }
    return r;
}

/* WHY  the anchored node itself may be overwritten by a duplicate key or moved by <<: a copy
 * of the node is kept. */
static struct json *copy_node(struct builder *b, const struct json *v)
{
    struct json *copy = arena_alloc(b->arena, sizeof *copy);
    *copy = *v;
    copy->next = NULL;
    return copy;
}

static void anchor_set(struct builder *b, const yaml_char_t *name, const struct json *v)
{
    if (name)
        *(struct json **)map_put(b->anchors, bytes_of((const char *)name), NULL) = copy_node(b, v);
}

static bool text_is_clean(struct bytes text)
{
    for (const char *at = text.data, *end = at + text.n; at < end;) {
        size_t n = *at ? utf8_length(at, end) : 0;
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

static int set_binary(struct builder *b, const yaml_event_t *ev, struct bytes text, struct json *v)
{
    _cleanup_buf_ struct buf base64 = {0}, plain = {0};
    for (size_t i = 0; i < text.n; i++)
        if (!json_text_is_space(text.data[i]))
            buf_char(&base64, text.data[i]);
    if (!base64_decode(&plain, buf_view(&base64)))
        return fail(b, E_INVALID, ev->start_mark, "!!binary is not base64");
    if (!text_is_clean(buf_view(&plain)))
        return fail(b, E_INVALID, ev->start_mark,
                    "!!binary holds bytes that no JSON string can carry; leave out the tag to keep the base64 text");
    v->text = arena_text_n(b->arena, plain.data, plain.n);
    v->n = (uint32_t)plain.n;
    return 0;
}

/* A tag such as !!int says which type must come out; others leave a string. */
static int check_tag(struct builder *b, const yaml_event_t *ev, const char *tag, const struct yaml_scalar *s)
{
    bool fits = text_equal(tag, "null")   ? s->type == JSON_NULL
                : text_equal(tag, "bool") ? s->type == JSON_BOOL
                                          : s->type == JSON_NUMBER;
    if (text_equal(tag, "int") && fits)
        fits = strpbrk(s->number, ".e") == NULL;
    return fits ? 0 : fail(b, E_INVALID, ev->start_mark, "the value does not fit its tag !!%s", tag);
}

static int build_scalar(struct builder *b, const yaml_event_t *ev, struct json **ret)
{
    struct bytes text = {(const char *)ev->data.scalar.value, ev->data.scalar.length};
    const char *tag = (const char *)ev->data.scalar.tag;
    const char *known = text_starts(tag, TAG_PREFIX) ? tag + strlen(TAG_PREFIX) : NULL;
    if (text.n >= UINT32_MAX || memchr(text.data, '\0', text.n))
        return fail(b, E_INVALID, ev->start_mark, "a NUL byte is not allowed in text");
    struct json *v = json_new(b->arena, JSON_STRING);
    bool typed = known && (text_equal(known, "int") || text_equal(known, "float") || text_equal(known, "bool") ||
                           text_equal(known, "null"));
    struct yaml_scalar s = {.type = JSON_STRING};
    if (typed || (!tag && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE))
        s = yaml_scalar_resolve(text);
    int r = typed ? check_tag(b, ev, known, &s) : 0;
    if (r < 0)
        return r;
    if (s.not_finite)
        return fail(b, E_INVALID, ev->start_mark, "%.10s is no number in JSON; quote it when text is meant", text.data);
    *ret = v;
    v->type = (uint8_t)s.type;
    if (known && text_equal(known, "binary"))
        return set_binary(b, ev, text, v);
    if (s.type == JSON_BOOL)
        v->truth = s.truth;
    if (s.type == JSON_NUMBER)
        text = bytes_of(s.number);
    if (s.type == JSON_NUMBER || s.type == JSON_STRING) {
        v->text = arena_text_n(b->arena, text.data, text.n);
        v->n = (uint32_t)text.n;
    }
    return 0;
}

static int build(struct builder *b, const yaml_event_t *ev, const struct place *place, struct json **ret);

static int build_sequence(struct builder *b, const yaml_event_t *start, const struct place *place, struct json **ret)
{
    struct json *array = json_new(b->arena, JSON_ARRAY);
    struct place here = {.up = place, .depth = place->depth + 1};
    int r = count_node(b, start->start_mark, here.depth);
    for (bool open = r == 0; open;) {
        yaml_event_t ev;
        if ((r = next_event(b, &ev)) < 0)
            return r;
        open = ev.type != YAML_SEQUENCE_END_EVENT;
        struct json *item = NULL;
        if (open)
            r = build(b, &ev, &here, &item);
        yaml_event_delete(&ev);
        if (r < 0)
            return r;
        if (item)
            json_append(array, item);
        here.index++;
    }
    *ret = array;
    return r;
}

/* A mapping while it is built. */
struct mapping {
    struct json *object;
    struct map *index;   /* key -> struct json *, once it is large */
    struct json *merges; /* array of mappings named by <<, or NULL */
};

static struct json *mapping_find(struct mapping *m, struct bytes key)
{
    if (m->index) {
        struct json **found = map_find(m->index, key);
        return found ? *found : NULL;
    }
    return json_get_n(m->object, key);
}

static void mapping_add(struct mapping *m, struct bytes key, struct json *v)
{
    v->key = key.data;
    v->key_n = (uint32_t)key.n;
    json_append(m->object, v);
    if (!m->index && m->object->n > LINEAR_MEMBERS) {
        m->index = map_new(sizeof(struct json *));
        JSON_EACH (member, m->object)
            *(struct json **)map_put(m->index, (struct bytes){member->key, member->key_n}, NULL) = member;
    } else if (m->index) {
        *(struct json **)map_put(m->index, key, NULL) = v;
    }
}

/* Put what << named below the explicit members; earlier ones win. */
static int apply_merges(struct builder *b, struct mapping *m, yaml_mark_t mark)
{
    JSON_EACH (source, m->merges) {
        if (source->type != JSON_OBJECT)
            return fail(b, E_INVALID, mark, "<< needs a mapping or a list of mappings");
        JSON_EACH (member, source) {
            struct bytes key = {member->key, member->key_n};
            if (!mapping_find(m, key))
                mapping_add(m, key, copy_node(b, member));
        }
    }
    return 0;
}

static void merges_add(struct builder *b, struct mapping *m, struct json *v)
{
    if (!m->merges)
        m->merges = json_new(b->arena, JSON_ARRAY);
    if (v->type != JSON_ARRAY) {
        json_append(m->merges, v);
        return;
    }
    JSON_EACH (item, v)
        json_append(m->merges, copy_node(b, item));
}

static int key_of(struct builder *b, const yaml_event_t *ev, const struct place *place, struct bytes *ret_key)
{
    struct json *v;
    if (ev->type != YAML_SCALAR_EVENT && ev->type != YAML_ALIAS_EVENT)
        return fail(b, E_INVALID, ev->start_mark, "a key must be text, not a mapping or a list");
    int r = build(b, ev, place, &v);
    if (r < 0)
        return r;
    if (v->type >= JSON_ARRAY || v->type == JSON_NULL)
        return fail(b, E_INVALID, ev->start_mark, "a key must be text%s", v->type == JSON_NULL ? ", not null" : "");
    *ret_key = v->type == JSON_BOOL ? bytes_of(v->truth ? "true" : "false") : json_bytes(v);
    return 0;
}

/* The value that belongs to key, which stands at `mark`. */
static int build_member(struct builder *b, struct mapping *m, struct place *here, struct bytes key, yaml_mark_t mark, bool is_merge)
{
    yaml_event_t ev;
    struct json *v = NULL;
    int r = next_event(b, &ev);
    if (r < 0)
        return r;
    here->key = key.data;
    r = build(b, &ev, here, &v);
    yaml_event_delete(&ev);
    if (r < 0)
        return r;
    if (is_merge) {
        merges_add(b, m, v);
        return 0;
    }
    note_key(b, v, mark);
    struct json *old = mapping_find(m, key);
    if (!old) {
        mapping_add(m, key, v);
        return 0;
    }
    note_duplicate(b, here, mark.line);
    const struct json place = *old; /* the last one wins, in the place of the first */
    *old = *v;
    old->key = place.key;
    old->key_n = place.key_n;
    old->next = place.next;
    move_place(b, old, v);
    return 0;
}

static int build_members(struct builder *b, struct mapping *m, struct place *here)
{
    for (;;) {
        yaml_event_t ev;
        struct bytes key = {0};
        int r = next_event(b, &ev);
        if (r < 0)
            return r;
        bool ends = ev.type == YAML_MAPPING_END_EVENT;
        bool is_merge = ev.type == YAML_SCALAR_EVENT && ev.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                        text_equal((const char *)ev.data.scalar.value, "<<");
        yaml_mark_t mark = ev.start_mark;
        if (!ends)
            r = key_of(b, &ev, here, &key);
        yaml_event_delete(&ev);
        if (r == 0)
            r = ends ? apply_merges(b, m, mark) : build_member(b, m, here, key, mark, is_merge);
        if (r < 0 || ends)
            return r;
    }
}

static int build_mapping(struct builder *b, const yaml_event_t *start, const struct place *place, struct json **ret)
{
    struct mapping m = {.object = json_new(b->arena, JSON_OBJECT)};
    struct place here = {.up = place, .key = "", .depth = place->depth + 1};
    int r = count_node(b, start->start_mark, here.depth);
    if (r == 0)
        r = build_members(b, &m, &here);
    map_free(m.index);
    *ret = m.object;
    return r;
}

static int build_value(struct builder *b, const yaml_event_t *ev, const struct place *place, struct json **ret)
{
    int r;
    switch ((int)ev->type) {
    case YAML_ALIAS_EVENT:
        return build_alias(b, ev, place->depth, ret);
    case YAML_SEQUENCE_START_EVENT:
        if ((r = build_sequence(b, ev, place, ret)) == 0)
            anchor_set(b, ev->data.sequence_start.anchor, *ret);
        return r;
    case YAML_MAPPING_START_EVENT:
        if ((r = build_mapping(b, ev, place, ret)) == 0)
            anchor_set(b, ev->data.mapping_start.anchor, *ret);
        return r;
    default:
        if ((r = count_node(b, ev->start_mark, 0)) == 0 && (r = build_scalar(b, ev, ret)) == 0)
            anchor_set(b, ev->data.scalar.anchor, *ret);
        return r;
    }
}

/* The value that starts with event ev. */
static int build(struct builder *b, const yaml_event_t *ev, const struct place *place, struct json **ret)
{
    int r = build_value(b, ev, place, ret);
    if (r == 0)
        note_place(b, *ret, ev->start_mark);
    return r;
}

/* One event outside of documents, or the start of one, whose root is built. *ret_end at the end of the stream. */
static int build_document(struct builder *b, struct json *docs, bool *ret_end)
{
    yaml_event_t ev;
    int r = next_event(b, &ev);
    if (r < 0)
        return r;
    yaml_event_type_t type = ev.type;
    yaml_mark_t mark = ev.start_mark;
    yaml_event_delete(&ev);
    *ret_end = type == YAML_STREAM_END_EVENT;
    if (type != YAML_DOCUMENT_START_EVENT)
        return 0;
    if ((r = next_event(b, &ev)) < 0)
        return r;
    map_clear(b->anchors);
    b->nodes_n = b->aliases_n = 0;
    b->alias_bytes = 0;
    struct place root = {.up = NULL};
    struct json *doc = NULL;
    r = build(b, &ev, &root, &doc);
    yaml_event_delete(&ev);
    if (r < 0 || doc->type == JSON_NULL)
        return r;
    if (docs->n == LIMIT_YAML_DOCUMENTS)
        return fail(b, E_LIMIT, mark, "more than %d documents in one text", LIMIT_YAML_DOCUMENTS);
    json_append(docs, doc);
    return 0;
}

/* WHY  JSON is nearly YAML, but surrogate pairs and tabs are not: text that is JSON is read as JSON. */
static bool parse_as_json(struct arena *a, struct bytes text, struct json *docs, struct json_parse_info *info)
{
    size_t at = 0;
    while (at < text.n && json_text_is_space(text.data[at]))
        at++;
    if (at == text.n || (text.data[at] != '{' && text.data[at] != '['))
        return false;
    struct json *doc = json_parse(a, text, info, NULL);
    if (doc)
        json_append(docs, doc);
    return doc != NULL;
}

int yaml_parse(struct arena *a, struct bytes text, struct json **ret_docs, struct json_parse_info *info, struct err *e)
{
    return yaml_parse_places(a, text, ret_docs, info, NULL, e);
}

int yaml_parse_places(struct arena *a, struct bytes text, struct json **ret_docs, struct json_parse_info *info, struct yaml_places *places,
                      struct err *e)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf"; /* editors of Windows write it */
    struct json *docs = json_new(a, JSON_ARRAY);
    *ret_docs = NULL;
    if (text.n >= 3 && memcmp(text.data, byte_order_mark, 3) == 0)
        text = (struct bytes){text.data + 3, text.n - 3};
    if (!places && parse_as_json(a, text, docs, info)) {
        *ret_docs = docs;
        return 0;
    }
    if (info)
        *info = (struct json_parse_info){0};
    struct builder b = {.arena = a, .info = info, .places = places, .e = e};
    if (!yaml_parser_initialize(&b.parser))
        return err_set(e, E_IO, "no memory for the YAML reader");
    b.anchors = map_new(sizeof(struct json *));
    yaml_parser_set_encoding(&b.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b.parser, (const unsigned char *)(text.data ? text.data : ""), text.n);
    int r = 0;
    for (bool end = false; r == 0 && !end;)
        r = build_document(&b, docs, &end);
    map_free(b.anchors);
    yaml_parser_delete(&b.parser);
    if (r == 0)
        *ret_docs = docs;
    return r;
}
