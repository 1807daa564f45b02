/* run_page.h - what came of a scenario, as one page with pictures */
#ifndef CLI_RUN_PAGE_H
#define CLI_RUN_PAGE_H
#include "sim/run/run.h"

void run_page(struct buf *out, struct arena *a, const char *title, const struct timeline *t, const struct run_result *r);

#endif
