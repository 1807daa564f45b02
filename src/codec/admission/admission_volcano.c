#include "codec/admission/admission_part.h"
#include "codec/schema/schema_checks.h"

/* ---- policies ---- */

static bool is_one_of(const struct json *text, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes_is(json_bytes(text), names[i]))
            return true;
    return false;
}

/* Does the policy answer this event, by either spelling? */
static bool policy_has(const struct json *policy, struct bytes event)
{
    const struct json *list = json_get(policy, "events");
    if (bytes_equal(json_bytes(json_get(policy, "event")), event))
        return true;
    JSON_EACH (item, admission_list_n(list) ? list : NULL)
        if (bytes_equal(json_bytes(item), event))
            return true;
    return false;
}

static void check_event(struct admission *x, const struct json *policies, const struct json *policy,
                        const struct json *event, const char *path)
{
    static const char *const events[] = {"*",       "PodPending",    "PodFailed",  "PodEvicted",
                                         "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"};
    if (!is_one_of(event, events, sizeof events / sizeof *events)) {
        admission_error(x, FIELD_INVALID, path, event,
                        "write PodFailed, PodEvicted, PodPending, TaskCompleted, TaskFailed, JobUpdated, Unknown or *");
        return;
    }
    /* Twice in one policy is once. */
    for (const struct json *before = policies->first; before != policy; before = before->next)
        if (policy_has(before, json_bytes(event))) {
            admission_error(x, FIELD_DUPLICATE, path, event, "an earlier policy answers this event");
            return;
        }
}

static void check_events(struct admission *x, const struct json *policies, const struct json *policy, const char *path)
{
    const struct json *event = json_get(policy, "event"), *list = json_get(policy, "events");
    uint32_t n = admission_list_n(list), at = 0;
    bool any = bytes_is(json_bytes(event), "*");
    if (!admission_absent(event))
        check_event(x, policies, policy, event, AT(x, "%s.event", path));
    JSON_EACH (item, n ? list : NULL) {
        any |= bytes_is(json_bytes(item), "*");
        check_event(x, policies, policy, item, AT(x, "%s.events[%u]", path, at++));
    }
    if (any && n + !admission_absent(event) > 1)
        admission_error(x, FIELD_INVALID, AT(x, "%s.events", path), list,
                        "if there's * here, no other event should be here");
}

void admission_volcano_policies(struct admission *x, const struct json *policies, const char *path)
{
    static const char *const actions[] = {"AbortJob",         "RestartJob",   "RestartTask", "RestartPod",
                                          "RestartPartition", "TerminateJob", "CompleteJob", "ResumeJob"};
    uint32_t at = 0, with_events_n = 0;
    bool any = false;
    JSON_EACH (policy, admission_list_n(policies) <= 256 ? policies : NULL) {
        const char *item = AT(x, "%s[%u]", path, at++);
        const struct json *event = json_get(policy, "event"), *list = json_get(policy, "events"),
                          *code = json_get(policy, "exitCode");
        const struct json *action = json_get(policy, "action");
        bool has_event = !admission_absent(event) || admission_list_n(list) > 0;
        if (!is_one_of(action, actions, sizeof actions / sizeof *actions))
            admission_error(
                x, FIELD_INVALID, AT(x, "%s.action", item), action,
                "invalid policy action: write AbortJob, RestartJob, RestartTask, RestartPod, RestartPartition, TerminateJob, CompleteJob or "
                "ResumeJob");
        if (has_event && code)
            admission_error(x, FIELD_INVALID, item, NULL, "must not specify event and exitCode simultaneously");
        if (!has_event && !code)
            admission_error(x, FIELD_INVALID, item, NULL, "either event and exitCode should be specified");
        if (code && json_int64(code, 0) == 0)
            admission_error(x, FIELD_INVALID, AT(x, "%s.exitCode", item), code, "0 is not a valid error code");
        check_events(x, policies, policy, item);
        with_events_n += has_event;
        any |= policy_has(policy, BYTES("*"));
    }
    if (any && with_events_n > 1)
        admission_error(x, FIELD_INVALID, path, NULL,
                        "if there's * here, no other policy should be here: it answers every event");
    if (admission_list_n(policies) > 256)
        admission_error(x, FIELD_TOO_LONG, path, NULL, "must have at most 256 items");
    admission_unique_as(x, policies, path, "exitCode", "duplicate exitCode: an earlier policy answers it");
}

