/* json_splitter.c - complete values out of chunks; see json_reader.h
 *
 * SHAPE  three phases: OUTER (list mode: everything but the elements, byte by byte, kept in `rest`), GAP (between values), VALUE.
 *        A value that lies in one chunk is handed out where it lies; one that is cut is gathered in `carry`.
 */
#include <stdlib.h>
#include "base/memory.h"
#include "wire/json_reader.h"
#include "wire/json_scan.h"
#include "wire/json_text.h"

enum phase { PHASE_OUTER, PHASE_GAP, PHASE_VALUE, PHASE_END };
enum value_kind { VALUE_CONTAINER, VALUE_STRING, VALUE_BARE };
enum gap_want { GAP_FIRST, GAP_VALUE, GAP_SEPARATOR }; /* list mode: what may come next between elements */

struct json_splitter {
    enum json_split_mode mode;
    size_t max_value_bytes;
    json_split_fn on_value;
    void *arg;
    int failed; /* the negative code that ended it, or 0 */
    enum phase phase;
    enum value_kind kind;
    enum gap_want want;
    struct json_scan scan; /* of the value, or of the outer document */
    struct buf carry, rest;
    /* OUTER, at depth 1 */
    size_t string_at; /* where in rest the last string begins */
    bool expects_key;
    bool key_is_items; /* the last key was "items" and its value has not begun */
};

struct json_splitter *json_splitter_new(enum json_split_mode mode, size_t max_value_bytes, json_split_fn on_value,
                                        void *arg)
{
    struct json_splitter *s = mem_zero(1, sizeof *s);
    s->mode = mode;
    s->max_value_bytes = max_value_bytes;
    s->on_value = on_value;
    s->arg = arg;
    s->phase = mode == JSON_SPLIT_LIST ? PHASE_OUTER : PHASE_GAP;
    return s;
}

void json_splitter_free(struct json_splitter *s)
{
    if (!s)
        return;
    buf_free(&s->carry);
    buf_free(&s->rest);
    free(s);
}

static int fail(struct json_splitter *s, struct err *e, int code, const char *problem)
{
    s->failed = -code;
    return err_set(e, code, "%s", problem);
}

static int too_large(struct json_splitter *s, struct err *e)
{
    s->failed = -E_LIMIT;
    return err_set(e, E_LIMIT, "a single value is larger than %zu bytes", s->max_value_bytes);
}

static void value_begin(struct json_splitter *s, char c)
{
    s->phase = PHASE_VALUE;
    s->kind = c == '"' ? VALUE_STRING : c == '{' || c == '[' ? VALUE_CONTAINER : VALUE_BARE;
    s->scan = (struct json_scan){0};
}

static bool is_delimiter(char c)
{
    return json_text_is_space(c) || c == ',' || c == ']' || c == '}' || c == '[' || c == '{' || c == '"' || c == ':';
}

/* Behind the value's last byte, or NULL when it goes on after this chunk. */
static const char *value_end(struct json_splitter *s, const char *at, const char *end)
{
    if (s->kind == VALUE_CONTAINER)
        return json_scan_close(&s->scan, at, end);
    if (s->kind == VALUE_BARE) {
        while (at < end && !is_delimiter(*at))
            at++;
        return at < end ? at : NULL;
    }
    for (; at < end; at++) {
        if (s->scan.escaped)
            s->scan.escaped = 0;
        else if (*at == '\\')
            s->scan.escaped = 1;
        else if (*at == '"' && (s->scan.in_string = ~s->scan.in_string) == 0)
            return at + 1;
    }
    return NULL;
}

static int deliver(struct json_splitter *s, struct bytes value)
{
    int r = s->on_value(s->arg, value);
    s->phase = PHASE_GAP;
    s->want = GAP_SEPARATOR;
    s->failed = r < 0 ? r : 0;
    return s->failed;
}

static int feed_value(struct json_splitter *s, const char **at, const char *end, struct err *e)
{
    const char *start = *at, *behind = value_end(s, start, end);
    size_t n = (size_t)((behind ? behind : end) - start);
    *at = start + n;
    if (n > s->max_value_bytes || s->carry.n > s->max_value_bytes - n)
        return too_large(s, e);
    if (behind && s->carry.n == 0)
        return deliver(s, (struct bytes){start, n});
    buf_add(&s->carry, start, n);
    if (!behind)
        return 0;
    int r = deliver(s, buf_view(&s->carry));
    buf_clear(&s->carry);
    return r;
}

