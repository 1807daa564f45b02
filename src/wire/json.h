/* json.h - JSON as a small tree in an arena: parse, look, change, print
 *
 * SHAPE  a value is one node; the children of an object or array are a singly linked list in document order.
 *        Numbers keep their literal text, so nothing is lost between reading and writing.
 * OWNER  nodes and texts live in the arena given to the call that made them. A tree may share nodes with no other tree.
 * LIMIT  LIMIT_JSON_DEPTH, LIMIT_JSON_NODES. Duplicate keys: kept as the last one, and counted (json_parse_info).
 * STRICT RFC 8259: no trailing commas, comments, NaN, leading zeros, raw control characters, bad UTF-8, lone surrogates, NUL in strings.
 */
#ifndef WIRE_JSON_H
#define WIRE_JSON_H
#include <stdbool.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/bytes.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    const char *key;      /* NUL terminated, never NULL; "" unless member of an object: who takes an array for one finds names of nothing */
    struct json *next;    /* next sibling */
    union {
        struct {
            struct json *first, *last; /* JSON_ARRAY, JSON_OBJECT */
        };
        const char *text; /* JSON_STRING: NUL terminated, decoded; JSON_NUMBER: the literal */
        bool truth;       /* JSON_BOOL */
    };
    uint32_t key_n;
    uint32_t n;           /* children, or bytes of text */
    uint8_t type;         /* enum json_type */
    uint16_t hint;        /* of a member: where its key stands in a table of keys that was searched for it last; 0 = in none, or first */
};

/* What a parse saw that strict callers want to refuse. paths are "spec.template" style, in the parse arena. */
struct json_parse_info {
    const char *duplicate[8]; /* paths of duplicate keys, first 8 */
    uint32_t line[8];         /* of YAML: where each stands again, from 1; of JSON: 0 */
    uint32_t duplicate_n;     /* how many in all */
};

/* Parse one whole document (trailing white space allowed). NULL on error: -code in e, text with line and column. info may be NULL. */
struct json *json_parse(struct arena *a, struct bytes text, struct json_parse_info *info, struct err *e);
/* As if these parts of the text, in its order, stood not there. NULL: what is left is no JSON. */
struct json_cut {
    const char *from, *to;
};
struct json *json_parse_without(struct arena *a, struct bytes text, const struct json_cut *cuts, size_t n);

/* Print compactly, no spaces, keys in tree order. NULL: null, as where a text was no JSON. */
void json_write(struct buf *out, const struct json *v);
/* Print for people: two spaces an indent level. */
void json_write_pretty(struct buf *out, const struct json *v);
/* Append text as a JSON string with quotes and escapes (also '<' etc. untouched; control characters as \u00XX). */
void json_write_string(struct buf *out, struct bytes text);
/* `before`, then "key":"value" */
void json_write_member(struct buf *out, const char *key, const char *value, char before);

/* Look. All accept NULL and values of the wrong type, and then return NULL / the fallback. */
static inline bool json_is(const struct json *v, enum json_type type) /* false for NULL */
{
    return v && v->type == type;
}
struct json *json_get_n(const struct json *object, struct bytes key);
static inline struct json *json_get(const struct json *object, const char *key)
{
    return json_get_n(object, (struct bytes){key, strlen(key)});
}
/* json_path(pod, "spec", "nodeName", NULL): eight keys at most. WHY a macro: the length of each literal is known then. */
#define json_path(v, ...) JSON_PATH_OF(v, __VA_ARGS__, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
#define JSON_PATH_OF(v, a, b, c, d, e, f, g, h, end, ...) \
    json_step(json_step(json_step(json_step(json_steps_end(json_step(json_step(json_step(json_step(v, a), b), c), d), end), e), f), g), h)
