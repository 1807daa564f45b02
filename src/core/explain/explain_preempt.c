/* explain_preempt.c - who goes for whom, who waits for whose end, and why nobody goes */
#include "core/explain/explain_part.h"

static const char *name_of(const struct intern *names, name_id id)
{
    return intern_name(names, id);
}

static void add_minimum(struct buf *out, const struct reason *r)
{
    const struct reason *surplus = reason_find(r->child, REASON_SURPLUS);
    if (surplus)
        buf_printf(out, "; its pod group has more than its minimum of %lld, and stays", (long long)surplus->need);
}

/* SOURCE Kueue, message of the Preempted condition; who it was in Kueue's words is told by his uid alone. */
static void preempted_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const words[] = {[PREEMPTION_IN_QUEUE] = "prioritization in the ClusterQueue",
                                        [PREEMPTION_RECLAIM] = "reclamation within the cohort",
                                        [PREEMPTION_RECLAIM_WHILE_BORROWING] = "reclamation within the cohort while borrowing",
                                        [PREEMPTION_FAIR_SHARING] = "Fair Sharing within the cohort",
                                        [PREEMPTION_MOVED] = "defragmentation, with a place kept for it on other nodes"};
    if (r->have == PREEMPTION_BY_PRIORITY && r->flavor) { /* SOURCE kube-scheduler's Event */
        buf_printf(out, "Preempted by pod %s on node %s", name_of(names, r->pod_set), name_of(names, r->flavor));
        return;
    }
    if (r->have == PREEMPTION_BY_PRIORITY) {
        buf_printf(out, "preempted for %s %s/%s, which has a higher priority", r->taken ? "pod" : "pod group", name_of(names, r->pod_set),
                   explain_last_part(name_of(names, r->name)));
        add_minimum(out, r);
        return;
    }
    if (r->have == PREEMPTION_DESERVED) {
        buf_printf(out, "reclaimed for PodGroup %s/%s of queue %s, which has less than it deserves: queue %s has more",
                   name_of(names, r->pod_set), explain_last_part(name_of(names, r->name)), name_of(names, r->queue),
                   name_of(names, r->flavor));
        if (r->resource) {
            buf_text(out, " than the ");
            explain_amount(out, names, r->resource, r->need);
            buf_printf(out, " %s that it deserves", name_of(names, r->resource));
        }
        add_minimum(out, r);
        return;
    }
    if (r->have == PREEMPTION_LOWER_IN_QUEUE) {
        buf_printf(out, "preempted for PodGroup %s/%s, which has a higher priority in queue %s", name_of(names, r->pod_set),
                   explain_last_part(name_of(names, r->name)), name_of(names, r->queue));
        add_minimum(out, r);
        return;
    }
    buf_printf(out, "Preempted to accommodate a workload (UID: %s, JobUID: %s) due to %s; preemptor path: %s; preemptee path: %s",
               name_of(names, r->pod_set), r->resource ? name_of(names, r->resource) : "UNKNOWN", words[r->have], name_of(names, r->queue),
               name_of(names, r->flavor));
}

static void add_share(struct buf *out, int64_t share)
{
    if (share == INT64_MAX)
        buf_text(out, "infinite");
    else
        buf_printf(out, "%lld", (long long)share);
}

static void shares_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_printf(out, "%s %s has a share of ", r->queue ? "ClusterQueue" : "Cohort", name_of(names, r->queue ? r->queue : r->name));
    add_share(out, r->have);
    buf_text(out, ", and with this one its own side would have ");
    add_share(out, r->need);
}

static void reclaim_lack_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const words[] = {
        [LACK_CANDIDATES] = "takes nothing back for it: no other queue has more than it deserves of what it needs, or none that may lose it "
                            "(reclaimable, guarantee, preemptable)",
        [LACK_BORROWING] = "takes nothing back for it: it would have more than it deserves",
        [LACK_QUOTA] = "takes nothing back for it: what others have beyond what they deserve is not enough",
        [LACK_ROOM] = "takes nothing back for it: what others have beyond what they deserve would not make room on nodes",
        [LACK_TRIALS] = "takes nothing back for it: no set of pod groups whose end would be enough was found in the tries allowed",
        [LACK_COMING] = "takes nothing more back for it: what is taken back for others will leave enough for it, too"};
    const char *why = r->have < (int64_t)(sizeof words / sizeof *words) ? words[r->have] : NULL;
    buf_printf(out, "queue %s %s", name_of(names, r->queue), why ? why : "takes nothing back for it");
    if (r->have == LACK_EARLY || r->have == LACK_DELAY)
        explain_not_before(out, r);
}

/* A pod group without a queue. */
static void priority_lack_sentence(struct buf *out, const struct reason *r)
{
    static const char *const words[] = {
        [LACK_CANDIDATES] = "preempts nobody: all of lower priority without a queue keep their places, or go for others already",
        [LACK_ROOM] = "preempts nobody: the end of all of lower priority without a queue would not make room on nodes",
        [LACK_TRIALS] = "preempts nobody: no set of pods of lower priority whose end would be enough was found in the tries allowed"};
    const char *why = r->have < (int64_t)(sizeof words / sizeof *words) ? words[r->have] : NULL;
    buf_text(out, why ? why : "preempts nobody");
    if (r->have == LACK_DELAY)
        explain_not_before(out, r);
}

