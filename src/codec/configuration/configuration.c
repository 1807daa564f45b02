/* configuration.c - from a file to the fields that count: the document is found, held against the table, and read */
#include "codec/configuration/configuration.h"
#include "base/clock.h"
#include "base/quantity.h"
#include "codec/configuration/configuration_part.h"
#include "codec/kinds/queued_kinds.h"
#include "codec/kinds/queued_sets.h"
#include "wire/yaml.h"

#define GROUP "config.kueue.x-k8s.io/"
#define CONFIG_MAP_KEY "controller_manager_config.yaml"
#define MINUTE_MS INT64_C(60000)

/* ---- which document ---- */

static bool is_configuration(const struct json *doc)
{
    return text_starts(json_get_text(doc, "apiVersion", ""), GROUP) || text_equal(json_get_text(doc, "kind", ""), "Configuration");
}

/* The text in a ConfigMap: under Kueue's key, or its only one. */
static const char *text_in_map(const struct json *doc)
{
    const struct json *data = json_get(doc, "data");
    if (!text_equal(json_get_text(doc, "kind", ""), "ConfigMap") || !json_is(data, JSON_OBJECT))
        return NULL;
    const char *text = json_get_text(data, CONFIG_MAP_KEY, NULL);
    return text || data->n != 1 ? text : json_text(json_item(data, 0), NULL);
}

static struct json *parse(struct configuration_reader *r, struct bytes text, const char *where)
{
    struct json *docs = NULL;
    struct json_parse_info info = {0};
    struct err e = {0};
    if (yaml_parse(r->a, text, &docs, &info, &e) < 0) {
        configuration_problem(r, where, "%s", e.text);
        return NULL;
    }
    for (uint32_t i = 0; i < info.duplicate_n && i < sizeof info.duplicate / sizeof *info.duplicate; i++)
        configuration_problem(r, info.duplicate[i], "stands there twice, again in line %u: keep one of them", info.line[i]);
    return docs;
}

/* NULL: a problem was told. */
static const struct json *find_document(struct configuration_reader *r, struct bytes text)
{
    struct json *docs = parse(r, text, "file");
    const struct json *found = NULL;
    uint32_t found_n = 0;
    JSON_EACH (doc, docs) {
        const char *inside = text_in_map(doc);
        const struct json *one = doc;
        if (inside) {
            struct json *inner = parse(r, bytes_of(inside), "data[" CONFIG_MAP_KEY "]");
            one = json_item(inner, 0);
        }
        if (one && (is_configuration(one) || docs->n == 1)) {
            found = one;
            found_n++;
        }
    }
    if (docs && found_n == 0 && !r->problems_n)
        configuration_problem(r, "file", "holds no document of kind Configuration, apiVersion " GROUP "v1beta2");
    if (found_n > 1)
        configuration_problem(r, "file", "holds %u documents of kind Configuration: leave one", found_n);
    return r->problems_n ? NULL : found;
}

static bool take_version(struct configuration_reader *r, const struct json *root)
{
    if (!json_is(root, JSON_OBJECT)) {
        configuration_problem(r, "file", "is no map: begin it with apiVersion: " GROUP "v1beta2 and kind: Configuration");
        return false;
    }
    const char *version = json_get_text(root, "apiVersion", ""), *kind = json_get_text(root, "kind", "");
    r->version = text_equal(version, GROUP "v1beta1") ? V1BETA1 : text_equal(version, GROUP "v1beta2") ? V1BETA2 : 0;
    if (!r->version)
        configuration_problem(r, "apiVersion", "\"%.80s\" is none that is read here: write " GROUP "v1beta2 or " GROUP "v1beta1", version);
    if (!text_equal(kind, "Configuration"))
        configuration_problem(r, "kind", "\"%.80s\" is not what is read here: write Configuration", kind);
    return !r->problems_n;
}

/* ---- what counts ---- */

static int64_t duration_of(const struct json *object, const char *key, int64_t none_ms)
{
    int64_t ms = none_ms;
    (void)duration_parse(json_bytes(json_get(object, key)), &ms); /* it was checked; what is not there stays none */
    return ms;
}

static bool has(const struct json *object, const char *key)
{
    const struct json *v = json_get(object, key);
    return v && v->type != JSON_NULL;
}

static bool gate_is_on(const struct json *root, const char *name)
{
    return json_get_bool(json_get(root, "featureGates"), name, false);
}

/* One that is on unless the file says otherwise. */
static bool gate_is_off(const struct json *root, const char *name)
{
    return !json_get_bool(json_get(root, "featureGates"), name, true);
}

static void ready_default(struct ready_policy *p)
{
    *p = (struct ready_policy){.timeout_ms = 30 * MINUTE_MS,
                               .recovery_ms = 30 * MINUTE_MS,
                               .retries_most = -1,
                               .backoff_ms = MINUTE_MS,
                               .backoff_most_ms = 60 * MINUTE_MS};
}

