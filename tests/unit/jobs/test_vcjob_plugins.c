/* What svc, ssh and env inject: host lists, files and env for 1, 2 and 11 replicas and task names with '-'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "../tree.h"
#include "base/limits.h"
#include "jobs/volcano/vcjob_plugins.h"

struct world {
    struct json *job;
    struct vcjob_task *tasks;
    uint32_t tasks_n;
    struct vcjob_plugins plugins;
};

static void load(struct world *w, const char *spec)
{
    struct err e = {0};
    const char *text =
        arena_printf(a, "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\",\"uid\":\"u-1\"},\"spec\":%s}", spec);
    w->job = json_parse(a, bytes_of(text), NULL, &e);
    assert_non_null(w->job);
    w->tasks_n = vcjob_tasks(a, w->job, &w->tasks);
    vcjob_plugins_parse(a, w->job, w->tasks, w->tasks_n, &w->plugins);
}

static const struct json *object_of(const struct world *w, const char *kind)
{
    JSON_EACH (object, vcjob_plugin_objects(a, w->job, &w->plugins, w->tasks, w->tasks_n, "PEM", "LINE"))
        if (strcmp(json_get_text(object, "kind", ""), kind) == 0)
            return object;
    return NULL;
}

static const char *data_of(const struct world *w, const char *key)
{
    return json_text(json_path(object_of(w, "ConfigMap"), "data", key, NULL), "(none)");
}

static const char *printed(const struct json *v)
{
    struct buf out;
    buf_init(&out);
    json_write(&out, v);
    const char *text = arena_text_n(a, out.data, out.n);
    buf_free(&out);
    return text;
}

#define TASK(name, n)                                                                                                  \
    "{\"name\":\"" name "\",\"replicas\":" #n                                                                          \
    ",\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}"

static void test_hosts_1_2_11(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[]},\"tasks\":[" TASK("master", 1) "," TASK("worker", 2) "," TASK("ps-a", 11) "]}");
    assert_string_equal(data_of(&w, "VC_MASTER_HOSTS"), "d-master-0.d");
    assert_string_equal(data_of(&w, "VC_MASTER_NUM"), "1");
    assert_string_equal(data_of(&w, "master.host"), "d-master-0.d");
    assert_string_equal(data_of(&w, "VC_WORKER_HOSTS"), "d-worker-0.d,d-worker-1.d");
    assert_string_equal(data_of(&w, "worker.host"), "d-worker-0.d\nd-worker-1.d");
    assert_string_equal(data_of(&w, "VC_WORKER_HOSTS_SLOTS"), "(none)");
    assert_string_equal(data_of(&w, "worker.hostfile"), "(none)");
    assert_string_equal(data_of(&w, "VC_PS_A_NUM"), "11");
    assert_string_equal(data_of(&w, "VC_PS_A_HOSTS"), "d-ps-a-0.d,d-ps-a-1.d,d-ps-a-2.d,d-ps-a-3.d,d-ps-a-4.d,d-ps-a-5."
                                                      "d,d-ps-a-6.d,d-ps-a-7.d,d-ps-a-8.d,d-ps-a-9.d,d-ps-a-10.d");
    assert_string_equal(data_of(&w, "VC_PS-A_HOSTS"), "(none)");
    assert_int_equal(strlen(data_of(&w, "ps_a.host")), strlen(data_of(&w, "VC_PS_A_HOSTS"))); /* names of files: as in Volcano */
    assert_string_equal(data_of(&w, "ps-a.host"), "(none)");
    const struct json *service = object_of(&w, "Service");
    /* A gang: peers look for each other before they are ready. */
    assert_string_equal(printed(json_get(service, "spec")),
                        "{\"clusterIP\":\"None\",\"selector\":{\"volcano.sh/job-name\":\"d\",\"volcano.sh/job-namespace\":\"n\"},"
                        "\"publishNotReadyAddresses\":true}");
    assert_non_null(object_of(&w, "NetworkPolicy"));
    assert_null(object_of(&w, "Secret"));
}

