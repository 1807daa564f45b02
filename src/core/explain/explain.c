/* explain.c - reason trees as sentences and as JSON */
#include "core/explain/explain_part.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/quantity.h"

static const char *name_of(const struct intern *names, name_id id)
{
    return intern_name(names, id);
}

static bool is_assignment(enum reason_code code)
{
    return code == REASON_QUOTA_SHORT || code == REASON_QUOTA_EXCEEDS_MAX || code == REASON_KEPT_OVER_QUOTA ||
           code == REASON_FLAVOR_MISSING || code == REASON_FLAVOR_TAINT || code == REASON_FLAVOR_TOPOLOGY ||
           code == REASON_TOPOLOGY_SHORT || code == REASON_TOPOLOGY_SHORT_SLICES || code == REASON_TOPOLOGY_UNFIT ||
           code == REASON_FLAVOR_AFFINITY || code == REASON_RESOURCE_UNCOVERED;
}

/* ---- one reason ---- */

/* SOURCE Kueue: of a flavor, with what the pod sets before this one ask for */
static void most_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_text(out, r->flavor ? ", previously considered podsets requests (" : ", request > maximum capacity (");
    explain_amount(out, names, r->resource, r->flavor ? r->taken : r->need);
    if (r->flavor) {
        buf_text(out, ") + current podset request (");
        explain_amount(out, names, r->resource, r->need - r->taken);
        buf_text(out, ") > maximum capacity (");
    } else {
        buf_text(out, " > ");
    }
    explain_amount(out, names, r->resource, r->have);
    buf_char(out, ')');
}

static void quota_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    bool never = r->code == REASON_QUOTA_EXCEEDS_MAX;
    buf_text(out, never ? "insufficient quota for " : "insufficient unused quota for ");
    buf_text(out, name_of(names, r->resource));
    buf_text(out, r->flavor ? " in flavor " : " in queue ");
    buf_text(out, name_of(names, r->flavor ? r->flavor : r->queue));
    if (never) {
        most_sentence(out, r, names);
        return;
    }
    buf_text(out, ", ");
    explain_amount(out, names, r->resource, r->need - r->have);
    buf_text(out, " more needed");
}

/* SOURCE kube-scheduler's filter messages, counted per node */
static void node_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    const char *name = name_of(names, r->name), *resource = name_of(names, r->resource);
    switch ((int)r->code) {
    case REASON_NODE_RESOURCE:
        if (!strcmp(resource, "pods"))
            buf_printf(out, "%u Too many pods", r->nodes_n);
        else
            buf_printf(out, "%u Insufficient %s", r->nodes_n, resource);
        break;
    case REASON_NODE_SELECTOR:
        buf_printf(out, "%u node(s) didn't match Pod's node affinity/selector", r->nodes_n);
        break;
    case REASON_NODE_TAINT:
        buf_printf(out, "%u node(s) had untolerated taint {%s}", r->nodes_n, name);
        break;
    case REASON_NODE_UNSCHEDULABLE:
        buf_printf(out, "%u node(s) were unschedulable", r->nodes_n);
        break;
    case REASON_NODE_NOT_READY:
        buf_printf(out, "%u node(s) were not ready", r->nodes_n);
        break;
    case REASON_NODE_PORT:
        buf_printf(out, "%u node(s) didn't have free ports for the requested pod ports", r->nodes_n);
        break;
    case REASON_NODE_AFFINITY:
        buf_printf(out, "%u node(s) didn't match pod affinity rules", r->nodes_n);
        break;
    case REASON_NODE_ANTI_AFFINITY:
        buf_printf(out, "%u node(s) didn't match pod anti-affinity rules", r->nodes_n);
        break;
    case REASON_NODE_SPREAD:
        buf_printf(out, "%u node(s) didn't match pod topology spread constraints", r->nodes_n);
        break;
    case REASON_NODE_DEVICE:
        buf_printf(out, "%u node(s) had too few healthy devices", r->nodes_n);
        break;
    case REASON_NODE_SHARE:
        buf_printf(out, "%u node(s) had no GPU with so large a share left", r->nodes_n);
        break;
    case REASON_NO_VICTIMS:
        buf_printf(out, "%u No preemption victims found for incoming pod", r->nodes_n);
        break;
    case REASON_NOT_HELPFUL:
        buf_printf(out, "%u Preemption is not helpful for scheduling", r->nodes_n);
        break;
    case REASON_ARRANGEMENT:
        buf_text(out, "each kind of pods would fit alone, but not all kinds together");
        break;
    case REASON_GAVE_UP:
        if (r->have)
            buf_printf(out, "more than %lld kinds of pods: only one arrangement of them was tried", (long long)r->have);
        else
            buf_printf(out, "no arrangement of the kinds of pods was found in %lld steps", (long long)r->need);
        break;
    default:
        break;
    }
}