/* ---- the queue of a Job or PodGroup ---- */

/* SOURCE Volcano's webhook of PodGroups: a namespace says by an annotation which queue stands for the default one, as they are created. A
 * job gets it itself, and its group with it: there the job would go on saying "default". */
static void default_queue(struct admission *x, struct json *spec, bool is_job)
{
    const char *ns = json_text(json_path(x->object, "metadata", "namespace", NULL), "");
    const char *was = json_text(json_path(x->old, "spec", "queue", NULL), "default");
    admission_default_text(x, spec, "queue", "default");
    bool again = x->old && is_job && !text_equal(was, "default"); /* the manifest, applied once more */
    if ((x->old && !again) || !x->read || !*ns || !text_equal(json_get_text(spec, "queue", ""), "default"))
        return;
    const char *queue = admission_annotation(x->read(x->ctx, "", "namespaces", "", ns), "scheduling.volcano.sh/queue-name");
    if (*queue)
        json_set_text(x->arena, spec, "queue", queue);
}

/* ---- Job ---- */

static void default_task(struct admission *x, struct json *task, uint32_t at)
{
    admission_default_text(x, task, "name", AT(x, "default%u", at));
    const struct json *partitions = json_get(task, "partitionPolicy");
    int64_t size = json_get_int64(partitions, "partitionSize", 0), fewest = json_get_int64(partitions, "minPartitions", 0);
    if (!json_get(task, "minAvailable"))
        json_set_int64(x->arena, task, "minAvailable",
                       fewest > 0 && size > 0 && size <= INT32_MAX ? fewest * size : json_get_int64(task, "replicas", 0));
    if (json_get_int64(task, "maxRetry", 0) == 0)
        json_set_int64(x->arena, task, "maxRetry", 3);
    struct json *spec = json_path(task, "template", "spec", NULL);
    if (json_is(spec, JSON_OBJECT) && json_get_bool(spec, "hostNetwork", false))
        admission_default_text(x, spec, "dnsPolicy", "ClusterFirstWithHostNet");
}

static void default_job(struct admission *x, struct json *spec)
{
    int64_t fewest = 0;
    uint32_t at = 0;
    struct json *tasks = json_get(spec, "tasks"), *plugins = json_get(spec, "plugins");
    JSON_EACH (task, admission_list_n(tasks) ? tasks : NULL) {
        default_task(x, task, at++);
        fewest += json_get_int64(task, "minAvailable", 0);
    }
    admission_default_text(x, spec, "schedulerName", "volcano");
    default_queue(x, spec, true);
    if (json_get_int64(spec, "maxRetry", 0) == 0)
        json_set_int64(x->arena, spec, "maxRetry", 3);
    if (json_get_int64(spec, "minAvailable", 0) == 0 && fewest)
        json_set_int64(x->arena, spec, "minAvailable", fewest);
    static const char *const need_svc[] = {"tensorflow", "mpi", "pytorch", "ray"};
    for (size_t i = 0; i < 4; i++) {
        if (!json_get(plugins, need_svc[i]))
            continue;
        (void)json_ensure_array(x->arena, plugins, "svc"); /* made when absent */
        if (i == 1)
            (void)json_ensure_array(x->arena, plugins, "ssh"); /* likewise */
    }
}

static bool task_exists(const struct json *tasks, struct bytes name)
{
    JSON_EACH (task, admission_list_n(tasks) ? tasks : NULL)
        if (bytes_equal(json_bytes(json_get(task, "name")), name))
            return true;
    return false;
}

static void check_depends(struct admission *x, const struct json *tasks, const struct json *task, const char *path)
{
    const struct json *names = json_path(task, "dependsOn", "name", NULL);
    JSON_EACH (name, admission_list_n(names) ? names : NULL)
        if (!task_exists(tasks, json_bytes(name)))
            admission_error(x, FIELD_NOT_FOUND, AT(x, "%s.dependsOn.name", path), name, "no task has this name");
    const char *iteration = json_text(json_path(task, "dependsOn", "iteration", NULL), "all");
    if (!x->old && *iteration && !text_equal(iteration, "all") && !text_equal(iteration, "any"))
        admission_warn(x, "%s.dependsOn.iteration: \"%s\" is neither any nor all: it waits for all of them, as if it said all", path,
                       iteration);
}

