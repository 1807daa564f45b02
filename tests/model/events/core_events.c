/* core_events.c - random clusters, random events, random faults; what must hold is checked after every decision and at every rest
 *
 *   core_events [SEED [STEPS [RUNS]]]          MODEL_TRACE=1 prints every event
 *
 * The test plays users, kubelets, job controllers and the API server (core_random.c, core_api.c), takes the core's writes and refuses,
 * loses or delays them and their answers (core_answers.c), lets records come late and restarts the core at any moment. After each decision:
 * state_check, and what core_oracle.c asks. Every REST_EVERY steps all is told and answered, and core_rest.c looks who waits and why. Each
 * run is made twice, and must give the same plans: once names are swept after every step, once never. A failure prints seed, step and the
 * last events.
 */
#include "core_model.h"
#include "../forced.h"

enum { REST_EVERY = 40, EVENTS_MAX = 4, FORCE_EVERY = 4 };

/* What was told so far may be all that comes for long: nobody waits then who could start. */
static void nobody_waits_for_a_wake(struct model *m)
{
    if (m->sweeps && (m->seed + m->step) % FORCE_EVERY == 0 && !forced_world_rests(&m->life.w))
        die(m, "somebody waits who could start, or have others go, and nothing wakes him");
}

static void tell_some(struct model *m)
{
    for (int i = 0; i < STREAM_N; i++) {
        if (chance(m, 200))
            continue; /* this watch is slow */
        for (uint32_t n = chance(m, 600) ? STREAM : pick(m, 6); n && deliver(m, &m->life, (enum stream_id)i); n--)
            ;
    }
}

static void restart(struct model *m)
{
    note(m, "restart");
    m->restarts_n++;
    m->answers_n = 0; /* nobody is there to hear them; what was under way still lands, or does not */
    if (chance(m, 500))
        work_writes(m, true);
    m->writes_n = m->answers_n = 0;
    int64_t now_ms = m->life.w.now_ms;
    life_end(&m->life);
    m->life.w.now_ms = now_ms;
    life_begin(m, &m->life);
    check_consumed(m, &m->life);
}

/* Names that nobody keeps take the lowest ids that are free: what is named anew gets others than in the run without. */
static void sweep(struct model *m)
{
    char text[32];
    sweep_names(&m->life.w);
    for (uint64_t n = (m->seed * 31 + m->step * 7) % 6; n; n--) {
        snprintf(text, sizeof text, "passing-%" PRIu64, n);
        (void)intern_text_id(m->life.w.names, text);
    }
}

static void step(struct model *m)
{
    m->faults = true;
    for (uint32_t n = 1 + pick(m, EVENTS_MAX); n; n--)
        random_event(m);
    random_heal(m);
    random_controllers(m, false);
    tell_some(m);
    work_writes(m, false);
    work_answers(m, false);
    if (chance(m, 20))
        restart(m);
    oracle_check(m, &m->life);
    if (m->sweeps)
        sweep(m); /* what the last decision kept meets records that no longer name the same */
    if (chance(m, 850)) {
        decide_now(&m->life);
        m->trace = plan_hash(&m->life, m->trace);
        oracle_plan(m, &m->life);
        oracle_check(m, &m->life);
        oracle_reasons(m, &m->life);
        submit(m, &m->life.w.plan);
        write_consumed(m, false);
    }
    nobody_waits_for_a_wake(m);
    if (m->step % REST_EVERY == REST_EVERY - 1) {
        come_to_rest(m);
        rest_checks(m);
    }
    if (m->sweeps)
        sweep(m);
}

static uint64_t run_seed(uint64_t seed, uint64_t steps, bool sweeps)
{
    static struct model model;
    struct model *m = &model;
    memset(m, 0, sizeof *m);
    m->random.state = m->seed = seed;
    m->serial = 1;
    m->sweeps = sweeps;
    ready_policy(m);
    consumption_policy(m);
    life_begin(m, &m->life);
    random_world(m);
    for (m->step = 0; m->step < steps; m->step++)
        step(m);
    if (sweeps)
        printf("# seed %" PRIu64 ": %u admitted (%u with fewer members), %u with quota only, %u to try again, %u bound (%u with shares), %u evicted "
               "(%u preempted, %u of them pods alone, %u late), %u restarts, %u rests\n",
               seed, m->admits_n, m->fewer_n, m->reserves_n, m->retries_n, m->binds_n, m->shares_n, m->evicts_n, m->preempts_n, m->lone_n,
               m->late_n, m->restarts_n, m->rests_n);
    life_end(&m->life);
    return m->trace;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 400;
    uint64_t runs = argc > 3 ? strtoull(argv[3], NULL, 10) : 30;
    uint64_t all = 0;
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t first = run_seed(seed + i, steps, true);
        if (first != run_seed(seed + i, steps, false)) {
            fprintf(stderr, "core_events: seed %" PRIu64 ": two runs of the same events differ, with and without names swept\n", seed + i);
            return 1;
        }
        all = all * 31 + first;
    }
    /* Builds of other compilers and optimisation levels must print the same number for the same arguments. */
    printf("trace %016" PRIx64 "\n", all);
    return 0;
}
