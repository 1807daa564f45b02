/* The tally of PodGroups against counting them all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/bytes.h"
#include "sched/figures/group_tally.h"

enum { GROUPS = 20, QUEUES = 3, PHASES = 6, STEPS = 20000 };
static const char *const queues[QUEUES] = {"red", "blue", "default"};
static const char *const phases[PHASES] = {"Pending", "Inqueue", "Running", "Unknown", "Completed", ""};

static void assert_counts(const struct group_counts *c, const int of_phase[PHASES])
{
    assert_int_equal(c->pending_n, of_phase[0] + of_phase[5]);
    assert_int_equal(c->inqueue_n, of_phase[1]);
    assert_int_equal(c->running_n, of_phase[2]);
    assert_int_equal(c->unknown_n, of_phase[3]);
    assert_int_equal(c->completed_n, of_phase[4]);
}

static void none_and_one(void **state)
{
    (void)state;
    const char *left = NULL;
    group_tally_free(NULL);
    struct group_tally *t = group_tally_new();
    assert_counts(&(struct group_counts){0}, (int[PHASES]){0});
    assert_string_equal(group_tally_remove(t, "n/a"), "");
    assert_true(group_tally_put(t, "n/a", "red", "Pending", &left));
    assert_string_equal(left, "");
    assert_false(group_tally_put(t, "n/a", "red", "", &left)); /* the same to the queue */
    assert_true(group_tally_put(t, "n/a", "red", "Running", &left));
    assert_string_equal(left, "red");
    assert_true(group_tally_put(t, "n/a", "blue", "Running", &left));
    assert_string_equal(left, "red");
    assert_int_equal(group_tally_of(t, "red").running_n, 0);
    assert_int_equal(group_tally_of(t, "blue").running_n, 1);
    assert_string_equal(group_tally_remove(t, "n/a"), "blue");
    assert_int_equal(group_tally_of(t, "blue").running_n, 0);
    group_tally_free(t);
}

/* Random groups come, move and go; after each step each queue has what a count of all says. */
static void as_counted(void **state)
{
    (void)state;
    struct group_tally *t = group_tally_new();
    int queue_of[GROUPS], phase_of[GROUPS]; /* queue -1: not there */
    uint64_t seed = 7;
    for (int i = 0; i < GROUPS; i++)
        queue_of[i] = -1;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        int i = (int)((seed >> 33) % GROUPS), q = (int)((seed >> 40) % (QUEUES + 1)) - 1;
        char key[32];
        const char *left, *was = queue_of[i] < 0 ? "" : queues[queue_of[i]];
        snprintf(key, sizeof key, "n/g%d", i);
        if (q < 0)
            assert_string_equal(group_tally_remove(t, key), was);
        else if (group_tally_put(t, key, queues[q], phases[(seed >> 50) % PHASES], &left))
            assert_string_equal(left, was);
        queue_of[i] = q;
        phase_of[i] = (int)((seed >> 50) % PHASES);
        for (int of = 0; of < QUEUES; of++) {
            int n[PHASES] = {0};
            for (int j = 0; j < GROUPS; j++)
                if (queue_of[j] == of)
                    n[phase_of[j]]++;
            struct group_counts c = group_tally_of(t, queues[of]);
            assert_counts(&c, n);
        }
    }
    group_tally_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(none_and_one), cmocka_unit_test(as_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
