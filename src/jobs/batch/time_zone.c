/* time_zone.c - TZif files, and the rule at their end; see time_zone.h */
#include "jobs/batch/time_zone.h"
#include <ctype.h>
#include <stdlib.h>
#include "base/file.h"
#include "base/memory.h"

#define FOLDER "/usr/share/zoneinfo/"
enum { FILE_MAX = 1 << 20, HEADER = 44, DAY_S = 86400 };

struct change {
    int64_t at_s;
    int32_t offset;
};
/* "M3.5.0/2": in which week of a month on which weekday; or day of the year. */
struct date_rule {
    enum { RULE_WEEK, RULE_JULIAN, RULE_DAY } form; /* JULIAN: 1..365, February has 28 days; DAY: 0..365 */
    int month, week, day;
    int32_t time_s;
};
struct time_zone {
    struct change *changes;
    uint32_t changes_n;
    int32_t first;           /* before all changes */
    bool has_rule, has_summer;
    int32_t standard, summer;
    struct date_rule from, to;
};

/* ---- calendar ---- */

/* Days from 1970-01-01. */
static int64_t day_of(int64_t year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year, era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t year_of(int64_t utc_s)
{
    int64_t year = 1970 + utc_s / 31556952;
    while (day_of(year, 1, 1) * DAY_S > utc_s)
        year--;
    while (day_of(year + 1, 1, 1) * DAY_S <= utc_s)
        year++;
    return year;
}

/* Seconds of the wall at which the rule's change comes in that year. */
static int64_t rule_moment(const struct date_rule *r, int64_t year)
{
    int64_t first = day_of(year, 1, 1);
    bool leap = day_of(year + 1, 1, 1) - first == 366;
    if (r->form == RULE_DAY)
        return (first + r->day) * DAY_S + r->time_s;
    if (r->form == RULE_JULIAN)
        return (first + r->day - 1 + (leap && r->day >= 60)) * DAY_S + r->time_s;
    int64_t begin = day_of(year, r->month, 1), end = r->month == 12 ? day_of(year + 1, 1, 1) : day_of(year, r->month + 1, 1);
    int64_t weekday = ((begin + 4) % 7 + 7) % 7, at = begin + (r->day - weekday + 7) % 7 + (r->week - 1) * 7;
    while (at >= end)
        at -= 7;
    return at * DAY_S + r->time_s;
}

static int32_t offset_by_rule(const struct time_zone *z, int64_t utc_s)
{
    if (!z->has_summer)
        return z->standard;
    int64_t year = year_of(utc_s + z->standard);
    int64_t from = rule_moment(&z->from, year) - z->standard, to = rule_moment(&z->to, year) - z->summer;
    bool summer = from < to ? utc_s >= from && utc_s < to : utc_s >= from || utc_s < to;
    return summer ? z->summer : z->standard;
}

/* ---- the rule's text: "CET-1CEST,M3.5.0,M10.5.0/3" ---- */

static bool take_name(const char **at)
{
    const char *text = *at;
    if (*text == '<') {
        const char *end = strchr(text, '>');
        *at = end ? end + 1 : text;
        return end != NULL;
    }
    while (isalpha((unsigned char)**at))
        ++*at;
    return *at > text;
}

static bool take_number(const char **at, int low, int high, int *ret_n)
{
    int n = 0, digits = 0;
    for (; isdigit((unsigned char)**at) && digits < 4; digits++)
        n = n * 10 + (*(*at)++ - '0');
    *ret_n = n;
    return digits > 0 && n >= low && n <= high;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(const char **at, int32_t *ret_s)
{
    int part[3] = {0}, sign = **at == '-' ? -1 : 1;
    if (**at == '-' || **at == '+')
        ++*at;
    if (!take_number(at, 0, 167, &part[0]))
        return false;
    for (int i = 1; i < 3 && **at == ':'; i++) {
        ++*at;
        if (!take_number(at, 0, 59, &part[i]))
            return false;
    }
    *ret_s = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
    return true;
}

static bool take_rule(const char **at, struct date_rule *ret_rule)
{
    struct date_rule r = {.time_s = 7200};
    bool ok = *(*at)++ == ',';
    if (ok && **at == 'M') {
        ++*at;
        ok = take_number(at, 1, 12, &r.month) && *(*at)++ == '.' && take_number(at, 1, 5, &r.week) && *(*at)++ == '.' &&
             take_number(at, 0, 6, &r.day);
    } else if (ok) {
        r.form = **at == 'J' ? RULE_JULIAN : RULE_DAY;
        *at += **at == 'J';
        ok = take_number(at, r.form == RULE_JULIAN, 365, &r.day);
    }
    if (ok && **at == '/') {
        ++*at;
        ok = take_time(at, &r.time_s);
    }
    *ret_rule = r;
    return ok;
}

static bool parse_rule(struct time_zone *z, const char *text)
{
    int32_t west;
    if (!*text)
        return true;
    if (!take_name(&text) || !take_time(&text, &west))
        return false;
    z->has_rule = true;
    z->standard = -west;
    z->summer = z->standard + 3600;
    if (!*text)
        return true;
    z->has_summer = true;
    if (!take_name(&text))
        return false;
    if (*text && *text != ',') {
        if (!take_time(&text, &west))
            return false;
        z->summer = -west;
    }
    return take_rule(&text, &z->from) && take_rule(&text, &z->to) && !*text;
}

/* ---- the file ---- */

static int64_t big_endian(const char *at, int bytes_n)
{
    uint64_t n = (unsigned char)at[0] & 0x80 ? UINT64_MAX : 0;
    for (int i = 0; i < bytes_n; i++)
        n = n << 8 | (unsigned char)at[i];
    return (int64_t)n;
}

/* Offsets into a block: RFC 8536 3.2. */
struct block {
    uint64_t times_n, types_n, chars_n, leaps_n, standards_n, uts_n, size;
};

static bool read_header(struct bytes file, uint64_t from, int time_n, struct block *ret_block)
{
    if (file.n < from + HEADER || memcmp(file.data + from, "TZif", 4) != 0)
        return false;
    uint64_t n[6];
    for (int i = 0; i < 6; i++) {
        n[i] = (uint64_t)big_endian(file.data + from + 20 + 4 * i, 4);
        if (n[i] > FILE_MAX)
            return false;
    }
    struct block b = {.uts_n = n[0], .standards_n = n[1], .leaps_n = n[2], .times_n = n[3], .types_n = n[4], .chars_n = n[5]};
    b.size = b.times_n * ((uint64_t)time_n + 1) + b.types_n * 6 + b.chars_n + b.leaps_n * ((uint64_t)time_n + 4) + b.standards_n + b.uts_n;
    *ret_block = b;
    return file.n >= from + HEADER + b.size && b.types_n > 0;
}

static bool read_file(struct bytes file, struct time_zone *z)
{
    struct block old, b;
    if (!read_header(file, 0, 4, &old) || file.data[4] < '2' || !read_header(file, HEADER + old.size, 8, &b))
        return false;
    const char *times = file.data + HEADER + old.size + HEADER, *kinds = times + b.times_n * 8, *types = kinds + b.times_n;
    z->changes = mem_alloc((b.times_n + 1) * sizeof *z->changes);
    for (uint64_t i = 0; i < b.times_n; i++) {
        uint64_t kind = (unsigned char)kinds[i];
        if (kind >= b.types_n)
            return false;
        z->changes[z->changes_n++] = (struct change){big_endian(times + i * 8, 8), (int32_t)big_endian(types + kind * 6, 4)};
    }
    z->first = (int32_t)big_endian(types, 4);
    const char *rule = times + b.size, *end = file.data + file.n;
    if (rule >= end || *rule != '\n')
        return false;
    const char *line_end = memchr(rule + 1, '\n', (size_t)(end - rule - 1));
    char text[128];
    if (!line_end || line_end - rule > (ptrdiff_t)sizeof text)
        return false;
    text_printf(text, sizeof text, "%.*s", (int)(line_end - rule - 1), rule + 1);
    return parse_rule(z, text);
}

int time_zone_parse(struct bytes file, struct time_zone **ret_zone, struct err *e)
{
    struct time_zone *z = mem_zero(1, sizeof *z);
    if (!read_file(file, z)) {
        time_zone_free(z);
        return err_set(e, E_INVALID, "not a time zone file of version 2 or later");
    }
    *ret_zone = z;
    return 0;
}

/* Words of letters, digits, '_', '-', '+', with '/' between: nothing that leads out of the folder. */
static bool is_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > 100 || name[0] == '/' || name[n - 1] == '/' || strstr(name, "//"))
        return false;
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("/_-+", *c))
            return false;
    return true;
}