static void test_arguments(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[\"--disable-network-policy=true\",\"--publish-not-ready-addresses=false\"],"
             "\"ssh\":[\"--ssh-key-file-path=/home/u/.ssh\",\"--ssh-port=2222\"]},"
             "\"tasks\":[" TASK("worker", 2) "]}");
    assert_null(object_of(&w, "NetworkPolicy"));
    assert_false(w.plugins.publish_not_ready);
    assert_string_equal(w.plugins.ssh_path, "/home/u/.ssh");
    assert_int_equal(w.plugins.ssh_port, 2222);
    const struct json *secret = object_of(&w, "Secret");
    assert_string_equal(json_text(json_path(secret, "metadata", "name", NULL), ""), "d-ssh");
    _cleanup_buf_ struct buf config;
    buf_init(&config);
    assert_true(base64_decode(&config, json_bytes(json_path(secret, "data", "config", NULL))));
    assert_string_equal(config.data, "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nHost d-worker-0\n  "
                                     "HostName d-worker-0.d\n  Port 2222\n"
                                     "Host d-worker-1\n  HostName d-worker-1.d\n  Port 2222\n");
}

static void test_pod(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"schedulerName\":\"volcano\",\"queue\":\"q\",\"plugins\":{\"env\":[],\"ssh\":[],\"svc\":[]},\"tasks\":["
             "{\"name\":\"worker\",\"replicas\":2,\"template\":{\"spec\":"
             "{\"containers\":[{\"name\":\"c\",\"command\":[\"run\",\"$(VC_WORKER_0_SVC):29500\"],\"env\":[{\"name\":"
             "\"A\",\"value\":\"b\"}]}]}}}]}");
    struct json *pod = vcjob_pod(a, w.job, &w.tasks[0], 1, 2, 1);
    vcjob_plugin_pod(a, w.job, &w.plugins, w.tasks, w.tasks_n, 1, pod);
    assert_string_equal(
        printed(json_get(pod, "metadata")),
        "{\"name\":\"d-worker-1\",\"namespace\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/"
        "v1alpha1\",\"kind\":\"Job\",\"name\":\"d\",\"uid\":\"u-1\","
        "\"controller\":true,\"blockOwnerDeletion\":true}],\"labels\":{\"volcano.sh/job-name\":\"d\",\"volcano.sh/"
        "job-namespace\":\"n\",\"volcano.sh/task-spec\":\"worker\","
        "\"volcano.sh/task-index\":\"1\",\"volcano.sh/queue-name\":\"q\"},\"annotations\":{\"volcano.sh/"
        "task-index\":\"1\",\"volcano.sh/task-spec\":\"worker\","
        "\"scheduling.k8s.io/group-name\":\"d-u-1\",\"volcano.sh/job-name\":\"d\",\"volcano.sh/"
        "queue-name\":\"q\",\"volcano.sh/job-version\":\"2\","
        "\"volcano.sh/template-uid\":\"d-worker\",\"volcano.sh/job-retry-count\":\"1\"}}");
    assert_string_equal(json_text(json_path(pod, "spec", "hostname", NULL), ""), "d-worker-1");
    assert_string_equal(json_text(json_path(pod, "spec", "subdomain", NULL), ""), "d");
    assert_string_equal(json_text(json_path(pod, "spec", "restartPolicy", NULL), ""), "OnFailure");
    assert_string_equal(json_text(json_path(pod, "spec", "schedulerName", NULL), ""), "volcano");
    const struct json *container = json_item(json_path(pod, "spec", "containers", NULL), 0);
    static const char *const names[] = {
        "VC_WORKER_0_SVC", "A", "VC_WORKER_HOSTS", "VC_WORKER_NUM", "VK_TASK_INDEX",
        "VC_TASK_INDEX"};
    uint32_t i = 0;
    JSON_EACH (env, json_get(container, "env"))
        assert_string_equal(json_get_text(env, "name", ""), names[i++]);
    assert_int_equal(i, sizeof names / sizeof *names);
    assert_string_equal(json_get_text(json_item(json_get(container, "env"), 0), "value", ""), "d-worker-0.d");
    assert_string_equal(json_get_text(json_item(json_get(container, "env"), 5), "value", ""), "1");
    assert_string_equal(
        printed(json_get(container, "volumeMounts")),
        "[{\"name\":\"d-svc\",\"mountPath\":\"/etc/volcano\"},{\"name\":\"d-ssh\",\"mountPath\":\"/root/.ssh\",\"subPath\":\".ssh\"}]");
    assert_string_equal(
        printed(json_path(pod, "spec", "volumes", NULL)),
        "[{\"name\":\"d-svc\",\"configMap\":{\"name\":\"d-svc\"}},{\"name\":\"d-ssh\",\"secret\":{\"secretName\":\"d-ssh\",\"items\":["
        "{\"key\":\"id_rsa\",\"path\":\".ssh/id_rsa\"},{\"key\":\"id_rsa.pub\",\"path\":\".ssh/id_rsa.pub\"},"
        "{\"key\":\"authorized_keys\",\"path\":\".ssh/authorized_keys\"},{\"key\":\"config\",\"path\":\".ssh/config\"}],"
        "\"defaultMode\":384}}]");
}

