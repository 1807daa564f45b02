/* figure_line.h - what the programs share that measure inside their own process: a figure as a line of JSON, the processor's time so far */
#ifndef BENCH_FIGURE_LINE_H
#define BENCH_FIGURE_LINE_H
#include <stdio.h>
#include <time.h>

static inline void print(const char *name, double value, const char *unit)
{
    printf("{\"name\":\"%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", name, value, unit);
    fflush(stdout);
}

static inline double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#endif
