/* feedback.h - what the scheduler should know of each unit, on the node: annotation capstan.dev/gpu-feedback
 *
 *     {"at":1750000000,"period":15,"network":123456,"networkOf":"rdma","units":[
 *         {"id":"GPU-…","activity":0.62,"memory":[used MiB, total MiB],"margin":28,"throttled":false,"xid":0,"xidAt":0}]}
 *
 * Bounded (<= 16 KiB: beyond that units are grouped per GPU), at most one write per period and only on real change (activity by 0.1, memory
 * by 5 %, margin by 3 degrees, any flag, or that the network is quiet, or no more, or who is on a device; or when the last write is 10
 * periods old, so that its age stays known). Readers ignore what is older than 12 periods.
 * network: bytes a second in and out of the whole node, of all its ports ("rdma") or of its interfaces alone ("ethernet"); not there where
 * neither is counted.
 * SOURCE the idea is KETI's GPU-Scheduler's.
 */
#ifndef EXPORTER_FEEDBACK_H
#define EXPORTER_FEEDBACK_H
#include "exporter/sample.h"

#define FEEDBACK_ANNOTATION "capstan.dev/gpu-feedback"
struct feedback;
struct feedback *feedback_new(int64_t period_ms);
void feedback_free(struct feedback *f);
#define FEEDBACK_QUIET_BYTES 1048576.0 /* a second: below that a node's network is quiet but for what every node says */
/* What the node's network carries as of the next update; bytes_per_s below zero: that is not known. */
void feedback_network(struct feedback *f, double bytes_per_s, bool rdma);
/* True when the annotations should be written now; their texts are in ret_text and ret_sessions (session_note.h). */
bool feedback_update(struct feedback *f, const struct sample *s, int64_t now_ms, struct buf *ret_text, struct buf *ret_sessions);
/* The merge patch of the node that writes both texts; `out` is cleared first. */
void feedback_patch(struct bytes text, struct bytes sessions, struct buf *out);

#endif
