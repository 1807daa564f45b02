/* Pod groups of three makers (Kubernetes' own: decode_native.c), Volcano queues, priority classes, disruption budgets. */
#include "base/amount.h"
#include "base/clock.h"
#include "base/limits.h"
#include "codec/decode/decode_part.h"

int32_t decode_int32(int64_t n)
{
    return n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : (int32_t)n;
}

int32_t decode_members(const struct json *v)
{
    int64_t n = json_int64(v, 1);
    return n < 1 ? 1 : n > LIMIT_GANG_MEMBERS ? LIMIT_GANG_MEMBERS : (int32_t)n;
}

int32_t decode_class_priority(const struct decoder *d, const struct json *spec)
{
    const char *name = json_get_text(spec, "priorityClassName", "");
    return name[0] && d->priority_of ? d->priority_of(d->ctx, name) : 0;
}

/* A pod group has no field to be held by. */
void decode_group_hold(const struct decoder *d, const struct json *object, struct gang_record *g)
{
    const struct json *held = json_get(json_path(object, "metadata", "annotations", NULL), DECODE_HOLD_ANNOTATION);
    if (!json_is(held, JSON_STRING) || bytes_is(json_bytes(held), "false"))
        return;
    g->on_hold = true;
    g->hold_text = intern_text_id(d->names, "It is held: annotation " DECODE_HOLD_ANNOTATION " (capstan resume takes it off)");
}

bool decode_refill(struct bytes text, int32_t *ret_s)
{
    int64_t seconds;
    if (!bytes_int64(text, &seconds) || seconds < 1 || seconds > DECODE_REFILL_MOST_S)
        return false;
    *ret_s = (int32_t)seconds;
    return true;
}

bool decode_checkpoint_within(struct bytes text, int32_t *ret_s)
{
    int64_t seconds;
    if (!bytes_int64(text, &seconds) || seconds < 1 || seconds > DECODE_CHECKPOINT_WITHIN_MOST_S)
        return false;
    *ret_s = (int32_t)seconds;
    return true;
}

bool decode_hung_after(struct bytes text, int32_t *ret_s)
{
    int64_t seconds;
    if (!bytes_int64(text, &seconds) || seconds < DECODE_HUNG_AFTER_LEAST_S || seconds > DECODE_HUNG_AFTER_MOST_S)
        return false;
    *ret_s = (int32_t)seconds;
    return true;
}

bool decode_truth(struct bytes text, bool *ret_is)
{
    *ret_is = bytes_is(text, "true");
    return *ret_is || bytes_is(text, "false");
}

int64_t decode_restart_ms(const struct json *object)
{
    const struct json *annotations = json_path(object, "metadata", "annotations", NULL);
    bool restarts;
    int64_t ms;
    if (!decode_truth(json_bytes(json_get(annotations, DECODE_HUNG_RESTART_ANNOTATION)), &restarts) || !restarts)
        return 0;
    return time_parse(json_bytes(json_get(annotations, DECODE_HUNG_ANNOTATION)), &ms) && ms > 0 ? ms : 0;
}

/* What all pod groups have in common. */
int decode_group_begin(const struct decoder *d, const struct json *object, enum gang_source source, struct gang_record *g, struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const char *ns = json_text(json_path(object, "metadata", "namespace", NULL), "");
    memset(g, 0, sizeof *g);
    g->source = source;
    g->key = decode_gang_key(d, source, bytes_of(ns), bytes_of(name));
    g->ns = intern_text_id(d->names, ns);
    g->created_ms = decode_created_ms(object);
    g->uid = decode_name(d, json_path(object, "metadata", "uid", NULL));
    g->active = !json_is(json_path(object, "metadata", "deletionTimestamp", NULL), JSON_STRING);
    g->min_members = 1;
    decode_group_hold(d, object, g);
    (void)decode_refill(json_bytes(json_path(object, "metadata", "annotations", DECODE_REFILL_ANNOTATION, NULL)), &g->refill_s);
    g->restart_ms = decode_restart_ms(object);
    return 0;
}

