#include "cli/sim/sim_part.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock.h"

bool sim_read_factor(const char *text, double *ret_factor)
{
    char *end;
    errno = 0;
    double n = strtod(text, &end);
    if (errno || *end || end == text || !isfinite(n) || n <= 0 || n > SIM_FACTOR_MOST)
        return false;
    *ret_factor = n;
    return true;
}

void sim_set_number(struct arena *a, struct json *to, const char *key, double value, int digits)
{
    struct json *v = json_new_text(a, arena_printf(a, "%.*f", digits, value));
    v->type = value < 0 ? JSON_NULL : JSON_NUMBER;
    json_set(a, to, key, v);
}

/* ---- progress: on a terminal, once in a while ---- */

static int64_t shown_ms, started_ms;
static const char *what;

static void show(uint64_t done_n, uint64_t all_n)
{
    int64_t now_ms = clock_monotonic_us() / 1000;
    if (now_ms - shown_ms < 200)
        return;
    shown_ms = now_ms;
    fprintf(stderr, "\r%llu of %llu %s, %lld s", (unsigned long long)done_n, (unsigned long long)all_n, what,
            (long long)((now_ms - started_ms) / 1000));
}

sim_progress_fn *sim_progress(const char *of_what)
{
    started_ms = shown_ms = clock_monotonic_us() / 1000;
    what = of_what;
    return isatty(STDERR_FILENO) ? show : NULL;
}

void sim_progress_end(void)
{
    if (shown_ms != started_ms)
        fprintf(stderr, "\r\033[K");
}
