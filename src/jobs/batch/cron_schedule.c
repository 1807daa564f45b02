/* cron_schedule.c - bits per field; the next time is found by stepping months, days, hours, minutes */
#include "jobs/batch/cron_schedule.h"
#include "jobs/batch/time_zone.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct",
                                    "nov", "dec", "sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/* A number or a name; names of months begin at 1, of weekdays at 0. */
static bool parse_value(const char **text, int first_name, int names_n, int base, int *ret_value)
{
    for (int i = 0; i < names_n; i++)
        if (strncasecmp(*text, names[first_name + i], 3) == 0) {
            *text += 3;
            *ret_value = base + i;
            return true;
        }
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    long value = strtol(*text, &end, 10);
    if (value > 1000)
        return false;
    *ret_value = (int)value;
    *text = end;
    return true;
}

static bool parse_field(const char *text, int low, int high, int first_name, int names_n, uint64_t *ret_bits,
                        bool *ret_any)
{
    uint64_t bits = 0;
    *ret_any = text[0] == '*' || text[0] == '?';
    do {
        int from = low, to = high, step = 1;
        if (*text == '*' || *text == '?') {
            text++;
        } else {
            if (!parse_value(&text, first_name, names_n, low, &from))
                return false;
            to = from;
            if (*text == '-') {
                text++;
                if (!parse_value(&text, first_name, names_n, low, &to))
                    return false;
            } else if (*text == '/') {
                to = high;
            }
        }
        if (*text == '/') {
            text++;
            if (!parse_value(&text, 0, 0, 0, &step) || step < 1)
                return false;
        }
        if (from < low || to > high || from > to)
            return false;
        for (int i = from; i <= to; i += step)
            bits |= 1ULL << i;
    } while (*text == ',' && text++);
    *ret_bits = bits;
    return *text == '\0';
}

bool cron_schedule_parse(const char *text, struct cron_schedule *ret_schedule)
{
    static const char *const macros[][2] = {
        {"@hourly", "0 * * * *"},  {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@weekly", "0 0 * * 0"},
        {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}};
    for (size_t i = 0; i < sizeof macros / sizeof *macros; i++)
        if (strcmp(text, macros[i][0]) == 0)
            text = macros[i][1];
    char copy[256], *fields[6], *save = NULL;
    if (strlen(text) >= sizeof copy)
        return false;
    memcpy(copy, text, strlen(text) + 1);
    int n = 0;
    for (char *f = strtok_r(copy, " \t", &save); f && n < 6; f = strtok_r(NULL, " \t", &save))
        fields[n++] = f;
    struct cron_schedule s;
    bool any;
    if (n != 5 || !parse_field(fields[0], 0, 59, 0, 0, &s.minutes, &any) ||
        !parse_field(fields[1], 0, 23, 0, 0, &s.hours, &any) ||
        !parse_field(fields[2], 1, 31, 0, 0, &s.days, &s.any_day) ||
        !parse_field(fields[3], 1, 12, 0, 12, &s.months, &any) ||
        !parse_field(fields[4], 0, 7, 12, 7, &s.weekdays, &s.any_weekday))
        return false;
    if (s.weekdays & (1 << 7))
        s.weekdays |= 1; /* 7 is Sunday too */
    *ret_schedule = s;
    return true;
}

static bool day_matches(const struct cron_schedule *s, const struct tm *t)
{
    bool day = s->days >> t->tm_mday & 1, weekday = s->weekdays >> t->tm_wday & 1;
    if (s->any_day || s->any_weekday)
        return day && weekday;
    return day || weekday;
}

static int32_t offset_at(const struct time_zone *zone, time_t at)
{
    return zone ? time_zone_offset(zone, at) : 0;
}

int64_t cron_schedule_next(const struct cron_schedule *s, const struct time_zone *zone, int64_t after_ms)
{
    time_t at = (time_t)(after_ms / 60000 + 1) * 60, end = at + 5 * 366 * 86400LL;
    while (at < end) {
        struct tm t;
        int32_t offset = offset_at(zone, at), step = 60;
        time_t shown = at + offset;
        gmtime_r(&shown, &t);
        bool day = (s->months >> (t.tm_mon + 1) & 1) && day_matches(s, &t), hour = s->hours >> t.tm_hour & 1;
        if (day && hour && (s->minutes >> t.tm_min & 1))
            return (int64_t)at * 1000;
        if (!day)
            step = 86400 - (t.tm_hour * 3600 + t.tm_min * 60);
        if ((day && !hour) || (!day && offset_at(zone, at + step) != offset)) /* a day with a change: hour by hour */
            step = 3600 - t.tm_min * 60;
        at += step;
    }
    return -1;
}
