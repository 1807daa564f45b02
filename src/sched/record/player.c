/* player.c - see player.h */
#include "sched/record/player.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/collections/map.h"
#include "sched/record/change_io.h"
#include "sched/record/plan_digest.h"
#include "sched/record/recording.h"

/* ---- the folder ---- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* "20260101T000000.123Z-0000.rec" */
static int is_first(const struct dirent *d)
{
    return strlen(d->d_name) == RECORDING_RUN_N + 9 && text_equal(d->d_name + RECORDING_RUN_N, "-0000.rec");
}

int player_runs(const char *dir, struct arena *a, const char *const **ret_runs, uint32_t *ret_n, struct err *e)
{
    struct dirent **all = NULL;
    int n = scandir(dir, &all, is_first, by_name);
    if (n < 0)
        return err_errno(e, errno, "open %s", dir);
    const char **runs = arena_alloc(a, ((size_t)n + 1) * sizeof *runs);
    for (int i = 0; i < n; i++) {
        runs[i] = arena_text_n(a, all[i]->d_name, RECORDING_RUN_N);
        free(all[i]);
    }
    free(all);
    *ret_runs = runs;
    *ret_n = (uint32_t)n;
    return n ? 0 : err_set(e, E_NOTFOUND, "%s: there is no recording in it: capstan scheduler --record %s makes one", dir, dir);
}

/* ---- blocks ---- */

struct play {
    struct player p;
    const struct player_options *o;
    struct player_result *result;
    struct arena *records, *cycle;
    struct change_io io;
    struct decide_config config;
    struct buf block, scratch;
    const char *dir, *run;
    FILE *file;
    uint64_t run_ms, at; /* at: in the file */
    uint32_t file_n;
    bool begun, over;
    struct err *e;
};

static uint64_t little_endian(const char *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)(unsigned char)at[i] << 8 * i;
    return v;
}

static void cut(struct play *x, const char *how)
{
    (void)snprintf(x->result->cut, sizeof x->result->cut, "%.30s-%04u.rec is %s at byte %llu", x->run, x->file_n - 1, how,
                   (unsigned long long)x->at);
}

/* 1; 0: there is no next file; -E_*. */
static int next_file(struct play *x)
{
    _cleanup_buf_ struct buf path = {0};
    char head[RECORDING_HEAD_N];
    if (x->file)
        (void)fclose(x->file); /* it was read */
    buf_printf(&path, "%s/%s-%04u.rec", x->dir, x->run, x->file_n);
    x->file = fopen(path.data, "re");
    if (!x->file && errno == ENOENT && x->file_n)
        return 0;
    if (!x->file)
        return err_errno(x->e, errno, "open %s", path.data);
    x->at = fread(head, 1, sizeof head, x->file);
    x->file_n++;
    if (x->at < sizeof head) {
        cut(x, "cut");
        return 0;
    }
    if (memcmp(head, RECORDING_MAGIC, RECORDING_MAGIC_N) != 0)
        return err_set(x->e, E_INVALID, "%s is no recording of this version", path.data);
    uint64_t run_ms = little_endian(head + RECORDING_MAGIC_N, 8), number = little_endian(head + RECORDING_MAGIC_N + 8, 4);
    if (number != x->file_n - 1 || (number && run_ms != x->run_ms))
        return err_set(x->e, E_INVALID, "%s is of another run than its name says", path.data);
    x->run_ms = run_ms;
    x->result->files_n++;
    x->result->bytes_n += x->at;
    return 1;
}

/* 1: x->block is the next one; 0: there is none; -E_*. */
static int next_block(struct play *x)
{
    char head[RECORDING_BLOCK_HEAD_N];
    for (;;) {
        size_t n = x->file ? fread(head, 1, sizeof head, x->file) : 0;
        if (n == sizeof head)
            break;
        if (n) {
            cut(x, "cut");
            return 0;
        }
        int r = next_file(x);
        if (r <= 0)
            return r;
    }
    uint64_t n = little_endian(head, 4);
    buf_clear(&x->block);
    if (n == 0 || n > RECORDING_BLOCK_MAX) {
        cut(x, "damaged");
        return 0;
    }
    if (fread(buf_reserve(&x->block, n), 1, n, x->file) < n) {
        cut(x, "cut");
        return 0;
    }
    x->block.n = n;
    if (hash_bytes(x->block.data, n, x->run_ms) != little_endian(head + 4, 8)) {
        cut(x, "damaged");
        return 0;
    }
    x->at += RECORDING_BLOCK_HEAD_N + n;
    x->result->bytes_n += RECORDING_BLOCK_HEAD_N + n;
    return 1;
}

/* ---- entries ---- */