static int decode_shares(const struct decoder *d, const char *name, const struct json *spec, const struct queue_shares **ret_shares,
                         struct err *e)
{
    struct queue_shares *x = arena_zero(d->arena, 1, sizeof *x);
    const char *written = json_get_text(spec, "parent", ""), *parent = written[0] ? written : "root";
    if (decode_amounts(d, json_get(spec, "capability"), "spec.capability", &x->capability, &x->capability_n, e) < 0 ||
        decode_amounts(d, json_get(spec, "deserved"), "spec.deserved", &x->deserved, &x->deserved_n, e) < 0 ||
        decode_amounts(d, json_path(spec, "guarantee", "resource", NULL), "spec.guarantee.resource", &x->guarantee, &x->guarantee_n, e) < 0)
        return -E_INVALID;
    if (strcmp(name, "root") != 0)
        x->parent = intern_text_id(d->names, arena_printf(d->arena, DECODE_VOLCANO_QUEUE_PREFIX "%s", parent));
    x->weight = json_get_int64(spec, "weight", 1);
    x->keeps = !json_bool(json_get(spec, "reclaimable"), true);
    *ret_shares = x;
    return 0;
}

int decode_volcano_queue(const struct decoder *d, const struct json *object, struct queue_record *ret_queue,
                         struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const struct queue_shares *shares;
    if (decode_shares(d, name, json_get(object, "spec"), &shares, e) < 0)
        return -E_INVALID;
    struct bytes state = json_bytes(json_path(object, "status", "state", NULL));
    struct queue_record q = {.unlimited = true, .shares = shares, .borrow_before_next_flavor = true};
    q.name = intern_text_id(d->names, arena_printf(d->arena, DECODE_VOLCANO_QUEUE_PREFIX "%s", name));
    q.title = intern_text_id(d->names, name);
    q.kind = QUEUE_VOLCANO;
    q.priority = decode_int32(json_int64(json_path(object, "spec", "priority", NULL), 0));
    q.placement = decode_queue_placement(object, d->arena);
    q.strategy = bytes_is(json_bytes(json_path(object, "spec", "dequeueStrategy", NULL)), "fifo") ? QUEUE_STRICT_FIFO
                                                                                                : QUEUE_BEST_EFFORT_FIFO;
    bool shut = bytes_is(state, "Closed") || bytes_is(state, "Closing");
    q.closed = shut || json_is(json_path(object, "metadata", "deletionTimestamp", NULL), JSON_STRING);
    q.closed_text = shut ? intern_text_id(d->names, arena_printf(d->arena, "it is %.*s", (int)state.n, state.data)) : 0;
    *ret_queue = q;
    return 0;
}

/* SOURCE Volcano: an annotation, else a label; what is no truth value is read as false. */
static bool is_preemptable(const struct json *metadata)
{
    static const char *const words[] = {"1", "t", "T", "true", "TRUE", "True"};
    const struct json *said = json_path(metadata, "annotations", "volcano.sh/preemptable", NULL);
    said = said ? said : json_path(metadata, "labels", "volcano.sh/preemptable", NULL);
    bool is_true = !said;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        is_true |= bytes_is(json_bytes(said), words[i]);
    return is_true;
}

/* SOURCE Volcano: hard without a highest tier keeps nobody anywhere, and is a wish as soft is. But where the tier is only called by a name
 * that no HyperNode has, it waits: Volcano lets it go anywhere. */
static struct tier_request tiers_of(const struct decoder *d, const struct json *asked)
{
    struct tier_request r = {.mode = TOPOLOGY_PREFERRED};
    const struct json *highest = json_get(asked, "highestTierAllowed");
    const char *name = json_get_text(asked, "highestTierName", "");
    bool has_highest = json_is(highest, JSON_NUMBER);
    if (!json_is(asked, JSON_OBJECT))
        return (struct tier_request){0};
    if (strcmp(json_get_text(asked, "mode", "hard"), "soft") == 0 || (!has_highest && !*name))
        return r;
    r.mode = TOPOLOGY_REQUIRED;
    r.highest = json_int64(highest, INT64_MIN);
    if (has_highest)
        return r;
    r.title = intern_text_id(d->names, name);
    if (!d->tier_of || !d->tier_of(d->ctx, name, &r.highest))
        r.highest = INT64_MIN;
    return r;
}

