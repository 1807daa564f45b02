/* event.c - events of the node: a ring in the shared file, and sleeping until it grows
 *
 * RACE  the event is written first, then events_n passes it; readers take the lock, so they see both. A reader that is more than
 *       NVSIM_EVENTS_MAX behind has lost the oldest, as with the driver's own queue.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "nvsim/state.h"

void nvsim_event_add(struct nvsim *n, uint32_t gpu, uint32_t gi, uint32_t ci, uint64_t type, uint64_t data, int64_t now_us)
{
    struct nvsim_state *s = n->state;
    uint32_t at = __atomic_load_n(&s->events_n, __ATOMIC_RELAXED);
    s->events[at % NVSIM_EVENTS_MAX] =
        (struct nvsim_event){.type = type, .data = data, .gpu = gpu, .gi = gi, .ci = ci, .at_us = now_us};
    __atomic_store_n(&s->events_n, at + 1, __ATOMIC_RELEASE);
    (void)syscall(SYS_futex, &s->events_n, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); /* nobody waiting is fine */
}

uint32_t nvsim_event_count(const struct nvsim *n)
{
    return __atomic_load_n(&n->state->events_n, __ATOMIC_ACQUIRE);
}

void nvsim_event_sleep(struct nvsim *n, uint32_t seen, uint32_t timeout_ms)
{
    struct timespec t = {.tv_sec = timeout_ms / 1000, .tv_nsec = (long)(timeout_ms % 1000) * 1000000};
    /* Waking early (signal, or the word had changed already) is harmless: the caller looks again. */
    (void)syscall(SYS_futex, &n->state->events_n, FUTEX_WAIT, seen, &t, NULL, 0);
}
