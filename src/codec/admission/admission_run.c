/* admission_run.c - which checks the kinds of a group pass through; the checks know nothing of it */
#include "codec/admission/admission_part.h"

static const struct {
    const char *group;
    void (*run)(struct admission *x, const struct kind *k);
    void (*repair)(struct admission *x, const struct kind *k);
    struct json *(*fix)(struct admission *x, const struct kind *k);
} groups[] = {
    {"", admission_pod, NULL, admission_pod_fix},
    {"", admission_core, NULL, NULL},
    {"", admission_limits, NULL, NULL},
    {"", admission_event, NULL, NULL},
    {"apps", admission_apps, NULL, admission_batch_fix},
    {"batch", admission_batch, NULL, admission_batch_fix},
    {"scheduling.k8s.io", admission_cluster, NULL, NULL},
    {"scheduling.k8s.io", admission_composite, NULL, NULL},
    {"coordination.k8s.io", admission_cluster, NULL, NULL},
    {"policy", admission_cluster, NULL, NULL},
    {"rbac.authorization.k8s.io", admission_cluster, NULL, NULL},
    {"apiextensions.k8s.io", admission_cluster, NULL, NULL},
    {"kueue.x-k8s.io", admission_kueue, admission_kueue_repair, admission_kueue_fix},
    {"autoscaling.x-k8s.io", admission_provisioning, NULL, NULL},
    {"batch.volcano.sh", admission_volcano, admission_volcano_repair, admission_volcano_fix},
    {"batch.volcano.sh", admission_vc_flow, NULL, NULL},
    {"scheduling.volcano.sh", admission_volcano, NULL, NULL},
    {"bus.volcano.sh", admission_volcano, NULL, NULL},
    {"topology.volcano.sh", admission_volcano, NULL, NULL},
    {"flow.volcano.sh", admission_vc_flow, NULL, NULL},
    {"scheduling.x-k8s.io", admission_trainer, NULL, NULL},
    {"scheduling.run.ai", admission_kai, NULL, NULL},
    {"trainer.kubeflow.org", admission_trainer, NULL, admission_trainer_fix},
    {"kubeflow.org", admission_kubeflow, NULL, NULL},
    {"jobset.x-k8s.io", admission_jobset, NULL, NULL},
    {"leaderworkerset.x-k8s.io", admission_lws, NULL, NULL},
};
#define GROUPS_N (sizeof groups / sizeof groups[0])

void admission_repair(struct admission *x, const struct kind *k, const char *version)
{
    (void)version; /* what is repaired is spelled the same in every served version */
    for (size_t i = 0; i < GROUPS_N; i++)
        if (groups[i].repair && text_equal(groups[i].group, k->group))
            groups[i].repair(x, k);
}

struct json *admission_fix(struct admission *x, const struct kind *k)
{
    for (size_t i = 0; i < GROUPS_N; i++)
        if (groups[i].fix && text_equal(groups[i].group, k->group))
            return groups[i].fix(x, k);
    return NULL;
}

void admission_run(struct admission *x, const struct kind *k)
{
    for (size_t i = 0; i < GROUPS_N; i++)
        if (*groups[i].group == *k->group && text_equal(groups[i].group, k->group))
            groups[i].run(x, k);
    admission_unused(x, k);
}
