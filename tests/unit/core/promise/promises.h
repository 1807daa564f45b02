/* promises.h - stories over several cycles: what each decides, and who leaves between them */
#ifndef TEST_PROMISES_H
#define TEST_PROMISES_H
#include "../stories.h"

static inline void decides(struct world *w, const char *expected)
{
    step(w);
    if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* In this cycle or in the next: what the last one gave back is looked at then. */
static inline void decides_soon(struct world *w, const char *expected)
{
    step(w);
    if (!*decided(w))
        decides(w, expected);
    else if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* When the plan says so, though nothing else changes: reasons are looked for anew in between. */
static inline void decides_within_10_s(struct world *w, const char *expected)
{
    int64_t end_ms = w->now_ms + 10000;
    do {
        assert_true(w->plan.wake_ms > w->now_ms && w->plan.wake_ms <= end_ms);
        w->now_ms = w->plan.wake_ms;
        step(w);
    } while (!*decided(w));
    if (strcmp(decided(w), expected) != 0)
        fail_msg("decided \"%s\", expected \"%s\"", decided(w), expected);
}

/* The API shows that the eviction was written, and then that its job has stopped: the same line as when it came, but with "wants". */
static inline void leaves(struct world *w, const char *name, const char *wants)
{
    outcome(w, EFFECT_EVICT, name, NULL, OUTCOME_DONE);
    story(w, wants);
}

static inline void says(struct world *w, const char *gang, const char *part)
{
    if (!strstr(why_tree(w, gang), part))
        fail_msg("\"%s\" is not in:\n%s", part, why_tree(w, gang));
}

#endif
