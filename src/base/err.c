/* err.c - see err.h */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/err.h"

/* WHY  a local copy first: callers may pass e->text as an argument of the format. */
static void text_set(struct err *e, const char *format, va_list args, const char *tail)
{
    char text[ERR_TEXT_MAX];
    int n = vsnprintf(text, sizeof text, format, args);
    size_t used = n < 0 ? 0 : (size_t)n;
    if (used < sizeof text && tail) {
        int more = snprintf(text + used, sizeof text - used, ": %s", tail);
        used += more < 0 ? 0 : (size_t)more;
    }
    if (used >= sizeof text)
        text[sizeof text - 2] = '+';
    memcpy(e->text, text, sizeof text);
}

int err_set(struct err *e, int code, const char *format, ...)
{
    int saved_errno = errno;
    if (e) {
        va_list args;
        va_start(args, format);
        text_set(e, format, args, NULL);
        va_end(args);
        e->code = code;
    }
    errno = saved_errno;
    return -code;
}

int err_wrap(struct err *e, const char *format, ...)
{
    if (!e)
        return -E_IO;
    int saved_errno = errno;
    char tail[ERR_TEXT_MAX];
    memcpy(tail, e->text, sizeof tail);
    va_list args;
    va_start(args, format);
    text_set(e, format, args, tail);
    va_end(args);
    if (e->code == 0)
        e->code = E_IO;
    errno = saved_errno;
    return -e->code;
}

static int code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
        return E_NOTFOUND;
    case EEXIST:
        return E_EXISTS;
    case EACCES:
    case EPERM:
        return E_DENIED;
    case EAGAIN:
        return E_AGAIN;
    default:
        return E_IO;
    }
}

int err_errno(struct err *e, int saved_errno, const char *format, ...)
{
    int code = code_of_errno(saved_errno), errno_before = errno;
    if (e) {
        char reason[128];
        const char *text = strerror_r(saved_errno, reason, sizeof reason); /* the GNU one, returns the text */
        va_list args;
        va_start(args, format);
        text_set(e, format, args, text);
        va_end(args);
        e->code = code;
    }
    errno = errno_before;
    return -code;
}

const char *err_name(int code)
{
    static const char *const names[] = {
        [0] = "None",
        [E_INVALID] = "Invalid",
        [E_NOTFOUND] = "NotFound",
        [E_EXISTS] = "AlreadyExists",
        [E_CONFLICT] = "Conflict",
        [E_GONE] = "Gone",
        [E_AGAIN] = "Busy",
        [E_DENIED] = "Denied",
        [E_LIMIT] = "TooLarge",
        [E_IO] = "IO",
        [E_PROTO] = "Protocol",
    };
    if (code < 0)
        code = -code;
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "Unknown";
}
