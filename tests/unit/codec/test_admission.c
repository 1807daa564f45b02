/* Admission: what each kind demands, what it fills in, what it warns of. Cases are YAML as people write it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "admission_world.h"

#define POD "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec:\n"
#define JOB "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, uid: u-1%s}\nspec:\n"
#define TEMPLATE "  template: {metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n"

#define SET(claim) \
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s, namespace: ns}\nspec:\n  serviceName: s\n  selector: {matchLabels: {a: b}}\n" \
    "  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: data, mountPath: /d}]}]}}\n" \
    "  volumeClaimTemplates: [{metadata: {name: " claim "}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]\n"

static void claim_templates_are_volumes(void **state)
{
    assert_string_equal(admit(*state, SET("data")), "");
}

#define SERVICE "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: ns}\nspec:\n  ports: [{port: 80}]\n"

static void services_are_filled_in(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, SERVICE "  selector: {a: b}\n"), "");
    const struct json *spec = json_get(w->object, "spec"), *old = w->object;
    assert_string_equal(json_get_text(spec, "internalTrafficPolicy", ""), "Cluster");
    assert_string_equal(json_text(json_item(json_get(spec, "ipFamilies"), 0), ""), "IPv4");
    assert_string_equal(json_get_text(spec, "ipFamilyPolicy", ""), "SingleStack");
    assert_null(json_get(spec, "externalTrafficPolicy"));
    assert_non_null(json_path(w->object, "status", "loadBalancer", NULL));
    assert_string_equal(admit(w, SERVICE "  clusterIP: None\n"), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "ipFamilyPolicy", NULL), ""), "RequireDualStack");
    assert_string_equal(admit(w, SERVICE "  type: LoadBalancer\n"), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "externalTrafficPolicy", NULL), ""), "Cluster");
    assert_true(json_get_bool(json_get(w->object, "spec"), "allocateLoadBalancerNodePorts", false));
    assert_string_equal(admit_as(w, SERVICE "  externalTrafficPolicy: Local\n", old, false, true), "");
    assert_null(json_path(w->object, "spec", "externalTrafficPolicy", NULL));
    assert_string_equal(admit_as(w, SERVICE "  type: ExternalName\n  externalName: a.example\n  ipFamilies: [IPv4]\n", old, false, true),
                        "");
    assert_null(json_path(w->object, "spec", "ipFamilies", NULL));
}

static void claims_wait_for_a_volume(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: ns}\n"
                                 "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"), "");
    assert_string_equal(json_text(json_path(w->object, "status", "phase", NULL), ""), "Pending");
}

static void pods_are_filled_in(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, POD "  priorityClassName: high\n  hostNetwork: true\n  containers:\n  - {name: a, image: 'x:1', ports: [{containerPort: 80}], resources: {limits: {nvidia.com/gpu: 2, cpu: 0.5}}}\n"), "");
    const struct json *spec = json_get(w->object, "spec"), *c = json_item(json_get(spec, "containers"), 0);
    assert_int_equal(json_get_int64(spec, "priority", 0), 1000);
    assert_string_equal(json_get_text(spec, "serviceAccountName", ""), "default");
    assert_string_equal(json_get_text(spec, "restartPolicy", ""), "Always");
    assert_string_equal(json_get_text(c, "imagePullPolicy", ""), "IfNotPresent");
    assert_string_equal(json_text(json_path(c, "resources", "requests", "nvidia.com/gpu", NULL), ""), "2");
    assert_string_equal(json_text(json_path(c, "resources", "requests", "cpu", NULL), ""), "500m");
    assert_int_equal(json_get_int64(json_item(json_get(c, "ports"), 0), "hostPort", 0), 80);
    assert_true(json_get_bool(spec, "enableServiceLinks", false));
    assert_int_equal(json_get(spec, "tolerations")->n, 2);
}

static void queued_pods_are_gated(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, labels: {kueue.x-k8s.io/queue-name: q}}\nspec: {containers: [{name: a, image: i}]}\n"), "");
    assert_string_equal(json_get_text(json_item(json_path(w->object, "spec", "schedulingGates", NULL), 0), "name", ""),
                        "kueue.x-k8s.io/admission");
    assert_string_equal(json_text(json_path(w->object, "metadata", "labels", "kueue.x-k8s.io/managed", NULL), ""), "true");
    assert_string_equal(admit(w, POD "  containers: [{name: a, image: i}]\n"), "");
    assert_null(json_path(w->object, "spec", "schedulingGates", NULL));
}

static void pods_are_checked(void **state)
{
    static const struct {
        const char *spec, *error;
    } cases[] = {
        {"  containers: []\n", "spec.containers: Required value"},
        {"  containers: [{name: a}]\n", "spec.containers[0].image: Required value"},
        {"  containers: [{name: a, image: i}, {name: a, image: i}]\n", "spec.containers[1].name: Duplicate value: \"a\""},
        {"  containers: [{name: A_b, image: i}]\n", "spec.containers[0].name: Invalid value: \"A_b\""},
        {"  containers: [{name: a, image: i, resources: {limits: {nvidia.com/gpu: 0.5}}}]\n",
         "spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer"},
        {"  containers: [{name: a, image: i, resources: {requests: {nvidia.com/gpu: 1}}}]\n",
         "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"},
        {"  containers: [{name: a, image: i, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}]\n",
         "must be equal to nvidia.com/gpu limit of 2"},
        {"  containers: [{name: a, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]\n",
         "spec.containers[0].resources.requests[cpu]: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
        {"  containers: [{name: a, image: i, resources: {requests: {memory: -1}}}]\n", "must be greater than or equal to 0"},
        {"  containers: [{name: a, image: i, resources: {requests: {gpu: 1}}}]\n", "must be a standard resource for containers"},
        {"  containers: [{name: a, image: i, ports: [{containerPort: 70000}]}]\n",
         "spec.containers[0].ports[0].containerPort: Invalid value: 70000"},
        {"  containers: [{name: a, image: i, env: [{name: 'a=b'}]}]\n", "spec.containers[0].env[0].name: Invalid value: \"a=b\""},
        {"  containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /x}]}]\n",
         "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
        {"  restartPolicy: Sometimes\n  containers: [{name: a, image: i}]\n", "spec.restartPolicy: Unsupported value: \"Sometimes\""},
        {"  tolerations: [{effect: NoSchedule}]\n  containers: [{name: a, image: i}]\n", "operator must be Exists when `key` is empty"},
        {"  priorityClassName: none\n  containers: [{name: a, image: i}]\n", "no PriorityClass with name none was found"},
        {"  nodeName: n1\n  schedulingGates: [{name: g}]\n  containers: [{name: a, image: i}]\n",
         "cannot be set until all schedulingGates have been cleared"},
        {"  topologySpreadConstraints: [{maxSkew: 0, topologyKey: k, whenUnsatisfiable: DoNotSchedule}]\n  containers: [{name: a, image: i}]\n",
         "maxSkew: Invalid value: 0"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *errors = admit(w, arena_printf(w->arena, POD "%s", cases[i].spec));
        if (!strstr(errors, cases[i].error))
            fail_msg("case %zu: wanted \"%s\", got \"%s\"", i, cases[i].error, errors);
    }
}

static void pods_hardly_change(void **state)
{
    struct world *w = *state;
    const char *one = POD "  schedulingGates: [{name: g}]\n  containers: [{name: a, image: 'i:1'}]\n";
    assert_string_equal(admit(w, one), "");
    struct json *old = json_clone(w->arena, w->object);
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, old);
    assert_string_equal(admit_as(w, text.data, old, false, true), "");
    struct json *next = json_clone(w->arena, old), *spec = json_get(next, "spec");
    json_remove(spec, "schedulingGates");
    json_set_text(w->arena, json_item(json_get(spec, "containers"), 0), "image", "i:2");
    json_set_text(w->arena, json_ensure_object(w->arena, spec, "nodeSelector"), "k", "v");
    buf_clear(&text);
    json_write(&text, next);
    assert_string_equal(admit_as(w, text.data, old, false, true), "");
    json_set_text(w->arena, spec, "schedulerName", "other");
    buf_clear(&text);
    json_write(&text, next);
    assert_non_null(strstr(admit_as(w, text.data, old, false, true), "pod updates may not change fields other than"));
}

static void metadata_is_checked(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", "metadata.name: Required value: name or generateName is required"},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", ""},
        {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a.b}\n", "metadata.name: Invalid value: \"a.b\""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a.b}\n", ""},
        {"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:x'}\n", ""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {'a b': c}}\n", "metadata.labels: Invalid value: \"a b\""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: 'b c'}}\n", "metadata.labels[a]: Invalid value: \"b c\""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {'A.Example.com/x': 'b c'}}\n", ""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, ownerReferences: [{kind: A, name: b, uid: c}]}\n",
         "metadata.ownerReferences[0].apiVersion"},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {'a/b': c}\n", "data[a/b]: Invalid value"},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [orphan, 'a.b/c']}\n", ""},
        {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, finalizers: [mine]}\n",
         "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name"},
        {"apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: a, finalizers: [mine]}\n", ""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *errors = admit(w, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("case %zu: wanted \"%s\", got \"%s\"", i, cases[i].error, errors);
    }
}

static void jobs_get_selector_and_suspend(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, arena_printf(w->arena, JOB "  parallelism: 2\n" TEMPLATE, ", labels: {kueue.x-k8s.io/queue-name: q}")),
                        "");
    const struct json *spec = json_get(w->object, "spec");
    assert_string_equal(json_text(json_path(spec, "selector", "matchLabels", "batch.kubernetes.io/controller-uid", NULL), ""), "u-1");
    assert_string_equal(json_text(json_path(spec, "template", "metadata", "labels", "job-name", NULL), ""), "j");
    assert_true(json_get_bool(spec, "suspend", false));
    assert_int_equal(json_get_int64(spec, "backoffLimit", 0), 6);
    assert_null(json_get(spec, "completions"));
    struct json *old = json_clone(w->arena, w->object);
    json_set_int64(w->arena, json_ensure_object(w->arena, old, "spec"), "completions", 3);
    _cleanup_buf_ struct buf text = {0};
    json_write(&text, old);
    assert_string_equal(admit_as(w, text.data, old, false, true), "");
    struct json *started = json_clone(w->arena, old);
    json_set_text(w->arena, json_ensure_object(w->arena, json_path(started, "spec", "template", "spec", NULL), "nodeSelector"), "k", "v");
    json_set_bool(w->arena, json_get(started, "spec"), "suspend", false);
    buf_clear(&text);
    json_write(&text, started);
    assert_string_equal(admit_as(w, text.data, old, false, true), ""); /* as Kueue starts it */
    struct json *ran = json_clone(w->arena, old);
    json_set_text(w->arena, json_ensure_object(w->arena, ran, "status"), "startTime", "2026-01-01T00:00:00Z");
    assert_non_null(strstr(admit_as(w, text.data, ran, false, true), "spec.template: Invalid value: field is immutable"));
    json_set_text(w->arena, json_item(json_path(started, "spec", "template", "spec", "containers", NULL), 0), "image", "other");
    buf_clear(&text);
    json_write(&text, started);
    assert_non_null(strstr(admit_as(w, text.data, old, false, true), "spec.template: Invalid value: field is immutable"));
    assert_string_equal(admit(w, arena_printf(w->arena, JOB TEMPLATE, "")), "");
    assert_string_equal(json_text(json_path(w->object, "metadata", "labels", "job-name", NULL), ""), "j");
    assert_string_equal(json_text(json_path(w->object, "spec", "completionMode", NULL), ""), "NonIndexed");
    assert_null(json_path(w->object, "spec", "template", "spec", "enableServiceLinks", NULL));
    assert_non_null(
        strstr(admit(w, arena_printf(w->arena, JOB "  parallelism: -1\n" TEMPLATE, "")), "spec.parallelism: Invalid value: -1"));
    assert_non_null(strstr(admit(w, arena_printf(w->arena, JOB "  template: {spec: {containers: [{name: c, image: i}]}}\n", "")),
                           "spec.template.spec.restartPolicy: Unsupported value: \"Always\""));
}

