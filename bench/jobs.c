/* jobs.c - jobs on virtual time, through a queue and the core: capstan sim jobs without its file
 *
 * jobs.64x8.QUEUE    20,000 jobs of 1 to 64 GPUs that ask for 95 % of 64 nodes x 8 GPUs, in bursts of ten: CPU for one of them
 * jobs.1000x8.QUEUE  the same on 1,000 nodes
 */
#include <math.h>
#include <stdlib.h>
#include "base/memory.h"
#include "base/random.h"
#include "figure_line.h"
#include "sim/trace/job_replay.h"

enum { JOBS = 20000, BURST = 10 };

/* Lengths are spread evenly by their logarithm, from 1 minute to 1 day. */
static struct job_trace make(uint32_t gpus_n)
{
    static const uint32_t sizes[] = {1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 16, 64};
    struct job_trace t = {.jobs = mem_zero(JOBS, sizeof *t.jobs), .jobs_n = JOBS, .cap = JOBS};
    struct random random = {1};
    double work = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
        struct job *j = &t.jobs[i];
        double drawn = (double)(random_next(&random) >> 11) / 9007199254740992.0;
        j->gpus_n = sizes[random_below(&random, sizeof sizes / sizeof *sizes)];
        j->runs_ms = j->expected_ms = (int64_t)(60000 * pow(1440, drawn));
        j->row = i;
        j->started_ms = -1;
        work += (double)j->runs_ms * j->gpus_n;
    }
    double every_ms = work / JOBS / (0.95 * gpus_n);
    for (uint32_t i = 0; i < JOBS; i++)
        t.jobs[i].came_ms = (int64_t)(every_ms * (i / BURST * BURST));
    return t;
}

static void measure(uint32_t nodes_n, enum job_queue queue, const char *name)
{
    char text[64];
    struct job_trace t = make(nodes_n * 8);
    struct job_options o = {.nodes_n = nodes_n, .gpus_n = 8, .queue = queue};
    struct job_result r;
    double start = cpu_seconds();
    job_replay(&t, &o, &r);
    snprintf(text, sizeof text, "jobs.%ux8.%s", nodes_n, name);
    print(text, (cpu_seconds() - start) * 1e6 / JOBS, "us");
    job_trace_fini(&t);
}

int main(void)
{
    measure(64, JOB_QUEUE_FIFO, "fifo");
    measure(64, JOB_QUEUE_EASY, "easy");
    measure(64, JOB_QUEUE_CAPSTAN, "capstan");
    measure(1000, JOB_QUEUE_CAPSTAN, "capstan");
    return 0;
}
