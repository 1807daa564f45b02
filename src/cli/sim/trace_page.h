/* trace_page.h - what policies make of a trace, as one page with pictures */
#ifndef CLI_TRACE_PAGE_H
#define CLI_TRACE_PAGE_H
#include "sim/trace/replay.h"

#define TRACE_POLICIES 9
struct trace_run {
    const char *policy;
    struct replay_result result;
};
/* load: of the churn; 0 none. */
void trace_page(struct buf *out, struct arena *a, const struct trace *t, double load, const struct trace_run *runs, uint32_t n);

#endif
