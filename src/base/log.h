/* log.h - one line an event, key=value, on stderr
 *
 * Libraries do not log: loops and commands do, once, at the place that decides what to do.
 * Line: 2026-01-01T00:00:00.123Z level message key=value key="with space"
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include <stdbool.h>
#include "base/err.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };
void log_set_level(enum log_level level); /* default LOG_INFO */
bool log_set_level_named(const char *name); /* debug, info, warning, error; false: something else */
enum log_level log_get_level(void);
void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

#endif
