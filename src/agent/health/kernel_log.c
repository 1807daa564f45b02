/* kernel_log.c - reads lines, holds them, and compares them with what was told lately */
#include "agent/health/kernel_log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "agent/health/health.h"
#include "agent/health/xid_line.h"
#include "base/memory.h"

#define READS_MAX 512   /* of one turn; /dev/kmsg gives one record a read */
#define READ_BYTES 8192 /* a record of /dev/kmsg is never longer */
#define RECENT_MAX 64

struct held {
    struct driver_event event;
    int64_t since_ms;
    bool from_driver; /* waits for its line, which says how severe it is */
};
struct recent {
    struct driver_event event; /* number as event_xid() has it */
    int64_t at_ms;
    bool from_log; /* and the driver has not told of it since */
};
struct kernel_log {
    int fd;
    bool skipping; /* to the end of a line that is too long */
    struct buf line; /* the begun one */
    struct held held[KERNEL_LOG_HELD];
    uint32_t held_n;
    struct recent recent[RECENT_MAX]; /* ring */
    uint32_t recent_n;
};

int kernel_log_open(const char *path, struct kernel_log **ret_log, struct err *e)
{
    struct stat s;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &s) < 0)
        return err_errno(e, errno, "open %s", path);
    if (S_ISDIR(s.st_mode) || (S_ISCHR(s.st_mode) && s.st_rdev != makedev(1, 11))) /* containers have consoles there */
        return err_set(e, E_INVALID, "%s is not the kernel's log", path);
    (void)lseek(fd, 0, SEEK_END); /* a fifo has no past */
    struct kernel_log *k = mem_zero(1, sizeof *k);
    k->fd = fd;
    fd = -1;
    *ret_log = k;
    return 0;
}

void kernel_log_free(struct kernel_log *k)
{
    if (!k)
        return;
    (void)close(k->fd);
    buf_free(&k->line);
    free(k);
}

/* ---- what was told lately ---- */

static uint64_t event_xid(const struct driver_event *event)
{
    return event->kind == DRIVER_EVENT_ECC_DOUBLE ? 48 : event->data;
}

static bool same_error(const struct driver_event *a, const struct driver_event *b)
{
    bool instances_differ = a->gi != XID_LINE_NONE && b->gi != XID_LINE_NONE && a->gi != b->gi;
    bool severities_differ = a->severity && b->severity && a->severity != b->severity;
    return !instances_differ && !severities_differ && event_xid(a) == event_xid(b) &&
           (text_equal(a->uuid, b->uuid) || !*a->uuid || !*b->uuid);
}

static struct recent *recent_find(struct kernel_log *k, const struct driver_event *event, int64_t now_ms)
{
    uint32_t n = k->recent_n < RECENT_MAX ? k->recent_n : RECENT_MAX;
    for (uint32_t i = 0; i < n; i++) {
        if (now_ms - k->recent[i].at_ms < KERNEL_LOG_SAME_MS && same_error(&k->recent[i].event, event))
            return &k->recent[i];
    }
    return NULL;
}

static void recent_add(struct kernel_log *k, const struct driver_event *event, bool from_log, int64_t now_ms)
{
    k->recent[k->recent_n++ % RECENT_MAX] = (struct recent){*event, now_ms, from_log};
    if (k->recent_n == 2 * RECENT_MAX)
        k->recent_n = RECENT_MAX;
}

/* The driver told it, and no line of it came: its next one is another error. */
static bool is_unsaid(const struct recent *r)
{
    return !r->from_log && r->event.severity == DRIVER_SEVERITY_UNSAID;
}

static bool wants_severity(const struct driver_event *event)
{
    const struct xid_entry *entry = event->kind == DRIVER_EVENT_XID && event->data <= UINT32_MAX ? xid_find((uint32_t)event->data) : NULL;
    return entry && entry->by_severity && event->severity == DRIVER_SEVERITY_UNSAID;
}

/* The place of one that is the same error, of the driver or a line; held_n: none. */
static uint32_t held_find(const struct kernel_log *k, const struct driver_event *event, bool from_driver)
{
    uint32_t at = 0;
    while (at < k->held_n && (k->held[at].from_driver != from_driver || !same_error(&k->held[at].event, event)))
        at++;
    return at;
}