static void test_alias_only_where_it_means_something(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[]},\"tasks\":[{\"name\":\"w-x\",\"replicas\":2,\"template\":{\"spec\":{"
             "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"args\":"
             "[\"$(VC_W_X_1_SVC) $(VC_W_X_2_SVC) $$(VC_W_X_0_SVC) $(VC_W_X_HOSTS) $(OTHER)\"]}]}}}]}");
    struct json *pod = vcjob_pod(a, w.job, &w.tasks[0], 0, 0, 0);
    vcjob_plugin_pod(a, w.job, &w.plugins, w.tasks, w.tasks_n, 0, pod);
    const struct json *env = json_get(json_item(json_path(pod, "spec", "containers", NULL), 0), "env");
    assert_string_equal(json_get_text(json_item(env, 0), "name", ""), "VC_W_X_1_SVC");
    assert_string_equal(json_get_text(json_item(env, 1), "name", ""), "VC_W_X_HOSTS");
    const struct json *remarks = vcjob_remarks(a, w.job, &w.plugins, w.tasks, w.tasks_n);
    assert_int_equal(remarks->n, 2);
    assert_string_equal(json_get_text(json_item(remarks, 0), "reason", ""), "VariableAlias");
    assert_string_equal(json_get_text(json_item(remarks, 1), "reason", ""), "UnresolvedVariable");
}

static void test_horovod_slots(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[]},\"tasks\":[{\"name\":\"worker\",\"replicas\":2,\"template\":{\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"command\":"
             "[\"horovodrun\",\"-np\",\"2\",\"-H\",\"$(VC_WORKER_HOSTS)\"],\"resources\":{\"limits\":{\"nvidia.com/"
             "gpu\":4}}}]}}}]}");
    assert_true(w.plugins.hosts_with_slots);
    assert_string_equal(data_of(&w, "VC_WORKER_HOSTS"), "d-worker-0.d:4,d-worker-1.d:4");
    load(&w, "{\"plugins\":{\"svc\":[]},\"tasks\":[{\"name\":\"worker\",\"replicas\":1,\"template\":{\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"command\":"
             "[\"mpiexec\",\"-H\",\"$(VC_WORKER_HOSTS)\"]}]}}}]}");
    assert_false(w.plugins.hosts_with_slots);
    assert_string_equal(data_of(&w, "worker.hostfile"), "(none)"); /* as in Volcano */
}

