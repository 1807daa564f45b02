/* job_watches.c - see job_watches.h */
#include "sim/job_watches.h"
#include <assert.h>

void job_watches_add(struct job_watches *w, const char *path, job_watches_receive *on_event)
{
    struct kube_watch_config config = {.path = path, .optional = true, .on_event = on_event, .arg = w->arg};
    assert(w->n < JOB_WATCHES_MAX);
    w->list[w->n++] = kube_watch_new(w->client, &config);
}

void job_watches_init(struct job_watches *w, struct kube_client *client, void *arg)
{
    *w = (struct job_watches){.client = client, .arg = arg};
}

void job_watches_add_all(struct job_watches *w, const struct job_receivers *to)
{
    static const char *const reasons[] = {"/apis/kueue.x-k8s.io/v1beta2/workloads", "/apis/scheduling.volcano.sh/v1beta1/podgroups",
                                          "/apis/scheduling.x-k8s.io/v1alpha1/podgroups", "/apis/scheduling.k8s.io/v1alpha2/podgroups",
                                          "/apis/scheduling.run.ai/v2alpha2/podgroups"};
    _cleanup_arena_ struct arena *a = arena_new();
    job_watches_add(w, "/apis/batch.volcano.sh/v1alpha1/jobs", to->on_job);
    for (size_t i = 0; i < QUEUED_KINDS_N; i++) {
        const struct queued_kind *k = &queued_kinds[i];
        job_watches_add(w, kube_path(a, k->group, k->version, k->plural, NULL, NULL, NULL), to->on_job);
    }
    job_watches_add(w, "/api/v1/pods", to->on_pod);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        job_watches_add(w, reasons[i], to->on_reason);
    job_watches_add(w, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues", to->on_queue);
}

void job_watches_end(struct job_watches *w)
{
    for (uint32_t i = 0; i < w->n; i++)
        kube_watch_free(w->list[i]);
    w->n = 0;
}