void decode_group_fault(const struct decoder *d, struct gang_record *g, const char *fault)
{
    g->on_hold = g->hold_is_fault = true;
    g->hold_text = intern_text_id(d->names, fault);
}

static const name_id *label_keys(const struct decoder *d, const struct json *keys, uint32_t *ret_n)
{
    name_id *all = arena_alloc(d->arena, (json_is(keys, JSON_ARRAY) ? keys->n : 0) * sizeof *all + 1);
    JSON_EACH (key, json_is(keys, JSON_ARRAY) ? keys : NULL) {
        if (*ret_n == LIMIT_SUBGROUP_KEYS)
            break;
        all[(*ret_n)++] = decode_name(d, key);
    }
    return all;
}

/* spec.subGroupPolicy[] {name, labelSelector, matchLabelKeys, subGroupSize, minSubGroups, networkTopology}. */
static void volcano_subgroups(const struct decoder *d, const struct json *policies, struct gang_record *g)
{
    if (!json_is(policies, JSON_ARRAY) || !policies->n)
        return;
    if (policies->n > LIMIT_SUBGROUP_POLICIES) {
        decode_group_fault(d, g, arena_printf(d->arena, "spec.subGroupPolicy: more than %d: write fewer", LIMIT_SUBGROUP_POLICIES));
        return;
    }
    struct subgroup_policy *all = arena_zero(d->arena, policies->n, sizeof *all);
    JSON_EACH (policy, policies) {
        const struct json *selector = json_get(policy, "labelSelector"), *least = json_get(policy, "minSubGroups");
        struct subgroup_policy *one = &all[g->subgroups_n++];
        one->name = decode_name(d, json_get(policy, "name"));
        if (json_is(selector, JSON_OBJECT))
            decode_label_selector(d, selector, &one->pods);
        one->keys = label_keys(d, json_get(policy, "matchLabelKeys"), &one->keys_n);
        one->size = decode_members(json_get(policy, "subGroupSize"));
        one->least_n = json_int64(least, 0) > 0 ? decode_members(least) : 0;
        one->tiers = tiers_of(d, json_get(policy, "networkTopology"));
    }
    g->subgroups = all;
}

/* SOURCE Volcano's plugin sla: the object's age and a Go duration; what is none, or not above zero, is as if it were not there. */
static int64_t due_ms(const struct json *object, int64_t created_ms)
{
    int64_t wait_ms;
    bool said = duration_parse(json_bytes(json_path(object, "metadata", "annotations", DECODE_SLA_ANNOTATION, NULL)), &wait_ms);
    return said && wait_ms > 0 && created_ms > 0 ? amount_plus(created_ms, wait_ms) : 0;
}

int decode_volcano_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang,
                             struct err *e)
{
    struct gang_record g;
    if (decode_group_begin(d, object, GANG_VOLCANO, &g, e) < 0)
        return -E_INVALID;
    const struct json *spec = json_get(object, "spec"), *tasks = json_get(spec, "minTaskMember");
    const char *asked = json_get_text(spec, "queue", ""), *queue = asked[0] ? asked : "default";
    g.queue = intern_text_id(d->names, arena_printf(d->arena, DECODE_VOLCANO_QUEUE_PREFIX "%s", queue));
    g.queue_title = intern_text_id(d->names, queue);
    g.queue_kind = QUEUE_VOLCANO;
    g.priority = decode_class_priority(d, spec);
    g.due_ms = due_ms(object, g.created_ms);
    g.tiers = tiers_of(d, json_get(spec, "networkTopology"));
    g.keeps_places = !is_preemptable(json_get(object, "metadata"));
    g.min_members = decode_members(json_get(spec, "minMember"));
    int64_t of_tasks = 0;
    JSON_EACH (task, json_is(tasks, JSON_OBJECT) ? tasks : NULL)
        of_tasks += json_int64(task, 0) > 0 ? decode_members(task) : 0;
    /* WHY as in Volcano: more of each task than of the whole means that the whole counts, whichever task its members are of */
    if (json_is(tasks, JSON_OBJECT) && tasks->n && g.min_members >= of_tasks) {
        struct amount *of_task = arena_alloc(d->arena, tasks->n * sizeof *of_task);
        JSON_EACH (task, tasks)
            of_task[g.min_of_task_n++] =
                (struct amount){intern_id(d->names, (struct bytes){task->key, task->key_n}), json_int64(task, 0)};
        g.min_of_task = of_task;
    }
    volcano_subgroups(d, json_get(spec, "subGroupPolicy"), &g);
    if (decode_amounts(d, json_get(spec, "minResources"), "spec.minResources", &g.least, &g.least_n, NULL) < 0)
        g.least_n = 0; /* what cannot be read keeps nobody out */
    g.finished = bytes_is(json_bytes(json_path(object, "status", "phase", NULL)), "Completed");
    *ret_gang = g;
    return 0;
}