static void test_slots_where_they_are_wanted(void **state)
{
    (void)state;
    struct world w;
    static const char *const containers[] = {
        "{\"name\":\"c\",\"args\":[\"mpiexec --hostfile /etc/volcano/worker.hostfile\"]}",
        "{\"name\":\"c\",\"env\":[{\"name\":\"H\",\"value\":\"$(VC_WORKER_HOSTS_SLOTS)\"}]}",
        "{\"name\":\"c\",\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}"};
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        load(&w, arena_printf(a, "{\"plugins\":{\"svc\":[]},\"tasks\":[{\"name\":\"worker\",\"replicas\":2,\"template\":{"
                                 "\"spec\":{\"containers\":[%s]}}}]}", containers[i]));
        assert_string_equal(data_of(&w, "VC_WORKER_HOSTS_SLOTS"), "d-worker-0.d:1,d-worker-1.d:1");
        assert_string_equal(data_of(&w, "worker.hostfile"), "d-worker-0.d slots=1\nd-worker-1.d slots=1");
    }
}

static void test_pod_group(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"minAvailable\":3,\"queue\":\"q\",\"tasks\":[{\"name\":\"m\",\"replicas\":1,\"template\":{\"spec\":{"
             "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"500m\"}}}]}}},"
             "{\"name\":\"w\",\"replicas\":4,\"minAvailable\":2,\"template\":{\"spec\":{\"containers\":[{\"resources\":"
             "{\"limits\":{\"cpu\":1,\"nvidia.com/gpu\":2}}}]}}}]}");
    const struct json *group = vcjob_pod_group(a, w.job, w.tasks, w.tasks_n, 0);
    assert_string_equal(json_text(json_path(group, "metadata", "name", NULL), ""), "d-u-1");
    assert_string_equal(printed(json_get(group, "spec")),
                        "{\"minMember\":3,\"minTaskMember\":{\"m\":1,\"w\":2},\"queue\":\"q\",\"minResources\":{"
                        "\"cpu\":\"2500m\",\"nvidia.com/gpu\":\"4\",\"requests.cpu\":\"2500m\",\"requests.nvidia.com/gpu\":\"4\","
                        "\"limits.cpu\":\"2\",\"pods\":\"3\",\"count/pods\":\"3\"}}");
}

static void test_partitions_are_sub_groups(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":2},\"tasks\":[{\"name\":\"m\",\"replicas\":1,\"template\":{}},"
             "{\"name\":\"w\",\"replicas\":6,\"partitionPolicy\":{\"totalPartitions\":3,\"partitionSize\":2,\"minPartitions\":2,"
             "\"networkTopology\":{\"mode\":\"soft\",\"highestTierName\":\"rack\"}},\"template\":{}}]}");
    json_set(a, json_get(w.job, "metadata"), "labels", parse("{\"team\":\"x\"}"));
    const struct json *group = vcjob_pod_group(a, w.job, w.tasks, w.tasks_n, 0);
    assert_string_equal(printed(json_path(group, "metadata", "labels", NULL)), "{\"team\":\"x\",\"volcano.sh/job-name\":\"d\"}");
    assert_string_equal(printed(json_get(group, "spec")),
                        "{\"minMember\":5,\"minTaskMember\":{\"m\":1,\"w\":4},\"queue\":\"default\",\"minResources\":{\"pods\":\"5\","
                        "\"count/pods\":\"5\"},\"networkTopology\":{\"mode\":\"hard\",\"highestTierAllowed\":2},\"subGroupPolicy\":["
                        "{\"name\":\"w\",\"networkTopology\":{\"mode\":\"soft\",\"highestTierName\":\"rack\"},\"subGroupSize\":2,"
                        "\"minSubGroups\":2,\"labelSelector\":{\"matchLabels\":{\"volcano.sh/task-spec\":\"w\"}},"
                        "\"matchLabelKeys\":[\"volcano.sh/partition-id\"]}]}");
}