/* SOURCE kube-scheduler's message of a pod for which nobody can be preempted. */
static void lone_nodes(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_printf(out, "preemption: 0/%u nodes are available", r->nodes_n);
    explain_sorted(out, ": ", r->child, node_sentence, names);
    buf_char(out, '.');
}

static void members_phrase(struct buf *out, const struct reason *r, const struct intern *names)
{
    buf_printf(out, "%lld of %lld %s", (long long)r->have, (long long)r->need, r->taken ? "subgroups" : "pods");
    if (r->pod_set)
        buf_printf(out, r->taken ? " of %s" : " of subgroup %s", name_of(names, r->pod_set));
    if (r->name)
        buf_printf(out, " of task %s", name_of(names, r->name));
}

static void lone_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (r->have == LACK_NEVER)
        buf_text(out, "preemption: not eligible due to preemptionPolicy=Never.");
    else if (r->have == LACK_PATIENCE)
        buf_text(out, "preemption: not again yet: it did not start though others had left for it.");
    else if (r->have == LACK_TRIALS)
        buf_text(out, "preemption: not all nodes were looked at.");
    else
        lone_nodes(out, r, names);
}

/* "1st", "2nd", "11th", "80th" */
static void add_ordinal(struct buf *out, int64_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool plain = n % 10 > 3 || (n % 100 > 10 && n % 100 < 14);
    buf_printf(out, "%lld%s", (long long)n, ends[plain ? 0 : n % 10]);
}

/* The nodes are counted for the first pod that has no place: by then the others have theirs. */
static void placement_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (r->need > 1) {
        buf_printf(out, "only %lld of %lld pods", (long long)r->have, (long long)r->need);
        if (r->pod_set)
            buf_printf(out, " of pod set %s", name_of(names, r->pod_set));
        if (r->flavor)
            buf_printf(out, " in flavor %s", name_of(names, r->flavor));
        buf_text(out, r->have > 0 ? " can be placed; for the " : " can be placed: ");
        if (r->have > 0)
            add_ordinal(out, r->have + 1);
        if (r->have > 0)
            buf_text(out, ", ");
    } else if (r->flavor) {
        buf_printf(out, "no node for flavor %s: ", name_of(names, r->flavor));
    }
    if (r->child && r->child->code == REASON_NO_NODES) {
        buf_text(out, "no nodes available to schedule pods");
        return;
    }
    buf_printf(out, "0/%u nodes are available", r->nodes_n);
    const char *gap = ": ";
    const struct reason *preemption = NULL;
    for (const struct reason *n = r->child; n; n = n->next) {
        if (n->code == REASON_NO_PREEMPTION)
            preemption = n;
        if (n->code == REASON_NO_PREEMPTION || n->code == REASON_PREEMPTING)
            continue;
        buf_text(out, gap);
        node_sentence(out, n, names);
        gap = ", ";
    }
    buf_char(out, '.');
    if (preemption)
        buf_char(out, ' ');
    if (preemption)
        lone_sentence(out, preemption, names);
}

static const char *queue_word(enum queue_kind kind)
{
    static const char *const words[] = {[QUEUE_CLUSTER] = "ClusterQueue", [QUEUE_LOCAL] = "LocalQueue", [QUEUE_VOLCANO] = "queue"};
    return words[kind];
}

