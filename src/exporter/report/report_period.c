/* report_period.c - see report_period.h */
#include "exporter/report/report_period.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/bytes.h"

#define DAY_S 86400.0
#define WEEK_S (7 * DAY_S)
#define MONDAY_S (4 * DAY_S) /* 5 January 1970: the first Monday since 1970 */

/* The first of the month, `more` months on. */
static double month_begin(double at_s, int more)
{
    time_t t = (time_t)floor(at_s);
    struct tm tm;
    if (!gmtime_r(&t, &tm))
        return at_s; /* a year that has no name */
    return (double)timegm(&(struct tm){.tm_year = tm.tm_year, .tm_mon = tm.tm_mon + more, .tm_mday = 1});
}

static double begin_of(enum report_step step, double at_s)
{
    switch (step) {
    case REPORT_STEP_DAY:
        return floor(at_s / DAY_S) * DAY_S;
    case REPORT_STEP_WEEK:
        return floor((at_s - MONDAY_S) / WEEK_S) * WEEK_S + MONDAY_S;
    case REPORT_STEP_MONTH:
        return month_begin(at_s, 0);
    case REPORT_STEP_NONE:
        break;
    }
    return at_s;
}

/* Of one that begins at begin_s. */
static double end_of(enum report_step step, double begin_s)
{
    return step == REPORT_STEP_MONTH ? month_begin(begin_s, 1) : begin_s + (step == REPORT_STEP_WEEK ? WEEK_S : DAY_S);
}

static void name_of(enum report_step step, double begin_s, char name[24])
{
    static const char *const formats[] = {"", "%Y-%m-%d", "%G-W%V", "%Y-%m"};
    time_t t = (time_t)begin_s;
    struct tm tm;
    if (!gmtime_r(&t, &tm) || strftime(name, 24, formats[step], &tm) == 0)
        (void)snprintf(name, 24, "%.0f", begin_s);
}

uint32_t report_periods(struct arena *a, enum report_step step, double since_s, double until_s, struct report_period **ret_periods)
{
    struct report_period *all = arena_zero(a, LIMIT_REPORT_PERIODS, sizeof *all);
    uint32_t n = 0;
    for (double begin_s = begin_of(step, since_s), end_s; step != REPORT_STEP_NONE && begin_s < until_s; begin_s = end_s) {
        if (n == LIMIT_REPORT_PERIODS)
            return 0;
        end_s = end_of(step, begin_s);
        struct report_period *p = &all[n++];
        p->since_s = begin_s < since_s ? since_s : begin_s;
        p->until_s = end_s > until_s ? until_s : end_s;
        p->whole = begin_s >= since_s && end_s <= until_s;
        name_of(step, begin_s, p->name);
    }
    *ret_periods = all;
    return n;
}

static bool two_digits(const char *text, int least, int most, int *ret)
{
    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9' || text[2])
        return false;
    *ret = (text[0] - '0') * 10 + text[1] - '0';
    return *ret >= least && *ret <= most;
}

/* "2026-10", "2026-W48"; the week with the year's first Thursday is its first. */
static bool named(const char *text, enum report_step *ret_step, double *ret_begin_s)
{
    int year = 0, n, which;
    for (n = 0; n < 4 && text[n] >= '0' && text[n] <= '9'; n++)
        year = year * 10 + text[n] - '0';
    if (n != 4 || text[4] != '-' || year < 1970)
        return false;
    *ret_step = text[5] == 'W' ? REPORT_STEP_WEEK : REPORT_STEP_MONTH;
    if (!two_digits(text + 5 + (*ret_step == REPORT_STEP_WEEK), 1, *ret_step == REPORT_STEP_WEEK ? 53 : 12, &which))
        return false;
    struct tm tm = {.tm_year = year - 1900, .tm_mon = *ret_step == REPORT_STEP_WEEK ? 0 : which - 1, .tm_mday = 1};
    *ret_begin_s = (double)timegm(&tm);
    if (*ret_step == REPORT_STEP_MONTH)
        return true;
    char name[24];
    *ret_begin_s = begin_of(REPORT_STEP_WEEK, *ret_begin_s + 3 * DAY_S) + (which - 1) * WEEK_S;
    name_of(REPORT_STEP_WEEK, *ret_begin_s, name);
    return text_equal(name, text); /* a year of 52 weeks has no 53rd */
}

bool report_period_parse(const char *text, double now_s, struct report_period *ret_period, enum report_step *ret_step)
{
    static const struct {
        const char *word;
        enum report_step step;
        bool is_last;
    } words[] = {{"this-week", REPORT_STEP_WEEK, false},
                 {"last-week", REPORT_STEP_WEEK, true},
                 {"this-month", REPORT_STEP_MONTH, false},
                 {"last-month", REPORT_STEP_MONTH, true}};
    struct report_period p = {0};
    bool found = named(text, ret_step, &p.since_s);
    for (size_t i = 0; !found && i < sizeof words / sizeof *words; i++)
        if (text_equal(text, words[i].word)) {
            found = true;
            *ret_step = words[i].step;
            p.since_s = begin_of(*ret_step, now_s);
            if (words[i].is_last)
                p.since_s = begin_of(*ret_step, p.since_s - 1);
        }
    if (!found)
        return false;
    p.until_s = end_of(*ret_step, p.since_s);
    p.whole = p.until_s <= now_s;
    p.until_s = p.whole || p.since_s >= now_s ? p.until_s : now_s;
    name_of(*ret_step, p.since_s, p.name);
    *ret_period = p;
    return true;
}

void report_period_before(enum report_step step, const struct report_period *p, struct report_period *ret_before)
{
    struct report_period before = {.whole = p->whole};
    double length_s = p->until_s - p->since_s;
    before.since_s = step == REPORT_STEP_NONE ? p->since_s - length_s : begin_of(step, p->since_s - 1);
    before.until_s = p->whole || before.since_s + length_s > p->since_s ? p->since_s : before.since_s + length_s;
    if (step != REPORT_STEP_NONE)
        name_of(step, before.since_s, before.name);
    *ret_before = before;
}

enum report_step report_step_for(double since_s, double until_s)
{
    double span_s = until_s - since_s;
    if (span_s >= 2 * WEEK_S)
        return span_s / WEEK_S < LIMIT_REPORT_PERIODS ? REPORT_STEP_WEEK : REPORT_STEP_MONTH;
    return span_s >= 2 * DAY_S ? REPORT_STEP_DAY : REPORT_STEP_NONE;
}