static inline struct json *json_step(const struct json *v, const char *key)
{
    return v && key ? json_get(v, key) : (struct json *)v;
}
static inline struct json *json_steps_end(const struct json *v, const char *end)
{
    assert(!end && "more keys than json_path takes");
    return (struct json *)v;
}
struct json *json_item(const struct json *array, size_t index);
const char *json_text(const struct json *v, const char *fallback);               /* JSON_STRING only */
/* WHY here, as others with a key below: the length of a literal is known then. */
static inline const char *json_get_text(const struct json *object, const char *key, const char *fallback)
{
    return json_text(json_get(object, key), fallback);
}
int64_t json_int64(const struct json *v, int64_t fallback);                       /* whole numbers in range only */
static inline int64_t json_get_int64(const struct json *object, const char *key, int64_t fallback)
{
    return json_int64(json_get(object, key), fallback);
}
bool json_bool(const struct json *v, bool fallback);
static inline bool json_get_bool(const struct json *object, const char *key, bool fallback)
{
    return json_bool(json_get(object, key), fallback);
}
static inline struct bytes json_bytes(const struct json *v) /* text of string or number; empty otherwise */
{
    return json_is(v, JSON_STRING) || json_is(v, JSON_NUMBER) ? (struct bytes){v->text, v->n} : (struct bytes){"", 0};
}
static inline struct json *json_first(const struct json *container) /* NULL for scalars too */
{
    return container && container->type >= JSON_ARRAY ? container->first : NULL;
}
#define JSON_EACH(item, container) for (struct json *item = json_first(container); item; item = item->next)

/* Make. Texts are copied into the arena. */
struct json *json_new(struct arena *a, enum json_type type);
struct json *json_new_text_n(struct arena *a, struct bytes text);
static inline struct json *json_new_text(struct arena *a, const char *text)
{
    return json_new_text_n(a, (struct bytes){text, text ? strlen(text) : 0});
}
struct json *json_new_int64(struct arena *a, int64_t value);
struct json *json_new_bool(struct arena *a, bool value);
struct json *json_clone(struct arena *a, const struct json *v); /* deep, texts too; key is not copied. NULL: a null */
/* Deep, but texts and keys are those of v, which must live as long as the arena does. */
struct json *json_copy(struct arena *a, const struct json *v);

/* Change. `v` must not be part of another tree. What is no object becomes an empty one first: what stood there meant nothing. */
void json_set_n(struct arena *a, struct json *object, struct bytes key, struct json *v); /* replace in place or append */
static inline void json_set(struct arena *a, struct json *object, const char *key, struct json *v)
{
    json_set_n(a, object, (struct bytes){key, strlen(key)}, v);
}
static inline void json_set_text(struct arena *a, struct json *object, const char *key, const char *text)
{
    json_set(a, object, key, json_new_text(a, text));
}
static inline void json_set_int64(struct arena *a, struct json *object, const char *key, int64_t value)
{
    json_set(a, object, key, json_new_int64(a, value));
}
static inline void json_set_bool(struct arena *a, struct json *object, const char *key, bool value)
{
    json_set(a, object, key, json_new_bool(a, value));
}
bool json_remove_item(struct json *array, const struct json *item);
static inline bool json_remove(struct json *object, const char *key) /* false when absent */
{
    return json_remove_item(object, json_get(object, key));
}
void json_append(struct json *array, struct json *v);        /* at the end */
void json_append_member(struct arena *a, struct json *object, struct bytes key, struct json *v); /* the key is known to be absent */
void json_remove_nulls(struct json *v); /* members that are null, at every depth; items of arrays stay */
void json_insert(struct json *array, size_t index, struct json *v); /* index n appends */
/* The object under key, made when absent (or when not an object). */
struct json *json_ensure_n(struct arena *a, struct json *object, struct bytes key, enum json_type type);
static inline struct json *json_ensure_object(struct arena *a, struct json *object, const char *key)
{
    return json_ensure_n(a, object, (struct bytes){key, strlen(key)}, JSON_OBJECT);
}
static inline struct json *json_ensure_array(struct arena *a, struct json *object, const char *key)
{
    return json_ensure_n(a, object, (struct bytes){key, strlen(key)}, JSON_ARRAY);
}

/* What a tree comes to. */
struct json_extent {
    size_t nodes; /* values, the tree itself among them */
    size_t depth; /* containers inside each other */
};
struct json_extent json_extent(const struct json *v);

/* Equal as JSON: object member order does not matter, numbers by value when both are integers else by literal. */
bool json_equal(const struct json *a, const struct json *b);

#endif