static void state_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const check_words[] = {[CHECK_PENDING] = "", [CHECK_READY] = " (ready)", [CHECK_RETRY] = " (to be tried again)",
                                              [CHECK_REJECTED] = " (rejected)"};
    const char *name = name_of(names, r->name), *queue = name_of(names, r->queue);
    switch ((int)r->code) {
    case REASON_NOT_TRIED:
        buf_text(out, "not tried yet");
        break;
    case REASON_BEHIND:
        buf_printf(out, r->queue_kind == QUEUE_VOLCANO ? "waits behind %s in queue %s, whose dequeueStrategy is fifo"
                                                       : "waits behind %s in StrictFIFO queue %s", name, queue);
        break;
    case REASON_QUEUE_MISSING:
        buf_printf(out, "%s %s doesn't exist", queue_word(r->queue_kind), name);
        break;
    case REASON_QUEUE_STOPPED:
        buf_printf(out, "%s %s is stopped", queue_word(r->queue_kind), r->name ? name : queue);
        break;
    case REASON_QUEUE_INACTIVE:
        buf_printf(out, "%s %s is inactive", queue_word(r->queue_kind), queue);
        if (r->name)
            buf_printf(out, ": a cycle of cohorts, or more levels than allowed, above %s", name);
        if (r->child && r->child->code == REASON_ON_HOLD)
            buf_printf(out, ": %s", name_of(names, r->child->name));
        if (r->child && r->child->code == REASON_TOPOLOGY_MISSING) {
            buf_text(out, ": ");
            (void)explain_domains(out, r->child, names);
        }
        break;
    case REASON_NAMESPACE_MISMATCH:
        buf_printf(out, "Workload namespace %s doesn't match ClusterQueue %s selector", name, queue);
        break;
    case REASON_INACTIVE:
        buf_text(out, "The workload is deactivated");
        break;
    case REASON_ON_HOLD:
    case REASON_MISCONFIGURED:
        buf_text(out, r->name ? name : "on hold");
        break;
    case REASON_BACKOFF:
        buf_text(out, "waits for its backoff to end");
        break;
    case REASON_PODS_UNREADY:
        buf_text(out, "waiting for all admitted workloads to be in PodsReady condition");
        break;
    case REASON_PODS_TIMEOUT:
        buf_text(out, "its pods were not ready in time");
        break;
    case REASON_RETRIES_EXCEEDED:
        buf_text(out, "The workload is deactivated");
        break;
    case REASON_MEMBERS_MISSING:
        members_phrase(out, r, names);
        buf_text(out, r->taken ? " have all their pods" : " exist");
        break;
    case REASON_MEMBERS_LOST:
        members_phrase(out, r, names);
        buf_text(out, r->taken ? " have all their pods" : " are left or have come anew");
        buf_text(out, "; the places of the others are kept for them");
        break;
    case REASON_RESTARTED:
        buf_text(out, "its GPUs did nothing for too long: it is started again, as it asks for");
        break;
    case REASON_GANG_BROKEN:
        buf_printf(out, "only %lld of its pods were left, for %lld s", (long long)r->have, (long long)r->need);
        break;
    case REASON_GATED:
        buf_printf(out, "%lld pods have scheduling gates", (long long)r->have);
        break;
    case REASON_CHECKS:
        buf_printf(out, "quota is reserved in %s %s; waits for", queue_word(QUEUE_CLUSTER), queue);
        for (const struct reason *check = r->child; check; check = check->next) {
            buf_text(out, check == r->child ? " " : ", ");
            state_sentence(out, check, names);
        }
        break;
    case REASON_CHECK:
        buf_printf(out, "admission check %s%s", name, check_words[r->have]);
        break;
    case REASON_CHECK_RETRIED:
        buf_printf(out, "Evicted due to AdmissionCheck in Retry state: \"%s\"", name);
        break;
    case REASON_STOPPED_QUEUE:
        buf_printf(out, "The %s is stopped", queue_word(r->queue_kind));
        break;
    case REASON_NODE_LOST:
        buf_text(out, r->child ? "Several nodes of its topology assignment failed: " : "There is no other node in the place of the failed node ");
        buf_text(out, name);
        for (const struct reason *other = r->child; other; other = other->next)
            buf_printf(out, ", %s", intern_name(names, other->name));
        break;
    case REASON_DEACTIVATED:
        buf_text(out, "The workload is deactivated");
        break;
    default:
        buf_text(out, reason_code_name(r->code));
        break;
    }
}

/* ---- preemption ---- */

