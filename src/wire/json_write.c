/* json_write.c - tree to text: compact JSON, JSON for people */
#include "wire/json.h"
#include "wire/json_text.h"

/* The rest of a string from the first character on that must be escaped, closing quote and what is behind it included.
 * WHY  apart: its own way of one string in thousands would make the way of all others longer. */
static __attribute__((noinline)) void write_escaped(struct buf *out, const char *at, const char *end, char behind)
{
    static const char hex[] = "0123456789abcdef", short_from[] = "\"\\\b\f\n\r\t", short_to[] = "\"\\bfnrt";
    while (at < end) {
        const char *stop = json_text_scan_raw(at, end);
        buf_add(out, at, (size_t)(stop - at));
        at = stop;
        if (at == end)
            break;
        unsigned char c = (unsigned char)*at++;
        const char *known = c ? memchr(short_from, c, sizeof short_from - 1) : NULL;
        char escape[6] = {'\\', known ? short_to[known - short_from] : 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        buf_add(out, escape, known ? 2 : 6);
    }
    buf_char(out, '"');
    if (behind)
        buf_char(out, behind);
}

/* Not 0: one of the eight bytes must be escaped, or is at least next to one. SOURCE "Bit Twiddling Hacks", bytes less than n and zero */
static inline uint64_t special_in(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7, quote = x ^ ones * '"', backslash = x ^ ones * '\\';
    return ((x - ones * ' ') | (quote - ones) | (backslash - ones)) & ~x & high;
}

/* Copy a text of up to 16 bytes. False: something in it may have to be escaped. */
static inline bool copy_short(char *to, const char *from, size_t n)
{
    uint64_t first = 0, last = 0;
    if (n >= 8) {
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
        return !(special_in(first) | special_in(last));
    }
    uint32_t half[2];
    if (n >= 4) {
        memcpy(&half[0], from, 4);
        memcpy(&half[1], from + n - 4, 4);
        memcpy(to, &half[0], 4);
        memcpy(to + n - 4, &half[1], 4);
        return !special_in((uint64_t)half[1] << 32 | half[0]);
    }
    first = UINT64_C(0x0101010101010101) * 'a';
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
        first = first << 8 | (unsigned char)from[i];
    }
    return !special_in(first);
}

/* The same of a longer one. */
static inline bool copy_long(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
#ifdef __SSE2__
    for (size_t i = 0; i + 16 <= n; i += 16)
        if (json_text_mask(from + i))
            return false;
    return !json_text_mask(from + n - 16);
#else
    return false;
#endif
}

/* text, quoted, and one more character behind it when `behind` is not 0. WHY looked through where it came from: a load from what was just
 * copied in two overlapping steps waits until both have arrived, longer than all the rest takes. */
static void write_string(struct buf *out, struct bytes text, char behind)
{
    char *to = buf_reserve(out, text.n + 3 + 16); /* 16: json_text_plain_n */
    *to++ = '"';
    bool is_plain = text.n > 16 ? copy_long(to, text.data, text.n) : copy_short(to, text.data, text.n);
    size_t plain_n = is_plain ? text.n : json_text_plain_n(to, text.n);
    if (plain_n < text.n) {
        out->n += plain_n + 1;
        write_escaped(out, text.data + plain_n, text.data + text.n, behind);
        return;
    }
    to += text.n;
    to[0] = '"';
    to[1] = behind;
    to[2] = '\0';
    out->n += text.n + 2 + (behind != 0);
}

void json_write_string(struct buf *out, struct bytes text)
{
    write_string(out, text, 0);
}

void json_write_member(struct buf *out, const char *key, const char *value, char before)
{
    buf_char(out, before);
    json_write_string(out, bytes_of(key));
    buf_char(out, ':');
    json_write_string(out, bytes_of(value));
}

static void write_scalar(struct buf *out, const struct json *v)
{
    if (json_is(v, JSON_STRING))
        write_string(out, (struct bytes){v->text, v->n}, 0);
    else if (json_is(v, JSON_NUMBER))
        buf_add(out, v->text, v->n);
    else if (json_is(v, JSON_BOOL))
        buf_text(out, v->truth ? "true" : "false");
    else
        buf_add(out, "null", 4);
}

void json_write(struct buf *out, const struct json *v)
{
    if (!v || v->type < JSON_ARRAY) {
        write_scalar(out, v);
        return;
    }
    bool is_object = v->type == JSON_OBJECT;
    buf_char(out, is_object ? '{' : '[');
    for (const struct json *child = v->first; child; child = child->next) {
        if (is_object)
            write_string(out, (struct bytes){child->key, child->key_n}, ':');
        if (child->type == JSON_STRING)
            write_string(out, (struct bytes){child->text, child->n}, child->next ? ',' : 0);
        else
            json_write(out, child);
        if (child->type != JSON_STRING && child->next)
            buf_char(out, ',');
    }
    buf_char(out, is_object ? '}' : ']');
}

static void new_line(struct buf *out, size_t indent)
{
    char *at = buf_reserve(out, indent + 1);
    at[0] = '\n';
    memset(at + 1, ' ', indent);
    at[indent + 1] = '\0';
    out->n += indent + 1;
}

static void write_pretty(struct buf *out, const struct json *v, size_t indent)
{
    bool is_object = v->type == JSON_OBJECT;
    if (v->type < JSON_ARRAY || !v->first) {
        if (v->type < JSON_ARRAY)
            write_scalar(out, v);
        else
            buf_text(out, is_object ? "{}" : "[]");
        return;
    }
    buf_char(out, is_object ? '{' : '[');
    for (const struct json *child = v->first; child; child = child->next) {
        new_line(out, indent + 2);
        if (is_object) {
            json_write_string(out, (struct bytes){child->key, child->key_n});
            buf_text(out, ": ");
        }
        write_pretty(out, child, indent + 2);
        if (child->next)
            buf_char(out, ',');
    }
    new_line(out, indent);
    buf_char(out, is_object ? '}' : ']');
}

void json_write_pretty(struct buf *out, const struct json *v)
{
    write_pretty(out, v, 0);
}