/* Of what the pods ask for under other names nodes have nothing, and each of them needs a place as one pod: neither keeps anybody out. */
static void read_floor(const struct decoder *d, const struct json *amounts, struct gang_record *g)
{
    const struct amount *all;
    uint32_t n;
    if (decode_amounts(d, amounts, "spec.minResources", &all, &n, NULL) < 0)
        return; /* what cannot be read keeps nobody out */
    struct amount *floor = arena_alloc(d->arena, (n + 1) * sizeof *floor);
    for (uint32_t i = 0; i < n; i++)
        if (all[i].value > 0 && !decode_is_no_floor(bytes_of(intern_name(d->names, all[i].resource))))
            floor[g->least_n++] = all[i];
    g->least = floor;
    g->least_is_free = g->least_n > 0;
}

bool decode_is_no_floor(struct bytes resource)
{
    return bytes_is(resource, "pods") || share_is_resource(resource);
}

int decode_coscheduling_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang,
                                  struct err *e)
{
    struct gang_record g;
    if (decode_group_begin(d, object, GANG_COSCHEDULING, &g, e) < 0)
        return -E_INVALID;
    g.min_members = decode_members(json_path(object, "spec", "minMember", NULL));
    /* WHY  not Failed: that is said when one of its pods has failed, which may be made again. SOURCE coscheduling places those, too. */
    g.finished = bytes_is(json_bytes(json_path(object, "status", "phase", NULL)), "Finished");
    read_floor(d, json_path(object, "spec", "minResources", NULL), &g);
    *ret_gang = g;
    return 0;
}

struct tier_request decode_domain(const struct decoder *d, const char *levels, int64_t tier)
{
    struct tier_request r = {.mode = TOPOLOGY_REQUIRED, .highest = tier};
    const char *first = arena_text_n(d->arena, levels, strcspn(levels, " ")), *last = strrchr(first, ',');
    r.title = intern_text_id(d->names, arena_printf(d->arena, DECODE_LABEL_TITLE "%s", last ? last + 1 : first));
    return r;
}

const char *decode_unused_add(struct arena *a, const char *text, const char *more)
{
    return text ? arena_printf(a, "%s; %s", text, more) : more;
}

/* Is it above others in the tree of subgroups? */
static bool is_parent(const struct json *groups, const struct json *group)
{
    const char *name = json_get_text(group, "name", "");
    JSON_EACH (other, groups)
        if (strcmp(json_get_text(other, "parent", ""), name) == 0)
            return true;
    return false;
}

/* 0: its pods start one by one, after the others. */
static int32_t least_of(const struct json *leaf)
{
    const struct json *least = json_get(leaf, "minMember");
    return json_is(least, JSON_NUMBER) && json_int64(least, 1) == 0 ? 0 : decode_members(least);
}

/* The subgroups that pods are of. WHY those only: all of a tree have to start, and who is above others starts with them. */
static void leaves_read(const struct decoder *d, const struct json *groups, struct gang_record *g)
{
    struct amount *leaves = arena_alloc(d->arena, groups->n * sizeof *leaves);
    int64_t members = 0;
    JSON_EACH (group, groups) {
        name_id name = decode_name(d, json_get(group, "name"));
        if (!name || is_parent(groups, group))
            continue;
        leaves[g->min_of_task_n] = (struct amount){name, least_of(group)};
        members += leaves[g->min_of_task_n++].value;
    }
    g->min_of_task = leaves;
    g->min_members = members < 1 ? 1 : members < LIMIT_GANG_MEMBERS ? (int32_t)members : LIMIT_GANG_MEMBERS;
}