static void claims_of_devices_are_said_to_do_nothing(void **state)
{
    struct world *w = *state;
    const char *pod = POD "  containers: [{name: a, image: i}]\n";
    assert_string_equal(admit(w, pod), "");
    assert_int_equal(w->x.warnings_n, 0);
    assert_string_equal(admit(w, arena_printf(w->arena, "%s  resourceClaims: [{name: g, resourceClaimTemplateName: t}]\n", pod)), "");
    assert_int_equal(w->x.warnings_n, 1);
    assert_non_null(strstr(w->x.warnings[0], "spec.resourceClaims: has no effect yet"));
}

/* SOURCE Kueue, webhook of Deployments */
static void deployments_hand_their_queue_to_their_pods(void **state)
{
    struct world *w = *state;
    const char *d = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d%s}\nspec: {selector: {matchLabels: {a: b}}, "
                    "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";
    assert_string_equal(admit(w, arena_printf(w->arena, d, "")), "");
    assert_null(json_path(w->object, "spec", "template", "metadata", "labels", "kueue.x-k8s.io/queue-name", NULL));
    assert_string_equal(admit(w, arena_printf(w->arena, d, ", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/priority-class: p}")), "");
    const struct json *labels = json_path(w->object, "spec", "template", "metadata", "labels", NULL);
    assert_string_equal(json_get_text(labels, "kueue.x-k8s.io/queue-name", ""), "q");
    assert_string_equal(json_get_text(labels, "kueue.x-k8s.io/priority-class", ""), "p");
}

