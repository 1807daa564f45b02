/* explain_remedies.c - what would help, in words */
#include "core/explain/explain_part.h"

/* "2 more pods of PodGroup ns/g", "the minimum of task worker of PodGroup ns/g lower by 2" */
static void members_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    bool more = r->code == REASON_CHANGE_MEMBERS;
    if (more)
        buf_printf(out, "%lld more pod%s", (long long)r->need, r->need == 1 ? "" : "s");
    else
        buf_text(out, "the minimum");
    if (r->flavor)
        buf_printf(out, " of %s %s", r->have == GANG_WORKLOAD ? "pod set" : "task", intern_name(names, r->flavor));
    buf_printf(out, " of %s %s/%s", explain_kind_of(r->have), intern_name(names, r->pod_set),
               explain_last_part(intern_name(names, r->name)));
    if (!more)
        buf_printf(out, " lower by %lld", (long long)r->need);
}

/* "Workload ns/a moved to node n2 (2 GPU-hours of its work are lost; ...)" */
static void move_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_printf(out, "Workload %s/%s moved to ", intern_name(names, r->pod_set), explain_last_part(intern_name(names, r->name)));
    for (const struct reason *to = r->child, *last = NULL; to; last = to, to = to->next) {
        bool more = to->next && to->next->name != to->name; /* of several sets the node comes several times */
        if (!last || last->name != to->name)
            buf_printf(out, "%s%s", !last ? (more ? "nodes " : "node ") : to->next ? ", " : " and ", intern_name(names, to->name));
    }
    bool hours = r->need >= 3600;
    int64_t tenths = hours ? r->need / 360 : r->need / 6;
    buf_printf(out, " (%lld", (long long)(tenths / 10));
    if (tenths % 10)
        buf_printf(out, ".%lld", (long long)(tenths % 10));
    buf_printf(out, hours ? " GPU-hours of its work lost" : " GPU-minutes of its work lost");
    if (r->have == MOVE_UNASKED)
        buf_printf(out, "; ClusterQueue %s has no capstan.dev/move-cost-seconds, which would allow it", intern_name(names, r->queue));
    else if (r->have == MOVE_FORBIDDEN)
        buf_text(out, "; its capstan.dev/movable forbids it");
    else if (r->have == MOVE_COSTLY)
        buf_printf(out, "; more in all than capstan.dev/move-cost-seconds of ClusterQueue %s allows", intern_name(names, r->queue));
    buf_char(out, ')');
}

static void change_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    const char *name = intern_name(names, r->name);
    if (r->code == REASON_CHANGE_END) {
        buf_printf(out, "the end of %s %s/%s", explain_kind_of(r->have), intern_name(names, r->pod_set), explain_last_part(name));
        return;
    }
    if (r->code == REASON_CHANGE_MOVE) {
        move_sentence(out, r, names);
        return;
    }
    if (r->code == REASON_CHANGE_MEMBERS || r->code == REASON_CHANGE_MINIMUM) {
        members_sentence(out, r, names);
        return;
    }
    if (r->code == REASON_CHANGE_FLOOR) {
        explain_amount(out, names, r->resource, r->need);
        buf_printf(out, " less %s in minResources of %s %s/%s", intern_name(names, r->resource), explain_kind_of(r->have),
                   intern_name(names, r->pod_set), explain_last_part(name));
        return;
    }
    if (explain_starts(out, r, names))
        return;
    if (r->code == REASON_CHANGE_UNCORDON) {
        buf_printf(out, "node %s uncordoned", name);
        return;
    }
    if (r->code == REASON_CHANGE_RESUME) {
        buf_printf(out, "%s %s resumed", r->have ? "LocalQueue" : "ClusterQueue", name);
        return;
    }
    explain_amount(out, names, r->resource, r->need);
    buf_printf(out, " more %s", intern_name(names, r->resource));
    if (r->code == REASON_CHANGE_FREE) {
        buf_printf(out, " free on node %s", name);
        return;
    }
    buf_text(out, " of quota");
    if (r->flavor)
        buf_printf(out, " in flavor %s", intern_name(names, r->flavor));
    buf_printf(out, " for queue %s", intern_name(names, r->queue));
}

/* "A and B" */
static void remedy_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (!r->child)
        buf_text(out, "nothing");
    for (const struct reason *change = r->child; change; change = change->next) {
        change_sentence(out, change, names);
        if (change->next)
            buf_text(out, " and ");
    }
}

