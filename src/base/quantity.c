/* quantity.c - see quantity.h
 *
 * SOURCE apimachinery pkg/api/resource, quantity.go: what is accepted, where it rounds, when a format gives way to another.
 *        Stricter in one point: a text without any digit ("m", "+") is refused, there it is zero.
 */
#include <stdio.h>
#include "base/quantity.h"

#define NANO 1000000000
#define DIGITS_MAX 38     /* decimal digits that fit into 127 bits */
#define FRACTION_MAX 36   /* digits of a binary fraction that are looked at: 10^36 x 10 fits into 127 bits */
#define EXPONENT_MAX 1000 /* beyond it every value is zero or at the cap */

typedef unsigned __int128 u128;

static const u128 decimal_cap = (u128)1000000000000000000 * 1000000000 * NANO; /* 10^27 units; nobody has that much */
static const u128 binary_cap = (u128)INT64_MAX * NANO;

struct parts {
    struct bytes whole, fraction;
    bool negative;
    int base; /* 2 or 10 */
    int exponent;
    enum quantity_format format;
};

static struct bytes take_digits(struct bytes *text)
{
    struct bytes digits = {text->data, 0};
    while (digits.n < text->n && text->data[digits.n] >= '0' && text->data[digits.n] <= '9')
        digits.n++;
    text->data += digits.n;
    text->n -= digits.n;
    return digits;
}

static bool parse_suffix(struct bytes suffix, struct parts *p)
{
    static const char letters[] = "numkMGTPE";
    static const int powers[] = {-9, -6, -3, 3, 6, 9, 12, 15, 18};
    p->base = 10;
    p->format = QUANTITY_DECIMAL_SI;
    if (suffix.n == 0)
        return true;
    const char *letter = memchr(letters, suffix.data[0], sizeof letters - 1);
    if (suffix.n == 1 && letter) {
        p->exponent = powers[letter - letters];
        return true;
    }
    if (suffix.n == 2 && suffix.data[1] == 'i') {
        static const char binary[] = "KMGTPE";
        letter = memchr(binary, suffix.data[0], sizeof binary - 1);
        p->base = 2;
        p->format = QUANTITY_BINARY_SI;
        p->exponent = letter ? 10 * (int)(letter - binary + 1) : 0;
        return letter != NULL;
    }
    if (suffix.data[0] != 'e' && suffix.data[0] != 'E')
        return false;
    int64_t exponent;
    if (!bytes_int64((struct bytes){suffix.data + 1, suffix.n - 1}, &exponent))
        return false;
    p->format = QUANTITY_DECIMAL_EXPONENT;
    p->exponent = (int)(exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent);
    return true;
}

static bool parse_parts(struct bytes text, struct parts *p)
{
    *p = (struct parts){0};
    if (text.n > 0 && (text.data[0] == '-' || text.data[0] == '+')) {
        p->negative = text.data[0] == '-';
        text.data++;
        text.n--;
    }
    p->whole = take_digits(&text);
    if (text.n > 0 && *text.data == '.') {
        text.data++;
        text.n--;
        p->fraction = take_digits(&text);
    }
    return p->whole.n + p->fraction.n > 0 && parse_suffix(text, p);
}

/* Digits gathered into one number; those that do not fit are counted in `dropped`, and `inexact` says if one was not 0.
 */
struct gathered {
    u128 value;
    int64_t dropped;
    int used;
    bool inexact;
};

static void gather(struct gathered *g, struct bytes digits)
{
    for (size_t i = 0; i < digits.n; i++) {
        unsigned digit = (unsigned)(digits.data[i] - '0');
        if (g->used == DIGITS_MAX) {
            g->dropped++;
            g->inexact |= digit != 0;
            continue;
        }
        g->value = g->value * 10 + digit;
        g->used += g->value != 0;
    }
}

static u128 multiply_capped(u128 a, u128 b, u128 cap)
{
    u128 product;
    return __builtin_mul_overflow(a, b, &product) || product > cap ? cap : product;
}

/* Nearly every amount is a short whole number with a usual suffix: no rounding, nothing near the caps. */
static bool nano_of_short(const struct parts *p, u128 *ret_nano)
{
    static const uint64_t powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                      1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    int shift = p->exponent + 9;
    uint64_t value = 0;
    if (p->fraction.n || p->whole.n > 15)
        return false;
    for (size_t i = 0; i < p->whole.n; i++)
        value = value * 10 + (uint64_t)(p->whole.data[i] - '0');
    if (p->base == 2 ? value > (uint64_t)INT64_MAX >> p->exponent : shift < 0 || shift > 18)
        return false;
    *ret_nano = p->base == 2 ? (u128)(value << p->exponent) * NANO : (u128)value * powers[shift];
    return true;
}

static u128 nano_of_decimal(const struct parts *p)
{
    struct gathered g = {0};
    gather(&g, p->whole);
    gather(&g, p->fraction);
    if (g.value == 0)
        return 0;
    int64_t shift = p->exponent - (int64_t)p->fraction.n + g.dropped + 9;
    for (; shift > 0 && g.value < decimal_cap; shift--)
        g.value = multiply_capped(g.value, 10, decimal_cap);
    for (; shift < 0 && g.value > 0; shift++) {
        g.inexact |= g.value % 10 != 0;
        g.value /= 10;
    }
    u128 nano = g.value + g.inexact; /* less than a nano counts as a whole one */
    return nano > decimal_cap ? decimal_cap : nano;
}

