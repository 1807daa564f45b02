/* clock.c - see clock.h */
#include <inttypes.h>
#include <stdio.h>
#include "base/clock.h"

#define DAY_S 86400
#define YEAR_1_S INT64_C(-62135596800)     /* 0001-01-01T00:00:00Z */
#define YEAR_10000_S INT64_C(253402300800) /* 10000-01-01T00:00:00Z */

static int64_t clock_read_us(clockid_t id)
{
    struct timespec now;
    (void)clock_gettime(id, &now); /* these two clocks exist on every Linux */
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

int64_t clock_monotonic_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

static int64_t clock_read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_ns(void)
{
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_monotonic_after(int64_t ms)
{
    int64_t us = clock_monotonic_us() + ms * 1000;
    return (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_before_year(int64_t year) /* since 0001-01-01, year >= 1 */
{
    int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400;
}

static const int16_t days_before_month[2][13] = {
    {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
    {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366},
};

/* "2026-01-01T00:00:00", 19 bytes and a NUL. Times outside years 1..9999 are moved to the nearest one inside. */
static void format_seconds(char *text, int64_t wall_s)
{
    if (wall_s < YEAR_1_S)
        wall_s = YEAR_1_S;
    if (wall_s >= YEAR_10000_S)
        wall_s = YEAR_10000_S - 1;
    int64_t since = wall_s - YEAR_1_S, day = since / DAY_S, second = since % DAY_S;
    int64_t year = day * 400 / 146097 + 1; /* 146097 days in 400 years: at most one off */
    while (days_before_year(year) > day)
        year--;
    while (days_before_year(year + 1) <= day)
        year++;
    const int16_t *before = days_before_month[is_leap(year)];
    int64_t in_year = day - days_before_year(year);
    int month = 0;
    while (before[month + 1] <= in_year)
        month++;
    int fields[6] = {
        (int)year,         month + 1, (int)(in_year - before[month]) + 1, (int)(second / 3600), (int)(second / 60 % 60),
        (int)(second % 60)};
    for (int i = 3; i >= 0; i--, fields[0] /= 10)
        text[i] = (char)('0' + fields[0] % 10);
    for (int f = 1; f < 6; f++) {
        char *at = text + 1 + 3 * f;
        at[0] = "\0--T::"[f];
        at[1] = (char)('0' + fields[f] / 10);
        at[2] = (char)('0' + fields[f] % 10);
    }
    text[19] = '\0';
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* WHY the last one is kept: most are now, twenty times for one object that is made and told of. */
char *time_format(char text[TIME_TEXT_MAX], int64_t wall_ms)
{
    static _Thread_local char last[TIME_TEXT_MAX];
    static _Thread_local int64_t last_s;
    int64_t wall_s = floor_div(wall_ms, 1000);
    if (!*last || wall_s != last_s) {
        format_seconds(last, wall_s);
        memcpy(last + 19, "Z", 2);
        last_s = wall_s;
    }
    return memcpy(text, last, 21);
}

char *time_format_micro(char text[TIME_TEXT_MAX], int64_t wall_us)
{
    int64_t seconds = floor_div(wall_us, 1000000);
    format_seconds(text, seconds);
    (void)snprintf(text + 19, TIME_TEXT_MAX - 19, ".%06dZ", (int)(wall_us - seconds * 1000000));
    return text;
}

/* `n` digits at *at, within low..high. */
static bool take_digits(struct bytes *text, int n, int low, int high, int *ret_value)
{
    int value = 0;
    if (text->n < (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        unsigned digit = (unsigned char)text->data[i] - '0';
        if (digit > 9)
            return false;
        value = value * 10 + (int)digit;
    }
    text->data += n;
    text->n -= (size_t)n;
    *ret_value = value;
    return value >= low && value <= high;
}

static bool take_char(struct bytes *text, char c)
{
    if (text->n == 0 || *text->data != c)
        return false;
    text->data++;
    text->n--;
    return true;
}

/* ".123456" or nothing; digits after the third are dropped. */
static bool take_fraction_ms(struct bytes *text, int *ret_ms)
{
    *ret_ms = 0;
    if (!take_char(text, '.'))
        return true;
    int digits = 0;
    for (; text->n > 0 && *text->data >= '0' && *text->data <= '9'; digits++, text->data++, text->n--)
        if (digits < 3)
            *ret_ms = *ret_ms * 10 + (*text->data - '0');
    for (int i = digits; i < 3; i++)
        *ret_ms *= 10;
    return digits > 0;
}

static bool take_offset_s(struct bytes *text, int *ret_s)
{
    *ret_s = 0;
    if (take_char(text, 'Z'))
        return text->n == 0;
    int sign = text->n > 0 && *text->data == '-' ? -1 : 1, hours, minutes;
    if (!take_char(text, '+') && !take_char(text, '-'))
        return false;
    if (!take_digits(text, 2, 0, 23, &hours) || !take_char(text, ':') || !take_digits(text, 2, 0, 59, &minutes))
        return false;
    *ret_s = sign * (hours * 3600 + minutes * 60);
    return text->n == 0;
}

bool time_parse(struct bytes text, int64_t *ret_wall_ms)
{
    int year, month, day, hour, minute, second, ms, offset_s;
    if (!take_digits(&text, 4, 1, 9999, &year) || !take_char(&text, '-') || !take_digits(&text, 2, 1, 12, &month) ||
        !take_char(&text, '-') || !take_digits(&text, 2, 1, 31, &day) || !take_char(&text, 'T'))
        return false;
    const int16_t *before = days_before_month[is_leap(year)];
    if (day > before[month] - before[month - 1])
        return false;
    if (!take_digits(&text, 2, 0, 23, &hour) || !take_char(&text, ':') || !take_digits(&text, 2, 0, 59, &minute) ||
        !take_char(&text, ':') || !take_digits(&text, 2, 0, 59, &second) || !take_fraction_ms(&text, &ms) ||
        !take_offset_s(&text, &offset_s))
        return false;
    int64_t days = days_before_year(year) + before[month - 1] + day - 1;
    int64_t seconds = YEAR_1_S + days * DAY_S + hour * 3600 + minute * 60 + second - offset_s;
    if (seconds < YEAR_1_S || seconds >= YEAR_10000_S)
        return false;
    *ret_wall_ms = seconds * 1000 + ms;
    return true;
}

/* "5h2m", or "5h" when the second part is zero. */
static char *age_pair(char *text, int64_t first, char first_unit, int64_t second, char second_unit)
{
    if (second)
        (void)snprintf(text, TIME_TEXT_MAX, "%" PRId64 "%c%" PRId64 "%c", first, first_unit, second, second_unit);
    else
        (void)snprintf(text, TIME_TEXT_MAX, "%" PRId64 "%c", first, first_unit);
    return text;
}

/* SOURCE apimachinery pkg/util/duration, HumanDuration: where each unit begins and ends. */
char *time_age(char text[TIME_TEXT_MAX], int64_t age_ms)
{
    int64_t seconds = age_ms < 0 ? 0 : age_ms / 1000, minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
    if (seconds < 120)
        return age_pair(text, seconds, 's', 0, 0);
    if (minutes < 10)
        return age_pair(text, minutes, 'm', seconds % 60, 's');
    if (minutes < 180)
        return age_pair(text, minutes, 'm', 0, 0);
    if (hours < 8)
        return age_pair(text, hours, 'h', minutes % 60, 'm');
    if (hours < 48)
        return age_pair(text, hours, 'h', 0, 0);
    if (days < 8)
        return age_pair(text, days, 'd', hours % 24, 'h');
    if (days < 730)
        return age_pair(text, days, 'd', 0, 0);
    return age_pair(text, days / 365, 'y', days < 365 * 8 ? days % 365 : 0, 'd');
}

/* Nanoseconds in the unit at the start of text, which is taken off; 0 when there is none. */
static int64_t take_unit_ns(struct bytes *text)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {/* ORDER "ms" before "m" */
                 {"ns", 1},       {"us", 1000},      {"\xc2\xb5s", 1000},         {"\xce\xbcs", 1000},
                 {"ms", 1000000}, {"s", 1000000000}, {"m", INT64_C(60000000000)}, {"h", INT64_C(3600000000000)}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].name);
        if (!bytes_starts(*text, units[i].name))
            continue;
        text->data += n;
        text->n -= n;
        return units[i].ns;
    }
    return 0;
}

/* "1.5h": one number and its unit, added to *total_ns. */
static bool take_duration_part(struct bytes *text, int64_t *total_ns)
{
    int64_t whole = 0, fraction = 0, scale = 1;
    int digits = 0;
    for (; text->n > 0 && *text->data >= '0' && *text->data <= '9'; text->data++, text->n--, digits++)
        if (__builtin_mul_overflow(whole, 10, &whole) || __builtin_add_overflow(whole, *text->data - '0', &whole))
            return false;
    if (take_char(text, '.'))
        for (; text->n > 0 && *text->data >= '0' && *text->data <= '9'; text->data++, text->n--, digits++)
            if (scale < INT64_C(1000000000)) {
                fraction = fraction * 10 + (*text->data - '0');
                scale *= 10;
            }
    int64_t unit_ns = digits ? take_unit_ns(text) : 0;
    if (!unit_ns || __builtin_mul_overflow(whole, unit_ns, &whole))
        return false;
    int64_t part_ns = (int64_t)((__int128)fraction * unit_ns / scale);
    return !__builtin_add_overflow(*total_ns, whole, total_ns) && !__builtin_add_overflow(*total_ns, part_ns, total_ns);
}

bool duration_parse(struct bytes text, int64_t *ret_ms)
{
    int sign = take_char(&text, '-') ? -1 : 1;
    if (sign > 0)
        (void)take_char(&text, '+');
    int64_t total_ns = 0;
    if (text.n == 0)
        return false;
    if (!bytes_is(text, "0"))
        while (text.n > 0)
            if (!take_duration_part(&text, &total_ns))
                return false;
    *ret_ms = sign * (total_ns / 1000000);
    return true;
}
