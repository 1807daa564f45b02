#include "stakes.h"
#include <stdio.h>
#include "base/clock.h"
#include "codec/decode/decode.h"
#include "kube/object.h"

#define JOBS "/apis/batch/v1/namespaces/default/jobs"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

void stakes_change(struct world *w, int jobs_n)
{
    char time[TIME_TEXT_MAX];
    const char *job = arena_printf(w->arena, JOBS "/job%d", (int)random_below(&w->random, (uint64_t)jobs_n));
    uint64_t what = random_below(&w->random, 4), n = random_below(&w->random, 60);
    if (what < 3 && n < 15)
        world_patch(w, job, "{\"metadata\":{\"annotations\":{\"%s\":null}}}",
                    what == 0 ? DECODE_MINIMUM_RUN_ANNOTATION : DECODE_CHECKPOINT_ANNOTATION);
    else if (what == 0)
        world_patch(w, job, "{\"metadata\":{\"annotations\":{\"" DECODE_MINIMUM_RUN_ANNOTATION "\":\"%d\"}}}", (int)n);
    else if (what < 3)
        world_patch(w, job, "{\"metadata\":{\"annotations\":{\"" DECODE_CHECKPOINT_ANNOTATION "\":\"%s\"}}}",
                    time_format(time, loop_wall_ms(w->loop) + 5000 - (int64_t)n * 1000));
    else if (n < 10)
        world_post(w, BUDGETS,
                   "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":\"jobs\"},\"spec\":{\"maxUnavailable\":1,"
                   "\"selector\":{\"matchExpressions\":[{\"key\":\"batch.kubernetes.io/job-name\",\"operator\":\"Exists\"}]}}}");
    else
        world_patch(w, BUDGETS "/jobs", "{\"spec\":{\"maxUnavailable\":%d}}", (int)n % 5);
}

static void look_at(struct world *w, const struct json *workload, const struct json *job)
{
    static const char *const keys[] = {DECODE_MINIMUM_RUN_ANNOTATION, DECODE_CHECKPOINT_ANNOTATION};
    bool over = object_condition_true(workload, "Finished") || object_deleting(workload) || object_deleting(job) ||
                object_condition_true(job, "Complete") || object_condition_true(job, "Failed");
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !over; i++)
        if (strcmp(object_annotation(workload, keys[i]), object_annotation(job, keys[i])) != 0)
            world_broken(w, "job %s says %s \"%s\", its Workload \"%s\"", object_meta(job, "name"), keys[i],
                         object_annotation(job, keys[i]), object_annotation(workload, keys[i]));
}

bool stakes_check(struct world *w)
{
    _cleanup_arena_ struct arena *a = arena_new();
    const struct json *jobs = world_read(w, a, JOBS), *workloads = world_read(w, a, "/apis/kueue.x-k8s.io/v1beta2/workloads");
    JSON_EACH (workload, workloads)
        JSON_EACH (job, jobs)
            if (strcmp(object_controller(workload, "uid"), object_meta(job, "uid")) == 0)
                look_at(w, workload, job);
    return w->fault[0] == '\0';
}