static void lack_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (r->queue_kind == QUEUE_VOLCANO) {
        reclaim_lack_sentence(out, r, names);
        return;
    }
    static const char *const words[] = {
        [LACK_POLICY] = "preempts nobody (withinClusterQueue: Never), though workloads of lower priority run in it",
        [LACK_CANDIDATES] = "may preempt nobody for it: no running workload is one that its policies allow to preempt",
        [LACK_BORROWING] = "may preempt nobody for it: it would have to borrow, and borrowWithinCohort is Never",
        [LACK_QUOTA] = "may preempt nobody for it: all whom its policies allow to preempt would not free enough quota",
        [LACK_ROOM] = "may preempt nobody for it: the end of all whom its policies allow to preempt would not make room on nodes",
        [LACK_TAKEN_BACK] = "may preempt nobody for it: others of their queues would take back what they leave, which is their queue's own",
        [LACK_SHARES] = "may preempt nobody for it: fair sharing keeps those who would have to go",
        [LACK_TRIALS] = "preempts nobody for it: no set of workloads whose end would be enough was found in the tries allowed",
        [LACK_RECLAIM] = "may preempt nobody for it: it would have to borrow, and reclaimWithinCohort is Never",
        [LACK_COMING] = "preempts nobody more for it: workloads that are preempted for others will leave quota enough for it, too"};
    buf_printf(out, "ClusterQueue %s %s", name_of(names, r->queue), words[r->have]);
}

/* `have` of them are of its own queue. */
static void preempting_groups_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    int64_t others_n = r->need - r->have;
    const struct reason *surplus = reason_find(r->child, REASON_SURPLUS);
    buf_text(out, "waits for the end of ");
    if (surplus)
        buf_printf(out, "%lld pod(s) above the minimum of ", (long long)surplus->need);
    buf_printf(out, "%lld pod group(s) ", (long long)r->need);
    if (r->have && others_n)
        buf_printf(out, "(%lld of lower priority in queue %s, %lld from which it takes back what it deserves)", (long long)r->have,
                   name_of(names, r->queue), (long long)others_n);
    else
        buf_printf(out, r->have ? "of lower priority in queue %s" : "from which queue %s takes back what it deserves",
                   name_of(names, r->queue));
}

/* Without a queue: `have` of them are pod groups, the others lone pods. */
static void preempting_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    const struct reason *victim = reason_find(r->child, REASON_PREEMPTED_GANG), *surplus = reason_find(r->child, REASON_SURPLUS);
    int64_t pods_n = r->need - r->have;
    if (!victim || victim->have != PREEMPTION_BY_PRIORITY) {
        buf_printf(out, "pending the preemption of %lld workload(s)", (long long)r->need);
        return;
    }
    buf_text(out, "pending the preemption of ");
    if (surplus)
        buf_printf(out, "%lld pod(s) above the minimum of ", (long long)surplus->need);
    if (r->have)
        buf_printf(out, "%lld pod group(s)%s", (long long)r->have, pods_n ? " and " : "");
    if (pods_n)
        buf_printf(out, "%lld pod(s)", (long long)pods_n);
    if (r->name)
        buf_printf(out, " on node %s", name_of(names, r->name));
    else
        buf_text(out, " of lower priority");
}

static void spared_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const words[] = {[SPARES_NOBODY] = "", [SPARES_BUDGET] = "fewer pods go against a PodDisruptionBudget",
                                        [SPARES_MINIMUM_RUN] = "fewer jobs end before their capstan.dev/minimum-run-seconds",
                                        [SPARES_RUN_TIME] = "less run time is lost", [SPARES_GRACE] = "their pods end sooner"};
    buf_printf(out, "%s/%s stays instead: %s", name_of(names, r->pod_set), explain_last_part(name_of(names, r->name)), words[r->have]);
}

bool explain_preempt(struct buf *out, const struct reason *r, const struct intern *names)
{
    switch ((int)r->code) {
    case REASON_PREEMPTING:
        if (r->queue)
            preempting_groups_sentence(out, r, names);
        else if (r->child && r->child->have == PREEMPTION_MOVED)
            buf_printf(out, "pending the move of %lld workload(s) to other nodes", (long long)r->need);
        else
            preempting_sentence(out, r, names);
        return true;
    case REASON_PREEMPTED_GANG:
        buf_printf(out, "%s %s/%s: %s", r->have == PREEMPTION_MOVED ? "moved" : "preempted", name_of(names, r->pod_set),
                   explain_last_part(name_of(names, r->name)), preemption_name((enum preemption)r->have));
        return true;
    case REASON_SURPLUS:
        buf_printf(out, "%lld above the minimum", (long long)r->need);
        return true;
    case REASON_SPARED:
        spared_sentence(out, r, names);
        return true;
    case REASON_PREEMPTED:
        preempted_sentence(out, r, names);
        return true;
    case REASON_SHARES:
        shares_sentence(out, r, names);
        return true;
    case REASON_NO_PREEMPTION:
        if (r->have < LACK_NEVER && r->queue)
            lack_sentence(out, r, names);
        else if (r->have < LACK_NEVER)
            priority_lack_sentence(out, r);
        return r->have < LACK_NEVER;
    default:
        return false;
    }
}