static void one_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    switch ((int)r->code) {
    case REASON_KEPT_TO_DESERVED:
        buf_printf(out, "%lld pod(s) above the minimum wait: queue %s would have more than it deserves, and a group of another queue waits",
                   (long long)r->need, name_of(names, r->queue));
        break;
    case REASON_NO_PREEMPTION:
        if (!explain_preempt(out, r, names))
            lone_sentence(out, r, names);
        break;
    case REASON_QUOTA_SHORT:
    case REASON_QUOTA_EXCEEDS_MAX:
        quota_sentence(out, r, names);
        break;
    case REASON_KEPT_OVER_QUOTA:
        explain_kept_over_quota(out, r, names);
        break;
    case REASON_FREE_SHORT:
        explain_free_short(out, r, names);
        break;
    case REASON_RESOURCE_UNCOVERED:
        buf_printf(out, "resource %s unavailable in ClusterQueue", name_of(names, r->resource));
        break;
    case REASON_FLAVOR_MISSING:
        buf_printf(out, "flavor %s not found", name_of(names, r->name));
        break;
    case REASON_FLAVOR_TAINT:
        buf_printf(out, "untolerated taint {%s} in flavor %s", name_of(names, r->name), name_of(names, r->flavor));
        break;
    case REASON_FLAVOR_AFFINITY:
        buf_printf(out, "flavor %s doesn't match node affinity", name_of(names, r->flavor));
        break;
    case REASON_PLACEMENT_FAILED:
        placement_sentence(out, r, names);
        break;
    case REASON_NODE_RESOURCE:
    case REASON_NODE_SELECTOR:
    case REASON_NODE_TAINT:
    case REASON_NODE_UNSCHEDULABLE:
    case REASON_NODE_NOT_READY:
    case REASON_NODE_PORT:
    case REASON_NODE_AFFINITY:
    case REASON_NODE_ANTI_AFFINITY:
    case REASON_NODE_SPREAD:
    case REASON_NODE_DEVICE:
    case REASON_NODE_SHARE:
    case REASON_NO_VICTIMS:
    case REASON_NOT_HELPFUL:
    case REASON_ARRANGEMENT:
    case REASON_GAVE_UP:
        node_sentence(out, r, names);
        break;
    default:
        if (!explain_preempt(out, r, names) && !explain_domains(out, r, names) && !explain_starts(out, r, names) &&
            !explain_remedies(out, r, names, one_sentence))
            state_sentence(out, r, names);
        break;
    }
}

void explain_sentence(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (!r)
        return;
    if (r->code != REASON_WAITING && r->code != REASON_MEMBERS_MISSING) {
        one_sentence(out, r, names);
        return;
    }
    const char *gap = "";
    if (r->code == REASON_MEMBERS_MISSING) {
        one_sentence(out, r, names);
        gap = ", ";
    }
    name_id pod_set = 0;
    for (const struct reason *child = r->child; child; child = child->next) {
        if (child->code == REASON_NO_PREEMPTION)
            continue; /* a remark: the sentence stays Kueue's */
        buf_text(out, gap);
        gap = ", ";
        if (is_assignment(child->code) && child->pod_set && child->pod_set != pod_set) {
            pod_set = child->pod_set;
            buf_printf(out, "couldn't assign flavors to pod set %s: ", name_of(names, pod_set));
        }
        one_sentence(out, child, names);
        if (child->code == REASON_PLACEMENT_FAILED && out->n && out->data[out->n - 1] == '.')
            out->data[--out->n] = 0; /* part of a list now */
    }
    if (!r->child && r->code == REASON_WAITING)
        buf_text(out, "waiting");
}

/* ---- the tree ---- */

static void tree_line(struct buf *out, const struct reason *r, const struct intern *names, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_text(out, "  ");
    if (r->code == REASON_WAITING && r->queue)
        buf_printf(out, "waiting in queue %s", name_of(names, r->queue));
    else
        one_sentence(out, r, names);
    if (r->code == REASON_NODE_RESOURCE && r->need) {
        buf_text(out, " (most free on one node ");
        explain_amount(out, names, r->resource, r->have);
        buf_text(out, ", asked ");
        explain_amount(out, names, r->resource, r->need);
        buf_char(out, ')');
    }
    buf_char(out, '\n');
}

#define TREE_DEPTH_MAX 8

static void tree_walk(struct buf *out, const struct reason *r, const struct intern *names, int depth)
{
    tree_line(out, r, names, depth);
    for (const struct reason *child = r->child; child && depth < TREE_DEPTH_MAX; child = child->next)
        tree_walk(out, child, names, depth + 1);
}

void explain_tree(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (!r)
        return;
    tree_walk(out, r, names, 0);
    if (!r->remedies)
        return;
    buf_text(out, "would help:\n");
    for (const struct reason *one = r->remedies->child; one; one = one->next)
        tree_line(out, one, names, 1);
}