static u128 nano_of_binary(const struct parts *p)
{
    struct gathered whole = {0}, part = {0};
    struct bytes digits = p->fraction;
    gather(&whole, p->whole);
    if (whole.dropped > 0)
        return binary_cap;
    if (digits.n > FRACTION_MAX) {
        digits.n = FRACTION_MAX;
        for (size_t i = FRACTION_MAX; i < p->fraction.n; i++)
            part.inexact |= p->fraction.data[i] != '0';
    }
    gather(&part, digits);
    u128 one = 1; /* the fraction is part.value / one */
    for (size_t i = 0; i < digits.n; i++)
        one *= 10;
    u128 units = multiply_capped(whole.value, (u128)1 << p->exponent, INT64_MAX), carried = 0;
    for (int i = 0; i < p->exponent; i++) {
        part.value *= 2;
        carried = carried * 2 + (part.value >= one);
        part.value %= one;
    }
    u128 nano = 0;
    for (int i = 0; i < 9; i++) {
        part.value *= 10;
        nano = nano * 10 + part.value / one;
        part.value %= one;
    }
    nano += (part.value != 0) | part.inexact;
    nano += (units + carried) * NANO;
    return nano > binary_cap ? binary_cap : nano;
}

int quantity_parse(struct bytes text, struct quantity *ret_q, struct err *e)
{
    struct parts p;
    if (!parse_parts(text, &p))
        return err_set(e, E_INVALID,
                       "\"%.*s\" is not a quantity: write digits, then at most one suffix of n u m k M G T P E, "
                       "Ki Mi Gi Ti Pi Ei or an exponent such as e3; for example 500m, 1.5 or 2Gi",
                       (int)(text.n < 64 ? text.n : 64), text.data ? text.data : "");
    u128 nano;
    if (!nano_of_short(&p, &nano))
        nano = p.base == 2 ? nano_of_binary(&p) : nano_of_decimal(&p);
    if (p.format == QUANTITY_BINARY_SI && nano > 0 && nano < NANO)
        p.format = QUANTITY_DECIMAL_SI;
    *ret_q = (struct quantity){p.negative ? -(__int128)nano : (__int128)nano, p.format};
    return 0;
}

static int64_t scaled(__int128 nano, int64_t unit)
{
    __int128 value = nano / unit, rest = nano % unit;
    value += (rest > 0) - (rest < 0);
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

int64_t quantity_whole(struct quantity q)
{
    return scaled(q.nano, NANO);
}

int64_t quantity_milli(struct quantity q)
{
    return scaled(q.nano, NANO / 1000);
}

int quantity_sign(struct quantity q)
{
    return (q.nano > 0) - (q.nano < 0);
}

int quantity_compare(struct quantity a, struct quantity b)
{
    return (a.nano > b.nano) - (a.nano < b.nano);
}

/* Print value and suffix into text. */
static void print(char *text, bool negative, u128 value, const char *suffix)
{
    char digits[QUANTITY_TEXT_MAX], *at = digits + sizeof digits, *const end = at;
    for (; value > UINT64_MAX; value /= 10) /* WHY apart: a division of 128 bits is a call */
        *--at = (char)('0' + (int)(value % 10));
    uint64_t rest = (uint64_t)value;
    do {
        *--at = (char)('0' + (int)(rest % 10));
    } while (rest /= 10);
    if (negative)
        *--at = '-';
    memcpy(text, at, (size_t)(end - at));
    memcpy(text + (end - at), suffix, strlen(suffix) + 1);
}

static void format_binary(char *text, bool negative, u128 units)
{
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    int times = 0;
    for (; times < 6 && units % 1024 == 0; times++)
        units /= 1024;
    print(text, negative, units, suffixes[times]);
}

static void format_decimal(char *text, bool negative, u128 value, enum quantity_format format)
{
    static const char *const suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    int exponent = -9;
    for (; value > UINT64_MAX && value % 1000 == 0; exponent += 3)
        value /= 1000;
    if (value <= UINT64_MAX) {
        uint64_t rest = (uint64_t)value;
        for (; rest % 1000 == 0; exponent += 3)
            rest /= 1000;
        value = rest;
    }
    char suffix[16] = "";
    if (format == QUANTITY_DECIMAL_SI && exponent <= 18)
        print(text, negative, value, suffixes[(exponent + 9) / 3]);
    else {
        if (exponent)
            (void)snprintf(suffix, sizeof suffix, "e%d", exponent);
        print(text, negative, value, suffix);
    }
}

char *quantity_format(char text[QUANTITY_TEXT_MAX], struct quantity q)
{
    bool negative = q.nano < 0;
    u128 nano = negative ? -(u128)q.nano : (u128)q.nano;
    if (nano == 0)
        return memcpy(text, "0", sizeof "0");
    if (q.format == QUANTITY_BINARY_SI && nano % NANO == 0 && nano >= (u128)1024 * NANO)
        format_binary(text, negative, nano / NANO);
    else /* a binary amount that is small or not whole loses nothing this way */
        format_decimal(text, negative, nano, q.format == QUANTITY_BINARY_SI ? QUANTITY_DECIMAL_SI : q.format);
    return text;
}

struct quantity quantity_of_whole(int64_t units, enum quantity_format format)
{
    return (struct quantity){(__int128)units * NANO, format};
}

struct quantity quantity_of_milli(int64_t milli)
{
    return (struct quantity){(__int128)milli * (NANO / 1000), QUANTITY_DECIMAL_SI};
}
