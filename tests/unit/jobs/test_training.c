/* What pods of Kubeflow's jobs are made of, written out, and what their pods say of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "jobs/kubeflow/training.h"
#include "jobs/kubeflow/training_status.h"

static struct training read_job(enum queued_kind_id kind, const char *spec)
{
    struct training t;
    struct json *job = parse(arena_printf(a, "{\"metadata\":{\"name\":\"j\",\"namespace\":\"n\",\"uid\":\"u\",\"labels\":{"
                                             "\"kueue.x-k8s.io/queue-name\":\"q\"}},\"spec\":%s}", spec));
    for (size_t i = 0; i < training_kinds_n; i++)
        if (training_kinds[i].of == &queued_kinds[kind])
            training_read(a, &training_kinds[i], job, &t);
    return t;
}

#define POD(name) "\"template\":{\"spec\":{\"containers\":[{\"name\":\"" name "\",\"env\":[{\"name\":\"OWN\",\"value\":\"1\"}]}]}}"

static const struct json *pod_of(const struct training *t, const char *role, int64_t i)
{
    return training_pod(a, t, training_role_named(t, role), i);
}

/* The names and values of its first container's environment: "A=1 B=2". */
static const char *env_of(const struct json *pod)
{
    const char *text = "";
    JSON_EACH (env, json_get(json_first(json_path(pod, "spec", "containers", NULL)), "env"))
        text = arena_printf(a, "%s%s%s=%s", text, *text ? " " : "", json_get_text(env, "name", ""), json_get_text(env, "value", ""));
    return text;
}

static void test_pytorch(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_PYTORCHJOB, "{\"nprocPerNode\":\"2\",\"pytorchReplicaSpecs\":{\"Master\":{" POD("pytorch")
                                 "},\"Worker\":{\"replicas\":2,\"restartPolicy\":\"ExitCode\"," POD("pytorch") "}}}");
    const struct json *master = pod_of(&t, "Master", 0), *worker = pod_of(&t, "Worker", 1);
    assert_string_equal(object_meta(worker, "name"), "j-worker-1");
    assert_true(json_equal(json_path(worker, "metadata", "labels", NULL),
                           parse("{\"training.kubeflow.org/job-name\":\"j\",\"training.kubeflow.org/operator-name\":\"pytorchjob-controller\","
                                 "\"training.kubeflow.org/replica-index\":\"1\",\"training.kubeflow.org/replica-type\":\"worker\"}")));
    assert_string_equal(object_label(master, "training.kubeflow.org/job-role"), "master");
    assert_string_equal(object_controller(worker, "kind"), "PyTorchJob");
    assert_string_equal(json_text(json_path(master, "spec", "restartPolicy", NULL), ""), "OnFailure");
    assert_string_equal(json_text(json_path(worker, "spec", "restartPolicy", NULL), ""), "Never");
    assert_string_equal(env_of(worker), "OWN=1 PYTHONUNBUFFERED=1 MASTER_PORT=23456 PET_MASTER_PORT=23456 MASTER_ADDR=j-master-0 "
                                        "PET_MASTER_ADDR=j-master-0 WORLD_SIZE=6 RANK=2 PET_NODE_RANK=2 PET_NPROC_PER_NODE=2 PET_NNODES=3");
    assert_non_null(strstr(env_of(master), " RANK=0 "));
    assert_true(json_equal(json_get(training_service(a, &t, training_role_named(&t, "Master"), 0), "spec"),
                           parse("{\"selector\":{\"training.kubeflow.org/job-name\":\"j\",\"training.kubeflow.org/operator-name\":"
                                 "\"pytorchjob-controller\",\"training.kubeflow.org/replica-index\":\"0\","
                                 "\"training.kubeflow.org/replica-type\":\"master\"},\"clusterIP\":\"None\",\"ports\":[{\"name\":"
                                 "\"pytorchjob-port\",\"port\":23456}]}")));
}

