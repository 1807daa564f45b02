/* json_reader.h - JSON without a tree: a pull reader over one contiguous text, and a splitter over chunks
 *
 * The hot path (watch lines, list pages) takes about fifteen of a pod's hundred fields. The reader walks the text once; what
 * is not wanted is skipped by structure (SSE2 on x86-64, a scalar body elsewhere) and not decoded.
 *
 *     json_reader_init(&r, text);
 *     if (json_reader_object(&r))
 *         while (json_reader_key(&r, &key)) {
 *             if (bytes_is(key, "spec")) ...descend... else json_reader_skip(&r);
 *         }
 *     if (r.failed) ...
 *
 * STRICT what is taken is validated; what is skipped is only matched for brackets and quotes. For input that is not from an API
 *        server use json_parse.
 */
#ifndef WIRE_JSON_READER_H
#define WIRE_JSON_READER_H
#include "wire/json.h"

struct json_reader {
    const char *at, *end, *start;
    bool failed;      /* sticky: every later call returns false/empty */
    uint32_t depth;
    uint64_t first;   /* bit per depth (mod 64): no member read yet at this level */
};
void json_reader_init(struct json_reader *r, struct bytes text);
enum json_type json_reader_peek(struct json_reader *r);           /* type of the next value */
bool json_reader_object(struct json_reader *r);                   /* enter '{'; false (and skipped) when the value is no object */
bool json_reader_key(struct json_reader *r, struct bytes *ret_key); /* next key (raw, escapes undecoded); false at '}' which is consumed */
/* Enter the object that starts here and stop before the value of its member `name`; false: it has none, or is no object. */
bool json_reader_member_n(struct json_reader *r, struct bytes name);
static inline bool json_reader_member(struct json_reader *r, const char *name)
{
    return json_reader_member_n(r, (struct bytes){name, strlen(name)});
}
bool json_reader_array(struct json_reader *r);                    /* enter '[' */
bool json_reader_item(struct json_reader *r);                     /* true when another item follows; false at ']' which is consumed */
/* String, decoded into `scratch` only when it has escapes, else a view of the input. False when it is no string (value skipped). */
bool json_reader_string(struct json_reader *r, struct buf *scratch, struct bytes *ret_text);
bool json_reader_number(struct json_reader *r, struct bytes *ret_literal); /* false when no number (value skipped) */
bool json_reader_int64(struct json_reader *r, int64_t *ret_value);
bool json_reader_bool(struct json_reader *r, bool *ret_value);
void json_reader_skip(struct json_reader *r);                     /* the next value, whole */
struct bytes json_reader_raw(struct json_reader *r);              /* the next value as text, skipped */

/* Splitter: finds the end of each top-level value in a stream of chunks (watch lines), or of each element of the "items" array of a
 * list. Feed any chunk sizes; `on_value` gets each complete value as contiguous text, good during the call only. */
enum json_split_mode { JSON_SPLIT_STREAM, JSON_SPLIT_LIST };
struct json_splitter;
typedef int (*json_split_fn)(void *arg, struct bytes value); /* return negative to stop: feed returns it, e untouched */
/* max_value_bytes: a larger single value fails with -E_LIMIT. */
struct json_splitter *json_splitter_new(enum json_split_mode mode, size_t max_value_bytes, json_split_fn on_value, void *arg);
int json_splitter_feed(struct json_splitter *s, struct bytes chunk, struct err *e);
/* End of input: -E_PROTO when a value was cut. In list mode ret_rest (may be NULL) gets the document with "items" emptied
 * (metadata.resourceVersion, continue), good until free. */
int json_splitter_finish(struct json_splitter *s, struct bytes *ret_rest, struct err *e);
void json_splitter_free(struct json_splitter *s);

#endif
