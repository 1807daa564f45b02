/* explain_kueue.c - a reason tree in Kueue's words */
#include "core/explain/explain.h"

/* SOURCE Kueue: with several causes the most severe is reported: NoMatchingFlavor > ExceedsMaxQuota > WaitingForQuota >
 * TopologyPlacementFailed */
static int severity(enum reason_code code, const char **ret_word)
{
    static const struct {
        enum reason_code code;
        int severity;
        const char *word;
    } table[] = {
        {REASON_QUEUE_MISSING, 9, "Misconfigured"},    {REASON_QUEUE_INACTIVE, 9, "Suspended"},
        {REASON_NAMESPACE_MISMATCH, 9, "Misconfigured"}, {REASON_RESOURCE_UNCOVERED, 8, "NoMatchingFlavor"},
        {REASON_FLAVOR_MISSING, 7, "NoMatchingFlavor"}, {REASON_FLAVOR_TAINT, 6, "NoMatchingFlavor"},
        {REASON_FLAVOR_AFFINITY, 6, "NoMatchingFlavor"}, {REASON_FLAVOR_TOPOLOGY, 6, "NoMatchingFlavor"}, {REASON_QUOTA_EXCEEDS_MAX, 5, "ExceedsMaxQuota"},
        {REASON_QUOTA_SHORT, 4, "WaitingForQuota"},    {REASON_PLACEMENT_FAILED, 3, "TopologyPlacementFailed"},
        {REASON_TOPOLOGY_SHORT, 3, "TopologyPlacementFailed"}, {REASON_TOPOLOGY_SHORT_SLICES, 3, "TopologyPlacementFailed"},
        {REASON_TOPOLOGY_UNFIT, 3, "TopologyPlacementFailed"}, {REASON_TOPOLOGY_MISSING, 9, "Suspended"},
       
        {REASON_QUEUE_STOPPED, 9, "Suspended"},        {REASON_INACTIVE, 9, "Deactivated"},
        {REASON_ON_HOLD, 9, "AdmissionGated"},         {REASON_BACKOFF, 9, "OnHold"},
        {REASON_PREEMPTING, 10, "WaitingForPreemptedWorkloads"}, {REASON_CHECKS, 9, "UnsatisfiedAdmissionChecks"},
        {REASON_KEPT_OUT, 4, "WaitingForPromisedStart"},
        {REASON_PODS_UNREADY, 9, "WaitingForPodsReady"},
        {REASON_GATED, 2, "AdmissionGated"},             {REASON_MISCONFIGURED, 9, "Misconfigured"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].code != code)
            continue;
        *ret_word = table[i].word;
        return table[i].severity;
    }
    return 0;
}

/* Flavors are alternatives: what one flavor can never give does not matter while another only lacks free quota, so a flavor's own
 * refusals count as the mildest of all flavors' worst. */
static int worst_of_flavor(const struct reason *r, name_id flavor, const char **ret_word)
{
    int worst = 0;
    for (; r; r = r->next) {
        const char *word = NULL;
        int n = r->flavor == flavor ? severity(r->code, &word) : 0;
        if (n > worst) {
            worst = n;
            *ret_word = word;
        }
    }
    return worst;
}

const char *explain_kueue_reason(const struct reason *r)
{
    const char *best = "PendingEvaluation", *word = NULL;
    if (!r)
        return best;
    if (severity(r->code, &word) || (reason_find(r->child, REASON_PREEMPTING) && severity(REASON_PREEMPTING, &word)))
        return word;
    int mildest = 100;
    for (const struct reason *child = r->child; child; child = child->next) {
        word = NULL;
        int n = worst_of_flavor(r->child, child->flavor, &word);
        if (n && n < mildest) {
            mildest = n;
            best = word;
        }
    }
    return best;
}

void explain_kueue_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    bool is_local = r->queue_kind == QUEUE_LOCAL;
    const char *name = r->name ? intern_name(names, r->name) : "";
    if (r->code == REASON_QUEUE_STOPPED && (is_local || r->queue_kind == QUEUE_CLUSTER))
        buf_printf(out, "%s %s is inactive", is_local ? "LocalQueue" : "ClusterQueue", r->name ? name : intern_name(names, r->queue));
    else if (r->code == REASON_QUEUE_MISSING && is_local && strcmp(name, "\"\"") == 0)
        buf_text(out, "LocalQueue  doesn't exist");
    else if (r->code == REASON_NAMESPACE_MISMATCH)
        buf_text(out, "workload namespace doesn't match ClusterQueue selector");
    else
        explain_sentence(out, r, names);
}
