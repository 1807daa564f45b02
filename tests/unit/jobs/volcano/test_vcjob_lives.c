/* Random lives of Volcano Jobs: pods come, run, end, are deleted, and somebody gives orders. At each step the table of vcjob_state.c is
 * asked beside a slow reference, which reads Volcano's rules as sentences over the pods themselves, and keeps no counts.
 *
 *     LIVES=100000 LIVES_SEED=7 build/tests/unit/jobs/volcano/test_jobs_vcjob_lives
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/bytes.h"
#include "base/random.h"
#include "jobs/volcano/vcjob_state.h"

enum { TASKS_MOST = 3, PODS_MOST = 12, STEPS = 60, QUIET_STEPS = 40 };
enum pod_is { ABSENT, PENDING, RUNNING, SUCCEEDED, FAILED, UNKNOWN, LEAVING };
struct one {
    enum pod_is is;
    int task;
};
struct life {
    struct one pods[PODS_MOST];
    int pods_n, tasks_n;
    int64_t task_min[TASKS_MOST];
    struct vcjob_view job; /* phase, min_available, min_success, max_retry, retry_count: what is not counted of pods */
    int versions_n;
    struct random random;
};

/* ---- the reference: sentences ---- */

static int64_t how_many(const struct life *l, enum pod_is is)
{
    int64_t n = 0;
    for (int i = 0; i < l->pods_n; i++)
        n += l->pods[i].is == is;
    return n;
}

static int64_t succeeded_of(const struct life *l, int task)
{
    int64_t n = 0;
    for (int i = 0; i < l->pods_n; i++)
        n += l->pods[i].task == task && l->pods[i].is == SUCCEEDED;
    return n;
}

static const char *when_synced(const struct life *l)
{
    const char *is = vcjob_phase_name(l->job.phase);
    int64_t run = how_many(l, RUNNING), good = how_many(l, SUCCEEDED), bad = how_many(l, FAILED), wait = how_many(l, PENDING),
            leave = how_many(l, LEAVING), all = l->pods_n;
    if (strcmp(is, "Pending") == 0)
        return all && run + good + bad >= l->job.min_available ? "Running" : is;
    if (strcmp(is, "Running") == 0) {
        if (!all)
            return is; /* scaled to nothing */
        if (l->job.min_success && good >= l->job.min_success)
            return "Completed";
        if (good + bad == all) {
            int64_t least = 0;
            bool short_of = false;
            for (int t = 0; t < l->tasks_n; t++) {
                least += l->task_min[t];
                short_of |= succeeded_of(l, t) < l->task_min[t];
            }
            if ((l->job.min_available >= least && short_of) || l->job.min_success)
                return "Failed";
            return good >= l->job.min_available ? "Completed" : "Failed";
        }
        return wait > all - l->job.min_available ? "Pending" : is;
    }
    if (strcmp(is, "Restarting") == 0)
        return l->job.retry_count >= l->job.max_retry ? "Failed" : all - leave >= l->job.min_available ? "Pending" : is;
    bool still = wait || run || leave;
    if (strcmp(is, "Aborting") == 0)
        return still ? is : "Aborted";
    if (strcmp(is, "Terminating") == 0)
        return still ? is : "Terminated";
    if (strcmp(is, "Completing") == 0)
        return still ? is : "Completed";
    return is;
}

static const char *when_told(const struct life *l, const char *action, bool *ret_retry, bool *ret_whole)
{
    const char *is = vcjob_phase_name(l->job.phase);
    bool alive = strcmp(is, "Pending") == 0 || strcmp(is, "Running") == 0, restarts = text_starts(action, "Restart");
    *ret_retry = *ret_whole = false;
    if (strcmp(action, "SyncJob") == 0)
        return when_synced(l);
    if (strcmp(action, "ResumeJob") == 0 && text_starts(is, "Abort")) {
        *ret_retry = *ret_whole = true;
        return "Restarting";
    }
    if (!alive || strcmp(action, "ResumeJob") == 0)
        return is;
    *ret_retry = restarts;
    *ret_whole = !restarts || strcmp(action, "RestartJob") == 0;
    return restarts                                ? "Restarting"
           : strcmp(action, "AbortJob") == 0       ? "Aborting"
           : strcmp(action, "TerminateJob") == 0   ? "Terminating"
                                                   : "Completing";
}

/* ---- what counts make of it ---- */

static struct vcjob_view seen(const struct life *l)
{
    struct vcjob_view v = l->job;
    v.replicas = l->pods_n;
    v.pending_n = how_many(l, PENDING);
    v.running_n = how_many(l, RUNNING);
    v.succeeded_n = how_many(l, SUCCEEDED);
    v.failed_n = how_many(l, FAILED);
    v.terminating_n = how_many(l, LEAVING);
    v.unknown_n = how_many(l, UNKNOWN);
    v.tasks_n = (uint32_t)l->tasks_n;
    for (int t = 0; t < l->tasks_n; t++) {
        v.tasks[t].min_available = l->task_min[t];
        v.tasks[t].succeeded_n = succeeded_of(l, t);
    }
    return v;
}