static void test_elastic_pytorch(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_PYTORCHJOB, "{\"elasticPolicy\":{\"minReplicas\":1,\"maxReplicas\":4,\"rdzvBackend\":\"c10d\","
                                 "\"rdzvConf\":[{\"key\":\"a\",\"value\":\"1\"},{\"key\":\"b\",\"value\":\"2\"}],\"maxRestarts\":3},"
                                 "\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":2," POD("pytorch") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 0)),
                        "OWN=1 PYTHONUNBUFFERED=1 PET_NPROC_PER_NODE=auto PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=j-worker-0:23456 "
                        "PET_MAX_RESTARTS=3 PET_RDZV_CONF=a=1,b=2 PET_NNODES=1:4");
}

static void test_the_rest_of_the_family(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_TFJOB, "{\"tfReplicaSpecs\":{\"PS\":{" POD("tensorflow") "},\"Worker\":{\"replicas\":2,"
                                 POD("tensorflow") "},\"Evaluator\":{" POD("tensorflow") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 1)),
                        "OWN=1 TF_CONFIG={\"cluster\":{\"ps\":[\"j-ps-0.n.svc:2222\"],\"worker\":[\"j-worker-0.n.svc:2222\","
                        "\"j-worker-1.n.svc:2222\"]},\"task\":{\"type\":\"worker\",\"index\":1},\"environment\":\"cloud\"}");
    t = read_job(QUEUED_TFJOB, "{\"tfReplicaSpecs\":{\"Worker\":{" POD("tensorflow") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 0)), "OWN=1");
    t = read_job(QUEUED_XGBOOSTJOB, "{\"xgbReplicaSpecs\":{\"Master\":{" POD("xgboost") "},\"Worker\":{\"replicas\":2," POD("xgboost") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 0)), "OWN=1 MASTER_PORT=9999 MASTER_ADDR=j-master-0 WORLD_SIZE=3 RANK=1 "
                                                         "PYTHONUNBUFFERED=1 WORKER_PORT=9999 WORKER_ADDRS=j-worker-0,j-worker-1");
    t = read_job(QUEUED_JAXJOB, "{\"jaxReplicaSpecs\":{\"Worker\":{\"replicas\":2," POD("jax") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 1)), "OWN=1 PYTHONUNBUFFERED=1 COORDINATOR_PORT=6666 "
                                                         "COORDINATOR_ADDRESS=j-worker-0 NUM_PROCESSES=2 PROCESS_ID=1");
    t = read_job(QUEUED_PADDLEJOB, "{\"paddleReplicaSpecs\":{\"Worker\":{\"replicas\":2," POD("paddle") "}}}");
    assert_string_equal(env_of(pod_of(&t, "Worker", 1)),
                        "OWN=1 PYTHONUNBUFFERED=1 PADDLE_JOB_ID=j PADDLE_NNODES=2 PADDLE_MASTER=j-worker-0:36543");
}

#define MPI(more) "{" more "\"slotsPerWorker\":2,\"mpiReplicaSpecs\":{\"Launcher\":{" POD("l") "},\"Worker\":{\"replicas\":2," POD("w") "}}}"

static void test_mpi(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_MPIJOB, MPI(""));
    struct training_role *workers = &t.roles[1];
    workers->pods[1] = parse("{\"status\":{\"phase\":\"Running\"}}");
    assert_true(json_equal(json_get(mpi_config(a, &t), "data"),
                           parse("{\"hostfile\":\"j-worker-0.j.n.svc slots=2\\nj-worker-1.j.n.svc slots=2\\n\","
                                 "\"discover_hosts.sh\":\"#!/bin/sh\\necho j-worker-1.j.n.svc\\n\"}")));
    const struct json *worker = pod_of(&t, "Worker", 0), *spec = json_get(worker, "spec");
    assert_string_equal(object_label(worker, "training.kubeflow.org/job-role"), "worker");
    assert_string_equal(env_of(worker), "OWN=1 K_MPI_JOB_ROLE=worker");
    assert_string_equal(json_get_text(spec, "hostname", ""), "j-worker-0");
    assert_string_equal(json_get_text(spec, "subdomain", ""), "j");
    assert_true(json_equal(json_get(json_first(json_get(spec, "containers")), "command"), parse("[\"/usr/sbin/sshd\",\"-De\"]")));
    const struct json *launcher = mpi_launcher(a, &t);
    assert_string_equal(object_meta(launcher, "name"), "j-launcher");
    assert_string_equal(env_of(json_path(launcher, "spec", "template", NULL)),
                        "OWN=1 K_MPI_JOB_ROLE=launcher OMPI_MCA_orte_keep_fqdn_hostnames=true "
                        "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10 "
                        "OMPI_MCA_orte_set_default_slots=2 NVIDIA_VISIBLE_DEVICES= NVIDIA_DRIVER_CAPABILITIES=");
    t = read_job(QUEUED_MPIJOB, MPI("\"mpiImplementation\":\"Intel\",\"runLauncherAsWorker\":true,"));
    assert_string_equal(json_text(json_path(mpi_config(a, &t), "data", "hostfile", NULL), ""),
                        "j-launcher.j.n.svc:2\nj-worker-0.j.n.svc:2\nj-worker-1.j.n.svc:2\n");
    assert_string_equal(env_of(json_path(mpi_launcher(a, &t), "spec", "template", NULL)),
                        "OWN=1 K_MPI_JOB_ROLE=launcher I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile "
                        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10 I_MPI_PERHOST=2");
}

