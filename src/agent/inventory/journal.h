/* journal.h - what must survive a crash of the agent: an append-only file of checksummed lines
 *
 *     file:  capstan-journal 1\n   line*
 *     line:  16 hex digits | ' ' or '!' | record | \n        digits: hash of mark and record, seeded with the line before
 *            '!': synced; when such a line is there, all before it were on the disk
 *
 * A crash can leave a torn tail: everything behind the last good line is cut off, unless a good synced line follows: then the file was
 * damaged by something else (-E_INVALID; nothing is changed). In a record newline and backslash are written \n and \\.
 * RACE   an flock on <path>.lock: a second agent on the same directory is refused (-E_CONFLICT).
 */
#ifndef AGENT_JOURNAL_H
#define AGENT_JOURNAL_H
#include "base/bytes.h"

#define LIMIT_JOURNAL_BYTES (16u << 20) /* a node with 768 slots writes about 100 KB */

struct journal;
/* Called for each record of the file, in order, before journal_open returns; a negative code ends it. */
typedef int (*journal_replay_fn)(void *arg, struct bytes record, struct err *e);
/* Makes file and directory when missing. ret_cut_bytes: how much of a torn tail was cut off; may be NULL. */
int journal_open(const char *path, journal_replay_fn fn, void *arg, uint64_t *ret_cut_bytes, struct journal **ret_j,
                 struct err *e);
void journal_close(struct journal *j); /* NULL-safe */
/* On the disk when it returns (sync), or at least safe from a crash of this process. On failure the file is as before. */
int journal_append(struct journal *j, struct bytes record, bool sync, struct err *e);
/* The file has grown to more than four times what the last rewrite of this process wrote, and past 64 KiB. */
bool journal_has_grown(const struct journal *j);
/* Replace the file by what `write` adds with journal_rewrite_add: a new file, synced, renamed over the old one. */
int journal_rewrite(struct journal *j, void (*write)(void *arg, struct journal *j), void *arg, struct err *e);
void journal_rewrite_add(struct journal *j, struct bytes record);

#endif