/* Which pods are the fewest: by the priority of their tasks; of each task its fewest first, unless the whole asks for fewer than those. */
static void test_min_resources_by_priority(void **state)
{
    (void)state;
    static const struct {
        int min_available;
        const char *cpu;
    } cases[] = {{1, "2"}, {3, "5"}, {4, "6"}, {5, "7"}, {6, "8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        load(&w, arena_printf(a, "{\"minAvailable\":%d,\"tasks\":[{\"name\":\"low\",\"replicas\":4,\"minAvailable\":2,\"template\":{\"spec\":"
                                 "{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":1}}}]}}},{\"name\":\"high\",\"replicas\":2,"
                                 "\"template\":{\"spec\":{\"containers\":[{\"resources\":{\"requests\":{\"cpu\":2}}}]}}}]}",
                              cases[i].min_available));
        w.tasks[1].priority = 10;
        const struct json *group = vcjob_pod_group(a, w.job, w.tasks, w.tasks_n, 0);
        assert_string_equal(json_text(json_path(group, "spec", "minResources", "cpu", NULL), ""), cases[i].cpu);
    }
}

static void test_requests_of_init_containers(void **state)
{
    (void)state;
    static const struct {
        const char *init, *sum;
    } cases[] = {
        {"{\"resources\":{\"limits\":{\"gpu\":1}}}", "2"},
        {"{\"resources\":{\"limits\":{\"gpu\":3}}}", "3"},
        {"{\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"gpu\":4}}}", "6"},
        {"{\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"gpu\":4}}},{\"resources\":{\"limits\":{\"gpu\":3}}}", "7"},
        {"{\"resources\":{\"limits\":{\"gpu\":3}}},{\"restartPolicy\":\"Always\",\"resources\":{\"limits\":{\"gpu\":4}}}", "6"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = arena_printf(a, "{\"initContainers\":[%s],\"containers\":[{\"resources\":{\"limits\":{\"gpu\":2}}}]}",
                                        cases[i].init);
        struct json *sum = json_new(a, JSON_OBJECT);
        job_requests_add(a, sum, json_parse(a, bytes_of(text), NULL, NULL), 1);
        assert_string_equal(json_get_text(sum, "gpu", ""), cases[i].sum);
    }
}

/* A template that names host and subdomain: all its pods are one host. */
static void test_hosts_of_the_template(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[],\"ssh\":[]},\"tasks\":[{\"name\":\"m\",\"replicas\":3,\"template\":{\"spec\":{"
             "\"hostname\":\"boss\",\"subdomain\":\"lab\",\"containers\":[{\"name\":\"c\"}]}}},"
             "{\"name\":\"w\",\"replicas\":2,\"template\":{\"spec\":{\"subdomain\":\"lab\",\"containers\":[{\"name\":\"c\"}]}}}]}");
    assert_string_equal(data_of(&w, "VC_M_HOSTS"), "boss.lab");
    assert_string_equal(data_of(&w, "VC_M_NUM"), "1");
    assert_string_equal(data_of(&w, "w.host"), "d-w-0.lab\nd-w-1.lab");
    assert_string_equal(data_of(&w, "VC_W_NUM"), "2");
    _cleanup_buf_ struct buf config;
    buf_init(&config);
    assert_true(base64_decode(&config, json_bytes(json_path(object_of(&w, "Secret"), "data", "config", NULL))));
    assert_string_equal(config.data, "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nHost boss\n  HostName boss.lab\n  Port 22\n"
                                     "Host d-w-0\n  HostName d-w-0.lab\n  Port 22\nHost d-w-1\n  HostName d-w-1.lab\n  Port 22\n");
}

