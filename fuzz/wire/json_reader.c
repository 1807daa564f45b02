/* json_reader.c - the reader and the splitter against the tree parser: same values out of the same text */
#include <string.h>
#include "../fuzz.h"
#include "wire/json_reader.h"

static struct json *take(struct arena *a, struct json_reader *r, struct buf *scratch)
{
    struct bytes text = {0};
    bool truth = false;
    struct json *v = json_new(a, json_reader_peek(r));
    switch ((enum json_type)v->type) {
    case JSON_OBJECT:
        if (json_reader_object(r))
            while (json_reader_key(r, &text)) {
                struct json *key = json_parse(a, (struct bytes){text.data - 1, text.n + 2}, NULL, NULL);
                MUST_HOLD(key);
                json_set(a, v, key->text, take(a, r, scratch));
            }
        break;
    case JSON_ARRAY:
        if (json_reader_array(r))
            while (json_reader_item(r))
                json_append(v, take(a, r, scratch));
        break;
    case JSON_STRING:
        if (json_reader_string(r, scratch, &text))
            v = json_new_text_n(a, text);
        break;
    case JSON_NUMBER:
        if (json_reader_number(r, &text)) {
            v->text = arena_text_n(a, text.data, text.n);
            v->n = (uint32_t)text.n;
        }
        break;
    case JSON_BOOL:
        if (json_reader_bool(r, &truth))
            v->truth = truth;
        break;
    case JSON_NULL:
        if (!bytes_is(json_reader_raw(r), "null"))
            r->failed = true;
        break;
    }
    return v;
}

struct split {
    struct arena *arena;
    struct json *want;
    size_t n;
};

static int on_value(void *arg, struct bytes value)
{
    struct split *s = arg;
    struct json *v = json_parse(s->arena, value, NULL, NULL);
    MUST_HOLD(v && json_equal(v, s->want));
    s->n++;
    return 0;
}

static int ignore_value(void *arg, struct bytes value)
{
    MUST_HOLD(value.n > 0);
    return 0;
}

static int feed(struct json_splitter *s, struct bytes text, size_t step)
{
    int r = 0;
    for (size_t at = 0; at < text.n && r == 0; at += step)
        r = json_splitter_feed(s, (struct bytes){text.data + at, text.n - at < step ? text.n - at : step}, NULL);
    if (r == 0)
        r = json_splitter_finish(s, NULL, NULL);
    json_splitter_free(s);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 65536)
        return 0;
    size_t step = data[0] + 1u;
    struct bytes text = {(const char *)data + 1, size - 1};
    _cleanup_arena_ struct arena *a = arena_new();
    _cleanup_buf_ struct buf scratch = {0};
    struct err e = {0};
    struct json *want = json_parse(a, text, NULL, &e);
    struct json_reader r;
    json_reader_init(&r, text);
    struct json *got = take(a, &r, &scratch);
    bool whole = !r.failed;
    while (r.at < r.end && strchr(" \t\r\n", *r.at) && *r.at)
        r.at++;
    whole = whole && r.at == r.end;
    MUST_HOLD(e.code == E_LIMIT || whole == (want != NULL));
    MUST_HOLD(!want || json_equal(want, got));
    json_reader_init(&r, text);
    json_reader_skip(&r);
    MUST_HOLD(!want || !r.failed);
    struct split split = {a, want, 0};
    if (want)
        MUST_HOLD(feed(json_splitter_new(JSON_SPLIT_STREAM, 1u << 20, on_value, &split), text, step) == 0 &&
                  split.n == 1);
    else
        (void)feed(json_splitter_new(JSON_SPLIT_STREAM, 1u << 20, ignore_value, NULL), text, step);
    int list = feed(json_splitter_new(JSON_SPLIT_LIST, 1u << 20, ignore_value, NULL), text, step);
    MUST_HOLD(list == 0 || !want || want->type != JSON_OBJECT);
    return 0;
}
