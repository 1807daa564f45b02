/* log.c - see log.h */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"

#define LINE_MAX_BYTES 4096 /* longer lines are cut and end in '+' */

static enum log_level log_least = LOG_INFO;
static const char *const names[] = {"debug", "info", "warning", "error"}; /* by enum log_level */

void log_set_level(enum log_level level)
{
    log_least = level;
}

bool log_set_level_named(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            log_set_level((enum log_level)i);
            return true;
        }
    return false;
}

enum log_level log_get_level(void)
{
    return log_least;
}

/* WHY  one event is one line of UTF-8, whatever a peer put into a name. */
static void one_line(char *at, const char *end)
{
    for (size_t n; at < end; at += n ? n : 1) {
        n = utf8_length(at, end);
        if (n == 0)
            *at = '?';
        else if ((unsigned char)*at < ' ' || *at == 127)
            *at = ' ';
    }
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level < log_least)
        return;
    int saved_errno = errno;
    char line[LINE_MAX_BYTES], time[TIME_TEXT_MAX];
    int64_t now_ms = clock_wall_us() / 1000;
    time_format(time, now_ms);
    int n = snprintf(line, sizeof line, "%.19s.%03" PRId64 "Z %s ", time, now_ms % 1000, names[level]);
    size_t used = (size_t)n;
    va_list args;
    va_start(args, format);
    n = vsnprintf(line + used, sizeof line - used, format, args);
    va_end(args);
    size_t start = used;
    used += n < 0 ? 0 : (size_t)n;
    if (used >= sizeof line) {
        used = sizeof line - 1;
        line[used - 1] = '+';
    }
    one_line(line + start, line + used);
    line[used++] = '\n';
    (void)!write(STDERR_FILENO, line, used); /* nowhere to report that stderr is gone */
    errno = saved_errno;
}