/* Without a queue all pods start together; a launcher that waits for the workers is none of them. */
static void test_gangs(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_MPIJOB, MPI(""));
    assert_int_equal(json_int64(json_path(training_gang(a, &t), "spec", "minMember", NULL), 0), 3);
    t = read_job(QUEUED_MPIJOB, MPI("\"launcherCreationPolicy\":\"WaitForWorkersReady\","));
    assert_int_equal(json_int64(json_path(training_gang(a, &t), "spec", "minMember", NULL), 0), 2);
    t.gang = true;
    assert_string_equal(object_label(pod_of(&t, "Worker", 0), "scheduling.x-k8s.io/pod-group"), "j");
    assert_string_equal(object_label(json_path(mpi_launcher(a, &t), "spec", "template", NULL), "scheduling.x-k8s.io/pod-group"), "");
    t = read_job(QUEUED_MPIJOB, MPI("\"runPolicy\":{\"schedulingPolicy\":{\"minAvailable\":2}},"));
    assert_int_equal(json_int64(json_path(training_gang(a, &t), "spec", "minMember", NULL), 0), 2);
}

/* ---- status ---- */

static const struct json *in_phase(const char *phase, int code)
{
    return parse(arena_printf(a, "{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"restartCount\":1,"
                                 "\"state\":{\"terminated\":{\"exitCode\":%d}}}]}}", phase, code));
}

/* The last condition of a job whose role, by name, has a pod in each of these phases. */
static const char *state_of(struct training *t, const char *role, const char *const *phases, int code)
{
    struct training_news news = {0};
    for (uint32_t r = 0; r < t->roles_n; r++)
        for (int64_t i = 0; i < t->roles[r].replicas; i++)
            t->roles[r].pods[i] = in_phase(strcmp(t->roles[r].name, role) == 0 ? phases[i] : "Running", code);
    const struct json *conditions = json_get(training_status(a, t, NULL, false, 1767225600000, &news), "conditions");
    return json_get_text(json_item(conditions, conditions->n - 1), "type", "");
}

static void test_whose_success_is_the_jobs(void **state)
{
    (void)state;
    static const char *const one[] = {"Succeeded", "Running"}, *const none[] = {"Running", "Running"}, *const all[] = {"Succeeded", "Succeeded"};
    struct training t = read_job(QUEUED_PYTORCHJOB, "{\"pytorchReplicaSpecs\":{\"Master\":{},\"Worker\":{\"replicas\":2}}}");
    assert_string_equal(state_of(&t, "Master", one, 0), "Succeeded");
    assert_string_equal(state_of(&t, "Worker", all, 0), "Running");
    t = read_job(QUEUED_PYTORCHJOB, "{\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":2}}}");
    assert_string_equal(state_of(&t, "Worker", one, 0), "Running");
    assert_string_equal(state_of(&t, "Worker", all, 0), "Succeeded");
    t = read_job(QUEUED_TFJOB, "{\"tfReplicaSpecs\":{\"PS\":{},\"Worker\":{\"replicas\":2}}}");
    assert_string_equal(state_of(&t, "Worker", none, 0), "Running");
    assert_string_equal(state_of(&t, "Worker", one, 0), "Succeeded");
    t = read_job(QUEUED_TFJOB, "{\"successPolicy\":\"AllWorkers\",\"tfReplicaSpecs\":{\"Worker\":{\"replicas\":2}}}");
    assert_string_equal(state_of(&t, "Worker", one, 0), "Running");
    assert_string_equal(state_of(&t, "Worker", all, 0), "Succeeded");
}