static void subgroups_read(const struct decoder *d, const struct json *groups, struct gang_record *g)
{
    const char *fault = NULL;
    if (!json_is(groups, JSON_ARRAY) || !groups->n)
        return;
    if (groups->n > LIMIT_TASK_GROUPS)
        fault = arena_printf(d->arena, "spec.subGroups: more than %d: write fewer", LIMIT_TASK_GROUPS);
    else
        leaves_read(d, groups, g);
    if (!fault && !g->min_of_task_n)
        fault = "spec.subGroups: each names another as its parent: pods are of subgroups that are nobody's parent";
    if (fault)
        decode_group_fault(d, g, fault);
}

/* Where in the levels one of that label, or alias, is; -1: nowhere. */
static int kai_level(const struct json *levels, const char *name)
{
    int at = 0;
    JSON_EACH (level, levels) {
        if (strcmp(json_get_text(level, "nodeLabel", ""), name) == 0 || strcmp(json_get_text(level, "alias", ""), name) == 0)
            return at;
        at++;
    }
    return -1;
}

/* Levels first to last, each by all labels down to its own: a rack is one of its block. */
static const char *kai_domains(const struct decoder *d, const struct json *levels, int first, int last)
{
    const char *text = NULL, *path = NULL;
    int at = 0;
    JSON_EACH (level, levels) {
        const char *label = json_get_text(level, "nodeLabel", "");
        path = path ? arena_printf(d->arena, "%s,%s", path, label) : label;
        if (at >= first && at <= last)
            text = text ? arena_printf(d->arena, "%s %s", text, path) : path;
        at++;
    }
    return text;
}

/* A topologyConstraint as levels: SOURCE KAI, plugin topology: from the preferred level up to the required one; without that up to all
 * nodes. NULL: it asks for none. ret_fault: what it asks for cannot be found, which keeps the group from starting. */
static const char *kai_constraint(const struct decoder *d, const struct json *asked, const char *at, const char **ret_fault)
{
    const char *topology = json_get_text(asked, "topology", ""), *widest = json_get_text(asked, "requiredTopologyLevel", "");
    const char *narrowest = json_get_text(asked, "preferredTopologyLevel", ""), *fault = NULL;
    const struct json *levels = *topology && d->kai_levels ? d->kai_levels(d->ctx, topology, d->arena) : NULL;
    levels = json_is(levels, JSON_ARRAY) && levels->n <= TOPOLOGY_LEVELS ? levels : NULL;
    int first = *widest ? kai_level(levels, widest) : 0, last = *narrowest ? kai_level(levels, narrowest) : first;
    if (*topology && !levels)
        fault = arena_printf(d->arena, "%s.topology: there is no Topology %.253s (kai.scheduler)", at, topology);
    else if (*topology && !*widest && !*narrowest)
        fault = arena_printf(d->arena, "%s: write requiredTopologyLevel, preferredTopologyLevel, or both", at);
    else if (*topology && (first < 0 || last < 0))
        fault = arena_printf(d->arena, "%s.%s: Topology %.253s has no level %.316s: write the nodeLabel or alias of one", at,
                             first < 0 ? "requiredTopologyLevel" : "preferredTopologyLevel", topology, first < 0 ? widest : narrowest);
    else if (*topology && last < first)
        fault = arena_printf(d->arena, "%s.preferredTopologyLevel: %.316s is wider than requiredTopologyLevel: write that one or a narrower one",
                             at, narrowest);
    *ret_fault = fault ? fault : *ret_fault;
    return *topology && !fault ? kai_domains(d, levels, first, last) : NULL;
}

static struct tier_request kai_tiers(const struct decoder *d, const struct json *asked, const char *levels, int64_t tier)
{
    bool is_hard = *json_get_text(asked, "requiredTopologyLevel", "") != '\0';
    return is_hard ? decode_domain(d, levels, tier) : (struct tier_request){.mode = TOPOLOGY_PREFERRED};
}