bool kernel_log_is_news(struct kernel_log *k, const struct driver_event *event, int64_t now_ms)
{
    if (event->kind != DRIVER_EVENT_XID && event->kind != DRIVER_EVENT_ECC_DOUBLE)
        return true;
    if (wants_severity(event) && held_find(k, event, true) < k->held_n)
        return false; /* within the second: as one */
    if (wants_severity(event) && k->held_n < KERNEL_LOG_HELD) {
        k->held[k->held_n++] = (struct held){*event, now_ms, true};
        return false;
    }
    struct recent *r = recent_find(k, event, now_ms);
    bool news = !r || !r->from_log;
    if (r) { /* the next one of the driver is another error */
        r->from_log = false;
        r->at_ms = now_ms;
    } else {
        recent_add(k, event, false, now_ms);
    }
    return news;
}

/* ---- lines ---- */

static void take_line(struct kernel_log *k, struct bytes line, const struct driver_reading *r, int64_t now_ms)
{
    struct xid_line l;
    if (!xid_line_parse(line, &l) || k->held_n == KERNEL_LOG_HELD)
        return;
    for (uint32_t i = 0; i < r->gpus_n; i++) {
        if (!xid_line_is_of(&l, r->gpus[i].uuid, r->gpus[i].bus_id))
            continue;
        struct held *h = &k->held[k->held_n++];
        *h = (struct held){.event = {.gi = l.gi, .ci = l.ci, .kind = DRIVER_EVENT_XID, .data = l.xid, .pid = l.pid, .severity = l.severity},
                           .since_ms = now_ms};
        (void)snprintf(h->event.uuid, sizeof h->event.uuid, "%s", r->gpus[i].uuid);
        return;
    }
}

static void take_bytes(struct kernel_log *k, const char *data, size_t n, const struct driver_reading *r, int64_t now_ms)
{
    while (n > 0) {
        const char *newline = memchr(data, '\n', n);
        size_t part = newline ? (size_t)(newline - data) : n;
        if (!k->skipping && k->line.n + part <= READ_BYTES)
            buf_add(&k->line, data, part);
        else
            k->skipping = true;
        if (!newline)
            return;
        if (!k->skipping)
            take_line(k, buf_view(&k->line), r, now_ms);
        k->skipping = false;
        buf_clear(&k->line);
        data += part + 1;
        n -= part + 1;
    }
}

void kernel_log_read(struct kernel_log *k, const struct driver_reading *r, int64_t now_ms)
{
    char text[READ_BYTES];
    for (uint32_t i = 0; i < READS_MAX; i++) {
        ssize_t n = read(k->fd, text, sizeof text);
        if (n > 0)
            take_bytes(k, text, (size_t)n, r, now_ms);
        else if (n == 0 ||
                 (errno != EPIPE && errno != EINTR && errno != EINVAL)) /* EPIPE: older ones were overwritten; EINVAL: one too long */
            return;
    }
}

static struct held held_take(struct kernel_log *k, uint32_t at)
{
    struct held h = k->held[at];
    memmove(k->held + at, k->held + at + 1, (--k->held_n - at) * sizeof *k->held);
    return h;
}

bool kernel_log_next(struct kernel_log *k, int64_t now_ms, struct driver_event *ret_event, bool *ret_known)
{
    while (k->held_n > 0 && now_ms - k->held[0].since_ms >= KERNEL_LOG_HOLD_MS) {
        struct held h = held_take(k, 0);
        struct recent *recent = recent_find(k, &h.event, now_ms);
        bool known = recent && !(h.from_driver && is_unsaid(recent));
        if (h.from_driver && (known || held_find(k, &h.event, false) < k->held_n))
            continue; /* its line says all that it does */
        for (uint32_t at; !h.from_driver && (at = held_find(k, &h.event, true)) < k->held_n;)
            (void)held_take(k, at);
        *ret_event = h.event;
        *ret_known = known;
        if (!recent)
            recent_add(k, ret_event, !h.from_driver, now_ms);
        else if (h.from_driver)
            recent->at_ms = now_ms;
        else if (!recent->event.severity)
            recent->event.severity = h.event.severity;
        return true;
    }
    return false;
}
