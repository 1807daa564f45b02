/* recorder.c - entries -> a block -> a file */
#include "sched/record/recorder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/collections/map.h"
#include "base/log.h"
#include "sched/record/change_io.h"
#include "sched/record/plan_digest.h"
#include "sched/record/recording.h"

enum { FLUSH_MS = 1000, FLUSH_BYTES = 256 << 10 };

struct recorder {
    struct loop *loop;
    struct loop_timer *timer; /* what waits is written at the latest then */
    char *dir;
    int64_t limit_bytes, run_ms;
    char run[RECORDING_RUN_N + 1];
    uint32_t file_n;
    int fd; /* -1: not recording (any more) */
    uint64_t file_bytes, run_bytes;
    struct state *state;
    struct change_io io;
    struct buf block, scratch;
    struct decide_config config;
    bool has_config;
};

static void stop(struct recorder *r, const char *why)
{
    log_warning("nothing is recorded any more dir=%s run=%s why=\"%s\"", r->dir, r->run, why);
    (void)close(r->fd); /* what was written is whole, block by block */
    r->fd = -1;
}

/* ---- the folder ---- */

static void run_name(char text[RECORDING_RUN_N + 1], int64_t ms)
{
    struct tm tm = {0};
    time_t s = (time_t)(ms / 1000);
    (void)gmtime_r(&s, &tm); /* wall times are within its years */
    (void)strftime(text, RECORDING_RUN_N + 1, "%Y%m%dT%H%M%S", &tm);
    (void)snprintf(text + 15, RECORDING_RUN_N + 1 - 15, ".%03uZ", (unsigned)(ms % 1000) % 1000);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_recording(const struct dirent *d)
{
    return text_ends(d->d_name, ".rec") && strlen(d->d_name) >= RECORDING_RUN_N + 4;
}

/* Files of older runs go, whole runs, the oldest first, until `more` bytes fit. False: our own alone are too many. */
static bool make_room(struct recorder *r, uint64_t more)
{
    struct dirent **all = NULL;
    int n = scandir(r->dir, &all, is_recording, by_name), fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t sum = more;
    struct stat st;
    char gone[RECORDING_RUN_N + 1] = "";
    for (int i = 0; i < n; i++)
        sum += fstatat(fd, all[i]->d_name, &st, 0) == 0 ? (uint64_t)st.st_size : 0;
    for (int i = 0; i < n; i++) {
        const char *name = all[i]->d_name;
        bool same = strncmp(name, gone, RECORDING_RUN_N) == 0, ours = strncmp(name, r->run, RECORDING_RUN_N) == 0;
        if (ours || (!same && sum <= (uint64_t)r->limit_bytes) || fstatat(fd, name, &st, 0) < 0)
            continue;
        (void)snprintf(gone, sizeof gone, "%.*s", RECORDING_RUN_N, name);
        if (unlinkat(fd, name, 0) == 0)
            sum -= (uint64_t)st.st_size;
    }
    for (int i = 0; i < n; i++)
        free(all[i]);
    free(all);
    if (fd >= 0)
        (void)close(fd); /* it was read */
    return sum <= (uint64_t)r->limit_bytes;
}

static void add_little_endian(struct buf *out, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_char(out, (char)(v >> 8 * i));
}

static int write_all(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t done = write(fd, data, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        data += done;
        n -= (size_t)done;
    }
    return 0;
}

/* -errno */
static int open_file(struct recorder *r)
{
    _cleanup_buf_ struct buf path = {0}, head = {0};
    buf_printf(&path, "%s/%s-%04u.rec", r->dir, r->run, r->file_n);
    r->fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (r->fd < 0)
        return -errno;
    buf_text(&head, RECORDING_MAGIC);
    add_little_endian(&head, (uint64_t)r->run_ms, 8);
    add_little_endian(&head, r->file_n++, 4);
    r->file_bytes = head.n;
    r->run_bytes += head.n;
    return write_all(r->fd, head.data, head.n);
}

/* ---- blocks ---- */

static void flush(void *arg)
{
    struct recorder *r = arg;
    _cleanup_buf_ struct buf head = {0};
    loop_timer_stop(r->timer);
    if (r->fd < 0 || !r->block.n)
        return;
    uint64_t n = RECORDING_BLOCK_HEAD_N + r->block.n;
    int code = 0;
    if (r->run_bytes + n > (uint64_t)r->limit_bytes) {
        stop(r, "this run has reached --record-limit; a new one begins when the scheduler starts");
        return;
    }
    if (!make_room(r, n)) {
        stop(r, "other files leave no room below --record-limit");
        return;
    }
    uint64_t most = (uint64_t)r->limit_bytes / 16 < RECORDING_FILE_BYTES ? (uint64_t)r->limit_bytes / 16 : RECORDING_FILE_BYTES;
    if (r->file_bytes + n > most && r->file_bytes > RECORDING_HEAD_N) {
        (void)close(r->fd); /* each block was written */
        code = open_file(r);
    }
    add_little_endian(&head, r->block.n, 4);
    add_little_endian(&head, hash_bytes(r->block.data, r->block.n, (uint64_t)r->run_ms), 8);
    code = code < 0 ? code : write_all(r->fd, head.data, head.n);
    code = code < 0 ? code : write_all(r->fd, r->block.data, r->block.n);
    r->file_bytes += n;
    r->run_bytes += n;
    buf_clear(&r->block);
    if (code < 0)
        stop(r, strerror(-code));
}

static void add(struct recorder *r, enum recording_entry entry)
{
    buf_char(&r->block, (char)entry);
}

/* WHY  blocks end with a cycle: what is cut is cut between two. */
static void ended(struct recorder *r)
{
    if (r->block.n >= FLUSH_BYTES)
        flush(r);
    else if (!loop_timer_running(r->timer))
        loop_timer_start(r->timer, FLUSH_MS, 0);
}

/* ---- entries ---- */

void recorder_begin(struct recorder *r, struct state *s, const struct policy *policy)
{
    if (!r)
        return;
    struct policy copy = *policy;
    r->state = s;
    r->io = (struct change_io){.names = state_names(s), .out = &r->block};
    add(r, RECORDING_POLICY);
    change_io_policy(&r->io, &copy);
    ended(r);
}

void recorder_change(struct recorder *r, const struct change *c)
{
    if (!r || r->fd < 0)
        return;
    struct change copy = *c; /* the walk goes both ways; this one only reads */
    add(r, RECORDING_CHANGE);
    change_io_change(&r->io, &copy);
    if (r->block.n >= RECORDING_BLOCK_MAX / 2)
        flush(r);
    else if (!loop_timer_running(r->timer))
        loop_timer_start(r->timer, FLUSH_MS, 0);
}

static bool same_config(const struct decide_config *a, const struct decide_config *b)
{
    return a->gangs_max == b->gangs_max && a->pods_max == b->pods_max && a->no_remedies == b->no_remedies && a->no_counts == b->no_counts &&
           a->all_wake == b->all_wake && memcmp(&a->fair, &b->fair, sizeof a->fair) == 0 && a->lost.off == b->lost.off &&
           a->lost.patient == b->lost.patient && a->node_wishes == b->node_wishes && a->hold == b->hold && a->placement == b->placement &&
           a->placement_seed == b->placement_seed && a->keeps_whole == b->keeps_whole;
}

void recorder_cycle(struct recorder *r, const struct decide_config *config, int64_t now_ms, const struct plan *plan)
{
    if (!r || r->fd < 0)
        return;
    if (!r->has_config || !same_config(&r->config, config)) {
        r->config = *config;
        r->has_config = true;
        add(r, RECORDING_CONFIG);
        change_io_config(&r->io, &r->config);
    }
    int64_t entries_n = plan->entries_n;
    uint64_t digest = plan_digest(plan, r->io.names, &r->scratch);
    add(r, RECORDING_CYCLE);
    change_io_number(&r->io, &now_ms);
    change_io_number(&r->io, &entries_n);
    add_little_endian(&r->block, digest, 8);
    ended(r);
}

void recorder_expect(struct recorder *r)
{
    if (r && r->fd >= 0)
        add(r, RECORDING_EXPECT);
}

void recorder_forget(struct recorder *r)
{
    if (!r || r->fd < 0)
        return;
    add(r, RECORDING_FORGET);
    change_io_forget(&r->io);
}

void recorder_end(struct recorder *r)
{
    if (!r || !r->state)
        return;
    if (r->fd >= 0) {
        add(r, RECORDING_END);
        add_little_endian(&r->block, state_digest(r->state), 8);
        flush(r);
    }
    r->state = NULL;
    change_io_fini(&r->io);
}

uint64_t recorder_bytes(const struct recorder *r)
{
    return r ? r->run_bytes + r->block.n : 0;
}

/* ---- life ---- */

int recorder_new(struct loop *l, const char *dir, int64_t limit_bytes, struct recorder **ret_r, struct err *e)
{
    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_errno(e, errno, "make %s", dir);
    struct recorder *r = mem_zero(1, sizeof *r);
    r->loop = l;
    r->dir = mem_text(dir);
    r->limit_bytes = limit_bytes;
    r->timer = loop_timer_new(l, flush, r);
    int code = -EEXIST;
    r->run_ms = loop_wall_ms(l);
    for (int tries = 0; code == -EEXIST && tries < 1000; tries++, r->run_ms++) { /* another one began in the same millisecond */
        run_name(r->run, r->run_ms);
        r->run_bytes = 0;
        code = open_file(r);
        if (code == 0)
            break;
    }
    if (code < 0) {
        recorder_free(r);
        return err_errno(e, -code, "write into %s", dir);
    }
    *ret_r = r;
    return 0;
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    recorder_end(r);
    if (r->fd >= 0)
        (void)close(r->fd); /* each block was written */
    loop_timer_free(r->timer);
    change_io_fini(&r->io);
    buf_free(&r->block);
    buf_free(&r->scratch);
    free(r->dir);
    free(r);
}