/* Of one list, by name; 0: there is none. */
static uint32_t subgroup_named(const struct json *groups, const char *name)
{
    uint32_t at = 0;
    JSON_EACH (group, *name ? groups : NULL) {
        at++;
        if (strcmp(json_get_text(group, "name", ""), name) == 0)
            return at;
    }
    return 0;
}

/* Pods of the subgroup, or, above others, so many of these: SOURCE KAI: without minSubGroup all. */
static void kai_policy(const struct decoder *d, const struct json *group, uint32_t above, uint32_t below_n, struct subgroup_policy *p)
{
    const struct json *least = json_get(group, "minSubGroup");
    p->name = decode_name(d, json_get(group, "name"));
    p->above = above;
    if (below_n) {
        p->pods.matches_nothing = true;
        p->least_n = json_is(least, JSON_NUMBER) ? decode_int32(json_int64(least, 0)) : (int32_t)below_n;
        return;
    }
    struct requirement *one = arena_zero(d->arena, 1, sizeof *one);
    one->key = intern_text_id(d->names, DECODE_KAI_SUBGROUP_LABEL);
    one->op = REQUIRE_IN;
    one->values = &p->name;
    one->values_n = 1;
    p->pods = (struct selector){.all = one, .all_n = 1};
    p->size = least_of(group) ? least_of(group) : 1;
    p->least_n = least_of(group) > 0;
}

static bool says_least(const struct json *spec, const struct json *groups)
{
    bool any = json_is(json_get(spec, "minSubGroup"), JSON_NUMBER);
    JSON_EACH (group, groups)
        any |= json_is(json_get(group, "minSubGroup"), JSON_NUMBER);
    return any;
}

/* What each asks for, first the group itself: levels NULL: nothing. */
struct kai_asks {
    const char **levels, *fault;
    const struct json **constraints;
    uint32_t *at;            /* index in the list of subgroups */
    int64_t *tiers;
    uint32_t n;
};

static struct kai_asks kai_asks_of(const struct decoder *d, const struct json *spec, const struct json *groups, uint32_t groups_n)
{
    struct kai_asks x = {.n = 1};
    uint32_t at = 0;
    x.levels = arena_zero(d->arena, groups_n + 1, sizeof *x.levels);
    x.at = arena_zero(d->arena, groups_n + 1, sizeof *x.at);
    x.constraints = arena_zero(d->arena, groups_n + 1, sizeof *x.constraints);
    x.tiers = arena_alloc(d->arena, (groups_n + 1) * sizeof *x.tiers);
    x.constraints[0] = json_get(spec, "topologyConstraint");
    x.levels[0] = kai_constraint(d, x.constraints[0], "spec.topologyConstraint", &x.fault);
    JSON_EACH (group, groups_n ? groups : NULL) {
        const char *path = arena_printf(d->arena, "spec.subGroups[%u].topologyConstraint", at);
        x.at[x.n] = at++;
        x.constraints[x.n] = json_get(group, "topologyConstraint");
        x.levels[x.n] = kai_constraint(d, x.constraints[x.n], path, &x.fault);
        x.n += x.levels[x.n] != NULL;
    }
    for (uint32_t i = 0; i < x.n; i++)
        x.tiers[i] = INT64_MIN;
    return x;
}

/* Of the group and of its subgroups. */
static void kai_topologies_read(const struct decoder *d, const struct kai_asks *x, struct subgroup_policy *policies, struct gang_record *g)
{
    bool known = d->levels_of && d->levels_of(d->ctx, g->key, x->levels, x->n, x->tiers);
    if (x->fault)
        decode_group_fault(d, g, x->fault);
    if (!known || x->fault)
        return;
    if (x->levels[0])
        g->tiers = kai_tiers(d, x->constraints[0], x->levels[0], x->tiers[0]);
    for (uint32_t i = 1; i < x->n; i++)
        policies[x->at[i]].tiers = kai_tiers(d, x->constraints[i], x->levels[i], x->tiers[i]);
}