static void test_what_is_forwarded(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"tasks\":[{\"name\":\"w\",\"replicas\":4,\"topologyPolicy\":\"none\",\"partitionPolicy\":{\"totalPartitions\":2,"
             "\"partitionSize\":2},\"template\":{\"spec\":{}}}]}");
    json_set(a, json_get(w.job, "metadata"), "labels",
             parse("{\"volcano.sh/preemptable\":\"true\",\"volcano.sh/cooldown-time\":\"1m\",\"team\":\"x\"}"));
    json_set(a, json_get(w.job, "metadata"), "annotations",
             parse("{\"volcano.sh/preemptable\":\"false\",\"volcano.sh/revocable-zone\":\"z\",\"volcano.sh/jdb-min-available\":\"1\","
                   "\"volcano.sh/jdb-max-unavailable\":\"2\",\"other\":\"y\"}"));
    const struct json *pod = vcjob_pod(a, w.job, &w.tasks[0], 3, 0, 0);
    assert_string_equal(printed(json_path(pod, "metadata", "labels", NULL)),
                        "{\"volcano.sh/job-name\":\"d\",\"volcano.sh/job-namespace\":\"n\",\"volcano.sh/task-spec\":\"w\","
                        "\"volcano.sh/task-index\":\"3\",\"volcano.sh/queue-name\":\"default\",\"volcano.sh/preemptable\":\"true\","
                        "\"volcano.sh/cooldown-time\":\"1m\",\"volcano.sh/partition-id\":\"1\"}");
    assert_string_equal(printed(json_path(pod, "metadata", "annotations", NULL)),
                        "{\"volcano.sh/task-index\":\"3\",\"volcano.sh/task-spec\":\"w\",\"scheduling.k8s.io/group-name\":\"d-u-1\","
                        "\"volcano.sh/job-name\":\"d\",\"volcano.sh/queue-name\":\"default\",\"volcano.sh/job-version\":\"0\","
                        "\"volcano.sh/template-uid\":\"d-w\",\"volcano.sh/job-retry-count\":\"0\","
                        "\"volcano.sh/numa-topology-policy\":\"none\",\"volcano.sh/preemptable\":\"false\","
                        "\"volcano.sh/revocable-zone\":\"z\",\"volcano.sh/jdb-min-available\":\"1\"}");
}

/* Each object whole. */
static void test_objects_of_svc_and_ssh(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"plugins\":{\"svc\":[\"--publish-not-ready-addresses=false\"],\"ssh\":[]},\"tasks\":[" TASK("w", 1) "]}");
#define OWNED                                                                                                                \
    "\"namespace\":\"n\",\"ownerReferences\":[{\"apiVersion\":\"batch.volcano.sh/v1alpha1\",\"kind\":\"Job\",\"name\":\"d\","  \
    "\"uid\":\"u-1\",\"controller\":true,\"blockOwnerDeletion\":true}]}"
#define OF_JOB "{\"volcano.sh/job-name\":\"d\",\"volcano.sh/job-namespace\":\"n\"}"
    static const char *const objects[][2] = {
        {"Service", "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"d\"," OWNED ",\"spec\":{\"clusterIP\":\"None\","
                    "\"selector\":" OF_JOB ",\"publishNotReadyAddresses\":false}}"},
        {"NetworkPolicy", "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"NetworkPolicy\",\"metadata\":{\"name\":\"d\"," OWNED
                          ",\"spec\":{\"podSelector\":{\"matchLabels\":" OF_JOB "},\"ingress\":[{\"from\":[{\"podSelector\":{\"matchLabels\":"
                          OF_JOB "}}]}],\"policyTypes\":[\"Ingress\"]}}"},
        {"ConfigMap", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"d-svc\"," OWNED ",\"data\":{\"w.host\":"
                      "\"d-w-0.d\",\"VC_W_HOSTS\":\"d-w-0.d\",\"VC_W_NUM\":\"1\"}}"},
        {"Secret", "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"d-ssh\"," OWNED ",\"type\":\"Opaque\",\"data\":{"
                   "\"id_rsa\":\"UEVN\",\"id_rsa.pub\":\"TElORQ==\",\"authorized_keys\":\"TElORQ==\",\"config\":"
                   "\"U3RyaWN0SG9zdEtleUNoZWNraW5nIG5vClVzZXJLbm93bkhvc3RzRmlsZSAvZGV2L251bGwKSG9zdCBkLXctMAogIEhvc3ROYW1lIGQtdy0wLmQKICBQb3J0"
                   "IDIyCg==\"}}"}};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        assert_string_equal(printed(object_of(&w, objects[i][0])), objects[i][1]);
}