/* What to do about it, where one thing is to be done. */
static const char *advice_on(enum reason_code fault)
{
    switch ((int)fault) {
    case REASON_QUEUE_MISSING:
        return "; create it, or name another queue";
    case REASON_NAMESPACE_MISMATCH:
        return "; give the namespace the labels that the queue's namespaceSelector asks for, or name another queue";
    case REASON_RESOURCE_UNCOVERED:
        return "; give the queue quota for it, or do not ask for it";
    case REASON_FLAVOR_MISSING:
        return "; create it";
    case REASON_TOPOLOGY_MISSING:
        return "; create it";
    case REASON_TOPOLOGY_UNFIT:
        return "; compare what the pods ask for with the levels of the Topology, and these with the labels of the nodes";
    case REASON_FLAVOR_TAINT:
        return "; tolerate the taint, or give the queue another flavor";
    case REASON_FLAVOR_AFFINITY:
        return "; select labels that a flavor of the queue has";
    default:
        return "";
    }
}

static void impossible_sentence(struct buf *out, const struct reason *r, const struct intern *names, explain_part *say)
{
    if (r->child) {
        const struct reason *fault = r->child->code == REASON_QUEUE_INACTIVE && r->child->child ? r->child->child : r->child;
        buf_text(out, "nothing would before this is mended: ");
        say(out, fault, names);
        buf_text(out, advice_on(fault->code));
        return;
    }
    buf_text(out, "nothing would: ");
    if (!r->resource) {
        buf_text(out, "it would not start if all nodes were empty and all quota its own");
    } else if (!r->have) {
        buf_printf(out, "no node has %s", intern_name(names, r->resource));
    } else {
        buf_text(out, "a pod asks for ");
        explain_amount(out, names, r->resource, r->need);
        buf_printf(out, " %s, and the largest node has ", intern_name(names, r->resource));
        explain_amount(out, names, r->resource, r->have);
    }
}

static void gap_sentence(struct buf *out, const struct reason *r)
{
    static const char *const words[] = {
        [GAP_NEIGHBOURS] = "where its pods, or others beside them, may stand depends on who stands there",
        [GAP_PATIENCE] = "others left for it already, and it waits before it looks again whether more have to",
        [GAP_DESERVED] = "it may take back what its queue deserves, which is found anew with each change",
        [GAP_OTHERS] = "it depends on who else starts, or is preempted, first",
        [GAP_TRIALS] = "none was found in the tries allowed",
        [GAP_TIERS] = "its pods have to stand in one domain of a topology, and which one has room first depends on what others do",
        [GAP_FLOOR] = "it waits for the sum of what is free on all nodes (minResources), and with that would not start either",
        [GAP_MANY] = "it would take more changes at once than are tried",
    };
    buf_printf(out, "not computed: %s", words[r->have]);
}

/* "A and B, or C" */
static void remedies_sentence(struct buf *out, const struct reason *r, const struct intern *names, explain_part *say)
{
    if (!r->child)
        buf_text(out, "nothing");
    for (const struct reason *one = r->child; one; one = one->next) {
        if (one->code == REASON_REMEDY)
            remedy_sentence(out, one, names);
        else if (one->code == REASON_NOT_COMPUTED)
            gap_sentence(out, one);
        else
            impossible_sentence(out, one, names, say);
        if (one->next)
            buf_text(out, ", or ");
    }
}

bool explain_remedies(struct buf *out, const struct reason *r, const struct intern *names, explain_part *say)
{
    switch ((int)r->code) {
    case REASON_REMEDIES:
        remedies_sentence(out, r, names, say);
        return true;
    case REASON_REMEDY:
        remedy_sentence(out, r, names);
        return true;
    case REASON_IMPOSSIBLE:
        impossible_sentence(out, r, names, say);
        return true;
    case REASON_NOT_COMPUTED:
        gap_sentence(out, r);
        return true;
    case REASON_CHANGE_QUOTA:
    case REASON_CHANGE_FREE:
    case REASON_CHANGE_END:
    case REASON_CHANGE_UNCORDON:
    case REASON_CHANGE_MEMBERS:
    case REASON_CHANGE_MINIMUM:
    case REASON_CHANGE_FLOOR:
    case REASON_CHANGE_RESUME:
    case REASON_CHANGE_MOVE:
        change_sentence(out, r, names);
        return true;
    default:
        return false;
    }
}