static void step(struct life *l, enum vcjob_action action, uint64_t seed, int at)
{
    bool retry, whole;
    const struct vcjob_view v = seen(l);
    const struct vcjob_step is = vcjob_state_next(&v, action);
    const char *wanted = when_told(l, vcjob_action_name(action), &retry, &whole);
    if (strcmp(wanted, vcjob_phase_name(is.next)) != 0 || is.retry != retry || is.whole != whole)
        fail_msg("seed %llu, step %d, %s of %s: %s retry %d whole %d, and by the rules %s %d %d", (unsigned long long)seed, at,
                 vcjob_action_name(action), vcjob_phase_name(v.phase), vcjob_phase_name(is.next), is.retry, is.whole, wanted, retry, whole);
    if (vcjob_phase_final(v.phase) && is.next != v.phase)
        fail_msg("seed %llu, step %d: it was over", (unsigned long long)seed, at);
    l->job.phase = is.next;
    l->job.retry_count += is.retry;
    l->versions_n += is.whole;
    if (l->job.retry_count > l->job.max_retry && is.next != VCJOB_RESTARTING && is.next != VCJOB_FAILED)
        fail_msg("seed %llu, step %d: restarted %d times", (unsigned long long)seed, at, (int)l->job.retry_count);
    for (int i = 0; i < l->pods_n; i++) { /* the standing order of the phase */
        enum pod_is was = l->pods[i].is;
        bool ended = was == SUCCEEDED || was == FAILED;
        if (is.kill == VCJOB_KILL_HARD && was != ABSENT && (is.whole || was == LEAVING))
            l->pods[i].is = LEAVING;
        if (is.kill == VCJOB_KILL_SOFT && was != ABSENT && !ended)
            l->pods[i].is = LEAVING;
    }
}

/* ---- what happens ---- */

static void happens(struct life *l)
{
    bool makes = l->job.phase == VCJOB_PENDING || l->job.phase == VCJOB_RUNNING;
    struct one *pod = l->pods_n ? &l->pods[random_below(&l->random, (uint64_t)l->pods_n)] : NULL;
    if (!pod)
        return;
    switch (pod->is) {
    case ABSENT:
        pod->is = makes ? PENDING : ABSENT;
        return;
    case PENDING:
        pod->is = random_permille(&l->random, 900) ? RUNNING : LEAVING;
        return;
    case RUNNING:
        pod->is = (enum pod_is[]){SUCCEEDED, SUCCEEDED, FAILED, UNKNOWN, LEAVING}[random_below(&l->random, 5)];
        return;
    case UNKNOWN:
        pod->is = RUNNING;
        return;
    case LEAVING:
        pod->is = ABSENT;
        return;
    case SUCCEEDED:
    case FAILED:
        return;
    }
}

static void born(struct life *l, uint64_t seed)
{
    *l = (struct life){.random = {seed}};
    l->tasks_n = 1 + (int)random_below(&l->random, TASKS_MOST);
    int64_t least = 0;
    for (int t = 0; t < l->tasks_n; t++) {
        int n = (int)random_below(&l->random, PODS_MOST / TASKS_MOST + 1);
        for (int i = 0; i < n; i++)
            l->pods[l->pods_n++] = (struct one){ABSENT, t};
        l->task_min[t] = n ? (int64_t)random_below(&l->random, (uint64_t)n + 1) : 0;
        least += l->task_min[t];
    }
    bool fewer = random_permille(&l->random, 300);
    l->job = (struct vcjob_view){.phase = VCJOB_PENDING, .max_retry = 1 + (int64_t)random_below(&l->random, 4)};
    l->job.min_available = fewer ? (int64_t)random_below(&l->random, (uint64_t)l->pods_n + 1) : least;
    l->job.min_success = l->pods_n && random_permille(&l->random, 200) ? 1 + (int64_t)random_below(&l->random, (uint64_t)l->pods_n) : 0;
}

/* Nobody gives orders any more: pods run to their end, what leaves is gone. */
static void settles(struct life *l, uint64_t seed)
{
    for (int i = 0; i < QUIET_STEPS && !vcjob_phase_final(l->job.phase) && l->job.phase != VCJOB_ABORTED; i++) {
        for (int p = 0; p < l->pods_n; p++) {
            enum pod_is *is = &l->pods[p].is;
            bool makes = l->job.phase == VCJOB_PENDING || l->job.phase == VCJOB_RUNNING;
            *is = *is == ABSENT && makes ? PENDING : *is == PENDING ? RUNNING : *is == RUNNING || *is == UNKNOWN ? SUCCEEDED
                  : *is == LEAVING                                                                               ? ABSENT
                                                                                                                 : *is;
        }
        step(l, VCJOB_DO_SYNC, seed, STEPS + i);
    }
    bool over = vcjob_phase_final(l->job.phase) || l->job.phase == VCJOB_ABORTED;
    if (!over && l->pods_n)
        fail_msg("seed %llu: it ends as %s", (unsigned long long)seed, vcjob_phase_name(l->job.phase));
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    int64_t n;
    const char *text = getenv(name);
    return text && bytes_int64(bytes_of(text), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

static void all_lives_go_by_the_rules(void **state)
{
    uint64_t lives_n = number_of("LIVES", 20000), first = number_of("LIVES_SEED", 1);
    int ended[VCJOB_PHASES_N] = {0};
    (void)state;
    for (uint64_t seed = first; seed < first + lives_n; seed++) {
        struct life l;
        born(&l, seed);
        for (int i = 0; i < STEPS; i++) {
            for (uint64_t n = random_below(&l.random, 4); n; n--)
                happens(&l);
            bool ordered = random_permille(&l.random, 60);
            step(&l, ordered ? (enum vcjob_action)random_below(&l.random, VCJOB_ACTIONS_N) : VCJOB_DO_SYNC, seed, i);
        }
        settles(&l, seed);
        ended[l.job.phase]++;
    }
    /* Each end is met, else this tries nothing. */
    static const enum vcjob_phase ends[] = {VCJOB_COMPLETED, VCJOB_TERMINATED, VCJOB_FAILED, VCJOB_ABORTED};
    for (size_t i = 0; i < sizeof ends / sizeof *ends && lives_n >= 1000; i++)
        assert_true(ended[ends[i]] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_lives_go_by_the_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
