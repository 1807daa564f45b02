/* names.c - names that nobody needs any more are given back now and then (base/collections/intern.h)
 *
 * WHEN  between two cycles, when no change is on its way in: records of changes hold ids too. Texts are kept by whoever hands one to a
 *       write or a timer, never what intern_name returned.
 * COST  a walk over all that is known, each time that there are twice as many names as the last one left.
 */
#include "sched/binding/queue_gates.h"
#include "sched/scheduler.h"

enum { NAMES_LEAST = 4096 };

void names_sweep(struct scheduler *s)
{
    if (s->incoming_n > 0 || (!s->config.sweep_always && !intern_sweep_due(s->names, NAMES_LEAST)))
        return;
    recorder_forget(s->config.recorder);
    for (uint32_t i = 0; i < s->scheduler_names_n; i++)
        intern_mark(s->names, s->scheduler_names[i]);
    intern_mark(s->names, s->queue_name_label);
    seen_mark_names(s);
    binds_mark_names(s);
    queue_gates_mark_names(s->queue_gates);
    state_mark_names(s->state);
    intern_sweep(s->names);
}