static void cron_schedules_are_read(void **state)
{
    static const char *const good[] = {"*/5 * * * *", "0 3 * * MON-FRI", "@daily", "1,2,3 0-5/2 1 jan 7"};
    static const char *const bad[] = {"* * * *", "61 * * * *", "every day", "* * * * * *", "*/0 * * * *", "1, * * * *"};
    struct world *w = *state;
    const char *cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: '%s', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}\n";
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(admit(w, arena_printf(w->arena, cron, good[i])), "");
    for (size_t i = 0; i < 6; i++)
        assert_non_null(strstr(admit(w, arena_printf(w->arena, cron, bad[i])), "spec.schedule: Invalid value"));
}

#define QUEUE                                                                                                                    \
    "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  namespaceSelector: {}\n"              \
    "  resourceGroups:\n  - coveredResources: [cpu, nvidia.com/gpu]\n    flavors:\n"                                             \
    "    - {name: a, resources: [{name: nvidia.com/gpu, nominalQuota: 16, borrowingLimit: 4}, {name: cpu, nominalQuota: 8}]}\n"   \
    "    - {name: b, resources: [{name: nvidia.com/gpu, nominalQuota: 32}]}\n"

static void queues_are_taken_leniently_or_strictly(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, QUEUE), "");
    assert_int_equal(w->x.warnings_n, 3);
    const char *strict = admit_as(w, QUEUE, NULL, true, true);
    assert_int_equal(w->x.warnings_n, 0);
    assert_non_null(strstr(strict, "spec: Invalid value: resourceGroups[0].flavors[0].resources[0].borrowingLimit: must be nil when cohort is empty"));
    assert_non_null(strstr(strict, "spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"nvidia.com/gpu\": must match the name in coveredResources"));
    assert_non_null(strstr(strict, "spec.resourceGroups[0]: Invalid value: flavors must have the same number of resources as the coveredResources"));
    const char *flat = admit(w, "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  resourceGroups:\n  - flavors: [a, b]\n    resources: [{name: nvidia.com/gpu, nominalQuota: 9}]\n");
    assert_non_null(strstr(flat, "spec.resourceGroups[0].flavors[1]: Invalid value: \"b\""));
    assert_non_null(strstr(flat, "spec.resourceGroups[0].coveredResources: Required value"));
    assert_non_null(strstr(flat, "spec.namespaceSelector: Required value"));
    assert_non_null(strstr(flat, "  - coveredResources:\n    - nvidia.com/gpu\n    flavors:\n    - name: a\n"));
    assert_non_null(strstr(admit(w, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  resourceGroups:\n"
                                    "  - {coveredResources: [cpu], flavors: [{name: a, resources: [{name: cpu, nominalQuota: -1}]}]}\n"
                                    "  - {coveredResources: [cpu], flavors: [{name: a, resources: [{name: cpu, nominalQuota: 1}]}]}\n"),
                           "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\""));
    assert_non_null(strstr(w->errors, "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: -1: must be greater than or equal to 0"));
}

/* Kueue takes 64 checks of a queue and 8 of a Workload, so that the writes of one that needs nine are refused. */
static void more_checks_than_a_workload_can_tell_of_are_warned_of(void **state)
{
    struct world *w = *state;
    const char *queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  namespaceSelector: {}\n"
                        "  resourceGroups: [{coveredResources: [cpu], flavors: [{name: a, resources: [{name: cpu, nominalQuota: 1}]}]}]\n"
                        "  admissionChecksStrategy: {admissionChecks: [%s{name: a}, {name: b}, {name: c}, {name: d}, {name: e}, {name: f}, "
                        "{name: g}, {name: h}]}\n";
    assert_string_equal(admit(w, arena_printf(w->arena, queue, "")), "");
    assert_int_equal(w->x.warnings_n, 0);
    assert_string_equal(admit(w, arena_printf(w->arena, queue, "{name: i}, ")), "");
    assert_int_equal(w->x.warnings_n, 1);
    assert_non_null(strstr(w->x.warnings[0], "9 checks, and the status of a Workload holds at most 8"));
}

static void misspelt_flavors_are_repaired(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {nodeSelector: {type: nvidia}}\n"), "");
    assert_string_equal(json_text(json_path(w->object, "spec", "nodeLabels", "type", NULL), ""), "nvidia");
    assert_int_equal(w->x.warnings_n, 1);
}

#define VCJOB "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: d}\nspec:\n"

