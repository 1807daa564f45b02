/* yaml_scalar.c - see yaml_scalar.h
 *
 * SOURCE YAML 1.1 types (yaml.org/type) as go-yaml v2 reads them: dates and base 60 stay text, "010" is octal, "0o10"
 * too.
 */
#include <stdio.h>
#include <stdlib.h>
#include "wire/yaml_scalar.h"

#define NUMBER_TEXT_MAX 512 /* longer digit strings stay text */

static bool is_one_of(struct bytes text, const char *const *words)
{
    for (; *words; words++)
        if (bytes_is(text, *words))
            return true;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits of `base` up to the end of text, into a magnitude. False when there are others or it overflows. */
static bool parse_magnitude(const char *text, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned char)*text - '0', letter = ((unsigned char)*text | 0x20u) - 'a';
        if (digit > 9)
            digit = letter < 6 ? letter + 10 : 99;
        if (digit >= base || __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

static bool resolve_integer(const char *text, char *number, size_t size)
{
    bool negative = *text == '-';
    if (*text == '-' || *text == '+')
        text++;
    unsigned base = 10;
    if (text[0] == '0' && text[1]) {
        char mark = (char)(text[1] | 0x20);
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
        text += mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1;
    }
    uint64_t value;
    if (!parse_magnitude(text, base, &value) || (negative && value > (uint64_t)INT64_MAX + 1))
        return false;
    (void)snprintf(number, size, "%s%llu", negative && value ? "-" : "", (unsigned long long)value);
    return true;
}

/* [-+]? ( .digits | digits[.digits*] ) ( [eE][-+]?digits )? */
static bool looks_like_float(const char *text)
{
    if (*text == '-' || *text == '+')
        text++;
    const char *whole = text;
    while (is_digit(*text))
        text++;
    size_t digits = (size_t)(text - whole);
    if (*text == '.') {
        const char *fraction = ++text;
        while (is_digit(*text))
            text++;
        digits += (size_t)(text - fraction);
    }
    if (digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        if (*text == '-' || *text == '+')
            text++;
        if (!is_digit(*text))
            return false;
        while (is_digit(*text))
            text++;
    }
    return *text == '\0';
}

/* Shortest decimal that reads back the same; plain notation for 1e-6 <= |x| < 1e21 like Go's JSON encoder. */
static bool format_float(double value, char *number, size_t size)
{
    char e_text[40], digits[24];
    int precision = 0;
    do {
        (void)snprintf(e_text, sizeof e_text, "%.*e", precision, value);
    } while (strtod(e_text, NULL) != value && ++precision <= 17);
    const char *mark = strchr(e_text, 'e'), *at = e_text + (*e_text == '-');
    if (!mark)
        return false; /* inf, nan */
    int exponent = (int)strtol(mark + 1, NULL, 10), n = 0;
    for (; at < mark; at++)
        if (is_digit(*at))
            digits[n++] = *at;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    const char *sign = *e_text == '-' ? "-" : "";
    if (exponent >= 21 || exponent < -6)
        (void)snprintf(number, size, "%s%c%s%se%s%d", sign, digits[0], n > 1 ? "." : "", digits + 1,
                       exponent < 0 ? "" : "+", exponent);
    else if (exponent < 0)
        (void)snprintf(number, size, "%s0.%.*s%s", sign, -exponent - 1, "000000", digits);
    else if (n <= exponent + 1)
        (void)snprintf(number, size, "%s%s%.*s", sign, digits, exponent + 1 - n, "000000000000000000000");
    else
        (void)snprintf(number, size, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
    return true;
}

static struct yaml_scalar resolve_number(struct bytes text)
{
    struct yaml_scalar s = {.type = JSON_STRING};
    char plain[NUMBER_TEXT_MAX];
    size_t n = 0;
    if (text.n >= sizeof plain)
        return s;
    for (size_t i = 0; i < text.n; i++)
        if (text.data[i] == '\0')
            return s;
        else if (text.data[i] != '_')
            plain[n++] = text.data[i];
    plain[n] = '\0';
    if (resolve_integer(plain, s.number, sizeof s.number)) {
        s.type = JSON_NUMBER;
    } else if (looks_like_float(plain)) {
        s.type = JSON_NUMBER;
        s.not_finite = !format_float(strtod(plain, NULL), s.number, sizeof s.number);
    }
    return s;
}

struct yaml_scalar yaml_scalar_resolve(struct bytes text)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", NULL};
    static const char *const falses[] = {"n",     "N",     "no",  "No",  "NO",  "false",
                                         "False", "FALSE", "off", "Off", "OFF", NULL};
    static const char *const not_finite[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF", "+.inf",
                                             "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", NULL};
    char first = text.n ? text.data[0] : '~';
    if (is_digit(first) || first == '+' || first == '-' || first == '.') {
        if (is_one_of(text, not_finite))
            return (struct yaml_scalar){.type = JSON_NUMBER, .not_finite = true};
        return resolve_number(text);
    }
    if (text.n > 5)
        return (struct yaml_scalar){.type = JSON_STRING};
    if (is_one_of(text, nulls))
        return (struct yaml_scalar){.type = JSON_NULL};
    if (is_one_of(text, trues))
        return (struct yaml_scalar){.type = JSON_BOOL, .truth = true};
    if (is_one_of(text, falses))
        return (struct yaml_scalar){.type = JSON_BOOL};
    return (struct yaml_scalar){.type = JSON_STRING};
}

static size_t count_digits(struct bytes text, size_t from)
{
    size_t n = 0;
    while (from + n < text.n && is_digit(text.data[from + n]))
        n++;
    return n;
}

/* 2026-01-01, alone or with a time behind it */
static bool looks_like_date(struct bytes text)
{
    size_t at = count_digits(text, 0);
    for (int part = 0; part < 2; part++) {
        if ((part == 0 && at != 4) || at >= text.n || text.data[at] != '-')
            return false;
        size_t digits = count_digits(text, at + 1);
        if (digits < 1 || digits > 2)
            return false;
        at += 1 + digits;
    }
    return at == text.n || text.data[at] == 'T' || text.data[at] == 't' || text.data[at] == ' ';
}

/* 1:30, 12:30:45.5: base 60 */
static bool looks_like_base60(struct bytes text)
{
    size_t at = text.n > 0 && (text.data[0] == '-' || text.data[0] == '+');
    size_t colons = 0;
    if (count_digits(text, at) == 0)
        return false;
    for (; at < text.n; at++) {
        colons += text.data[at] == ':';
        if (!is_digit(text.data[at]) && !strchr(":._", text.data[at]))
            return false;
    }
    return colons > 0;
}

bool yaml_scalar_needs_quotes(struct bytes text)
{
    return yaml_scalar_resolve(text).type != JSON_STRING || looks_like_date(text) || looks_like_base60(text) ||
           bytes_is(text, "<<") || bytes_is(text, "=");
}
