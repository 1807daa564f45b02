/* player.h - a recording, played back: the same changes into a new state, the same cycles, and whether the same plans come of them
 *
 *     files of a run ──▶ entries ──▶ state_apply, decide ──▶ each plan: to who looks, and compared with what was recorded
 *
 * LIMIT  one block in memory (RECORDING_BLOCK_MAX), and the state.
 * BAD INPUT  a recording that is cut or damaged is played up to there; ret_result->cut says where. Entries that make no sense are
 *            -E_INVALID.
 */
#ifndef SCHED_RECORD_PLAYER_H
#define SCHED_RECORD_PLAYER_H
#include "core/decide.h"

/* The runs in the folder, the oldest first; their names ("20260101T000000.123Z"), in the arena. -E_NOTFOUND: there are none. */
int player_runs(const char *dir, struct arena *a, const char *const **ret_runs, uint32_t *ret_n, struct err *e);

struct player { /* what is being played */
    struct state *state;
    uint64_t changes_n, cycles_n, entries_n;
    int64_t first_ms, now_ms; /* wall time of the first cycle, and of the last so far; 0: there was none */
};
struct player_options {
    int64_t until_ms; /* no cycle after that; INT64_MAX: all */
    /* May be NULL. A change that was taken in; a plan that was made. */
    void (*change)(void *arg, const struct player *p, const struct change *c);
    void (*plan)(void *arg, const struct player *p, const struct plan *plan);
    void (*end)(void *arg, struct player *p); /* at the end, while there is the state */
    void *arg;
};
struct player_result {
    uint64_t changes_n, cycles_n, entries_n, files_n, bytes_n;
    int64_t first_ms, last_ms; /* wall time of cycles; 0: there was none */
    uint64_t otherwise_n;      /* cycles with another plan than recorded */
    int64_t otherwise_ms;      /* wall time of the first of these */
    bool ended;                /* the scheduler ended in good order, and all was played */
    bool state_is_other;       /* ended: in another state */
    char cut[160];             /* "": it is whole; else where it was cut or damaged */
};
int player_play(const char *dir, const char *run, const struct player_options *o, struct player_result *ret_result, struct err *e);

#endif
