#include "apiserver/rules/rules.h"

#include "apiserver/lifecycle/garbage.h"
#include "apiserver/lifecycle/namespace.h"
#include "apiserver/lifecycle/quota.h"
#include "apiserver/rules/certificate_request.h"
#include "apiserver/rules/crd.h"
#include "apiserver/rules/kueue_in_use.h"
#include "apiserver/rules/pod.h"
#include "apiserver/rules/rbac_grant.h"
#include "apiserver/rules/service.h"
#include "apiserver/rules/volcano_queue.h"
#include "apiserver/rules/webhook.h"

static const struct kind_rules kinds[] = {
    {"", "namespaces", .settle = namespace_settle, .created = namespace_created, .held = namespace_held, .stays = namespace_stays,
     .mark = namespace_mark},
    {"", "nodes", .status_given = true}, /* kubelets register with their status in the same request */
    {"", "persistentvolumeclaims", .phase = "Pending"},
    {"", "persistentvolumes", .phase = "Available"}, /* nobody binds it here: it is there for who names it */
    {"", "pods", .phase = "Pending", .given = pod_tell_gates, .grace = pod_grace},
    {"", "services", .settle = service_settle},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations", .admit = webhook_admit},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", .admit = admission_policy_admit},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings", .admit = admission_policy_admit},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations", .admit = webhook_admit},
    {"apiextensions.k8s.io", "customresourcedefinitions", .admit = crd_admit, .leave = crd_leave, .gone = crd_gone},
    {"certificates.k8s.io", "certificatesigningrequests", .settle = certificate_request_settle},
    {"kueue.x-k8s.io", "clusterqueues", .given = kueue_in_use_given},
    {"kueue.x-k8s.io", "resourceflavors", .given = kueue_in_use_given},
    {"rbac.authorization.k8s.io", "clusterrolebindings", .admit = rbac_grant_admit},
    {"rbac.authorization.k8s.io", "clusterroles", .admit = rbac_grant_admit},
    {"rbac.authorization.k8s.io", "rolebindings", .admit = rbac_grant_admit},
    {"rbac.authorization.k8s.io", "roles", .admit = rbac_grant_admit},
    {"scheduling.volcano.sh", "queues", .stays = volcano_queue_stays},
};

static bool create_admit(struct object_write *w)
{
    return namespace_admit(w) && crd_create_admit(w);
}

const struct write_rules server_rules = {
    .kinds = kinds,
    .kinds_n = sizeof kinds / sizeof *kinds,
    .create = create_admit,
    .admit = quota_admit,
    .propagate = garbage_propagate,
};