/* LIMIT  2^31 - 1 seconds: more is as good as for ever. */
static int64_t seconds_ms(const struct json *v, const char *name, int64_t default_ms)
{
    int64_t s = json_get_int64(v, name, default_ms / 1000);
    return 1000 * (s < 0 ? 0 : s < INT32_MAX ? s : INT32_MAX);
}

/* SOURCE Kueue: of v1beta1 it is off without `enable`, and then blocks admission unless told not to; of v1beta2 it is always on. */
static void read_ready(const struct configuration_reader *r, const struct json *root, struct ready_policy *p)
{
    const struct json *v = json_get(root, "waitForPodsReady"), *requeue = json_get(v, "requeuingStrategy");
    bool old = r->version == V1BETA1;
    ready_default(p);
    if ((old && !json_get_bool(v, "enable", false)) || gate_is_on(root, "DisableWaitForPodsReady")) {
        *p = (struct ready_policy){0};
        return;
    }
    int64_t timeout_ms = duration_of(v, "timeout", 0);
    if (timeout_ms)
        p->timeout_ms = timeout_ms;
    p->recovery_ms = duration_of(v, "recoveryTimeout", p->timeout_ms);
    p->block_admission = json_get_bool(v, "blockAdmission", old);
    p->requeue_by_creation = text_equal(json_get_text(requeue, "timestamp", ""), "Creation");
    p->retries_most = (int32_t)json_get_int64(requeue, "backoffLimitCount", -1);
    p->backoff_ms = seconds_ms(requeue, "backoffBaseSeconds", p->backoff_ms);
    p->backoff_most_ms = seconds_ms(requeue, "backoffMaxSeconds", p->backoff_most_ms);
}

/* SOURCE Kueue: one of the strategies, or both in this order. */
static void read_fair(struct configuration_reader *r, const struct json *root, struct fair_policy *p)
{
    const struct json *v = json_get(root, "fairSharing"), *list = json_get(v, "preemptionStrategies");
    p->on = json_is(v, JSON_OBJECT) && (r->version == V1BETA2 || json_get_bool(v, "enable", false));
    if (!p->on)
        return;
    JSON_EACH (item, list) {
        bool initial = text_equal(json_text(item, ""), "LessThanInitialShare");
        if (p->strategies_n++ < 2)
            p->strategies[p->strategies_n - 1] = initial ? FAIR_LESS_THAN_INITIAL_SHARE : FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
    }
    if (p->strategies_n == 0 && r->version == V1BETA1) {
        p->strategies[0] = FAIR_LESS_THAN_OR_EQUAL_TO_FINAL_SHARE;
        p->strategies[1] = FAIR_LESS_THAN_INITIAL_SHARE;
        p->strategies_n = 2;
    }
    bool in_order = p->strategies_n == 1 || (p->strategies_n == 2 && p->strategies[0] < p->strategies[1]);
    if (!in_order)
        configuration_problem(r, "fairSharing.preemptionStrategies",
                              "write [LessThanOrEqualToFinalShare], [LessThanInitialShare] or [LessThanOrEqualToFinalShare, LessThanInitialShare]");
}

/* LIMIT  what is more than an int64 of 1e-9 counts as that. */
static void read_weights(struct configuration_reader *r, const struct json *list, struct consumption_policy *p)
{
    struct resource_weight *all = arena_alloc(r->a, ((list ? list->n : 0) + 1) * sizeof *all);
    p->weights = all;
    JSON_EACH (one, list) {
        struct quantity q = {0};
        const char *path = arena_printf(r->a, "admissionFairSharing.resourceWeights[%s]", one->key);
        struct err e;
        if (quantity_parse(json_bytes(one), &q, &e) < 0)
            configuration_problem(r, path, "%s", e.text);
        else if (q.nano < 0)
            configuration_problem(r, path, "is below zero: write 0, and it does not count at all");
        all[p->weights_n++] = (struct resource_weight){one->key, q.nano > INT64_MAX ? INT64_MAX : (int64_t)q.nano};
    }
}

/* SOURCE Kueue: the gate is on until it is switched off; a sampling interval of 0 is the default. */
static void read_consumption(struct configuration_reader *r, const struct json *root, struct consumption_policy *p)
{
    const struct json *v = json_get(root, "admissionFairSharing"), *weights = json_get(v, "resourceWeights");
    p->on = json_is(v, JSON_OBJECT) && json_get_bool(json_get(root, "featureGates"), "AdmissionFairSharing", true);
    if (!p->on)
        return;
    p->half_life_ms = duration_of(v, "usageHalfLifeTime", 0);
    p->sampling_ms = duration_of(v, "usageSamplingInterval", 0);
    p->sampling_ms = p->sampling_ms > 0 ? p->sampling_ms : 5 * MINUTE_MS;
    if (json_is(weights, JSON_OBJECT))
        read_weights(r, weights, p);
}

