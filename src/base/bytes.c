/* bytes.c - see bytes.h */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/memory.h"

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.n == b.n && bytes_same(a.data, b.data, a.n);
}

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    if (order)
        return order;
    return a.n < b.n ? -1 : a.n > b.n;
}

bool text_equal(const char *a, const char *b)
{
    return a && b ? *a == *b && strcmp(a, b) == 0 : a == b; /* most differ in the first byte */
}

bool text_starts(const char *text, const char *prefix)
{
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    if (!text)
        return false;
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

bool text_bool(const char *text, bool *ret_value)
{
    static const char *const words[] = {"1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(text, words[i])) {
            *ret_value = i < 6;
            return true;
        }
    return false;
}

bool bytes_int64(struct bytes a, int64_t *ret_value)
{
    size_t i = 0;
    bool negative = a.n > 0 && a.data[0] == '-';
    if (a.n > 0 && (a.data[0] == '-' || a.data[0] == '+'))
        i = 1;
    if (i == a.n)
        return false;
    int64_t value = 0; /* kept negative: INT64_MIN has no positive twin */
    for (; i < a.n; i++) {
        unsigned digit = (unsigned char)a.data[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(value, (int64_t)10, &value) ||
            __builtin_sub_overflow(value, (int64_t)digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *ret_value = negative ? value : -value;
    return true;
}

void buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void buf_free(struct buf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    if (b->data)
        b->data[0] = '\0';
}

char *buf_grow(struct buf *b, size_t extra)
{
    size_t need;
    if (__builtin_add_overflow(b->n, extra, &need) || need == SIZE_MAX)
        need = SIZE_MAX - 1; /* mem_grow ends the program */
    need++;
    if (need > b->cap) {
        size_t cap = b->cap < 64 ? 64 : b->cap < 4096 ? b->cap * 2 : b->cap + b->cap / 2;
        b->cap = cap < need ? need : cap;
        b->data = mem_grow(b->data, b->cap, 1);
        b->data[b->n] = '\0';
    }
    return b->data + b->n;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
    char *at = buf_reserve(b, n);
    bytes_copy(at, data, n);
    b->n += n;
    b->data[b->n] = '\0';
}

void buf_text(struct buf *b, const char *text)
{
    if (text)
        buf_add(b, text, strlen(text));
}

void buf_bytes(struct buf *b, struct bytes view)
{
    buf_add(b, view.data, view.n);
}

void buf_int64(struct buf *b, int64_t value)
{
    char digits[24], *at = digits + sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + rest % 10);
    } while (rest /= 10);
    if (value < 0)
        *--at = '-';
    buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

/* ---- formats ---- */

struct output {
    char *to;
    size_t max, n; /* n counts what has no room too */
};

static void put(struct output *out, const char *text, size_t n)
{
    if (out->n < out->max)
        memcpy(out->to + out->n, text, n < out->max - out->n ? n : out->max - out->n);
    out->n += n;
}

static void put_number(struct output *out, unsigned long long value, bool negative)
{
    char digits[24], *at = digits + sizeof digits;
    do {
        *--at = (char)('0' + (int)(value % 10));
    } while (value /= 10);
    if (negative)
        *--at = '-';
    put(out, at, (size_t)(digits + sizeof digits - at));
}

static void put_signed(struct output *out, long long value)
{
    put_number(out, value < 0 ? 0 - (unsigned long long)value : (unsigned long long)value, value < 0);
}

static void put_string(struct output *out, const char *text, size_t max)
{
    text = text ? text : max < strlen("(null)") ? "" : "(null)"; /* as glibc */
    put(out, text, strnlen(text, max));
}

/* One conversion; `at` stands behind its '%'. Returns how long it is, 0 when it is none of ours. */
static size_t convert(struct output *out, const char *at, va_list *args)
{
    char c;
    int max;
    switch (at[0]) {
    case 's':
        put_string(out, va_arg(*args, const char *), SIZE_MAX);
        return 1;
    case 'c':
        c = (char)va_arg(*args, int);
        put(out, &c, 1);
        return 1;
    case 'd':
        put_signed(out, va_arg(*args, int));
        return 1;
    case 'u':
        put_number(out, va_arg(*args, unsigned), false);
        return 1;
    case '%':
        put(out, at, 1);
        return 1;
    case 'z':
        if (at[1] != 'u')
            return 0;
        put_number(out, va_arg(*args, size_t), false);
        return 2;
    case 'l':
        if (at[1] != 'l' || (at[2] != 'd' && at[2] != 'u'))
            return 0;
        if (at[2] == 'd')
            put_signed(out, va_arg(*args, long long));
        else
            put_number(out, va_arg(*args, unsigned long long), false);
        return 3;
    case '.':
        if (at[1] != '*' || at[2] != 's')
            return 0;
        max = va_arg(*args, int);
        put_string(out, va_arg(*args, const char *), max < 0 ? SIZE_MAX : (size_t)max);
        return 3;
    default:
        return 0;
    }
}

int text_vprintf(char *to, size_t max, const char *format, va_list args)
{
    struct output out = {to, max, 0};
    va_list mine;
    size_t taken = 1;
    va_copy(mine, args);
    for (const char *at = format; taken;) {
        const char *stop = strchrnul(at, '%');
        put(&out, at, (size_t)(stop - at));
        if (!*stop)
            break;
        taken = convert(&out, stop + 1, &mine);
        at = stop + 1 + taken;
    }
    va_end(mine);
    if (!taken)
        return vsnprintf(to, max, format, args);
    if (max)
        to[out.n < max ? out.n : max - 1] = '\0';
    assert(out.n <= INT32_MAX);
    return (int)out.n;
}

int text_printf(char *to, size_t max, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = text_vprintf(to, max, format, args);
    va_end(args);
    return n;
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    buf_vprintf(b, format, args);
    va_end(args);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t room = b->data ? b->cap - b->n : 0;
    int n = text_vprintf(b->data ? b->data + b->n : NULL, room, format, args);
    assert(n >= 0); /* a broken format is our bug */
    if ((size_t)n >= room)
        (void)text_vprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, format, again);
    va_end(again);
    b->n += (size_t)n;
}

char *buf_take(struct buf *b, size_t *ret_n)
{
    (void)buf_reserve(b, 0); /* an empty buffer too hands out a text */
    char *data = b->data;
    if (ret_n)
        *ret_n = b->n;
    *b = (struct buf){0};
    return data;
}

struct blob *blob_new(const void *data, size_t n)
{
    return blob_joined((struct bytes){data, n}, (struct bytes){0});
}

struct blob *blob_joined(struct bytes first, struct bytes second)
{
    size_t n = first.n + second.n;
    assert(first.n < UINT32_MAX && n < UINT32_MAX); /* LIMIT_BODY_BYTES is far below */
    struct blob *b = mem_alloc(sizeof *b + n + 1);
    *b = (struct blob){.refs = 1, .n = (uint32_t)n};
    if (first.n > 0)
        memcpy(b->data, first.data, first.n);
    if (second.n > 0)
        memcpy(b->data + first.n, second.data, second.n);
    b->data[n] = '\0';
    return b;
}

struct blob *blob_ref(struct blob *b)
{
    assert(b->refs > 0 && b->refs < UINT32_MAX);
    b->refs++;
    return b;
}

void blob_unref(struct blob *b)
{
    if (!b)
        return;
    assert(b->refs > 0);
    if (--b->refs == 0)
        free(b);
}

static const char base64_alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct buf *out, struct bytes in)
{
    char *to = buf_reserve(out, (in.n + 2) / 3 * 4);
    for (size_t i = 0; i < in.n; i += 3) {
        size_t have = in.n - i < 3 ? in.n - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < have ? (unsigned char)in.data[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            *to++ = k <= have ? base64_alphabet[bits >> (18 - 6 * k) & 63] : '=';
    }
    out->n = (size_t)(to - out->data);
    *to = '\0';
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool base64_decode_line(struct buf *out, struct bytes in)
{
    if (in.n % 4)
        return false;
    size_t before = out->n;
    char *to = buf_reserve(out, in.n / 4 * 3);
    for (size_t i = 0; i < in.n; i += 4) {
        bool last = i + 4 == in.n;
        size_t pad = last ? (size_t)(in.data[i + 3] == '=') + (in.data[i + 3] == '=' && in.data[i + 2] == '=') : 0;
        uint32_t bits = 0;
        for (size_t k = 0; k < 4; k++) {
            int digit = k < 4 - pad ? base64_digit(in.data[i + k]) : 0;
            if (digit < 0) {
                out->n = before;
                out->data[before] = '\0';
                return false;
            }
            bits = bits << 6 | (uint32_t)digit;
        }
        for (size_t k = 0; k < 3 - pad; k++)
            *to++ = (char)(bits >> (16 - 8 * k));
    }
    out->n = (size_t)(to - out->data);
    *to = '\0';
    return true;
}

bool base64_decode(struct buf *out, struct bytes in)
{
    _cleanup_buf_ struct buf line = {0};
    if (!in.n || (!memchr(in.data, '\n', in.n) && !memchr(in.data, '\r', in.n)))
        return base64_decode_line(out, in);
    for (size_t i = 0; i < in.n; i++)
        if (in.data[i] != '\n' && in.data[i] != '\r')
            buf_char(&line, in.data[i]);
    return base64_decode_line(out, buf_view(&line));
}

size_t utf8_length(const char *at, const char *end)
{
    static const struct {
        unsigned char first, last, least, most, length; /* of the first byte; of the second */
    } forms[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *s = (const unsigned char *)at;
    if (s[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last)
            continue;
        if ((size_t)(end - at) < forms[i].length || s[1] < forms[i].least || s[1] > forms[i].most)
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((s[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

bool utf8_is_plain(const char *at, size_t n)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t c = (unsigned char)at[0] & masks[n];
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)at[i] & 0x3f);
    return n && c >= ' ' && !(c >= 0x7f && c < 0xa0) && c != 0xad && c != 0x61c && !(c >= 0x200b && c <= 0x200f) &&
           !(c >= 0x2028 && c <= 0x202e) && !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff && c < 0xe0000;
}