static void test_when_a_job_has_failed(void **state)
{
    (void)state;
    static const char *const lost[] = {"Failed"};
    struct training t = read_job(QUEUED_JAXJOB, "{\"jaxReplicaSpecs\":{\"Worker\":{\"replicas\":1}}}");
    assert_string_equal(state_of(&t, "Worker", lost, 1), "Failed");
    t = read_job(QUEUED_JAXJOB, "{\"jaxReplicaSpecs\":{\"Worker\":{\"restartPolicy\":\"ExitCode\"}}}");
    assert_string_equal(state_of(&t, "Worker", lost, 1), "Failed");
    assert_false(training_may_rerun(&t, &t.roles[0], in_phase("Failed", 127)));
    assert_true(training_may_rerun(&t, &t.roles[0], in_phase("Failed", 130)));
    assert_true(training_may_rerun(&t, &t.roles[0], parse("{\"status\":{\"phase\":\"Failed\",\"containerStatuses\":[{\"state\":{"
                                                          "\"running\":{}}}]}}"))); /* its node is gone: nobody saw it end */
    assert_string_equal(state_of(&t, "Worker", lost, 130), "Restarting");
    static const char *const running[] = {"Running"};
    t = read_job(QUEUED_JAXJOB, "{\"runPolicy\":{\"backoffLimit\":0},\"jaxReplicaSpecs\":{\"Worker\":{}}}");
    assert_string_equal(state_of(&t, "Worker", running, 0), "Failed");
}

static struct training_news news_of(const struct training *t, const struct json *launcher)
{
    struct training_news news = {0};
    (void)training_status(a, t, launcher, false, 1767225600000, &news);
    return news;
}

/* A pod that is evicted, or whose node went: as its restartPolicy has it. */
static void test_what_is_made_again(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_PYTORCHJOB, "{\"pytorchReplicaSpecs\":{\"Master\":{},\"Worker\":{\"replicas\":2}}}");
    t.roles[0].pods[0] = in_phase("Running", 0);
    t.roles[1].pods[1] = in_phase("Failed", 1);
    assert_true(training_may_rerun(&t, &t.roles[1], t.roles[1].pods[1]));
    struct training_news news = news_of(&t, NULL);
    assert_string_equal(news.reason, "PyTorchJobRestarting");
    assert_string_equal(news.message, "PyTorchJob n/j is restarting because 1 Worker replica(s) failed.");
    assert_true(news.is_bad);
    t = read_job(QUEUED_PYTORCHJOB, "{\"pytorchReplicaSpecs\":{\"Worker\":{\"restartPolicy\":\"Never\"}}}");
    t.roles[0].pods[0] = in_phase("Failed", 1);
    assert_string_equal(news_of(&t, NULL).reason, "PyTorchJobFailed");
    t = read_job(QUEUED_PYTORCHJOB, "{\"elasticPolicy\":{\"minReplicas\":1},\"pytorchReplicaSpecs\":{\"Worker\":{\"replicas\":2}}}");
    t.roles[0].pods[0] = in_phase("Running", 0);
    t.roles[0].pods[1] = in_phase("Succeeded", 0);
    assert_string_equal(news_of(&t, NULL).reason, "PyTorchJobSucceeded"); /* one worker is enough */
}

/* Who runs does not restart. */
static void test_running_and_restarting(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_PYTORCHJOB, "{\"pytorchReplicaSpecs\":{\"Worker\":{}}}");
    struct training_news news = {0};
    struct json *job = json_clone(a, t.job);
    t.job = job;
    static const char *const phases[] = {"Running", "Failed", "Running"}, *const said[] = {"Created Running ", "Created Restarting ", "Created Running "};
    for (int i = 0; i < 3; i++) {
        t.roles[0].pods[0] = in_phase(phases[i], 1);
        json_set(a, job, "status", training_status(a, &t, NULL, false, 1767225600000, &news));
        const char *types = "";
        JSON_EACH (condition, json_path(job, "status", "conditions", NULL))
            types = arena_printf(a, "%s%s ", types, json_get_text(condition, "type", ""));
        assert_string_equal(types, said[i]);
    }
}

