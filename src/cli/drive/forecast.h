/* forecast.h - whether and when what is about to be submitted would start, in words */
#ifndef CLI_DRIVE_FORECAST_H
#define CLI_DRIVE_FORECAST_H
#include "cli/connect.h"
#include "sched/ahead/preview.h"

struct forecast {
    enum preview_verdict verdict;
    const char *text;                /* lines for people, each ended */
    struct preview preview;          /* with whose job a holder is, and until when (why_until.h) */
    const char *unknown;             /* why there is no answer; NULL: there is one */
};
/* Whoever may not read what the scheduler reads, or has no answer in time, is told that it is not known. */
struct forecast forecast_make(struct connection *c, struct arena *a, const struct json *objects);

#endif