static void check_transformations(struct configuration_reader *r, const struct json *root)
{
    const struct json *list = json_path(root, "resources", "transformations", NULL);
    uint32_t at = 0;
    JSON_EACH (one, list) {
        const char *input = json_get_text(one, "input", ""), *path = arena_printf(r->a, "resources.transformations[%u].input", at++);
        if (!*input)
            configuration_problem(r, path, "is missing: write the name of the resource that is counted in another way");
        for (const struct json *before = json_first(list); before != one; before = before->next)
            if (text_equal(json_get_text(before, "input", ""), input))
                configuration_problem(r, path, "\"%s\" was transformed above already: write all its outputs there", input);
    }
    if (text_equal(json_get_text(json_get(root, "resources"), "quotaCheckStrategy", ""), "IgnoreUndeclared") &&
        json_first(json_path(root, "resources", "excludeResourcePrefixes", NULL)))
        configuration_problem(r, "resources.excludeResourcePrefixes",
                              "does not go with quotaCheckStrategy IgnoreUndeclared: leave one of them out");
}

static bool take_set(struct configuration *c, const char *framework)
{
    for (size_t i = 0; i < QUEUED_SETS_N; i++)
        if (text_equal(framework, queued_sets[i].framework)) {
            c->unqueued_sets &= ~(1u << i);
            return true;
        }
    return false;
}

/* SOURCE Kueue, but where none are named: then it takes batch/job alone. */
static void read_frameworks(struct configuration_reader *r, const struct json *root, struct configuration *c)
{
    const struct json *list = json_path(root, "integrations", "frameworks", NULL);
    _cleanup_buf_ struct buf others = {0};
    c->frameworks_given = json_first(list) != NULL;
    c->no_pods = c->frameworks_given;
    c->unqueued = c->frameworks_given ? (1u << QUEUED_KINDS_N) - 1 : 0;
    c->unqueued_sets = c->frameworks_given ? (1u << QUEUED_SETS_N) - 1 : 0;
    JSON_EACH (item, list) {
        const char *name = json_text(item, "");
        size_t i = 0;
        while (i < QUEUED_KINDS_N && !text_equal(name, queued_kinds[i].framework))
            i++;
        if (i < QUEUED_KINDS_N)
            c->unqueued &= ~(1u << i);
        else if (take_set(c, name) || text_equal(name, "pod"))
            c->no_pods = false; /* sets are queued by their pods */
        else
            buf_printf(&others, "%s%s", others.n ? ", " : "", name);
    }
    if (others.n)
        buf_printf(r->warnings, "integrations.frameworks: %s: nothing is done for them: docs/compatibility.md has the kinds that are queued\n",
                   others.data);
}

static void read_leader_election(const struct json *root, struct configuration *c)
{
    const struct json *v = json_get(root, "leaderElection");
    if (has(v, "leaderElect"))
        c->leader_elect = json_get_bool(v, "leaderElect", true) ? CONFIGURATION_ON : CONFIGURATION_OFF;
    const char *ns = json_get_text(v, "resourceNamespace", "");
    c->lease_namespace = *ns ? ns : NULL;
}

void configuration_default(struct configuration *ret_configuration)
{
    *ret_configuration = (struct configuration){0};
    ready_default(&ret_configuration->policy.ready);
}

/* SOURCE Kueue: all where nothing is said; else none without `enable`, and all of them without a selector. */
static void read_metrics(struct arena *a, const struct json *root, struct metrics_policy *p)
{
    const struct json *given = json_path(root, "metrics", "localQueueMetrics", NULL), *selector = json_get(given, "localQueueSelector");
    p->chosen = json_is(given, JSON_OBJECT);
    if (p->chosen && json_get_bool(given, "enable", false))
        p->local_queues = json_is(selector, JSON_OBJECT) ? selector : json_new(a, JSON_OBJECT);
}

int configuration_parse(struct arena *a, struct bytes text, struct configuration *ret_configuration, struct buf *warnings,
                        struct buf *problems)
{
    struct configuration_reader r = {.a = a, .warnings = warnings, .problems = problems};
    struct configuration c = {0};
    if (text.n > CONFIGURATION_MAX_BYTES)
        configuration_problem(&r, "file", "is larger than %u bytes", CONFIGURATION_MAX_BYTES);
    const struct json *root = r.problems_n ? NULL : find_document(&r, text);
    if (root && take_version(&r, root)) {
        configuration_check(&r, root);
        check_transformations(&r, root);
        read_ready(&r, root, &c.policy.ready);
        read_fair(&r, root, &c.policy.fair);
        c.policy.lost.off = gate_is_off(root, "TASFailedNodeReplacement");
        c.policy.lost.patient = gate_is_off(root, "TASFailedNodeReplacementFailFast");
        c.policy.node_wishes = gate_is_on(root, "TASRespectNodeAffinityPreferred");
        read_consumption(&r, root, &c.policy.consumption);
        c.policy.explicit_status = gate_is_on(root, "UnadmittedWorkloadsExplicitStatus");
        read_frameworks(&r, root, &c);
        read_leader_election(root, &c);
    }
    if (root && !r.problems_n) { /* WHY  they rely on every type */
        configuration_read_workloads(&r, root, &c.workloads);
        configuration_read_charge(&r, root, &c.charge);
        read_metrics(a, root, &c.metrics);
    }
    if (r.problems_n)
        return -E_INVALID;
    *ret_configuration = c;
    return 0;
}
