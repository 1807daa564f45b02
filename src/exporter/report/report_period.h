/* report_period.h - spans of the calendar (UTC): days, weeks that begin on Monday, months */
#ifndef EXPORTER_REPORT_PERIOD_H
#define EXPORTER_REPORT_PERIOD_H
#include "base/arena.h"

#define LIMIT_REPORT_PERIODS 400 /* a year of days */
#define REPORT_PERIOD_WRONG "write this-week, last-week, this-month, last-month, 2026-10 or 2026-W48"

enum report_step { REPORT_STEP_NONE, REPORT_STEP_DAY, REPORT_STEP_WEEK, REPORT_STEP_MONTH };
struct report_period {
    double since_s, until_s; /* wall */
    bool whole;              /* it is all of that day, week or month */
    char name[24];           /* "2026-11-29", "2026-W48", "2026-11" */
};
/* The span cut at the beginnings of days, weeks or months, the first first. Returns how many; 0: more than LIMIT_REPORT_PERIODS. */
uint32_t report_periods(struct arena *a, enum report_step step, double since_s, double until_s, struct report_period **ret_periods);
/* What a word stands for, up to now where that has not ended. False: no such word. ret_step: a week or a month. */
bool report_period_parse(const char *text, double now_s, struct report_period *ret_period, enum report_step *ret_step);
/* The one before, so that both can be compared: of a whole week or month the one before it, of a part as long a part of the one before. */
void report_period_before(enum report_step step, const struct report_period *p, struct report_period *ret_before);
/* For a trend in a page: weeks from two on, days from two on, none of less. */
enum report_step report_step_for(double since_s, double until_s);

#endif