/* The tree of subgroups, where so many of them are enough, or some ask for domains; else each leaf counts as a task (leaves_read). */
static void kai_tree_read(const struct decoder *d, const struct json *spec, struct gang_record *g)
{
    const struct json *groups = json_get(spec, "subGroups"), *least = json_get(spec, "minSubGroup");
    uint32_t n = json_is(groups, JSON_ARRAY) && groups->n <= LIMIT_TASK_GROUPS ? groups->n : 0, at = 0;
    bool few = says_least(spec, n ? groups : NULL);
    struct subgroup_policy *policies = arena_zero(d->arena, n + 1, sizeof *policies);
    struct kai_asks x = kai_asks_of(d, spec, groups, n);
    if ((x.n > 1 || few) && n > LIMIT_SUBGROUP_POLICIES)
        x.fault = arena_printf(d->arena, "spec.subGroups: more than %d, and topologies or minSubGroup among them: write fewer",
                               LIMIT_SUBGROUP_POLICIES);
    kai_topologies_read(d, &x, policies, g);
    if ((x.n == 1 && !few) || x.fault)
        return;
    uint32_t *below_n = arena_zero(d->arena, n + 1, sizeof *below_n);
    uint32_t *above = arena_zero(d->arena, n + 1, sizeof *above);
    JSON_EACH (group, n ? groups : NULL) {
        above[at] = subgroup_named(groups, json_get_text(group, "parent", ""));
        below_n[above[at++]]++;
    }
    at = 0;
    JSON_EACH (group, n ? groups : NULL) {
        kai_policy(d, group, above[at], below_n[at + 1], &policies[at]);
        at++;
    }
    g->subgroups = policies;
    g->subgroups_n = n;
    g->subgroups_least = json_is(least, JSON_NUMBER) ? (json_int64(least, 0) > 1 ? decode_int32(json_int64(least, 0)) : 1) : 0;
    if (few) { /* the tree says how many */
        g->min_of_task_n = 0;
        g->min_members = 1;
    }
}

/* SOURCE KAI: who does not say so himself is not preempted from this priority on. */
enum { KAI_KEEPS_FROM = 100 };

/* Whose Queue a group of KAI's means by this name; NULL: nobody's. */
static const char *kai_queue_prefix(const struct decoder *d, const char *queue)
{
    bool own = *queue && d->names_kai_queue && d->names_kai_queue(d->ctx, queue);
    return own ? DECODE_KAI_QUEUE_PREFIX : *queue && d->has_queue && d->has_queue(d->ctx, queue) ? DECODE_VOLCANO_QUEUE_PREFIX : NULL;
}

/* A duration, rounded up; -1: it is none, or below zero. */
static int64_t seconds_of(const struct json *duration)
{
    int64_t ms;
    return duration_parse(json_bytes(duration), &ms) && ms >= 0 ? ms / 1000 + (ms % 1000 > 0) : -1;
}

/* SOURCE KAI: below zero never; at once is a second here. */
static int32_t kai_refill_s(const struct json *spec)
{
    int64_t s = seconds_of(json_get(spec, "stalenessGracePeriod"));
    return s < 0 ? 0 : s < 1 ? 1 : s > DECODE_REFILL_MOST_S ? DECODE_REFILL_MOST_S : (int32_t)s;
}

static int32_t kai_patience_s(const struct json *spec)
{
    int64_t s = seconds_of(json_get(spec, "preemptionDelay"));
    return s < 0 ? 0 : s > INT32_MAX ? INT32_MAX : (int32_t)s;
}

