/* status_placeless.c - Workloads whose checks are ready and for which the nodes do not come that these promised
 *
 * Events say so after 1, 3, 7 s and so on: the object says it once, and nothing of it changes while nothing changes.
 * SOURCE Kueue, which tries such a Workload again at about these times; here it is tried when a node changes.
 */
#include "sched/scheduler.h"

/* After so many Events, the next. */
static int64_t due_ms(uint8_t n)
{
    return ((2LL << n) - 1) * 1000;
}

void status_placeless(struct scheduler *s, struct work *w, struct seen_gang *g, struct kube_object_ref about)
{
    int64_t now_ms = loop_now_ms(s->loop);
    if (!g->placeless_ms)
        g->placeless_ms = now_ms;
    int64_t waited_ms = now_ms - g->placeless_ms;
    if (waited_ms >= due_ms(g->placeless_n)) {
        kube_event(s->events, &about, "Warning", "SecondPassFailed", "Its checks are ready and it has had no place for %llds: %s",
                   (long long)waited_ms / 1000, g->text);
        g->placeless_n++;
    }
    work_again(w, due_ms(g->placeless_n) - waited_ms);
}