static void check_topology(struct admission *x, const struct json *topology, const char *path)
{
    if (json_get(topology, "highestTierAllowed") && *json_get_text(topology, "highestTierName", ""))
        admission_error(x, FIELD_INVALID, path, NULL,
                        "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously");
}

static void check_partition(struct admission *x, const struct json *task, const char *path)
{
    const struct json *policy = json_get(task, "partitionPolicy");
    int64_t total = json_get_int64(policy, "totalPartitions", 1), size = json_get_int64(policy, "partitionSize", 1),
            product;
    if (!policy)
        return;
    check_topology(x, json_get(policy, "networkTopology"), AT(x, "%s.partitionPolicy.networkTopology", path));
    int64_t fewest = json_get_int64(policy, "minPartitions", 0), of_task = json_get_int64(task, "minAvailable", 0);
    if (total < 1 || size < 1 || __builtin_mul_overflow(total, size, &product) || product != json_get_int64(task, "replicas", 0))
        admission_error(x, FIELD_INVALID, AT(x, "%s.partitionPolicy", path), NULL,
                        "'Replicas' are not equal to TotalPartitions*PartitionSize: write replicas that are");
    else if (fewest > total)
        admission_error(x, FIELD_INVALID, AT(x, "%s.partitionPolicy.minPartitions", path), json_get(policy, "minPartitions"),
                        "must be at most totalPartitions, which is %lld", (long long)total);
    else if (fewest > 0 && fewest * size != of_task)
        admission_error(x, FIELD_INVALID, AT(x, "%s.minAvailable", path), json_get(task, "minAvailable"),
                        "'MinAvailable' is not equal to MinPartitions*PartitionSize: write %lld, or leave it out",
                        (long long)(fewest * size));
}

/* CPUs are given whole where the NUMA node counts. SOURCE Volcano: of each container, by its limit where it has no requests. */
static void check_whole_cpus(struct admission *x, const struct json *task, const char *path)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *policy = json_get_text(task, "topologyPolicy", "");
    for (int l = 0; l < 2 && *policy && !text_equal(policy, "none"); l++) {
        uint32_t at = 0;
        JSON_EACH (c, json_path(task, "template", "spec", lists[l], NULL)) {
            const struct json *requests = json_path(c, "resources", "requests", NULL),
                              *limits = json_path(c, "resources", "limits", NULL);
            const struct json *cpu = json_get(requests && requests->n ? requests : limits, "cpu");
            struct quantity q;
            if (!cpu || quantity_parse(json_bytes(cpu), &q, NULL) < 0 || q.nano < 1000000000 || q.nano % 1000000000)
                admission_error(x, FIELD_INVALID, AT(x, "%s.template.spec.%s[%u].resources.requests[cpu]", path, lists[l], at), cpu,
                                "the cpu request isn't an integer: with topologyPolicy %s write whole CPUs, such as 2", policy);
            at++;
        }
    }
}

static void check_task(struct admission *x, const struct json *tasks, struct json *task, const char *path)
{
    const struct json *name = json_get(task, "name");
    int64_t replicas = json_get_int64(task, "replicas", 0), fewest = json_get_int64(task, "minAvailable", replicas);
    const char *job = json_text(json_path(x->object, "metadata", "name", NULL), "");
    admission_not_negative(x, task, path, "replicas");
    if (!name_is_dns_label(json_bytes(name)))
        admission_error(x, FIELD_INVALID, AT(x, "%s.name", path), name,
                        NAME_DNS_LABEL_PATTERN_RULE);
    else if (strlen(job) + json_bytes(name).n + 6 > LIMIT_LABEL)
        admission_error(
            x, FIELD_INVALID, AT(x, "%s.name", path), name,
            "job and task name together are too long: pods are called <job>-<task>-<index>, at most 63 characters");
    if (fewest > replicas)
        admission_error(x, FIELD_INVALID, AT(x, "%s.minAvailable", path), json_get(task, "minAvailable"),
                        "'minAvailable' is greater than 'replicas' in task: %s", json_text(name, ""));
    admission_volcano_policies(x, json_get(task, "policies"), AT(x, "%s.policies", path));
    check_depends(x, tasks, task, path);
    check_partition(x, task, path);
    if (!x->old)
        check_whole_cpus(x, task, path);
    admission_template(x, json_get(task, "template"), AT(x, "%s.template", path), ADMISSION_TEMPLATE_ANY);
}

