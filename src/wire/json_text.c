/* json_text.c - see json_text.h */
#include "wire/json_text.h"

const char *json_text_scan_on(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned mask = json_text_mask_ascii(at);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && (signed char)*at >= ' ' && *at != '"' && *at != '\\')
        at++;
    return at;
}

const char *json_text_scan_raw(const char *at, const char *end)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned mask = json_text_mask(at);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (at < end && (unsigned char)*at >= ' ' && *at != '"' && *at != '\\')
        at++;
    return at;
}

static size_t utf8_put(char to[4], uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[n] | c);
    return n;
}

static bool hex4(const char *at, const char *end, uint32_t *ret_value)
{
    if (end - at < 4)
        return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned digit = (unsigned char)at[i] - '0', letter = ((unsigned char)at[i] | 0x20u) - 'a';
        if (digit > 9 && letter > 5)
            return false;
        value = value << 4 | (digit <= 9 ? digit : letter + 10);
    }
    *ret_value = value;
    return true;
}

static size_t unicode_escape(const char *at, const char *end, char to[4], size_t *ret_n, const char **ret_problem)
{
    uint32_t c, low;
    size_t used = 6;
    if (!hex4(at + 2, end, &c)) {
        *ret_problem = "\\u needs four hexadecimal digits";
        return 0;
    }
    if (c >= 0xd800 && c < 0xe000) {
        bool pair = c < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' && hex4(at + 8, end, &low) &&
                    low >= 0xdc00 && low < 0xe000;
        if (!pair) {
            *ret_problem = "a surrogate \\uD800..\\uDFFF stands alone; it needs its other half";
            return 0;
        }
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        used = 12;
    }
    if (c == 0) {
        *ret_problem = "\\u0000 (NUL) is not allowed in strings; remove it or encode the value, for example as base64";
        return 0;
    }
    *ret_n = utf8_put(to, c);
    return used;
}

size_t json_text_escape(const char *at, const char *end, char to[4], size_t *ret_n, const char **ret_problem)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (end - at < 2) {
        *ret_problem = "the string does not end";
        return 0;
    }
    if (at[1] == 'u')
        return unicode_escape(at, end, to, ret_n, ret_problem);
    const char *found = at[1] ? memchr(from, at[1], sizeof from - 1) : NULL;
    if (!found) {
        *ret_problem = "unknown escape; allowed are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX";
        return 0;
    }
    to[0] = into[found - from];
    *ret_n = 1;
    return 2;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

size_t json_text_number(const char *at, const char *end)
{
    const char *p = at;
    if (p < end && *p == '-')
        p++;
    const char *digits = p;
    p = skip_digits(p, end);
    if (p == digits || (*digits == '0' && p - digits > 1))
        return 0;
    if (p < end && *p == '.') {
        digits = ++p;
        if ((p = skip_digits(p, end)) == digits)
            return 0;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        digits = p;
        if ((p = skip_digits(p, end)) == digits)
            return 0;
    }
    return (size_t)(p - at);
}