int time_zone_load(const char *name, struct time_zone **ret_zone, struct err *e)
{
    if (!*name || strcmp(name, "UTC") == 0) {
        *ret_zone = mem_zero(1, sizeof **ret_zone);
        return 0;
    }
    if (!is_name(name) || strcmp(name, "Local") == 0)
        return err_set(e, E_INVALID, "unknown time zone %s: write one such as Europe/Berlin", name);
    char path[160];
    _cleanup_buf_ struct buf file = {0};
    text_printf(path, sizeof path, FOLDER "%s", name);
    if (file_read(path, FILE_MAX, &file, NULL) < 0)
        return err_set(e, E_NOTFOUND, "unknown time zone %s: there is no file %s", name, path);
    int r = time_zone_parse(buf_view(&file), ret_zone, e);
    return r < 0 ? err_wrap(e, "%s", path) : 0;
}

void time_zone_free(struct time_zone *z)
{
    if (!z)
        return;
    free(z->changes);
    free(z);
}

/* ---- asking ---- */

int32_t time_zone_offset(const struct time_zone *z, int64_t utc_s)
{
    uint32_t low = 0, high = z->changes_n; /* changes before low are not after utc_s, those from high on are */
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (z->changes[middle].at_s <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == z->changes_n && z->has_rule)
        return offset_by_rule(z, utc_s);
    return low ? z->changes[low - 1].offset : z->first;
}