static void check_volumes(struct admission *x, const struct json *volumes)
{
    uint32_t at = 0;
    JSON_EACH (volume, admission_list_n(volumes) ? volumes : NULL) {
        const char *path = AT(x, "spec.volumes[%u]", at++);
        if (!x->old && !admission_absent(json_get(volume, "volumeClaimName")) && json_get(volume, "volumeClaim"))
            admission_error(x, FIELD_INVALID, path, NULL, "only one of volumeClaim and volumeClaimName may be set");
        const struct json *claim = json_get(volume, "volumeClaimName");
        if (!admission_absent(claim) && !name_is_dns_subdomain(json_bytes(claim)))
            admission_error(x, FIELD_INVALID, AT(x, "%s.volumeClaimName", path), claim, NAME_DNS_SUBDOMAIN_RULE);
        if (strchr(json_get_text(volume, "mountPath", ""), ':'))
            admission_error(x, FIELD_INVALID, AT(x, "%s.mountPath", path), json_get(volume, "mountPath"), "must not contain ':'");
        if (admission_absent(json_get(volume, "volumeClaimName")) && !json_get(volume, "volumeClaim"))
            admission_error(x, FIELD_REQUIRED, path, NULL,
                            "either VolumeClaim or VolumeClaimName must be specified: write either volumeClaim or volumeClaimName");
    }
    admission_unique_as(x, volumes, "spec.volumes", "mountPath", "duplicated mountPath: give each volume a path of its own");
}

static void check_queue(struct admission *x, const struct json *spec)
{
    const struct json *queue = json_get(spec, "queue");
    const char *name = json_text(queue, "default");
    if (text_equal(name, "root"))
        admission_error(x, FIELD_INVALID, "spec.queue", queue, "can not submit job to root queue");
    if (!x->read || x->old || text_equal(name, "root"))
        return;
    const struct json *found = x->read(x->ctx, "scheduling.volcano.sh", "queues", "", name);
    if (found && x->has_child && x->has_child(x->ctx, "scheduling.volcano.sh", "queues", name))
        admission_error(
            x, FIELD_INVALID, "spec.queue", queue,
            "can only submit job to leaf queue: other queues name this one as their parent; write one of them");
    const char *state = json_text(json_path(found, "status", "state", NULL), "Open");
    if (!found && !text_equal(name, "default"))
        admission_error(x, FIELD_INVALID, "spec.queue", queue,
                        "unable to find job queue: create a Queue of scheduling.volcano.sh/v1beta1 with this name, or write another "
                        "(left out: default, or what the annotation scheduling.volcano.sh/queue-name of the namespace says)");
    else if (found && !text_equal(state, "Open") && state[0])
        admission_error(x, FIELD_INVALID, "spec.queue", queue,
                        "can only submit job to queue with state `Open`, the queue's state is `%s`", state);
}

static void check_priority_class(struct admission *x, const struct json *spec)
{
    const struct json *class = json_get(spec, "priorityClassName");
    const char *name = json_text(class, "");
    if (!x->read || !*name || text_starts(name, "system-") ||
        (x->old && text_equal(name, json_text(json_path(x->old, "spec", "priorityClassName", NULL), ""))))
        return;
    if (!x->read(x->ctx, "scheduling.k8s.io", "priorityclasses", "", name))
        admission_error(x, FIELD_INVALID, "spec.priorityClassName", class,
                        "no PriorityClass has this name: create it first, or leave the field out");
}

