/* recording.h - what a scheduler took in and decided, as files: the form
 *
 *     DIR/20260101T000000.123Z-0000.rec, -0001.rec, ...     a run: one scheduler from its start on, which reads everything anew: what it
 *                                                           is told first is the whole state. A dictionary of names goes through it all
 *     file    magic, u64 run (ms since 1970), u32 number of the file, then blocks
 *     block   u32 bytes, u64 hash_bytes of them by the run, then entries; integers are little endian
 *     entry   a varint of enum recording_entry, then as recorder.c writes it (change_io.h)
 *
 * BAD INPUT  a block that is cut or damaged ends the recording there.
 */
#ifndef SCHED_RECORD_RECORDING_H
#define SCHED_RECORD_RECORDING_H
#include <stdint.h>

#define RECORDING_MAGIC "capstan record 7\n"
enum { RECORDING_MAGIC_N = sizeof RECORDING_MAGIC - 1, RECORDING_HEAD_N = RECORDING_MAGIC_N + 12, RECORDING_BLOCK_HEAD_N = 12 };
#define RECORDING_RUN_N 20               /* "20260101T000000.123Z" */
#define RECORDING_BLOCK_MAX (64u << 20)  /* of one turn: 20,000 changes */
#define RECORDING_FILE_BYTES (64u << 20) /* then the next file begins; or at a sixteenth of the limit of all */
enum recording_entry {
    RECORDING_POLICY = 1, /* the first: struct policy */
    RECORDING_CHANGE,     /* struct change */
    RECORDING_CONFIG,     /* struct decide_config, of all cycles from here on */
    RECORDING_CYCLE,      /* wall ms, plan_digest, number of entries of the plan */
    RECORDING_EXPECT,     /* state_expect_as_now */
    RECORDING_FORGET,     /* the dictionary begins anew */
    RECORDING_END,        /* state_digest: the scheduler ended in good order */
    RECORDING_ENTRIES_N
};

#endif
