/* forecast.h - when do those that wait start, as things are? The state goes on by itself, on a clock of its own
 *
 *   when what runs ends ───┐
 *                          ├──▶ the next end ──▶ its pods go ──▶ decide ──▶ who starts, and so ends later ──┐
 *   how long what waits ───┘          ▲                                                                     │
 *   will run                          └─────────────────────────────────────────────────────────────────────┘
 *
 * Nothing is approximated but the future itself: whoever starts is decided by the cycle that decides in earnest.
 *
 * SHAPE  the state is used up, and no change may be taken in afterwards: ask a copy of it.
 * LIMIT  nobody comes; whoever is preempted does not come back; admission checks stay as they are. What has no known end never ends.
 * UNIT   wall milliseconds.
 */
#ifndef CORE_FORECAST_H
#define CORE_FORECAST_H
#include "core/decide.h"

/* What an end is known from: bits, for a start follows from many ends. */
enum end_basis {
    END_BY_LIMIT = 1, /* its own limit of time: at the latest */
    END_BY_RUNS = 2,  /* earlier runs of jobs like it */
};
struct forecast_job {
    name_id gang;
    int64_t run_ms;      /* of one that holds places: from now on; else: from its start on. 0 = not known */
    uint8_t basis;       /* of that; 0 = not known */
    uint8_t start_basis; /* answer: of all ends before its start; 0: it starts without any */
    bool waits;          /* answer: it holds no place at the beginning */
    int64_t start_ms;    /* answer; 0: it holds something already, or no start was found */
};
struct forecast_bounds {
    int64_t until_ms;    /* no start after that is looked for */
    uint32_t steps_max;  /* times at which something ends or is tried again */
};
/* The jobs are put in order by their gang. Only those here end or get an answer; no two have the same gang. */
void forecast(struct state *s, const struct decide_config *config, const struct forecast_bounds *bounds, struct forecast_job *jobs,
              uint32_t n, int64_t now_ms);

#endif
