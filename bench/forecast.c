/* forecast.c - what it costs to say when everybody starts, on 1,000 nodes x 8 GPUs that are full
 *
 * forecast.10000         10,000 gangs of one GPU wait in 30 queues of one cohort: CPU until each has a start
 * forecast.10000.mixed   the same, of 1 to 16 pods of 1 to 8 GPUs
 * forecast.10000.fork    what the copy of the process costs the one that goes on, in which that is done: the median of 20
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../tests/unit/core/world.h"
#include "core/time/forecast.h"
#include "figure_line.h"

#define GPU "nvidia.com/gpu"
enum { NODES = 1000, QUEUES = 30, RUNNING = NODES * 8 / QUEUES * QUEUES, WAITING = 10000, FORKS = 20 };

static struct gang_record job(struct world *w, int i, int32_t pods, int gpus)
{
    char name[24], key[32], requests[64];
    snprintf(name, sizeof name, "job-%05d", i);
    snprintf(key, sizeof key, "ns/queue-%02d", i % QUEUES);
    snprintf(requests, sizeof requests, GPU "=%d", gpus);
    struct gang_record r = a_workload(w, name, key, pods, requests);
    r.created_ms = i;
    return r;
}

static void make(struct world *w, bool mixed, struct forecast_job *jobs)
{
    char name[24], key[32];
    flavor(w, "any", "");
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof name, "node-%04d", i);
        node(w, name, "pods=110," GPU "=8", "");
    }
    for (int i = 0; i < QUEUES; i++) {
        struct queue_words q;
        snprintf(name, sizeof name, "queue-%02d", i);
        snprintf(key, sizeof key, "ns/%s", name);
        queue_begin(w, &q, name, "root");
        queue_quota(w, &q, "any", GPU, NODES * 8 / QUEUES, NO_LIMIT, NO_LIMIT);
        queue_done(w, &q);
        local_queue(w, key, name);
    }
    for (int i = 0; i < RUNNING + WAITING; i++) {
        bool small = i < RUNNING || !mixed;
        struct gang_record r = job(w, i, small ? 1 : 1 << (i % 5), small ? 1 : 1 << (i / 5 % 4));
        gang_record(w, r);
        jobs[i] = (struct forecast_job){.gang = r.key, .basis = END_BY_LIMIT, .run_ms = 1000 * (60 + i * 7919L % 3600)};
        if (i != RUNNING - 1)
            continue;
        const struct decide_config all = {.gangs_max = 100000, .pods_max = 1000000};
        decide(w->s, &all, w->now_ms, w->cycle, &w->plan);
        arena_reset(w->cycle);
    }
    decide(w->s, &(struct decide_config){.gangs_max = 100000, .no_remedies = true}, w->now_ms, w->cycle, &w->plan);
    arena_reset(w->cycle);
}

static int compare_numbers(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure_forks(void)
{
    double all[FORKS];
    for (int i = 0; i < FORKS; i++) {
        double began = wall_seconds();
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        all[i] = wall_seconds() - began;
        (void)waitpid(pid, NULL, 0);
    }
    qsort(all, FORKS, sizeof *all, compare_numbers);
    print("forecast.10000.fork", all[FORKS / 2] * 1e6, "us");
}

static int measure(const char *name, bool mixed)
{
    static struct forecast_job jobs[RUNNING + WAITING];
    struct world w = world_new();
    uint32_t started_n = 0;
    make(&w, mixed, jobs);
    if (!mixed)
        measure_forks();
    double began = cpu_seconds();
    forecast(w.s, &(struct decide_config){0}, &(struct forecast_bounds){.until_ms = INT64_MAX / 2, .steps_max = 100000}, jobs,
             RUNNING + WAITING, w.now_ms);
    print(name, (cpu_seconds() - began) * 1e3, "ms");
    for (int i = 0; i < RUNNING + WAITING; i++)
        started_n += jobs[i].start_ms != 0;
    world_free(&w);
    if (started_n == WAITING)
        return 0;
    fprintf(stderr, "%s: %u have a start, not %d\n", name, started_n, WAITING);
    return 1;
}

int main(void)
{
    return measure("forecast.10000", false) | measure("forecast.10000.mixed", true);
}