/* ---- JSON ---- */

static void json_text(struct buf *out, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    buf_char(out, '"');
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\') {
            buf_char(out, '\\');
            buf_char(out, (char)*at);
        } else if (*at < 0x20) {
            buf_text(out, "\\u00");
            buf_char(out, hex[*at >> 4]);
            buf_char(out, hex[*at & 15]);
        } else {
            buf_char(out, (char)*at);
        }
    }
    buf_char(out, '"');
}

static void json_name(struct buf *out, const char *key, const struct intern *names, name_id id)
{
    if (!id)
        return;
    buf_printf(out, ",\"%s\":", key);
    json_text(out, name_of(names, id));
}

static void json_number(struct buf *out, const char *key, int64_t value)
{
    buf_printf(out, ",\"%s\":", key);
    buf_int64(out, value);
}

static uint32_t count_tree(const struct reason *r)
{
    uint32_t n = 0;
    for (; r; r = r->next)
        n += 1 + count_tree(r->child);
    return n;
}

/* A LocalQueue's key is "namespace/name". */
static void json_resume(struct buf *out, const char *name, bool is_local)
{
    buf_printf(out, ",\"kind\":\"%s\"", is_local ? "LocalQueue" : "ClusterQueue");
    const char *slash = is_local ? strchr(name, '/') : NULL;
    struct buf ns;
    buf_init(&ns);
    if (slash) {
        buf_add(&ns, name, (size_t)(slash - name));
        buf_text(out, ",\"namespace\":");
        json_text(out, ns.data);
    }
    buf_text(out, ",\"name\":");
    json_text(out, slash ? slash + 1 : name);
    buf_free(&ns);
}

static void json_move(struct buf *out, const struct reason *r, const struct intern *names)
{
    static const char *const words[] = {[MOVE_ALLOWED] = "Allowed", [MOVE_UNASKED] = "QueueDoesNotAllow", [MOVE_FORBIDDEN] = "NotMovable",
                                        [MOVE_COSTLY] = "TooCostly"};
    buf_text(out, "{\"change\":\"move\",\"kind\":\"Workload\"");
    json_name(out, "namespace", names, r->pod_set);
    buf_text(out, ",\"name\":");
    json_text(out, explain_last_part(name_of(names, r->name)));
    buf_text(out, ",\"to\":[");
    for (const struct reason *to = r->child; to; to = to->next) {
        buf_text(out, "{\"node\":");
        json_text(out, name_of(names, to->name));
        json_name(out, "podSet", names, to->pod_set);
        json_number(out, "pods", to->need);
        buf_text(out, to->next ? "}," : "}");
    }
    buf_char(out, ']');
    json_number(out, "lostGpuSeconds", r->need);
    buf_printf(out, ",\"allowed\":%s,\"policy\":\"%s\"}", r->have == MOVE_ALLOWED ? "true" : "false", words[r->have]);
}

static void json_change(struct buf *out, const struct reason *r, const struct intern *names)
{
    struct buf amount;
    buf_init(&amount);
    buf_text(out, "{\"change\":");
    json_text(out, reason_code_name(r->code));
    bool lowers = r->code == REASON_CHANGE_MINIMUM || r->code == REASON_CHANGE_FLOOR;
    if (r->code == REASON_CHANGE_END || r->code == REASON_CHANGE_MEMBERS || lowers) {
        buf_printf(out, ",\"kind\":\"%s\"", explain_kind_of(r->have));
        json_name(out, "namespace", names, r->pod_set);
        buf_text(out, ",\"name\":");
        json_text(out, explain_last_part(name_of(names, r->name)));
        json_name(out, "podSet", names, r->flavor);
        json_name(out, "resource", names, r->resource);
    } else if (r->code == REASON_CHANGE_LIMIT) {
        buf_printf(out, ",\"kind\":\"%s\"", explain_kind_of(r->have));
        json_name(out, "namespace", names, r->pod_set);
        buf_text(out, ",\"name\":");
        json_text(out, explain_last_part(name_of(names, r->name)));
        json_number(out, "seconds", r->need);
    } else if (r->code == REASON_CHANGE_RESUME) {
        json_resume(out, name_of(names, r->name), r->have);
    } else {
        json_name(out, "queue", names, r->queue);
        if (r->queue && r->queue_kind == QUEUE_VOLCANO) /* there may be a ClusterQueue of that name, too */
            buf_text(out, ",\"queueKind\":\"Queue\"");
        json_name(out, "node", names, r->name);
        json_name(out, "flavor", names, r->flavor);
        json_name(out, "resource", names, r->resource);
    }
    if (r->need && r->code != REASON_CHANGE_LIMIT) {
        explain_amount(&amount, names, r->resource, r->need);
        buf_text(out, lowers ? ",\"subtract\":" : ",\"add\":");
        json_text(out, amount.data);
    }
    buf_free(&amount);
    buf_char(out, '}');
}

