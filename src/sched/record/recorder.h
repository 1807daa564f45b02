/* recorder.h - keeps what a scheduler takes in and decides (recording.h), so that it can be replayed to the bit
 *
 * LIMIT  of all files in the folder together: the oldest runs go; a run that alone would have more is kept up to there, and said so.
 * OWNER  one a scheduler, for its life. What cannot be written ends the recording with a warning; scheduling goes on.
 */
#ifndef SCHED_RECORDER_H
#define SCHED_RECORDER_H
#include "core/decide.h"
#include "loop/loop.h"

struct recorder;
/* dir is made when absent (0700). */
int recorder_new(struct loop *l, const char *dir, int64_t limit_bytes, struct recorder **ret_r, struct err *e);
void recorder_free(struct recorder *r); /* NULL-safe, as all below */
/* Before anything else, with the state's names; state: for its digest at the end. */
void recorder_begin(struct recorder *r, struct state *s, const struct policy *policy);
void recorder_change(struct recorder *r, const struct change *c); /* before state_apply */
void recorder_cycle(struct recorder *r, const struct decide_config *config, int64_t now_ms, const struct plan *plan); /* after decide */
void recorder_expect(struct recorder *r);          /* state_expect_as_now */
void recorder_forget(struct recorder *r);          /* before names are swept */
void recorder_end(struct recorder *r);             /* the state is about to go */
uint64_t recorder_bytes(const struct recorder *r); /* written by this run */

#endif
