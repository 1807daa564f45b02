/* json_reader.c - the pull reader; see json_reader.h. The splitter is in json_splitter.c. */
#include "base/limits.h"
#include "wire/json_reader.h"
#include "wire/json_scan.h"
#include "wire/json_text.h"

static bool fail(struct json_reader *r)
{
    r->failed = true;
    r->at = r->end;
    return false;
}

/* The next byte that is no white space, not taken; '\0' at the end. */
static char next_char(struct json_reader *r)
{
    while (r->at < r->end && json_text_is_space(*r->at))
        r->at++;
    return r->at < r->end ? *r->at : '\0';
}

void json_reader_init(struct json_reader *r, struct bytes text)
{
    if (!text.data)
        text = (struct bytes){"", 0};
    *r = (struct json_reader){.at = text.data, .start = text.data, .end = text.data + text.n};
}

enum json_type json_reader_peek(struct json_reader *r)
{
    switch (next_char(r)) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
    case 'f':
        return JSON_BOOL;
    case '-':
    case '0' ... '9':
        return JSON_NUMBER;
    case 'n':
        return JSON_NULL;
    default:
        (void)fail(r);
        return JSON_NULL;
    }
}

static uint64_t level_bit(const struct json_reader *r)
{
    return UINT64_C(1) << (r->depth & 63);
}

static bool enter(struct json_reader *r, char open)
{
    if (next_char(r) != open) {
        json_reader_skip(r);
        return false;
    }
    if (r->depth == LIMIT_JSON_DEPTH)
        return fail(r);
    r->at++;
    r->depth++;
    r->first |= level_bit(r);
    return true;
}

/* Stand before the next member or item: true. Behind the closing bracket: false. */
static bool advance(struct json_reader *r, char close)
{
    char c = next_char(r);
    bool first = r->first & level_bit(r);
    if (r->failed || r->depth == 0)
        return fail(r);
    r->first &= ~level_bit(r);
    if (c == close) {
        r->at++;
        r->depth--;
        return false;
    }
    if (first)
        return true;
    if (c != ',')
        return fail(r);
    r->at++;
    return next_char(r) != close || fail(r);
}

/* From behind the opening quote to the closing one, checked; escapes are left as they are. */
static bool take_raw(struct json_reader *r, struct bytes *ret_raw, bool *ret_has_escapes)
{
    const char *start = r->at, *at = start;
    *ret_has_escapes = false;
    while ((at = json_text_scan(at, r->end)) < r->end && *at != '"') {
        char decoded[4];
        const char *problem;
        size_t n = 0, wrote;
        if (*at == '\\') {
            *ret_has_escapes = true;
            n = json_text_escape(at, r->end, decoded, &wrote, &problem);
        } else if ((signed char)*at < 0) {
            n = utf8_length(at, r->end);
        }
        if (n == 0)
            return fail(r);
        at += n;
    }
    if (at == r->end)
        return fail(r);
    *ret_raw = (struct bytes){start, (size_t)(at - start)};
    r->at = at + 1;
    return true;
}

bool json_reader_object(struct json_reader *r)
{
    return enter(r, '{');
}

/* A key as most are: no space around it, short, nothing to check. False: nothing was taken. */
static inline bool take_plain_key(struct json_reader *r, struct bytes *ret_key)
{
#ifdef __SSE2__
    bool first = r->first & level_bit(r);
    const char *at = r->at + !first; /* behind the comma */
    if (r->end - at < 18 || *at != '"' || (!first && *r->at != ',') || r->depth == 0)
        return false;
    unsigned mask = json_text_mask_ascii(at + 1);
    const char *stop = at + 1 + __builtin_ctz(mask | 0x10000);
    if (!mask || stop[0] != '"' || stop[1] != ':')
        return false;
    *ret_key = (struct bytes){at + 1, (size_t)(stop - at - 1)};
    r->first &= ~level_bit(r);
    r->at = stop + 2;
    return true;
#else
    return false;
#endif
}

bool json_reader_key(struct json_reader *r, struct bytes *ret_key)
{
    bool has_escapes;
    if (take_plain_key(r, ret_key))
        return true;
    if (!advance(r, '}'))
        return false;
    if (next_char(r) != '"')
        return fail(r);
    const char *start = r->at + 1, *stop = json_text_scan(start, r->end);
    if (r->end - stop > 1 && stop[0] == '"' && stop[1] == ':') { /* nothing to check, as mostly */
        *ret_key = (struct bytes){start, (size_t)(stop - start)};
        r->at = stop + 2;
        return true;
    }
    r->at++;
    if (!take_raw(r, ret_key, &has_escapes))
        return false;
    if (next_char(r) != ':')
        return fail(r);
    r->at++;
    return true;
}