static void json_gap(struct buf *out, const char *key, const struct reason *gap, const struct intern *names)
{
    struct buf message;
    buf_init(&message);
    (void)explain_remedies(&message, gap, names, one_sentence);
    buf_printf(out, ",\"%s\":", key);
    json_text(out, message.data ? message.data : "");
    buf_free(&message);
}

/* ,"remedies":[{"all":[..],"message":..}], or an empty list and ,"impossible":"..", or ,"notComputed":".." alone */
static void json_remedies(struct buf *out, const struct reason *remedies, const struct intern *names)
{
    if (remedies->child && remedies->child->code == REASON_NOT_COMPUTED) {
        json_gap(out, "notComputed", remedies->child, names);
        return;
    }
    struct buf message;
    buf_init(&message);
    buf_text(out, ",\"remedies\":[");
    for (const struct reason *one = remedies->child; one && one->code == REASON_REMEDY; one = one->next) {
        buf_text(out, one == remedies->child ? "{\"all\":[" : ",{\"all\":[");
        for (const struct reason *change = one->child; change; change = change->next) {
            (change->code == REASON_CHANGE_MOVE ? json_move : json_change)(out, change, names);
            if (change->next)
                buf_char(out, ',');
        }
        buf_text(out, "],\"message\":");
        buf_clear(&message);
        (void)explain_remedies(&message, one, names, one_sentence);
        json_text(out, message.data ? message.data : "");
        buf_char(out, '}');
    }
    buf_char(out, ']');
    if (remedies->child && remedies->child->code == REASON_IMPOSSIBLE)
        json_gap(out, "impossible", remedies->child, names);
    buf_free(&message);
}

/* levels: how many levels of children are written; what is below is counted as "more". */
static void json_write(struct buf *out, const struct reason *r, const struct intern *names, int levels)
{
    struct buf message;
    buf_init(&message);
    buf_text(out, "{\"code\":");
    json_text(out, reason_code_name(r->code));
    json_name(out, "name", names, r->name);
    json_name(out, "queue", names, r->queue);
    json_name(out, "flavor", names, r->flavor);
    json_name(out, "resource", names, r->resource);
    json_name(out, "podSet", names, r->pod_set);
    char about[TIME_TEXT_MAX];
    if (explain_about_ms(r)) {
        buf_text(out, ",\"about\":");
        json_text(out, time_format(about, explain_about_ms(r)));
    } else if (r->have || r->need) {
        json_number(out, "have", r->have);
        json_number(out, "need", r->need);
    }
    if (r->nodes_n)
        json_number(out, "nodes", r->nodes_n);
    explain_sentence(&message, r, names);
    buf_text(out, ",\"message\":");
    json_text(out, message.data ? message.data : "");
    buf_free(&message);
    if (r->remedies)
        json_remedies(out, r->remedies, names);
    if (r->child && levels <= 0) {
        json_number(out, "more", count_tree(r->child));
    } else if (r->child) {
        buf_text(out, ",\"children\":[");
        for (const struct reason *child = r->child; child; child = child->next) {
            if (child != r->child)
                buf_char(out, ',');
            json_write(out, child, names, levels - 1);
        }
        buf_char(out, ']');
    }
    buf_char(out, '}');
}

void explain_json(struct buf *out, const struct reason *r, const struct intern *names)
{
    if (!r)
        return;
    size_t start = out->n;
    for (int levels = TREE_DEPTH_MAX; levels >= 0; levels--) {
        out->n = start;
        json_write(out, r, names, levels);
        if (out->n - start <= LIMIT_REASON_BYTES)
            return;
    }
    out->n = start; /* even the root's own message is too long: code and count are enough */
    buf_text(out, "{\"code\":");
    json_text(out, reason_code_name(r->code));
    json_number(out, "more", count_tree(r->child));
    buf_char(out, '}');
}