static void volcano_jobs_are_completed_and_warned_of(void **state)
{
    struct world *w = *state;
    assert_string_equal(admit(w, VCJOB "  plugins: {svc: [], ssh: []}\n  tasks:\n  - {name: master, replicas: 1, template: {spec: {containers: [{name: c, image: i, command: [horovodrun, -H, $(VC_WORKER_HOSTS), $(VC_WORKER_0_SVC), $(VC_X_Y)]}]}}}\n"
                                       "  - {replicas: 4, name: worker, template: {spec: {containers: [{name: c, image: i}]}}}\n"),
                        "");
    const struct json *spec = json_get(w->object, "spec");
    assert_int_equal(json_get_int64(spec, "minAvailable", 0), 5);
    assert_string_equal(json_get_text(spec, "queue", ""), "default");
    assert_string_equal(json_get_text(spec, "schedulerName", ""), "volcano");
    assert_string_equal(json_text(json_path(json_item(json_get(spec, "tasks"), 1), "template", "spec", "restartPolicy", NULL), ""),
                        "OnFailure");
    assert_int_equal(w->x.warnings_n, 6); /* two restart policies, alias, unknown name, horovodrun, sshd */
    assert_string_equal(admit(w, VCJOB "  policies: [{events: [PodEvicted, PodFailed, PodEvicted], action: AbortJob}]\n"
                                       "  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n"),
                        "");
    static const struct {
        const char *spec, *error;
    } cases[] = {
        {"  tasks: []\n", "spec.tasks: Required value"},
        {"  minAvailable: 3\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "should not be greater than total replicas in tasks"},
        {"  queue: gone\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "unable to find job queue"},
        {"  plugins: {gpu: []}\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "unable to find job plugin"},
        {"  policies: [{event: PodFailed, exitCode: 3, action: RestartJob}]\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "must not specify event and exitCode simultaneously"},
        {"  tasks: [{name: a, replicas: 1, dependsOn: {name: [b]}, template: {spec: {containers: [{name: c, image: i}]}}}, {name: b, replicas: 1, dependsOn: {name: [a]}, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "directed acyclic graph"},
        {"  policies: [{events: [\"*\", PodFailed], action: AbortJob}]\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "if there's * here"},
        {"  policies: [{events: [OutOfSync], action: AbortJob}]\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.policies[0].events[0]"},
        {"  policies: [{event: \"*\", action: AbortJob}, {event: PodFailed, action: RestartJob}]\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "if there's * here, no other policy"},
        {"  policies: [{event: PodFailed, action: AbortJob}, {events: [PodEvicted, PodFailed], action: RestartJob}]\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.policies[1].events[1]: Duplicate value"},
        {"  priorityClassName: gone\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "no PriorityClass has this name"},
        {"  plugins: {mpi: []}\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "The specified mpi master task was not found: no task is called master; write --master=NAME"},
        {"  plugins: {ray: [--head=boss]}\n  tasks: [{name: a, replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "no task is called boss: write --head=NAME"},
        {"  tasks: [{name: a, replicas: 5, partitionPolicy: {totalPartitions: 2, partitionSize: 2}, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.tasks[0].partitionPolicy: Invalid value"},
        {"  tasks: [{name: a, replicas: 4, partitionPolicy: {totalPartitions: 2, partitionSize: 2, minPartitions: 3}, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.tasks[0].partitionPolicy.minPartitions: Invalid value: 3: must be at most totalPartitions, which is 2"},
        {"  tasks: [{name: a, replicas: 4, minAvailable: 3, partitionPolicy: {totalPartitions: 2, partitionSize: 2, minPartitions: 1}, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.tasks[0].minAvailable: Invalid value: 3: 'MinAvailable' is not equal to MinPartitions*PartitionSize: write 2, or leave it out"},
        {"  tasks: [{name: a, replicas: 1, topologyPolicy: restricted, template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 500m}}}]}}}]\n",
         "spec.tasks[0].template.spec.containers[0].resources.requests[cpu]: Invalid value: \"500m\": the cpu request isn't an integer"},
        {"  volumes: [{mountPath: 'a:b', volumeClaimName: A_b}]\n  tasks: [{name: a, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.volumes[0].mountPath: Invalid value: \"a:b\": must not contain ':'"},
        {"  volumes: [{mountPath: /a, volumeClaimName: A_b}]\n  tasks: [{name: a, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}]\n",
         "spec.volumes[0].volumeClaimName: Invalid value: \"A_b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!strstr(admit(w, arena_printf(w->arena, VCJOB "%s", cases[i].spec)), cases[i].error))
            fail_msg("case %zu: wanted \"%s\", got \"%s\"", i, cases[i].error, w->errors);
}

static void train_jobs_need_a_runtime(void **state)
{
    struct world *w = *state;
    const char *errors = admit(w, "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t, namespace: ns}\nspec: {}\n");
    assert_non_null(strstr(errors, "spec.runtimeRef: Required value: a TrainJob says how it is run by naming a runtime (in this cluster: torch-distributed)"));
    assert_non_null(strstr(errors, "    name: torch-distributed\n"));
    assert_non_null(strstr(admit(w, "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t, namespace: ns}\nspec: {runtimeRef: {name: gone}}\n"), "spec.runtimeRef: Not found: \"gone\""));
    assert_string_equal(admit(w, "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: t, namespace: ns, labels: {kueue.x-k8s.io/queue-name: q}}\nspec: {runtimeRef: {name: torch-distributed}}\n"), "");
    assert_true(json_get_bool(json_get(w->object, "spec"), "suspend", false));
}

static void leases_are_not_coordinated(void **state)
{
    struct world *w = *state;
    const char *lease = "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l, namespace: ns}\nspec: %s\n";
    assert_string_equal(admit(w, arena_printf(w->arena, lease, "{holderIdentity: a, strategy: any/one, preferredHolder: b}")), "");
    const struct json *spec = json_get(w->object, "spec");
    assert_string_equal(json_get_text(spec, "holderIdentity", ""), "a");
    assert_null(json_get(spec, "strategy"));
    assert_null(json_get(spec, "preferredHolder"));
    assert_int_equal(w->x.warnings_n, 2);
    assert_string_equal(w->x.warnings[0], "spec.strategy: is not kept: who holds a Lease is settled by those who want it");
    assert_string_equal(admit(w, arena_printf(w->arena, lease, "{holderIdentity: ''}")), "");
    assert_int_equal(w->x.warnings_n, 0);
    assert_non_null(strstr(admit(w, arena_printf(w->arena, lease, "{leaseDurationSeconds: 0}")), "must be greater than 0"));
}

#define BUDGET(spec) "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: ns}\nspec: {" spec "}\n"

static void other_kinds_are_checked(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: system-x}\nvalue: 1\n", "reserved for system use only"},
        {"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: x}\nvalue: 2000000000\n", "maximum allowed value of a user defined priority is 1000000000"},
        {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: x}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n", "`selector` does not match template `labels`"},
        {SET("other"), "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\""},
        {"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}, {port: 81}]}\n", "spec.ports[0].name: Required value"},
        {"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: None}\n", ""},
        {"apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g}\nspec: {minMember: 0}\n",
         "spec.minMember: Invalid value: 0"},
        {"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules: [{resources: [pods]}]\n",
         "rules[0].verbs: Required value"},
        {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n", ""},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w}\nspec: {podSets: [{count: 2, minCount: 3, template: {spec: {containers: []}}}]}\n",
         "spec.podSets[0].minCount: Invalid value: 3"},
        {BUDGET("minAvailable: 9223372036854775807%"), "spec.minAvailable: Invalid value: \"9223372036854775807%\": must not be greater than 100%"},
        {BUDGET("minAvailable: 99999999999999999999%"), "must not be greater than 100%"},
        {BUDGET("maxUnavailable: 101%"), "must not be greater than 100%"},
        {BUDGET("maxUnavailable: -3%"), "spec.maxUnavailable: Invalid value: \"-3%\": a valid percent string must be a numeric"},
        {BUDGET("maxUnavailable: '%'"), "a valid percent string must be a numeric"},
        {BUDGET("maxUnavailable: ''"), "a valid percent string must be a numeric"},
        {BUDGET("maxUnavailable: '3'"), "a valid percent string must be a numeric"},
        {BUDGET("minAvailable: -5"), "spec.minAvailable: Invalid value: -5: must be greater than or equal to 0"},
        {BUDGET("minAvailable: 1, maxUnavailable: 1"), "minAvailable and maxUnavailable cannot be both set"},
        {BUDGET("selector: {matchExpressions: [{key: a, operator: Is}]}"), "spec.selector.matchExpressions[0].operator"},
        {BUDGET("minAvailable: 100%, selector: {matchLabels: {a: b}}"), ""},
        {BUDGET("maxUnavailable: 0"), ""},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata: {name: c}\nspec: {clusterSource: {kubeConfig: {location: a}}}\n", ""},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata: {name: c}\nspec: {clusterSource: {kubeConfig: {location: a}, clusterProfileRef: {name: b}}}\n",
         "spec.clusterSource: Invalid value: must have either"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueConfig\nmetadata: {name: c}\nspec: {clusters: [a, b]}\n", ""},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueConfig\nmetadata: {name: c}\nspec: {clusters: [a, b, a]}\n", "spec.clusters: Invalid value: \"a\": stands there twice"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: c}\nspec: {parentName: c}\n", ""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *errors = admit(w, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("case %zu: wanted \"%s\", got \"%s\"", i, cases[i].error, errors);
    }
    assert_int_equal(w->x.warnings_n, 1); /* the cycle of one */
}

static void reclaimable_pods_only_grow(void **state)
{
    struct world *w = *state;
#define RECLAIMING "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns, uid: u}\n" \
                   "spec: {podSets: [{name: main, count: 3, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]}\n" \
                   "status: {conditions: [{type: QuotaReserved, status: 'True', reason: r, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}], " \
                   "admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 3}]}, reclaimablePods: [{name: %s, count: %d}]}\n"
    assert_string_equal(admit(w, arena_printf(w->arena, RECLAIMING, "main", 3)), "");
    assert_non_null(strstr(admit(w, arena_printf(w->arena, RECLAIMING, "main", 4)), "status.reclaimablePods[main].count: Invalid value: 4"));
    assert_non_null(strstr(admit(w, arena_printf(w->arena, RECLAIMING, "other", 1)), "status.reclaimablePods[other].name: Unsupported value"));
    assert_string_equal(admit(w, arena_printf(w->arena, RECLAIMING, "main", 2)), "");
    const struct json *old = w->object;
    assert_string_equal(admit_as(w, arena_printf(w->arena, RECLAIMING, "main", 3), old, false, true), "");
    assert_non_null(strstr(admit_as(w, arena_printf(w->arena, RECLAIMING, "main", 1), old, false, true),
                           "status.reclaimablePods[main].count: Invalid value: 1: cannot become less than 2"));
}

/* As strict as Kueue: what its webhook refuses is told from what the type refuses. */
static void denials_of_the_webhook(void **state)
{
    struct world *w = *state;
#define STRICT_QUEUE "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  resourceGroups:\n" \
                     "  - coveredResources: [cpu]\n    flavors: [{name: a, resources: [{name: cpu, nominalQuota: %s}]}]\n%s"
    admit_as(w, arena_printf(w->arena, STRICT_QUEUE, "-1", ""), NULL, true, true);
    assert_true(w->x.errors.n && field_errors_all_denials(&w->x.errors));
    admit_as(w, arena_printf(w->arena, STRICT_QUEUE, "-1", "  cohortName: 'a b'\n"), NULL, true, true);
    assert_true(w->x.errors.n == 2 && !field_errors_all_denials(&w->x.errors));
    admit_as(w, arena_printf(w->arena, STRICT_QUEUE, "-1", ""), NULL, false, true);
    assert_true(w->x.errors.n && !field_errors_all_denials(&w->x.errors));
    assert_string_equal(admit_as(w, arena_printf(w->arena, STRICT_QUEUE, "1", ""), NULL, true, true), "");
    assert_false(field_errors_all_denials(&w->x.errors));
    assert_non_null(strstr(admit(w, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns}\nspec: {podSets: [{name: main, count: 1, "
                                    "template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: -1}, limits: {pods: 1}}}]}}}]}\n"),
                           "limits[pods]: Invalid value: the key is reserved"));
    assert_int_equal(w->x.errors.n, 2);
}

static bool warned(const struct world *w, const char *text)
{
    for (uint32_t i = 0; i < w->x.warnings_n; i++)
        if (strstr(w->x.warnings[i], text))
            return true;
    return false;
}

/* Of wishes 32 of a kind count: who writes more is told, on a pod as in a template. */
static void too_many_wishes_are_told(void **state)
{
    struct world *w = *state;
    const char *pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns%s}\nspec: {%s, containers: [{name: c, image: i}]}\n";
    const char *one = "{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname}}", *all = one;
    for (int i = 1; i < 33; i++) {
        const char *affinity = arena_printf(w->arena, "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", all);
        assert_string_equal(admit(w, arena_printf(w->arena, pod, "", affinity)), "");
        assert_int_equal(w->x.warnings_n, 0);
        all = arena_printf(w->arena, "%s, %s", all, one);
    }
    const char *many = arena_printf(w->arena, "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", all);
    assert_string_equal(admit(w, arena_printf(w->arena, pod, "", many)), "");
    assert_true(warned(w, "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution: of what a pod would rather have 32"));
    const char *near = arena_printf(w->arena, "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [%s]}}", all);
    assert_string_equal(admit(w, arena_printf(w->arena, pod, "", near)), "");
    assert_int_equal(w->x.warnings_n, 1); /* of what is there alone */
    const char *made = ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]";
    admit(w, arena_printf(w->arena, pod, made, many)); /* of a template, which was told of */
    assert_int_equal(w->x.warnings_n, 0);
    const char *deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: ns}\nspec: {selector: {matchLabels: {app: a}}, "
                             "template: {metadata: {labels: {app: a}}, spec: {%s, containers: [{name: c, image: i}]}}}\n";
    admit(w, arena_printf(w->arena, deployment, many));
    assert_true(warned(w, "spec.template.spec.affinity.podAntiAffinity.preferredDuring"));
}

#define IN_QUEUE "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, labels: {kueue.x-k8s.io/queue-name: q}}\nspec:\n"
#define ASKING(annotations) \
    IN_QUEUE "  parallelism: 4\n  template: {metadata: {annotations: {" annotations "}}, " \
             "spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}\n"
#define TAS "kueue.x-k8s.io/podset-"

/* SOURCE Kueue's webhook: the same paths and words. */
static void annotations_about_topologies_are_checked(void **state)
{
    static const struct {
        const char *object, *error;
    } cases[] = {
        {ASKING(TAS "required-topology: rack, " TAS "slice-required-topology: host, " TAS "slice-size: '2'"), ""},
        {ASKING(TAS "required-topology: rack, " TAS "preferred-topology: rack"),
         "annotations: Invalid value: must not contain more than one topology annotation: [\"" TAS "required-topology\", \"" TAS
         "preferred-topology\", \"" TAS "unconstrained-topology\"]"},
        {ASKING(TAS "required-topology: 'a b'"), "annotations[" TAS "required-topology]: Invalid value: \"a b\""},
        {ASKING(TAS "unconstrained-topology: maybe"), "annotations[" TAS "unconstrained-topology]: Invalid value: \"maybe\": must be a boolean value"},
        {ASKING(TAS "slice-required-topology: rack"), "annotations[" TAS "slice-size]: Required value: must be set when '" TAS
                                                      "slice-required-topology' is specified"},
        {ASKING(TAS "slice-size: '2'"), "annotations[" TAS "slice-size]: Forbidden: may not be set when '" TAS
                                        "slice-required-topology' is not specified"},
        {ASKING(TAS "slice-required-topology: rack, " TAS "slice-size: two"), "must be a numeric value"},
        {ASKING(TAS "slice-required-topology: rack, " TAS "slice-size: '0'"), "must be greater than or equal to 1"},
        {ASKING(TAS "slice-required-topology: rack, " TAS "slice-size: '5'"), "must not be greater than pod set count 4"},
        {ASKING(TAS "required-topology: rack, " TAS "group-name: '7'"), "annotations[" TAS "group-name]: Invalid value: \"7\": must not be a number"},
        {ASKING(TAS "group-name: g"), "annotations[" TAS "group-name]: Forbidden: may not be set when neither '" TAS
                                      "preferred-topology' nor '" TAS "required-topology' is specified"},
        {ASKING(TAS "required-topology: rack, " TAS "group-name: g, " TAS "slice-required-topology: rack, " TAS "slice-size: '2'"),
         "annotations[" TAS "group-name]: Forbidden: may not be set when '" TAS "slice-"},
        {ASKING(TAS "slice-required-topology-constraints: '[{\"topology\":\"rack\",\"size\":4},{\"topology\":\"host\",\"size\":2}]'"), ""},
        {ASKING(TAS "slice-required-topology-constraints: '[]'"), "topology constraints must contain between 1 and 3 entries"},
        {ASKING(TAS "slice-required-topology-constraints: rack"), "must be a valid JSON array"},
        {ASKING(TAS "slice-required-topology-constraints: '[{\"topology\":\"rack\",\"size\":4},{\"topology\":\"host\",\"size\":3}]'"),
         "[1].size: Invalid value: 3: must evenly divide the parent layer size 4"},
        {ASKING(TAS "slice-required-topology-constraints: '[{\"topology\":\"rack\",\"size\":8}]'"), "must not be greater than pod set count 4"},
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, labels: {kueue.x-k8s.io/queue-name: q}, annotations: {" TAS
         "slice-size: '2'}}\nspec: {containers: [{name: a, image: i}]}\n",
         "metadata.annotations[" TAS "slice-size]: Forbidden"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = admit(w, cases[i].object);
        if (*cases[i].error ? !strstr(said, cases[i].error) : *said)
            fail_msg("%s\nexpected %s\ngot %s", cases[i].object, cases[i].error, said);
    }
}

#define PROVISIONING(class, sets) "apiVersion: autoscaling.x-k8s.io/v1\nkind: ProvisioningRequest\nmetadata: {name: r, namespace: ns}\n" \
                                  "spec: {provisioningClassName: " class ", podSets: [" sets "]}\n"
#define ONE "{count: 1, podTemplateRef: {name: t}}"

static void provisioning_requests_are_checked(void **state)
{
    static const struct {
        const char *object, *error;
    } cases[] = {
        {PROVISIONING("a.example", ONE), ""},
        {PROVISIONING("a.example", ""), "spec.podSets: Invalid value"},
        {PROVISIONING("A", ONE), "spec.provisioningClassName: Invalid value: \"A\""},
        {PROVISIONING("a", "{count: 0, podTemplateRef: {name: t}}"), "spec.podSets[0].count"},
        {PROVISIONING("a", ONE ", {count: 1, podTemplateRef: {name: T}}"), "spec.podSets[1].podTemplateRef.name: Invalid value: \"T\""},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = admit(w, cases[i].object);
        if (*cases[i].error ? !strstr(said, cases[i].error) : *said)
            fail_msg("%s\nexpected %s\ngot %s", cases[i].object, cases[i].error, said);
    }
    const struct json *old = parse(w, PROVISIONING("a", ONE));
    assert_string_equal(admit_as(w, PROVISIONING("a", ONE), old, false, true), "");
    assert_non_null(strstr(admit_as(w, PROVISIONING("b", ONE), old, false, true), "spec.provisioningClassName: Invalid value: \"b\": Value is immutable"));
    assert_non_null(strstr(admit_as(w, PROVISIONING("a", ONE ", " ONE), old, false, true), "Value is immutable"));
}

static void topology_requests_of_workloads_are_checked(void **state)
{
    static const struct {
        const char *request, *error;
    } cases[] = {
        {"required: rack, podSetGroupName: g", ""},
        {"required: rack, podSetGroupName: g, podSetSliceRequiredTopology: host, podSetSliceSize: 2",
         "topologyRequest.podSetGroupName: Forbidden: may not be set when 'podSetSliceRequiredTopology' is specified"},
        {"required: rack, podSetGroupName: g, podsetSliceRequiredTopologyConstraints: [{topology: host, size: 2}]",
         "topologyRequest.podSetGroupName: Forbidden: may not be set when 'podsetSliceRequiredTopologyConstraints' is specified"},
        {"podsetSliceRequiredTopologyConstraints: [{topology: a, size: 8}, {topology: b, size: 4}, {topology: c, size: 2}]", ""},
        {"podsetSliceRequiredTopologyConstraints: [{topology: a, size: 8}, {topology: b, size: 4}, {topology: c, size: 2}, {topology: d, size: 1}]",
         "topologyRequest.podsetSliceRequiredTopologyConstraints: Too many: 4: must have at most 3 items"},
        {"podsetSliceRequiredTopologyConstraints: [{topology: a, size: 0}]", "Constraints[0].size in body should be greater than or equal to 1"},
        {"podSetSliceRequiredTopology: host", "topologyRequest.podSetSliceSize: Required value"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = admit(w, arena_printf(w->arena, "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns}\n"
            "spec: {podSets: [{name: main, count: 8, topologyRequest: {%s}, template: {spec: {containers: [{name: c, image: i}]}}}]}\n",
            cases[i].request));
        if (*cases[i].error ? !strstr(said, cases[i].error) : *said)
            fail_msg("%s\nexpected %s\ngot %s", cases[i].request, cases[i].error, said);
    }
}

static void what_does_nothing_is_told(void **state)
{
    static const struct {
        const char *object, *warning;
    } cases[] = {
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n"
         "spec: {namespaceSelector: {}, fairSharing: {weight: 2}}\n",
         "spec.fairSharing: has an effect only where fairSharing is on"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: ns}\n"
         "spec: {clusterQueue: c, fairSharing: {weight: 2}}\n",
         "spec.fairSharing: has an effect only where admissionFairSharing is in Kueue's Configuration"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n"
         "spec: {namespaceSelector: {}, admissionScope: {admissionMode: UsageBasedAdmissionFairSharing}}\n",
         "spec.admissionScope.admissionMode: has an effect only where admissionFairSharing is in Kueue's Configuration"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: f}\n"
         "spec: {controllerName: kueue.x-k8s.io/multikueue}\n",
         "spec.controllerName: Capstan has no such controller yet"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns}\nspec:\n  queueName: q\n  podSets:\n"
         "  - {name: a, count: 2, template: {spec: {containers: [{name: c, image: i}]}}}\n"
         "  - {name: b, count: 2, topologyRequest: {required: rack, podIndexLabel: i}, template: {spec: {containers: [{name: c, image: i}]}}}\n",
         "spec.podSets[1].topologyRequest.podIndexLabel: has no effect yet"},
        {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {type: t}\n", "spec.type: has no effect yet"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  plugins: {env: [], pytorch: []}\n"
         "  tasks: [{name: a, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "spec.plugins[pytorch]: it does nothing, as no task is called master or worker"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  plugins: {pytorch: [--nproc=2]}\n"
         "  tasks: [{name: worker, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "spec.plugins[pytorch][0]: --nproc is no argument of it: there are --master, --worker, --port"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  plugins: {pytorch: [--port=http]}\n"
         "  tasks: [{name: worker, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "spec.plugins[pytorch][0]: http is no port: write a number from 1 to 65535"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  plugins: {pytorch: [--worker, a, port=5000]}\n"
         "  tasks: [{name: a, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "spec.plugins[pytorch][2]: port=5000 has no effect: arguments begin with a dash"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  plugins: {ray: []}\n"
         "  tasks: [{name: head, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "spec.plugins[ray]: task head has no container head, and nothing starts Ray in it: write --headContainer=NAME"},
        {"apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\n"
         "spec: {minMember: 2, scheduleTimeoutSeconds: 10}\n", "spec.scheduleTimeoutSeconds: has no effect"},
        {"apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\n"
         "spec: {minMember: 2, minResources: {cpu: 1, nvidia.com/gpumem: 1000}}\n", "spec.minResources[nvidia.com/gpumem]: has no effect"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {kueue.x-k8s.io/elastic-job: 'true'}}\n"
         "spec:\n  parallelism: 4\n" TEMPLATE, "metadata.annotations[kueue.x-k8s.io/elastic-job]: has no effect yet"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {capstan.dev/minimum-run-seconds: 30m}}\n"
         "spec:\n  parallelism: 4\n" TEMPLATE, "metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect: write seconds, from 0 to 86400"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {capstan.dev/minimum-run-seconds: '86401'}}\n"
         "spec:\n  parallelism: 4\n" TEMPLATE, "metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect: write seconds"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns, annotations: {capstan.dev/checkpoint-time: noon}}\n"
         "spec: {queueName: q, podSets: [{name: a, count: 2, template: {spec: {containers: [{name: c, image: i}]}}}]}\n",
         "metadata.annotations[capstan.dev/checkpoint-time]: has no effect: write a time as in 2026-01-31T12:00:00Z"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q, annotations: {capstan.dev/backfill: fast}}\n"
         "spec: {resourceGroups: []}\n",
         "metadata.annotations[capstan.dev/backfill]: has no effect: write easy, conservative or none"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q, annotations: {capstan.dev/backfill: easy}}\n"
         "spec: {queueingStrategy: StrictFIFO, resourceGroups: []}\n",
         "metadata.annotations[capstan.dev/backfill]: has no effect: in a StrictFIFO queue nobody passes who waits"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
         "metadata: {name: q, namespace: ns, annotations: {capstan.dev/backfill: easy}}\nspec: {clusterQueue: q}\n",
         "metadata.annotations[capstan.dev/backfill]: has no effect yet: it is read of the ClusterQueue"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q, annotations: {capstan.dev/placement: best}}\n"
         "spec: {resourceGroups: []}\n",
         "metadata.annotations[capstan.dev/placement]: has no effect: write binpack, spread, random, bestfit, dotproduct, packing, clustering"},
        {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q, annotations: {capstan.dev/placement: FGD}}\n"
         "spec: {weight: 1}\n", "metadata.annotations[capstan.dev/placement]: has no effect: write binpack"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
         "metadata: {name: q, namespace: ns, annotations: {capstan.dev/placement: fgd}}\nspec: {clusterQueue: q}\n",
         "metadata.annotations[capstan.dev/placement]: has no effect yet: it is read of the ClusterQueue"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q, annotations: {capstan.dev/move-cost-seconds: 10m}}\n"
         "spec: {resourceGroups: []}\n",
         "metadata.annotations[capstan.dev/move-cost-seconds]: has no effect: write GPU-seconds, from 0 to 604800"},
        {"apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
         "metadata: {name: q, namespace: ns, annotations: {capstan.dev/move-cost-seconds: '60'}}\nspec: {clusterQueue: q}\n",
         "metadata.annotations[capstan.dev/move-cost-seconds]: has no effect yet: it is read of the ClusterQueue"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {capstan.dev/movable: never}}\n"
         "spec:\n  parallelism: 4\n" TEMPLATE, "metadata.annotations[capstan.dev/movable]: has no effect: write \"true\" or \"false\""},
        {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
         "metadata: {name: g, namespace: ns, annotations: {capstan.dev/minimum-run-seconds: '60'}}\nspec: {minMember: 2}\n",
         "metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect yet: it is read of what is queued the Kueue way"},
        {"apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n"
         "metadata: {name: g, namespace: ns, annotations: {capstan.dev/refill-seconds: 2m}}\nspec: {minMember: 2}\n",
         "metadata.annotations[capstan.dev/refill-seconds]: has no effect: write seconds, from 1 to 86400"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns, annotations: {capstan.dev/refill-seconds: '60'}}\n"
         "spec:\n  parallelism: 4\n" TEMPLATE,
         "metadata.annotations[capstan.dev/refill-seconds]: has no effect yet: it is read of pod groups"},
        {"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n"
         "metadata: {name: j, namespace: ns, annotations: {capstan.dev/minimum-run-seconds: '60'}}\n"
         "spec:\n  tasks: [{name: a, replicas: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}]\n",
         "metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect yet: it is read of what is queued the Kueue way"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  template:\n"
         "    metadata: {annotations: {capstan.dev/minimum-run-seconds: '60'}}\n"
         "    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n",
         "spec.template.metadata.annotations[capstan.dev/minimum-run-seconds]: has no effect yet: it is read of the job's own metadata"},
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, annotations: {priority: H}}\n"
         "spec: {schedulerName: gpu-scheduler, containers: [{name: c, image: i}]}\n",
         "metadata.annotations[priority]: has no effect: write spec.priorityClassName"},
        {"apiVersion: v1\nkind: Namespace\nmetadata: {name: team, annotations: {yunikorn.apache.org/namespace.quota: '{\"cpu\": \"8\"}'}}\n",
         "metadata.annotations[yunikorn.apache.org/namespace.quota]: has no effect yet: write a ResourceQuota"},
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, annotations: {nvidia.com/nouse-gputype: T4}}\n"
         "spec: {containers: [{name: c, image: i}]}\n",
         "metadata.annotations[nvidia.com/nouse-gputype]: has no effect: nodes are chosen by spec.affinity.nodeAffinity"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: ns}\nspec:\n  template:\n"
         "    metadata: {annotations: {hami.io/gpu-scheduler-policy: spread}}\n"
         "    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}\n",
         "spec.template.metadata.annotations[hami.io/gpu-scheduler-policy]: has no effect: write capstan.dev/placement"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(admit(w, cases[i].object), "");
        if (!warned(w, cases[i].warning))
            fail_msg("no warning \"%s\" of\n%s", cases[i].warning, cases[i].object);
    }
}

