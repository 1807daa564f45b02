/* jobs_page.h - how long the jobs of a trace wait, as one page with pictures */
#ifndef CLI_JOBS_PAGE_H
#define CLI_JOBS_PAGE_H
#include "base/arena.h"
#include "sim/trace/job_replay.h"

void jobs_page(struct buf *out, struct arena *a, const char *queue, const char *cluster, uint32_t gpus_n, const struct job_trace *t,
               const struct job_result *r);

#endif