/* A job without what may change. */
static struct json *frozen_part(struct admission *x, const struct json *spec)
{
    struct json *copy = json_clone(x->arena, spec);
    json_remove(copy, "minAvailable");
    json_remove(copy, "priorityClassName");
    JSON_EACH (task, admission_list_n(json_get(copy, "tasks")) ? json_get(copy, "tasks") : NULL) {
        json_remove(task, "replicas");
        json_remove(task, "minAvailable");
    }
    JSON_EACH (volume, admission_list_n(json_get(copy, "volumes")) ? json_get(copy, "volumes") : NULL)
        if (json_get(volume, "volumeClaim"))
            json_remove(volume, "volumeClaimName"); /* Volcano's controller writes it */
    return copy;
}

void admission_vcjob(struct admission *x)
{
    struct json *spec = json_get(x->object, "spec"), *tasks = json_get(spec, "tasks");
    int64_t replicas = 0;
    uint32_t at = 0;
    if (admission_list_n(tasks) == 0) {
        admission_error(x, FIELD_REQUIRED, "spec.tasks", NULL,
                        "No task specified in job spec: write at least one, with replicas and a pod template");
        return;
    }
    if (tasks->n > LIMIT_VCJOB_TASKS) {
        admission_error(x, FIELD_TOO_LONG, "spec.tasks", NULL, "must have at most %d items", LIMIT_VCJOB_TASKS);
        return;
    }
    default_job(x, spec);
    if (!admission_few_targets(x, tasks, "name", "spec.tasks"))
        return;
    const char *circle = admission_circle(x, tasks, "name");
    if (*circle)
        admission_error(x, FIELD_INVALID, "spec.tasks", NULL,
                        "job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG): %s wait for each other",
                        circle);
    JSON_EACH (task, tasks) {
        replicas += json_get_int64(task, "replicas", 0);
        check_task(x, tasks, task, AT(x, "spec.tasks[%u]", at++));
    }
    admission_unique_as(x, tasks, "spec.tasks", "name", "duplicated task name: give each task a name of its own");
    if (json_get_int64(spec, "minAvailable", 0) > replicas)
        admission_error(x, FIELD_INVALID, "spec.minAvailable", json_get(spec, "minAvailable"),
                        "job 'minAvailable' should not be greater than total replicas in tasks (%lld)",
                        (long long)replicas);
    if (replicas > LIMIT_GANG_MEMBERS)
        admission_error(x, FIELD_INVALID, "spec.tasks", NULL, "%lld pods, at most %d in one job", (long long)replicas,
                        LIMIT_GANG_MEMBERS);
    admission_volcano_policies(x, json_get(spec, "policies"), "spec.policies");
    check_topology(x, json_get(spec, "networkTopology"), "spec.networkTopology");
    admission_vcjob_plugins(x, spec);
    check_volumes(x, json_get(spec, "volumes"));
    check_queue(x, spec);
    check_priority_class(x, spec);
    if (!x->old) {
        admission_volcano_guide(x, spec);
        admission_vc_budget_of_job(x);
    } else if (admission_list_n(json_path(x->old, "spec", "tasks", NULL)) != tasks->n)
        admission_error(x, FIELD_FORBIDDEN, "spec.tasks", NULL, "job updates may not add or remove tasks");
    else if (!json_equal(frozen_part(x, json_get(x->old, "spec")), frozen_part(x, spec)))
        admission_error(x, FIELD_FORBIDDEN, "spec", NULL,
                        "job updates may not change fields other than `minAvailable`, `tasks[*].replicas`, "
                        "`tasks[*].minAvailable` and `priorityClassName`");
}

/* ---- Queue, PodGroup ---- */

static void check_amounts(struct admission *x, const struct json *amounts, const char *path)
{
    struct quantity q;
    JSON_EACH (amount, json_is(amounts, JSON_OBJECT) ? amounts : NULL)
        (void)admission_quantity(x, amount, AT(x, "%s[%s]", path, amount->key), &q); /* only its form */
}

static void admit_queue(struct admission *x)
{
    const struct json *spec = json_get(x->object, "spec"), *guarantee = json_path(spec, "guarantee", "resource", NULL);
    const struct json *deserved = json_get(spec, "deserved"), *capability = json_get(spec, "capability"),
                      *weight = json_get(spec, "weight");
    check_amounts(x, capability, "spec.capability");
    check_amounts(x, deserved, "spec.deserved");
    check_amounts(x, guarantee, "spec.guarantee.resource");
    if (weight && (json_int64(weight, 0) < 1 || json_int64(weight, 0) > 65535))
        admission_error(x, FIELD_INVALID, "spec.weight", weight,
                        "queue weight must be a positive integer between 1 and 65535");
    admission_vc_queue(x);
}