static void what_asks_for_nothing_is_not_told(void **state)
{
    static const char *const objects[] = {
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns, annotations: {priority: H}}\nspec: {containers: [{name: c, image: i}]}\n",
        ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {namespaceSelector: {}, preemption: {withinClusterQueue: "
         "Never, reclaimWithinCohort: Never}, flavorFungibility: {whenCanBorrow: TryNextFlavor}, stopPolicy: Hold, queueingStrategy: StrictFIFO, "
         "admissionScope: {admissionMode: NoAdmissionFairSharing}}\n"),
        ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {namespaceSelector: {}, cohortName: c, preemption: {"
         "withinClusterQueue: LowerPriority, reclaimWithinCohort: Any, borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 3}},"
         " flavorFungibility: {whenCanPreempt: MayStopSearch}}\n"),
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: ns}\nspec: {clusterQueue: c}\n",
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: q}\nspec: {weight: 3, reclaimable: false, capability: {cpu: 2}, deserved: {cpu: 1}, "
        "guarantee: {resource: {cpu: 1}}, parent: p}\n",
        "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, namespace: ns}\nspec: {minMember: 2, minResources: {cpu: 1}}\n",
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: ns, annotations: {capstan.dev/minimum-run-seconds: '60', "
        "capstan.dev/checkpoint-time: '2026-01-31T12:00:00Z'}}\n"
        "spec: {queueName: q, podSets: [{name: a, count: 2, template: {spec: {containers: [{name: c, image: i}]}}}]}\n",
    };
    struct world *w = *state;
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        assert_string_equal(admit(w, objects[i]), "");
        if (w->x.warnings_n)
            fail_msg("%s of\n%s", w->x.warnings[0], objects[i]);
    }
    /* Who changes something else later is not told again. */
    static const char queue[] = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: ns}\n"
                                "spec: {clusterQueue: c, fairSharing: {weight: 2}}\n";
    assert_string_equal(admit(w, queue), "");
    assert_int_equal(w->x.warnings_n, 1);
    assert_string_equal(admit_as(w, queue, w->object, false, true), "");
    assert_int_equal(w->x.warnings_n, 0);
    /* Nor who asks for shares that are kept where the object goes. */
    w->shares = ADMISSION_USAGE_SHARES;
    assert_string_equal(admit(w, queue), "");
    assert_int_equal(w->x.warnings_n, 0);
    w->shares = ADMISSION_FAIR_SHARES;
    assert_string_equal(admit(w, queue), "");
    assert_int_equal(w->x.warnings_n, 1);
    w->shares = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(services_are_filled_in, world_open, world_close),
        cmocka_unit_test_setup_teardown(claim_templates_are_volumes, world_open, world_close),
        cmocka_unit_test_setup_teardown(claims_wait_for_a_volume, world_open, world_close),
        cmocka_unit_test_setup_teardown(pods_are_filled_in, world_open, world_close),
        cmocka_unit_test_setup_teardown(too_many_wishes_are_told, world_open, world_close),
        cmocka_unit_test_setup_teardown(queued_pods_are_gated, world_open, world_close),
        cmocka_unit_test_setup_teardown(pods_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(pods_hardly_change, world_open, world_close),
        cmocka_unit_test_setup_teardown(metadata_is_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(jobs_get_selector_and_suspend, world_open, world_close),
        cmocka_unit_test_setup_teardown(claims_of_devices_are_said_to_do_nothing, world_open, world_close),
        cmocka_unit_test_setup_teardown(deployments_hand_their_queue_to_their_pods, world_open, world_close),
        cmocka_unit_test_setup_teardown(cron_schedules_are_read, world_open, world_close),
        cmocka_unit_test_setup_teardown(queues_are_taken_leniently_or_strictly, world_open, world_close),
        cmocka_unit_test_setup_teardown(more_checks_than_a_workload_can_tell_of_are_warned_of, world_open, world_close),
        cmocka_unit_test_setup_teardown(misspelt_flavors_are_repaired, world_open, world_close),
        cmocka_unit_test_setup_teardown(volcano_jobs_are_completed_and_warned_of, world_open, world_close),
        cmocka_unit_test_setup_teardown(annotations_about_topologies_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(provisioning_requests_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(topology_requests_of_workloads_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_does_nothing_is_told, world_open, world_close),
        cmocka_unit_test_setup_teardown(what_asks_for_nothing_is_not_told, world_open, world_close),
        cmocka_unit_test_setup_teardown(train_jobs_need_a_runtime, world_open, world_close),
        cmocka_unit_test_setup_teardown(leases_are_not_coordinated, world_open, world_close),
        cmocka_unit_test_setup_teardown(other_kinds_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(reclaimable_pods_only_grow, world_open, world_close),
        cmocka_unit_test_setup_teardown(denials_of_the_webhook, world_open, world_close),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