static bool read_u64(struct play *x, uint64_t *ret)
{
    if (x->io.end - x->io.at < 8)
        return false;
    *ret = little_endian(x->io.at, 8);
    x->io.at += 8;
    return true;
}

static bool play_policy(struct play *x)
{
    struct policy policy = {0};
    if (x->begun)
        return false;
    change_io_policy(&x->io, &policy);
    if (x->io.bad)
        return false;
    state_set_ready_policy(x->p.state, &policy.ready);
    state_set_consumption_policy(x->p.state, &policy.consumption);
    x->begun = true;
    return true;
}

static bool play_change(struct play *x)
{
    struct change c = {0};
    change_io_change(&x->io, &c);
    if (x->io.bad || !x->begun)
        return false;
    state_apply(x->p.state, &c);
    x->p.changes_n++;
    if (x->o->change)
        x->o->change(x->o->arg, &x->p, &c);
    arena_reset(x->records);
    return true;
}

static bool play_cycle(struct play *x)
{
    int64_t now_ms = 0, entries_n = 0;
    uint64_t digest;
    change_io_number(&x->io, &now_ms);
    change_io_number(&x->io, &entries_n);
    if (!read_u64(x, &digest) || x->io.bad || !x->begun)
        return false;
    if (now_ms > x->o->until_ms) {
        x->over = true;
        return true;
    }
    struct plan plan = {0};
    decide(x->p.state, &x->config, now_ms, x->cycle, &plan);
    x->p.cycles_n++;
    x->p.entries_n += plan.entries_n;
    x->p.now_ms = now_ms;
    x->p.first_ms = x->p.first_ms ? x->p.first_ms : now_ms;
    if (plan.entries_n != (uint64_t)entries_n || plan_digest(&plan, x->io.names, &x->scratch) != digest) {
        x->result->otherwise_ms = x->result->otherwise_n ? x->result->otherwise_ms : now_ms;
        x->result->otherwise_n++;
    }
    if (x->o->plan)
        x->o->plan(x->o->arg, &x->p, &plan);
    arena_reset(x->cycle);
    return true;
}

static bool play_end(struct play *x)
{
    uint64_t digest;
    if (!read_u64(x, &digest))
        return false;
    x->result->ended = x->over = true;
    x->result->state_is_other = digest != state_digest(x->p.state);
    return true;
}

/* Names that the state does not need go, as they did then. */
static void play_forget(struct play *x)
{
    change_io_forget(&x->io);
    state_mark_names(x->p.state);
    intern_sweep(x->io.names);
}

/* False: it makes no sense. */
static bool play_entry(struct play *x)
{
    switch (*x->io.at++) {
    case RECORDING_POLICY:
        return play_policy(x);
    case RECORDING_CHANGE:
        return play_change(x);
    case RECORDING_CONFIG:
        change_io_config(&x->io, &x->config);
        return !x->io.bad;
    case RECORDING_CYCLE:
        return play_cycle(x);
    case RECORDING_EXPECT:
        state_expect_as_now(x->p.state);
        return true;
    case RECORDING_FORGET:
        play_forget(x);
        return true;
    case RECORDING_END:
        return play_end(x);
    default:
        return false;
    }
}

static int play_all(struct play *x)
{
    int r = 0;
    while (!x->over && (r = next_block(x)) > 0) {
        x->io.at = x->block.data;
        x->io.end = x->block.data + x->block.n;
        while (!x->over && x->io.at < x->io.end)
            if (!play_entry(x))
                return err_set(x->e, E_INVALID, "%s: an entry of file %u, before byte %llu, makes no sense: it is of another version",
                               x->run, x->file_n - 1, (unsigned long long)x->at);
    }
    return r < 0 ? r : 0;
}

int player_play(const char *dir, const char *run, const struct player_options *o, struct player_result *ret_result, struct err *e)
{
    *ret_result = (struct player_result){0};
    struct play x = {.o = o, .result = ret_result, .records = arena_new(), .cycle = arena_new(), .dir = dir, .run = run, .e = e};
    x.p.state = state_new();
    x.io = (struct change_io){.reading = true, .names = state_names(x.p.state), .arena = x.records};
    int r = play_all(&x);
    if (r == 0 && o->end)
        o->end(o->arg, &x.p);
    ret_result->changes_n = x.p.changes_n;
    ret_result->cycles_n = x.p.cycles_n;
    ret_result->entries_n = x.p.entries_n;
    ret_result->first_ms = x.p.first_ms;
    ret_result->last_ms = x.p.now_ms;
    if (x.file)
        (void)fclose(x.file); /* it was read */
    change_io_fini(&x.io);
    buf_free(&x.block);
    buf_free(&x.scratch);
    state_free(x.p.state);
    arena_free(x.records);
    arena_free(x.cycle);
    return r;
}