static void admit_pod_group(struct admission *x)
{
    struct json *spec = json_ensure_object(x->arena, x->object, "spec");
    default_queue(x, spec, false);
    admission_not_negative(x, spec, "spec", "minMember");
    check_amounts(x, json_get(spec, "minResources"), "spec.minResources");
    const struct json *tasks = json_get(spec, "minTaskMember"), *policies = json_get(spec, "subGroupPolicy");
    JSON_EACH (task, json_is(tasks, JSON_OBJECT) ? tasks : NULL)
        admission_not_negative(x, tasks, "spec.minTaskMember", task->key);
    uint32_t at = 0;
    check_topology(x, json_get(spec, "networkTopology"), "spec.networkTopology");
    JSON_EACH (policy, admission_list_n(policies) ? policies : NULL)
        check_topology(x, json_get(policy, "networkTopology"), AT(x, "spec.subGroupPolicy[%u].networkTopology", at++));
}

/* ---- HyperNode ---- */

/* SOURCE Volcano's definition and its webhook: one selector each, and a pattern that is one. */
static void check_member(struct admission *x, const struct json *member, const char *path)
{
    const struct json *selector = json_get(member, "selector"), *pattern = json_path(selector, "regexMatch", "pattern", NULL);
    const struct json *name = json_path(selector, "exactMatch", "name", NULL);
    int n = (json_get(selector, "exactMatch") != NULL) + (json_get(selector, "regexMatch") != NULL) +
            (json_get(selector, "labelMatch") != NULL);
    if (!n)
        admission_error(x, FIELD_INVALID, AT(x, "%s.selector", path), NULL, "Either ExactMatch or RegexMatch or LabelMatch must be specified");
    if (n > 1)
        admission_error(x, FIELD_INVALID, AT(x, "%s.selector", path), NULL,
                        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified");
    if (pattern && !schema_pattern_finds(json_text(pattern, ""), NULL, 0, NULL))
        admission_error(x, FIELD_INVALID, AT(x, "%s.selector.regexMatch.pattern", path), pattern,
                        "member regexMatch pattern is invalid: write a regular expression of RE2");
    if (!x->old && text_equal(json_get_text(member, "type", ""), "HyperNode") && n == 1 && !name)
        admission_warn(x, "%s.selector: selects nothing: members of type HyperNode are named by exactMatch", path);
}

static void admit_hypernode(struct admission *x)
{
    const struct json *members = json_path(x->object, "spec", "members", NULL);
    uint32_t at = 0;
    if (!admission_list_n(members))
        admission_error(x, FIELD_REQUIRED, "spec.members", NULL, "member must have at least one member");
    JSON_EACH (member, admission_list_n(members) ? members : NULL)
        check_member(x, member, AT(x, "spec.members[%u]", at++));
}

static void admit_command(struct admission *x)
{
    static const char *const actions[] = {"AbortJob",    "ResumeJob", "RestartJob", "TerminateJob",
                                          "CompleteJob", "OpenQueue", "CloseQueue"};
    const struct json *action = json_get(x->object, "action");
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (bytes_is(json_bytes(action), actions[i]))
            return;
    admission_error(x, FIELD_NOT_SUPPORTED, "action", action,
                    "write AbortJob, ResumeJob, RestartJob, TerminateJob, CompleteJob, OpenQueue or CloseQueue");
}

void admission_volcano(struct admission *x, const struct kind *k)
{
    if (x->spec_rests)
        return; /* of which they are all about */
    if (text_equal(k->plural, "jobs"))
        admission_vcjob(x);
    else if (text_equal(k->plural, "queues"))
        admit_queue(x);
    else if (text_equal(k->plural, "podgroups"))
        admit_pod_group(x);
    else if (text_equal(k->plural, "hypernodes"))
        admit_hypernode(x);
    else if (text_equal(k->plural, "commands"))
        admit_command(x);
}
