/* explain_domains.c - what topologies refuse, in Kueue's words */
#include "core/explain/explain_part.h"
#include <stdio.h>

static void exclusion(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (r->code == REASON_NODE_SELECTOR)
        buf_printf(out, "affinity: %u", r->nodes_n);
    else if (r->code == REASON_NODE_LABELS)
        buf_printf(out, "nodeSelector: %u", r->nodes_n);
    else if (r->code == REASON_NODE_TAINT)
        buf_printf(out, "taint \"%s\": %u", intern_name(names, r->name), r->nodes_n);
    else if (r->code == REASON_NODE_RESOURCE)
        buf_printf(out, "resource \"%s\": %u", intern_name(names, r->resource), r->nodes_n);
    else if (r->code == REASON_NODE_PORT)
        buf_printf(out, "ports or devices: %u", r->nodes_n);
}

/* SOURCE Kueue, the message of a workload whose topology assignment was not found. */
static void short_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    const char *unit = r->code == REASON_TOPOLOGY_SHORT_SLICES ? "slice" : "pod", *name = intern_name(names, r->name);
    if (r->child && r->child->code == REASON_TOPOLOGY_LAYER) {
        buf_printf(out, "topology \"%s\" doesn't allow to fit", name);
        for (const struct reason *layer = r->child; layer && layer->code == REASON_TOPOLOGY_LAYER; layer = layer->next) {
            buf_text(out, "; ");
            explain_domains(out, layer, names);
        }
    } else if (r->have <= 0) {
        buf_printf(out, "topology \"%s\" doesn't allow to fit any of %lld %s(s)", name, (long long)r->need, unit);
    } else {
        buf_printf(out, "topology \"%s\" allows to fit only %lld out of %lld %s(s)", name, (long long)r->have, (long long)r->need, unit);
    }
    char before[64];
    snprintf(before, sizeof before, ". Total nodes: %u; excluded: ", r->nodes_n);
    explain_sorted(out, before, r->child, exclusion, names);
}

/* "HyperNode up to tier 2"; of a title that is about a label of nodes (sched/domains/label_levels.h) "domain of label rack". */
static const char *kind_of(const char *tier)
{
    return text_starts(tier, "label ") ? "domain of " : "HyperNode up to tier ";
}

static void unfit_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    const char *level = intern_name(names, r->name), *other = intern_name(names, r->resource);
    switch ((enum domain_trouble)r->have) {
    case DOMAINS_SHORT:
        break;
    case DOMAINS_NONE:
        buf_printf(out, "no topology domains at level: %s", level);
        break;
    case DOMAINS_NO_LEVEL:
        buf_printf(out, "no requested topology level: %s", level);
        break;
    case DOMAINS_UPSIDE_DOWN:
        buf_printf(out, "podset slice topology %s is above the podset topology %s", level, other);
        break;
    case DOMAINS_INDIVISIBLE:
        buf_printf(out, "slices on level %s do not fill the slices above them", level);
        break;
    case DOMAINS_SEVERAL:
        buf_text(out, "more than one TAS flavor assigned");
        break;
    case DOMAINS_APART:
        buf_text(out, "the pod sets of its group were given flavors of different topologies");
        break;
    case DOMAINS_UNLED:
        buf_text(out, "its group has to be two pod sets, one of them of a single pod");
        break;
    case DOMAINS_TIER_SHORT:
        break;
    case DOMAINS_TIER_TOGETHER:
        buf_printf(out, "%s\"%s\" has room for each kind of its pods alone, not for all together, and no other %s%s has",
                   text_starts(level, "label ") ? "" : "HyperNode ", other, kind_of(level), level);
        break;
    case DOMAINS_TIER_NONE:
        buf_printf(out, "no node is in a %s%s", kind_of(level), level);
        break;
    case DOMAINS_TIER_APART:
        buf_printf(out, "its other pods stand in no one %s%s", kind_of(level), level);
        break;
    }
}

static void mismatch_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const words[] = {[TOPOLOGY_MATCHES] = "",
                                        [TOPOLOGY_MISMATCH_LACKS] = "does not support TopologyAwareScheduling",
                                        [TOPOLOGY_MISMATCH_ONLY] = "supports only TopologyAwareScheduling",
                                        [TOPOLOGY_MISMATCH_LEVEL] = "does not contain the requested level"};
    buf_printf(out, "Flavor \"%s\" %s", intern_name(names, r->flavor), words[r->have]);
}

bool explain_domains(struct buf *out, const struct reason *r, const struct intern *names)
{
    switch ((int)r->code) {
    case REASON_FLAVOR_TOPOLOGY:
        mismatch_sentence(out, r, names);
        return true;
    case REASON_TOPOLOGY_MISSING:
        buf_printf(out, "there is no Topology \"%s\" for TAS flavor \"%s\"", intern_name(names, r->name), intern_name(names, r->flavor));
        return true;
    case REASON_TOPOLOGY_SHORT:
    case REASON_TOPOLOGY_SHORT_SLICES:
        short_sentence(out, r, names);
        return true;
    case REASON_TOPOLOGY_LAYER:
        buf_printf(out, "%lld/%lld slice(s) fit on level %s", (long long)r->have, (long long)r->need, intern_name(names, r->name));
        return true;
    case REASON_TOPOLOGY_OUTSIDE:
        buf_printf(out, "%u node(s) with room are in no domain of it: they have no label %s", r->nodes_n, intern_name(names, r->name));
        return true;
    case REASON_TIER_SHORT:
        buf_printf(out, "no %s%s holds %lld pod(s) together: \"%s\" has room for %lld", kind_of(intern_name(names, r->name)),
                   intern_name(names, r->name), (long long)r->need, intern_name(names, r->resource), (long long)r->have);
        return true;
    case REASON_TIER_UNFIT:
    case REASON_TOPOLOGY_UNFIT:
        unfit_sentence(out, r, names);
        return true;
    case REASON_NODE_LABELS:
        buf_printf(out, "%u node(s) didn't match Pod's node selector", r->nodes_n);
        return true;
    default:
        return false;
    }
}