/* Init containers have all that the others have; with --inject-hosts-env=false the files alone; a folder that is not root's is for all. */
static void test_what_containers_get(void **state)
{
    (void)state;
    static const struct {
        const char *plugins, *container, *mode;
    } cases[] = {
        {"\"svc\":[\"--inject-hosts-env=false\"]",
         "{\"name\":\"NAME\",\"volumeMounts\":[{\"name\":\"d-svc\",\"mountPath\":\"/etc/volcano\"}]}", NULL},
        {"\"svc\":[],\"env\":[]",
         "{\"name\":\"NAME\",\"volumeMounts\":[{\"name\":\"d-svc\",\"mountPath\":\"/etc/volcano\"}],\"env\":[{\"name\":\"VC_W_HOSTS\","
         "\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"d-svc\",\"key\":\"VC_W_HOSTS\"}}},{\"name\":\"VC_W_NUM\",\"valueFrom\":{"
         "\"configMapKeyRef\":{\"name\":\"d-svc\",\"key\":\"VC_W_NUM\"}}},{\"name\":\"VK_TASK_INDEX\",\"value\":\"1\"},"
         "{\"name\":\"VC_TASK_INDEX\",\"value\":\"1\"}]}", NULL},
        {"\"ssh\":[\"--ssh-key-file-path=/home/u/.ssh\"]",
         "{\"name\":\"NAME\",\"volumeMounts\":[{\"name\":\"d-ssh\",\"mountPath\":\"/home/u/.ssh\",\"subPath\":\".ssh\"}]}", "420"},
        {"\"ssh\":[]", "{\"name\":\"NAME\",\"volumeMounts\":[{\"name\":\"d-ssh\",\"mountPath\":\"/root/.ssh\",\"subPath\":\".ssh\"}]}", "384"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        load(&w, arena_printf(a, "{\"plugins\":{%s},\"tasks\":[{\"name\":\"w\",\"replicas\":2,\"template\":{\"spec\":{\"initContainers\":[{"
                                 "\"name\":\"NAME\"}],\"containers\":[{\"name\":\"NAME\"}]}}}]}", cases[i].plugins));
        struct json *pod = vcjob_pod(a, w.job, &w.tasks[0], 1, 0, 0);
        vcjob_plugin_pod(a, w.job, &w.plugins, w.tasks, w.tasks_n, 1, pod);
        assert_string_equal(printed(json_path(pod, "spec", "containers", NULL)), arena_printf(a, "[%s]", cases[i].container));
        assert_string_equal(printed(json_path(pod, "spec", "initContainers", NULL)), arena_printf(a, "[%s]", cases[i].container));
        const struct json *volume = json_item(json_path(pod, "spec", "volumes", NULL), 0);
        if (cases[i].mode)
            assert_string_equal(printed(json_path(volume, "secret", "defaultMode", NULL)), cases[i].mode);
    }
}

/* What a template says goes before what the job says. */
static void test_templates_word_first(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *scheduler, *class, *dns, *restart;
    } cases[] = {
        {"", "mine", "high", "", "OnFailure"},
        {"\"schedulerName\":\"other\",\"priorityClassName\":\"low\",\"restartPolicy\":\"Never\",", "other", "low", "", "Never"},
        {"\"hostNetwork\":true,", "mine", "high", "ClusterFirstWithHostNet", "OnFailure"},
        {"\"hostNetwork\":true,\"dnsPolicy\":\"Default\",", "mine", "high", "Default", "OnFailure"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        load(&w, arena_printf(a, "{\"schedulerName\":\"mine\",\"priorityClassName\":\"high\",\"tasks\":[{\"name\":\"w\",\"replicas\":1,"
                                 "\"template\":{\"spec\":{%s\"containers\":[]}}}]}", cases[i].spec));
        const struct json *spec = json_get(vcjob_pod(a, w.job, &w.tasks[0], 0, 0, 0), "spec");
        assert_string_equal(json_get_text(spec, "schedulerName", ""), cases[i].scheduler);
        assert_string_equal(json_get_text(spec, "priorityClassName", ""), cases[i].class);
        assert_string_equal(json_get_text(spec, "dnsPolicy", ""), cases[i].dns);
        assert_string_equal(json_get_text(spec, "restartPolicy", ""), cases[i].restart);
    }
}

static void test_ssh_key(void **state)
{
    (void)state;
    char *pem, *line;
    struct err e = {0};
    assert_int_equal(vcjob_ssh_key(a, &pem, &line, &e), 0);
    assert_true(text_starts(pem, "-----BEGIN RSA PRIVATE KEY-----"));
    assert_true(text_starts(line, "ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"));
    char *given, *found;
    assert_int_equal(vcjob_ssh_key_given(a, pem, NULL, &given, &found), 0);
    assert_string_equal(found, line); /* the public half of it */
    for (int i = 0; i < 20; i++) { /* numbers with zeros in front, too */
        assert_int_equal(vcjob_ssh_key_short(a, &pem, &line, &e), 0);
        assert_true(text_starts(pem, "-----BEGIN EC PRIVATE KEY-----"));
        assert_true(text_starts(line, "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBA"));
        assert_int_equal(strlen(line), strlen("ecdsa-sha2-nistp521 \n") + (4 + 19 + 4 + 8 + 4 + 133 + 2) / 3 * 4);
    }
    assert_int_equal(vcjob_ssh_key_given(a, pem, NULL, &given, &found), 0);
    assert_string_equal(given, pem);
    assert_string_equal(found, line);
    assert_int_equal(vcjob_ssh_key_given(a, "no key", NULL, &given, &found), 0);
    assert_string_equal(found, "");
    assert_int_equal(vcjob_ssh_key_given(a, "no key", "ssh-rsa mine", &given, &found), 0);
    assert_string_equal(found, "ssh-rsa mine");
}

/* Definitions that are not ours let every number through; lists of hosts have a name for each pod. */
static void test_numbers_without_measure(void **state)
{
    (void)state;
    struct world w;
    load(&w, "{\"minAvailable\":-9223372036854775808,\"plugins\":{\"svc\":[]},\"tasks\":["
             "{\"name\":\"a\",\"replicas\":-3,\"minAvailable\":-1},{\"name\":\"b\",\"replicas\":9223372036854775807,\"minAvailable\":9223372036854775807},"
             "{\"name\":\"c\",\"replicas\":7}]}");
    assert_int_equal(w.tasks[0].replicas, 0);
    assert_int_equal(w.tasks[0].min_available, 0);
    assert_int_equal(w.tasks[1].replicas, LIMIT_GANG_MEMBERS);
    assert_int_equal(w.tasks[1].min_available, INT32_MAX);
    assert_int_equal(w.tasks[2].replicas, 0);
    assert_int_equal(vcjob_min_available(w.job, w.tasks, w.tasks_n), 0);
    const struct json *remarks = vcjob_remarks(a, w.job, &w.plugins, w.tasks, w.tasks_n);
    assert_string_equal(json_get_text(json_item(remarks, 0), "reason", ""), "TooManyPods");
    assert_true(strlen(data_of(&w, "b.host")) > LIMIT_GANG_MEMBERS * 5);
    assert_string_equal(data_of(&w, "a.host"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_1_2_11),  cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_pod),           cmocka_unit_test(test_alias_only_where_it_means_something),
        cmocka_unit_test(test_horovod_slots), cmocka_unit_test(test_slots_where_they_are_wanted), cmocka_unit_test(test_pod_group),
        cmocka_unit_test(test_requests_of_init_containers), cmocka_unit_test(test_ssh_key),
        cmocka_unit_test(test_hosts_of_the_template), cmocka_unit_test(test_partitions_are_sub_groups),
        cmocka_unit_test(test_min_resources_by_priority), cmocka_unit_test(test_what_is_forwarded),
        cmocka_unit_test(test_objects_of_svc_and_ssh), cmocka_unit_test(test_what_containers_get),
        cmocka_unit_test(test_templates_word_first), cmocka_unit_test(test_numbers_without_measure)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
