/* err.h - one error type for the whole program
 *
 * A function that can fail returns 0 or a count, or a negative -E_* code. The text for people goes into the optional
 * last parameter `struct err *e` (may be NULL; no memory is allocated). Wrap on the way up, outermost context first:
 *
 *     bind pod a/b: POST http://127.0.0.1:6443: conflict (have 10, server 12)
 *
 * "Does not fit" is never an error: it is data (core/explain/reason.h).
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

/* Few, and mapped once to HTTP status (apiserver/request/status.c) and exit code (src/cli/connect.h). */
enum err_code {
    E_INVALID = 1, /* input is malformed or not allowed: the caller must change it  (400/422) */
    E_NOTFOUND,    /* named thing does not exist                                    (404) */
    E_EXISTS,      /* name is taken                                                 (409 AlreadyExists) */
    E_CONFLICT,    /* changed by somebody else meanwhile: read again and retry      (409 Conflict) */
    E_GONE,        /* history is no longer kept: list again                         (410) */
    E_AGAIN,       /* busy, try later                                               (429/503) */
    E_DENIED,      /* not allowed                                                   (403) */
    E_LIMIT,       /* larger than a limit in base/limits.h                          (413) */
    E_IO,          /* file, socket or peer failed                                   (500) */
    E_PROTO,       /* the peer said something that is not in its protocol           (502) */
};

#define ERR_TEXT_MAX 480 /* longer texts are cut and end in '+' */

struct err {
    int code; /* enum err_code, 0 = none */
    char text[ERR_TEXT_MAX];
};

#define PRINTF_LIKE(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))

/* Set code and text. Returns -code; keeps errno; e may be NULL. */
int err_set(struct err *e, int code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Put "context: " in front of the text. Returns -e->code (or -E_IO when e is NULL). */
int err_wrap(struct err *e, const char *format, ...) PRINTF_LIKE(2, 3);

/* Set from a saved errno: "context: No such file or directory". ENOENT, EEXIST, EACCES/EPERM, EAGAIN map to their codes, others to E_IO. */
int err_errno(struct err *e, int saved_errno, const char *format, ...) PRINTF_LIKE(3, 4);

/* "NotFound"-like short name of a code, for logs. Never NULL. */
const char *err_name(int code);

#endif