static int feed_gap(struct json_splitter *s, const char **at, const char *end, struct err *e)
{
    while (*at < end && json_text_is_space(**at))
        ++*at;
    if (*at == end)
        return 0;
    char c = **at;
    bool is_list = s->mode == JSON_SPLIT_LIST;
    if (is_list && c == ']' && s->want != GAP_VALUE) {
        s->phase = PHASE_OUTER;
        s->scan = (struct json_scan){.depth = 1};
        buf_char(&s->rest, ']');
        ++*at;
        return 0;
    }
    if (is_list && s->want == GAP_SEPARATOR) {
        s->want = GAP_VALUE;
        ++*at;
        return c == ',' ? 0 : fail(s, e, E_PROTO, "expected ',' or ']' behind an element of \"items\"");
    }
    if (c == ',' || c == ':' || c == ']' || c == '}')
        return fail(s, e, E_PROTO, "expected a value");
    value_begin(s, c);
    return 0;
}

/* A byte of the outer document that is outside of strings. */
static int outer_structure(struct json_splitter *s, char c, struct err *e)
{
    uint64_t depth_before = s->scan.depth;
    if (depth_before == 0 && c != '{')
        return fail(s, e, E_PROTO, "a list must be a JSON object");
    bool opens = c == '{' || c == '[', closes = c == '}' || c == ']';
    s->scan.depth += opens;
    s->scan.depth -= closes;
    if (depth_before == 1 && c == '[' && s->key_is_items) {
        s->phase = PHASE_GAP;
        s->want = GAP_FIRST;
    }
    if (s->scan.depth == 0)
        s->phase = PHASE_END;
    if (c != ':')
        s->key_is_items = false;
    if (depth_before == 0 || (depth_before == 1 && (c == ',' || c == ':')))
        s->expects_key = c != ':';
    return 0;
}

static void outer_string_end(struct json_splitter *s)
{
    struct bytes text = {s->rest.data + s->string_at, s->rest.n - s->string_at};
    s->key_is_items = s->scan.depth == 1 && s->expects_key && bytes_is(text, "\"items\"");
}

static int feed_outer(struct json_splitter *s, const char **at, const char *end, struct err *e)
{
    int r = 0;
    while (r == 0 && s->phase == PHASE_OUTER && *at < end) {
        char c = *(*at)++;
        if (s->rest.n >= s->max_value_bytes)
            return too_large(s, e);
        buf_char(&s->rest, c);
        if (s->scan.in_string) {
            bool ends = c == '"' && !s->scan.escaped;
            s->scan.escaped = c == '\\' && !s->scan.escaped;
            if (ends) {
                s->scan.in_string = 0;
                outer_string_end(s);
            }
        } else if (c == '"' && s->scan.depth > 0) {
            s->scan.in_string = ~UINT64_C(0);
            s->string_at = s->rest.n - 1;
        } else if (!json_text_is_space(c)) {
            r = outer_structure(s, c, e);
        }
    }
    return r;
}

static int feed_end(struct json_splitter *s, const char **at, const char *end, struct err *e)
{
    while (*at < end && json_text_is_space(**at))
        ++*at;
    return *at == end ? 0 : fail(s, e, E_PROTO, "text behind the end of the list");
}

int json_splitter_feed(struct json_splitter *s, struct bytes chunk, struct err *e)
{
    const char *at = chunk.data, *end = at ? at + chunk.n : NULL;
    if (s->failed)
        return err_set(e, -s->failed, "the text before was refused");
    int r = 0;
    while (r == 0 && at < end) {
        switch (s->phase) {
        case PHASE_OUTER:
            r = feed_outer(s, &at, end, e);
            break;
        case PHASE_GAP:
            r = feed_gap(s, &at, end, e);
            break;
        case PHASE_VALUE:
            r = feed_value(s, &at, end, e);
            break;
        case PHASE_END:
            r = feed_end(s, &at, end, e);
            break;
        }
    }
    return r;
}

int json_splitter_finish(struct json_splitter *s, struct bytes *ret_rest, struct err *e)
{
    if (s->failed)
        return err_set(e, -s->failed, "the text before was refused");
    if (s->mode == JSON_SPLIT_LIST) {
        if (s->phase != PHASE_END)
            return fail(s, e, E_PROTO, "the list ends in the middle");
        if (ret_rest)
            *ret_rest = buf_view(&s->rest);
        return 0;
    }
    if (s->phase != PHASE_VALUE)
        return 0;
    if (s->kind != VALUE_BARE)
        return fail(s, e, E_PROTO, "the text ends in the middle of a value");
    int r = deliver(s, buf_view(&s->carry)); /* a number or word ends with the text */
    buf_clear(&s->carry);
    return r;
}