int decode_kai_pod_group(const struct decoder *d, const struct json *object, struct gang_record *ret_gang, struct err *e)
{
    struct gang_record g;
    if (decode_group_begin(d, object, GANG_KAI, &g, e) < 0)
        return -E_INVALID;
    const struct json *spec = json_get(object, "spec");
    const char *queue = json_get_text(spec, "queue", ""), *may_go = json_get_text(spec, "preemptibility", "");
    g.min_members = decode_members(json_get(spec, "minMember"));
    g.priority = decode_class_priority(d, spec);
    g.keeps_places = *may_go ? strcmp(may_go, "non-preemptible") == 0 : g.priority >= KAI_KEEPS_FROM;
    g.finished = bytes_is(json_bytes(json_path(object, "status", "phase", NULL)), "Completed");
    g.refill_s = g.refill_s ? g.refill_s : kai_refill_s(spec);
    g.patience_s = kai_patience_s(spec);
    const char *maker = kai_queue_prefix(d, queue);
    if (maker) {
        g.queue = intern_text_id(d->names, arena_printf(d->arena, "%s%s", maker, queue));
        g.queue_title = intern_text_id(d->names, queue);
        g.queue_kind = QUEUE_VOLCANO;
    }
    subgroups_read(d, json_get(spec, "subGroups"), &g);
    kai_tree_read(d, spec, &g);
    *ret_gang = g;
    return 0;
}

static bool has_members(const struct json *object)
{
    return json_is(object, JSON_OBJECT) && object->n > 0;
}

const char *decode_kai_unused(const struct decoder *d, const struct json *object)
{
    const struct json *spec = json_get(object, "spec");
    const char *queue = json_get_text(spec, "queue", ""), *text = NULL;
    bool below = false;
    struct gang_record g = {0};
    const struct json *asked = json_get(spec, "topologyConstraint"), *groups = json_get(spec, "subGroups");
    bool asks = *json_get_text(asked, "topology", "") != '\0', nowhere = has_members(asked) && !asks;
    JSON_EACH (group, groups) {
        const struct json *own = json_get(group, "topologyConstraint");
        below |= has_members(own) && !*json_get_text(own, "topology", "");
        asks |= *json_get_text(own, "topology", "") != '\0';
    }
    bool reads = asks && decode_kai_pod_group(d, object, &g, NULL) == 0;
    bool any = g.tiers.mode != TOPOLOGY_UNASKED;
    for (uint32_t i = 0; i < g.subgroups_n; i++)
        any |= g.subgroups[i].tiers.mode != TOPOLOGY_UNASKED;
    if (nowhere || below)
        text = decode_unused_add(d->arena, text, arena_printf(d->arena, "%s: it names no topology, of which its level would be one",
                                                       nowhere ? "spec.topologyConstraint" : "spec.subGroups[*].topologyConstraint"));
    if (reads && !any && !g.hold_is_fault)
        text = decode_unused_add(d->arena, text, "topologyConstraint: " DECODE_LABELS_UNUSED);
    if (*queue && !kai_queue_prefix(d, queue))
        text = decode_unused_add(d->arena, text, arena_printf(d->arena, "spec.queue: there is no Queue of the name %.253s: it counts in none",
                                                       queue));
    return text;
}

int decode_priority_class(const struct decoder *d, const struct json *object, name_id *ret_name, int32_t *ret_value,
                          struct err *e)
{
    const char *name;
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    *ret_name = intern_text_id(d->names, name);
    *ret_value = decode_int32(json_get_int64(object, "value", 0));
    return 0;
}

int decode_budget(const struct decoder *d, const struct json *object, struct budget_record *ret_budget, struct err *e)
{
    const char *name, *ns = json_text(json_path(object, "metadata", "namespace", NULL), "");
    if (decode_object_name(object, &name, e) < 0)
        return -E_INVALID;
    const struct json *status = json_get(object, "status"), *disrupted = json_get(status, "disruptedPods");
    struct budget_record b = {.ns = intern_text_id(d->names, ns)};
    b.key = intern_text_id(d->names, arena_printf(d->arena, "%s/%s", ns, name));
    b.allowed = decode_int32(json_get_int64(status, "disruptionsAllowed", 0));
    decode_label_selector(d, json_path(object, "spec", "selector", NULL), &b.pods);
    name_id *keys = arena_alloc(d->arena, ((json_is(disrupted, JSON_OBJECT) ? disrupted->n : 0) + 1) * sizeof *keys);
    JSON_EACH (pod, json_is(disrupted, JSON_OBJECT) ? disrupted : NULL)
        keys[b.disrupted_n++] = intern_text_id(d->names, arena_printf(d->arena, "%s/%.*s", ns, (int)pod->key_n, pod->key));
    b.disrupted = keys;
    *ret_budget = b;
    return 0;
}