/* The launcher says how an MPIJob ends; workers only when they were evicted. */
static void test_how_mpi_fails(void **state)
{
    (void)state;
    struct training t = read_job(QUEUED_MPIJOB, MPI(""));
    const struct json *failed = parse("{\"status\":{\"conditions\":[{\"type\":\"Failed\",\"status\":\"True\",\"reason\":\"BackoffLimitExceeded\","
                                      "\"message\":\"Job has reached the specified backoff limit\"}]}}"), *runs = parse("{\"status\":{\"active\":1,\"ready\":1}}");
    t.roles[1].pods[0] = in_phase("Failed", 1);
    t.roles[1].pods[1] = in_phase("Running", 0);
    assert_string_equal(news_of(&t, runs).reason, "MPIJobCreated");
    t.roles[1].pods[0] = parse("{\"status\":{\"phase\":\"Failed\",\"reason\":\"Evicted\"}}");
    assert_string_equal(news_of(&t, runs).reason, "MPIJobEvicted");
    assert_string_equal(news_of(&t, runs).message, "1/2 workers are evicted");
    t.roles[1].pods[0] = in_phase("Running", 0);
    assert_string_equal(news_of(&t, failed).reason, "BackoffLimitExceeded");
    assert_string_equal(news_of(&t, failed).message, "Job has reached the specified backoff limit");
}

/* What was active when a job ended well counts as done; workers of MPI that are cleaned up are gone. */
static void test_counts_of_what_is_over(void **state)
{
    (void)state;
#define OVER(kind, policy) "{\"spec\":{\"runPolicy\":{" policy "}},\"status\":{\"conditions\":[{\"type\":\"" kind "\",\"status\":\"True\"}],\"replicaStatuses\":{\"Worker\":{\"active\":2,\"succeeded\":1}}}}"
    static const struct {
        enum queued_kind_id kind;
        const char *job, *counts;
    } cases[] = {{QUEUED_PYTORCHJOB, OVER("Succeeded", ""), "{\"succeeded\":3}"},
                 {QUEUED_PYTORCHJOB, OVER("Failed", ""), "{\"active\":2,\"succeeded\":1}"},
                 {QUEUED_MPIJOB, OVER("Succeeded", ""), "{\"active\":2,\"succeeded\":1}"},
                 {QUEUED_MPIJOB, OVER("Succeeded", "\"cleanPodPolicy\":\"Running\""), "{\"succeeded\":1}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct training t = read_job(cases[i].kind, "{}");
        t.job = parse(cases[i].job);
        assert_true(json_equal(json_path(training_status_over(a, &t), "replicaStatuses", "Worker", NULL), parse(cases[i].counts)));
    }
}

/* Pods that are on their way out hold their places: the job is active until they are gone. */
static void test_suspended(void **state)
{
    (void)state;
    struct training_news news = {0};
    struct training t = read_job(QUEUED_JAXJOB, "{\"jaxReplicaSpecs\":{\"Worker\":{\"replicas\":2}}}");
    t.roles[0].pods[0] = parse("{\"metadata\":{\"deletionTimestamp\":\"x\"},\"status\":{\"phase\":\"Pending\"}}");
    const struct json *status = training_status(a, &t, NULL, true, 1767225600000, &news);
    assert_int_equal(json_int64(json_path(status, "replicaStatuses", "Worker", "active", NULL), 0), 1);
    assert_null(json_get(status, "startTime"));
    assert_string_equal(news.reason, "JAXJobSuspended");
    assert_string_equal(news.message, "JAXJob n/j is suspended.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pytorch),
        cmocka_unit_test(test_elastic_pytorch),
        cmocka_unit_test(test_the_rest_of_the_family),
        cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_gangs),
        cmocka_unit_test(test_whose_success_is_the_jobs),
        cmocka_unit_test(test_when_a_job_has_failed),
        cmocka_unit_test(test_what_is_made_again),
        cmocka_unit_test(test_running_and_restarting),
        cmocka_unit_test(test_how_mpi_fails),
        cmocka_unit_test(test_counts_of_what_is_over),
        cmocka_unit_test(test_suspended),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
