/* feedback.h - what the scheduler should know of each unit, on the node: annotation capstan.dev/gpu-feedback
 *
 *     {"at":1750000000,"period":15,"units":[
 *         {"id":"GPU-…","activity":0.62,"memory":[used MiB, total MiB],"margin":28,"throttled":false,"xid":0,"xidAt":0}]}
 *
 * Bounded (<= 16 KiB: beyond that units are grouped per GPU), at most one write per period and only on real change (activity by 0.1, memory
 * by 5 %, margin by 3 degrees, any flag; or when the last write is 10 periods old, so that its age stays known). Readers ignore what is
 * older than 12 periods.
 * SOURCE the idea is KETI's GPU-Scheduler's.
 */
#ifndef EXPORTER_FEEDBACK_H
#define EXPORTER_FEEDBACK_H
#include "exporter/sample.h"

#define FEEDBACK_ANNOTATION "capstan.dev/gpu-feedback"
struct feedback;
struct feedback *feedback_new(int64_t period_ms);
void feedback_free(struct feedback *f);
/* True when the annotation should be written now; the text is in out. */
bool feedback_update(struct feedback *f, const struct sample *s, int64_t now_ms, struct buf *out);
/* The merge patch of the node that writes this text; `out` is cleared first. */
void feedback_patch(struct bytes text, struct buf *out);

#endif
