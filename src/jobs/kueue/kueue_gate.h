/* kueue_gate.h - the scheduling gates that Kueue's webhook puts on pods, and that go when their Workload is admitted */
#ifndef JOBS_KUEUE_GATE_H
#define JOBS_KUEUE_GATE_H
#include "jobs/controllers.h"

bool kueue_gate_stands(const struct json *pod);
/* The pod's gates but Kueue's: a list, or null where none is left. */
struct json *kueue_gate_others(struct arena *a, const struct json *pod);
/* They go with the next write: whoever counts that is told once it is done. */
void kueue_gate_opens(const struct jobs *j, struct work *w, const struct json *pod, const struct json *workload, const char *queue,
                      bool is_group, int64_t now_ms);

#endif