bool json_reader_array(struct json_reader *r)
{
    return enter(r, '[');
}

bool json_reader_item(struct json_reader *r)
{
    return advance(r, ']');
}

static void decode(struct bytes raw, struct buf *scratch)
{
    const char *at = raw.data, *end = at + raw.n;
    buf_clear(scratch);
    char *to = buf_reserve(scratch, raw.n); /* an escape is never shorter than what it stands for */
    while (at < end) {
        const char *stop = json_text_scan_raw(at, end), *problem;
        size_t wrote = 0;
        memcpy(to, at, (size_t)(stop - at));
        to += stop - at;
        at = stop;
        if (at == end)
            break;
        char decoded[4];
        at += json_text_escape(at, end, decoded, &wrote, &problem); /* checked by take_raw: never 0 */
        memcpy(to, decoded, wrote);
        to += wrote;
    }
    *to = '\0';
    scratch->n = (size_t)(to - scratch->data);
}

bool json_reader_string(struct json_reader *r, struct buf *scratch, struct bytes *ret_text)
{
    struct bytes raw;
    bool has_escapes;
    if (next_char(r) != '"') {
        json_reader_skip(r);
        return false;
    }
    r->at++;
    if (!take_raw(r, &raw, &has_escapes))
        return false;
    if (has_escapes) {
        decode(raw, scratch);
        raw = buf_view(scratch);
    }
    *ret_text = raw;
    return true;
}

static bool is_delimiter(char c)
{
    return json_text_is_space(c) || c == ',' || c == ']' || c == '}' || c == ':' || c == '"' || c == '[' || c == '{';
}

bool json_reader_number(struct json_reader *r, struct bytes *ret_literal)
{
    char c = next_char(r);
    if (c != '-' && (c < '0' || c > '9')) {
        json_reader_skip(r);
        return false;
    }
    size_t n = json_text_number(r->at, r->end);
    if (n == 0 || (r->at + n < r->end && !is_delimiter(r->at[n])))
        return fail(r);
    *ret_literal = (struct bytes){r->at, n};
    r->at += n;
    return true;
}

bool json_reader_int64(struct json_reader *r, int64_t *ret_value)
{
    struct bytes literal;
    return json_reader_number(r, &literal) && bytes_int64(literal, ret_value);
}

/* A bare word or number up to its delimiter; "" when there is none. */
static struct bytes take_bare(struct json_reader *r)
{
    const char *start = r->at;
    while (r->at < r->end && !is_delimiter(*r->at))
        r->at++;
    return (struct bytes){start, (size_t)(r->at - start)};
}

bool json_reader_bool(struct json_reader *r, bool *ret_value)
{
    char c = next_char(r);
    if (c != 't' && c != 'f') {
        json_reader_skip(r);
        return false;
    }
    struct bytes word = take_bare(r);
    if (!bytes_is(word, c == 't' ? "true" : "false"))
        return fail(r);
    *ret_value = c == 't';
    return true;
}

static void skip_string(struct json_reader *r)
{
    const char *at = r->at + 1;
    while ((at = json_text_scan_raw(at, r->end)) < r->end && *at != '"')
        at += *at == '\\' && r->end - at > 1 ? 2 : 1;
    if (at < r->end)
        r->at = at + 1;
    else
        (void)fail(r);
}

void json_reader_skip(struct json_reader *r)
{
    char c = next_char(r);
    if (c == '"') {
        skip_string(r);
    } else if (c == '{' || c == '[') {
        struct json_scan scan = {.depth = 1};
        const char *behind = json_scan_close(&scan, r->at + 1, r->end);
        if (behind)
            r->at = behind;
        else
            (void)fail(r);
    } else if (take_bare(r).n == 0) {
        (void)fail(r);
    }
}

struct bytes json_reader_raw(struct json_reader *r)
{
    (void)next_char(r);
    const char *start = r->at;
    json_reader_skip(r);
    return r->failed ? (struct bytes){"", 0} : (struct bytes){start, (size_t)(r->at - start)};
}

bool json_reader_member_n(struct json_reader *r, struct bytes name)
{
    struct bytes key;
    if (!json_reader_object(r))
        return false;
    while (json_reader_key(r, &key)) {
        if (bytes_equal(key, name))
            return true;
        json_reader_skip(r);
    }
    return false;
}
