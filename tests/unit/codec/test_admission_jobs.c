/* Admission of what operators run: JobSets and the kinds of Kubeflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "admission_world.h"

#define ROLE(container, more) "{" more "template: {spec: {containers: [{name: " container ", image: i}]}}}"
#define KUBEFLOW(kind, spec) "apiVersion: kubeflow.org/v1\nkind: " kind "\nmetadata: {name: j, namespace: ns}\nspec: " spec "\n"
#define MPI(spec) "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: j, namespace: ns}\nspec: " spec "\n"
#define JOBSET(name, spec) "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: " name ", namespace: ns}\nspec: " spec "\n"
#define LWS(claims, mount) "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: s, namespace: ns}\n" \
                          "spec: {leaderWorkerTemplate: {size: 2, " claims "workerTemplate: {spec: {containers: [{name: c, image: i, " \
                          "volumeMounts: [{name: " mount ", mountPath: /data}]}]}}}}\n"
#define CLAIMS "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], "
#define RJOB(name, more) "{name: " name ", " more "template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}"

static void jobs_of_operators_are_checked(void **state)
{
    static const struct {
        const char *yaml, *error;
    } cases[] = {
        {KUBEFLOW("PyTorchJob", "{pytorchReplicaSpecs: {Master: " ROLE("pytorch", "") ", Worker: " ROLE("pytorch", "replicas: 3, ") "}}"), ""},
        {KUBEFLOW("PyTorchJob", "{pytorchReplicaSpecs: {}}"), "spec.pytorchReplicaSpecs: Required value"},
        {KUBEFLOW("PyTorchJob", "{pytorchReplicaSpecs: {Master: " ROLE("pytorch", "replicas: 2, ") "}}"),
         "spec.pytorchReplicaSpecs[Master].replicas: Invalid value: 2: must be 1"},
        {KUBEFLOW("PyTorchJob", "{pytorchReplicaSpecs: {Worker: {template: {spec: {containers: []}}}}}"),
         "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value"},
        {KUBEFLOW("PyTorchJob", "{pytorchReplicaSpecs: {Worker: " ROLE("main", "") "}}"), "write name: pytorch"},
        {KUBEFLOW("PyTorchJob", "{runPolicy: {managedBy: me}, pytorchReplicaSpecs: {Worker: " ROLE("pytorch", "") "}}"),
         "spec.runPolicy.managedBy: Unsupported value: \"me\": supported values: \"kubeflow.org/training-operator\", "
         "\"kueue.x-k8s.io/multikueue\""},
        {KUBEFLOW("PyTorchJob", "{runPolicy: {backoffLimit: -1}, pytorchReplicaSpecs: {Worker: " ROLE("pytorch", "") "}}"),
         "spec.runPolicy.backoffLimit"},
        {KUBEFLOW("XGBoostJob", "{xgbReplicaSpecs: {Worker: " ROLE("xgboost", "") "}}"), "spec.xgbReplicaSpecs[Master]: Required value"},
        {KUBEFLOW("TFJob", "{tfReplicaSpecs: {Chief: " ROLE("tensorflow", "") ", Master: " ROLE("tensorflow", "") "}}"),
         "spec.tfReplicaSpecs[Master]: Forbidden: Chief is the same"},
        {KUBEFLOW("JAXJob", "{jaxReplicaSpecs: {Master: " ROLE("jax", "") "}}"), "supported values: Worker"},
        {MPI("{mpiReplicaSpecs: {Launcher: " ROLE("any", "") ", Worker: " ROLE("name", "replicas: 2, ") "}}"), ""},
        {MPI("{mpiReplicaSpecs: {Worker: " ROLE("w", "") "}}"), "spec.mpiReplicaSpecs[Launcher]: Required value: a MPIJob has one"},
        {MPI("{runPolicy: {managedBy: kubeflow.org/training-operator}, mpiReplicaSpecs: {Launcher: " ROLE("l", "") "}}"),
         "supported values: \"kubeflow.org/mpi-operator\""},
        {JOBSET("s", "{replicatedJobs: [" RJOB("a", "replicas: 2, ") "]}"), ""},
        {JOBSET("s", "{replicatedJobs: [" RJOB("a", "replicas: 2147483647, ") "]}"), "this makes more than 20000 pods"},
        {JOBSET("s", "{replicatedJobs: [" RJOB("a", "replicas: 12000, ") ", " RJOB("b", "replicas: 12000, ") "]}"),
         "spec.replicatedJobs[1].replicas"},
        {KUBEFLOW("JAXJob", "{jaxReplicaSpecs: {Worker: " ROLE("jax", "replicas: 2147483647, ") "}}"), "must be at most 20000"},
        {JOBSET("s", "{}"), "spec.replicatedJobs: Required value"},
        {JOBSET("s", "{replicatedJobs: [" RJOB("a", "") ", " RJOB("a", "") "]}"), "spec.replicatedJobs[1].name: Duplicate value"},
        {JOBSET("s", "{replicatedJobs: [" RJOB("A", "") "]}"), "spec.replicatedJobs[0].name: Invalid value: \"A\": its jobs would be named s-A-0"},
        {JOBSET("s", "{startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: [" RJOB("a", "") ", "
                RJOB("b", "dependsOn: [{name: a, status: Ready}], ") "]}"), "mutually exclusive"},
        {JOBSET("s", "{replicatedJobs: [" RJOB("a", "dependsOn: [{name: b, status: Ready}], ") "]}"),
         "spec.replicatedJobs[0].dependsOn[0].name"},
        {JOBSET("s", "{successPolicy: {operator: Any, targetReplicatedJobs: [x]}, replicatedJobs: [" RJOB("a", "") "]}"),
         "spec.successPolicy.targetReplicatedJobs[0]: Invalid value: \"x\": no replicatedJob has this name"},
        {LWS(CLAIMS, "data"), ""},
        {LWS(CLAIMS, "other"), "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].volumeMounts[0].name: Not found: \"other\""},
        {LWS("", "data"), "volumeMounts[0].name: Not found: \"data\""},
        {JOBSET("s", "{failurePolicy: {rules: [{action: FailJobSet}, {name: a, action: RestartJob}]}, replicatedJobs: [" RJOB("a", "") "]}"), ""},
        {JOBSET("s", "{failurePolicy: {rules: [{name: a, action: RestartJob}, {name: a, action: FailJobSet}]}, replicatedJobs: [" RJOB("a", "") "]}"),
         "spec.failurePolicy.rules[1].name: Duplicate value"},
        {JOBSET("a-name-with-so-many-letters-that-there-is-no-room-le", "{replicatedJobs: [" RJOB("b1234567", "") "]}"),
         "which has more than 63 characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *errors = admit(*state, cases[i].yaml);
        if (cases[i].error[0] ? !strstr(errors, cases[i].error) : errors[0] != '\0')
            fail_msg("%s\n%s", cases[i].yaml, errors);
    }
}

static void jobs_of_operators_are_filled_in(void **state)
{
    struct world *w = *state;
    const char *queued = "apiVersion: kubeflow.org/v1\nkind: JAXJob\nmetadata: {name: j, namespace: ns, labels: {kueue.x-k8s.io/queue-name: q}}\n"
                         "spec: {jaxReplicaSpecs: {worker: " ROLE("jax", "") "}}\n";
    assert_string_equal(admit(w, queued), "");
    assert_true(json_bool(json_path(w->object, "spec", "runPolicy", "suspend", NULL), false));
    assert_non_null(json_path(w->object, "spec", "jaxReplicaSpecs", "Worker", NULL)); /* however it was spelled */
    assert_string_equal(admit(w, JOBSET("s", "{replicatedJobs: [" RJOB("a", "") "]}")), "");
    const struct json *spec = json_get(w->object, "spec"), *job = json_first(json_get(spec, "replicatedJobs"));
    assert_string_equal(json_text(json_path(job, "template", "spec", "completionMode", NULL), ""), "Indexed");
    assert_string_equal(json_text(json_path(spec, "successPolicy", "operator", NULL), ""), "All");
    /* what runs keeps its queue, its manager and what its pods are */
    struct json *old = json_clone(w->arena, w->object);
    assert_non_null(strstr(admit_as(w, JOBSET("s", "{managedBy: x/y, replicatedJobs: [" RJOB("a", "") "]}"), old, false, true),
                           "spec.managedBy: Invalid value: \"x/y\": field is immutable"));
    const char *moved = JOBSET("s", "{%sreplicatedJobs: [{name: a, template: {spec: {template: {spec: {nodeSelector: {a: b}, containers: "
                                    "[{name: c, image: %s}]}}}}}]}");
    assert_non_null(strstr(admit_as(w, arena_printf(w->arena, moved, "", "i"), old, false, true), "while the set is suspended"));
    assert_string_equal(admit_as(w, arena_printf(w->arena, moved, "suspend: true, ", "i"), old, false, true), "");
    assert_non_null(strstr(admit_as(w, arena_printf(w->arena, moved, "suspend: true, ", "other"), old, false, true), "field is immutable"));
    assert_string_equal(admit(w, JOBSET("s", "{failurePolicy: {rules: [{name: a, action: FailJobSet}, {action: RestartJobSet}]}, "
                                             "replicatedJobs: [" RJOB("a", "") "]}")), "");
    const struct json *rules = json_path(w->object, "spec", "failurePolicy", "rules", NULL);
    assert_string_equal(json_get_text(json_item(rules, 0), "name", ""), "a");
    assert_string_equal(json_get_text(json_item(rules, 1), "name", ""), "failurePolicyRule1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_of_operators_are_checked, world_open, world_close),
        cmocka_unit_test_setup_teardown(jobs_of_operators_are_filled_in, world_open, world_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
