/* start_note.h - in the tree of reasons of what waits: when it starts, as things are
 *
 *   {...,"start":{"about":"2026-01-31T12:00:00Z","from":["limits","runs"]}}
 *
 * from: what the ends before it are known from: limits of time, earlier runs of jobs of that name.
 */
#ifndef SCHED_START_NOTE_H
#define SCHED_START_NOTE_H
#include <stdbool.h>
#include <stdint.h>

/* The tree, an object as JSON text, with this start in the place of the one that it says; ms 0: with none. The caller frees it. */
char *start_note(const char *tree, int64_t start_ms, uint8_t basis);

/* Is another start so different from the one that was told that it is news? By a minute, or an eighth of the time until then. */
bool start_is_news(int64_t told_ms, uint8_t told_basis, int64_t start_ms, uint8_t basis, int64_t now_ms);

#endif
